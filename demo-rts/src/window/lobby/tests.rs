//! Lobbies under a flood of chat, and with as many players as possible.

use super::*;
use crate::peer::{Bots, KeyChoice, Launch};
use crate::window::input::{Click, Modifiers, MouseButton, Press};
use crate::window::menu::page;
use crate::window::places::Places;
use crate::window::readability::{SIZES, check_texts, until};
use crate::world::Scenario;
use lockstep::log::Terms;
use lockstep::{JoinRefused, PeerId, Seat, TurnNumber};
use std::path::Path;

#[test]
fn a_flood_of_chat_in_the_lobby_is_bounded() {
    let mut kept = Vec::new();
    let chat = |text: String| Event::Chat {
        from: "Ada".to_owned(),
        seat: None,
        text,
    };
    for number in 0..10_000 {
        let peer = PeerId([1; 32]);
        let fault = lockstep::Fault::Flood;
        let lobby = Event::Lobby {
            peers: Vec::new(),
            terms: Terms::default(),
        };
        keep(
            &mut kept,
            vec![
                lobby,
                chat(number.to_string()),
                Event::PeerFault { peer, fault },
            ],
        );
    }
    assert_eq!(kept.len(), 1 + CHAT_LINES);
    assert!(kept.contains(&chat("9999".to_owned())), "the newest stay");
}

fn front(folder: &Path, common: &Common) -> Rc<Front> {
    Rc::new(Front::at(Places::at(folder), common))
}

/// A lobby without a network.
fn bare(front: Rc<Front>, kind: Kind, here: Vec<LobbyPeer>) -> Lobby {
    Lobby {
        front,
        memory: Memory::default(),
        peer: None,
        kind,
        here,
        askers: Vec::new(),
        asked: false,
        terms: None,
        quorum_lost: false,
        goes_on: None,
        ready: false,
        is_first: false,
        chat: VecDeque::new(),
        typed: String::new(),
        message: String::new(),
        notes: Vec::new(),
        events: Vec::new(),
        ended: None,
        leaving_since: None,
        now: Duration::ZERO,
    }
}

/// A player with a name of the greatest length.
fn long_named(seat: u8) -> LobbyPeer {
    LobbyPeer {
        peer: PeerId([seat; 32]),
        name: format!("{seat}{}", "i".repeat(31)),
        build: String::new(),
        seats: vec![Seat(seat)],
        ready: true,
    }
}

/// The texts of a frame of this size, all checked to be readable.
fn written(lobby: &mut Lobby, canvas: &mut Canvas, size: (f32, f32), zoom: f32) -> Vec<String> {
    canvas.begin(size, zoom);
    let input = Input {
        size,
        ..Input::default()
    };
    assert!(matches!(lobby.frame(&input, canvas), Next::Stay));
    check_texts(canvas);
    let texts = canvas.texts().iter();
    texts.map(|text| text.text.clone()).collect()
}

#[test]
fn the_longest_message_is_readable_at_the_bottom() {
    let folder = tempfile::tempdir().unwrap();
    let common = Common::default();
    let front = front(folder.path(), &common);
    front.settings.borrow_mut().local_network = false;
    let mut lobby = bare(front, Kind::host(2, &common), vec![long_named(0)]);
    let long = "never before message ".repeat(CHAT_BYTES / 18);
    let name = "M".repeat(32);
    for number in 0..CHAT_LINES {
        say(
            &mut lobby.chat,
            format!("{name}: {number} {long}end{number}."),
        );
    }
    let mut canvas = Canvas::new();
    for size in SIZES {
        for zoom in [0.75, 1.0, 1.4] {
            let texts = written(&mut lobby, &mut canvas, size, zoom);
            let message: Vec<&str> = texts.iter().map(String::as_str).collect();
            let message = message.join(" ");
            assert!(message.contains(&format!("99 {long}end99.")), "{message}");
            assert!(!message.contains('…'), "{message}");
        }
    }
}

