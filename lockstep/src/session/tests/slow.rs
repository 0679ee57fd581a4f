//! A machine that is too slow: all peers slow down alike, know why, and are fast again.

use super::*;
use crate::RosterCause;

fn plans(peer: &Peer) -> Vec<(TurnNumber, u16, Vec<Seat>)> {
    let changes = peer.events.iter().filter_map(|event| match event {
        Event::PlanChanged { turn, plan, slow } => Some((*turn, plan.tick_ms, slow.clone())),
        _ => None,
    });
    changes.collect()
}

#[test]
fn the_match_slows_down_for_a_slow_machine_and_recovers() {
    let mut net = Net::with(3, Plan::default(), Some(400), OnSlow::Meter);
    net.run(Duration::from_secs(10));
    net.peers[1].step = Duration::from_millis(70);
    net.run(Duration::from_secs(30));
    net.peers[1].step = Duration::from_millis(2);
    net.run(Duration::from_secs(120));
    let first = net.peers[0].turns.clone();
    assert_eq!(first.len(), 400);
    let changes = plans(&net.peers[0]);
    let lengths: Vec<u16> = changes.iter().map(|(_, tick_ms, _)| *tick_ms).collect();
    assert_eq!(lengths, [88, 50], "{changes:?}");
    assert_eq!(changes[0].2, [Seat(1)]);
    assert_eq!(changes[1].2, []);
    for peer in &net.peers {
        assert_eq!(peer.turns, first);
        assert_eq!(plans(peer), changes);
        assert_eq!(peer.session.stats().late_turns, 0, "slower, not later");
        for keyframe in peer.records.iter().filter_map(|record| match record {
            Record::Keyframe(keyframe) => Some(keyframe),
            _ => None,
        }) {
            let next = first.get(keyframe.turns as usize);
            assert!(next.is_none_or(|next| next.plan == keyframe.plan));
        }
    }
    for (turn, tick_ms, _) in changes {
        assert_eq!(first[turn.0 as usize].plan.tick_ms, tick_ms);
        assert_ne!(first[turn.0 as usize - 1].plan.tick_ms, tick_ms);
    }
    assert_eq!(net.ends().len(), 3);
}

#[test]
fn strangers_remove_who_slows_them_down_for_longer_than_it_may_be_late() {
    let mut net = Net::with(3, Plan::default(), Some(400), OnSlow::Remove);
    net.peers[2].step = Duration::from_millis(100);
    net.run(Duration::from_secs(120));
    for peer in &net.peers[..2] {
        let gone = peer.events.iter().find_map(|event| match event {
            Event::RosterChanged {
                turn, gone, cause, ..
            } => Some((*turn, gone.clone(), *cause)),
            _ => None,
        });
        let (turn, gone, cause) = gone.expect("the roster changes");
        assert_eq!((gone, cause), (vec![Seat(2)], RosterCause::Lost));
        // Ten seconds of 75 ms longer ticks, and what it took to measure.
        assert!((30..60).contains(&turn.0), "turn {turn}");
        let last = plans(peer).pop().expect("ticks were longer");
        assert_eq!((last.1, last.2), (50, vec![]), "and are short again");
        assert_eq!(peer.turns.len(), 400);
    }
    let removed = net.peers[2].events.last();
    assert!(
        matches!(removed, Some(Event::Ended(ended)) if ended.reason == EndReason::Removed),
        "{removed:?}"
    );
}

#[test]
fn of_two_the_one_without_the_lowest_seat_cannot_remove_the_other() {
    let mut net = Net::with(2, Plan::default(), Some(200), OnSlow::Remove);
    net.peers[0].step = Duration::from_millis(100);
    net.run(Duration::from_secs(150));
    for peer in &net.peers {
        assert_eq!(peer.turns.len(), 200);
        let named = |event: &&Event| matches!(event, Event::RosterChanged { .. });
        assert_eq!(peer.events.iter().find(named), None);
    }
}
