//! Links of a run: dialling, carrying, breaking.

use super::network::{End, Fate, Node};
use super::schedule::Happening;
use super::{Playable, Simulator, live_end};
use crate::random::Stream;
use lockstep::session::Input;
use lockstep::{Channel, LinkError, LinkId, PeerId};
use std::time::Duration;

/// A dial under way.
#[derive(Clone, Debug)]
pub struct Dial {
    pub(super) from: Node,
    address: String,
    key: PeerId,
    tries: u32,
}

/// Silence after which a transport gives a link up.
pub(super) const IDLE: Duration = Duration::from_secs(10);

/// Attempts of a dial, one a second.
const TRIES: u32 = 10;

/// The address of a node that has moved so often.
pub fn address(node: Node, moves: u32) -> String {
    format!("peer{node}.{moves}")
}

fn node_at(address: &str) -> Option<(Node, u32)> {
    let (node, moves) = address.strip_prefix("peer")?.split_once('.')?;
    Some((node.parse().ok()?, moves.parse().ok()?))
}

impl<W: Playable> Simulator<W> {
    pub(super) fn dial(&mut self, from: Node, address: String, key: PeerId) {
        self.try_dial(Dial {
            from,
            address,
            key,
            tries: 0,
        });
    }

    pub(super) fn try_dial(&mut self, mut dial: Dial) {
        let known = node_at(&dial.address).filter(|(to, _)| *to < self.peers.len());
        let Some((to, moves)) = known else {
            let failed = Happening::DialFailed(dial, LinkError::Address);
            return self.schedule.add(self.now, failed);
        };
        if let Some(quic) = &mut self.quic {
            return quic.dial(self.now, dial.from, (to, moves), dial.address, dial.key);
        }
        let answers = to != dial.from && self.is_awake(to) && moves == self.peers[to].moves;
        let handshake = match answers {
            true => self.network.handshake(dial.from, to),
            false => None,
        };
        let Some(takes) = handshake else {
            dial.tries += 1;
            let again = match dial.tries < TRIES {
                true => Happening::Dial(dial),
                false => Happening::DialFailed(dial, LinkError::Unanswered),
            };
            return self.schedule.add(self.now + Duration::from_secs(1), again);
        };
        if self.ids[to] != dial.key {
            let failed = Happening::DialFailed(dial, LinkError::WrongKey);
            return self.schedule.add(self.now + takes[0], failed);
        }
        let up_at = takes.map(|takes| self.now + takes);
        let link = self.network.link(dial.from, to, up_at);
        for (side, at) in up_at.into_iter().enumerate() {
            self.schedule.add(at, Happening::Up(End { link, side }));
        }
    }

    pub(super) fn fail_dial(&mut self, dial: Dial, why: LinkError) {
        if dial.from < self.peers.len() {
            let Dial { address, key, .. } = dial;
            self.feed(dial.from, Input::DialFailed { address, key, why });
        }
    }

    pub(super) fn come_up(&mut self, end: End) {
        let (node, link) = self.network.at(end);
        let (other, _) = self.network.at(end.other());
        if node < self.peers.len() && !self.is_awake(node) {
            let closed = Happening::Down(end.other(), LinkError::Closed);
            return self
                .schedule
                .add(self.now + Duration::from_millis(50), closed);
        }
        self.network.set_up(end, true);
        if node >= self.peers.len() {
            return;
        }
        let known = self
            .ids
            .get(other)
            .copied()
            .filter(|_| end.side == 0 || self.scenario.transport_knows);
        let binding = Stream::new(self.scenario.seed, "binding", end.link as u64).array();
        self.feed(
            node,
            Input::LinkUp {
                link,
                peer: known,
                dialled: end.side == 0,
                address: self.address(other),
                binding,
            },
        );
    }

    pub(super) fn go_down(&mut self, end: End, why: LinkError) {
        if !self.network.set_up(end, false) {
            return;
        }
        let (node, link) = self.network.at(end);
        if node < self.peers.len() {
            self.feed(node, Input::LinkDown { link, why });
        }
    }

    pub(super) fn send(&mut self, peer: usize, link: LinkId, channel: Channel, bytes: &[u8]) {
        let mut forged = None;
        if self.scenario.hostile.is_some() {
            let Some(to) = self.other_end(peer, link) else {
                return;
            };
            self.mischief.overhear(channel, bytes);
            if self.scenario.is_hostile(peer) {
                forged = self.forge(to, bytes);
            }
        }
        self.carry(peer, link, channel, forged.as_deref().unwrap_or(bytes));
    }

    /// Hands bytes to the network, by a link that is up.
    pub(super) fn carry(&mut self, node: Node, link: LinkId, channel: Channel, bytes: &[u8]) {
        if channel == Channel::Control
            && let Some(to) = self.other_end(node, link)
        {
            self.judge.sends(node, to, bytes);
        }
        if let Some(quic) = &mut self.quic {
            return quic.send(self.now, node, link, channel, bytes);
        }
        let Some(end) = live_end(&self.network, node, link) else {
            return;
        };
        if let Fate::Arrives(times) = self.network.send(self.now, end, channel, bytes) {
            for at in times {
                let arrive = Happening::Arrive(end.other(), channel, bytes.to_vec());
                self.schedule.add(at, arrive);
            }
        }
    }

