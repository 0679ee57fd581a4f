//! One node's UDP port with QUIC behind it: quinn-proto's endpoint under the product's settings, and its links.

use super::link::{Dialled, Link, News};
use super::seeded::{self, OwnMark, TimeOfDay};
use bytes::BytesMut;
use lockstep::quic::parts::{
    Arrival, CLOSED, Doorway, HALF_OPEN, LAST_MESSAGES, LAST_PACKETS, OwnKey, RETRY_FROM,
    SERVER_NAME, accepting, client, dialling, places, server,
};
use lockstep::{Blocked, Channel, Limits, LinkEvent, LinkId, PeerId};
use quinn_proto::{ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig, Incoming, Transmit};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A port. All calls take effect with [`drive`](Self::drive).
pub struct Port {
    endpoint: Endpoint,
    key: OwnKey,
    limits: Limits,
    base: Instant,
    time_of_day: Arc<TimeOfDay>,
    links: BTreeMap<ConnectionHandle, Link>,
    /// The links that the session knows; `None` for a lost one of which the session is about to learn.
    known: BTreeMap<LinkId, Option<ConnectionHandle>>,
    next_link: u32,
    /// Handshakes that others began.
    doorway: Doorway<u64>,
    handshakes: BTreeMap<u64, ConnectionHandle>,
    next_handshake: u64,
    touched: BTreeSet<ConnectionHandle>,
    events: VecDeque<LinkEvent>,
    packets: VecDeque<(SocketAddr, Vec<u8>)>,
    ending: Option<Ending>,
}

/// The stage of closing a port.
#[derive(Clone, Copy)]
enum Ending {
    /// Queued messages still leave.
    Messages { until: Duration },
    /// Closing packets still leave.
    Packets { until: Duration },
}

impl Port {
    /// Opens the port of a process that begins now. `base` is the beginning of the run.
    pub fn open(secret: &[u8; 32], base: Instant) -> Self {
        let limits = Limits::default();
        let key = OwnKey::with_provider(secret, seeded::provider());
        let mark = OwnMark::new();
        let mut config = EndpointConfig::new(Arc::new(mark));
        config
            .rng_seed(Some(seeded::array()))
            .cid_generator(move || Box::new(mark));
        let time_of_day = Arc::new(TimeOfDay::default());
        let mut accepts = server(accepting(&key));
        accepts.time_source(time_of_day.clone());
        accepts.token_key(Arc::new(mark));
        Port {
            endpoint: Endpoint::new(Arc::new(config), Some(Arc::new(accepts)), false, None),
            key,
            limits,
            base,
            time_of_day,
            links: BTreeMap::new(),
            known: BTreeMap::new(),
            next_link: 0,
            doorway: Doorway::new(HALF_OPEN),
            handshakes: BTreeMap::new(),
            next_handshake: 0,
            touched: BTreeSet::new(),
            events: VecDeque::new(),
            packets: VecDeque::new(),
            ending: None,
        }
    }

    /// Dials a node, which the caller knows by `address`, and expects `key` there.
    pub fn dial(&mut self, now: Duration, to: SocketAddr, address: String, key: PeerId) {
        let (tls, wrong_key) = dialling(&self.key, key);
        let mut config = client(tls);
        config.initial_dst_cid_provider(Arc::new(seeded::connection_id));
        let at = self.base + now;
        let (handle, connection) = self
            .endpoint
            .connect(at, config, to, SERVER_NAME)
            .expect("an address of the simulated network can be dialled");
        let dialled = Dialled {
            address,
            key,
            wrong_key,
        };
        let link = Link::dialling(connection, dialled, &self.limits, now);
        self.links.insert(handle, link);
        self.touched.insert(handle);
    }

    /// Sends or queues bytes on a link.
    ///
    /// # Errors
    /// [`Blocked`] if the link is gone or its queue is full; nothing was sent.
    pub fn send(
        &mut self,
        now: Duration,
        link: LinkId,
        channel: Channel,
        bytes: &[u8],
    ) -> Result<(), Blocked> {
        let handle = self.known.get(&link).copied().flatten().ok_or(Blocked)?;
        // Older datagrams that only wait for `drive` must not be pushed out.
        let waiting = |link: &mut Link| link.datagrams_waiting(bytes.len());
        if channel == Channel::Turns && self.links.get_mut(&handle).is_some_and(waiting) {
            self.touched.insert(handle);
            self.drive(now);
        }
        self.touched.insert(handle);
        let link = self.links.get_mut(&handle).ok_or(Blocked)?;
        link.send(channel, bytes)
    }

