//! The records of a log.

use super::accepted::Accepted;
use super::batch::SignedBatch;
use super::bundle::Bundle;
use super::continuation::Continuation;
use super::document::{Document, Kind};
use super::keyframe::Keyframe;
use super::reopening::SignedReopening;
use super::roster_change::RosterChange;
use super::start::Start;
use crate::LogHash;
use sim::{Checksum, Outcome};
use std::sync::Arc;

/// One record of the log. Exhaustive: a store has to keep every kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// How the match began. The first record.
    Start(Arc<Start>),
    /// A turn. Follows the turn before it.
    Bundle(Bundle),
    /// All peers reported the same checksum.
    Checksum {
        /// Turns that their worlds had executed.
        turns: u32,
        /// Checksum of the worlds.
        checksum: Checksum,
    },
    /// Peers reported different checksums.
    Mismatch {
        /// Turns that their worlds had executed.
        turns: u32,
        /// What each peer reported, by index in the roster.
        checksums: Vec<(u8, Checksum)>,
    },
    /// A peer's newest signed batch: it attests the log hash that it names, and so all before it.
    Attest(SignedBatch),
    /// How long before their deadline the batches of other peers left, as this peer measured it. Only its own recording has
    /// it, and no other peer vouches for it.
    Leads {
        /// Turns that this peer's log had.
        turns: u32,
        /// Of the peers of which that is known, by index in the roster.
        leads: Vec<(u8, Lead)>,
    },
    /// A snapshot of the world.
    Keyframe(Keyframe),
    /// The roster changed. Stands right before the first turn of the new epoch.
    Roster(RosterChange),
    /// This peer has accepted a roster change. Only its own recording has it, and it takes the place of earlier ones.
    Accept(Accepted),
    /// This peer has signed a reopening. Only its own recording has it, and it takes the place of earlier ones.
    Signed(SignedReopening),
    /// One player went on alone from here. Stands right before its first turn.
    Continued(Arc<Continuation>),
    /// The match ended as intended. The last record.
    End(End),
}

/// How long before their deadline a peer's batches leave: the median of the last minute. The delays of its link, and a
/// clock that is behind, are taken off.
///
/// A peer that seals late has seen the commands of the others, and can choose its own by them. Nothing is done about
/// that: players see it and judge. A peer may hide it, by a link that it makes slow, or by a lie about the way of this
/// peer's batches: then the way from it is long, and the one that it tells of is short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lead {
    /// In milliseconds; negative where they leave after it.
    pub ms: i16,
    /// The lead of a peer that seals in time: (delay − 1) turns.
    pub usual_ms: i16,
    /// It is by a third of that, and by at least 40 ms, less than the lead of most peers.
    pub stands_out: bool,
}

/// The agreed end of a match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Turns executed.
    pub turns: u32,
    /// Hash of the log.
    pub log_hash: LogHash,
    /// Checksum of the world after the last turn.
    pub checksum: Checksum,
    /// How it ended, where the world said so.
    pub outcome: Option<Outcome>,
    /// Signatures over the rest of it, by index in the roster.
    pub signatures: Vec<(u8, [u8; 64])>,
}

impl Document for End {
    const KIND: Kind = Kind::End;

    fn put_content(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.turns.to_le_bytes());
        out.extend_from_slice(&self.log_hash.0);
        out.extend_from_slice(&self.checksum.0.to_le_bytes());
        out.extend_from_slice(&match self.outcome {
            None => [0, 0],
            Some(Outcome { winner: None }) => [1, 0],
            Some(Outcome { winner: Some(seat) }) => [2, seat.0],
        });
    }
}
