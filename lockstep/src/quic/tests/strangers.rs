//! Strangers that begin handshakes and end none.

use super::*;
use crate::log::Terms;
use crate::quic::rules::{CONNECTIONS, HALF_OPEN, RETRY_FROM};
use crate::source::TurnSource as _;
use crate::{Config, Event, Hosting, Live, Network};
use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig,
};
use rustls::Side;
use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::quic::{ClientConnection, Suite, Version};
use sim::RulesId;
use std::sync::atomic::{AtomicBool, Ordering};

/// A host with an address of its own, which begins handshakes and answers nothing but a retry.
struct Stranger {
    socket: UdpSocket,
    endpoint: Endpoint,
    config: ClientConfig,
    target: SocketAddr,
    begun: BTreeMap<ConnectionHandle, Connection>,
    /// Handshakes that wait for this host.
    half_open: usize,
}

impl Stranger {
    fn new(number: u8, target: SocketAddr, expected: PeerId) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::new(127, 0, 1, number), 0)).unwrap();
        socket.set_nonblocking(true).unwrap();
        let (tls, _) = tls::dialling(&tls::OwnKey::new(&[number; 32]), expected);
        Stranger {
            socket,
            endpoint: Endpoint::new(Arc::new(EndpointConfig::default()), None, true, None),
            config: settings::client(tls),
            target,
            begun: BTreeMap::new(),
            half_open: 0,
        }
    }

    fn begin(&mut self) {
        let now = Instant::now().into_std();
        let (handle, mut connection) = self
            .endpoint
            .connect(now, self.config.clone(), self.target, "any")
            .unwrap();
        self.send(&mut connection);
        self.begun.insert(handle, connection);
    }

    fn send(&self, connection: &mut Connection) {
        let mut packet = Vec::new();
        let now = Instant::now().into_std();
        while let Some(transmit) = connection.poll_transmit(now, 1, &mut packet) {
            let _ = self
                .socket
                .send_to(&packet[..transmit.size], transmit.destination);
            packet.clear();
        }
    }

    /// Answers for up to 50 ms, until all that it has begun is answered.
    fn wait(&mut self) {
        let by = Instant::now() + Duration::from_millis(50);
        while !self.begun.is_empty() && Instant::now() < by {
            self.answer_retries();
            std::thread::yield_now();
        }
        self.begun.clear();
    }

    fn answer_retries(&mut self) {
        let mut packet = [0; 2_000];
        while let Ok((len, from)) = self.socket.recv_from(&mut packet) {
            let now = Instant::now().into_std();
            let is_retry = packet[0] & 0xf0 == 0xf0;
            let bytes = BytesMut::from(&packet[..len]);
            let event = self
                .endpoint
                .handle(now, from, None, None, bytes, &mut Vec::new());
            let Some(DatagramEvent::ConnectionEvent(handle, event)) = event else {
                continue;
            };
            let Some(mut connection) = self.begun.remove(&handle) else {
                continue;
            };
            if is_retry {
                connection.handle_event(event);
                self.send(&mut connection);
            }
            self.half_open += 1;
        }
    }
}

#[test]
fn a_handshake_has_three_seconds() {
    let mut host = open(63);
    let mut stranger = Stranger::new(60, host.local_address(), host.peer());
    stranger.begin();
    let begun = Instant::now();
    while host.shared.handshakes.pending() == 0 {
        assert!(begun.elapsed() < PATIENCE);
        host.pump();
    }
    while host.shared.handshakes.pending() == 1 {
        assert!(begun.elapsed() < PATIENCE);
        host.pump();
    }
    let took = begun.elapsed();
    assert!((2_900..4_000).contains(&took.as_millis()), "{took:?}");
}

#[test]
fn places_are_kept_for_the_address_of_a_member() {
    let mut host = open(64);
    host.keep_places(&["somewhere:1".to_owned(), "127.0.1.61:5".to_owned()]);
    let mut member = Stranger::new(61, host.local_address(), host.peer());
    let mut other = Stranger::new(62, host.local_address(), host.peer());
    let places = 2 * HALF_OPEN.each + HALF_OPEN.kept;
    let by = Instant::now() + PATIENCE;
    let mut most = 0;
    while most < places {
        assert!(Instant::now() < by, "{most} of {places}");
        for stranger in [&mut member, &mut other] {
            stranger.begin();
            for _ in 0..3 {
                host.pump();
                stranger.answer_retries();
            }
        }
        most = most.max(host.shared.handshakes.pending());
    }
    assert_eq!(most, places);
}

/// What a host has seen beside strangers.
#[derive(Default)]
struct Seen {
    up: usize,
    pending: usize,
    connections: usize,
}

/// Polls the host until it is told to stop.
fn host(address: &std::sync::mpsc::Sender<(SocketAddr, PeerId)>, stop: &AtomicBool) -> Seen {
    let mut host = open(62);
    address.send((host.local_address(), host.peer())).unwrap();
    let mut seen = Seen::default();
    while !stop.load(Ordering::Relaxed) {
        let event = host.poll(Duration::from_millis(5));
        seen.up += usize::from(matches!(event, Some(LinkEvent::Up { .. })));
        seen.pending = seen.pending.max(host.shared.handshakes.pending());
        let connections = host.shared.endpoint.open_connections();
        seen.connections = seen.connections.max(connections);
    }
    seen
}

