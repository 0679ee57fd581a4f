//! Which seats are anywhere near a place, by blocks of 8 × 8 tiles: who has no enemy there need not look.

use super::{
    Bodies,
    bodies::{Body, Coarse},
};
use crate::world::{World, tile::Tile};
use sim::{Num, Vec2};

/// One bit for each seat in each block, and the buildings of each block.
#[derive(Clone, Debug, Default)]
pub struct Masks {
    /// Blocks along an edge of the map.
    wide: usize,
    /// Seats with units in the block or one beside it.
    units: Vec<u8>,
    /// Seats with buildings in the block or one beside it.
    buildings: Vec<u8>,
    scratch: Vec<u8>,
    /// For each block, where its buildings begin; one more at the end. Empty without buildings.
    begin: Vec<u32>,
    /// Rows of buildings that cover a tile of the block, by block.
    rows: Vec<u32>,
}

impl Masks {
    pub fn fill(&mut self, w: &World, bodies: &Bodies) {
        self.wide = usize::from(w.map.size()).div_ceil(1 << BLOCK);
        let blocks = self.wide * self.wide;
        self.units.clear();
        self.units.resize(blocks, 0);
        // Many in a row are in the same block.
        let (mut here, mut seats) = (0, 0);
        let rows = bodies.x.iter().zip(&bodies.y).zip(&bodies.body);
        for ((x, y), body) in rows.take(bodies.len()) {
            let block = self.block(*x, *y);
            if block != here {
                self.units[here] |= seats;
                (here, seats) = (block, 0);
            }
            seats |= bit(Body(*body).seat());
        }
        self.units[here] |= seats;
        self.scratch.clear();
        self.scratch.resize(blocks, 0);
        widen(&mut self.units, &mut self.scratch, self.wide);
        self.fill_buildings(w);
    }

    /// Whether anybody but `seat` has units within a block of the point.
    #[inline(always)]
    pub fn has_others(&self, x: Coarse, y: Coarse, seat: u8) -> bool {
        self.units[self.block(x, y)] & !bit(seat) != 0
    }

    /// Whether anybody but `seat` has buildings within a block of the point.
    #[inline(always)]
    pub fn has_other_buildings(&self, x: Coarse, y: Coarse, seat: u8) -> bool {
        !self.buildings.is_empty() && self.buildings[self.block(x, y)] & !bit(seat) != 0
    }

    /// Rows of the buildings within `reach` of a point, some more than once, and some beyond.
    pub fn buildings_around(&self, at: Vec2, reach: Num) -> impl Iterator<Item = usize> + '_ {
        let last = self.wide as i32 - 1;
        let block = move |at: Num| (at.to_num::<i32>() >> BLOCK).clamp(0, last) as usize;
        let (left, right) = (
            block(at.x.saturating_sub(reach)),
            block(at.x.saturating_add(reach)),
        );
        let lines = block(at.y.saturating_sub(reach))..=block(at.y.saturating_add(reach));
        lines
            .filter(|_| !self.begin.is_empty())
            .flat_map(move |line| {
                let from = self.begin[line * self.wide + left] as usize;
                let to = self.begin[line * self.wide + right + 1] as usize;
                self.rows[from..to].iter().map(|row| *row as usize)
            })
    }

    /// Bytes that it keeps from tick to tick.
    pub fn memory(&self) -> usize {
        self.units.capacity()
            + self.buildings.capacity()
            + self.scratch.capacity()
            + 4 * (self.begin.capacity() + self.rows.capacity())
    }

    fn fill_buildings(&mut self, w: &World) {
        self.begin.clear();
        self.rows.clear();
        self.buildings.clear();
        if w.buildings.len() == 0 {
            return;
        }
        let blocks = self.wide * self.wide;
        self.buildings.resize(blocks, 0);
        self.begin.resize(blocks + 2, 0);
        for (block, row) in self.covered(w) {
            self.begin[block + 2] += 1;
            self.buildings[block] |= bit(w.buildings.seat[row]);
        }
        for at in 2..self.begin.len() {
            self.begin[at] += self.begin[at - 1];
        }
        self.rows.resize(self.begin[blocks + 1] as usize, 0);
        for (block, row) in self.covered(w) {
            let place = &mut self.begin[block + 1];
            self.rows[*place as usize] = row as u32;
            *place += 1;
        }
        self.begin.pop();
        self.scratch.fill(0);
        widen(&mut self.buildings, &mut self.scratch, self.wide);
    }

    /// Every standing building with every block of which it covers a tile.
    fn covered(&self, w: &World) -> Vec<(usize, usize)> {
        let mut out = Vec::with_capacity(w.buildings.len() * 2);
        for row in 0..w.buildings.len() {
            if w.buildings.hp[row] == 0 {
                continue;
            }
            let Tile { x, y } = w.map.tile_of(w.buildings.tile[row]);
            let edge = w.map.size() - 1;
            let span = w.buildings.kind[row].stats().size.saturating_sub(1);
            let block = |at: u16| usize::from(at.min(edge) >> BLOCK);
            for line in block(y)..=block(y + span) {
                for column in block(x)..=block(x + span) {
                    out.push((line * self.wide + column, row));
                }
            }
        }
        out
    }

    #[inline(always)]
    fn block(&self, x: Coarse, y: Coarse) -> usize {
        let line = y.to_num::<i32>() >> BLOCK;
        line as usize * self.wide + (x.to_num::<i32>() >> BLOCK) as usize
    }
}

/// Lets every block know of the eight around it.
fn widen(mask: &mut [u8], scratch: &mut [u8], wide: usize) {
    for (line, out) in mask.chunks_exact(wide).zip(scratch.chunks_exact_mut(wide)) {
        out.copy_from_slice(line);
        for (to, from) in out[1..].iter_mut().zip(line) {
            *to |= from;
        }
        for (to, from) in out.iter_mut().zip(&line[1..]) {
            *to |= from;
        }
    }
    mask.copy_from_slice(scratch);
    for (to, from) in mask[wide..].iter_mut().zip(&scratch[..]) {
        *to |= from;
    }
    for (to, from) in mask.iter_mut().zip(&scratch[wide..]) {
        *to |= from;
    }
}

fn bit(seat: u8) -> u8 {
    1 << (seat & 7)
}

/// A block's edge in tiles, as a power of two.
pub const BLOCK: u32 = 3;
/// Tiles within which a mask says who is near, wherever in its block one stands.
pub const MASK_REACH: Num = Num::const_from_int(1 << BLOCK);
