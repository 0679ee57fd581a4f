//! Peers that come back to a match without a quorum.

use super::*;
use crate::session::wire::Control;
use crate::{Contact, JoinRefused, Rejoin, RosterCause};

impl Net {
    /// The seats that this peer says are missing, each time that it does.
    fn missing(&self, at: usize) -> Vec<Vec<u8>> {
        let events = self.peers[at].events.iter();
        let missing = events.filter_map(|event| match event {
            Event::NoQuorum { missing, .. } => Some(missing.iter().map(|seat| seat.0).collect()),
            _ => None,
        });
        missing.collect()
    }

    pub(super) fn log_of(&self, at: usize) -> Vec<Record> {
        let mut log = self.peers[at].recording.records.clone();
        log.retain(|record| {
            matches!(
                record,
                Record::Start(_) | Record::Bundle(_) | Record::Roster(_)
            )
        });
        log
    }

    /// Another run of peer 3's process hosts the match again.
    fn hosts_again(&mut self, run: u8, log: &[Record], others: &[usize], wait: Duration) {
        self.hosts(3, run, log, others, wait);
    }

    /// A new incarnation of this peer reopens the match.
    fn hosts(&mut self, at: usize, run: u8, log: &[Record], others: &[usize], wait: Duration) {
        let contact = |other: &usize| Contact {
            peer: id(*other),
            addresses: vec![other.to_string()],
        };
        let role = Role::Reopen {
            from: Rejoin {
                match_id: MatchId([7; 16]),
                player: None,
                contacts: others.iter().map(contact).collect(),
                log: crate::log::EncodedLog::of(log),
                keyframe: None,
                accepted: None,
                signed: None,
                attests: Vec::new(),
                accepts_other_history: false,
            },
            rules: Box::new(|_| Some(RulesId([9; 16]))),
            wait,
        };
        self.begin(at, at, run, role);
    }

    /// Peer `at` of peers 1 to 3 goes on with the match that one of them has reopened.
    fn goes_on_reopened(&self, at: usize) {
        let causes = self.causes(at);
        assert_eq!(
            causes,
            [RosterCause::Reopened],
            "{at}: {:?}",
            self.end_of(at)
        );
        self.is_one_of_them(at, at % 3 + 1);
    }

    /// It ended so, with the turns that its world had followed to.
    fn is_told_what_it_followed(&self, at: usize, why: &EndReason, followed: u32) {
        let mut events = self.peers[at].events.iter().rev();
        let ended = events.find_map(|event| match event {
            Event::Ended(ended) => Some(ended),
            _ => None,
        });
        let ended = ended.expect("it ended");
        assert_eq!((&ended.reason, ended.turns), (why, followed));
        assert_eq!(ended.checksum, Some(Checksum(followed * 3)));
    }

    /// Three of four die, and two of them come back to the survivor.
    fn with_one_of_four_left() -> Net {
        Net::with_one_of_four_left_where(0)
    }

    /// The first of the two lacks so many of the turns that the others have recorded.
    fn with_one_of_four_left_where(lacks: usize) -> Net {
        let mut net = Net::new(4, Plan::default(), None);
        net.run(Duration::from_secs(15));
        (1..4).for_each(|at| net.kill(at));
        net.run(Duration::from_secs(16));
        for (at, lacks) in [(1, lacks), (2, 0)] {
            let others: Vec<usize> = (0..4).filter(|other| *other != at).collect();
            let mut log = net.log_of(at);
            log.truncate(log.len().saturating_sub(lacks));
            net.restart(at, 90 + at as u8, log, &others);
        }
        net
    }
}

#[test]
fn rejoin_without_quorum_reports_no_quorum_once() {
    let mut net = Net::with_one_of_four_left();
    // A link that is closed at its other end is not told so here, and takes three of them.
    net.run(net.now() + Duration::from_secs(8));
    for at in [1, 2] {
        assert_eq!(net.missing(at), [[1, 2, 3]]);
    }
    net.run(net.now() + Duration::from_secs(12));
    assert_eq!(net.missing(1).len(), 1, "once");
    assert!(net.end_of(1).is_none(), "it may pass by itself");
}

