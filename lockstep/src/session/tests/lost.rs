//! Peers that are lost while the others agree on a removal.

use super::*;
use crate::RosterCause;
use crate::log::RosterChange;
use crate::session::roster::{EpochVote, Message};
use crate::session::wire::Control;

#[test]
fn no_peer_is_blamed_for_turns_that_wait_for_a_quorum() {
    let mut was_changing = 0;
    for ms in (5_600..6_100).step_by(25) {
        let mut net = Net::new(5, Plan::default(), None);
        net.run(Duration::from_secs(3));
        net.links.silent = vec![1];
        net.run(Duration::from_millis(ms));
        net.links.silent = vec![1, 2, 3];
        net.run(net.now() + Duration::from_secs(15));
        let waits = |at: usize| matches!(net.session(at).status(), Status::Stalled { .. });
        let no_quorum = |event: &Event| matches!(event, Event::NoQuorum { .. });
        if !net.peers[4].events.iter().any(no_quorum) || !waits(0) || !waits(4) {
            // They had agreed on the first one before.
            continue;
        }
        was_changing += 1;
        for (at, other) in [(0, 4), (4, 0)] {
            let blames = |event: &&Event| matches!(event, Event::Suspected { peer, .. } if *peer == id(other));
            assert_eq!(net.peers[at].events.iter().find(blames), None, "{ms} ms");
        }
    }
    assert!(was_changing > 1, "{was_changing}");
}

impl Net {
    /// The links of which `wanted` takes the ends, the dialler first.
    pub(super) fn links_where(&self, wanted: impl Fn((usize, usize)) -> bool) -> Vec<LinkId> {
        let links = (0..).map(LinkId).zip(self.mesh.links());
        let links = links.filter(|(_, ends)| wanted(**ends));
        links.map(|(link, _)| link).collect()
    }

    /// What is on these links, and is sent on them from now on, is lost.
    pub(super) fn lose_links(&mut self, wanted: impl Fn((usize, usize)) -> bool) {
        let links = self.links_where(wanted);
        self.links.dead.extend(links);
    }

    /// The messages on their way to this peer that are no datagrams.
    fn under_way(&self, to: usize) -> impl Iterator<Item = Control> {
        let arrivals = self.mesh.driver.events();
        arrivals.filter_map(move |arrival| match &arrival.what {
            Arrives::Bytes(Channel::Control, bytes) if arrival.to == to => {
                Control::decode(bytes, &Limits::default()).ok()
            }
            _ => None,
        })
    }

    /// What is on its way, and `lost` says so of, does not arrive.
    pub(super) fn lose(&mut self, lost: impl Fn(&Arrival) -> bool) {
        self.mesh.driver.take_events(lost);
    }

    /// The next such message to this peer, which does not arrive.
    pub(super) fn intercept(&mut self, to: usize, wanted: impl Fn(&Control) -> bool) -> Control {
        let message = |arrival: &Arrival| match &arrival.what {
            Arrives::Bytes(Channel::Control, bytes) if arrival.to == to => {
                let message = Control::decode(bytes, &Limits::default()).ok();
                message.filter(|message| wanted(message))
            }
            _ => None,
        };
        let until = self.now() + Duration::from_secs(60);
        while self.now() < until {
            self.run(self.now() + Duration::from_millis(1));
            let taken = self
                .mesh
                .driver
                .take_events(|arrival| message(arrival).is_some());
            if let Some((_, arrival)) = taken.first() {
                return message(arrival).expect("it was taken for one");
            }
        }
        panic!("no such message comes to peer {to}");
    }
}

/// Whether peer 3's accept is on its way to peer 0.
fn is_accepting(net: &Net) -> bool {
    let votes = net.under_way(0).filter_map(|message| match message {
        Control::Roster(votes) => Some(votes),
        _ => None,
    });
    votes.flatten().any(|vote| {
        let message = EpochVote::decode(&vote.content).map(|vote| vote.message);
        vote.peer == 3 && matches!(message, Ok(Message::Accept(..)))
    })
}

