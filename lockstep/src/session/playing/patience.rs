//! Patience: players vote to wait longer for whom turns wait for, before the others decide to go on without it.
//!
//! A vote is part of a peer's word. So many votes as a quorum has given lengthen the suspicion time and the stall
//! budget of everybody in this stall. What is decided by then stays decided: patience only ever delays a suspicion.

use super::Playing;
use crate::session::core::Core;
use crate::session::membership::paxos::Peers;
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
    /// How often it has voted; 0 for never.
    count: u8,
}

/// What has been told of votes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Patience {
    patient: Peers,
    longer: Duration,
}

impl Playing {
    /// The players of this peer want to wait longer. Means nothing while no turn waits.
    pub(crate) fn wait_longer(&mut self) {
        if self.turns.stalled_since().is_none() && !self.epochs.is_changing() {
            return;
        }
        let votes = self.presence.votes;
        let turn = self.ledger.window.complete();
        // Others may be some turns before or behind this peer; in its own log another turn is another stall.
        let count = match votes.turn == turn {
            true => votes.count.saturating_add(1).min(VOTES),
            false => 1,
        };
        self.presence.votes = Votes { turn, count };
    }

    /// How much longer than usual nobody is suspected in this stall.
    pub(super) fn longer(&self) -> Duration {
        self.patience.longer
    }

    /// Counts the votes of this stall.
    pub(super) fn count_votes(&mut self, core: &mut Core) {
        let voters = self.epochs.voters();
        let given: Vec<(u8, u8)> = self
            .words()
            .filter(|(at, heard)| {
                let current = heard.word.epoch == self.epochs.epoch();
                current && voters.members().contains(*at) && self.concerns(heard.word.votes)
            })
            .map(|(at, heard)| (at, heard.word.votes.count))
            .collect();
        let with = |least: u8| -> Peers {
            let enough = given.iter().filter(|(_, count)| *count >= least);
            enough.map(|(at, _)| *at).collect()
        };
        let counts = given.iter().map(|(_, count)| (*count).min(VOTES));
        let granted = counts.filter(|least| voters.is_quorum(with(*least))).max();
        let patience = Patience {
            patient: with(1),
            longer: WAIT * u32::from(granted.unwrap_or(0)),
        };
        if patience == self.patience {
            return;
        }
        if !patience.patient.is_empty() {
            core.event(Event::Patience {
                turn: TurnNumber(self.ledger.window.complete()),
                seats: self.ledger.places.seats_of(patience.patient),
                longer: patience.longer,
            });
        }
        self.patience = patience;
    }

    /// Whether these are votes of the stall that this peer sees: others may be some turns before or behind.
    fn concerns(&self, votes: Votes) -> bool {
        // A moment in one of the next turns is no stall that anybody was told of.
        let told = self.turns.is_stall_told();
        let stalls = told || self.epochs.is_changing();
        let near = votes.turn.abs_diff(self.ledger.window.complete())
            <= u32::from(self.turns.plan().delay_turns);
        stalls && votes.count > 0 && near
    }
}
