//! The ways to one goal: what it costs to go there from each portal, and which way to go in each sector
//! that somebody asked about.
//!
//! Everything here is a pure function of the bits and the goal: it does not matter in which order, or how
//! much, was asked.

use super::{
    Direction, Goal,
    ground::{SIDES, TILES, local, on_side},
    land::Land,
    sector::{LONGEST, opposite},
    spread::{FAR, STRAIGHT, Scratch, exits, step_cost},
};
use crate::world::space::Tile;
use std::{cmp::Reverse, collections::BinaryHeap};

/// Ways to one goal.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub goal: Goal,
    /// Where a way ends: sector and tile in it, sorted.
    ends: Vec<(u32, u8)>,
    /// Regions of the ends, sorted.
    regions: Vec<u32>,
    /// For each portal the cost to go, plus one; 0: not known. Final up to the frontier.
    costs: Vec<u32>,
    /// Portals whose cost may still sink: cost, sector, place.
    frontier: BinaryHeap<Reverse<(u32, u32, u8)>>,
    /// For each sector the number of its field, plus one.
    fields: Vec<u32>,
    local: Vec<Field>,
}

/// The ways through one sector.
#[derive(Clone, Debug)]
struct Field {
    sector: u32,
    /// When it was last asked for.
    used: u32,
    /// Four bits for each tile.
    ways: [u8; TILES / 2],
}

impl Field {
    #[inline]
    fn code(&self, tile: u8) -> u8 {
        self.ways[usize::from(tile / 2)] >> (tile % 2 * 4) & 15
    }
}

impl Flow {
    /// Knows nothing before [`begin`](Self::begin).
    pub fn new(goal: Goal) -> Self {
        Self {
            goal,
            ends: Vec::new(),
            regions: Vec::new(),
            costs: Vec::new(),
            frontier: BinaryHeap::new(),
            fields: Vec::new(),
            local: Vec::new(),
        }
    }

    pub fn has_begun(&self) -> bool {
        !self.fields.is_empty()
    }

    /// Forgets all that the ground had told.
    pub fn reset(&mut self) {
        *self = Self::new(self.goal);
    }

    pub fn begin(&mut self, land: &Land, scratch: &mut Scratch) {
        self.costs = vec![0; land.portals()];
        self.fields = vec![0; land.sectors.len()];
        let mut ends: Vec<Tile> = self.goal.inside(land).collect();
        if ends.is_empty() {
            ends = self.goal.around(land).collect();
        }
        self.ends = ends
            .iter()
            .map(|tile| (land.ground.sector_of(*tile), local(*tile)))
            .collect();
        self.ends.sort_unstable();
        self.find_regions(land);
        let mut sectors: Vec<u32> = self.ends.iter().map(|(sector, _)| *sector).collect();
        sectors.dedup();
        for sector in sectors {
            let at = sector as usize;
            scratch.seeds.clear();
            scratch.seeds.extend(self.ends_in(sector));
            scratch.spread(&land.ground.open_rows(sector));
            for (place, portal) in land.sectors[at].portals.iter().enumerate() {
                let cost = scratch.cost[usize::from(portal.middle())];
                if cost != FAR {
                    self.offer(land, at, place, cost);
                }
            }
        }
    }

    /// Labels of regions change when others appear.
    pub fn find_regions(&mut self, land: &Land) {
        let region = |(sector, tile): &(u32, u8)| {
            let sector = *sector as usize;
            land.region_of_part(sector, land.sectors[sector].part_of_open(*tile))
        };
        self.regions = self.ends.iter().map(region).collect();
        self.regions.sort_unstable();
        self.regions.dedup();
    }

    fn ends_in(&self, sector: u32) -> impl Iterator<Item = (u32, u8)> {
        let first = self.ends.partition_point(|(other, _)| *other < sector);
        self.ends[first..]
            .iter()
            .take_while(move |(other, _)| *other == sector)
            .map(|(_, tile)| (0, *tile))
    }

    pub fn is_reached_from(&self, region: u32) -> bool {
        self.regions.binary_search(&region).is_ok()
    }

    /// Makes the field of one sector, if there is none. Marks it as used `now`.
    pub fn prepare(&mut self, land: &mut Land, sector: u32, now: u32, scratch: &mut Scratch) {
        if let Some(number) = self.fields[sector as usize].checked_sub(1) {
            self.local[number as usize].used = now;
            return;
        }
        self.settle(land, sector as usize, scratch);
        let crossings = self.spread_in(land, sector, scratch);
        let ways = self.ways(land, sector, scratch, &crossings);
        self.local.push(Field {
            sector,
            used: now,
            ways,
        });
        self.fields[sector as usize] = self.local.len() as u32;
    }

    /// The way out of a tile of a prepared sector.
    #[inline]
    pub fn way(&self, sector: u32, tile: u8) -> Option<Direction> {
        Direction::from_code(self.field(sector)?.code(tile))
    }

