//! How a match goes on whose processes have died: a roster change that new runs of them decide. With a quorum of the
//! roster it reopens the match; without one it begins a branch.

use super::chain::Chain;
use super::document::{Document, Kind};
use super::peers::Peers;
use super::start::Start;
use crate::encoding::{DecodeError, Reader, put_varint};
use crate::{Incarnation, LogHash, MatchId};

/// What is special about the roster change that reopens a match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reopening {
    /// Hash of the log up to the cut, with the changes chained in that wait for their first turn.
    pub log_hash: LogHash,
    /// The runs that go on, ascending: the new roster.
    pub runs: Vec<NewRun>,
    /// It begins a branch: a match of its own, by its players' word and without a quorum. It decides nothing in the match
    /// that it leaves.
    pub branch: bool,
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

/// That this peer has signed a reopening, of which it may never hear whether all have.
///
/// A peer writes it before its signature leaves, so that a later run of its process knows of it. The newest one counts, and
/// none counts behind the change that ends its epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SignedReopening {
    /// The epoch that the reopening ends.
    pub epoch: u32,
    /// The peers that go on by it, if all of them have signed it.
    pub roster: Peers,
    /// Hash of what they sign.
    pub hash: LogHash,
}

impl SignedReopening {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, u64::from(self.epoch));
        out.extend_from_slice(&self.roster.0.to_le_bytes());
        out.extend_from_slice(&self.hash.0);
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(SignedReopening {
            epoch: reader.number()?,
            roster: Peers(u16::from_le_bytes(reader.array()?)),
            hash: LogHash(reader.array()?),
        })
    }
}

impl Reopening {
    /// The peers that go on.
    pub fn roster(&self) -> Peers {
        self.runs.iter().map(|run| run.peer).collect()
    }

    /// What each peer signs that goes on: the reopening, and where it ends which epoch of which match.
    pub(crate) fn at(&self, start: &Start, epoch: u32, cut: u32) -> ReopeningAt<'_> {
        ReopeningAt {
            match_id: start.match_id,
            epoch,
            cut,
            reopening: self,
        }
    }

    /// The id of the match that begins with a branch from this start's match, at this cut.
    pub(super) fn branch_id(&self, start: &Start, cut: u32) -> MatchId {
        let mut chain = Chain::new("lockstep branch id 1");
        chain.bytes(&start.match_id.0);
        chain.number(cut);
        chain.bytes(&self.log_hash.0);
        for run in &self.runs {
            let signer = start.roster.get(usize::from(run.peer));
            chain.bytes(&signer.map_or([0; 32], |signer| signer.peer.0));
            chain.bytes(&run.incarnation.0);
        }
        MatchId(chain.end().0)
    }

    pub(super) fn chain(&self, chain: &mut Chain) {
        if self.branch {
            chain.bytes(b"branch");
        }
        chain.bytes(&self.log_hash.0);
        chain.number(self.runs.len() as u32);
        for run in &self.runs {
            chain.number(u32::from(run.peer));
            chain.bytes(&run.incarnation.0);
            chain.number(u32::from(run.held));
        }
    }

    /// Peers with an own replay that attests the turns up to the cut.
    pub(crate) fn holders(&self) -> Peers {
        let held = self.runs.iter().filter(|run| run.held);
        held.map(|run| run.peer).collect()
    }
}

/// A reopening with the match, the epoch and the cut that it binds.
pub(crate) struct ReopeningAt<'a> {
    match_id: MatchId,
    epoch: u32,
    cut: u32,
    reopening: &'a Reopening,
}

impl ReopeningAt<'_> {
    /// What a peer records of it before it signs.
    pub(crate) fn signed(&self) -> SignedReopening {
        SignedReopening {
            epoch: self.epoch,
            roster: self.reopening.roster(),
            hash: self.chain().end(),
        }
    }

    fn chain(&self) -> Chain {
        let mut chain = Chain::new("lockstep reopening 1");
        chain.bytes(&self.match_id.0);
        chain.number(self.epoch);
        chain.number(self.cut);
        self.reopening.chain(&mut chain);
        chain
    }
}

impl Document for ReopeningAt<'_> {
    const KIND: Kind = Kind::Reopening;

    fn put_content(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.chain().end_256());
    }
}
