//! Verification by itself, at the first of some peers.

use super::*;
use crate::log::{Ballot, Bundle, Start};
use crate::session::ledger::fixture::{batch, held, ledger, signer};
use crate::{LogHash, Plan};

const SECOND: Duration = Duration::from_secs(1);
const ANOTHER: LogHash = LogHash([9; 16]);

/// A ledger of so many peers and complete turns.
fn after(turns: u32, peers: u8) -> Ledger {
    let mut ledger = ledger(peers);
    for turn in 0..turns {
        ledger.window.push(&Bundle {
            turn: TurnNumber(turn),
            plan: Plan::default(),
            paused: false,
            entries: Vec::new(),
        });
    }
    ledger
}

fn verify(ledger: &Ledger) -> Verify {
    Verify::new(&ledger.places, 0, Peers::default())
}

fn around(peers: usize, now: Duration) -> Surroundings {
    Surroundings {
        now,
        voters: Voters::new(Peers::first(peers)),
        epoch_began: Duration::ZERO,
        desynced: false,
        executed: 2,
        checksum: Checksum(1),
        extension: Duration::ZERO,
    }
}

fn excluded(findings: &[Finding]) -> Vec<&Desync> {
    let excluded = findings.iter().filter_map(|finding| match finding {
        Finding::Excluded(desync) => Some(desync),
        _ => None,
    });
    excluded.collect()
}

/// A change that ends the first epoch after so many turns.
fn change(roster: u16, cut: u32) -> RosterChange {
    RosterChange {
        epoch: 0,
        ballot: Ballot { round: 1, peer: 0 },
        value: Value::of(Peers(roster), cut),
        accepts: Vec::new(),
        proofs: Vec::new(),
        reopening: None,
    }
}

#[test]
fn equal_worlds_are_logged_once_all_have_reported() {
    let ledger = ledger(2);
    let mut verify = verify(&ledger);
    let around = around(2, Duration::ZERO);
    let report = (0, 0, Checksum(5));
    assert!(verify.report(report, &ledger, &around).is_empty());
    let findings = verify.report((1, 0, Checksum(5)), &ledger, &around);
    let [Finding::Log(0, Record::Checksum { .. })] = findings.as_slice() else {
        panic!("one record");
    };
    assert_eq!(verify.agreed(SECOND).expect("one").ago, SECOND);
}

#[test]
fn a_world_that_differs_from_two_is_excluded_once_the_logs_are_known_to_be_alike() {
    let ledger = after(2, 3);
    let mut verify = verify(&ledger);
    let around = around(3, Duration::ZERO);
    let report = |verify: &mut Verify, at: usize, turns: u32, checksum: u32| {
        verify.report((at, turns, Checksum(checksum)), &ledger, &around)
    };
    report(&mut verify, 0, 1, 5);
    report(&mut verify, 1, 1, 5);
    report(&mut verify, 2, 1, 6);
    assert!(verify.minority().is_empty(), "another log may explain it");
    let own = ledger.window.after(2).expect("kept");
    verify.expect_hash(1, 2, own);
    verify.expect_hash(2, 2, own);
    let findings = verify.check_hashes(&ledger, &around);
    let desyncs = excluded(&findings);
    assert_eq!(desyncs.len(), 1);
    assert_eq!(desyncs[0].minority, [ledger.places.key(2)]);
    assert_eq!(verify.minority(), Peers(0b100));
    // The others go on and agree on what comes next.
    report(&mut verify, 0, 2, 7);
    let findings = report(&mut verify, 1, 2, 7);
    assert!(matches!(findings.last(), Some(Finding::Log(..))));
}

#[test]
fn a_first_world_that_differs_is_excluded_once() {
    let ledger = after(2, 3);
    let mut verify = verify(&ledger);
    let around = around(3, Duration::ZERO);
    let reports = [(0, 5), (1, 5), (2, 6)];
    let findings = reports
        .map(|(at, checksum)| verify.report((at, 0, Checksum(checksum)), &ledger, &around))
        .map(|findings| excluded(&findings).len());
    assert_eq!(findings, [0, 0, 1]);
    assert_eq!(verify.minority(), Peers(0b100));
    let later = verify.check_mismatch(&ledger, &around);
    assert!(later.is_empty());
}

