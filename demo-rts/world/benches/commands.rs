//! Bytes of an order, beside the least that any encoding could spend on the same trace. Time of its encoding,
//! beside postcard's for a plain list of ids.
//!
//! `cargo bench -p demo-world --bench commands`

#![allow(
    clippy::disallowed_methods,
    clippy::float_arithmetic,
    reason = "a benchmark reads the clock"
)]

use demo_world::world::{Command, Selection, Tile};
use sim::Vec2;
use std::hint::black_box;
use std::time::Instant;

fn main() {
    println!(
        "bytes of an order of 20 units to a tile; the bound: which of the living units, and which tile of the map"
    );
    println!(
        "{:<34} {:>7} {:>7} {:>6}",
        "trace", "bytes", "bound", "ratio"
    );
    let mut of_500 = Vec::new();
    for (living, map) in [
        (500, 128),
        (500, 256),
        (250, 128),
        (100, 128),
        (10_000, 256),
    ] {
        let orders = scattered(living, map);
        print_line(
            &format!("any 20 of own {living}, map {map}"),
            &orders,
            bound(living, 20, map),
        );
        if (living, map) == (500, 128) {
            of_500 = orders;
        }
    }
    // The bound of the goal in DESIGN 10: any tile that a command can name, not only one on the map.
    let any_tile = log2_choices(500, 20) + 32.0;
    print_line("any 20 of own 500, any tile", &of_500, any_tile);
    let clustered = clustered(500, 128);
    print_line(
        "20 trained together, of own 500",
        &clustered,
        bound(500, 20, 128),
    );
    let again: Vec<Command> = scattered(500, 128)
        .into_iter()
        .enumerate()
        .map(|(n, order)| match order {
            Command::Move { to, .. } => Command::Move {
                units: Selection::recent(n as u8),
                to,
            },
            order => order,
        })
        .collect();
    print_line(
        "the same 20 again, map 128",
        &again,
        f64::log2(128.0 * 128.0),
    );
    times(&of_500);
}

fn print_line(name: &str, orders: &[Command], bound_bits: f64) {
    let bytes: usize = orders.iter().map(|order| encoded(order).len()).sum();
    let bytes = bytes as f64 / orders.len() as f64;
    let bound = bound_bits / 8.0;
    println!(
        "{name:<34} {bytes:>7.2} {bound:>7.2} {:>6.3}",
        bytes / bound
    );
}

/// The least bits that name `count` of `living` units and a tile.
fn bound(living: u32, count: u32, map: u16) -> f64 {
    log2_choices(living, count) + 2.0 * f64::from(map).log2()
}

fn log2_choices(of: u32, count: u32) -> f64 {
    (0..count)
        .map(|n| (f64::from(of - n) / f64::from(count - n)).log2())
        .sum()
}

/// 20 units without any pattern.
fn scattered(living: u32, map: u16) -> Vec<Command> {
    let mut random = Random(u64::from(living));
    let mut order = || {
        let mut units: Vec<u16> = Vec::new();
        while units.len() < 20 {
            let unit = random.below(living) as u16;
            if !units.contains(&unit) {
                units.push(unit);
            }
        }
        Command::Move {
            units: units.into_iter().collect(),
            to: tile(&mut random, map),
        }
    };
    (0..ORDERS).map(|_| order()).collect()
}

/// 20 of 30 units in a row of numbers.
fn clustered(living: u32, map: u16) -> Vec<Command> {
    let mut random = Random(7);
    let mut order = || {
        let first = random.below(living - 30) as u16;
        let mut units: Vec<u16> = (first..first + 30).collect();
        while units.len() > 20 {
            let gone = random.below(units.len() as u32) as usize;
            units.swap_remove(gone);
        }
        Command::Move {
            units: units.into_iter().collect(),
            to: tile(&mut random, map),
        }
    };
    (0..ORDERS).map(|_| order()).collect()
}

fn tile(random: &mut Random, map: u16) -> Tile {
    let mut part = || random.below(u32::from(map)) as u16;
    Tile::new(part(), part())
}

fn times(orders: &[Command]) {
    let encodings: Vec<Vec<u8>> = orders.iter().map(encoded).collect();
    // The same orders as a plain list of ids and a target, in postcard's own encoding.
    let plain: Vec<(Vec<u32>, Vec2)> = orders.iter().map(plain).collect();
    let plain_encodings: Vec<Vec<u8>> = plain.iter().map(encoded).collect();
    let bytes: usize = plain_encodings.iter().map(Vec::len).sum();
    let mut buffer = [0; 1_024];
    println!();
    println!("ns for an order of any 20 of own 500 (best of {ROUNDS} rounds)       encode  decode");
    let encode = best(orders, |order| {
        black_box(postcard::to_slice(order, &mut buffer).map_or(0, |bytes| bytes.len()));
    });
    let decode = best(&encodings, |bytes| {
        black_box(postcard::from_bytes::<Command>(bytes).is_ok());
    });
    println!(
        "this encoding                                                     {encode:>6.0}  {decode:>6.0}"
    );
    let encode = best(&plain, |order| {
        black_box(postcard::to_slice(order, &mut buffer).map_or(0, |bytes| bytes.len()));
    });
    let decode = best(&plain_encodings, |bytes| {
        black_box(postcard::from_bytes::<(Vec<u32>, Vec2)>(bytes).is_ok());
    });
    println!(
        "postcard Vec<u32> and a point ({:.1} bytes)                       {encode:>6.0}  {decode:>6.0}",
        bytes as f64 / orders.len() as f64
    );
}

fn plain(order: &Command) -> (Vec<u32>, Vec2) {
    match order {
        Command::Move { units, to } => {
            let ids = units.numbers().unwrap_or_default();
            let ids = ids.iter().map(|number| u32::from(*number)).collect();
            (ids, to.centre())
        }
        _ => (Vec::new(), Vec2::ZERO),
    }
}

fn encoded(value: &impl serde::Serialize) -> Vec<u8> {
    postcard::to_allocvec(value).expect("memory suffices")
}

/// Nanoseconds for one of `items`, in the best round.
fn best<T>(items: &[T], mut work: impl FnMut(&T)) -> f64 {
    let round = |_| {
        let begun = Instant::now();
        items.iter().for_each(&mut work);
        begun.elapsed().as_nanos() as f64 / items.len() as f64
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

/// The same trace in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (((self.0 >> 33) * u64::from(bound)) >> 31) as u32
    }
}

const ORDERS: usize = 2_000;
const ROUNDS: usize = 50;
