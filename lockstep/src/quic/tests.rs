use super::*;
use crate::{LinkError, MAX_DATAGRAM};
use std::collections::VecDeque;
use std::net::UdpSocket;
use std::ops::{Deref, DerefMut};
use tokio::time::Instant;

#[test]
fn both_ends_know_each_other_and_the_link() {
    let (mut a, mut b) = (open(1), open(2));
    let (from_a, from_b) = connect(&mut a, &mut b);
    assert_eq!(from_a.peer, b.peer());
    assert_eq!(from_b.peer, a.peer());
    assert!(from_a.dialled && !from_b.dialled);
    assert_eq!(from_a.binding, from_b.binding);
    assert_ne!(from_a.binding, [0; 32]);
    assert_eq!(from_a.address, at(&b));
    assert_eq!(from_b.address, at(&a));
}

#[test]
fn another_link_has_another_binding() {
    let (mut a, mut b) = (open(3), open(4));
    let first = connect(&mut a, &mut b);
    let second = connect(&mut a, &mut b);
    assert_ne!(first.0.binding, second.0.binding);
    assert_ne!(first.0.link, second.0.link);
    assert_ne!(first.1.link, second.1.link);
}

#[test]
fn every_channel_carries_both_ways() {
    let (mut a, mut b) = (open(5), open(6));
    let (from_a, from_b) = connect(&mut a, &mut b);
    for channel in [Channel::Turns, Channel::Control, Channel::Bulk] {
        exchange(&mut a, &mut b, from_a.link, channel);
        exchange(&mut b, &mut a, from_b.link, channel);
    }
}

fn exchange(from: &mut End, to: &mut End, link: LinkId, channel: Channel) {
    let text = vec![channel as u8; MAX_DATAGRAM];
    from.send(link, channel, &text).unwrap();
    from.send(link, channel, &[]).unwrap();
    for expected in [&text[..], &[]] {
        assert_eq!(until(from, to, received(channel)), expected);
    }
}

#[test]
fn messages_keep_their_order_and_long_ones_arrive_whole() {
    let (mut a, mut b) = (open(7), open(8));
    let (from_a, _) = connect(&mut a, &mut b);
    let largest = Limits::default().message_bytes as usize;
    let message = |n: usize| vec![n as u8; largest - n];
    for n in 0..40 {
        let by = Instant::now() + PATIENCE;
        while a.send(from_a.link, Channel::Bulk, &message(n)).is_err() {
            assert!(Instant::now() < by, "blocked for good");
            a.pump();
            b.pump();
        }
    }
    for n in 0..40 {
        let bytes = until(&mut a, &mut b, received(Channel::Bulk));
        assert!(bytes == message(n), "message {n}");
    }
}

#[test]
fn a_full_queue_blocks_and_loses_nothing_that_it_took() {
    let (mut a, mut b) = (open(9), open(10));
    let (from_a, _) = connect(&mut a, &mut b);
    let mut taken = 0u32;
    let message = |n: u32| [&n.to_le_bytes()[..], &[0; 996]].concat();
    while a
        .send(from_a.link, Channel::Control, &message(taken))
        .is_ok()
    {
        taken += 1;
        assert!(taken < 1_000, "nothing bounds the queue");
    }
    assert!(taken >= 256, "only {taken} kB fit");
    for n in 0..taken {
        let bytes = until(&mut a, &mut b, received(Channel::Control));
        assert_eq!(bytes, message(n));
    }
    a.send(from_a.link, Channel::Control, &message(0)).unwrap();
}

#[test]
fn many_datagrams_at_once_do_not_push_each_other_out() {
    let (mut a, mut b) = (open(11), open(12));
    let (from_a, _) = connect(&mut a, &mut b);
    for n in 0..10 {
        a.send(from_a.link, Channel::Turns, &[n; MAX_DATAGRAM])
            .unwrap();
    }
    for n in 0..10 {
        let bytes = until(&mut a, &mut b, received(Channel::Turns));
        assert_eq!(bytes[0], n);
    }
}

