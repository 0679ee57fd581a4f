//! Adaptive plans between sessions: what they begin with, what they answer, and peers that come back.

use super::*;
use crate::RosterCause;
use crate::log::Way;

impl Net {
    /// A match of so many, over links of one way each.
    fn adaptive(peers: usize, one_way: Duration) -> Net {
        let terms = Terms {
            adaptive: true,
            ..Terms::default()
        };
        let mut net = Net::under(peers, terms);
        net.mesh.delay = one_way;
        net
    }

    /// The plans of a peer's match, and the way that each is for.
    fn plans(&self, at: usize) -> Vec<(String, Option<Way>)> {
        let events = self.peers[at].events.iter();
        let plans = events.filter_map(|event| match event {
            Event::Started { plan, .. } => Some((plan.to_string(), None)),
            Event::PlanChanged { plan, way, .. } => Some((plan.to_string(), *way)),
            _ => None,
        });
        plans.collect()
    }

    fn are_alike(&self) {
        let first = &self.peers[0].turns;
        for peer in &self.peers[1..] {
            let both = first.len().min(peer.turns.len());
            assert_eq!(peer.turns[..both], first[..both]);
        }
    }
}

const MS: Duration = Duration::from_millis(1);

#[test]
fn a_match_begins_with_the_plan_that_its_links_ask_for() {
    for (peers, one_way, plan) in [
        (2, 1, "50x2"),
        (2, 50, "50x3"),
        (3, 50, "50x3"),
        (2, 150, "100x3"),
    ] {
        let mut net = Net::adaptive(peers, MS * one_way);
        net.run(Duration::from_secs(20));
        for at in 0..peers {
            let case = format!("peer {at} of {peers}, {one_way} ms");
            assert_eq!(net.plans(at)[0].0, plan, "{case}");
            assert_eq!(net.session(at).stats().late_turns, 0, "{case}");
        }
    }
}

#[test]
fn where_guests_reach_each_other_late_a_plan_is_for_the_way_by_their_host() {
    let mut net = Net::adaptive(3, MS * 50);
    net.links.deaf_between = vec![(1, 2)];
    net.run(Duration::from_secs(10));
    assert_eq!(net.plans(0)[0].0, "50x4");
}

#[test]
fn a_plan_that_is_too_slow_is_fast_after_some_seconds() {
    let mut net = Net::adaptive(3, MS * 90);
    while net.plans(0).is_empty() {
        net.run(net.now() + MS);
    }
    net.mesh.delay = MS * 50;
    net.run(net.now() + Duration::from_secs(15));
    for at in 0..3 {
        let plans: Vec<String> = net.plans(at).into_iter().map(|(plan, _)| plan).collect();
        assert_eq!(plans, ["50x4", "50x3"], "peer {at}");
        assert_eq!(net.session(at).stats().late_turns, 0);
    }
    net.are_alike();
}

#[test]
fn a_longer_way_is_answered_within_a_few_turns() {
    for peers in [2, 4] {
        let mut net = Net::adaptive(peers, MS * 20);
        net.run(Duration::from_secs(10));
        net.mesh.delay = MS * 150;
        net.run(Duration::from_secs(40));
        for at in 0..peers {
            let (plan, way) = net.plans(at).pop().expect("it plays");
            assert_eq!(plan, "100x3", "peer {at} of {peers}");
            let way = way.expect("it is for a way");
            assert!((145..=160).contains(&way.ms), "{way:?}");
            // At most three turns wait, each for what the budget lacked. Turns between them come when they are due.
            let stalled = net.session(at).stats().stalled;
            assert!(stalled <= MS * 255, "{stalled:?} of peer {at} of {peers}");
        }
        net.are_alike();
    }
}

#[test]
fn a_peer_comes_back_whatever_the_plan_was_and_is() {
    for (first, then) in [(1, 130), (130, 1)] {
        let mut net = Net::adaptive(3, MS * first);
        net.run(Duration::from_secs(12));
        net.kill(2);
        net.run(Duration::from_secs(20));
        net.mesh.delay = MS * then;
        net.run(Duration::from_secs(90));
        net.restart(2, 99, Vec::new(), &[0]);
        let case = format!("{first} ms, then {then} ms");
        while net.causes(2).is_empty() {
            assert!(net.now() < Duration::from_secs(130), "{case}");
            net.run(net.now() + MS * 10);
        }
        let told = |at| net.plans(at).into_iter().map(|(plan, _)| plan);
        assert_eq!(told(2).next_back(), told(0).next_back(), "{case}");
        assert_ne!(told(2).next_back(), told(2).next(), "{case}");
        net.run(Duration::from_secs(130));
        let back = [RosterCause::Lost, RosterCause::Rejoined];
        assert_eq!(net.causes(0), back, "{case}");
        let (executed, first) = (net.peers[2].executed, net.peers[0].executed);
        assert!(executed + 4 >= first, "{executed} of {first} turns");
        net.is_one_of_them(2, 0);
        assert!(net.ends().is_empty());
    }
}

#[test]
fn ten_minutes_of_a_link_that_swings_change_the_plan_a_few_times() {
    for (seconds, most) in [(10, 2), (45, 7), (100, 5)] {
        let mut net = Net::adaptive(2, MS * 20);
        let mut is_slow = false;
        for _ in 0..600 / seconds {
            net.run(net.now() + Duration::from_secs(seconds));
            is_slow = !is_slow;
            net.mesh.delay = MS * if is_slow { 120 } else { 20 };
        }
        net.run(net.now() + Duration::from_secs(1));
        let plans = net.plans(0);
        let changes = plans.len() - 1;
        let stats = net.session(0).stats();
        let case = format!("each {seconds} s: {plans:?}, {stats:?}");
        assert!((1..=most).contains(&changes), "{case}");
        // Each change to a slower plan costs what the budget lacked in three turns at most.
        let slower = (changes as u32).div_ceil(2);
        assert!(stats.stalled <= MS * 300 * slower, "{case}");
        net.are_alike();
    }
}
