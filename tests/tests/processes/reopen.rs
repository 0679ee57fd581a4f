//! Reopening matches of the demo after all processes were killed, or too many.

use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use tests::processes::{Finished, MatchOf, Process, Setting, demo, start_demo};

const PROGRAM: &str = env!("CARGO_BIN_EXE_numbers");
const BOT: [&str; 4] = ["--headless", "--bot", "normal", "--json"];

/// A match of three that has reached this turn.
fn playing(turn: u64, folder: &Path) -> MatchOf {
    playing_of(3, turn, &[], folder)
}

/// A match of so many peers with these options that has reached this turn.
fn playing_of(peers: usize, turn: u64, all: &[&str], folder: &Path) -> MatchOf {
    let setting = Setting {
        program: Path::new(PROGRAM),
        first: &["demo"],
        peers,
        host: &["--map-seed", "4", "--turns", "200", "--plan", "100x2"],
        all,
    };
    let mut playing = MatchOf::start(&setting, folder);
    let reached = |event: &Value| event["event"] == "turn" && event["turn"] == turn;
    for peer in &mut playing.peers {
        assert!(peer.wait_until(Duration::from_secs(60), reached).is_some());
    }
    playing
}

/// Kills all three peers at this turn. Returns what each had executed.
fn killed(turn: u64, folder: &Path) -> Vec<Finished> {
    let mut playing = playing(turn, folder);
    playing.peers.iter_mut().for_each(Process::kill);
    playing.finish(Duration::from_secs(10))
}

/// The seats of these peers: the first to join has the lowest.
fn seats_of(peers: &[Finished]) -> Vec<u64> {
    let seat = |peer: &Finished| peer.last("start").and_then(|start| start["seat"].as_u64());
    let seats: Option<Vec<u64>> = peers.iter().map(seat).collect();
    seats.expect("all have started")
}

fn named(peer: usize) -> [String; 3] {
    [
        format!("peer{peer}.replay"),
        format!("peer{peer}.key"),
        format!("back{peer}.replay"),
    ]
}

/// This peer hosts the reopening. Waits for its ticket.
fn host(peer: usize, wait: &str, folder: &Path) -> (Process, String) {
    let [replay, key, back] = named(peer);
    let own = [
        "host",
        "--from",
        &replay,
        "--identity",
        &key,
        "--record",
        &back,
    ];
    let more = ["--listen", "127.0.0.1:0", "--wait", wait];
    let mut process = start_demo(&[&own[..], &more, &BOT].concat(), folder);
    let event = process.wait_for("ticket", Duration::from_secs(30));
    let event = event.expect("a host prints a ticket");
    assert_eq!(event["reopens"], true);
    let ticket = event["ticket"].as_str().expect("a text").to_owned();
    (process, ticket)
}

/// This peer comes back with its recording and the addresses beside it.
fn rejoin(peer: usize, folder: &Path) -> Process {
    let [replay, key, back] = named(peer);
    let own = ["rejoin", &replay, "--identity", &key, "--record", &back];
    start_demo(&[&own[..], &BOT].concat(), folder)
}

/// This peer joins the reopening.
fn join(peer: usize, ticket: &str, folder: &Path) -> Process {
    let [replay, key, back] = named(peer);
    let own = [
        "join",
        ticket,
        "--from",
        &replay,
        "--identity",
        &key,
        "--record",
        &back,
    ];
    start_demo(&[&own[..], &BOT].concat(), folder)
}

fn code_of(arguments: &[&str], folder: &Path) -> (Option<i32>, String) {
    let finished = demo(arguments, folder);
    (finished.status.code(), finished.errors)
}

/// The new recordings are valid, and agree with the old ones.
fn recordings_agree(peers: &[usize], folder: &Path) {
    let [.., first] = named(peers[0]);
    for peer in peers {
        let [old, _, back] = named(*peer);
        for asked in [["verify", &back, ""], ["diff", &first, &back]] {
            let asked = asked.iter().copied().filter(|word| !word.is_empty());
            let arguments: Vec<&str> = ["replay"].into_iter().chain(asked).collect();
            let (code, errors) = code_of(&arguments, folder);
            assert_eq!(code, Some(0), "{arguments:?}: {errors}");
        }
        // A killed peer's recording may end within a record.
        let (code, errors) = code_of(&["replay", "diff", &first, &old], folder);
        assert!(matches!(code, Some(0 | 5)), "{old}: {code:?} {errors}");
    }
}

