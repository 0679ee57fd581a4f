//! A peer signs two different batches for one turn.

use super::desync::match_of;
use super::hostile::chatting;
use super::lost::part;
use super::*;
use crate::{Gone, RosterCause};

impl Net {
    fn has_named(&self, at: usize) -> bool {
        self.peers[at].events.contains(&Event::PeerFault {
            peer: id(2),
            fault: Fault::Equivocation,
        })
    }

    /// What these peers have executed is the same, and so are their logs.
    fn have_one_history(&self, peers: &[usize]) {
        let turns_of = |at: usize| -> Vec<&Bundle> {
            let records = self.peers[at].recording.records.iter();
            let bundles = records.filter_map(|record| match record {
                Record::Bundle(bundle) => Some(bundle),
                _ => None,
            });
            bundles.collect()
        };
        let first = turns_of(peers[0]);
        for at in &peers[1..] {
            let other = turns_of(*at);
            let turns = first.len().min(other.len());
            assert!(first.len().max(other.len()) - turns <= 1);
            assert_eq!(first[..turns], other[..turns], "peer {at}");
            let (executed, loaded) = (&self.peers[*at].turns, self.peers[*at].loaded as usize);
            let same = executed.iter().zip(&first[loaded..]);
            assert!(same.clone().count() + 1 >= executed.len());
            same.for_each(|(executed, logged)| assert_eq!(executed, *logged, "peer {at}"));
        }
    }
}

#[test]
fn equivocator_is_named_and_the_others_keep_one_history() {
    let mut net = Net::new(3, Plan::default(), None);
    net.links.two_faced = Some(20);
    net.run(Duration::from_secs(12));
    assert!(net.has_named(0) && net.has_named(1));
    let ends = net.ends();
    assert_eq!(ends.len(), 1, "{ends:?}");
    assert_eq!(ends[0].reason, EndReason::Removed);
    for peer in &net.peers[..2] {
        let delay = u32::from(Plan::default().delay_turns);
        let back = peer.retracted.iter().filter(|turns| **turns > delay);
        assert_eq!(back.count(), 1, "taken back once: {:?}", peer.retracted);
        assert!(peer.events.iter().any(|event| matches!(
            event,
            Event::RosterChanged { cause: RosterCause::Cheated, gone, .. }
                if Gone::seats(gone) == [Seat(2)]
        )));
    }
    assert!(net.peers[0].turns.len() > 40);
    net.have_one_history(&[0, 1]);
}

#[test]
fn rejoined_peer_retracts_and_a_rejoined_cheat_stays_out() {
    let mut net = Net::new(4, Plan::default(), None);
    net.run(Duration::from_secs(13));
    for (victim, until) in [(3, 30), (2, 50)] {
        net.kill(victim);
        net.run(Duration::from_secs(until - 8));
        net.restart(victim, 90 + victim as u8, Vec::new(), &[1]);
        net.run(Duration::from_secs(until));
        assert_eq!(net.causes(victim), [RosterCause::Rejoined]);
    }
    let turn = net.peers[0].executed as u32 + 10;
    net.links.two_faced = Some(turn);
    net.run(Duration::from_secs(60));
    let honest = [0, 1, 3];
    for at in honest {
        assert!(net.has_named(at), "peer {at}");
        let retracted = &net.peers[at].retracted;
        assert_eq!(*retracted, [turn], "peer {at}");
        assert_eq!(net.causes(at).last(), Some(&RosterCause::Cheated));
    }
    net.have_one_history(&honest);
    let causes = honest.map(|at| net.causes(at));

    net.links.two_faced = None;
    net.kill(2);
    net.restart(2, 99, Vec::new(), &[1]);
    net.run(Duration::from_secs(75));
    let reasons: Vec<&EndReason> = net.ends().iter().map(|ended| &ended.reason).collect();
    assert_eq!(reasons, [&EndReason::Refused(JoinRefused::Cheated)]);
    assert_eq!(
        honest.map(|at| net.causes(at)),
        causes,
        "the cheat is not readmitted"
    );
    net.have_one_history(&honest);
}

