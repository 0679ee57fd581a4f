//! Joiners that find no player, but each other: one of them hosts a reopening by itself.

use super::*;

impl Net {
    /// Another run of this peer's process looks for these peers.
    fn looks(&mut self, at: usize, run: u8, disk: &Disk, near: &[usize]) {
        let role = Role::Rejoin {
            from: Net::known(disk, near),
            rules: Box::new(|_| Some(RulesId([9; 16]))),
        };
        self.begin(at, at, run, role);
    }

    fn all_play(&self, peers: &[usize], disks: &[Disk]) {
        for at in peers.iter().copied() {
            let cut = self.reopened_at(at);
            let cut = cut.unwrap_or_else(|| panic!("peer {at}: {:?}", self.end_of(at)));
            self.verifies(at, &disks[at], cut);
            assert!(self.faults(at).is_empty(), "peer {at}");
            assert_eq!(self.session(at).status(), Status::Running);
        }
    }
}

/// All processes of a match of so many have died.
fn all_dead(peers: usize) -> (Net, Vec<Disk>) {
    let mut net = Net::new(peers, Plan::default(), None);
    net.run(Duration::from_secs(15));
    let disks = net.all_die();
    (net, disks)
}

#[test]
fn two_joiners_play_on_in_either_order() {
    for order in [[0, 1], [1, 0]] {
        let (mut net, disks) = all_dead(2);
        net.looks(order[0], 91, &disks[order[0]], &[order[1]]);
        net.wait(12);
        assert!(net.ends().is_empty());
        net.looks(order[1], 92, &disks[order[1]], &[order[0]]);
        net.wait(8);
        net.all_play(&[0, 1], &disks);
        assert_eq!(net.causes(0), [RosterCause::Reopened]);
    }
}

#[test]
fn three_joiners_play_on_where_each_knows_all() {
    let (mut net, disks) = all_dead(3);
    for (at, disk) in disks.iter().enumerate() {
        net.looks(at, 91 + at as u8, disk, &[0, 1, 2]);
    }
    net.wait(12);
    net.all_play(&[0, 1, 2], &disks);
}

#[test]
fn a_joiner_finds_a_host_that_has_moved_where_it_is_told_so() {
    let (mut net, disks) = all_dead(2);
    net.reopens(1, 91, &disks[1], NEVER);
    let mut from = Net::known(&disks[0], &[1]);
    from.contacts[0].addresses = vec![NOWHERE.to_owned()];
    let role = Role::Rejoin {
        from,
        rules: Box::new(|_| Some(RulesId([9; 16]))),
    };
    net.begin(0, 0, 92, role);
    net.wait(12);
    assert_eq!(net.reopened_at(0), None);
    let found = |peer: PeerId| {
        Input::Contact(Contact {
            peer,
            addresses: vec!["1".to_owned()],
        })
    };
    net.input(0, found(id(5)));
    net.wait(2);
    assert_eq!(net.reopened_at(0), None, "that key is not of the match");
    net.input(0, found(id(1)));
    net.wait(8);
    net.all_play(&[0, 1], &disks);
}

#[test]
fn first_comers_go_on_by_their_hosts_word() {
    let (mut net, disks) = all_dead(3);
    net.reopens(1, 91, &disks[1], NEVER);
    net.wait(1);
    net.input(1, Input::BeginNow);
    net.wait(8);
    assert!(net.ends().is_empty(), "one of three waits");
    net.comes(2, 92, &disks[2], 1);
    net.wait(8);
    net.all_play(&[1, 2], &disks);
    net.looks(0, 93, &disks[0], &[1, 2]);
    net.wait(8);
    assert_eq!(net.causes(0), [RosterCause::Rejoined]);
}

#[test]
fn three_joiners_play_on_where_each_knows_the_next() {
    let (mut net, disks) = all_dead(3);
    for (at, disk) in disks.iter().enumerate() {
        net.looks(at, 91 + at as u8, disk, &[(at + 1) % 3]);
    }
    net.wait(25);
    for at in 0..3 {
        let status = net.session(at).status();
        assert_eq!(status, Status::Running, "peer {at}: {:?}", net.end_of(at));
    }
}