#[test]
fn ten_of_ten_dials_come_up_beside_ten_thousand_half_open() {
    const DIALS: u8 = 10;
    const ADDRESSES: u8 = 50;
    const BESIDE_EACH: usize = 1_000;
    let stop = AtomicBool::new(false);
    let (sender, address) = std::sync::mpsc::channel();
    let (seen, memory, half_open) = std::thread::scope(|scope| {
        let host = scope.spawn(|| {
            let mut seen = Seen::default();
            // Counts what this thread takes: all of a transport's work is done on it.
            let memory = allocation_counter::measure(|| seen = host(&sender, &stop));
            (seen, memory)
        });
        let (target, expected) = address.recv().unwrap();
        let mut strangers: Vec<Stranger> = (1..=ADDRESSES)
            .map(|number| Stranger::new(number, target, expected))
            .collect();
        let mut links = Vec::new();
        for dial in 0..DIALS {
            let mut guest = open(100 + dial);
            let mut begun = 0;
            let mut up = false;
            while !up || begun < BESIDE_EACH {
                if begun < BESIDE_EACH {
                    strangers.iter_mut().for_each(Stranger::begin);
                    strangers.iter_mut().for_each(Stranger::wait);
                    begun += strangers.len();
                    if begun == BESIDE_EACH / 2 {
                        guest.dial(&target.to_string(), expected);
                    }
                }
                match guest.poll(Duration::from_millis(1)) {
                    Some(LinkEvent::Up { .. }) => up = true,
                    Some(other) => panic!("dial {dial}: {other:?}"),
                    None => {}
                }
            }
            links.push(guest);
        }
        stop.store(true, Ordering::Relaxed);
        let (seen, memory) = host.join().unwrap();
        let half_open: usize = strangers.iter().map(|stranger| stranger.half_open).sum();
        (seen, memory, half_open)
    });
    println!(
        "{half_open} answered, at most {} pending and {} connections, {} KiB in all at most",
        seen.pending,
        seen.connections,
        memory.bytes_max >> 10
    );
    assert_eq!(seen.up, usize::from(DIALS));
    assert!(half_open > 9_000, "{half_open} of the strangers were heard");
    assert!((64..=HALF_OPEN.all).contains(&seen.pending));
    assert!(seen.connections < CONNECTIONS);
    assert!(memory.bytes_max < 64 << 20, "{}", memory.bytes_max);
}

/// Makes first packets, each of a connection of its own, at less cost than a whole endpoint.
struct Flood {
    suite: Suite,
    /// What TLS says first.
    greeting: Vec<u8>,
    made: u64,
}

impl Flood {
    const CONNECTION: [u8; 8] = [7; 8];

    fn new(expected: PeerId) -> Self {
        let (tls, _) = tls::dialling(&tls::OwnKey::new(&[99; 32]), expected);
        // The one parameter of QUIC without which a greeting counts for nothing: the connection's id.
        let parameters = [&[0x0f, 8][..], &Self::CONNECTION].concat();
        let name = "any".try_into().unwrap();
        let mut tls = ClientConnection::new(Arc::new(tls), Version::V1, name, parameters).unwrap();
        let mut greeting = Vec::new();
        let _ = tls.write_hs(&mut greeting);
        let suite = TLS13_AES_128_GCM_SHA256.tls13().unwrap();
        Flood {
            suite: suite.quic_suite().unwrap(),
            greeting,
            made: 0,
        }
    }

    fn packet(&mut self) -> Vec<u8> {
        const LEN: usize = 1_200;
        const NUMBER: usize = 4;
        self.made += 1;
        let to = self.made.to_be_bytes();
        let keys = self.suite.keys(&to, Side::Client, Version::V1);
        let two_bytes = |length: usize| (length as u16 | 0x4000).to_be_bytes();

        let mut packet = vec![0xc3, 0, 0, 0, 1, 8];
        packet.extend(to);
        packet.push(8);
        packet.extend(Self::CONNECTION);
        packet.push(0);
        packet.extend(two_bytes(LEN - packet.len() - 2));
        let number_at = packet.len();
        packet.extend([0; NUMBER]);
        let payload_at = packet.len();
        packet.extend([6, 0]);
        packet.extend(two_bytes(self.greeting.len()));
        packet.extend(&self.greeting);
        packet.resize(LEN - keys.local.packet.tag_len(), 0);

        let (header, payload) = packet.split_at_mut(payload_at);
        let tag = keys.local.packet.encrypt_in_place(0, header, payload);
        packet.extend(tag.unwrap().as_ref());
        let sample_len = keys.local.header.sample_len();
        let (header, payload) = packet.split_at_mut(payload_at);
        let (first, rest) = header.split_first_mut().unwrap();
        let number = &mut rest[number_at - 1..];
        let header = &keys.local.header;
        header
            .encrypt_in_place(&payload[..sample_len], first, number)
            .unwrap();
        packet
    }
}

