//! Peers that come back while others go, or their own machine sleeps.

use super::lost::between;
use super::*;
use crate::session::rejoin::{Answer, Ask, decode, encode};
use crate::session::wire::Control;
use crate::{Contact, JoinRefused, Rejoin, RosterCause};

#[test]
fn joiner_that_sleeps_does_not_give_up() {
    for asleep_after in [0, 30, 100, 160] {
        let mut net = Net::new(3, Plan::default(), None);
        net.run(Duration::from_secs(15));
        net.kill(2);
        net.run(Duration::from_secs(25));
        net.restart(2, 99, Vec::new(), &[1]);
        net.run(net.now() + Duration::from_millis(asleep_after));
        net.stop(2, Duration::from_secs(60));
        assert!(net.ends().is_empty());
        net.run(net.now() + Duration::from_secs(15));
        assert!(net.ends().is_empty(), "{:?}", net.ends());
        assert_eq!(
            net.causes(2),
            [RosterCause::Rejoined],
            "asleep after {asleep_after} ms"
        );
    }
}

#[test]
fn joiner_that_was_turned_away_does_not_end_while_it_fetches_or_sleeps() {
    // It would end before its world is begun.
    for (by_ms, asleep) in [(260, 0), (1_000, 60)] {
        let mut net = Net::new(3, Plan::default(), None);
        net.run(Duration::from_secs(15));
        net.kill(2);
        net.run(Duration::from_secs(25));
        net.restart(2, 99, Vec::new(), &[1]);
        let session = net.session_mut(2);
        let Phase::Rejoin(joiner) = std::mem::replace(&mut session.phase, Phase::Over) else {
            panic!("it looks for the match");
        };
        let mut context = joiner.into_context();
        let why = EndReason::LobbyClosed;
        context.otherwise = Some((why.clone(), Duration::from_millis(by_ms)));
        let joiner = Joiner::resumed(&session.core, context, why);
        session.phase = Phase::Rejoin(Box::new(joiner));
        net.run(net.now() + Duration::from_millis(60));
        net.stop(2, Duration::from_secs(asleep));
        net.run(net.now() + Duration::from_secs(15));
        assert!(net.ends().is_empty(), "{:?}", net.ends());
        assert_eq!(net.causes(2), [RosterCause::Rejoined], "by {by_ms} ms");
    }
}

#[test]
fn a_peer_alone_that_sleeps_once_it_has_admitted_a_joiner_goes_on_with_it() {
    for asleep_after in (0..800).step_by(40) {
        let mut net = Net::new(2, Plan::default(), None);
        net.run(Duration::from_secs(5));
        net.kill(1);
        net.run(Duration::from_secs(12));
        assert_eq!(net.causes(0), [RosterCause::Lost]);
        net.restart(1, 99, Vec::new(), &[0]);
        net.run(net.now() + Duration::from_millis(asleep_after));
        net.stop(0, Duration::from_millis(1_800));
        net.run(net.now() + Duration::from_secs(20));
        let admitted = [RosterCause::Lost, RosterCause::Rejoined];
        assert_eq!(net.causes(0), admitted, "asleep after {asleep_after} ms");
        net.is_one_of_them(1, 0);
    }
}

#[test]
fn joiner_whose_only_contact_dies_asks_a_peer_that_dials_it() {
    for with_log in [false, true] {
        let mut net = Net::new(5, Plan::default(), None);
        net.run(Duration::from_secs(15));
        net.kill(2);
        let log = match with_log {
            true => net.peers[2].recording.records.clone(),
            false => Vec::new(),
        };
        net.run(Duration::from_millis(15_500));
        net.restart(2, 99, log, &[0]);
        net.run(Duration::from_millis(15_580));
        net.kill(0);
        net.run(Duration::from_secs(35));
        assert_eq!(net.causes(2), [RosterCause::Rejoined], "log: {with_log}");
        net.is_one_of_them(2, 1);
    }
}

#[test]
fn source_that_moves_dials_its_joiner() {
    for (after, told) in [(100, true), (150, false), (200, true), (250, false)] {
        let mut net = Net::new(2, Plan::default(), None);
        net.run(Duration::from_secs(15));
        net.kill(1);
        net.run(Duration::from_secs(25));
        net.restart(1, 99, Vec::new(), &[0]);
        net.run(net.now() + Duration::from_millis(after));
        assert_eq!(net.causes(0), [RosterCause::Lost], "{after} ms");
        net.links.moved = Some(0);
        for link in between(&net, 0, 1) {
            net.links.dead.push(link);
            for at in (0..2).filter(|_| told) {
                let why = LinkError::Closed;
                net.input(at, Input::LinkDown { link, why });
            }
        }
        net.run(net.now() + Duration::from_secs(15));
        let causes = net.causes(0);
        let back = [RosterCause::Lost, RosterCause::Rejoined];
        assert_eq!(causes, back, "{after} ms, told: {told}");
        net.is_one_of_them(1, 0);
    }
}

