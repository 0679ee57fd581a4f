//! Runs a replay once from beginning to end, on a thread where there are threads. It finds events, samples, and
//! whether the world matches the recorded checksums. It also takes snapshots where the file's keyframes are too far
//! apart.

use super::events::{Event, EventKind, Finder};
use super::film::Film;
use super::reel::{Reel, Step};
use crate::window::clock::{now, since};
use crate::window::samples::{MOST_SAMPLES, Sample};
use crate::world::{TICKS_PER_SECOND, World};
use lockstep::log::{Continuation, What};
use lockstep::{Seat, TurnNumber};
use replay::Reader;
use sim::Checksum;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::Duration;

/// What is known of a replay so far.
#[derive(Debug, Default)]
pub struct Found {
    /// Seats, in the order of the samples.
    pub seats: Vec<Seat>,
    /// Ascending.
    pub samples: Vec<Sample>,
    /// Ascending by the end of a fight.
    pub events: Vec<Event>,
    /// Events beyond the limit.
    pub left_out: usize,
    /// How many recorded checksums agreed; known at the end.
    pub agreed: u32,
    /// The number of turns after which the world first differed from the recorded one.
    pub differs_after: Option<u32>,
}

enum Piece {
    Seats(Vec<Seat>),
    Sample(Sample),
    Events(Vec<Event>, usize),
    Snapshot(u32, u64, Arc<[u8]>),
    /// How many recorded checksums agreed.
    Agreed(u32),
    /// The number of turns after which the world first differed.
    Differs(u32),
    Done(Option<String>),
}

/// A run, and its findings.
pub struct Survey {
    work: Work,
    shared: Arc<Shared>,
    /// What the run has found so far.
    pub found: Found,
    /// Ticks of the replay.
    ticks: u64,
    /// Why it stopped before the end, as text.
    pub trouble: Option<String>,
    kept: BTreeMap<u32, usize>,
    /// When it was last polled.
    polled: Duration,
}

/// What runs it.
enum Work {
    /// A thread of its own.
    Thread(Receiver<Piece>),
    /// Polls, in slices, where there are no threads.
    Slices(Box<Run>),
    Done,
}

#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    /// The tick reached.
    tick: AtomicU64,
    /// Microseconds of stepping between snapshots.
    apart: AtomicU64,
    /// Bytes of snapshots that the viewer has not taken yet.
    waiting: AtomicUsize,
}

/// The event of playing on, if a player did.
fn continued(reader: &Reader) -> Vec<Event> {
    let event = |at: &Arc<Continuation>| Event {
        tick: reader.ticks_before(TurnNumber(at.turns)),
        what: EventKind::PlayedOn(at.seat, at.name.clone()),
        at: None,
    };
    reader.continuations().iter().map(event).collect()
}

impl Survey {
    /// Begins to run the replay of this reel.
    pub fn begin(film: &Film, reel: &Reel) -> Survey {
        let mut survey = Survey::idle(reel.ticks());
        let (done, work) = sync_channel(QUEUE);
        let thread = std::thread::Builder::new().name("survey".to_owned());
        let begun = {
            let (ticks, shared) = (survey.ticks, Arc::clone(&survey.shared));
            let reader = film.open_beside(reel.reader());
            thread.spawn(move || {
                // A closed viewer takes no pieces.
                let mut emit = |piece| done.send(piece).is_ok();
                match Run::of(reader, ticks) {
                    Ok(mut run) => while run.work(&shared, &mut emit) {},
                    Err(why) => drop(emit(Piece::Done(Some(why.to_string())))),
                }
            })
        };
        match begun {
            Ok(_) => survey.work = Work::Thread(work),
            Err(_) => survey.run_in_slices(film, reel),
        }
        survey
    }

    /// Begins to run the replay of this reel without a thread: each [`poll`](Self::poll) runs a slice of it.
    pub fn in_slices(film: &Film, reel: &Reel) -> Survey {
        let mut survey = Survey::idle(reel.ticks());
        survey.run_in_slices(film, reel);
        survey
    }

    fn idle(ticks: u64) -> Survey {
        Survey {
            work: Work::Done,
            shared: Arc::new(Shared {
                stop: AtomicBool::new(false),
                tick: AtomicU64::new(0),
                apart: AtomicU64::new(APART.as_micros() as u64),
                waiting: AtomicUsize::new(0),
            }),
            found: Found::default(),
            ticks,
            trouble: None,
            kept: BTreeMap::new(),
            polled: now(),
        }
    }

    fn run_in_slices(&mut self, film: &Film, reel: &Reel) {
        match Run::of(film.open_beside(reel.reader()), self.ticks) {
            Ok(run) => self.work = Work::Slices(Box::new(run)),
            Err(why) => self.trouble = Some(why.to_string()),
        }
    }

