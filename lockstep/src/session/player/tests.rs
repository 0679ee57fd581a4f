//! One player by itself, with no peer at the other ends.

use super::*;
use crate::log::{Ballot, Batch, Peers, Readmission, RosterChange, TurnFold, Value};
use crate::session::ledger::fixture::start;
use crate::session::lobby::Settled;
use crate::session::rejoin::Returned;
use crate::sign::KeyedHash;
use crate::{Incarnation, Limits, LogHash};

const SETTINGS: Settings = Settings {
    keyframe_every: None,
    stall_limit: None,
    suspicion: Duration::from_secs(3),
};

fn core(me: u8) -> Core {
    let signer = Box::new(KeyedHash::new(PeerId([me; 32])));
    Core::new(Limits::default(), signer, [me; 32])
}

/// The change that ends an epoch, by which a peer comes back where one is named.
fn change(epoch: u32, roster: u16, cut: u32, joins: Option<u8>) -> RosterChange {
    let joins = joins.map(|peer| Readmission {
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

impl Player {
    /// For how long a peer has blocked turns of late.
    pub(in crate::session) fn blocked_by(&self, at: usize) -> Duration {
        self.membership.blocked_by(at)
    }

    /// The stall is over, and the next turn waits for a moment: so soon the game is not told of that.
    pub(in crate::session) fn next_stall(&mut self, core: &mut Core) {
        let since = self.turns.take_stall().expect("a turn waits");
        for _ in 0..2 {
            let around = self.around_membership(core.now);
            let told = self.membership.count_extensions(&around, &self.ledger);
            core.out.extend(told.map(Output::Event));
            self.turns.put_stall(since);
        }
    }

    pub(in crate::session) fn is_frozen(&self) -> bool {
        self.membership.is_frozen()
    }

    /// Turns that are complete, and a later batch of a peer that is held.
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

/// The first of so many peers, which has heard nothing of the others: it has the turns that are empty by rule.
fn alone_at_first(core: &mut Core, peers: u8) -> Player {
    let settled = Settled {
        start: start(peers),
        addresses: vec![Vec::new(); usize::from(peers)],
        begin: Duration::ZERO,
    };
    let settings = Settings {
        stall_limit: Some(Duration::from_secs(20)),
        // No peer is suspected here.
        suspicion: Duration::from_secs(600),
        ..SETTINGS
    };
    let mut player = Player::new(core, settled, Checksum(0), settings);
    core.now = Duration::from_millis(500);
    player.advance(core);
    assert_eq!(player.ledger.window.complete(), 2);
    player
}

#[test]
fn a_peer_that_is_waited_for_since_a_change_is_waited_for_anew() {
    let mut core = core(0);
    let mut player = alone_at_first(&mut core, 4);
    core.now = Duration::from_secs(19);
    player.advance(&mut core);
    assert!(player.turns.stalled_since().is_some() && !player.is_over());
    // The others are still to send what they have for the turn that waits.
    player.membership.decide(change(0, 0b0111, 2, None));
    player.begin_epoch(&mut core);
    core.now = Duration::from_secs(30);
    player.advance(&mut core);
    assert!(player.turns.stalled_since().is_some() && !player.is_over());
    core.now = Duration::from_secs(40);
    player.advance(&mut core);
    assert!(player.is_over());
}

#[test]
fn a_peer_that_is_shown_nothing_that_leads_to_the_log_of_a_decision_is_out() {
    let mut core = core(0);
    let settled = Settled {
        start: start(4),
        addresses: vec![Vec::new(); 4],
        begin: Duration::ZERO,
    };
    let mut player = Player::new(&mut core, settled, Checksum(0), SETTINGS);
    let decided = change(0, 0b1111, 1, None);
    player.membership.decide(RosterChange {
        value: decided.value.with_log(LogHash([9; 16])),
        ..decided
    });
    for ms in (0..20_000).step_by(50) {
        core.now = Duration::from_millis(ms);
        player.advance(&mut core);
        let complete = player.ledger.window.complete();
        assert_eq!(complete, 0, "no turn of another log is executed");
        assert!(player.is_over() || ms < 12_000, "{ms} ms");
        assert!(!player.is_over() || ms > 5_000, "{ms} ms");
    }
}

#[test]
fn a_joiner_waits_for_no_batch_that_an_earlier_joiner_never_seals() {
    let start = start(4);
    let plan = start.terms.plan;
    let returned = Returned {
        me: 3,
        addresses: vec![Vec::new(); 4],
        unheard_since: vec![None; 4],
        changes: vec![
            change(0, 0b0011, 90, None),
            change(1, 0b0111, 100, Some(2)),
            change(2, 0b1111, 101, Some(3)),
        ],
        branches: Vec::new(),
        left: Peers::default(),
        course: TurnFold::new(&start),
        start: Arc::new(start),
        ticks: 0,
        past: Vec::new(),
        hashes: vec![LogHash([0; 16])],
        chained: LogHash([0; 16]),
        executed: 101,
        checksum: Checksum(0),
        due: Duration::ZERO,
        early: Vec::new(),
    };
    let player = Player::returned(&mut core(3), returned, SETTINGS);
    let delay = u32::from(plan.delay_turns);
    let firsts = [(0, 101), (1, 101), (2, 100 + delay), (3, 101 + delay)];
    for (at, first) in firsts {
        let batches = &player.ledger.batches;
        let first_missing = (101..).find(|turn| !batches.has(at, *turn));
        assert_eq!(first_missing, Some(first), "of peer {at}");
        assert_eq!(batches.held(at), first, "of peer {at}");
    }
}

#[test]
fn a_peer_that_promises_has_attested_the_turns_before_its_epoch() {
    let mut core = core(0);
    let settled = Settled {
        start: start(3),
        addresses: vec![Vec::new(); 3],
        begin: Duration::ZERO,
    };
    let mut player = Player::new(&mut core, settled, Checksum(0), SETTINGS);
    core.now = Duration::from_millis(300);
    player.advance(&mut core);
    let complete = player.ledger.window.complete();
    assert_eq!(complete, 2, "turns that are empty by rule");
    player.membership.decide(change(0, 0b111, 2, None));
    player.begin_epoch(&mut core);
    let attests = |player: &Player| {
        let newest = player.ledger.batches.newest_within(0, |_| u32::MAX);
        newest.map(|held| held.batch.complete)
    };
    assert_eq!(attests(&player), Some(1));
    // A peer has left: the next change begins at once, before the turn is over that the next batch is sealed after.
    player.ledger.batches.leave(2, 2);
    player.advance_membership(&mut core);
    assert!(player.membership.is_frozen());
    assert_eq!(attests(&player), Some(2));
    let newest = player.ledger.batches.newest(0);
    assert_eq!(newest.map(|held| held.batch.epoch), Some(1));
}
