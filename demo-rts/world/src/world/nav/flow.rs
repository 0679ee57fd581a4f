//! The ways to one goal: which way to go in each queried sector.
//!
//! Everything here is a pure function of the bits and the goal: the order and the number of queries do not
//! matter.

use super::{
    Direction, Goal, Ways,
    field::{Crossing, Field, ways},
    ground::{SIDES, local, on_side},
    land::Land,
    search::Search,
    sector::{LONGEST, opposite},
    spread::{FAR, STRAIGHT, Scratch},
};
use crate::world::tile::Tile;

/// Ways to one goal.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub goal: Goal,
    /// Where a way ends: sector and tile in it, sorted.
    ends: Vec<(u32, u8)>,
    /// Regions of the ends, sorted.
    regions: Vec<u32>,
    search: Search,
    /// For each sector the number of its field, plus one.
    fields: Vec<u32>,
    local: Vec<Field>,
}

impl Flow {
    /// Knows nothing before [`begin`](Self::begin).
    pub fn new(goal: Goal) -> Self {
        Self {
            goal,
            ends: Vec::new(),
            regions: Vec::new(),
            search: Search::default(),
            fields: Vec::new(),
            local: Vec::new(),
        }
    }

    pub fn has_begun(&self) -> bool {
        !self.fields.is_empty()
    }

    /// Forgets all answers of the ground.
    pub fn reset(&mut self) {
        *self = Self::new(self.goal);
    }

