//! Logs for tests.

use super::{
    Accept, Accepted, Ballot, Batch, Bundle, Document as _, LogEntry, Peers, Record, RosterChange,
    RosterPeer, SignedBatch, SnapshotHash, Start, Terms, Value, What,
};
use crate::sign::KeyedHash;
use crate::{Incarnation, LogHash, MatchId, PeerId, Plan, TurnNumber};
use sim::{RulesId, Seat, Seed};
use std::sync::Arc;

/// The signer of the peer at this place.
pub(crate) fn signer(peer: u8) -> KeyedHash {
    KeyedHash::new(PeerId([peer + 1; 32]))
}

/// A start of so many peers, each with the seat of its place.
pub(crate) fn start(peers: u8) -> Arc<Start> {
    let place = |at: u8| RosterPeer {
        peer: PeerId([at + 1; 32]),
        incarnation: Incarnation([at; 16]),
        name: String::new(),
        seats: vec![Seat(at)],
        share: [0; 32],
    };
    Arc::new(Start {
        protocol: crate::PROTOCOL,
        match_id: MatchId([7; 16]),
        rules: RulesId([9; 16]),
        setup: Arc::from([1, 2, 3]),
        seed: Seed([5; 32]),
        terms: Terms {
            seats: peers,
            ..Terms::default()
        },
        roster: (0..peers).map(place).collect(),
        build: String::new(),
        signatures: Vec::new(),
    })
}

/// A turn with these entries of seat 0.
pub(crate) fn turn(turn: u32, paused: bool, whats: Vec<What>) -> Record {
    let entry = |what| LogEntry {
        seat: Seat(0),
        what,
    };
    Record::Bundle(Bundle {
        paused,
        entries: whats.into_iter().map(entry).collect(),
        ..bundle(turn)
    })
}

/// An idle turn.
pub(crate) fn bundle(turn: u32) -> Bundle {
    Bundle {
        turn: TurnNumber(turn),
        plan: Plan::default(),
        paused: false,
        entries: Vec::new(),
    }
}

/// So many turns, every fifth of them with a long text.
pub(crate) fn turns(count: u32) -> Vec<Record> {
    let text = |at: u32| match at.is_multiple_of(5) {
        true => vec![What::Chat("x".repeat(390))],
        false => Vec::new(),
    };
    (0..count).map(|at| turn(at, false, text(at))).collect()
}

/// A batch by which the peer at this place reports a log of so many turns, in an epoch, and a snapshot.
pub(crate) fn report(
    peer: u8,
    epoch: u32,
    (complete, log_hash): (u32, LogHash),
    snapshot: Option<(u32, SnapshotHash)>,
) -> SignedBatch {
    let batch = Batch {
        turn: TurnNumber(complete + 3),
        entries: Vec::new(),
        first_numbers: Vec::new(),
        executed: complete,
        checksums: Vec::new(),
        complete,
        log_hash,
        way_ms: Vec::new(),
        load: 0,
        leaving: false,
        epoch,
        snapshot,
    };
    let run = Incarnation([peer; 16]);
    batch.seal(peer, start(1).match_id, run, &signer(peer))
}

/// All of the start's roster decide on this value, which ends an epoch.
pub(crate) fn decided(start: &Start, epoch: u32, value: Value) -> RosterChange {
    let ballot = Ballot { round: 1, peer: 0 };
    let accept = |peer: u8| {
        let accept = Accept::of(start, peer, epoch, ballot, value);
        let accept = accept.expect("a place in the start");
        (peer, accept.sign(&signer(peer)))
    };
    RosterChange {
        epoch,
        ballot,
        value,
        accepts: value.stay().iter().map(accept).collect(),
        proofs: Vec::new(),
        reopening: None,
    }
}

/// A false alarm: the whole roster goes on after so many turns, with a log of this hash.
pub(crate) fn false_alarm(start: &Start, epoch: u32, cut: u32, hash: LogHash) -> RosterChange {
    let roster = Peers::first(start.roster.len());
    decided(start, epoch, Value::of(roster, cut).with_log(hash))
}

/// What a peer has accepted in an epoch: that the first two peers go on after so many turns of this log.
pub(crate) fn accepted_at(epoch: u32, cut: u32, log_hash: LogHash) -> Accepted {
    Accepted {
        epoch,
        ballot: Ballot { round: 1, peer: 0 },
        value: Value::of(Peers::first(2), cut).with_log(log_hash),
        turns: Vec::new(),
    }
}

/// The same, of a log of some hash.
pub(crate) fn accepted(epoch: u32, cut: u32) -> Accepted {
    accepted_at(epoch, cut, LogHash([4; 16]))
}