/// Their senders answer nothing, as senders with forged addresses would.
#[test]
fn a_hundred_thousand_first_packets_take_little_memory() {
    const PACKETS: usize = 100_000;
    const AT_ONCE: usize = 50;
    let stop = AtomicBool::new(false);
    let (sender, address) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let host = scope.spawn(|| {
            let mut seen = Seen::default();
            let memory = allocation_counter::measure(|| seen = host(&sender, &stop));
            (seen, memory)
        });
        let (target, expected) = address.recv().unwrap();
        let sockets = (1..=AT_ONCE as u8).map(|number| {
            let socket = UdpSocket::bind((Ipv4Addr::new(127, 0, 3, number), 0)).unwrap();
            socket.set_nonblocking(true).unwrap();
            socket
        });
        let sockets: Vec<UdpSocket> = sockets.collect();
        let dial = |key| {
            let mut guest = open(key);
            guest.dial(&target.to_string(), expected);
            guest
        };
        let mut flood = Flood::new(expected);
        let mut guests = vec![dial(140)];
        let (mut answers, mut sent_bytes, mut answered_bytes) = (0, 0, 0);
        for round in 0..PACKETS / AT_ONCE {
            if round == PACKETS / AT_ONCE / 2 {
                guests.push(dial(141));
            }
            for socket in &sockets {
                let packet = flood.packet();
                sent_bytes += packet.len();
                socket.send_to(&packet, target).unwrap();
            }
            // The host takes as many before the next ones come, so that none is lost on the way.
            let (by, due) = (
                Instant::now() + Duration::from_millis(50),
                answers + AT_ONCE,
            );
            let mut answer = [0; 2_000];
            while answers < due && Instant::now() < by {
                for socket in &sockets {
                    while let Ok(len) = socket.recv(&mut answer) {
                        answers += 1;
                        answered_bytes += len;
                    }
                }
                std::thread::yield_now();
            }
            guests.iter_mut().for_each(End::pump);
        }
        let by = Instant::now() + PATIENCE;
        for guest in &mut guests {
            while guest.seen.is_empty() && Instant::now() < by {
                guest.pump();
            }
            let seen = guest.seen.make_contiguous();
            assert!(matches!(seen, [LinkEvent::Up { .. }]), "{seen:?}");
        }
        stop.store(true, Ordering::Relaxed);
        let (seen, memory) = host.join().unwrap();
        println!(
            "{answers} answers of {answered_bytes} bytes to {sent_bytes}, at most {} pending and {} connections, {} KiB \
             in all at most",
            seen.pending,
            seen.connections,
            memory.bytes_max >> 10
        );
        assert_eq!(seen.up, 2);
        assert!(answers > PACKETS * 9 / 10, "{answers}");
        assert!(answered_bytes < sent_bytes);
        assert!(
            (RETRY_FROM..=HALF_OPEN.each).contains(&seen.pending),
            "{}",
            seen.pending
        );
        assert!(memory.bytes_max < 8 << 20, "{}", memory.bytes_max);
    });
}

#[test]
fn silent_links_keep_no_guest_out_of_a_lobby() {
    const RULES: RulesId = RulesId([7; 16]);
    let config = |key: u8| {
        let mut quic = QuicConfig::new([key; 32]);
        quic.listen = (Ipv4Addr::LOCALHOST, 0).into();
        Config {
            network: Some(Network::quic(quic).unwrap()),
            host: Hosting {
                terms: Terms {
                    seats: 3,
                    ..Terms::default()
                },
                ..Hosting::default()
            },
            ..Config::default()
        }
    };
    let host = Live::host(vec![1], RULES, config(65)).unwrap();
    let ticket = host.ticket().unwrap().clone();
    let mut silent: Vec<End> = (1..=5)
        .map(|number| {
            let mut config = QuicConfig::new([70 + number; 32]);
            config.listen = (Ipv4Addr::new(127, 0, 2, number), 0).into();
            End {
                quic: Quic::bind(config).unwrap(),
                seen: VecDeque::new(),
            }
        })
        .collect();
    for end in &mut silent {
        (0..15).for_each(|_| end.dial(&ticket.addresses[0], ticket.host));
    }
    let begun = Instant::now();
    let up = |end: &End| {
        let up = end.seen.iter();
        up.filter(|event| matches!(event, LinkEvent::Up { .. }))
            .count()
    };
    while silent.iter().map(up).sum::<usize>() < 48 {
        assert!(begun.elapsed() < PATIENCE);
        silent.iter_mut().for_each(End::pump);
    }
    let mut guest = Live::join(&ticket, Box::new(|_| Some(RULES)), config(66)).unwrap();
    let begun = Instant::now();
    loop {
        silent.iter_mut().for_each(End::pump);
        let events = guest.events();
        let is_in = |event: &Event| matches!(event, Event::Lobby { peers, .. } if peers.len() == 2);
        if events.iter().any(is_in) {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(5), "{events:?}");
    }
}
