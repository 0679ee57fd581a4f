//! Proves a world deterministic, as far as running it can.

use crate::{Checksum, Difference, Entry, LoadError, Seat, Seed, Simulation, Start, Stream, diff};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A check of `S`, to be configured and [`run`](Check::run): by default 200 ticks for each of the seeds
/// 0 to 3, without commands. One line in a game's test:
///
/// ```
/// # use serde::{Deserialize, Serialize};
/// # use sim::{Entry, RulesId, Seat, Seed, Simulation, Start, Stream};
/// # #[derive(Serialize, Deserialize)]
/// # struct World { random: Stream, gold: Vec<u32> }
/// # sim::state_by_serde!(World);
/// # impl Simulation for World {
/// #     type Setup = ();
/// #     type Command = u32;
/// #     type Effect = ();
/// #     fn rules(_: &()) -> RulesId { RulesId([0; 16]) }
/// #     fn new(start: &Start<()>) -> Self {
/// #         World { random: Stream::named(&start.seed, "gold"), gold: vec![0; start.seats.len()] }
/// #     }
/// #     fn step(&mut self, entries: &[Entry<u32>], _: &mut Vec<()>) {
/// #         for entry in entries {
/// #             if let Entry::Command { seat, command } = entry
/// #                 && let Some(gold) = self.gold.get_mut(usize::from(seat.0))
/// #             {
/// #                 *gold = gold.wrapping_add(command.wrapping_mul(self.random.below(3)));
/// #             }
/// #         }
/// #     }
/// # }
/// # let start = Start { setup: (), seed: Seed([0; 32]), seats: vec![Seat(0), Seat(1)] };
/// sim::check::<World>(&start)
///     .ticks(100)
///     .seeds(0..8)
///     .commands(|_world, random| {
///         let seat = Seat(random.below(3) as u8);
///         vec![Entry::Command { seat, command: random.next_u32() }]
///     })
///     .assert();
/// ```
pub fn check<S: Simulation>(start: &Start<S::Setup>) -> Check<'_, S> {
    Check {
        start,
        ticks: 200,
        seeds: 0..4,
        commands: Box::new(|_, _| Vec::new()),
    }
}

/// What to check, and how long. Made by [`check`].
///
/// For every seed three worlds start alike and get the same entries: one that just runs; a second one,
/// for which memory is laid out differently and commands come through their bytes; and one that is
/// saved and loaded before every tick. After every tick all three must have equal bytes.
#[must_use = "nothing is checked before `run` or `assert`"]
pub struct Check<'a, S: Simulation> {
    start: &'a Start<S::Setup>,
    ticks: u32,
    seeds: Range<u64>,
    commands: Box<Commands<'a, S>>,
}

type Commands<'a, S> = dyn FnMut(&S, &mut Stream) -> Vec<Entry<<S as Simulation>::Command>> + 'a;

impl<'a, S: Simulation> Check<'a, S> {
    /// How many ticks each seed runs.
    pub fn ticks(mut self, ticks: u32) -> Self {
        self.ticks = ticks;
        self
    }

    /// Which seeds are run. Each changes the match seed and what the commands draw; 0 leaves the match seed
    /// as the start has it.
    pub fn seeds(mut self, seeds: Range<u64>) -> Self {
        self.seeds = seeds;
        self
    }

    /// Makes each tick's entries: legal commands, illegal ones, seat events. They are put into seat order.
    ///
    /// To repeat a failure the closure must depend on its arguments only.
    pub fn commands(
        mut self,
        commands: impl FnMut(&S, &mut Stream) -> Vec<Entry<S::Command>> + 'a,
    ) -> Self {
        self.commands = Box::new(commands);
        self
    }

    /// Runs the check.
    ///
    /// # Errors
    /// [`Failure`] at the first tick that goes wrong.
    pub fn run(mut self) -> Result<Report, Failure> {
        let mut report = Report {
            seeds: 0,
            ticks: 0,
            entries: 0,
            largest_snapshot: 0,
        };
        for seed in self.seeds.clone() {
            self.run_seed(seed, &mut report)?;
            report.seeds += 1;
        }
        Ok(report)
    }

    /// Runs the check, inside a test.
    ///
    /// # Panics
    /// With the [`Failure`] as text, if there is one.
    pub fn assert(self) {
        if let Err(failure) = self.run() {
            panic!("{failure}");
        }
    }

