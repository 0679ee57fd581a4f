//! What tests build a match with.

use super::{Batches, Held, Ledger, LogWindow, Places, Tenure};
use crate::log::{Batch, RosterPeer, Start, Terms, start_hash};
use crate::sign::KeyedHash;
use crate::{Incarnation, LogHash, MatchId, PeerId, TurnNumber};
use sim::{RulesId, Seat, Seed};
use std::sync::Arc;
use std::time::Duration;

/// How a match of so many peers began, each with the seat of its place.
pub(crate) fn start(peers: u8) -> Start {
    let place = |at: u8| RosterPeer {
        peer: PeerId([at; 32]),
        incarnation: Incarnation([at; 16]),
        name: String::new(),
        seats: vec![Seat(at)],
        share: [0; 32],
    };
    Start {
        protocol: crate::PROTOCOL,
        match_id: MatchId([1; 16]),
        rules: RulesId([0; 16]),
        setup: [].into(),
        seed: Seed([0; 32]),
        terms: Terms {
            seats: peers,
            ..Terms::default()
        },
        roster: (0..peers).map(place).collect(),
        build: String::new(),
        signatures: Vec::new(),
    }
}

/// The ledger of the first of so many peers, before any turn.
pub(crate) fn ledger(peers: u8) -> Ledger {
    ledger_of(0, peers)
}

/// The ledger of one of so many peers, before any turn.
pub(crate) fn ledger_of(me: usize, peers: u8) -> Ledger {
    let start = Arc::new(start(peers));
    let first = u32::from(start.terms.plan.delay_turns);
    let tenures = (0..peers).map(|_| Tenure::new(0, first, None));
    Ledger {
        batches: Batches::new(tenures.collect()),
        window: LogWindow::new(0, &[start_hash(&start)], 64),
        places: Places::new(start, me, Vec::new()),
    }
}

pub(crate) fn signer(at: u8) -> KeyedHash {
    KeyedHash::new(PeerId([at; 32]))
}

/// An empty batch that reports nothing.
pub(crate) fn batch(turn: u32) -> Batch {
    Batch {
        turn: TurnNumber(turn),
        entries: Vec::new(),
        first_numbers: Vec::new(),
        executed: 0,
        checksums: Vec::new(),
        complete: 0,
        log_hash: LogHash([0; 16]),
        way_ms: Vec::new(),
        load: 0,
        leaving: false,
        epoch: 0,
        snapshot: None,
    }
}

/// A batch as its peer signs it, in a match of [`start`].
pub(crate) fn held(at: u8, batch: Batch) -> Held {
    let run = Incarnation([at; 16]);
    Held {
        signed: batch.seal(at, MatchId([1; 16]), run, &signer(at)),
        batch,
        arrived: Duration::ZERO,
    }
}
