//! Peers that die and come back.

use super::lost::{between, part};
use super::*;
use crate::encoding::{Reader, put_bytes, put_varint};
use crate::log::{Document, EncodedLog, Start, Vote};
use crate::session::roster::{Ballot, EpochVote, Message, Readmission, Request};
use crate::session::wire::{Control, SignedStatement};
use crate::{Contact, Incarnation, Rejoin, RosterCause};

impl Net {
    /// The peer's process dies. No peer is told.
    pub(super) fn kill(&mut self, at: usize) {
        self.mesh.driver.remove(at);
        self.lose_links(|ends| ends.0 == at || ends.1 == at);
    }

    /// Another run of the process begins, that knows of these peers.
    pub(super) fn restart(&mut self, at: usize, run: u8, log: Vec<Record>, contacts: &[usize]) {
        self.begin(at, at, run, Net::returning(log, contacts));
    }

    pub(super) fn returning(log: Vec<Record>, contacts: &[usize]) -> Role {
        let contact = |other: &usize| Contact {
            peer: id(*other),
            addresses: vec![other.to_string()],
        };
        Net::returning_by(log, contacts.iter().map(contact).collect())
    }

    fn returning_by(log: Vec<Record>, contacts: Vec<Contact>) -> Role {
        Role::Rejoin {
            from: Rejoin {
                match_id: MatchId([7; 16]),
                contacts,
                player: None,
                log: EncodedLog::of(&log),
                keyframe: None,
                accepted: None,
                signed: None,
                attests: Vec::new(),
                accepts_other_history: false,
            },
            rules: Box::new(|_| Some(RulesId([9; 16]))),
        }
    }

    pub(super) fn causes(&self, at: usize) -> Vec<RosterCause> {
        let events = self.peers[at].events.iter();
        let causes = events.filter_map(|event| match event {
            Event::RosterChanged { cause, .. } => Some(*cause),
            _ => None,
        });
        causes.collect()
    }

    pub(super) fn faults(&self, at: usize) -> Vec<&Event> {
        let events = self.peers[at].events.iter();
        events
            .filter(|event| matches!(event, Event::PeerFault { .. } | Event::Desync(_)))
            .collect()
    }

    /// Its log is the others', and so is what it executed.
    pub(super) fn is_one_of_them(&self, at: usize, with: usize) {
        let (peer, other) = (&self.peers[at], &self.peers[with]);
        let bundles = |peer: &Peer| -> Vec<Record> {
            let follows = |record: &&Record| {
                matches!(
                    record,
                    Record::Start(_) | Record::Bundle(_) | Record::Roster(_)
                )
            };
            peer.recording
                .records
                .iter()
                .filter(follows)
                .cloned()
                .collect()
        };
        let (ours, theirs) = (bundles(peer), bundles(other));
        let turns = ours.len().min(theirs.len());
        assert!(turns > 60);
        for (ours, theirs) in ours.iter().zip(&theirs) {
            match (ours, theirs) {
                // Others may know of other accepts.
                (Record::Roster(ours), Record::Roster(theirs)) => {
                    assert_eq!((ours.epoch, ours.value), (theirs.epoch, theirs.value));
                }
                _ => assert_eq!(ours, theirs),
            }
        }
        let from = peer.loaded.max(other.loaded) as usize;
        let executed = |peer: &Peer| peer.turns[from - peer.loaded as usize..].to_vec();
        let (ours, theirs) = (executed(peer), executed(other));
        let turns = ours.len().min(theirs.len());
        assert_eq!(ours[..turns], theirs[..turns]);
        assert!(ours.len() + 3 > theirs.len());
    }
}

pub(super) fn seats_of(bundle: &Bundle) -> Vec<(Seat, &What)> {
    let entries = bundle.entries.iter();
    entries.map(|entry| (entry.seat, &entry.what)).collect()
}

#[test]
fn a_peer_that_died_comes_back_into_its_seat() {
    comes_back_into_its_seat(Absent::Idle);
}

#[test]
fn the_ai_plays_the_seat_of_a_peer_that_died_until_it_comes_back() {
    comes_back_into_its_seat(Absent::Ai);
}