    fn run_seed(&mut self, seed: u64, report: &mut Report) -> Result<(), Failure> {
        let mut tick = 0;
        // A panic leaves broken worlds behind, and they are dropped here.
        let result = catch_unwind(AssertUnwindSafe(|| self.run_ticks(seed, &mut tick, report)));
        result
            .unwrap_or(Err(Problem::Panicked))
            .map_err(|problem| Failure {
                seed,
                tick,
                problem: Box::new(problem),
            })
    }

    fn run_ticks(&mut self, seed: u64, tick: &mut u32, report: &mut Report) -> Result<(), Problem> {
        let start = self.seeded(seed);
        if S::rules(&start.setup) != S::rules(&start.setup.clone()) {
            return Err(Problem::Rules);
        }
        let mut random = Stream::numbered(&start.seed, "sim::check", seed);
        let mut clutter = Clutter::default();
        let mut plain = S::new(&start);
        clutter.stir(seed);
        let mut second = S::new(&start);
        let mut reloaded: S = Self::compare(&plain, &second)?;
        while *tick < self.ticks {
            *tick += 1;
            let mut entries = (self.commands)(&plain, &mut random);
            entries.sort_by_key(seat_of);
            let received = through_bytes(&entries)?;
            report.ticks += 1;
            report.entries += entries.len() as u64;

            plain.step(&entries, &mut Vec::new());
            clutter.stir(random_size(seed, *tick));
            second.step(&received, &mut Vec::new());
            reloaded.step(&entries, &mut Vec::new());

            let loaded = Self::compare(&plain, &second)?;
            same(&plain, &reloaded).map_err(Problem::Reloaded)?;
            if plain.outcome() != second.outcome() || plain.outcome() != reloaded.outcome() {
                return Err(Problem::Outcome);
            }
            reloaded = loaded;
            report.largest_snapshot = report.largest_snapshot.max(saved(&plain).len() as u64);
        }
        Ok(())
    }

    /// Compares two runs, and the first of them with its own snapshot, which it returns loaded.
    fn compare(plain: &S, second: &S) -> Result<S, Problem> {
        same(plain, second).map_err(Problem::Diverged)?;
        let bytes = saved(plain);
        let expected = Checksum::of(&bytes);
        let given = plain.checksum();
        if given != expected {
            return Err(Problem::Checksum { given, expected });
        }
        let digested = plain.digest().checksum();
        if digested != expected {
            return Err(Problem::Digest { digested, expected });
        }
        // A copy of exactly this size, elsewhere: `load` must not depend on where its bytes lie.
        let copy = bytes.clone().into_boxed_slice();
        let loaded = S::load(&copy).map_err(Problem::Load)?;
        drop(copy);
        same(plain, &loaded).map_err(Problem::Loaded)?;
        if loaded.checksum() != expected {
            let given = loaded.checksum();
            return Err(Problem::Checksum { given, expected });
        }
        Ok(loaded)
    }

    fn seeded(&self, seed: u64) -> Start<S::Setup> {
        let mut start = self.start.clone();
        let Seed(bytes) = &mut start.seed;
        for (byte, change) in bytes.iter_mut().zip(seed.to_le_bytes()) {
            *byte ^= change;
        }
        start
    }
}

/// What a check that found nothing did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// How many seeds were run.
    pub seeds: u64,
    /// How many ticks were compared, all seeds together.
    pub ticks: u64,
    /// How many entries reached the worlds. A check with none proves little.
    pub entries: u64,
    /// The largest snapshot in bytes.
    pub largest_snapshot: u64,
}

/// What a check found, and how to find it again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "seed {seed}, after tick {tick}: {problem}\n\
     To repeat: `.seeds({seed}..{end}).ticks({tick})` with the same start and commands.",
    end = u128::from(*seed) + 1
)]
#[non_exhaustive]
pub struct Failure {
    /// The seed that was run.
    pub seed: u64,
    /// How many ticks had begun, the making of commands included; 0 is the world before its first tick.
    pub tick: u32,
    /// What went wrong.
    pub problem: Box<Problem>,
}

