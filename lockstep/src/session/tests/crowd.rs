//! Peers that use up what others need: links, memory, an answer.

use super::hostile::{promise_in, signed_vote, withholding};
use super::*;
use crate::encoding::{Reader, put_bytes, put_varint};
use crate::session::roster::{Ballot, Message, Readmission, Request};
use crate::session::wire::Control;
use crate::{Incarnation, RosterCause};

impl Net {
    /// A link from outside.
    pub(super) fn stranger(&mut self, at: usize, address: &str, key: Option<PeerId>) -> LinkId {
        let link = self.mesh.number(OUTSIDE, at);
        self.links.dead.push(link);
        let input = Input::LinkUp {
            link,
            peer: key,
            dialled: false,
            address: address.to_owned(),
            binding: [0; 32],
        };
        self.input(at, input);
        link
    }
}

/// A key of no peer of the match.
fn strange(number: u32) -> PeerId {
    let mut key = [0xee; 32];
    key[..4].copy_from_slice(&number.to_le_bytes());
    PeerId(key)
}

#[test]
fn crowd_of_strangers_keeps_no_joiner_out() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(15));
    net.kill(2);
    net.run(Duration::from_secs(20));
    net.restart(2, 99, Vec::new(), &[0, 1]);
    let dead = net.links.dead.len();
    for step in 0..500 {
        for at in [0, 1] {
            for _ in 0..32 {
                net.stranger(at, &format!("crowd:{step}"), None);
            }
            let links = net.session(at).core.links.values();
            let crowd = links.filter(|link| link.address.starts_with("crowd:"));
            assert!(crowd.count() <= 16);
        }
        net.run(net.now() + Duration::from_millis(20));
        net.links.dead.truncate(dead);
    }
    assert_eq!(net.causes(2), [RosterCause::Rejoined]);
    assert_eq!(net.session(2).status(), Status::Running);
}

#[test]
fn a_key_of_the_match_has_room_of_its_own() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(5));
    let has = |net: &Net, link: LinkId| net.session(0).core.links.contains_key(&link);
    let first = net.stranger(0, "2", Some(id(2)));
    let strangers: Vec<LinkId> = (0..200)
        .map(|number| net.stranger(0, &format!("place {number}"), Some(strange(number))))
        .collect();
    assert!(has(&net, first));
    assert!(has(&net, strangers[199]) && !has(&net, strangers[0]));
    // The room is not endless.
    let more: Vec<LinkId> = (0..4).map(|_| net.stranger(0, "2", Some(id(2)))).collect();
    assert!(!has(&net, first) && has(&net, more[0]));
}

#[test]
fn links_of_proved_strangers_are_few() {
    let mut net = Net::new(2, Plan::default(), None);
    net.run(Duration::from_secs(5));
    for _ in 0..30 {
        net.add(guest());
    }
    // They prove their keys before they ask, and are told that it is too late.
    let mut most = 0;
    for _ in 0..30 {
        net.run(net.now() + DELAY);
        let core = &net.session(0).core;
        let nobodies = core.links.values().filter(|link| {
            link.proved
                .is_some_and(|(peer, _)| peer != id(0) && peer != id(1))
        });
        most = most.max(nobodies.count());
    }
    assert!((1..=8).contains(&most), "{most}");
}

#[test]
fn faults_of_strangers_displace_no_faults_of_members() {
    let mut net = Net::new(2, Plan::default(), None);
    net.run(Duration::from_secs(5));
    let fault = |net: &mut Net, key: PeerId, place: u32| {
        let link = net.stranger(0, &format!("place {place}"), None);
        let core = &mut net.session_mut(0).core;
        let proved = core.links.get_mut(&link).expect("it was admitted");
        proved.proved = Some((key, Incarnation([5; 16])));
        core.fault(link, Fault::Garbage);
        let stays = core.links.contains_key(&link);
        core.close(link);
        stays
    };
    for number in 0..1_100 {
        assert!(fault(&mut net, strange(number), 10_000 + number));
    }
    let most = Limits::default().faults_per_peer;
    let stays: Vec<bool> = (0..=most)
        .map(|number| fault(&mut net, id(1), 20_000 + number))
        .collect();
    assert!(stays[..most as usize].iter().all(|stays| *stays));
    assert!(!stays[most as usize], "it has too many");
}

