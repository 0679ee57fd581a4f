//! Lobbies under a flood of chat, and with as many players as possible.

use super::*;
use crate::window::menu::page;
use crate::window::places::Places;
use crate::window::readability::{SIZES, check_texts};
use lockstep::{PeerId, Seat};
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
            seats: 2,
            plan: Plan::default(),
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
