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
mod file;
mod no_loss;
mod plan;
mod progress;
mod signed;

pub use bounded::Bounds;
pub use core::RECOVERY;

use crate::simulator::{Hostile, Playable, Scenario};
use agreement::History;
use core::Core;
use file::{Log, PeerFile};
use lockstep::log::{Bundle, Keyframe, Record};
use lockstep::{EndReason, Event, Fault, PeerId};
use no_loss::Issued;
use sim::{Checksum, Seat};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

/// What a peer did that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// When, on the simulated clock.
    pub at: Duration,
    /// At which peer; `None` where it concerns the whole run.
    pub peer: Option<usize>,
    /// The turn that was next at that peer.
    pub turn: Option<u32>,
    /// Which invariant.
    pub invariant: Invariant,
    /// What was seen.
    pub seen: String,
}

/// The invariants of the design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invariant {
    /// S1, S2: one history, of which every log is a prefix.
    Agreement,
    /// S3: a command is executed once, in order, everywhere.
    NoLoss,
    /// S4: logged before executed, and the log re-runs to its checksums.
    Durable,
    /// S5: no panic, nothing above its bound.
    Bounded,
    /// L1: the core advances at the plan's rate, and ends as agreed.
    Progress,
    /// Worlds and logs that differ are found, and nobody else's are.
    Desync,
    /// Only hostile peers are blamed.
    Blame,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {:.3?}", self.invariant, self.at)?;
        if let Some(peer) = self.peer {
            write!(f, ", peer {peer}")?;
        }
        if let Some(turn) = self.turn {
            write!(f, ", turn {turn}")?;
        }
        write!(f, ": {}", self.seen)
    }
}

/// One canonical history and what every peer did to it.
pub struct Judge<W> {
    now: Duration,
    scenario: Scenario,
    peers: Vec<PeerFile>,
    history: History,
    issued: BTreeMap<Seat, Vec<Issued>>,
    core: Option<Core>,
    /// When players voted to extend the suspicion time.
    extended: Vec<Duration>,
    /// Which peers were told that a peer signed two histories.
    told_of_proof: Vec<usize>,
    violation: Option<Violation>,
    world: PhantomData<W>,
}

impl<W: Playable> Judge<W> {
    /// Before anything has happened. `ids` are the peers' keys.
    pub fn new(scenario: &Scenario, ids: &[PeerId]) -> Self {
        let peers = ids.iter().zip(&scenario.peers);
        Judge {
            now: Duration::ZERO,
            scenario: scenario.clone(),
            peers: peers
                .map(|(id, plan)| PeerFile::new(*id, plan.seats))
                .collect(),
            history: History::default(),
            issued: BTreeMap::new(),
            core: None,
            extended: Vec::new(),
            told_of_proof: Vec::new(),
            violation: None,
            world: PhantomData,
        }
    }

    /// Sets the time of what follows.
    pub fn at(&mut self, now: Duration) {
        self.now = now;
    }

    /// The first violation, if one was seen.
    pub fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// A player wrote to all.
    pub fn wrote(&mut self, peer: usize, text: String) {
        self.peers[peer].texts.push(text);
    }

    /// A player wants to pause, or to resume.
    pub fn asked_pause(&mut self, peer: usize) {
        self.peers[peer].pause_asks += 1;
    }

    /// A player votes to extend the suspicion time.
    pub fn extended(&mut self) {
        // The votes of all in one stall are one extension.
        let last = self.extended.last().copied();
        if last.is_none_or(|last| last + Duration::from_secs(2) < self.now) {
            self.extended.push(self.now);
        }
    }

    /// A peer leaves.
    pub fn leaves(&mut self, peer: usize) {
        self.peers[peer].left = true;
    }

    /// A peer's process has died.
    pub fn crashed(&mut self, peer: usize) {
        self.peers[peer].crashed = Some(self.now);
    }

    /// A peer's process stands still.
    pub fn froze(&mut self, peer: usize) {
        self.peers[peer].frozen = true;
    }

    /// It goes on.
    pub fn thawed(&mut self, peer: usize) {
        self.peers[peer].frozen = false;
    }

    /// A peer's machine is slow for so long.
    pub fn slow(&mut self, peer: usize, lasts: Duration) {
        self.peers[peer].slow_until = Some(self.now + lasts);
    }

