//! The fake network: links between nodes, and arrival times of bytes.
//!
//! Datagrams may be lost, duplicated, delayed and reordered. Messages of one channel of a link arrive once and in
//! order; their losses only cost time.

use super::scenario::{Scenario, Weather};
use crate::random::Stream;
use lockstep::{Channel, LinkId};
use std::collections::BTreeMap;
use std::time::Duration;

/// A node of the simulated network: an index into the peers, or the stranger after them.
pub type Node = usize;

/// An end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    /// Index of the link.
    pub link: usize,
    /// 0 for the dialler, 1 for the acceptor.
    pub side: usize,
}

impl End {
    /// The other end.
    pub fn other(self) -> End {
        End {
            link: self.link,
            side: 1 - self.side,
        }
    }
}

/// All links and the lanes below them.
pub struct Network {
    links: Vec<Link>,
    lanes: BTreeMap<(Node, Node), Lane>,
    /// By node: the ends of its links, in the order of its link ids.
    ends: Vec<Vec<End>>,
    unreachable: Vec<(Node, Node)>,
}

struct Link {
    nodes: [Node; 2],
    ids: [LinkId; 2],
    up: [bool; 2],
    /// Whether one of its ends has changed its address.
    severed: bool,
    up_at: [Duration; 2],
    /// When the newest message of each channel arrives at each side.
    arrived: [[Duration; 2]; 2],
    /// Messages that wait for the end of a cut, by destination side.
    held: [Vec<(Channel, Vec<u8>)>; 2],
}

/// One direction between two nodes.
struct Lane {
    random: Stream,
    weather: Weather,
    losing: bool,
    /// A swing adds so much to each delay.
    more: Duration,
    /// Cuts in force; several may overlap.
    cuts: u32,
    dark_since: Option<Duration>,
}

/// Extra delay of a reordered packet: minimum and maximum.
const REORDERED: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(60));
/// The longest time that a peer holds a batch of another one before it forwards it.
const PULSE: Duration = Duration::from_millis(25);

/// The fate of bytes handed to the network.
pub enum Fate {
    /// They arrive at these times; empty if they are lost.
    Arrives(Vec<Duration>),
    /// They wait for the end of a cut.
    Held,
}

impl Network {
    /// A network of `nodes` nodes.
    pub fn new(scenario: &Scenario, nodes: usize) -> Self {
        let mut lanes = BTreeMap::new();
        for from in 0..nodes {
            for to in (0..nodes).filter(|to| *to != from) {
                let index = (from * nodes + to) as u64;
                let mut random = Stream::new(scenario.seed, "lane", index);
                let ends = [from, to].map(|node| scenario.peers.get(node)?.weather);
                let own = ends.into_iter().flatten().next();
                let mut weather = own.unwrap_or(scenario.weather);
                weather.delay += random.millis(0, 10);
                let lane = Lane {
                    random,
                    weather,
                    losing: false,
                    more: Duration::ZERO,
                    cuts: 0,
                    dark_since: None,
                };
                lanes.insert((from, to), lane);
            }
        }
        Network {
            links: Vec::new(),
            lanes,
            ends: vec![Vec::new(); nodes],
            unreachable: scenario.unreachable.clone(),
        }
    }

    /// The time a connection attempt takes to reach each side (dialler, acceptor); `None` during a cut.
    pub fn handshake(&mut self, from: Node, to: Node) -> Option<[Duration; 2]> {
        let pair = (from.min(to), from.max(to));
        if self.unreachable.contains(&pair) || self.is_dark(from, to) || self.is_dark(to, from) {
            return None;
        }
        let there = self.lane(from, to).reliable();
        let back = self.lane(to, from).reliable();
        let again = self.lane(from, to).reliable();
        Some([there + back, there + back + again])
    }