#[test]
fn joiner_told_of_quorum_loss_is_admitted_once_a_quorum_is_back() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(15));
    net.kill(2);
    net.links.deaf_between = vec![(0, 1), (1, 2)];
    net.links.silent.push(1);
    net.run(Duration::from_secs(16));
    net.restart(2, 90, net.log_of(2), &[0, 1]);
    net.run(net.now() + Duration::from_secs(9));
    assert_eq!(net.missing(2), [[1, 2]]);
    net.links.deaf_between.clear();
    net.links.silent.clear();
    net.run(net.now() + Duration::from_secs(8));
    assert_eq!(net.causes(2), [RosterCause::Rejoined]);
    assert_eq!(net.missing(2).len(), 1);
    net.is_one_of_them(2, 0);
}

#[test]
fn joiner_that_followed_goes_on_at_the_reopening() {
    let mut net = Net::with_one_of_four_left();
    let log = net.log_of(3);
    net.run(net.now() + Duration::from_secs(8));
    let started = |event: &&Event| matches!(event, Event::Started { .. });
    let followed = |net: &Net, at: usize| net.peers[at].loaded + net.peers[at].turns.len() as u32;
    let before = followed(&net, 1);
    assert!(before > 60, "its world has followed");
    net.hosts_again(93, &log, &[0, 1, 2], Duration::from_secs(6));
    net.run(net.now() + Duration::from_secs(20));
    for at in 1..4 {
        net.goes_on_reopened(at);
        assert_eq!(net.session(at).status(), Status::Running);
        assert_eq!(net.peers[at].events.iter().filter(started).count(), 1);
        assert!(followed(&net, at) > before + 20);
        assert!(net.faults(at).is_empty(), "{:?}", net.faults(at));
    }
    assert_eq!(net.end_of(0), Some(&EndReason::Removed), "it can come back");
}

#[test]
fn joiner_without_a_recording_goes_on_at_the_reopening() {
    let mut net = Net::with_one_of_four_left_where(usize::MAX);
    let log = net.log_of(3);
    net.run(net.now() + Duration::from_secs(8));
    net.hosts_again(93, &log, &[0, 1, 2], Duration::from_secs(6));
    net.run(net.now() + Duration::from_secs(20));
    for at in 1..4 {
        net.goes_on_reopened(at);
    }
}

#[test]
fn followed_turns_count_at_a_reopening() {
    const LACKS: usize = 5;
    let mut net = Net::with_one_of_four_left_where(LACKS);
    let log = net.log_of(3);
    net.run(net.now() + Duration::from_secs(8));
    let followed = net.peers[1].loaded as usize + net.peers[1].turns.len();
    // What a log holds beside turns is its start.
    assert!(followed > log.len() - 1 - LACKS, "{followed}");
    net.hosts_again(93, &log, &[0, 1, 2], Duration::from_secs(6));
    net.run(net.now() + Duration::from_secs(20));
    for at in 1..4 {
        net.goes_on_reopened(at);
    }
    let reopened = |event: &Event| match event {
        Event::RosterChanged { turn, .. } => Some(turn.0 as usize),
        _ => None,
    };
    let cut = net.peers[1].events.iter().find_map(reopened);
    assert_eq!(cut, Some(followed));
}

#[test]
fn joiner_keeps_its_world_when_a_reopening_fails() {
    let mut net = Net::with_one_of_four_left();
    let log = net.log_of(3);
    net.run(net.now() + Duration::from_secs(8));
    // It knows and reaches one of four.
    net.links.deaf_between = vec![(3, 2), (3, 0)];
    net.run(net.now() + Duration::from_secs(1));
    net.hosts_again(93, &log, &[1], Duration::from_secs(3));
    net.run(net.now() + Duration::from_secs(8));
    let end = net.end_of(3);
    assert!(matches!(end, Some(EndReason::NoQuorum { .. })), "{end:?}");
    assert!(net.end_of(1).is_none(), "{:?}", net.end_of(1));
    net.links.deaf_between.clear();
    net.hosts_again(94, &log, &[0, 1, 2], Duration::from_secs(6));
    net.run(net.now() + Duration::from_secs(20));
    for at in 1..4 {
        net.goes_on_reopened(at);
    }
}

