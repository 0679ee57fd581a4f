//! Players that go on without a quorum, in a branch, and others that enter it by their players' word.

use super::*;

impl Net {
    fn branches(&mut self, at: usize, run: u8, from: Rejoin) {
        let role = Role::Branch {
            from,
            rules: Box::new(|_| Some(RulesId([9; 16]))),
        };
        self.begin(at, at, run, role);
    }

    fn comes_from(&mut self, at: usize, run: u8, from: Rejoin) {
        let role = Role::Rejoin {
            from,
            rules: Box::new(|_| Some(RulesId([9; 16]))),
        };
        self.begin(at, at, run, role);
    }

    /// The branches that were found: id, first turn, and whether they may be entered.
    fn found(&self, at: usize) -> Vec<(MatchId, u32, bool)> {
        let events = self.peers[at].events.iter();
        let found = events.filter_map(|event| match event {
            Event::BranchFound {
                match_id,
                turn,
                may_enter,
                ..
            } => Some((*match_id, turn.0, *may_enter)),
            _ => None,
        });
        found.collect()
    }

    /// Other branches that this peer was told of while it played one: id and first turn.
    fn met(&self, at: usize) -> Vec<(MatchId, u32)> {
        let events = self.peers[at].events.iter();
        let met = events.filter_map(|event| match event {
            Event::BranchMet { match_id, turn, .. } => Some((*match_id, turn.0)),
            _ => None,
        });
        met.collect()
    }

    /// What this peer has logged.
    fn log_on_disk(&self, at: usize) -> Disk {
        let records = self.peers[at].recording.records.iter();
        let log = records.filter(|record| {
            matches!(
                record,
                Record::Start(_) | Record::Bundle(_) | Record::Roster(_)
            )
        });
        Disk {
            log: log.cloned().collect(),
            keyframes: Vec::new(),
            accepted: None,
            signed: None,
        }
    }

    /// The branch in which this peer has a part, and its first turn.
    fn branch_of(&self, at: usize) -> Option<(MatchId, u32)> {
        let mut events = self.peers[at].events.iter().rev();
        events.find_map(|event| match event {
            Event::Branched { match_id, turn, of } => {
                assert_eq!(*of, MatchId([7; 16]));
                Some((*match_id, turn.0))
            }
            _ => None,
        })
    }
}

/// Two peers have died, and the second goes on alone.
fn branched() -> (Net, Vec<Disk>) {
    let mut net = Net::new(2, Plan::default(), None);
    net.run(Duration::from_secs(15));
    let disks = net.all_die();
    net.branches(1, 91, Net::known(&disks[1], &[0]));
    net.wait(5);
    (net, disks)
}

#[test]
fn a_player_goes_on_alone_in_a_match_of_its_own() {
    let (net, disks) = branched();
    let (match_id, turn) = net.branch_of(1).expect("it plays a branch");
    assert_ne!(match_id, MatchId([7; 16]));
    assert_eq!(turn, disks[1].turns());
    assert!(net.peers[1].executed > u64::from(turn) + 15);
    assert_eq!(net.causes(1), [RosterCause::Branched]);
    net.verifies(1, &disks[1], turn);
    assert!(net.peers[1].events.iter().any(
        |event| matches!(event, Event::Started { match_id: of, own, .. } if *of == match_id && *own == [Seat(1)])
    ));
}

#[test]
fn the_end_of_a_branch_names_the_match_that_it_left() {
    let (mut net, _) = branched();
    net.input(1, Input::Leave);
    net.wait(2);
    let ends: Vec<Option<MatchId>> = net.ends().iter().map(|ended| ended.branch_of).collect();
    assert_eq!(ends, [Some(MatchId([7; 16]))]);
    let mut net = played(3);
    net.input(0, Input::Leave);
    net.wait(8);
    assert!(!net.ends().is_empty());
    assert!(net.ends().iter().all(|ended| ended.branch_of.is_none()));
}

