//! Eight ways, and none.

use crate::world::tile::Tile;

/// Which way to go from a tile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Direction {
    /// +x.
    East = 0,
    /// +x +y.
    SouthEast = 1,
    /// +y.
    South = 2,
    /// -x +y.
    SouthWest = 3,
    /// -x.
    West = 4,
    /// -x -y.
    NorthWest = 5,
    /// -y.
    North = 6,
    /// +x -y.
    NorthEast = 7,
    /// Nowhere: the way ends here.
    #[default]
    Here = 8,
}

impl Direction {
    pub(super) const HERE: u8 = Direction::Here as u8;
    pub(super) const NONE: u8 = 15;
    pub(super) const STEPS: [(i32, i32); 9] = [
        (1, 0),
        (1, 1),
        (0, 1),
        (-1, 1),
        (-1, 0),
        (-1, -1),
        (0, -1),
        (1, -1),
        (0, 0),
    ];

    /// What a step adds to column and row.
    #[inline]
    pub fn step(self) -> (i32, i32) {
        Self::STEPS[self as usize]
    }

    #[inline]
    pub(super) fn from_code(code: u8) -> Option<Direction> {
        const ALL: [Direction; 9] = [
            Direction::East,
            Direction::SouthEast,
            Direction::South,
            Direction::SouthWest,
            Direction::West,
            Direction::NorthWest,
            Direction::North,
            Direction::NorthEast,
            Direction::Here,
        ];
        ALL.get(usize::from(code)).copied()
    }
}

/// A block of 4 × 4 tiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    x: u16,
    y: u16,
}

impl Block {
    const SIDE: u16 = 4;

    /// The block around a tile.
    #[inline]
    pub fn of(tile: Tile) -> Self {
        Self {
            x: tile.x / Self::SIDE,
            y: tile.y / Self::SIDE,
        }
    }

    /// Its upper left tile.
    pub fn corner(self) -> Tile {
        Tile::new(self.x * Self::SIDE, self.y * Self::SIDE)
    }
}

/// Which way to go from the tiles of a block: four bits for each, line by line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ways(pub(super) u64);

impl Ways {
    /// From a tile of the block. `None` where no way leads to the goal, and on blocked tiles.
    #[inline]
    pub fn from(self, tile: Tile) -> Option<Direction> {
        let place = tile.y % Block::SIDE * Block::SIDE + tile.x % Block::SIDE;
        Direction::from_code((self.0 >> (place * 4)) as u8 & 15)
    }
}

impl Default for Ways {
    /// No way from anywhere.
    fn default() -> Self {
        Self(u64::MAX)
    }
}