#[test]
fn a_joiner_without_a_quorum_reads_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let front = front(folder.path(), &Common::default());
    let mut lobby = bare(front, Kind::Rejoin { old: None }, Vec::new());
    let mut canvas = Canvas::new();
    for size in SIZES {
        for (quorum_lost, wanted) in [(false, "Finding the other players"), (true, "Too few")] {
            lobby.quorum_lost = quorum_lost;
            let message = written(&mut lobby, &mut canvas, size, 1.0).join(" ");
            assert!(message.contains(wanted), "{message}");
        }
    }
}

#[test]
fn a_reopening_of_eight_names_all_players() {
    let folder = tempfile::tempdir().unwrap();
    let front = front(folder.path(), &Common::default());
    front.settings.borrow_mut().local_network = false;
    let mut lobby = bare(
        front,
        Kind::Rejoin { old: None },
        (0..8).map(long_named).collect(),
    );
    let mut canvas = Canvas::new();
    for size in SIZES {
        for zoom in [0.75, 1.0, 1.4] {
            let texts = written(&mut lobby, &mut canvas, size, zoom);
            assert!(texts.iter().any(|text| text.contains("7iii")), "{texts:?}");
        }
    }
}

#[test]
fn the_builds_of_seven_guests_are_readable() {
    let folder = tempfile::tempdir().unwrap();
    let common = Common {
        map_seed: Some(4_711),
        ..Common::default()
    };
    let front = front(folder.path(), &common);
    let mut canvas = Canvas::new();
    let guest = |seat: u8, name: String, build: String| LobbyPeer {
        peer: PeerId([seat; 32]),
        name,
        build,
        seats: vec![Seat(seat)],
        ready: false,
    };
    let short = (1..8).map(|seat| guest(seat, format!("G{seat}"), "other 2".to_owned()));
    let long = (1..8).map(|seat| {
        let build = format!("{seat} {}", "unheard-of ".repeat(6));
        guest(seat, "M".repeat(31) + &seat.to_string(), build)
    });
    for (here, all_told) in [(short.collect::<Vec<_>>(), true), (long.collect(), false)] {
        let builds: Vec<String> = here.iter().map(|peer| peer.build.clone()).collect();
        let mut lobby = bare(front.clone(), Kind::host(8, &common), here);
        for size in SIZES {
            for zoom in [0.75, 1.0, 1.4] {
                let mut frame = |mouse| {
                    canvas.begin(size, zoom);
                    let input = Input {
                        size,
                        mouse,
                        ..Input::default()
                    };
                    let mut memory = Memory::default();
                    let mut ui = Ui::new(&mut canvas, &input, &mut memory);
                    lobby.draw(&mut ui);
                    let room = page(&mut ui, "", PAGE);
                    ui.finish();
                    (room, canvas.texts().to_vec())
                };
                let (room, texts) = frame(None);
                for text in texts.iter().filter(|text| text.area.y > room.y) {
                    let bottom = text.area.bottom();
                    assert!(bottom <= room.bottom() + 1.0, "{size:?} x {zoom}: {text:?}");
                }
                let all: Vec<&str> = texts.iter().map(|text| text.text.as_str()).collect();
                let all = all.join(" ");
                assert_eq!(
                    all.contains("G1, G2, G3, G4, G5, G6, G7: other 2."),
                    all_told
                );
                assert_eq!(all.contains("7 players run other builds"), !all_told);
                let name = texts
                    .iter()
                    .filter(|text| text.text.starts_with('G') || text.text.starts_with("MM"));
                for (seat, name) in name
                    .filter(|text| text.area.x < room.centre().0)
                    .enumerate()
                {
                    let (_, texts) = frame(Some(name.area.centre()));
                    let above = texts.iter().filter(|text| text.above);
                    let tip: Vec<&str> = above.map(|text| text.text.as_str()).collect();
                    let tip = tip.join(" ");
                    assert!(
                        tip.contains(builds[seat].trim()),
                        "{size:?} x {zoom}: {tip}"
                    );
                }
            }
        }
    }
}