/// Of four, half without the lowest seat is left and waits: seat 2 goes on alone then, which seat 3 cannot hear yet.
fn one_of_two_survivors_branches() -> Net {
    let mut net = Net::new(4, Plan::default(), None);
    net.run(Duration::from_secs(10));
    net.kill(0);
    net.kill(1);
    net.wait(6);
    net.kill(2);
    net.links.silent = vec![0, 1];
    net.links.deaf_between.push((2, 3));
    let disk = net.log_on_disk(2);
    net.branches(2, 91, Net::known(&disk, &[0, 1, 3]));
    net.wait(4);
    net
}

#[test]
fn a_player_below_a_quorum_is_told_of_a_branch_and_enters_it() {
    let mut net = one_of_two_survivors_branches();
    let (match_id, turn) = net.branch_of(2).expect("it plays a branch");
    assert_eq!(net.found(3), []);
    net.links.deaf_between.clear();
    net.wait(8);
    assert_eq!(net.found(3), [(match_id, turn, true)], "told once");
    assert_eq!((net.faults(2), net.faults(3)), (vec![], vec![]));
    assert_eq!(net.met(2), [], "a match that waits is no branch");
    net.kill(3);
    net.links.silent = vec![0, 1];
    let disk = net.log_on_disk(3);
    net.comes_from(3, 93, Net::known(&disk, &[2]));
    net.input(3, Input::EnterBranch(match_id));
    net.wait(10);
    assert_eq!(net.branch_of(3), Some((match_id, turn)));
    assert_eq!(net.causes(3), [RosterCause::Rejoined]);
}

#[test]
fn a_player_that_plays_a_branch_does_not_wait_for_a_reopening() {
    let mut net = Net::new(2, Plan::default(), None);
    net.run(Duration::from_secs(10));
    net.kill(0);
    net.wait(6);
    let disk = net.log_on_disk(0);
    net.links.silent.clear();
    net.links.deaf_between.push((0, 1));
    net.branches(0, 91, Net::known(&disk, &[1]));
    net.wait(4);
    let (match_id, turn) = net.branch_of(0).expect("it plays a branch");
    net.links.deaf_between.clear();
    net.wait(6);
    let found = net.found(1);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].0, found[0].1), (match_id, turn));
    let waits = |event: &Event| matches!(event, Event::JoinerWaits { .. });
    assert!(
        !net.peers[1].events.iter().any(waits),
        "with it a quorum is here"
    );
}

#[test]
fn a_forged_branch_names_its_peer_and_is_not_told() {
    let mut net = one_of_two_survivors_branches();
    net.links.attack = Some((2, |_, _, channel, bytes| {
        let message = Control::decode(bytes, &Limits::default()).ok();
        let Some(Control::Branch {
            left,
            mut change,
            match_id,
        }) = message.filter(|_| channel == Channel::Control)
        else {
            return None;
        };
        // A bit of the signature, which stands before the rest of an ordinary change.
        let at = change.len() - 20;
        change[at] ^= 1;
        let forged = Control::Branch {
            left,
            change,
            match_id,
        };
        Some(forged.encode())
    }));
    net.links.deaf_between.clear();
    net.wait(4);
    assert_eq!(net.found(3), []);
    assert!(!net.faults(3).is_empty());
}