#[test]
fn removed_peer_waits_until_another_peer_knows() {
    let mut net = Net::new(5, Plan::default(), None);
    net.run(Duration::from_secs(3));
    net.links.silent = vec![0];
    while !is_accepting(&net) {
        assert!(net.now() < Duration::from_secs(10), "no peer accepts");
        net.run(net.now() + Duration::from_millis(1));
    }
    // From now on only peer 0 hears the others, and no peer hears it.
    net.lose_links(|(one, other)| one != 0 && other != 0);
    let decided_at = net.now() + DELAY;
    net.links.silent = vec![0, 1, 2, 3, 4];
    net.run(decided_at + Duration::from_secs(4));
    let logged = |record: &Record| matches!(record, Record::Roster(RosterChange { .. }));
    for other in &net.peers[1..] {
        assert!(
            !other.recording.records.iter().any(logged),
            "another one knows"
        );
    }
    assert!(net.ends().is_empty(), "{:?}", net.ends());
    net.run(decided_at + Duration::from_secs(6));
    assert_eq!(net.ends()[0].reason, EndReason::Removed);
}

/// Whether the word that the match begins is on its way to this peer.
fn is_told_to_go(net: &Net, peer: usize) -> bool {
    let mut to_it = net.under_way(peer);
    to_it.any(|message| matches!(message, Control::Go { .. }))
}

#[test]
fn guest_that_misses_the_start_hears_it_from_the_others() {
    let mut net = Net::new(4, Plan::default(), None);
    while !is_told_to_go(&net, 2) {
        assert!(net.now() < Duration::from_secs(10), "it never begins");
        net.run(net.now() + Duration::from_millis(1));
    }
    net.lose_links(|ends| matches!(ends, (0, 2) | (2, 0)));
    net.run(net.now() + DELAY + Duration::from_millis(5));
    net.kill(0);
    net.run(net.now() + Duration::from_secs(15));
    for at in 1..4 {
        let causes = net.causes(at);
        assert_eq!(causes, [RosterCause::Lost], "peer {at}");
        assert!(net.peers[at].executed > 30, "peer {at}");
        assert_eq!(net.faults(at), Vec::<&Event>::new(), "peer {at}");
        assert_eq!(net.peers[at].turns[..30], net.peers[1].turns[..30]);
    }
}

/// The links between these two.
pub(super) fn between(net: &Net, one: usize, other: usize) -> Vec<LinkId> {
    net.links_where(|ends| ends == (one, other) || ends == (other, one))
}

/// The links between two peers break.
pub(super) fn part(net: &mut Net, one: usize, other: usize) {
    for link in between(net, one, other) {
        net.links.dead.push(link);
        for at in [one, other] {
            let why = LinkError::Closed;
            net.input(at, Input::LinkDown { link, why });
        }
    }
}

/// The links of peer 2, which has signed the start, break before it hears that the match begins: those to the host, and
/// those to all others too, if there are any.
fn lose_the_host(peers: usize) -> Net {
    let mut net = Net::new(peers, Plan::default(), Some(60));
    while !is_told_to_go(&net, 2) {
        assert!(net.now() < Duration::from_secs(10), "it never begins");
        net.run(net.now() + Duration::from_millis(1));
    }
    for other in [0, 1] {
        for link in between(&net, 2, other) {
            net.links.dead.push(link);
            // What it dials at once comes to nothing.
            net.links.lost_dials = 2;
            for at in [2, other] {
                let why = LinkError::Closed;
                net.input(at, Input::LinkDown { link, why });
            }
        }
    }
    net.links.lost_dials = 0;
    net
}

#[test]
fn signed_guest_that_loses_the_host_waits_for_the_start() {
    for deaf in [None, Some((0, 2)), Some((1, 2))] {
        let mut net = lose_the_host(3);
        assert_eq!(net.session(2).status(), Status::Loading);
        net.links.deaf_between = Vec::from_iter(deaf);
        let before = net.mesh.links().len();
        net.run(net.now() + Duration::from_millis(1_100));
        let new = &net.mesh.links()[before..];
        assert!(!new.is_empty() && new.iter().all(|(from, _)| *from == 2));
        net.run(net.now() + Duration::from_secs(20));
        assert_eq!(net.ends().len(), 3, "{deaf:?}");
        for peer in &net.peers {
            assert_eq!(peer.turns.len(), 60, "{deaf:?}");
            assert_eq!(peer.turns, net.peers[0].turns, "{deaf:?}");
        }
        for at in 0..3 {
            assert_eq!(net.causes(at), [], "{deaf:?}");
            assert_eq!(net.faults(at), Vec::<&Event>::new(), "{deaf:?}");
        }
    }
}