fn comes_back_into_its_seat(absent: Absent) {
    let terms = Terms {
        absent,
        ..Terms::default()
    };
    let mut net = Net::under(3, terms);
    net.run(Duration::from_secs(15));
    net.kill(2);
    net.run(Duration::from_secs(25));
    assert_eq!(net.causes(0), [RosterCause::Lost]);
    net.restart(2, 99, Vec::new(), &[1]);
    net.run(Duration::from_secs(27));
    assert_eq!(net.causes(0), [RosterCause::Lost, RosterCause::Rejoined]);
    assert_eq!(net.causes(2), [RosterCause::Rejoined]);
    assert_eq!(net.session(2).status(), Status::Running);
    assert!(net.peers[2].loaded > 0, "it began with a snapshot");
    let seat = Seat(2);
    net.input(
        2,
        Input::Issue {
            seat,
            command: command(5),
        },
    );
    net.run(Duration::from_secs(45));
    for at in [0, 1] {
        net.is_one_of_them(2, at);
        assert!(net.faults(at).is_empty(), "{:?}", net.faults(at));
    }
    assert!(net.faults(2).is_empty(), "{:?}", net.faults(2));
    let turns = &net.peers[0].turns;
    let told = turns
        .iter()
        .flat_map(seats_of)
        .filter(|(_, what)| matches!(what, What::Seat(_)));
    let told: Vec<(Seat, &What)> = told.collect();
    let (alone, played) = (What::Seat(absent.state()), What::Seat(SeatState::Played));
    assert_eq!(told, [(seat, &alone), (seat, &played)]);
    let played_at = turns
        .iter()
        .position(|turn| seats_of(turn).contains(&(seat, &played)));
    let command_at = turns.iter().position(|turn| {
        seats_of(turn)
            .iter()
            .any(|(_, what)| matches!(what, What::Command(_)))
    });
    assert!(command_at > played_at);
    // Survivors saw no more than the pause that a decision takes, and agree on the worlds after it.
    let stalls = net.peers[0].events.iter().filter_map(|event| match event {
        Event::StallEnded { late, .. } => Some(*late),
        _ => None,
    });
    let after_the_death: Vec<Duration> = stalls.skip(1).collect();
    assert!(
        after_the_death.iter().all(|late| *late <= DELAY * 4),
        "{after_the_death:?}"
    );
    let agreed = |at: usize| {
        let records = net.peers[at].recording.records.iter();
        records
            .filter_map(|record| match record {
                Record::Checksum { turns, .. } => Some(*turns),
                _ => None,
            })
            .max()
    };
    let turns = net.peers[0].turns.len() as u32;
    assert!(agreed(0) > Some(turns - 8) && agreed(2) > Some(turns - 8));
}

#[test]
fn two_that_died_come_back_at_once() {
    for later in [0, 100] {
        let mut net = Net::new(4, Plan::default(), None);
        net.run(Duration::from_secs(15));
        net.kill(2);
        net.kill(3);
        net.run(Duration::from_secs(25));
        net.restart(2, 98, Vec::new(), &[0, 1]);
        net.run(net.now() + Duration::from_millis(later));
        net.restart(3, 99, Vec::new(), &[0, 1]);
        net.run(Duration::from_secs(40));
        let mut causes = net.causes(0);
        assert_eq!(
            causes.split_off(causes.len() - 2),
            [RosterCause::Rejoined; 2]
        );
        for at in 0..4 {
            assert_eq!(net.session(at).status(), Status::Running);
            assert!(net.faults(at).is_empty(), "{:?}", net.faults(at));
            net.is_one_of_them(at, 0);
        }
    }
}

/// Three peers, of which the last died and begins anew with what it is given, knowing of all others.
fn returning(lie: Option<Lie>, keeps_log: bool) -> Net {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(15));
    net.kill(2);
    net.run(Duration::from_secs(20));
    net.links.lie = lie;
    let follows = |record: &Record| {
        matches!(
            record,
            Record::Start(_) | Record::Bundle(_) | Record::Roster(_)
        )
    };
    let mut log = std::mem::take(&mut net.peers[2].recording.records);
    log.retain(|record| keeps_log && follows(record));
    // The liar, if there is one, answers first.
    net.restart(2, 99, log, &[0, 1]);
    net
}

