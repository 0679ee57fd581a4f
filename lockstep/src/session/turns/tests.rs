//! Turns by themselves, of the first of some peers.

use super::*;
use crate::log::{Peers, Record, SignedBatch};
use crate::session::ledger::fixture::{batch, held, ledger, signer};
use crate::{Fault, Incarnation};

const MS: Duration = Duration::from_millis(1);

fn turns(ledger: &Ledger, stall_limit: Option<Duration>) -> Turns {
    let beginning = Beginning {
        fold: TurnFold::new(ledger.places.start()),
        world: World {
            turns: 0,
            ticks: 0,
            executed: 0,
            checksum: Checksum(0),
        },
        reports_from: 0,
        most_unexecuted: Limits::default().unexecuted_turns,
        due: Duration::ZERO,
    };
    Turns::new(beginning, ledger, None, stall_limit, Duration::ZERO)
}

/// Nothing holds turns up.
fn open(now: Duration, peers: usize) -> Gate {
    Gate {
        now,
        voters: Voters::new(Peers::first(peers)),
        epoch: 0,
        is_closed: false,
        has_ended: false,
        is_frozen: false,
        is_fenced: false,
        is_disputed: false,
        cut: None,
        says_leaving: false,
        said_leaving: false,
    }
}

/// Seals and completes what is due. How many turns.
fn run(turns: &mut Turns, gate: &Gate, ledger: &mut Ledger) -> u32 {
    let (signer, limits) = (signer(0), Limits::default());
    let seal = Seal {
        signer: &signer,
        run: Incarnation([0; 16]),
        limits: &limits,
    };
    let before = ledger.window.complete();
    loop {
        if turns.is_due(gate, ledger) {
            turns.seal_due(gate, ledger, seal);
        }
        match turns.advance(gate, ledger) {
            Step::Complete(_) => turns.hand_out(gate, &ledger.window),
            Step::Idle | Step::Stalled(_) => return ledger.window.complete() - before,
        };
    }
}

fn arrive(turns: &mut Turns, ledger: &mut Ledger, signed: SignedBatch) -> Collected {
    let signer = signer(0);
    let arrival = Arrival {
        is_direct: true,
        round_trip: None,
        now: MS,
        epoch: 0,
        cheats: Peers::default(),
        signer: &signer,
    };
    let collected = turns.collect(signed, ledger, &arrival);
    if let Collected::Held { at, .. } = collected {
        while ledger.batches.advance(at).is_some() {}
    }
    collected
}

#[test]
fn a_turn_is_complete_once_all_batches_are_held() {
    let mut ledger = ledger(2);
    let mut turns = turns(&ledger, None);
    let gate = open(MS * 700, 2);
    assert_eq!(run(&mut turns, &gate, &mut ledger), 2, "empty by rule");
    assert_eq!(turns.stalled_since(), Some(MS * 700), "looked late");
    assert_eq!(ledger.batches.held(0), 4, "sealed ahead by the delay");
    let theirs = held(1, batch(2)).signed;
    let collected = arrive(&mut turns, &mut ledger, theirs.clone());
    assert!(matches!(
        collected,
        Collected::Held {
            at: 1,
            turn: 2,
            wrong_seat: false
        }
    ));
    let gate = open(MS * 1_000, 2);
    assert_eq!(run(&mut turns, &gate, &mut ledger), 1);
    assert_eq!(turns.late(MS * 1_000), (1, MS * 300));
    assert_eq!(arrive(&mut turns, &mut ledger, theirs), Collected::Nothing);
}

#[test]
fn a_gate_that_is_shut_completes_and_seals_nothing() {
    let shut = [
        |gate: &mut Gate| gate.is_frozen = true,
        |gate: &mut Gate| gate.is_fenced = true,
        |gate: &mut Gate| gate.has_ended = true,
        |gate: &mut Gate| gate.is_closed = true,
        |gate: &mut Gate| gate.is_disputed = true,
        |gate: &mut Gate| gate.cut = Some((0, None)),
    ];
    for shut in shut {
        let mut ledger = ledger(2);
        let mut turns = turns(&ledger, None);
        let mut gate = open(MS * 100, 2);
        shut(&mut gate);
        assert_eq!(run(&mut turns, &gate, &mut ledger), 0);
        if gate.is_frozen || gate.is_fenced {
            assert_eq!(ledger.batches.held(0), 2, "nothing is sealed");
        }
    }
}

#[test]
fn turns_up_to_a_cut_wait_for_the_batches_that_lead_to_its_log() {
    let mut ledger = ledger(2);
    let mut turns = turns(&ledger, None);
    let mut gate = open(MS * 500, 2);
    let another = LogHash([9; 16]);
    gate.cut = Some((1, Some(another)));
    assert_eq!(run(&mut turns, &gate, &mut ledger), 0);
    let ahead = ledger.hashes_ahead(turns.fold(), None);
    gate.cut = Some((1, Some(ahead[0])));
    assert_eq!(run(&mut turns, &gate, &mut ledger), 1, "up to the cut");
}