    /// Makes a link that is not up yet.
    pub fn link(&mut self, from: Node, to: Node, up_at: [Duration; 2]) -> usize {
        let link = self.links.len();
        let ids = [from, to].map(|node| LinkId(self.ends[node].len() as u32));
        for (side, node) in [from, to].into_iter().enumerate() {
            self.ends[node].push(End { link, side });
        }
        self.links.push(Link {
            nodes: [from, to],
            ids,
            up: [false; 2],
            severed: false,
            up_at,
            arrived: [[Duration::ZERO; 2]; 2],
            held: [Vec::new(), Vec::new()],
        });
        link
    }

    /// The node at an end, and its id of the link.
    pub fn at(&self, end: End) -> (Node, LinkId) {
        let link = &self.links[end.link];
        (link.nodes[end.side], link.ids[end.side])
    }

    /// The end that `node` calls `id`.
    pub fn find(&self, node: Node, id: LinkId) -> Option<End> {
        self.ends[node].get(id.0 as usize).copied()
    }

    /// Whether the node at this end sees the link as up.
    pub fn is_up(&self, end: End) -> bool {
        self.links[end.link].up[end.side]
    }

    /// Sets whether the node at this end sees the link as up. Returns the old state.
    pub fn set_up(&mut self, end: End, up: bool) -> bool {
        std::mem::replace(&mut self.links[end.link].up[end.side], up)
    }

    /// All ends at `node` that are up.
    pub fn ends_of(&self, node: Node) -> Vec<End> {
        let ends = self.ends[node].iter().copied();
        ends.filter(|end| self.is_up(*end)).collect()
    }

    /// All ends at `to` that are up and lead to `from`.
    pub fn ends_fed_by(&self, from: Node, to: Node) -> Vec<End> {
        let mut ends = self.ends_of(to);
        ends.retain(|end| self.at(end.other()).0 == from);
        ends
    }

    /// Sends bytes away from this end.
    pub fn send(&mut self, now: Duration, end: End, channel: Channel, bytes: &[u8]) -> Fate {
        let to = end.other();
        let nodes = self.links[end.link].nodes;
        let dark = self.is_dark(nodes[end.side], nodes[to.side]);
        let up_at = self.links[end.link].up_at[to.side];
        if self.links[end.link].severed {
            return Fate::Arrives(Vec::new());
        }
        if channel == Channel::Turns {
            let arrivals = match dark {
                true => Vec::new(),
                false => self
                    .lane(nodes[end.side], nodes[to.side])
                    .datagram()
                    .into_iter()
                    .map(|takes| (now + takes).max(up_at))
                    .collect(),
            };
            return Fate::Arrives(arrivals);
        }
        let waiting = !self.links[end.link].held[to.side].is_empty();
        if dark || waiting {
            self.links[end.link].held[to.side].push((channel, bytes.to_vec()));
            return Fate::Held;
        }
        Fate::Arrives(vec![self.message_arrival(now, end, channel)])
    }

    /// Sends a packet between two nodes. Returns the delay and the bytes of each copy.
    pub fn packet(&mut self, from: Node, to: Node, packet: &[u8]) -> Vec<(Duration, Vec<u8>)> {
        let pair = (from.min(to), from.max(to));
        if !self.lanes.contains_key(&(from, to))
            || self.unreachable.contains(&pair)
            || self.is_dark(from, to)
        {
            return Vec::new();
        }
        let lane = self.lane(from, to);
        let copies = lane.datagram().into_iter();
        copies.map(|takes| (takes, lane.damage(packet))).collect()
    }

    /// When everything sent from this end before now has arrived.
    pub fn drained(&self, now: Duration, end: End) -> Duration {
        let arrived = self.links[end.link].arrived[end.other().side];
        now.max(arrived[0]).max(arrived[1])
    }

    /// Begins a cut of this direction.
    pub fn cut(&mut self, now: Duration, from: Node, to: Node) {
        let lane = self.lane(from, to);
        lane.cuts += 1;
        lane.dark_since = lane.dark_since.or(Some(now));
    }

    /// When the current cut of this direction began.
    pub fn dark_since(&self, from: Node, to: Node) -> Option<Duration> {
        self.lanes[&(from, to)].dark_since
    }

