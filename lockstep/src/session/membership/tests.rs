use super::paxos::{Holding, Message, Promise};
use super::*;
use crate::log::fixture::bundle;
use crate::log::{Ballot, RosterChange};
use crate::session::ledger::fixture::{ledger, ledger_of, signer};

const HASH: LogHash = LogHash([3; 16]);

/// A match of two in which nothing has happened yet, with the batches of the first two turns.
fn around() -> Surroundings {
    Surroundings {
        now: Duration::ZERO,
        plan: Plan::default(),
        too_slow: None,
        stalled_since: None,
        is_stall_told: false,
        wants_turns: true,
        has_ended: false,
        is_desynced: false,
        is_leaving: false,
        cheats: Peers::default(),
        minority: Peers::default(),
        minority_due: Peers::default(),
        unaware_of_minority: Peers::default(),
        evident_minority: Peers::default(),
        disputed: Peers::default(),
        barred: Peers::default(),
        ahead: vec![HASH; 2],
    }
}

fn membership(ledger: &Ledger) -> Membership {
    let (run, time) = (Incarnation([0; 16]), Duration::from_secs(3));
    Membership::new(Since::Start, &ledger.places, run, time, Duration::ZERO)
}

/// The other peer coordinates in this round, and this one accepts: the number of its accept.
fn accept(membership: &mut Membership, ledger: &Ledger, round: u32) -> (u64, Ballot, Value) {
    let ballot = Ballot { round, peer: 1 };
    let value = Value::of(Peers::first(2), 2).with_log(HASH);
    let mut actions = Vec::new();
    for message in [Message::Prepare(ballot), Message::Propose(ballot, value)] {
        actions = membership.deliver(1, message, &around(), ledger, &signer(0));
    }
    match actions.as_slice() {
        [Action::Sync(number, accepted)] => (*number, accepted.ballot, accepted.value),
        _ => panic!("{} actions", actions.len()),
    }
}

const FURTHER: Holding = Holding {
    until: 9,
    left: false,
    newest: 7,
};

/// What a peer of three promises in a round of peer 0: of each peer it holds this.
fn promise(round: u32, holding: Holding) -> Message {
    promise_in(Ballot { round, peer: 0 }, holding)
}

fn promise_in(ballot: Ballot, holding: Holding) -> Message {
    Message::Promise(Promise {
        ballot,
        holdings: vec![holding; 3],
        complete: 0,
        hashes: vec![ledger(3).window.newest()],
        accepted: None,
        unwanted: Peers::default(),
    })
}

#[test]
fn the_newest_accept_is_cast_once_it_is_durable() {
    let ledger = ledger(2);
    let mut membership = membership(&ledger);
    let (first, ..) = accept(&mut membership, &ledger, 1);
    let (second, ballot, _) = accept(&mut membership, &ledger, 2);
    let places = &ledger.places;
    assert_eq!(membership.synced(first, places, &signer(0)), None);
    let fact = membership.synced(second, places, &signer(0));
    let version = fact.map(|fact| fact.version);
    assert_eq!(version, Some(Version::Ballot(ballot, 0)));
}

#[test]
fn an_accept_of_an_epoch_that_is_over_is_not_cast() {
    let ledger = ledger(2);
    let mut membership = membership(&ledger);
    let (number, ballot, value) = accept(&mut membership, &ledger, 1);
    membership.decide(RosterChange {
        epoch: 0,
        ballot,
        value,
        accepts: Vec::new(),
        proofs: Vec::new(),
        reopening: None,
    });
    membership.begin_next_epoch(Duration::ZERO);
    let cast = membership.synced(number, &ledger.places, &signer(0));
    assert_eq!(cast, None);
}

#[test]
fn a_coordinator_that_does_not_know_of_a_minority_has_its_turn_for_a_while() {
    let ledger = ledger_of(1, 4);
    for (unaware, passed_over) in [(Peers(0b0001), true), (Peers::default(), false)] {
        let mut membership = membership(&ledger);
        let around = Surroundings {
            minority: Peers(0b1000),
            minority_due: Peers(0b1000),
            unaware_of_minority: unaware,
            ..around()
        };
        for look in 0..20 {
            membership.suspicion.at = Duration::from_millis(200 * look);
            membership.watch_succession(&around, &ledger);
        }
        assert_eq!(membership.suspicion.passed_over.contains(0), passed_over);
    }
}