    /// Takes findings, and hands snapshots to the reel, without blocking.
    pub fn poll(&mut self, reel: &mut Reel) {
        let mut pieces = Vec::new();
        match &mut self.work {
            Work::Thread(work) => {
                while pieces.len() < MOST_A_POLL {
                    match work.try_recv() {
                        Ok(piece) => pieces.push(piece),
                        Err(TryRecvError::Empty) => break,
                        Err(TryRecvError::Disconnected) => {
                            self.work = Work::Done;
                            break;
                        }
                    }
                }
            }
            Work::Slices(run) => {
                let begun = now();
                let slice = since(self.polled) / 2;
                let slice = slice.clamp(SLICES.0, SLICES.1);
                let mut emit = |piece| {
                    pieces.push(piece);
                    true
                };
                while run.work(&self.shared, &mut emit) && since(begun) < slice {}
            }
            Work::Done => {}
        }
        self.polled = now();
        for piece in pieces {
            self.take(piece, reel);
        }
    }

    fn take(&mut self, piece: Piece, reel: &mut Reel) {
        match piece {
            Piece::Seats(seats) => self.found.seats = seats,
            Piece::Sample(sample) => self.found.samples.push(sample),
            Piece::Events(events, left_out) => {
                self.found.events.extend(events);
                self.found.events.sort_by_key(|event| event.tick);
                self.found.left_out = left_out;
            }
            Piece::Snapshot(turns, ticks, snapshot) => {
                let waiting = &self.shared.waiting;
                waiting.fetch_sub(snapshot.len(), Ordering::Relaxed);
                self.kept.insert(turns, snapshot.len());
                reel.keep(turns, ticks, snapshot);
                self.thin(reel);
            }
            Piece::Agreed(many) => self.found.agreed = many,
            Piece::Differs(turns) => self.found.differs_after = Some(turns),
            Piece::Done(trouble) => {
                self.trouble = trouble;
                self.work = Work::Done;
            }
        }
    }

    /// Drops every second snapshot if their bytes exceed the limit.
    fn thin(&mut self, reel: &mut Reel) {
        if self.kept.values().sum::<usize>() <= MOST_BYTES {
            return;
        }
        let every_second: Vec<u32> = self.kept.keys().copied().skip(1).step_by(2).collect();
        for turns in every_second {
            self.kept.remove(&turns);
            reel.forget(turns);
        }
        let apart = self.shared.apart.load(Ordering::Relaxed);
        let twice = apart.saturating_mul(2);
        self.shared.apart.store(twice, Ordering::Relaxed);
    }

    /// Whether it is still running.
    pub fn is_running(&self) -> bool {
        !matches!(self.work, Work::Done)
    }

    /// The tick reached.
    pub fn reached(&self) -> u64 {
        match self.is_running() {
            true => self.shared.tick.load(Ordering::Relaxed),
            false => self.ticks,
        }
    }

    /// The number of snapshots, and their bytes.
    pub fn kept(&self) -> (usize, usize) {
        (self.kept.len(), self.kept.values().sum())
    }
}

impl Drop for Survey {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

/// A reel on its way to the end.
struct Run {
    reel: Reel,
    finder: Finder,
    found: Vec<Event>,
    actions: BTreeMap<Seat, u32>,
    /// Ticks between samples.
    every: u64,
    next_sample: u64,
    told_seats: bool,
    /// Turns of the file's keyframes.
    keyframes: Vec<u32>,
    since_snapshot: Duration,
    /// The remaining checksums of the file, by executed turns.
    recorded: VecDeque<(u32, Checksum)>,
    agreed: u32,
    differs: bool,
}

impl Run {
    fn of(reader: io::Result<Reader>, ticks: u64) -> Result<Run, replay::Error> {
        let mut reader = reader?;
        let recorded = reader.checksums()?.into();
        let found = continued(&reader);
        let keyframes = reader.keyframes().iter().map(|at| at.turns).collect();
        Ok(Run {
            reel: Reel::of(reader)?,
            finder: Finder::default(),
            found,
            actions: BTreeMap::new(),
            every: (ticks / MOST_SAMPLES as u64).max(u64::from(TICKS_PER_SECOND)),
            next_sample: 0,
            told_seats: false,
            keyframes,
            since_snapshot: Duration::ZERO,
            recorded,
            agreed: 0,
            differs: false,
        })
    }

