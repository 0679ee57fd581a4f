//! Turn packets: what leaves on which link, and when.

use super::Playing;
use super::member::Held;
use crate::limits::MAX_PEERS;
use crate::log::SignedBatch;
use crate::session::Output;
use crate::session::core::Core;
use crate::session::link::Link;
use crate::session::roster::Peers;
use crate::session::wire::{Control, Datagram, TurnPacket};
use crate::{LinkId, MAX_DATAGRAM, TurnNumber};
use std::collections::BTreeMap;
use std::time::Duration;

/// An acknowledgement waits this long for a packet that leaves anyway.
const ACKNOWLEDGE_WITHIN: Duration = Duration::from_millis(8);
/// Something is sent on every link at least this often.
const SIGN_OF_LIFE: Duration = Duration::from_millis(200);
/// Time between two copies once the first one is overdue.
const PULSE: Duration = Duration::from_millis(25);
/// Packets that leave at once on one link.
const PACKETS_AT_ONCE: usize = 4;
/// A peer that was not heard for so long is dialled anew: its address may have changed, or ours.
const SILENCE: Duration = Duration::from_secs(1);
/// A roster peer without a link is dialled this often.
const DIAL_EVERY: Duration = Duration::from_secs(1);

/// By place in the roster: the link to that peer that was heard last, and when.
type Newest = [Option<(Duration, LinkId)>; MAX_PEERS];

impl Playing {
    pub(super) fn receive_packet(&mut self, core: &mut Core, id: LinkId, packet: TurnPacket) {
        let now = core.now;
        let Some(link) = core.links.get_mut(&id) else {
            return;
        };
        link.heard_at = now;
        link.epoch = link.epoch.max(Some(packet.epoch));
        let fresh = link.quality.received(now, &packet);
        if !packet.batches.is_empty() {
            let by = now + ACKNOWLEDGE_WITHIN;
            let quality = &mut link.quality;
            quality.acknowledge_by =
                Some(quality.acknowledge_by.map_or(by, |earlier| earlier.min(by)));
        }
        if !fresh {
            return;
        }
        // The other end may have heard it a while ago.
        let heard_at = now.saturating_sub(self.heard_window());
        for at in (0..self.members.len()).filter(|at| packet.heard & bit(*at) != 0) {
            let member = &mut self.members[at];
            member.heard_at = member.heard_at.max(heard_at);
        }
        for batch in packet.batches {
            self.receive_batch(core, id, batch);
        }
    }

    /// The host may be lost while it tells all that the match has begun: whoever waits, and has heard nothing from a peer
    /// that sends turns, shows it that all have signed the start.
    pub(super) fn pass_on_the_beginning(&self, core: &mut Core) {
        let waits = self
            .stall
            .as_ref()
            .is_some_and(|stall| stall.told_at.is_some());
        if !waits || self.epochs.epoch() > 0 {
            return;
        }
        let signatures = self.start.signatures.iter().copied();
        let go = Control::Go {
            attempt: 0,
            signatures: signatures.map(Into::into).collect(),
            begin_ms: 0,
        };
        let links: Vec<LinkId> = core.links.keys().copied().collect();
        for id in links {
            let member = self.member_of(core, id).is_some();
            let link = core.links.get_mut(&id);
            let link = link.filter(|link| member && link.epoch.is_none() && !link.begin_told);
            if let Some(link) = link {
                link.begin_told = true;
                core.send(id, &go);
            }
        }
    }

    pub(super) fn send_what_is_due(&mut self, core: &mut Core) {
        let fresh = std::mem::take(&mut self.fresh_batch);
        let newest = self.newest_links(core);
        let is_due = |(link, member): &(&Link, usize)| {
            let due = || self.packet_due(core, *member, link);
            fresh || due().is_some_and(|at| at <= core.now)
        };
        // A packet on one link changes nothing about the others.
        let due = self.best_links(core, &newest).filter(is_due);
        let due: Vec<(LinkId, usize)> = due.map(|(link, member)| (link.id, member)).collect();
        for (id, member) in due {
            if fresh && let Some(link) = core.links.get_mut(&id) {
                link.quality.copies = 0;
            }
            self.send_packets(core, id, member);
        }
    }

