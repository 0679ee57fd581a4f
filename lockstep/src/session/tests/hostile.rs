//! Members that do not keep to the agreement.

use super::desync::saying;
use super::*;
use crate::log::{Document, STALL_BUDGET, Start, Vote};
use crate::session::ledger::fixture::batch;
use crate::session::roster::{Ballot, EpochVote, Holding, Message, Peers, Promise, Value};
use crate::session::wire::{Control, SignedStatement, TurnPacket};
use crate::{LogHash, RosterCause};

/// The hash of no log that there is.
const NO_LOG: LogHash = LogHash([9; 16]);

/// A vote as the peer at this place signs it.
pub(super) fn signed_vote(
    start: &Start,
    peer: usize,
    epoch: u32,
    message: Message,
) -> SignedStatement {
    let content = EpochVote { epoch, message }.encode();
    let vote = Vote::of(start, peer as u8, &content[..]).expect("a place in the start");
    let signature = vote.sign(&KeyedHash::new(id(peer))).into();
    SignedStatement {
        peer: peer as u8,
        content,
        signature,
    }
}

/// The message with other promises in the place of this peer's own.
fn promising(
    start: &Start,
    me: usize,
    (channel, bytes): (Channel, &[u8]),
    change: impl Fn(&mut Promise),
) -> Option<Vec<u8>> {
    let said = Control::decode(bytes, &Limits::default());
    let (Channel::Control, Ok(Control::Roster(mut votes))) = (channel, said) else {
        return None;
    };
    for own in votes.iter_mut().filter(|vote| usize::from(vote.peer) == me) {
        let mut of = EpochVote::decode(&own.content).expect("its own vote");
        if let Message::Promise(promise) = &mut of.message {
            change(promise);
            *own = signed_vote(start, me, of.epoch, of.message);
        }
    }
    Some(Control::Roster(votes).encode())
}

/// A promise in this ballot of a peer that holds nothing.
pub(super) fn promise_in(ballot: Ballot, peers: usize) -> Promise {
    Promise {
        ballot,
        holdings: vec![Holding::default(); peers],
        complete: 0,
        hashes: Vec::new(),
        accepted: None,
        unwanted: Peers::default(),
    }
}

impl Net {
    pub(super) fn start(&self) -> Start {
        let Some(Record::Start(start)) = self.peers[0].recording.records.first() else {
            panic!("the first record is the start");
        };
        (**start).clone()
    }

    /// A link that leads from one peer to another, as the other one sees it.
    pub(super) fn link_between(&self, from: usize, to: usize) -> Option<LinkId> {
        let links = self.session(to).core.links_to(id(from));
        links.last().map(|link| link.id)
    }

    pub(super) fn tell(&mut self, from: usize, to: usize, channel: Channel, bytes: &[u8]) {
        if let Some(link) = self.link_between(from, to) {
            let input = Input::Received {
                link,
                channel,
                bytes,
            };
            self.input(to, input);
        }
    }

    pub(super) fn tell_votes(&mut self, from: usize, to: usize, votes: Vec<SignedStatement>) {
        self.tell(from, to, Channel::Control, &Control::Roster(votes).encode());
    }

    /// A turn packet without a batch: its sender is there, and that is all.
    fn sign_of_life(&mut self, from: usize, to: usize, sequence: u32) {
        let packet = TurnPacket {
            sequence,
            heard: u16::MAX >> (16 - self.peers.len()),
            held: vec![TurnNumber(0); self.peers.len()],
            ..TurnPacket::default()
        };
        self.tell(from, to, Channel::Turns, &Datagram::Turns(packet).encode());
    }

    /// The peers that this peer blames, and for what.
    pub(super) fn blamed(&self, at: usize) -> Vec<(PeerId, Fault)> {
        let events = self.peers[at].events.iter();
        let blamed = events.filter_map(|event| match event {
            Event::PeerFault { peer, fault } => Some((*peer, *fault)),
            _ => None,
        });
        blamed.collect()
    }

    /// The seats that have gone, as this peer was told, and why.
    pub(super) fn gone(&self, at: usize) -> Vec<(Vec<Seat>, RosterCause)> {
        let events = self.peers[at].events.iter();
        let gone = events.filter_map(|event| match event {
            Event::RosterChanged { gone, .. } => Some(gone),
            _ => None,
        });
        let gone = gone.flatten();
        gone.map(|gone| (gone.seats.clone(), gone.cause)).collect()
    }
}