#[test]
fn a_decision_names_its_minority_to_those_that_stay_alone() {
    for (roster, named) in [(0b011, 1), (0b010, 0)] {
        let ledger = after(2, 3);
        let mut verify = verify(&ledger);
        let around = around(3, Duration::ZERO);
        for (at, checksum) in [(0, 5), (1, 5), (2, 6)] {
            verify.report((at, 1, Checksum(checksum)), &ledger, &around);
        }
        let value = Value {
            minority: Peers(0b100),
            ..Value::of(Peers(roster), 2)
        };
        let findings = verify.note_decision(value, &ledger, &around);
        assert_eq!(excluded(&findings).len(), named, "{roster:b}");
    }
}

#[test]
fn a_peer_that_joins_stops_for_worlds_that_differed_shortly_before_where_the_others_do() {
    for (policy, stops) in [(OnDesync::Pause, true), (OnDesync::RemoveMinority, false)] {
        let mut ledger = after(20, 3);
        let mut start = Start::clone(ledger.places.start());
        start.terms.on_desync = policy;
        ledger.places = Places::new(start.into(), 0, Vec::new());
        let mut verify = Verify::new(&ledger.places, 20, Peers(0b110));
        let around = around(3, Duration::ZERO);
        let report = |verify: &mut Verify, at: usize, turns: u32, checksum: u32| {
            verify.report((at, turns, Checksum(checksum)), &ledger, &around)
        };
        // What one peer alone reports of these turns is no claim for the recording, and older worlds are not kept.
        for (at, turns) in [(1, 19), (1, 3), (2, 3)] {
            let findings = report(&mut verify, at, turns, 5 + at as u32);
            assert!(findings.is_empty(), "{at}, {turns}");
        }
        for at in 1..3 {
            let own = ledger.window.after(20).expect("kept");
            verify.expect_hash(at, 20, own);
        }
        verify.check_hashes(&ledger, &around);
        let findings = report(&mut verify, 2, 19, 7);
        let stopped = matches!(findings.last(), Some(Finding::Desync(18, _)));
        assert_eq!(stopped, stops, "{policy:?}");
    }
}

#[test]
fn two_worlds_that_differ_stop_the_match() {
    let ledger = ledger(2);
    let mut verify = verify(&ledger);
    let around = around(2, Duration::ZERO);
    verify.report((0, 0, Checksum(5)), &ledger, &around);
    let findings = verify.report((1, 0, Checksum(6)), &ledger, &around);
    let Some(Finding::Desync(0, sides)) = findings.last() else {
        panic!("a desync");
    };
    assert_eq!(sides.len(), 2);
    assert!(minority_of(sides, around.voters).is_empty());
}

#[test]
fn a_log_of_its_own_excludes_a_peer_once_no_proof_has_come() {
    let ledger = after(2, 3);
    let mut verify = verify(&ledger);
    let own = ledger.window.after(2).expect("kept");
    verify.expect_hash(1, 2, own);
    verify.expect_hash(2, 2, ANOTHER);
    let findings = verify.check_hashes(&ledger, &around(3, Duration::ZERO));
    assert!(matches!(findings.as_slice(), [Finding::ShowDispute]));
    let at = |s: u32| around(3, SECOND * s);
    verify.advance_dispute(&ledger, &at(4));
    assert!(verify.is_disputed(), "there may be a proof yet");
    verify.advance_dispute(&ledger, &at(14));
    assert!(verify.minority().is_empty(), "the peer was out of reach");
    let findings = verify.advance_dispute(&ledger, &at(16));
    assert_eq!(excluded(&findings).len(), 1);
    assert_eq!(verify.minority(), Peers(0b100));
    // A change that is decided by now may need some turns before the next one can say which peers go.
    assert!(!verify.is_disputed());
}

#[test]
fn cheat_makes_no_minority_of_the_peer_that_it_deceived() {
    let ledger = after(2, 4);
    let mut verify = verify(&ledger);
    let own = ledger.window.after(2).expect("kept");
    for (at, hash) in [(1, own), (2, ANOTHER), (3, own)] {
        verify.expect_hash(at, 2, hash);
    }
    verify.check_hashes(&ledger, &around(4, Duration::ZERO));
    let signed = |executed| {
        let batch = Batch {
            executed,
            ..batch(2)
        };
        held(3, batch).signed
    };
    verify.convict(Equivocation(signed(0), signed(1)));
    let findings = verify.advance_dispute(&ledger, &around(4, SECOND * 30));
    let Some(Finding::Desync(1, sides)) = findings.last() else {
        panic!("no change was decided in time");
    };
    assert_eq!(sides.len(), 3);
    assert!(minority_of(sides, around(4, SECOND).voters).is_empty());
}

