//! Worlds from bytes, good and bad.

use super::nonsense::{Dice, assert_sound};
use super::*;
use crate::world::save::check::{MOST_CROWDING, crowding};

/// CRC-32 bit by bit: shares nothing with the code under test.
pub(super) fn crc(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    !crc
}

/// Repeat one: `SEED=n cargo test -p demo-world damaged`.
#[test]
fn damaged_snapshots_are_refused_or_play_on() {
    let seeds = match std::env::var("SEED") {
        Ok(seed) => vec![seed.parse().expect("a number")],
        Err(_) => (1..=300).collect::<Vec<u64>>(),
    };
    let setup = Setup {
        scenario: Scenario::Skirmish { units_per_seat: 20 },
        size: Some(48),
        ..Setup::default()
    };
    let mut w = World::new(&start(2, 3, setup));
    w.spawn_building(Kind::Barracks, 0, hall_room(&w), true);
    let saved = bytes(&w);
    for length in (0..saved.len()).step_by(97) {
        assert!(World::load(&saved[..length]).is_err());
    }
    for seed in seeds {
        let mut dice = Dice(seed);
        let mut damaged = saved.clone();
        for _ in 0..=dice.below(3) {
            let from = [0, saved.len() - 5_000][dice.below(2) as usize] as u64;
            let at = from + dice.below(damaged.len() as u64 - from);
            damaged[at as usize] = dice.below(256) as u8;
        }
        if let Ok(mut loaded) = World::load(&damaged) {
            println!("SEED={seed} cargo test -p demo-world damaged");
            for _ in 0..12 {
                let entries = dice.entries(&loaded);
                loaded.step(&entries, &mut Vec::new());
            }
            assert_sound(&loaded);
        }
    }
}

fn hall_room(w: &World) -> Tile {
    (0..w.map.tiles())
        .map(|index| w.map.tile_of(index as u32))
        .find(|tile| w.map.has_room(*tile, 3) && w.units().all(|u| u.tile.king_steps(*tile) > 4))
        .expect("some room")
}

#[test]
fn digests_name_the_column_and_the_rows_that_differ() {
    let ours = world(2, 3);
    let mut theirs = ours.clone();
    assert_eq!(ours.digest().difference(&theirs.digest()), None);
    theirs.units.hp[4] -= 1;
    let spot = ours.digest().difference(&theirs.digest()).expect("a spot");
    assert_eq!((spot.section, spot.field), ("units", "hp"));
    assert!(spot.rows.contains(&4));
    theirs = ours.clone();
    theirs.seats.gold[1] += 1;
    let spot = ours.digest().difference(&theirs.digest()).expect("a spot");
    assert_eq!(spot.to_string(), "seats.gold, rows 0 to 1");
}

/// A worker closes the ring around its place, then builds there.
#[test]
fn a_world_with_a_unit_below_a_building_loads_and_plays_on_alike() {
    let mut w = meadow();
    let place = Tile::new(20, 20);
    let ring = [(20, 19), (21, 20), (20, 21), (19, 20)];
    for (x, y) in ring {
        w.spawn_building(Kind::Wall, 0, Tile::new(x, y), true);
    }
    let site = w.spawn_building(Kind::Wall, 0, place, false);
    let worker = put(&mut w, Kind::Worker, 0, 20, 20);
    goals::refresh(&mut w);
    let units = one(&w, worker);
    let building = site;
    issue(&mut w, A, Command::Assist { units, building }).expect("it is its own");
    run(&mut w, 2);
    let stands = w.unit(worker).expect("it lives").tile;
    assert!(w.map.is_blocked(stands), "the worker has no way out");
    let mut loaded = World::load(&bytes(&w)).expect("this happens in matches");
    for _ in 0..20 {
        run(&mut w, 20);
        run(&mut loaded, 20);
        assert_eq!(bytes(&loaded), bytes(&w));
    }
}

#[test]
fn a_snapshot_with_too_many_upon_each_other_is_refused() {
    let mut w = meadow();
    let add = |w: &mut World, count: u32| {
        for _ in 0..count {
            put(w, Kind::Swordsman, 0, 20, 20);
        }
    };
    // More than all seats may train, in one place.
    add(&mut w, 2_500);
    let mut loaded = World::load(&bytes(&w)).expect("this could be");
    run(&mut loaded, 2);
    add(&mut w, 32_500);
    let error = World::load(&bytes(&w)).expect_err("a tick would take minutes with some more");
    assert!(error.to_string().contains("upon each other"), "{error}");
}

#[test]
fn all_units_ordered_to_one_tile_come_nowhere_near_the_most_upon_each_other() {
    let setup = Setup {
        scenario: Scenario::Skirmish {
            units_per_seat: u16::MAX,
        },
        ..Setup::default()
    };
    let mut w = World::new(&start(8, 1, setup));
    let to = Tile::new(w.map.size() / 2, w.map.size() / 2);
    for round in 0..11 {
        for seat in (0..8).map(Seat) {
            let numbers: Vec<u16> = (0..w.units.len())
                .filter(|row| w.units.seat[*row] == seat.0)
                .map(|row| w.units.number[row])
                .collect();
            for some in numbers.chunks(200) {
                let units = Selection::new(some.iter().copied());
                issue(&mut w, seat, Command::Move { units, to }).expect("they can walk");
            }
        }
        run(&mut w, 50);
        let crowding = crowding(&w);
        println!("{round}: {crowding}");
        assert!(crowding * 8 < MOST_CROWDING);
    }
    World::load(&bytes(&w)).expect("it came about by orders");
}

#[test]
fn no_scenario_comes_near_the_most_units_upon_each_other() {
    for (scenario, ticks) in [
        (
            Scenario::Skirmish {
                units_per_seat: u16::MAX,
            },
            0,
        ),
        (Scenario::March { units: 10_000 }, 200),
        (
            Scenario::Swarm {
                units: 100_000,
                density: Density::Dense,
            },
            0,
        ),
    ] {
        let setup = Setup {
            scenario,
            ..Setup::default()
        };
        let mut w = World::new(&start(8, 1, setup));
        run(&mut w, ticks);
        let crowding = crowding(&w);
        println!("{:?}: {crowding}", w.setup().scenario);
        assert!(crowding * 4 < MOST_CROWDING);
    }
}
