//! The ways in which a square map can be laid over itself.

use crate::world::tile::Tile;
use sim::{Angle, Num};

/// A map of this size looks the same after each of so many turns and reflections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Symmetry {
    pub size: u16,
    pub copies: usize,
}

impl Symmetry {
    pub fn for_seats(seats: usize, size: u16) -> Self {
        let copies = match seats {
            0..=2 => 2,
            3..=4 => 4,
            _ => 8,
        };
        Self { size, copies }
    }

    /// Where `tile` comes to lie in one of the copies; copy 0 is the tile itself.
    pub fn image(self, tile: Tile, copy: usize) -> Tile {
        let far = self.size - 1;
        let (x, y) = (tile.x, tile.y);
        let (x, y) = match (self.copies, copy) {
            (_, 0) => (x, y),
            (2, _) | (_, 1) => (far - x, far - y),
            (_, 2) => (far - y, x),
            (_, 3) => (y, far - x),
            (_, 4) => (y, x),
            (_, 5) => (far - y, far - x),
            (_, 6) => (x, far - y),
            _ => (far - x, y),
        };
        Tile::new(x, y)
    }

    pub fn images(self, tile: Tile) -> impl Iterator<Item = Tile> {
        (0..self.copies).map(move |copy| self.image(tile, copy))
    }

    /// The angle of a tile around the middle of the map.
    pub fn bearing(self, tile: Tile) -> Angle {
        let far = Tile::new(self.size - 1, self.size - 1).corner();
        (tile.corner() - far * Num::lit("0.5")).angle()
    }
}
