//! S5: nothing that a session asks of its surroundings grows without bound.

use super::*;
use lockstep::{LinkId, MAX_DATAGRAM};

/// What a session asks for, or is asked.
#[derive(Clone, Copy, Debug)]
pub enum Asked {
    /// It is told that time has passed.
    Timeout,
    /// One call returns so many outputs.
    Outputs(usize),
    /// It sends a datagram of so many bytes.
    Datagram(LinkId, usize),
    /// It sends a message of so many bytes.
    Message(LinkId, usize),
}

/// Counts it, second by second.
#[derive(Default)]
pub struct Bounds {
    second: u64,
    /// By link and bound: how much there was of what has that bound.
    counts: BTreeMap<(LinkId, usize), usize>,
}

impl Bounds {
    /// Whether that is too much, at once or in one second.
    pub fn are_crossed(&mut self, now: Duration, by: Asked) -> bool {
        let (link, once, at_once, more, in_all) = match by {
            Asked::Timeout => (LinkId(0), 1, 1, 1, 2_000),
            // A catch-up of the 600 turns that a world may lie behind, each logged, checked and executed.
            Asked::Outputs(many) => (LinkId(0), many, 3_000, 0, usize::MAX),
            // A full burst beside the sustained rate.
            Asked::Datagram(link, size) => (link, size, MAX_DATAGRAM, size, 80_000),
            // `Limits::message_bytes`.
            Asked::Message(link, size) => (link, size, 64 << 10, 1, 200),
        };
        if std::mem::replace(&mut self.second, now.as_secs()) != now.as_secs() {
            self.counts.clear();
        }
        let count = self.counts.entry((link, in_all)).or_default();
        *count += more;
        once > at_once || *count > in_all
    }
}