/// Polls both until this holds of the first.
fn both_until(what: &str, one: &mut Peer, other: &mut Peer, done: impl Fn(&Peer) -> bool) {
    until(what, || {
        for peer in [&mut *one, &mut *other] {
            peer.poll(|_, _| {});
        }
        one.wait(Duration::from_millis(5));
        done(one).then_some(())
    });
}

/// The host of a match of two, and its guest.
fn host_and_guest(folder: &Path) -> (Peer, Peer) {
    let listen = "127.0.0.1:0".parse().unwrap();
    let part = Part::Host {
        terms: Terms {
            seats: 2,
            ..Terms::default()
        },
        bots: 0,
        listen,
    };
    let mut host =
        Peer::start(&part, Bots::None, &options(folder, "host"), KeyChoice::Kept).unwrap();
    let ticket = host.ticket().unwrap();
    let part = Part::Join {
        ticket: &ticket,
        listen,
    };
    let guest = Peer::start(
        &part,
        Bots::None,
        &options(folder, "guest"),
        KeyChoice::Kept,
    )
    .unwrap();
    (host, guest)
}

/// The guest of a match of two after a crash of the host, and the path of the host's recording.
fn host_crashed(folder: &Path) -> (Peer, PathBuf) {
    let (mut host, mut guest) = host_and_guest(folder);
    both_until("a match", &mut guest, &mut host, |guest| {
        guest.world().is_some_and(|world| world.tick() > 20)
    });
    drop(host);
    until("quorum loss", || {
        guest.poll(|_, _| {});
        guest.wait(Duration::from_millis(5));
        guest.has_lost_quorum().then_some(())
    });
    (guest, folder.join("host.replay"))
}

fn options(folder: &Path, name: &str) -> Common {
    Common {
        identity: Some(folder.join(format!("{name}.key"))),
        record: Some(folder.join(format!("{name}.replay"))),
        ..Common::default()
    }
}

/// The crashed host comes back, and knows no address of the guest any more.
fn comes_back(folder: &Path, replay: &Path) -> Peer {
    let mut from = replay::rejoin(replay).unwrap();
    for contact in &mut from.contacts {
        contact.addresses = vec!["127.0.0.1:9".to_owned()];
    }
    let part = Part::Rejoin {
        from: &from,
        replay: Some(replay),
        listen: "127.0.0.1:0".parse().unwrap(),
    };
    let common = Common {
        record: Some(folder.join("back.replay")),
        into_branch: true,
        ..options(folder, "host")
    };
    Peer::start(&part, Bots::None, &common, KeyChoice::Kept).unwrap()
}

#[test]
fn a_reopening_is_announced_and_leads_a_joiner_to_a_host_that_has_moved() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (guest, replay) = host_crashed(folder);
    let run = guest.new_run(Way::Reopen).unwrap();
    let kind = Kind::reopen_of(run.path());
    drop(guest);
    let mut reopens = run.begin().unwrap();
    let mut joiner = comes_back(folder, &replay);
    let mut here = Vec::new();
    until("its lobby", || {
        joiner.poll(|_, _| {});
        for event in reopens.poll(|_, _| {}) {
            if let Event::Lobby { peers, .. } = event {
                here = peers;
            }
        }
        reopens.wait(Duration::from_millis(5));
        (!here.is_empty()).then_some(())
    });
    let front = front(folder, &Common::default());
    let mut lobby = bare(front, kind, here);
    lobby.peer = Some(reopens);
    let announcement = lobby.announcement().expect("it is announced");
    assert!(!announcement.is_open, "for players of the match alone");
    assert_eq!((announcement.seats, announcement.taken), (2, 1));
    let mut reopens = lobby.peer.take().unwrap();
    assert!(joiner.seeks_match());
    joiner.note_contact(&announcement.contact());
    both_until(
        "both in the match",
        &mut joiner,
        &mut reopens,
        Peer::is_admitted,
    );
}