#[test]
fn a_match_goes_on_after_all_three_peers_were_killed() {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let folder = folder.path();
    let before = killed(60, folder);
    // Another peer than before is the host.
    let (hosting, ticket) = host(1, "60", folder);
    let guests = [join(0, &ticket, folder), join(2, &ticket, folder)];
    let mut after = vec![hosting.finish(Duration::from_secs(90))];
    after.extend(guests.map(|guest| guest.finish(Duration::from_secs(20))));
    let mut cuts = Vec::new();
    for peer in &after {
        let roster = peer
            .last("roster")
            .unwrap_or_else(|| panic!("{}", peer.errors));
        assert_eq!(
            (&roster["cause"], &roster["left"]),
            (&json!("reopened"), &json!([]))
        );
        cuts.push(roster["turn"].as_u64().expect("a number"));
        let end = peer.last("end").expect("it has ended");
        assert_eq!(end["reason"], "turn-limit", "{}", peer.errors);
        assert_eq!((&end["agreed"], &end["of"]), (&json!(3), &json!(3)));
        assert!(peer.status.success());
        assert!(end["executed"].as_u64() > Some(0), "its bot goes on: {end}");
    }
    assert!(
        cuts.iter().all(|cut| *cut == cuts[0]) && cuts[0] >= 58,
        "{cuts:?}"
    );
    // Every executed turn has one checksum, before the deaths and after.
    let known = before[0].checksums();
    for peer in after.iter().chain(&before[1..]) {
        for (turn, checksum) in peer.checksums() {
            let counts = turn < cuts[0] && (turn as usize) < known.len();
            assert!(!counts || known[turn as usize].1 == checksum, "turn {turn}");
        }
    }
    let last = |peer: &Finished| {
        let mut checksums = peer.checksums();
        checksums.retain(|(turn, _)| *turn >= cuts[0]);
        checksums
    };
    assert_eq!(last(&after[0]).len() as u64, 200 - cuts[0]);
    assert!(after.iter().all(|peer| last(peer) == last(&after[0])));
    recordings_agree(&[1, 0, 2], folder);
    // The match is over: no file of addresses remains, beside old or new recordings.
    let entries = std::fs::read_dir(folder).expect("readable").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let left: Vec<String> = names.filter(|name| name.contains(".peers")).collect();
    assert_eq!(left, [""; 0]);
}

#[test]
fn two_of_three_reopen_and_one_alone_does_not() {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let folder = folder.path();
    let seats = seats_of(&killed(40, folder));
    let (alone, _) = host(2, "1", folder);
    let alone = alone.finish(Duration::from_secs(30));
    assert_eq!(alone.status.code(), Some(4));
    let end = alone.last("end").expect("it says how it ended");
    assert_eq!(
        (&end["reason"], &end["turns"]),
        (&json!("no-quorum"), &json!(0))
    );
    let names = |peer: usize| alone.errors.contains(&format!("seat {} (", seats[peer]));
    let named = names(0) && names(1);
    assert!(named && !names(2), "{}", alone.errors);
    // Nothing was recorded, so the name is free.
    let (hosting, ticket) = host(2, "6", folder);
    let guest = join(0, &ticket, folder);
    let after = [hosting, guest].map(|peer| peer.finish(Duration::from_secs(60)));
    let mut go_on = [seats[0], seats[2]];
    go_on.sort_unstable();
    for peer in &after {
        let end = peer
            .last("end")
            .unwrap_or_else(|| panic!("{}", peer.errors));
        assert_eq!(end["reason"], "turn-limit", "{}", peer.errors);
        let roster = peer.last("roster").expect("they go on");
        assert_eq!(
            (&roster["cause"], &roster["seats"], &roster["left"]),
            (&json!("reopened"), &json!(go_on), &json!([seats[1]]))
        );
    }
    let common = |peer: &Finished| -> Vec<(u64, String)> {
        let mut checksums = peer.checksums();
        checksums.retain(|(turn, _)| *turn >= 40);
        checksums
    };
    assert_eq!(common(&after[0]), common(&after[1]));
    recordings_agree(&[2, 0], folder);
}

#[test]
fn a_survivor_of_three_reopens_with_the_printed_command() {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let folder = folder.path();
    let mut playing = playing(40, folder);
    let mut killed = playing.peers.split_off(1);
    killed.iter_mut().for_each(Process::kill);
    let mut left = playing.peers.remove(0);
    let event = left.wait_for("no_quorum", Duration::from_secs(30));
    let event = event.expect("the survivor is told");
    assert_eq!(event["choices"], json!(["wait", "reopen", "branch"]));
    let command = event["reopen"].clone();
    left.leave();
    let left = left.finish(Duration::from_secs(20));
    assert_eq!(left.status.code(), Some(0), "{}", left.errors);
    assert!(left.errors.contains("reopens the match"), "{}", left.errors);
    let more = ["--listen", "127.0.0.1:0", "--record", "back0.replay"];
    let words = command.as_str().expect("a text").split_whitespace();
    // The first word is the program's name.
    let words: Vec<&str> = words.skip(1).chain(more).collect();
    let mut hosting = start_demo(&[&words[..], &BOT].concat(), folder);
    let ticket = hosting.wait_for("ticket", Duration::from_secs(30));
    let ticket = ticket.expect("a host prints a ticket")["ticket"].clone();
    let ticket = ticket.as_str().expect("a text");
    let guests = [1, 2].map(|peer| join(peer, ticket, folder));
    let all = [hosting].into_iter().chain(guests);
    let all: Vec<Finished> = all
        .map(|peer| peer.finish(Duration::from_secs(60)))
        .collect();
    all.iter().for_each(goes_on_with_all);
    recordings_agree(&[0, 1, 2], folder);
}

