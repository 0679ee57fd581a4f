//! Matches of two: after a crash of either player both play on, and the survivor is never stuck.

mod branches;
mod contradicted;
mod first_comers;

use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};
use tests::processes::{MatchOf, Process, Setting, demo, start_demo};

const PROGRAM: &str = env!("CARGO_BIN_EXE_numbers");
/// Between the later of both players' choices and their play.
const WITHIN: Duration = Duration::from_secs(10);
const AWAITED: Duration = Duration::from_secs(30);

/// A match of two at turn 40, with these options for both. Returns its peers by seat, each with the name of its files.
fn playing(all: &[&str], folder: &Path) -> [(Process, String); 2] {
    let mut peers = playing_of(2, all, folder).into_iter();
    [(); 2].map(|()| peers.next().expect("two peers"))
}

/// The same for a match of so many.
fn playing_of(peers: usize, all: &[&str], folder: &Path) -> Vec<(Process, String)> {
    let setting = Setting {
        program: Path::new(PROGRAM),
        first: &["demo"],
        peers,
        host: &["--map-seed", "4", "--turns", "2000", "--plan", "100x2"],
        all,
    };
    let MatchOf { peers, .. } = MatchOf::start(&setting, folder);
    let named = peers.into_iter().enumerate();
    let mut by_seat: Vec<(u64, Process, String)> = named
        .map(|(at, mut peer)| {
            let start = peer.wait_for("start", AWAITED).expect("the match begins");
            let seat = start["seat"].as_u64().expect("a number");
            (seat, peer, format!("peer{at}"))
        })
        .collect();
    by_seat.sort_by_key(|(seat, ..)| *seat);
    for (_, peer, _) in &mut by_seat {
        let reached = |event: &Value| event["event"] == "turn" && event["turn"] == 40;
        assert!(peer.wait_until(AWAITED, reached).is_some());
    }
    let peers = by_seat.into_iter();
    peers.map(|(_, peer, files)| (peer, files)).collect()
}

/// The player of these files comes back.
fn rejoin(files: &str, folder: &Path) -> Process {
    rejoin_with(files, folder, &[])
}

fn rejoin_with(files: &str, folder: &Path, more: &[&str]) -> Process {
    rejoin_to("back.replay", files, folder, more)
}

/// The same, with a name for the new recording.
fn rejoin_to(record: &str, files: &str, folder: &Path, more: &[&str]) -> Process {
    let replay = format!("{files}.replay");
    let key = format!("{files}.key");
    let own = ["rejoin", &replay, "--identity", &key, "--record", record];
    start_demo(
        &[&own[..], &["--headless", "--bot", "normal", "--json"], more].concat(),
        folder,
    )
}

/// Waits until this peer has played ten turns behind its newest roster. Returns the cause of that roster.
fn plays_on(peer: &mut Process, since: Instant) -> Value {
    let left = || WITHIN.saturating_sub(since.elapsed());
    let roster = peer.wait_for("roster", left());
    let Some(roster) = roster else {
        panic!("no roster: {:?}\n{}", tail(peer), peer.errors_now());
    };
    let from = roster["turn"].as_u64().expect("a number");
    let tenth =
        |event: &Value| event["event"] == "turn" && event["turn"].as_u64() >= Some(from + 10);
    if peer.wait_until(left(), tenth).is_none() {
        panic!("too few turns: {:?}\n{}", tail(peer), peer.errors_now());
    }
    roster["cause"].clone()
}

/// The newest events, for the message of a failure.
fn tail(peer: &Process) -> Vec<Value> {
    peer.events[peer.events.len().saturating_sub(12)..].to_vec()
}

/// Waits until this peer plays a branch. The line that says so.
fn branches(peer: &mut Process) -> Value {
    let branch = peer.wait_for("branch", AWAITED);
    branch.unwrap_or_else(|| panic!("no branch: {:?}\n{}", tail(peer), peer.errors_now()))
}

