//! Succession: which peer is to begin a roster change, where earlier ones have let their turn pass.
//!
//! A peer may know of no reason that others see, as each measures for itself; or it keeps its votes from them. It is charged
//! until it is passed over, and the next one begins.

use super::paxos::Peers;
use std::time::Duration;

/// A peer that is to begin a change, and has not for so long, is passed over. Of its stall budget a part is left.
const PASSED_AFTER: Duration = Duration::from_secs(8);

/// Whose turn it is in an epoch.
#[derive(Default)]
pub(super) struct Succession {
    /// The peer that is to begin a change, and since when one is due.
    waits: Option<(u8, Duration)>,
    passed_over: Peers,
}

impl Succession {
    /// The first of these whose turn has not passed.
    pub(super) fn first(&self, alive: Peers) -> Option<u8> {
        alive.without(self.passed_over).lowest()
    }

    /// Another peer, if any, is to begin a change.
    pub(super) fn watch(&mut self, other: Option<u8>, now: Duration) {
        match (other, self.waits) {
            (Some(peer), Some((known, since))) if peer == known => {
                if now >= since + PASSED_AFTER {
                    self.passed_over.insert(peer);
                    self.waits = None;
                }
            }
            _ => self.waits = other.map(|peer| (peer, now)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_lets_its_turn_pass_is_passed_over() {
        let at = Duration::from_secs;
        let mut succession = Succession::default();
        let alive = Peers(0b1110);
        succession.watch(Some(1), at(0));
        succession.watch(None, at(7));
        succession.watch(Some(1), at(9));
        succession.watch(Some(1), at(16));
        assert_eq!(succession.first(alive), Some(1), "none was due in between");
        succession.watch(Some(1), at(17));
        assert_eq!(succession.first(alive), Some(2));
        succession.watch(Some(2), at(17));
        succession.watch(Some(2), at(25));
        assert_eq!(succession.first(alive), Some(3));
    }
}