    /// Ends a cut of this direction. Waiting messages arrive: their ends and times.
    pub fn mend(
        &mut self,
        now: Duration,
        from: Node,
        to: Node,
    ) -> Vec<(End, Duration, Channel, Vec<u8>)> {
        self.lane(from, to).cuts -= 1;
        let mut arrivals = Vec::new();
        if self.is_dark(from, to) {
            return arrivals;
        }
        self.lane(from, to).dark_since = None;
        let retry = self.lane(from, to).random.millis(0, 300);
        for at in 0..self.links.len() {
            for side in 0..2 {
                if (self.links[at].nodes[side], self.links[at].nodes[1 - side]) != (from, to) {
                    continue;
                }
                let end = End { link: at, side };
                for (channel, bytes) in std::mem::take(&mut self.links[at].held[1 - side]) {
                    let arrival = self.message_arrival(now + retry, end, channel);
                    arrivals.push((end.other(), arrival, channel, bytes));
                }
            }
        }
        arrivals
    }

    /// Drops messages on their way between these nodes.
    pub fn forget_messages(&mut self, between: &[Node]) {
        let is_between = |link: &&mut Link| link.nodes.iter().all(|node| between.contains(node));
        for link in self.links.iter_mut().filter(is_between) {
            link.arrived = [[Duration::ZERO; 2]; 2];
        }
    }

    /// The arrival time, after healing, of a message due at `at`: the transport's next retry brings it with all
    /// earlier ones.
    pub fn hastened(
        &mut self,
        now: Duration,
        end: End,
        channel: Channel,
        at: Duration,
    ) -> Duration {
        let nodes = self.links[end.link].nodes;
        let lane = self.lane(nodes[1 - end.side], nodes[end.side]);
        let takes = lane.random.millis(0, 300) + lane.passage();
        let link = &mut self.links[end.link];
        let order = usize::from(channel == Channel::Bulk);
        let least = link.arrived[end.side][order].max(link.up_at[end.side]);
        let arrival = at.min(now + takes).max(least);
        link.arrived[end.side][order] = arrival;
        arrival
    }

    /// Drops messages that wait on a link.
    pub fn drop_held(&mut self, link: usize) {
        self.links[link].held = [Vec::new(), Vec::new()];
    }

    /// Severs all links of this node, and loses what waits on them. Returns all their ends.
    pub fn sever(&mut self, node: Node) -> Vec<End> {
        let mut ends = Vec::new();
        for (at, link) in self.links.iter_mut().enumerate() {
            if link.nodes.contains(&node) && !link.severed {
                link.severed = true;
                link.held = [Vec::new(), Vec::new()];
                ends.extend([0, 1].map(|side| End { link: at, side }));
            }
        }
        ends
    }

    /// The shortest delay between any two nodes.
    pub fn least_delay(&self) -> Duration {
        let delays = self.lanes.values().map(|lane| lane.weather.delay);
        delays.min().unwrap_or_default()
    }

    /// The longest delay of anything not lost, from one node to another.
    pub fn longest_passage(&self, from: Node, to: Node) -> Duration {
        let weather = &self.lanes[&(from, to)].weather;
        weather.delay + weather.jitter + REORDERED.1
    }

    /// The least and the most that a packet takes from one of these peers to another, unless it is lost or slowed down.
    pub fn passages(&self, peers: usize) -> BTreeMap<(Node, Node), [Duration; 2]> {
        let lanes = self.lanes.iter();
        let between = lanes.filter(|((from, to), _)| *from.max(to) < peers);
        let takes = between.map(|(ends, lane)| {
            let Weather {
                delay,
                jitter,
                reorder,
                ..
            } = lane.weather;
            let overtaken = REORDERED.1 * u32::from(reorder > 0);
            (*ends, [delay, delay + jitter + overtaken])
        });
        takes.collect()
    }