/// This peer has played to the end of a match that was reopened with all players.
fn goes_on_with_all(peer: &Finished) {
    let end = peer
        .last("end")
        .unwrap_or_else(|| panic!("{}", peer.errors));
    assert_eq!(end["reason"], "turn-limit", "{}", peer.errors);
    let roster = peer.last("roster").expect("they go on");
    let (cause, gone) = (&roster["cause"], &roster["left"]);
    assert_eq!((cause, gone), (&json!("reopened"), &json!([])));
}

#[test]
fn two_survivors_of_four_and_their_joiners_go_on_by_themselves() {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let folder = folder.path();
    let mut playing = playing_of(4, 40, &[], folder);
    // The host has seat 0: the other two are half of the players, and no quorum.
    playing.peers[..2].iter_mut().for_each(Process::kill);
    for peer in &mut playing.peers[2..] {
        let event = peer.wait_for("no_quorum", Duration::from_secs(30));
        assert!(event.is_some(), "{}", peer.errors_now());
    }
    let mut all = playing.peers.split_off(2);
    all.extend([0, 1].map(|peer| rejoin(peer, folder)));
    for peer in &mut all {
        let roster = peer.wait_for("roster", Duration::from_secs(30));
        let roster = roster.unwrap_or_else(|| panic!("{}", peer.errors_now()));
        let (cause, gone) = (&roster["cause"], &roster["left"]);
        assert_eq!((cause, gone), (&json!("reopened"), &json!([])));
    }
}

#[test]
fn invalid_reopenings_are_refused_with_their_exit_codes() {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let folder = folder.path();
    killed(5, folder);
    let other = tempfile::tempdir().expect("a folder for another match");
    let short = [
        "skirmish", "--bots", "1", "--turns", "3", "--record", "o.replay",
    ];
    assert_eq!(
        code_of(&[&short[..], &BOT].concat(), other.path()).0,
        Some(0)
    );
    std::fs::copy(other.path().join("o.replay"), folder.join("over.replay")).expect("readable");
    let whole = std::fs::read(folder.join("peer0.replay")).expect("readable");
    std::fs::write(folder.join("head.replay"), &whole[..40]).expect("writable");
    let (hosting, ticket) = host(0, "60", folder);
    let cases: [(&[&str], i32, &str); 7] = [
        (&["rejoin", "missing.replay"], 1, "No such file"),
        (&["host", "--from", "missing.replay"], 1, "missing.replay"),
        (&["host", "--from", "head.replay"], 5, "head.replay"),
        (&["host", "--from", "over.replay"], 2, "has ended"),
        (
            &["host", "--from", "peer1.replay", "--identity", "new.key"],
            2,
            "no seat",
        ),
        (
            &["join", &ticket, "--from", "over.replay"],
            2,
            "another match",
        ),
        (
            &["join", &ticket, "--identity", "new.key"],
            4,
            "being reopened",
        ),
    ];
    for (arguments, code, word) in cases {
        let (ended, errors) = code_of(&[arguments, &["--headless"]].concat(), folder);
        assert_eq!(ended, Some(code), "{arguments:?}: {errors}");
        assert!(errors.contains(word), "{arguments:?}: {errors}");
    }
    // A seat joins twice: the second is refused, the first stays.
    let mut first = join(1, &ticket, folder);
    assert!(first.wait_for("lobby", Duration::from_secs(20)).is_some());
    std::fs::copy(folder.join("peer1.key"), folder.join("twin.key")).expect("readable");
    let twice = [
        "join",
        &ticket,
        "--from",
        "peer1.replay",
        "--identity",
        "twin.key",
    ];
    let (ended, errors) = code_of(&[&twice[..], &["--headless"]].concat(), folder);
    assert_eq!(ended, Some(4), "{errors}");
    assert!(errors.contains("in the lobby already"), "{errors}");
    // A cut file is valid up to its cut; the rest is fetched.
    let [cut, ..] = named(2);
    let whole = std::fs::read(folder.join(&cut)).expect("readable");
    std::fs::write(folder.join(&cut), &whole[..whole.len() - 7]).expect("writable");
    let mut third = join(2, &ticket, folder);
    for peer in [&mut first, &mut third] {
        let roster = peer.wait_for("roster", Duration::from_secs(30));
        assert_eq!(roster.expect("all are here")["cause"], "reopened");
    }
    drop(hosting);
}