#[test]
fn an_own_log_is_not_fetched_again() {
    fn is_page(bytes: Vec<u8>) -> Vec<u8> {
        // The variant of a page of the log, and the turn that it begins with, which takes one byte below 128.
        assert!(
            bytes[0] != 1 || bytes[1] > 40,
            "turn {} was fetched",
            bytes[1]
        );
        bytes
    }
    let mut net = returning(Some(is_page), true);
    net.run(Duration::from_secs(30));
    assert_eq!(net.causes(2), [RosterCause::Rejoined]);
    net.is_one_of_them(2, 1);
}

#[test]
fn a_snapshot_that_one_peer_alone_has_signed_is_not_taken_where_a_recording_can_be_run() {
    fn is_snapshot(bytes: Vec<u8>) -> Vec<u8> {
        assert_ne!(bytes[0], 2, "a part of a snapshot was fetched");
        bytes
    }
    for keeps_log in [true, false] {
        let mut net = Net::new(2, Plan::default(), None);
        net.run(Duration::from_secs(15));
        net.kill(1);
        net.run(Duration::from_secs(20));
        net.links.lie = keeps_log.then_some(is_snapshot);
        let log = if keeps_log { net.log_of(1) } else { Vec::new() };
        net.restart(1, 99, log, &[0]);
        net.run(Duration::from_secs(30));
        assert_eq!(net.causes(1), [RosterCause::Rejoined]);
        net.is_one_of_them(1, 0);
    }
}

#[test]
fn false_source_is_named_and_another_peer_asked() {
    fn false_snapshot(mut bytes: Vec<u8>) -> Vec<u8> {
        if bytes[0] == 2 {
            *bytes.last_mut().unwrap() ^= 1;
        }
        bytes
    }
    fn long_snapshot(mut bytes: Vec<u8>) -> Vec<u8> {
        if bytes[0] == 2 {
            // One byte more than was offered: the length stands before the last three.
            let length = bytes.len() - 4;
            bytes[length] += 1;
            bytes.push(7);
        }
        bytes
    }
    fn cut_short(mut bytes: Vec<u8>) -> Vec<u8> {
        bytes.pop();
        bytes
    }
    fn false_offer(mut bytes: Vec<u8>) -> Vec<u8> {
        // The outline of a start without a setup of its own: the rest of it does not decode, or is not signed.
        if bytes[0] == 0 {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        }
        bytes
    }
    fn false_log(bytes: Vec<u8>) -> Vec<u8> {
        let mut reader = Reader::new(&bytes);
        if reader.byte() != Ok(1) {
            return bytes;
        }
        let from = reader.number().unwrap();
        let mut records = reader.bytes().unwrap().to_vec();
        let rest = reader.take(reader.remaining()).unwrap().to_vec();
        if records.first() == Some(&1) {
            // An idle turn with a chat message.
            records.splice(0..1, [2, 1, 0, 3, 2, b'h', b'i']);
        }
        let mut changed = vec![1];
        put_varint(&mut changed, u64::from(from));
        put_bytes(&mut changed, &records);
        changed.extend(rest);
        changed
    }
    let lies: [(Lie, Fault); 5] = [
        (false_snapshot, Fault::Signature),
        (long_snapshot, Fault::Oversize),
        (cut_short, Fault::Garbage),
        (false_offer, Fault::Garbage),
        (false_log, Fault::Signature),
    ];
    for (number, (lie, named)) in lies.into_iter().enumerate() {
        let mut net = returning(Some(lie), false);
        net.run(Duration::from_secs(40));
        let faults = net.faults(2);
        let peer = id(0);
        // What a changed byte of an outline comes to depends on where it lies.
        let any = number == 3;
        let told = faults.iter().any(|event| {
            matches!(event, Event::PeerFault { peer: of, fault } if *of == peer
                && (*fault == named || any))
        });
        assert!(told, "lie {number}: {faults:?}");
        assert_eq!(
            net.causes(2),
            [RosterCause::Rejoined],
            "lie {number}: {:?} {:?}",
            faults,
            net.session(2).status()
        );
        net.is_one_of_them(2, 1);
        assert!(net.faults(1).is_empty(), "{:?}", net.faults(1));
    }
}

