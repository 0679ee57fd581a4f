//! The cost of a tick, a checksum, a save and a load, beside memcpy of the same bytes.

use super::{median_and, now};
use demo_rts::bot::{Bot, Level};
use demo_rts::world::{Scenario, Setup, World};
use sim::{Entry, Seat, Seed, Simulation, Start, State};
use std::hint::black_box;

/// Prints one block for each number of units.
pub fn print(units: &[u16], ticks: u32) {
    println!(
        "world: 2 seats, half swordsmen and half archers, bots at war, {ticks} ticks each\n\
         {:>6} {:>9} {:>11} {:>11} {:>12} {:>11} {:>11} {:>11} {:>9} {:>7} {:>7}",
        "units",
        "bytes",
        "step p50 us",
        "step p99 us",
        "step max us",
        "checksum us",
        "save us",
        "load us",
        "memcpy us",
        "crc/mem",
        "save/mem"
    );
    for units in units {
        block(*units, ticks);
    }
}

fn block(units: u16, ticks: u32) {
    let start = Start {
        setup: Setup {
            map_seed: Some(7),
            scenario: Scenario::Skirmish {
                units_per_seat: units / 2,
            },
            ..Setup::default()
        },
        seed: Seed([5; 32]),
        seats: vec![Seat(0), Seat(1)],
    };
    let mut world = World::new(&start);
    let mut bots = [
        Bot::new(Seat(0), Level::Normal),
        Bot::new(Seat(1), Level::Normal),
    ];
    let mut effects = Vec::new();
    let mut steps = Vec::with_capacity(ticks as usize);
    // Steps are measured on the initial armies; saves and checksums on the full world.
    let bytes = saved(&world);
    let rounds = 200;
    let memcpy = time(rounds, || black_box(bytes.clone()).len());
    let checksum = time(rounds, || black_box(&world).checksum().0);
    let mut buffer = Vec::with_capacity(bytes.len());
    let save = time(rounds, || {
        buffer.clear();
        black_box(&world).save(&mut buffer);
        black_box(&buffer).len()
    });
    let load = time(rounds, || {
        World::load(black_box(&bytes)).map(|world| world.tick())
    });
    for _ in 0..ticks {
        let mut entries = Vec::new();
        for bot in &mut bots {
            let seat = bot.seat();
            let commands = bot.think(&world).into_iter();
            entries.extend(commands.map(|command| Entry::Command { seat, command }));
        }
        let begun = now();
        world.step(&entries, &mut effects);
        steps.push(begun.elapsed().as_secs_f64() * 1e6);
        effects.clear();
    }
    let (p50, p99) = median_and(&mut steps, 0.99).unwrap_or_default();
    let max = steps.last().copied().unwrap_or_default();
    println!(
        "{units:>6} {:>9} {p50:>11.1} {p99:>11.1} {max:>12.1} {checksum:>11.2} {save:>11.2} {load:>11.2} {memcpy:>9.2} {:>7.2} {:>7.2}",
        bytes.len(),
        checksum / memcpy,
        save / memcpy,
    );
}

fn saved(world: &World) -> Vec<u8> {
    let mut bytes = Vec::new();
    world.save(&mut bytes);
    bytes
}

/// The median of one call, in microseconds.
fn time<T>(rounds: u32, mut work: impl FnMut() -> T) -> f64 {
    let mut samples: Vec<f64> = (0..rounds)
        .map(|_| {
            let begun = now();
            black_box(work());
            begun.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    median_and(&mut samples, 0.5).map_or(0.0, |(median, _)| median)
}
