//! A moment of a recorded match, from which a player plays on.

use crate::log::EncodedLog;
use sim::Seat;
use std::sync::Arc;

/// A moment of a recorded match, between two turns.
#[derive(Clone, Debug)]
pub struct Moment {
    /// All turns, roster changes and continuations before the moment, in order.
    pub log: EncodedLog,
    /// The world then, as [`sim::State::save`] wrote it.
    pub snapshot: Arc<[u8]>,
    /// The seat that the player takes. The others are this peer's too.
    pub seat: Seat,
}