#[test]
fn one_key_on_many_links_is_answered_on_one() {
    let mut net = Net::new(4, Plan::default(), None);
    net.run(Duration::from_secs(15));
    net.kill(2);
    net.run(Duration::from_secs(20));
    // Peer 0 opens link after link to peer 3, and asks for the match on each.
    for _ in 0..17 {
        net.mesh.link(0, 3);
        for _ in 0..5 {
            net.run(net.now() + DELAY);
            // It closes the ones before, and tells no peer.
            net.lose(|arrival| matches!(arrival.what, Arrives::Down));
        }
    }
    let links = net.session(3).core.links_to(id(0));
    let links: Vec<LinkId> = links.map(|link| link.id).collect();
    assert_eq!(links.len(), 4, "more take the places of other peers");
    let mut ask = vec![0];
    ask.extend([7; 16]);
    for link in links {
        let (channel, bytes) = (Channel::Bulk, ask.as_slice());
        net.input(
            3,
            Input::Received {
                link,
                channel,
                bytes,
            },
        );
    }
    net.restart(2, 99, Vec::new(), &[3]);
    net.run(net.now() + Duration::from_secs(10));
    assert_eq!(net.causes(2), [RosterCause::Rejoined]);
}

/// An answer with nothing of the log, and much more to come.
fn idle(bytes: Vec<u8>) -> Vec<u8> {
    let mut reader = Reader::new(&bytes);
    if reader.byte() != Ok(1) {
        return bytes;
    }
    let from = reader.number().expect("a turn");
    let _ = reader.bytes().expect("records");
    let turns = reader.number().expect("turns");
    let rest = reader.take(reader.remaining()).expect("what remains");
    let mut changed = vec![1];
    put_varint(&mut changed, u64::from(from));
    put_bytes(&mut changed, &[]);
    put_varint(&mut changed, u64::from(turns) + 1_000);
    changed.extend(rest);
    changed
}

#[test]
fn source_that_never_gives_its_log_is_asked_no_longer() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(15));
    net.kill(2);
    net.run(Duration::from_secs(20));
    net.links.lie = Some(idle);
    net.restart(2, 99, Vec::new(), &[0]);
    net.run(Duration::from_secs(50));
    assert_eq!(net.causes(2), [RosterCause::Rejoined]);
    assert_eq!(net.session(2).status(), Status::Running);
}

#[test]
fn made_up_runs_of_one_peer_keep_no_other_out() {
    let mut net = Net::new(5, Plan::default(), None);
    net.run(Duration::from_secs(15));
    net.kill(3);
    net.kill(4);
    net.run(Duration::from_secs(30));
    let start = net.start();
    let epoch = net.causes(0).len() as u32;
    for number in 0..100u8 {
        let joins = Readmission {
            peer: 4,
            incarnation: Incarnation([100 + number; 16]),
        };
        let turns = u32::from(number);
        let signer = KeyedHash::new(id(4));
        let request = Request::signed(&signer, &start, epoch, joins, turns);
        // Its key, and a member that passes on what it says.
        for author in [4, 2] {
            let vote = signed_vote(&start, author, epoch, Message::Request(turns + 1, request));
            for (from, to) in [(1, 0), (0, 1), (0, 2)] {
                let votes = Control::Roster(vec![vote.clone()]).encode();
                net.tell(from, to, Channel::Control, &votes);
            }
        }
    }
    net.restart(3, 99, Vec::new(), &[0, 1, 2]);
    net.run(Duration::from_secs(45));
    assert_eq!(net.causes(3), [RosterCause::Rejoined]);
    assert_eq!(net.session(3).status(), Status::Running);
}