#[test]
fn signed_guest_that_hears_nothing_more_looks_for_the_lobby_and_gives_up() {
    let mut net = lose_the_host(3);
    net.links.silent = vec![0, 1];
    net.run(net.now() + Duration::from_secs(9));
    assert_eq!(net.session(2).status(), Status::Loading);
    net.run(net.now() + Duration::from_secs(2));
    assert_eq!(net.session(2).status(), Status::Lobby);
    net.run(net.now() + Duration::from_secs(80));
    let why = EndReason::Unreachable(LinkError::TimedOut);
    assert_eq!(net.end_of(2), Some(&why));
}

#[test]
fn signed_guest_that_lost_a_host_which_did_not_begin_enters_again() {
    // All guests have signed, and none of what they say reaches the host for a while.
    let mut net = Net::new(3, Plan::default(), Some(60));
    while net.session(2).status() != Status::Loading {
        net.run(net.now() + Duration::from_millis(1));
    }
    net.links.silent = vec![2];
    net.run(net.now() + Duration::from_secs(20));
    let link = net.session(2).core.trusted.expect("the host is linked");
    net.links.silent.clear();
    let why = LinkError::TimedOut;
    net.input(2, Input::LinkDown { link, why });
    assert_eq!(net.session(2).status(), Status::Loading, "it has signed");
    net.input(0, Input::LinkDown { link, why });
    net.run(net.now() + Duration::from_secs(30));
    for peer in &net.peers {
        assert_eq!(peer.turns.len(), 60);
    }
}

/// Casts no votes.
fn mute(_: &crate::log::Start, _: usize, channel: Channel, bytes: &[u8]) -> Option<Vec<u8>> {
    let said = Control::decode(bytes, &Limits::default());
    let votes = channel == Channel::Control && matches!(said, Ok(Control::Roster(_)));
    votes.then(|| Control::Roster(Vec::new()).encode())
}

#[test]
fn coordinator_is_not_blamed_for_a_mute_voter() {
    let mut net = Net::new(5, Plan::default(), None);
    net.run(Duration::from_secs(5));
    net.links.attack = Some((4, mute));
    net.kill(3);
    net.run(Duration::from_secs(40));
    for at in 0..3 {
        assert_eq!(net.session(at).status(), Status::Running, "peer {at}");
        let blames =
            |event: &&Event| matches!(event, Event::Suspected { peer, .. } if *peer < id(3));
        assert_eq!(net.peers[at].events.iter().find(blames), None, "peer {at}");
        assert_eq!(net.causes(at), [RosterCause::Lost], "peer {at}");
    }
}

#[test]
fn peer_that_moves_dials_a_leaver_for_its_vote() {
    for after in (100..=1_000).step_by(100) {
        let mut net = Net::new(2, Plan::default(), None);
        net.run(Duration::from_secs(5));
        net.input(0, Input::Leave);
        net.run(net.now() + Duration::from_millis(after));
        net.links.moved = Some(1);
        part(&mut net, 0, 1);
        net.run(net.now() + Duration::from_secs(10));
        assert_eq!(net.session(1).status(), Status::Running, "{after} ms");
        assert_eq!(net.causes(1), [RosterCause::Left], "{after} ms");
    }
}

#[test]
fn leaver_beside_a_lost_peer_is_told_as_left() {
    for after in (0..=2_500).step_by(500) {
        let mut net = Net::new(5, Plan::default(), None);
        net.run(Duration::from_secs(5));
        net.kill(4);
        net.run(net.now() + Duration::from_millis(after));
        net.input(3, Input::Leave);
        net.run(net.now() + Duration::from_secs(8));
        for at in 0..3 {
            let told = net.gone(at);
            for told_of in [
                (vec![Seat(4)], RosterCause::Lost),
                (vec![Seat(3)], RosterCause::Left),
            ] {
                assert!(told.contains(&told_of), "{after} ms, peer {at}: {told:?}");
            }
            let events = net.peers[at].events.iter();
            let left = events.filter(|event| matches!(event, Event::Left { .. }));
            assert_eq!(left.count(), 1, "{after} ms, peer {at}");
        }
    }
}

#[test]
fn peer_that_moves_and_goes_on_alone_tells_the_other() {
    let mut net = Net::new(2, Plan::default(), None);
    net.run(Duration::from_secs(5));
    net.links.moved = Some(0);
    net.links.deaf_between = vec![(0, 1)];
    part(&mut net, 0, 1);
    net.run(net.now() + Duration::from_secs(4));
    assert_eq!(net.causes(0), [RosterCause::Lost]);
    net.links.deaf_between.clear();
    net.run(net.now() + Duration::from_secs(3));
    let ends: Vec<&EndReason> = net.ends().into_iter().map(|end| &end.reason).collect();
    assert_eq!(ends, [&EndReason::Removed]);
}

