//! One match.

use crate::{
    options::Options,
    stuck::{Stuck, Watch},
};
use demo_world::{
    bot::{Bot, Level},
    world::{Setup, World},
};
use sim::{Checksum, Entry, Seat, Seed, Simulation, Start, State};
use std::time::{Duration, Instant};

/// How a match went.
pub struct Played {
    pub pair: usize,
    pub seed: u64,
    /// Levels of the seats, in order.
    pub levels: Vec<Level>,
    /// Which level of the pairing won.
    pub winner: Option<usize>,
    pub ticks: u32,
    pub checksum: Checksum,
    /// Commands of each level of the pairing, all its seats together.
    pub commands: [u64; 2],
    pub stuck: Vec<Stuck>,
    pub thoughts: u64,
    pub thinking_ns: u64,
    pub longest_ns: u64,
    pub wall: Duration,
}

/// Plays a seed of a pairing to its end.
pub fn play(options: &Options, pair: usize, seed: u64) -> Played {
    let began = Instant::now();
    let side = |seat: Seat| ((u64::from(seat.0) + seed) % 2) as usize;
    let seats: Vec<Seat> = (0..options.seats).map(Seat).collect();
    let levels: Vec<Level> = seats
        .iter()
        .map(|seat| options.pairs[pair][side(*seat)])
        .collect();
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut world = World::new(&Start {
        setup: Setup {
            map_seed: options.map_seed,
            size: options.size,
            ..Setup::default()
        },
        seed: Seed(bytes),
        seats: seats.clone(),
    });
    let mut bots: Vec<Bot> = seats
        .iter()
        .zip(&levels)
        .map(|(seat, level)| Bot::new(*seat, *level))
        .collect();
    let mut played = Played {
        pair,
        seed,
        levels,
        winner: None,
        ticks: 0,
        checksum: Checksum(0),
        commands: [0; 2],
        stuck: Vec::new(),
        thoughts: 0,
        thinking_ns: 0,
        longest_ns: 0,
        wall: Duration::ZERO,
    };
    let mut watch = Watch::default();
    let mut effects = Vec::new();
    while world.outcome().is_none() && world.tick() <= world.setup().last_tick() {
        let mut entries = Vec::new();
        for bot in &mut bots {
            if !bot.is_due(&world) {
                continue;
            }
            let seat = bot.seat();
            let thinks = Instant::now();
            let commands = bot.think(&world);
            let spent = u64::try_from(thinks.elapsed().as_nanos()).unwrap_or(u64::MAX);
            played.thoughts += 1;
            played.thinking_ns += spent;
            played.longest_ns = played.longest_ns.max(spent);
            played.commands[side(seat)] += commands.len() as u64;
            entries.extend(
                commands
                    .into_iter()
                    .map(|command| Entry::Command { seat, command }),
            );
        }
        effects.clear();
        world.step(&entries, &mut effects);
        watch.look(&world, &mut played.stuck);
    }
    let winner = world.outcome().and_then(|outcome| outcome.winner);
    played.winner = winner.map(side);
    played.ticks = world.tick();
    played.checksum = world.checksum();
    played.wall = began.elapsed();
    played
}
