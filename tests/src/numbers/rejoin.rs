//! How long rejoining a long match takes, and how many bytes it moves.

use super::now;
use crate::processes::Process;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// Timeout of steps that take seconds.
const SOON: Duration = Duration::from_secs(60);
/// Turns in a minute of match under this measurement's plan.
const TURNS_A_MINUTE: u64 = 300;
/// Minutes of match reserved for the measurement.
const MEASURING_MINUTES: u64 = 10;
/// Turns that a rejoined peer plays before it leaves.
const STAYS: u64 = 25;

/// Plays a match of three processes for each age, all at once, with marching units and idle players. Then the last
/// joiner is killed, rejoins with its replay, leaves, and rejoins without it.
///
/// # Panics
/// If no match can be started.
pub fn print(program: &Path, first: &[&str], minutes: &[u64], units: u32) {
    std::thread::scope(|scope| {
        for minutes in minutes {
            scope.spawn(|| one(program, first, *minutes, units));
        }
    });
}

fn one(program: &Path, first: &[&str], minutes: u64, units: u32) {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let (mut peers, ticket) = start(program, first, minutes, units, folder.path());
    let (mut victim, other) = (peers.pop(), &mut peers[0]);
    let about = format!("{minutes} min, {units} units");
    let at = minutes * TURNS_A_MINUTE;
    // A busy machine delays the match now and then.
    let wait = Duration::from_secs(minutes * 66) + SOON;
    let aged = other.wait_until(wait, |event| event["turn"].as_u64() >= Some(at));
    if aged.is_none() {
        return println!("{about}: the match did not reach that age");
    }
    if let Some(victim) = &mut victim {
        victim.kill();
    }
    for (how, what) in [
        ("with its replay", "peer2.replay"),
        ("without one", &ticket),
    ] {
        if other.wait_until(SOON, is_gone).is_none() {
            return println!("{about}: no peer was removed");
        }
        let Some(back) = come_back(program, first, folder.path(), what, other) else {
            return println!("{about}, {how}: not admitted after {} s", SOON.as_secs());
        };
        println!(
            "{about}, {how}: admitted after {:.2} s, {} kB received until {:.0} s later; the others stalled for {}",
            back.after.as_secs_f64(),
            back.bytes / 1_000,
            back.stayed.as_secs_f64(),
            match back.stall {
                0 => "less than 100 ms".to_owned(),
                ms => format!("{ms} ms at most"),
            },
        );
    }
}

/// Three processes with idle players, so that no player wins before the measurement; and the host's ticket.
fn start(
    program: &Path,
    first: &[&str],
    minutes: u64,
    units: u32,
    folder: &Path,
) -> (Vec<Process>, String) {
    let scenario = format!("skirmish:{}", units / 3);
    let length = (minutes + MEASURING_MINUTES).to_string();
    let mut ticket = String::new();
    let mut peers = Vec::new();
    for at in 0..3 {
        let (key, replay) = (format!("peer{at}.key"), format!("peer{at}.replay"));
        let mut arguments: Vec<&str> = first.to_vec();
        match at {
            0 => arguments.extend([
                "host",
                "--seats",
                "3",
                "--listen",
                "127.0.0.1:0",
                "--plan",
                "200x2",
            ]),
            _ => arguments.extend(["join", &ticket]),
        }
        if at == 0 {
            arguments.extend(["--map-seed", "4", "--scenario", &scenario]);
            arguments.extend(["--minutes", &length]);
        }
        arguments.extend([
            "--headless",
            "--json",
            "--identity",
            &key,
            "--record",
            &replay,
        ]);
        let mut peer = Process::start(program, &arguments, folder);
        if at == 0 {
            let event = peer.wait_for("ticket", SOON);
            let event = event.expect("a host prints a ticket");
            ticket = event["ticket"].as_str().expect("a text").to_owned();
        }
        peers.push(peer);
    }
    (peers, ticket)
}

fn is_gone(event: &Value) -> bool {
    event["event"] == "roster" && (event["cause"] == "lost" || event["cause"] == "left")
}

/// A measured rejoin.
struct Back {
    after: Duration,
    stayed: Duration,
    bytes: u64,
    /// The longest reported stall of another peer, in milliseconds.
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
