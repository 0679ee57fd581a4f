//! Walking a log: what it comes to, and whether each record follows on those before it.

use crate::log::{
    Batch, Codec, Continuation, Peers, Record, RosterChange, SignedBatch, Start, TurnFold, Voters,
    continued_hash, roster_hash, start_hash, turn_hash,
};
use crate::sign::Signer;
use crate::{Incarnation, LogHash};
use sim::Seat;
use std::sync::Arc;

/// A log, walked so far.
#[derive(Clone)]
pub(in crate::session) struct Walk {
    /// As the last change left it.
    pub(in crate::session) start: Arc<Start>,
    pub(in crate::session) turns: u32,
    pub(in crate::session) ticks: u64,
    pub(in crate::session) epoch: u32,
    pub(in crate::session) roster: Peers,
    /// Hash after all turns.
    pub(in crate::session) hash: LogHash,
    /// The same with the changes chained in that wait for their first turn.
    pub(in crate::session) chained: Option<LogHash>,
    pub(in crate::session) course: TurnFold,
    /// How what follows is encoded.
    pub(in crate::session) codec: Codec,
    pub(in crate::session) changes: Vec<RosterChange>,
    /// Of those who are gone by the last change, who had left by itself.
    pub(in crate::session) left: Peers,
    /// Which run of a process speaks for a peer, from which epoch on.
    runs: Vec<(u32, u8, Incarnation)>,
    /// One player went on alone: the roster does not change any more.
    alone: bool,
}

/// A record that does not follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) struct DoesNotFollow;

impl Walk {
    /// Before turn 0.
    pub(in crate::session) fn new(start: Arc<Start>) -> Self {
        let places = start.roster.iter().enumerate();
        Walk {
            turns: 0,
            ticks: 0,
            epoch: 0,
            roster: Peers::first(start.roster.len()),
            hash: start_hash(&start),
            chained: None,
            course: TurnFold::new(&start),
            codec: Codec::behind(&start),
            changes: Vec::new(),
            left: Peers::default(),
            runs: places
                .map(|(at, peer)| (0, at as u8, peer.incarnation))
                .collect(),
            alone: false,
            start,
        }
    }

    /// Takes the next turn or roster change.
    pub(in crate::session) fn take(
        &mut self,
        record: &Record,
        signer: &dyn Signer,
    ) -> Result<(), DoesNotFollow> {
        match record {
            Record::Bundle(bundle) => {
                if bundle.turn.0 != self.turns || !self.course.follow(bundle) {
                    return Err(DoesNotFollow);
                }
                self.hash = turn_hash(self.chained.take().unwrap_or(self.hash), bundle);
                self.turns += 1;
                self.codec.pass(bundle);
                self.ticks += u64::from(bundle.ticks());
                Ok(())
            }
            Record::Roster(change) => {
                let follows = change.follows_on(self.turns, self.tip(), self.began(), self.roster);
                let alike = change.value.log_hash.is_none_or(|hash| hash == self.hash);
                if self.alone || !follows || !alike || !self.is_next(change, signer) {
                    return Err(DoesNotFollow);
                }
                self.change(change);
                Ok(())
            }
            _ => Err(DoesNotFollow),
        }
    }

    /// Takes that one player went on alone. Only for a log that this peer itself goes on from, alone: to those who play
    /// together it is no history.
    pub(in crate::session) fn continued(
        &mut self,
        continuation: &Continuation,
        signer: &dyn Signer,
    ) -> Result<(), DoesNotFollow> {
        let follows = (continuation.epoch, continuation.turns) == (self.epoch, self.turns)
            && continuation.log_hash == self.tip();
        let verify =
            |peer, bytes: &[u8], signature: &[u8; 64]| signer.verify(peer, bytes, signature);
        if !follows || !continuation.is_signed(&self.start, verify) {
            return Err(DoesNotFollow);
        }
        let start = Arc::new(continuation.start(&self.start));
        self.chained = Some(continued_hash(self.tip(), continuation));
        self.course = self.course.continued(&start);
        self.roster = Peers::first(start.roster.len());
        self.epoch += 1;
        self.runs = vec![(self.epoch, 0, continuation.incarnation)];
        self.changes.clear();
        self.alone = true;
        self.start = start;
        Ok(())
    }