#[test]
fn a_voter_is_present_until_what_it_tells_of_is_long_overdue() {
    let ledger = ledger(3);
    let mut membership = membership(&ledger);
    membership.votes.post(0, 1, promise(1, FURTHER), [0; 64]);
    let mut present = |ms| {
        let now = Duration::from_millis(ms);
        let around = Surroundings { now, ..around() };
        membership.suspicion.at = now;
        (0..3).for_each(|at| membership.note_heard(at, now));
        membership.watch_doubts(&around, &ledger);
        membership.observe(None, &around, &ledger).present
    };
    assert_eq!(
        [0, 900, 1_000].map(&mut present),
        [Peers(0b110), Peers(0b110), Peers(0b100)]
    );
}

#[test]
fn a_withholder_is_believed_as_soon_as_its_next_promise_tells_of_less() {
    let ledger = ledger(3);
    let mut membership = membership(&ledger);
    let staller = Peers(0b010);
    membership.suspicion.withholding = staller;
    membership.votes.post(0, 1, promise(1, FURTHER), [0; 64]);
    for (second, withholding) in [Peers::default(), Peers::default(), staller]
        .into_iter()
        .enumerate()
    {
        let now = Duration::from_secs(second as u64);
        let around = Surroundings { now, ..around() };
        membership.watch_doubts(&around, &ledger);
        let seen = membership.observe(None, &around, &ledger);
        assert_eq!(seen.withholding, withholding, "after {second} s");
    }
    membership
        .votes
        .post(0, 1, promise(2, Holding::default()), [0; 64]);
    let seen = membership.observe(None, &around(), &ledger);
    assert_eq!(seen.withholding, Peers::default());
}

#[test]
fn a_late_coordinator_is_answered_once_a_quorum_has_answered_it() {
    let ledger = ledger(3);
    let around = Surroundings {
        stalled_since: Some(Duration::ZERO),
        ..around()
    };
    let ballot = Ballot { round: 1, peer: 2 };
    let promise = Message::Promise(Promise {
        ballot,
        holdings: vec![Holding::default(); 3],
        complete: 0,
        hashes: vec![ledger.window.newest()],
        accepted: None,
        unwanted: Peers::default(),
    });
    let (none, other) = (Peers::default(), Peers(0b100));
    // A reason that all can know is one to refuse it all the same.
    for (late, answers) in [(other, [false, true]), (none, [false; 2])] {
        let mut membership = membership(&ledger);
        membership.suspicion.to_remove = other;
        membership.suspicion.late = late;
        let mut answers_it = |by: u8, vote: &Message| {
            membership.votes.post(0, by, vote.clone(), [0; 64]);
            let mut told = std::iter::from_fn(|| membership.next_undelivered(&around, &ledger));
            told.any(|(_, vote)| vote == Message::Prepare(ballot))
        };
        assert!(!answers_it(2, &Message::Prepare(ballot)));
        assert_eq!([2, 1].map(|by| answers_it(by, &promise)), answers);
    }
}

#[test]
fn an_attempt_that_one_peer_alone_follows_is_followed_by_one_of_all() {
    let mut ledger = ledger_of(0, 3);
    // No turn before the command delay needs a batch.
    (0..2).for_each(|turn| ledger.window.push(&bundle(turn)));
    let ballot = |round| Ballot { round, peer: 2 };
    for (promised, begins) in [(true, [false, true]), (false, [false; 2])] {
        let mut membership = membership(&ledger);
        // This peer never hears of the attempt in round 13: a later vote of that peer has taken its place.
        let prepare = Message::Prepare(ballot(1_000_000));
        membership.votes.post(0, 2, prepare, [0; 64]);
        if promised {
            let promise = promise_in(ballot(13), Holding::default());
            membership.votes.post(0, 1, promise, [0; 64]);
        }
        let begun = [999, 1_000].map(|ms| {
            let around = Surroundings {
                now: Duration::from_millis(ms),
                stalled_since: Some(Duration::ZERO),
                ..around()
            };
            while membership.next_undelivered(&around, &ledger).is_some() {}
            let held = match promised {
                true => (Peers(0b010), Peers(0b100)),
                false => Default::default(),
            };
            assert_eq!(membership.held(&around, &ledger), held);
            membership.coordinate(&around, &ledger, &signer(0)).1
        });
        assert_eq!(begun, begins, "promised: {promised}");
    }
}
