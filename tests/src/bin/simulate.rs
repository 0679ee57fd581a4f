//! Runs seeds of the simulator: `cargo run --release -p tests --bin simulate -- --seeds 0..1000`.

use clap::{Parser, ValueEnum};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tests::simulator::{Over, Scenario, Sweep, WITHOUT_CORE, run, shrink};

/// Play whole matches of several peers on a virtual clock over a faulty network, and judge them.
#[derive(Parser)]
#[command(
    after_help = "Example: simulate --seeds 0..500\n         simulate --seed 17 --trace 17.txt\n         simulate --hours 1 --seed 5000 --shrink"
)]
struct Arguments {
    /// Seeds to run; the last one is excluded.
    #[arg(long, default_value = "0..200", value_parser = range)]
    seeds: (u64, u64),
    /// A single seed, or with --hours the first one.
    #[arg(long)]
    seed: Option<u64>,
    /// Continue until this many hours of match have been played.
    #[arg(long, value_parser = hours)]
    hours: Option<f64>,
    /// Stop after this many seconds of wall clock.
    #[arg(long, value_name = "SECONDS")]
    within: Option<u64>,
    /// The signatures of batches; `mixed` is drawn by each seed.
    #[arg(long, value_enum, default_value = "mixed")]
    signer: Signers,
    /// The transport: whole messages over a model of links, or real QUIC and TLS over UDP packets.
    #[arg(long, value_enum, default_value = "messages")]
    over: Carriers,
    /// Every third run plays the next seed that draws two hostile peers.
    #[arg(long, conflicts_with = "seed")]
    two_hostile: bool,
    /// No plan is adaptive.
    #[arg(long)]
    fixed_plans: bool,
    /// The seed's remainder, not a draw, picks signer and garbage.
    #[arg(long)]
    by_number: bool,
    /// Write all inputs and outputs of every session to this file; needs --seed.
    #[arg(long, requires = "seed", conflicts_with = "hours")]
    trace: Option<PathBuf>,
    /// Shrink the first failing run while it still fails, and write its trace to simulate-SEED.txt.
    #[arg(long, conflicts_with = "trace")]
    shrink: bool,
    /// Stop at the first violation.
    #[arg(long)]
    first: bool,
    /// Number of threads. Default: one per processor.
    #[arg(long)]
    threads: Option<NonZeroUsize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Signers {
    Keyed,
    Ed25519,
    Mixed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Carriers {
    Messages,
    Quic,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let sweep = sweep(&arguments);
    if let Some(path) = &arguments.trace {
        return write_trace(&sweep.scenario(sweep.first), path);
    }
    let outcome = sweep.run(|report, _| {
        if let Some(violation) = &report.violation {
            println!("{}", sweep.failure(report.seed, violation));
        }
    });
    println!("{outcome}");
    if let Some(wanted) = sweep.enough.filter(|wanted| outcome.played() < *wanted) {
        println!(
            "stopped before {:.2} match-hours, at a violation or at the time limit",
            wanted.as_secs_f64() / 3_600.0
        );
    }
    if outcome.lacks_cores() {
        println!(
            "more than one run in {WITHOUT_CORE} has no core, or too many end before healing: the scenarios prove too little"
        );
        return ExitCode::FAILURE;
    }
    match outcome.failed.first() {
        None => ExitCode::SUCCESS,
        Some((seed, _)) => {
            if arguments.shrink {
                let path = PathBuf::from(format!("simulate-{seed}.txt"));
                write_smallest(&sweep.scenario(*seed), &path);
            }
            ExitCode::FAILURE
        }
    }
}

fn sweep(arguments: &Arguments) -> Sweep {
    let (first, end) = match (arguments.seed, arguments.hours) {
        (Some(seed), None) => (seed, seed + 1),
        (seed, Some(_)) => (seed.unwrap_or(arguments.seeds.0), u64::MAX),
        (None, None) => arguments.seeds,
    };
    Sweep {
        enough: arguments
            .hours
            .map(|hours| Duration::from_secs_f64(hours * 3_600.0)),
        within: arguments.within.map(Duration::from_secs),
        stops_at_first: arguments.first,
        two_hostile: arguments.two_hostile,
        fixed_plans: arguments.fixed_plans,
        by_number: arguments.by_number,
        over: match arguments.over {
            Carriers::Messages => Over::Messages,
            Carriers::Quic => Over::Quic,
        },
        ed25519: match arguments.signer {
            Signers::Keyed => Some(false),
            Signers::Ed25519 => Some(true),
            Signers::Mixed => None,
        },
        threads: arguments.threads,
        ..Sweep::of(first, end)
    }
}

/// Shrinks a failing run, and writes its trace.
fn write_smallest(scenario: &Scenario, path: &Path) {
    let invariant = |scenario: &Scenario| {
        let violation = run(scenario, None).violation;
        violation.map(|violation| violation.invariant)
    };
    let wanted = invariant(scenario);
    let mut tries = 0;
    let smallest = shrink(scenario, SHRINK_TRIES, |smaller| {
        tries += 1;
        invariant(smaller) == wanted
    });
    println!(
        "seed {} shrunk in {tries} tries: {}",
        scenario.seed,
        path.display()
    );
    write_trace(&smallest, path);
}

fn write_trace(scenario: &Scenario, path: &Path) -> ExitCode {
    let mut out: Box<dyn Write> = match File::create(path) {
        Ok(file) => Box::new(BufWriter::new(file)),
        Err(error) => {
            eprintln!("cannot write the trace to {}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    };
    if let Err(error) = writeln!(out, "{scenario:#?}") {
        eprintln!("cannot write the trace to {}: {error}", path.display());
        return ExitCode::FAILURE;
    }
    let report = run(scenario, Some(out));
    println!("{report:#?}");
    match report.violation {
        None => ExitCode::SUCCESS,
        Some(_) => ExitCode::FAILURE,
    }
}

fn hours(text: &str) -> Result<f64, &'static str> {
    let hours: Option<f64> = text.parse().ok();
    hours
        .filter(|hours| (0.0..=1e6).contains(hours))
        .ok_or("hours of match are a number from 0 to 1000000")
}

fn range(text: &str) -> Result<(u64, u64), &'static str> {
    let parts = text.split_once("..").and_then(|(first, last)| {
        let range = (first.parse().ok()?, last.parse().ok()?);
        (range.0 < range.1).then_some(range)
    });
    parts.ok_or("seeds are A..B, with A below B")
}

/// Runs that shrinking may take.
const SHRINK_TRIES: u32 = 400;
