//! Turn packets: what leaves on which link, and when.

use super::Player;
use crate::limits::MAX_PEERS;
use crate::log::{Peers, SignedBatch};
use crate::session::Output;
use crate::session::core::Core;
use crate::session::facts::{Topic, Version};
use crate::session::ledger::Held;
use crate::session::links::copies::{ACKNOWLEDGE_WITHIN, Measured, RIDES_ALONG};
use crate::session::links::link::{Link, PULSE};
use crate::session::timers::{Timer, Timers};
use crate::session::wire::{Control, Datagram, TurnPacket};
use crate::{LinkId, MAX_DATAGRAM, TurnNumber};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Something is sent on every link at least this often: batches are, with usual plans.
const SIGN_OF_LIFE: Duration = Duration::from_millis(250);
/// Packets that leave at once on one link.
const PACKETS_AT_ONCE: usize = 4;
/// A peer that was not heard for so long is dialled anew: its address may have changed, or ours.
const SILENCE: Duration = Duration::from_secs(1);
/// A link on which nothing was heard for so long, although its peer tells that it lives, carried nothing.
const SILENT: Duration = Duration::from_millis(400);
/// How late clocks and threads may be before a batch is forwarded.
const FORWARD_MARGIN: Duration = Duration::from_millis(30);
/// Links to strangers that have proved that they are no peer of the match: they may ask, and are told so.
const UNKNOWN: usize = 8;
/// Links to one peer of the match beside its newest, where closing them is left to that peer. Dials of both ends cross, and
/// a peer that comes back may not know which of its links stand.
const OLDER: usize = 3;

/// What the links of a moment lead to, by place in the roster.
#[derive(Default)]
struct Reach {
    /// The link to that peer that was heard last, and when.
    newest: [Option<(Duration, LinkId)>; MAX_PEERS],
    /// The peers that it tells to hear, on any of its links.
    hears: [u16; MAX_PEERS],
}

impl Player {
    pub(super) fn receive_packet(&mut self, core: &mut Core, id: LinkId, packet: TurnPacket) {
        let now = core.now;
        let Some(link) = core.links.get_mut(&id) else {
            return;
        };
        let is_back = link.heard_at + SILENT <= now;
        link.heard_at = now;
        link.epoch = link.epoch.max(Some(packet.epoch));
        let fresh = link.quality.received(now, &packet);
        if let Some(held) = link.quality.held.get(self.ledger.places.me()) {
            link.quality.copies.acknowledged(held.0);
        }
        if !fresh {
            return;
        }
        if self.uplink.is_due(now) {
            let reach = self.reach(core);
            let links = self.best_links(core, &reach);
            let carry = links.map(|(link, _)| link.quality.trips.carried());
            let carry: Vec<Option<u64>> = carry.collect();
            self.uplink.look(now, &carry);
        }
        let measured = self.measured(core, &core.links[&id]);
        let quality = &mut core.links.get_mut(&id).expect("it was just seen").quality;
        if is_back {
            quality.returned(now, &measured);
        } else if packet.lacks {
            quality.copies.lacking(now, &measured);
        }
        // The other end may have heard it a while ago.
        let heard_at = now.saturating_sub(self.heard_window());
        for at in (0..self.ledger.places.len()).filter(|at| packet.heard & bit(*at) != 0) {
            self.membership.note_heard(at, heard_at);
        }
        let waits = packet.acknowledge && !packet.batches.is_empty();
        let from: Peers = packet.batches.iter().map(|batch| batch.peer).collect();
        for (batch, is_copy) in packet.batches.into_iter().zip(packet.copies) {
            self.receive_batch(core, id, batch, is_copy);
        }
        if let Some(link) = core.links.get_mut(&id).filter(|_| waits)
            && (from.iter().any(|at| self.is_news(link, usize::from(at)))
                || link.quality.may_have_lost_an_answer(now))
        {
            let by = now + ACKNOWLEDGE_WITHIN;
            let earlier = link.quality.acknowledge_by;
            link.quality.acknowledge_by = Some(earlier.map_or(by, |earlier| earlier.min(by)));
        }
    }