#[test]
fn the_ticket_of_a_branch_leads_a_joiner_there() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (guest, replay) = host_crashed(folder);
    let run = guest.new_run(Way::Alone).unwrap();
    drop(guest);
    let mut alone = run.begin().unwrap();
    let mut joiner = comes_back(folder, &replay);
    assert!(alone.way_for_players().is_none(), "it has not begun");
    both_until("a branch", &mut alone, &mut joiner, |peer| {
        peer.branch().is_some()
    });
    let ticket = alone.way_for_players().expect("it plays a branch");
    let found = lockstep::Contact {
        peer: ticket.host,
        addresses: ticket.addresses,
    };
    joiner.note_contact(&found);
    both_until(
        "both in the branch",
        &mut joiner,
        &mut alone,
        Peer::is_admitted,
    );
    assert_eq!(joiner.branch(), alone.branch());
}

/// A lobby of a host in a window, and a guest of it.
struct Guested {
    lobby: Lobby,
    guest: Peer,
    canvas: Canvas,
}

impl Guested {
    /// The guest comes with the ticket, or with the way to the host alone.
    fn new(folder: &Path, by_ticket: bool) -> Guested {
        let common = Common::default();
        let listen = "127.0.0.1:0".parse().unwrap();
        let hosts = Part::Host {
            terms: Terms {
                seats: 3,
                ..Terms::default()
            },
            bots: 0,
            listen,
        };
        let begin = |part: &Part<'_>, name: &str, takes_askers| {
            let launch = Launch {
                takes_askers,
                ..Launch::default()
            };
            let common = Common {
                name: Some(name.to_owned()),
                ..options(folder, name)
            };
            Peer::begin(part, Bots::None, &common, KeyChoice::Kept, launch).unwrap()
        };
        let mut host = begin(&hosts, "host", true);
        let ticket = host.ticket().unwrap();
        let ticket = match by_ticket {
            true => ticket.clone(),
            false => ticket.without_secret(),
        };
        let joins = Part::Join {
            ticket: &ticket,
            listen,
        };
        let guest = begin(&joins, "guest", false);
        let front = front(folder, &common);
        front.settings.borrow_mut().local_network = false;
        let mut lobby = bare(front, Kind::host(3, &common), Vec::new());
        lobby.peer = Some(host);
        Guested {
            lobby,
            guest,
            canvas: Canvas::new(),
        }
    }

    /// Shows a frame. Where these words are in it.
    fn frame(&mut self, input: Input, words: &str) -> Option<(f32, f32)> {
        let size = SIZES[0];
        self.canvas.begin(size, 1.0);
        let next = self.lobby.frame(&Input { size, ..input }, &mut self.canvas);
        assert!(matches!(next, Next::Stay));
        check_texts(&self.canvas);
        let mut texts = self.canvas.texts().iter();
        let found = texts.find(|text| text.text == words);
        found.map(|text| text.area.centre())
    }

    /// Clicks a button, once it is there.
    fn click(&mut self, label: &str) {
        let at = until(label, || {
            self.guest.poll(|_, _| {});
            self.frame(Input::default(), label)
        });
        let click = Click {
            button: MouseButton::Left,
            at,
            with: Modifiers::default(),
            double: false,
        };
        let press = Input {
            mouse: Some(at),
            pressed: vec![click],
            holds: vec![MouseButton::Left],
            ..Input::default()
        };
        self.frame(press, label);
        let release = Input {
            mouse: Some(at),
            released: vec![click],
            ..Input::default()
        };
        self.frame(release, label);
    }

    fn end_of_guest(&mut self) -> EndReason {
        until("the guest's end", || {
            self.frame(Input::default(), "");
            let events = self.guest.poll(|_, _| {}).into_iter();
            let mut ends = events.filter_map(|event| match event {
                Event::Ended(ended) => Some(ended.reason),
                _ => None,
            });
            ends.next()
        })
    }
}