#[test]
fn stall_of_an_admission_is_on_the_peers_that_have_not_answered() {
    let mut stalls = 0;
    for ms in (0..1_500).step_by(50) {
        let mut net = Net::new(3, Plan::default(), None);
        net.run(Duration::from_secs(15));
        net.kill(0);
        net.run(Duration::from_secs(25));
        net.restart(0, 99, Vec::new(), &[1, 2]);
        net.run(net.now() + Duration::from_millis(ms));
        let before: Vec<usize> = (1..3).map(|at| net.peers[at].events.len()).collect();
        // What the other voter says arrives again before it is late.
        net.links.silent = vec![2];
        net.run(net.now() + Duration::from_millis(450));
        net.links.silent.clear();
        net.run(net.now() + Duration::from_secs(2));
        for (at, before) in (1..3).zip(before) {
            let own = Seat(at as u8);
            for event in &net.peers[at].events[before..] {
                if let Event::Stalled { on, .. } = event {
                    assert!(!on.contains(&own), "{ms} ms: peer {at} on {on:?}");
                    stalls += 1;
                }
            }
        }
    }
    assert!(stalls > 10, "{stalls} stalls");
}

#[test]
fn joiner_is_dialled_by_no_peer_that_it_is_linked_with() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(15));
    net.kill(2);
    net.run(Duration::from_secs(25));
    // The others have no quorum, so that it waits for long.
    net.links.deaf_between = vec![(0, 1)];
    net.links.dead.extend(between(&net, 0, 1));
    net.restart(2, 99, Vec::new(), &[0, 1]);
    net.run(net.now() + Duration::from_millis(500));
    let before = net.mesh.links().len();
    net.run(net.now() + Duration::from_secs(8));
    assert_eq!(net.mesh.links()[before..], []);
}

#[test]
fn joiner_that_finds_no_peer_is_told_so_and_of_no_host() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(15));
    (0..3).for_each(|at| net.kill(at));
    net.links.lost_dials = u32::MAX;
    net.restart(2, 99, Vec::new(), &[0, 1]);
    net.run(net.now() + Duration::from_secs(40));
    let end = net.end_of(2).expect("it gives up");
    assert_eq!(*end, EndReason::NoPeerFound);
    assert!(!end.to_string().contains("host"), "{end}");
}

/// A joiner, with a recording of this match or without one, finds peers of another match of the same keys.
fn looks_for_an_earlier_match(net: &mut Net, at: usize, log: Vec<Record>, contacts: &[usize]) {
    let Role::Rejoin { mut from, rules } = Net::returning(log, contacts) else {
        panic!("it comes back");
    };
    from.match_id = MatchId([6; 16]);
    net.begin(at, at, 99, Role::Rejoin { from, rules });
}

#[test]
fn joiner_ends_where_all_peers_are_in_the_lobby_of_another_match() {
    let other_match = EndReason::Refused(JoinRefused::OtherMatch);
    for with_log in [false, true] {
        let mut net = Net::new(3, Plan::default(), None);
        net.run(Duration::from_secs(15));
        let log = match with_log {
            true => net.peers[2].recording.records.clone(),
            false => Vec::new(),
        };
        let mut net = Net::new(3, Plan::default(), None);
        net.links.silent = vec![2];
        net.run(Duration::from_secs(2));
        net.links.silent.clear();
        looks_for_an_earlier_match(&mut net, 2, log, &[0, 1]);
        net.run(net.now() + Duration::from_secs(if with_log { 35 } else { 2 }));
        assert_eq!(net.end_of(2), Some(&other_match), "log: {with_log}");
        let fault = |event: &Event| matches!(event, Event::PeerFault { .. });
        for peer in &net.peers {
            assert!(!peer.events.iter().any(fault), "{:?}", peer.events);
        }
    }
}

#[test]
fn joiner_ends_where_all_peers_play_another_match_of_the_same_keys() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(15));
    net.kill(2);
    net.run(Duration::from_secs(25));
    net.links.silent.clear();
    looks_for_an_earlier_match(&mut net, 2, Vec::new(), &[0, 1]);
    net.run(net.now() + Duration::from_secs(2));
    let other_match = EndReason::Refused(JoinRefused::OtherMatch);
    assert_eq!(net.end_of(2), Some(&other_match));
}