#[test]
fn silent_strangers_hold_no_place_of_a_lobby() {
    for proves in [false, true] {
        // With seats left, the lobby goes on.
        let mut net = Net::new(4, Plan::default(), None);
        net.links.silent = vec![2, 3];
        net.run(Duration::from_secs(1));
        for number in 0..600 {
            let address = format!("10.0.0.{}:{number}", number % 50);
            let link = net.stranger(0, &address, Some(strange(number)));
            if let Some(link) = net.session_mut(0).core.links.get_mut(&link) {
                let key = (strange(number), Incarnation([5; 16]));
                link.proved = Some(key).filter(|_| proves);
            }
        }
        let silent = |net: &Net| {
            let links = net.session(0).core.links.values();
            links.filter(|link| link.address.starts_with("10.")).count()
        };
        // Peers 2 and 3 have not proved their keys either.
        let most = Limits::default().unproved_links as usize;
        assert!((most - 2..=most).contains(&silent(&net)));
        let crowd = |net: &mut Net, count| {
            for number in 0..count {
                net.stranger(0, &format!("10.0.1.1:{number}"), None);
            }
            let links = net.session(0).core.links.values();
            let of = links.filter(|link| link.address.starts_with("10.0.1.1:"));
            of.count()
        };
        assert!(crowd(&mut net, 100) <= 16, "one address has few places");
        net.add(guest());
        net.run(net.now() + Duration::from_millis(1_500));
        let members = net.session(0).member_addresses();
        assert_eq!(members.len(), 2, "the guests before and after");
        net.run(net.now() + Duration::from_secs(2));
        assert_eq!(silent(&net), 0, "they have had their time");
    }
}

#[test]
fn places_are_kept_for_members_of_the_lobby_and_peers_of_the_match() {
    let mut net = Net::new(3, Plan::default(), None);
    net.links.silent = vec![2];
    net.run(Duration::from_secs(1));
    assert_eq!(net.session(0).member_addresses(), ["1"]);
    // Guests link with each other while their worlds are built.
    let mut net = Net::new(3, Plan::default(), None);
    net.links.slow_to_load = Some(1);
    net.run(Duration::from_secs(2));
    assert_eq!(net.session(1).status(), Status::Loading);
    let members = net.session(1).member_addresses();
    assert!(members.contains(&"2".to_owned()), "{members:?}");
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(5));
    for at in 0..3 {
        let members = net.session(at).member_addresses();
        let others = (0..3).filter(|other| *other != at);
        for other in others.map(|other| other.to_string()) {
            assert!(members.contains(&other), "{members:?} of peer {at}");
        }
    }
}

#[test]
fn flood_of_votes_makes_no_other_peer_a_nuisance() {
    let mut net = Net::new(4, Plan::default(), None);
    net.run(Duration::from_secs(5));
    let start = net.start();
    let mut round = 0;
    // Fifteen messages a second to each: what a link may take.
    for _ in 0..40 * 15 {
        for to in 0..3 {
            round += 1;
            let ballot = Ballot { round, peer: 3 };
            let votes = vec![signed_vote(&start, 3, 0, Message::Prepare(ballot))];
            net.tell_votes(3, to, votes);
        }
        net.run(net.now() + Duration::from_micros(66_667));
    }
    for at in 0..3 {
        assert_eq!(net.blamed(at), [], "peer {at}");
        // But for what the flooding peer may be late, all told: it has promised what the others do not follow.
        assert!(net.peers[at].turns.len() > 165, "peer {at}");
    }
}

