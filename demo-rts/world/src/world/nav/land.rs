//! What follows from the bits alone: sectors, portals and which tiles are connected.

use super::{
    ground::{Ground, SIDE, SIDES, TILES, local},
    sector::{Sector, opposite},
};
use crate::world::tile::Tile;

#[derive(Clone, Debug)]
pub(super) struct Land {
    pub ground: Ground,
    pub sectors: Vec<Sector>,
    /// Number of each sector's first portal, and of all portals at the end.
    first_portal: Vec<u32>,
    /// Number of each sector's first part.
    first_part: Vec<u32>,
    /// Region of each part.
    regions: Vec<u32>,
}

impl Land {
    pub fn new(ground: Ground) -> Self {
        let sectors = (0..ground.sectors())
            .map(|number| Sector::new(&ground, number))
            .collect();
        let mut land = Self {
            ground,
            sectors,
            first_portal: Vec::new(),
            first_part: Vec::new(),
            regions: Vec::new(),
        };
        land.number();
        land
    }

    /// Numbers portals and parts, and joins the parts to regions. Returns the former numbers of the sectors'
    /// first portals.
    pub fn number(&mut self) -> Vec<u32> {
        let (mut portals, mut parts) = (0, 0);
        let before = std::mem::take(&mut self.first_portal);
        self.first_part.clear();
        for sector in &self.sectors {
            self.first_portal.push(portals);
            self.first_part.push(parts);
            portals += sector.portals.len() as u32;
            parts += u32::from(sector.part_count);
        }
        self.first_portal.push(portals);
        self.join(parts);
        before
    }

    /// A region is named after its first part, so labels depend on nothing but the bits.
    fn join(&mut self, parts: u32) {
        let mut root: Vec<u32> = (0..parts).collect();
        for (number, sector) in self.sectors.iter().enumerate() {
            for side in 0..2 {
                let Some(beyond) = self.ground.neighbour(number as u32, side) else {
                    continue;
                };
                let there = &self.sectors[beyond as usize];
                let pairs = sector
                    .portals_of(side)
                    .zip(there.portals_of(opposite(side)));
                for (a, b) in pairs {
                    let a = self.first_part[number] + u32::from(sector.portals[a].part);
                    let b = self.first_part[beyond as usize] + u32::from(there.portals[b].part);
                    let (a, b) = (find(&mut root, a), find(&mut root, b));
                    root[a.max(b) as usize] = a.min(b);
                }
            }
        }
        self.regions.clear();
        for part in 0..parts {
            self.regions.push(find(&mut root, part) + 1);
        }
    }

    /// Equal and not zero for two open tiles between which a unit can walk; 0 for blocked ones.
    pub fn region(&self, tile: Tile) -> u32 {
        if self.ground.is_blocked(tile) {
            return 0;
        }
        let sector = self.ground.sector_of(tile) as usize;
        self.region_of_part(sector, self.sectors[sector].part_of_open(local(tile)))
    }

    pub fn region_of_part(&self, sector: usize, part: u8) -> u32 {
        self.regions[self.first_part[sector] as usize + usize::from(part)]
    }

    pub fn portals(&self) -> usize {
        self.first_portal.last().map_or(0, |count| *count as usize)
    }

    /// The number of a sector's portal.
    pub fn portal(&self, sector: usize, place: usize) -> usize {
        self.first_portal[sector] as usize + place
    }

    /// Sector and place of the same portal seen from beyond.
    pub fn beyond(&self, sector: usize, place: usize) -> Option<(usize, usize)> {
        let here = &self.sectors[sector];
        let side = usize::from(here.portals[place].side);
        let there = self.ground.neighbour(sector as u32, side)? as usize;
        let first = self.sectors[there].portals_of(opposite(side)).start;
        Some((there, first + place - here.portals_of(side).start))
    }

    /// The open tile of `region` nearest to `to`, wherever that is; of equally near ones the first, row
    /// by row. Looks sector by sector, outwards.
    pub fn nearest(&self, to: Tile, region: u32, blocked: impl Fn(Tile) -> bool) -> Option<Tile> {
        let across = self.ground.across() as i32;
        // Seen from off the map, every tile is at least as far as from the sector at the edge there.
        let (x, y) = (
            i32::from(to.x / SIDE).min(across - 1),
            i32::from(to.y / SIDE).min(across - 1),
        );
        let mut best: Option<(u64, u16, u16)> = None;
        for ring in 0..across {
            if best.is_some_and(|(distance, ..)| distance < least_distance(ring)) {
                break;
            }
            for sector in self.sectors_at(x, y, ring) {
                let parts = 0..self.sectors[sector as usize].part_count;
                let mut labels = parts.map(|part| self.region_of_part(sector as usize, part));
                if labels.any(|label| label == region) {
                    self.nearest_in(sector, to, region, &blocked, &mut best);
                }
            }
        }
        best.map(|(_, y, x)| Tile::new(x, y))
    }

    /// Sectors exactly so many sectors away from the one at `x`, `y`.
    fn sectors_at(&self, x: i32, y: i32, ring: i32) -> impl Iterator<Item = u32> {
        let across = self.ground.across() as i32;
        let rows = (y - ring).max(0)..=(y + ring).min(across - 1);
        rows.flat_map(move |row| {
            let whole = (row - y).abs() == ring;
            let step = if whole { 1 } else { (2 * ring).max(1) };
            (x - ring..=x + ring)
                .step_by(step as usize)
                .filter(move |column| (0..across).contains(column))
                .map(move |column| (row * across + column) as u32)
        })
    }

    fn nearest_in(
        &self,
        sector: u32,
        to: Tile,
        region: u32,
        blocked: &impl Fn(Tile) -> bool,
        best: &mut Option<(u64, u16, u16)>,
    ) {
        let origin = self.ground.origin(sector);
        for at in 0..TILES as u16 {
            let tile = Tile::new(origin.x + at % SIDE, origin.y + at / SIDE);
            let dx = u64::from(tile.x.abs_diff(to.x));
            let dy = u64::from(tile.y.abs_diff(to.y));
            let found = (dx * dx + dy * dy, tile.y, tile.x);
            let nearer = best.is_none_or(|best| found < best);
            if nearer && self.region(tile) == region && !blocked(tile) {
                *best = Some(found);
            }
        }
    }

    /// Whether any of these sectors is the sector or beside it.
    pub fn is_near(&self, sector: u32, changed: &[bool]) -> bool {
        let beside = (0..SIDES).filter_map(|side| self.ground.neighbour(sector, side));
        beside
            .chain([sector])
            .any(|number| changed[number as usize])
    }

    pub fn is_beyond(&self, tile: Tile) -> bool {
        tile.x >= self.ground.size() || tile.y >= self.ground.size()
    }

    /// Bytes on the heap.
    pub fn memory(&self) -> usize {
        let sectors: usize = self.sectors.iter().map(Sector::memory).sum();
        let lists =
            self.first_portal.capacity() + self.first_part.capacity() + self.regions.capacity();
        let each = size_of::<Sector>() + TILES / 8;
        sectors + lists * 4 + self.sectors.capacity() * each
    }
}

/// The square of the least distance, in tiles, to a sector so many sectors away.
fn least_distance(ring: i32) -> u64 {
    let gap = u64::from((ring - 1).max(0).unsigned_abs()) * u64::from(SIDE);
    gap * gap
}

fn find(root: &mut [u32], mut part: u32) -> u32 {
    while root[part as usize] != part {
        root[part as usize] = root[root[part as usize] as usize];
        part = root[part as usize];
    }
    part
}
