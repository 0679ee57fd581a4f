//! What the harness did to a peer and had its players do, for the judge to hold its log against.

use lockstep::log::{Ballot, Peers};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Notes about one peer.
#[derive(Clone, Default)]
pub struct Notes {
    /// Which run of its process it is; the first is 0.
    pub run: u32,
    /// When that run began.
    pub began_at: Duration,
    /// That run is not the first, and has not been admitted.
    pub is_out: bool,
    /// When it was admitted.
    pub admitted_at: Option<Duration>,
    /// Its process has died, and no other run of it has begun.
    pub crashed: bool,
    /// It was told to leave.
    pub leaves: bool,
    /// An earlier run of its process was leaving: what it said of that may stand in the log.
    pub has_left: bool,
    /// Much of its time passed unseen, and no peer can have told it before this that it still belongs.
    pub unsure_until: Duration,
    /// It stood still or was cut off for the suspicion time or longer, up to then; or it used up its stall budget, and
    /// has it back then.
    pub silent_until: Duration,
    /// Its machine was slow up to then.
    pub slow_until: Option<Duration>,
    /// Since when it was.
    pub slow_since: Option<Duration>,
    /// When its players voted to extend the suspicion time.
    pub voted_at: Option<Duration>,
    /// Its accepts that no loss of power takes, by epoch and ballot, those of earlier runs among them,
    pub accepts: BTreeSet<(u32, Ballot)>,
    /// and its signatures under reopenings, by epoch and roster.
    pub reopenings: BTreeSet<(u32, Peers)>,
    /// When each other peer's own words last came in.
    pub heard_at: BTreeMap<usize, Duration>,
}

impl Notes {
    /// The notes on the next run of its process, which begins.
    pub fn of_next_run(self, now: Duration) -> Self {
        Notes {
            run: self.run + 1,
            began_at: now,
            is_out: true,
            silent_until: self.silent_until,
            slow_until: self.slow_until,
            voted_at: self.voted_at,
            has_left: self.has_left || self.leaves,
            accepts: self.accepts,
            reopenings: self.reopenings,
            ..Notes::default()
        }
    }
}
