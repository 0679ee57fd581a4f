//! What goes over links, and how they end.

use super::*;

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
fn sent_messages_arrive_before_the_close() {
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
    let mut last = begun;
    // A busy machine falls behind the cadence: all are sent all the same.
    while sent < 400 || last.elapsed() < Duration::from_millis(500) {
        if sent < 400 && begun.elapsed() >= cadence * sent {
            a.send(link, Channel::Turns, &[0; MAX_DATAGRAM]).unwrap();
            sent += 1;
            last = Instant::now();
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
fn datagrams_without_end_are_dropped() {
    let (mut a, mut b) = (open(13), open(14));
    let (from_a, _) = connect(&mut a, &mut b);
    let until_then = Instant::now() + Duration::from_secs(1);
    let (mut sent, mut taken) = (0, 0);
    while Instant::now() < until_then {
        for _ in 0..32 {
            sent += u32::from(a.send(from_a.link, Channel::Turns, &[1]).is_ok());
        }
        a.pump();
        b.pump();
        taken += b
            .seen
            .drain(..)
            .filter_map(received(Channel::Turns))
            .count();
    }
    assert!(sent > 4_000, "{sent} were sent");
    assert!(taken <= 2_000, "{taken} of {sent} were taken");
    exchange(&mut a, &mut b, from_a.link, Channel::Control);
}
