//! Straight lines over the ground.

use super::ground::Ground;
use crate::world::tile::Tile;
use sim::{Num, Vec2};

/// Whether every tile that the line touches is open. `false` for lines longer than [`LONGEST_LINE`].
pub(super) fn is_clear(ground: &Ground, from: Vec2, to: Vec2) -> bool {
    let open =
        |x: i32, y: i32| x >= 0 && y >= 0 && !ground.is_blocked(Tile::new(x as u16, y as u16));
    let way = to - from;
    let (far_x, far_y) = (way.x.saturating_abs(), way.y.saturating_abs());
    let (mut x, mut y): (i32, i32) = (from.x.to_num(), from.y.to_num());
    if far_x.max(far_y) > LONGEST_LINE || !open(x, y) {
        return false;
    }
    let (end_x, end_y): (i32, i32) = (to.x.to_num(), to.y.to_num());
    let (step_x, step_y) = (way.x.to_bits().signum(), way.y.to_bits().signum());
    while (x, y) != (end_x, end_y) {
        let border = |tile: i32, step: i32, from: Num| {
            let edge = Num::from_num(tile + i32::from(step > 0));
            (edge - from).abs()
        };
        // Which border comes first is a comparison of fractions: of the way in x and in y.
        let to_x = border(x, step_x, from.x).wide_mul(far_y);
        let to_y = border(y, step_y, from.y).wide_mul(far_x);
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

/// Along each axis, beyond which no line is followed.
const LONGEST_LINE: Num = Num::lit("64");
