//! Runs many seeds on several threads, and sums up their results.

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
    /// Match time after which it ends.
    pub enough: Option<Duration>,
    /// Wall clock after which it ends.
    pub within: Option<Duration>,
    /// Whether it ends at the first violation.
    pub stops_at_first: bool,
    /// Whether every third run has two hostile peers: it is of the next seed that draws them.
    pub two_hostile: bool,
    /// No plan is adaptive.
    pub fixed_plans: bool,
    /// Signers and garbage follow from the number of the seed, as they did where the oldest seeds found bugs.
    pub by_number: bool,
    /// The transport.
    pub over: Over,
    /// Whether batches are signed with Ed25519; `None` leaves it to each seed.
    pub ed25519: Option<bool>,
    /// `None`: one per processor.
    pub threads: Option<NonZeroUsize>,
}

/// The results of a sweep.
#[derive(Default)]
pub struct Outcome {
    /// By signer, the keyed hash first.
    sums: [Sums; 2],
    /// Number of runs, by kind.
    kinds: Vec<usize>,
    /// Runs without a core at healing.
    pub without_core: usize,
    /// Those of them that ended before healing.
    pub unhealed: usize,
    /// The failed seeds, with their first violation.
    pub failed: Vec<(u64, Violation)>,
    /// Runs with a proof of two signed histories.
    pub proved: usize,
    /// Runs in which a peer retracted turns.
    pub retracted: usize,
    /// For how long honest peers had waited for each peer that withheld, when that was out.
    pub removals: Vec<Duration>,
    /// A hash of the traces of all runs: builds with equal hashes run these seeds alike.
    pub trace: u64,
    took: Duration,
}

/// Sums over the runs of one signer.
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

/// At most one run in this many may lack a core.
pub const WITHOUT_CORE: usize = 10;
/// At most one run in this many may end before healing: of the seeds below 200, seven do.
const UNHEALED: usize = 25;
/// Fewer runs say nothing about these shares.
const ENOUGH: usize = 300;
/// Seeds in search of two hostile peers are so far apart: no range of seeds is so long, and some kinds come every so many.
const AWAY: u64 = 1_000_000_000_000_001;

impl Sweep {
    /// These seeds, each once, with everything drawn.
    pub fn of(first: u64, end: u64) -> Self {
        Sweep {
            first,
            end,
            enough: None,
            within: None,
            stops_at_first: false,
            two_hostile: false,
            fixed_plans: false,
            by_number: false,
            over: Over::Messages,
            ed25519: None,
            threads: None,
        }
    }

    /// The seed that is played where the range has this one.
    fn played(&self, seed: u64) -> u64 {
        let mut seeds = (0..).map(|further| seed + further * AWAY);
        let wanted = |seed: &u64| Scenario::draw(*seed).hostile().count() > 1;
        let other = (self.two_hostile && seed.is_multiple_of(3)).then(|| seeds.find(wanted));
        other.flatten().unwrap_or(seed)
    }

    /// The scenario of a seed in this sweep.
    pub fn scenario(&self, seed: u64) -> Scenario {
        let drawn = match self.fixed_plans {
            true => Scenario::draw_fixed(seed),
            false => Scenario::draw(seed),
        };
        let drawn = match self.by_number {
            true => drawn.by_number(),
            false => drawn,
        };
        Scenario {
            over: self.over,
            ed25519: self.ed25519.unwrap_or(drawn.ed25519),
            ..drawn
        }
    }

    /// Runs the sweep. `each` gets every report, with the results so far.
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
                let scenario = self.scenario(self.played(seed));
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
        let plans = if self.fixed_plans {
            " --fixed-plans"
        } else {
            ""
        };
        let by_number = if self.by_number { " --by-number" } else { "" };
        format!(
            "cargo run -p tests --bin simulate -- --seed {seed}{signer}{over}{plans}{by_number}"
        )
    }

    /// A failed run in one line: the invariant, the peer, the turn, and the command that repeats it.
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
        self.unhealed += usize::from(report.core == 0 && !report.healed);
        self.proved += usize::from(report.proved);
        self.retracted += usize::from(report.most_retracted > 0);
        self.removals.extend(&report.removals);
        // Independent of the order in which threads take seeds.
        self.trace = self
            .trace
            .wrapping_add(report.trace.rotate_left(report.seed as u32));
        if let Some(violation) = &report.violation {
            self.failed.push((report.seed, violation.clone()));
        }
    }

    /// Number of runs.
    pub fn runs(&self) -> usize {
        self.sums.iter().map(|sums| sums.runs).sum()
    }

    /// Match time played.
    pub fn played(&self) -> Duration {
        self.sums.iter().map(|sums| sums.played).sum()
    }

    /// UDP packets sent.
    pub fn packets(&self) -> u64 {
        self.sums.iter().map(|sums| sums.packets).sum()
    }

    /// Every kind, with its number of runs.
    pub fn kinds(&self) -> impl Iterator<Item = (&'static str, usize)> + '_ {
        let kinds = KINDS.iter().zip(&self.kinds);
        kinds.map(|((name, _), count)| (*name, *count))
    }

    /// Whether too many runs lacked a core, or ended before healing: by more than three times what chance makes of that.
    pub fn lacks_cores(&self) -> bool {
        let by_chance = self.runs().isqrt();
        let lack = self.without_core > self.runs() / WITHOUT_CORE + by_chance;
        let end = self.unhealed > self.runs() / UNHEALED + by_chance / 2;
        self.runs() >= ENOUGH && (lack || end)
    }
}

impl fmt::Display for Outcome {
    /// The kinds, three per line, and the sums.
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
            "{} runs, {} of them without a core, {} of these ended before healing; {} proved two histories, {} retracted turns; trace {:016x}",
            self.runs(),
            self.without_core,
            self.unhealed,
            self.proved,
            self.retracted,
            self.trace
        )?;
        let mut removals = self.removals.clone();
        removals.sort_unstable();
        if let Some(most) = removals.last() {
            let (median, count) = (removals[removals.len() / 2], removals.len());
            writeln!(
                f,
                "{count} times a peer saw one removed that withheld, for which it had waited {median:.1?} in the median, {most:.1?} at most"
            )?;
        }
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

/// Yields to other threads and processes: their deadlines are real, those of a sweep are not.
fn step_back() {
    #[cfg(target_os = "linux")]
    // A refusal changes nothing.
    let _ = rustix::process::nice(10);
}

// Measures speed only; it decides nothing in a run.
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_third_seed_gives_way_to_one_of_two_hostile_peers() {
        let sweep = Sweep {
            two_hostile: true,
            ..Sweep::of(0, 12)
        };
        for seed in 0..12 {
            let played = sweep.played(seed);
            match seed % 3 {
                0 => assert!(sweep.scenario(played).hostile().count() > 1, "{seed}"),
                _ => assert_eq!(played, seed),
            }
        }
    }
}
