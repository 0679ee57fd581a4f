//! Accepts of a roster change outlive the processes that gave them.

use super::*;

impl Net {
    fn has_accepted(&self, at: usize) -> bool {
        self.peers[at].recording.accepted().is_some()
    }

    fn has_decided(&self, at: usize) -> bool {
        let mut records = self.peers[at].recording.records.iter();
        records.any(|record| matches!(record, Record::Roster(_)))
    }

    /// What the peer's disk holds.
    pub(super) fn disk(&self, at: usize) -> Disk {
        let recording = &self.peers[at].recording;
        let of_log = |record: &&Record| {
            matches!(
                record,
                Record::Start(_) | Record::Bundle(_) | Record::Roster(_)
            )
        };
        Disk {
            log: recording.records.iter().filter(of_log).cloned().collect(),
            keyframes: Vec::new(),
            accepted: recording.accepted(),
            signed: recording.signed(),
        }
    }

    pub(super) fn goes_on(&mut self, until: impl Fn(&Net) -> bool) {
        let latest = self.now() + Duration::from_secs(20);
        while !until(self) {
            assert!(self.now() < latest, "it does not come to that");
            self.run(self.now() + Duration::from_millis(1));
        }
    }

    /// No packet passes between these peers and those.
    pub(super) fn part_groups(&mut self, these: &[usize], those: &[usize]) {
        let pairs = these
            .iter()
            .flat_map(|one| those.iter().map(|other| (*one, *other)));
        self.links.deaf_between.extend(pairs);
    }
}

/// Of six peers the last dies. The first two accept that the others go on without it, and die before they know that this is
/// decided.
fn two_die_that_have_accepted() -> (Net, [Disk; 3]) {
    let mut net = Net::new(6, Plan::default(), None);
    net.run(Duration::from_secs(10));
    net.links.disks_hang = vec![2, 3, 4];
    net.kill(5);
    net.goes_on(|net| net.has_accepted(0) && net.has_accepted(1));
    assert!((0..5).all(|at| !net.has_decided(at)));
    // What they have sent arrives, and the others' disks go on.
    (0..2).for_each(|at| drop(net.mesh.driver.remove(at)));
    net.links.disks_hang.clear();
    for (at, id) in std::mem::take(&mut net.links.syncs) {
        net.input(at, Input::Synced(id));
    }
    net.goes_on(|net| (2..5).all(|at| net.has_decided(at)));
    let disks = [0, 1, 5].map(|at| net.disk(at));
    (net, disks)
}

#[test]
fn a_reopening_is_bound_by_a_change_that_absent_peers_decided() {
    let (mut net, disks) = two_die_that_have_accepted();
    net.part_groups(&[0, 1, 5], &[2, 3, 4]);
    net.reopens(0, 90, &disks[0], Duration::from_secs(4));
    net.comes(1, 91, &disks[1], 0);
    net.comes(5, 95, &disks[2], 0);
    net.wait(20);
    for at in [0, 1, 5] {
        assert_eq!(net.reopened_at(at), None, "peer {at}");
        assert!(net.peers[at].turns.is_empty(), "a second majority");
    }
    let Some(EndReason::Undecided { missing }) = net.end_of(0) else {
        panic!("{:?}", net.end_of(0));
    };
    let seats: Vec<Seat> = missing.iter().map(|info| info.seat).collect();
    assert_eq!(seats, [Seat(2), Seat(3), Seat(4)]);
    // The majority has gone on without the first two.
    let lost = [RosterCause::Lost, RosterCause::Lost];
    assert!((2..5).all(|at| net.causes(at) == lost));
    assert!((2..5).all(|at| net.session(at).status() == Status::Running));
}

#[test]
fn a_quorum_of_its_roster_goes_on_by_a_change_that_may_be_decided() {
    // All die at once; of three peers one has accepted that the others go on without the third, which does not come. The
    // disk of the second lost its accept.
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(10));
    net.links.disks_hang.push(1);
    net.kill(2);
    net.goes_on(|net| net.has_accepted(0));
    let (zero, mut one) = (net.disk(0), net.disk(1).without_last(4));
    one.accepted = None;
    net.links.disks_hang.clear();
    let accepted = zero.accepted.clone().expect("it has accepted");
    (0..2).for_each(|at| net.kill(at));
    net.links.silent.clear();
    net.comes(0, 91, &zero, 1);
    net.reopens(1, 90, &one, Duration::from_secs(4));
    net.wait(12);
    for at in 0..2 {
        let cut = accepted.value.cut;
        assert_eq!(net.reopened_at(at), Some(cut), "{:?}", net.end_of(at));
        assert_eq!(net.session(at).status(), Status::Running);
        net.is_one_of_them(at, 1 - at);
        assert!(net.faults(at).is_empty(), "{:?}", net.faults(at));
    }
}

#[test]
fn an_accept_goes_along_into_the_recording_of_a_joiner() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(10));
    net.links.disks_hang.push(1);
    net.kill(2);
    net.goes_on(|net| net.has_accepted(0));
    let disk = net.disk(0);
    net.kill(0);
    net.links.silent.clear();
    // It follows a peer that has no quorum, and records anew.
    net.comes(0, 91, &disk, 1);
    net.goes_on(|net| !net.peers[0].recording.records.is_empty());
    net.wait(1);
    assert!(disk.accepted.is_some());
    assert_eq!(net.peers[0].recording.accepted(), disk.accepted);
}

#[test]
fn an_accept_waits_for_the_disk_and_nothing_else_does() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(10));
    net.links.disks_hang.push(1);
    net.wait(2);
    let turns = net.peers[1].turns.len();
    net.wait(2);
    assert!(net.peers[1].turns.len() > turns + 8, "turns do not wait");
    net.kill(2);
    net.goes_on(|net| !net.links.syncs.is_empty());
    assert!(net.has_accepted(1));
    net.run(net.now() + DELAY * 3);
    assert!(!net.has_decided(0) && !net.has_decided(1));
    let (at, id) = *net.links.syncs.last().expect("it syncs");
    net.input(at, Input::Synced(id));
    net.run(net.now() + DELAY * 3);
    assert!(net.has_decided(0) && net.has_decided(1));
}

#[test]
fn a_quorum_goes_on_without_the_accept_of_a_peer_whose_disk_hangs() {
    let mut net = Net::new(4, Plan::default(), None);
    net.run(Duration::from_secs(10));
    net.links.disks_hang.push(2);
    net.kill(3);
    net.wait(8);
    for at in 0..3 {
        assert_eq!(net.causes(at), [RosterCause::Lost], "peer {at}");
        assert_eq!(net.session(at).status(), Status::Running);
    }
}
