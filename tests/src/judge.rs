//! The judge: what must hold in every run, checked from outside.
//!
//! It keeps one canonical history, made of what peers appended to their logs and held against the harness's own notes
//! of what each peer issued. It shares no code with the session; it reads log records and nothing else.

mod bounds;
mod contents;
mod equivocation;
mod file;
mod lobby;
mod metering;
mod odd;
mod progress;
mod reopening;
mod rerun;
mod roster;

pub use bounds::Bounds;
pub use file::{Issued, PeerFile};

use crate::simulator::{Cut, Hostile, Lie, Playable, Scenario};
use lobby::Word;
use lockstep::log::{
    Bundle, OnDesync, Record, RosterChange, Start, roster_hash, start_hash, turn_hash,
};
use lockstep::{Event, Fault, Gone, LogHash, PeerId, RosterCause};
use metering::Plans;
use reopening::Disk;
use sim::{Checksum, Seat};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// What a peer did that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// When, on the simulated clock.
    pub at: Duration,
    /// At which peer; `None` where it concerns the whole run.
    pub peer: Option<usize>,
    /// Which invariant.
    pub invariant: Invariant,
    /// What was seen.
    pub seen: String,
}

/// The invariants of the design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invariant {
    /// S1: any two peers' bundles for a turn are equal.
    Agreement,
    /// S3: a command is executed once, in order, everywhere, or is accounted for.
    NoLoss,
    /// S4: logged before executed, and the log re-runs to its checksums.
    Durable,
    /// S5: no panic, nothing above its bound.
    Bounded,
    /// L1: within 2 s of healing turns advance at the plan's rate, and the match ends as agreed.
    Progress,
    /// Worlds that differ are found by every peer, and no others are.
    Desync,
    /// Faults are blamed on who committed them.
    Blame,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {:.3?}", self.invariant, self.at)?;
        if let Some(peer) = self.peer {
            write!(f, ", peer {peer}")?;
        }
        write!(f, ": {}", self.seen)
    }
}

/// One canonical history and what every peer did to it.
pub struct Judge<W> {
    now: Duration,
    peers: Vec<PeerFile>,
    hostile: Option<usize>,
    forged: bool,
    /// From this turn on the last peer signs two batches.
    two_faced: Option<u32>,
    /// The last peer tells of another world or log than it has.
    lied_of: Option<Lie>,
    /// Who was told that the last peer signs two histories.
    named_by: Vec<usize>,
    flaw: Option<(usize, u32)>,
    /// The others are to go on without who strays.
    goes_on: bool,
    command_delay: u32,
    turn: Duration,
    turn_limit: u32,
    start: Option<Arc<Start>>,
    history: Vec<Turn>,
    /// The roster changes that are agreed, in order.
    changes: Vec<RosterChange>,
    /// By seat: who was told that it is gone, be it in nobody's log because all of them left before the next turn.
    told_gone: BTreeMap<Seat, BTreeSet<usize>>,
    plans: Plans,
    cuts: Vec<Cut>,
    may_lose_quorum: bool,
    /// Pairs that can never dial each other, the lower one first.
    unreachable: Vec<(usize, usize)>,
    patient: bool,
    /// What the host and its guests said before the match began.
    words: Vec<Word>,
    issued: BTreeMap<Seat, Vec<Issued>>,
    /// Commands of each seat that the history holds.
    agreed: BTreeMap<Seat, usize>,
    paused: bool,
    healed_at: Option<Duration>,
    /// By peer: what new runs had on disk, after all had died.
    disks: BTreeMap<usize, Disk>,
    begun_again_at: Duration,
    waits_for_all: Duration,
    /// Some live on and stand still when so many die that the match is reopened.
    some_stand: bool,
    /// After how many turns, as whoever told it first said, and when.
    reopened_after: Option<u32>,
    reopened_at: Option<Duration>,
    /// From when until when somebody stood still, or when its clock jumped.
    gaps: Vec<(Duration, Duration)>,
    violation: Option<Violation>,
    world: PhantomData<W>,
}

/// One turn of the history.
struct Turn {
    bundle: Bundle,
    /// Hash of the log up to and with this turn.
    hash: LogHash,
    /// Checksum after it, of the worlds that have no flaw.
    checksum: Option<Checksum>,
    /// The peers that have it in their logs.
    by: Vec<usize>,
    /// What was noted before it.
    before: Notes,
}

/// What the history so far holds of what players did.
#[derive(Clone)]
struct Notes {
    agreed: BTreeMap<Seat, usize>,
    paused: bool,
    /// Texts and pauses, by peer.
    said: Vec<(usize, u32)>,
}

