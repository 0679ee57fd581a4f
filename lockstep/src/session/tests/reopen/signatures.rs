//! Signatures of a reopening outlive the processes that gave them.

use super::*;

impl Net {
    fn has_signed(&self, at: usize) -> bool {
        self.peers[at].recording.signed().is_some()
    }

    fn seats_missing(&self, at: usize) -> Vec<Seat> {
        let Some(EndReason::Undecided { missing }) = self.end_of(at) else {
            panic!("{:?}", self.end_of(at));
        };
        missing.iter().map(|info| info.seat).collect()
    }
}

/// All of three die. The first two reopen the match, and the second dies once it has signed: what is left of it.
fn one_signs_and_dies() -> (Net, Vec<Disk>) {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(10));
    let mut disks = net.all_die();
    net.comes(1, 91, &disks[1], 0);
    net.reopens(0, 90, &disks[0], Duration::from_secs(4));
    net.goes_on(|net| net.has_signed(1));
    drop(net.mesh.driver.remove(1));
    disks[1] = net.disk(1);
    (net, disks)
}

#[test]
fn a_reopening_that_absent_peers_may_go_on_by_excludes_another_one() {
    let (mut net, disks) = one_signs_and_dies();
    net.goes_on(|net| net.reopened_at(0).is_some());
    net.wait(8);
    assert_eq!(
        net.session(0).status(),
        Status::Running,
        "it has the tie-break"
    );
    assert_eq!(net.causes(0).last(), Some(&RosterCause::Lost));
    net.part_groups(&[0], &[1, 2]);
    net.comes(2, 92, &disks[2], 1);
    net.reopens(1, 93, &disks[1], Duration::from_secs(4));
    net.wait(20);
    for at in [1, 2] {
        assert_eq!(net.reopened_at(at), None, "peer {at}");
        assert!(net.peers[at].turns.is_empty(), "a second majority");
    }
    assert_eq!(net.seats_missing(1), [Seat(0)]);
}

#[test]
fn a_quorum_of_its_roster_reopens_the_match_once_more() {
    let (mut net, mut disks) = one_signs_and_dies();
    disks[0] = net.disk(0);
    net.kill(0);
    net.links.silent.clear();
    net.comes(1, 94, &disks[1], 0);
    net.reopens(0, 95, &disks[0], Duration::from_secs(4));
    net.wait(12);
    for at in 0..2 {
        assert!(net.reopened_at(at).is_some(), "{:?}", net.end_of(at));
        assert_eq!(net.session(at).status(), Status::Running);
        let records = net.peers[at].recording.records.iter();
        let starts = records.filter(|record| matches!(record, Record::Start(_)));
        assert_eq!(starts.count(), 1, "one recording");
        assert!(net.faults(at).is_empty(), "{:?}", net.faults(at));
    }
    net.is_one_of_them(0, 1);
}

#[test]
fn a_signature_waits_for_the_disk() {
    for hangs in 0..2 {
        let mut net = Net::new(3, Plan::default(), None);
        net.run(Duration::from_secs(10));
        let disks = net.all_die();
        net.links.disks_hang.push(hangs);
        net.comes(1, 91, &disks[1], 0);
        net.reopens(0, 90, &disks[0], Duration::from_secs(4));
        net.goes_on(|net| !net.links.syncs.is_empty());
        assert!(net.has_signed(hangs));
        net.wait(1);
        assert_eq!(net.reopened_at(0), None, "peer {hangs} has not signed");
        let (at, id) = *net.links.syncs.last().expect("it syncs");
        net.input(at, Input::Synced(id));
        net.wait(2);
        assert!((0..2).all(|at| net.reopened_at(at).is_some()));
    }
}