/// A peer dies, and another one tells more of what it holds than was ever sealed.
fn the_others_remove_the_promiser(attack: Attack) {
    let mut net = Net::new(4, Plan::default(), None);
    net.run(Duration::from_secs(5));
    net.links.attack = Some((2, attack));
    net.kill(3);
    let before = net.peers[0].turns.len();
    net.run(Duration::from_secs(30));
    for at in [0, 1] {
        let (status, turns) = (net.session(at).status(), net.peers[at].turns.len());
        assert_eq!(status, Status::Running, "peer {at}");
        // Three seconds for the dead one, four for the liar.
        assert!(turns > before + 75, "peer {at}: {before} -> {turns}");
        let both = vec![Seat(2), Seat(3)];
        assert_eq!(net.gone(at), [(both, RosterCause::Lost)], "peer {at}");
    }
    let last = net.peers[2].events.last();
    assert!(matches!(last, Some(Event::Ended(ended)) if ended.reason == EndReason::Removed));
}

#[test]
fn peer_that_promises_unsealed_batches_is_removed() {
    the_others_remove_the_promiser(|start, me, channel, bytes| {
        promising(start, me, (channel, bytes), |promise| {
            for holding in &mut promise.holdings {
                holding.until += 50;
                holding.newest = 0;
            }
        })
    });
}

#[test]
fn peer_that_says_that_others_leave_is_removed() {
    the_others_remove_the_promiser(|start, me, channel, bytes| {
        promising(start, me, (channel, bytes), |promise| {
            promise.holdings[1].left = true
        })
    });
}

#[test]
fn peer_that_claims_an_impossible_accept_is_removed() {
    the_others_remove_the_promiser(|start, me, channel, bytes| {
        promising(start, me, (channel, bytes), |promise| {
            let value = Value::of(Peers(0b100), promise.complete + 40).with_log(NO_LOG);
            promise.accepted = Some((Ballot { round: 0, peer: 2 }, value));
        })
    });
}

#[test]
fn peer_that_claims_to_accept_an_unknown_log_is_removed() {
    the_others_remove_the_promiser(|start, me, channel, bytes| {
        promising(start, me, (channel, bytes), |promise| {
            let cut = promise.holdings.iter().map(|holding| holding.until).min();
            let all_peers = Peers::first(promise.holdings.len());
            let value = Value::of(all_peers, cut.unwrap_or(0)).with_log(NO_LOG);
            promise.accepted = Some((Ballot { round: 0, peer: 2 }, value));
        })
    });
}

/// Proposes what cannot be.
fn proposing(
    start: &Start,
    me: usize,
    (channel, bytes): (Channel, &[u8]),
    edit: fn(&mut Value),
) -> Option<Vec<u8>> {
    let said = Control::decode(bytes, &Limits::default());
    let (Channel::Control, Ok(Control::Roster(mut votes))) = (channel, said) else {
        return None;
    };
    for own in votes.iter_mut().filter(|vote| usize::from(vote.peer) == me) {
        let mut of = EpochVote::decode(&own.content).expect("its own vote");
        if let Message::Propose(_, value) | Message::Accept(_, value) = &mut of.message {
            edit(value);
            *own = signed_vote(start, me, of.epoch, of.message);
        }
    }
    Some(Control::Roster(votes).encode())
}

#[test]
fn coordinator_that_proposes_an_impossible_value_is_removed() {
    let attacks: [Attack; 2] = [
        |start, me, channel, bytes| proposing(start, me, (channel, bytes), |value| value.cut += 50),
        |start, me, channel, bytes| {
            proposing(start, me, (channel, bytes), |value| {
                value.log_hash = Some(NO_LOG)
            })
        },
    ];
    attacks.into_iter().for_each(the_others_remove_the_proposer);
}

fn the_others_remove_the_proposer(attack: Attack) {
    let mut net = Net::new(5, Plan::default(), None);
    net.run(Duration::from_secs(5));
    net.links.attack = Some((0, attack));
    net.kill(4);
    let before = net.peers[1].turns.len();
    net.run(Duration::from_secs(40));
    for at in 1..4 {
        let (status, turns) = (net.session(at).status(), net.peers[at].turns.len());
        assert_eq!(status, Status::Running, "peer {at}");
        // Three seconds for the dead one, ten for the other.
        assert!(turns > before + 90, "peer {at}: {before} -> {turns}");
        let both = vec![Seat(0), Seat(4)];
        assert_eq!(net.gone(at), [(both, RosterCause::Lost)], "peer {at}");
    }
}

