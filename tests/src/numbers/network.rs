//! Matches of real processes over loopback: lateness, latency, bytes.

use crate::processes::{MatchOf, Setting};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// The parameters of a measurement.
pub struct Wanted<'a> {
    /// The program that plays.
    pub program: &'a Path,
    /// Arguments before the demo's own.
    pub first: &'a [&'a str],
    /// Peers of a match.
    pub peers: usize,
    /// The plan, such as `200x2`, or `adaptive`.
    pub plan: &'a str,
    /// Milliseconds in a turn of that plan, or in the shortest one.
    pub turn_ms: u64,
    /// Total match time. Matches follow each other until it is reached.
    pub seconds: u64,
    /// Impairment of each peer's outgoing packets.
    pub impair: Option<&'a str>,
}

#[derive(Default)]
struct Totals {
    turns: u64,
    late: u64,
    stalled_ms: u64,
    issued: u64,
    executed: u64,
    refused: u64,
    wall_ms: u64,
    sent: u64,
    received: u64,
    p50: Vec<f64>,
    p99: Vec<f64>,
    max: f64,
    matches: u32,
    unequal: u32,
    /// Plans that a first peer was told of.
    plans: Vec<String>,
}

/// Plays and prints one row.
///
/// # Panics
/// If no match can be started.
pub fn print(wanted: &Wanted<'_>) {
    let mut totals = Totals::default();
    let mut seed = 1;
    while totals.turns * wanted.turn_ms < wanted.seconds * 1_000 {
        let left_ms = wanted.seconds * 1_000 - totals.turns * wanted.turn_ms;
        play(wanted, left_ms.div_ceil(wanted.turn_ms), seed, &mut totals);
        seed += 1;
        if totals.matches > 100 {
            println!("gave up after 100 matches");
            return;
        }
    }
    let seconds = (totals.wall_ms as f64 / 1_000.0).max(0.001);
    let median =
        |samples: &mut Vec<f64>| super::median_and(samples, 0.5).map_or(0.0, |(median, _)| median);
    println!(
        "{} peers, {}, {}: {} s of match time in {} matches, {} peer-turns",
        wanted.peers,
        wanted.plan,
        wanted.impair.unwrap_or("clean loopback"),
        totals.turns * wanted.turn_ms / 1_000,
        totals.matches,
        totals.turns * wanted.peers as u64,
    );
    println!(
        "  late turns {}   stalled {} ms   latency ms p50 {:.1} p99 {:.1} (medians of {} peers) max {:.1}",
        totals.late,
        totals.stalled_ms,
        median(&mut totals.p50),
        median(&mut totals.p99),
        totals.p50.len(),
        totals.max,
    );
    if totals.plans.len() > totals.matches as usize {
        println!("  plans: {}", totals.plans.join(", "));
    }
    println!(
        "  commands issued {} executed {} refused at the end {} lost {}   matches with unequal checksums {}",
        totals.issued,
        totals.executed,
        totals.refused,
        totals.issued as i64 - totals.executed as i64 - totals.refused as i64,
        totals.unequal,
    );
    println!(
        "  per peer: up {:.0} B/s, down {:.0} B/s (UDP payload + 28 per packet)",
        totals.sent as f64 / seconds,
        totals.received as f64 / seconds,
    );
}

/// The plan of the start, and each later one with its turn.
fn plans(lines: &[Value]) -> impl Iterator<Item = String> {
    lines
        .iter()
        .filter_map(|line| match line["event"].as_str()? {
            "start" => Some(line["plan"].as_str()?.to_owned()),
            "plan" => {
                let [turn, ticks, delay, tick_ms] =
                    ["turn", "ticks", "delay", "tick_ms"].map(|name| line[name].as_u64());
                Some(format!(
                    "{}x{} from turn {}",
                    ticks? * tick_ms?,
                    delay?,
                    turn?
                ))
            }
            _ => None,
        })
}

fn play(wanted: &Wanted<'_>, turns: u64, seed: u64, totals: &mut Totals) {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let turns_text = turns.to_string();
    let map = seed.to_string();
    let mut all = vec!["--turns", &turns_text];
    if let Some(impair) = wanted.impair {
        all.extend(["--impair", impair]);
    }
    let setting = Setting {
        program: wanted.program,
        first: wanted.first,
        peers: wanted.peers,
        host: &["--plan", wanted.plan, "--map-seed", &map],
        all: &all,
    };
    let started = MatchOf::start(&setting, folder.path());
    let finished = started.finish(Duration::from_millis(turns * wanted.turn_ms * 2 + 120_000));
    totals.matches += 1;
    totals.plans.extend(plans(&finished[0].events));
    let first = finished[0].checksums();
    for peer in &finished {
        if peer.checksums() != first {
            totals.unequal += 1;
        }
        let Some(end) = peer.last("end") else {
            println!("a peer printed no end: {}", peer.errors);
            continue;
        };
        let number = |name: &str| end[name].as_u64().unwrap_or(0);
        totals.late += number("late_turns");
        totals.stalled_ms += number("stalled_ms");
        totals.issued += number("issued");
        totals.executed += number("executed");
        totals.refused += number("refused");
        totals.wall_ms += number("wall_ms");
        totals.sent += number("bytes_sent");
        totals.received += number("bytes_received");
        let latency = |name: &str| end["latency_ms"][name].as_f64().unwrap_or(0.0);
        totals.p50.push(latency("p50"));
        totals.p99.push(latency("p99"));
        totals.max = totals.max.max(latency("max"));
    }
    let played = finished[0]
        .last("end")
        .and_then(|end: &Value| end["turns"].as_u64());
    totals.turns += played.unwrap_or(0);
}