    /// So much of a peer's time has passed unseen. No answer to what it asks then is there before `answered`.
    pub fn lost_time(&mut self, peer: usize, lost: Duration, answered: Duration) {
        // A joiner executes what a quorum attests, wherever it belongs by now.
        if lost > GAP && self.peers[peer].is_in && self.peers[peer].started {
            self.peers[peer].fenced_until = answered;
        }
    }

    /// Another run of a process begins, with this log.
    pub fn returned(&mut self, peer: usize, log: &[Record]) {
        self.peers[peer].begin_run(self.now, log);
    }

    /// That run is in the match.
    pub fn admitted(&mut self, peer: usize) {
        self.peers[peer].is_in = true;
    }

    /// Whether another run of a peer's process has a reason to begin: it died, or was removed.
    pub fn may_return(&self, peer: usize) -> bool {
        let file = &self.peers[peer];
        let ended = file.ended.as_ref().map(|ended| &ended.reason);
        file.crashed.is_some() || matches!(ended, Some(EndReason::Removed))
    }

    /// Whether a peer's process has died, and no other run of it has begun.
    pub fn is_dead(&self, peer: usize) -> bool {
        self.peers[peer].crashed.is_some()
    }

    /// What a peer's log holds for another run.
    pub fn kept(&self, peer: usize) -> (Vec<Record>, Option<Keyframe>) {
        self.peers[peer].kept()
    }

    /// Turns in a peer's log.
    pub fn turns_of(&self, peer: usize) -> u32 {
        self.peers[peer].log.turns()
    }

    /// Whether a peer has a turn in its log.
    pub fn has_turns(&self, peer: usize) -> bool {
        self.turns_of(peer) > 0
    }

    /// Commands of a seat that a peer's log holds.
    pub fn commands_in_log(&self, peer: usize, seat: Seat) -> u32 {
        no_loss::commands_of(&self.peers[peer].log, seat)
    }

    /// A peer's index in the roster.
    pub fn index_of(&self, peer: usize) -> Option<u8> {
        self.history.place(self.peers[peer].id)
    }

    /// Turns of the longest log.
    pub fn turns(&self) -> u32 {
        let logs = self.peers.iter().map(|file| file.log.turns());
        logs.max().unwrap_or(0)
    }

    /// The most turns that one peer retracted at once.
    pub fn most_retracted(&self) -> u32 {
        let most = self.peers.iter().map(|file| file.most_retracted);
        most.max().unwrap_or(0)
    }

    /// Whether any peer was told that a peer signs two histories.
    pub fn proved_any(&self) -> bool {
        !self.told_of_proof.is_empty()
    }

    /// A session told the game something.
    pub fn told(&mut self, peer: usize, event: &Event) {
        if self.is_hostile(peer) {
            return;
        }
        if self.peers[peer].ended.is_some() {
            let seen = format!("an event after the last one: {event:?}");
            self.fail(peer, Invariant::Bounded, seen);
        }
        match event {
            Event::Started { own, plan, .. } => {
                let wanted = usize::from(self.peers[peer].wanted_seats);
                if own.len() != wanted || *plan != self.scenario.plan {
                    let seen = format!("started with seats {own:?} and plan {plan}");
                    self.fail(peer, Invariant::Agreement, seen);
                }
                self.peers[peer].own = own.clone();
                self.peers[peer].started = true;
            }
            Event::PeerFault { peer: named, fault } => {
                if *fault == Fault::Equivocation {
                    self.told_of_proof.push(peer);
                }
                let named = self.peers.iter().position(|file| file.id == *named);
                if let Some(honest) = named.filter(|named| !self.is_hostile(*named)) {
                    let seen = format!("blames peer {honest}, which is honest: {fault:?}");
                    self.fail(peer, Invariant::Blame, seen);
                }
            }
            Event::Desync(desync) => {
                self.check_desync(peer, desync);
                self.peers[peer].desync = true;
            }
            Event::Ended(ended) => {
                self.check_end(peer, ended);
                self.peers[peer].ended = Some(ended.clone());
            }
            _ => {}
        }
    }

    /// Something crossed its bound.
    pub fn unbounded(&mut self, peer: usize, seen: String) {
        self.fail(peer, Invariant::Bounded, seen);
    }

    /// A session appended a record.
    pub fn appended(&mut self, peer: usize, record: &Record) {
        if self.is_hostile(peer) {
            if let Record::Start(start) = record {
                self.history.begins(start);
            }
            return;
        }
        if let Err((invariant, seen)) = self.check_record(peer, record) {
            return self.fail(peer, invariant, seen);
        }
        self.peers[peer].log.put(record);
        if let Record::Roster(_) = record {
            self.note_epoch(peer);
        }
    }