#[test]
fn a_joiner_enters_a_branch_by_its_players_word_alone() {
    let (mut net, disks) = branched();
    let (match_id, turn) = net.branch_of(1).expect("it plays a branch");
    net.comes(0, 92, &disks[0], 1);
    net.wait(20);
    assert_eq!(net.found(0), [(match_id, turn, true)], "told once");
    assert!(net.branch_of(0).is_none() && net.peers[0].turns.is_empty());
    net.input(0, Input::EnterBranch(match_id));
    net.wait(8);
    assert_eq!(net.branch_of(0), Some((match_id, turn)));
    assert_eq!(net.causes(0), [RosterCause::Rejoined]);
    assert_eq!(
        net.causes(1),
        [RosterCause::Branched, RosterCause::Rejoined]
    );
    assert_eq!((net.faults(0), net.faults(1)), (vec![], vec![]));
    let final_turns = disks[0].turns() - 2;
    net.verifies(1, &disks[1], turn);
    net.verifies(0, &disks[0].clone().without_last(2), final_turns);
    let issued = Input::Issue {
        seat: Seat(0),
        command: command(5),
    };
    net.input(0, issued);
    net.wait(2);
    let has = |at: usize| {
        let mut turns = net.peers[at].turns.iter().rev().take(12);
        turns.any(|turn| seats_of(turn).contains(&(Seat(0), &What::Command(command(5).into()))))
    };
    assert!(has(0) && has(1), "both play");
}

#[test]
fn a_joiner_without_its_players_word_gives_up() {
    let (mut net, disks) = branched();
    net.comes(0, 92, &disks[0], 1);
    net.wait(58);
    assert_eq!(net.end_of(0), None);
    net.wait(10);
    assert_eq!(net.end_of(0), Some(&EndReason::OnlyBranches));
}

#[test]
fn a_player_of_a_branch_comes_back_into_it() {
    let (mut net, disks) = branched();
    let (match_id, turn) = net.branch_of(1).expect("it plays a branch");
    net.comes(0, 92, &disks[0], 1);
    net.wait(5);
    net.input(0, Input::EnterBranch(match_id));
    net.wait(8);
    // Seat 1 is no quorum of both; seat 0 is.
    let disks = net.all_die();
    net.links.silent.clear();
    let of_branch = |at: usize, other: usize| Rejoin {
        match_id,
        ..Net::known(&disks[at], &[other])
    };
    let role = Role::Reopen {
        from: of_branch(0, 1),
        rules: Box::new(|_| Some(RulesId([9; 16]))),
        wait: NEVER,
    };
    net.begin(0, 0, 93, role);
    net.comes_from(1, 94, of_branch(1, 0));
    net.wait(10);
    for at in 0..2 {
        assert_eq!(net.branch_of(at), Some((match_id, turn)), "peer {at}");
        assert_eq!(net.causes(at), [RosterCause::Reopened], "peer {at}");
        assert!(net.ends().is_empty());
    }
}

#[test]
fn a_branch_that_lacks_final_turns_is_not_entered() {
    let mut net = Net::new(2, Plan::default(), None);
    net.run(Duration::from_secs(15));
    let disks = net.all_die();
    let old = disks[1].clone().without_last(9);
    net.branches(1, 91, Net::known(&old, &[0]));
    net.wait(5);
    let (match_id, turn) = net.branch_of(1).expect("it plays a branch");
    net.comes(0, 92, &disks[0], 1);
    net.wait(6);
    assert_eq!(net.found(0), [(match_id, turn, false)]);
    net.input(0, Input::EnterBranch(match_id));
    net.wait(6);
    assert_eq!((net.branch_of(0), net.causes(0)), (None, vec![]));
}

#[test]
fn a_branch_of_another_history_is_refused() {
    let mut net = Net::new(2, Plan::default(), None);
    net.run(Duration::from_secs(15));
    let disks = net.all_die();
    // As many turns, of which some are invented.
    let other = disks[1].clone();
    let mut invented = other.without_last(12).with_invented(14);
    for record in &mut invented.log {
        if let Record::Bundle(bundle) = record
            && bundle.turn.0 + 8 == disks[1].turns()
        {
            let what = What::Command(command(77).into());
            bundle.entries = vec![LogEntry {
                seat: Seat(1),
                what,
            }];
        }
    }
    net.branches(1, 91, Net::known(&invented, &[0]));
    net.wait(5);
    let (match_id, _) = net.branch_of(1).expect("it plays a branch");
    net.comes(0, 92, &disks[0], 1);
    net.wait(5);
    net.input(0, Input::EnterBranch(match_id));
    net.wait(5);
    let refused = EndReason::Refused(JoinRefused::OtherHistory);
    assert_eq!(net.end_of(0), Some(&refused));
    assert_eq!(net.branch_of(0), None);
}