    /// The way from a blocked tile of a prepared sector to the nearest tile of it that has one.
    pub fn way_out(&self, sector: u32, tile: u8) -> Option<Direction> {
        let field = self.field(sector)?;
        let (x, y) = (i32::from(tile % 16), i32::from(tile / 16));
        let apart = |other: &u8| {
            let (dx, dy) = (i32::from(other % 16) - x, i32::from(other / 16) - y);
            (dx.abs().max(dy.abs()), dx.abs() + dy.abs())
        };
        let nearest = (0..=255)
            .filter(|other| field.code(*other) != Direction::NONE)
            .min_by_key(apart)?;
        let (dx, dy) = (i32::from(nearest % 16) - x, i32::from(nearest / 16) - y);
        let step = (dx.signum(), dy.signum());
        let way = Direction::STEPS.iter().position(|other| *other == step)?;
        Direction::from_code(way as u8)
    }

    #[inline]
    fn field(&self, sector: u32) -> Option<&Field> {
        let number = self.fields.get(sector as usize)?.checked_sub(1)?;
        self.local.get(number as usize)
    }

    /// The cost to go from a tile of a prepared sector.
    pub fn cost(&self, land: &Land, sector: u32, tile: u8) -> Option<u32> {
        self.fields.get(sector as usize)?.checked_sub(1)?;
        let mut scratch = Scratch::default();
        self.spread_in(land, sector, &mut scratch);
        Some(scratch.cost[usize::from(tile)]).filter(|cost| *cost != FAR)
    }

    /// Drops the fields for which `stays` says no.
    fn retain(&mut self, stays: impl Fn(&Field) -> bool) {
        if self.local.iter().all(&stays) {
            return;
        }
        for field in &self.local {
            self.fields[field.sector as usize] = 0;
        }
        self.local.retain(stays);
        for (number, field) in self.local.iter().enumerate() {
            self.fields[field.sector as usize] = number as u32 + 1;
        }
    }

    /// Drops fields that nobody asked for since `then`.
    pub fn forget(&mut self, then: u32) {
        self.retain(|field| field.used >= then);
    }

    /// Drops fields in and beside the changed sectors.
    pub fn drop_near(&mut self, land: &Land, changed: &[bool]) {
        self.retain(|field| !land.is_near(field.sector, changed));
    }

    /// Whether any portal of the sector is final, so that others may build on it.
    pub fn has_passed(&self, land: &Land, sector: usize) -> bool {
        let count = land.sectors[sector].portals.len();
        (0..count).any(|place| self.final_cost(land.portal(sector, place)).is_some())
    }

    fn offer(&mut self, land: &Land, sector: usize, place: usize, cost: u32) {
        let known = &mut self.costs[land.portal(sector, place)];
        if *known == 0 || cost + 1 < *known {
            *known = cost + 1;
            self.frontier
                .push(Reverse((cost, sector as u32, place as u8)));
        }
    }

    /// The cost to go, once nothing can make it less.
    fn final_cost(&self, portal: usize) -> Option<u32> {
        let cost = self.costs[portal].checked_sub(1)?;
        match self.frontier.peek() {
            Some(Reverse((least, ..))) if cost > *least => None,
            _ => Some(cost),
        }
    }

    /// Makes final what the field of `sector` depends on.
    fn settle(&mut self, land: &mut Land, sector: usize, scratch: &mut Scratch) {
        let mut bound = 0;
        for place in 0..land.sectors[sector].portals.len() {
            let part = land.sectors[sector].portals[place].part;
            if !self.is_reached_from(land.region_of_part(sector, part)) {
                continue;
            }
            while self.final_cost(land.portal(sector, place)).is_none()
                && self.advance(land, scratch)
            {}
            if let Some(cost) = self.final_cost(land.portal(sector, place)) {
                bound = bound.max(cost);
            }
        }
        let bound = bound + AROUND;
        while self
            .frontier
            .peek()
            .is_some_and(|Reverse((cost, ..))| *cost <= bound)
            && self.advance(land, scratch)
        {}
    }

    /// Goes on from the cheapest portal. `false` if there is none.
    fn advance(&mut self, land: &mut Land, scratch: &mut Scratch) -> bool {
        let Some(Reverse((cost, sector, place))) = self.frontier.pop() else {
            return false;
        };
        let (at, place) = (sector as usize, usize::from(place));
        if self.costs[land.portal(at, place)] != cost + 1 {
            return true;
        }
        let Some((there, beyond)) = land.beyond(at, place) else {
            return true;
        };
        // Ways go straight through a sector: what was reached from within goes on across the border, and
        // what came across the border goes on within.
        let partner = self.costs[land.portal(there, beyond)].checked_sub(1);
        let came_across = partner.is_some_and(|left| left + STRAIGHT == cost);
        if !came_across {
            self.offer(land, there, beyond, cost + STRAIGHT);
            return true;
        }
        if !land.sectors[at].is_measured() {
            let rows = land.ground.open_rows(sector);
            land.sectors[at].measure(&rows, scratch);
        }
        for to in 0..land.sectors[at].portals.len() {
            let distance = land.sectors[at].distance(place, to);
            if distance != FAR {
                self.offer(land, at, to, cost + distance);
            }
        }
        true
    }