#[test]
fn joiner_that_followed_reopens_after_the_last_member_left() {
    // The last one goes at once, or when a reopening has come to nothing.
    for tries in [false, true] {
        let mut net = Net::with_one_of_four_left();
        let log = net.log_of(3);
        net.run(net.now() + Duration::from_secs(if tries { 8 } else { 2 }));
        if tries {
            net.hosts_again(93, &log, &[1], Duration::from_secs(30));
            net.run(net.now() + Duration::from_secs(4));
            assert_eq!(net.session(1).status(), Status::Lobby);
            net.input(3, Input::Leave);
        }
        net.kill(0);
        for at in [1, 2] {
            for link in lost::between(&net, 0, at) {
                let why = LinkError::Closed;
                net.input(at, Input::LinkDown { link, why });
            }
        }
        net.run(net.now() + Duration::from_secs(1));
        net.hosts_again(94, &log, &[1, 2], Duration::from_secs(6));
        net.run(net.now() + Duration::from_secs(20));
        for at in 1..4 {
            net.goes_on_reopened(at);
        }
    }
}

/// Peer 1 of three has the tie-break while peer 0 is out: it has decided to admit that, and knows first.
fn just_admitted() -> Net {
    // When in a turn it has to ask for that.
    for after in (0..200).step_by(10) {
        let mut net = Net::new(3, Plan::default(), None);
        net.run(Duration::from_secs(15));
        net.kill(0);
        net.run(Duration::from_millis(25_000 + after));
        net.restart(0, 90, net.log_of(0), &[1, 2]);
        while net.causes(1).len() < 2 {
            assert!(net.now() < Duration::from_secs(40));
            net.run(net.now() + DELAY / 10);
        }
        if net.causes(2).len() == 1 {
            return net;
        }
    }
    panic!("peer 2 always knows first");
}

#[test]
fn admitted_peer_is_of_the_quorum_when_another_dies_then() {
    let mut net = just_admitted();
    assert!(!matches!(net.session(0).phase, Phase::Playing(_)));
    net.kill(2);
    for link in lost::between(&net, 0, 2) {
        let why = LinkError::Closed;
        net.input(0, Input::LinkDown { link, why });
    }
    net.run(net.now() + Duration::from_secs(12));
    for at in [0, 1] {
        assert_eq!(net.causes(at).last(), Some(&RosterCause::Lost), "{at}");
        assert_eq!(net.session(at).status(), Status::Running);
    }
    net.is_one_of_them(0, 1);
}

#[test]
fn admitted_peer_forwards_its_admission() {
    let mut net = just_admitted();
    net.links.silent.push(1);
    let unheard = lost::between(&net, 1, 2);
    net.lose(|arrival| arrival.to == 2 && unheard.contains(&arrival.link));
    net.run(net.now() + DELAY);
    net.kill(1);
    for at in [0, 2] {
        for link in lost::between(&net, at, 1) {
            let why = LinkError::Closed;
            net.input(at, Input::LinkDown { link, why });
        }
    }
    net.run(net.now() + Duration::from_secs(15));
    for at in [0, 2] {
        assert_eq!(net.causes(at).last(), Some(&RosterCause::Lost), "{at}");
        assert_eq!(net.session(at).status(), Status::Running);
    }
    net.is_one_of_them(0, 2);
}

#[test]
fn joiner_ahead_of_a_reopening_resets_its_world() {
    let mut net = Net::with_one_of_four_left();
    let log = net.log_of(3);
    net.run(net.now() + Duration::from_secs(8));
    let followed = net.peers[1].turns.len();
    net.hosts_again(
        93,
        &log[..log.len() - 4],
        &[0, 1, 2],
        Duration::from_secs(6),
    );
    net.run(net.now() + Duration::from_secs(20));
    let started = |event: &&Event| matches!(event, Event::Started { .. });
    for at in 1..4 {
        net.goes_on_reopened(at);
        assert_eq!(net.session(at).status(), Status::Running, "{at}");
        assert_eq!(net.peers[at].events.iter().filter(started).count(), 1);
        assert!(net.peers[at].turns.len() > followed + 20, "{at}");
        let events = net.peers[at].events.iter();
        let news = events.skip_while(|event| !matches!(event, Event::Lobby { .. }));
        let mut news = news.skip_while(|event| matches!(event, Event::Lobby { .. }));
        let contacts = news.find(|event| matches!(event, Event::Contacts(_)));
        assert!(contacts.is_some(), "{at} is told where the others are now");
        assert!(net.faults(at).is_empty(), "{:?}", net.faults(at));
    }
    let reopened =
        |record: &&Record| matches!(record, Record::Roster(change) if change.reopening.is_some());
    for at in [1, 2] {
        let cut = net.peers[at]
            .recording
            .records
            .iter()
            .find_map(|record| match record {
                Record::Roster(change) => Some(change.value.cut),
                _ => None,
            });
        assert_eq!(net.peers[at].retracted, Vec::from_iter(cut), "{at}");
        assert_eq!(
            net.peers[at]
                .recording
                .records
                .iter()
                .filter(reopened)
                .count(),
            1
        );
    }
}