    /// Whether the other end of a link was never told on it what this peer holds of a peer's batches.
    fn is_news(&self, link: &Link, at: usize) -> bool {
        at < self.ledger.places.len() && link.quality.told_of(at) < self.ledger.batches.held(at)
    }

    /// The host may be lost while it tells all that the match has begun: a peer that waits, and has heard nothing from one
    /// that sends turns, shows it that all have signed the start.
    pub(super) fn forward_start(&self, core: &mut Core) {
        if !self.turns.is_stall_told() || self.membership.epoch() > 0 {
            return;
        }
        let signatures = self.ledger.places.start().signatures.iter().copied();
        let go = Control::Go {
            attempt: 0,
            signatures: signatures.map(Into::into).collect(),
            begin_ms: 0,
        };
        for id in core.links.keys().copied().collect::<Vec<_>>() {
            let member = self.member_of(core, id).is_some();
            let link = core.links.get_mut(&id);
            let lacks = |link: &&mut Link| {
                let lacks = link.board.lacks(Topic::Start, Version::Only);
                member && link.epoch.is_none() && lacks
            };
            if let Some(link) = link.filter(lacks) {
                link.board.note(Topic::Start, Version::Only);
                core.send(id, &go);
            }
        }
    }

    /// The peer of the match that a link leads to, as the run in force of its process.
    pub(super) fn member_of(&self, core: &Core, link: LinkId) -> Option<usize> {
        self.member_at(core.links.get(&link)?)
    }

    pub(super) fn member_at(&self, link: &Link) -> Option<usize> {
        let (_, run) = link.proved?;
        let at = self.leads_to(link)?;
        self.ledger.places.is_current(at, run).then_some(at)
    }

    /// The other voter that a link leads to.
    pub(super) fn voter_of(&self, core: &Core, link: LinkId) -> Option<usize> {
        self.voter_at(core.links.get(&link)?)
    }

    pub(super) fn voter_at(&self, link: &Link) -> Option<usize> {
        let member = self.member_at(link);
        member.filter(|at| *at != self.ledger.places.me() && self.membership.has(*at))
    }

    /// Where the peer that a link leads to stands in the roster, whatever run of its process it is.
    pub(super) fn leads_to(&self, link: &Link) -> Option<usize> {
        let (peer, _) = link.proved?;
        link.place.or_else(|| self.ledger.places.of(peer))
    }

    /// Whether a link leads to a peer of the match, which may come back as another run of its process.
    pub(super) fn may_come_back(&self, core: &Core, link: LinkId) -> bool {
        let proved = core.links.get(&link).and_then(|link| link.proved);
        proved.is_some_and(|(peer, _)| self.ledger.places.of(peer).is_some())
    }

    /// The peer whose earlier run a link leads to.
    pub(super) fn past_member(&self, core: &Core, link: LinkId) -> Option<usize> {
        self.past_member_at(core.links.get(&link)?)
    }

    pub(super) fn past_member_at(&self, link: &Link) -> Option<usize> {
        let (_, run) = link.proved?;
        let at = self.leads_to(link)?;
        self.ledger.places.is_past(at, run).then_some(at)
    }

    /// Whether a link leads to a run of a peer of the match that has no part in it yet.
    pub(super) fn is_follower(&self, core: &Core, link: LinkId) -> bool {
        self.may_come_back(core, link)
            && self.member_of(core, link).is_none()
            && self.past_member(core, link).is_none()
    }

    /// A link that leads to no peer of the match may ask to join, and is told that it is too late; it may not stay. A link
    /// to a removed peer stays until that peer knows.
    pub(super) fn close_strangers(&self, core: &mut Core) {
        let began_at = self.membership.epoch_began_at();
        let stays = |link: &Link| {
            link.proved.is_none()
                || link.up_at + core.limits.handshake > core.now
                || self.may_come_back(core, link.id)
                || began_at + core.limits.handshake > core.now
        };
        let strangers = core.links.values().filter(|link| !stays(link));
        let strangers: Vec<LinkId> = strangers.map(|link| link.id).collect();
        strangers.into_iter().for_each(|link| core.close(link));
    }