#[test]
fn rejoin_that_knows_only_itself_is_refused() {
    let begun = |contacts: &[usize]| {
        let contact = |other: &usize| Contact {
            peer: id(*other),
            addresses: vec![other.to_string()],
        };
        let role = Role::Rejoin {
            from: Rejoin {
                match_id: MatchId([7; 16]),
                contacts: contacts.iter().map(contact).collect(),
                player: None,
                log: None,
                keyframe: None,
                accepted: None,
                signed: None,
                attests: Vec::new(),
                accepts_other_history: false,
            },
            rules: Box::new(|_| Some(RulesId([9; 16]))),
        };
        let session = Session::new(Net::config(2, 99, role), Box::new(KeyedHash::new(id(2))));
        session.map(|_| ())
    };
    assert_eq!(begun(&[2]), Err(ConfigError::OnlySelf));
    assert_eq!(begun(&[2, 1]), Ok(()));
}

#[test]
fn joiner_waits_for_a_source_that_has_not_caught_up() {
    let mut net = Net::new(2, Plan::default(), None);
    net.run(Duration::from_secs(15));
    net.kill(1);
    net.run(Duration::from_secs(25));
    net.links.lie = Some(|_| encode(&Answer::Nothing));
    net.restart(1, 99, Vec::new(), &[0]);
    net.run(net.now() + Duration::from_secs(40));
    assert!(net.ends().is_empty(), "{:?}", net.ends());
    assert_eq!(net.causes(1), []);
    net.links.lie = None;
    net.run(net.now() + Duration::from_secs(10));
    assert_eq!(net.causes(1), [RosterCause::Rejoined]);
}

#[test]
fn next_source_does_not_count_as_heard() {
    for after in (20..=160).step_by(20) {
        let mut net = Net::new(4, Plan::default(), None);
        net.run(Duration::from_secs(15));
        net.kill(3);
        net.run(Duration::from_secs(25));
        net.restart(3, 99, Vec::new(), &[1, 2]);
        let begun = net.now();
        net.run(begun + Duration::from_millis(after));
        net.links.silent.extend([0, 1, 2]);
        let on_its_way = Duration::from_millis(100);
        net.run(net.now() + on_its_way);
        let silent_from = net.now() - begun;
        let links = &net.session(3).core.links;
        let known: Vec<LinkId> = links.keys().copied().collect();
        for _ in 0..50 {
            net.run(net.now() + Duration::from_millis(100));
            let links = &net.session(3).core.links;
            for link in known.iter().filter_map(|id| links.get(id)) {
                assert!(link.heard_at <= silent_from, "silent after {after} ms");
            }
        }
    }
}

#[test]
fn rejoined_peer_knows_the_silence_of_its_dead_source() {
    let mut rejoined = 0;
    for after in (300..=600).step_by(20) {
        let mut net = Net::new(4, Plan::default(), None);
        net.run(Duration::from_secs(15));
        // It coordinates once the first is gone.
        net.kill(1);
        net.run(Duration::from_secs(25));
        net.restart(1, 99, Vec::new(), &[0]);
        net.run(net.now() + Duration::from_millis(after));
        net.kill(0);
        let (killed_at, turns) = (net.now(), net.peers[2].turns.len());
        while net.peers[2].turns.len() < turns + 10 {
            net.run(net.now() + Duration::from_millis(100));
        }
        rejoined += usize::from(net.causes(2).contains(&RosterCause::Rejoined));
        // Ten turns, the time to suspect a peer, and a change: all suspect it at the same time.
        let took = net.now() - killed_at;
        assert!(took < Duration::from_millis(5_500), "{after} ms: {took:?}");
    }
    assert!(rejoined > 5);
}

#[test]
fn admitted_peer_is_told_of_departures_as_the_others_are() {
    let (mut left, mut both) = (0, 0);
    for after in (0..=200).step_by(20) {
        let mut net = Net::new(4, Plan::default(), None);
        net.run(Duration::from_secs(15));
        net.kill(3);
        net.run(Duration::from_secs(25));
        net.restart(3, 99, Vec::new(), &[0, 1]);
        net.run(net.now() + Duration::from_millis(after));
        net.input(2, Input::Leave);
        net.run(net.now() + Duration::from_secs(10));
        // The one by which it comes back, and those behind it.
        let told = |at: usize| {
            let events = net.peers[at].events.iter();
            let comes_back = |event: &&Event| matches!(event, Event::RosterChanged { back, .. } if !back.is_empty());
            let later = events.skip_while(|event| !comes_back(event));
            let later = later.filter(|event| matches!(event, Event::RosterChanged { .. }));
            later.cloned().collect::<Vec<_>>()
        };
        assert_eq!(told(3), told(0), "{after} ms");
        assert!(!told(3).is_empty(), "{after} ms");
        for event in told(3) {
            let Event::RosterChanged { gone, back, .. } = event else {
                continue;
            };
            both += usize::from(!gone.is_empty() && back == [Seat(3)]);
            left += gone
                .iter()
                .filter(|gone| gone.cause == RosterCause::Left)
                .count();
        }
    }
    assert!(
        both > 0,
        "no peer comes back in the change by which another one goes"
    );
    assert!(left > 0);
}

