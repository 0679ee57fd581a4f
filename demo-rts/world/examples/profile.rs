//! Runs one scenario on one thread, for a sampling profiler. It prints the time of each phase, and the
//! checksum at the end.
//!
//! `cargo run --release -p demo-world --example profile -- SCENARIO [UNITS [TICKS [THREADS]]]`,
//! where SCENARIO is archers, march, sparse, normal or dense. See `sim/docs/profile.md`.

#![allow(clippy::disallowed_methods, reason = "a profile reads the clock")]

use demo_world::world::{Density, Phase, Scenario, Setup, World};
use sim::{Seat, Seed, Simulation, Start, State};
use std::{
    num::NonZeroUsize,
    time::{Duration, Instant},
};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual: u32| {
        let given = arguments.get(at).and_then(|text| text.parse().ok());
        given.unwrap_or(usual)
    };
    let units = number(1, 100_000);
    let swarm = |density| Scenario::Swarm { units, density };
    let scenario = match arguments.first().map(String::as_str) {
        Some("archers") => Scenario::Archers {
            units_per_seat: (units / 8).min(2_000) as u16,
        },
        Some("march") => Scenario::March { units },
        Some("sparse") => swarm(Density::Sparse),
        Some("normal") => swarm(Density::Normal),
        Some("dense") => swarm(Density::Dense),
        _ => {
            eprintln!("profile: which scenario? archers, march, sparse, normal or dense");
            std::process::exit(2);
        }
    };
    let mut w = World::new(&Start {
        setup: Setup {
            map_seed: Some(1),
            scenario,
            ..Setup::default()
        },
        seed: Seed([1; 32]),
        seats: (0..8).map(Seat).collect(),
    });
    let threads = NonZeroUsize::new(number(3, 1) as usize);
    w.set_threads(threads.unwrap_or(NonZeroUsize::MIN));
    let mut effects = Vec::new();
    for _ in 0..WARM_UP {
        effects.clear();
        w.step(&[], &mut effects);
    }
    measure(w, number(2, 200));
}

fn measure(mut w: World, ticks: u32) {
    let units = w.units().count();
    let mut by: [Vec<Duration>; Phase::ALL.len()] = std::array::from_fn(|_| Vec::new());
    let mut effects = Vec::new();
    for _ in 0..ticks {
        effects.clear();
        let mut last = Instant::now();
        w.step_watched(&[], &mut effects, |phase| {
            let now = Instant::now();
            by[phase as usize].push(now - last);
            last = now;
        });
    }
    println!("{units} units, {ticks} ticks, ns per unit, the lower quartile of all ticks:");
    let mut all = 0.0;
    for (phase, times) in Phase::ALL.iter().zip(&mut by) {
        times.sort_unstable();
        let quartile = times.get(times.len() / 4).map_or(0, Duration::as_nanos);
        let each = quartile as f64 / units as f64;
        all += each;
        println!("  {:<9}{each:>6.1}", format!("{phase:?}"));
    }
    println!("  {:<9}{all:>6.1}", "all");
    println!("checksum {:08x}", w.checksum().0);
}

/// Ticks before anything is measured.
const WARM_UP: u32 = 60;
