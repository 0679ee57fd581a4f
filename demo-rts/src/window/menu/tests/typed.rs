//! Matches that commands begin: the same lobby, without a menu below it.

use super::super::Begun;
use super::*;
use crate::bot::Level;
use crate::options;
use crate::peer::{Bots, KeyChoice, Part, Peer};
use crate::window::lobby::Kind;
use lockstep::log::{OnDesync, Terms};
use lockstep::{PeerId, Seat, SeatInfo, Ticket};

/// Whose match a command began: without a menu below it.
fn of_command(folder: &Path, part: &Part<'_>, common: &Common) -> Desk {
    of_kind(Kind::of(part, common), folder, part, common)
}

fn of_kind(kind: Option<Kind>, folder: &Path, part: &Part<'_>, common: &Common) -> Desk {
    let front = Rc::new(Front::at(Places::at(folder), common));
    front.settings.borrow_mut().local_network = false;
    let bots = common.bot.map_or(Bots::Nobody, Bots::All);
    let peer = Peer::start(part, bots, common, KeyChoice::Ephemeral).expect("a match");
    let notes = vec!["a note".to_owned()];
    let screen = crate::window::desktop::first_of(&front, Begun { peer, notes }, kind, "test");
    let mut desk = Desk::of(front, screen);
    desk.until_it_says(words::CANCEL);
    desk
}

/// Of a match of so many.
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

/// A match of two that is opened by a command, and its ticket.
fn opened_by_command(folder: &Path, common: &Common) -> (Desk, Ticket) {
    opened_for(2, folder, common)
}

fn opened_for(seats: u8, folder: &Path, common: &Common) -> (Desk, Ticket) {
    let mut host = of_command(folder, &host(seats), common);
    host.until_it_says("(you");
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
    assert!(host.says(crate::window::words::COPIED));
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
fn who_types_host_and_join_meets_in_the_lobby_and_tells_the_end_at_the_prompt() {
    let folder = tempfile::tempdir().unwrap();
    let common = Common {
        minutes: Some(90),
        turns: Some(40),
        plan: Some(options::plan("50x2").unwrap()),
        bot: Some(Level::Hard),
        ..named("Ada")
    };
    let (mut ada, ticket) = opened_by_command(folder.path(), &common);
    let told = ada.said().join(" ");
    for wanted in [
        "Ada (you: bot, hard)",
        "90 minutes. Turns 50x2, 40 at most.",
        "a note",
        "1 seat",
    ] {
        assert!(told.contains(wanted), "{wanted} in {told}");
    }
    ada.assert_readable_at_every_size("lobby of who typed host");
    // Who has typed it is ready, and may think better of that.
    ada.press(words::I_AM_NOT);
    ada.until_it_says(words::NOT_READY);
    let listen = ([127, 0, 0, 1], 0).into();
    let part = Part::Join {
        ticket: &ticket,
        listen,
    };
    let mut bob = of_command(folder.path(), &part, &named("Bob"));
    both_until(&mut ada, &mut bob, "Bob", "Ada");
    bob.assert_readable_at_every_size("lobby of who typed join");
    assert!(bob.says(words::I_AM_NOT) && !ada.says(words::I_AM_NOT));
    bob.press(words::CHAT_HINT);
    bob.paste("good luck");
    bob.key(KeyCode::Enter);
    both_until(&mut ada, &mut bob, "Bob: good luck", "Bob: good luck");
    ada.press(words::I_AM_READY);
    // The turns are over after two seconds.
    let close = crate::window::words::CLOSE_MATCH;
    both_until(&mut ada, &mut bob, close, close);
    for desk in [&mut ada, &mut bob] {
        desk.press(close);
        assert!(desk.screens.is_empty(), "no menu lies below");
        let told = desk.front.farewell.borrow();
        assert_eq!(told.code(), crate::exit::GOOD);
        assert!(told.lines()[0].contains("40 turns"), "{told:?}");
    }
}

#[test]
fn who_was_sent_a_ticket_sees_every_seat_and_the_map_though_no_local_network_tells() {
    let folder = tempfile::tempdir().unwrap();
    let common = Common {
        map_seed: Some(4_711),
        plan: Some(options::plan("50x2").unwrap()),
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
    let told = bob.said().join(" ");
    for wanted in [&words::missing(2, 0), "Turns 50x2.", "number 4711"] {
        assert!(told.contains(wanted), "{wanted} in {told}");
    }
    assert_eq!(told.matches(words::OPEN_SEAT).count(), 2, "{told}");
    bob.assert_readable_at_every_size("lobby of who was sent a ticket");
}

#[test]
fn a_typed_match_begins_by_itself_once_every_seat_is_taken() {
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
        (ada.says("0:02") && bob.says("0:02")).then_some(())
    });
}

#[test]
fn who_leaves_a_typed_lobby_or_finds_nobody_is_told_at_the_prompt() {
    let folder = tempfile::tempdir().unwrap();
    let (mut ada, ticket) = opened_by_command(folder.path(), &named("Ada"));
    ada.press(words::CANCEL);
    ada.until("cancel closes the window", |ada| ada.screens.is_empty());
    let told = ada.front.farewell.borrow();
    assert_eq!(told.code(), crate::exit::GOOD);
    assert!(told.lines()[0].contains("left"), "{told:?}");
    let listen = ([127, 0, 0, 1], 0).into();
    let part = Part::Join {
        ticket: &ticket,
        listen,
    };
    let mut bob = of_command(folder.path(), &part, &named("Bob"));
    bob.until_it_says(words::LOBBY_OVER);
    bob.assert_readable_at_every_size("a typed lobby that is over");
    bob.press(crate::window::words::CLOSE);
    assert!(bob.screens.is_empty());
    let told = bob.front.farewell.borrow();
    assert_eq!(told.code(), crate::exit::NETWORK);
    assert!(told.lines()[0].contains("cannot be reached"), "{told:?}");
}

#[test]
fn who_reopens_a_match_of_eight_is_told_who_is_not_here_and_how_they_come() {
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
        ada.until_it_says("(you)");
        let told = ada.said().join(" ");
        for wanted in [
            words::NOT_HERE,
            "--from REPLAY",
            "60 seconds",
            "Waiting for 7 players.",
        ] {
            assert!(told.contains(wanted), "{wanted} in {told}");
        }
        assert!(!ada.says(words::I_AM_NOT) && !ada.says(words::CHAT_HINT));
        ada.assert_readable_at_every_size("lobby of a match that is reopened");
    }
}
