//! Players vote to wait longer for a silent peer.

use super::*;

fn changed(peer: &Peer) -> bool {
    let changed = |event: &Event| matches!(event, Event::RosterChanged { .. });
    peer.events.iter().any(changed)
}

fn longer(peer: &Peer) -> Option<Duration> {
    let mut votes = peer.events.iter().rev().filter_map(|event| match event {
        Event::Extension { extension, .. } => Some(*extension),
        _ => None,
    });
    votes.next()
}

/// A match in which the last peer falls silent after 3 s, and the first so many vote 2 s later.
fn vote(peers: usize, voters: usize) -> Net {
    vote_with(Plan::default(), peers, voters)
}

fn vote_with(plan: Plan, peers: usize, voters: usize) -> Net {
    let mut net = Net::new(peers, plan, Some(200));
    net.run(Duration::from_secs(3));
    net.links.silent.push(peers - 1);
    net.run(Duration::from_secs(5));
    for at in 0..voters {
        net.input(at, Input::WaitLonger);
    }
    net
}

#[test]
fn a_quorum_of_votes_makes_all_wait() {
    let mut net = vote(4, 3);
    net.run(Duration::from_secs(15));
    for at in 0..3 {
        assert_eq!(longer(&net.peers[at]), Some(Duration::from_secs(30)));
        assert!(!changed(&net.peers[at]));
    }
    // It is heard again and plays on.
    net.links.silent.clear();
    net.run(Duration::from_secs(70));
    for peer in &net.peers {
        assert_eq!(peer.turns.len(), 200);
        assert!(!changed(peer));
    }
}

#[test]
fn leaver_is_not_waited_for_once_it_is_gone() {
    let mut net = vote(4, 3);
    net.run(Duration::from_secs(8));
    net.input(1, Input::Leave);
    while net.ends().is_empty() {
        net.run(net.now() + Duration::from_millis(10));
    }
    assert!(net.now() < Duration::from_millis(13_500), "{:?}", net.now());
    net.links.silent.clear();
    net.run(net.now() + Duration::from_secs(2));
    for at in [0, 2, 3] {
        let peer = &net.peers[at];
        let stalls = peer.events.iter().filter_map(|event| match event {
            Event::StallEnded { late, .. } => Some(*late),
            _ => None,
        });
        let late: Vec<Duration> = stalls.collect();
        assert!(changed(peer), "peer {at}: {late:?}");
        assert_eq!(net.causes(at), [crate::RosterCause::Left], "peer {at}");
    }
}

#[test]
fn a_vote_is_told_of_in_its_own_stall_and_not_in_a_moment_of_a_later_turn() {
    let mut net = Net::new(2, Plan::default(), None);
    net.run(Duration::from_secs(8));
    net.links.silent = vec![1];
    net.run(net.now() + Duration::from_secs(1));
    net.input(0, Input::WaitLonger);
    net.run(net.now() + Duration::from_secs(1));
    let peer = &net.peers[0];
    let told = |event: &&Event| matches!(event, Event::Extension { .. });
    assert_eq!(peer.events.iter().filter(told).count(), 1);
    let Session { phase, core, .. } = net.session_mut(0);
    let Phase::Playing(playing) = phase else {
        panic!("it plays");
    };
    playing.next_stall(core);
    let told = |out: &&Output| matches!(out, Output::Event(Event::Extension { .. }));
    assert_eq!(core.out.iter().filter(told).count(), 0);
}

#[test]
fn fewer_votes_than_a_quorum_change_nothing() {
    let mut net = vote(4, 2);
    // Half of four, with the lowest seat among them, is a quorum; half without it is none.
    net.run(Duration::from_millis(7_500));
    assert!(!changed(&net.peers[2]));
    let mut net = vote(4, 0);
    net.input(1, Input::WaitLonger);
    net.input(2, Input::WaitLonger);
    net.run(Duration::from_millis(7_500));
    assert_eq!(longer(&net.peers[0]), Some(Duration::ZERO));
    assert!(changed(&net.peers[0]));
}