#[test]
fn joiner_ahead_of_a_missed_reopening_begins_its_world_anew() {
    let mut net = Net::with_one_of_four_left();
    let log = net.log_of(3);
    net.run(net.now() + Duration::from_secs(8));
    net.links.deaf_between = vec![(3, 1), (2, 1), (0, 1)];
    let short = log[..log.len() - 4].to_vec();
    net.kill(0);
    net.run(net.now() + Duration::from_secs(1));
    net.restart(0, 95, short.clone(), &[1, 2, 3]);
    net.hosts_again(93, &short, &[0, 1, 2], Duration::from_secs(6));
    net.run(net.now() + Duration::from_secs(10));
    net.links.deaf_between.clear();
    net.run(net.now() + Duration::from_secs(30));
    assert_eq!(net.peers[1].retracted.len(), 1);
    assert_eq!(net.session(1).status(), Status::Running);
    for at in 0..4 {
        assert!(net.faults(at).is_empty(), "{at}: {:?}", net.faults(at));
    }
}

#[test]
fn leaver_without_a_quorum_waits_for_no_peer() {
    let mut net = Net::new(5, Plan::default(), None);
    net.run(Duration::from_secs(15));
    (2..5).for_each(|at| net.kill(at));
    net.run(Duration::from_secs(20));
    assert_eq!(net.missing(0).len(), 1);
    net.input(0, Input::Leave);
    net.run(net.now() + Duration::from_secs(1));
    assert_eq!(net.end_of(0), Some(&EndReason::Left));
    assert_eq!(net.missing(0).len(), 1, "it is told once");
}

#[test]
fn just_admitted_peer_reopens_without_a_fault() {
    let mut net = Net::new(4, Plan::default(), None);
    net.run(Duration::from_secs(15));
    net.kill(1);
    net.run(Duration::from_secs(25));
    net.restart(1, 91, net.log_of(1), &[0, 2, 3]);
    while net.causes(3).len() < 2 {
        assert!(net.now() < Duration::from_secs(40));
        net.run(net.now() + DELAY);
    }
    // It does not get the last turns before its own any more, while the others play one with it.
    for at in [0, 2, 3] {
        let links = lost::between(&net, at, 1);
        net.links.dead.extend(links);
    }
    let admits =
        |record: &Record| matches!(record, Record::Roster(change) if change.value.joins.is_some());
    while !net.peers[3].recording.records.iter().any(admits) {
        assert!(net.now() < Duration::from_secs(40));
        net.run(net.now() + DELAY);
    }
    assert!(!matches!(net.session(1).phase, Phase::Playing(_)));
    let log = net.log_of(3);
    let other = net.log_of(2);
    for at in [0, 2, 3] {
        net.kill(at);
        for link in lost::between(&net, at, 1) {
            let why = LinkError::Closed;
            net.input(1, Input::LinkDown { link, why });
        }
    }
    net.restart(2, 92, other, &[0, 1, 3]);
    net.hosts_again(93, &log, &[0, 1, 2], Duration::from_secs(12));
    net.run(net.now() + Duration::from_secs(40));
    for at in 1..4 {
        let causes = net.causes(at);
        assert_eq!(
            causes.last(),
            Some(&RosterCause::Reopened),
            "{at}: {:?}",
            net.end_of(at)
        );
        assert!(net.faults(at).is_empty(), "{:?}", net.faults(at));
        net.is_one_of_them(at, at % 3 + 1);
    }
}

