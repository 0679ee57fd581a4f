//! A roster change that may be decided, and that the log of no peer here tells of.

use super::message::Decided;
use crate::log::{Ballot, Peers, RosterChange, Value, Voters, decides};
use std::collections::BTreeMap;

/// A peer goes on behind a change by the word of a peer that has accepted it, where the cut lies at most so many turns behind
/// its own recording: more than the others may have had, and its disk had not written.
const NEAR: u32 = 16;

/// A change that binds a reopening of the epoch that it ends.
#[derive(Debug, PartialEq, Eq)]
pub struct OpenChange {
    /// What is to be decided.
    pub value: Value,
    /// The peers that may know it to be decided, and are not here.
    pub absent: Peers,
}

impl OpenChange {
    /// The change that was accepted in the highest ballot, where it may be decided: by those here that have accepted it, and
    /// by voters that are not here. `here` tells of each peer here, a voter or not, what it has accepted.
    ///
    /// Where it cannot be, no change is: the coordinator of the highest ballot had to propose what was decided before. Where
    /// all peers of both rosters are here, no peer goes on by it, and none is bound.
    pub fn among(
        voters: Voters,
        here: &BTreeMap<u8, Option<(Ballot, Value)>>,
    ) -> Option<OpenChange> {
        let members = voters.members();
        let accepts = here.values().flatten();
        let possible = accepts.filter(|(_, value)| value.can_end(members));
        let (_, value) = *possible.max_by_key(|(ballot, _)| *ballot)?;
        let present: Peers = here.keys().copied().collect();
        let absent = members.or(value.roster).without(present);
        let alike = here
            .iter()
            .filter(|(_, accept)| accept.is_some_and(|(_, of)| of == value));
        let accepts: Peers = alike.map(|(peer, _)| *peer).collect();
        let accepts = accepts.or(absent).and(members);
        let open = !absent.is_empty() && decides(voters, value, accepts);
        open.then_some(OpenChange { value, absent })
    }

    /// Whether these peers can decide it and go on by it: they are a quorum of both rosters. That a peer cheated, no
    /// recording proves.
    pub fn is_adopted_by(&self, voters: Voters, peers: Peers) -> bool {
        let value = self.value;
        value.cheats.is_empty()
            && decides(voters, value, peers)
            && Voters::new(value.roster).is_quorum(peers)
    }

    /// As `host` proposes to decide it: above all ballots that a live coordinator comes to.
    pub(super) fn adopted(&self, host: u8) -> Decided {
        let ballot = Ballot {
            round: u32::MAX,
            peer: host,
        };
        Decided {
            ballot,
            value: self.value,
        }
    }
}

impl Decided {
    /// The change that ends this epoch, decided by these accepts.
    pub(super) fn change(&self, epoch: u32, accepts: Vec<(u8, [u8; 64])>) -> RosterChange {
        RosterChange {
            epoch,
            ballot: self.ballot,
            value: self.value,
            accepts,
            proofs: Vec::new(),
            reopening: None,
        }
    }
}

/// Whether a peer that has recorded so many turns takes more up to a cut: turns that fewer than a quorum hold count only
/// where there are few of them. One peer alone could have invented them.
pub(super) fn may_follow(voters: Voters, holders: Peers, turns: u32, cut: u32) -> bool {
    voters.is_quorum(holders) || turns.saturating_add(NEAR) >= cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LogHash;

    const SIX: Peers = Peers(0b11_1111);

    fn accept(round: u32, roster: Peers) -> Option<(Ballot, Value)> {
        let value = Value::of(roster, 30).with_log(LogHash([1; 16]));
        Some((Ballot { round, peer: 0 }, value))
    }

    fn among(here: &[(u8, Option<(Ballot, Value)>)]) -> Option<OpenChange> {
        OpenChange::among(Voters::new(SIX), &here.iter().copied().collect())
    }

    #[test]
    fn a_change_that_absent_voters_may_have_decided_is_open() {
        let five = accept(1, Peers::first(5));
        let open = among(&[(0, five), (1, five), (5, None)]).expect("three are absent");
        assert_eq!(open.absent, Peers(0b01_1100));
        assert_eq!(Some(open.value), five.map(|(_, value)| value));
        assert!(!open.is_adopted_by(Voters::new(SIX), Peers(0b11)));
        assert!(open.is_adopted_by(Voters::new(SIX), Peers(0b111)));
        // A quorum of the new roster alone: others may have decided.
        assert!(!open.is_adopted_by(Voters::new(SIX), Peers(0b1110)));
    }

    #[test]
    fn a_change_that_too_few_can_have_accepted_is_not_open() {
        let five = accept(1, Peers::first(5));
        assert!(among(&[(0, five), (1, None), (2, None)]).is_some());
        // Four of six, or three with the first peer, and three of the next five.
        let more = [(0, five), (1, None), (2, None), (3, None)];
        assert_eq!(among(&more), None);
        assert_eq!(among(&[(0, None), (1, None)]), None);
    }

    #[test]
    fn no_change_is_open_where_all_peers_are_here() {
        let five = accept(1, Peers::first(5));
        let all = (0..6).map(|peer| (peer, five)).collect::<Vec<_>>();
        assert_eq!(among(&all), None);
    }

    #[test]
    fn the_change_of_the_highest_ballot_counts_alone() {
        let (old, new) = (accept(1, Peers::first(5)), accept(2, Peers::first(4)));
        let open = among(&[(0, old), (1, new)]).expect("others are absent");
        assert_eq!(open.value.roster, Peers::first(4));
        // The newer one cannot be decided, so the older one was not when it was proposed.
        let here = [(0, old), (1, old), (2, None), (3, None), (4, new)];
        assert_eq!(among(&here), None);
    }

    #[test]
    fn a_cut_far_behind_a_recording_takes_a_quorum() {
        let follows = |holders, turns, cut| may_follow(Voters::new(SIX), holders, turns, cut);
        assert!(follows(Peers(1), 20, 30) && follows(Peers(1), 30, 20));
        assert!(!follows(Peers(1), 20, 37) && follows(Peers::first(4), 20, 37));
    }
}
