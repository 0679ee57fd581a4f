//! What leaves on a link: each batch once, and again where it is asked for.

use super::*;
use crate::session::wire::Datagram;

const MS: Duration = Duration::from_millis(1);

/// The turn of a batch that leaves for the first time.
fn first_batch(arrival: &Arrival) -> Option<u32> {
    let Arrives::Bytes(Channel::Turns, bytes) = &arrival.what else {
        return None;
    };
    let Ok(Datagram::Turns(packet)) = Datagram::decode(bytes) else {
        return None;
    };
    let mut batches = packet.batches.iter().zip(&packet.copies);
    let (batch, _) = batches.find(|(_, is_copy)| !**is_copy)?;
    let batch = Batch::decode(&batch.content).ok()?;
    Some(batch.turn.0)
}

#[test]
fn a_batch_leaves_once_on_a_link_that_loses_none() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(10));
    let before = net.session(0).stats();
    net.run(Duration::from_secs(70));
    let after = net.session(0).stats();
    for (before, after) in before.links.iter().zip(&after.links) {
        let batches = after.batches - before.batches;
        assert!((299..=301).contains(&batches), "{batches}");
        assert_eq!(after.copies, before.copies);
        // A keyed hash signs here: no packet but those with batches leaves.
        let bytes = (after.bytes - before.bytes) / batches;
        assert!(bytes <= 120, "{bytes} for each batch");
    }
}

#[test]
fn one_peer_passes_on_what_does_not_come_first_hand() {
    let mut net = Net::new(7, Plan::default(), None);
    net.mesh.delay = MS * 30;
    net.run(Duration::from_secs(10));
    let direct = net.links_where(|ends| ends == (1, 6) || ends == (6, 1));
    let lost = |arrival: &Arrival| -> Option<u32> {
        let Arrives::Bytes(Channel::Turns, bytes) = &arrival.what else {
            return None;
        };
        let Ok(Datagram::Turns(packet)) = Datagram::decode(bytes) else {
            return None;
        };
        let of = packet.batches.iter().filter(|batch| batch.peer == 1);
        let mut turns = of.filter_map(|batch| Some(Batch::decode(&batch.content).ok()?.turn.0));
        turns.find(|turn| arrival.to == 6 && turn % 5 == 0)
    };
    let mut passed_on = std::collections::BTreeSet::new();
    while net.now() < Duration::from_secs(70) {
        net.run(net.now() + MS);
        let others = net.mesh.driver.events();
        let others = others.filter(|arrival| !direct.contains(&arrival.link));
        passed_on.extend(others.filter_map(|arrival| Some((lost(arrival)?, arrival.link))));
        net.lose(|arrival| direct.contains(&arrival.link) && lost(arrival).is_some());
    }
    let turns: std::collections::BTreeSet<u32> = passed_on.iter().map(|of| of.0).collect();
    assert!(turns.len() >= 59, "{} turns", turns.len());
    assert!(passed_on.len() <= 90, "by {} links in all", passed_on.len());
}

#[test]
fn a_batch_that_is_lost_is_asked_for_in_time() {
    let mut net = Net::new(3, Plan::default(), None);
    net.mesh.delay = MS * 50;
    net.run(Duration::from_secs(10));
    let mut lost = std::collections::BTreeSet::new();
    while net.now() < Duration::from_secs(70) {
        net.run(net.now() + MS);
        let is_lost = |arrival: &Arrival| {
            let turn = first_batch(arrival).filter(|turn| turn % 3 == 0);
            turn.filter(|_| arrival.to == 1)
        };
        let turns: Vec<u32> = net.mesh.driver.events().filter_map(is_lost).collect();
        lost.extend(turns);
        net.lose(|arrival| is_lost(arrival).is_some());
    }
    assert!(lost.len() >= 99, "{} turns", lost.len());
    for at in 0..3 {
        let stats = net.session(at).stats();
        assert_eq!(stats.late_turns, 0, "peer {at}: {stats:?}");
    }
}

#[test]
fn an_outage_of_one_way_holds_up_one_peer_and_no_other() {
    let mut net = Net::new(2, Plan::default(), None);
    net.mesh.delay = MS * 100;
    net.run(Duration::from_secs(10));
    let at_first = [0, 1].map(|at| net.session(at).stats());
    while net.now() < Duration::from_secs(130) {
        net.run(net.now() + MS);
        // More than a batch, and all of its copies.
        if net.now().as_millis() % 4_000 < 150 {
            net.lose(|arrival| arrival.to == 1);
        }
    }
    let stalled = [0, 1].map(|at| net.session(at).stats().stalled - at_first[at].stalled);
    assert!(stalled[1] > MS * 1_000, "{stalled:?}");
    assert!(
        stalled[1] < MS * 30 * 170,
        "a batch rides along: {stalled:?}"
    );
    assert!(stalled[0] < stalled[1] / 20, "{stalled:?}");
    let turns = net.peers[0].turns.len();
    assert!(turns >= 595, "{turns} turns in 120 s and 10 at first");
}
