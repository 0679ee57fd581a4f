//! How long it takes to come back into a match that has been played for long, and what it moves.

use super::now;
use crate::processes::{MatchOf, Process, Setting};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// Waiting for what comes in seconds.
const SOON: Duration = Duration::from_secs(60);
/// Turns in a minute of match at the plan of this measurement.
const TURNS_A_MINUTE: u64 = 300;
/// Turns that who came back plays before it leaves.
const STAYS: u64 = 25;

/// Plays one match of three processes with so many units. At each age the last to join is killed, comes back with its
/// replay, leaves, and comes back without one.
///
/// # Panics
/// When no match can be started.
pub fn print(program: &Path, first: &[&str], minutes: &[u64], units: u32) {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let scenario = format!("march:{units}");
    let setting = Setting {
        program,
        first,
        peers: 3,
        host: &["--map-seed", "4", "--scenario", &scenario],
        all: &[],
    };
    let mut playing = MatchOf::start(&setting, folder.path());
    let ticket = playing.peers[0].events.iter().find_map(|event| {
        let ticket = event["ticket"].as_str();
        ticket.map(str::to_owned)
    });
    let mut victim = playing.peers.pop();
    for minutes in minutes {
        let at = minutes * TURNS_A_MINUTE;
        let wait = Duration::from_secs(minutes * 60) + SOON;
        let aged = playing.peers[0].wait_until(wait, |event| event["turn"].as_u64() >= Some(at));
        if aged.is_none() {
            return println!("{minutes} min, {units} units: the match did not get so old");
        }
        if let Some(mut victim) = victim.take() {
            victim.kill();
        }
        let replay = [("with its replay", "peer2.replay"), ("without one", "")];
        for (how, replay) in replay {
            let what = match replay {
                "" => ticket.as_deref().unwrap_or_default(),
                replay => replay,
            };
            if playing.peers[0].wait_until(SOON, is_lost).is_none() {
                return println!("{minutes} min, {units} units: nobody was missed");
            }
            let back = come_back(program, first, folder.path(), what, &mut playing.peers[0]);
            match back {
                Some(back) => println!(
                    "{minutes} min, {units} units, {how}: back after {:.2} s, {} kB received until {:.0} s later; the others stood still for {}",
                    back.after.as_secs_f64(),
                    back.bytes / 1_000,
                    back.stayed.as_secs_f64(),
                    match back.stall {
                        0 => "less than 100 ms".to_owned(),
                        ms => format!("{ms} ms at most"),
                    },
                ),
                None => println!("{minutes} min, {units} units, {how}: not back after 60 s"),
            }
        }
    }
}

fn is_lost(event: &Value) -> bool {
    event["event"] == "roster" && (event["cause"] == "lost" || event["cause"] == "left")
}

/// One return.
struct Back {
    after: Duration,
    stayed: Duration,
    bytes: u64,
    /// The longest stall of another peer, in milliseconds, as far as it says so.
    stall: u64,
}

fn come_back(
    program: &Path,
    first: &[&str],
    folder: &Path,
    what: &str,
    other: &mut Process,
) -> Option<Back> {
    let turn = other.wait_until(SOON, |event| event["event"] == "turn")?;
    let leaves = (turn["turn"].as_u64()? + STAYS).to_string();
    let seen = other.events.len();
    let record = format!("back-{leaves}.replay");
    let mut arguments: Vec<&str> = first.to_vec();
    arguments.extend(["rejoin", what, "--identity", "peer2.key", "--headless"]);
    arguments.extend(["--json", "--record", &record, "--turns", &leaves]);
    let begun = now();
    let mut back = Process::start(program, &arguments, folder);
    back.wait_until(SOON, |event| {
        event["event"] == "roster" && event["cause"] == "rejoined"
    })?;
    let after = begun.elapsed();
    other.wait_until(SOON, |event| event["event"] == "roster")?;
    let stalls = other.events[seen..].iter();
    let stalls = stalls.filter(|event| event["event"] == "stall");
    let stall = stalls.filter_map(|event| event["ms"].as_u64()).max();
    let finished = back.finish(SOON);
    Some(Back {
        after,
        stayed: begun.elapsed() - after,
        bytes: finished.last("end")?["bytes_received"].as_u64()?,
        stall: stall.unwrap_or(0),
    })
}
