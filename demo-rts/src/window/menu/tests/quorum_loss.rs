//! A match of two whose host crashes: both players play on by buttons alone.

use super::*;
use crate::peer::{Bots, KeyChoice, Part, Peer};
use crate::window::words as of_match;

/// A running match of two whose host has crashed: the guest's screens.
fn host_crashed(folder: &Path) -> Desk {
    let mut ada = Desk::new(folder, "Ada");
    let bobs = folder.join("bob");
    std::fs::create_dir(&bobs).unwrap();
    let mut bob = Desk::new(&bobs, "Bob");
    open(&mut ada);
    join(&mut bob);
    both_until(&mut ada, &mut bob, "Bob", "Ada");
    ada.press(words::I_AM_READY);
    bob.press(words::I_AM_READY);
    both_until(&mut ada, &mut bob, "0:03", "0:03");
    // Like a crash: without leaving.
    ada.screens.clear();
    bob.until_it_shows(of_match::TOO_FEW);
    bob.assert_readable_at_every_size("choice after quorum loss");
    bob
}

/// The host's player opens the game again, and presses the button of its menu.
fn host_rejoins(folder: &Path) -> Desk {
    let mut ada = Desk::new(folder, "Ada");
    ada.until_it_shows(words::INTERRUPTED);
    ada.press(words::REJOIN);
    ada
}

fn both_play(ada: &mut Desk, bob: &mut Desk) {
    both_until(ada, bob, "0:1", "0:1");
    for desk in [ada, bob] {
        assert!(!desk.shows(of_match::TOO_FEW));
        assert_eq!(desk.screens.len(), 2, "the match above the menu");
        desk.assert_readable_at_every_size("a reopened match");
    }
}

#[test]
fn survivor_reopens_by_a_button_and_the_host_rejoins() {
    let folder = tempfile::tempdir().unwrap();
    let mut bob = host_crashed(folder.path());
    bob.press(of_match::REOPEN);
    bob.until_it_shows(words::NOT_HERE);
    bob.assert_readable_at_every_size("lobby of a reopening");
    shows_no_command(&bob);
    let mut ada = host_rejoins(folder.path());
    both_play(&mut ada, &mut bob);
}

#[test]
fn survivor_reopens_with_those_that_come_first() {
    let folder = tempfile::tempdir().unwrap();
    let mut bob = host_crashed(folder.path());
    bob.press(of_match::REOPEN);
    bob.until_it_shows(words::NOT_HERE);
    bob.press(words::BEGIN_NOW);
    bob.until_it_shows(words::FIRST_COMERS);
    bob.assert_readable_at_every_size("lobby of a reopening with its first comers");
    let mut ada = host_rejoins(folder.path());
    both_play(&mut ada, &mut bob);
}

#[test]
fn survivor_that_waits_reopens_once_the_host_rejoins() {
    let folder = tempfile::tempdir().unwrap();
    let mut bob = host_crashed(folder.path());
    bob.press(of_match::WAIT);
    assert!(!bob.shows(of_match::REOPEN));
    let mut ada = host_rejoins(folder.path());
    both_play(&mut ada, &mut bob);
}

#[test]
fn survivor_goes_on_alone_by_a_button() {
    let folder = tempfile::tempdir().unwrap();
    let mut bob = host_crashed(folder.path());
    bob.press(of_match::WAIT);
    // Escape leads back to the choice.
    bob.key(KeyCode::Escape);
    bob.press(of_match::LEAVE_MATCH);
    bob.until_it_shows(of_match::LEAVE_QUESTION);
    // So does the answer that changes nothing.
    bob.press(of_match::STAY);
    bob.press(of_match::GO_ON_ALONE);
    bob.until_it_shows("0:08");
    assert_eq!(bob.screens.len(), 2, "the match above the menu");
}

#[test]
fn survivor_is_asked_before_it_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let mut bob = host_crashed(folder.path());
    bob.press(of_match::LEAVE_MATCH);
    bob.until_it_shows(of_match::LEAVE_QUESTION);
    bob.assert_readable_at_every_size("the question before leaving");
    assert!(!bob.shows(of_match::TOO_FEW), "in place of the choice");
    bob.press(of_match::LEAVE_IT);
    bob.until_it_shows(words::INTERRUPTED);
}

