//! A replay run once from its beginning to its end on a thread of its own: what happened when, how each seat stood, and
//! snapshots where the file's keyframes lie too far apart.

use super::events::{Event, Finder, Happened};
use super::reel::{Reel, Step};
use crate::peer::now;
use crate::world::{TICKS_PER_SECOND, World};
use lockstep::log::{Continuation, What};
use lockstep::{Seat, TurnNumber};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

/// How all seats stood at one tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When.
    pub tick: u64,
    /// The seats, in the order of the world.
    pub seats: Vec<Stand>,
}

/// How a seat stood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stand {
    /// What its soldiers cost, gold and wood.
    pub army: u32,
    /// Gold and wood brought home since the start.
    pub gathered: u32,
    /// Commands issued since the start.
    pub actions: u32,
}

impl Stand {
    /// Commands that a seat, by its place, issued in the minute before a tick.
    pub fn actions_a_minute(found: &Found, place: usize, tick: u64) -> u32 {
        let minute = u64::from(60 * TICKS_PER_SECOND);
        let at = |tick: u64| {
            let after = found.samples.partition_point(|sample| sample.tick <= tick);
            let sample = after.checked_sub(1).map(|at| &found.samples[at]);
            let stand = sample.and_then(|sample| sample.seats.get(place));
            stand.map_or(0, |stand| stand.actions)
        };
        at(tick).saturating_sub(at(tick.saturating_sub(minute)))
    }
}

/// What is known of a replay so far.
#[derive(Debug, Default)]
pub struct Found {
    /// Which seats there are, in the order of the samples.
    pub seats: Vec<Seat>,
    /// Ascending.
    pub samples: Vec<Sample>,
    /// Ascending, once a fight has ended.
    pub events: Vec<Event>,
    /// Events that are not among them because there are too many.
    pub left_out: usize,
}

enum Piece {
    Seats(Vec<Seat>),
    Sample(Sample),
    Events(Vec<Event>, usize),
    Snapshot(u32, u64, Arc<[u8]>),
    Done(Option<String>),
}

/// The run, and what it has found.
pub struct Survey {
    work: Option<Receiver<Piece>>,
    shared: Arc<Shared>,
    /// What it has found.
    pub found: Found,
    /// Ticks of the replay.
    ticks: u64,
    /// Why it stopped before the end, in words.
    pub trouble: Option<String>,
    kept: BTreeMap<u32, usize>,
}

#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    /// The tick that was reached.
    tick: AtomicU64,
    /// Microseconds of stepping from one snapshot to the next.
    apart: AtomicU64,
}

/// That one player went on alone, and where.
fn continued(reel: &Reel) -> Vec<Event> {
    let reader = reel.reader();
    let event = |at: &Arc<Continuation>| Event {
        tick: reader.ticks_before(TurnNumber(at.turns)),
        what: Happened::PlayedOn(at.seat, at.name.clone()),
        at: None,
    };
    reader.continuations().iter().map(event).collect()
}

impl Survey {
    /// Begins to run this replay.
    pub fn begin(path: PathBuf, ticks: u64) -> Survey {
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            tick: AtomicU64::new(0),
            apart: AtomicU64::new(APART.as_micros() as u64),
        });
        let (done, work) = sync_channel(QUEUE);
        let thread = std::thread::Builder::new().name("survey".to_owned());
        let begun = {
            let shared = Arc::clone(&shared);
            thread.spawn(move || {
                let why = Reel::open(&path).map_err(|why| why.to_string());
                let trouble = match why {
                    Ok(reel) if done.send(Piece::Events(continued(&reel), 0)).is_err() => None,
                    Ok(reel) => run(reel, ticks, &shared, &done),
                    Err(why) => Some(why),
                };
                // Nobody is left to be told where the viewer has gone.
                let _ = done.send(Piece::Done(trouble));
            })
        };
        Survey {
            work: begun.is_ok().then_some(work),
            shared,
            found: Found::default(),
            ticks,
            trouble: begun.err().map(|why| why.to_string()),
            kept: BTreeMap::new(),
        }
    }

    /// Takes in what was found, and hands snapshots to the reel. Never waits.
    pub fn poll(&mut self, reel: &mut Reel) {
        for _ in 0..MOST_A_POLL {
            let Some(work) = &self.work else { return };
            match work.try_recv() {
                Ok(Piece::Seats(seats)) => self.found.seats = seats,
                Ok(Piece::Sample(sample)) => self.found.samples.push(sample),
                Ok(Piece::Events(events, left_out)) => {
                    self.found.events.extend(events);
                    self.found.events.sort_by_key(|event| event.tick);
                    self.found.left_out = left_out;
                }
                Ok(Piece::Snapshot(turns, ticks, snapshot)) => {
                    self.kept.insert(turns, snapshot.len());
                    reel.keep(turns, ticks, snapshot);
                    self.thin(reel);
                }
                Ok(Piece::Done(trouble)) => {
                    self.trouble = trouble;
                    self.work = None;
                }
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => self.work = None,
            }
        }
    }

    /// Drops every second snapshot when there are too many bytes of them.
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
        self.work.is_some()
    }

    /// The tick that it has reached.
    pub fn reached(&self) -> u64 {
        match self.work {
            Some(_) => self.shared.tick.load(Ordering::Relaxed),
            None => self.ticks,
        }
    }

    /// Snapshots that are kept, and their bytes.
    pub fn kept(&self) -> (usize, usize) {
        (self.kept.len(), self.kept.values().sum())
    }
}

