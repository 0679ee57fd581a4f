//! What units find out, compared with a search over all units.

use super::*;
use crate::world::{
    Map, Setup, Tile, buildings::Buildings, combat::Target, fog::Fog, generate::mix,
};
use sim::{Num, Seat, Seed, Simulation, Start, Vec2};

fn crowded(seed: u64, size: u16, units: u64) -> World {
    let mut w = World::new(&Start {
        setup: Setup {
            fog: false,
            ..Setup::default()
        },
        seed: Seed([1; 32]),
        seats: (0..4).map(Seat).collect(),
    });
    w.units = Units::default();
    w.buildings = Buildings::default();
    w.map = Map::new(size, Vec::new(), Vec::new());
    w.fog = Fog::new(false, size, 4);
    w.crowd = Crowd::new(size);
    for number in 0..units {
        let drawn = mix(seed ^ number << 8);
        let kind = [Kind::Worker, Kind::Swordsman, Kind::Archer][(drawn % 3) as usize];
        let part = |shift: u32| (drawn >> shift) % (u64::from(size) << 16);
        // A third of them stand in one corner, on few points.
        let at = if number % 3 == 0 {
            let part = |shift: u32| Num::from_bits((part(shift) % (6 << 16)) as i32 & !0x3fff);
            Vec2::new(part(8), part(30))
        } else {
            let part = |shift: u32| Num::from_bits(part(shift) as i32);
            Vec2::new(part(8), part(30))
        };
        w.spawn_unit(kind, (drawn >> 60) as u8 % 4, at);
    }
    w.units.order.fill(Order::AttackMove);
    w
}

fn sensed(w: &mut World, side: Option<u32>, threads: usize) -> Vec<Sensed> {
    w.crowd.fitting = side;
    Crowd::fill(w, 1);
    scan(w, threads);
    (0..w.units.len()).map(|row| w.crowd.sensed(row)).collect()
}

#[test]
fn cell_sizes_threads_and_instruction_sets_change_no_result() {
    for (size, units) in [(48, 700), (200, 2_000), (64, 1)] {
        let mut w = crowded(9, size, units);
        let expected = sensed(&mut w, None, 1);
        for side in 0..=LARGEST_SIDE {
            for threads in [1, 2, 3, 8] {
                w.plain = threads != 2;
                assert_eq!(sensed(&mut w, Some(side), threads), expected);
            }
        }
    }
}

#[test]
fn every_unit_finds_the_nearest_enemy() {
    let mut found = 0;
    for seed in 0..4 {
        let mut w = crowded(seed, 96, 300);
        for tick in 0..LOOK_TICKS {
            w.tick = tick;
            let sensed = sensed(&mut w, None, 1);
            for (row, sensed) in sensed.iter().enumerate() {
                if !(tick + w.units.id[row]).is_multiple_of(LOOK_TICKS) {
                    assert_eq!(sensed.note(), Note::Nothing);
                    continue;
                }
                let expected = nearest(&w, row).map_or(Note::Nothing, Note::Found);
                assert_eq!(sensed.note(), expected, "row {row}");
                found += u32::from(expected != Note::Nothing);
            }
        }
    }
    assert!(found > 200, "{found}");
}

fn nearest(w: &World, row: usize) -> Option<Target> {
    let coarse = |at: Num| i64::from(at.to_num::<Coarse>().to_bits());
    let (x, y) = (coarse(w.units.x[row]), coarse(w.units.y[row]));
    let sight = coarse(w.units.stats(row).alert);
    (0..w.units.len())
        .filter(|other| w.units.seat[*other] != w.units.seat[row])
        .map(|other| {
            let (dx, dy) = (x - coarse(w.units.x[other]), y - coarse(w.units.y[other]));
            (dx * dx + dy * dy, other)
        })
        .filter(|(apart, _)| *apart <= sight * sight)
        .map(|(apart, other)| {
            let late = !w.units.kind[other].is_soldier();
            (apart + if late { 25 << 20 } else { 0 }, other)
        })
        .min()
        .map(|(_, other)| Target::Unit(other))
}

#[test]
fn only_neighbours_push_each_other_apart() {
    let mut w = crowded(3, 64, 0);
    let centre = Tile::new(30, 30).centre();
    for beside in [Num::ZERO, Num::lit("0.25"), Num::lit("3")] {
        let at = centre + Vec2::new(beside, Num::ZERO);
        w.spawn_unit(Kind::Archer, 0, at);
    }
    let apart = sensed(&mut w, None, 1);
    assert!(apart[0].push().x < 0 && apart[1].push().x > 0);
    assert_eq!(
        (apart[0].push().y, apart[2].push()),
        (Num::ZERO, Vec2::ZERO)
    );
    w.units.place(1, centre);
    let one_point = sensed(&mut w, None, 1);
    assert!(one_point[0].push().x.signum() == -one_point[1].push().x.signum());
    assert_ne!(one_point[0].push().x, 0);
}

#[test]
fn a_unit_finds_a_building_by_any_of_its_tiles() {
    let mut w = crowded(3, 96, 0);
    w.spawn_building(Kind::TownHall, 1, Tile::new(46, 46), true);
    w.map.refresh_regions();
    for (x, y) in [(40, 40), (55, 47), (47, 39), (60, 60), (30, 47)] {
        w.spawn_unit(Kind::Archer, 0, Tile::new(x, y).centre());
    }
    w.units.order.fill(Order::AttackMove);
    w.units.target.fill(u32::MAX);
    let sensed = sensed(&mut w, None, 1);
    for (row, near) in [true, true, true, false, false].into_iter().enumerate() {
        let found = sensed[row].note() == Note::Found(Target::Building(0));
        assert_eq!(found, near, "row {row}");
    }
}