#[test]
fn two_colluding_peers_lead_no_third_one_ahead_alone() {
    // One begins attempts and the other one promises in them, far too often for peer 0 to pass all of that on. Or the
    // others are told of one so far ahead that what peer 0 passes on is no news to them.
    for (early, rounds) in [
        (None, (1..=40).chain([900, 1_800])),
        (Some(1_000_000), (13..=13).chain([13; 2])),
    ] {
        let mut net = Net::new(5, Plan::default(), None);
        net.run(Duration::from_secs(5));
        let start = net.start();
        let begun = |round| {
            let ballot = Ballot { round, peer: 4 };
            let promise = Message::Promise(promise_in(ballot, 5));
            let votes = [(4, Message::Prepare(ballot)), (3, promise)];
            votes.map(|(by, vote)| signed_vote(&start, by, 0, vote))
        };
        for (to, round) in [1, 2]
            .into_iter()
            .flat_map(|to| early.map(|round| (to, round)))
        {
            let [prepare, _] = begun(round);
            net.tell_votes(4, to, vec![prepare]);
        }
        for round in rounds {
            net.tell_votes(4, 0, begun(round).into());
            net.run(net.now() + Duration::from_millis(1));
        }
        net.links.silent.push(3);
        net.links.attack = Some((4, withholding));
        let before = net.peers[0].turns.len();
        net.run(Duration::from_secs(45));
        for at in 0..3 {
            let turns = net.peers[at].turns.len();
            assert!(turns > before + 40, "peer {at}: {before} -> {turns}");
            let gone = net.gone(at).into_iter().flat_map(|(seats, _)| seats);
            assert!(gone.into_iter().all(|seat| seat >= Seat(3)), "peer {at}");
        }
    }
}

#[test]
fn an_attempt_with_one_other_peer_has_it_not_removed() {
    for (hostile, held) in [(4, 0), (4, 2), (0, 2)] {
        let mut net = Net::new(5, Plan::default(), None);
        net.run(Duration::from_secs(5));
        let start = net.start();
        let prepare = |round| {
            let peer = hostile as u8;
            let begins = Message::Prepare(Ballot { round, peer });
            vec![signed_vote(&start, hostile, 0, begins)]
        };
        let honest = || (0..5).filter(|at| *at != hostile);
        // What the held peer passes on is no news to the others.
        for at in honest().filter(|at| *at != held) {
            net.tell_votes(hostile, at, prepare(1_000_000));
        }
        // For a moment turns wait for the hostile peer, which is a reason to freeze.
        net.links.attack = Some((hostile, withholding));
        net.run(net.now() + Duration::from_millis(800));
        net.tell_votes(hostile, held, prepare(13));
        net.run(net.now() + Duration::from_millis(200));
        net.links.attack = None;
        let before = net.peers[held].turns.len();
        net.run(Duration::from_secs(30));
        for at in honest() {
            let turns = net.peers[at].turns.len();
            // The hostile peer answers no attempt in a round before its own.
            assert!(turns > before + 60, "peer {at}: {before} -> {turns}");
            let gone = [(vec![Seat(hostile as u8)], RosterCause::Lost)];
            assert_eq!(net.gone(at), gone, "peer {at}");
        }
    }
}

#[test]
fn a_peer_that_has_left_pays_for_no_withholder() {
    let mut net = Net::new(5, Plan::default(), None);
    net.run(Duration::from_secs(5));
    net.input(4, Input::Leave);
    net.run(net.now() + Duration::from_secs(5));
    let ballot = Ballot {
        round: u32::MAX,
        peer: 4,
    };
    let promise = Message::Promise(promise_in(ballot, 5));
    let votes = [(4, Message::Prepare(ballot)), (3, promise)];
    let start = net.start();
    let votes = votes.map(|(by, vote)| signed_vote(&start, by, 1, vote));
    (0..3).for_each(|at| net.tell_votes(3, at, votes.clone().into()));
    net.links.attack = Some((3, withholding));
    let before = net.peers[0].turns.len();
    net.run(net.now() + Duration::from_secs(25));
    for at in 0..3 {
        let turns = net.peers[at].turns.len();
        assert!(turns > before + 50, "peer {at}: {before} -> {turns}");
        let removed = (vec![Seat(3)], RosterCause::Lost);
        assert_eq!(net.gone(at).last(), Some(&removed), "peer {at}");
    }
}