/// Both leave, one after the other, and their recordings agree. Their last lines.
fn end(survivor: (Process, &str), joiner: Process, folder: &Path) -> Vec<Value> {
    let (survivor, recorded) = survivor;
    joiner.leave();
    survivor.leave();
    let mut ends = Vec::new();
    for peer in [joiner, survivor] {
        let peer = peer.finish(AWAITED);
        assert_eq!(peer.status.code(), Some(0), "{}", peer.errors);
        ends.extend(peer.events.last().cloned());
    }
    for asked in [
        &["verify", recorded][..],
        &["verify", "back.replay"],
        &["diff", recorded, "back.replay"],
    ] {
        let asked = [&["replay"], asked].concat();
        let done = demo(&asked, folder);
        assert_eq!(done.status.code(), Some(0), "{asked:?}: {}", done.errors);
    }
    ends
}

/// Seat 0 crashes, and comes back before or after quorum loss has told its survivor to choose.
fn seat_0_crashes(choice: &str, comes_first: bool) {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let folder = folder.path();
    let [(mut first, lost), (mut survivor, kept)] = playing(&["--on-quorum-loss", choice], folder);
    first.kill();
    let early = comes_first.then(|| rejoin(&lost, folder));
    let event = survivor.wait_for("no_quorum", AWAITED);
    let event = event.expect("seat 1 has no quorum");
    assert_eq!(event["missing"], json!([0]));
    assert_eq!(event["choices"], json!(["wait", "reopen", "branch"]));
    let mut since = Instant::now();
    let mut joiner = early.unwrap_or_else(|| {
        if choice == "reopen" {
            let event = survivor.wait_for("reopen", AWAITED);
            assert!(event.is_some_and(|event| event["ticket"].is_string()));
        }
        since = Instant::now();
        rejoin(&lost, folder)
    });
    for peer in [&mut survivor, &mut joiner] {
        assert_eq!(plays_on(peer, since), "reopened");
    }
    end((survivor, &format!("{kept}-2.replay")), joiner, folder);
    keeps_no_addresses(folder);
}

/// No file of addresses is left: the match is over for all its players.
fn keeps_no_addresses(folder: &Path) {
    let entries = std::fs::read_dir(folder).expect("readable").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let left: Vec<String> = names.filter(|name| name.contains(".peers")).collect();
    assert_eq!(left, [""; 0], "both have left");
}

#[test]
fn seat_0_comes_back_after_a_waiting_survivor_has_no_quorum() {
    seat_0_crashes("wait", false);
}

#[test]
fn seat_0_comes_back_before_a_waiting_survivor_has_no_quorum() {
    seat_0_crashes("wait", true);
}

#[test]
fn seat_0_comes_back_after_the_survivor_has_reopened() {
    seat_0_crashes("reopen", false);
}

#[test]
fn seat_0_comes_back_before_the_survivor_reopens() {
    seat_0_crashes("reopen", true);
}

/// Both crash, and come back: this seat first, and the other one while it looks.
fn both_crash(first: usize) {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let folder = folder.path();
    let mut peers = playing(&[], folder);
    for (peer, _) in &mut peers {
        peer.kill();
    }
    let [early, later] = [first, 1 - first].map(|seat| peers[seat].1.clone());
    let mut early = rejoin_to("early.replay", &early, folder, &[]);
    let found = early.wait_until(Duration::from_secs(4), |_| true);
    assert_eq!(found, None, "nothing is there to be found");
    let since = Instant::now();
    let mut later = rejoin(&later, folder);
    for peer in [&mut early, &mut later] {
        assert_eq!(plays_on(peer, since), "reopened");
    }
    end((early, "early.replay"), later, folder);
    keeps_no_addresses(folder);
}

#[test]
fn both_crash_and_seat_0_comes_back_first() {
    both_crash(0);
}

#[test]
fn both_crash_and_seat_1_comes_back_first() {
    both_crash(1);
}

#[test]
fn seat_1_comes_back_to_a_survivor_that_plays_on() {
    for choice in ["wait", "reopen"] {
        let folder = tempfile::tempdir().expect("a folder for the match");
        let folder = folder.path();
        let [(mut survivor, kept), (mut second, lost)] =
            playing(&["--on-quorum-loss", choice], folder);
        second.kill();
        let roster = survivor.wait_for("roster", AWAITED);
        assert_eq!(roster.expect("seat 0 is a quorum")["cause"], "lost");
        let since = Instant::now();
        let mut joiner = rejoin(&lost, folder);
        for peer in [&mut survivor, &mut joiner] {
            assert_eq!(plays_on(peer, since), "rejoined");
        }
        end((survivor, &format!("{kept}.replay")), joiner, folder);
    }
}