impl<W: Playable> Judge<W> {
    /// Before anything has happened. `ids` are the peers' keys.
    pub fn new(scenario: &Scenario, ids: &[PeerId]) -> Self {
        let file = |(at, id): (usize, &PeerId)| PeerFile::new(*id, scenario.peers[at].seats);
        Judge {
            now: Duration::ZERO,
            peers: ids.iter().enumerate().map(file).collect(),
            hostile: (0..ids.len()).find(|peer| scenario.is_hostile(*peer)),
            forged: matches!(
                scenario.hostile,
                Some(Hostile::Forger | Hostile::Equivocator(_))
            ),
            two_faced: match scenario.hostile {
                Some(Hostile::Equivocator(when)) => Some(when.from),
                _ => None,
            },
            lied_of: match scenario.hostile {
                Some(Hostile::Liar(lie)) => Some(lie),
                _ => None,
            },
            flaw: scenario.flaw.map(|flaw| (flaw.peer, flaw.turn)),
            goes_on: scenario.on_desync == OnDesync::RemoveMinority,
            command_delay: u32::from(scenario.plan.delay_turns),
            turn: scenario.plan.turn(),
            turn_limit: scenario.turn_limit,
            named_by: Vec::new(),
            start: None,
            history: Vec::new(),
            changes: Vec::new(),
            told_gone: BTreeMap::new(),
            plans: Plans::new(scenario),
            cuts: scenario.cuts.clone(),
            may_lose_quorum: scenario.may_lose_quorum(),
            unreachable: scenario.unreachable.clone(),
            patient: scenario.patient,
            words: Vec::new(),
            issued: BTreeMap::new(),
            agreed: BTreeMap::new(),
            paused: false,
            healed_at: None,
            disks: BTreeMap::new(),
            begun_again_at: Duration::ZERO,
            waits_for_all: scenario
                .reopens
                .as_ref()
                .map_or(Duration::ZERO, |reopens| reopens.wait),
            some_stand: scenario.reopens.as_ref().is_some_and(|reopens| {
                let mut fates = reopens.fates.iter();
                fates.any(|fate| fate.dies.is_none())
            }),
            reopened_after: None,
            reopened_at: None,
            gaps: Vec::new(),
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

    /// What is known of a peer.
    pub fn peer(&self, peer: usize) -> &PeerFile {
        &self.peers[peer]
    }

    /// Turns of the history.
    pub fn turns(&self) -> u32 {
        self.history.len() as u32
    }

    /// Faults have ended.
    pub fn healed(&mut self) {
        self.healed_at = Some(self.now);
        self.plans.fast_after = self.time_before(self.history.len() as u32);
    }

    /// A player issued a command, which the session has been given; `saves` while its world is still to be saved.
    pub fn issued(&mut self, peer: usize, seat: Seat, bytes: Vec<u8>, saves: bool) {
        let file = &self.peers[peer];
        let anew = file.returned.is_some() && !file.caught_up;
        let issued = Issued {
            peer,
            handed_turns: file.handed.len() as u32,
            // Who stood still, or waited with all others to go on, seals at once what it has missed, and hands turns out
            // once the world is saved.
            behind: anew || saves && (file.froze || self.reopened_after.is_some()),
            bytes,
        };
        self.issued.entry(seat).or_default().push(issued);
    }

    /// A player wrote to all.
    pub fn chatted(&mut self, peer: usize, text: String) {
        self.peers[peer].writes(text);
    }

    /// A player wants to pause, or to resume.
    pub fn asked_pause(&mut self, peer: usize) {
        self.peers[peer].pause_asks += 1;
    }

    /// A player leaves.
    pub fn left(&mut self, peer: usize) {
        self.peers[peer].left = true;
        self.peers[peer].left_at = Some(self.now);
    }

    /// A peer's process has died.
    pub fn crashed(&mut self, peer: usize) {
        self.peers[peer].crashed = Some(self.now);
        self.peers[peer].deaths += 1;
    }

    /// A peer's process stands still.
    pub fn froze(&mut self, peer: usize) {
        self.peers[peer].froze = true;
    }

    /// It goes on after so long. Nobody's answer to what it asks then is here before `answered`.
    pub fn thawed(&mut self, peer: usize, away: Duration, answered: Duration) {
        self.peers[peer].thawed_at = Some(self.now);
        self.saw_gap(peer, self.now - away, away, answered);
    }

    /// Its address has changed: nobody can reach it until it dials.
    pub fn moved(&mut self, peer: usize) {
        self.peers[peer].moved_at = Some(self.now);
    }

    /// Its clock has jumped ahead. After a long jump it cannot know that it did not stand still.
    pub fn jumped(&mut self, peer: usize, by: Duration, answered: Duration) {
        self.saw_gap(peer, self.now, by, answered);
    }

    /// It cannot know what others did in the meantime, nor blame them for it.
    fn saw_gap(&mut self, peer: usize, since: Duration, away: Duration, answered: Duration) {
        if away <= GAP {
            return;
        }
        self.gaps.push((since, self.now));
        // Who comes back executes what a quorum attests, wherever it belongs by now.
        let file = &self.peers[peer];
        if !self.is_alone(peer) && !file.follows() {
            self.peers[peer].unsure_until = answered;
        }
    }

    /// Another run of a process that had died begins.
    pub fn returned(&mut self, peer: usize) {
        self.peers[peer].begin_anew(self.now);
    }

    /// It is back in the match. What the run before it issued and the history does not hold is lost with that run. The
    /// commands of its seats that the history holds.
    pub fn back(&mut self, peer: usize) -> Vec<(Seat, u32)> {
        self.peers[peer].back = Some(self.now);
        // It begins to wait for the others now, and its vote may be needed.
        self.gaps.push((self.now, self.now));
        if self.disks.contains_key(&peer) {
            self.peers[peer].crashed = None;
        }
        let said = self.peers[peer].agreed;
        self.peers[peer].chats.truncate(said.0);
        self.peers[peer].pause_asks = said.1;
        let mut agreed = Vec::new();
        for seat in self.peers[peer].own.clone() {
            let held = self.agreed.get(&seat).copied().unwrap_or(0);
            if let Some(issued) = self.issued.get_mut(&seat) {
                issued.truncate(held);
            }
            agreed.push((seat, held as u32));
        }
        agreed
    }

    /// A session appended a record.
    pub fn appended(&mut self, peer: usize, record: &Record) {
        if self.hostile == Some(peer) {
            return;
        }
        if let Some(problem) = self.peers[peer].append(record) {
            self.fail(Some(peer), Invariant::Durable, problem);
            return;
        }
        match record {
            Record::Start(start) => self.check_start(peer, start),
            Record::Bundle(bundle) => self.check_bundle(peer, bundle),
            Record::Roster(change) => {
                self.check_odd(peer, change);
                self.check_change(peer, change);
            }
            _ => {}
        }
    }

    /// A session took turns back.
    pub fn undone(&mut self, peer: usize, turns: u32) {
        self.peers[peer].undo(turns);
    }

    /// A session had its world replaced by one after so many turns.
    pub fn restored(&mut self, peer: usize, turns: u32) {
        let file = &mut self.peers[peer];
        match file.returned.is_some() && file.handed.is_empty() {
            true => {
                file.handed.resize(turns as usize, Duration::ZERO);
                file.executed = turns;
            }
            false => {
                file.handed.truncate(turns as usize);
                file.again = file.appended;
            }
        }
    }

    /// Whether anybody was told that a peer signs two histories.
    pub fn proved_any(&self) -> bool {
        !self.named_by.is_empty()
    }

    /// The most turns that one peer took back at once.
    pub fn most_undone(&self) -> u32 {
        self.peers.iter().map(|file| file.undone).max().unwrap_or(0)
    }

    /// A session handed out a turn to execute.
    pub fn handed(&mut self, peer: usize, bundle: &Bundle) {
        // Who is a quorum by itself, and has decided to go on alone, has nobody left to ask.
        let alone = self.is_alone(peer) || self.outlived_the_other(peer);
        let unsure = self.now < self.peers[peer].unsure_until && !alone;
        let file = &mut self.peers[peer];
        // A world that went back is brought to where it was before this peer asked whether it belongs.
        let unsure = unsure && bundle.turn.0 >= file.again;
        let logged = bundle.turn.0 < file.appended;
        let expected = file.handed.len() as u32;
        file.handed.push(self.now);
        if self.hostile == Some(peer) {
            return;
        }
        if unsure {
            let seen = format!(
                "turn {} handed out before it was told that it belongs",
                bundle.turn
            );
            self.fail(Some(peer), Invariant::Agreement, seen);
        } else if bundle.turn.0 != expected {
            let seen = format!("turn {} handed out, {expected} was next", bundle.turn);
            self.fail(Some(peer), Invariant::Durable, seen);
        } else if !logged {
            let seen = format!("turn {} handed out before it was logged", bundle.turn);
            self.fail(Some(peer), Invariant::Durable, seen);
        } else if !self.forged
            && !self.is_outside(peer, expected)
            && !self.may_stray(peer)
            && self.history[expected as usize].bundle != *bundle
        {
            let seen = format!("turn {} handed out otherwise than logged", bundle.turn);
            self.fail(Some(peer), Invariant::Agreement, seen);
        } else if !self.is_out(peer, expected) {
            self.check_behind(peer);
        }
    }

    /// A world executed a turn.
    pub fn executed(&mut self, peer: usize, turn: u32, checksum: Checksum) {
        let flawed = self
            .flaw
            .is_some_and(|(flawed, from)| flawed == peer && turn >= from);
        let file = &mut self.peers[peer];
        file.executed = turn + 1;
        file.caught_up |= file.executed as usize >= file.handed.len();
        file.stepped.push(self.now);
        file.checksum = Some(checksum);
        let own = self.is_outside(peer, turn) || self.may_stray(peer);
        if flawed || self.forged || self.hostile == Some(peer) || own {
            return;
        }
        let known = &mut self.history[turn as usize].checksum;
        let first = *known.get_or_insert(checksum);
        if first != checksum {
            let seen = format!("world {checksum} after turn {turn}, others have {first}");
            self.fail(Some(peer), Invariant::Agreement, seen);
        }
    }

    /// A session told the game something.
    pub fn told(&mut self, peer: usize, event: &Event) {
        if self.peers[peer].ended.is_some() {
            let seen = format!("an event after the last one: {event:?}");
            self.fail(Some(peer), Invariant::Bounded, seen);
        }
        match event {
            Event::Started { own, plan, .. } => {
                self.peers[peer].own = own.clone();
                self.peers[peer].started_at.get_or_insert(self.now);
                if own.len() != usize::from(self.peers[peer].wanted_seats)
                    || plan.turn() != self.turn
                {
                    let seen = format!("started with seats {own:?} and plan {plan}");
                    self.fail(Some(peer), Invariant::Agreement, seen);
                }
            }
            Event::PeerFault { peer: named, fault } => {
                if *fault == Fault::Equivocation {
                    self.named_by.push(peer);
                }
                self.check_blame(peer, *named, *fault);
            }
            Event::CommandRefused { id, .. } => {
                self.peers[peer].refused.insert(*id);
            }
            Event::Suspected { .. } => self.peers[peer].suspected_at.push(self.now),
            Event::NoQuorum { .. } => {
                self.peers[peer].lacks_quorum = true;
                self.has_followed(peer);
            }
            Event::StallEnded { .. } => self.peers[peer].lacks_quorum = false,
            Event::Desync(desync) => {
                self.check_desync(peer, desync);
                self.peers[peer].desync = Some((self.now, desync.clone()));
            }
            Event::RosterChanged {
                turn,
                cause: RosterCause::Reopened,
                ..
            } => self.told_of_reopening(turn.0),
            Event::RosterChanged { gone, cause, .. } => {
                self.peers[peer].went_on |= *cause == RosterCause::Desynced;
                self.peers[peer].lacks_quorum = false;
                for seat in Gone::seats(gone) {
                    self.told_gone.entry(seat).or_default().insert(peer);
                }
            }
            Event::Ended(ended) => self.peers[peer].ended = Some((self.now, ended.clone())),
            _ => {}
        }
    }

    /// Something crossed its bound.
    pub fn unbounded(&mut self, peer: usize, seen: String) {
        self.fail(Some(peer), Invariant::Bounded, seen);
    }

    fn check_start(&mut self, peer: usize, start: &Arc<Start>) {
        let mut of_this_peer = (**start).clone();
        let canonical = self.start.get_or_insert_with(|| start.clone());
        of_this_peer.build = canonical.build.clone();
        if of_this_peer != **canonical {
            let seen = "starts another match than the others".to_owned();
            self.fail(Some(peer), Invariant::Agreement, seen);
            return;
        }
        let mut seats: Vec<u8> = start.seats().iter().map(|seat| seat.0).collect();
        seats.dedup();
        let wanted: u8 = self.peers.iter().map(|file| file.wanted_seats).sum();
        if seats != (0..wanted).collect::<Vec<_>>() || start.roster.len() != self.peers.len() {
            let seen = format!("seats {seats:?} among {} peers", start.roster.len());
            self.fail(Some(peer), Invariant::Agreement, seen);
        }
        for member in &start.roster {
            let known = self.peers.iter().any(|file| file.id == member.peer);
            if !known || start.signatures.len() != start.roster.len() {
                let seen = "a roster of others, or unsigned".to_owned();
                self.fail(Some(peer), Invariant::Agreement, seen);
            }
        }
    }

    fn check_bundle(&mut self, peer: usize, bundle: &Bundle) {
        if self.forged {
            return;
        }
        if self.is_outside(peer, bundle.turn.0) {
            return self.check_tail(peer, bundle);
        }
        if self.may_stray(peer) {
            return;
        }
        let at = bundle.turn.0 as usize;
        if at == self.history.len() {
            let notes = self.notes();
            self.check_plan(peer, bundle);
            self.check_against_notes(peer, bundle);
            let before = match (self.history.last(), &self.start) {
                (Some(turn), _) => turn.hash,
                (None, Some(start)) => start_hash(start),
                (None, None) => return,
            };
            let changes = self.changes.iter();
            let changes = changes.filter(|change| change.value.cut == bundle.turn.0);
            let before = changes.fold(before, roster_hash);
            self.history.push(Turn {
                bundle: bundle.clone(),
                hash: turn_hash(before, bundle),
                checksum: None,
                by: vec![peer],
                before: notes,
            });
            return;
        }
        if let Some(turn) = self
            .history
            .get_mut(at)
            .filter(|turn| turn.bundle == *bundle)
        {
            turn.by.push(peer);
        } else {
            let seen = format!("turn {} differs from the others' turn", bundle.turn);
            self.fail(Some(peer), Invariant::Agreement, seen);
        }
    }

    /// A command that found room must not wait: sealing takes what waits, in order, as long as it fits.
    fn check_promptness(
        &mut self,
        peer: usize,
        bundle: &Bundle,
        room: &BTreeMap<Option<usize>, usize>,
    ) {
        for (seat, issued) in &self.issued {
            let agreed = self.agreed.get(seat).copied().unwrap_or(0);
            let Some(waiting) = issued.get(agreed) else {
                continue;
            };
            let owner = &self.peers[waiting.peer];
            let latest = waiting.handed_turns + self.command_delay + 2;
            let since = self.history.iter().skip(waiting.handed_turns as usize);
            let used = room.get(&Some(waiting.peer)).copied().unwrap_or(0);
            let gone = owner.left
                || owner.crashed.is_some()
                || owner.follows()
                || self.is_gone(waiting.peer);
            // Turns that wait for a snapshot of a slow world are complete, and nobody outside knows.
            let unknown = self.plans.is_slow(waiting.peer) || waiting.behind;
            let lagging = Some(waiting.peer) == self.hostile || gone || unknown || bundle.paused;
            // Who has begun anew seals before it is sure that it belongs, and hands nothing out until then.
            let settles = self
                .reopened_after
                .map_or(0, |cut| cut + 4 * self.command_delay + 8);
            // A batch without commands has room for any one.
            let full = used > 0 && used + waiting.bytes.len() > ROOMY;
            if lagging || bundle.turn.0 <= latest.max(settles) || full {
                continue;
            }
            if since.into_iter().any(|turn| turn.bundle.paused) {
                continue;
            }
            let turn = bundle.turn;
            let seen =
                format!("turn {turn}: command {agreed} of {seat:?} left out with room for it");
            self.fail(Some(peer), Invariant::NoLoss, seen);
            return;
        }
    }

    fn check_blame(&mut self, peer: usize, named: PeerId, fault: Fault) {
        let honest = self
            .peers
            .iter()
            .position(|file| file.id == named)
            .filter(|at| Some(*at) != self.hostile);
        if honest.is_some() && self.hostile != Some(peer) {
            let seen = format!("blames peer {honest:?}, which is honest: {fault:?}");
            self.fail(Some(peer), Invariant::Blame, seen);
        }
    }

    fn owner(&self, seat: Seat) -> Option<usize> {
        // Who never heard that the match began owns what the start says.
        let owns = |file: &PeerFile| match (file.started_at, &self.start) {
            (None, Some(start)) => start
                .peer_with(seat)
                .is_some_and(|place| place.peer == file.id),
            _ => file.own.contains(&seat),
        };
        self.peers.iter().position(owns)
    }

    fn fail(&mut self, peer: Option<usize>, invariant: Invariant, seen: String) {
        let at = self.now;
        self.violation.get_or_insert(Violation {
            at,
            peer,
            invariant,
            seen,
        });
    }
}

/// A gap in a peer's time after which it may have been removed, and a little for the drift of its clock.
const GAP: Duration = Duration::from_millis(1_010);
/// Bytes of a peer's commands in a turn up to which a batch certainly has room: 700 less signature, checksums of a
/// catch-up, slack and heads.
const ROOMY: usize = 300;
