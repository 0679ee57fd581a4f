//! A history that others have made up, and that a recording contradicts.

use super::*;
use crate::log::SignedBatch;
use crate::{Rejoin, SeatInfo};
use std::collections::BTreeMap;

/// What is known to a peer that comes to this host with its own recording.
fn known(net: &Net, disk: &Disk, at: usize, host: usize) -> Rejoin {
    let mut attests = BTreeMap::new();
    for record in &net.peers[at].recording.records {
        if let Record::Attest(signed) = record {
            attests.insert(signed.peer, signed.clone());
        }
    }
    let attests: Vec<SignedBatch> = attests.into_values().collect();
    assert!(!attests.is_empty(), "it records what others sign");
    Rejoin {
        attests,
        ..Net::known(disk, &[host])
    }
}

/// All die after a while. What each has on disk, and the last peer knows.
fn dead_peers(peers: usize) -> (Net, Vec<Disk>, Rejoin) {
    let mut net = Net::new(peers, Plan::default(), None);
    net.run(Duration::from_secs(15));
    let before = net.peers[peers - 1].recording.records.clone();
    let disks = net.all_die();
    net.peers[peers - 1].recording.records = before;
    let from = known(&net, &disks[peers - 1], peers - 1, 0);
    net.peers[peers - 1].recording.records.clear();
    (net, disks, from)
}

fn comes_back(net: &mut Net, at: usize, from: Rejoin) {
    let role = Role::Rejoin {
        from,
        rules: Box::new(|_| Some(RulesId([9; 16]))),
    };
    net.begin(at, at, 91, role);
}

/// The seats of the peers that have signed what the others' history lacks, if the peer ended by that.
fn signers(net: &Net, at: usize) -> Option<Vec<Seat>> {
    let Some(EndReason::Contradicted { signers, turn }) = net.end_of(at) else {
        return None;
    };
    assert!((60..80).contains(&turn.0), "{turn}");
    Some(signers.iter().map(|info: &SeatInfo| info.seat).collect())
}

#[test]
fn a_joiner_does_not_follow_a_history_that_lacks_what_its_host_has_signed() {
    for (lost, accepts_other_history) in [(30, false), (30, true), (4, false), (0, false)] {
        let (mut net, disks, from) = dead_peers(2);
        let cut_off = disks[0].clone().without_last(lost);
        net.reopens(0, 90, &cut_off, Duration::from_secs(1));
        net.wait(6);
        assert!(net.reopened_at(0).is_some(), "it has the tie-break");
        let signed = from.attests.clone();
        let from = Rejoin {
            accepts_other_history,
            ..from
        };
        comes_back(&mut net, 1, from);
        net.wait(30);
        let refuses = lost > 8 && !accepts_other_history;
        assert_eq!(
            signers(&net, 1),
            refuses.then(|| vec![Seat(0)]),
            "{:?}",
            net.end_of(1)
        );
        assert_eq!(
            net.causes(1).last() == Some(&RosterCause::Rejoined),
            !refuses
        );
        assert!(net.faults(1).is_empty(), "a loss of power is no fault");
        // The new recording has what others have signed of its turns.
        let mut records = net.peers[1].recording.records.iter();
        let carried =
            records.any(|record| matches!(record, Record::Attest(of) if signed.contains(of)));
        assert_eq!(carried, lost == 0, "{lost} lost");
    }
}

/// Its process was killed before the recording had what others sign.
#[test]
fn a_recording_without_signatures_is_not_given_up_without_a_word() {
    for (lost, accepts_other_history) in [(30, false), (30, true), (4, false)] {
        let (mut net, disks, from) = dead_peers(2);
        let cut_off = disks[0].clone().without_last(lost);
        net.reopens(0, 90, &cut_off, Duration::from_secs(1));
        // The others' world is further than the recording.
        net.wait(25);
        let from = Rejoin {
            accepts_other_history,
            attests: Vec::new(),
            ..from
        };
        comes_back(&mut net, 1, from);
        net.wait(30);
        let refuses = lost > 8 && !accepts_other_history;
        let end = net.end_of(1);
        assert_eq!(signers(&net, 1), refuses.then(Vec::new), "{end:?}");
        let is_back = net.causes(1).last() == Some(&RosterCause::Rejoined);
        assert_eq!(is_back, !refuses, "{lost} lost");
    }
}

#[test]
fn a_guest_signs_no_reopening_that_lacks_what_its_members_have_signed() {
    for (lost, accepts_other_history) in [(30, false), (30, true), (4, false)] {
        let (mut net, disks, from) = dead_peers(3);
        let [zero, one] = [0, 1].map(|at: usize| disks[at].clone().without_last(lost));
        net.reopens(0, 90, &zero, Duration::from_secs(4));
        net.comes(1, 92, &one, 0);
        comes_back(
            &mut net,
            2,
            Rejoin {
                accepts_other_history,
                ..from
            },
        );
        net.wait(12);
        let refuses = lost > 8 && !accepts_other_history;
        let both = vec![Seat(0), Seat(1)];
        assert_eq!(
            signers(&net, 2),
            refuses.then_some(both),
            "{:?}",
            net.end_of(2)
        );
        assert_eq!(net.reopened_at(2).is_some(), !refuses);
    }
}

/// Its recording has other turns than those of the others.
#[test]
fn a_guest_of_another_history_follows_the_others_by_its_players_word() {
    for accepts_other_history in [false, true] {
        let (mut net, mut disks) = dead(15);
        for record in disks[1].log.iter_mut().rev().take(30) {
            if let Record::Bundle(bundle) = record {
                bundle.entries.clear();
            }
        }
        net.reopens(0, 90, &disks[0], Duration::from_secs(4));
        let from = Rejoin {
            accepts_other_history,
            ..Net::known(&disks[1], &[0])
        };
        comes_back(&mut net, 1, from);
        net.comes(2, 92, &disks[2], 0);
        net.wait(30);
        let is_back = net.causes(1).last() == Some(&RosterCause::Rejoined);
        assert_eq!(is_back, accepts_other_history, "{:?}", net.end_of(1));
        assert!(net.faults(1).is_empty() && net.reopened_at(0).is_some());
    }
}

#[test]
fn a_host_does_not_reopen_a_match_where_its_guests_lack_what_they_have_signed() {
    let (mut net, disks, from) = dead_peers(3);
    let [zero, one] = [0, 1].map(|at: usize| disks[at].clone().without_last(30));
    let role = Role::Reopen {
        from,
        rules: Box::new(|_| Some(RulesId([9; 16]))),
        wait: Duration::from_secs(4),
    };
    net.begin(2, 2, 91, role);
    net.comes(0, 90, &zero, 2);
    net.comes(1, 92, &one, 2);
    net.wait(12);
    assert_eq!(
        signers(&net, 2),
        Some(vec![Seat(0), Seat(1)]),
        "{:?}",
        net.end_of(2)
    );
}