#[test]
fn an_answer_to_another_question_is_no_lie() {
    fn later_page(mut bytes: Vec<u8>) -> Vec<u8> {
        // The variant of a page of the log, and the turn that it begins with, which takes one byte below 128.
        if bytes[0] == 1 {
            bytes[1] += 1;
        }
        bytes
    }
    let mut net = returning(Some(later_page), false);
    net.run(Duration::from_secs(50));
    assert!(net.faults(2).is_empty(), "{:?}", net.faults(2));
    assert_eq!(net.causes(2), [RosterCause::Rejoined]);
    net.is_one_of_them(2, 1);
}

#[test]
fn a_vote_of_a_past_run_does_not_count() {
    let mut net = returning(None, false);
    let Some(Record::Start(before)) = net.peers[0].recording.records.first().cloned() else {
        panic!("a log begins with its start");
    };
    net.run(Duration::from_secs(30));
    assert_eq!(net.causes(0), [RosterCause::Lost, RosterCause::Rejoined]);
    let link = between(&net, 0, 1)[0];
    let run = net.session(2).core.incarnation;
    let mut vote = |start: &Start, epoch: u32| {
        let ballot = Ballot { round: 1, peer: 2 };
        let content = EpochVote {
            epoch,
            message: Message::Prepare(ballot),
        };
        let content = content.encode();
        let vote = Vote::of(start, 2, &content[..]).expect("a place");
        let signature = vote.sign(&KeyedHash::new(id(2))).into();
        let signed = SignedStatement {
            peer: 2,
            content,
            signature,
        };
        let bytes = Control::Roster(vec![signed]).encode();
        let before = net.faults(0).len();
        net.input(
            0,
            Input::Received {
                link,
                channel: Channel::Control,
                bytes: &bytes,
            },
        );
        net.faults(0).len() - before
    };
    assert_eq!(vote(&before, 2), 1, "the run before it");
    let mut now = (*before).clone();
    now.roster[2].incarnation = run;
    assert_eq!(
        vote(&now, 1),
        0,
        "an epoch that is over: not even looked at"
    );
    assert_eq!(vote(&now, 2), 0, "the run that came back");
}

#[test]
fn a_thousand_joins_that_go_no_further_do_no_harm() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(15));
    net.kill(2);
    net.run(Duration::from_secs(20));
    for _ in 0..1_000 {
        for at in [0, 1] {
            net.stranger(at, NOWHERE, None);
        }
    }
    let links = net.session(0).core.links.values();
    let strange = links.filter(|link| link.proved.is_none() && !link.dialled);
    assert!(strange.count() <= Limits::default().unproved_links as usize);
    net.restart(2, 99, Vec::new(), &[0, 1]);
    net.run(Duration::from_secs(45));
    assert_eq!(net.causes(2), [RosterCause::Rejoined]);
    net.is_one_of_them(2, 1);
    let stalls = net.peers[0].events.iter().filter_map(|event| match event {
        Event::StallEnded { late, .. } => Some(*late),
        _ => None,
    });
    assert!(stalls.skip(1).all(|late| late <= DELAY * 4));
}

#[test]
fn another_version_ends_a_rejoin_only_where_all_members_say_so() {
    let refusal = Control::Refused(JoinRefused::Protocol { host: 9, ours: 1 }).encode();
    let say = |net: &mut Net, from: usize, dialled: bool| {
        let link = match dialled {
            true => net.mesh.number(2, OUTSIDE),
            false => net.mesh.number(OUTSIDE, 2),
        };
        let up = Input::LinkUp {
            link,
            peer: dialled.then(|| id(from)),
            dialled,
            address: from.to_string(),
            binding: [0; 32],
        };
        net.links.dead.push(link);
        net.input(2, up);
        let input = Input::Received {
            link,
            channel: Channel::Control,
            bytes: &refusal,
        };
        net.input(2, input);
    };
    // A stranger has dialled it.
    let mut net = returning(None, false);
    say(&mut net, 7, false);
    say(&mut net, 0, false);
    net.run(Duration::from_secs(30));
    assert_eq!(net.causes(2), [RosterCause::Rejoined]);

    // One of two is of another version, whatever the other is.
    let mut net = returning(None, false);
    say(&mut net, 0, true);
    net.run(Duration::from_secs(30));
    assert_eq!(net.causes(2), [RosterCause::Rejoined]);

    let mut net = returning(None, false);
    say(&mut net, 0, true);
    say(&mut net, 1, true);
    let Some(Event::Ended(ended)) = net.peers[2].events.last() else {
        panic!("there is no peer to come back to");
    };
    let refused = EndReason::Refused(JoinRefused::Protocol { host: 9, ours: 1 });
    assert_eq!(ended.reason, refused);
}

