//! Matches begun by commands: the same lobby, without a menu below it.

use super::super::Begun;
use super::*;
use crate::bot::Level;
use crate::options;
use crate::peer::{Bots, KeyChoice, Part, Peer};
use crate::window::lobby::Kind;
use lockstep::log::{OnDesync, Terms};
use lockstep::{PeerId, Seat, SeatInfo, Ticket};

/// The desk of a match that a command begins.
fn of_command(folder: &Path, part: &Part<'_>, common: &Common) -> Desk {
    of_kind(Kind::of(part, common), folder, part, common)
}

fn of_kind(kind: Option<Kind>, folder: &Path, part: &Part<'_>, common: &Common) -> Desk {
    let front = Rc::new(Front::at(Places::at(folder), common));
    front.settings.borrow_mut().local_network = false;
    let bots = common.bot.map_or(Bots::None, Bots::All);
    let peer = Peer::start(part, bots, common, KeyChoice::Ephemeral).expect("a match");
    let notes = vec!["a note".to_owned()];
    let screen = crate::window::desktop::first_of(&front, Begun { peer, notes }, kind, "test");
    let mut desk = Desk::of(front, screen);
    desk.until_it_shows(words::CANCEL);
    desk
}

/// Hosts a match of this many seats.
fn host(seats: u8) -> Part<'static> {
    Part::Host {
        terms: Terms {
            seats,
            on_desync: OnDesync::Pause,
            ..Terms::default()
        },
        bots: 0,
        listen: ([127, 0, 0, 1], 0).into(),
    }
}

/// A match of two hosted by a command, and its ticket.
fn opened_by_command(folder: &Path, common: &Common) -> (Desk, Ticket) {
    opened_for(2, folder, common)
}

fn opened_for(seats: u8, folder: &Path, common: &Common) -> (Desk, Ticket) {
    let mut host = of_command(folder, &host(seats), common);
    host.until_it_shows("(you");
    let with = Modifiers {
        control: true,
        ..Modifiers::default()
    };
    let (key, repeat) = (KeyCode::C, false);
    host.step(Input {
        keys: vec![Press { key, with, repeat }],
        ..Input::default()
    });
    host.frames(1);
    assert!(host.shows(crate::window::words::COPIED));
    let ticket = crate::window::clipboard().expect("it was copied");
    (host, ticket.parse().expect("a ticket"))
}

fn named(name: &str) -> Common {
    Common {
        name: Some(name.to_owned()),
        ..Common::default()
    }
}

#[test]
fn host_and_join_commands_meet_and_print_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let common = Common {
        minutes: Some(90),
        turns: Some(40),
        plan: Some(options::plan_choice("50x2").unwrap()),
        bot: Some(Level::Hard),
        ..named("Ada")
    };
    let (mut ada, ticket) = opened_by_command(folder.path(), &common);
    let text = ada.texts().join(" ");
    for wanted in [
        "Ada (you: bot, hard)",
        "90 minutes.",
        "Clicks answered in 100 ms, turns 50x2, at most 40.",
        "a note",
        "1 seat",
    ] {
        assert!(text.contains(wanted), "{wanted} in {text}");
    }
    ada.assert_readable_at_every_size("lobby of the host command");
    // A peer begun by a command is ready, but can change that.
    ada.press(words::I_AM_NOT);
    ada.until_it_shows(words::NOT_READY);
    let listen = ([127, 0, 0, 1], 0).into();
    let part = Part::Join {
        ticket: &ticket,
        listen,
    };
    let mut bob = of_command(folder.path(), &part, &named("Bob"));
    both_until(&mut ada, &mut bob, "Bob", "Ada");
    bob.assert_readable_at_every_size("lobby of the join command");
    assert!(bob.shows(words::I_AM_NOT) && !ada.shows(words::I_AM_NOT));
    bob.press(words::CHAT_HINT);
    bob.paste("good luck");
    bob.key(KeyCode::Enter);
    both_until(&mut ada, &mut bob, "Bob: good luck", "Bob: good luck");
    ada.press(words::I_AM_READY);
    // The turn limit is reached after two seconds.
    let close = crate::window::words::CLOSE_MATCH;
    both_until(&mut ada, &mut bob, close, close);
    for desk in [&mut ada, &mut bob] {
        desk.press(close);
        assert!(desk.screens.is_empty(), "no menu lies below");
        let text = desk.front.exit_report.borrow();
        assert_eq!(text.code(), crate::exit::GOOD);
        assert!(text.lines()[0].contains("40 turns"), "{text:?}");
    }
}

