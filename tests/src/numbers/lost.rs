//! What a killed peer costs the survivors.

use crate::processes::{MatchOf, Setting};
use std::path::Path;
use std::time::Duration;

/// The turn after which a peer is killed, and the turns of a match.
const TURNS: (u64, &str) = (20, "40");

/// Plays matches in which the last joiner is killed, and prints how long the survivors waited in total.
///
/// # Panics
/// If no match can be started.
pub fn print(program: &Path, first: &[&str], peers: usize, rounds: u64, impair: Option<&str>) {
    let mut stalled = Vec::new();
    let mut late = 0;
    let mut whole = 0;
    for round in 0..rounds {
        let folder = tempfile::tempdir().expect("a folder for the match");
        let map = (round + 1).to_string();
        let mut all = vec!["--turns", TURNS.1];
        if let Some(impair) = impair {
            all.extend(["--impair", impair]);
        }
        let setting = Setting {
            program,
            first,
            peers,
            host: &["--map-seed", &map, "--plan", "200x2"],
            all: &all,
        };
        let mut playing = MatchOf::start(&setting, folder.path());
        for peer in &mut playing.peers {
            peer.wait_until(Duration::from_secs(60), |event| {
                event["event"] == "turn" && event["turn"] == TURNS.0
            });
        }
        let victim = playing.peers.last_mut().expect("a match has peers");
        victim.kill();
        let finished = playing.finish(Duration::from_secs(60));
        for peer in &finished[..peers - 1] {
            let end = peer.last("end");
            let number = |name: &str| end.and_then(|end| end[name].as_u64());
            stalled.extend(number("stalled_ms").map(|ms| ms as f64));
            late += number("late_turns").unwrap_or(0);
            whole += u64::from(end.is_some_and(|end| end["reason"] == "turn-limit"));
        }
    }
    let survivors = rounds * (peers as u64 - 1);
    let (median, most) = super::median_and(&mut stalled, 1.0).unwrap_or_default();
    println!(
        "{peers} peers, one killed, {}: {whole} of {survivors} survivors played to the end of {rounds} matches",
        impair.unwrap_or("clean loopback"),
    );
    println!(
        "  stalled ms: median {median:.0}, most {most:.0} of {} survivors, {late} late turns (suspicion 3,000 ms)",
        stalled.len(),
    );
}