#[test]
fn peer_that_rejoins_after_a_retraction_is_not_blamed() {
    let mut net = Net::new(5, Plan::default(), None);
    net.links.two_faced = Some(20);
    net.run(Duration::from_secs(12));
    net.kill(4);
    net.run(Duration::from_secs(18));
    net.restart(4, 94, Vec::new(), &[1]);
    net.run(Duration::from_secs(40));
    let honest = [0, 1, 3, 4];
    for at in honest {
        assert_eq!(net.causes(at).last(), Some(&RosterCause::Rejoined));
        let blamed = net
            .faults(at)
            .into_iter()
            .filter(|event| !matches!(event, Event::PeerFault { peer, .. } if *peer == id(2)));
        assert_eq!(blamed.collect::<Vec<_>>(), [] as [&Event; 0], "peer {at}");
    }
    net.have_one_history(&[0, 1, 3]);
}

#[test]
fn sleeper_over_two_histories_calls_them_no_desync() {
    for asleep_after in (600..630).step_by(5) {
        let mut net = match_of(4, OnDesync::Pause);
        net.links.two_faced = Some(20);
        while net.peers[1].executed < 19 {
            net.run(net.now() + Duration::from_millis(10));
        }
        net.run(net.now() + Duration::from_millis(asleep_after));
        // It knows that logs differ and shows the others what it alone was sent, and is shown nothing before it sleeps.
        net.links.silent.extend([0, 2, 3]);
        net.run(net.now() + Duration::from_millis(100));
        net.links.silent.clear();
        net.stop(1, Duration::from_secs(7));
        net.run(net.now() + Duration::from_secs(10));
        let Some(Event::Ended(ended)) = net.peers[1].events.last() else {
            panic!("asleep after {asleep_after} ms: goes on alone");
        };
        assert_eq!(ended.reason, EndReason::Removed, "{asleep_after} ms");
        assert!(net.has_named(0) && net.has_named(1), "{asleep_after} ms");
    }
}

/// The links between the two peers that the third tells two histories break for so long: each hears of the other only
/// through the third.
fn parted_by_two_histories(lasts: Duration, on_desync: OnDesync) -> Net {
    let mut net = match_of(3, on_desync);
    net.links.two_faced = Some(20);
    while net.peers[1].executed < 19 {
        net.run(net.now() + Duration::from_millis(10));
    }
    net.links.deaf_between.push((0, 1));
    part(&mut net, 0, 1);
    net.run(net.now() + lasts);
    net.links.deaf_between.clear();
    net.run(net.now() + Duration::from_secs(30));
    net
}

#[test]
fn peer_that_cannot_show_its_batches_is_no_minority() {
    let policies = [OnDesync::RemoveMinority, OnDesync::Pause];
    for (seconds, policy) in [4, 6, 8, 10]
        .into_iter()
        .flat_map(|at| policies.map(|to| (at, to)))
    {
        let net = parted_by_two_histories(Duration::from_secs(seconds), policy);
        for at in [0, 1] {
            assert!(net.has_named(at), "{seconds} s, peer {at}");
            let causes = net.causes(at);
            assert_eq!(causes, [RosterCause::Cheated], "{seconds} s, peer {at}");
            assert!(net.peers[at].executed > 100, "{seconds} s, peer {at}");
        }
        net.have_one_history(&[0, 1]);
    }
}

#[test]
fn peer_that_never_shows_its_batches_stops_no_other() {
    let net = parted_by_two_histories(Duration::from_secs(40), OnDesync::RemoveMinority);
    assert_eq!(net.causes(0).first(), Some(&RosterCause::Desynced));
    assert!(net.peers[0].executed > 100);
}

#[test]
fn peer_lost_beside_a_cheat_is_told_as_lost() {
    let mut net = Net::new(5, Plan::default(), None);
    net.links.two_faced = Some(20);
    while net.peers[0].executed < 19 {
        net.run(net.now() + Duration::from_millis(10));
    }
    net.kill(4);
    net.run(net.now() + Duration::from_secs(12));
    let told = |at: usize| -> Vec<(RosterCause, Vec<Seat>)> {
        let events = net.peers[at].events.iter();
        let gone = events.filter_map(|event| match event {
            Event::RosterChanged { gone, .. } => Some(gone),
            _ => None,
        });
        let gone = gone.flatten();
        gone.map(|gone| (gone.cause, gone.seats.clone())).collect()
    };
    for at in [0, 1, 3] {
        let both = [
            (RosterCause::Cheated, vec![Seat(2)]),
            (RosterCause::Lost, vec![Seat(4)]),
        ];
        assert_eq!(told(at), both, "peer {at}");
    }
}