#[test]
fn withholder_that_begins_ever_new_attempts_is_removed() {
    for promises in [false, true] {
        begins_ever_new_attempts(promises);
    }
}

fn begins_ever_new_attempts(promises: bool) {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(5));
    let start = net.start();
    net.links.silent.push(1);
    let before = net.peers[0].turns.len();
    for step in 1..=500u32 {
        for to in [0, 2] {
            let ballot = Ballot {
                round: step + 3,
                peer: 1,
            };
            if step.is_multiple_of(5) {
                let mut votes = vec![signed_vote(&start, 1, 0, Message::Prepare(ballot))];
                let promise = || promise_in(ballot, 3);
                votes.extend(
                    promises.then(|| signed_vote(&start, 1, 0, Message::Promise(promise()))),
                );
                net.tell_votes(1, to, votes);
            }
            net.sign_of_life(1, to, 1_000_000 + step);
        }
        net.run(net.now() + Duration::from_millis(50));
    }
    for at in [0, 2] {
        let (status, turns) = (net.session(at).status(), net.peers[at].turns.len());
        assert_eq!(status, Status::Running, "peer {at}");
        // What a peer may be late, all told, and an attempt.
        assert!(turns > before + 60, "peer {at}: {before} -> {turns}");
        assert_eq!(net.gone(at), [(vec![Seat(1)], RosterCause::Lost)]);
        // However often it has a little of its time back while an attempt waits for others. A peer that would still wait
        // is told by the change.
        let suspected = |event: &&Event| matches!(event, Event::Suspected { .. });
        let told = net.peers[at].events.iter().filter(suspected).count();
        assert!(told <= 1, "peer {at}: {told}");
    }
}

#[test]
fn peer_that_leads_the_coordinator_ahead_alone_is_removed() {
    let mut net = Net::new(4, Plan::default(), None);
    net.run(Duration::from_secs(5));
    // The first rounds use up what peer 0 may pass on at once: the others hear of the last of these alone.
    for round in (1..=40).chain([900, 1_800]) {
        let ballot = Ballot { round, peer: 3 };
        let promise = Message::Promise(promise_in(ballot, 4));
        let votes = [Message::Prepare(ballot), promise];
        let votes = votes.map(|vote| signed_vote(&net.start(), 3, 0, vote));
        net.tell_votes(3, 0, votes.into());
        net.run(net.now() + Duration::from_millis(1));
    }
    net.links.attack = Some((3, withholding));
    let before = net.peers[0].turns.len();
    net.run(Duration::from_secs(30));
    for at in 0..3 {
        let turns = net.peers[at].turns.len();
        assert!(turns > before + 40, "peer {at}: {before} -> {turns}");
        assert_eq!(net.gone(at), [(vec![Seat(3)], RosterCause::Lost)]);
    }
}

#[test]
fn coordinator_is_not_blamed_for_an_unusable_promise() {
    let empty: Attack = |start, me, channel, bytes| {
        promising(start, me, (channel, bytes), |promise| {
            promise.holdings.clear()
        })
    };
    let later: Attack = |start, me, channel, bytes| {
        promising(start, me, (channel, bytes), |promise| {
            promise.ballot.round += 5
        })
    };
    // In a ballot of its own, which it begins as well.
    let own: Attack = |start, me, channel, bytes| {
        let of_own = |ballot: Ballot| Ballot {
            round: ballot.round + 5,
            peer: me as u8,
        };
        let bytes = promising(start, me, (channel, bytes), |promise| {
            promise.ballot = of_own(promise.ballot);
        })?;
        let Ok(Control::Roster(mut votes)) = Control::decode(&bytes, &Limits::default()) else {
            return None;
        };
        let begun = votes.iter().filter_map(|signed| {
            let of = EpochVote::decode(&signed.content).ok()?;
            let ballot = of.message.ballot();
            let begins = usize::from(signed.peer) == me && usize::from(ballot.peer) == me;
            begins.then(|| signed_vote(start, me, of.epoch, Message::Prepare(ballot)))
        });
        let begun: Vec<SignedStatement> = begun.collect();
        votes.extend(begun);
        Some(Control::Roster(votes).encode())
    };
    for (name, attack) in [("empty", empty), ("later", later), ("own", own)] {
        let mut net = Net::new(5, Plan::default(), None);
        net.run(Duration::from_secs(5));
        net.links.attack = Some((4, attack));
        net.kill(3);
        net.run(Duration::from_secs(40));
        for at in 0..3 {
            assert_eq!(
                net.session(at).status(),
                Status::Running,
                "{name}, peer {at}"
            );
            let blames =
                |event: &&Event| matches!(event, Event::Suspected { peer, .. } if *peer < id(3));
            assert_eq!(
                net.peers[at].events.iter().find(blames),
                None,
                "{name}, peer {at}"
            );
        }
    }
}

