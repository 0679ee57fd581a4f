//! Which peers get a link, and which do not.

use super::*;

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
fn another_key_than_the_expected_one_is_found_out() {
    let (mut a, mut b) = (open(13), open(14));
    let stranger = PeerId([9; 32]);
    a.dial(&at(&b), stranger);
    let (key, why) = until(&mut b, &mut a, failed);
    assert_eq!((key, why), (stranger, LinkError::WrongKey));
    assert!(quiet(&mut b), "the acceptor saw no link");
}

#[test]
fn unanswered_dial_fails_in_time() {
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
fn malformed_address_fails_at_once() {
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
fn links_that_come_in_are_bounded() {
    let mut config = QuicConfig::new([27; 32]);
    config.limits.unproved_links = 1;
    config.limits.peers = 1;
    let mut host = bound(config);
    let mut guest = open(28);
    let places = rules::places(&host.shared.limits);
    for _ in 1..places {
        connect(&mut guest, &mut host);
    }
    let (last, _) = connect(&mut guest, &mut host);
    guest.dial(&at(&host), host.peer());
    let (_, why) = until(&mut host, &mut guest, failed);
    assert_eq!(why, LinkError::Refused);

    guest.close(last.link);
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
    let dials = rules::HALF_OPEN.each;
    for _ in 0..dials {
        guest.dial(&at(&host), host.peer());
    }
    // The guest sends its first packets and then answers nothing, as an attacker with forged addresses would.
    for _ in 0..10 {
        guest.pump();
    }
    for _ in 0..10 {
        host.pump();
    }
    let pending = host.shared.handshakes.pending();
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
    let server = settings::server(tls::accepting(&key));
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
fn preferred_port_is_taken_where_it_is_free() {
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let listening = || {
        let config = QuicConfig {
            preferred_port: Some(port),
            ..QuicConfig::new([56; 32])
        };
        bound(config).local_address().port()
    };
    assert_ne!(listening(), port);
    drop(taken);
    assert_eq!(listening(), port);
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
