//! The seats near each block of 8 × 8 tiles: a unit without enemies there need not look.

use super::{
    Bodies,
    bodies::{Body, Coarse},
    grid,
};
use crate::world::{Map, buildings::Buildings, tile::Tile};
use sim::{Grid, Num, Vec2};

/// One bit for each seat in each block, and the buildings of each block.
#[derive(Clone, Debug)]
pub struct Masks {
    /// Seats with units in the block or one beside it.
    units: Vec<u8>,
    /// Seats with buildings in the block or one beside it.
    buildings: Vec<u8>,
    scratch: Vec<u8>,
    /// The blocks, and which of the entries below lie in each.
    grid: Grid,
    /// Every standing building, once for each block of which it covers a tile: block and row.
    covered: Vec<(u32, u32)>,
}

impl Masks {
    pub fn new(size: u16) -> Self {
        Self {
            units: Vec::new(),
            buildings: Vec::new(),
            scratch: Vec::new(),
            grid: grid(size, BLOCK),
            covered: Vec::new(),
        }
    }

    pub fn fill(&mut self, map: &Map, buildings: &Buildings, bodies: &Bodies) {
        let (wide, high) = self.grid.size();
        let (wide, blocks) = (wide as usize, (wide * high) as usize);
        self.units.clear();
        self.units.resize(blocks, 0);
        // Consecutive bodies are mostly in the same block.
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
        widen(&mut self.units, &mut self.scratch, wide);
        self.fill_buildings(map, buildings);
    }

    /// Whether any seat but `seat` has units within a block of the point.
    #[inline(always)]
    pub fn has_others(&self, x: Coarse, y: Coarse, seat: u8) -> bool {
        self.units[self.block(x, y)] & !bit(seat) != 0
    }

    /// Whether any seat but `seat` has buildings within a block of the point.
    #[inline(always)]
    pub fn has_other_buildings(&self, x: Coarse, y: Coarse, seat: u8) -> bool {
        !self.buildings.is_empty() && self.buildings[self.block(x, y)] & !bit(seat) != 0
    }

    /// Rows of the buildings within `reach` of a point, some more than once, and some beyond.
    pub fn buildings_around(&self, at: Vec2, reach: Num) -> impl Iterator<Item = usize> + '_ {
        let reach = Vec2::new(reach, reach);
        let found = self.grid.around(at - reach, at + reach);
        found.map(|entry| self.covered[entry as usize].1 as usize)
    }

    /// Bytes that it keeps from tick to tick.
    pub fn memory(&self) -> usize {
        self.units.capacity()
            + self.buildings.capacity()
            + self.scratch.capacity()
            + self.grid.memory()
            + self.covered.capacity() * size_of::<(u32, u32)>()
    }

    fn fill_buildings(&mut self, map: &Map, buildings: &Buildings) {
        if buildings.len() == 0 && self.covered.is_empty() {
            return;
        }
        self.covered.clear();
        self.buildings.clear();
        self.buildings.resize(self.units.len(), 0);
        self.cover(map, buildings);
        self.grid.fill(self.covered.iter().map(|(block, _)| *block));
        let (wide, _) = self.grid.size();
        self.scratch.fill(0);
        widen(&mut self.buildings, &mut self.scratch, wide as usize);
    }

    fn cover(&mut self, map: &Map, buildings: &Buildings) {
        let (wide, _) = self.grid.size();
        for row in 0..buildings.len() {
            if buildings.hp[row] == 0 {
                continue;
            }
            let Tile { x, y } = map.tile_of(buildings.tile[row]);
            let span = buildings.kind[row].stats().size.saturating_sub(1);
            let block = |at: u16| u32::from(at.min(map.size() - 1) >> BLOCK);
            for line in block(y)..=block(y + span) {
                for column in block(x)..=block(x + span) {
                    let block = line * wide + column;
                    self.buildings[block as usize] |= bit(buildings.seat[row]);
                    self.covered.push((block, row as u32));
                }
            }
        }
    }

    /// The grid's number for a place on the map.
    #[inline(always)]
    fn block(&self, x: Coarse, y: Coarse) -> usize {
        let (wide, _) = self.grid.size();
        let line = y.to_num::<i32>() as usize >> BLOCK;
        line * wide as usize + (x.to_num::<i32>() as usize >> BLOCK)
    }
}

/// Spreads each block's seats to the eight blocks around it.
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
/// Tiles around any point of a block that its mask surely covers.
pub const MASK_REACH: Num = Num::const_from_int(1 << BLOCK);