#[test]
fn peer_that_missed_the_start_counts_as_heard() {
    let mut net = Net::new(2, Plan::default(), None);
    let began = |peer: &Peer| {
        let began = |event: &Event| matches!(event, Event::Started { .. });
        peer.events.iter().any(began)
    };
    while !began(&net.peers[0]) {
        net.run(net.now() + Duration::from_millis(1));
    }
    // The word that it begins is lost, however often it is said, and no other link comes up.
    net.links.attack = Some((0, |_, _, channel, bytes| {
        let said = Control::decode(bytes, &Limits::default());
        let begins = channel == Channel::Control && matches!(said, Ok(Control::Go { .. }));
        let other = Control::Pings(Vec::new());
        begins.then(|| other.encode())
    }));
    net.links.lost_dials = u32::MAX;
    let is_message = |what: &Arrives| matches!(what, Arrives::Bytes(Channel::Control, _));
    net.lose(|arrival| arrival.to == 1 && is_message(&arrival.what));
    net.run(net.now() + Duration::from_secs(8));
    assert!(!began(&net.peers[1]));
    let suspected = |event: &Event| matches!(event, Event::Suspected { .. });
    assert!(!net.peers[0].events.iter().any(suspected));
}

#[test]
fn no_joiner_is_admitted_behind_the_last_batches() {
    let plan = Plan {
        delay_turns: 6,
        ..Plan::default()
    };
    for (limit, admitted) in [(140, true), (97, false)] {
        let mut net = Net::new(3, plan, Some(limit));
        net.run(Duration::from_secs(10));
        net.kill(2);
        net.run(Duration::from_secs(20));
        net.restart(2, 99, Vec::new(), &[0, 1]);
        net.run(Duration::from_secs(35));
        let mut causes = vec![RosterCause::Lost];
        causes.extend(admitted.then_some(RosterCause::Rejoined));
        assert_eq!(net.causes(0), causes);
        for at in [0, 1] {
            let stalls = net.peers[at].events.iter().filter_map(|event| match event {
                Event::StallEnded { late, .. } => Some(*late),
                _ => None,
            });
            assert!(stalls.skip(1).all(|late| late <= DELAY * 4));
        }
    }
}

#[test]
fn snapshot_of_the_next_roster_is_no_lie_during_a_quorum_loss() {
    fn with_one_signature(bytes: Vec<u8>) -> Vec<u8> {
        match decode(&bytes) {
            Ok(Answer::Outline {
                start,
                snapshot: Some(mut offer),
                contacts,
            }) => {
                offer.batches.truncate(1);
                encode(&Answer::Outline {
                    start,
                    snapshot: Some(offer),
                    contacts,
                })
            }
            _ => bytes,
        }
    }
    // Whether the joiner finds the lie out depends on the time: at one of these it does.
    let mut named = 0;
    for ms in (25_000..26_000).step_by(40) {
        let mut net = Net::new(4, Plan::default(), None);
        net.run(Duration::from_secs(15));
        net.kill(3);
        net.run(Duration::from_secs(25));
        net.links.lie = Some(with_one_signature);
        net.links.silent = vec![1, 2];
        net.run(Duration::from_millis(ms));
        net.restart(3, 99, Vec::new(), &[0]);
        net.run(net.now() + Duration::from_secs(9));
        assert!(net.faults(3).is_empty(), "{:?}", net.faults(3));
        net.links.silent.clear();
        net.run(net.now() + Duration::from_secs(25));
        let liar = id(0);
        let names =
            |event: &&Event| matches!(event, Event::PeerFault { peer, .. } if *peer == liar);
        named += usize::from(net.faults(3).iter().any(names));
        assert_eq!(net.causes(3), [RosterCause::Rejoined], "{ms} ms");
    }
    assert!(named > 0, "once it goes on it is one");
}

