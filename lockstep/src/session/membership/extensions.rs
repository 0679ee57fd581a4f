//! Extensions: players vote to wait longer for a peer that turns wait for, before the others decide to go on without it.
//!
//! A vote is part of a peer's status. Each vote that a quorum has given lengthens the suspicion time and the stall budget
//! of all peers in this stall. The time counts from the quorum's vote, of which all learn at about the same time: a peer
//! that stood still dates the stall later. What is decided by then stays decided: an extension only ever
//! delays a suspicion.

use super::paxos::{Peers, Voters};
use crate::session::ledger::Ledger;
use crate::{Event, TurnNumber};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// What one vote adds, once a quorum has given it.
const WAIT: Duration = Duration::from_secs(30);
/// Votes of one peer in one stall, at most: ten minutes.
const VOTES: u8 = 20;
/// A peer tells of its votes for so long after their stall is over there: others may complete the turn later. A peer that
/// a change still holds at that turn would otherwise go on waiting when the others suspect a peer of another stall.
const TOLD_FOR: Duration = Duration::from_secs(2);

/// The votes of one peer in one stall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Votes {
    /// The turn that waits.
    turn: u32,
    /// How often its players have voted; 0 for never.
    count: u8,
}

/// The votes of this peer's players, and what all votes came to.
#[derive(Default)]
pub(super) struct Extensions {
    own: Votes,
    /// Since when the stall of these votes is over here.
    over_since: Option<Duration>,
    granted: Granted,
    /// How often a quorum has voted in this stall at most, and how long after its beginning that ends.
    most: u32,
    ends: Duration,
    /// The votes of stalls that are over here, with their turns complete: such votes lengthen no other stall.
    spent: BTreeMap<u8, Votes>,
}

/// What votes are counted in.
pub(super) struct Counting {
    pub voters: Voters,
    /// The game was told of a stall, or a change is open: votes are of it.
    pub stalls: bool,
    /// For how long turns have been waited for.
    pub lasts: Option<Duration>,
    /// Others may be so many turns before or behind.
    pub near: u32,
    pub now: Duration,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Granted {
    voted: Peers,
    /// How often a quorum has voted.
    votes: u32,
}

impl Extensions {
    /// What this peer's status says.
    pub(super) fn own(&self) -> Votes {
        self.own
    }

    /// How much longer than usual the players wait in this stall.
    pub(super) fn granted(&self) -> Duration {
        WAIT * self.granted.votes
    }

    /// How long after the beginning of this stall peers begin to be suspected.
    pub(super) fn ends(&self) -> Duration {
        match self.granted.votes {
            0 => Duration::ZERO,
            votes => self.ends.saturating_sub(WAIT * (self.most - votes)),
        }
    }

    /// The players of this peer want to wait longer for this turn.
    pub(super) fn vote(&mut self, turn: u32) {
        // Others may be some turns before or behind this peer; in its own log another turn is another stall.
        let count = match self.own.turn == turn {
            true => self.own.count.saturating_add(1).min(VOTES),
            false => 1,
        };
        self.own = Votes { turn, count };
    }

    /// Tells of this peer's votes no longer, once their stall has been over for a while.
    fn forget_own(&mut self, turn: u32, seen: &Counting) {
        let is_over = self.own.count > 0 && self.own.turn < turn;
        let since = is_over.then(|| self.over_since.unwrap_or(seen.now));
        self.over_since = since;
        if since.is_some_and(|since| since + TOLD_FOR <= seen.now) {
            self.own = Votes::default();
        }
    }

