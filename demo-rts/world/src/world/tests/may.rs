//! What a screen says that a seat may have, and what the world then gives.

use super::*;
use crate::bot::{Bot, Level};
use std::collections::BTreeSet;

/// A match of two bots, without fog or with it, looked at every so often.
fn played(fog: bool, mut look: impl FnMut(&World)) {
    let setup = Setup {
        fog,
        size: Some(48),
        ..Setup::default()
    };
    let mut w = World::new(&start(2, 3, setup));
    let mut bots = [A, B].map(|seat| Bot::new(seat, Level::Hard));
    for tick in 0..9_000 {
        let mut entries = Vec::new();
        for bot in &mut bots {
            if bot.is_due(&w) {
                let seat = bot.seat();
                let commands = bot.think(&w);
                entries.extend(
                    commands
                        .into_iter()
                        .map(|command| Entry::Command { seat, command }),
                );
            }
        }
        w.step(&entries, &mut Vec::new());
        if tick % 600 == 0 {
            look(&w);
        }
    }
}

fn jobs() -> impl Iterator<Item = (Job, fn(Id, Job) -> Command)> {
    let train: fn(Id, Job) -> Command = |building, job| match job {
        Job::Train(kind) => Command::Train { building, kind },
        Job::Research(upgrade) => Command::Research { building, upgrade },
    };
    let kinds = (0..=u8::MAX).map_while(Kind::from_number).map(Job::Train);
    let upgrades = Upgrade::ALL.into_iter().map(Job::Research);
    kinds.chain(upgrades).map(move |job| (job, train))
}

fn each_came_up<const N: usize>(
    answers: &BTreeSet<Option<String>>,
    expected: [Option<Refusal>; N],
) {
    for why in expected {
        let why = why.map(|why| why.to_string());
        assert!(answers.contains(&why), "{why:?} never came up: {answers:?}");
    }
}

#[test]
fn the_world_queues_exactly_what_may_enqueue_allows() {
    let mut answers = BTreeSet::new();
    played(true, |w| {
        for building in w.buildings() {
            for (job, command) in jobs() {
                for seat in [A, B] {
                    let may = w.may_enqueue(seat, building.id, job);
                    let mut tried = w.clone();
                    let done = issue(&mut tried, seat, command(building.id, job));
                    assert_eq!(may, done, "{job:?} at {building:?}");
                    let paid = w.seat(seat).unwrap().gold - tried.seat(seat).unwrap().gold;
                    let price = w.price(seat, job).0;
                    assert_eq!(paid, if may.is_ok() { price } else { 0 });
                    answers.insert(may.err().map(|why| why.to_string()));
                }
            }
        }
    });
    each_came_up(
        &answers,
        [
            None,
            Some(Refusal::NoSuchBuilding),
            Some(Refusal::CannotTrain),
            Some(Refusal::AlreadyKnown),
            Some(Refusal::NeedsBuilding),
            Some(Refusal::NoGold),
        ],
    );
}

#[test]
fn the_world_builds_exactly_where_may_found_allows() {
    let mut answers = BTreeSet::new();
    played(false, |w| {
        let seen = w.seen_by(A).unwrap();
        let worker = w
            .units()
            .find(|unit| unit.seat == A && unit.kind == Kind::Worker);
        let worker: Vec<Id> = worker.map(|unit| unit.id).into_iter().collect();
        for kind in [Kind::House, Kind::Stable, Kind::TownHall] {
            for at in (0..50 * 50).step_by(7) {
                let at = Tile::new(at % 50, at / 50);
                let may = seen.may_found(&worker, kind, at);
                let mut tried = w.clone();
                let units = w.select(A, worker.iter().copied());
                let done = issue(&mut tried, A, Command::Build { units, kind, at });
                assert_eq!(may, done, "{kind:?} at {at:?}");
                let elsewhere = w.may_build(A, kind);
                assert!(may.is_err() || elsewhere.is_ok());
                answers.insert(may.err().map(|why| why.to_string()));
            }
        }
    });
    each_came_up(
        &answers,
        [
            None,
            Some(Refusal::OffTheMap),
            Some(Refusal::NoRoom),
            Some(Refusal::NeedsBuilding),
            Some(Refusal::NoWood),
        ],
    );
}

#[test]
fn only_an_own_worker_founds_a_building() {
    let mut w = meadow();
    let at = Tile::new(22, 20);
    let soldier = put(&mut w, Kind::Swordsman, 0, 20, 20);
    let other = put(&mut w, Kind::Worker, 1, 20, 22);
    for units in [vec![], vec![soldier], vec![other]] {
        let may = w.seen_by(A).unwrap().may_found(&units, Kind::House, at);
        assert_eq!(may, Err(Refusal::NoUnit));
    }
    let own = put(&mut w, Kind::Worker, 0, 20, 24);
    let units = [soldier, other, own];
    let may = w.seen_by(A).unwrap().may_found(&units, Kind::House, at);
    assert_eq!(may, Ok(()));
    assert_eq!(w.may_build(A, Kind::Knight), Err(Refusal::CannotTrain));
}

/// The worker may stand under a building that was completed around it.
#[test]
fn a_worker_on_blocked_ground_founds_nothing_beside_it() {
    let mut w = meadow();
    let hall = hall(&w, A).tile;
    let own = put(&mut w, Kind::Worker, 0, hall.x + 1, hall.y + 1);
    for x in hall.x.saturating_sub(4)..hall.x + 8 {
        for y in hall.y.saturating_sub(4)..hall.y + 8 {
            let at = Tile::new(x, y);
            let may = w.seen_by(A).unwrap().may_found(&[own], Kind::House, at);
            let mut tried = w.clone();
            let (units, kind) = (w.select(A, [own]), Kind::House);
            let done = issue(&mut tried, A, Command::Build { units, kind, at });
            assert_eq!(may, done, "{at:?}");
        }
    }
}

#[test]
fn a_defeated_seat_may_have_nothing() {
    let mut w = meadow();
    let own = put(&mut w, Kind::Worker, 0, 20, 24);
    let hall = hall(&w, A).id;
    issue(&mut w, A, Command::Surrender).unwrap();
    let out = Err(Refusal::Defeated);
    assert_eq!(w.may_enqueue(A, hall, Job::Train(Kind::Worker)), out);
    assert_eq!(w.may_build(A, Kind::House), out);
    let found = w.seen_by(A).unwrap();
    assert_eq!(found.may_found(&[own], Kind::House, Tile::new(22, 20)), out);
    assert_eq!(w.may_build(Seat(5), Kind::House), out);
}
