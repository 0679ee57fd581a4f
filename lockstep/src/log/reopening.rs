//! How a match goes on whose processes have all died: a roster change that new runs of them decide.

use super::{Chain, RosterChange, Start};
use crate::session::roster::{Peers, Value, Voters};
use crate::{Incarnation, LogHash, PeerId};

/// What is special about the roster change that reopens a match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reopening {
    /// Hash of the log up to the cut, with the changes chained in that wait for their first turn.
    pub log_hash: LogHash,
    /// Who goes on, ascending: the new roster.
    pub runs: Vec<NewRun>,
}

/// The run of a peer's process that goes on for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct NewRun {
    /// Its index in the start's roster.
    pub peer: u8,
    /// The run that votes and seals from the next epoch on.
    pub incarnation: Incarnation,
    /// The peer's own replay held all turns up to the cut: it attests them. Else it was given those that it lacked.
    pub held: bool,
}

impl Reopening {
    /// The peers that go on.
    pub fn roster(&self) -> Peers {
        self.runs.iter().map(|run| run.peer).collect()
    }

    /// What each of those who go on signs.
    pub fn signed_bytes(&self, start: &Start, epoch: u32, cut: u32) -> Vec<u8> {
        let mut chain = Chain::new("lockstep reopening 1");
        chain.bytes(&start.match_id.0);
        chain.number(epoch);
        chain.number(cut);
        self.chain(&mut chain);
        let mut bytes = b"lockstep reopen".to_vec();
        bytes.extend_from_slice(&crate::PROTOCOL.to_le_bytes());
        bytes.extend_from_slice(&chain.end_256());
        bytes
    }

    pub(super) fn chain(&self, chain: &mut Chain) {
        chain.bytes(&self.log_hash.0);
        chain.number(self.runs.len() as u32);
        for run in &self.runs {
            chain.number(u32::from(run.peer));
            chain.bytes(&run.incarnation.0);
            chain.number(u32::from(run.held));
        }
    }

    /// Those whose own replays attest the turns up to the cut.
    fn holders(&self) -> Peers {
        let held = self.runs.iter().filter(|run| run.held);
        held.map(|run| run.peer).collect()
    }
}

impl RosterChange {
    /// Whether a quorum of the roster before has signed this reopening, each as another run than `start` names.
    pub(crate) fn is_reopened_by(
        &self,
        reopening: &Reopening,
        start: &Start,
        roster_before: Peers,
        verify: impl Fn(PeerId, &[u8], &[u8; 64]) -> bool,
    ) -> bool {
        let roster = reopening.roster();
        let bytes = reopening.signed_bytes(start, self.epoch, self.value.cut);
        let value = Value::of(roster, self.value.cut);
        let in_order = reopening
            .runs
            .is_sorted_by(|one, next| one.peer < next.peer);
        let signed = |(run, (peer, signature)): (&NewRun, &(u8, [u8; 64]))| {
            let place = start.roster.get(usize::from(run.peer));
            place.is_some_and(|place| {
                let anew = place.incarnation != run.incarnation;
                anew && run.peer == *peer && verify(place.peer, &bytes, signature)
            })
        };
        in_order
            && self.value == value
            && self.proofs.is_empty()
            && roster.is_within(roster_before)
            && Voters::new(roster_before).is_quorum(roster)
            && self.accepts.len() == reopening.runs.len()
            && reopening.runs.iter().zip(&self.accepts).all(signed)
    }

    /// Whether it follows on a log of so many turns whose hash, with the changes chained in that wait for their first
    /// turn, is this one, and whose epoch began with turn `began`. Of an ordinary change only the turn is looked at: its
    /// accepts are worth nothing without the turns before it, and nothing else of them is signed.
    pub fn follows_on(&self, turns: u32, log_hash: LogHash, began: u32, roster: Peers) -> bool {
        let Some(reopening) = &self.reopening else {
            return self.value.cut == turns;
        };
        // Where the epoch has no turn, its decision is all there is to attest.
        let attested = began == turns || Voters::new(roster).is_quorum(reopening.holders());
        self.value.cut == turns && reopening.log_hash == log_hash && attested
    }

    /// Whether those who signed it signed what the log was at its cut.
    pub(crate) fn binds_log(&self) -> bool {
        self.reopening.is_some() || self.value.log_hash.is_some()
    }

    /// The runs of processes that speak for their peers from the next epoch on, and did not before.
    pub fn new_runs(&self) -> impl Iterator<Item = (u8, Incarnation)> {
        let reopened = self.reopening.iter().flat_map(|reopening| &reopening.runs);
        let joins = self
            .value
            .joins
            .map(|joins| (joins.peer, joins.incarnation));
        reopened.map(|run| (run.peer, run.incarnation)).chain(joins)
    }
}
