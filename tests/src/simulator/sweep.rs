//! Many seeds, one after another on several threads, and what they came to together.

use super::{KINDS, Over, Report, Scenario, run};
use crate::judge::Violation;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Which seeds to run, and how.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The first seed.
    pub first: u64,
    /// The seed after the last.
    pub end: u64,
    /// It ends once so much match time has been played.
    pub enough: Option<Duration>,
    /// It ends after so much wall clock.
    pub within: Option<Duration>,
    /// It ends at the first violation.
    pub stops_at_first: bool,
    /// What carries the messages.
    pub over: Over,
    /// Whether batches are signed with Ed25519; each seed draws it where this says nothing.
    pub ed25519: Option<bool>,
    /// All processors where it is not given.
    pub threads: Option<NonZeroUsize>,
}

/// What the runs of a sweep came to.
#[derive(Default)]
pub struct Outcome {
    /// By the kind of signer, the keyed hash first.
    sums: [Sums; 2],
    /// By kind: how many runs are of it.
    kinds: Vec<usize>,
    /// Runs in which no core existed at healing.
    pub without_core: usize,
    /// The seeds that failed, and what was seen first.
    pub failed: Vec<(u64, Violation)>,
    /// Runs in which a peer was proved to have signed two histories, and in which a peer retracted turns.
    pub proved: usize,
    /// Runs in which a peer retracted turns.
    pub retracted: usize,
    took: Duration,
}

/// Sums over the runs of one kind of signer.
#[derive(Clone, Copy, Default)]
struct Sums {
    runs: usize,
    played: Duration,
    busy: Duration,
    turns: u64,
    commands: u64,
    peers: usize,
    packets: u64,
}

/// Of all runs at most one in so many may have no core.
pub const WITHOUT_CORE: usize = 10;
/// Fewer runs say nothing about that.
const ENOUGH: usize = 300;

impl Sweep {
    /// These seeds, each once, as they are drawn.
    pub fn of(first: u64, end: u64) -> Self {
        Sweep {
            first,
            end,
            enough: None,
            within: None,
            stops_at_first: false,
            over: Over::Messages,
            ed25519: None,
            threads: None,
        }
    }

    /// What a seed plays in this sweep.
    pub fn scenario(&self, seed: u64) -> Scenario {
        let drawn = Scenario::draw(seed);
        Scenario {
            over: self.over,
            ed25519: self.ed25519.unwrap_or(drawn.ed25519),
            ..drawn
        }
    }

    /// Runs all of it. `each` is told of every run, with what has been played so far.
    pub fn run(&self, each: impl Fn(&Report, &Outcome) + Sync) -> Outcome {
        let begun = now();
        let shared = Mutex::new((self.first, Outcome::default()));
        let next = || {
            let mut shared = shared.lock().expect("no thread panics while it counts");
            let (next, outcome) = &mut *shared;
            let failed = self.stops_at_first && !outcome.failed.is_empty();
            let late = self.within.is_some_and(|within| begun.elapsed() >= within);
            let enough = self.enough.is_some_and(|enough| outcome.played() >= enough);
            *next += 1;
            (*next <= self.end && !failed && !late && !enough).then_some(*next - 1)
        };
        let work = || {
            step_back();
            while let Some(seed) = next() {
                let scenario = self.scenario(seed);
                let begun = now();
                let report = run(&scenario, None);
                let mut shared = shared.lock().expect("no thread panics while it counts");
                shared.1.add(&scenario, &report, begun.elapsed());
                each(&report, &shared.1);
            }
        };
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..self.threads.map_or_else(processors, usize::from) {
                scope.spawn(work);
            }
        });
        let (_, mut outcome) = shared.into_inner().expect("all threads have ended");
        outcome.failed.sort_by_key(|(seed, _)| *seed);
        outcome.took = begun.elapsed();
        outcome
    }

    /// The command that repeats a seed of this sweep.
    pub fn again(&self, seed: u64) -> String {
        let over = if self.over == Over::Quic {
            " --over quic"
        } else {
            ""
        };
        let signer = match self.ed25519 {
            None => "",
            Some(false) => " --signer keyed",
            Some(true) => " --signer ed25519",
        };
        format!("cargo run -p tests --bin simulate -- --seed {seed}{signer}{over}")
    }

    /// A run that failed, in one line: the invariant, the peer, the turn, and the command that repeats it.
    pub fn failure(&self, seed: u64, violation: &Violation) -> String {
        format!(
            "seed {seed}: {} — again: {}",
            violation.seen,
            self.again(seed)
        )
    }
}