#[test]
fn a_host_removes_a_guest_by_its_button() {
    let folder = tempfile::tempdir().unwrap();
    let mut guested = Guested::new(folder.path(), true);
    guested.click(words::REMOVE_GUEST);
    let reason = guested.end_of_guest();
    assert_eq!(reason, EndReason::Refused(JoinRefused::Removed));
    until("an empty lobby", || {
        let remove = guested.frame(Input::default(), words::REMOVE_GUEST);
        remove.is_none().then_some(())
    });
}

#[test]
fn a_host_lets_in_a_player_without_a_ticket_by_its_button() {
    let folder = tempfile::tempdir().unwrap();
    let mut guested = Guested::new(folder.path(), false);
    until("the question", || {
        guested.guest.poll(|_, _| {});
        guested.frame(Input::default(), "guest (127.0.0.1) asks to join")
    });
    guested.click(words::LET_IN);
    until("the guest in the lobby", || {
        guested.guest.poll(|_, _| {});
        guested.frame(Input::default(), words::REMOVE_GUEST)
    });
    assert!(guested.lobby.askers.is_empty());
}

#[test]
fn a_host_turns_away_a_player_without_a_ticket_by_its_button() {
    let folder = tempfile::tempdir().unwrap();
    let mut guested = Guested::new(folder.path(), false);
    guested.click(words::TURN_AWAY);
    let reason = guested.end_of_guest();
    assert_eq!(reason, EndReason::Refused(JoinRefused::TurnedAway));
}

#[test]
fn a_joiner_may_accept_the_history_that_its_recording_contradicts() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (guest, _) = host_crashed(folder);
    let ended = |reason| Ended {
        reason,
        turns: 0,
        checksum: None,
        outcome: None,
        agreed: 0,
        of: 2,
        is_final: true,
        branch_of: None,
    };
    let kind = Kind::Rejoin { old: None };
    let mut lobby = bare(front(folder, &Common::default()), kind, Vec::new());
    lobby.peer = Some(guest);
    let (signers, turn) = (Vec::new(), TurnNumber(20));
    lobby.ended = Some(ended(EndReason::Contradicted { signers, turn }));
    let labels: Vec<&str> = lobby.ways().iter().map(|(label, _)| *label).collect();
    assert_eq!(
        labels,
        ["Go on alone", "Reopen the match", "Accept their history"]
    );
    lobby.accept_history();
    let run = lobby.goes_on.take().expect("a new run");
    assert!(run.accepts_other_history());
    assert_eq!(run.way(), Way::Rejoin);
    lobby.ended = Some(ended(EndReason::NoPeerFound));
    let labels: Vec<&str> = lobby.ways().iter().map(|(label, _)| *label).collect();
    assert_eq!(labels, ["Go on alone", "Reopen the match"]);
}

#[test]
fn a_run_that_cannot_begin_is_reported_at_the_prompt() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (guest, _) = host_crashed(folder);
    let run = guest.new_run(Way::Alone).unwrap();
    drop(guest);
    std::fs::remove_file(run.path()).unwrap();
    let front = front(folder, &Common::default());
    front.by_command.set(true);
    let mut between = Between::new(front.clone(), run);
    let mut canvas = Canvas::new();
    canvas.begin(SIZES[0], 1.0);
    let next = between.frame(&Input::default(), &mut canvas);
    assert!(matches!(next, Next::Stay), "the cause is shown first");
    assert_eq!(front.exit_report.borrow().code(), crate::exit::IO);
}

const UNSAVED: &str = "cannot save the addresses";

/// A folder is where the addresses belong that are kept beside this recording.
fn let_no_addresses_be_kept(recording: &Path) {
    let taken = WayBack::beside(recording).path().join("taken");
    std::fs::create_dir_all(taken).unwrap();
}

#[test]
fn warnings_of_the_peer_are_shown_in_the_match() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let_no_addresses_be_kept(&folder.join("host.replay"));
    let (host, mut guest) = host_and_guest(folder);
    let mut game = front(folder, &Common::default()).game("test", host, &[]);
    let mut canvas = Canvas::new();
    let size = SIZES[0];
    until(UNSAVED, || {
        guest.poll(|_, _| {});
        canvas.begin(size, 1.0);
        let input = Input {
            size,
            ..Input::default()
        };
        game.frame(&input, &mut canvas);
        let mut texts = canvas.texts().iter();
        texts.any(|text| text.text.contains(UNSAVED)).then_some(())
    });
}