#[test]
fn another_key_than_the_expected_one_is_found_out() {
    let (mut a, mut b) = (open(13), open(14));
    let stranger = PeerId([9; 32]);
    a.dial(&at(&b), stranger);
    let (key, why) = until(&mut b, &mut a, failed);
    assert_eq!((key, why), (stranger, LinkError::WrongKey));
    assert!(quiet(&mut b), "the acceptor saw no link");
}

#[test]
fn nobody_there_is_said_in_time() {
    let mut a = open(15);
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let begun = Instant::now();
    let address = silent.local_addr().unwrap().to_string();
    a.dial(&address, PeerId([9; 32]));
    let event = a.poll(Duration::from_secs(8));
    let Some(LinkEvent::DialFailed {
        address: dialled,
        why,
        ..
    }) = event
    else {
        panic!("{event:?}");
    };
    assert_eq!((dialled, why), (address, LinkError::Unanswered));
    assert!(begun.elapsed() < Duration::from_secs(6));
}

#[test]
fn what_is_no_address_is_said_at_once() {
    let mut a = open(16);
    for text in [
        "",
        ":",
        "nonsense",
        "127.0.0.1",
        "127.0.0.1:0",
        "0.0.0.0:5",
        "127.0.0.1:70000",
        "[::1]:5000",
        "a b:5",
        ":5",
        "\u{0}:5",
    ] {
        a.dial(text, PeerId([9; 32]));
        let event = a.poll(Duration::from_secs(2));
        assert!(
            matches!(
                event,
                Some(LinkEvent::DialFailed {
                    why: LinkError::Address,
                    ..
                })
            ),
            "{text}: {event:?}"
        );
    }
}

#[test]
fn noise_at_the_socket_changes_nothing() {
    let (mut a, mut b) = (open(17), open(18));
    let noise = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut draws = blake3::Hasher::new().finalize_xof();
    for n in 0..300 {
        let mut bytes = vec![0; 4 * n + 1];
        draws.fill(&mut bytes);
        if n % 3 == 0 {
            // The look of a first packet of QUIC version 1.
            let head = [0xc0, 0, 0, 0, 1, 8];
            let len = bytes.len().min(head.len());
            bytes[..len].copy_from_slice(&head[..len]);
        }
        noise.send_to(&bytes, at(&b)).unwrap();
        let event = b.poll(Duration::ZERO);
        assert!(event.is_none(), "{event:?}");
    }
    connect(&mut a, &mut b);
}

#[test]
fn too_long_is_blocked_here_and_a_violation_there() {
    let mut generous = QuicConfig::new([19; 32]);
    generous.limits.message_bytes = 200 << 10;
    let mut a = bound(generous);
    let mut b = open(20);
    for channel in [Channel::Control, Channel::Bulk] {
        let (from_a, from_b) = connect(&mut a, &mut b);
        let too_long = vec![0; (200 << 10) + 1];
        assert_eq!(a.send(from_a.link, channel, &too_long), Err(Blocked));
        a.send(from_a.link, channel, &too_long[..(64 << 10) + 1])
            .unwrap();
        let down = until(&mut a, &mut b, down);
        assert_eq!(down, (from_b.link, LinkError::Violation));
        let down = until(&mut b, &mut a, self::down);
        assert_eq!(down, (from_a.link, LinkError::Closed));
        assert_eq!(a.send(from_a.link, channel, &[1]), Err(Blocked));
    }
    let (from_a, _) = connect(&mut a, &mut b);
    let datagram = [0; MAX_DATAGRAM + 1];
    assert_eq!(a.send(from_a.link, Channel::Turns, &datagram), Err(Blocked));
}

#[test]
fn a_datagram_above_the_bound_is_a_violation() {
    let (mut a, mut b) = (open(21), open(22));
    let (from_a, from_b) = connect(&mut a, &mut b);
    let connection = &a.links[&from_a.link].connection;
    let too_long = bytes::Bytes::from(vec![0; MAX_DATAGRAM + 1]);
    connection.send_datagram(too_long).unwrap();
    assert_eq!(
        until(&mut a, &mut b, down),
        (from_b.link, LinkError::Violation)
    );
}

