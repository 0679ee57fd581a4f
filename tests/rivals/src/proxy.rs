//! The network: a proxy in user space between all peers of a match. It alone delays, loses and counts packets.
//!
//! Each player has a socket of the proxy for each other player: what it sends there goes to that player, and what that
//! player sends comes from there. So the proxy knows both ends of each packet by the socket.

use crate::link::{Cell, Link};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What one player has sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// UDP payload, and 28 bytes of headers for each packet.
    pub bytes: u64,
    /// Packets.
    pub packets: u64,
}

/// A packet on its way: when it arrives, its number, its two ends and its bytes.
type OnTheWay = (Duration, u64, usize, usize, Vec<u8>);

/// Delays, losses and counts, without sockets and without a clock.
struct Forwarder {
    cell: Cell,
    seed: u64,
    /// By sender and receiver.
    links: Vec<Vec<Link>>,
    queue: BinaryHeap<Reverse<OnTheWay>>,
    taken: u64,
    /// The beginning of the measurement, after which packets are lost, and the times after it between which packets
    /// count.
    measured: Option<(Duration, Duration, Duration)>,
    counts: Vec<Count>,
}

impl Forwarder {
    fn new(cell: Cell, seed: u64) -> Forwarder {
        Forwarder {
            cell,
            seed,
            links: links(cell, seed),
            queue: BinaryHeap::new(),
            taken: 0,
            measured: None,
            counts: vec![Count::default(); cell.players],
        }
    }

    /// The measurement begins now. All draws begin anew: what they lead to depends on no packet before.
    fn measure(&mut self, now: Duration, from: Duration, to: Duration) {
        self.measured = Some((now, from, to));
        self.links = links(self.cell, self.seed);
    }

    /// Takes a packet in.
    fn take(&mut self, now: Duration, from: usize, to: usize, bytes: &[u8]) {
        let link = &mut self.links[from][to];
        if let Some((begun, first, last)) = self.measured {
            let since = now.saturating_sub(begun);
            if (first..last).contains(&since) {
                self.counts[from].bytes += bytes.len() as u64 + HEADERS;
                self.counts[from].packets += 1;
            }
            if link.is_lost(since) {
                return;
            }
        }
        let due = now + link.delay();
        self.taken += 1;
        self.queue
            .push(Reverse((due, self.taken, from, to, bytes.to_vec())));
    }

    /// The next packet that has arrived.
    fn arrived(&mut self, now: Duration) -> Option<(usize, usize, Vec<u8>)> {
        if self.due()? > now {
            return None;
        }
        let Reverse((_, _, from, to, bytes)) = self.queue.pop()?;
        Some((from, to, bytes))
    }

    fn due(&self) -> Option<Duration> {
        self.queue.peek().map(|Reverse(next)| next.0)
    }
}

fn links(cell: Cell, seed: u64) -> Vec<Vec<Link>> {
    let players = 0..cell.players;
    let of = |from| {
        let others = players.clone();
        others.map(move |to| Link::new(cell, seed, from, to))
    };
    players.clone().map(|from| of(from).collect()).collect()
}

enum Order {
    /// A player's own address. The first packet of a player tells it where this order does not come.
    Address(usize, SocketAddr),
    /// The measurement begins now. Packets count between these two times.
    Measure(Duration, Duration),
    Stop,
}

/// A proxy on a thread of its own.
pub struct Proxy {
    orders: Sender<Order>,
    thread: JoinHandle<Vec<Count>>,
    /// By player and other player: the address at which the one finds the other.
    pub addresses: Vec<Vec<SocketAddr>>,
}

impl Proxy {
    /// Opens the sockets of a cell.
    ///
    /// # Errors
    /// Too few sockets or threads.
    pub fn start(cell: Cell, seed: u64) -> io::Result<Proxy> {
        let mut sockets: Vec<Vec<UdpSocket>> = Vec::new();
        for _ in 0..cell.players {
            let bind = |_| {
                let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
                socket.set_nonblocking(true)?;
                Ok(socket)
            };
            sockets.push((0..cell.players).map(bind).collect::<io::Result<_>>()?);
        }
        let of = |row: &Vec<UdpSocket>| row.iter().map(UdpSocket::local_addr).collect();
        let addresses = sockets.iter().map(of).collect::<io::Result<_>>()?;
        let (orders, ordered) = channel();
        let forwarder = Forwarder::new(cell, seed);
        let thread = std::thread::Builder::new()
            .name("proxy".to_owned())
            .spawn(move || forward(forwarder, &sockets, &ordered))?;
        Ok(Proxy {
            orders,
            thread,
            addresses,
        })
    }