impl Outcome {
    fn add(&mut self, scenario: &Scenario, report: &Report, busy: Duration) {
        let sums = &mut self.sums[usize::from(scenario.ed25519)];
        sums.runs += 1;
        sums.played += report.simulated;
        sums.busy += busy;
        sums.turns += u64::from(report.turns);
        sums.commands += report.commands;
        sums.peers += report.peers;
        sums.packets += report.packets;
        self.kinds.resize(KINDS.len(), 0);
        for (count, (_, is_of)) in self.kinds.iter_mut().zip(KINDS) {
            *count += usize::from(is_of(scenario));
        }
        self.without_core += usize::from(report.core == 0);
        self.proved += usize::from(report.proved);
        self.retracted += usize::from(report.most_retracted > 0);
        if let Some(violation) = &report.violation {
            self.failed.push((report.seed, violation.clone()));
        }
    }

    /// Runs.
    pub fn runs(&self) -> usize {
        self.sums.iter().map(|sums| sums.runs).sum()
    }

    /// Match time.
    pub fn played(&self) -> Duration {
        self.sums.iter().map(|sums| sums.played).sum()
    }

    /// UDP packets.
    pub fn packets(&self) -> u64 {
        self.sums.iter().map(|sums| sums.packets).sum()
    }

    /// Every kind, and how many runs are of it.
    pub fn kinds(&self) -> impl Iterator<Item = (&'static str, usize)> + '_ {
        let kinds = KINDS.iter().zip(&self.kinds);
        kinds.map(|((name, _), count)| (*name, *count))
    }

    /// Whether too many runs had no core for the others to prove anything.
    pub fn lacks_cores(&self) -> bool {
        self.runs() >= ENOUGH && self.without_core * WITHOUT_CORE > self.runs()
    }
}

impl fmt::Display for Outcome {
    /// The kinds, three in a line, and the sums.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: Vec<(&str, usize)> = self.kinds().collect();
        for row in kinds.chunks(3) {
            for (name, count) in row {
                write!(f, "{count:>6} {name:<34}")?;
            }
            writeln!(f)?;
        }
        for (name, sums) in ["keyed", "ed25519"].into_iter().zip(&self.sums) {
            if sums.runs > 0 {
                writeln!(f, "{name}: {sums}")?;
            }
        }
        writeln!(
            f,
            "{} runs, {} of them without a core; {} proved two histories, {} retracted turns",
            self.runs(),
            self.without_core,
            self.proved,
            self.retracted
        )?;
        let (played, took) = (
            self.played().as_secs_f64(),
            self.took.as_secs_f64().max(1e-9),
        );
        write!(
            f,
            "{:.2} match-hours in {took:.1} s wall clock, {:.1} a minute, {} failed",
            played / 3_600.0,
            played / 60.0 / took,
            self.failed.len()
        )
    }
}

impl fmt::Display for Sums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (played, busy) = (self.played.as_secs_f64(), self.busy.as_secs_f64().max(1e-9));
        write!(
            f,
            "{:.0} match-seconds per second and thread ({} runs of {:.1} peers, {played:.0} s of match, {busy:.1} s of work, {} turns, {} commands, {} packets)",
            played / busy,
            self.runs,
            self.peers as f64 / self.runs as f64,
            self.turns,
            self.commands,
            self.packets
        )
    }
}

/// Other threads and processes go first: what they do may be against the clock, and this is not.
fn step_back() {
    #[cfg(target_os = "linux")]
    // Without the right to, it goes on as it is.
    let _ = rustix::process::nice(10);
}

// Measures how fast runs are, and decides nothing in them.
fn now() -> Instant {
    Instant::now()
}
