//! Runs seeds of the simulator: `cargo run -p tests --release --bin simulate -- --seeds 0..1000`.

use clap::{Parser, ValueEnum};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tests::simulator::{Over, Report, Scenario, Toy, run, shrink};

/// Plays whole matches of several peers on a virtual clock over a faulty network, and judges them.
#[derive(Parser)]
#[command(
    after_help = "Example: simulate --seeds 0..500\n         simulate --seed 17 --trace 17.txt\n         simulate --hours 1 --seed 5000 --shrink"
)]
struct Arguments {
    /// Seeds to run, the last one excluded.
    #[arg(long, default_value = "0..200", value_parser = range)]
    seeds: (u64, u64),
    /// One seed alone, or with --hours the first one.
    #[arg(long)]
    seed: Option<u64>,
    /// Go on until so many hours of match have been played.
    #[arg(long, value_parser = hours)]
    hours: Option<f64>,
    /// Stop after so many seconds of wall clock, whatever is left.
    #[arg(long, value_name = "SECONDS")]
    within: Option<u64>,
    /// Who signs; mixed is as each seed has drawn it.
    #[arg(long, value_enum, default_value = "mixed")]
    signer: Signers,
    /// What carries: whole messages on a model of links, or the real QUIC and TLS over UDP packets.
    #[arg(long, value_enum, default_value = "messages")]
    over: Carriers,
    /// Write everything that went in and out of every session to this file; runs one seed.
    #[arg(long, requires = "seed", conflicts_with = "hours")]
    trace: Option<PathBuf>,
    /// Make the first run that fails smaller for as long as it still fails, and write its trace to simulate-SEED.txt.
    #[arg(long, conflicts_with = "trace")]
    shrink: bool,
    /// Stop at the first violation.
    #[arg(long)]
    first: bool,
    /// Threads; all processors where it is not given.
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

/// Sums over the runs of one kind of signer.
#[derive(Clone, Copy, Default)]
struct Sums {
    runs: u64,
    match_time: Duration,
    busy: Duration,
    turns: u64,
    commands: u64,
    peers: u64,
    packets: u64,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(path) = &arguments.trace {
        return trace(&arguments, path);
    }
    let begun = now();
    let (first, last) = match (arguments.seed, arguments.hours) {
        (Some(seed), None) => (seed, seed + 1),
        (seed, Some(_)) => (seed.unwrap_or(arguments.seeds.0), u64::MAX),
        (None, None) => arguments.seeds,
    };
    let wanted = arguments
        .hours
        .map(|hours| Duration::from_secs_f64(hours * 3_600.0));
    let until = arguments.within.map(Duration::from_secs);
    let next = AtomicU64::new(first);
    let sums = Mutex::new([Sums::default(); 2]);
    let failed = AtomicU64::new(0);
    let first_failed = Mutex::new(None);
    let threads = arguments
        .threads
        .or_else(|| std::thread::available_parallelism().ok());
    std::thread::scope(|scope| {
        for _ in 0..threads.map_or(1, NonZeroUsize::get) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let failed_one = arguments.first && failed.load(Ordering::Relaxed) > 0;
                    let late = until.is_some_and(|until| begun.elapsed() >= until);
                    let played = played(&sums.lock().expect("no thread panics while it adds")[..]);
                    let enough = wanted.is_some_and(|wanted| played >= wanted);
                    if seed >= last || failed_one || late || enough {
                        return;
                    }
                    let scenario = scenario(seed, &arguments);
                    let run_begun = now();
                    let report = run::<Toy>(&scenario, None);
                    let mut sums = sums.lock().expect("no thread panics while it adds");
                    sums[usize::from(scenario.ed25519)].add(&report, run_begun.elapsed());
                    if let Some(violation) = &report.violation {
                        failed.fetch_add(1, Ordering::Relaxed);
                        let mut first = first_failed
                            .lock()
                            .expect("no thread panics while it looks");
                        first.get_or_insert(seed);
                        println!("seed {seed}: {violation}");
                        println!("  again: {}", again(seed, &arguments));
                    }
                }
            });
        }
    });
    let sums = sums.into_inner().expect("all threads have ended");
    for (name, sums) in ["keyed", "ed25519"].into_iter().zip(&sums) {
        if sums.runs > 0 {
            println!("{}", sums.line(name));
        }
    }
    let (played, took) = (played(&sums), begun.elapsed());
    println!(
        "{:.2} match-hours in {:.1} s wall clock, {:.1} a minute, {} failed",
        played.as_secs_f64() / 3_600.0,
        took.as_secs_f64(),
        played.as_secs_f64() / 60.0 / took.as_secs_f64().max(1e-9),
        failed.load(Ordering::Relaxed)
    );
    if let Some(wanted) = wanted.filter(|wanted| played < *wanted) {
        println!(
            "{:.2} match-hours were wanted; {}",
            wanted.as_secs_f64() / 3_600.0,
            match failed.load(Ordering::Relaxed) {
                0 => "time was up",
                _ => "it ended at a violation or with its time",
            }
        );
    }
    let failed_seed = first_failed.into_inner().expect("all threads have ended");
    if let Some(seed) = failed_seed.filter(|_| arguments.shrink) {
        let path = PathBuf::from(format!("simulate-{seed}.txt"));
        write_smallest(&scenario(seed, &arguments), &path);
    }
    match failed.into_inner() {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn played(sums: &[Sums]) -> Duration {
    sums.iter().map(|sums| sums.match_time).sum()
}

impl Sums {
    fn add(&mut self, report: &Report, busy: Duration) {
        self.runs += 1;
        self.match_time += report.simulated;
        self.busy += busy;
        self.turns += u64::from(report.turns);
        self.commands += report.commands;
        self.peers += report.peers as u64;
        self.packets += report.packets;
    }

    fn line(&self, name: &str) -> String {
        let packets = match self.packets {
            0 => String::new(),
            packets => format!(", {packets} packets"),
        };
        let speed = self.match_time.as_secs_f64() / self.busy.as_secs_f64().max(1e-9);
        format!(
            "{name}: {speed:.0} match-seconds per second and thread ({} runs of {:.1} peers, {:.0} s of match, {:.1} s of work, {} turns, {} commands{packets})",
            self.runs,
            self.peers as f64 / self.runs as f64,
            self.match_time.as_secs_f64(),
            self.busy.as_secs_f64(),
            self.turns,
            self.commands,
        )
    }
}

fn scenario(seed: u64, arguments: &Arguments) -> Scenario {
    let mut scenario = Scenario::draw(seed);
    scenario.over = match arguments.over {
        Carriers::Messages => Over::Messages,
        Carriers::Quic => Over::Quic,
    };
    match arguments.signer {
        Signers::Keyed => scenario.ed25519 = false,
        Signers::Ed25519 => scenario.ed25519 = true,
        Signers::Mixed => {}
    }
    scenario
}

/// Shrinks a run that fails, and writes the trace of what is left of it.
fn write_smallest(scenario: &Scenario, path: &Path) {
    let invariant = |scenario: &Scenario| {
        let violation = run::<Toy>(scenario, None).violation;
        violation.map(|violation| violation.invariant)
    };
    let wanted = invariant(scenario);
    let mut tries = 0;
    let smallest = shrink(scenario, SHRINK_TRIES, |smaller| {
        tries += 1;
        invariant(smaller) == wanted
    });
    println!(
        "seed {} made smaller in {tries} tries: {}",
        scenario.seed,
        path.display()
    );
    write_trace(&smallest, path);
}

fn trace(arguments: &Arguments, path: &Path) -> ExitCode {
    let scenario = scenario(arguments.seed.unwrap_or_default(), arguments);
    write_trace(&scenario, path)
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
    let report = run::<Toy>(scenario, Some(out));
    println!("{report:#?}");
    match report.violation {
        None => ExitCode::SUCCESS,
        Some(_) => ExitCode::FAILURE,
    }
}

fn again(seed: u64, arguments: &Arguments) -> String {
    let over = match arguments.over {
        Carriers::Messages => "",
        Carriers::Quic => " --over quic",
    };
    let signer = match arguments.signer {
        Signers::Mixed => "",
        Signers::Keyed => " --signer keyed",
        Signers::Ed25519 => " --signer ed25519",
    };
    format!("cargo run -p tests --release --bin simulate -- --seed {seed}{signer}{over}")
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
    parts.ok_or("seeds are given as A..B, with A below B")
}

/// Runs that a scenario may take to be made smaller.
const SHRINK_TRIES: u32 = 400;

// Measures how fast runs are, and decides nothing in them.
fn now() -> Instant {
    Instant::now()
}
