//! Where the log of a reopened match is cut.

use crate::log::{Peers, Voters};
use std::collections::BTreeMap;

/// The most turns that a quorum of the voters holds, given how many each peer does.
pub(super) fn newest_common(held: &BTreeMap<u8, u32>, voters: Voters) -> u32 {
    let candidates = held.values().copied();
    let common = candidates.filter(|turns| voters.is_quorum(holders(held, *turns)));
    common.max().unwrap_or(0)
}

/// The peers that hold so many turns, given how many each peer does.
pub(super) fn holders(held: &BTreeMap<u8, u32>, turns: u32) -> Peers {
    let hold = held.iter().filter(|(_, held)| **held >= turns);
    hold.map(|(peer, _)| *peer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_common_turn_is_the_last_that_a_quorum_holds() {
        let newest = |voters: usize, held: &[(u8, u32)]| {
            let held = held.iter().copied().collect();
            newest_common(&held, Voters::new(Peers::first(voters)))
        };
        assert_eq!(newest(3, &[(0, 10), (1, 12), (2, 12)]), 12);
        assert_eq!(newest(3, &[(0, 10), (1, 12), (2, 11)]), 11);
        assert_eq!(newest(3, &[(1, 12), (2, 10)]), 10, "both are needed");
        assert_eq!(newest(2, &[(0, 9), (1, 12)]), 9);
        // The peer with the lowest seat has the tie-break: of two it is a quorum alone.
        assert_eq!(newest(2, &[(0, 12), (1, 9)]), 12);
        assert_eq!(newest(4, &[(0, 5), (1, 7), (2, 7), (3, 3)]), 5);
        assert_eq!(newest(4, &[(2, 7), (3, 7)]), 0, "no quorum");
    }
}