    /// Closes a link once queued bytes have left. No event follows.
    pub fn close(&mut self, now: Duration, link: LinkId) {
        if let Some(Some(handle)) = self.known.remove(&link)
            && let Some(link) = self.links.get_mut(&handle)
        {
            link.close(now);
            self.touched.insert(handle);
        }
    }

    /// Ends the process: closes all links and then the port.
    pub fn end(&mut self, now: Duration) {
        for link in self.links() {
            self.close(now, link);
        }
        let until = now + LAST_MESSAGES;
        self.ending = Some(Ending::Messages { until });
    }

    /// Whether the process has ended, and the port is closed.
    pub fn is_over(&self, now: Duration) -> bool {
        match self.ending {
            Some(Ending::Packets { until }) => self.links.is_empty() || until <= now,
            Some(Ending::Messages { .. }) => self.links.is_empty(),
            None => false,
        }
    }

    /// The links that are up for the session.
    pub fn links(&self) -> Vec<LinkId> {
        self.known.keys().copied().collect()
    }

    /// The address at the other end of a link.
    pub fn remote(&self, link: LinkId) -> Option<SocketAddr> {
        let handle = self.known.get(&link).copied().flatten()?;
        Some(self.links.get(&handle)?.connection.remote_address())
    }

    /// Whether the session still knows this link.
    pub fn knows(&self, link: LinkId) -> bool {
        self.known.contains_key(&link)
    }

