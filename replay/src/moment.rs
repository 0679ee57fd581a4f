//! A moment of a replay to play on from.

use crate::{Error, KeyframeAt, Reader, Recorder};
use lockstep::log::{EncodedLog, Keyframe, LogStore as _, Record};
use lockstep::session::Batch;
use lockstep::{TurnNumber, guard, world_entries};
use sim::{Checksum, Seat, Simulation};
use std::collections::BTreeMap;
use std::path::Path;

/// The world at a moment of a replay, to play on from alone with [`Match::play_on`](lockstep::Match::play_on).
///
/// The new recording begins with the old one, signatures included, and marks where it was continued: see
/// [`record_to`](Self::record_to).
///
/// ```no_run
/// use lockstep::{Config, Match, Seat};
/// use replay::{WorldAt, Recorder};
/// # use sim::Simulation;
/// # fn go_on<World: Simulation>() -> Result<Match<World>, Box<dyn std::error::Error>> {
/// let mut moment = WorldAt::<World>::open("match.replay".as_ref(), Some(500))?;
/// let mut recorder = Recorder::create("continued.replay".as_ref())?;
/// moment.record_to(&mut recorder)?;
/// let config = Config { log: Some(Box::new(recorder)), ..Config::default() };
/// Ok(Match::play_on(moment.of_seat(Seat(0)), config)?)
/// # }
/// ```
pub struct WorldAt<S> {
    reader: Reader,
    turns: u32,
    log: EncodedLog,
    world: S,
}

impl<S: Simulation> WorldAt<S> {
    /// Opens a replay and runs its match up to `turns` executed turns, or to its end. The run begins with the newest
    /// of the last three keyframes that leads to the recorded checksums, or with the match where none of these does.
    ///
    /// # Errors
    /// [`Error`]: as those of [`open`](crate::open); [`Error::NoSuchTurn`] and [`Error::TooLong`];
    /// [`Error::OtherWorld`] if recorded checksums differ; [`Error::Decided`] if the match was over.
    pub fn open(path: &Path, turns: Option<u32>) -> Result<WorldAt<S>, Error> {
        WorldAt::within(Reader::open(path)?, turns, MOST_TURNS)
    }

    fn within(mut reader: Reader, turns: Option<u32>, most: u32) -> Result<WorldAt<S>, Error> {
        let setup = reader.setup::<S>()?;
        let last = reader.turns();
        let turns = turns.unwrap_or(last);
        if turns > last {
            return Err(Error::NoSuchTurn { turns, last });
        }
        if turns > most {
            return Err(Error::TooLong { turns, most });
        }
        let log = log(&mut reader, turns)?;
        let checksums = checksums(&mut reader, turns)?;
        let before = |keyframe: &&KeyframeAt| keyframe.turns <= turns;
        let newest = reader.keyframes().iter().rev().filter(before);
        let newest: Vec<KeyframeAt> = newest.take(MOST_KEYFRAMES).copied().collect();
        for at in &newest {
            let loaded = reader.keyframe(at).ok();
            let load = |keyframe: Keyframe| guard(|| S::load(&keyframe.snapshot)).ok()?.ok();
            let world = loaded.and_then(load);
            if let Some(world) = world
                && let Ok(world) = run(world, at.turns, &log, &checksums)
            {
                return WorldAt::at(reader, turns, log, world);
            }
        }
        let start = reader.start().clone();
        let begin = sim::Start {
            setup,
            seed: start.seed,
            seats: start.seats(),
        };
        let world =
            guard(|| S::new(&begin)).map_err(|message| Error::World { turn: 0, message })?;
        let world = run(world, 0, &log, &checksums)?;
        WorldAt::at(reader, turns, log, world)
    }

    fn at(reader: Reader, turns: u32, log: EncodedLog, world: S) -> Result<WorldAt<S>, Error> {
        if world.outcome().is_some() {
            return Err(Error::Decided { turns });
        }
        Ok(WorldAt {
            reader,
            turns,
            log,
            world,
        })
    }

    /// Turns executed.
    pub fn turns(&self) -> u32 {
        self.turns
    }

    /// The world at that moment.
    pub fn world(&self) -> &S {
        &self.world
    }

