//! Strangers that begin handshakes and end none.

use super::*;
use crate::log::Terms;
use crate::quic::rules::{CONNECTIONS, HALF_OPEN};
use crate::source::TurnSource as _;
use crate::{Config, Event, Hosting, Live, Network};
use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig,
};
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