#[test]
fn the_log_of_a_cheat_hides_no_minority() {
    let ledger = after(2, 5);
    let mut verify = verify(&ledger);
    let around = around(5, Duration::ZERO);
    let own = ledger.window.after(2).expect("kept");
    for at in 0..5 {
        let checksum = if at == 1 { 6 } else { 5 };
        verify.report((at, 1, Checksum(checksum)), &ledger, &around);
        // The other history of the cheat, the last peer, leads to another log.
        let hash = if at == 4 { ANOTHER } else { own };
        verify.expect_hash(at, 2, hash);
    }
    verify.check_hashes(&ledger, &around);
    let evident = |verify: &Verify| verify.evident_minority(&ledger, Vec::new, around.voters);
    assert!(evident(&verify).is_empty(), "another log may explain it");
    let other = Batch {
        executed: 1,
        ..batch(2)
    };
    verify.convict(Equivocation(
        held(4, batch(2)).signed,
        held(4, other).signed,
    ));
    assert_eq!(evident(&verify), Peers(0b10));
}

#[test]
fn a_minority_is_evident_by_hashes_of_turns_that_are_held_and_not_complete() {
    let ledger = after(2, 3);
    let mut verify = verify(&ledger);
    let around = around(3, Duration::ZERO);
    for (at, checksum) in [(0, 5), (1, 5), (2, 6)] {
        verify.report((at, 1, Checksum(checksum)), &ledger, &around);
    }
    // The others were two turns further when they froze, and told of no hash between.
    for at in [1, 2] {
        verify.expect_hash(at, 4, ANOTHER);
    }
    let evident = |ahead: [u8; 2]| {
        let ahead = || ahead.map(|hash| LogHash([hash; 16])).to_vec();
        verify.evident_minority(&ledger, ahead, around.voters)
    };
    assert!(evident([8, 8]).is_empty());
    assert_eq!(evident([8, 9]), Peers(0b100));
}

#[test]
fn ends_of_another_log_exclude_no_peer_before_their_dispute() {
    let ledger = after(2, 3);
    let mut verify = verify(&ledger);
    let end = |checksum, log_hash| End {
        turns: 2,
        log_hash,
        checksum: Checksum(checksum),
        outcome: None,
        signatures: Vec::new(),
    };
    let own = ledger.window.after(2).expect("kept");
    let told = [(0, end(5, own)), (1, end(5, own)), (2, end(6, ANOTHER))];
    let (findings, ends) = verify.judge_ends(2, &told, &ledger, &around(3, SECOND));
    assert!(verify.is_disputed() && !ends);
    assert!(excluded(&findings).is_empty());
}

#[test]
fn a_batch_that_attests_another_log_is_not_kept() {
    let mut ledger = after(3, 2);
    let mut verify = verify(&ledger);
    let own = |turns| ledger.window.after(turns).expect("kept");
    let attesting = |complete, log_hash| Batch {
        complete,
        log_hash,
        ..batch(2)
    };
    let (lie, truth) = (attesting(2, ANOTHER), attesting(2, own(2)));
    verify.expect_hash(1, 3, own(3));
    verify.check_hashes(&ledger, &around(2, Duration::ZERO));
    for (batch, kept) in [(lie, 0), (truth, 1)] {
        ledger.batches.store(1, 2, held(1, batch));
        ledger.batches.advance(1);
        assert_eq!(verify.attests(3, &ledger).len(), kept);
    }
}

#[test]
fn a_log_of_its_own_matters_no_more_once_its_peer_is_out() {
    let ledger = after(2, 4);
    let mut verify = verify(&ledger);
    verify.expect_hash(2, 2, ANOTHER);
    verify.check_hashes(&ledger, &around(4, Duration::ZERO));
    let without = Surroundings {
        voters: Voters::new(Peers(0b1011)),
        ..around(4, SECOND * 6)
    };
    let findings = verify.begin_epoch(&change(0b1011, 2), Peers(0b0100), &ledger, &without);
    assert!(findings.is_empty());
    assert!(verify.advance_dispute(&ledger, &without).is_empty());
    assert!(!verify.is_disputed() && verify.minority().is_empty());
}