#[test]
fn patience_ends_and_a_vote_renews_it() {
    let mut net = vote(3, 2);
    net.run(Duration::from_secs(30));
    net.input(0, Input::WaitLonger);
    net.run(Duration::from_secs(39));
    // One of three has voted twice: a quorum has voted once.
    assert_eq!(longer(&net.peers[0]), Some(Duration::from_secs(30)));
    assert!(changed(&net.peers[0]));

    let mut net = vote(3, 2);
    net.run(Duration::from_secs(20));
    net.input(0, Input::WaitLonger);
    net.input(1, Input::WaitLonger);
    net.run(Duration::from_secs(60));
    assert_eq!(longer(&net.peers[0]), Some(Duration::from_secs(60)));
    assert!(!changed(&net.peers[0]));
    net.run(Duration::from_secs(70));
    assert!(changed(&net.peers[0]));
}

#[test]
fn a_peer_that_falls_silent_later_in_a_stall_makes_it_no_longer() {
    let mut net = vote(5, 4);
    net.run(Duration::from_secs(20));
    net.links.silent.push(3);
    net.run(Duration::from_secs(35));
    assert!(!changed(&net.peers[0]));
    net.run(Duration::from_secs(40));
    let seats = |event: &Event| match event {
        Event::RosterChanged { seats, .. } => Some(seats.len()),
        _ => None,
    };
    let seats = net.peers[0].events.iter().rev().find_map(seats);
    assert_eq!(seats, Some(3), "both are removed");
}

#[test]
fn a_vote_in_the_next_stall_adds_nothing_to_the_one_before() {
    let plan = Plan {
        delay_turns: 8,
        ..Plan::default()
    };
    let mut net = vote_with(plan, 4, 3);
    net.run(Duration::from_secs(8));
    let turns = net.peers[0].turns.len();
    // The silent peer is heard again, and now another one falls silent.
    net.links.silent = vec![2];
    net.run(net.now() + Duration::from_millis(2_500));
    assert!((turns + 1..=turns + 8).contains(&net.peers[0].turns.len()));
    for at in 0..2 {
        net.input(at, Input::WaitLonger);
    }
    net.run(net.now() + Duration::from_secs(1));
    assert_eq!(longer(&net.peers[0]), Some(Duration::from_secs(30)));
}

#[test]
fn votes_for_one_peer_are_none_for_the_next() {
    let plan = Plan {
        delay_turns: 8,
        ..Plan::default()
    };
    let mut net = vote_with(plan, 4, 3);
    net.run(Duration::from_secs(8));
    net.links.silent = vec![2];
    net.run(net.now() + Duration::from_secs(6));
    assert!(changed(&net.peers[0]), "it waits 3 s for the other one");
}

#[test]
fn votes_are_bounded_and_mean_nothing_without_a_stall() {
    let mut net = Net::new(3, Plan::default(), Some(100));
    net.run(Duration::from_secs(3));
    net.input(0, Input::WaitLonger);
    net.input(1, Input::WaitLonger);
    net.run(Duration::from_secs(4));
    assert_eq!(longer(&net.peers[0]), None);
    net.links.silent.push(2);
    net.run(Duration::from_secs(8));
    assert!(changed(&net.peers[0]));

    let mut net = vote(3, 0);
    for _ in 0..300 {
        net.input(0, Input::WaitLonger);
        net.input(1, Input::WaitLonger);
    }
    net.run(Duration::from_secs(6));
    assert_eq!(longer(&net.peers[1]), Some(Duration::from_secs(600)));
}

#[test]
fn several_seats_were_waited_for() {
    let two = EndReason::StallLimit {
        on: vec![Seat(2), Seat(3)],
    };
    assert_eq!(two.to_string(), "seats 2, 3 were waited for in vain");
}
