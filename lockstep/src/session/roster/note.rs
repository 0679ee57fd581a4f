//! Messages as they travel: signed, so that anyone may pass them on.

use super::{Message, Request};
use crate::PeerId;
use crate::encoding::DecodeError;
use crate::log::{Joins, Start};
use crate::sign::Signer;
use serde::{Deserialize, Serialize};

/// Bytes of one note, at most: more than a promise of the largest roster takes, and little enough to pass many on.
const NOTE_BYTES: usize = 2_048;

/// What one peer says about the change that ends an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    /// The epoch.
    pub epoch: u32,
    /// What.
    pub message: Message,
}

impl Note {
    /// The bytes that are signed, but for the head.
    pub(crate) fn encode(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("a note always encodes")
    }

    /// Strict: one note has one encoding, or a decision could not be shown to others.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Note, DecodeError> {
        match postcard::take_from_bytes::<Note>(bytes) {
            Ok((note, [])) if bytes.len() <= NOTE_BYTES && note.encode() == bytes => Ok(note),
            _ => Err(DecodeError {
                what: "no such note",
                at: 0,
            }),
        }
    }
}

/// What a peer that wants to come back signs, for one epoch of the match: it follows, and has executed so many turns.
fn request_signed_bytes(start: &Start, epoch: u32, joins: Joins, turns: u32) -> Vec<u8> {
    let mut bytes = b"lockstep rejoin".to_vec();
    bytes.extend_from_slice(&crate::PROTOCOL.to_le_bytes());
    bytes.extend_from_slice(&start.match_id.0);
    bytes.extend_from_slice(&epoch.to_le_bytes());
    bytes.push(joins.peer);
    bytes.extend_from_slice(&joins.incarnation.0);
    bytes.extend_from_slice(&turns.to_le_bytes());
    bytes
}

impl Request {
    /// Signed by the peer that it names, for one epoch.
    pub fn signed(
        signer: &dyn Signer,
        start: &Start,
        epoch: u32,
        joins: Joins,
        turns: u32,
    ) -> Request {
        let signature = signer.sign(&request_signed_bytes(start, epoch, joins, turns));
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
        let bytes = request_signed_bytes(start, epoch, self.joins, self.turns);
        signer.verify(peer, &bytes, &signature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{Ballot, Peers, Value, accept_signed_bytes, note_signed_bytes};
    use crate::session::roster::tests::start;
    use crate::{Incarnation, LogHash};

    #[test]
    fn log_and_message_agree_on_the_bytes_of_an_accept() {
        let start = start(3);
        let ballot = Ballot {
            round: 300,
            peer: 2,
        };
        let value = Value {
            joins: Some(Joins {
                peer: 1,
                incarnation: Incarnation([4; 16]),
            }),
            ..Value::of(Peers::first(3), 1_000).with_log(LogHash([5; 16]))
        };
        let message = Message::Accept(ballot, value);
        let content = Note {
            epoch: 129,
            message,
        }
        .encode();
        assert_eq!(
            accept_signed_bytes(&start, 2, 129, ballot, value),
            note_signed_bytes(&start, 2, &content)
        );
    }
}
