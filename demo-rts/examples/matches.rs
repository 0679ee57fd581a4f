//! Bots against each other, headless, one line a match.
//!
//! `cargo run --release -p demo-rts --example matches -- [SEATS] [MATCHES] [FIRST_SEED] [LEVEL]...`
//!
//! Levels go to the seats in turn; without any, all are normal.

#![allow(clippy::disallowed_methods, reason = "it tells how long it took")]

use demo_rts::{
    bot::{Bot, Level},
    world::{Setup, World},
};
use sim::{Entry, Seat, Seed, Simulation, Start, State};
use std::time::Instant;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |usual: u64| {
        let argument = arguments.next();
        argument.and_then(|text| text.parse().ok()).unwrap_or(usual)
    };
    let seats = number(2).clamp(1, 8) as u8;
    let matches = number(10);
    let first = number(1);
    let levels: Vec<Level> = arguments.filter_map(|text| text.parse().ok()).collect();
    let mut wins = vec![0; usize::from(seats)];
    for seed in first..first.saturating_add(matches) {
        if let Some(winner) = play(seed, seats, &levels) {
            wins[usize::from(winner.0)] += 1;
        }
    }
    println!("wins by seat: {wins:?}");
}

fn play(seed: u64, seats: u8, levels: &[Level]) -> Option<Seat> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let seats: Vec<Seat> = (0..seats).map(Seat).collect();
    let mut world = World::new(&Start {
        setup: Setup::default(),
        seed: Seed(bytes),
        seats: seats.clone(),
    });
    let level = |seat: &Seat| levels.get(usize::from(seat.0) % levels.len().max(1));
    let mut bots: Vec<Bot> = seats
        .iter()
        .map(|seat| Bot::new(*seat, level(seat).copied().unwrap_or_default()))
        .collect();
    let mut issued = 0;
    let mut effects = Vec::new();
    let began = Instant::now();
    while world.outcome().is_none() && world.tick() <= world.setup().last_tick() {
        let mut entries = Vec::new();
        for bot in &mut bots {
            let seat = bot.seat();
            for command in bot.think(&world) {
                entries.push(Entry::Command { seat, command });
            }
        }
        issued += entries.len();
        effects.clear();
        world.step(&entries, &mut effects);
    }
    let winner = world.outcome().and_then(|outcome| outcome.winner);
    let seconds = world.tick() / 20;
    println!(
        "seed {seed}: {} after {}:{:02} ({} ticks), {} units left, {:.0} commands a minute and seat, checksum {}, {:.1} us a tick",
        winner.map_or("draw".into(), |seat| format!("seat {} won", seat.0)),
        seconds / 60,
        seconds % 60,
        world.tick(),
        world.units().count(),
        issued as f64 * 60.0 / f64::from(seconds.max(1)) / bots.len() as f64,
        world.checksum(),
        began.elapsed().as_micros() as f64 / f64::from(world.tick().max(1)),
    );
    winner
}
