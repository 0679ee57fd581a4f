//! How matches end.

use super::*;
use crate::world::seats::Held;

#[test]
fn surrender_and_resignation_end_the_match() {
    for resigns in [false, true] {
        let mut w = world(2, 9);
        let entry = if resigns {
            Entry::Seat {
                seat: A,
                state: SeatState::Resigned,
            }
        } else {
            Entry::Command {
                seat: A,
                command: Command::Surrender,
            }
        };
        let mut effects = Vec::new();
        w.step(&[entry], &mut effects);
        assert!(effects.contains(&Effect::Defeated { seat: A }));
        assert_eq!(w.outcome(), Some(Outcome { winner: Some(B) }));
        assert!(w.units().all(|unit| unit.seat == B));
        assert_eq!(issue(&mut w, A, Command::Surrender), Err(Refusal::Defeated));
    }
}

#[test]
fn two_defeats_at_once_are_a_draw() {
    let mut w = world(2, 9);
    let entries = [A, B].map(|seat| Entry::Command {
        seat,
        command: Command::Surrender,
    });
    w.step(&entries, &mut Vec::new());
    assert_eq!(w.outcome(), Some(Outcome { winner: None }));
}

#[test]
fn a_seat_that_lost_everything_is_out_and_one_alone_plays_on() {
    let mut w = meadow();
    w.buildings.hp[1] = 0;
    let effects = run(&mut w, 1);
    assert!(effects.contains(&Effect::Defeated { seat: B }));
    assert_eq!(w.outcome(), Some(Outcome { winner: Some(A) }));
    let mut alone = world(1, 3);
    run(&mut alone, 50);
    assert_eq!(alone.outcome(), None);
}

#[test]
fn an_abandoned_seat_can_be_taken_up_again_for_a_while() {
    let mut w = meadow();
    let to = |state| [Entry::Seat { seat: B, state }];
    w.step(&to(SeatState::Idle), &mut Vec::new());
    run(&mut w, RULES.return_ticks - 2);
    assert_eq!(w.outcome(), None);
    w.step(&to(SeatState::Played), &mut Vec::new());
    run(&mut w, RULES.return_ticks);
    assert_eq!(w.outcome(), None);
    w.step(&to(SeatState::Idle), &mut Vec::new());
    run(&mut w, RULES.return_ticks);
    assert_eq!(w.outcome(), Some(Outcome { winner: Some(A) }));
}

#[test]
fn an_ai_seat_plays_by_itself() {
    let mut w = world(2, 4);
    let entries = [Entry::Seat {
        seat: B,
        state: SeatState::Ai,
    }];
    w.step(&entries, &mut Vec::new());
    run(&mut w, 2_000);
    assert!(w.seat(B).unwrap().trained > 3);
    assert_eq!(w.seat(A).unwrap().trained, 0);
    assert_eq!(w.seats.held[1], Held::Ai);
}

#[test]
fn the_highest_score_wins_at_the_last_tick() {
    let setup = Setup {
        minutes: 1,
        ..Setup::default()
    };
    let mut w = World::new(&start(2, 1, setup));
    assert_eq!(w.setup().last_tick(), 1_200);
    let mut even = w.clone();
    run(&mut even, 1_200);
    assert_eq!(even.outcome(), Some(Outcome { winner: None }));
    w.seats.earn(1, 100, 0);
    run(&mut w, 1_199);
    assert_eq!(w.outcome(), None);
    run(&mut w, 1);
    assert_eq!(w.outcome(), Some(Outcome { winner: Some(B) }));
}

#[test]
fn rules_are_named_by_the_table() {
    let setup = Setup::default();
    assert_eq!(World::rules(&setup), World::rules(&setup));
    assert_ne!(World::rules(&setup), RulesId([0; 16]));
}
