//! How long a tick takes with 200 and 2,000 units: eight armies march to the middle and fight there.
//!
//! `cargo run --release -p demo-rts --example step_time -- [TICKS]`

#![allow(clippy::disallowed_methods, reason = "it tells how long it took")]

use demo_rts::world::{Command, Scenario, Selection, Setup, Tile, World};
use sim::{Entry, Seat, Seed, Simulation, Start, State};
use std::time::{Duration, Instant};

fn main() {
    let ticks = std::env::args().nth(1).and_then(|arg| arg.parse().ok());
    for units in [200, 2_000, 8_000] {
        measure(units, ticks.unwrap_or(400));
    }
}

fn measure(units: u16, ticks: usize) {
    let seats: Vec<Seat> = (0..8).map(Seat).collect();
    let setup = Setup {
        map_seed: Some(1),
        scenario: Scenario::Skirmish {
            units_per_seat: units / 8,
        },
        ..Setup::default()
    };
    let mut world = World::new(&Start {
        setup,
        seed: Seed([1; 32]),
        seats: seats.clone(),
    });
    let mut entries = march(&world, &seats);
    let mut times = Vec::new();
    let mut effects = Vec::new();
    for _ in 0..ticks {
        let began = Instant::now();
        world.step(&entries, &mut effects);
        times.push(began.elapsed());
        effects.clear();
        entries.clear();
    }
    let left = world.units().count();
    let average = times.iter().sum::<Duration>() / times.len() as u32;
    times.sort_unstable();
    let mut bytes = Vec::new();
    let save = least(|| {
        bytes.clear();
        world.save(&mut bytes);
    });
    let mut copy = Vec::new();
    let memcpy = least(|| {
        copy.clear();
        copy.extend_from_slice(&bytes);
    });
    let checksum = least(|| {
        std::hint::black_box(world.checksum());
    });
    let load = least(|| {
        std::hint::black_box(World::load(&bytes).is_ok());
    });
    println!(
        "{units} units ({left} left), {ticks} ticks: step p50 {:?}, average {average:?}, p99 {:?}, max {:?}; \
         {} bytes: save {save:?}, checksum {checksum:?}, load {load:?}, memcpy {memcpy:?}",
        times[ticks / 2],
        times[ticks * 99 / 100],
        times[ticks - 1],
        bytes.len(),
    );
}

/// Everybody to the middle, in groups as large as a command allows.
fn march(world: &World, seats: &[Seat]) -> Vec<Entry<Command>> {
    let middle = world.map().size() / 2;
    let mut entries = Vec::new();
    for seat in seats {
        let own: Vec<_> = world
            .units()
            .filter(|unit| unit.seat == *seat)
            .map(|unit| unit.id)
            .collect();
        for group in own.chunks(Selection::MOST) {
            entries.push(Entry::Command {
                seat: *seat,
                command: Command::AttackMove {
                    units: world.select(*seat, group.iter().copied()),
                    to: Tile::new(middle, middle),
                },
            });
        }
    }
    entries
}

fn least(mut work: impl FnMut()) -> Duration {
    (0..50)
        .map(|_| {
            let began = Instant::now();
            work();
            began.elapsed()
        })
        .min()
        .unwrap_or_default()
}
