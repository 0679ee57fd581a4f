//! Links of a run: dialling, carrying, breaking.

use super::event::Event;
use super::network::{End, Fate, Network, Node};
use super::{Playable, Simulator};
use crate::random::Stream;
use lockstep::session::Input;
use lockstep::{Channel, LinkError, LinkId, PeerId};
use std::time::Duration;

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

/// The address of a node after this many moves.
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
            let failed = Event::DialFailed(dial, LinkError::Address);
            return self.driver.schedule(self.now(), failed);
        };
        let now = self.now();
        if let Some(quic) = &mut self.quic {
            return quic.dial(now, dial.from, (to, moves), dial.address, dial.key);
        }
        let answers = to != dial.from && self.driver.is_awake(to) && moves == self.peers[to].moves;
        let handshake = match answers {
            true => self.network.handshake(dial.from, to),
            false => None,
        };
        let Some(takes) = handshake else {
            dial.tries += 1;
            let again = match dial.tries < TRIES {
                true => Event::Dial(dial),
                false => Event::DialFailed(dial, LinkError::Unanswered),
            };
            return self
                .driver
                .schedule(self.now() + Duration::from_secs(1), again);
        };
        if self.ids[to] != dial.key {
            let failed = Event::DialFailed(dial, LinkError::WrongKey);
            return self.driver.schedule(self.now() + takes[0], failed);
        }
        let up_at = takes.map(|takes| self.now() + takes);
        let link = self.network.link(dial.from, to, up_at);
        for (side, at) in up_at.into_iter().enumerate() {
            self.driver.schedule(at, Event::Up(End { link, side }));
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
        if node < self.peers.len() && !self.driver.is_awake(node) {
            let closed = Event::Down(end.other(), LinkError::Closed);
            return self
                .driver
                .schedule(self.now() + Duration::from_millis(50), closed);
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
        if !self.hostility.is_any() {
            return self.carry(peer, link, channel, bytes);
        }
        let Some(to) = self.other_end(peer, link) else {
            return;
        };
        self.hostility.sample_traffic(channel, bytes);
        if let Some((by, bytes)) = self.held_back(peer, channel, bytes) {
            let late = Event::Late(peer, link, bytes);
            return self.driver.schedule(self.now() + by, late);
        }
        if let Some(bytes) = self.tamper(peer, to, channel, bytes) {
            self.carry(peer, link, channel, &bytes);
        }
    }

    /// Hands bytes to the network, over a link that is up.
    pub(super) fn carry(&mut self, node: Node, link: LinkId, channel: Channel, bytes: &[u8]) {
        let now = self.now();
        if let Some(quic) = &mut self.quic {
            return quic.send(now, node, link, channel, bytes);
        }
        let Some(end) = live_end(&self.network, node, link) else {
            return;
        };
        if let Fate::Arrives(times) = self.network.send(self.now(), end, channel, bytes) {
            for at in times {
                let arrive = Event::Arrive(end.other(), channel, bytes.to_vec());
                self.driver.schedule(at, arrive);
            }
        }
    }

    pub(super) fn arrive(&mut self, end: End, channel: Channel, bytes: &[u8]) {
        let (node, link) = self.network.at(end);
        if self.network.is_up(end) && node < self.peers.len() {
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

    /// The links of a node.
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
        let now = self.now();
        if let Some(quic) = &mut self.quic {
            return quic.close(now, peer, link);
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
        let at = self.network.drained(self.now(), end) + takes;
        let closed = Event::Down(end.other(), LinkError::Closed);
        self.driver.schedule(at, closed);
    }

    /// Closes all links of a process that ends.
    pub(super) fn close_all(&mut self, peer: usize) {
        let now = self.now();
        if let Some(quic) = &mut self.quic {
            return quic.end(now, peer);
        }
        for end in self.network.ends_of(peer) {
            let (_, link) = self.network.at(end);
            self.close(peer, link);
        }
    }

    /// Drops the links of a dead peer: their other ends find out by silence.
    pub(super) fn drop_dead_links(&mut self, peer: usize) {
        if let Some(quic) = &mut self.quic {
            return quic.drop_process(peer);
        }
        // A dead process does not resend lost messages.
        let now = self.now();
        let is_message = |event: &Event| matches!(event, Event::Arrive(_, channel, _) if *channel != Channel::Turns);
        for (at, event) in self.driver.take_events(is_message) {
            let Event::Arrive(end, ..) = &event else {
                continue;
            };
            let (from, to) = (self.network.at(end.other()).0, self.network.at(*end).0);
            if from != peer || at <= now + self.network.longest_passage(from, to) {
                self.driver.schedule(at, event);
            }
        }
        for end in self.network.ends_of(peer) {
            self.network.drop_held(end.link);
            self.network.set_up(end, false);
            let silent = Event::Down(end.other(), LinkError::TimedOut);
            self.driver.schedule(self.now() + IDLE, silent);
        }
    }

    pub(super) fn begin_cut(&mut self, from: Node, to: Node) {
        self.network.cut(self.now(), from, to);
        let silent = Event::Silent(from, to);
        self.driver.schedule(self.now() + IDLE, silent);
    }

    pub(super) fn mend_cut(&mut self, from: Node, to: Node) {
        for (end, at, channel, bytes) in self.network.mend(self.now(), from, to) {
            self.driver.schedule(at, Event::Arrive(end, channel, bytes));
        }
        // A transport that gave the link up answers the next packet with a reset.
        for end in self.network.ends_fed_by(to, from) {
            if !self.network.is_up(end.other()) {
                let closed = Event::Down(end, LinkError::Closed);
                self.driver
                    .schedule(self.now() + Duration::from_millis(200), closed);
            }
        }
    }

    /// After healing, messages lost between calm peers must not arrive later than new ones.
    pub(super) fn expedite_messages(&mut self, calm: &[Node]) {
        let is_calm = |end: &End| {
            let ends = [*end, end.other()].map(|end| self.network.at(end).0);
            ends.iter().all(|node| calm.contains(node))
        };
        let messages = self.driver.take_events(|event| {
            matches!(event, Event::Arrive(end, channel, _) if *channel != Channel::Turns && is_calm(end))
        });
        self.network.forget_messages(calm);
        for (at, event) in messages {
            if let Event::Arrive(end, channel, bytes) = event {
                let at = self.network.hastened(self.now(), end, channel, at);
                self.driver.schedule(at, Event::Arrive(end, channel, bytes));
            }
        }
    }

    /// After this much silence the receiver gives its links up, and the sender hears nothing from then on.
    pub(super) fn time_out_links(&mut self, from: Node, to: Node) {
        let dark_since = self.network.dark_since(from, to);
        if dark_since.is_none_or(|since| since + IDLE > self.now()) {
            return;
        }
        for end in self.network.ends_fed_by(from, to) {
            self.network.drop_held(end.link);
            // A frozen peer finds out when it continues.
            let down = Event::Down(end, LinkError::TimedOut);
            self.driver.schedule(self.now(), down);
            let silent = Event::Down(end.other(), LinkError::TimedOut);
            self.driver.schedule(self.now() + IDLE, silent);
        }
    }

    /// The address of a node or of the stranger.
    pub(super) fn address(&self, node: Node) -> String {
        let moves = self.peers.get(node).map_or(0, |peer| peer.moves);
        address(node, moves)
    }
}

/// The end of a peer's link, if it is still up there.
fn live_end(network: &Network, peer: usize, link: LinkId) -> Option<End> {
    network.find(peer, link).filter(|end| network.is_up(*end))
}