#[test]
fn a_match_that_goes_on_comes_before_a_branch() {
    // Two of three go on without the third, which goes on alone, without a vote in the match.
    let mut net = played(15);
    net.kill(2);
    let disk = net.log_on_disk(2);
    net.links.deaf_between.push((0, 2));
    net.links.deaf_between.push((1, 2));
    net.branches(2, 91, Net::known(&disk, &[0, 1]));
    net.wait(8);
    let (match_id, _) = net.branch_of(2).expect("it plays a branch");
    net.links.deaf_between.clear();
    net.wait(10);
    assert!(net.ends().is_empty());
    assert_eq!(net.causes(0), [RosterCause::Lost]);
    assert!((0..2).all(|at| net.faults(at).is_empty()), "no claim of it");
    // Another player comes back, with its word given to the branch before anything is found.
    net.kill(1);
    net.run(net.now() + Duration::from_secs(1));
    let disk = Disk {
        log: disk.log,
        keyframes: Vec::new(),
        accepted: None,
        signed: None,
    };
    net.comes_from(1, 92, Net::known(&disk, &[0, 2]));
    net.input(1, Input::EnterBranch(match_id));
    net.wait(12);
    assert_eq!(net.branch_of(1), None);
    assert_eq!(net.causes(1), [RosterCause::Rejoined]);
}

#[test]
fn two_branches_that_begin_at_once_meet() {
    let mut net = played(15);
    let disks = net.all_die();
    // The second one is linked to it before its part begins.
    net.links.slow_to_load = Some(1);
    for (at, other) in [(1, 2), (2, 1)] {
        net.branches(at, 90 + at as u8, Net::known(&disks[at], &[0, other]));
    }
    net.wait(9);
    let checksum = net.peers[1].built.take().expect("it builds its world");
    net.links.slow_to_load = None;
    net.input(1, Input::Loaded { checksum });
    net.wait(10);
    let [one, other] = [1, 2].map(|at| net.branch_of(at).expect("a branch"));
    assert_eq!((net.met(1), net.met(2)), (vec![other], vec![one]));
}

#[test]
fn two_branches_never_merge_and_a_joiner_is_told_of_both() {
    let mut net = played(15);
    let disks = net.all_die();
    net.links.deaf_between.push((1, 2));
    net.branches(1, 91, Net::known(&disks[1], &[0, 2]));
    net.branches(2, 92, Net::known(&disks[2], &[0, 1]));
    net.wait(5);
    net.links.deaf_between.clear();
    let one = net.branch_of(1).expect("a branch");
    let other = net.branch_of(2).expect("a branch");
    assert_ne!(one.0, other.0);
    net.wait(8);
    assert_eq!((net.met(1), net.met(2)), (vec![other], vec![one]));
    assert_eq!((net.found(1), net.found(2)), (vec![], vec![]));
    net.comes_from(0, 93, Net::known(&disks[0], &[1, 2]));
    net.wait(10);
    let mut found: Vec<MatchId> = net.found(0).iter().map(|(id, ..)| *id).collect();
    found.sort_unstable();
    let mut both = vec![one.0, other.0];
    both.sort_unstable();
    assert_eq!(found, both);
    net.input(0, Input::EnterBranch(other.0));
    net.wait(10);
    assert_eq!(net.branch_of(0), Some(other));
    assert_eq!(net.branch_of(1), Some(one));
    assert_eq!(net.causes(1), [RosterCause::Branched]);
    assert!(net.ends().is_empty());
}
