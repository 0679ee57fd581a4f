//! What is known about one sector: its parts and the portals to its neighbours.

use super::{
    ground::{Ground, Rows, SIDES, TILES, edge, on_side},
    spread::{FAR, OPEN, Scratch, octile},
};

/// A run of open tiles along a side, each with an open tile beyond it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Portal {
    pub side: u8,
    /// Place of the first tile along the side.
    pub start: u8,
    pub length: u8,
    /// The part of the sector that it belongs to.
    pub part: u8,
}

impl Portal {
    /// The tile that stands for all of them.
    pub fn middle(self) -> u8 {
        on_side(usize::from(self.side), self.start + (self.length - 1) / 2)
    }
}

/// Tiles that are connected within the sector have the same part.
#[derive(Clone, Debug, PartialEq)]
enum Parts {
    /// All open tiles are one part, if there are any.
    One,
    Many(Box<[u8; TILES]>),
}

#[derive(Clone, Debug)]
pub(super) struct Sector {
    /// By side, then along it.
    pub portals: Vec<Portal>,
    /// Where each side's portals begin, and the end of the last.
    sides: [u8; SIDES + 1],
    parts: Parts,
    /// Number of parts.
    pub part_count: u8,
    /// Cost from portal to portal, row by row; empty until it is asked for.
    distances: Vec<u16>,
    is_open: bool,
}

impl Sector {
    pub fn new(ground: &Ground, number: u32) -> Self {
        let rows = ground.open_rows(number);
        let (parts, part_count) = parts(&rows);
        let mut sector = Self {
            portals: Vec::new(),
            sides: [0; SIDES + 1],
            parts,
            part_count,
            distances: Vec::new(),
            is_open: rows == OPEN,
        };
        for side in 0..SIDES {
            if let Some(beyond) = ground.neighbour(number, side) {
                let there = edge(&ground.open_rows(beyond), opposite(side));
                sector.find_portals(side, edge(&rows, side) & there);
            }
            sector.sides[side + 1] = sector.portals.len() as u8;
        }
        sector
    }

    /// Both sides of a border see the same pairs, so they find the same portals in the same order.
    fn find_portals(&mut self, side: usize, mut pairs: u16) {
        while pairs != 0 {
            let mut start = pairs.trailing_zeros() as u8;
            let mut left = (pairs >> start).trailing_ones() as u8;
            pairs &= !((u16::MAX >> (16 - left)) << start);
            let pieces = left.div_ceil(LONGEST);
            for piece in 0..pieces {
                let length = left / (pieces - piece);
                self.portals.push(Portal {
                    side: side as u8,
                    start,
                    length,
                    part: self.part_of_open(on_side(side, start)),
                });
                start += length;
                left -= length;
            }
        }
    }

    /// The part of an open tile.
    pub fn part_of_open(&self, tile: u8) -> u8 {
        match &self.parts {
            Parts::One => 0,
            Parts::Many(parts) => parts[usize::from(tile)],
        }
    }

    pub fn portals_of(&self, side: usize) -> std::ops::Range<usize> {
        usize::from(self.sides[side])..usize::from(self.sides[side + 1])
    }

    /// Whether both border alike on their neighbours.
    pub fn has_portals_of(&self, other: &Sector) -> bool {
        self.portals == other.portals
    }

    /// Whether both are divided alike.
    pub fn has_parts_of(&self, other: &Sector) -> bool {
        self.part_count == other.part_count && self.parts == other.parts
    }

    /// Makes [`distance`](Self::distance) ready.
    pub fn measure(&mut self, rows: &Rows, scratch: &mut Scratch) {
        if self.is_measured() {
            return;
        }
        let middles: Vec<u8> = self.portals.iter().map(|portal| portal.middle()).collect();
        for from in &middles {
            scratch.seeds.clear();
            scratch.seeds.push((0, *from));
            scratch.spread(rows);
            for to in &middles {
                let cost = scratch.cost[usize::from(*to)];
                // The longest way within a sector is far below 16 bits.
                self.distances.push(cost.min(u32::from(u16::MAX)) as u16);
            }
        }
    }

    pub fn is_measured(&self) -> bool {
        self.is_open || !self.distances.is_empty()
    }

    /// Whether the ways from portal to portal cost the same. Both must be measured.
    pub fn has_distances_of(&self, other: &Sector) -> bool {
        let count = self.portals.len();
        (0..count).all(|a| (0..count).all(|b| self.distance(a, b) == other.distance(a, b)))
    }

    /// From the middle of one portal to that of another, or [`FAR`]. Only after [`measure`](Self::measure).
    pub fn distance(&self, from: usize, to: usize) -> u32 {
        if self.is_open {
            return octile(self.portals[from].middle(), self.portals[to].middle());
        }
        match self.distances[from * self.portals.len() + to] {
            u16::MAX => FAR,
            cost => u32::from(cost),
        }
    }

    /// Bytes on the heap.
    pub fn memory(&self) -> usize {
        let parts = if self.parts == Parts::One { 0 } else { TILES };
        self.portals.capacity() * size_of::<Portal>() + self.distances.capacity() * 2 + parts
    }
}

pub(super) fn opposite(side: usize) -> usize {
    (side + 2) % SIDES
}

/// Labels the connected parts in the order of their first tiles.
fn parts(rows: &Rows) -> (Parts, u8) {
    if *rows == OPEN {
        return (Parts::One, 1);
    }
    let mut left = *rows;
    let mut labels = Box::new([0; TILES]);
    let mut count = 0;
    while let Some(y) = left.iter().position(|row| *row != 0) {
        let mut part = [0; 16];
        part[y] = left[y] & left[y].wrapping_neg();
        fill(&mut part, &left);
        for (y, row) in part.into_iter().enumerate() {
            left[y] &= !row;
            if count > 0 {
                for x in (0..16).filter(|x| row >> x & 1 != 0) {
                    labels[y * 16 + x] = count;
                }
            }
        }
        count += 1;
    }
    if count > 1 {
        (Parts::Many(labels), count)
    } else {
        (Parts::One, count)
    }
}

/// Grows `part` to all that is connected with it in `open`.
fn fill(part: &mut Rows, open: &Rows) {
    loop {
        let before = *part;
        let down = 0..16_usize;
        for y in down.clone().chain(down.rev()) {
            let up = if y > 0 { part[y - 1] } else { 0 };
            let below = if y < 15 { part[y + 1] } else { 0 };
            let mut row = (part[y] | up | below) & open[y];
            loop {
                let wider = (row | row << 1 | row >> 1) & open[y];
                if wider == row {
                    break;
                }
                row = wider;
            }
            part[y] = row;
        }
        if *part == before {
            return;
        }
    }
}

/// The longest portal, in tiles.
pub(super) const LONGEST: u8 = 8;
