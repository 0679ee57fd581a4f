//! What a session tells of the others while a match runs.

use super::*;

#[test]
fn slack_silence_and_the_age_of_the_last_agreement_are_measured() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(10));
    let (turns, turn) = (net.peers[0].turns.len() as u32, Plan::default().turn());
    let stats = net.session(0).stats();
    let others: Vec<PeerId> = stats.peers.iter().map(|peer| peer.peer).collect();
    assert_eq!(others, [id(1), id(2)]);
    // A batch is sealed a turn before it is due, and is on its way for a while.
    let usual = (turn - DELAY).as_millis() as i16;
    for peer in &stats.peers {
        for slack in [peer.slack_ms, peer.slack_there_ms] {
            assert!(slack.is_some_and(|ms| (ms - usual).abs() < 25), "{peer:?}");
        }
        assert!(peer.unheard <= turn + DELAY, "{peer:?}");
    }
    let agreed = stats.agreed.expect("some turns were compared");
    assert!(turns - agreed.turns <= 4, "{agreed:?} of {turns} turns");
    assert!(agreed.ago <= turn + DELAY, "{agreed:?}");

    net.links.silent = vec![2];
    net.run(net.now() + Duration::from_secs(2));
    let stats = net.session(0).stats();
    let [heard, silent] = stats.peers[..] else {
        panic!("no peer is out yet: {stats:?}");
    };
    assert!(heard.unheard < Duration::from_secs(1), "{heard:?}");
    assert!(silent.unheard > Duration::from_millis(1_700), "{silent:?}");
    let agreed = stats.agreed.expect("as before");
    assert!(agreed.ago > Duration::from_secs(1), "{agreed:?}");

    // A removed peer is not among the others.
    net.run(net.now() + Duration::from_secs(10));
    let stats = net.session(0).stats();
    let others: Vec<PeerId> = stats.peers.iter().map(|peer| peer.peer).collect();
    assert_eq!(others, [id(1)]);
    let agreed = stats.agreed.expect("as before");
    assert!(agreed.ago < Duration::from_secs(1), "{agreed:?}");
}

#[test]
fn wait_counts_where_a_peer_leaves_or_the_match_ends() {
    for leaves in [true, false] {
        let mut net = Net::new(2, Plan::default(), None);
        net.run(Duration::from_secs(10));
        // The survivor has no quorum.
        net.kill(0);
        net.run(Duration::from_secs(25));
        if leaves {
            net.input(1, Input::Leave);
        }
        net.run(Duration::from_secs(45));
        assert!(net.end_of(1).is_some());
        let stalled = net.session(1).stats().stalled;
        let least = Duration::from_secs(if leaves { 14 } else { 19 });
        assert!(
            stalled > least && stalled < Duration::from_secs(21),
            "{stalled:?}"
        );
    }
}

#[test]
fn the_log_has_how_long_before_their_deadline_batches_left() {
    let mut net = Net::new(3, Plan::default(), Some(200));
    net.run(Duration::from_secs(60));
    for at in 0..3 {
        let records = net.peers[at].recording.records.iter();
        let newest = records.rev().find_map(|record| match record {
            Record::Leads { leads, .. } => Some(leads),
            _ => None,
        });
        let leads = newest.expect("the match lasts 40 s");
        let others: Vec<usize> = leads.iter().map(|(of, _)| usize::from(*of)).collect();
        assert_eq!(others, [[1, 2], [0, 2], [0, 1]][at]);
        let in_time = |lead: Lead| lead.ms > 150 && lead.usual_ms == 200 && !lead.stands_out;
        assert!(leads.iter().all(|(_, lead)| in_time(*lead)), "{leads:?}");
    }
}
