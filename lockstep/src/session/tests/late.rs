//! Matches that end while a peer follows them, or is admitted.

use super::lost::part;
use super::*;
use crate::RosterCause;
use crate::log::{Document, End};
use crate::session::wire::Control;

const TURNS: u32 = 100;

impl Net {
    /// Peer 2 of three, or of two peer 1, dies, and another run of it begins so long after turn 0.
    fn late(peers: usize, decided: bool, since: Duration) -> Net {
        let limit = (!decided).then_some(TURNS);
        let mut net = Net::new(peers, Plan::default(), limit);
        net.decided_after = decided.then_some(u64::from(TURNS));
        net.run(Duration::from_secs(5));
        let late = peers - 1;
        net.kill(late);
        net.run(since);
        let log = net.peers[late].recording.records.clone();
        net.restart(late, 99, log, &[0, 1][..late]);
        net
    }

    fn ended(&self, at: usize) -> Option<&Ended> {
        let mut events = self.peers[at].events.iter();
        events.find_map(|event| match event {
            Event::Ended(ended) => Some(ended),
            _ => None,
        })
    }
}

#[test]
fn joiner_that_follows_to_the_end_learns_the_end() {
    let (mut followed, mut admitted) = (0, 0);
    for (peers, decided) in [(3, false), (3, true), (2, false), (2, true)] {
        let late = peers - 1;
        // The others are at turn 99 after 23.1 seconds.
        for after in (21_660..=23_060).step_by(140) {
            let case = format!("{peers} peers, decided: {decided}, after {after} ms");
            let mut net = Net::late(peers, decided, Duration::from_millis(after));
            net.run(Duration::from_secs(26));
            let others = net.ended(0).expect("the others have ended").clone();
            let ended = net.ended(late);
            let ended = ended.unwrap_or_else(|| panic!("it has not ended: {case}"));
            assert_eq!(ended.reason, others.reason, "{case}");
            assert_eq!(
                (ended.turns, ended.checksum, ended.outcome),
                (TURNS, Some(Checksum(TURNS * 3)), others.outcome),
                "{case}"
            );
            net.is_one_of_them(late, 0);
            let Some(Record::End(end)) = net.peers[late].recording.records.last() else {
                panic!("its recording has no end: {case}");
            };
            assert_eq!(end.turns, TURNS);
            assert!(!end.signatures.is_empty(), "{case}");
            match net.causes(late).contains(&RosterCause::Rejoined) {
                true => admitted += 1,
                false => followed += 1,
            }
        }
    }
    assert!(followed > 8 && admitted > 8, "{followed}, {admitted}");
}

#[test]
fn joiner_left_behind_reports_the_others_turns_and_its_own() {
    let mut net = Net::late(3, false, Duration::from_millis(22_760));
    net.run(Duration::from_millis(23_000));
    for at in [0, 1] {
        net.kill(at);
        part(&mut net, at, 2);
    }
    net.links.lost_dials = u32::MAX;
    let turns = net.peers[0].turns.len() as u32;
    net.run(net.now() + Duration::from_secs(40));
    let ended = net.ended(2).expect("it gives up").clone();
    let EndReason::OthersWent { after } = ended.reason else {
        panic!("{ended:?}");
    };
    assert!(after.0 < turns && after.0 + 3 > turns, "{after} of {turns}");
    let executed = net.peers[2].executed as u32;
    assert!(executed > 90, "{executed}");
    assert_eq!(ended.turns, executed);
    assert_eq!(ended.checksum, Some(Checksum(executed * 3)));
    assert_eq!((ended.agreed, ended.of), (0, 0));
}

#[test]
fn joiner_that_leaves_is_told_what_it_has() {
    let mut net = Net::late(3, false, Duration::from_millis(22_760));
    net.run(Duration::from_millis(23_000));
    net.input(2, Input::Leave);
    let ended = net.ended(2).expect("it leaves at once").clone();
    assert_eq!(ended.reason, EndReason::Left);
    assert!(ended.turns > 90, "{ended:?}");
    assert_eq!(ended.checksum, Some(Checksum(ended.turns * 3)));
}

