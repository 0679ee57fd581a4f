//! The two loops that every unit runs over its neighbours: their pushes, and the nearest enemy.
//!
//! Sums wrap and ties are broken by row, so the order of the neighbours, and with it the size of cells,
//! the number of threads and the instruction set, changes no result.

use super::bodies::{Bodies, CIVIL, Coarse, FIRM_AT, GHOST, LANES, RADIUS, SEAT_AT};
use std::ops::Range;

/// The unit that looks around.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    pub x: Coarse,
    pub y: Coarse,
    pub body: i32,
}

/// The sum of all neighbours' pushes, before it is scaled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Push {
    pub x: i32,
    pub y: i32,
    /// Bodies on exactly the same point, the unit itself included.
    pub same: i32,
}

/// The nearest enemy so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Best {
    /// Square of the distance, and more for civilians.
    pub worth: i32,
    pub row: u32,
}

impl Best {
    pub const NONE: Best = Best {
        worth: i32::MAX,
        row: u32::MAX,
    };
}

type Lanes = [i32; LANES];

#[inline(always)]
fn lanes<T: Copy>(column: &[T], at: usize, of: impl Fn(T) -> i32) -> Lanes {
    let column = &column[at..at + LANES];
    std::array::from_fn(|lane| of(column[lane]))
}

/// The push of the bodies in `runs`.
#[inline(always)]
pub fn push(own: Own, bodies: &Bodies, runs: impl Iterator<Item = Range<usize>>) -> Push {
    let (mut sum_x, mut sum_y, mut same) = ([0_i32; LANES], [0_i32; LANES], [0_i32; LANES]);
    let (own_x, own_y) = (own.x.to_bits(), own.y.to_bits());
    let radius = own.body & RADIUS;
    let ghost = own.body & GHOST;
    for run in runs {
        let mut at = run.start;
        while at < run.end {
            let x = lanes(&bodies.x, at, Coarse::to_bits);
            let y = lanes(&bodies.y, at, Coarse::to_bits);
            let body = lanes(&bodies.body, at, |body| body);
            let left = (run.end - at) as i32;
            for lane in 0..LANES {
                let live = -i32::from((lane as i32) < left);
                let through = -i32::from(body[lane] & ghost != 0);
                let dx = own_x.wrapping_sub(x[lane]);
                let dy = own_y.wrapping_sub(y[lane]);
                let least = radius.wrapping_add(body[lane] & RADIUS);
                let apart = dx.wrapping_mul(dx).wrapping_add(dy.wrapping_mul(dy));
                let deep = least.wrapping_mul(least).wrapping_sub(apart).max(0) & live & !through;
                let firm = body[lane] >> FIRM_AT & 7;
                let along_x = deep.wrapping_mul(dx) >> 12;
                let along_y = deep.wrapping_mul(dy) >> 12;
                sum_x[lane] = sum_x[lane].wrapping_add(along_x.wrapping_mul(firm));
                sum_y[lane] = sum_y[lane].wrapping_add(along_y.wrapping_mul(firm));
                same[lane] = same[lane].wrapping_sub(-i32::from(dx | dy == 0) & live & !through);
            }
            at += LANES;
        }
    }
    let total = |lanes: Lanes| {
        lanes
            .iter()
            .fold(0_i32, |sum, lane| sum.wrapping_add(*lane))
    };
    Push {
        x: total(sum_x),
        y: total(sum_y),
        same: total(same),
    }
}

/// The nearest enemy among the bodies in `runs`, at most `far` (a square) away. A civilian counts as
/// `behind` (a square) farther away.
#[inline(always)]
pub fn seek(
    own: Own,
    far: i32,
    behind: i32,
    bodies: &Bodies,
    runs: impl Iterator<Item = Range<usize>>,
) -> Best {
    let mut best = [i32::MAX; LANES];
    let mut best_row = [u32::MAX; LANES];
    let (own_x, own_y) = (own.x.to_bits(), own.y.to_bits());
    let seat = own.body >> SEAT_AT & 0xff;
    for run in runs {
        let mut at = run.start;
        while at < run.end {
            let x = lanes(&bodies.x, at, Coarse::to_bits);
            let y = lanes(&bodies.y, at, Coarse::to_bits);
            let body = lanes(&bodies.body, at, |body| body);
            let mut row = [0; LANES];
            row.copy_from_slice(&bodies.row[at..at + LANES]);
            let left = (run.end - at) as i32;
            for lane in 0..LANES {
                let dx = own_x.wrapping_sub(x[lane]);
                let dy = own_y.wrapping_sub(y[lane]);
                let apart = dx.wrapping_mul(dx).wrapping_add(dy.wrapping_mul(dy));
                let late = -i32::from(body[lane] & CIVIL != 0) & behind;
                let worth = apart.wrapping_add(late);
                let enemy = (body[lane] >> SEAT_AT & 0xff) != seat;
                let near = apart <= far;
                let better =
                    worth < best[lane] || (worth == best[lane] && row[lane] < best_row[lane]);
                let takes = ((lane as i32) < left) & enemy & near & better;
                best[lane] = if takes { worth } else { best[lane] };
                best_row[lane] = if takes { row[lane] } else { best_row[lane] };
            }
            at += LANES;
        }
    }
    let mut found = Best::NONE;
    for lane in 0..LANES {
        if (best[lane], best_row[lane]) < (found.worth, found.row) {
            found = Best {
                worth: best[lane],
                row: best_row[lane],
            };
        }
    }
    found
}