    /// Does one piece of work. Returns whether there is more; a failing `emit` ends it.
    fn work(&mut self, shared: &Shared, emit: &mut dyn FnMut(Piece) -> bool) -> bool {
        if shared.stop.load(Ordering::Relaxed) {
            return false;
        }
        let begun = now();
        let step = self.reel.work();
        self.since_snapshot += since(begun);
        match step {
            Step::End => {
                self.finish(emit);
                return false;
            }
            Step::Turn => self.begin_turn(),
            Step::Tick => {
                if let Some(world) = self.reel.world() {
                    let (tick, effects) = (self.reel.tick(), self.reel.effects());
                    self.finder.tick(tick, world, effects, &mut self.found);
                }
                shared.tick.store(self.reel.tick(), Ordering::Relaxed);
            }
            Step::Leap => {}
        }
        let mut taken = true;
        if self.reel.is_between_turns() {
            taken &= self.compare(emit);
        }
        taken && self.emit_found(emit) && self.keep(step, shared, emit)
    }

    fn begin_turn(&mut self) {
        let Some(bundle) = self.reel.take_bundle() else {
            return;
        };
        for entry in &bundle.entries {
            if let What::Command(_) = entry.what {
                *self.actions.entry(entry.seat).or_default() += 1;
            }
        }
        let rosters = self.reel.rosters_at(bundle.turn);
        self.finder
            .turn(self.reel.tick(), rosters, &bundle, &mut self.found);
    }

    /// Compares the world with the checksums of the file for this turn.
    fn compare(&mut self, emit: &mut dyn FnMut(Piece) -> bool) -> bool {
        let turns = self.reel.turn();
        while let Some((_, recorded)) = self.recorded.pop_front_if(|(at, _)| *at <= turns) {
            if self.reel.checksum() == Some(recorded) {
                self.agreed += 1;
            } else if !std::mem::replace(&mut self.differs, true) {
                return emit(Piece::Differs(turns));
            }
        }
        true
    }

    fn emit_found(&mut self, emit: &mut dyn FnMut(Piece) -> bool) -> bool {
        let Some(world) = self.reel.world() else {
            return true;
        };
        let mut taken = true;
        if !std::mem::replace(&mut self.told_seats, true) {
            let seats = world.seats().map(|seat| seat.seat).collect();
            taken &= emit(Piece::Seats(seats));
        }
        if self.reel.tick() >= self.next_sample {
            taken &= emit(Piece::Sample(self.sample(world)));
            self.next_sample = self.reel.tick() + self.every;
        }
        if !self.found.is_empty() {
            let events = std::mem::take(&mut self.found);
            taken &= emit(Piece::Events(events, self.finder.left_out));
        }
        taken
    }

    /// Takes a snapshot where the last one is too far back.
    fn keep(&mut self, step: Step, shared: &Shared, emit: &mut dyn FnMut(Piece) -> bool) -> bool {
        if !self.reel.is_between_turns() || step != Step::Tick {
            return true;
        }
        let turn = self.reel.turn();
        if self.keyframes.binary_search(&turn).is_ok() {
            self.since_snapshot = Duration::ZERO;
        }
        let apart = Duration::from_micros(shared.apart.load(Ordering::Relaxed));
        let waiting = shared.waiting.load(Ordering::Relaxed);
        if self.since_snapshot < apart || waiting >= MOST_WAITING_BYTES {
            return true;
        }
        self.since_snapshot = Duration::ZERO;
        let snapshot: Arc<[u8]> = self.reel.snapshot().into();
        shared.waiting.fetch_add(snapshot.len(), Ordering::Relaxed);
        emit(Piece::Snapshot(turn, self.reel.tick(), snapshot))
    }

    fn sample(&self, world: &World) -> Sample {
        let issued = |seat| self.actions.get(&seat).copied().unwrap_or(0);
        Sample::of(self.reel.tick(), world, issued)
    }

    fn finish(&mut self, emit: &mut dyn FnMut(Piece) -> bool) {
        let mut last = Vec::new();
        if let (Some(world), Some(_)) = (self.reel.world(), self.next_sample.checked_sub(1)) {
            last.push(Piece::Sample(self.sample(world)));
        }
        let mut events = std::mem::take(&mut self.found);
        self.finder.finish(&mut events);
        last.push(Piece::Events(events, self.finder.left_out));
        last.push(Piece::Agreed(self.agreed));
        last.push(Piece::Done(self.reel.error().map(ToString::to_string)));
        // A closed viewer takes no pieces.
        let _ = last.into_iter().all(emit);
    }
}

/// The longest stepping of a seek from a snapshot, memory permitting.
const APART: Duration = Duration::from_millis(60);
/// Of all snapshots that are kept.
const MOST_BYTES: usize = 16 << 20;
/// While so many bytes of snapshots wait for the viewer, none is taken: a window that is hidden takes no pieces.
const MOST_WAITING_BYTES: usize = 2 << 20;
const QUEUE: usize = 64;
const MOST_A_POLL: usize = 256;
/// A slice lasts half of the time since the last poll, within these bounds, so that slow frames do not make the
/// survey slow.
const SLICES: (Duration, Duration) = (Duration::from_millis(8), Duration::from_millis(100));

#[cfg(test)]
mod tests;
#[cfg(test)]
mod worst;