    /// Closes all but the newest links that lead to no peer of the match.
    pub(super) fn close_unknown_links(&self, core: &mut Core) {
        let unknown = core.links.values().filter(|link| {
            let proved = link.proved;
            proved.is_some_and(|(peer, _)| self.ledger.places.of(peer).is_none())
        });
        let mut unknown: Vec<_> = unknown.map(|link| (link.up_at, link.id)).collect();
        unknown.sort_unstable();
        let most = unknown.len().saturating_sub(UNKNOWN);
        for (_, link) in &unknown[..most] {
            core.close(*link);
        }
    }

    /// Closes older links to the peer that has proved itself on this one. Of two members, the one with the lower index closes
    /// all of them, so that both do not close a link each. No other peer may keep more than a few.
    pub(super) fn close_older_links(&self, core: &mut Core, proved: LinkId) {
        let Some((peer, _)) = core.links.get(&proved).and_then(|link| link.proved) else {
            return;
        };
        let member = self.member_of(core, proved);
        let closes_all = member.is_some_and(|member| member > self.ledger.places.me());
        let older = core.links_to(peer).filter(|link| link.id != proved);
        // Those of the run in the roster go last.
        let older = older.map(|link| (self.member_at(link).is_some(), link.id));
        let older: BTreeSet<(bool, LinkId)> = older.collect();
        let most = match closes_all {
            true => older.len(),
            false => older.len().saturating_sub(OLDER),
        };
        let closed = older.iter().take(most);
        closed.for_each(|(_, link)| core.close(*link));
    }

    pub(super) fn send_what_is_due(&mut self, core: &mut Core) {
        self.uplink.settle(core.now);
        let fresh = std::mem::take(&mut self.fresh_batch);
        let was_short = self.uplink.is_short();
        let reach = self.reach(core);
        let soon = core.now + Duration::from_nanos(1);
        let (mut due, mut next) = (Vec::new(), Duration::MAX);
        for (link, member) in self.best_links(core, &reach) {
            let at = match fresh {
                true => Some(core.now),
                false => self.packet_due(core, &reach, member, link, next.max(soon)),
            };
            match at {
                Some(at) if at <= core.now => due.push((link.id, member)),
                later => next = later.unwrap_or(next),
            }
        }
        // No peer's batches wait for those of all others in each turn.
        let first = self.ledger.window.complete() as usize % due.len().max(1);
        due.rotate_left(first);
        for (id, member) in &due {
            self.send_packets(core, &reach, *id, *member);
        }
        self.uplink.settle(core.now);
        // A packet on one link changes nothing about the others, unless too little can be sent from now on.
        let all = self.uplink.is_short() != was_short;
        if all {
            next = Duration::MAX;
        }
        for (link, member) in self.best_links(core, &reach) {
            if all || due.iter().any(|(id, _)| *id == link.id) {
                let at = self.packet_due(core, &reach, member, link, next);
                next = at.unwrap_or(next);
            }
        }
        self.next_packet = Some(next).filter(|at| *at < Duration::MAX);
    }

    pub(super) fn traffic_timers(&self, core: &Core, timers: &mut Timers) {
        let reach = self.reach(core);
        #[cfg(test)]
        self.assert_in_time(core, &reach);
        timers.set(Timer::Packet, self.next_packet);
        // No peer is dialled after a desync: a time for it would be one that no call ever meets.
        if !self.ending.is_desynced() {
            let lost = self.lost_peers(core, &reach);
            timers.set(Timer::Dial, lost.map(|at| self.dialling.next_at(at)));
            let silent_at = core.links.values().map(|link| link.heard_at + SILENCE);
            timers.set(Timer::Silence, silent_at.filter(|at| *at > core.now));
        }
    }