#[test]
fn what_was_sent_arrives_before_the_close() {
    let (mut a, mut b) = (open(23), open(24));
    let (from_a, from_b) = connect(&mut a, &mut b);
    for n in 0..100 {
        a.send(from_a.link, Channel::Control, &[n; 1_000]).unwrap();
    }
    a.close(from_a.link);
    for n in 0..100 {
        let bytes = until(&mut a, &mut b, received(Channel::Control));
        assert_eq!(bytes[0], n);
    }
    assert_eq!(
        until(&mut a, &mut b, down),
        (from_b.link, LinkError::Closed)
    );
    assert!(quiet(&mut a), "no event follows a close");
}

#[test]
fn dropping_tells_the_other_side() {
    let (mut a, mut b) = (open(25), open(26));
    let (from_a, from_b) = connect(&mut a, &mut b);
    a.send(from_a.link, Channel::Control, b"bye").unwrap();
    let gone = std::thread::spawn(move || {
        let begun = Instant::now();
        drop(a);
        begun.elapsed()
    });
    let mut events = Vec::new();
    while events.len() < 2 {
        events.push(b.poll(PATIENCE).expect("an event of the end"));
    }
    assert!(matches!(&events[0], LinkEvent::Received { bytes, .. } if bytes == b"bye"));
    assert!(
        matches!(events[1], LinkEvent::Down { link, why: LinkError::Closed } if link == from_b.link)
    );
    assert!(gone.join().unwrap() < Duration::from_millis(600));
}

#[test]
fn links_that_come_in_are_bounded() {
    let mut config = QuicConfig::new([27; 32]);
    config.limits.unproved_links = 1;
    config.limits.peers = 1;
    let mut host = bound(config);
    let mut guest = open(28);
    connect(&mut guest, &mut host);
    let (second, _) = connect(&mut guest, &mut host);
    guest.dial(&at(&host), host.peer());
    let (_, why) = until(&mut host, &mut guest, failed);
    assert_eq!(why, LinkError::Refused);

    guest.close(second.link);
    until(&mut guest, &mut host, down);
    connect(&mut guest, &mut host);
}