#[test]
fn leaver_logs_a_change_before_signatures_that_follow() {
    let mut net = Net::with_one_of_four_left();
    let log = net.log_of(3);
    net.run(net.now() + Duration::from_secs(8));
    net.hosts_again(93, &log, &[0, 1, 2], Duration::from_secs(6));
    while net.causes(3).is_empty() || net.causes(1).is_empty() {
        net.run(net.now() + DELAY);
    }
    (1..4).for_each(|at| net.input(at, Input::Leave));
    net.run(net.now() + Duration::from_secs(8));
    for at in 1..4 {
        assert_eq!(net.end_of(at), Some(&EndReason::Left), "{at}");
        let mut epoch = 0;
        let mut attested = 0;
        for record in &net.peers[at].recording.records {
            match record {
                Record::Roster(change) => epoch = change.epoch + 1,
                Record::Attest(signed) => {
                    let batch = Batch::decode(&signed.content).expect("a batch");
                    assert!(batch.epoch <= epoch, "peer {at}: {batch:?}");
                    attested += u32::from(batch.epoch == 1);
                }
                _ => {}
            }
        }
        assert!(attested > 0, "peer {at}");
    }
}

#[test]
fn reopening_host_blames_no_peer_of_another_or_ending_match() {
    let mut net = Net::with_one_of_four_left();
    let log = net.log_of(3);
    net.hosts_again(93, &log, &[0], Duration::from_secs(30));
    net.run(net.now() + Duration::from_secs(2));
    let elsewhere = Control::Refused(JoinRefused::OtherMatch);
    for message in [hostile::end_of_nothing(), elsewhere, Control::Bye] {
        assert!(net.link_between(0, 3).is_some(), "{message:?}");
        net.tell(0, 3, Channel::Control, &message.encode());
        assert_eq!(net.blamed(3), []);
        net.run(net.now() + Duration::from_secs(2));
    }
}

#[test]
fn leaver_of_a_reopening_is_told_what_it_has_followed() {
    let mut net = Net::with_one_of_four_left();
    let log = net.log_of(3);
    net.run(net.now() + Duration::from_secs(8));
    let followed = net.peers[1].loaded + net.peers[1].turns.len() as u32;
    // No other peer comes, so that it waits.
    net.kill(2);
    net.hosts_again(93, &log, &[0, 1], Duration::from_secs(30));
    net.run(net.now() + Duration::from_secs(5));
    assert_eq!(net.session(1).status(), Status::Lobby);
    net.input(1, Input::Leave);
    net.is_told_what_it_followed(1, &EndReason::Left, followed);
}

#[test]
fn joiner_that_hosts_a_reopening_is_told_what_it_has_followed() {
    // It leaves, or its disk does not keep what it signs.
    let too_slow = EndReason::Refused(JoinRefused::TooSlow);
    for why in [EndReason::Left, too_slow] {
        let mut net = Net::with_one_of_four_left();
        let log = net.log_of(3);
        net.run(net.now() + Duration::from_secs(8));
        let followed = net.peers[1].loaded + net.peers[1].turns.len() as u32;
        net.kill(0);
        for at in [1, 2] {
            for link in lost::between(&net, 0, at) {
                let why = LinkError::Closed;
                net.input(at, Input::LinkDown { link, why });
            }
        }
        net.links.disks_hang = vec![1];
        net.restart(3, 93, log, &[1, 2]);
        while net.session(1).status() != Status::Lobby {
            net.run(net.now() + Duration::from_millis(100));
        }
        match why {
            EndReason::Left => net.input(1, Input::Leave),
            _ => net.run(net.now() + Duration::from_secs(60)),
        }
        net.is_told_what_it_followed(1, &why, followed);
    }
}

#[test]
fn joiner_names_missing_players_when_the_last_member_goes() {
    let mut net = Net::new(2, Plan::default(), None);
    net.run(Duration::from_secs(15));
    net.kill(0);
    net.run(Duration::from_secs(16));
    net.restart(0, 90, net.log_of(0), &[1]);
    net.run(net.now() + Duration::from_secs(30));
    let end = net.end_of(1).cloned();
    assert!(matches!(end, Some(EndReason::StallLimit { .. })), "{end:?}");
    assert_eq!(net.missing(0), [[0]], "{:?}", net.peers[0].events);
    net.kill(1);
    for link in lost::between(&net, 0, 1) {
        let why = LinkError::Closed;
        net.input(0, Input::LinkDown { link, why });
    }
    net.run(net.now() + Duration::from_secs(40));
    let Some(EndReason::NoQuorum { missing }) = net.end_of(0) else {
        panic!("{:?}", net.end_of(0));
    };
    let missing: Vec<u8> = missing.iter().map(|info| info.seat.0).collect();
    assert_eq!(missing, [1]);
}

