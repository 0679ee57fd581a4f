//! Processes of the demo that are cut off from each other while they play.

use std::fs;
use std::path::Path;
use std::time::Duration;
use tests::processes::{Finished, Process, demo, free_ports};

const PROGRAM: &str = env!("CARGO_BIN_EXE_numbers");
const CUT: &str = "loss=100%";

/// A match of three with impairments from files.
struct Cuttable<'a> {
    folder: &'a Path,
    ports: Vec<u16>,
    peers: Vec<Process>,
}

impl<'a> Cuttable<'a> {
    fn start(turns: &str, further: &[&str], folder: &'a Path) -> Cuttable<'a> {
        let mut playing = Cuttable {
            folder,
            ports: free_ports(3),
            peers: Vec::new(),
        };
        let mut ticket = String::new();
        for at in 0..3 {
            playing.cut(at, &[]);
            let name = at.to_string();
            let listen = format!("127.0.0.1:{}", playing.ports[at]);
            let files = [
                format!("peer{at}.key"),
                format!("peer{at}.replay"),
                format!("@peer{at}.ways"),
            ];
            let mut arguments = vec!["demo"];
            match at {
                0 => {
                    arguments.extend(["host", "--seats", "3", "--map-seed", "4", "--turns", turns]);
                    arguments.extend(["--plan", "200x2"]);
                }
                _ => arguments.extend(["join", &ticket]),
            }
            arguments.extend([
                "--headless",
                "--bot",
                "normal",
                "--json",
                "--listen",
                &listen,
            ]);
            arguments.extend(["--identity", &files[0], "--record", &files[1]]);
            arguments.extend(["--impair", &files[2], "--name", &name]);
            arguments.extend(further);
            let mut peer = Process::start(Path::new(PROGRAM), &arguments, folder);
            if at == 0 {
                let event = peer.wait_for("ticket", Duration::from_secs(20));
                let event = event.expect("a host prints a ticket");
                ticket = event["ticket"].as_str().expect("a text").to_owned();
            }
            playing.peers.push(peer);
        }
        playing
    }

    /// Cuts the packets of this peer to those.
    fn cut(&self, from: usize, to: &[usize]) {
        let lines = to
            .iter()
            .map(|to| format!("to 127.0.0.1:{} {CUT}\n", self.ports[*to]));
        let (ways, new) = (format!("peer{from}.ways"), format!("peer{from}.new"));
        // In one step: a process must not read half of it.
        fs::write(self.folder.join(&new), lines.collect::<String>()).expect("the folder is there");
        fs::rename(self.folder.join(new), self.folder.join(ways)).expect("the folder is there");
    }

    /// Cuts a peer off from these others, in both directions.
    fn part(&self, one: usize, others: &[usize]) {
        self.cut(one, others);
        others.iter().for_each(|other| self.cut(*other, &[one]));
    }

    fn heal(&self) {
        (0..3).for_each(|peer| self.cut(peer, &[]));
    }

    fn wait_for_turn(&mut self, turn: u64) {
        for peer in &mut self.peers {
            let reached =
                |event: &serde_json::Value| event["event"] == "turn" && event["turn"] == turn;
            let seen = peer.wait_until(Duration::from_secs(30), reached);
            assert!(seen.is_some(), "turn {turn} is reached");
        }
    }

    fn finish(self) -> Vec<Finished> {
        let peers = self.peers.into_iter();
        peers
            .map(|peer| peer.finish(Duration::from_secs(60)))
            .collect()
    }
}

fn all_play_on(finished: &[Finished], turns: usize) {
    let first = finished[0].checksums();
    assert_eq!(first.len(), turns, "{}", finished[0].errors);
    for peer in finished {
        assert_eq!(peer.checksums(), first, "{}", peer.errors);
        assert!(peer.status.success(), "{} {}", peer.status, peer.errors);
        // A suspect may be heard again before a decision: a false alarm removes no peer.
        let mut rosters = peer
            .events
            .iter()
            .filter(|event| event["event"] == "roster");
        assert_eq!(rosters.find(|event| event["cause"] != "false-alarm"), None);
    }
}

#[test]
fn two_peers_without_a_link_play_on_through_the_third() {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let mut playing = Cuttable::start("90", &[], folder.path());
    playing.wait_for_turn(15);
    playing.part(1, &[2]);
    playing.wait_for_turn(60);
    playing.heal();
    let finished = playing.finish();
    all_play_on(&finished, 90);
    for peer in &finished {
        let stalls = peer.events.iter().filter(|event| event["event"] == "stall");
        let longest = stalls.filter_map(|event| event["ms"].as_u64()).max();
        assert!(longest < Some(1_500), "{longest:?} ms");
    }
}

#[test]
fn a_peer_cut_off_for_a_moment_plays_on() {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let mut playing = Cuttable::start("60", &[], folder.path());
    playing.wait_for_turn(15);
    playing.part(2, &[0, 1]);
    std::thread::sleep(Duration::from_millis(1_500));
    playing.heal();
    let finished = playing.finish();
    all_play_on(&finished, 60);
    let late = finished[0]
        .events
        .iter()
        .any(|event| event["event"] == "stall");
    assert!(late, "turns waited for it");
}

#[test]
fn a_peer_cut_off_for_long_rejoins_with_one_command() {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let mut playing = Cuttable::start("150", &[], folder.path());
    playing.wait_for_turn(15);
    playing.part(2, &[0, 1]);
    let lost = playing.peers[0].wait_for("roster", Duration::from_secs(20));
    assert_eq!(lost.expect("they go on")["cause"], "lost");
    playing.heal();
    let removed = playing.peers.remove(2).finish(Duration::from_secs(30));
    let end = removed.last("end").expect("it ends by itself");
    assert_eq!(end["reason"], "removed", "{}", removed.errors);
    assert!(
        removed
            .errors
            .contains("demo-rts rejoin peer2.replay --identity peer2.key")
    );
    let again = [
        "rejoin",
        "peer2.replay",
        "--identity",
        "peer2.key",
        "--headless",
        "--bot",
        "normal",
        "--json",
        "--record",
        "again.replay",
    ];
    let back = demo(&again, folder.path());
    assert!(back.status.success(), "{}", back.errors);
    let finished = playing.finish();
    let all = finished[0].checksums();
    assert_eq!((all.len(), finished[1].checksums()), (150, all.clone()));
    let seen = back.checksums();
    assert!(
        seen.len() > 20 && all.ends_with(&seen),
        "{} turns",
        seen.len()
    );
    for replay in [
        "peer0.replay",
        "peer1.replay",
        "peer2.replay",
        "again.replay",
    ] {
        let verified = demo(&["replay", "verify", replay], folder.path());
        assert_eq!(verified.status.code(), Some(0), "{}", verified.errors);
        let same = demo(&["replay", "diff", "peer0.replay", replay], folder.path());
        assert_eq!(same.status.code(), Some(0), "{}", same.errors);
    }
}

#[test]
fn patient_players_wait_for_a_peer_that_is_cut_off() {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let mut playing = Cuttable::start("60", &["--patient"], folder.path());
    playing.wait_for_turn(15);
    playing.part(2, &[0, 1]);
    std::thread::sleep(Duration::from_secs(8));
    playing.heal();
    let finished = playing.finish();
    all_play_on(&finished, 60);
    let waited = finished[0].last("patience").expect("they have voted");
    assert_eq!(waited["longer_ms"], 30_000);
    let verified = demo(&["replay", "verify", "peer2.replay"], folder.path());
    assert_eq!(verified.status.code(), Some(0), "{}", verified.errors);
}
