//! Peers that stand still for a while.

use super::*;
use crate::Incarnation;

fn slept(peer: &Peer) -> usize {
    let slept = |event: &&Event| matches!(event, Event::Slept { .. });
    peer.events.iter().filter(slept).count()
}

/// When the peer has executed more turns than it has now, from now on.
fn next_turn_after(net: &mut Net, at: usize) -> Duration {
    let (from, turns) = (net.now(), net.peers[at].turns.len());
    while net.peers[at].turns.len() == turns {
        assert!(net.now() < from + Duration::from_secs(5), "no turn follows");
        net.run(net.now() + Duration::from_millis(1));
    }
    net.now() - from
}

#[test]
fn peer_executes_nothing_after_a_gap_until_others_answer() {
    for (peers, stopped) in [(2, 0), (2, 1), (3, 0), (3, 2)] {
        let mut net = Net::new(peers, Plan::default(), Some(60));
        net.run(Duration::from_secs(3));
        let before = net.peers[stopped].turns.len();
        net.stop(stopped, Duration::from_millis(1_700));
        // What was complete with what came in the gap would be executed at once.
        let passed = next_turn_after(&mut net, stopped);
        assert!(
            passed >= DELAY * 2,
            "{stopped} of {peers}: {passed:?}, after turn {before}"
        );
        assert!(passed < Duration::from_millis(400), "{passed:?}");
        assert_eq!(slept(&net.peers[stopped]), 1);
        net.run(Duration::from_secs(30));
        assert_eq!(net.ends().len(), peers);
        for peer in &net.peers {
            assert_eq!(peer.turns.len(), 60);
            assert_eq!(peer.turns, net.peers[0].turns);
            let changed = |event: &Event| matches!(event, Event::RosterChanged { .. });
            assert!(!peer.events.iter().any(changed));
        }
    }
}

#[test]
fn sleeper_that_lags_by_the_delay_signs_the_end() {
    let plan = Plan {
        ticks: 4,
        delay_turns: 8,
        tick_ms: 100,
    };
    for before in (4_000..4_800).step_by(100) {
        let mut net = Net::new(3, plan, Some(24));
        net.run(Duration::from_millis(before));
        net.stop(1, Duration::from_millis(2_900));
        net.run(Duration::from_secs(30));
        let signed: Vec<(u8, u8)> = net.ends().iter().map(|end| (end.agreed, end.of)).collect();
        assert_eq!(signed, [(3, 3); 3], "asleep after {before} ms");
    }
}

#[test]
fn a_gap_of_less_than_a_second_is_none() {
    let mut net = Net::new(3, Plan::default(), Some(30));
    net.run(Duration::from_secs(3));
    net.stop(1, Duration::from_millis(450));
    net.run(Duration::from_secs(20));
    assert_eq!(slept(&net.peers[1]), 0);
    assert_eq!(net.peers[1].turns.len(), 30);
}

#[test]
fn a_peer_that_stands_still_blames_no_other() {
    let plan = Plan {
        ticks: 1,
        delay_turns: 3,
        tick_ms: 50,
    };
    let mut net = Net::new(2, plan, None);
    net.run(Duration::from_secs(3));
    for _ in 0..10 {
        net.stop(0, Duration::from_millis(700));
        net.run(net.now() + Duration::from_millis(1_300));
    }
    let stalls = |event: &&Event| matches!(event, Event::Stalled { .. });
    let blamed = net.peers[0].events.iter().find(stalls);
    assert_eq!(blamed, None, "the other peer was always in time");
}

#[test]
fn long_sleeper_learns_its_removal_before_it_executes() {
    for stopped in [0, 2] {
        let mut net = Net::new(3, Plan::default(), Some(100));
        net.run(Duration::from_secs(3));
        let before = net.peers[stopped].turns.len();
        net.stop(stopped, Duration::from_secs(8));
        net.run(net.now() + Duration::from_secs(3));
        let peer = &net.peers[stopped];
        let Some(Event::Ended(ended)) = peer.events.last() else {
            panic!("it goes on alone");
        };
        assert_eq!(ended.reason, EndReason::Removed);
        assert_eq!(peer.turns.len(), before);
        net.run(Duration::from_secs(40));
        let survivor = &net.peers[1];
        assert_eq!(survivor.turns.len(), 100);
        assert_eq!(survivor.turns[..before], net.peers[stopped].turns);
    }
}