    /// The replay.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Writes the replay up to the moment to a new recording, which continues from there: turns, roster changes,
    /// keyframes, checksums and signatures. Blocks on the disk. The recording must be empty.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Changed`] of the replay, [`Error::Store`] of the recording.
    pub fn record_to(&mut self, recorder: &mut Recorder) -> Result<(), Error> {
        let turns = self.turns;
        let keyframes = self.reader.keyframes().to_vec();
        let mut keyframes = keyframes.iter().peekable();
        let mut cursor = self.reader.cursor(TurnNumber(0));
        let mut behind = false;
        while let Some(record) = self.reader.next_record(&mut cursor)? {
            let next = match &record {
                Record::Bundle(bundle) => Some(bundle.turn.0),
                _ => None,
            };
            behind |= next.is_some_and(|next| next >= turns);
            if next.is_some_and(|next| next >= turns.saturating_add(SIGNED_LATE)) {
                break;
            }
            if !belongs(&record, turns, behind) {
                continue;
            }
            recorder.append(&record)?;
            let executed = next.map(|next| next + 1);
            if let Some(at) = keyframes.next_if(|at| executed.is_some_and(|now| at.turns <= now)) {
                // A keyframe that cannot be read is left out: its world is that of the turns before it.
                if let Ok(keyframe) = self.reader.keyframe(at) {
                    recorder.append(&Record::Keyframe(keyframe))?;
                }
            }
        }
        Ok(())
    }

    /// The moment, for a player of this seat.
    pub fn of_seat(self, seat: Seat) -> lockstep::Moment {
        let mut snapshot = Vec::new();
        self.world.save(&mut snapshot);
        lockstep::Moment {
            log: self.log,
            snapshot: snapshot.into(),
            seat,
        }
    }
}

/// Whether a record concerns the turns before the moment. `behind`: it comes after them in the file.
fn belongs(record: &Record, moment: u32, behind: bool) -> bool {
    match record {
        Record::Start(_) => true,
        Record::Bundle(_) | Record::Roster(_) | Record::Continued(_) => !behind,
        Record::Checksum { turns, .. }
        | Record::Mismatch { turns, .. }
        | Record::Leads { turns, .. } => *turns <= moment,
        Record::Attest(signed) => {
            let batch = Batch::decode(&signed.content);
            batch.is_ok_and(|batch| batch.complete <= moment)
        }
        Record::Accept(_) | Record::Signed(_) | Record::Keyframe(_) | Record::End(_) => false,
    }
}

/// The records from which the world before turn `turns` is derived.
fn log(reader: &mut Reader, turns: u32) -> Result<EncodedLog, Error> {
    let mut log = EncodedLog::new(reader.start().clone());
    for record in reader.records() {
        match record? {
            Record::Bundle(bundle) if bundle.turn.0 >= turns => break,
            record @ (Record::Bundle(_) | Record::Roster(_) | Record::Continued(_)) => {
                log.append(&record);
            }
            _ => {}
        }
    }
    Ok(log)
}

/// The recorded checksums, by turns executed.
fn checksums(reader: &mut Reader, turns: u32) -> Result<BTreeMap<u32, Checksum>, Error> {
    let mut checksums = BTreeMap::new();
    for record in reader.records() {
        match record? {
            Record::Checksum {
                turns: of,
                checksum,
            } if of <= turns => {
                checksums.insert(of, checksum);
            }
            Record::End(end) if end.turns <= turns => {
                checksums.insert(end.turns, end.checksum);
            }
            _ => {}
        }
    }
    Ok(checksums)
}

/// Runs the turns of the log from `executed` on.
fn run<S: Simulation>(
    mut world: S,
    executed: u32,
    log: &EncodedLog,
    checksums: &BTreeMap<u32, Checksum>,
) -> Result<S, Error> {
    let check = |world: &S, turns: u32| match checksums.get(&turns) {
        Some(recorded) if *recorded != world.checksum() => Err(Error::OtherWorld { turns }),
        _ => Ok(()),
    };
    check(&world, executed)?;
    let bundles = log.records().filter_map(|record| match record {
        Record::Bundle(bundle) if bundle.turn.0 >= executed => Some(bundle),
        _ => None,
    });
    let mut effects = Vec::new();
    for bundle in bundles {
        let (mut entries, _) = world_entries(&bundle);
        for _ in 0..bundle.ticks() {
            effects.clear();
            guard(|| world.step(&entries, &mut effects)).map_err(|message| Error::World {
                turn: bundle.turn.0,
                message,
            })?;
            entries.clear();
        }
        check(&world, bundle.turn.0 + 1)?;
    }
    Ok(world)
}

/// A signature over a turn comes at most this many turns later in the file.
const SIGNED_LATE: u32 = 64;
/// The most keyframes to start from: a file may hold thousands that all lead to another world, each after a long run.
const MOST_KEYFRAMES: usize = 3;
/// The longest match to play on from, in turns: each is stepped.
const MOST_TURNS: u32 = 1_000_000;

#[cfg(test)]
mod tests;
