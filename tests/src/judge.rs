//! The judge: what must hold in every run, seen from outside.
//!
//! It keeps one canonical history, made of what honest peers append to their logs, and holds it against the harness's
//! own notes of what happened. It shares no code with the session but the decoding of public types. Each file is one
//! invariant. Of every honest peer the judge demands safety, always; of the core, from healing on, progress.

mod agreement;
mod bounded;
mod core;
mod desync;
mod durable;
mod log;
mod metered;
mod no_loss;
mod progress;
mod signed;

pub use bounded::{Asked, Bounds};

use crate::simulator::{Hostile, Notes, Playable, Reopening, SUSPICION, Scenario, build, execute};
use Invariant::{Agreement, Blame, Bounded, Desync, Durable, NoLoss, Progress};
use core::Core;
use lockstep::log::{Bundle, Keyframe, LogEntry, OnDesync, Record, RosterChange, RosterPeer};
use lockstep::log::{Start, What};
use lockstep::{EndReason, Ended, Event, Fault, PeerId};
use log::Log;
use no_loss::Saying;
use signed::Hash;
use sim::{Checksum, Seat, SeatState};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Debug;
use std::time::Duration;

/// Time from healing until turns must advance.
pub const RECOVERY: Duration = Duration::from_secs(2);
/// A gap in a peer's time after which it may have been removed, and a little for the drift of its clock.
pub const GAP: Duration = Duration::from_millis(1_010);

/// What must not be.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Which invariant does not hold.
    pub invariant: Invariant,
    /// The same; when, at which peer and before which turn; and what was seen.
    pub seen: String,
}

/// The invariants of the design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invariant {
    /// S1, S2: one history, of which every log is a prefix.
    Agreement,
    /// S3: what players say is in the history once, in order, everywhere.
    NoLoss,
    /// S4: logged before executed, and the log re-runs to its checksums.
    Durable,
    /// S5: no panic, nothing above its bound.
    Bounded,
    /// L1: the core advances at the plan's rate, and ends as agreed.
    Progress,
    /// Worlds and logs that differ are found, and only those.
    Desync,
    /// Only hostile peers are blamed.
    Blame,
}

/// One canonical history and what every peer did to it.
#[derive(Default)]
pub struct Judge {
    /// The time of what follows.
    pub now: Duration,
    /// What is held about each peer.
    pub peers: Vec<PeerFile>,
    /// The peers of which progress is demanded.
    pub core: Core,
    /// The first violation, if one was seen.
    pub violation: OnceCell<Violation>,
    ids: Vec<PeerId>,
    scenario: Scenario,
    /// The peers in the order of the start's roster.
    pub places: Vec<usize>,
    /// By the log's hash before a turn, or before a decision: the hash after it.
    next: BTreeMap<(Hash, bool), Hash>,
    /// By the log's hash after a turn: the checksum of the world.
    worlds: BTreeMap<Hash, Checksum>,
    /// What players said, by seat and kind.
    said: BTreeMap<(Seat, u8), Vec<Saying>>,
}

/// What is held about one peer.
#[derive(Default)]
pub struct PeerFile {
    /// What the harness did to it.
    pub notes: Notes,
    /// What the newest run of its process has logged, and what earlier runs had.
    pub log: Log,
    past: Vec<Log>,
    /// The log that its newest run began with.
    given: Log,
    /// When that run handed turns out, and which is next.
    pub handed: Vec<(u32, Duration)>,
    next: u32,
    /// The log's hash after each turn that its world is to execute.
    executing: VecDeque<Option<Hash>>,
    /// Turns that it has executed, and its world after them.
    executed: (u32, Option<Checksum>),
    /// How it ended.
    pub ended: Option<Ended>,
    /// It was told of a mismatch of worlds or logs,
    told_of_desync: bool,
    /// or that a peer signs two histories.
    pub told_of_proof: bool,
}

impl PeerFile {
    /// Its logs that have a start, the newest first.
    pub fn logs(&self) -> impl Iterator<Item = &Log> {
        let logs = std::iter::once(&self.log).chain(self.past.iter().rev());
        logs.filter(|log| log.start.is_some())
    }
}

/// The peer at which the whole run is seen.
const RUN: usize = usize::MAX;

impl Judge {
    /// Before anything has happened. `ids` are the peers' keys.
    pub fn new(scenario: &Scenario, ids: &[PeerId]) -> Self {
        Judge {
            scenario: scenario.clone(),
            peers: ids.iter().map(|_| PeerFile::default()).collect(),
            ids: ids.to_vec(),
            ..Judge::default()
        }
    }

    /// For demands on a peer, or on the run: of the first that does not hold it is kept what was seen, and of what.
    pub fn must(&self, peer: usize, invariant: Invariant, of: impl Debug) -> impl Fn(bool, &str) {
        move |holds, seen| {
            if !holds {
                let turn = self.peers.get(peer).map(|file| file.log.len());
                let place = turn.map(|turn| format!(", peer {peer}, turn {turn}"));
                let (at, place, of) = (self.now, place.unwrap_or_default(), format!("{of:?}"));
                let seen = format!("{invariant:?} at {at:.3?}{place}: {seen}: {of:.300}");
                let _ = self.violation.set(Violation { invariant, seen });
            }
        }
    }

    /// Another run of a process begins, with this log.
    pub fn returned(&mut self, peer: usize, log: &[Record]) {
        let mut before = std::mem::take(&mut self.peers[peer]);
        before.past.push(before.log);
        let file = &mut self.peers[peer];
        (file.notes, file.past) = (before.notes.of_next_run(self.now), before.past);
        file.given = Log::of(&self.places, log);
    }

    /// A session told the game something.
    pub fn told(&mut self, peer: usize, event: &Event) {
        if self.scenario.is_hostile(peer) {
            return;
        }
        let goes_on = self.peers[peer].ended.is_none();
        self.must(peer, Bounded, event)(goes_on, "tells of more after its end");
        match event {
            Event::PeerFault { peer: named, fault } => {
                self.peers[peer].told_of_proof |= *fault == Fault::Equivocation;
                let mut honest = self.scenario.honest();
                let just = honest.all(|peer| self.ids[peer] != *named);
                self.must(peer, Blame, event)(just, "blames an honest peer");
            }
            Event::Started { own, plan, .. } => {
                let wanted = own.len() == usize::from(self.scenario.peers[peer].seats);
                let wanted = wanted && *plan == self.scenario.plan;
                self.must(peer, Agreement, event)(wanted, "starts with other seats");
            }
            Event::Desync(desync) => self.check_desync(peer, desync),
            Event::Ended(ended) => self.check_end(peer, ended),
            _ => {}
        }
    }

    /// A session had its world replaced by one after so many turns.
    pub fn restored(&mut self, peer: usize, turns: u32) {
        self.peers[peer].next = turns;
        self.peers[peer].executed.0 = turns;
    }

    /// The run is over: checks what needs the whole of it.
    pub fn finish<W: Playable>(&mut self) {
        if let Some(log) = self.canonical().cloned() {
            self.check_prefixes(&log);
            self.check_said(&log);
            self.check_plans(&log);
            self.check_reruns::<W>(&log);
            self.check_mismatches(&log);
        }
        self.check_progress();
    }

    fn is_core(&self, peer: usize) -> bool {
        self.core.members.contains(&peer)
    }

    /// The peer in a place of the start's roster.
    fn at(&self, place: u8) -> usize {
        self.places[usize::from(place)]
    }
}
