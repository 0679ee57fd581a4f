//! What a peer goes on from in a match that was reopened: it has the log, and only its world has to catch up.

use super::stands::{Followed, Held};
use super::{GIVE_UP, JoinerLog, NO_HELP, Returning, Snapshot, World};
use crate::log::{Keyframe, Record, RosterChange, VerifiedLog};
use crate::session::RulesOf;
use crate::session::core::Core;
use crate::{Contact, EndReason, JoinRefused, LinkId, MatchId, PeerId, Rejoin};
use std::time::Duration;

/// All that a peer knew when it came back, and found that nobody plays.
pub(crate) struct Whole {
    pub match_id: MatchId,
    pub contacts: Vec<Contact>,
    pub addresses: Vec<String>,
    pub rules: RulesOf,
    pub own: Vec<Record>,
    pub keyframe: Option<Keyframe>,
    /// How it ends where it has found nobody until then.
    pub otherwise: Option<(EndReason, Duration)>,
    /// The world that it has, where it has followed a match that stands still.
    pub held: Option<Box<Held>>,
}

/// So long others are asked, or dialled, before a peer believes the one that says that nobody plays.
const ASK_OTHERS: Duration = Duration::from_secs(3);

/// How its part begins.
pub(in crate::session) struct Reopened {
    /// The log up to the cut.
    pub(in crate::session) log: VerifiedLog,
    pub(in crate::session) me: usize,
    /// What reopened the match.
    pub(in crate::session) change: RosterChange,
    /// When the turn behind the cut is due.
    pub(in crate::session) due: Duration,
}

impl Returning {
    /// Takes back what [`new`](Self::new) was given.
    pub(crate) fn into_whole(mut self) -> Whole {
        let held = self.hold();
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
            otherwise: self.otherwise,
            held,
        }
    }

    /// It was turned away where the match seemed to be reopened, and looks further.
    pub(crate) fn again(core: &Core, known: Whole, host: PeerId, why: EndReason) -> Self {
        let from = Rejoin {
            match_id: known.match_id,
            contacts: known.contacts,
            log: known.own,
            keyframe: known.keyframe,
        };
        let mut returning = Returning::new(core, from, known.addresses, known.rules);
        if let Some(known) = returning.contacts.get_mut(&host) {
            known.no_help_until = core.now + NO_HELP;
            if let EndReason::Refused(why) = &why
                && !matches!(why, JoinRefused::GoesOn | JoinRefused::AlreadyIn)
            {
                known.refused = Some(why.clone());
            }
        }
        let before = known.otherwise.filter(|(_, by)| *by > core.now);
        returning.otherwise = before.or(Some((why, core.now + GIVE_UP)));
        if let Some(held) = known.held {
            returning.take_back(*held);
        }
        returning
    }

    /// Who is asked says that nobody plays.
    pub(super) fn told_of_reopening(&mut self, core: &mut Core, link: LinkId) {
        let proved = core.links.get(&link).and_then(|link| link.proved);
        let known = proved.and_then(|(peer, _)| self.contacts.get(&peer));
        // Where it was turned away it does not come again.
        if known.is_some_and(|known| known.refused.is_none()) {
            let since = self.reopens.map_or(core.now, |(_, since)| since);
            self.reopens = Some((link, since));
        }
        self.pass_over(core, core.now + NO_HELP);
    }

    /// Where to wait for the others, once nobody else is known who might play.
    pub(super) fn gathers(&mut self, core: &Core) -> Option<LinkId> {
        let (link, since) = self.reopens?;
        let Some((host, _)) = core.links.get(&link).and_then(|link| link.proved) else {
            self.reopens = None;
            return None;
        };
        if !self.may_gather() {
            return None;
        }
        let mut others = self.contacts.iter().filter(|(peer, _)| **peer != host);
        let nobody = others.all(|(_, known)| known.no_help_until > core.now);
        let asked = nobody || core.now >= since + ASK_OTHERS;
        (asked || self.stands()).then_some(link)
    }

    /// When it goes there at the latest, if nobody else plays.
    pub(super) fn gathers_at(&self, core: &Core) -> Option<Duration> {
        let at = self.reopens.map(|(_, since)| since + ASK_OTHERS);
        at.filter(|at| *at > core.now)
    }

    /// Of a match that was reopened. What `known` holds of its log does not matter any more.
    pub(in crate::session) fn reopened(core: &Core, known: Whole, reopened: Reopened) -> Self {
        let Reopened {
            log,
            me,
            change,
            due,
        } = reopened;
        let cut = change.value.cut;
        let of_the_log = |keyframe: &Keyframe| {
            keyframe.turns <= cut && log.hash_after(keyframe.turns) == Some(keyframe.log_hash)
        };
        let held = known.held;
        let began_with = held.as_ref().and_then(|held| held.began_with.clone());
        let keyframes = known.keyframe.into_iter().chain(began_with);
        let newest = keyframes.filter(of_the_log);
        let snapshot = match newest.max_by_key(|keyframe| keyframe.turns) {
            Some(keyframe) => Snapshot::Here(keyframe),
            None => Snapshot::Start,
        };
        let from = Rejoin {
            match_id: known.match_id,
            contacts: known.contacts,
            log: Vec::new(),
            keyframe: None,
        };
        let log = JoinerLog::of(log);
        let followed = held.as_ref().map(|held| held.follow(&log));
        let has_strayed = matches!(followed, Some(Followed::TooFar));
        let (mut appended, mut logged, mut again, mut world) = (None, None, None, World::None);
        match (followed, held) {
            (Some(Followed::All(end)), Some(held)) => {
                (appended, world) = (Some(end), held.world());
            }
            (Some(Followed::Until { end, turns }), _) => {
                (logged, again) = (Some(end), Some(turns));
            }
            _ => {}
        }
        Returning {
            log: Some(log),
            snapshot,
            has_strayed,
            tells_contacts: true,
            appended,
            logged,
            again,
            world,
            me,
            told: Some((cut, due)),
            decided: Some(change),
            reopened: true,
            ..Returning::new(core, from, known.addresses, known.rules)
        }
    }
}