    /// All lanes of a node take so much more, until the network heals.
    pub fn swing(&mut self, node: Node, more: Duration) {
        let lanes = self.lanes.iter_mut();
        let of_node = lanes.filter(|((from, to), _)| *from == node || *to == node);
        of_node.for_each(|(_, lane)| lane.more = more);
    }

    /// Whether a cut of this direction is in force.
    pub fn is_dark(&self, from: Node, to: Node) -> bool {
        self.lanes[&(from, to)].cuts > 0
    }

    /// Ends loss, jitter, duplication and reordering between calm nodes. Delays are reduced so that a batch arrives
    /// within `budget`, even by way of a third peer that holds it for a pulse.
    pub fn heal(&mut self, calm: &[Node], budget: Duration) {
        let most = (budget / 4).min(budget.saturating_sub(PULSE) / 2);
        let lanes = self.lanes.iter_mut();
        for (_, lane) in lanes.filter(|((from, to), _)| calm.contains(from) && calm.contains(to)) {
            lane.weather = Weather {
                delay: lane.weather.delay.min(most),
                ..Weather::default()
            };
            (lane.losing, lane.more) = (false, Duration::ZERO);
        }
    }

    fn message_arrival(&mut self, now: Duration, end: End, channel: Channel) -> Duration {
        let to = end.other();
        let nodes = self.links[end.link].nodes;
        let takes = self.lane(nodes[end.side], nodes[to.side]).reliable();
        let link = &mut self.links[end.link];
        let order = usize::from(channel == Channel::Bulk);
        let least = link.arrived[to.side][order].max(link.up_at[to.side]);
        let arrival = (now + takes).max(least);
        link.arrived[to.side][order] = arrival;
        arrival
    }

    fn lane(&mut self, from: Node, to: Node) -> &mut Lane {
        self.lanes
            .get_mut(&(from, to))
            .expect("there is a lane between any two nodes")
    }
}

impl Lane {
    /// The delay of each copy of a datagram; empty if it is lost.
    fn datagram(&mut self) -> Vec<Duration> {
        if self.loses() {
            return Vec::new();
        }
        let copies = 1 + u32::from(self.random.chance(self.weather.duplicate));
        (0..copies).map(|_| self.passage()).collect()
    }

    /// A packet as it arrives.
    fn damage(&mut self, packet: &[u8]) -> Vec<u8> {
        let mut packet = packet.to_vec();
        if self.weather.corrupt > 0 && self.random.chance(self.weather.corrupt) {
            for _ in 0..self.random.between(1, 8) {
                let bit = self.random.below(packet.len() as u64 * 8) as usize;
                packet[bit / 8] ^= 1 << (bit % 8);
            }
        }
        packet
    }

    /// The delay of a message: every loss costs a retransmission timeout that doubles.
    fn reliable(&mut self) -> Duration {
        let mut takes = self.passage();
        let mut timeout = self.weather.delay * 2 + self.weather.jitter + Duration::from_millis(25);
        for _ in 0..8 {
            if !self.random.chance(self.weather.loss) {
                break;
            }
            takes += timeout;
            timeout = (timeout * 2).min(Duration::from_secs(2));
        }
        takes
    }

    fn passage(&mut self) -> Duration {
        let jitter = self.weather.jitter.as_micros() as u64;
        let mut takes = self.weather.delay + self.more;
        takes += Duration::from_micros(self.random.between(0, jitter));
        if self.random.chance(self.weather.reorder) {
            let (least, most) = REORDERED;
            takes += self
                .random
                .millis(least.as_millis() as u64, most.as_millis() as u64);
        }
        takes
    }

    /// Two states, so that losses come in bursts with the wanted mean length and rate.
    fn loses(&mut self) -> bool {
        let Weather { loss, burst, .. } = self.weather;
        if loss == 0 {
            return false;
        }
        let leave = 1_000 / burst.max(1);
        let enter = leave * loss / (1_000 - loss.min(900));
        self.losing = match self.losing {
            true => !self.random.chance(leave),
            false => self.random.chance(enter),
        };
        self.losing
    }
}