/// An end without a valid signature.
pub(super) fn end_of_nothing() -> Control {
    Control::End {
        peer: 0,
        turns: 1,
        log_hash: LogHash([0; 16]),
        checksum: Checksum(0),
        outcome: None,
        signature: [0; 64].into(),
    }
}

#[test]
fn messages_of_a_match_are_no_fault_before_it_begins() {
    let mut net = Net::new(2, Plan::default(), None);
    while net.link_between(0, 1).is_none() {
        assert!(net.now() < Duration::from_secs(1));
        net.run(net.now() + DELAY);
    }
    assert_eq!(net.session(1).status(), Status::Lobby);
    let nothing = Vec::new;
    let said = [
        Control::Roster(nothing()),
        Control::Words(nothing()),
        Control::Evidence(Vec::new()),
        end_of_nothing(),
    ];
    for message in said {
        net.tell(0, 1, Channel::Control, &message.encode());
    }
    assert_eq!(net.blamed(1), []);
    net.run(Duration::from_secs(5));
    assert_eq!(net.session(1).status(), Status::Running);
}

#[test]
fn signatures_of_runs_that_only_the_other_end_knows_are_few() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(3));
    // Two histories of a run of peer 2 that only peer 1 has heard of.
    let run = Incarnation([55; 16]);
    let batch = |text: &str| chatting(&[text], MatchId([7; 16]), run);
    let proof = Control::Evidence(vec![batch("one"), batch("other")]);
    net.tell(1, 0, Channel::Control, &proof.encode());
    assert_eq!(net.blamed(0), []);
    assert!(!net.session(0).core.links.is_empty());

    // Unsigned votes of epochs to come.
    let start = net.start();
    let unsigned = |round: u32| {
        let ballot = Ballot { round, peer: 2 };
        let mut unsigned = signed_vote(&start, 2, 1, Message::Prepare(ballot));
        unsigned.signature = [9; 64].into();
        unsigned
    };
    net.tell_votes(1, 0, (1..=63).map(unsigned).collect());
    assert_eq!(net.blamed(0), []);
    net.tell_votes(1, 0, (64..=70).map(unsigned).collect());
    assert!(net.blamed(0).contains(&(id(1), Fault::Signature)));
}

/// A batch of peer 2 with these texts.
pub(super) fn chatting(texts: &[&str], match_id: MatchId, run: Incarnation) -> WireBatch {
    let entry = |text: &&str| LogEntry {
        seat: Seat(2),
        what: What::Chat((*text).to_owned()),
    };
    let batch = Batch {
        entries: texts.iter().map(entry).collect(),
        ..batch(9)
    };
    WireBatch::of(&batch.seal(2, match_id, run, &KeyedHash::new(id(2))))
}

#[test]
fn a_vote_in_the_name_of_another_member_is_refused() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(5));
    let start = net.start();
    let message = Message::Prepare(Ballot { round: 1, peer: 1 });
    let mut vote = signed_vote(&start, 1, 0, message);
    let signed = Vote::of(&start, 1, &vote.content[..]).expect("a place in the start");
    vote.signature = signed.sign(&KeyedHash::new(id(2))).into();
    net.tell_votes(2, 0, vec![vote]);
    assert_eq!(net.blamed(0), [(id(2), Fault::Signature)]);
    // Nor does a peer begin what another one has to begin.
    let message = Message::Prepare(Ballot { round: 1, peer: 0 });
    net.tell_votes(2, 1, vec![signed_vote(&start, 2, 0, message)]);
    assert_eq!(net.blamed(1), [(id(2), Fault::OutOfPlace)]);
}

/// Sends no batch of its own.
pub(super) fn withholding(_: &Start, me: usize, channel: Channel, bytes: &[u8]) -> Option<Vec<u8>> {
    Some(change_batches(channel, bytes, me as u8, |_| None))
}

