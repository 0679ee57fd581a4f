//! Tiles, and points between them. All integers.

use serde::{Deserialize, Serialize};

/// A square of the map. `x` grows to the right, `y` downwards. Written as one number, the smaller the
/// nearer it is to the corner: two bytes on maps of up to 128 tiles a side, three on those of 256.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(into = "u32", from = "u32")]
pub struct Tile {
    /// Column.
    pub x: u16,
    /// Row.
    pub y: u16,
}

impl Tile {
    /// The tile at column `x` and row `y`.
    pub const fn new(x: u16, y: u16) -> Self {
        Self { x, y }
    }

    /// The point in its middle.
    pub fn centre(self) -> Point {
        Point {
            x: i32::from(self.x)
                .saturating_mul(ONE)
                .saturating_add(ONE / 2),
            y: i32::from(self.y)
                .saturating_mul(ONE)
                .saturating_add(ONE / 2),
        }
    }

    /// Steps of a king from here to `other`.
    pub fn king_steps(self, other: Tile) -> u16 {
        self.x.abs_diff(other.x).max(self.y.abs_diff(other.y))
    }
}

impl From<Tile> for u32 {
    /// Its place in an order by the larger of `x` and `y`.
    fn from(tile: Tile) -> u32 {
        let (x, y) = (u32::from(tile.x), u32::from(tile.y));
        if x < y { y * y + x } else { x * x + x + y }
    }
}

impl From<u32> for Tile {
    fn from(place: u32) -> Tile {
        let larger = place.isqrt();
        let rest = place - larger * larger;
        if rest < larger {
            Tile::new(rest as u16, larger as u16)
        } else {
            Tile::new(larger as u16, (rest - larger) as u16)
        }
    }
}

/// A place on the map, in 1/65,536 of a tile: the raw bits of 16.16 fixed point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Point {
    /// Rightwards.
    pub x: i32,
    /// Downwards.
    pub y: i32,
}

impl Point {
    /// The square of the distance to `other`, in 1/2³² of a square tile.
    pub fn distance_squared(self, other: Point) -> u64 {
        let dx = u64::from(self.x.abs_diff(other.x));
        let dy = u64::from(self.y.abs_diff(other.y));
        (dx * dx).saturating_add(dy * dy)
    }

    /// The distance to `other`, rounded down, in 1/65,536 of a tile.
    pub fn distance(self, other: Point) -> u32 {
        self.distance_squared(other).isqrt() as u32
    }

    /// Where a step leads from here.
    pub(super) fn plus(self, step: Step) -> Point {
        Point {
            x: self.x.saturating_add(step.x),
            y: self.y.saturating_add(step.y),
        }
    }

    /// The step of at most `reach` that leads from here towards `to`, which is `away` from here.
    pub(super) fn towards(self, to: Point, away: u32, reach: i32) -> Step {
        let (x, y) = (to.x.saturating_sub(self.x), to.y.saturating_sub(self.y));
        if i64::from(away) <= i64::from(reach) {
            return Step { x, y };
        }
        let scale = |part: i32| (i64::from(part) * i64::from(reach) / i64::from(away)) as i32;
        Step {
            x: scale(x),
            y: scale(y),
        }
    }
}

/// Unit steps by steepness: for the shorter part over the longer in 1/256, what the longer and the shorter
/// part of a step of length 1 are, in 1/65,536.
static UNIT: [(u32, u32); 257] = {
    let mut table = [(0, 0); 257];
    let mut at = 0;
    while at < 257 {
        let long = 256_u64;
        let short = at as u64;
        let length = ((long * long + short * short) << 32).isqrt();
        table[at] = (
            ((long << 32) / length) as u32,
            ((short << 32) / length) as u32,
        );
        at += 1;
    }
    table
};

/// A way to go, in the units of [`Point`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Step {
    pub x: i32,
    pub y: i32,
}

