//! What a joiner goes on from: as it comes, and where the match was reopened.

use super::world::DetachedWorld;
use crate::log::{
    Accepted, EncodedLog, Keyframe, RosterChange, SignedBatch, SignedReopening, VerifiedLog,
};
use crate::session::RulesOf;
use crate::{Contact, EndReason, MatchId, Rejoin};
use sim::Checksum;
use std::time::Duration;

/// All that a peer knew when it came back, and found that no peer plays.
pub(crate) struct RejoinContext {
    pub match_id: MatchId,
    pub contacts: Vec<Contact>,
    pub addresses: Vec<String>,
    pub rules: RulesOf,
    pub own: Option<EncodedLog>,
    pub keyframe: Option<Keyframe>,
    /// What an earlier run of the process has accepted.
    pub accepted: Option<Accepted>,
    /// The reopening that this run of it, or an earlier one, has signed last.
    pub signed: Option<SignedReopening>,
    /// What others have signed of the own records.
    pub attests: Vec<SignedBatch>,
    /// The player goes on by any history.
    pub accepts_other_history: bool,
    /// How it ends where no source is found until then.
    pub otherwise: Option<(EndReason, Duration)>,
    /// What its store holds, and the world that it has where it has followed a match that stands still.
    pub held: Option<Box<DetachedWorld>>,
}

impl RejoinContext {
    /// What a new run of a peer's process knows.
    pub(crate) fn of(from: Rejoin, addresses: Vec<String>, rules: RulesOf) -> Self {
        RejoinContext {
            match_id: from.match_id,
            contacts: from.contacts,
            addresses,
            rules,
            own: from.log,
            keyframe: from.keyframe,
            accepted: from.accepted,
            signed: from.signed,
            attests: from.attests,
            accepts_other_history: from.accepts_other_history,
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