    /// Finds where ways end, and the portals around.
    pub fn begin(&mut self, land: &Land, scratch: &mut Scratch) {
        self.search = Search::new(land);
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
                    self.search.offer(land, at, place, cost);
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

    /// Makes the field of one sector, if it has none, with at most `budget` steps of the search, which it
    /// uses up. Marks the field as used `now`. Returns whether there is one.
    pub fn prepare(
        &mut self,
        land: &mut Land,
        sector: u32,
        now: u32,
        budget: &mut u32,
        scratch: &mut Scratch,
    ) -> bool {
        if let Some(number) = self.number_of(sector) {
            self.local[number].used = now;
            return true;
        }
        if !self.has_begun() {
            let Some(left) = budget.checked_sub(1) else {
                return false;
            };
            *budget = left;
            self.begin(land, scratch);
        }
        if !self.settle(land, sector as usize, budget, scratch) {
            return false;
        }
        let crossings = self.spread_in(land, sector, scratch);
        let ends = self.ends_in(sector).map(|(_, tile)| tile);
        let ways = ways(
            &land.ground.open_rows(sector),
            &scratch.cost,
            &crossings,
            ends,
        );
        self.local.push(Field {
            sector,
            used: now,
            ways,
        });
        self.fields[sector as usize] = self.local.len() as u32;
        true
    }

    /// Whether the sector has a field.
    #[inline]
    pub fn is_prepared(&self, sector: u32) -> bool {
        self.number_of(sector).is_some()
    }

    #[inline]
    fn number_of(&self, sector: u32) -> Option<usize> {
        let number = self.fields.get(sector as usize)?.checked_sub(1)?;
        Some(number as usize)
    }

    /// The way out of a tile of a prepared sector.
    #[inline]
    pub fn way(&self, sector: u32, tile: u8) -> Option<Direction> {
        Direction::from_code(self.field(sector)?.code(tile))
    }

    /// The ways out of the 16 tiles of the block around a tile of a prepared sector.
    #[inline]
    pub fn block(&self, sector: u32, tile: u8) -> Option<Ways> {
        self.field(sector).map(|field| field.block(tile))
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
        self.local.get(self.number_of(sector)?)
    }

    /// The cost to go from a tile of a prepared sector.
    pub fn cost(&self, land: &Land, sector: u32, tile: u8) -> Option<u32> {
        self.number_of(sector)?;
        let mut scratch = Scratch::default();
        self.spread_in(land, sector, &mut scratch);
        Some(scratch.cost[usize::from(tile)]).filter(|cost| *cost != FAR)
    }

    /// Drops the fields for which `stays` says no. Returns whether there were any.
    fn retain(&mut self, stays: impl Fn(&Field) -> bool) -> bool {
        if self.local.iter().all(&stays) {
            return false;
        }
        for field in &self.local {
            self.fields[field.sector as usize] = 0;
        }
        self.local.retain(stays);
        for (number, field) in self.local.iter().enumerate() {
            self.fields[field.sector as usize] = number as u32 + 1;
        }
        true
    }

    /// Drops fields unused since `then`. Returns whether there were any.
    pub fn forget(&mut self, then: u32) -> bool {
        self.retain(|field| field.used >= then)
    }

    /// Drops fields in and beside the changed sectors.
    pub fn drop_near(&mut self, land: &Land, changed: &[bool]) {
        self.retain(|field| !land.is_near(field.sector, changed));
    }

    /// Whether it matters to this how the sector is cut.
    pub fn touches(&self, land: &Land, sector: usize) -> bool {
        self.has_begun() && self.search.touches(land, sector)
    }

    /// Follows portals to their new numbers; `before` holds the old ones. Drops the fields of sectors with
    /// tiles that no way led from: one may lead from there now.
    pub fn renumber(&mut self, before: &[u32], land: &Land) {
        let mut search = std::mem::take(&mut self.search);
        search.renumber(before, land);
        self.retain(|field| search.fills(land, field.sector as usize));
        self.search = search;
    }

    /// Steps of the search so far; its beginning counts as one.
    pub fn steps(&self) -> u32 {
        self.search
            .steps()
            .saturating_add(u32::from(self.has_begun()))
    }

    /// Goes on to so many steps in all.
    pub fn resume(&mut self, land: &mut Land, steps: u32, scratch: &mut Scratch) {
        if steps > 0 {
            if !self.has_begun() {
                self.begin(land, scratch);
            }
            self.search.resume(land, steps - 1, scratch);
        }
    }

    /// Makes final what the field of `sector` depends on, while `budget` lasts. Returns whether it got there.
    fn settle(
        &mut self,
        land: &mut Land,
        sector: usize,
        budget: &mut u32,
        scratch: &mut Scratch,
    ) -> bool {
        let mut bound = 0;
        for place in 0..land.sectors[sector].portals.len() {
            let part = land.sectors[sector].portals[place].part;
            if !self.is_reached_from(land.region_of_part(sector, part)) {
                continue;
            }
            let portal = land.portal(sector, place);
            if !self.search.find(land, portal, budget, scratch) {
                return false;
            }
            if let Some(cost) = self.search.final_cost(portal) {
                bound = bound.max(cost);
            }
        }
        self.search.reach(land, bound + AROUND, budget, scratch)
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
            .map(|place| self.search.exit(land, at, place))
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

    /// Costs to go from the tiles of a sector by the middles of its exits. Exits dearer than `bound`, which
    /// may not be final yet, are of no use to the caller.
    fn spread_coarsely(&self, land: &Land, sector: u32, bound: u32, scratch: &mut Scratch) {
        let at = sector as usize;
        scratch.seeds.clear();
        scratch.seeds.extend(self.ends_in(sector));
        for (place, portal) in land.sectors[at].portals.iter().enumerate() {
            if let Some(left) = self.search.exit(land, at, place)
                && left <= bound
            {
                scratch.seeds.push((left + STRAIGHT, portal.middle()));
            }
        }
        scratch.spread(&land.ground.open_rows(sector));
    }

    /// Bytes on the heap.
    pub fn memory(&self) -> usize {
        let lists = self.fields.capacity() + self.regions.capacity();
        lists * 4
            + self.search.memory()
            + self.ends.capacity() * size_of::<(u32, u8)>()
            + self.local.capacity() * size_of::<Field>()
    }
}

/// More than the cost from the middle of a portal to its ends, there and back.
const AROUND: u32 = 2 * LONGEST as u32 * STRAIGHT;
