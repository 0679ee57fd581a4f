//! Walking a log: what it comes to, and whether each record follows on those before it.

use crate::log::{Record, RosterChange, SignedBatch, Start, roster_hash, start_hash, turn_hash};
use crate::session::Batch;
use crate::session::playing::Course;
use crate::session::roster::{Peers, Voters};
use crate::sign::Signer;
use crate::{Incarnation, LogHash};
use sim::Seat;
use std::sync::Arc;

/// A log, walked so far.
#[derive(Clone)]
pub(super) struct Walk {
    /// As the last change left it.
    pub start: Arc<Start>,
    pub turns: u32,
    pub ticks: u64,
    pub epoch: u32,
    pub roster: Peers,
    /// Hash after all turns.
    pub hash: LogHash,
    /// The same with the changes chained in that wait for their first turn.
    pub chained: Option<LogHash>,
    pub course: Course,
    pub changes: Vec<RosterChange>,
    /// Which run of a process speaks for a peer, from which epoch on.
    runs: Vec<(u32, u8, Incarnation)>,
}

/// A record that does not follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DoesNotFollow;

impl Walk {
    /// Before turn 0.
    pub(super) fn new(start: Arc<Start>) -> Self {
        let places = start.roster.iter().enumerate();
        Walk {
            turns: 0,
            ticks: 0,
            epoch: 0,
            roster: Peers::first(start.roster.len()),
            hash: start_hash(&start),
            chained: None,
            course: Course::new(&start),
            changes: Vec::new(),
            runs: places
                .map(|(at, peer)| (0, at as u8, peer.incarnation))
                .collect(),
            start,
        }
    }

    /// Takes the next turn or roster change.
    pub(super) fn take(
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
                self.ticks += u64::from(bundle.ticks());
                Ok(())
            }
            Record::Roster(change) => {
                let value = &change.value;
                let alike = value.log_hash.is_none_or(|hash| hash == self.hash);
                if !self.is_next(change, signer) || value.cut != self.turns || !alike {
                    return Err(DoesNotFollow);
                }
                self.change(change);
                Ok(())
            }
            _ => Err(DoesNotFollow),
        }
    }

    /// Whether this change is the one that ends the epoch, by the roster's accepts.
    pub(super) fn is_next(&self, change: &RosterChange, signer: &dyn Signer) -> bool {
        let verify =
            |peer, bytes: &[u8], signature: &[u8; 64]| signer.verify(peer, bytes, signature);
        change.epoch == self.epoch && change.is_decided_by(&self.start, self.roster, verify)
    }

    fn change(&mut self, change: &RosterChange) {
        let (before, after) = (self.roster, change.value.roster);
        let closed = self.seats_of(before.without(after));
        let opened = self.seats_of(after.without(before));
        self.course.begin_epoch();
        self.course.close(&closed);
        self.course.open(&opened);
        self.chained = Some(roster_hash(self.chained.unwrap_or(self.hash), change));
        change.apply(Arc::make_mut(&mut self.start));
        self.roster = after;
        self.epoch += 1;
        let joins = change.value.joins;
        let run = joins.map(|joins| (self.epoch, joins.peer, joins.incarnation));
        self.runs.extend(run);
        self.changes.push(change.clone());
    }

    /// What a batch says, where its peer signed it.
    pub(super) fn read(&self, signed: &SignedBatch, signer: &dyn Signer) -> Option<Batch> {
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
    pub(super) fn were_quorum_since(&self, turns: u32, peers: Peers) -> bool {
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
    pub(super) fn is_quorum(&self, peers: Peers) -> bool {
        Voters::new(self.roster).is_quorum(peers)
    }

    fn seats_of(&self, peers: Peers) -> Vec<Seat> {
        let places = peers
            .iter()
            .filter_map(|at| self.start.roster.get(usize::from(at)));
        places.flat_map(|peer| peer.seats.iter().copied()).collect()
    }
}
