//! Signed facts that every neighbour should hold: what each is about, and which of two is newer.
//!
//! Each is signed by the peer that it is of, or proves itself, so any peer may pass it on.

use super::wire::SignedStatement;
use crate::Incarnation;
use crate::log::{Ballot, RosterChange};

/// What a fact is about. Of each topic the newest version counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Topic {
    /// A vote: its epoch, its author, and which kind of message.
    Vote(u32, u8, u8),
    /// The status of a peer.
    Status(u8),
    /// The proof that a peer cheats.
    Proof(u8),
    /// The decision that ended an epoch.
    Decision(u32),
    /// All decisions before one.
    Decisions,
    /// The start of the match.
    Start,
}

/// Which of several facts about one topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// There is one.
    Only,
    /// The vote of this ballot, and of this order among its voter's promises there; a higher one is newer.
    Ballot(Ballot, u64),
    /// The status of this number that a run of the peer's process told.
    Status(Incarnation, u32),
    /// The decisions that ended the epochs before this one.
    Before(u32),
}

impl Version {
    /// Whether the holder of this version lacks the other one.
    pub(crate) fn lacks(self, other: Version) -> bool {
        match (self, other) {
            (Version::Ballot(held, of), Version::Ballot(other, to)) => (held, of) < (other, to),
            (Version::Before(held), Version::Before(other)) => held < other,
            (held, other) => held != other,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fact {
    pub topic: Topic,
    pub version: Version,
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Body {
    Vote(SignedStatement),
    Status(SignedStatement),
    /// Which batches, and in which order, follows from what is held when the proof leaves.
    Proof,
    Decision(Box<RosterChange>),
}

impl Fact {
    /// The decision that ended an epoch.
    pub(crate) fn decision(change: RosterChange) -> Fact {
        Fact {
            topic: Topic::Decision(change.epoch),
            version: Version::Only,
            body: Body::Decision(Box::new(change)),
        }
    }

    /// The proof that the peer at this place cheats.
    pub(crate) fn proof(at: u8) -> Fact {
        Fact {
            topic: Topic::Proof(at),
            version: Version::Only,
            body: Body::Proof,
        }
    }
}
