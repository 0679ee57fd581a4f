//! Costs from some tiles of one sector to all others of it.

use super::ground::{Rows, TILES};

/// Reused memory of searches. What it holds after a search is the search's result.
#[derive(Clone, Debug)]
pub(super) struct Scratch {
    /// Cost of each tile; [`FAR`] where none of the seeds can be reached.
    pub cost: [u32; TILES],
    /// Cost and tile from which to spread; used up by it.
    pub seeds: Vec<(u32, u8)>,
    buckets: [Vec<u8>; BUCKETS],
}

impl Default for Scratch {
    fn default() -> Self {
        Self {
            cost: [FAR; TILES],
            seeds: Vec::new(),
            buckets: Default::default(),
        }
    }
}

impl Scratch {
    /// Fills `cost` from `seeds`, over the open tiles of `rows`.
    pub fn spread(&mut self, rows: &Rows) {
        self.cost.fill(FAR);
        if *rows == OPEN {
            self.sweep();
        } else {
            self.search(&exits(rows));
        }
    }

    /// Where nothing is blocked, two passes over the tiles are enough.
    fn sweep(&mut self) {
        const EDGE: usize = 18;
        const WIDE: usize = EDGE * EDGE;
        // A margin beyond every side, so that no tile needs another look at where it lies.
        let mut cost = [FAR / 2; WIDE];
        for (value, tile) in self.seeds.drain(..) {
            let at = (usize::from(tile / 16) + 1) * EDGE + usize::from(tile % 16) + 1;
            cost[at] = cost[at].min(value);
        }
        for y in 1..17 {
            for x in 1..17 {
                let at = y * EDGE + x;
                let straight = cost[at - 1].min(cost[at - EDGE]);
                let diagonal = cost[at - EDGE - 1].min(cost[at - EDGE + 1]);
                let over = straight
                    .wrapping_add(STRAIGHT)
                    .min(diagonal.wrapping_add(DIAGONAL));
                cost[at] = cost[at].min(over);
            }
        }
        for y in (1..17).rev() {
            for x in (1..17).rev() {
                let at = y * EDGE + x;
                let straight = cost[at + 1].min(cost[at + EDGE]);
                let diagonal = cost[at + EDGE + 1].min(cost[at + EDGE - 1]);
                let over = straight
                    .wrapping_add(STRAIGHT)
                    .min(diagonal.wrapping_add(DIAGONAL));
                cost[at] = cost[at].min(over);
                if cost[at] < FAR / 2 {
                    self.cost[(y - 1) * 16 + x - 1] = cost[at];
                }
            }
        }
    }

    fn search(&mut self, exits: &[u8; TILES]) {
        // Last seed first out: the cheapest.
        self.seeds.sort_unstable_by(|a, b| b.cmp(a));
        let mut cost = 0;
        let mut waiting = 0_u32;
        loop {
            if waiting == 0 {
                match self.seeds.last() {
                    Some((next, _)) => cost = *next,
                    None => return,
                }
            }
            while let Some((_, tile)) = self.seeds.pop_if(|(seed, _)| *seed == cost) {
                if cost < self.cost[usize::from(tile)] {
                    self.cost[usize::from(tile)] = cost;
                    self.buckets[cost as usize % BUCKETS].push(tile);
                    waiting += 1;
                }
            }
            while let Some(tile) = self.buckets[cost as usize % BUCKETS].pop() {
                waiting -= 1;
                if self.cost[usize::from(tile)] != cost {
                    continue;
                }
                let mut ways = exits[usize::from(tile)];
                while ways != 0 {
                    let way = ways.trailing_zeros() as usize;
                    ways &= ways - 1;
                    let there = usize::from(tile.wrapping_add(OFFSETS[way]));
                    let over = cost + step_cost(way);
                    if over < self.cost[there] {
                        self.cost[there] = over;
                        self.buckets[over as usize % BUCKETS].push(there as u8);
                        waiting += 1;
                    }
                }
            }
            cost += 1;
        }
    }
}

/// For each tile the ways out of it that stay within the sector and cut no corner, as bits. A blocked
/// tile has none.
pub(super) fn exits(rows: &Rows) -> [u8; TILES] {
    let mut exits = [0; TILES];
    for y in 0..16 {
        let here = rows[y];
        let down = if y < 15 { rows[y + 1] } else { 0 };
        let up = if y > 0 { rows[y - 1] } else { 0 };
        let (east, west) = (here >> 1, here << 1);
        let ways = [
            east,
            down >> 1 & down & east,
            down,
            down << 1 & down & west,
            west,
            up << 1 & up & west,
            up,
            up >> 1 & up & east,
        ];
        for (half, tiles) in exits[y * 16..][..16].chunks_exact_mut(8).enumerate() {
            let mut masks = 0;
            for (number, way) in ways.iter().enumerate() {
                masks |= spaced((way & here) >> (half * 8)) << number;
            }
            tiles.copy_from_slice(&masks.to_le_bytes());
        }
    }
    exits
}

/// The lowest eight bits, each as the lowest bit of a byte.
fn spaced(bits: u16) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    // In byte n only bit n stays; adding then carries any bit into the highest of its byte.
    let apart = u64::from(bits & 0xff).wrapping_mul(EACH) & 0x8040_2010_0804_0201;
    (apart.wrapping_add(0x7f * EACH) >> 7) & EACH
}

/// The cost of a step in one of the eight ways.
pub(super) fn step_cost(way: usize) -> u32 {
    if way.is_multiple_of(2) {
        STRAIGHT
    } else {
        DIAGONAL
    }
}

/// The cost of a way over open ground, from tile to tile of one sector.
pub(super) fn octile(a: u8, b: u8) -> u32 {
    let dx = u32::from((a % 16).abs_diff(b % 16));
    let dy = u32::from((a / 16).abs_diff(b / 16));
    let (short, long) = (dx.min(dy), dx.max(dy));
    short * DIAGONAL + (long - short) * STRAIGHT
}

/// What each of the eight ways adds to a tile's number within its sector.
const OFFSETS: [u8; 8] = [1, 17, 16, 15, 255, 239, 240, 241];
/// Rows of a sector without an obstacle.
pub(super) const OPEN: Rows = [u16::MAX; 16];
/// No way.
pub(super) const FAR: u32 = u32::MAX;
/// A step to a tile beside.
pub(super) const STRAIGHT: u32 = 5;
/// A step over a corner: 1.4 times as long.
pub(super) const DIAGONAL: u32 = 7;
/// More than the dearest step, so that no two open costs share a bucket.
const BUCKETS: usize = 8;