#[test]
fn silent_peer_does_not_excuse_a_withholder() {
    let mut net = Net::new(5, Plan::default(), None);
    net.run(Duration::from_secs(5));
    net.links.attack = Some((3, withholding));
    // The others have sealed the turn that waits for peer 3, so no turn waits for peer 4.
    net.run(net.now() + Duration::from_secs(1));
    let before = net.peers[0].turns.len();
    net.links.silent.push(4);
    net.run(net.now() + SUSPICION + STALL_BUDGET + Duration::from_secs(2));
    for at in 0..3 {
        let gone = net.gone(at).into_iter().flat_map(|(seats, _)| seats);
        assert!(gone.eq([Seat(3), Seat(4)]), "peer {at}: {:?}", net.gone(at));
    }
    net.run(net.now() + Duration::from_secs(10));
    for at in 0..3 {
        let (status, turns) = (net.session(at).status(), net.peers[at].turns.len());
        assert_eq!(status, Status::Running, "peer {at}");
        assert!(turns > before + 45, "peer {at}: {before} -> {turns}");
    }
}

#[test]
fn dead_peer_is_no_coordinator_of_a_removal() {
    let mut net = Net::new(5, Plan::default(), None);
    net.run(Duration::from_secs(5));
    net.links.attack = Some((3, withholding));
    // No turn waits for peer 0, which all others take for the coordinator.
    net.run(net.now() + Duration::from_secs(1));
    net.links.silent.push(0);
    net.run(net.now() + SUSPICION + STALL_BUDGET + Duration::from_secs(3));
    for at in [1, 2, 4] {
        let gone = net.gone(at).into_iter().flat_map(|(seats, _)| seats);
        assert!(gone.eq([Seat(0), Seat(3)]), "peer {at}: {:?}", net.gone(at));
    }
}

/// Sends no vote of its own, and no decision.
fn voteless(_: &Start, me: usize, channel: Channel, bytes: &[u8]) -> Option<Vec<u8>> {
    match channel {
        Channel::Control => {
            let nothing = || Control::Roster(Vec::new()).encode();
            Some(without_votes(bytes, me as u8).unwrap_or_else(nothing))
        }
        _ => None,
    }
}

#[test]
fn coordinator_that_never_begins_is_removed() {
    let mut net = Net::new(5, Plan::default(), None);
    net.run(Duration::from_secs(5));
    net.links.attack = Some((0, voteless));
    net.links.silent.push(4);
    net.run(net.now() + SUSPICION + STALL_BUDGET + Duration::from_secs(2));
    for at in 1..4 {
        let gone = net.gone(at).into_iter().flat_map(|(seats, _)| seats);
        assert!(gone.eq([Seat(0), Seat(4)]), "peer {at}: {:?}", net.gone(at));
    }
}

#[test]
fn coordinator_that_never_begins_keeps_no_cheat() {
    let mut net = Net::new(5, Plan::default(), None);
    net.links.attack = Some((0, voteless));
    net.links.two_faced = Some(20);
    net.run(Duration::from_secs(5) + STALL_BUDGET + Duration::from_secs(3));
    for at in [1, 3, 4] {
        let causes = [
            (vec![Seat(2)], RosterCause::Cheated),
            (vec![Seat(0)], RosterCause::Lost),
        ];
        assert_eq!(net.gone(at), causes, "peer {at}");
    }
}

#[test]
fn withholder_that_rejoins_is_readmitted_ever_more_rarely() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(10));
    net.links.attack = Some((2, withholding));
    let before = net.peers[0].turns.len();
    let mut run = 90;
    for _ in 0..300 {
        net.run(net.now() + Duration::from_millis(500));
        if matches!(net.peers[2].events.last(), Some(Event::Ended(_))) {
            net.kill(2);
            run += 1;
            net.restart(2, run, Vec::new(), &[0, 1]);
        }
    }
    assert!(run > 91, "it came back");
    for at in [0, 1] {
        let turns = net.peers[at].turns.len() - before;
        // At least 120 of 150 s.
        assert!(turns > 5 * 120, "peer {at}: {turns} turns");
    }
}

/// As [`withholding`], and whenever it promises it tells of a value that keeps it.
fn withholding_and_keeping(
    start: &Start,
    me: usize,
    channel: Channel,
    bytes: &[u8],
) -> Option<Vec<u8>> {
    let keeps = promising(start, me, (channel, bytes), |promise| {
        // It alone has its batches of the last turns.
        let delay = u32::from(Plan::default().delay_turns);
        let value = Value::of(
            Peers::first(promise.holdings.len()),
            promise.complete - delay,
        )
        .with_log(NO_LOG);
        promise.holdings[me].until = value.cut;
        promise.accepted = Some((Ballot { round: 1, peer: 0 }, value));
    });
    keeps.or_else(|| withholding(start, me, channel, bytes))
}