    /// Tells a player's own address.
    pub fn set_address(&self, player: usize, address: SocketAddr) {
        self.tell(Order::Address(player, address));
    }

    /// Begins to lose packets, and to count them between these two times from now on.
    pub fn measure(&self, from: Duration, to: Duration) {
        self.tell(Order::Measure(from, to));
    }

    /// Ends it. Returns what each player has sent.
    pub fn stop(self) -> Vec<Count> {
        self.tell(Order::Stop);
        self.thread.join().unwrap_or_default()
    }

    fn tell(&self, order: Order) {
        // A proxy that has panicked is found out when it is stopped.
        let _ = self.orders.send(order);
    }
}

fn forward(
    mut forwarder: Forwarder,
    sockets: &[Vec<UdpSocket>],
    orders: &Receiver<Order>,
) -> Vec<Count> {
    let begun = Instant::now();
    let mut addresses: Vec<Option<SocketAddr>> = vec![None; sockets.len()];
    let mut buffer = [0; 65_536];
    loop {
        for order in orders.try_iter() {
            match order {
                Order::Address(player, address) => addresses[player] = Some(address),
                Order::Measure(from, to) => forwarder.measure(begun.elapsed(), from, to),
                Order::Stop => return forwarder.counts,
            }
        }
        let wait = forwarder.due().map_or(LONGEST_WAIT, |due| {
            due.saturating_sub(begun.elapsed()).min(LONGEST_WAIT)
        });
        let mut ready: Vec<PollFd<'_>> = sockets
            .iter()
            .flatten()
            .map(|socket| PollFd::new(socket, PollFlags::IN))
            .collect();
        let wait = Timespec {
            tv_sec: 0,
            tv_nsec: wait.subsec_nanos().into(),
        };
        // An interrupted wait is as good as one that is over.
        let _ = poll(&mut ready, Some(&wait));
        let all = (0..sockets.len()).flat_map(|from| (0..sockets.len()).map(move |to| (from, to)));
        let ready = ready.iter().map(|socket| !socket.revents().is_empty());
        for ((from, to), _) in all.zip(ready).filter(|(_, is_ready)| *is_ready) {
            while let Ok((bytes, source)) = sockets[from][to].recv_from(&mut buffer) {
                addresses[from].get_or_insert(source);
                forwarder.take(begun.elapsed(), from, to, &buffer[..bytes]);
            }
        }
        while let Some((from, to, bytes)) = forwarder.arrived(begun.elapsed()) {
            if let Some(address) = addresses[to] {
                // A dead peer takes no packet.
                let _ = sockets[to][from].send_to(&bytes, address);
            }
        }
    }
}

