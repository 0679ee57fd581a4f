//! Bots against each other, headless, one line a match.
//!
//! `cargo run --release -p demo-rts --example matches -- [SEATS] [MATCHES] [FIRST_SEED]`

use demo_rts::{
    bot::{Bot, Level},
    world::{Setup, World},
};
use sim::{Entry, Seat, Seed, Simulation, Start, State};

fn main() {
    let mut numbers = std::env::args()
        .skip(1)
        .map(|arg| arg.parse::<u64>().unwrap_or(0));
    let seats = numbers.next().unwrap_or(2).clamp(1, 8) as u8;
    let matches = numbers.next().unwrap_or(10);
    let first = numbers.next().unwrap_or(1);
    for seed in first..first + matches {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let seats: Vec<Seat> = (0..seats).map(Seat).collect();
        let start = Start {
            setup: Setup::default(),
            seed: Seed(bytes),
            seats: seats.clone(),
        };
        let mut world = World::new(&start);
        let levels = [Level::Normal, Level::Hard, Level::Easy];
        let mut bots: Vec<Bot> = seats
            .iter()
            .map(|seat| {
                Bot::new(
                    *seat,
                    if seats.len() == 2 && first > 1000 {
                        levels[usize::from(seat.0)]
                    } else {
                        Level::Normal
                    },
                )
            })
            .collect();
        let mut issued = 0;
        let mut effects = Vec::new();
        let began = std::time::Instant::now();
        while world.outcome().is_none() && world.tick() < 72_000 {
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
            if std::env::var_os("TRACE").is_some() {
                for effect in &effects {
                    if let demo_rts::world::Effect::Refused { seat, reason } = effect {
                        println!("{} refused {seat:?} {reason}", world.tick());
                    }
                }
                if world.tick() % 600 == 0 {
                    for s in world.seats() {
                        println!("{} {s:?}", world.tick());
                    }
                }
            }
        }
        let seconds = world.tick() / 20;
        println!(
            "seed {seed}: {} after {}:{:02} ({} ticks), {} units, {:.0} commands a minute and seat, checksum {}, {:.1} us a tick",
            match world.outcome().and_then(|outcome| outcome.winner) {
                Some(winner) => format!("seat {} won", winner.0),
                None => "draw".into(),
            },
            seconds / 60,
            seconds % 60,
            world.tick(),
            world.units().len(),
            issued as f64 * 60.0 / f64::from(seconds.max(1)) / bots.len() as f64,
            world.checksum(),
            began.elapsed().as_micros() as f64 / f64::from(world.tick().max(1)),
        );
    }
}
