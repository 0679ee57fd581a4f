//! Straight lines over the ground.

use super::ground::Ground;
use crate::world::space::{ONE, Point, Tile};

/// Whether something of this half width, at most half a tile, can go straight from `from` to `to` without
/// touching a blocked tile. `false` for lines longer than [`LONGEST_LINE`].
pub(super) fn is_clear(ground: &Ground, from: Point, to: Point, half_width: i32) -> bool {
    let (dx, dy) = (to.x.wrapping_sub(from.x), to.y.wrapping_sub(from.y));
    let on_map = |at: Point| {
        let edge = i32::from(ground.size()).saturating_mul(ONE);
        (0..edge).contains(&at.x) && (0..edge).contains(&at.y)
    };
    let short = |part: i32| part.unsigned_abs() <= LONGEST_LINE * ONE as u32;
    if !on_map(from) || !on_map(to) || !short(dx) || !short(dy) {
        return false;
    }
    let half_width = half_width.clamp(0, ONE / 2);
    let length = from.distance(to);
    if half_width == 0 || length == 0 {
        return thin(ground, from, to);
    }
    // A tile is wider than the strip, so what touches the strip touches one of its four borders.
    let aside = |part: i32| (i64::from(part) * i64::from(half_width) / i64::from(length)) as i32;
    let (x, y) = (aside(-dy), aside(dx));
    let sides = |at: Point| {
        let side = |x: i32, y: i32| Point {
            x: at.x + x,
            y: at.y + y,
        };
        (side(x, y), side(-x, -y))
    };
    let (begin, end) = (sides(from), sides(to));
    thin(ground, begin.0, end.0)
        && thin(ground, begin.1, end.1)
        && thin(ground, begin.0, begin.1)
        && thin(ground, end.0, end.1)
}

/// Whether every tile that the line touches is open.
fn thin(ground: &Ground, a: Point, b: Point) -> bool {
    let open =
        |x: i32, y: i32| x >= 0 && y >= 0 && !ground.is_blocked(Tile::new(x as u16, y as u16));
    let (mut x, mut y) = (a.x.div_euclid(ONE), a.y.div_euclid(ONE));
    let (end_x, end_y) = (b.x.div_euclid(ONE), b.y.div_euclid(ONE));
    let (dx, dy) = (
        i64::from(b.x) - i64::from(a.x),
        i64::from(b.y) - i64::from(a.y),
    );
    let (step_x, step_y) = (dx.signum() as i32, dy.signum() as i32);
    if !open(x, y) {
        return false;
    }
    while (x, y) != (end_x, end_y) {
        let border = |tile: i32, step: i32, from: i32| {
            let edge = i64::from(tile + i32::from(step > 0)) * i64::from(ONE);
            (edge - i64::from(from)).abs()
        };
        // Which border comes first is a comparison of fractions: of the way in x and in y.
        let to_x = border(x, step_x, a.x) * dy.abs();
        let to_y = border(y, step_y, a.y) * dx.abs();
        let (cross_x, cross_y) = match (x == end_x, y == end_y) {
            (true, _) => (false, true),
            (_, true) => (true, false),
            _ => (to_x <= to_y, to_y <= to_x),
        };
        if cross_x && cross_y && !(open(x + step_x, y) && open(x, y + step_y)) {
            return false;
        }
        x += if cross_x { step_x } else { 0 };
        y += if cross_y { step_y } else { 0 };
        if !open(x, y) {
            return false;
        }
    }
    true
}

/// Tiles, along each axis, beyond which no line is followed.
pub(super) const LONGEST_LINE: u32 = 64;
