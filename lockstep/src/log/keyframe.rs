//! Snapshots of the world, as the log keeps them and peers sign them.

use super::chain::Chain;
use crate::{LogHash, Plan};
use std::sync::Arc;

/// A snapshot of the world at a turn boundary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyframe {
    /// Turns that the world has executed.
    pub turns: u32,
    /// Ticks that it has stepped.
    pub ticks: u64,
    /// The plan in force.
    pub plan: Plan,
    /// Whether the next turn is paused.
    pub paused: bool,
    /// Hash of the log up to here.
    pub log_hash: LogHash,
    /// What [`sim::State::save`] wrote.
    pub snapshot: Arc<[u8]>,
}

/// What a peer signs of a snapshot: a hash over the log up to it, the ticks stepped, and the world's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct SnapshotHash(pub [u8; 16]);

impl SnapshotHash {
    /// The hash of the keyframe's world.
    pub fn of(keyframe: &Keyframe) -> SnapshotHash {
        let mut chain = Chain::new("lockstep snapshot 1");
        chain.number(keyframe.turns);
        chain.bytes(&keyframe.ticks.to_le_bytes());
        chain.bytes(&keyframe.log_hash.0);
        chain.bytes(&keyframe.snapshot);
        SnapshotHash(chain.end().0)
    }
}
