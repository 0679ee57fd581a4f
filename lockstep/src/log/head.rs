//! What the records of a log come to, and whether the next one follows on them.

use super::batch::{Batch, SignedBatch};
use super::codec::Codec;
use super::continuation::{Continuation, continued_hash};
use super::hash::{roster_hash, turn_hash};
use super::peers::{Peers, Voters};
use super::record::Record;
use super::roster_change::RosterChange;
use super::start::{Start, start_hash};
use super::turn_fold::TurnFold;
use crate::sign::Signer;
use crate::{Incarnation, LogHash, PeerId};
use sim::Seat;
use std::sync::Arc;

/// A log, folded: hash chain, epochs, and what the next turn depends on.
#[derive(Clone)]
pub(crate) struct Head {
    /// With the runs that speak for the peers since the last change.
    start: Arc<Start>,
    turns: u32,
    ticks: u64,
    epoch: u32,
    roster: Peers,
    hash: LogHash,
    /// The same with the changes chained in that wait for their first turn.
    chained: Option<LogHash>,
    fold: TurnFold,
    codec: Codec,
    changes: Vec<RosterChange>,
    left: Peers,
    /// Which run of a process speaks for a peer, from which epoch on.
    runs: Vec<(u32, u8, Incarnation)>,
    /// One player went on alone: the roster does not change any more.
    alone: bool,
}

/// A record that does not follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DoesNotFollow;