#[test]
fn two_histories_in_the_last_turns_are_one_at_the_end() {
    for turn in 54..60 {
        let mut net = Net::new(4, Plan::default(), Some(60));
        net.links.two_faced = Some(turn);
        net.run(Duration::from_secs(30));
        let honest = [0, 1, 3];
        for at in honest {
            assert!(net.has_named(at), "turn {turn}, peer {at}");
            let Some(Event::Ended(ended)) = net.peers[at].events.last() else {
                panic!("turn {turn}: peer {at} never ended");
            };
            assert_eq!(ended.reason, EndReason::TurnLimit, "turn {turn}, peer {at}");
            assert_eq!((ended.turns, ended.agreed, ended.of), (60, 3, 3));
            let end = net.peers[at]
                .recording
                .records
                .iter()
                .find_map(|record| match record {
                    Record::End(end) => Some((end.log_hash, end.signatures.len())),
                    _ => None,
                });
            let other = net.peers[0]
                .recording
                .records
                .iter()
                .find_map(|record| match record {
                    Record::End(end) => Some((end.log_hash, end.signatures.len())),
                    _ => None,
                });
            assert_eq!(end, other, "turn {turn}, peer {at}");
            let proved = net.peers[at].recording.records.iter().any(
                |record| matches!(record, Record::Roster(change) if !change.proofs.is_empty()),
            );
            assert!(proved, "turn {turn}, peer {at}");
        }
        net.have_one_history(&honest);
    }
}

#[test]
fn two_histories_before_a_roster_change_end_nothing() {
    let mut histories = 0;
    for before in (900..1_700).step_by(20) {
        let mut net = Net::new(5, Plan::default(), None);
        net.run(Duration::from_secs(8));
        net.kill(4);
        net.run(Duration::from_secs(14));
        let turn = net.peers[0].executed as u32 + 12;
        net.links.two_faced = Some(turn);
        while net.peers[0].executed as u32 + 8 < turn {
            net.run(net.now() + Duration::from_millis(10));
        }
        net.run(net.now() + Duration::from_millis(before));
        net.restart(4, 94, Vec::new(), &[1]);
        net.run(net.now() + Duration::from_secs(30));
        let ends = net.ends();
        let reasons: Vec<&EndReason> = ends.iter().map(|ended| &ended.reason).collect();
        assert_eq!(reasons, [&EndReason::Removed], "{before} ms");
        let honest = [0, 1, 3];
        for at in honest {
            assert!(net.has_named(at), "{before} ms, peer {at}");
            assert!(
                net.causes(at).contains(&RosterCause::Cheated),
                "{before} ms, peer {at}"
            );
        }
        net.have_one_history(&honest);
        // Also a peer that was admitted meanwhile.
        for at in [0, 1, 3, 4] {
            let changes = net.peers[at].recording.records.iter();
            let mut cheated = changes.filter_map(|record| match record {
                Record::Roster(change) => Some(change),
                _ => None,
            });
            let proved =
                cheated.all(|change| change.proofs.len() as u32 == change.value.cheats.len());
            assert!(proved, "{before} ms, peer {at}");
        }
        let causes = net.causes(0);
        let first = |of: RosterCause| causes.iter().position(|cause| *cause == of);
        histories += u32::from(first(RosterCause::Rejoined) < first(RosterCause::Cheated));
    }
    assert!(
        histories > 0,
        "no change between the two histories and what comes of them"
    );
}

