//! The judge: the demands that every run must meet, seen from outside.
//!
//! The judge keeps one canonical history of what honest peers append to their logs. It compares that history with the
//! harness's own notes of what happened. It shares no code with the session but the decoding of public types.
//!
//! Each file is one invariant. The judge demands safety of every honest peer, always, and progress of the core after
//! healing.

mod agreement;
mod core;
mod desync;
mod durable;
mod no_loss;
mod plans;
mod progress;
mod told;

use crate::formats::{self, Hash, Log};
use crate::plans::plan_for;
use crate::simulator::{Hostile, Notes, Over, Playable, SUSPICION, Scenario, build, execute};
use Invariant::{Agreement, Blame, Bounded, Desync, Durable, NoLoss, Progress};
use core::Core;
use lockstep::log::{
    Accepted, Bundle, EncodedLog, Keyframe, LogEntry, OnDesync, Record, RosterChange, RosterPeer,
    What,
};
use lockstep::{EndReason, Ended, Event, Fault, PeerId, Plan, Rejoin};
use no_loss::Saying;
use sim::{Checksum, Seat, SeatState};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Debug;
use std::time::Duration;

/// Time from healing until turns must advance.
pub const RECOVERY: Duration = Duration::from_secs(2);

/// The longest command delay.
const LONGEST_TAIL: usize = 8;

/// A demand that does not hold.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The invariant.
    pub invariant: Invariant,
    /// The invariant, the time, the peer and its next turn, and what was seen.
    pub seen: String,
}

/// The invariants of the design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invariant {
    /// S1, S2: one history, of which every log is a prefix.
    Agreement,
    /// S3: the history holds what players say, once and in order.
    NoLoss,
    /// S4: a turn is logged before it is executed, and the log re-runs to its checksums.
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

/// One canonical history, and a file on every peer.
#[derive(Default)]
pub struct Judge {
    /// The time of the calls that follow.
    pub now: Duration,
    /// A file on each peer.
    pub peers: Vec<PeerFile>,
    /// The peers of which progress is demanded.
    pub core: Core,
    /// The first violation, if one was seen.
    pub violation: OnceCell<Violation>,
    ids: Vec<PeerId>,
    scenario: Scenario,
    /// The peers in the order of the start's roster.
    pub places: Vec<usize>,
    /// The least and the most that a packet takes from one peer to another, before healing.
    pub passages: BTreeMap<(usize, usize), [Duration; 2]>,
    /// The log's hash after a turn or a decision, by the hash before it.
    next: BTreeMap<(Hash, bool), Hash>,
    /// The world's checksum after a turn, by the log's hash there.
    worlds: BTreeMap<Hash, Checksum>,
    /// The turns that peers handed out before a quorum could know of them: peer, turn, and when.
    unsure: Vec<(usize, u32, Duration)>,
    /// Peers of sound worlds that others named with reason.
    named: BTreeSet<usize>,
    /// The words of players, by seat and kind.
    said: BTreeMap<(Seat, u8), Vec<Saying>>,
}

/// The file on one peer.
#[derive(Default)]
pub struct PeerFile {
    /// The harness's notes on it.
    pub notes: Notes,
    /// The log of the newest run of its process, and those of earlier runs.
    pub log: Log,
    past: Vec<Log>,
    /// The turns of its log that are no tail.
    finals: u32,
    /// Whether its newest run has taken turns back.
    has_retracted: bool,
    /// The log that its newest run began with.
    given: Log,
    /// The turns that this run handed out, with the times and plans, and the next turn.
    pub handed: Vec<(u32, Duration, Plan)>,
    next: u32,
    /// The log's hash after each turn that its world is to execute.
    executing: VecDeque<Option<Hash>>,
    /// The first of them that were handed out before the world was replaced.
    taken_back: usize,
    /// Turns that it has executed, and its world after them.
    executed: (u32, Option<Checksum>),
    /// The seats that it stalls on, for how long; and how long it stalled on each before.
    stall: (Vec<Seat>, Duration),
    stalled: BTreeMap<Seat, Duration>,
    /// What it was told that follows from the log, and when last.
    told: BTreeMap<told::Told, Duration>,
    /// The peers that it was told of as suspects: since when in a while, and how often.
    suspected: BTreeMap<PeerId, (Duration, u32)>,
    /// How many peers the newest roster has that it was told of.
    told_roster: usize,
    /// Its end.
    pub ended: Option<Ended>,
    /// The turn after which worlds or logs differ, as it was told first.
    told_of_desync: Option<u32>,
    /// Whether it was told that a peer signs two histories.
    pub told_of_proof: bool,
}

impl PeerFile {
    /// Its logs that have a start, the newest first.
    pub fn logs(&self) -> impl Iterator<Item = &Log> {
        let logs = std::iter::once(&self.log).chain(self.past.iter().rev());
        logs.filter(|log| log.start.is_some())
    }

    fn ends_stall(&mut self, lasted: Duration) {
        for seat in std::mem::take(&mut self.stall).0 {
            *self.stalled.entry(seat).or_default() += lasted;
        }
    }

    /// How long it has stalled on a seat.
    fn stalled_on(&self, seat: Seat) -> Duration {
        let now = self.stall.1 * u32::from(self.stall.0.contains(&seat));
        now + self.stalled.get(&seat).copied().unwrap_or_default()
    }

    /// The reason of its end.
    fn ended_by(&self) -> Option<&EndReason> {
        self.ended.as_ref().map(|ended| &ended.reason)
    }

