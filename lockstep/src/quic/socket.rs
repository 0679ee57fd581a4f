//! The UDP socket below QUIC: it counts what passes, and makes the way out worse where that is asked for.

use super::impairment::Path;
use super::ways::{Impairments, Ways};
use crate::Traffic;
use quinn::udp::{EcnCodepoint, RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::future::poll_fn;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// Totals of what QUIC handed to the socket and got from it. What an impairment loses or doubles counts once, as it
/// would if the network did it.
#[derive(Debug, Default)]
pub(super) struct Counters {
    bytes_sent: AtomicU64,
    bytes_received: AtomicU64,
    packets_sent: AtomicU64,
    packets_received: AtomicU64,
}

impl Counters {
    pub(super) fn traffic(&self) -> Traffic {
        Traffic {
            bytes_sent: self.bytes_sent.load(Ordering::Relaxed),
            bytes_received: self.bytes_received.load(Ordering::Relaxed),
            packets_sent: self.packets_sent.load(Ordering::Relaxed),
            packets_received: self.packets_received.load(Ordering::Relaxed),
        }
    }

    fn sent(&self, len: usize, segment: usize) {
        let packets = packets(len, segment);
        self.packets_sent.fetch_add(packets, Ordering::Relaxed);
        self.bytes_sent
            .fetch_add(on_the_wire(len, packets), Ordering::Relaxed);
    }

    fn received(&self, len: usize, segment: usize) {
        let packets = packets(len, segment);
        self.packets_received.fetch_add(packets, Ordering::Relaxed);
        self.bytes_received
            .fetch_add(on_the_wire(len, packets), Ordering::Relaxed);
    }
}

/// Wraps a socket. Must be called within the runtime that is to carry delayed packets.
pub(super) fn wrap(
    inner: Arc<dyn AsyncUdpSocket>,
    counters: Arc<Counters>,
    impairments: Option<Impairments>,
) -> Arc<dyn AsyncUdpSocket> {
    let delayed = impairments.map(|impairments| {
        // Read first: a change between the two is seen later, by its version.
        let version = impairments.version();
        let ways = impairments.get();
        let delayed = Arc::new(Delayed {
            start: Instant::now(),
            state: Mutex::new(Waiting {
                version,
                impairments,
                ways,
                paths: BTreeMap::new(),
                packets: BinaryHeap::new(),
                next_number: 0,
            }),
            changed: Notify::new(),
        });
        tokio::spawn(release(delayed.clone(), inner.clone()));
        delayed
    });
    Arc::new(Socket {
        inner,
        counters,
        delayed,
    })
}

#[derive(Debug)]
struct Socket {
    inner: Arc<dyn AsyncUdpSocket>,
    counters: Arc<Counters>,
    delayed: Option<Arc<Delayed>>,
}

impl AsyncUdpSocket for Socket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        self.inner.clone().create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        match &self.delayed {
            Some(delayed) => delayed.take(transmit),
            None => self.inner.try_send(transmit)?,
        }
        let len = transmit.contents.len();
        self.counters
            .sent(len, transmit.segment_size.unwrap_or(len));
        Ok(())
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let polled = self.inner.poll_recv(cx, bufs, meta);
        if let Poll::Ready(Ok(count)) = polled {
            for one in meta.iter().take(count) {
                self.counters.received(one.len, one.stride);
            }
        }
        polled
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        if self.delayed.is_some() {
            1
        } else {
            self.inner.max_transmit_segments()
        }
    }

    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}

/// Packets on an impaired way out.
#[derive(Debug)]
struct Delayed {
    start: Instant,
    state: Mutex<Waiting>,
    changed: Notify,
}

#[derive(Debug)]
struct Waiting {
    impairments: Impairments,
    /// The version of the ways that the paths follow.
    version: u64,
    ways: Ways,
    /// By the address that has a way of its own; `None` for all others together.
    paths: BTreeMap<Option<SocketAddr>, Path>,
    packets: BinaryHeap<Reverse<Packet>>,
    next_number: u64,
}

/// Ordered by when it is due; `number` keeps packets apart that are due together.
#[derive(Debug, PartialEq, Eq)]
struct Packet {
    due: Instant,
    number: u64,
    destination: SocketAddr,
    source: Option<IpAddr>,
    ecn: Option<EcnCodepoint>,
    contents: Box<[u8]>,
}

impl PartialOrd for Packet {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Packet {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.due, self.number).cmp(&(other.due, other.number))
    }
}

impl Waiting {
    fn path(&mut self, to: SocketAddr) -> &mut Path {
        let version = self.impairments.version();
        if version != self.version {
            self.version = version;
            self.ways = self.impairments.get();
            self.paths.clear();
        }
        let (address, impairment) = self.ways.to(to);
        let path = || Path::new(impairment);
        self.paths.entry(address).or_insert_with(path)
    }
}

impl Delayed {
    fn take(&self, transmit: &Transmit<'_>) {
        let now = self.start.elapsed();
        let segment = transmit
            .segment_size
            .unwrap_or(transmit.contents.len())
            .max(1);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for contents in transmit.contents.chunks(segment) {
            let path = state.path(transmit.destination);
            let verdict = path.verdict(now, contents.len());
            for due in verdict.copies() {
                if state.packets.len() >= MAX_WAITING {
                    break;
                }
                let number = state.next_number;
                state.next_number += 1;
                state.packets.push(Reverse(Packet {
                    due: self.start + due,
                    number,
                    destination: transmit.destination,
                    source: transmit.src_ip,
                    ecn: transmit.ecn,
                    contents: contents.into(),
                }));
            }
        }
        self.changed.notify_one();
    }

    /// The first packet if it is due, otherwise when it will be.
    fn next(&self, now: Instant) -> Result<Packet, Option<Instant>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.packets.peek() {
            Some(Reverse(first)) if first.due > now => Err(Some(first.due)),
            _ => state
                .packets
                .pop()
                .map(|Reverse(packet)| packet)
                .ok_or(None),
        }
    }
}

/// Sends packets as they come due, for as long as the runtime runs.
async fn release(delayed: Arc<Delayed>, inner: Arc<dyn AsyncUdpSocket>) {
    let mut poller = inner.clone().create_io_poller();
    loop {
        match delayed.next(Instant::now()) {
            Ok(packet) => {
                let transmit = Transmit {
                    destination: packet.destination,
                    ecn: packet.ecn,
                    contents: &packet.contents,
                    segment_size: None,
                    src_ip: packet.source,
                };
                while let Err(error) = inner.try_send(&transmit) {
                    // Any other failure is what a network would do with it: the packet is lost.
                    if error.kind() != io::ErrorKind::WouldBlock
                        || poll_fn(|cx| poller.as_mut().poll_writable(cx))
                            .await
                            .is_err()
                    {
                        break;
                    }
                }
            }
            Err(Some(due)) => tokio::select! {
                () = sleep_until(due) => {}
                () = delayed.changed.notified() => {}
            },
            Err(None) => delayed.changed.notified().await,
        }
    }
}

fn packets(len: usize, segment: usize) -> u64 {
    len.div_ceil(segment.max(1)) as u64
}

fn on_the_wire(len: usize, packets: u64) -> u64 {
    len as u64 + packets * HEADERS
}

/// Bytes of an IPv4 and a UDP header.
const HEADERS: u64 = 28;

/// Packets that may be on the way at once: more than any link of a match sends in the longest delay.
const MAX_WAITING: usize = 16_384;