    /// What is left to go beyond a portal, if the best way from it leads across the border.
    fn exit(&self, land: &Land, sector: usize, place: usize) -> Option<u32> {
        let here = self.final_cost(land.portal(sector, place))?;
        let (there, beyond) = land.beyond(sector, place)?;
        let left = self.costs[land.portal(there, beyond)].checked_sub(1)?;
        (left.checked_add(STRAIGHT)? == here).then_some(left)
    }

    /// Fills `scratch.cost` with the costs to go from the tiles of a sector, and says where ways leave it.
    ///
    /// The costs beyond a border are found tile by tile in the sector beyond, whose own exits count by
    /// their middles. So no crowd is squeezed through the middle of a portal, and yet every step, also
    /// across a border, leads to a tile from which it costs less.
    fn spread_in(&self, land: &Land, sector: u32, scratch: &mut Scratch) -> Vec<Crossing> {
        let at = sector as usize;
        let here = &land.sectors[at];
        let exits: Vec<Option<u32>> = (0..here.portals.len())
            .map(|place| self.exit(land, at, place))
            .collect();
        let bound = exits.iter().flatten().max().map_or(0, |most| most + AROUND);
        let mut crossings = Vec::new();
        for side in 0..SIDES {
            let places = here.portals_of(side);
            let Some(beyond) = land.ground.neighbour(sector, side) else {
                continue;
            };
            if exits[places.clone()].iter().all(Option::is_none) {
                continue;
            }
            self.spread_coarsely(land, beyond, bound, scratch);
            for place in places.filter(|place| exits[*place].is_some()) {
                let portal = here.portals[place];
                for along in portal.start..portal.start + portal.length {
                    let cost = scratch.cost[usize::from(on_side(opposite(side), along))];
                    if cost != FAR {
                        crossings.push(Crossing {
                            cost: cost + STRAIGHT,
                            tile: on_side(side, along),
                            side: side as u8,
                        });
                    }
                }
            }
        }
        scratch.seeds.clear();
        scratch.seeds.extend(self.ends_in(sector));
        let seeds = crossings
            .iter()
            .map(|crossing| (crossing.cost, crossing.tile));
        scratch.seeds.extend(seeds);
        scratch.spread(&land.ground.open_rows(sector));
        crossings
    }

    /// Costs to go from the tiles of a sector by the middles of its exits. Exits dearer than `bound`,
    /// which may not be final yet, are of no use to whoever asks.
    fn spread_coarsely(&self, land: &Land, sector: u32, bound: u32, scratch: &mut Scratch) {
        let at = sector as usize;
        scratch.seeds.clear();
        scratch.seeds.extend(self.ends_in(sector));
        for (place, portal) in land.sectors[at].portals.iter().enumerate() {
            if let Some(left) = self.exit(land, at, place)
                && left <= bound
            {
                scratch.seeds.push((left + STRAIGHT, portal.middle()));
            }
        }
        scratch.spread(&land.ground.open_rows(sector));
    }

    /// For each tile the way to go, in four bits.
    fn ways(
        &self,
        land: &Land,
        sector: u32,
        scratch: &Scratch,
        crossings: &[Crossing],
    ) -> [u8; TILES / 2] {
        let rows = land.ground.open_rows(sector);
        let exits = exits(&rows);
        let cost = &scratch.cost;
        let mut codes = [Direction::NONE; TILES];
        for crossing in crossings {
            let code = &mut codes[usize::from(crossing.tile)];
            if cost[usize::from(crossing.tile)] == crossing.cost && *code == Direction::NONE {
                *code = crossing.side * 2;
            }
        }
        for (_, tile) in self.ends_in(sector) {
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

    /// Bytes on the heap.
    pub fn memory(&self) -> usize {
        let lists = self.costs.capacity() + self.fields.capacity() + self.regions.capacity();
        lists * 4
            + self.ends.capacity() * size_of::<(u32, u8)>()
            + self.frontier.capacity() * size_of::<(u32, u32, u8)>()
            + self.local.capacity() * size_of::<Field>()
    }
}

/// A tile from which the way may leave its sector.
#[derive(Clone, Copy, Debug)]
struct Crossing {
    cost: u32,
    tile: u8,
    side: u8,
}

/// Of equally good ways the first of these: diagonals first, so that what is left is straight.
const PREFERRED: [u8; 8] = [1, 3, 5, 7, 0, 2, 4, 6];
/// Tiles before and after those of a sector, into which steps over its border lead.
const MARGIN: usize = 17;
/// More than the cost from the middle of a portal to its ends, there and back.
const AROUND: u32 = 2 * LONGEST as u32 * STRAIGHT;
