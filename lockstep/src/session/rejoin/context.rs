//! What a joiner goes on from: as it comes, and where the match was reopened.

use super::world::DetachedWorld;
use crate::log::{RosterChange, VerifiedLog};
use crate::session::RulesOf;
use crate::{EndReason, Rejoin};
use sim::Checksum;
use std::time::Duration;

/// All that a peer knew when it came back, and found that no peer plays.
pub(crate) struct RejoinContext {
    /// What an earlier run of its process left, and what this run has accepted and signed since.
    pub from: Rejoin,
    pub addresses: Vec<String>,
    pub rules: RulesOf,
    /// How it ends where no source is found until then.
    pub otherwise: Option<(EndReason, Duration)>,
    /// What its store holds, and the world that it has where it has followed a match that stands still.
    pub held: Option<Box<DetachedWorld>>,
}

impl RejoinContext {
    /// What a new run of a peer's process knows.
    pub(crate) fn of(from: Rejoin, addresses: Vec<String>, rules: RulesOf) -> Self {
        RejoinContext {
            from,
            addresses,
            rules,
            otherwise: None,
            held: None,
        }
    }

    /// Turns that its world has executed, and its checksum.
    pub(crate) fn executed(&self) -> Option<(u32, Checksum)> {
        self.held.as_ref()?.executed()
    }
}

/// How its part begins in a match that was reopened.
pub(crate) struct Reopened {
    /// The log up to the cut.
    pub(crate) log: VerifiedLog,
    pub(crate) me: usize,
    /// What reopened the match.
    pub(crate) change: RosterChange,
    /// When the turn behind the cut is due.
    pub(crate) due: Duration,
}