#[test]
fn joiners_that_are_a_quorum_go_on_without_the_third() {
    let (mut net, disks) = all_dead(3);
    net.looks(1, 91, &disks[1], &[0, 2]);
    net.looks(2, 92, &disks[2], &[0, 1]);
    net.wait(15);
    net.all_play(&[1, 2], &disks);
    net.looks(0, 93, &disks[0], &[1, 2]);
    net.wait(8);
    assert_eq!(net.causes(0), [RosterCause::Rejoined]);
}

#[test]
fn joiners_without_a_quorum_learn_that_no_peer_plays() {
    let (mut net, disks) = all_dead(4);
    // The tie-break is with seat 0.
    net.looks(1, 91, &disks[1], &[0, 2, 3]);
    net.looks(2, 92, &disks[2], &[0, 1, 3]);
    net.wait(29);
    assert!(net.ends().is_empty(), "{:?}", net.ends());
    net.wait(15);
    for at in 1..3 {
        assert_eq!(net.end_of(at), Some(&EndReason::OnlyJoiners), "peer {at}");
    }
}

#[test]
fn joiner_out_of_the_newest_roster_yields_to_a_member() {
    let mut net = Net::new(4, Plan::default(), None);
    net.run(Duration::from_secs(10));
    net.kill(0);
    net.links.silent.clear();
    net.wait(10);
    assert_eq!(net.causes(1), [RosterCause::Lost]);
    let disks = net.all_die();
    // By its recording seat 0 is a quorum with seat 1, which has gone on without it.
    net.looks(0, 91, &disks[0], &[1, 2, 3]);
    net.looks(1, 92, &disks[1], &[0, 2, 3]);
    net.wait(12);
    assert!(net.ends().is_empty(), "{:?}", net.ends());
    net.looks(2, 93, &disks[2], &[0, 1, 3]);
    net.wait(18);
    net.all_play(&[1, 2], &disks);
    assert_eq!(
        net.causes(0),
        [RosterCause::Rejoined],
        "{:?}",
        net.end_of(0)
    );
}

#[test]
fn joiners_find_a_peer_that_plays_before_they_reopen() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(10));
    net.kill(2);
    net.links.silent.clear();
    net.wait(10);
    let disk = |net: &Net, at: usize| Disk {
        log: net.peers[at].recording.records.clone(),
        keyframes: Vec::new(),
        accepted: None,
        signed: None,
    };
    let disks = [0, 2].map(|at| disk(&net, at));
    net.kill(0);
    net.links.silent.clear();
    // Seat 1 is no quorum of itself and seat 0, and waits.
    net.looks(0, 91, &disks[0], &[1, 2]);
    net.looks(2, 92, &disks[1], &[0, 1]);
    net.wait(8);
    assert_eq!((net.reopened_at(0), net.reopened_at(2)), (None, None));
    let waits = |event: &Event| matches!(event, Event::JoinerWaits { .. });
    assert!(net.peers[1].events.iter().any(waits));
}

#[test]
fn two_of_three_that_both_host_play_on() {
    for order in [[1, 2], [2, 1]] {
        let (mut net, disks) = all_dead(3);
        for (at, other) in order.into_iter().zip([order[1], order[0]]) {
            net.reopens_near(at, 91, &disks[at], Duration::from_secs(8), &[other]);
            net.wait(1);
        }
        net.wait(12);
        net.all_play(&[1, 2], &disks);
    }
}

#[test]
fn a_guest_turns_round_where_its_host_hosts_no_more() {
    let (mut net, disks) = all_dead(3);
    // It takes a joiner for a host, by a false answer.
    net.links.lie = Some(|bytes| match decode(&bytes) {
        Ok(Answer::Nothing) => encode(&Answer::Reopens),
        _ => bytes,
    });
    net.looks(0, 91, &disks[0], &[2]);
    net.looks(1, 92, &disks[1], &[0]);
    net.run(net.now() + Duration::from_millis(500));
    net.links.lie = None;
    net.wait(1);
    assert!(matches!(net.session(1).phase, Phase::Rejoin(_)));
}
