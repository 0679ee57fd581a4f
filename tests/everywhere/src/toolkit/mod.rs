//! All computations of `sim`, at the edges of their ranges and at random values between.

mod bytes;
mod chance;
mod ids;
mod numbers;
mod plane;

use crate::lines::Lines;
use sim::{Num, Seed, Stream, Vec2};

pub(crate) fn trace(lines: &mut Lines) {
    numbers::trace(lines);
    plane::trace(lines);
    chance::trace(lines);
    ids::trace(lines);
    bytes::trace(lines);
}

fn stream(name: &str) -> Stream {
    Stream::named(&Seed([0x5a; 32]), name)
}

/// Edges, numbers around whole numbers and powers of two, and random ones.
fn nums() -> Vec<Num> {
    let mut bits = vec![i32::MIN, i32::MAX, 0];
    for shift in 0..31 {
        let power = 1_i32 << shift;
        bits.extend([power - 1, power, power + 1, -power, 1 - power, -power - 1]);
    }
    let mut random = stream("numbers");
    for shift in 0..32 {
        bits.push((random.next_u32() >> shift) as i32);
        bits.push(-((random.next_u32() >> shift) as i32 >> 1));
    }
    bits.sort_unstable();
    bits.dedup();
    bits.into_iter().map(Num::from_bits).collect()
}

fn points() -> Vec<Vec2> {
    let nums = nums();
    let mut random = stream("points");
    let mut points = vec![Vec2::ZERO, Vec2::new(Num::MIN, Num::MIN)];
    for _ in 0..250 {
        let x = random.pick(&nums).copied().unwrap_or_default();
        let y = random.pick(&nums).copied().unwrap_or_default();
        points.push(Vec2::new(x, y));
    }
    points
}
