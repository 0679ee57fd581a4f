//! What a peer goes on from in a match that was reopened: it has the log, and only its world has to catch up.

use super::{Known, Log, Returning, Snapshot, World};
use crate::log::{Keyframe, Record, RosterChange};
use crate::session::RulesOf;
use crate::session::core::Core;
use crate::{Contact, MatchId};
use std::time::Duration;

/// All that a peer knew when it came back, and found that nobody plays.
pub(crate) struct Whole {
    pub match_id: MatchId,
    pub contacts: Vec<Contact>,
    pub addresses: Vec<String>,
    pub rules: RulesOf,
    pub own: Vec<Record>,
    pub keyframe: Option<Keyframe>,
}

/// How its part begins.
pub(in crate::session) struct Reopened {
    /// The log up to the cut.
    pub(in crate::session) log: Log,
    pub(in crate::session) me: usize,
    /// What reopened the match.
    pub(in crate::session) change: RosterChange,
    /// When the turn behind the cut is due.
    pub(in crate::session) due: Duration,
}

impl Returning {
    /// Takes back what [`new`](Self::new) was given.
    pub(crate) fn into_whole(self) -> Whole {
        let contacts = self.contacts.into_iter();
        Whole {
            match_id: self.match_id,
            contacts: contacts
                .map(|(peer, known)| Contact {
                    peer,
                    addresses: known.addresses,
                })
                .collect(),
            addresses: self.addresses,
            rules: self.rules,
            own: self.own,
            keyframe: self.keyframe,
        }
    }

    /// Of a match that was reopened. `known.own` does not matter any more.
    pub(in crate::session) fn reopened(core: &Core, known: Whole, reopened: Reopened) -> Self {
        let Reopened {
            log,
            me,
            change,
            due,
        } = reopened;
        let cut = change.value.cut;
        let of_the_log = |keyframe: &Keyframe| {
            keyframe.turns <= cut
                && log.hashes.get(keyframe.turns as usize) == Some(&keyframe.log_hash)
        };
        let snapshot = match known.keyframe.filter(of_the_log) {
            Some(keyframe) => Snapshot::Here(keyframe),
            None => Snapshot::Start,
        };
        let contacts = known.contacts.into_iter();
        let contacts = contacts.filter(|contact| contact.peer != core.id());
        let known_at = |contact: Contact| {
            let known = Known {
                addresses: contact.addresses,
                next_dial: core.now,
                dials: 0,
                no_help_until: Duration::ZERO,
                refused: None,
            };
            (contact.peer, known)
        };
        Returning {
            match_id: known.match_id,
            contacts: contacts.map(known_at).collect(),
            addresses: known.addresses,
            rules: known.rules,
            own: Vec::new(),
            sure: 0,
            keyframe: None,
            log: Some(log),
            snapshot,
            server: None,
            world: World::None,
            me,
            told: Some((cut, due)),
            rtt: None,
            decided: Some(change),
            reopened: true,
            next_request: core.now,
            confirmed_at: core.now,
            offered_at: core.now,
            reached_at: core.now,
        }
    }
}
