//! What has been measured of a running match.

use super::Playing;
use crate::session::{PeerStats, Stats};
use std::time::Duration;

impl Playing {
    /// What has been measured so far, the wait that still goes on included. The session knows the links.
    pub(crate) fn stats(&self, now: Duration) -> Stats {
        let (late_turns, stalled) = self.turns.late(now);
        let mut stats = Stats {
            late_turns,
            stalled,
            ..Stats::default()
        };
        let places = &self.ledger.places;
        let there = |at: &usize| *at != places.me() && !self.ledger.batches.is_going(*at);
        let others = places.all().filter(there).map(|at| (at, &self.members[at]));
        stats.peers = others
            .map(|(at, member)| {
                let (slack_ms, slack_there_ms) = self.turns.slack(at);
                PeerStats {
                    peer: places.key(at),
                    slack_ms,
                    slack_there_ms,
                    unheard: now.saturating_sub(member.heard_at),
                }
            })
            .collect();
        stats.agreed = self.verify.agreed(now);
        stats
    }
}