#[test]
fn key_without_a_seat_is_refused_at_once_without_a_fault() {
    let mut net = Net::new(2, Plan::default(), None);
    net.run(Duration::from_secs(10));
    let stranger = |match_id: u8| Role::Rejoin {
        from: Rejoin {
            player: None,
            match_id: MatchId([match_id; 16]),
            contacts: vec![Contact {
                peer: id(0),
                addresses: vec!["0".to_owned()],
            }],
            log: None,
            keyframe: None,
            accepted: None,
            signed: None,
            attests: Vec::new(),
            accepts_other_history: false,
        },
        rules: Box::new(|_| Some(RulesId([9; 16]))),
    };
    net.begin(2, 8, 90, stranger(7));
    net.run(net.now() + Duration::from_secs(1));
    let refused = EndReason::Refused(JoinRefused::NoSeat);
    assert_eq!(net.end_of(2), Some(&refused));
    // No peer here knows the seats of another match.
    net.begin(2, 8, 91, stranger(6));
    net.run(net.now() + Duration::from_secs(1));
    let refused = EndReason::Refused(JoinRefused::OtherMatch);
    assert_eq!(net.end_of(2), Some(&refused));
    assert!(net.faults(0).is_empty(), "{:?}", net.faults(0));
}

impl Net {
    /// The peers of which this one was told that they wait for a reopening.
    fn waiting_joiners(&self, at: usize) -> Vec<PeerId> {
        let events = self.peers[at].events.iter();
        let joiners = events.filter_map(|event| match event {
            Event::JoinerWaits { peer, .. } => Some(*peer),
            _ => None,
        });
        joiners.collect()
    }
}

#[test]
fn survivor_of_two_is_told_of_each_new_incarnation_once() {
    let mut net = Net::new(2, Plan::default(), None);
    net.run(Duration::from_secs(15));
    net.kill(0);
    net.run(net.now() + Duration::from_secs(5));
    assert_eq!(net.missing(1), [[0]]);
    assert_eq!(net.waiting_joiners(1), []);
    for run in [90, 91] {
        net.restart(0, run, net.log_of(0), &[1]);
        net.run(net.now() + Duration::from_secs(6));
        let told = usize::from(run - 89);
        assert_eq!(net.waiting_joiners(1), vec![id(0); told]);
        net.kill(0);
    }
}

#[test]
fn joiners_are_told_once_they_and_the_survivors_are_a_quorum() {
    let mut net = Net::new(4, Plan::default(), None);
    net.run(Duration::from_secs(15));
    (0..3).for_each(|at| net.kill(at));
    net.run(net.now() + Duration::from_secs(5));
    assert_eq!(net.missing(3), [[0, 1, 2]]);
    net.restart(1, 91, net.log_of(1), &[3]);
    net.run(net.now() + Duration::from_secs(4));
    assert_eq!(net.waiting_joiners(3), [], "half without the lowest seat");
    net.restart(2, 92, net.log_of(2), &[3]);
    net.run(net.now() + Duration::from_secs(4));
    assert_eq!(net.waiting_joiners(3), [id(1), id(2)]);
}

#[test]
fn joiner_is_not_told_where_a_quorum_admits_it() {
    let mut net = Net::new(2, Plan::default(), None);
    net.run(Duration::from_secs(15));
    net.kill(1);
    net.run(net.now() + Duration::from_secs(5));
    net.restart(1, 91, net.log_of(1), &[0]);
    net.run(net.now() + Duration::from_secs(8));
    assert_eq!(net.causes(1), [RosterCause::Rejoined]);
    assert_eq!(net.waiting_joiners(0), []);
}

#[test]
fn two_hosts_of_one_reopening_gather_at_the_lower_seat() {
    let mut net = Net::new(2, Plan::default(), None);
    net.run(Duration::from_secs(15));
    (0..2).for_each(|at| net.kill(at));
    for at in [1, 0] {
        let log = net.log_of(at);
        net.hosts(at, 90 + at as u8, &log, &[1 - at], Duration::from_secs(600));
    }
    net.run(net.now() + Duration::from_secs(8));
    for at in 0..2 {
        assert_eq!(net.causes(at), [RosterCause::Reopened], "peer {at}");
        assert_eq!(net.session(at).status(), Status::Running);
        assert!(net.faults(at).is_empty(), "{:?}", net.faults(at));
    }
}
