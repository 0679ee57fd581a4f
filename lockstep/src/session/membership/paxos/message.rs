//! What peers tell each other about a roster change.

use crate::LogHash;
use crate::log::{Ballot, Peers, Readmission, Value};
use serde::{Deserialize, Serialize};

/// What a peer holds of one peer's batches.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Holding {
    /// The first turn whose batch is not held.
    pub until: u32,
    /// The batch by which it leaves is among them: from the turn after that on its batches are empty by rule.
    pub left: bool,
    /// The beginning of the BLAKE3 hash of the newest one's content, 0 where there is none: two peers that hold
    /// different batches for one turn find out.
    pub newest: u64,
}

impl Holding {
    /// Whether it holds all that is needed of turns below `turn`.
    pub fn reaches(&self, turn: u32) -> bool {
        self.left || self.until >= turn
    }
}

/// The answer to a coordinator: this peer has frozen, and has this much.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Promise {
    /// The ballot that it is given to; none with a lower number is promised any more.
    pub ballot: Ballot,
    /// What is held, by index in the start's roster.
    pub holdings: Vec<Holding>,
    /// Turns complete.
    pub complete: u32,
    /// The log's hash after them, after one turn less, and so on: [`RECENT`](super::RECENT) of them, or all.
    pub hashes: Vec<LogHash>,
    /// The value that this peer has accepted last, if it has, and in which ballot.
    pub accepted: Option<(Ballot, Value)>,
    /// Voters that this peer wants removed although they answer: they blocked turns for longer than is allowed.
    pub unwanted: Peers,
}

/// A message about the roster change that ends one epoch. It is for every peer of the roster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Message {
    /// A coordinator asks all to freeze and to say what they hold.
    Prepare(Ballot),
    /// The answer.
    Promise(Promise),
    /// The coordinator of this ballot proposes a value.
    Propose(Ballot, Value),
    /// Its sender holds all turns up to the cut, and accepts.
    Accept(Ballot, Value),
    /// Its sender was asked by a peer that wants to come back. No part of the agreement: a reason for it. The number grows
    /// with each request that the sender tells of: a later run may have executed fewer turns than the one before.
    Request(u32, Request),
}

/// What a peer that wants to come back says once it follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Request {
    /// The joiner.
    pub joins: Readmission,
    /// Turns that its world has executed.
    pub turns: u32,
    /// The two halves of its signature.
    pub signature: ([u8; 32], [u8; 32]),
}

impl Promise {
    /// The log's hash after so many turns, where it is told.
    pub fn hash_after(&self, turns: u32) -> Option<LogHash> {
        hash_after(self.complete, &self.hashes, turns)
    }
}

/// The hash after `turns` turns among those after `complete` turns, after one less, and so on.
pub(super) fn hash_after(complete: u32, hashes: &[LogHash], turns: u32) -> Option<LogHash> {
    let back = usize::try_from(complete.checked_sub(turns)?).ok()?;
    hashes.get(back).copied()
}

/// The beginning of the BLAKE3 hash of these bytes.
pub(crate) fn first_of_hash(bytes: &[u8]) -> u64 {
    let hash = blake3::hash(bytes);
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_le_bytes(first)
}

impl Message {
    /// The order of promises that one voter makes in one ballot. A correct voter makes one. A hostile voter may tell each
    /// peer of something else: all peers are to go by the same promise.
    pub(crate) fn order(&self) -> u64 {
        let Message::Promise(promise) = self else {
            return 0;
        };
        let bytes = postcard::to_allocvec(promise).expect("a promise always encodes");
        first_of_hash(&bytes)
    }

    /// Whether this peer may say so: none speaks for another coordinator.
    pub(crate) fn may_come_from(&self, peer: u8) -> bool {
        match self {
            Message::Prepare(ballot) | Message::Propose(ballot, _) => ballot.peer == peer,
            Message::Promise(_) | Message::Accept(..) | Message::Request(..) => true,
        }
    }

    /// The ballot that it belongs to: of two messages of one kind the one with the higher counts.
    pub fn ballot(&self) -> Ballot {
        match self {
            Message::Promise(promise) => promise.ballot,
            // It has none; a newer request takes the place of an older one as a higher ballot does.
            Message::Request(number, request) => Ballot {
                round: *number,
                peer: request.joins.peer,
            },
            Message::Prepare(ballot) | Message::Propose(ballot, _) | Message::Accept(ballot, _) => {
                *ballot
            }
        }
    }
}
