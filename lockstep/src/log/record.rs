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