impl Step {
    /// This way with a length of about `reach` (below 2¹⁶), or unchanged if neither part is longer than
    /// that: within a tenth of a degree, by a table instead of a root.
    #[inline]
    pub fn heading(self, reach: i32) -> Step {
        let (x, y) = (self.x.unsigned_abs(), self.y.unsigned_abs());
        let (long, short) = (x.max(y), x.min(y));
        if long <= reach.unsigned_abs() {
            return self;
        }
        // 23 bits are left of the longer part, so the shorter fits 31 when taken 256 times.
        let coarser = 9_u32.saturating_sub(long.leading_zeros());
        let steepness = ((short >> coarser) << 8) / (long >> coarser);
        let (along, aside) = UNIT[steepness as usize];
        let scale = |part: u32| (part.wrapping_mul(reach.unsigned_abs() & 0xffff) >> 16) as i32;
        let (along, aside) = (scale(along), scale(aside));
        let (across, down) = if x >= y {
            (along, aside)
        } else {
            (aside, along)
        };
        Step {
            x: if self.x < 0 { -across } else { across },
            y: if self.y < 0 { -down } else { down },
        }
    }
}

/// The point in the middle of a square of tiles.
pub(super) fn middle_of(tile: Tile, size: u16) -> Point {
    let corner = tile.centre();
    let half = (i32::from(size) - 1) * (ONE / 2);
    Point {
        x: corner.x.saturating_add(half),
        y: corner.y.saturating_add(half),
    }
}

/// One tile, in the units of [`Point`].
pub const ONE: i32 = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_one_tile() {
        let far = (0..=u32::MAX).step_by(65_521);
        for place in (0..100_000).chain(far).chain([u32::MAX]) {
            assert_eq!(u32::from(Tile::from(place)), place);
        }
        assert_eq!(Tile::from(u32::MAX), Tile::new(u16::MAX, u16::MAX));
        assert!(u32::from(Tile::new(127, 127)) < 1 << 14);
    }

    #[test]
    fn distance_is_exact_on_a_right_triangle() {
        let a = Tile::new(0, 0).centre();
        let b = Tile::new(3, 4).centre();
        assert_eq!(a.distance(b), 5 * ONE as u32);
    }

    #[test]
    fn a_step_is_never_longer_than_asked() {
        let from = Tile::new(10, 10).centre();
        for (x, y) in [(0, 0), (20, 20), (10, 11), (190, 3)] {
            let to = Tile::new(x, y).centre();
            let step = from.towards(to, from.distance(to), 8_000);
            let end = Point {
                x: from.x + step.x,
                y: from.y + step.y,
            };
            assert!(from.distance(end) <= 8_000);
        }
    }

    #[test]
    fn a_heading_has_the_way_and_length_that_was_asked() {
        for (x, y) in [
            (90_000, 3),
            (-70_000, 70_000),
            (i32::MAX, i32::MIN),
            (5, -8_001),
            (123_456_789, -23_456_789),
        ] {
            let step = Step { x, y }.heading(8_000);
            let (exact_x, exact_y) = (i64::from(x), i64::from(y));
            let length = (exact_x * exact_x + exact_y * exact_y).isqrt();
            for (part, exact) in [(step.x, exact_x), (step.y, exact_y)] {
                let expected = exact * 8_000 / length;
                assert!(
                    (i64::from(part) - expected).abs() <= 32,
                    "{x} {y}: {step:?}"
                );
            }
        }
        let short = Step {
            x: -7_000,
            y: 8_000,
        };
        assert_eq!(short.heading(8_000), short);
    }

    #[test]
    fn extreme_points_do_not_overflow() {
        let low = Point {
            x: i32::MIN,
            y: i32::MIN,
        };
        let high = Point {
            x: i32::MAX,
            y: i32::MAX,
        };
        assert!(low.distance_squared(high) > 0);
        low.towards(high, low.distance(high), ONE);
    }
}
