//! Vectors, angles and neighbour queries.

use super::{nums, points, stream};
use crate::{controls, lines::Lines};
use sim::{Angle, Grid, Num, Sink, Sum, Vec2};

pub(super) fn trace(lines: &mut Lines) {
    vectors(lines);
    angles(lines);
    grid(lines);
    lines.sum("sim/swing", |sum| {
        for step in 0..20_000 {
            sum.value(controls::swing(step));
        }
    });
}

fn vectors(lines: &mut Lines) {
    let pairs = || {
        let points = points();
        let others = points.clone();
        points
            .into_iter()
            .flat_map(move |a| others.clone().into_iter().map(move |b| (a, b)))
    };
    lines.sum("sim/vec2/sums", |sum| {
        for (a, b) in pairs() {
            put(sum, a + b);
            put(sum, a - b);
            put(sum, -a);
            put(sum, a * b.x);
            put(sum, a.clamp_to(b, Vec2::ZERO));
            sum.value(a.cmp(&b) as i8);
        }
    });
    lines.sum("sim/vec2/squares", |sum| {
        for (a, b) in pairs() {
            sum.value(a.dot(b).to_bits());
            sum.value(a.cross(b).to_bits());
            sum.value(a.distance_squared(b).to_bits());
            sum.value(a.length_squared().to_bits());
        }
    });
    lines.sum("sim/vec2/lengths", |sum| {
        for (a, b) in pairs() {
            sum.column(&[a.distance(b), a.length()]);
            sum.value(u8::from(a.within(b, b.x)));
            put(sum, a.with_length(b.x));
            put(sum, a.clamp_length(b.y));
        }
    });
    lines.sum("sim/vec2/turns", |sum| {
        for (a, b) in pairs() {
            put(sum, a.lerp(b, a.y));
            put(sum, a.lerp(b, Num::lit("0.37")));
            put(sum, a.rotate(Angle(b.x.to_bits() as u16)));
            sum.value(a.angle().0);
        }
    });
}

fn angles(lines: &mut Lines) {
    lines.sum("sim/angle/sines", |sum| {
        for units in 0..=u16::MAX {
            let angle = Angle(units);
            sum.column(&[angle.sin(), angle.cos()]);
            put(sum, angle.direction());
        }
    });
    lines.sum("sim/angle/arcs", |sum| {
        let nums = nums();
        for y in &nums {
            for x in &nums {
                sum.value(Angle::atan2(*y, *x).0);
            }
        }
    });
    lines.sum("sim/angle/turns", |sum| {
        for from in (0..=u16::MAX).step_by(641) {
            for to in (0..=u16::MAX).step_by(389) {
                let (from, to) = (Angle(from), Angle(to));
                sum.value(from.units_to(to));
                let turned = from.turn_towards(to, Angle(1_234));
                sum.column(&[(from + to).0, (from - to).0, (-from).0, turned.0]);
            }
        }
        for degrees in [i32::MIN, -721, -360, -90, -1, 0, 1, 45, 359, 360, i32::MAX] {
            sum.value(Angle::degrees(degrees).0);
        }
    });
}

fn grid(lines: &mut Lines) {
    for (name, side) in [("sim/grid/fine", "0.3"), ("sim/grid/coarse", "9")] {
        lines.sum(name, |sum| {
            let mut random = stream(name);
            let (low, high) = (Vec2::from_ints(-20, -10), Vec2::from_ints(50, 40));
            let mut grid = Grid::new(low, high, side.parse().unwrap_or(Num::ONE));
            // Some positions are outside of the grid, and some coincide.
            let place = |random: &mut sim::Stream| {
                let whole = Vec2::from_ints(random.range(-30..60), random.range(-20..50));
                let off = Vec2::new(Num::from_bits(random.range(0..65_536)), Num::ZERO);
                if random.chance(1, 3) {
                    whole
                } else {
                    whole + off
                }
            };
            for round in 0..4_u32 {
                let items: Vec<Vec2> = (0..round * 300).map(|_| place(&mut random)).collect();
                let cells: Vec<u32> = items.iter().map(|at| grid.cell_of(*at)).collect();
                grid.fill(cells);
                sum.value(grid.order().len() as u32);
                let around = |low: Vec2, high: Vec2| {
                    let found = grid.around(low, high);
                    found.map(|item| (item, items[item as usize]))
                };
                for _ in 0..60 {
                    let at = place(&mut random);
                    let radius = random.num_between(Num::NEG_ONE, Num::lit("12"));
                    let (from, to) = (place(&mut random), place(&mut random));
                    let reach = Vec2::new(radius, radius);
                    let near = |(_, there): &(u32, Vec2)| at.within(*there, radius);
                    put_found(sum, around(at - reach, at + reach).filter(near));
                    let inside = |(_, there): &(u32, Vec2)| {
                        (from.x..=to.x).contains(&there.x) && (from.y..=to.y).contains(&there.y)
                    };
                    put_found(sum, around(from, to).filter(inside));
                    put_found(sum, around(from, to));
                    let others = around(at - reach, at + reach).filter(near);
                    let nearest = others
                        .filter(|(id, _)| id % 3 != 0)
                        .map(|(id, there)| (at.distance_squared(there), id))
                        .min();
                    let (square, id) = nearest.unwrap_or((sim::Square::MAX, u32::MAX));
                    sum.value(id);
                    sum.value(square.to_bits());
                }
            }
        });
    }
}

fn put(sum: &mut Sum, at: Vec2) {
    sum.column(&[at.x, at.y]);
}

fn put_found(sum: &mut Sum, found: impl Iterator<Item = (u32, Vec2)>) {
    for (id, at) in found {
        sum.value(id);
        put(sum, at);
    }
    sum.value(u32::MAX);
}
