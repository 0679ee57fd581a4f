//! Passability: one bit for each tile, four words for each sector.

use crate::world::tile::Tile;

/// Which tiles are blocked. Tiles of the last sectors that lie beyond the map are blocked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ground {
    size: u16,
    /// Sectors along an edge.
    across: u32,
    /// Bit set: blocked.
    words: Vec<u64>,
}

impl Ground {
    pub fn new(size: u16, blocked: impl Fn(Tile) -> bool) -> Self {
        let across = u32::from(size.div_ceil(SIDE));
        let mut words = vec![0; (across * across) as usize * WORDS];
        for (at, word) in words.iter_mut().enumerate() {
            let (sector, part) = ((at / WORDS) as u32, (at % WORDS) as u16);
            let left = (sector % across) as u16 * SIDE;
            let top = (sector / across) as u16 * SIDE + part * 4;
            for bit in 0..64_u16 {
                let tile = Tile::new(left + bit % SIDE, top + bit / SIDE);
                let beyond = tile.x >= size || tile.y >= size;
                *word |= u64::from(beyond || blocked(tile)) << bit;
            }
        }
        Self {
            size,
            across,
            words,
        }
    }

    pub fn size(&self) -> u16 {
        self.size
    }

    /// Tiles beyond the edge are blocked.
    #[inline]
    pub fn is_blocked(&self, tile: Tile) -> bool {
        if tile.x >= self.size || tile.y >= self.size {
            return true;
        }
        let word =
            self.words[self.sector_of(tile) as usize * WORDS + usize::from(tile.y % SIDE / 4)];
        word >> (tile.y % 4 * SIDE + tile.x % SIDE) & 1 != 0
    }

    /// The tile must be on the map. Returns whether that changed anything.
    pub fn set(&mut self, tile: Tile, blocked: bool) -> bool {
        let at = self.sector_of(tile) as usize * WORDS + usize::from(tile.y % SIDE / 4);
        let bit = 1 << (tile.y % 4 * SIDE + tile.x % SIDE);
        let before = self.words[at];
        self.words[at] = if blocked { before | bit } else { before & !bit };
        self.words[at] != before
    }

    /// Takes one sector over from `other`, a map of the same size.
    pub fn copy_sector(&mut self, sector: u32, other: &Ground) {
        let words = sector as usize * WORDS..(sector as usize + 1) * WORDS;
        self.words[words.clone()].copy_from_slice(&other.words[words]);
    }

    pub fn sectors(&self) -> u32 {
        self.across * self.across
    }

    /// Sectors along an edge.
    pub fn across(&self) -> u32 {
        self.across
    }

    /// The tile must be on the map.
    #[inline]
    pub fn sector_of(&self, tile: Tile) -> u32 {
        u32::from(tile.y / SIDE) * self.across + u32::from(tile.x / SIDE)
    }

    /// The upper left tile.
    pub fn origin(&self, sector: u32) -> Tile {
        Tile::new(
            (sector % self.across) as u16 * SIDE,
            (sector / self.across) as u16 * SIDE,
        )
    }

    /// The sector beyond one side.
    pub fn neighbour(&self, sector: u32, side: usize) -> Option<u32> {
        let (x, y) = (sector % self.across, sector / self.across);
        match side {
            0 if x + 1 < self.across => Some(sector + 1),
            1 if y + 1 < self.across => Some(sector + self.across),
            2 if x > 0 => Some(sector - 1),
            3 if y > 0 => Some(sector - self.across),
            _ => None,
        }
    }

    /// The rows of a sector, one bit for each tile, set where it is open.
    pub fn open_rows(&self, sector: u32) -> Rows {
        let at = sector as usize * WORDS;
        let mut rows = [0; SIDE as usize];
        for (y, row) in rows.iter_mut().enumerate() {
            *row = !(self.words[at + y / 4] >> (y % 4 * 16)) as u16;
        }
        rows
    }
}

/// The tile's number within its sector, row by row.
#[inline]
pub(super) fn local(tile: Tile) -> u8 {
    (tile.y % SIDE * SIDE + tile.x % SIDE) as u8
}

/// Tiles along one side of a sector, as bits: from top to bottom, or from left to right.
pub(super) fn edge(rows: &Rows, side: usize) -> u16 {
    let column = |x: usize| {
        let mut bits = 0;
        for (y, row) in rows.iter().enumerate() {
            bits |= (row >> x & 1) << y;
        }
        bits
    };
    match side {
        0 => column(15),
        1 => rows[15],
        2 => column(0),
        _ => rows[0],
    }
}

/// The number, within its sector, of the tile at a place along a side.
pub(super) fn on_side(side: usize, place: u8) -> u8 {
    match side {
        0 => place * 16 + 15,
        1 => 15 * 16 + place,
        2 => place * 16,
        _ => place,
    }
}

/// A sector's rows, as bits.
pub(super) type Rows = [u16; SIDE as usize];
/// Tiles along an edge of a sector.
pub(super) const SIDE: u16 = 16;
/// Tiles of a sector.
pub(super) const TILES: usize = 256;
/// East, south, west, north.
pub(super) const SIDES: usize = 4;
/// Words of a sector.
const WORDS: usize = 4;
