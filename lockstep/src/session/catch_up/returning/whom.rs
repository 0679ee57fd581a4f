//! Whom a peer that comes back asks, and whom it does not ask any more.

use super::{
    ANSWER, DIAL_EVERY, JoinerLog, Known, LONGER, NO_HELP, PROBE_EVERY, Returning, Server,
    Snapshot, UNHEARD, World,
};
use crate::session::Output;
use crate::session::catch_up::message::{Ask, encode};
use crate::session::core::Core;
use crate::session::lobby::Step;
use crate::session::wire::Datagram;
use crate::{EndReason, Fault, JoinRefused, LinkId, MatchId, PeerId};
use std::time::Duration;

/// Strangers that are asked, each until it has shown that it does not help: with ever new keys nobody gets more.
const STRANGERS: usize = 64;

impl Returning {
    pub(super) fn unreached<'a>(
        &'a self,
        core: &'a Core,
    ) -> impl Iterator<Item = (&'a PeerId, &'a Known)> {
        let reached = |peer: &PeerId| core.links_to(*peer).next().is_some();
        let known = self.contacts.iter();
        known.filter(move |(peer, known)| !known.addresses.is_empty() && !reached(peer))
    }

    pub(super) fn dial(&mut self, core: &mut Core) {
        let due = self
            .unreached(core)
            .filter(|(_, known)| known.next_dial <= core.now);
        let due: Vec<PeerId> = due.map(|(peer, _)| *peer).collect();
        for key in due {
            let known = self.contacts.get_mut(&key).expect("just seen");
            known.next_dial = core.now + DIAL_EVERY;
            let address = known.addresses[known.dials % known.addresses.len()].clone();
            known.dials += 1;
            core.out.push(Output::Dial { address, key });
        }
    }

    pub(super) fn look_after_server(&mut self, core: &mut Core) {
        let mut last = None;
        if let Some(server) = &mut self.server {
            let link = core.links.get(&server.link);
            let heard_at = link.map(|link| link.heard_at.max(server.chosen_at));
            let unheard = heard_at.is_none_or(|at| at + UNHEARD <= core.now);
            if !unheard && server.asked_at + self.progress.patience() > core.now {
                if server.probed_at + PROBE_EVERY <= core.now {
                    server.probed_at = core.now;
                    probe(core, server.link);
                }
                return;
            }
            last = Some(server.link);
            if unheard {
                let proved = link.and_then(|link| link.proved);
                let known = proved.and_then(|(peer, _)| self.contacts.get_mut(&peer));
                known
                    .into_iter()
                    .for_each(|known| known.unheard_since = heard_at);
                // Its address may have changed, or this peer's.
                core.close(server.link);
            }
            self.server = None;
        }
        if self.reopened {
            return;
        }
        let Some(link) = self.helper(core, last) else {
            return;
        };
        self.moved_at = core.now;
        self.server = Some(Server {
            link,
            outlined: false,
            chosen_at: core.now,
            asked_at: core.now,
            probed_at: core.now,
            log_asked: false,
            has: 0,
        });
        self.say(
            core,
            &Ask::Outline {
                match_id: self.match_id,
            },
        );
        probe(core, link);
    }

    /// The link to ask on: of several one that did not just fall silent.
    ///
    /// Where for a while nobody helps who is known, whoever has dialled this peer is asked too: who knows only the host
    /// may find that it died since. What such a one says proves itself, or not, like everything else.
    pub(super) fn helper(&self, core: &Core, last: Option<LinkId>) -> Option<LinkId> {
        let alone = core.now >= self.helped_at + UNHEARD;
        let helps = |peer: PeerId| match (self.contacts.get(&peer), self.strangers.get(&peer)) {
            (Some(known), _) => known.no_help_until <= core.now,
            (None, Some(until)) => alone && *until <= core.now,
            (None, None) => alone && self.strangers.len() < STRANGERS,
        };
        let links = core.links.values();
        let proved = links.filter(|link| link.proved.is_some_and(|(peer, _)| helps(peer)));
        // Of a match that stands still, who has come since may know of more than those who stand.
        let newer = |link: LinkId| self.stands() && self.is_new_run(core, link);
        let next = proved.max_by_key(|link| {
            let id = link.id;
            (newer(id), Some(id) != last, link.heard_at)
        });
        next.map(|link| link.id)
    }

    pub(super) fn say(&self, core: &mut Core, ask: &Ask) {
        if let Some(server) = &self.server {
            if let Some(link) = core.links.get_mut(&server.link) {
                link.asked = true;
            }
            core.send_bulk(server.link, encode(ask));
        }
    }

    /// Somebody says that it speaks another version, plays another match, or that this key has no seat. That counts
    /// where it was dialled as one of the match's peers, and ends the way back once all of them say so: anybody may
    /// dial this peer and say anything. Who has a recording of the match knows that it has a seat, and others than the
    /// host.
    pub(super) fn refused(&mut self, core: &mut Core, link: LinkId, why: JoinRefused) -> Step {
        let knows_nothing = self.own.is_empty() && self.log.is_none();
        let counts = knows_nothing || matches!(why, JoinRefused::Protocol { .. });
        let dialled = core.links.get(&link).filter(|link| link.dialled && counts);
        let known = dialled.and_then(|dialled| {
            let mut known = self.contacts.iter_mut();
            known.find(|(peer, known)| match dialled.expected {
                Some(expected) => expected == **peer,
                None => known.addresses.contains(&dialled.address),
            })
        });
        let Some((_, known)) = known else {
            core.close(link);
            return Step::Stay;
        };
        known.refused = Some(why.clone());
        core.close(link);
        match self.contacts.values().all(|known| known.refused.is_some()) {
            true => Step::End(EndReason::Refused(why)),
            false => Step::Stay,
        }
    }

    /// Takes note of who looks for a match as well.
    pub(super) fn note_search(&mut self, core: &Core, link: LinkId, ask: &Ask) {
        let proved = core.links.get(&link).and_then(|link| link.proved);
        if let (Some((peer, _)), Ask::Outline { match_id }) = (proved, ask)
            && (self.contacts.contains_key(&peer) || self.strangers.contains_key(&peer))
        {
            self.searching.insert(peer, (*match_id, core.now));
        }
    }

    /// Whether who is at the other end looks for a match, too.
    pub(super) fn is_searching(&self, core: &Core, link: LinkId) -> bool {
        let proved = core.links.get(&link).and_then(|link| link.proved);
        let asked = proved.and_then(|(peer, _)| self.searching.get(&peer));
        asked.is_some_and(|(_, at)| core.now < *at + ANSWER)
    }

    /// Whether there is nobody to have the match from, as far as is known: who is asked, if anybody, looks for one.
    pub(super) fn has_nobody(&self, core: &Core) -> bool {
        let server = self.server.as_ref();
        let has = |server: &Server| server.outlined || !self.is_searching(core, server.link);
        !self.reopened && !server.is_some_and(has)
    }

    /// Why nobody was there who had the match.
    pub(super) fn nobody(&self, core: &Core) -> EndReason {
        let refused = |known: &Known| known.refused.clone();
        if let Some(why) = self.contacts.values().find_map(refused) {
            return EndReason::Refused(why);
        }
        let mut others = self.searching.values();
        let here = |(of, at): &(MatchId, Duration)| *of == self.match_id && core.now < *at + ANSWER;
        if others.any(here) {
            return EndReason::NobodyPlays;
        }
        if let Some(why) = self.no_quorum(core) {
            return why;
        }
        if let Some(last) = self.last_known_turn() {
            return EndReason::OthersWent { after: last };
        }
        let liars = |known: &Known| known.no_help_until > core.now;
        match self.contacts.values().all(liars) {
            true => EndReason::Refused(JoinRefused::OtherMatch),
            false => EndReason::NobodyThere,
        }
    }

    /// What the peer that is asked says came to nothing: the more often, the longer another one is asked.
    pub(super) fn pass_over_longer(&mut self, core: &mut Core) {
        let server = self.server.as_ref();
        let proved = server.and_then(|server| core.links.get(&server.link)?.proved);
        let known = proved.and_then(|(peer, _)| self.contacts.get_mut(&peer));
        let times = known.map_or(1, |known| {
            let times = 1 << known.in_vain.min(31);
            known.in_vain += 1;
            LONGER.min(times)
        });
        self.pass_over(core, core.now + NO_HELP * times);
    }

    /// The peer that is asked does not have what is needed.
    pub(super) fn pass_over(&mut self, core: &mut Core, until: Duration) {
        let Some(server) = self.server.take() else {
            return;
        };
        let proved = core.links.get(&server.link).and_then(|link| link.proved);
        if let Some((peer, _)) = proved {
            match self.contacts.get_mut(&peer) {
                Some(known) => known.no_help_until = until,
                None => {
                    self.strangers.insert(peer, until);
                }
            }
        }
        if let Some(log) = &mut self.log {
            log.forget_unconfirmed();
        }
        if matches!(self.world, World::None) {
            self.snapshot = Snapshot::Unknown;
        }
    }

    /// The peer that is asked has said what is not so: it is named, and another one asked.
    pub(super) fn distrust(&mut self, core: &mut Core, fault: Fault) {
        let link = self.server.as_ref().map(|server| server.link);
        link.iter().for_each(|link| core.fault(*link, fault));
        self.pass_over(core, Duration::MAX);
        link.iter().for_each(|link| core.close(*link));
    }

    /// Its log is not the match's; or the own one was not, which counts first, or a quorum had attested turns that were
    /// taken back since.
    pub(super) fn distrust_log(&mut self, core: &mut Core) {
        let untouched = matches!(self.world, World::None);
        let log = self.log.as_ref();
        let own = log.is_some_and(JoinerLog::began_with_own);
        if log.is_some_and(|log| log.lacks_a_change()) {
            match (std::mem::replace(&mut self.doubts, true), untouched) {
                // Whoever is asked may keep a change back; where another one tells the same, it is the turns before.
                (false, _) => self.pass_over(core, core.now + NO_HELP),
                (true, true) => self.begin_anew(core),
                (true, false) => self.has_strayed = true,
            }
        } else if own && untouched {
            self.begin_anew(core);
        } else if self.stood && !untouched {
            // The match may have been reopened behind turns before those that it has followed to.
            self.has_strayed = true;
        } else {
            self.distrust(core, Fault::Signature);
        }
    }

    /// Forgets the log, the own one too.
    fn begin_anew(&mut self, core: &mut Core) {
        self.own.clear();
        self.sure = 0;
        self.log = None;
        self.doubts = false;
        self.snapshot = Snapshot::Unknown;
        if let Some(server) = self.server.take() {
            core.close(server.link);
        }
    }
}

fn probe(core: &mut Core, link: LinkId) {
    let sent_us = core.now.as_micros() as u64;
    core.send_datagram(link, &Datagram::Probe { sent_us });
}
