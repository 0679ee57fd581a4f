//! Messages of the bulk channel, between a joiner and a peer that has the match.

use crate::addresses::Addresses;
use crate::encoding::DecodeError;
use crate::session::SnapshotHash;
use crate::session::wire::WireBatch;
use crate::{Limits, MatchId, PeerId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Bytes of log or snapshot in one answer, at most: with what goes around it a message holds them.
pub(crate) const PART: usize = 32 << 10;
/// Bytes around a part, or around the setup, in one answer, at most: signed batches, addresses and the roster.
pub(crate) const AROUND: usize = 24 << 10;
/// Bytes of the largest answer with a part.
pub(crate) const MESSAGE: usize = PART + AROUND;

/// From the joiner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Ask {
    /// How the match began, and what snapshot there is.
    Outline { match_id: MatchId },
    /// The log from this turn on. Answered once there is a turn, or more than `attested` turns are attested.
    Log { from: u32, attested: u32 },
    /// A piece of the outline's snapshot.
    Snapshot { offset: u64 },
}

/// To the joiner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Answer {
    Outline {
        /// The start's record, encoded.
        start: Vec<u8>,
        snapshot: Option<Offer>,
        /// Where the peers of the match can be dialled.
        contacts: Vec<(PeerId, Addresses)>,
    },
    Log {
        from: u32,
        /// Records, encoded as they follow on those before turn `from`.
        records: Vec<u8>,
        /// Turns that the sender has.
        turns: u32,
        /// When the turn after those is due at the sender, in milliseconds.
        due_in_ms: i32,
        /// Newest batches, which attest the log.
        batches: Vec<WireBatch>,
    },
    Snapshot {
        offset: u64,
        bytes: Vec<u8>,
    },
    /// No such match here, or not any more, or another part of the log is all there is.
    Nothing,
    /// No peer plays the match: this one waits for the others to come back, to reopen it.
    Reopens,
    /// This peer plays a branch of the match.
    Branch {
        /// The record of the match's start, encoded.
        start: Vec<u8>,
        /// The roster change by which the log leaves the match, encoded.
        change: Vec<u8>,
        /// The branch that is played now.
        match_id: MatchId,
    },
}

/// A snapshot, and the batches of a quorum that report its hash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Offer {
    pub turns: u32,
    pub ticks: u64,
    pub bytes: u64,
    pub hash: SnapshotHash,
    pub batches: Vec<WireBatch>,
}

pub(crate) fn encode(message: &impl Serialize) -> Vec<u8> {
    postcard::to_allocvec(message).expect("a catch-up message always encodes")
}

/// Strict: every byte belongs to the message, and its length is bounded before it is read.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    decode_within(bytes, MESSAGE)
}

/// The same, for an answer that may hold a whole setup.
pub(crate) fn decode_answer(bytes: &[u8], limits: &Limits) -> Result<Answer, DecodeError> {
    decode_within(bytes, PART.max(limits.setup_bytes as usize) + AROUND)
}

fn decode_within<T: DeserializeOwned>(bytes: &[u8], most: usize) -> Result<T, DecodeError> {
    let fail = |what, at| Err(DecodeError { what, at });
    if bytes.len() > most {
        return fail("a message above its limit", bytes.len());
    }
    match postcard::take_from_bytes(bytes) {
        Ok((message, [])) => Ok(message),
        Ok((_, rest)) => fail("more bytes than expected", bytes.len() - rest.len()),
        Err(_) => fail("no such message", 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_may_hold_a_whole_setup() {
        let limits = Limits {
            setup_bytes: 80 << 10,
            ..Limits::default()
        };
        let outline = |start: usize| {
            let answer = Answer::Outline {
                start: vec![7; start],
                snapshot: None,
                contacts: Vec::new(),
            };
            let read = decode_answer(&encode(&answer), &limits);
            read.map(|read| read == answer).map_err(|why| why.what)
        };
        // The roster goes around the setup.
        assert_eq!(outline((80 << 10) + 2_000), Ok(true));
        assert_eq!(outline(104 << 10), Err("a message above its limit"));
    }
}
