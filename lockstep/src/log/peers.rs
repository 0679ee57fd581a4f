//! Sets of peers, and which of them are a quorum.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A set of peers, by index in the start's roster: at most 16.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Peers(pub u16);

impl Peers {
    /// The peers `0..count`.
    pub fn first(count: usize) -> Peers {
        (0..count.min(16) as u8).collect()
    }

    /// Whether the peer is in it.
    pub fn contains(self, peer: u8) -> bool {
        self.0 & bit(peer) != 0
    }

    /// Adds a peer. One above 15 is in no set.
    pub fn insert(&mut self, peer: u8) {
        self.0 |= bit(peer);
    }

    /// How many there are.
    pub fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The peers in both.
    pub fn and(self, other: Peers) -> Peers {
        Peers(self.0 & other.0)
    }

    /// The peers in either.
    pub fn or(self, other: Peers) -> Peers {
        Peers(self.0 | other.0)
    }

    /// The peers that are not in the other.
    pub fn without(self, other: Peers) -> Peers {
        Peers(self.0 & !other.0)
    }

    /// Whether all of them are in the other.
    pub fn is_within(self, other: Peers) -> bool {
        self.without(other).is_empty()
    }

    /// The lowest.
    pub fn lowest(self) -> Option<u8> {
        (!self.is_empty()).then(|| self.0.trailing_zeros() as u8)
    }

    /// All, ascending.
    pub fn iter(self) -> impl Iterator<Item = u8> + Clone {
        let mut rest = self;
        std::iter::from_fn(move || {
            let lowest = rest.lowest()?;
            rest.0 &= rest.0 - 1;
            Some(lowest)
        })
    }
}

impl FromIterator<u8> for Peers {
    fn from_iter<I: IntoIterator<Item = u8>>(peers: I) -> Self {
        let mut set = Peers::default();
        peers.into_iter().for_each(|peer| set.insert(peer));
        set
    }
}

impl fmt::Debug for Peers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

fn bit(peer: u8) -> u16 {
    1u16.checked_shl(u32::from(peer)).unwrap_or(0)
}

/// The peers that vote in one epoch: one vote each, and the tie-break for the lowest of them, which holds the lowest
/// seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Voters {
    members: Peers,
    /// Twice the votes of a quorum, and one more for the tie-break, exceed this.
    above: u32,
}

impl Voters {
    /// These, by the rule `2·|S| + [tie-break holder in S] > |R|`: any two quorums have a peer in common, and of an
    /// even split one half is a quorum.
    pub fn new(members: Peers) -> Self {
        Voters {
            members,
            above: members.len(),
        }
    }

    /// These, with a rule of one's own: what [`new`](Self::new) compares with the number of voters is compared with
    /// `above`. Only a proof that the rule is needed has a use for it: below the number of voters, two quorums need
    /// not meet.
    pub fn with_threshold(members: Peers, above: u32) -> Self {
        Voters { members, above }
    }

    /// All of them.
    pub fn members(&self) -> Peers {
        self.members
    }

    /// Whether the voters among `peers` are a quorum.
    pub fn is_quorum(&self, peers: Peers) -> bool {
        let votes = peers.and(self.members);
        let tie_break = self.members.lowest();
        let holds_it = tie_break.is_some_and(|peer| votes.contains(peer));
        2 * votes.len() + u32::from(holds_it) > self.above
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_quorums_meet_and_one_half_of_an_even_split_wins() {
        for members in 1..64u16 {
            let voters = Voters::new(Peers(members));
            let quorums: Vec<u16> = (0..64)
                .filter(|set| voters.is_quorum(Peers(*set)))
                .collect();
            assert!(quorums.contains(&members));
            for one in &quorums {
                assert!(quorums.iter().all(|other| one & other & members != 0));
            }
            let halves = (0..64u16).filter(|half| half & !members == 0);
            for half in halves.filter(|half| half.count_ones() * 2 == members.count_ones()) {
                let other = members & !half;
                assert_ne!(quorums.contains(&half), quorums.contains(&other));
            }
        }
    }

    #[test]
    fn a_host_alone_goes_on_and_its_guest_alone_does_not() {
        let voters = Voters::new(Peers::first(2));
        assert!(voters.is_quorum(Peers(0b01)));
        assert!(!voters.is_quorum(Peers(0b10)));
        // A peer that is no voter counts for nothing.
        assert!(!voters.is_quorum(Peers(0b1110)));
    }
}