/// Both have crashed, and both press the button of their menus: the second one a while after the first.
#[test]
fn two_that_have_crashed_rejoin_by_a_button_each() {
    let folder = tempfile::tempdir().unwrap();
    drop(host_crashed(folder.path()));
    let mut bob = Desk::new(&folder.path().join("bob"), "Bob");
    bob.until_it_shows(words::INTERRUPTED);
    bob.press(words::REJOIN);
    bob.until_it_shows(words::REJOINING);
    let mut ada = host_rejoins(folder.path());
    both_play(&mut ada, &mut bob);
}

#[test]
fn host_enters_the_branch_of_a_survivor_by_a_button() {
    let folder = tempfile::tempdir().unwrap();
    let mut bob = host_crashed(folder.path());
    bob.press(of_match::GO_ON_ALONE);
    let mut ada = host_rejoins(folder.path());
    both_until(&mut ada, &mut bob, of_match::ENTER_BRANCH, "0:");
    ada.assert_readable_at_every_size("a joiner that finds a branch");
    shows_no_command(&ada);
    ada.press(of_match::ENTER_BRANCH);
    both_until(&mut ada, &mut bob, "0:", "0:");
    assert_eq!(ada.screens.len(), 2, "the match above the menu");
}

/// The crashed host goes on alone, as it would where it cannot hear the survivor.
fn host_branches(folder: &Path) -> Peer {
    let replays = Places::at(&folder.join("data")).replays().unwrap();
    let files = std::fs::read_dir(replays).unwrap().flatten();
    let mut paths = files.map(|file| file.path());
    let path = paths.find(|path| path.extension().is_some_and(|end| end == "replay"));
    let path = path.expect("the host's recording");
    let from = replay::reopen(&path).unwrap();
    let part = Part::Branch {
        from: &from,
        replay: &path,
        listen: "0.0.0.0:0".parse().unwrap(),
    };
    let common = Common {
        identity: Some(folder.join("Ada.key")),
        record: Some(folder.join("branch.replay")),
        ..Common::default()
    };
    Peer::start(&part, Bots::None, &common, KeyChoice::Kept).unwrap()
}

#[test]
fn survivor_that_waits_enters_the_branch_of_the_host_by_a_button() {
    let folder = tempfile::tempdir().unwrap();
    let mut bob = host_crashed(folder.path());
    bob.press(of_match::WAIT);
    let mut ada = host_branches(folder.path());
    until("the branch is found", || {
        ada.poll(|_, _| {});
        bob.frames(1);
        bob.shows(of_match::ENTER_BRANCH).then_some(())
    });
    bob.assert_readable_at_every_size("the choice after quorum loss, with a branch");
    shows_no_command(&bob);
    bob.press(of_match::ENTER_BRANCH);
    let mut joins = |event: &lockstep::Event| matches!(event, lockstep::Event::RosterChanged { back, .. } if !back.is_empty());
    until("Bob is in the branch", || {
        bob.frames(1);
        let events = ada.poll(|_, _| {});
        events.iter().any(&mut joins).then_some(())
    });
    until("Bob plays", || {
        ada.poll(|_, _| {});
        bob.frames(1);
        (bob.screens.len() == 2 && bob.shows("0:")).then_some(())
    });
}

/// A joiner that has found no player, and is asked what it does.
fn joiner_finds_no_player(folder: &Path) -> Desk {
    drop(host_crashed(folder));
    let mut bob = Desk::new(&folder.join("bob"), "Bob");
    bob.until_it_shows(words::INTERRUPTED);
    bob.press(words::REJOIN);
    bob.until_it_shows(of_match::REOPEN);
    bob.assert_readable_at_every_size("a joiner that finds no player");
    shows_no_command(&bob);
    bob
}

#[test]
fn joiner_that_finds_no_player_may_reopen() {
    let folder = tempfile::tempdir().unwrap();
    let mut bob = joiner_finds_no_player(folder.path());
    bob.press(of_match::REOPEN);
    bob.until_it_shows(words::NOT_HERE);
    bob.press(words::CANCEL);
    bob.until_it_shows(words::INTERRUPTED);
}

#[test]
fn joiner_that_finds_no_player_may_go_on_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut bob = joiner_finds_no_player(folder.path());
    bob.press(of_match::GO_ON_ALONE);
    bob.until_it_shows("0:08");
}

fn shows_no_command(desk: &Desk) {
    for command in [
        "demo-rts host",
        "demo-rts join",
        "demo-rts rejoin",
        "--from",
    ] {
        assert!(!desk.shows(command), "{:?}", desk.texts());
    }
}