    /// Handles a packet that has arrived.
    pub fn receive(&mut self, now: Duration, from: SocketAddr, packet: &[u8]) {
        self.time_of_day.set(now);
        let mut answer = Vec::new();
        let (at, packet) = (self.base + now, BytesMut::from(packet));
        let event = self
            .endpoint
            .handle(at, from, None, None, packet, &mut answer);
        match event {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(link) = self.links.get_mut(&handle) {
                    link.connection.handle_event(event);
                    self.touched.insert(handle);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.take_in(now, incoming),
            Some(DatagramEvent::Response(transmit)) => self.post(&transmit, &answer),
            None => {}
        }
    }

    /// Handles an incoming dial. With many pending handshakes, a retry must be answered before anything is stored.
    fn take_in(&mut self, now: Duration, incoming: Incoming) {
        let mut answer = Vec::new();
        self.forget_handshakes();
        if self.doorway.len() >= RETRY_FROM
            && incoming.may_retry()
            && !incoming.remote_address_validated()
        {
            if let Ok(transmit) = self.endpoint.retry(incoming, &mut answer) {
                self.post(&transmit, &answer);
            }
            return;
        }
        let with_place = self.links.values().filter(|link| link.has_place());
        if with_place.count() >= places(&self.limits) || self.ending.is_some() {
            let transmit = self.endpoint.refuse(incoming, &mut answer);
            return self.post(&transmit, &answer);
        }
        let at = self.base + now;
        let key = self.next_handshake;
        self.next_handshake += 1;
        let from = incoming.remote_address().ip().into();
        match self.doorway.arrive(now, key, from) {
            Arrival::TurnedAway => return self.endpoint.ignore(incoming),
            Arrival::Displaces(oldest) => {
                if let Some(handle) = self.handshakes.remove(&oldest)
                    && let Some(link) = self.links.get_mut(&handle)
                {
                    link.hang_up(at, CLOSED);
                    self.touched.insert(handle);
                }
            }
            Arrival::Waits => {}
        }
        match self.endpoint.accept(incoming, at, &mut answer, None) {
            Ok((handle, connection)) => {
                let link = Link::accepting(connection, &self.limits, now);
                self.links.insert(handle, link);
                self.handshakes.insert(key, handle);
                self.touched.insert(handle);
            }
            Err(error) => {
                self.doorway.leave(key);
                if let Some(transmit) = error.response {
                    self.post(&transmit, &answer);
                }
            }
        }
    }

    /// Handshakes that are over leave the doorway.
    fn forget_handshakes(&mut self) {
        let links = &self.links;
        let over = self.handshakes.extract_if(.., |_, handle| {
            !links.get(handle).is_some_and(Link::is_pending)
        });
        over.for_each(|(key, _)| self.doorway.leave(key));
    }

    /// When [`pass_time`](Self::pass_time) is due.
    pub fn deadline(&mut self) -> Option<Duration> {
        let ending = self.ending.map(|ending| match ending {
            Ending::Messages { until } | Ending::Packets { until } => until,
        });
        let base = self.base;
        let links = self.links.values_mut();
        let links = links.filter_map(|link| link.deadline(base));
        links.chain(ending).min()
    }

    /// Advances its clock.
    pub fn pass_time(&mut self, now: Duration) {
        self.time_of_day.set(now);
        let base = self.base;
        for (handle, link) in &mut self.links {
            if link.deadline(base).is_some_and(|due| due <= now) {
                link.pass_time(base, now);
                self.touched.insert(*handle);
            }
        }
        if let Some(Ending::Messages { until }) = self.ending
            && until <= now
        {
            for (handle, link) in &mut self.links {
                link.hang_up(base + now, CLOSED);
                self.touched.insert(*handle);
            }
            let until = now + LAST_PACKETS;
            self.ending = Some(Ending::Packets { until });
        }
    }

    /// Lets every touched connection work.
    pub fn drive(&mut self, now: Duration) {
        while let Some(handle) = self.touched.pop_first() {
            if self.drive_link(handle, self.base + now) {
                self.links.remove(&handle);
                // Another connection may get this handle next.
                let known = self.known.values_mut();
                known
                    .filter(|known| **known == Some(handle))
                    .for_each(|known| *known = None);
            }
        }
    }

    /// Drives a connection. Returns whether it is drained.
    fn drive_link(&mut self, handle: ConnectionHandle, at: Instant) -> bool {
        let mut packet = Vec::new();
        let mut drained = false;
        loop {
            let Some(link) = self.links.get_mut(&handle) else {
                return false;
            };
            link.advance(at);
            let mut moved = false;
            while let Some(event) = link.connection.poll_endpoint_events() {
                drained |= event.is_drained();
                moved = true;
                if let Some(event) = self.endpoint.handle_event(handle, event) {
                    link.connection.handle_event(event);
                }
            }
            while let Some(transmit) = link.connection.poll_transmit(at, 1, &mut packet) {
                moved = true;
                let bytes = packet[..transmit.size].to_vec();
                self.packets.push_back((transmit.destination, bytes));
                packet.clear();
            }
            self.report(handle);
            if !moved {
                return drained;
            }
        }
    }

    /// Takes the news of a link, and tracks which links are up.
    fn report(&mut self, handle: ConnectionHandle) {
        let Some(link) = self.links.get_mut(&handle) else {
            return;
        };
        while let Some(news) = link.next_news() {
            let of = self.known.iter().find(|(_, known)| **known == Some(handle));
            let id = of.map(|(id, _)| *id);
            let event = match (news, id) {
                (News::Up { peer, binding }, None) => {
                    let id = LinkId(self.next_link);
                    self.next_link += 1;
                    self.known.insert(id, Some(handle));
                    LinkEvent::Up {
                        link: id,
                        peer: Some(peer),
                        dialled: link.dialled().is_some(),
                        address: super::address_of(link.connection.remote_address()),
                        binding,
                    }
                }
                (News::Failed(why), _) => match link.dialled() {
                    Some(dialled) => LinkEvent::DialFailed {
                        address: dialled.address.clone(),
                        key: dialled.key,
                        why,
                    },
                    None => continue,
                },
                (News::Down(why), Some(link)) => LinkEvent::Down { link, why },
                (News::Received(channel, bytes), Some(link)) => LinkEvent::Received {
                    link,
                    channel,
                    bytes,
                },
                _ => continue,
            };
            self.events.push_back(event);
        }
    }

    /// The next event. Events of links that were closed meanwhile are dropped.
    pub fn next_event(&mut self) -> Option<LinkEvent> {
        loop {
            let event = self.events.pop_front()?;
            match &event {
                LinkEvent::Down { link, .. } if self.known.remove(link).is_some() => {}
                LinkEvent::Received { link, .. } | LinkEvent::Up { link, .. }
                    if self.known.contains_key(link) => {}
                LinkEvent::DialFailed { .. } => {}
                _ => continue,
            }
            return Some(event);
        }
    }

    /// The next outgoing packet, with its destination.
    pub fn next_packet(&mut self) -> Option<(SocketAddr, Vec<u8>)> {
        self.packets.pop_front()
    }

    fn post(&mut self, transmit: &Transmit, bytes: &[u8]) {
        let bytes = bytes[..transmit.size].to_vec();
        self.packets.push_back((transmit.destination, bytes));
    }
}