#[test]
fn removed_peer_tells_peers_that_only_it_reaches() {
    let mut net = Net::new(5, Plan::default(), None);
    net.run(Duration::from_secs(3));
    for other in 2..5 {
        net.links.deaf_between.push((1, other));
        part(&mut net, 1, other);
    }
    net.stop(0, Duration::from_secs(6));
    // It cannot know that the survivors know.
    net.run(net.now() + Duration::from_secs(6));
    assert_eq!(net.causes(2), [RosterCause::Lost]);
    let ends: Vec<&EndReason> = net.ends().into_iter().map(|end| &end.reason).collect();
    assert_eq!(ends, [&EndReason::Removed; 2]);
}

#[test]
fn peer_without_a_link_at_the_end_signs_it_on_the_next_link() {
    for after in (0..=600).step_by(30) {
        let mut net = Net::new(2, Plan::default(), Some(20));
        while net.peers[0].turns.len() < 18 {
            net.run(net.now() + Duration::from_millis(10));
        }
        net.run(net.now() + Duration::from_millis(after));
        part(&mut net, 0, 1);
        net.run(net.now() + Duration::from_secs(5));
        let ends = net.ends().into_iter();
        let signed: Vec<(u8, u8)> = ends.map(|end| (end.agreed, end.of)).collect();
        assert_eq!(signed, [(2, 2), (2, 2)], "{after} ms");
    }
}

#[test]
fn leaver_waits_for_no_peer_that_has_gone() {
    let mut net = Net::new(2, Plan::default(), None);
    net.run(Duration::from_secs(3));
    net.input(0, Input::Leave);
    net.input(1, Input::Leave);
    // Peer 0 is told that all have its last batch, and goes before it says that it has that of peer 1.
    net.run(net.now() + DELAY);
    net.links.silent.push(0);
    net.run(net.now() + 4 * DELAY);
    assert_eq!(net.ends().len(), 1);
    part(&mut net, 0, 1);
    net.run(net.now() + 4 * DELAY);
    let ends = net.ends();
    assert_eq!(ends.len(), 2);
    assert!(ends.iter().all(|end| end.reason == EndReason::Left));
}

#[test]
fn wait_without_a_quorum_names_all_missing_players() {
    let mut net = Net::new(4, Plan::default(), None);
    net.run(Duration::from_secs(10));
    net.kill(1);
    // The others seal one turn more.
    net.run(net.now() + Duration::from_millis(300));
    net.kill(2);
    net.kill(3);
    net.run(net.now() + Duration::from_secs(10));
    let mut told = net.peers[0].events.iter().rev();
    let on = told.find_map(|event| match event {
        Event::Stalled { on, .. } => Some(on.clone()),
        _ => None,
    });
    assert_eq!(on, Some(vec![Seat(1), Seat(2), Seat(3)]));
}

#[test]
fn the_others_go_on_within_a_second_of_a_dropped_match() {
    the_others_go_on(Input::Quit);
}

#[test]
fn the_others_go_on_within_a_second_of_a_fault_of_one_world() {
    let (turn, message) = (TurnNumber(9), "a unit without a place".to_owned());
    let net = the_others_go_on(Input::WorldFaulted { turn, message });
    let end = net.end_of(1).expect("it is over for this peer");
    let told = "the game's world failed in turn 9: a unit without a place";
    assert_eq!(end.to_string(), told);
}

/// The second of three peers goes by this input.
fn the_others_go_on(goes: Input<'static>) -> Net {
    let mut net = Net::new(3, Plan::default(), Some(60));
    net.run(Duration::from_secs(3));
    net.input(1, goes);
    net.run(net.now() + Duration::from_millis(100));
    net.kill(1);
    net.run(Duration::from_secs(30));
    let survivor = &net.peers[0];
    assert_eq!(survivor.turns.len(), 60);
    assert_eq!(survivor.turns, net.peers[2].turns);
    for at in [0, 2] {
        let stalled = net.session(at).stats().stalled;
        assert!(stalled < Duration::from_secs(1), "{stalled:?}");
    }
    let lost = survivor.events.iter().filter_map(|event| match event {
        Event::LinkLost { peer, why } => Some((*peer, *why)),
        _ => None,
    });
    assert_eq!(lost.collect::<Vec<_>>(), [(id(1), LinkError::Closed)]);
    net
}
