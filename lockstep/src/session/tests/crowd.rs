//! Those who use up what others need: links, memory, an answer.

use super::hostile::note;
use super::*;
use crate::encoding::{Reader, put_bytes, put_varint};
use crate::session::roster::{Joins, Message, Request};
use crate::session::wire::Control;
use crate::{Incarnation, RosterCause};

impl Net {
    /// A link from nobody in the net.
    fn stranger(&mut self, at: usize, link: u32, address: &str, key: Option<PeerId>) {
        self.dead.push(LinkId(link));
        let input = Input::LinkUp {
            link: LinkId(link),
            peer: key,
            dialled: false,
            address: address.to_owned(),
            binding: [0; 32],
        };
        self.input(at, input);
    }
}

/// A key that nobody of the match has.
fn strange(number: u32) -> PeerId {
    let mut key = [0xee; 32];
    key[..4].copy_from_slice(&number.to_le_bytes());
    PeerId(key)
}

#[test]
fn a_crowd_of_strangers_keeps_nobody_else_out() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(15));
    net.kill(2);
    net.run(Duration::from_secs(20));
    net.restart(2, 99, Vec::new(), &[0, 1]);
    let mut next = 1_000_000;
    let dead = net.dead.len();
    for step in 0..500 {
        for at in [0, 1] {
            for _ in 0..32 {
                next += 1;
                net.stranger(at, next, &format!("crowd:{step}"), None);
            }
            let links = net.peers[at].session.core.links.values();
            let unproved = links.filter(|link| link.proved.is_none() && !link.dialled);
            assert!(unproved.count() <= 32);
        }
        net.run(net.now + Duration::from_millis(20));
        net.dead.truncate(dead);
    }
    assert_eq!(net.causes(2), [RosterCause::Rejoined]);
    assert_eq!(net.peers[2].session.status(), Status::Running);
}

#[test]
fn a_key_of_the_match_has_room_of_its_own() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(5));
    net.stranger(0, 900, "2", Some(id(2)));
    for link in 1_000..1_200 {
        let (place, key) = (format!("place {link}"), Some(strange(link)));
        net.stranger(0, link, &place, key);
    }
    let links = &net.peers[0].session.core.links;
    assert!(links.contains_key(&LinkId(900)));
    assert!(links.contains_key(&LinkId(1_199)) && !links.contains_key(&LinkId(1_000)));
    // Nor is it endless.
    for link in 901..=904 {
        net.stranger(0, link, "2", Some(id(2)));
    }
    let links = &net.peers[0].session.core.links;
    assert!(!links.contains_key(&LinkId(900)) && links.contains_key(&LinkId(901)));
}

#[test]
fn strangers_who_prove_that_they_are_nobody_are_few() {
    let mut net = Net::new(2, Plan::default(), None);
    net.run(Duration::from_secs(5));
    for _ in 0..30 {
        net.add(invited([8; 16]));
    }
    // They prove who they are before they ask, and are told that it is too late.
    let mut most = 0;
    for _ in 0..30 {
        net.run(net.now + DELAY);
        let core = &net.peers[0].session.core;
        let nobodies = core.links.values().filter(|link| {
            link.proved
                .is_some_and(|(peer, _)| peer != id(0) && peer != id(1))
        });
        most = most.max(nobodies.count());
    }
    assert!((1..=8).contains(&most), "{most}");
}

#[test]
fn faults_of_strangers_do_not_make_those_of_members_forgotten() {
    let mut net = Net::new(2, Plan::default(), None);
    net.run(Duration::from_secs(5));
    let fault = |net: &mut Net, key: PeerId, link: u32| {
        net.stranger(0, link, &format!("place {link}"), None);
        let core = &mut net.peers[0].session.core;
        let proved = core.links.get_mut(&LinkId(link)).expect("it was let in");
        proved.proved = Some((key, Incarnation([5; 16])));
        core.fault(LinkId(link), Fault::Garbage);
        let stays = core.links.contains_key(&LinkId(link));
        core.close(LinkId(link));
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
        let key = id(3);
        let address = "3".to_owned();
        net.output(0, Output::Dial { address, key });
        net.run(net.now + DELAY * 5);
    }
    let links = net.peers[3].session.core.links_to(id(0));
    let links: Vec<LinkId> = links.map(|link| link.id).collect();
    assert!(links.len() > 16, "{}", links.len());
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
    net.run(net.now + Duration::from_secs(10));
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
fn who_has_more_of_the_log_and_never_gives_it_is_asked_no_longer() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(15));
    net.kill(2);
    net.run(Duration::from_secs(20));
    net.lie = Some(idle);
    net.restart(2, 99, Vec::new(), &[0]);
    net.run(Duration::from_secs(50));
    assert_eq!(net.causes(2), [RosterCause::Rejoined]);
    assert_eq!(net.peers[2].session.status(), Status::Running);
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
        let joins = Joins {
            peer: 4,
            incarnation: Incarnation([100 + number; 16]),
        };
        let turns = u32::from(number);
        let signer = KeyedHash::new(id(4));
        let request = Request::signed(&signer, &start, epoch, joins, turns);
        // Its key, and a member that passes on what it says.
        for author in [4, 2] {
            let note = note(&start, author, epoch, Message::Request(request));
            for (from, to) in [(1, 0), (0, 1), (0, 2)] {
                let notes = Control::Roster(vec![note.clone()]).encode();
                net.tell(from, to, Channel::Control, &notes);
            }
        }
    }
    net.restart(3, 99, Vec::new(), &[0, 1, 2]);
    net.run(Duration::from_secs(45));
    assert_eq!(net.causes(3), [RosterCause::Rejoined]);
    assert_eq!(net.peers[3].session.status(), Status::Running);
}