#[test]
fn joiner_whose_world_differs_at_the_end_ends_as_desync() {
    let mut net = Net::late(3, false, Duration::from_millis(22_660));
    net.peers[2].diverges_at = Some(90);
    net.run(Duration::from_secs(26));
    assert_eq!(
        net.ended(0).map(|ended| &ended.reason),
        Some(&EndReason::TurnLimit)
    );
    assert_eq!(
        net.ended(2).map(|ended| &ended.reason),
        Some(&EndReason::Desync)
    );
    let mut events = net.peers[2].events.iter();
    let minority = events.find_map(|event| match event {
        Event::Desync(desync) => Some(desync.minority.clone()),
        _ => None,
    });
    assert_eq!(minority, Some(vec![id(2)]));
    let ends = |record: &Record| matches!(record, Record::End(_));
    assert!(!net.peers[2].recording.records.iter().any(ends));
}

#[test]
fn an_end_that_no_quorum_signs_ends_nothing() {
    for forged in [false, true] {
        let mut net = Net::late(3, false, Duration::from_secs(15));
        net.run(net.now() + Duration::from_millis(200));
        let end = End {
            turns: 50,
            log_hash: crate::LogHash([0; 16]),
            checksum: Checksum(150),
            outcome: None,
            signatures: Vec::new(),
        };
        let signature = end.sign(&KeyedHash::new(id(1)));
        let core = &net.session(2).core;
        let link = core.links_to(id(1)).next().expect("it is linked").id;
        let told = Control::End {
            peer: u8::from(!forged),
            turns: end.turns,
            log_hash: end.log_hash,
            checksum: end.checksum,
            outcome: end.outcome,
            signature: signature.into(),
        };
        assert!(matches!(net.session(2).phase, Phase::Rejoin(_)));
        net.input(
            2,
            Input::Received {
                link,
                channel: Channel::Control,
                bytes: &told.encode(),
            },
        );
        assert_eq!(net.faults(2).len(), usize::from(forged));
        net.run(Duration::from_secs(40));
        // A peer that did sign it is named later, for its other log.
        let rejoined = Some(&RosterCause::Rejoined);
        assert_eq!(net.causes(2).first(), rejoined, "forged: {forged}");
        assert_eq!(net.ended(2).map(|ended| ended.turns), Some(TURNS));
    }
}

/// Whether the recording of a peer has an end, and what the peer was told of it.
fn end_of(net: &Net, at: usize) -> (bool, bool, (u8, u8)) {
    let ended = net.ended(at).expect("its match is over");
    assert_eq!(ended.reason, EndReason::TurnLimit);
    let last = net.peers[at].recording.records.last();
    let is_end = matches!(last, Some(Record::End(_)));
    (is_end, ended.is_final, (ended.agreed, ended.of))
}

#[test]
fn of_two_the_peer_without_the_tie_break_has_no_end_alone() {
    let mut net = Net::new(2, Plan::default(), Some(20));
    // All batches have come, and no peer has signed the end.
    while net.peers.iter().any(|peer| peer.turns.len() < 19) {
        net.run(net.now() + Duration::from_millis(1));
    }
    net.links.silent = vec![0, 1];
    net.run(net.now() + Duration::from_secs(10));
    assert_eq!(end_of(&net, 0), (true, true, (1, 2)));
    assert_eq!(end_of(&net, 1), (false, false, (1, 2)));
}

#[test]
fn an_end_is_final_without_the_signature_of_a_leaver() {
    let mut ends = 0;
    for turn in 12..20 {
        let mut net = Net::new(2, Plan::default(), Some(20));
        while net.peers.iter().any(|peer| peer.turns.len() < turn) {
            net.run(net.now() + Duration::from_millis(1));
        }
        net.input(0, Input::Leave);
        net.run(net.now() + Duration::from_secs(20));
        let (is_end, is_final, (agreed, of)) = end_of(&net, 1);
        assert!(is_end && is_final, "after turn {turn}: {agreed} of {of}");
        ends += u32::from(of == 1);
    }
    assert!(ends > 0, "no end came right behind the leaving");
}