/// Bytes of an IPv4 and a UDP header.
const HEADERS: u64 = 28;
/// Orders wait for so long at most.
const LONGEST_WAIT: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn cell(text: &str) -> Cell {
        text.parse().expect("a cell")
    }

    /// The packets of 10 s that arrive, one sent each millisecond: arrival and number.
    fn arrivals(text: &str, seed: u64) -> Vec<(u32, u32)> {
        let mut forwarder = Forwarder::new(cell(text), seed);
        forwarder.measure(Duration::ZERO, Duration::ZERO, MS * 10_000);
        let mut found = Vec::new();
        for ms in 0..11_000_u32 {
            if ms < 10_000 {
                forwarder.take(MS * ms, 0, 1, &ms.to_le_bytes());
            }
            while let Some((from, to, bytes)) = forwarder.arrived(MS * ms) {
                assert_eq!((from, to), (0, 1));
                found.push((ms, u32::from_le_bytes(bytes.try_into().expect("4 bytes"))));
            }
        }
        assert_eq!(forwarder.counts[0].packets, 10_000);
        assert_eq!(forwarder.counts[0].bytes, 10_000 * 32);
        assert_eq!(forwarder.counts[1], Count::default());
        found
    }

    #[test]
    fn one_seed_forwards_the_same_packets_at_the_same_times() {
        assert_eq!(arrivals("2p-100ms-5", 1), arrivals("2p-100ms-5", 1));
        assert_ne!(arrivals("2p-100ms-5", 1), arrivals("2p-100ms-5", 2));
    }

    #[test]
    fn packets_before_the_measurement_change_no_loss_in_it() {
        for text in ["2p-100ms-5", "2p-100ms-bursts"] {
            let arrived = |before: u32| {
                let mut forwarder = Forwarder::new(cell(text), 1);
                for ms in 0..before {
                    forwarder.take(MS * ms, 0, 1, b"before");
                }
                forwarder.measure(MS * 500, Duration::ZERO, MS * 60_000);
                for ms in 500..10_500_u32 {
                    forwarder.take(MS * ms, 0, 1, &ms.to_le_bytes());
                }
                let all = std::iter::from_fn(|| forwarder.arrived(MS * 20_000));
                let numbered = all.filter_map(|(_, _, bytes)| bytes.try_into().ok());
                numbered.map(u32::from_le_bytes).collect::<Vec<_>>()
            };
            let none = arrived(0);
            assert!((9_000..9_990).contains(&none.len()), "{}", none.len());
            assert_eq!(arrived(37), none, "{text}");
        }
    }

    #[test]
    fn packets_arrive_once_within_their_delay() {
        let found = arrivals("2p-100ms-0", 1);
        assert_eq!(found.len(), 10_000);
        assert!(found.is_sorted_by_key(|(at, _)| *at));
        let in_range = |(at, sent): &(u32, u32)| (45..=56).contains(&(at - sent));
        assert!(found.iter().all(in_range));
        let overtaken = found
            .windows(2)
            .filter(|pair| pair[0].1 > pair[1].1)
            .count();
        assert!(overtaken > 0, "jitter lets packets overtake each other");
        assert!(arrivals("2p-0ms-0", 1).iter().all(|(at, sent)| at == sent));
    }

    #[test]
    fn losses_are_counted_as_sent_and_do_not_arrive() {
        let arrived = arrivals("2p-0ms-5", 1).len();
        assert!((9_400..9_600).contains(&arrived), "{arrived}");
    }

    #[test]
    fn nothing_is_lost_or_counted_before_the_measurement() {
        let mut forwarder = Forwarder::new(cell("2p-0ms-100"), 1);
        forwarder.take(MS, 0, 1, b"before");
        assert_eq!(forwarder.arrived(MS), Some((0, 1, b"before".to_vec())));
        forwarder.measure(MS, MS * 2, MS * 4);
        for ms in 1..10 {
            forwarder.take(MS * ms, 1, 0, b"within");
        }
        assert_eq!(forwarder.arrived(MS * 10), None);
        let counted = Count {
            bytes: 68,
            packets: 2,
        };
        assert_eq!(forwarder.counts, [Count::default(), counted]);
    }

    #[test]
    fn sockets_carry_packets_both_ways() {
        let proxy = Proxy::start(cell("2p-0ms-0"), 1).expect("sockets");
        let peers: Vec<UdpSocket> = (0..2)
            .map(|_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket"))
            .collect();
        for (player, peer) in peers.iter().enumerate() {
            let wait = Some(Duration::from_secs(10));
            peer.set_read_timeout(wait).expect("a time");
            proxy.set_address(player, peer.local_addr().expect("an address"));
        }
        proxy.measure(Duration::ZERO, Duration::from_secs(60));
        let mut buffer = [0; 16];
        // Orders are taken within a few milliseconds.
        std::thread::sleep(LONGEST_WAIT * 10);
        peers[0]
            .send_to(b"there", proxy.addresses[0][1])
            .expect("sent");
        let (bytes, from) = peers[1].recv_from(&mut buffer).expect("it arrives");
        assert_eq!(
            (&buffer[..bytes], from),
            (&b"there"[..], proxy.addresses[1][0])
        );
        peers[1].send_to(b"back", from).expect("sent");
        let (bytes, from) = peers[0].recv_from(&mut buffer).expect("it arrives");
        assert_eq!(
            (&buffer[..bytes], from),
            (&b"back"[..], proxy.addresses[0][1])
        );
        let sent: Vec<u64> = proxy.stop().iter().map(|count| count.bytes).collect();
        assert_eq!(sent, [33, 32]);
    }
}
