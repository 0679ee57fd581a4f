//! A machine that is too slow: all peers slow down alike, know why, and are fast again.

use super::*;
use crate::RosterCause;
use crate::log::{STALL_BUDGET, TurnFold};

fn plans(peer: &Peer) -> Vec<(TurnNumber, u16, Vec<Seat>)> {
    let changes = peer.events.iter().filter_map(|event| match event {
        Event::PlanChanged {
            turn, plan, slow, ..
        } => Some((*turn, plan.tick_ms, slow.clone())),
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
    for (at, peer) in net.peers.iter().enumerate() {
        assert_eq!(peer.turns, first);
        assert_eq!(plans(peer), changes);
        assert_eq!(net.session(at).stats().late_turns, 0, "slower, not later");
        for keyframe in peer
            .recording
            .records
            .iter()
            .filter_map(|record| match record {
                Record::Keyframe(keyframe) => Some(keyframe),
                _ => None,
            })
        {
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
fn a_false_report_of_a_slow_machine_slows_the_match_for_seconds() {
    let mut net = Net::with(3, Plan::default(), Some(600), OnSlow::Meter);
    net.peers[1].step = Duration::from_secs(1);
    net.run(Duration::from_secs(180));
    let turns = &net.peers[0].turns;
    assert_eq!(turns.len(), 600);
    let cost = turns
        .iter()
        .map(|turn| turn.plan.turn() - Plan::default().turn());
    let cost: Duration = cost.sum();
    let played = Plan::default().turn() * 600;
    assert!(cost > STALL_BUDGET, "it slows down for it: {cost:?}");
    let most = STALL_BUDGET + played / 10 + Duration::from_secs(1);
    assert!(cost <= most, "{cost:?} of {most:?}");
    assert_eq!(plans(&net.peers[0])[0].2, [Seat(1)], "and it is named");
    assert_eq!(net.ends().len(), 3, "no peer is removed");
}

#[test]
fn remove_policy_removes_a_machine_slow_for_too_long() {
    let mut net = Net::with(3, Plan::default(), Some(400), OnSlow::Remove);
    net.peers[2].step = Duration::from_millis(100);
    net.run(Duration::from_secs(120));
    for peer in &net.peers[..2] {
        let gone = peer.events.iter().find_map(|event| match event {
            Event::RosterChanged {
                turn, gone, cause, ..
            } => Some((*turn, crate::Gone::seats(gone), *cause)),
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
fn peer_without_the_tie_break_cannot_remove_the_other() {
    let mut net = Net::with(2, Plan::default(), Some(200), OnSlow::Remove);
    net.peers[0].step = Duration::from_millis(100);
    net.run(Duration::from_secs(150));
    for peer in &net.peers {
        assert_eq!(peer.turns.len(), 200);
        let named = |event: &&Event| matches!(event, Event::RosterChanged { .. });
        assert_eq!(peer.events.iter().find(named), None);
    }
}

#[test]
fn joiner_of_a_slow_match_computes_the_same_plans() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(5));
    net.peers[1].step = Duration::from_millis(70);
    net.run(Duration::from_secs(15));
    net.kill(2);
    net.run(Duration::from_secs(25));
    net.restart(2, 99, Vec::new(), &[0]);
    net.run(Duration::from_secs(40));
    assert_eq!(net.session(2).status(), Status::Running);
    net.peers[1].step = Duration::from_millis(2);
    net.run(Duration::from_secs(65));
    net.peers[2].step = Duration::from_millis(90);
    net.run(Duration::from_secs(80));
    for other in [0, 1] {
        net.is_one_of_them(2, other);
        assert_eq!(plans(&net.peers[other]), plans(&net.peers[0]));
    }
    let all = plans(&net.peers[0]);
    let lengths: Vec<u16> = all.iter().map(|(_, tick_ms, _)| *tick_ms).collect();
    assert_eq!((lengths[0], lengths.last()), (88, Some(&113)), "{all:?}");
    assert!(lengths.contains(&50) && lengths.len() <= 6, "{all:?}");
    assert_eq!(all.last().map(|last| &last.2), Some(&vec![Seat(2)]));
    let told = plans(&net.peers[2]);
    assert_eq!((told[0].1, &told[0].2), (88, &Vec::new()), "as it is back");
    assert_eq!(told[1..], all[1..], "all since then");
}

#[test]
fn a_log_with_a_plan_that_no_machine_asked_for_is_refused() {
    let mut net = Net::new(3, Plan::default(), Some(200));
    net.peers[1].step = Duration::from_millis(70);
    net.run(Duration::from_secs(15));
    net.peers[1].step = Duration::from_millis(2);
    net.run(Duration::from_secs(60));
    let Some(Record::Start(start)) = net.peers[0].recording.records.first() else {
        panic!("the first record is the start");
    };
    let turns = &net.peers[0].turns;
    let refused = |turns: &[Bundle]| {
        let mut course = TurnFold::new(start);
        turns.iter().position(|bundle| !course.follow(bundle))
    };
    assert_eq!(refused(turns), None);
    let changes = plans(&net.peers[0]);
    assert!(changes.len() >= 2, "{changes:?}");
    for (turn, ..) in &changes {
        let at = turn.0 as usize;
        let mut late = turns.clone();
        late[at].plan = late[at - 1].plan;
        assert_eq!(refused(&late), Some(at), "a change that is left out");
        let mut early = turns.clone();
        early[at - 1].plan = early[at].plan;
        assert_eq!(refused(&early), Some(at - 1), "one that comes too soon");
    }
    let mut silenced = turns.clone();
    for bundle in &mut silenced {
        let load = |entry: &LogEntry| matches!(entry.what, What::Load(_));
        bundle.entries.retain(|entry| !load(entry));
    }
    let first = changes[0].0.0 as usize;
    assert_eq!(refused(&silenced), Some(first), "one without its reason");
}

#[test]
fn slightly_late_peer_is_not_removed_for_earlier_time() {
    for tick_ms in [10, 35, 42, 80] {
        let plan = Plan {
            ticks: 4,
            delay_turns: 2,
            tick_ms,
        };
        let mut net = Net::new(3, plan, None);
        // Its clock is so slow that no haste makes up for it: the others wait for it a little in every turn.
        let session = net.mesh.driver.remove(2).expect("it begins now");
        let clock = Clock {
            drift_ppm: -55_000,
            ..Clock::default()
        };
        net.mesh.driver.restart(2, session, clock);
        net.run(Duration::from_secs(400));
        let (peer, session) = (&net.peers[0], net.session(0));
        let suspects = |event: &&Event| matches!(event, Event::Suspected { .. });
        assert_eq!(peer.events.iter().find(suspects), None, "{tick_ms} ms");
        let stats = session.stats();
        assert!(stats.late_turns > 100, "{tick_ms} ms: {stats:?}");
        let Phase::Playing(playing) = &session.phase else {
            panic!("the match goes on");
        };
        let blocked = playing.blocked_by(2);
        assert!(
            blocked <= stats.stalled,
            "{tick_ms} ms: {blocked:?} of {stats:?}"
        );
    }
}

#[test]
fn plan_that_retracted_turns_led_to_is_taken_back() {
    let played = |two_faced: Option<u32>| {
        let mut net = Net::new(3, Plan::default(), None);
        net.links.two_faced = two_faced;
        net.run(Duration::from_secs(10));
        net.peers[1].step = Duration::from_millis(70);
        net.run(Duration::from_secs(20));
        net
    };
    let (slow_from, tick_ms, slow) = plans(&played(None).peers[0]).swap_remove(0);
    let last = TurnNumber(slow_from.0 - 1);
    let net = played(Some(last.0));
    for peer in &net.peers[..2] {
        assert!(peer.retracted.contains(&last.0), "{:?}", peer.retracted);
        let told = plans(peer);
        let first = [
            (slow_from, tick_ms, slow.clone()),
            (last, Plan::default().tick_ms, Vec::new()),
        ];
        assert_eq!(told[..2], first, "{told:?}");
        assert_eq!((told[2].1, &told[2].2), (tick_ms, &slow), "{told:?}");
    }
}

#[test]
fn leaver_in_long_turns_stays_until_the_others_may_go_on() {
    let plan = Plan {
        delay_turns: 8,
        ..Plan::default()
    };
    let mut net = Net::new(2, plan, None);
    net.peers[0].step = Duration::from_millis(150);
    net.run(Duration::from_secs(12));
    let slow = plans(&net.peers[1]).last().expect("it slows down").1;
    assert!(slow >= 150, "{slow} ms");
    // Without the lowest seat the other could not go on alone.
    net.input(0, Input::Leave);
    net.run(Duration::from_secs(45));
    assert_eq!(net.end_of(0), Some(&EndReason::Left));
    assert_eq!(net.causes(1), [RosterCause::Left]);
    let lost = |event: &Event| matches!(event, Event::NoQuorum { .. });
    assert!(!net.peers[1].events.iter().any(lost));
}
