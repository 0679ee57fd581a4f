//! One peer's part by itself, with nobody at the other ends.

use super::*;
use crate::log::{RosterChange, SignedBatch};
use crate::session::Batch;
use crate::session::ledger::Held;
use crate::session::ledger::fixture::start;
use crate::session::membership::paxos::{Ballot, Joins, Peers, Value};
use crate::sign::KeyedHash;
use crate::{Incarnation, Limits, LogHash};

pub(super) const SETTINGS: Settings = Settings {
    keyframe_every: None,
    stall_limit: None,
    suspicion: Duration::from_secs(3),
};

pub(super) fn core(me: u8) -> Core {
    let signer = Box::new(KeyedHash::new(PeerId([me; 32])));
    Core::new(Limits::default(), signer, [me; 32])
}

/// The change that ends an epoch, by which a peer comes back where one is named.
pub(super) fn change(epoch: u32, roster: u16, cut: u32, joins: Option<u8>) -> RosterChange {
    let joins = joins.map(|peer| Joins {
        peer,
        incarnation: Incarnation([peer + 100; 16]),
    });
    RosterChange {
        epoch,
        ballot: Ballot { round: 1, peer: 0 },
        value: Value {
            joins,
            ..Value::of(Peers(roster), cut)
        },
        accepts: Vec::new(),
        proofs: Vec::new(),
        reopening: None,
    }
}

impl Playing {
    /// For how long a member has blocked turns of late.
    pub(in crate::session) fn blocked_by(&self, at: usize) -> Duration {
        self.members[at].blocked
    }

    /// The stall is over, and the next turn waits for a moment: so soon nobody is told of that.
    pub(in crate::session) fn next_stall(&mut self, core: &mut Core) {
        let since = self.turns.take_stall().expect("a turn waits");
        self.count_votes(core);
        self.turns.put_stall(since);
        self.count_votes(core);
    }

    pub(in crate::session) fn is_frozen(&self) -> bool {
        self.epochs.is_frozen()
    }

    /// Turns that are complete, and a later batch of somebody that is held.
    pub(in crate::session) fn held_of(&self, of: usize, turn: u32) -> Option<(u32, &Batch)> {
        let held = self.ledger.batches.get(of, turn)?;
        Some((self.ledger.window.complete(), &held.batch))
    }

    /// Has it that this batch came first.
    pub(in crate::session) fn hold_instead(&mut self, signed: SignedBatch) {
        let batch = Batch::decode(&signed.content).expect("a batch");
        let at = usize::from(signed.peer);
        let (turn, arrived) = (batch.turn.0, Duration::ZERO);
        let held = Held {
            signed,
            batch,
            arrived,
        };
        let before = self.ledger.batches.exchange(at, turn, held);
        before.expect("another one is held");
    }
}

/// The part of the first of so many peers, who has heard nothing of the others: it has the turns that are empty by rule.
fn alone_at_first(core: &mut Core, peers: u8) -> Playing {
    let settled = Settled {
        start: start(peers),
        addresses: vec![Vec::new(); usize::from(peers)],
        begin: Duration::ZERO,
    };
    let settings = Settings {
        stall_limit: Some(Duration::from_secs(20)),
        // Nobody is suspected here.
        suspicion: Duration::from_secs(600),
        ..SETTINGS
    };
    let mut playing = Playing::new(core, settled, Checksum(0), settings);
    core.now = Duration::from_millis(500);
    playing.advance(core);
    assert_eq!(playing.ledger.window.complete(), 2);
    playing
}

#[test]
fn who_is_waited_for_since_a_change_is_waited_for_anew() {
    let mut core = core(0);
    let mut playing = alone_at_first(&mut core, 4);
    core.now = Duration::from_secs(19);
    playing.advance(&mut core);
    assert!(playing.turns.stalled_since().is_some() && !playing.is_over());
    // The others are still to send what they have for the turn that waits.
    playing.epochs.decide(change(0, 0b0111, 2, None));
    playing.begin_epoch(&mut core);
    core.now = Duration::from_secs(30);
    playing.advance(&mut core);
    assert!(playing.turns.stalled_since().is_some() && !playing.is_over());
    core.now = Duration::from_secs(40);
    playing.advance(&mut core);
    assert!(playing.is_over());
}

#[test]
fn who_is_shown_nothing_that_leads_to_the_log_of_a_decision_is_out() {
    let mut core = core(0);
    let settled = Settled {
        start: start(4),
        addresses: vec![Vec::new(); 4],
        begin: Duration::ZERO,
    };
    let mut playing = Playing::new(&mut core, settled, Checksum(0), SETTINGS);
    let decided = change(0, 0b1111, 1, None);
    playing.epochs.decide(RosterChange {
        value: decided.value.with_log(LogHash([9; 16])),
        ..decided
    });
    for ms in (0..20_000).step_by(50) {
        core.now = Duration::from_millis(ms);
        playing.advance(&mut core);
        assert_eq!(
            playing.ledger.window.complete(),
            0,
            "no turn of another log is executed"
        );
        assert!(playing.is_over() || ms < 12_000, "{ms} ms");
        assert!(!playing.is_over() || ms > 5_000, "{ms} ms");
    }
}