#[test]
fn first_of_two_joiners_helps_the_second() {
    let mut net = Net::new(5, Plan::default(), None);
    net.run(Duration::from_secs(15));
    net.kill(0);
    net.run(Duration::from_secs(20));
    net.kill(1);
    net.run(Duration::from_secs(25));
    // Each asks the other one at first, on their only link.
    let of_the_other = Contact {
        peer: id(1),
        addresses: vec![NOWHERE.to_owned()],
    };
    let role = Net::returning_by(Vec::new(), vec![of_the_other]);
    net.begin(0, 0, 99, role);
    net.restart(1, 98, Vec::new(), &[0, 4]);
    net.run(Duration::from_secs(45));
    for at in [0, 1] {
        assert_eq!(net.session(at).status(), Status::Running, "peer {at}");
        net.is_one_of_them(at, 4);
    }
}

#[test]
fn a_request_from_beyond_the_match_counts_for_nothing() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(15));
    net.kill(2);
    net.run(Duration::from_secs(25));
    let Some(Record::Start(start)) = net.peers[0].recording.records.first().cloned() else {
        panic!("a log begins with the start");
    };
    let joins = Readmission {
        peer: 2,
        incarnation: Incarnation([77; 16]),
    };
    for (number, turns) in [(1, u32::MAX), (2, 10_000)] {
        let request = Request::signed(&KeyedHash::new(id(2)), &start, 1, joins, turns);
        // Peer 1 passes it on.
        let message = Message::Request(number, request);
        let content = EpochVote { epoch: 1, message }.encode();
        let vote = Vote::of(&start, 1, &content[..]).expect("peer 1 is of the roster");
        let signature = vote.sign(&KeyedHash::new(id(1))).into();
        let signed = SignedStatement {
            peer: 1,
            signature,
            content,
        };
        let links = net.session(0).core.links.values();
        let mut links = links.filter(|link| link.proved.is_some_and(|(peer, _)| peer == id(1)));
        let link = links.next().expect("a link").id;
        let bytes = Control::Roster(vec![signed]).encode();
        let input = Input::Received {
            link,
            channel: Channel::Control,
            bytes: &bytes,
        };
        net.input(0, input);
    }
    net.run(Duration::from_secs(35));
    assert_eq!(net.causes(0), [RosterCause::Lost], "no joiner is admitted");
    assert_eq!(net.session(0).status(), Status::Running);
}

#[test]
fn false_due_time_removes_no_peer() {
    fn in_ten_minutes(bytes: Vec<u8>) -> Vec<u8> {
        use crate::session::rejoin::message::{Answer, decode, encode};
        match decode(&bytes) {
            Ok(Answer::Log {
                from,
                records,
                turns,
                batches,
                ..
            }) => encode(&Answer::Log {
                from,
                records,
                turns,
                due_in_ms: 600_000,
                batches,
            }),
            _ => bytes,
        }
    }
    let mut net = returning(Some(in_ten_minutes), false);
    net.run(Duration::from_secs(40));
    assert_eq!(net.causes(2), [RosterCause::Rejoined]);
    assert_eq!(net.causes(1), [RosterCause::Lost, RosterCause::Rejoined]);
    assert_eq!(net.session(2).status(), Status::Running);
}