    /// Whether this change is the one that ends the epoch, by the roster's accepts.
    pub(in crate::session) fn is_next(&self, change: &RosterChange, signer: &dyn Signer) -> bool {
        let verify =
            |peer, bytes: &[u8], signature: &[u8; 64]| signer.verify(peer, bytes, signature);
        change.epoch == self.epoch && change.is_decided_by(&self.start, self.roster, verify)
    }

    fn change(&mut self, change: &RosterChange) {
        let (before, after) = (self.roster, change.value.roster);
        let gone = before.without(after);
        let by_itself = |peer: &u8| {
            let seats = self.seats_of(std::iter::once(*peer).collect());
            seats.iter().any(|seat| self.course.is_idle(*seat))
        };
        self.left = gone.iter().filter(by_itself).collect();
        let closed = self.seats_of(gone);
        let opened = self.seats_of(after.without(before));
        self.course.begin_epoch();
        self.course.close(&closed);
        self.course.open(&opened);
        self.chained = Some(roster_hash(self.tip(), change));
        change.apply(Arc::make_mut(&mut self.start));
        self.roster = after;
        self.epoch += 1;
        let epoch = self.epoch;
        let runs = change.new_runs();
        self.runs.extend(runs.map(|(peer, run)| (epoch, peer, run)));
        self.changes.push(change.clone());
    }

    /// Hash after all turns, with the changes chained in that wait for their first turn.
    pub(in crate::session) fn tip(&self) -> LogHash {
        self.chained.unwrap_or(self.hash)
    }

    /// The first turn of the epoch.
    pub(in crate::session) fn began(&self) -> u32 {
        self.changes.last().map_or(0, |change| change.value.cut)
    }

    /// Earlier runs of a peer's process.
    pub(in crate::session) fn past(&self, peer: u8) -> Vec<Incarnation> {
        let runs = self.runs.iter().filter(|(_, of, _)| *of == peer);
        let mut runs: Vec<Incarnation> = runs.map(|(.., run)| *run).collect();
        runs.pop();
        runs
    }

    /// Whether this is a run of the peer's process that speaks for it, or has.
    pub(in crate::session) fn names_run(&self, peer: u8, run: Incarnation) -> bool {
        let mut runs = self.runs.iter();
        runs.any(|(_, of, known)| (*of, *known) == (peer, run))
    }

    /// What a batch says, where its peer signed it.
    pub(in crate::session) fn read(
        &self,
        signed: &SignedBatch,
        signer: &dyn Signer,
    ) -> Option<Batch> {
        let batch = Batch::decode(&signed.content).ok()?;
        let runs = self.runs.iter().rev();
        let mut of_peer =
            runs.filter(|(from, peer, _)| *peer == signed.peer && *from <= batch.epoch);
        let (_, _, run) = of_peer.next()?;
        let verify =
            |peer, bytes: &[u8], signature: &[u8; 64]| signer.verify(peer, bytes, signature);
        signed
            .is_signed_in(&self.start, *run, verify)
            .then_some(batch)
    }

    /// Whether these peers are a quorum of a roster that was in force when so many turns were complete, or later.
    pub(in crate::session) fn were_quorum_since(&self, turns: u32, peers: Peers) -> bool {
        let mut roster = Peers::first(self.start.roster.len());
        for change in &self.changes {
            if change.value.cut > turns && Voters::new(roster).is_quorum(peers) {
                return true;
            }
            roster = change.value.roster;
        }
        self.is_quorum(peers)
    }

    /// Whether these peers are a quorum of the roster.
    pub(in crate::session) fn is_quorum(&self, peers: Peers) -> bool {
        Voters::new(self.roster).is_quorum(peers)
    }

    fn seats_of(&self, peers: Peers) -> Vec<Seat> {
        let places = peers
            .iter()
            .filter_map(|at| self.start.roster.get(usize::from(at)));
        places.flat_map(|peer| peer.seats.iter().copied()).collect()
    }
}