    /// A session handed out a turn to execute.
    pub fn handed_out(&mut self, peer: usize, bundle: &Bundle) {
        if !self.is_hostile(peer)
            && let Err((invariant, seen)) = self.check_handed_out(peer, bundle)
        {
            self.fail(peer, invariant, seen);
        }
        let file = &mut self.peers[peer];
        let turn = bundle.turn.0;
        file.next = (turn + 1, file.next.1.max(turn + 1));
        file.handed.push((turn, self.now));
        let hash = file.log.hashes.get(turn as usize + 1);
        file.executing.push_back(hash.copied());
    }

    /// A world executed a turn.
    pub fn executed(&mut self, peer: usize, turn: u32, checksum: Checksum) {
        let file = &mut self.peers[peer];
        file.executed = turn + 1;
        file.checksum = Some(checksum);
        let flawed = self.scenario.peers[peer]
            .flaw
            .is_some_and(|from| turn >= from);
        let hash = file.executing.pop_front().flatten();
        if let Some(hash) = hash.filter(|_| !flawed && !self.is_hostile(peer))
            && let Some(first) = self.history.differs(hash, checksum)
        {
            let seen = format!("world {checksum} after turn {turn}, others have {first}");
            self.fail(peer, Invariant::Agreement, seen);
        }
    }

    /// A session took turns back.
    pub fn retracted(&mut self, peer: usize, turns: u32) {
        let file = &mut self.peers[peer];
        let many = file.log.turns().saturating_sub(turns);
        file.most_retracted = file.most_retracted.max(many);
        file.log.retract(turns);
        // A joiner gives up what it has followed of peers that stand still.
        let follows = self.scenario.reopening.is_some();
        let founded = follows || self.has_two_faced() && many <= self.provisional();
        if !self.is_hostile(peer) && !founded {
            let seen = format!("took back {many} turns");
            self.fail(peer, Invariant::Agreement, seen);
        }
    }

    /// A session had its world replaced by one after so many turns.
    pub fn restored(&mut self, peer: usize, turns: u32) {
        let file = &mut self.peers[peer];
        file.next.0 = turns;
        file.executed = turns;
    }

    /// The run is over: checks what needs the whole of it.
    pub fn finish(&mut self) {
        let begun = |file: &PeerFile| file.log.start.is_some() || !file.past.is_empty();
        // A guest that sends garbage in the lobby, or answers too late, is shown out, and its seats are waited for.
        let early = |(_, hostile)| matches!(hostile, Hostile::Garbage { early: true, .. });
        let refused = |file: &PeerFile| {
            let ended = file.ended.as_ref().map(|ended| &ended.reason);
            matches!(ended, Some(EndReason::Refused(_)))
        };
        let shown_out = self.scenario.hostile().any(early) || self.peers.iter().any(refused);
        if !self.peers.iter().any(begun) && !shown_out {
            self.fail_of(None, Invariant::Progress, "never began".to_owned());
        }
        if let Some(log) = self.canonical() {
            self.check_prefixes(&log);
            self.check_commands(&log);
            self.check_plans(&log);
            self.check_reruns(&log);
            self.check_mismatches_found(&log);
        }
        self.check_progress();
    }

    fn is_hostile(&self, peer: usize) -> bool {
        self.scenario.is_hostile(peer)
    }

    /// Whether a peer signs two histories, or may.
    fn has_two_faced(&self) -> bool {
        let two = |(_, hostile)| matches!(hostile, Hostile::Equivocator { .. } | Hostile::Forger);
        self.scenario.hostile().any(two)
    }

    /// Turns at a log's end that are not final yet.
    fn provisional(&self) -> u32 {
        let delay = u32::from(self.scenario.plan.delay_turns);
        delay * if self.has_two_faced() { 2 } else { 1 }
    }

    fn fail(&mut self, peer: usize, invariant: Invariant, seen: String) {
        self.fail_of(Some(peer), invariant, seen);
    }

    fn fail_of(&mut self, peer: Option<usize>, invariant: Invariant, seen: String) {
        let turn = peer.map(|peer| self.turns_of(peer));
        self.violation.get_or_insert(Violation {
            at: self.now,
            peer,
            turn,
            invariant,
            seen,
        });
    }
}

/// What a check finds.
type Checked = Result<(), (Invariant, String)>;

/// A gap in a peer's time after which it may have been removed, and a little for the drift of its clock.
const GAP: Duration = Duration::from_millis(1_010);