impl Drop for Survey {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

/// Runs a reel to its end. Returns why not, in words.
fn run(mut reel: Reel, ticks: u64, shared: &Shared, done: &SyncSender<Piece>) -> Option<String> {
    let mut finder = Finder::default();
    let mut found = Vec::new();
    let mut actions: BTreeMap<Seat, u32> = BTreeMap::new();
    let every = (ticks / MOST_SAMPLES).max(u64::from(TICKS_PER_SECOND));
    let mut next_sample = 0_u64;
    let mut told_seats = false;
    let keyframes: Vec<u32> = reel
        .reader()
        .keyframes()
        .iter()
        .map(|at| at.turns)
        .collect();
    let mut since_snapshot = Duration::ZERO;
    while !shared.stop.load(Ordering::Relaxed) {
        let begun = now();
        let step = reel.work();
        since_snapshot += begun.elapsed();
        match step {
            Step::End => {
                if let (Some(world), Some(_)) = (reel.world(), next_sample.checked_sub(1)) {
                    done.send(Piece::Sample(sample(reel.tick(), world, &actions)))
                        .ok()?;
                }
                finder.finish(&mut found);
                done.send(Piece::Events(found, finder.left_out)).ok()?;
                return reel.error().map(ToString::to_string);
            }
            Step::Turn => {
                let Some(bundle) = reel.take_begun() else {
                    continue;
                };
                for entry in &bundle.entries {
                    if let What::Command(_) = entry.what {
                        *actions.entry(entry.seat).or_default() += 1;
                    }
                }
                finder.turn(reel.tick(), &bundle, &mut found);
            }
            Step::Tick => {
                if let Some(world) = reel.world() {
                    finder.tick(reel.tick(), world, reel.effects(), &mut found);
                }
                shared.tick.store(reel.tick(), Ordering::Relaxed);
            }
            Step::Leap => {}
        }
        let Some(world) = reel.world() else { continue };
        if !told_seats {
            let seats = world.seats().map(|seat| seat.seat).collect();
            done.send(Piece::Seats(seats)).ok()?;
            told_seats = true;
        }
        if reel.tick() >= next_sample {
            done.send(Piece::Sample(sample(reel.tick(), world, &actions)))
                .ok()?;
            next_sample = reel.tick() + every;
        }
        if !found.is_empty() {
            let events = std::mem::take(&mut found);
            done.send(Piece::Events(events, finder.left_out)).ok()?;
        }
        if !reel.is_between_turns() || step != Step::Tick {
            continue;
        }
        let turn = reel.turn();
        if keyframes.binary_search(&turn).is_ok() {
            since_snapshot = Duration::ZERO;
        }
        let apart = Duration::from_micros(shared.apart.load(Ordering::Relaxed));
        if since_snapshot >= apart {
            since_snapshot = Duration::ZERO;
            let snapshot = Piece::Snapshot(turn, reel.tick(), reel.snapshot().into());
            done.send(snapshot).ok()?;
        }
    }
    None
}

fn sample(tick: u64, world: &World, actions: &BTreeMap<Seat, u32>) -> Sample {
    let mut army: BTreeMap<Seat, u32> = BTreeMap::new();
    for unit in world.units().filter(|unit| unit.kind.is_soldier()) {
        let stats = unit.kind.stats();
        *army.entry(unit.seat).or_default() += stats.gold + stats.wood;
    }
    let of = |numbers: &BTreeMap<Seat, u32>, seat| numbers.get(&seat).copied().unwrap_or(0);
    let seats = world.seats().map(|seat| Stand {
        army: of(&army, seat.seat),
        gathered: seat.gathered,
        actions: of(actions, seat.seat),
    });
    let seats = seats.collect();
    Sample { tick, seats }
}

/// A seek steps no longer than this from a snapshot, as long as memory allows.
const APART: Duration = Duration::from_millis(60);
/// Of all snapshots together.
const MOST_BYTES: usize = 128 << 20;
const MOST_SAMPLES: u64 = 1_500;
const QUEUE: usize = 64;
const MOST_A_POLL: usize = 256;
