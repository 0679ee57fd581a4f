//! What ways lead to.

use super::land::Land;
use crate::world::tile::Tile;

/// Where to go: a rectangle of tiles. Its open tiles are where ways end; if it has none, as a building's
/// footprint, the open tiles around it are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Goal {
    /// The upper left tile.
    pub tile: Tile,
    /// Tiles from left to right, 1 to 16; others count as the nearest of these.
    pub width: u8,
    /// Tiles from top to bottom, 1 to 16; others count as the nearest of these.
    pub height: u8,
}

impl Goal {
    /// One tile.
    pub fn tile(tile: Tile) -> Self {
        Self::square(tile, 1)
    }

    /// The footprint of a building of `size` × `size` tiles.
    pub fn square(tile: Tile, size: u8) -> Self {
        Self {
            tile,
            width: size,
            height: size,
        }
    }

    pub(super) fn inside(self, land: &Land) -> impl Iterator<Item = Tile> {
        self.tiles(0).filter(|tile| !land.ground.is_blocked(*tile))
    }

    pub(super) fn around(self, land: &Land) -> impl Iterator<Item = Tile> {
        self.tiles(1).filter(|tile| !land.ground.is_blocked(*tile))
    }

    /// The tiles of the rectangle, made larger by `margin` on every side.
    pub(super) fn tiles(self, margin: u16) -> impl Iterator<Item = Tile> {
        let side = |size: u8| u16::from(size.clamp(1, 16));
        let (left, top) = (self.tile.x, self.tile.y);
        let span = move |from: u16, size: u8| {
            from.saturating_sub(margin)..from.saturating_add(side(size)).saturating_add(margin)
        };
        span(top, self.height)
            .flat_map(move |y| span(left, self.width).map(move |x| Tile::new(x, y)))
    }
}