#[test]
fn many_may_dial_at_once() {
    let mut host = open(29);
    let mut guests: Vec<_> = (30..45).map(open).collect();
    for guest in &mut guests {
        guest.dial(&at(&host), host.peer());
        let _ = guest.poll(Duration::ZERO);
    }
    let by = Instant::now() + PATIENCE;
    let (mut accepted, mut dialled) = (0, 0);
    while (accepted, dialled) != (15, 15) {
        assert!(
            Instant::now() < by,
            "{accepted} accepted, {dialled} dialled"
        );
        for one in guests.iter_mut().chain([&mut host]) {
            match one.poll(Duration::ZERO) {
                None => {}
                Some(LinkEvent::Up { dialled: true, .. }) => dialled += 1,
                Some(LinkEvent::Up { .. }) => accepted += 1,
                Some(other) => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn pending_handshakes_must_show_their_address() {
    let (mut host, mut guest) = (open(56), open(57));
    let dials = Limits::default().unproved_links;
    for _ in 0..dials {
        guest.dial(&at(&host), host.peer());
    }
    // The guest sends its first packets and then answers nothing, as somebody with forged addresses would.
    for _ in 0..10 {
        guest.pump();
    }
    for _ in 0..10 {
        host.pump();
    }
    let pending = dials as usize - host.shared.handshakes.available_permits();
    assert_eq!(pending, rules::RETRY_FROM);
    for _ in 0..dials {
        until(&mut host, &mut guest, |event| match event {
            LinkEvent::Up { link, .. } => Some(link),
            _ => panic!("{event:?}"),
        });
    }
}

#[test]
fn a_dialler_that_is_turned_away_after_the_handshake_has_no_link() {
    let mut guest = open(58);
    let key = tls::OwnKey::new(&[59; 32]);
    let server = settings::server(tls::accepting(&key), &Limits::default());
    let within = guest.runtime().enter();
    let host = quinn::Endpoint::server(server, (Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    drop(within);
    let address = host.local_addr().unwrap().to_string();
    guest.runtime().spawn(async move {
        let connection = host.accept().await.unwrap().await.unwrap();
        connection.close(quinn::VarInt::from_u32(7), b"not you");
        host.wait_idle().await;
    });
    guest.dial(&address, Ed25519::new(&[59; 32]).id());
    let event = guest.poll(PATIENCE);
    assert!(
        matches!(
            event,
            Some(LinkEvent::DialFailed {
                why: LinkError::Refused,
                ..
            })
        ),
        "{event:?}"
    );
}

#[test]
fn a_socket_for_both_families_is_dialled_by_either() {
    let mut config = QuicConfig::new([60; 32]);
    config.listen = (std::net::Ipv6Addr::UNSPECIFIED, 0).into();
    let Ok(quic) = Quic::bind(config) else {
        assert!(
            UdpSocket::bind("[::1]:0").is_err(),
            "this machine has IPv6, so the socket should open"
        );
        return;
    };
    let mut host = End {
        quic,
        seen: VecDeque::new(),
    };
    let mut guest = open(61);
    let address = format!("127.0.0.1:{}", host.local_address().port());
    assert!(host.addresses().contains(&address) || cfg!(windows));
    guest.dial(&address, host.peer());
    let seen = until(&mut guest, &mut host, |event| match event {
        LinkEvent::Up { address, .. } => Some(address),
        _ => None,
    });
    assert_eq!(seen, at(&guest));
}

#[test]
fn a_stream_that_ends_within_a_message_is_a_violation() {
    let (mut a, mut b) = (open(62), open(63));
    let (from_a, from_b) = connect(&mut a, &mut b);
    let connection = a.links[&from_a.link].connection.clone();
    a.runtime().spawn(async move {
        let mut stream = connection.open_uni().await.unwrap();
        stream.write_all(&[9, 0, 0, 0, 1]).await.unwrap();
        stream.finish().unwrap();
        connection.closed().await
    });
    assert_eq!(
        until(&mut a, &mut b, down),
        (from_b.link, LinkError::Violation)
    );
}

#[test]
fn a_third_of_packets_lost_still_connects() {
    let mut ends = [45, 46].map(|n| {
        let mut config = QuicConfig::new([n; 32]);
        config.impairments = Some(format!("loss=30%,delay=5ms,seed={n}").parse().unwrap());
        bound(config)
    });
    let [a, b] = &mut ends;
    let link = connect_through_loss(a, b);
    for n in 0..20 {
        a.send(link, Channel::Control, &[n]).unwrap();
        a.pump();
    }
    for n in 0..20 {
        assert_eq!(until(a, b, received(Channel::Control)), [n]);
    }
}

#[test]
fn loss_costs_what_it_takes_and_no_more() {
    let mut ends = [64, 65].map(|n| {
        let mut config = QuicConfig::new([n; 32]);
        config.impairments = Some(format!("loss=20%,delay=20ms,seed={n}").parse().unwrap());
        bound(config)
    });
    let [a, b] = &mut ends;
    let link = connect_through_loss(a, b);
    let begun = Instant::now();
    let mut sent = 0u32;
    let mut arrived = 0u32;
    let cadence = Duration::from_millis(5);
    while begun.elapsed() < cadence * 400 + Duration::from_millis(500) {
        if sent < 400 && begun.elapsed() >= cadence * sent {
            a.send(link, Channel::Turns, &[0; MAX_DATAGRAM]).unwrap();
            sent += 1;
        }
        a.pump();
        b.pump();
        arrived += u32::try_from(b.seen.drain(..).filter(is_datagram).count()).unwrap();
    }
    // 320 are expected. A window that shrinks with loss lets through less than half of them.
    assert!((280..=360).contains(&arrived), "{arrived} of {sent}");
}

fn is_datagram(event: &LinkEvent) -> bool {
    matches!(
        event,
        LinkEvent::Received {
            channel: Channel::Turns,
            ..
        }
    )
}

#[test]
fn delay_is_seen_on_the_way_out() {
    let mut config = QuicConfig::new([47; 32]);
    config.impairments = Some("delay=80ms".parse().unwrap());
    let (mut a, mut b) = (bound(config), open(48));
    let (from_a, from_b) = connect(&mut a, &mut b);
    let begun = Instant::now();
    a.send(from_a.link, Channel::Turns, b"slow").unwrap();
    until(&mut a, &mut b, received(Channel::Turns));
    assert!(begun.elapsed() >= Duration::from_millis(80));
    let begun = Instant::now();
    b.send(from_b.link, Channel::Turns, b"fast").unwrap();
    until(&mut b, &mut a, received(Channel::Turns));
    assert!(begun.elapsed() < Duration::from_millis(80));
}

#[test]
fn traffic_is_what_the_socket_saw() {
    let (mut a, mut b) = (open(49), open(50));
    assert_eq!(a.traffic(), Traffic::default());
    let (from_a, _) = connect(&mut a, &mut b);
    let before = a.traffic();
    a.send(from_a.link, Channel::Turns, &[0; 500]).unwrap();
    until(&mut a, &mut b, received(Channel::Turns));
    let after = a.traffic();
    assert!(after.packets_sent > before.packets_sent);
    assert!(after.bytes_sent >= before.bytes_sent + 500 + 28);
    let by = Instant::now() + PATIENCE;
    loop {
        let (sent, received) = (a.traffic(), b.traffic());
        if (sent.bytes_sent, sent.packets_sent)
            == (received.bytes_received, received.packets_received)
        {
            break;
        }
        assert!(Instant::now() < by, "{sent:?} {received:?}");
        a.pump();
        b.pump();
    }
}

#[test]
fn the_waker_ends_this_poll_or_the_next() {
    let mut a = open(51);
    let waker = a.waker();
    waker();
    let begun = Instant::now();
    assert!(a.poll(PATIENCE).is_none());
    let waking = std::thread::spawn(waker_after(Duration::from_millis(20), a.waker()));
    assert!(a.poll(PATIENCE).is_none());
    assert!(begun.elapsed() < PATIENCE);
    waking.join().unwrap();
}

#[test]
fn an_address_in_use_is_named() {
    let a = open(52);
    let mut config = QuicConfig::new([53; 32]);
    config.listen = a.local_address();
    let error = Quic::bind(config).err().expect("the port is taken");
    assert!(
        error.to_string().contains(&a.local_address().to_string()),
        "{error}"
    );
}

#[test]
fn an_identity_stays_locked_as_long_as_its_transport() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    let identity = Identity::at(&path).unwrap();
    let peer = identity.peer();
    let a = Quic::bind(QuicConfig::new(identity)).unwrap();
    assert_eq!(a.peer(), peer);
    assert!(matches!(
        Identity::at(&path),
        Err(IdentityError::Locked { .. })
    ));
    drop(a);
    Identity::at(&path).unwrap();
}

#[test]
fn a_dialler_without_a_key_is_turned_away() {
    let mut host = open(54);
    let (mut tls, _) = tls::dialling(&tls::OwnKey::new(&[55; 32]), host.peer());
    tls.client_auth_cert_resolver = Arc::new(NoKey);
    let crypto = quinn::crypto::rustls::QuicClientConfig::try_from(tls).unwrap();
    let address = host.local_address();
    let dial = host.runtime().spawn(async move {
        let endpoint = quinn::Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let config = quinn::ClientConfig::new(Arc::new(crypto));
        let connection = endpoint
            .connect_with(config, address, "anything")
            .unwrap()
            .await?;
        Err::<(), _>(connection.closed().await)
    });
    let by = Instant::now() + PATIENCE;
    while !dial.is_finished() {
        assert!(Instant::now() < by);
        assert!(host.poll(Duration::from_millis(1)).is_none());
    }
    let error = host.runtime().block_on(dial).unwrap().unwrap_err();
    assert!(
        matches!(error, quinn::ConnectionError::ConnectionClosed(_)),
        "{error:?}"
    );
}

/// A resolver with nothing to show.
#[derive(Debug)]
struct NoKey;

impl rustls::client::ResolvesClientCert for NoKey {
    fn resolve(
        &self,
        _root_hint_subjects: &[&[u8]],
        _sigschemes: &[rustls::SignatureScheme],
    ) -> Option<Arc<rustls::sign::CertifiedKey>> {
        None
    }

    fn only_raw_public_keys(&self) -> bool {
        true
    }

    fn has_certs(&self) -> bool {
        false
    }
}

/// A transport, and what it has reported so far.
struct End {
    quic: Quic,
    seen: VecDeque<LinkEvent>,
}

impl End {
    fn pump(&mut self) {
        self.seen.extend(self.quic.poll(Duration::from_micros(100)));
    }
}

impl Deref for End {
    type Target = Quic;

    fn deref(&self) -> &Quic {
        &self.quic
    }
}

impl DerefMut for End {
    fn deref_mut(&mut self) -> &mut Quic {
        &mut self.quic
    }
}

/// What an `Up` said.
struct Up {
    link: LinkId,
    peer: PeerId,
    dialled: bool,
    address: String,
    binding: [u8; 32],
}

fn open(key: u8) -> End {
    bound(QuicConfig::new([key; 32]))
}

fn bound(mut config: QuicConfig) -> End {
    config.listen = (Ipv4Addr::LOCALHOST, 0).into();
    End {
        quic: Quic::bind(config).unwrap(),
        seen: VecDeque::new(),
    }
}

fn at(quic: &Quic) -> String {
    quic.addresses().remove(0)
}

/// Dials from `a` to `b`; returns both ends in that order.
fn connect(a: &mut End, b: &mut End) -> (Up, Up) {
    a.dial(&at(b), b.peer());
    let end = |event| match event {
        LinkEvent::Up {
            link,
            peer,
            dialled,
            address,
            binding,
        } => Some(Up {
            link,
            peer: peer.unwrap(),
            dialled,
            address,
            binding,
        }),
        LinkEvent::DialFailed { .. } => panic!("{event:?}"),
        _ => None,
    };
    let from_a = until(b, a, end);
    (from_a, until(a, b, end))
}

/// Dials from `a` to `b` where one dial in some hundreds is bound to fail; returns the link of `a`.
fn connect_through_loss(a: &mut End, b: &mut End) -> LinkId {
    for _ in 0..3 {
        a.dial(&at(b), b.peer());
        let link = until(b, a, |event| match event {
            LinkEvent::Up { link, .. } => Some(Some(link)),
            LinkEvent::DialFailed { .. } => Some(None),
            _ => None,
        });
        if let Some(link) = link {
            return link;
        }
    }
    panic!("three dials came to nothing");
}

/// Polls both until `watched` has an event that `wanted` takes; drops those before it.
fn until<T>(other: &mut End, watched: &mut End, wanted: impl Fn(LinkEvent) -> Option<T>) -> T {
    let by = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < by, "no such event within {PATIENCE:?}");
        other.pump();
        watched.pump();
        while let Some(event) = watched.seen.pop_front() {
            if let Some(found) = wanted(event) {
                return found;
            }
        }
    }
}

fn received(channel: Channel) -> impl Fn(LinkEvent) -> Option<Vec<u8>> {
    move |event| match event {
        LinkEvent::Received {
            channel: by, bytes, ..
        } if by == channel => Some(bytes),
        _ => None,
    }
}

fn failed(event: LinkEvent) -> Option<(PeerId, LinkError)> {
    match event {
        LinkEvent::DialFailed { key, why, .. } => Some((key, why)),
        _ => None,
    }
}

fn down(event: LinkEvent) -> Option<(LinkId, LinkError)> {
    match event {
        LinkEvent::Down { link, why } => Some((link, why)),
        _ => None,
    }
}

fn quiet(end: &mut End) -> bool {
    end.seen.is_empty() && end.poll(Duration::from_millis(50)).is_none()
}

fn waker_after(pause: Duration, waker: Arc<dyn Fn() + Send + Sync>) -> impl FnOnce() + Send {
    move || {
        std::thread::park_timeout(pause);
        waker();
    }
}

/// How long anything may take that is to happen.
const PATIENCE: Duration = Duration::from_secs(10);