    pub(super) fn arrive(&mut self, end: End, channel: Channel, bytes: &[u8]) {
        let (node, link) = self.network.at(end);
        if self.network.is_up(end) && node < self.peers.len() {
            let (from, _) = self.network.at(end.other());
            self.judge.hears(from, node, bytes);
            self.feed(
                node,
                Input::Received {
                    link,
                    channel,
                    bytes,
                },
            );
        }
    }

    /// The links that a node has.
    pub(super) fn links_of(&self, node: Node) -> Vec<LinkId> {
        match &self.quic {
            Some(quic) => quic.links(node),
            None => {
                let ends = self.network.ends_of(node).into_iter();
                ends.map(|end| self.network.at(end).1).collect()
            }
        }
    }

    /// The node at the other end of a link that is up.
    pub(super) fn other_end(&self, node: Node, link: LinkId) -> Option<Node> {
        match &self.quic {
            Some(quic) => quic.other_end(node, link),
            None => {
                let end = live_end(&self.network, node, link)?;
                Some(self.network.at(end.other()).0)
            }
        }
    }

    pub(super) fn close(&mut self, peer: usize, link: LinkId) {
        if let Some(quic) = &mut self.quic {
            return quic.close(self.now, peer, link);
        }
        let Some(end) = live_end(&self.network, peer, link) else {
            return;
        };
        self.network.set_up(end, false);
        let nodes = (self.network.at(end).0, self.network.at(end.other()).0);
        let takes = match self.network.is_dark(nodes.0, nodes.1) {
            true => IDLE,
            false => Duration::from_millis(30),
        };
        let at = self.network.drained(self.now, end) + takes;
        let closed = Happening::Down(end.other(), LinkError::Closed);
        self.schedule.add(at, closed);
    }

    /// A process ends.
    pub(super) fn close_all(&mut self, peer: usize) {
        if let Some(quic) = &mut self.quic {
            return quic.end(self.now, peer);
        }
        for end in self.network.ends_of(peer) {
            let (_, link) = self.network.at(end);
            self.close(peer, link);
        }
    }

    /// The links of a peer that has died: their other ends find out by silence.
    pub(super) fn fall_dead(&mut self, peer: usize) {
        if let Some(quic) = &mut self.quic {
            return quic.vanish(peer);
        }
        // What was lost on its way nobody sends again.
        for (at, end, channel, bytes) in self.schedule.take_messages() {
            let (from, to) = (self.network.at(end.other()).0, self.network.at(end).0);
            if from != peer || at <= self.now + self.network.longest_passage(from, to) {
                self.schedule
                    .add(at, Happening::Arrive(end, channel, bytes));
            }
        }
        for end in self.network.ends_of(peer) {
            self.network.drop_held(end.link);
            self.network.set_up(end, false);
            let silent = Happening::Down(end.other(), LinkError::TimedOut);
            self.schedule.add(self.now + IDLE, silent);
        }
    }

    pub(super) fn begin_cut(&mut self, cut: usize) {
        for (from, to) in self.scenario.cuts[cut].lanes.clone() {
            self.network.cut(self.now, from, to);
            let silent = Happening::Silent(from, to);
            self.schedule.add(self.now + IDLE, silent);
        }
    }

    pub(super) fn mend_cut(&mut self, cut: usize) {
        for (from, to) in self.scenario.cuts[cut].lanes.clone() {
            for (end, at, channel, bytes) in self.network.mend(self.now, from, to) {
                self.schedule
                    .add(at, Happening::Arrive(end, channel, bytes));
            }
            // A transport that gave the link up answers the next packet with a reset.
            for end in self.network.ends_fed_by(to, from) {
                if !self.network.is_up(end.other()) {
                    let closed = Happening::Down(end, LinkError::Closed);
                    self.schedule
                        .add(self.now + Duration::from_millis(200), closed);
                }
            }
        }
    }

    /// What was lost before the network healed is not waited for any longer than what is sent now.
    pub(super) fn hasten_messages(&mut self) {
        let messages = self.schedule.take_messages();
        self.network.forget_messages();
        for (at, end, channel, bytes) in messages {
            let at = self.network.hastened(self.now, end, channel, at);
            self.schedule
                .add(at, Happening::Arrive(end, channel, bytes));
        }
    }

    /// Where nothing came for so long, the receiver gives its links up; the sender hears nothing from then on.
    pub(super) fn fall_silent(&mut self, from: Node, to: Node) {
        let dark_since = self.network.dark_since(from, to);
        if dark_since.is_none_or(|since| since + IDLE > self.now) {
            return;
        }
        for end in self.network.ends_fed_by(from, to) {
            self.network.drop_held(end.link);
            // Not at once: who stands still finds out when it goes on.
            let down = Happening::Down(end, LinkError::TimedOut);
            self.schedule.add(self.now, down);
            let silent = Happening::Down(end.other(), LinkError::TimedOut);
            self.schedule.add(self.now + IDLE, silent);
        }
    }

    /// Where a node, or the stranger, can be dialled now.
    pub(super) fn address(&self, node: Node) -> String {
        let moves = self.peers.get(node).map_or(0, |peer| peer.moves);
        address(node, moves)
    }

    fn is_awake(&self, node: Node) -> bool {
        let peer = &self.peers[node];
        peer.session.is_some() && peer.begins_at <= self.now && peer.frozen.is_none()
    }
}
