//! Extensions: players vote to wait longer for a peer that turns wait for, before the others decide to go on without it.
//!
//! A vote is part of a peer's status. So many votes as a quorum has given lengthen the suspicion time and the stall budget
//! of all peers in this stall. What is decided by then stays decided: an extension only ever delays a suspicion.

use super::paxos::{Peers, Voters};
use crate::session::ledger::Ledger;
use crate::{Event, TurnNumber};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What one vote adds, once a quorum has given it.
const WAIT: Duration = Duration::from_secs(30);
/// Votes of one peer in one stall, at most: ten minutes.
const VOTES: u8 = 20;

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
    granted: Granted,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Granted {
    voted: Peers,
    extension: Duration,
}

impl Extensions {
    /// What this peer's status says.
    pub(super) fn own(&self) -> Votes {
        self.own
    }

    /// How much longer than usual no peer is suspected in this stall.
    pub(super) fn granted(&self) -> Duration {
        self.granted.extension
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

    /// Counts the votes that voters have given. They are of the stall that this peer sees, if it does: others may be `near`
    /// turns before or behind.
    pub(super) fn count(
        &mut self,
        given: impl Iterator<Item = (u8, Votes)>,
        voters: Voters,
        (stalls, near): (bool, u32),
        ledger: &Ledger,
    ) -> Option<Event> {
        let turn = ledger.window.complete();
        let given = given.filter(|(at, votes)| {
            let concerns = stalls && votes.count > 0 && votes.turn.abs_diff(turn) <= near;
            voters.members().contains(*at) && concerns
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
            extension: WAIT * u32::from(quorum.unwrap_or(0)),
        };
        if granted == self.granted {
            return None;
        }
        self.granted = granted;
        (!granted.voted.is_empty()).then(|| Event::Extension {
            turn: TurnNumber(turn),
            seats: ledger.places.seats_of(granted.voted),
            extension: granted.extension,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::ledger::fixture::ledger;

    #[test]
    fn as_many_votes_count_as_a_quorum_has_given() {
        let ledger = ledger(3);
        let voters = Voters::new(Peers::first(3));
        let mut extensions = Extensions::default();
        let votes = |count: u8| Votes { turn: 1, count };
        let mut count = |given: [u8; 2], stalls: bool| {
            let given = given.into_iter().enumerate();
            let given = given.map(|(at, count)| (at as u8, votes(count)));
            let event = extensions.count(given, voters, (stalls, 2), &ledger);
            (event.is_some(), extensions.granted())
        };
        assert_eq!(
            count([3, 0], true),
            (true, Duration::ZERO),
            "one is told of"
        );
        assert_eq!(count([3, 2], true), (true, WAIT * 2));
        assert_eq!(count([3, 2], true), (false, WAIT * 2), "and once");
        assert_eq!(
            count([3, 2], false),
            (false, Duration::ZERO),
            "no stall, no votes"
        );
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
