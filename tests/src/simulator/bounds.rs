//! S5: nothing that a session asks of its surroundings grows without bound.

use lockstep::{LinkId, MAX_DATAGRAM};
use std::collections::BTreeMap;
use std::time::Duration;

/// Bytes of turn packets in a second, with a full burst.
const TURN_PACKETS: usize = 48_000 + 16_000;
/// Bytes of probes in a second, and of answers to them.
const PROBES: usize = 1_000;

/// A session's demand on its surroundings, or the clock's on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asked {
    /// A call for time that has passed.
    Timeout,
    /// The outputs of one call.
    Outputs,
    /// A datagram.
    Datagram(LinkId),
    /// A message.
    Message(LinkId),
}

/// The demands of each second.
#[derive(Default)]
pub struct Bounds(BTreeMap<(Asked, u64), usize>);

impl Bounds {
    /// Whether this demand is above its bound, at once or in one second.
    pub fn are_crossed(&mut self, now: Duration, asked: Asked, size: usize) -> bool {
        let (at_once, more, in_all) = match asked {
            Asked::Timeout => (1, 1, 2_000),
            // A catch-up of the 600 turns that a world may lie behind, each logged, checked and executed.
            Asked::Outputs => (3_000, 0, 0),
            Asked::Datagram(_) => (MAX_DATAGRAM, size, TURN_PACKETS + PROBES),
            // `Limits::message_bytes`.
            Asked::Message(_) => (64 << 10, 1, 200),
        };
        let count = self.0.entry((asked, now.as_secs())).or_default();
        *count += more;
        size > at_once || *count > in_all
    }
}
