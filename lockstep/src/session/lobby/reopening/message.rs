//! What the host of a reopening and its guests say to each other.

use crate::addresses::Addresses;
use crate::encoding::Signature;
use crate::log::{Ballot, NewRun, Reopening, SignedReopening, Value};
use crate::{LogHash, PeerId};
use serde::{Deserialize, Serialize};

/// What a page of the log counts, at least, of the bytes that the limits let one peer have.
pub(super) const PAGE_COST: u64 = 32 << 10;

/// One message, on the control stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Said {
    /// To the host: this peer is here, and has recorded this.
    Come {
        claim: Claim,
        /// The change that it has accepted in the epoch of its claim.
        accepted: Option<(Ballot, Value)>,
        /// The reopening that it has signed last, elsewhere.
        signed: Option<SignedReopening>,
        addresses: Addresses,
    },
    /// From the host: the peers here can go on so.
    Propose(Proposal),
    /// To the host: this peer has all turns up to the cut, and goes on there.
    Sign {
        attempt: u32,
        signature: Signature,
        /// Its accept of the change that is decided with the proposal, where one is.
        accept: Option<Signature>,
    },
    /// From the host: a peer did not sign. Wait for the next proposal.
    Withdraw { attempt: u32 },
    /// From the host: all have signed.
    Begin {
        /// The change that was decided before, and the one that reopens the match, encoded as in the log.
        decided: Option<Vec<u8>>,
        change: Vec<u8>,
        /// Where the peers can be dialled that go on.
        contacts: Vec<(PeerId, Addresses)>,
        /// When the first turn is due.
        in_ms: u32,
    },
    /// From the host: this peer hosts instead, and can be dialled there.
    HostedBy { host: PeerId, addresses: Addresses },
}

/// What a peer has recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claim {
    /// Hash of the match's start.
    pub start: LogHash,
    /// The last epoch.
    pub epoch: u32,
    /// Turns, and the log's hash after them.
    pub turns: u32,
    pub hash: LogHash,
}

/// How to go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Proposal {
    pub attempt: u32,
    /// The epoch that ends.
    pub epoch: u32,
    /// Turns that count.
    pub cut: u32,
    /// Hash of the log up to there, with the changes chained in that wait for their first turn.
    pub log_hash: LogHash,
    pub runs: Vec<NewRun>,
    /// What ends the epoch before, and is decided by the accepts of these runs.
    pub decided: Option<Decided>,
}

/// A change that a run before may have decided: its accept counts for that run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Decided {
    pub ballot: Ballot,
    pub value: Value,
}

impl Proposal {
    /// The epoch of the turns before the cut, which all must hold to sign.
    pub(crate) fn recorded_epoch(&self) -> u32 {
        match self.decided {
            Some(_) => self.epoch.saturating_sub(1),
            None => self.epoch,
        }
    }

    /// As it stands in the log.
    pub(crate) fn reopening(&self) -> Reopening {
        Reopening {
            log_hash: self.log_hash,
            runs: self.runs.clone(),
            branch: false,
        }
    }
}
