//! Messages as they travel: signed, so that any peer may forward them.

use super::{Message, Request};
use crate::encoding::DecodeError;
use crate::log::{Document, Kind, Readmission, Start};
use crate::sign::Signer;
use crate::{MatchId, PeerId};
use serde::{Deserialize, Serialize};

/// Bytes of one vote, at most: more than a promise of the largest roster takes, and little enough to pass many on.
const VOTE_BYTES: usize = 2_048;

/// A peer's message about the change that ends an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EpochVote {
    /// The epoch.
    pub epoch: u32,
    /// The message.
    pub message: Message,
}

impl EpochVote {
    /// The bytes that are signed, but for the head.
    pub(crate) fn encode(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("a vote always encodes")
    }

    /// Strict: one vote has one encoding, or a decision could not be shown to others.
    pub(crate) fn decode(bytes: &[u8]) -> Result<EpochVote, DecodeError> {
        match postcard::take_from_bytes::<EpochVote>(bytes) {
            Ok((vote, [])) if bytes.len() <= VOTE_BYTES && vote.encode() == bytes => Ok(vote),
            _ => Err(DecodeError {
                what: "no such vote",
                at: 0,
            }),
        }
    }
}

/// What a joiner signs, for one epoch of the match: it follows, and has executed so many turns.
struct Admission {
    match_id: MatchId,
    epoch: u32,
    joins: Readmission,
    turns: u32,
}

impl Document for Admission {
    const KIND: Kind = Kind::JoinRequest;

    fn put_content(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.match_id.0);
        out.extend_from_slice(&self.epoch.to_le_bytes());
        out.push(self.joins.peer);
        out.extend_from_slice(&self.joins.incarnation.0);
        out.extend_from_slice(&self.turns.to_le_bytes());
    }
}

impl Request {
    /// Signed by the peer that it names, for one epoch.
    pub fn signed(
        signer: &dyn Signer,
        start: &Start,
        epoch: u32,
        joins: Readmission,
        turns: u32,
    ) -> Request {
        let admission = Admission {
            match_id: start.match_id,
            epoch,
            joins,
            turns,
        };
        let signature = admission.sign(signer);
        let (mut first, mut second) = ([0; 32], [0; 32]);
        first.copy_from_slice(&signature[..32]);
        second.copy_from_slice(&signature[32..]);
        Request {
            joins,
            turns,
            signature: (first, second),
        }
    }

    /// Whether its signature is `peer`'s, for this epoch.
    pub fn is_signed_by(
        &self,
        peer: PeerId,
        signer: &dyn Signer,
        start: &Start,
        epoch: u32,
    ) -> bool {
        let (first, second) = &self.signature;
        let mut signature = [0; 64];
        signature[..32].copy_from_slice(first);
        signature[32..].copy_from_slice(second);
        let admission = Admission {
            match_id: start.match_id,
            epoch,
            joins: self.joins,
            turns: self.turns,
        };
        admission.with(signature).is_by(peer, signer.verifier())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{Accept, Ballot, Peers, Value, Vote};
    use crate::session::ledger::fixture::start;
    use crate::{Incarnation, LogHash};

    #[test]
    fn log_and_message_agree_on_the_bytes_of_an_accept() {
        let start = start(3);
        let ballot = Ballot {
            round: 300,
            peer: 2,
        };
        let value = Value {
            joins: Some(Readmission {
                peer: 1,
                incarnation: Incarnation([4; 16]),
            }),
            ..Value::of(Peers::first(3), 1_000).with_log(LogHash([5; 16]))
        };
        let message = Message::Accept(ballot, value);
        let content = EpochVote {
            epoch: 129,
            message,
        }
        .encode();
        let accept = Accept::of(&start, 2, 129, ballot, value).expect("a place");
        let vote = Vote::of(&start, 2, content).expect("a place");
        assert_eq!(accept.signed_bytes(), vote.signed_bytes());
    }
}