#[test]
fn a_peer_that_is_out_hides_no_world_that_differs() {
    let ledger = after(2, 5);
    let mut verify = verify(&ledger);
    let before = around(5, Duration::ZERO);
    // Which log it had is not known.
    verify.report((4, 2, Checksum(5)), &ledger, &before);
    let without = Surroundings {
        voters: Voters::new(Peers(0b1111)),
        ..before
    };
    verify.begin_epoch(&change(0b1111, 2), Peers(0b10000), &ledger, &without);
    for (at, checksum) in [(0, 5), (1, 5), (2, 5), (3, 6)] {
        verify.report((at, 2, Checksum(checksum)), &ledger, &without);
    }
    let own = ledger.window.after(2).expect("kept");
    (1..4).for_each(|at| verify.expect_hash(at, 2, own));
    verify.check_hashes(&ledger, &without);
    verify.check_mismatch(&ledger, &without);
    assert_eq!(verify.minority(), Peers(0b1000));
}

#[test]
fn two_signed_batches_convict_and_one_forged_does_not() {
    let mut ledger = ledger(3);
    let one = held(2, batch(2));
    let other = held(
        2,
        Batch {
            executed: 1,
            ..batch(2)
        },
    );
    let forged = held(
        2,
        Batch {
            executed: 2,
            ..batch(2)
        },
    );
    let mut forged = forged.signed;
    forged.signature[0] ^= 1;
    let mut verify = verify(&ledger);
    let weigh = |verify: &Verify, ledger: &Ledger, proof: &Equivocation| {
        verify.weigh(proof, ledger, &signer(0))
    };
    let lie = Equivocation(one.signed.clone(), forged);
    assert_eq!(weigh(&verify, &ledger, &lie), Weighed::Unproved);
    let proof = Equivocation(one.signed.clone(), other.signed.clone());
    assert_eq!(weigh(&verify, &ledger, &proof), Weighed::Proved(2));
    assert!(verify.convict(proof.clone()).is_some());
    assert!(verify.convict(proof).is_none(), "a peer is named once");
    // The own batch is shown first.
    let held_here = other.signed.clone();
    ledger.batches.store(2, 2, other);
    let shown = verify.evidence(2, &ledger).expect("a proof");
    assert_eq!(shown[0], WireBatch::of(&held_here));
}

#[test]
fn batches_of_another_holder_are_taken_where_they_lead_to_the_log_of_a_decision() {
    let (mut ledger, mut other) = (after(2, 2), after(2, 2));
    let theirs = |executed| Batch {
        executed,
        leaving: executed > 0,
        ..batch(2)
    };
    for (ledger, executed) in [(&mut ledger, 0), (&mut other, 1)] {
        for at in 0..2 {
            let batch = theirs(if at == 1 { executed } else { 0 });
            ledger.batches.store(at, 2, held(at as u8, batch));
            ledger.batches.advance(at);
        }
    }
    let fold = TurnFold::new(ledger.places.start());
    let wanted = Wanted {
        log: Some((3, other.hashes_ahead(&fold, None)[0])),
        decided: true,
        another: false,
    };
    let mut verify = verify(&ledger);
    let astray = verify.reconcile(&mut ledger, &fold, wanted, SECOND);
    assert_eq!(astray.show, Some(0), "the others are asked at once");
    let (signer, epoch) = (signer(0), 0);
    let theirs = held(1, theirs(1)).signed;
    // Peer 1 is the cheat, and peer 0 is this one: a third would tell, here the second place stands for it.
    assert!(verify.keep_alternate(1, theirs, epoch, &mut ledger, (&signer, SECOND)));
    verify.reconcile(&mut ledger, &fold, wanted, SECOND * 2);
    assert_eq!(
        ledger.hashes_ahead(&fold, None)[0],
        wanted.log.expect("one").1
    );
    assert_eq!(verify.search.show_at(), None);
}

#[test]
fn another_run_of_a_peer_has_as_long_for_a_proof_as_the_first() {
    let ledger = after(2, 3);
    let mut verify = verify(&ledger);
    let other = (2, ANOTHER);
    assert!(verify.disputes.begin(other, 1, 0, Duration::ZERO));
    verify.disputes.settle();
    verify.readmit(2, 2, 1);
    let later = SECOND * 800;
    assert!(verify.disputes.begin(other, 2, 0, later));
    assert!(!verify.disputes.was_in_reach(later));
}
