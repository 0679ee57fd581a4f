//! Processes of the demo that are stopped for a while and then continued.

use std::path::Path;
use std::time::Duration;
use tests::processes::{Finished, MatchOf, Setting, demo};

const PROGRAM: &str = env!("CARGO_BIN_EXE_numbers");

/// Plays a match of three in which a peer is stopped for a while at turn 20.
fn play(victim: usize, lasts: Duration, turns: &str, folder: &Path) -> Vec<Finished> {
    let setting = Setting {
        program: Path::new(PROGRAM),
        first: &["demo"],
        peers: 3,
        host: &["--map-seed", "4", "--turns", turns, "--plan", "200x2"],
        all: &[],
    };
    let mut playing = MatchOf::start(&setting, folder);
    let turn = |event: &serde_json::Value| event["event"] == "turn" && event["turn"] == 20;
    for peer in &mut playing.peers {
        assert!(peer.wait_until(Duration::from_secs(30), turn).is_some());
    }
    playing.peers[victim].stop();
    std::thread::sleep(lasts);
    playing.peers[victim].go_on();
    playing.finish(Duration::from_secs(90))
}

/// Every replay is valid, and equals the first survivor's up to the agreed turn.
fn replays_hold(survivor: usize, folder: &Path) {
    let survivor = format!("peer{survivor}.replay");
    for peer in 0..3 {
        let replay = format!("peer{peer}.replay");
        for asked in [vec!["verify", &replay], vec!["diff", &survivor, &replay]] {
            let arguments = [vec!["replay"], asked].concat();
            let answered = demo(&arguments, folder);
            let code = answered.status.code();
            assert_eq!(code, Some(0), "{arguments:?}: {}", answered.errors);
        }
    }
}

#[test]
fn a_peer_stopped_for_a_second_plays_on() {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let finished = play(2, Duration::from_millis(1_200), "60", folder.path());
    let first = finished[0].checksums();
    assert_eq!(first.len(), 60);
    for peer in &finished {
        assert_eq!(peer.checksums(), first, "{}", peer.errors);
        assert!(peer.status.success(), "{} {}", peer.status, peer.errors);
        assert!(peer.last("roster").is_none(), "no peer was removed");
    }
    let slept = finished[2].last("slept").expect("it has noticed");
    assert!(slept["ms"].as_u64() >= Some(1_000), "{slept}");
    assert!(finished[0].last("slept").is_none());
    replays_hold(0, folder.path());
}

#[test]
fn a_guest_stopped_for_ten_seconds_learns_its_removal() {
    learns_its_removal(1);
}

#[test]
fn a_host_stopped_for_ten_seconds_learns_its_removal() {
    learns_its_removal(0);
}

/// A peer that is stopped for ten seconds learns that it was removed.
fn learns_its_removal(victim: usize) {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let mut finished = play(victim, Duration::from_secs(10), "100", folder.path());
    let removed = finished.remove(victim);
    let end = removed.last("end").expect("it ends by itself");
    assert_eq!(end["reason"], "removed", "{}", removed.errors);
    assert_eq!(removed.status.code(), Some(4));
    assert!(
        removed
            .errors
            .contains("the others went on without this peer"),
        "{}",
        removed.errors
    );
    assert!(removed.last("slept").is_some());
    let all = finished[0].checksums();
    assert_eq!((all.len(), finished[1].checksums().len()), (100, 100));
    assert_eq!(finished[1].checksums(), all);
    let roster = finished[0].last("roster").expect("they decided to go on");
    assert_eq!(roster["cause"], "lost");
    // Every peer has its turns before the cut; beyond it may hold as many as the delay.
    let cut = roster["turn"].as_u64().expect("a turn");
    let held = removed.checksums();
    assert!(held.len() as u64 <= cut + 2, "{} and {cut}", held.len());
    let mut common = held;
    common.retain(|(turn, _)| *turn < cut);
    assert!(common.len() > 18);
    assert_eq!(all[..common.len()], common);
    replays_hold(if victim == 0 { 1 } else { 0 }, folder.path());
}
