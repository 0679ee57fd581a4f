//! Runs over real QUIC and TLS: quinn-proto under the product's settings, on the virtual clock. The fake network
//! delays, loses, duplicates, reorders, damages and cuts UDP packets.

mod link;
mod port;
mod seeded;

use super::event::Event;
use super::links;
use super::network::Node;
use super::{Playable, Simulator};
use lockstep::session::Input;
use lockstep::{Channel, LinkError, LinkEvent, LinkId, PeerId};
use port::Port;
use std::collections::{BTreeSet, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

/// The ports of all nodes.
pub struct Quic {
    /// By node: its secret key, and its port while its process runs.
    nodes: Vec<([u8; 32], Option<Port>)>,
    /// By node: the earliest timer in the schedule.
    wakes_at: Vec<Option<Duration>>,
    /// Ports that have work.
    touched: BTreeSet<Node>,
    /// Links that took no more messages.
    blocked: VecDeque<(Node, LinkId)>,
    base: Instant,
    packets: u64,
}

/// Packets that wait for a frozen process, at most: the default buffer of a socket.
pub(super) const SOCKET_PACKETS: usize = 128;

/// A node, and its number of address changes.
pub type Place = (Node, u32);

/// A UDP packet on its way.
pub struct Packet {
    from: Place,
    /// An address that its node has left receives nothing.
    pub(super) to: Place,
    bytes: Vec<u8>,
}

/// The UDP port of every node.
const PORT: u16 = 4_000;

impl Quic {
    /// No port is open yet. `secrets` are those of all nodes, the stranger's last.
    pub fn new(seed: u64, secrets: Vec<[u8; 32]>) -> Self {
        seeded::begin(seed);
        Quic {
            wakes_at: vec![None; secrets.len()],
            nodes: secrets.into_iter().map(|secret| (secret, None)).collect(),
            touched: BTreeSet::new(),
            blocked: VecDeque::new(),
            base: base(),
            packets: 0,
        }
    }

    fn open(&mut self, node: Node) {
        let (secret, port) = &mut self.nodes[node];
        *port = Some(Port::open(secret, self.base));
        self.wakes_at[node] = None;
    }

    /// Dials a node, which the session knows by `address`.
    pub fn dial(&mut self, now: Duration, from: Node, to: Place, address: String, key: PeerId) {
        if let Some(port) = self.port(from) {
            port.dial(now, socket_address(to), address, key);
        }
    }

    /// Sends bytes. A lost datagram is sent again, but a lost message would break the link's promise: the link is
    /// closed, as the product's network thread does.
    pub fn send(
        &mut self,
        now: Duration,
        node: Node,
        link: LinkId,
        channel: Channel,
        bytes: &[u8],
    ) {
        let Some(port) = self.port(node).filter(|port| port.knows(link)) else {
            return;
        };
        if port.send(now, link, channel, bytes).is_err() && channel != Channel::Turns {
            port.close(now, link);
            self.blocked.push_back((node, link));
        }
    }

    /// Closes a link.
    pub fn close(&mut self, now: Duration, node: Node, link: LinkId) {
        if let Some(port) = self.port(node) {
            port.close(now, link);
        }
    }

    /// Ends a process: its links close, and then its port.
    pub fn end(&mut self, now: Duration, node: Node) {
        if let Some(port) = self.port(node) {
            port.end(now);
        }
    }

    /// Drops the process of a node, without telling any peer.
    pub fn drop_process(&mut self, node: Node) {
        self.nodes[node].1 = None;
    }

    /// The links of a node.
    pub fn links(&self, node: Node) -> Vec<LinkId> {
        self.nodes[node].1.as_ref().map_or(Vec::new(), Port::links)
    }

    /// The node at the other end of a link.
    pub fn other_end(&self, node: Node, link: LinkId) -> Option<Node> {
        let remote = self.nodes[node].1.as_ref()?.remote(link)?;
        Some(place_of(remote)?.0)
    }

    /// Packets sent so far.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// A node's port; marks it for driving.
    fn port(&mut self, node: Node) -> Option<&mut Port> {
        self.touched.insert(node);
        self.nodes[node].1.as_mut()
    }
}

impl<W: Playable> Simulator<W> {
    /// Begins the process of a node.
    pub(super) fn open_port(&mut self, node: Node) {
        if let Some(quic) = &mut self.quic {
            quic.open(node);
        }
    }

    /// Handles a packet that arrives.
    pub(super) fn take_packet(&mut self, packet: &Packet) {
        let now = self.now();
        if packet.to != self.place(packet.to.0) {
            return;
        }
        if let Some(port) = self.quic.as_mut().and_then(|quic| quic.port(packet.to.0)) {
            port.receive(now, socket_address(packet.from), &packet.bytes);
        }
    }

    fn place(&self, node: Node) -> Place {
        (node, self.peers.get(node).map_or(0, |peer| peer.moves))
    }

    /// Handles a timer that may be due.
    pub(super) fn wake_port(&mut self, node: Node) {
        let now = self.now();
        let Some(quic) = &mut self.quic else {
            return;
        };
        if quic.wakes_at[node].is_some_and(|at| at <= now) {
            quic.wakes_at[node] = None;
        }
        if let Some(port) = quic.port(node) {
            port.pass_time(now);
        }
    }

    /// Lets all ports work until they wait for packets or time.
    pub(super) fn drive_ports(&mut self) {
        while let Some(quic) = &mut self.quic {
            if let Some((node, link)) = quic.blocked.pop_front() {
                let why = LinkError::Closed;
                self.deliver_link_event(node, LinkEvent::Down { link, why });
            } else if let Some(node) = quic.touched.pop_first() {
                self.drive_port(node);
            } else {
                return;
            }
        }
    }

    fn drive_port(&mut self, node: Node) {
        let now = self.now();
        let from = self.place(node);
        let Some(quic) = &mut self.quic else {
            return;
        };
        let Some(port) = &mut quic.nodes[node].1 else {
            return;
        };
        port.drive(now);
        while let Some((to, packet)) = port.next_packet() {
            quic.packets += 1;
            let Some(to) = place_of(to) else {
                continue;
            };
            for (takes, bytes) in self.network.packet(node, to.0, &packet) {
                let packet = Packet { from, to, bytes };
                self.driver.schedule(now + takes, Event::Packet(packet));
            }
        }
        let over = port.is_over(now);
        let deadline = port.deadline().map(|at| at.max(now));
        if over {
            quic.drop_process(node);
            return;
        }
        if let Some(at) = deadline
            && quic.wakes_at[node].is_none_or(|wakes_at| at < wakes_at)
        {
            quic.wakes_at[node] = Some(at);
            self.driver.schedule(at, Event::Timer(node));
        }
        while let Some(event) = self.next_link_event(node) {
            self.deliver_link_event(node, event);
        }
    }

    fn next_link_event(&mut self, node: Node) -> Option<LinkEvent> {
        let quic = self.quic.as_mut()?;
        quic.nodes[node].1.as_mut()?.next_event()
    }

    /// Tells a session the event of a link. The stranger has no session.
    fn deliver_link_event(&mut self, node: Node, event: LinkEvent) {
        if node >= self.peers.len() {
            return;
        }
        match event {
            LinkEvent::Up {
                link,
                peer,
                dialled,
                address,
                binding,
            } => self.feed(
                node,
                Input::LinkUp {
                    link,
                    peer,
                    dialled,
                    address,
                    binding,
                },
            ),
            LinkEvent::DialFailed { address, key, why } => {
                self.feed(node, Input::DialFailed { address, key, why });
            }
            LinkEvent::Down { link, why } => self.feed(node, Input::LinkDown { link, why }),
            LinkEvent::Received {
                link,
                channel,
                bytes,
            } => {
                self.feed(
                    node,
                    Input::Received {
                        link,
                        channel,
                        bytes: &bytes,
                    },
                );
            }
        }
    }
}

fn socket_address((node, moves): Place) -> SocketAddr {
    let byte = |number: usize| u8::try_from(number).expect("few peers, and they move rarely");
    let address = Ipv4Addr::new(10, 0, byte(moves as usize), byte(node + 1));
    (address, PORT).into()
}

fn place_of(address: SocketAddr) -> Option<Place> {
    let SocketAddr::V4(address) = address else {
        return None;
    };
    let [_, _, moves, node] = address.ip().octets();
    Some((usize::from(node).checked_sub(1)?, u32::from(moves)))
}

/// The address as the sessions of a run write it.
fn address_of(address: SocketAddr) -> String {
    place_of(address).map_or_else(
        || address.to_string(),
        |(node, moves)| links::address(node, moves),
    )
}

// quinn-proto wants instants. Only differences matter, and they are simulated.
fn base() -> Instant {
    Instant::now()
}
