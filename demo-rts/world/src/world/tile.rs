//! Tiles, and where they lie among the points of the world.

use serde::{Deserialize, Serialize};
use sim::{Num, Vec2};

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

    /// The tile that holds a point of a map.
    #[inline(always)]
    pub fn of(at: Vec2) -> Self {
        Self {
            x: at.x.wrapping_to_num(),
            y: at.y.wrapping_to_num(),
        }
    }

    /// The point at its upper left corner.
    #[inline]
    pub fn corner(self) -> Vec2 {
        Vec2::from_ints(self.x.into(), self.y.into())
    }

    /// The point in its middle.
    #[inline]
    pub fn centre(self) -> Vec2 {
        self.corner() + HALF
    }

    /// The point nearest to `to` in a square of `size` tiles an edge with this upper left tile.
    pub fn nearest_of_square(self, size: u16, to: Vec2) -> Vec2 {
        let low = self.corner();
        let edge = Num::from_num(size);
        to.clamp_to(low, low + Vec2::new(edge, edge))
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

/// The point in the middle of a square of tiles.
pub(super) fn middle_of(tile: Tile, size: u16) -> Vec2 {
    tile.corner() + HALF * Num::from_num(size)
}

/// From a tile's corner to its middle.
const HALF: Vec2 = Vec2::new(Num::lit("0.5"), Num::lit("0.5"));

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
    fn points_lie_in_their_tiles() {
        let tile = Tile::new(3, 4_095);
        assert_eq!(Tile::of(tile.corner()), tile);
        assert_eq!(Tile::of(tile.centre()), tile);
        assert_eq!(middle_of(tile, 1), tile.centre());
        assert_eq!(middle_of(tile, 2), Tile::new(4, 4_096).corner());
        let beyond = Tile::new(u16::MAX, 0).centre();
        assert_eq!(beyond.x, Num::MAX);
    }
}