    /// Fails where a packet is due before the timer of packets.
    #[cfg(test)]
    fn assert_in_time(&self, core: &Core, reach: &Reach) {
        let last = Duration::MAX;
        let links = self.best_links(core, reach);
        let due = links.filter_map(|(link, at)| self.packet_due(core, reach, at, link, last));
        let (due, timer) = (due.min().unwrap_or(last), self.next_packet.unwrap_or(last));
        assert!(
            timer <= due,
            "a packet is due at {due:?}, the timer at {timer:?}"
        );
    }

    /// The links that carry turns, with the peers of the roster that they lead to: of several links to one only that which
    /// was heard last.
    fn best_links<'a>(
        &'a self,
        core: &'a Core,
        reach: &'a Reach,
    ) -> impl Iterator<Item = (&'a Link, usize)> {
        core.links.values().filter_map(|link| {
            let at = self.voter_at(link)?;
            let is_best = reach.newest[at].is_some_and(|(_, newest)| newest == link.id);
            is_best.then_some((link, at))
        })
    }

    fn reach(&self, core: &Core) -> Reach {
        let mut reach = Reach::default();
        for link in core.links.values() {
            if let Some(at) = self.leads_to(link) {
                let newest = &mut reach.newest[at];
                *newest = (*newest).max(Some((link.heard_at, link.id)));
                reach.hears[at] |= link.quality.heard;
            }
        }
        reach
    }

    /// When the next packet to `member` is due on `link`, if that is `before` this time. Batches are searched only where
    /// they may make it due earlier.
    fn packet_due(
        &self,
        core: &Core,
        reach: &Reach,
        member: usize,
        link: &Link,
        before: Duration,
    ) -> Option<Duration> {
        let quality = &link.quality;
        let Some(last_sent) = quality.last_sent else {
            return Some(core.now).filter(|at| *at < before);
        };
        let mut due = before.min(last_sent + SIGN_OF_LIFE);
        due = quality.acknowledge_by.map_or(due, |by| due.min(by));
        let measured = self.measured(core, link);
        if let Some((_, at)) = self.next_question(member, link, &measured) {
            due = due.min(at.max(quality.blocked_until));
        }
        let needed_within = self.turns.needed_within(member, measured.rtt / 2);
        due = self.own_lacking(link).fold(due, |due, held| {
            let next = next_copy(link, held, needed_within, &measured);
            due.min(next.unwrap_or_default().max(quality.blocked_until))
        });
        // Forwarding begins when the direct way has had its time.
        let from = quality.blocked_until.max(last_sent + PULSE);
        if from < due {
            let forward = self.next_forward(reach, member, link, &measured);
            due = forward.map_or(due, |at| due.min(at.max(from)));
        }
        (due < before).then_some(due)
    }

    fn measured(&self, core: &Core, link: &Link) -> Measured {
        let mut measured = link.quality.measured(core.now, self.turns.plan().turn());
        measured.is_short |= self.uplink.is_short();
        measured
    }

    /// The turn of the batch that a member owes, and when it is to be asked for it on a link.
    fn next_question(
        &self,
        member: usize,
        link: &Link,
        measured: &Measured,
    ) -> Option<(u32, Duration)> {
        let (turn, expected) = self
            .turns
            .expected(member, measured.rtt / 2, &self.ledger)?;
        Some((turn, link.quality.asking.next(turn, expected, measured)))
    }

    fn send_packets(&mut self, core: &mut Core, reach: &Reach, id: LinkId, member: usize) {
        let link = &core.links[&id];
        let measured = self.measured(core, link);
        let soon = core.now + RIDES_ALONG;
        let question = self.next_question(member, link, &measured);
        let mut question = question.filter(|(_, at)| *at <= core.now).map(|of| of.0);
        let is_unknown = link.quality.rtt.is_none();
        let copies = &link.quality.copies;
        let has_news = self
            .own_lacking(link)
            .any(|held| !copies.holds(held.batch.turn.0));
        let needed_within = self.turns.needed_within(member, measured.rtt / 2);
        let own = self.own_lacking(link).filter(|held| {
            let next = next_copy(link, held, needed_within, &measured);
            let turn = held.batch.turn.0;
            next.is_none_or(|at| at <= soon)
                || has_news && copies.rides_along(turn, core.now, &measured)
        });
        let others = self.others_lacking(core, reach, member, link, &measured);
        let lacking = own.chain(others);
        let batches: Vec<(TurnNumber, SignedBatch)> = lacking
            .map(|held| (held.batch.turn, held.signed.clone()))
            .collect();
        let heard = self.heard(core);
        let head = TurnPacket::head_len(self.ledger.places.len());
        let me = self.ledger.places.me();
        // No batch follows the last one, with which it would be acknowledged.
        let leaves = self.ledger.batches.leaves(me);
        let mut batches = batches.into_iter().peekable();
        for _ in 0..PACKETS_AT_ONCE {
            let mut room = MAX_DATAGRAM - head;
            let mut packet = TurnPacket {
                heard,
                epoch: self.membership.epoch(),
                lacks: question.is_some(),
                ..TurnPacket::default()
            };
            let mut turns = Vec::new();
            while let Some((turn, batch)) =
                batches.next_if(|(_, batch)| batch.encoded_len() <= room)
            {
                room -= batch.encoded_len();
                let at = usize::from(batch.peer);
                turns.push((at, turn));
                let copies = &core.links[&id].quality.copies;
                packet.copies.push(at != me || copies.holds(turn.0));
                let waits = at != me || copies.waits(turn.0, core.now, &measured);
                packet.acknowledge |= waits || is_unknown || leaves == Some(turn.0);
                packet.batches.push(batch);
            }
            let waits = packet.acknowledge;
            packet.held = self.ledger.batches.all_until().map(TurnNumber).collect();
            let link = core.links.get_mut(&id).expect("the link was just seen");
            if !link.quality.allows(core.now, MAX_DATAGRAM - room) {
                // The pulse comes again; what it may send has grown by then. So does the acknowledgement, or its
                // time, long past, would be the session's deadline for as long as nothing may leave.
                let quality = &mut link.quality;
                quality.last_sent = Some(core.now);
                quality.blocked_until = core.now + PULSE;
                let by = quality.acknowledge_by;
                quality.acknowledge_by = by.map(|by| by.max(quality.blocked_until));
                return;
            }
            packet.sequence = link.quality.sequence;
            packet.echo = link.quality.echo(core.now);
            packet.missing = link.quality.missing();
            let told = packet.held.clone();
            let bytes = core.send_datagram(id, &Datagram::Turns(packet));
            assert!(bytes <= MAX_DATAGRAM, "a turn packet fits a datagram");
            let link = core.links.get_mut(&id).expect("the link was just seen");
            link.quality.sent(core.now, bytes, &mut self.uplink);
            link.quality.told = told;
            if let Some(turn) = question.take() {
                link.quality.asking.left(turn, core.now);
            }
            for (at, turn) in turns {
                if at == me {
                    link.quality.copies.left(turn.0, core.now, waits);
                }
                link.quality
                    .note_sent(at, turn, self.ledger.places.len(), core.now);
            }
            if batches.peek().is_none() {
                return;
            }
        }
        let link = core.links.get_mut(&id).expect("the link was just seen");
        link.quality.blocked_until = core.now + PULSE;
    }

    /// The own batches that the other end of a link lacks, the oldest first.
    fn own_lacking<'a>(&'a self, link: &'a Link) -> impl Iterator<Item = &'a Held> {
        let me = self.ledger.places.me();
        let from = link.quality.held.get(me).map_or(0, |held| held.0);
        self.ledger.batches.held_from(me, from)
    }

    /// The batches of others that the member at the other end lacks and that this side should send, each peer's oldest
    /// first: those that have never left on this link, and all where an acknowledgement should have come.
    fn others_lacking<'a>(
        &'a self,
        core: &'a Core,
        reach: &'a Reach,
        to: usize,
        link: &'a Link,
        measured: &'a Measured,
    ) -> impl Iterator<Item = &'a Held> {
        let quality = &link.quality;
        self.lacking(to, link).flat_map(move |(at, held)| {
            let first = match quality.passed_again_at(at, measured) <= core.now {
                true => held,
                false => held.max(quality.sent_until(at)),
            };
            let grace = self.grace(reach, at, link);
            let batches = self.ledger.batches.held_from(at, first);
            batches.filter(move |held| self.graced(link, held, grace) <= core.now)
        })
    }

    /// The member at the other end of a link lacks batches of these other peers, from these turns on.
    fn lacking<'a>(
        &'a self,
        to: usize,
        link: &'a Link,
    ) -> impl Iterator<Item = (usize, u32)> + use<'a> {
        let me = self.ledger.places.me();
        let others = (0..self.ledger.places.len()).filter(move |at| *at != me && *at != to);
        let held = others.filter_map(|at| Some((at, link.quality.held.get(at)?.0)));
        held.filter(|(at, held)| *held < self.ledger.batches.held(*at))
    }

    /// When a batch of another peer that the other end lacks is to leave: it has waited long enough for the direct way, or,
    /// where it has left before, for an acknowledgement.
    fn next_forward(
        &self,
        reach: &Reach,
        to: usize,
        link: &Link,
        measured: &Measured,
    ) -> Option<Duration> {
        let quality = &link.quality;
        let due = self.lacking(to, link).flat_map(|(at, from)| {
            let grace = self.grace(reach, at, link);
            let first = |from| self.ledger.batches.held_from(at, from).next();
            let graced = move |held: &Held| self.graced(link, held, grace);
            let until = quality.sent_until(at);
            let again = first(from).filter(|_| from < until);
            let again = again.map(|held| graced(held).max(quality.passed_again_at(at, measured)));
            first(from.max(until)).map(graced).into_iter().chain(again)
        });
        due.min()
    }

    /// When a batch is forwarded that this grace is for. The other end is to tell, after it should have come, that it lacks
    /// it. What tells that may be lost, twice.
    fn graced(&self, link: &Link, held: &Held, grace: Option<Duration>) -> Duration {
        let Some(grace) = grace else {
            return held.arrived;
        };
        let rtt = link.quality.rtt.unwrap_or(Duration::from_millis(200));
        let told_at = link.quality.told_at();
        let has_told = told_at.is_some_and(|at| held.arrived + rtt / 2 + FORWARD_MARGIN <= at);
        let turns = if has_told { 1 } else { 3 };
        held.arrived + self.turns.plan().turn() * turns + rtt + FORWARD_MARGIN + grace
    }

    /// How much longer `from`'s batches may take the direct way before this peer forwards them over `link`: a turn for each
    /// earlier peer in a place to forward, with which the other end tells that they have come. `None`: it forwards them at
    /// once, as the other end had no quicker way to the last one, or does not hear `from` and there is no such peer.
    fn grace(&self, reach: &Reach, from: usize, link: &Link) -> Option<Duration> {
        let quality = &link.quality;
        if self.membership.is_changing() || quality.is_needed_for(from) {
            return None;
        }
        let earlier =
            (0..self.ledger.places.me()).filter(|at| *at != from && quality.heard & bit(*at) != 0);
        let in_place = earlier.filter(|at| reach.hears[*at] & bit(from) != 0);
        let in_place = in_place.count() as u32;
        let hears = quality.held.is_empty() || quality.heard & bit(from) != 0;
        (hears || in_place > 0).then(|| self.turns.plan().turn() * in_place)
    }

    /// A peer that was last heard longer ago is not said to be heard.
    fn heard_window(&self) -> Duration {
        Duration::from_millis(500).max(self.turns.plan().turn() * 5 / 2)
    }

    /// The members heard directly of late.
    fn heard(&self, core: &Core) -> u16 {
        let window = self.heard_window();
        let mut heard = bit(self.ledger.places.me());
        for link in core.links.values() {
            let lately = link.quality.last_sent.is_some() && link.heard_at + window > core.now;
            if let Some(at) = self.leads_to(link).filter(|_| lately) {
                heard |= bit(at);
            }
        }
        heard
    }

    /// The members in reach, by what was heard on links lately.
    pub(super) fn in_reach(&self, core: &Core) -> Peers {
        let window = self.heard_window();
        let lately = core.links.values();
        let lately = lately.filter(|link| link.heard_at + window > core.now);
        let mut heard: BTreeMap<usize, u16> = BTreeMap::new();
        for link in lately {
            if let Some(member) = self.member_at(link) {
                *heard.entry(member).or_default() |= link.quality.heard;
            }
        }
        reached(
            &heard,
            self.ledger.places.me(),
            self.membership.voters().members(),
        )
    }

    /// Members that batches are still needed from or by, that may be coming back, or that may not know that they are out,
    /// and that no link leads to which was heard of late. A joiner says nothing on a link on which it does not ask.
    fn lost_peers<'a>(&'a self, core: &'a Core, reach: &'a Reach) -> impl Iterator<Item = usize> {
        (0..self.ledger.places.len()).filter(move |at| {
            let outside = !self.membership.has(*at);
            let speaks = self.dialling.speaks(*at, outside);
            *at != self.ledger.places.me()
                && self.dialling.is_wanted(*at, outside, core.now)
                && reach.newest[*at]
                    .is_none_or(|(heard_at, _)| speaks && heard_at + SILENCE <= core.now)
        })
    }

    pub(super) fn dial_lost_peers(&mut self, core: &mut Core) {
        if self.ending.is_desynced() {
            return;
        }
        let lost: Vec<usize> = self.lost_peers(core, &self.reach(core)).collect();
        for at in lost {
            let outside = !self.membership.has(at);
            let Some(address) = self.dialling.dial(at, outside, core.now) else {
                continue;
            };
            core.out.push(Output::Dial {
                address,
                key: self.ledger.places.key(at),
            });
        }
    }
}