    /// Counts the votes that voters have given. They are of the stall that this peer sees, if it does.
    pub(super) fn count(
        &mut self,
        given: impl Iterator<Item = (u8, Votes)>,
        seen: &Counting,
        ledger: &Ledger,
    ) -> Option<Event> {
        let voters = seen.voters;
        let turn = ledger.window.complete();
        self.forget_own(turn, seen);
        let given = given.filter(|(_, votes)| votes.count > 0);
        let given: Vec<(u8, Votes)> = given.collect();
        if !seen.stalls && seen.lasts.is_none() {
            (self.most, self.ends) = (0, Duration::ZERO);
            let over = given.iter().filter(|(_, votes)| votes.turn < turn);
            self.spent.extend(over.copied());
        }
        let given = given.into_iter().filter(|(at, votes)| {
            let concerns = seen.stalls && votes.turn.abs_diff(turn) <= seen.near;
            let is_spent = self.spent.get(at) == Some(votes);
            voters.members().contains(*at) && concerns && !is_spent
        });
        let given: Vec<(u8, u8)> = given.map(|(at, votes)| (at, votes.count)).collect();
        let with = |least: u8| -> Peers {
            let enough = given.iter().filter(|(_, count)| *count >= least);
            enough.map(|(at, _)| *at).collect()
        };
        let counts = given.iter().map(|(_, count)| (*count).min(VOTES));
        let quorum = counts.filter(|least| voters.is_quorum(with(*least))).max();
        let granted = Granted {
            voted: with(1),
            votes: u32::from(quorum.unwrap_or(0)),
        };
        if granted.votes > self.most {
            let from = self.ends.max(seen.lasts.unwrap_or_default());
            self.ends = from + WAIT * (granted.votes - self.most);
            self.most = granted.votes;
        }
        if granted == self.granted {
            return None;
        }
        self.granted = granted;
        (!granted.voted.is_empty()).then(|| Event::Extension {
            turn: TurnNumber(turn),
            seats: ledger.places.seats_of(granted.voted),
            extension: self.granted(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::fixture::bundle;
    use crate::session::ledger::fixture::ledger;

    #[test]
    fn as_many_votes_count_as_a_quorum_has_given() {
        let ledger = ledger(3);
        let voters = Voters::new(Peers::first(3));
        let mut extensions = Extensions::default();
        let votes = |count: u8| Votes { turn: 1, count };
        let mut count = |given: [u8; 2], lasts: Option<u32>| {
            let given = given.into_iter().enumerate();
            let given = given.map(|(at, count)| (at as u8, votes(count)));
            let seen = Counting {
                voters,
                stalls: lasts.is_some(),
                lasts: lasts.map(|lasts| WAIT * lasts),
                near: 2,
                now: Duration::ZERO,
            };
            let event = extensions.count(given, &seen, &ledger);
            (event.is_some(), extensions.granted(), extensions.ends())
        };
        let none = Duration::ZERO;
        let told = count([3, 0], Some(0));
        assert_eq!(told, (true, none, none), "one is told of");
        assert_eq!(count([3, 2], Some(0)), (true, WAIT * 2, WAIT * 2));
        let again = count([3, 2], Some(1));
        assert_eq!(again, (false, WAIT * 2, WAIT * 2), "and once");
        assert_eq!(count([3, 1], Some(1)), (true, WAIT, WAIT), "a vote is lost");
        let third = count([3, 3], Some(9));
        assert_eq!(third, (true, WAIT * 3, WAIT * 10), "from now on");
        assert_eq!(
            count([3, 2], None),
            (false, none, none),
            "no stall, no votes"
        );
        assert_eq!(
            count([3, 2], Some(4)),
            (true, WAIT * 2, WAIT * 6),
            "a new stall"
        );
    }

    #[test]
    fn votes_of_a_stall_that_is_over_lengthen_no_other_one() {
        let mut ledger = ledger(3);
        let voters = Voters::new(Peers::first(3));
        let mut extensions = Extensions::default();
        let mut count = |turn: u32, lasts: Option<Duration>, ledger: &Ledger| {
            let votes = Votes { turn, count: 1 };
            let seen = Counting {
                voters,
                stalls: lasts.is_some(),
                lasts,
                near: 8,
                now: Duration::ZERO,
            };
            extensions.count([(0, votes), (1, votes)].into_iter(), &seen, ledger);
            extensions.granted()
        };
        let turn = ledger.window.complete();
        assert_eq!(count(turn, Some(Duration::ZERO), &ledger), WAIT);
        assert_eq!(count(turn, None, &ledger), Duration::ZERO);
        let again = count(turn, Some(Duration::ZERO), &ledger);
        assert_eq!(again, WAIT, "the turn still waits");
        ledger.window.push(&bundle(turn));
        assert_eq!(count(turn, None, &ledger), Duration::ZERO);
        let next = count(turn, Some(Duration::ZERO), &ledger);
        assert_eq!(next, Duration::ZERO, "it was of another stall");
        assert_eq!(count(turn + 1, Some(Duration::ZERO), &ledger), WAIT);
    }

    #[test]
    fn votes_are_told_for_a_while_after_their_stall() {
        let mut ledger = ledger(3);
        let mut extensions = Extensions::default();
        let turn = ledger.window.complete();
        extensions.vote(turn);
        let mut told = |ms: u64, ledger: &Ledger| {
            let seen = Counting {
                voters: Voters::new(Peers::first(3)),
                stalls: false,
                lasts: None,
                near: 2,
                now: Duration::from_millis(ms),
            };
            extensions.count([].into_iter(), &seen, ledger);
            extensions.own().count
        };
        assert_eq!(told(60_000, &ledger), 1, "the turn waits");
        ledger.window.push(&bundle(turn));
        let after = [60_100, 62_050, 62_100].map(|ms| told(ms, &ledger));
        assert_eq!(after, [1, 1, 0]);
    }

    #[test]
    fn votes_of_one_stall_add_up_and_of_another_begin_anew() {
        let mut extensions = Extensions::default();
        extensions.vote(5);
        extensions.vote(5);
        assert_eq!(extensions.own(), Votes { turn: 5, count: 2 });
        extensions.vote(6);
        assert_eq!(extensions.own(), Votes { turn: 6, count: 1 });
        (0..100).for_each(|_| extensions.vote(6));
        assert_eq!(extensions.own().count, VOTES);
    }
}