#[test]
fn warnings_of_the_peer_are_kept_for_the_match() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (guest, replay) = host_crashed(folder);
    let run = guest.new_run(Way::Reopen).unwrap();
    drop(guest);
    let mut reopens = run.begin().unwrap();
    let_no_addresses_be_kept(&folder.join("back.replay"));
    let mut joiner = comes_back(folder, &replay);
    let ticket = reopens.ticket().unwrap();
    joiner.note_contact(&lockstep::Contact {
        peer: ticket.host,
        addresses: ticket.addresses,
    });
    let front = front(folder, &Common::default());
    let mut lobby = bare(front, Kind::Rejoin { old: None }, Vec::new());
    lobby.peer = Some(joiner);
    until(UNSAVED, || {
        reopens.poll(|_, _| {});
        reopens.wait(Duration::from_millis(5));
        lobby.follow();
        let mut notes = lobby.notes.iter();
        notes.any(|note| note.contains(UNSAVED)).then_some(())
    });
}

#[test]
fn a_lobby_promises_no_picture_of_a_staged_map() {
    let folder = tempfile::tempdir().unwrap();
    let texts = |scenario| {
        let common = Common {
            scenario,
            ..Common::default()
        };
        let front = front(folder.path(), &common);
        front.settings.borrow_mut().local_network = false;
        let mut lobby = bare(front, Kind::host(2, &common), vec![long_named(0)]);
        written(&mut lobby, &mut Canvas::new(), SIZES[0], 1.0).join(" ")
    };
    let promise = "The map appears";
    assert!(texts(None).contains(promise));
    let staged = Scenario::Archers { units_per_seat: 9 };
    assert!(staged.is_staged());
    let staged = texts(Some(staged));
    assert!(!staged.contains(promise), "{staged}");
}

/// What this key presses in a frame of a lobby.
fn pressed_by(key: KeyCode, lobby: &mut Lobby, memory: &mut Memory) -> Option<Pressed> {
    let (size, with, repeat) = (SIZES[0], Modifiers::default(), false);
    let mut canvas = Canvas::new();
    canvas.begin(size, 1.0);
    let input = Input {
        size,
        keys: vec![Press { key, with, repeat }],
        ..Input::default()
    };
    let mut ui = Ui::new(&mut canvas, &input, memory);
    let pressed = lobby.draw(&mut ui);
    ui.finish();
    pressed
}

#[test]
fn the_focus_stays_with_its_player_and_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    let common = Common::default();
    let [bob, ada] = [1, 2].map(long_named);
    let asks = Asker {
        peer: ada.peer,
        name: ada.name.clone(),
        build: String::new(),
        address: "10.0.0.2".to_owned(),
    };
    let kind = Kind::host(3, &common);
    let mut lobby = bare(front(folder.path(), &common), kind, vec![bob]);
    lobby.askers.push(asks);
    let (mut memory, enter) = (Memory::default(), KeyCode::Enter);
    let focus_on = |wanted: Pressed, lobby: &mut Lobby, memory: &mut Memory| {
        let found = (0..9).any(|_| {
            pressed_by(KeyCode::Tab, lobby, memory);
            pressed_by(enter, lobby, memory) == Some(wanted)
        });
        assert!(found, "{wanted:?}");
    };
    focus_on(Pressed::Admit(ada.peer), &mut lobby, &mut memory);
    lobby.askers.clear();
    let removes = Pressed::Remove(ada.peer);
    lobby.here.push(ada);
    assert_eq!(pressed_by(enter, &mut lobby, &mut memory), None);
    focus_on(removes, &mut lobby, &mut memory);
    lobby.here.remove(0);
    assert_eq!(pressed_by(enter, &mut lobby, &mut memory), Some(removes));
}