/// Seat 0 crashes, seat 1 goes on alone, and seat 0 enters its branch: it comes back before or after the branch begins.
fn seat_0_enters_a_branch(comes_first: bool) {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let folder = folder.path();
    let all = ["--on-quorum-loss", "branch"];
    let [(mut first, lost), (mut survivor, kept)] = playing(&all, folder);
    let start = survivor
        .events
        .iter()
        .find(|event| event["event"] == "start");
    let of = start.expect("it has begun")["match_id"].clone();
    first.kill();
    let enters = ["--into-branch"];
    let early = comes_first.then(|| rejoin_with(&lost, folder, &enters));
    let branch = survivor.wait_for("branch", AWAITED);
    let branch = branch.expect("seat 1 goes on alone");
    assert_eq!(branch["of"], of);
    assert_ne!(branch["match_id"], of);
    let since = Instant::now();
    let mut joiner = early.unwrap_or_else(|| rejoin_with(&lost, folder, &enters));
    let left = WITHIN.saturating_sub(since.elapsed());
    let entered = joiner.wait_for("branch", left);
    let Some(entered) = entered else {
        panic!("not entered: {:?}\n{}", tail(&joiner), joiner.errors_now());
    };
    assert_eq!(entered, branch);
    assert_eq!(plays_on(&mut joiner, since), "rejoined");
    let found = joiner.events.iter();
    let found = found.filter(|event| event["event"] == "branch_found");
    let found: Vec<&Value> = found.collect();
    assert_eq!(found.len(), 1);
    assert_eq!(
        (&found[0]["turn"], &found[0]["seats"]),
        (&branch["turn"], &json!([1]))
    );
    let back = |event: &Value| event["event"] == "roster" && event["back"] == json!([0]);
    assert!(survivor.wait_until(AWAITED, back).is_some());
    let recorded = format!("{kept}-2.replay");
    let ends = end((survivor, &recorded), joiner, folder);
    for line in ends {
        assert_eq!(line["branch"], branch["match_id"]);
        assert_eq!((&line["branch_of"], &line["unagreed"]), (&of, &json!(true)));
    }
    // The branch is named by its first turn, beside the match's own recording too, which ends there.
    let verified = demo(&["replay", "verify", "--json", &recorded], folder);
    let branches = json!([{"turn": branch["turn"], "match_id": branch["match_id"], "seats": [1]}]);
    assert_eq!(verified.events[0]["branches"], branches);
    let before = format!("{kept}.replay");
    let diff = demo(&["replay", "diff", "--json", &before, &recorded], folder);
    assert_eq!(diff.events[0]["agrees"], true);
    assert_eq!(diff.events[0]["branches"], json!([[], branches]));
}

#[test]
fn seat_0_enters_a_branch_that_has_begun() {
    seat_0_enters_a_branch(false);
}

#[test]
fn seat_0_enters_a_branch_that_begins_later() {
    seat_0_enters_a_branch(true);
}

#[test]
fn a_survivor_without_a_quorum_goes_on_alone() {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let folder = folder.path();
    let all = ["--on-quorum-loss", "branch"];
    let [(mut first, _), (mut survivor, kept)] = playing(&all, folder);
    first.kill();
    let branch = survivor.wait_for("branch", AWAITED);
    let since = Instant::now();
    let from = branch.expect("it goes on alone")["turn"].as_u64();
    let tenth = |event: &Value| {
        let turn = event["turn"].as_u64();
        event["event"] == "turn" && turn >= from.map(|from| from + 10)
    };
    let left = WITHIN.saturating_sub(since.elapsed());
    assert!(
        survivor.wait_until(left, tenth).is_some(),
        "{:?}",
        tail(&survivor)
    );
    survivor.leave();
    let survivor = survivor.finish(AWAITED);
    assert_eq!(survivor.status.code(), Some(0), "{}", survivor.errors);
    let replay = format!("{kept}-2.replay");
    let done = demo(&["replay", "verify", &replay], folder);
    assert_eq!(done.status.code(), Some(0), "{}", done.errors);
}