    /// Whether a mismatch stopped its match: no quorum agrees on such an end.
    fn stopped(&self) -> bool {
        self.ended_by() == Some(&EndReason::Desync)
    }
}

/// Stands for the whole run in place of a peer.
pub const RUN: usize = usize::MAX;

impl Judge {
    /// A judge of a run that has not begun. `ids` are the peers' keys.
    pub fn new(scenario: &Scenario, ids: &[PeerId]) -> Self {
        Judge {
            scenario: scenario.clone(),
            peers: ids.iter().map(|_| PeerFile::default()).collect(),
            ids: ids.to_vec(),
            ..Judge::default()
        }
    }

    /// Makes demands on an honest peer or on the run. The judge keeps the first that does not hold.
    pub fn must(&self, peer: usize, invariant: Invariant, of: impl Debug) -> impl Fn(bool, &str) {
        let excused = self.scenario.hostile().any(|(of, _)| of == peer);
        move |holds, seen| {
            if !holds && !excused {
                let turn = self.peers.get(peer).map(|file| file.log.len());
                let place = turn.map(|turn| format!(", peer {peer}, turn {turn}"));
                let (at, place, of) = (self.now, place.unwrap_or_default(), format!("{of:?}"));
                let seen = format!("{invariant:?} at {at:.3?}{place}: {seen}: {of:.300}");
                let _ = self.violation.set(Violation { invariant, seen });
            }
        }
    }

    /// Another run of a process begins. Its recording has the turns up to the cut that the run before accepted, too.
    pub fn returned(&mut self, peer: usize, from: &Rejoin) {
        let log = from.log.iter();
        let start = log.clone().map(|log| Record::Start(log.start().clone()));
        let records = start.chain(log.flat_map(EncodedLog::records));
        let before = std::mem::take(&mut self.peers[peer]);
        let file = &mut self.peers[peer];
        (file.notes, file.past) = (before.notes.of_next_run(self.now), before.past);
        file.past.push(before.log);
        records.for_each(|record| file.given.put(&self.places, &record));
        let (accepted, known) = (from.accepted.iter(), file.given.len());
        let turns = accepted.flat_map(|of| of.turns.iter().cloned());
        let more = turns.skip_while(|turn| turn.turn.0 < known);
        more.for_each(|turn| file.given.put(&self.places, &Record::Bundle(turn)));
    }

    /// A session told the game something.
    pub fn told(&mut self, peer: usize, event: &Event) {
        let goes_on = self.peers[peer].ended.is_none();
        self.must(peer, Bounded, event)(goes_on, "tells of more after its end");
        self.check_news(peer, event);
        match event {
            Event::PeerFault { peer: named, fault } => {
                self.peers[peer].told_of_proof |= *fault == Fault::Equivocation;
                let just = self.scenario.honest().all(|peer| self.ids[peer] != *named);
                self.must(peer, Blame, event)(just, "blames an honest peer");
            }
            Event::Started { own, plan, .. } => self.check_start(peer, own, *plan),
            Event::Stalled { on, since, .. } => self.peers[peer].stall = (on.clone(), *since),
            Event::StallEnded { late, .. } => self.peers[peer].ends_stall(*late),
            Event::RosterChanged { seats, .. } => {
                let file = &mut self.peers[peer];
                let places = file.log.start.iter().flat_map(|start| &start.roster);
                let stays = places.filter(|place| place.seats.iter().any(|at| seats.contains(at)));
                file.told_roster = stays.count();
            }
            Event::Desync(desync) => {
                (self.peers[peer].told_of_desync).get_or_insert(desync.turn.0);
                let sound = self.check_desync(peer, desync);
                // The word of a hostile peer is no reason.
                let counts = !self.scenario.is_hostile(peer);
                self.named.extend(sound.into_iter().filter(|_| counts));
            }
            Event::Ended(ended) => self.check_end(peer, ended),
            _ => {}
        }
    }

    /// A session has its world replaced by one after so many turns, once that has executed what it was given before.
    pub fn restored(&mut self, peer: usize, turns: u32) {
        let file = &mut self.peers[peer];
        (file.next, file.executed) = (turns, (turns, None));
        file.taken_back = file.executing.len();
    }

    /// Makes the demands on a whole run, which is over.
    pub fn finish<W: Playable>(&mut self) {
        if let Some(log) = self.canonical().cloned() {
            self.check_prefixes(&log);
            self.check_unsure(&log);
            self.check_said(&log);
            self.check_seats(&log);
            self.check_plans(&log);
            self.check_adaptive_plans(&log);
            self.check_reruns::<W>(&log);
            self.check_marks(&log);
            self.check_mismatches(&log);
            self.check_told();
        }
        self.check_progress();
    }

    /// Whether each way that a peer tells of is that of the model's packets.
    fn knows_ways(&self) -> bool {
        self.scenario.over == Over::Messages && self.scenario.hostile().next().is_none()
    }

    /// The peer that has a seat.
    fn with_seat(&self, log: &Log, seat: Seat) -> Option<usize> {
        let mut roster = log.start.iter().flat_map(|start| &start.roster);
        let place = roster.position(|of| of.seats.contains(&seat))?;
        Some(self.places[place])
    }

    fn is_core(&self, peer: usize) -> bool {
        self.core.members.contains(&peer)
    }

    /// The peer in a place of the start's roster.
    fn at(&self, place: u8) -> usize {
        self.places[usize::from(place)]
    }
}
