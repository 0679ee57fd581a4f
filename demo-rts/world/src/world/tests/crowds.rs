//! Many units at once: the same on every number of threads, through gaps, and to full or unreachable places.

use super::*;
use crate::world::setup::Density;
use std::num::NonZeroUsize;

/// Every scenario, small enough for a test.
fn scenarios() -> impl Iterator<Item = Setup> {
    let swarm = |density| Scenario::Swarm {
        units: 1_500,
        density,
    };
    [
        Scenario::Skirmish { units_per_seat: 60 },
        Scenario::Archers { units_per_seat: 40 },
        Scenario::March { units: 400 },
        swarm(Density::Sparse),
        swarm(Density::Normal),
        swarm(Density::Dense),
    ]
    .into_iter()
    .map(|scenario| Setup {
        map_seed: Some(4),
        scenario,
        ..Setup::default()
    })
}

#[test]
fn threads_and_instruction_sets_change_nothing() {
    for setup in scenarios() {
        let begin = start(4, 7, setup.clone());
        let mut sums = Vec::new();
        for (threads, plain) in [(1, false), (1, true), (2, false), (3, true), (8, false)] {
            let mut w = World::new(&begin);
            w.set_threads(NonZeroUsize::new(threads).expect("some"));
            w.set_plain(plain);
            let sum = (0..4).map(|_| {
                run(&mut w, 40);
                w.checksum()
            });
            sums.push(sum.collect::<Vec<_>>());
        }
        let first = &sums[0];
        assert!(sums.iter().all(|sum| sum == first), "{setup:?}: {sums:?}");
    }
}

#[test]
fn a_fight_or_march_that_is_loaded_goes_on_alike() {
    for setup in scenarios() {
        let begin = start(4, 7, setup.clone());
        let mut w = World::new(&begin);
        run(&mut w, 70);
        let busy = w.units.way.iter().any(|way| *way != Way::None) || w.projectiles.len() > 0;
        assert_eq!(busy, setup.scenario.is_staged(), "{setup:?}");
        let mut loaded = World::load(&bytes(&w)).unwrap_or_else(|e| panic!("{setup:?}: {e}"));
        for tick in 0..90 {
            run(&mut w, 1);
            run(&mut loaded, 1);
            assert_eq!(w.checksum(), loaded.checksum(), "{setup:?}, tick {tick}");
            if tick % 13 == 0 {
                loaded = World::load(&bytes(&loaded)).expect("what was saved loads");
            }
        }
    }
}

#[test]
fn the_toolkit_finds_fights_and_marches_deterministic() {
    for setup in scenarios() {
        let begin = start(4, 7, setup);
        sim::check::<World>(&begin).ticks(60).seeds(0..1).assert();
    }
}

fn group(w: &mut World, kind: Kind, seat: u8, count: u16, left: u16, top: u16) -> Vec<Id> {
    (0..count)
        .map(|n| put(w, kind, seat, left + n % 8, top + n / 8))
        .collect()
}

fn send(w: &mut World, seat: Seat, units: &[Id], to: Tile) {
    let units = w.select(seat, units.to_vec());
    issue(w, seat, Command::Move { units, to }).expect("they live");
}

fn all_idle(w: &World) -> bool {
    w.units().all(|unit| unit.order == Order::Idle)
}

#[test]
fn crowds_that_meet_head_on_in_a_gap_of_two_tiles_pass() {
    let mut w = meadow();
    let wall_tiles = (0..64).filter(|y| !(30..32).contains(y));
    wall(&mut w, wall_tiles.map(|y| Tile::new(31, y)));
    let left = group(&mut w, Kind::Swordsman, 0, 48, 18, 27);
    let right = group(&mut w, Kind::Swordsman, 0, 48, 38, 27);
    send(&mut w, A, &left, Tile::new(48, 30));
    send(&mut w, A, &right, Tile::new(14, 30));
    run_until(&mut w, 1_500, all_idle);
    assert!(left.iter().all(|id| w.unit(*id).unwrap().tile.x > 31));
    assert!(right.iter().all(|id| w.unit(*id).unwrap().tile.x < 31));
}

#[test]
fn a_unit_sent_to_a_crowded_place_arrives() {
    let mut w = meadow();
    let to = Tile::new(40, 40);
    let first = group(&mut w, Kind::Archer, 0, 60, 10, 10);
    send(&mut w, A, &first, to);
    run_until(&mut w, 1_500, all_idle);
    let second = group(&mut w, Kind::Swordsman, 0, 60, 10, 10);
    let third = group(&mut w, Kind::Worker, 0, 60, 50, 10);
    send(&mut w, A, &second, to);
    send(&mut w, A, &third, to);
    run_until(&mut w, 900, all_idle);
    for unit in w.units() {
        assert!(unit.tile.king_steps(to) <= 11, "{unit:?}");
    }
}

#[test]
fn a_unit_without_a_way_goes_as_near_as_it_can_and_rests() {
    let mut w = meadow();
    let island = w.map.ring(Tile::new(44, 28), 8).collect::<Vec<_>>();
    wall(&mut w, island);
    let units = group(&mut w, Kind::Swordsman, 0, 24, 12, 28);
    let to = Tile::new(48, 32);
    send(&mut w, A, &units, to);
    run_until(&mut w, 900, all_idle);
    for unit in w.units() {
        assert!(unit.tile.king_steps(to) <= 10, "{unit:?}");
        assert!(!(44..52).contains(&unit.tile.x) || !(28..36).contains(&unit.tile.y));
    }
}

#[test]
fn a_way_that_is_walled_off_meanwhile_is_given_up() {
    let mut w = meadow();
    wall(&mut w, (0..63).map(|y| Tile::new(31, y)));
    let runner = put(&mut w, Kind::Knight, 0, 10, 10);
    send(&mut w, A, &[runner], Tile::new(50, 10));
    run(&mut w, 60);
    wall(&mut w, [Tile::new(31, 63)]);
    run_until(&mut w, 1_200, all_idle);
    assert!(w.unit(runner).unwrap().tile.x < 31);
}