/// What can go wrong with a world. On the left is the world that just ran.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Two worlds with the same start and the same entries differ: something from outside reached the step.
    #[error("two runs with the same entries differ: {0}")]
    Diverged(Mismatch),
    /// A world that was loaded before the last tick came out of it differently: something that matters
    /// is not saved.
    #[error("a world loaded from a snapshot continued differently: {0}")]
    Reloaded(Mismatch),
    /// A loaded world is not the one that was saved.
    #[error("a loaded world differs from the one that was saved: {0}")]
    Loaded(Mismatch),
    /// The world does not load its own bytes.
    #[error("a world does not load what it saved: {0}")]
    Load(#[source] LoadError),
    /// `checksum` is not the CRC-32 of what `save` writes.
    #[error("checksum() says {given}, the saved bytes have {expected}")]
    Checksum {
        /// What the world said.
        given: Checksum,
        /// What its bytes have.
        expected: Checksum,
    },
    /// `digest` covers other bytes than `save` writes.
    #[error("the bytes of digest() have the checksum {digested}, the saved bytes have {expected}")]
    Digest {
        /// What the digest's bytes have.
        digested: Checksum,
        /// What the saved bytes have.
        expected: Checksum,
    },
    /// `outcome` differs between equal worlds.
    #[error("equal worlds tell different outcomes")]
    Outcome,
    /// `rules` gives two answers for one setup.
    #[error("rules() gives two answers for one setup")]
    Rules,
    /// A command does not survive its encoding: no peer would receive it.
    #[error("a command does not survive its encoding: {0}")]
    Command(CommandFault),
    /// A call into the world, or the closure that makes commands, panicked. The panic itself was reported by
    /// the panic hook.
    #[error("it panicked")]
    Panicked,
}

/// What an encoding did to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommandFault {
    /// It has no bytes.
    #[error("postcard cannot write it")]
    Unwritable,
    /// Its bytes are no command.
    #[error("postcard cannot read it back")]
    Unreadable,
    /// It comes back with other bytes.
    #[error("it reads back as another command")]
    Changed,
}

/// How two worlds differ.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mismatch {
    /// In a field that `visit` shows.
    Field(Difference),
    /// In bytes that `visit` does not show.
    Hidden {
        /// The first byte of the snapshots that differs.
        at: u64,
    },
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Field(difference) => difference.fmt(f),
            Self::Hidden { at } => write!(
                f,
                "byte {at} of their snapshots, which `visit` does not show"
            ),
        }
    }
}

fn same<S: Simulation>(left: &S, right: &S) -> Result<(), Mismatch> {
    let (a, b) = (saved(left), saved(right));
    if a == b {
        return Ok(());
    }
    Err(match diff(left, right) {
        Some(difference) => Mismatch::Field(difference),
        None => Mismatch::Hidden {
            at: a.iter().zip(&b).take_while(|(a, b)| a == b).count() as u64,
        },
    })
}

fn saved<S: Simulation>(world: &S) -> Vec<u8> {
    let mut bytes = Vec::new();
    world.save(&mut bytes);
    bytes
}

fn seat_of<C>(entry: &Entry<C>) -> Seat {
    match entry {
        Entry::Command { seat, .. } | Entry::Seat { seat, .. } => *seat,
    }
}

/// The entries as another peer would get them.
fn through_bytes<C>(entries: &[Entry<C>]) -> Result<Vec<Entry<C>>, Problem>
where
    C: serde::Serialize + serde::de::DeserializeOwned,
{
    entries
        .iter()
        .map(|entry| match entry {
            Entry::Command { seat, command } => Ok(Entry::Command {
                seat: *seat,
                command: received(command).map_err(Problem::Command)?,
            }),
            Entry::Seat { seat, state } => Ok(Entry::Seat {
                seat: *seat,
                state: *state,
            }),
        })
        .collect()
}

fn received<C>(command: &C) -> Result<C, CommandFault>
where
    C: serde::Serialize + serde::de::DeserializeOwned,
{
    let bytes = postcard::to_stdvec(command).map_err(|_| CommandFault::Unwritable)?;
    let received = postcard::from_bytes(&bytes).map_err(|_| CommandFault::Unreadable)?;
    if postcard::to_stdvec(&received).as_ref() == Ok(&bytes) {
        Ok(received)
    } else {
        Err(CommandFault::Changed)
    }
}

/// Memory in the way of the second world, so that its allocations lie elsewhere than the first one's.
#[derive(Default)]
struct Clutter(Vec<Vec<u8>>);

impl Clutter {
    fn stir(&mut self, seed: u64) {
        for part in 0..8 {
            let size = (seed.rotate_left(part * 8) & 0x3ff) as usize + 1;
            self.0.push(vec![0xa5; size]);
        }
        let kept = seed as usize % 64;
        if self.0.len() > kept {
            self.0.swap_remove(kept);
            self.0.truncate(256);
        }
    }
}

fn random_size(seed: u64, tick: u32) -> u64 {
    (seed ^ u64::from(tick)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests;
