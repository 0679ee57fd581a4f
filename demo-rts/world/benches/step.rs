//! What a step costs beside the limit, on two threads beside one, by phase; what checksum and snapshot
//! cost beside a copy of the same bytes; what a unit takes in memory.
//!
//! `cargo bench -p demo-world --bench step [-- QUICK]`
//!
//! Each time is the least of several samples of many ticks, because other work on the machine only adds. The
//! compared sides take turns.

#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

mod limit;

use demo_world::world::{Density, Effect, Phase, Scenario, Setup, World};
use limit::Limit;
use sim::{Seat, Seed, Simulation, Sink, Start, State, Sum};
use std::{
    hint::black_box,
    num::NonZeroUsize,
    time::{Duration, Instant},
};

fn main() {
    let quick = std::env::args().any(|argument| argument.eq_ignore_ascii_case("quick"));
    let samples = if quick { 2 } else { 5 };
    rows_one(samples);
    row_four(samples);
    rows_two_and_eleven(samples);
    phases(samples);
}

/// Row 1: the step beside the limit kernel, at three sizes and three densities.
fn rows_one(samples: usize) {
    println!("## Row 1: step beside the limit kernel, one thread (goal 1.5)");
    println!(
        "least of {samples} samples and more of the smaller worlds, of {TICKS} ticks each; ns per living unit and tick; \
         `+crc` with the checksum of all state in every tick; `plain` without AVX2"
    );
    println!(
        "units   density  world  limit  ratio | world+crc limit+crc ratio | plain | candidates | alive at the end: world limit"
    );
    for units in [1_600, 10_000, 100_000] {
        for density in [Density::Sparse, Density::Normal, Density::Dense] {
            row_one(units, density, samples);
        }
    }
}

/// The times of one side of a comparison.
#[derive(Clone, Copy)]
struct Taken {
    step: Duration,
    sum: Duration,
}

impl Taken {
    const NOTHING_YET: Taken = Taken {
        step: Duration::MAX,
        sum: Duration::MAX,
    };

    fn note(&mut self, step: Duration, sum: Duration) {
        self.step = self.step.min(step);
        self.sum = self.sum.min(sum);
    }

    /// Nanoseconds per living unit and tick: steps, and steps with checksums.
    fn each(self, units: f64) -> (f64, f64) {
        let step = self.step.as_nanos() as f64 / f64::from(TICKS) / units;
        (step, step + self.sum.as_nanos() as f64 / units)
    }
}

fn row_one(units: u32, density: Density, samples: usize) {
    let mut start = world(Scenario::Swarm { units, density });
    start.set_threads(NonZeroUsize::MIN);
    warm_up(&mut start, density);
    let side = best_side(&start);
    let kernel = Limit::new(&start, side);
    let ground = vec![0; usize::from(start.map().size()).pow(2)];
    let mut taken = [Taken::NOTHING_YET; 3];
    let (mut after, mut limit_after) = (start.clone(), kernel.clone());
    for _ in 0..samples * (100_000 / units as usize).min(10) {
        for (plain, number) in [(false, 0), (true, 2)] {
            let mut w = start.clone();
            w.set_plain(plain);
            let step = time(|| run(&mut w, TICKS));
            let sum = time(|| {
                black_box(w.checksum());
            });
            taken[number].note(step, sum);
            after = w;
        }
        let mut k = kernel.clone();
        let step = time(|| (0..TICKS).for_each(|_| k.step()));
        let sum = time(|| {
            black_box(kernel_sum(&k, &ground));
        });
        taken[1].note(step, sum);
        limit_after = k;
    }
    let mean = |end: usize| (start.units().count() + end) as f64 / 2.0;
    let (alive, limit_alive) = (after.units().count(), limit_after.alive());
    let (step, with_sum) = taken[0].each(mean(alive));
    let (limit, limit_with_sum) = taken[1].each(mean(limit_alive));
    let (plain, _) = taken[2].each(mean(alive));
    let candidates = limit_after.count_candidates() as f64 / limit_alive.max(1) as f64;
    println!(
        "{units:<7} {density:<8?} {step:>5.1} {limit:>6.1} {:>6.2} | {with_sum:>9.1} {limit_with_sum:>9.1} {:>5.2} | {plain:>5.1} | {candidates:>10.1} | {alive:>6} {limit_alive:>6}",
        step / limit,
        with_sum / limit_with_sum,
    );
}

/// The cell size that suits the kernel best.
fn best_side(w: &World) -> u32 {
    let cost = |side: &u32| {
        let mut kernel = Limit::new(w, *side);
        kernel.step();
        time(|| (0..5).for_each(|_| kernel.step()))
    };
    (0..4).min_by_key(cost).unwrap_or_default()
}

/// The checksum of the kernel's units, and of as much ground as the world has.
fn kernel_sum(kernel: &Limit, ground: &[u8]) -> u32 {
    let mut sum = Sum::new();
    for column in kernel.columns() {
        sum.column(column);
    }
    sum.bytes(ground);
    sum.checksum().0
}

