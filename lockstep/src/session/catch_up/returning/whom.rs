//! Whom a peer that comes back asks, and whom it does not ask any more.

use super::{ANSWER, DIAL_EVERY, Known, Returning, Server, Snapshot, World};
use crate::session::Output;
use crate::session::catch_up::message::{Ask, encode};
use crate::session::core::Core;
use crate::session::wire::Datagram;
use crate::{Fault, LinkId, PeerId};
use std::time::Duration;

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
        let silent = self
            .server
            .as_ref()
            .is_some_and(|server| server.asked_at + ANSWER <= core.now);
        let last = self
            .server
            .as_ref()
            .filter(|_| silent)
            .map(|server| server.link);
        if silent {
            self.server = None;
        }
        if self.server.is_some() || self.reopened {
            return;
        }
        let Some(link) = self.helper(core, last) else {
            return;
        };
        self.server = Some(Server {
            link,
            outlined: false,
            asked_at: core.now,
            log_asked: false,
        });
        self.say(
            core,
            &Ask::Outline {
                match_id: self.match_id,
            },
        );
        let sent_us = core.now.as_micros() as u64;
        core.send_datagram(link, &Datagram::Probe { sent_us });
    }

    /// The link to ask on: of several one that did not just fall silent.
    pub(super) fn helper(&self, core: &Core, last: Option<LinkId>) -> Option<LinkId> {
        let helps = |peer: PeerId| {
            let known = self.contacts.get(&peer);
            known.is_some_and(|known| known.no_help_until <= core.now)
        };
        let links = core.links.values();
        let proved = links.filter(|link| link.proved.is_some_and(|(peer, _)| helps(peer)));
        let next = proved.max_by_key(|link| (Some(link.id) != last, link.heard_at));
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

    /// The peer that is asked does not have what is needed.
    pub(super) fn pass_over(&mut self, core: &mut Core, until: Duration) {
        let Some(server) = self.server.take() else {
            return;
        };
        let proved = core.links.get(&server.link).and_then(|link| link.proved);
        let known = proved.and_then(|(peer, _)| self.contacts.get_mut(&peer));
        if let Some(known) = known {
            known.no_help_until = until;
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

    /// Its log is not the match's; or the own one was not, which counts first.
    pub(super) fn distrust_log(&mut self, core: &mut Core) {
        let own = self.log.as_ref().is_some_and(|log| log.of_own);
        if own && matches!(self.world, World::None) {
            self.own.clear();
            self.sure = 0;
            self.log = None;
            self.snapshot = Snapshot::Unknown;
            if let Some(server) = self.server.take() {
                core.close(server.link);
            }
        } else {
            self.distrust(core, Fault::Signature);
        }
    }
}