#[test]
fn oversized_vote_is_refused() {
    use crate::session::roster::{Holding, Peers, Promise};
    let promise = |holdings: usize| EpochVote {
        epoch: 0,
        message: Message::Promise(Promise {
            ballot: Ballot { round: 1, peer: 1 },
            holdings: vec![
                Holding {
                    until: u32::MAX,
                    left: true,
                    newest: u64::MAX
                };
                holdings
            ],
            complete: u32::MAX,
            hashes: vec![crate::LogHash([9; 16]); roster::RECENT],
            accepted: None,
            unwanted: Peers(u16::MAX),
        }),
    };
    assert!(EpochVote::decode(&promise(16).encode()).is_ok());
    assert!(EpochVote::decode(&promise(4_000).encode()).is_err());
}

#[test]
fn a_way_back_that_broke_off_is_not_held_against_the_next_one() {
    // How long the first run lives, and the peer that dies after the second was admitted.
    for (lives, dies) in [(100, 2), (150, 2), (300, 2), (100, 0), (150, 0), (300, 0)] {
        let mut net = Net::new(4, Plan::default(), None);
        net.run(Duration::from_secs(15));
        net.kill(3);
        net.run(Duration::from_secs(25));
        net.restart(3, 99, Vec::new(), &[0, 1, 2]);
        net.run(net.now() + Duration::from_millis(lives));
        net.kill(3);
        net.restart(3, 100, Vec::new(), &[1]);
        net.run(net.now() + Duration::from_secs(3));
        assert_eq!(net.causes(1).last(), Some(&RosterCause::Rejoined));
        net.kill(dies);
        net.run(net.now() + Duration::from_secs(8));
        let seats = net.peers[1].events.iter().rev();
        let mut seats = seats.filter_map(|event| match event {
            Event::RosterChanged { seats, .. } => Some(seats.len()),
            _ => None,
        });
        assert_eq!(seats.next(), Some(3), "{lives} ms, {dies} dies");
        assert_eq!(net.session(3).status(), Status::Running);
    }
}

#[test]
fn run_that_wakes_in_the_first_epoch_is_not_blamed_for_the_next() {
    let mut net = Net::new(4, Plan::default(), None);
    net.run(Duration::from_secs(5));
    net.suspend(3);
    net.begin(4, 3, 99, Net::returning(Vec::new(), &[1]));
    net.run(net.now() + Duration::from_secs(5));
    assert_eq!(net.causes(0), [RosterCause::Lost, RosterCause::Rejoined]);
    // It hears only the peer that it dials, which says nothing to it.
    for other in 0..3 {
        part(&mut net, 3, other);
    }
    net.resume();
    net.run(net.now() + Duration::from_secs(5));
    for at in [0, 1, 2, 4] {
        assert_eq!(net.faults(at), Vec::<&Event>::new(), "peer {at}");
    }
    assert!(matches!(
        net.peers[3].events.last(),
        Some(Event::Ended(ended)) if ended.reason == EndReason::Removed
    ));
}

/// Where a peer last told that another one can be dialled.
fn found_at(net: &Net, at: usize, other: usize) -> Vec<String> {
    let events = net.peers[at].events.iter().rev();
    let mut contacts = events.filter_map(|event| match event {
        Event::Contacts(contacts) => contacts.iter().find(|contact| contact.peer == id(other)),
        _ => None,
    });
    contacts.next().expect("contacts").addresses.clone()
}

#[test]
fn each_peer_is_told_where_a_later_run_of_it_is_to_listen() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(5));
    for at in 0..3 {
        assert_eq!(found_at(&net, at, at), [at.to_string()]);
    }
}

#[test]
fn address_of_a_rejoined_peer_is_told_to_be_kept() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(15));
    net.kill(2);
    net.run(Duration::from_secs(25));
    assert_eq!([found_at(&net, 0, 2), found_at(&net, 1, 2)], [["2"], ["2"]]);
    let role = Net::returning(Vec::new(), &[1]);
    let config = SessionConfig {
        addresses: vec![NOWHERE.to_owned()],
        ..Net::config(2, 99, role)
    };
    net.begin_as(2, 2, config);
    net.run(Duration::from_secs(35));
    assert_eq!(net.causes(0), [RosterCause::Lost, RosterCause::Rejoined]);
    for at in [0, 1] {
        let told = found_at(&net, at, 2);
        assert!(told.contains(&NOWHERE.to_owned()), "peer {at}: {told:?}");
    }
}