/// Row 4: two threads beside one.
fn row_four(samples: usize) {
    println!("\n## Row 4: two threads beside one, 100,000 units (goal 1.6)");
    for density in [Density::Sparse, Density::Normal, Density::Dense] {
        let units = 100_000;
        let mut start = world(Scenario::Swarm { units, density });
        warm_up(&mut start, density);
        let mut least = [Duration::MAX; 2];
        let mut sums = [None; 2];
        for _ in 0..samples {
            for (number, least) in least.iter_mut().enumerate() {
                let mut w = start.clone();
                w.set_threads(NonZeroUsize::MIN.saturating_add(number));
                *least = (*least).min(time(|| run(&mut w, TICKS)));
                sums[number] = Some(w.checksum());
            }
        }
        assert_eq!(sums[0], sums[1], "threads change nothing");
        let [one, two] = least.map(|time| time / TICKS);
        println!(
            "{density:?}: one {one:?}, two {two:?}: {:.2} times faster; {:.0} and {:.0} ticks a second; checksums equal",
            one.as_secs_f64() / two.as_secs_f64(),
            1.0 / one.as_secs_f64(),
            1.0 / two.as_secs_f64(),
        );
    }
}

/// Rows 2 and 11: checksum and snapshot beside a copy of the same bytes; memory.
fn rows_two_and_eleven(samples: usize) {
    println!(
        "\n## Rows 2 and 11: checksum (goals 1.15, 1.5 % of 50 ms) and snapshot (goal 1.5) beside memcpy, 100,000 units"
    );
    for density in [Density::Sparse, Density::Normal, Density::Dense] {
        let units = 100_000;
        let mut w = world(Scenario::Swarm { units, density });
        run(&mut w, 20);
        let mut bytes = Vec::new();
        w.save(&mut bytes);
        let mut copy = bytes.clone();
        let mut saved = bytes.clone();
        let mut least = [Duration::MAX; 3];
        for _ in 0..samples * 10 {
            least[0] = least[0].min(time(|| {
                black_box(&mut copy).copy_from_slice(black_box(&bytes))
            }));
            least[1] = least[1].min(time(|| {
                black_box(w.checksum());
            }));
            least[2] = least[2].min(time(|| {
                saved.clear();
                w.save(black_box(&mut saved));
            }));
        }
        let [memcpy, sum, save] = least.map(|time| time.as_secs_f64());
        let tiles = usize::from(w.map().size()).pow(2);
        let ground = tiles;
        println!(
            "{density:?}: {} bytes, {ground} of them ground: memcpy {:.0} us, checksum {:.0} us = {:.2} ({:.2} % of a tick), snapshot {:.0} us = {:.2}; \
             a unit takes {:.1} bytes of state and {:.1} of scratch",
            bytes.len(),
            memcpy * 1e6,
            sum * 1e6,
            sum / memcpy,
            sum / 0.05 * 100.0,
            save * 1e6,
            save / memcpy,
            (bytes.len() - ground) as f64 / f64::from(units),
            w.scratch_bytes() as f64 / f64::from(units),
        );
    }
}

/// Where the time goes.
fn phases(samples: usize) {
    println!("\n## Time by phase, one thread, ns per unit and tick");
    print!("scenario                        units ");
    Phase::ALL
        .iter()
        .for_each(|phase| print!("{:>9}", format!("{phase:?}")));
    println!("      all");
    let swarm = |density| Scenario::Swarm {
        units: 100_000,
        density,
    };
    for (name, scenario, ticks) in [
        (
            "archers",
            Scenario::Archers {
                units_per_seat: 250,
            },
            600,
        ),
        ("march", Scenario::March { units: 2_000 }, 600),
        ("march", Scenario::March { units: 10_000 }, 200),
        ("swarm:sparse", swarm(Density::Sparse), 40),
        ("swarm:normal", swarm(Density::Normal), 40),
        ("swarm:dense", swarm(Density::Dense), 40),
    ] {
        let mut start = world(scenario);
        start.set_threads(NonZeroUsize::MIN);
        let density = match scenario {
            Scenario::Swarm { density, .. } => density,
            _ => Density::Normal,
        };
        warm_up(&mut start, density);
        let units = start.units().count();
        let mut least = [Duration::MAX; 8];
        for _ in 0..samples {
            let mut w = start.clone();
            let mut by = [Duration::ZERO; 8];
            let mut effects = Vec::new();
            for _ in 0..ticks {
                effects.clear();
                let mut last = Instant::now();
                w.step_watched(&[], &mut effects, |phase| {
                    let now = Instant::now();
                    by[phase as usize] += now - last;
                    last = now;
                });
            }
            for (least, by) in least.iter_mut().zip(by) {
                *least = (*least).min(by);
            }
        }
        let each = |time: Duration| time.as_nanos() as f64 / f64::from(ticks) / units as f64;
        print!("{name:<30} {units:>6} ");
        least.iter().for_each(|time| print!("{:>9.1}", each(*time)));
        println!("{:>9.1}", each(least.iter().sum()));
    }
}

fn world(scenario: Scenario) -> World {
    World::new(&Start {
        setup: Setup {
            map_seed: Some(1),
            scenario,
            ..Setup::default()
        },
        seed: Seed([1; 32]),
        seats: (0..8).map(Seat).collect(),
    })
}

fn run(w: &mut World, ticks: u32) {
    let mut effects: Vec<Effect> = Vec::new();
    for _ in 0..ticks {
        effects.clear();
        w.step(&[], &mut effects);
    }
}

fn time(work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

/// Steps until units know their ways, so that there is something to measure. On vast maps that takes longer;
/// in small worlds they fight soon.
fn warm_up(w: &mut World, density: Density) {
    let ticks = match (w.units().count(), density) {
        (..50_000, _) => 60,
        (_, Density::Sparse) => 400,
        _ => 120,
    };
    run(w, ticks);
}

/// Ticks in a sample.
const TICKS: u32 = 60;
