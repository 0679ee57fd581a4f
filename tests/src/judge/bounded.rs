//! S5: nothing that a session asks of its surroundings grows without bound.

use super::*;
use lockstep::{LinkId, MAX_DATAGRAM};

/// What a session asks for, or is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asked {
    /// To be told that time has passed.
    Timeout,
    /// All that one call returns.
    Outputs,
    /// To send a datagram.
    Datagram(LinkId),
    /// To send a message.
    Message(LinkId),
}

/// Counts it, second by second.
#[derive(Default)]
pub struct Bounds {
    second: u64,
    counts: BTreeMap<Asked, usize>,
}

impl Bounds {
    /// Whether that is too much, at once or in one second.
    pub fn are_crossed(&mut self, now: Duration, asked: Asked, size: usize) -> bool {
        let (at_once, more, in_all) = match asked {
            Asked::Timeout => (1, 1, 2_000),
            // A catch-up of the 600 turns that a world may lie behind, each logged, checked and executed.
            Asked::Outputs => (3_000, 0, 0),
            // A full burst beside the sustained rate.
            Asked::Datagram(_) => (MAX_DATAGRAM, size, 80_000),
            // `Limits::message_bytes`.
            Asked::Message(_) => (64 << 10, 1, 200),
        };
        if std::mem::replace(&mut self.second, now.as_secs()) != now.as_secs() {
            self.counts.clear();
        }
        let count = self.counts.entry(asked).or_default();
        *count += more;
        size > at_once || *count > in_all
    }
}