#[test]
fn all_peers_go_on_after_a_common_sleep() {
    let mut net = Net::new(3, Plan::default(), Some(60));
    net.run(Duration::from_secs(3));
    for at in 0..3 {
        net.mesh.driver.jump(at, Duration::from_secs(600));
    }
    let passed = next_turn_after(&mut net, 1);
    assert!(passed < Duration::from_millis(700), "{passed:?}");
    net.run(net.now() + Duration::from_secs(20));
    for peer in &net.peers {
        assert_eq!((slept(peer), peer.turns.len()), (1, 60));
        assert_eq!(peer.turns, net.peers[0].turns);
    }
}

#[test]
fn sleeper_that_wakes_beside_a_lost_peer_decides() {
    let mut net = Net::new(3, Plan::default(), Some(60));
    net.run(Duration::from_secs(3));
    net.stop(1, Duration::from_millis(2_000));
    net.links.silent.push(2);
    net.run(Duration::from_secs(40));
    assert_eq!(net.peers[0].turns.len(), 60);
    assert_eq!(net.peers[1].turns, net.peers[0].turns);
    for peer in [0, 1] {
        let changed = net.peers[peer].events.iter().find_map(|event| match event {
            Event::RosterChanged { gone, .. } => Some(crate::Gone::seats(gone)),
            _ => None,
        });
        assert_eq!(changed, Some(vec![Seat(2)]));
    }
}

#[test]
fn tie_break_holder_goes_on_when_the_other_died_in_its_sleep() {
    let mut net = Net::new(2, Plan::default(), Some(60));
    net.run(Duration::from_secs(3));
    net.links.silent.push(1);
    net.stop(0, Duration::from_secs(2));
    net.run(Duration::from_secs(40));
    assert_eq!(net.peers[0].turns.len(), 60);
}

#[test]
fn unsigned_and_malformed_statuses_are_blamed_on_the_bringer() {
    let mut net = Net::new(2, Plan::default(), Some(200));
    net.run(Duration::from_secs(3));
    let signed = |peer, content: &[u8]| {
        let signature = [7; 64].into();
        let content = content.to_vec();
        vec![SignedStatement {
            peer,
            content,
            signature,
        }]
    };
    let Some(Record::Start(start)) = net.peers[0].recording.records.first() else {
        panic!("a log begins with the start");
    };
    let word = |Incarnation(run): Incarnation, rest: &[u8]| [&run[..], rest].concat();
    let run = start.roster[1].incarnation;
    // Number 1, epoch 0 or 1, asks 5, two answers of 0 and no votes: well formed, and unsigned.
    let whole = signed(1, &word(run, &[1, 0, 5, 2, 0, 0, 0, 0]));
    let later = signed(1, &word(Incarnation([9; 16]), &[1, 1, 5, 2, 0, 0, 0, 0]));
    let earlier = signed(1, &word(Incarnation([9; 16]), &[1, 0, 5, 2, 0, 0, 0, 0]));
    let cases = [
        (signed(9, &[]), Fault::OutOfPlace),
        (signed(1, &[1, 2]), Fault::Garbage),
        (
            signed(1, &word(run, &[1, 0, 5, 1, 0, 0, 0])),
            Fault::Garbage,
        ),
        (whole.clone(), Fault::Signature),
        (later, Fault::Signature),
        (vec![whole[0].clone(); 3], Fault::Oversize),
    ];
    let link = *net.session(0).core.links.keys().next().expect("a link");
    let events = net.peers[0].events.len();
    let bytes = Control::Words(earlier).encode();
    let input = Input::Received {
        link,
        channel: Channel::Control,
        bytes: &bytes,
    };
    net.input(0, input);
    let told = &net.peers[0].events[events..];
    let blames = |event: &Event| matches!(event, Event::PeerFault { .. });
    assert!(
        !told.iter().any(blames),
        "a quoted status of a run that is over"
    );
    for (statuses, fault) in cases {
        let bytes = Control::Words(statuses).encode();
        let input = Input::Received {
            link,
            channel: Channel::Control,
            bytes: &bytes,
        };
        net.input(0, input);
        let peer = id(1);
        let wanted = Event::PeerFault { peer, fault };
        assert_eq!(net.peers[0].events.last(), Some(&wanted));
    }
}