#[test]
fn batches_that_do_not_belong_are_refused() {
    let mut ledger = ledger(2);
    let mut turns = turns(&ledger, None);
    let forged = SignedBatch {
        signature: [0; 64],
        ..held(1, batch(2)).signed
    };
    let fault = Collected::Fault(Fault::Signature);
    assert_eq!(arrive(&mut turns, &mut ledger, forged), fault);
    let start = ledger.places.start();
    let (match_id, run) = (start.match_id, start.roster[1].incarnation);
    let by_another_member = batch(2).seal(1, match_id, run, &signer(0));
    assert_eq!(arrive(&mut turns, &mut ledger, by_another_member), fault);
    let far = held(1, batch(500)).signed;
    assert_eq!(arrive(&mut turns, &mut ledger, far), Collected::OutOfReach);
    let later_epoch = held(
        1,
        crate::log::Batch {
            epoch: 1,
            ..batch(2)
        },
    )
    .signed;
    assert_eq!(
        arrive(&mut turns, &mut ledger, later_epoch),
        Collected::Nothing
    );
    arrive(&mut turns, &mut ledger, held(1, batch(2)).signed);
    let other = held(
        1,
        crate::log::Batch {
            executed: 1,
            ..batch(2)
        },
    )
    .signed;
    assert!(matches!(
        arrive(&mut turns, &mut ledger, other),
        Collected::Differs(_)
    ));
}

#[test]
fn a_peer_that_leaves_says_so_once_and_seals_no_more() {
    let mut ledger = ledger(2);
    let mut turns = turns(&ledger, None);
    let gate = Gate {
        says_leaving: true,
        ..open(MS, 2)
    };
    let (signer, limits) = (signer(0), Limits::default());
    let seal = Seal {
        signer: &signer,
        run: Incarnation([0; 16]),
        limits: &limits,
    };
    let sealed = turns.seal_leaving(&gate, &mut ledger, seal);
    assert_eq!((sealed.batches, sealed.leaving), (1, Some(2)));
    let said = Gate {
        said_leaving: true,
        ..gate
    };
    assert_eq!(
        turns.seal_leaving(&said, &mut ledger, seal),
        Sealed::default()
    );
    assert_eq!(turns.seal_due(&said, &mut ledger, seal), Sealed::default());
}

#[test]
fn retracted_turns_run_again_from_a_snapshot() {
    let mut ledger = ledger(3);
    let mut turns = turns(&ledger, None);
    assert_eq!(turns.first_world(), Some(Output::Save { turns: 0 }));
    turns.saved(0, Arc::from([1; 4]), None, &Limits::default());
    turns.issue(Seat(0), vec![7]);
    let gate = open(MS * 500, 3);
    run(&mut turns, &gate, &mut ledger);
    for at in 1..3 {
        arrive(&mut turns, &mut ledger, held(at, batch(2)).signed);
    }
    assert_eq!(run(&mut turns, &gate, &mut ledger), 1);
    assert_eq!(turns.fold().next_number(Seat(0)), 1, "the command counted");
    let out = turns.retract(2, 0, &mut ledger).expect("not too far back");
    assert_eq!(ledger.window.complete(), 2);
    assert_eq!(turns.fold().next_number(Seat(0)), 0);
    let [
        Output::Tail(_),
        Output::Load { turns: 0, .. },
        Output::Execute(_),
        Output::Execute(_),
    ] = out.as_slice()
    else {
        panic!("the world begins again: {out:?}");
    };
    assert!(turns.is_loading());
    assert!(
        turns.retract(0, 1, &mut ledger).is_none(),
        "before its epoch"
    );
    // The same batches lead to the same turn again.
    turns.world_loaded(Checksum(0));
    let again = run(&mut turns, &open(MS * 700, 3), &mut ledger);
    assert_eq!((again, turns.fold().next_number(Seat(0))), (1, 1));
}

#[test]
fn the_wait_for_a_turn_has_a_limit_but_for_a_peer_alone() {
    let second = Duration::from_secs(1);
    let ledger = ledger(2);
    let together = turns(&ledger, Some(second * 20));
    assert!(!together.exceeds_limit(second, (Duration::ZERO, Duration::ZERO), second * 20));
    assert!(together.exceeds_limit(second, (Duration::ZERO, Duration::ZERO), second * 21));
    assert!(!together.exceeds_limit(second, (second, Duration::ZERO), second * 21));
    // After votes late in a stall the others have their time.
    assert!(!together.exceeds_limit(second, (second, second * 40), second * 40));
    assert!(together.exceeds_limit(second, (second, second * 40), second * 41));
    let alone = super::super::ledger::fixture::ledger(1);
    let alone = turns(&alone, Some(second * 20));
    assert!(!alone.exceeds_limit(second, (Duration::ZERO, Duration::ZERO), second * 900));
}

#[test]
fn a_batch_reports_the_worlds_executed_since_the_last_one() {
    let mut ledger = ledger(2);
    let mut turns = turns(&ledger, None);
    let gate = open(MS * 300, 2);
    run(&mut turns, &gate, &mut ledger);
    let sealed = ledger.batches.get(0, 2).expect("sealed");
    assert_eq!(
        (sealed.batch.executed, sealed.batch.checksums.len()),
        (0, 1)
    );
    for checksum in [5, 6] {
        let told = (Checksum(checksum), MS);
        let executed = turns.world_executed(told, false, &ledger, MS * 301);
        assert!(executed.expect("the match goes on").is_new);
    }
    arrive(&mut turns, &mut ledger, held(1, batch(2)).signed);
    run(&mut turns, &open(MS * 700, 2), &mut ledger);
    let sealed = ledger.batches.get(0, 3).expect("sealed");
    assert_eq!(sealed.batch.executed, 1);
    assert_eq!(sealed.batch.checksums, [Checksum(5), Checksum(6)]);
    let ended = turns.hand_out(&open(MS * 500, 2), &ledger.window);
    assert!(
        !ended
            .iter()
            .any(|out| matches!(out, Output::Append(Record::End(_))))
    );
}

#[test]
fn a_world_above_the_limit_is_told_of_once() {
    let ledger = ledger(2);
    let mut turns = turns(&ledger, None);
    let told = [10, 11, 12].map(|bytes| turns.outgrows(bytes, 10));
    assert_eq!(told, [false, true, false]);
}
