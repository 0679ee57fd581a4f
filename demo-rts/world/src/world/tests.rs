//! Rules of the world, each by itself; then everything at once, with nonsense for commands. This file holds
//! what the tests share.

mod crowds;
mod endings;
mod households;
mod kinds;
mod march;
mod may;
mod nonsense;
mod orders;
mod queues;
mod seen;
mod snapshots;
mod ways;

use super::{map::Map, units::Way, *};
use sim::{Num, SeatState, State};

const A: Seat = Seat(0);
const B: Seat = Seat(1);

fn start(seats: u8, seed: u64, setup: Setup) -> Start<Setup> {
    let mut bytes = [7; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    Start {
        setup,
        seed: Seed(bytes),
        seats: (0..seats).map(Seat).collect(),
    }
}

fn world(seats: u8, seed: u64) -> World {
    World::new(&start(seats, seed, Setup::default()))
}

/// Two seats on open ground without fog, each with a hall in its corner and no units.
fn meadow() -> World {
    let setup = Setup {
        fog: false,
        size: Some(64),
        ..Setup::default()
    };
    let mut w = World::new(&start(2, 1, setup));
    w.units = units::Units::default();
    w.roll = roll::Roll::new(2);
    w.buildings = buildings::Buildings::default();
    w.map = Map::new(64, Vec::new(), Vec::new());
    w.spawn_building(Kind::TownHall, 0, Tile::new(1, 1), true);
    w.spawn_building(Kind::TownHall, 1, Tile::new(60, 60), true);
    w
}

fn put(w: &mut World, kind: Kind, seat: u8, x: u16, y: u16) -> Id {
    w.spawn_unit(kind, seat, Tile::new(x, y).centre())
}

fn wall(w: &mut World, tiles: impl IntoIterator<Item = Tile>) {
    for tile in tiles {
        w.map.put(tile, Terrain::Rock, 0);
    }
    goals::refresh(w);
}

fn resource(w: &mut World, tile: Tile, terrain: Terrain, amount: u16) {
    w.map.put(tile, terrain, amount);
    goals::refresh(w);
}

fn run(w: &mut World, ticks: u32) -> Vec<Effect> {
    let mut effects = Vec::new();
    for _ in 0..ticks {
        w.step(&[], &mut effects);
    }
    effects
}

fn run_until(w: &mut World, most: u32, done: impl Fn(&World) -> bool) -> u32 {
    for tick in 0..most {
        if done(w) {
            return tick;
        }
        run(w, 1);
    }
    panic!("not within {most} ticks");
}

fn issue(w: &mut World, seat: Seat, command: Command) -> Result<(), Refusal> {
    let mut effects = Vec::new();
    super::orders::execute(w, seat, &command, &mut effects);
    let refused = effects.iter().find_map(|effect| match effect {
        Effect::Refused { reason, .. } => Some(*reason),
        _ => None,
    });
    refused.map_or(Ok(()), Err)
}

fn one(w: &World, id: Id) -> Selection {
    let row = w.units.row(id).expect("it lives");
    Selection::new([w.units.number[row]])
}

fn hall(w: &World, seat: Seat) -> BuildingView {
    w.buildings()
        .find(|b| b.seat == seat && b.kind == Kind::TownHall)
        .expect("a hall")
}

fn workers(w: &World, seat: Seat) -> Selection {
    w.units()
        .filter(|unit| unit.seat == seat && unit.kind == Kind::Worker)
        .map(|unit| unit.number)
        .collect()
}

fn bytes(w: &World) -> Vec<u8> {
    let mut out = Vec::new();
    w.save(&mut out);
    out
}
