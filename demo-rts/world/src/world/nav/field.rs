//! Which way to go from each tile of one sector.

use super::{
    Direction, Ways,
    ground::{Rows, TILES},
    spread::{FAR, exits, step_cost},
};

/// The ways through one sector.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub sector: u32,
    /// When it was last asked for.
    pub used: u32,
    /// Four bits for each tile.
    pub ways: [u8; TILES / 2],
}

impl Field {
    #[inline]
    pub fn code(&self, tile: u8) -> u8 {
        self.ways[usize::from(tile / 2)] >> (tile % 2 * 4) & 15
    }

    /// The ways of the block around a tile.
    #[inline]
    pub fn block(&self, tile: u8) -> Ways {
        let corner = usize::from(tile & 0b1100_1100) / 2;
        let line = |line: usize| {
            let at = corner + line * 8;
            u64::from(u16::from_le_bytes([self.ways[at], self.ways[at + 1]])) << (line * 16)
        };
        Ways(line(0) | line(1) | line(2) | line(3))
    }
}

/// A tile from which the way may leave its sector.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crossing {
    pub cost: u32,
    pub tile: u8,
    pub side: u8,
}

/// For each tile the way to go, in four bits.
pub(super) fn ways(
    rows: &Rows,
    cost: &[u32; TILES],
    crossings: &[Crossing],
    ends: impl Iterator<Item = u8>,
) -> [u8; TILES / 2] {
    let exits = exits(rows);
    let mut codes = [Direction::NONE; TILES];
    for crossing in crossings {
        let code = &mut codes[usize::from(crossing.tile)];
        if cost[usize::from(crossing.tile)] == crossing.cost && *code == Direction::NONE {
            *code = crossing.side * 2;
        }
    }
    for tile in ends {
        codes[usize::from(tile)] = Direction::HERE;
    }
    // A margin, so that no tile needs another look at where its neighbour lies.
    let mut around = [FAR; TILES + 2 * MARGIN];
    around[MARGIN..][..TILES].copy_from_slice(cost);
    let mut found = [Direction::NONE; TILES];
    for way in PREFERRED.into_iter().rev() {
        let (dx, dy) = Direction::STEPS[usize::from(way)];
        let there = &around[(MARGIN as i32 + dy * 16 + dx) as usize..][..TILES];
        let step = step_cost(usize::from(way));
        for (tile, code) in found.iter_mut().enumerate() {
            let leads_down = cost[tile] == there[tile].wrapping_add(step) && cost[tile] != FAR;
            if leads_down && exits[tile] >> way & 1 != 0 {
                *code = way;
            }
        }
    }
    for (code, found) in codes.iter_mut().zip(found) {
        if *code == Direction::NONE {
            *code = found;
        }
    }
    let mut ways = [0; TILES / 2];
    for (pair, way) in codes.chunks_exact(2).zip(&mut ways) {
        *way = pair[0] | pair[1] << 4;
    }
    ways
}

/// The order among equally good ways: diagonals first, so that the rest of a way is straight.
const PREFERRED: [u8; 8] = [1, 3, 5, 7, 0, 2, 4, 6];
/// Tiles before and after those of a sector, into which steps over its border lead.
const MARGIN: usize = 17;