impl Head {
    /// Before turn 0.
    pub(crate) fn new(start: Arc<Start>) -> Self {
        let places = start.roster.iter().enumerate();
        Head {
            turns: 0,
            ticks: 0,
            epoch: 0,
            roster: Peers::first(start.roster.len()),
            hash: start_hash(&start),
            chained: None,
            fold: TurnFold::new(&start),
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
    pub(crate) fn take(
        &mut self,
        record: &Record,
        signer: &dyn Signer,
    ) -> Result<(), DoesNotFollow> {
        match record {
            Record::Bundle(bundle) => {
                if bundle.turn.0 != self.turns || !self.fold.follow(bundle) {
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
                let next = self.is_next(change, signer) || self.is_branch(change, signer);
                if self.alone || !follows || !alike || !next {
                    return Err(DoesNotFollow);
                }
                self.change(change);
                Ok(())
            }
            _ => Err(DoesNotFollow),
        }
    }

    /// Takes a continuation: one player went on alone. Only for a log that this peer goes on from alone; to peers that play
    /// together it is no history.
    pub(crate) fn continued(
        &mut self,
        continuation: &Continuation,
        signer: &dyn Signer,
    ) -> Result<(), DoesNotFollow> {
        let follows = (continuation.epoch, continuation.turns) == (self.epoch, self.turns)
            && continuation.log_hash == self.tip();
        if !follows || !continuation.is_signed(&self.start, verifier(signer)) {
            return Err(DoesNotFollow);
        }
        let start = Arc::new(continuation.start(&self.start));
        self.chained = Some(continued_hash(self.tip(), continuation));
        self.fold = self.fold.continued(&start);
        self.roster = Peers::first(start.roster.len());
        self.epoch += 1;
        self.runs = vec![(self.epoch, 0, continuation.incarnation)];
        self.changes.clear();
        self.alone = true;
        self.start = start;
        Ok(())
    }

    /// Whether a record is a change of an epoch that has ended: a page begins with the changes before its first turn.
    pub(crate) fn is_past(&self, record: &Record) -> bool {
        matches!(record, Record::Roster(change) if change.epoch < self.epoch)
    }

    /// Whether the roster's accepts decide that this change ends the epoch.
    pub(crate) fn is_next(&self, change: &RosterChange, signer: &dyn Signer) -> bool {
        change.epoch == self.epoch
            && change.is_decided_by(&self.start, self.roster, verifier(signer))
    }

    /// Whether this change begins a branch of the match. A log may go on so; whether its peer does is for its player to
    /// say.
    pub(crate) fn is_branch(&self, change: &RosterChange, signer: &dyn Signer) -> bool {
        change.epoch == self.epoch
            && change.begins_branch(&self.start, self.roster, verifier(signer))
    }

    fn change(&mut self, change: &RosterChange) {
        let (before, after) = (self.roster, change.value.roster);
        let gone = before.without(after);
        let by_itself = |peer: &u8| {
            let seats = self.seats_of(std::iter::once(*peer).collect());
            seats.iter().any(|seat| self.fold.is_idle(*seat))
        };
        self.left = gone.iter().filter(by_itself).collect();
        let closed = self.seats_of(gone);
        let opened = self.seats_of(after.without(before));
        self.fold.begin_epoch(after.len() as usize);
        self.fold.close(&closed);
        self.fold.open(&opened);
        self.chained = Some(roster_hash(self.tip(), change));
        change.apply(Arc::make_mut(&mut self.start));
        self.roster = after;
        self.epoch += 1;
        let epoch = self.epoch;
        let runs = change.new_runs();
        self.runs.extend(runs.map(|(peer, run)| (epoch, peer, run)));
        self.changes.push(change.clone());
    }

    /// The start, with the runs of processes that speak for the peers since the last change.
    pub(crate) fn start(&self) -> &Arc<Start> {
        &self.start
    }

    pub(crate) fn turns(&self) -> u32 {
        self.turns
    }

    pub(crate) fn ticks(&self) -> u64 {
        self.ticks
    }

    pub(crate) fn epoch(&self) -> u32 {
        self.epoch
    }

    pub(crate) fn roster(&self) -> Peers {
        self.roster
    }

    /// Hash after all turns.
    pub(crate) fn hash(&self) -> LogHash {
        self.hash
    }

    /// Hash after all turns, with the changes chained in that wait for their first turn.
    pub(crate) fn tip(&self) -> LogHash {
        self.chained.unwrap_or(self.hash)
    }

    /// What the next turn depends on.
    pub(crate) fn fold(&self) -> &TurnFold {
        &self.fold
    }

    /// How the next record is encoded.
    pub(crate) fn codec(&self) -> &Codec {
        &self.codec
    }

    /// The changes of all epochs.
    pub(crate) fn changes(&self) -> &[RosterChange] {
        &self.changes
    }

    /// Peers that the last change removed and that had left by themselves.
    pub(crate) fn left(&self) -> Peers {
        self.left
    }

    /// The first turn of the epoch.
    pub(crate) fn began(&self) -> u32 {
        self.changes.last().map_or(0, |change| change.value.cut)
    }

    /// Earlier runs of a peer's process.
    pub(crate) fn past_runs(&self, peer: u8) -> Vec<Incarnation> {
        let runs = self.runs.iter().filter(|(_, of, _)| *of == peer);
        let mut runs: Vec<Incarnation> = runs.map(|(.., run)| *run).collect();
        runs.pop();
        runs
    }

    /// Whether this run of the peer's process speaks for it, or has.
    pub(crate) fn names_run(&self, peer: u8, run: Incarnation) -> bool {
        let mut runs = self.runs.iter();
        runs.any(|(_, of, known)| (*of, *known) == (peer, run))
    }

    /// A batch's content, where its peer signed it.
    pub(crate) fn read(&self, signed: &SignedBatch, signer: &dyn Signer) -> Option<Batch> {
        let batch = Batch::decode(&signed.content).ok()?;
        // Batches of the match that a branch has left say nothing in the branch.
        let mut branches = self
            .changes
            .iter()
            .filter(|change| change.branch().is_some());
        if branches.any(|change| batch.epoch <= change.epoch) {
            return None;
        }
        let runs = self.runs.iter().rev();
        let mut of_peer =
            runs.filter(|(from, peer, _)| *peer == signed.peer && *from <= batch.epoch);
        let (_, _, run) = of_peer.next()?;
        signed
            .is_signed_in(&self.start, *run, verifier(signer))
            .then_some(batch)
    }

    /// Whether these peers are a quorum of a roster that was in force when so many turns were complete, or later. A cheat
    /// that the end of that roster proves does not count.
    pub(crate) fn were_quorum_since(&self, turns: u32, peers: Peers) -> bool {
        let mut roster = Peers::first(self.start.roster.len());
        for change in &self.changes {
            let signers = peers.without(change.value.cheats);
            if change.value.cut >= turns && Voters::new(roster).is_quorum(signers) {
                return true;
            }
            roster = change.value.roster;
        }
        self.is_quorum(peers)
    }

    /// The cheats that the end of this epoch proves, or that of a later one, and the first turn that was taken back for it.
    pub(crate) fn cheats_since(&self, epoch: u32) -> Option<(Peers, u32)> {
        let changes = self.changes.iter();
        let since = changes.filter(|of| of.epoch >= epoch && !of.value.cheats.is_empty());
        since.fold(None, |all, change| {
            let (cheats, from) = all.unwrap_or((Peers::default(), u32::MAX));
            let value = change.value;
            Some((cheats.or(value.cheats), from.min(value.cut)))
        })
    }

    /// Whether these peers are a quorum of the roster.
    pub(crate) fn is_quorum(&self, peers: Peers) -> bool {
        Voters::new(self.roster).is_quorum(peers)
    }

    fn seats_of(&self, peers: Peers) -> Vec<Seat> {
        let places = peers
            .iter()
            .filter_map(|at| self.start.roster.get(usize::from(at)));
        places.flat_map(|peer| peer.seats.iter().copied()).collect()
    }
}

fn verifier(signer: &dyn Signer) -> impl Fn(PeerId, &[u8], &[u8; 64]) -> bool {
    |peer, bytes, signature| signer.verify(peer, bytes, signature)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::VerifiedLog;
    use crate::log::fixture::{decided, signer, start, turns};

    #[test]
    fn the_roster_before_a_change_signs_the_world_at_its_cut() {
        let mut records = turns(5);
        let before = VerifiedLog::of(start(3), &records, &signer(0));
        let value = crate::log::Value::of(Peers(0b011), 5).with_log(before.head().hash());
        records.push(Record::Roster(decided(&start(3), 0, value)));
        let log = VerifiedLog::of(start(3), &records, &signer(0));
        let of_before = Peers(0b110);
        assert!(!log.head().is_quorum(of_before));
        let signed = |turns| log.head().were_quorum_since(turns, of_before);
        assert!(signed(4) && signed(5) && !signed(6));
    }
}