#[test]
fn joiner_may_ask_a_peer_that_missed_the_start() {
    let mut net = Net::new(3, Plan::default(), None);
    let began = |peer: &Peer| {
        let began = |event: &Event| matches!(event, Event::Started { .. });
        peer.events.iter().any(began)
    };
    while !began(&net.peers[0]) {
        net.run(net.now() + Duration::from_millis(1));
    }
    // No word that it begins reaches peer 1.
    let without_it = |net: &mut Net, ms: u64| {
        for _ in 0..ms {
            net.lose(|arrival| match &arrival.what {
                Arrives::Bytes(Channel::Control, bytes) if arrival.to == 1 => {
                    let said = Control::decode(bytes, &Limits::default());
                    matches!(said, Ok(Control::Go { .. }))
                }
                _ => false,
            });
            net.run(net.now() + Duration::from_millis(1));
        }
    };
    without_it(&mut net, 100);
    net.tell(
        2,
        1,
        Channel::Bulk,
        &encode(&Ask::Log {
            from: 0,
            attested: 0,
        }),
    );
    assert!(net.faults(1).is_empty(), "{:?}", net.faults(1));
    net.tell(2, 1, Channel::Bulk, b"no question");
    assert_eq!(net.faults(1).len(), 1, "{:?}", net.faults(1));
    net.peers[1].events.clear();
    net.kill(2);
    net.restart(2, 99, Vec::new(), &[0, 1]);
    without_it(&mut net, 1_000);
    assert!(!began(&net.peers[1]));
    assert!(net.faults(1).is_empty(), "{:?}", net.faults(1));
    assert!(net.faults(2).is_empty(), "{:?}", net.faults(2));
}

#[test]
fn second_run_of_a_playing_peer_soon_has_its_place() {
    // A window that does not answer any more: its session still seals, and no peer waits for it.
    for (peers, with_log) in [(3, false), (4, true)] {
        let mut net = Net::new(peers, Plan::default(), None);
        net.run(Duration::from_secs(15));
        let log = match with_log {
            true => net.peers[2].recording.records.clone(),
            false => Vec::new(),
        };
        let another = net.peers.len();
        net.begin(another, 2, 99, Net::returning(log, &[0, 1]));
        net.run(Duration::from_secs(20));
        assert_eq!(net.end_of(2), Some(&EndReason::Removed), "{peers} peers");
        assert_eq!(net.causes(another), [RosterCause::Rejoined]);
        assert_eq!(net.causes(0), [RosterCause::Lost, RosterCause::Rejoined]);
        net.is_one_of_them(another, 0);
    }
}

#[test]
fn repeated_runs_cost_the_others_changes_ever_more_rarely() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(15));
    let begun = net.now();
    let mut taken = Vec::new();
    for run in 0..4 {
        let another = net.peers.len();
        let role = Net::returning(Vec::new(), &[0, 1]);
        net.begin(another, 2, 90 + run, role);
        while net.causes(another).is_empty() {
            net.run(net.now() + Duration::from_secs(1));
            assert!(net.now() < begun + Duration::from_secs(150), "run {run}");
        }
        taken.push((net.now() - begun).as_secs());
    }
    assert!(taken[0] <= 3, "{taken:?}");
    let apart: Vec<u64> = taken.windows(2).map(|two| two[1] - two[0]).collect();
    let least = [14, 29, 44];
    assert!(
        apart
            .iter()
            .zip(least)
            .all(|(apart, least)| *apart >= least && *apart < least + 9),
        "{apart:?}"
    );
}

#[test]
fn a_decision_that_only_a_dead_peer_knew_comes_back_with_its_recording() {
    let mut net = Net::new(5, Plan::default(), None);
    net.run(Duration::from_secs(3));
    net.kill(3);
    net.kill(4);
    net.links.disks_hang = vec![0];
    net.run(Duration::from_secs(7));
    let (_, number) = net.links.syncs.pop().expect("the coordinator accepts");
    assert!(net.causes(0).is_empty());
    net.links.disks_hang.clear();
    net.input(0, Input::Synced(number));
    assert_eq!(net.causes(0), [RosterCause::Lost], "two have accepted");
    // What it has told is lost with it.
    net.kill(0);
    net.run(Duration::from_secs(12));
    assert!(net.causes(1).is_empty() && net.causes(2).is_empty());
    let log = net.peers[0].recording.records.clone();
    net.restart(0, 50, log, &[1, 2]);
    net.run(Duration::from_secs(20));
    for at in [1, 2] {
        assert_eq!(
            net.causes(at),
            [RosterCause::Lost, RosterCause::Lost, RosterCause::Rejoined],
            "peer {at}"
        );
    }
}