#[test]
fn a_ticket_alone_shows_every_seat_and_the_map() {
    let folder = tempfile::tempdir().unwrap();
    let common = Common {
        map_seed: Some(4_711),
        plan: Some(options::plan_choice("50x2").unwrap()),
        ..named("Ada")
    };
    let (mut ada, ticket) = opened_for(4, folder.path(), &common);
    let listen = ([127, 0, 0, 1], 0).into();
    let part = Part::Join {
        ticket: &ticket,
        listen,
    };
    let mut bob = of_command(folder.path(), &part, &named("Bob"));
    both_until(&mut ada, &mut bob, "Bob", words::STARTS);
    let text = bob.texts().join(" ");
    for wanted in [
        &words::missing(2, 0),
        "Clicks answered in 100 ms, turns 50x2.",
        "number 4711",
    ] {
        assert!(text.contains(wanted), "{wanted} in {text}");
    }
    assert_eq!(text.matches(words::OPEN_SEAT).count(), 2, "{text}");
    bob.assert_readable_at_every_size("lobby behind a ticket");
}

#[test]
fn a_match_from_commands_begins_once_every_seat_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let (mut ada, ticket) = opened_by_command(folder.path(), &named("Ada"));
    let listen = ([127, 0, 0, 1], 0).into();
    let part = Part::Join {
        ticket: &ticket,
        listen,
    };
    let mut bob = of_command(folder.path(), &part, &named("Bob"));
    until("both play", || {
        ada.frames(1);
        bob.frames(1);
        (ada.shows("0:02") && bob.shows("0:02")).then_some(())
    });
}

#[test]
fn leaving_or_missing_a_lobby_is_reported_at_the_prompt() {
    let folder = tempfile::tempdir().unwrap();
    let (mut ada, ticket) = opened_by_command(folder.path(), &named("Ada"));
    ada.press(words::CANCEL);
    ada.until("cancel closes the window", |ada| ada.screens.is_empty());
    let text = ada.front.exit_report.borrow();
    assert_eq!(text.code(), crate::exit::GOOD);
    assert!(text.lines()[0].contains("left"), "{text:?}");
    let listen = ([127, 0, 0, 1], 0).into();
    let part = Part::Join {
        ticket: &ticket,
        listen,
    };
    let mut bob = of_command(folder.path(), &part, &named("Bob"));
    bob.until_it_shows(words::LOBBY_OVER);
    bob.assert_readable_at_every_size("a closed lobby of a command");
    bob.press(crate::window::words::CLOSE);
    assert!(bob.screens.is_empty());
    let text = bob.front.exit_report.borrow();
    assert_eq!(text.code(), crate::exit::NETWORK);
    assert!(text.lines()[0].contains("cannot be reached"), "{text:?}");
}

#[test]
fn a_reopening_lobby_names_missing_players_and_their_way_back() {
    let folder = tempfile::tempdir().unwrap();
    let common = named("Ada");
    let info = |seat: u8| SeatInfo {
        seat: Seat(seat),
        peer: PeerId([seat; 32]),
        name: format!("{seat}{}", "i".repeat(31)),
    };
    let setup = crate::peer::setup(&common);
    for setup in [None, Some(setup)] {
        let kind = Kind::Reopen {
            setup,
            seats: (0..8).map(info).collect(),
            wait: Duration::from_secs(60),
        };
        let mut ada = of_kind(Some(kind), folder.path(), &host(8), &common);
        ada.until_it_shows("(you)");
        let text = ada.texts().join(" ");
        for wanted in [
            words::NOT_HERE,
            "when they rejoin",
            "60 seconds",
            "Waiting for 7 players.",
        ] {
            assert!(text.contains(wanted), "{wanted} in {text}");
        }
        assert!(!ada.shows(words::I_AM_NOT) && !ada.shows(words::CHAT_HINT));
        ada.assert_readable_at_every_size("lobby of a match that is reopened");
    }
}