#[test]
fn withholder_that_tells_of_a_value_that_keeps_it_is_removed() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(10));
    net.links.attack = Some((1, withholding_and_keeping));
    let before = net.peers[0].turns.len();
    net.run(Duration::from_secs(40));
    for at in [0, 2] {
        let turns = net.peers[at].turns.len() - before;
        assert!(turns > 5 * 15, "peer {at}: {turns} turns");
        assert_eq!(net.gone(at), [(vec![Seat(1)], RosterCause::Lost)]);
    }
}

#[test]
fn peer_that_accepted_an_unproposable_value_is_removed() {
    let attacks: [Attack; 5] = [
        // It alone stays.
        |start, me, channel, bytes| {
            accepted(start, me, (channel, bytes), |promise| {
                Value::of(Peers(0b100), promise.complete).with_log(promise.hashes[0])
            })
        },
        // Turns that all have are not to count.
        |start, me, channel, bytes| {
            accepted(start, me, (channel, bytes), |promise| {
                let all_peers = Peers::first(promise.holdings.len());
                Value::of(all_peers, promise.complete - 2).with_log(promise.hashes[2])
            })
        },
        // From the beginning on.
        |start, me, channel, bytes| {
            accepted(start, me, (channel, bytes), |promise| {
                Value::of(Peers::first(promise.holdings.len()), 0).with_log(NO_LOG)
            })
        },
        // An unproved cheat.
        |start, me, channel, bytes| {
            accepted(start, me, (channel, bytes), |promise| Value {
                cheats: Peers(0b10),
                ..Value::of(Peers(0b1101), promise.complete).with_log(promise.hashes[0])
            })
        },
        // An unseen minority.
        |start, me, channel, bytes| {
            accepted(start, me, (channel, bytes), |promise| Value {
                minority: Peers(0b10),
                ..Value::of(Peers(0b1101), promise.complete).with_log(promise.hashes[0])
            })
        },
    ];
    attacks.into_iter().for_each(the_others_remove_the_promiser);
}

/// Says that it has accepted this.
fn accepted(
    start: &Start,
    me: usize,
    (channel, bytes): (Channel, &[u8]),
    what: fn(&Promise) -> Value,
) -> Option<Vec<u8>> {
    promising(start, me, (channel, bytes), |promise| {
        promise.accepted = Some((Ballot { round: 0, peer: 2 }, what(promise)));
    })
}

#[test]
fn no_coordinator_stays_alone_where_the_others_answer() {
    let attacks: [Attack; 2] = [
        |start, me, channel, bytes| {
            proposing(start, me, (channel, bytes), |value| {
                value.roster = Peers(0b1)
            })
        },
        // It says besides that all others have left.
        |start, me, channel, bytes| {
            let alone = proposing(start, me, (channel, bytes), |value| {
                value.roster = Peers(0b1)
            });
            let bytes = alone.as_deref().unwrap_or(bytes);
            let says = promising(start, me, (channel, bytes), |promise| {
                let others = promise.holdings.iter_mut().skip(1);
                others.for_each(|holding| holding.left = true);
            });
            says.or(alone)
        },
    ];
    attacks.into_iter().for_each(the_others_remove_the_proposer);
}

/// Adds a command for the seat of peer 0 to each of its batches.
fn commanding_another(start: &Start, me: usize, ch: Channel, bytes: &[u8]) -> Option<Vec<u8>> {
    saying(start, me, (ch, bytes), |batch| {
        let what = What::Command(command(9).into());
        batch.entries.insert(
            0,
            LogEntry {
                seat: Seat(0),
                what,
            },
        );
        batch.first_numbers.insert(0, 0);
    })
}

#[test]
fn command_for_anothers_seat_is_named_and_not_executed() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(2));
    net.links.attack = Some((2, commanding_another));
    net.run(Duration::from_secs(10));
    for at in [0, 1] {
        let mut blamed = net.blamed(at);
        blamed.dedup();
        assert_eq!(blamed, [(id(2), Fault::WrongSeat)], "peer {at}");
        assert_eq!(net.session(at).status(), Status::Running);
        let mut turns = net.peers[at].turns.iter();
        assert!(turns.all(|turn| turn.entries.is_empty()), "peer {at}");
    }
}