    pub(super) fn traffic_deadline(&self, core: &Core) -> Option<Duration> {
        let newest = self.newest_links(core);
        let best = self.best_links(core, &newest);
        let packets = best.filter_map(|(link, member)| self.packet_due(core, member, link));
        // Nobody is dialled after a desync: a time for it would be a deadline that no call ever meets.
        let dialling = !self.ending.desynced();
        let lost = self.lost_peers(core, &newest).filter(|_| dialling);
        let dials = lost.map(|at| self.members[at].next_dial);
        let silence = self.silence_deadline(core).filter(|_| dialling);
        packets.chain(dials).chain(silence).min()
    }

    /// The links that carry turns, with the peers of the roster that they lead to: of several links to one only that which
    /// was heard last.
    fn best_links<'a>(
        &'a self,
        core: &'a Core,
        newest: &'a Newest,
    ) -> impl Iterator<Item = (&'a Link, usize)> {
        core.links.values().filter_map(|link| {
            let at = self.member_at(link)?;
            let is_best = newest[at].is_some_and(|(_, newest)| newest == link.id);
            (is_best && at != self.me && self.epochs.has(at)).then_some((link, at))
        })
    }

    fn newest_links(&self, core: &Core) -> Newest {
        let mut newest = [None; MAX_PEERS];
        for link in core.links.values() {
            if let Some(at) = self.leads_to(link) {
                newest[at] = newest[at].max(Some((link.heard_at, link.id)));
            }
        }
        newest
    }

    /// When the next packet to `member` is due on `link`.
    fn packet_due(&self, core: &Core, member: usize, link: &Link) -> Option<Duration> {
        let quality = &link.quality;
        let Some(last_sent) = quality.last_sent else {
            return Some(core.now);
        };
        let lacking = self.lacking(core, member, link, true).next().is_some();
        let pulse = lacking.then(|| self.pulse_at(core, link));
        // Forwarding begins when the direct way has had its time.
        let forward = self
            .next_grace(core, member, link)
            .map(|at| at.max(last_sent + PULSE));
        [
            Some(last_sent + SIGN_OF_LIFE),
            pulse,
            quality.acknowledge_by,
            forward,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// When all that the other end lacks is to leave again.
    fn pulse_at(&self, core: &Core, link: &Link) -> Duration {
        let quality = &link.quality;
        let pulse = quality.pulse(core.now);
        let wait = match quality.copies <= 1 || quality.is_short(core.now) {
            true => pulse,
            false => pulse.min(PULSE),
        };
        quality.all_sent.map_or(core.now, |at| at + wait)
    }

    fn send_packets(&mut self, core: &mut Core, id: LinkId, member: usize) {
        let link = &core.links[&id];
        let all = !link.quality.is_short(core.now) || self.pulse_at(core, link) <= core.now;
        let lacking = self.lacking(core, member, link, all);
        let batches: Vec<(TurnNumber, SignedBatch)> = lacking
            .map(|held| (held.batch.turn, held.signed.clone()))
            .collect();
        let heard = self.heard(core);
        let head = TurnPacket::head_len(self.members.len());
        let mut batches = batches.into_iter().peekable();
        for _ in 0..PACKETS_AT_ONCE {
            let mut room = MAX_DATAGRAM - head;
            let mut packet = TurnPacket {
                heard,
                epoch: self.epochs.epoch(),
                ..TurnPacket::default()
            };
            let mut turns = Vec::new();
            while let Some((turn, batch)) =
                batches.next_if(|(_, batch)| batch.encoded_len() <= room)
            {
                room -= batch.encoded_len();
                turns.push((usize::from(batch.peer), turn));
                packet.batches.push(batch);
            }
            packet.held = self
                .members
                .iter()
                .map(|member| TurnNumber(member.held))
                .collect();
            let link = core.links.get_mut(&id).expect("the link was just seen");
            if !link.quality.allows(core.now, MAX_DATAGRAM - room) {
                // The pulse comes again; what it may send has grown by then. So does the acknowledgement, or its
                // time, long past, would be the session's deadline for as long as nothing may leave.
                link.quality.last_sent = Some(core.now);
                link.quality.all_sent = Some(core.now);
                link.quality.acknowledge_by = link
                    .quality
                    .acknowledge_by
                    .map(|by| by.max(core.now + PULSE));
                return;
            }
            packet.sequence = link.quality.sequence;
            packet.echo = link.quality.echo(core.now);
            packet.missing = link.quality.missing();
            let bytes = core.send_datagram(id, &Datagram::Turns(packet));
            assert!(bytes <= MAX_DATAGRAM, "a turn packet fits a datagram");
            let link = core.links.get_mut(&id).expect("the link was just seen");
            link.quality.sent(core.now, bytes);
            for (at, turn) in turns {
                link.quality.note_sent(at, turn, self.members.len());
            }
            if batches.peek().is_none() {
                break;
            }
        }
        let link = core.links.get_mut(&id).expect("the link was just seen");
        link.quality.copies = link.quality.copies.saturating_add(1);
        if all {
            link.quality.all_sent = Some(core.now);
        }
    }

    /// The batches that the member at the other end lacks and that this side should send, own ones first, each
    /// peer's oldest first: all of them, or those that have never left on this link.
    fn lacking<'a>(
        &'a self,
        core: &'a Core,
        to: usize,
        link: &'a Link,
        all: bool,
    ) -> impl Iterator<Item = &'a Held> {
        let first = move |at: usize, from: u32| match all {
            true => from,
            false => from.max(link.quality.sent_until(at)),
        };
        let held = link.quality.held.get(self.me);
        let from = held.map_or(0, |held| held.0);
        let own = self.batches_from(self.me, first(self.me, from), None);
        let others = (0..self.members.len())
            .filter(move |at| *at != self.me && *at != to)
            .filter_map(move |at| Some((at, link.quality.held.get(at)?.0)))
            .filter(move |(at, held)| *held < self.members[*at].held)
            .flat_map(move |(at, held)| {
                let at_once = self.epochs.is_changing() || self.forwards_at_once(core, at, link);
                let before = match at_once {
                    true => None,
                    false => Some(core.now.saturating_sub(self.grace(link))),
                };
                self.batches_from(at, first(at, held), before)
            });
        own.chain(others)
    }

    /// The batches of one peer from a turn on, as long as they arrived no later than `before`.
    fn batches_from(
        &self,
        at: usize,
        from: u32,
        before: Option<Duration>,
    ) -> impl Iterator<Item = &Held> {
        let member = &self.members[at];
        member
            .held_from(from)
            .take_while(move |held| before.is_none_or(|before| held.arrived <= before))
    }

    /// When a batch that the other end lacks, and that never left on this link, has waited long enough for the direct
    /// way.
    fn next_grace(&self, core: &Core, to: usize, link: &Link) -> Option<Duration> {
        let grace = self.grace(link);
        let others = (0..self.members.len()).filter(|at| *at != self.me && *at != to);
        others
            .filter_map(|at| {
                let from = link.quality.held.get(at)?.0;
                let member = &self.members[at];
                if from >= member.held {
                    return None;
                }
                let from = from.max(link.quality.sent_until(at));
                let held = member.held_from(from).next()?;
                let at_once = self.epochs.is_changing() || self.forwards_at_once(core, at, link);
                Some(if at_once {
                    core.now
                } else {
                    held.arrived + grace
                })
            })
            .min()
    }

    /// How long a batch may take the direct way before others forward it: until an acknowledgement should be here.
    fn grace(&self, link: &Link) -> Duration {
        let rtt = link.quality.rtt.unwrap_or(Duration::from_millis(200));
        self.course.plan.turn() + rtt + Duration::from_millis(30)
    }

    /// Whether this peer is the one that forwards `from`'s batches over `link` without waiting: the other end does
    /// not hear `from`, and no earlier peer is in a place to forward.
    fn forwards_at_once(&self, core: &Core, from: usize, link: &Link) -> bool {
        if link.quality.held.is_empty() || link.quality.heard & bit(from) != 0 {
            return false;
        }
        let earlier = (0..self.me).filter(|at| *at != from && link.quality.heard & bit(*at) != 0);
        let mut in_place = earlier.filter(|at| {
            core.links_to(self.members[*at].peer.peer)
                .any(|other| other.quality.heard & bit(from) != 0)
        });
        in_place.next().is_none()
    }

    /// Who was last heard longer ago is not said to be heard.
    fn heard_window(&self) -> Duration {
        Duration::from_millis(500).max(self.course.plan.turn() * 5 / 2)
    }

    /// The members heard directly of late.
    fn heard(&self, core: &Core) -> u16 {
        let window = self.heard_window();
        let mut heard = bit(self.me);
        for link in core.links.values() {
            let lately = link.quality.last_sent.is_some() && link.heard_at + window > core.now;
            if let Some(at) = self.leads_to(link).filter(|_| lately) {
                heard |= bit(at);
            }
        }
        heard
    }

    /// The members in reach: a link to them carries both ways, or such links lead to two others that hear them. One alone
    /// may say so to keep this peer from them.
    pub(super) fn in_reach(&self, core: &Core) -> Peers {
        let window = self.heard_window();
        let links = core.links.values().filter_map(|link| {
            let carries =
                link.heard_at + window > core.now && link.quality.heard & bit(self.me) != 0;
            let member = self.member_at(link)?;
            carries.then_some((member, link.quality.heard))
        });
        // By place: of several links to one any.
        let links: BTreeMap<usize, u16> = links.collect();
        let by_others = |at: usize| {
            let hear = links
                .iter()
                .filter(|(by, heard)| **by != at && **heard & bit(at) != 0);
            hear.count() >= 2
        };
        self.places(|at| links.contains_key(&at) || by_others(at))
    }

    /// Members that batches are still needed from or by, that may be coming back, or that may not know that they are out,
    /// and that no link leads to which was heard of late. Who comes back says nothing on a link on which it does not ask.
    fn lost_peers<'a>(&'a self, core: &'a Core, newest: &'a Newest) -> impl Iterator<Item = usize> {
        (0..self.members.len()).filter(move |at| {
            let member = &self.members[*at];
            let outside = !self.epochs.has(*at);
            let speaks = !outside || member.returns.as_ref().is_some_and(|returns| returns.asks);
            *at != self.me
                && member.found_at(outside, core.now).next().is_some()
                && newest[*at].is_none_or(|(heard_at, _)| speaks && heard_at + SILENCE <= core.now)
        })
    }

    /// When the next link falls silent for so long that its peer is dialled anew.
    fn silence_deadline(&self, core: &Core) -> Option<Duration> {
        let links = core
            .links
            .values()
            .filter(|link| link.heard_at + SILENCE > core.now);
        links.map(|link| link.heard_at + SILENCE).min()
    }

    pub(super) fn dial_lost_peers(&mut self, core: &mut Core) {
        if self.ending.desynced() {
            return;
        }
        let lost: Vec<usize> = self.lost_peers(core, &self.newest_links(core)).collect();
        for at in lost {
            let outside = !self.epochs.has(at);
            let member = &mut self.members[at];
            if member.next_dial > core.now {
                continue;
            }
            member.next_dial = core.now + DIAL_EVERY;
            let found_at: Vec<&String> = member.found_at(outside, core.now).collect();
            let address = found_at[member.dials % found_at.len()].clone();
            member.dials += 1;
            core.out.push(Output::Dial {
                address,
                key: member.peer.peer,
            });
        }
    }

    /// Closes all but the newest of several links to one member, once it carries. The peer with the lower index does.
    pub(crate) fn close_doubles(&mut self, core: &mut Core, proved: LinkId) {
        let Some(member) = self.member_of(core, proved) else {
            return;
        };
        if member < self.me {
            return;
        }
        let peer = self.members[member].peer.peer;
        let older: Vec<LinkId> = core
            .links_to(peer)
            .map(|link| link.id)
            .filter(|id| *id != proved)
            .collect();
        for id in older {
            core.close(id);
        }
    }
}

fn bit(at: usize) -> u16 {
    1u16.checked_shl(at as u32).unwrap_or(0)
}