/// Another batch of peer 2 comes to peer 1 just after its promise, which tells no peer of it; this peer `returns`, so
/// much later. False where there is no such batch yet.
fn another_face_after_the_promise(
    peers: usize,
    returns: usize,
    later: Duration,
    leaves: bool,
) -> bool {
    let plan = Plan {
        delay_turns: if leaves { 4 } else { 2 },
        ..Plan::default()
    };
    let mut net = Net::new(peers, plan, None);
    net.run(Duration::from_secs(8));
    net.kill(returns);
    net.run(Duration::from_secs(16) + later);
    net.restart(returns, 90 + returns as u8, Vec::new(), &[1]);
    let frozen = |net: &Net| match &net.session(1).phase {
        Phase::Playing(playing) => playing.is_frozen(),
        _ => panic!("the match runs"),
    };
    while !frozen(&net) {
        net.run(net.now() + Duration::from_millis(1));
        assert!(
            net.now() < Duration::from_secs(20),
            "it has promised nothing"
        );
    }
    let signer = KeyedHash::new(id(2));
    let start = net.start();
    let run = net.session(2).core.incarnation;
    let Phase::Playing(playing) = &mut net.session_mut(1).phase else {
        panic!("the match runs");
    };
    let (complete, _) = playing.held_of(2, 55).expect("an old one");
    let Some((_, batch)) = playing.held_of(2, complete) else {
        return false;
    };
    let mut other = batch.clone();
    other.leaving = leaves;
    if !leaves {
        other.entries.push(LogEntry {
            seat: Seat(2),
            what: What::Chat("for you alone".to_owned()),
        });
    }
    playing.hold_instead(other.seal(2, start.match_id, run, &signer));
    net.run(net.now() + Duration::from_secs(12));
    let honest: Vec<usize> = (0..peers).filter(|at| ![2, returns].contains(at)).collect();
    for at in &honest {
        assert_eq!(net.session(*at).status(), Status::Running, "peer {at}");
        assert!(net.has_named(*at), "peer {at}");
        let causes = [
            RosterCause::Lost,
            RosterCause::Rejoined,
            RosterCause::Cheated,
        ];
        assert_eq!(net.causes(*at), causes, "peer {at}");
        let retracted = &net.peers[*at].retracted;
        let turns = net.peers[*at].events.iter().find_map(|event| match event {
            Event::RosterChanged { turn, cause, .. } => {
                (*cause == RosterCause::Rejoined).then_some(turn.0)
            }
            _ => None,
        });
        assert!(
            retracted.iter().all(|to| Some(*to) >= turns),
            "peer {at}: {retracted:?}"
        );
    }
    net.have_one_history(&honest);
    true
}

#[test]
fn peer_shown_another_history_after_its_promise_reconciles() {
    for (peers, returns, leaves) in [(4, 3, false), (5, 4, false), (5, 4, true)] {
        let later = (0..200).step_by(20).map(Duration::from_millis);
        let shown =
            later.filter(|later| another_face_after_the_promise(peers, returns, *later, leaves));
        assert!(shown.count() > 3, "{peers} peers");
    }
}

#[test]
fn cheat_that_leaves_in_one_history_is_the_only_peer_removed() {
    for (peers, delay_turns) in [(3, 2), (3, 4), (4, 2), (5, 4)] {
        let plan = Plan {
            delay_turns,
            ..Plan::default()
        };
        let mut net = Net::new(peers, plan, None);
        net.links.two_faced = Some(40);
        net.links.other_face_leaves = true;
        net.run(Duration::from_secs(30));
        let honest: Vec<usize> = (0..peers).filter(|at| *at != 2).collect();
        for at in &honest {
            let about = format!("peer {at} of {peers}, delay {delay_turns}");
            assert_eq!(net.session(*at).status(), Status::Running, "{about}");
            assert!(net.has_named(*at), "{about}");
            assert_eq!(
                net.gone(*at),
                [(vec![Seat(2)], RosterCause::Cheated)],
                "{about}"
            );
        }
        net.have_one_history(&honest);
    }
}

#[test]
fn batches_that_are_too_large_prove_nothing() {
    // No log that held them could be read.
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(3));
    let start = net.start();
    let (one, other) = ("1".repeat(330), "2".repeat(330));
    let batch = |texts: &[&str]| chatting(texts, start.match_id, start.roster[2].incarnation);
    let large = [batch(&[&one, &one]), batch(&[&one, &other])];
    net.tell(
        2,
        0,
        Channel::Control,
        &Control::Evidence(large.to_vec()).encode(),
    );
    assert_eq!(net.blamed(0), [(id(2), Fault::Garbage); 2]);
    let small = [batch(&[&one]), batch(&[&other])];
    net.tell(
        2,
        1,
        Channel::Control,
        &Control::Evidence(small.to_vec()).encode(),
    );
    assert_eq!(net.blamed(1), [(id(2), Fault::Equivocation)]);
    net.run(Duration::from_secs(10));
    let cheat = (vec![Seat(2)], RosterCause::Cheated);
    assert_eq!(net.gone(1), [cheat], "two histories");
}
