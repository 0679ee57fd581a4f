use super::*;
use crate::log::Ballot;
use crate::session::ledger::fixture::{ledger, signer};

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
    assert_eq!(version, Some(Version::Ballot(ballot)));
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
    assert!(membership.begin_next_epoch(2, Duration::ZERO).is_some());
    let cast = membership.synced(number, &ledger.places, &signer(0));
    assert_eq!(cast, None);
}