/// When the next copy of an own batch leaves on a link, if it has left there; the other end needs it this long after it was
/// sealed.
fn next_copy(
    link: &Link,
    held: &Held,
    needed_within: Duration,
    measured: &Measured,
) -> Option<Duration> {
    let needed = held.arrived + needed_within;
    let turn = held.batch.turn.0;
    link.quality.copies.next(turn, needed, measured)
}

/// The voters in reach, where the members on links hear these members: a link carries both ways, or two members with such
/// links hear the voter, and it hears them as far as it says. One member alone may lie to keep this peer from it.
fn reached(heard: &BTreeMap<usize, u16>, me: usize, voters: Peers) -> Peers {
    let hears = |at: usize, other: usize| heard.get(&at).map(|of| of & bit(other) != 0);
    let hears_me = |at: usize| hears(at, me) == Some(true);
    let by_others = |at: usize| {
        let between = heard
            .keys()
            .filter(|by| **by != at && hears_me(**by) && hears(**by, at) == Some(true));
        // Links may carry one way alone.
        between.filter(|by| hears(at, **by) != Some(false)).count() >= 2
    };
    let is_reached = |at: &u8| hears_me(usize::from(*at)) || by_others(usize::from(*at));
    voters.iter().filter(is_reached).collect()
}

fn bit(at: usize) -> u16 {
    1u16.checked_shl(at as u32).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_reached_by_two_others_whose_links_carry_both_ways() {
        // The members 1 and 2 hear this one, 0, and both say that they hear 3.
        let both = BTreeMap::from([(1, 0b1111), (2, 0b1111)]);
        let voters = Peers(0b1110);
        assert_eq!(reached(&both, 0, voters), Peers(0b1110));
        for (three, is_reached) in [(0b1110, true), (0b1010, false), (0b1001, true)] {
            let mut heard = both.clone();
            heard.insert(3, three);
            assert_eq!(
                reached(&heard, 0, voters).contains(3),
                is_reached,
                "{three:b}"
            );
        }
        let one = BTreeMap::from([(1, 0b1111)]);
        assert_eq!(reached(&one, 0, voters), Peers(0b0010), "one alone may lie");
    }
}
