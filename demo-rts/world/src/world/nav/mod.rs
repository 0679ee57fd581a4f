//! Navigation: ways around obstacles, shared by all units that go to the same place.
//!
//! The map is cut into sectors of 16 × 16 tiles. Where two neighbouring sectors are open on both sides of
//! their border lie portals. The cost to a goal is found from portal to portal, as far as queries need. In a
//! sector that a unit walks through, a field says for each tile which way to go. Steps to the side cost 5,
//! over a corner 7; corners are not cut.
//!
//! **Nothing here is state.** Every answer follows from the blocked tiles, as they were at the last
//! [`refresh`](Nav::refresh), and from the goal: never from what was asked before, nor in which order.
//! Only [`is_blocked`](Nav::is_blocked) and [`is_clear`](Nav::is_clear) know at once what was blocked
//! or opened since. A world that refreshes at the end of its tick therefore goes on as its snapshot does.
//!
//! A search over the largest map takes some 800,000 steps, or 0.2 seconds. A caller that cannot wait for so
//! long asks with a budget ([`prepare_within`](Nav::prepare_within)). Then the blocked tiles, the goal and
//! [the steps taken](Nav::steps) determine the ready sectors. So the steps belong to the state, and a loaded
//! world [resumes](Nav::resume) there. A change of the ground restarts only searches that passed where ways
//! from sector to sector changed.
//! Memory: about 100 bytes for each open sector, up to 700 for a cluttered one. Each goal takes 4 bytes for
//! each portal and sector, and 136 for each sector that units lately walked through to it.

mod direction;
mod field;
mod flow;
mod goal;
mod ground;
mod land;
mod line;
mod search;
mod sector;
mod spread;
#[cfg(test)]
mod tests;

pub use direction::{Block, Direction, Ways};
pub use goal::Goal;

use super::tile::Tile;
use flow::Flow;
use ground::{Ground, Rows, SIDES, TILES, edge, local};
use land::Land;
use sector::Sector;
use sim::{Arena, Vec2};
use spread::Scratch;
use std::collections::BTreeMap;

/// The blocked tiles of a square map, and the ways around them.
#[derive(Clone, Debug)]
pub struct Nav {
    /// As of now.
    now: Ground,
    /// As of the last refresh, with all that follows from it.
    land: Land,
    /// Sectors in which tiles changed since.
    dirty: Vec<u32>,
    open: Arena<Open>,
    last_stamp: u32,
    by_goal: BTreeMap<Goal, FieldId>,
    scratch: Scratch,
    /// Refreshes so far.
    age: u32,
}

/// An open goal.
#[derive(Clone, Debug)]
struct Open {
    flow: Flow,
    /// A number that is never used twice. It changes whenever the flow's answers may change.
    stamp: u32,
}

/// Names an open goal until it is closed, and nothing after that.
pub type FieldId = sim::Id;

impl Nav {
    /// A square map of `size` tiles along an edge, 1 to 4,096, with the tiles that `blocked` names blocked.
    ///
    /// # Panics
    /// If the size is out of range.
    pub fn new(size: u16, blocked: impl Fn(Tile) -> bool) -> Self {
        assert!((1..=4096).contains(&size), "a map's size is checked first");
        let ground = Ground::new(size, blocked);
        Self {
            now: ground.clone(),
            land: Land::new(ground),
            dirty: Vec::new(),
            open: Arena::new(),
            last_stamp: 0,
            by_goal: BTreeMap::new(),
            scratch: Scratch::default(),
            age: 0,
        }
    }

    /// Tiles along an edge.
    pub fn size(&self) -> u16 {
        self.now.size()
    }

    /// Blocks or opens a tile. Tiles beyond the edge are blocked for good.
    pub fn set_blocked(&mut self, tile: Tile, blocked: bool) {
        if tile.x < self.size() && tile.y < self.size() && self.now.set(tile, blocked) {
            self.dirty.push(self.now.sector_of(tile));
        }
    }

    /// Whether no unit can be there, as of now.
    #[inline]
    pub fn is_blocked(&self, tile: Tile) -> bool {
        self.now.is_blocked(tile)
    }

    /// Whether the line from one point to the other touches no blocked tile, as of now. `false` beyond 64
    /// tiles along an axis.
    pub fn is_clear(&self, from: Vec2, to: Vec2) -> bool {
        line::is_clear(&self.now, from, to)
    }

    /// Equal and not zero for two tiles between which a unit can walk; 0 for blocked ones.
    pub fn region(&self, tile: Tile) -> u32 {
        self.land.region(tile)
    }

    /// The open tile of `region` nearest to `to`, wherever `to` is; of equally near ones the first, row by
    /// row. `None` if the region has no tile.
    pub fn nearest_open(&self, to: Tile, region: u32) -> Option<Tile> {
        if region == 0 {
            return None;
        }
        self.land
            .nearest(to, region, |tile| self.now.is_blocked(tile))
    }

    /// Applies all that was blocked and opened since the last time. Returns whether anything was.
    pub fn refresh(&mut self) -> bool {
        self.age = self.age.wrapping_add(1);
        if self.age.is_multiple_of(KEPT) {
            let then = self.age.saturating_sub(KEPT);
            for (_, open) in self.open.iter_mut() {
                if open.flow.forget(then) {
                    open.stamp = fresh(&mut self.last_stamp);
                }
            }
        }
        if self.dirty.is_empty() {
            return false;
        }
        let mut changed = vec![false; self.land.sectors.len()];
        let mut dirty = std::mem::take(&mut self.dirty);
        dirty.sort_unstable();
        dirty.dedup();
        let before: Vec<(u32, Rows)> = dirty
            .into_iter()
            .map(|sector| (sector, self.take_over(sector, &mut changed)))
            .collect();
        self.rebuild(&changed, &before);
        true
    }

    /// Copies a sector's bits, and marks it and the neighbours whose portals may have changed. Returns which
    /// of its tiles were open before.
    fn take_over(&mut self, sector: u32, changed: &mut [bool]) -> Rows {
        let before = self.land.ground.open_rows(sector);
        let after = self.now.open_rows(sector);
        self.land.ground.copy_sector(sector, &self.now);
        changed[sector as usize] = true;
        for side in 0..SIDES {
            if edge(&before, side) != edge(&after, side)
                && let Some(beside) = self.now.neighbour(sector, side)
            {
                changed[beside as usize] = true;
            }
        }
        before
    }

    /// Finds the changed sectors' portals anew, and drops from the flows what depends on what changed.
    fn rebuild(&mut self, changed: &[bool], before: &[(u32, Rows)]) {
        let land = &mut self.land;
        let (mut portals, mut parts) = (false, false);
        // Sectors in which ways from portal to portal are no longer what they were.
        let mut broken = Vec::new();
        let mut fresh = Vec::new();
        for number in (0..changed.len()).filter(|number| changed[*number]) {
            let mut sector = Sector::new(&land.ground, number as u32);
            let other_portals = !sector.has_portals_of(&land.sectors[number]);
            portals |= other_portals;
            parts |= !sector.has_parts_of(&land.sectors[number]);
            let mut open = self.open.iter();
            let matters = open.any(|(_, open)| open.flow.touches(land, number));
            if matters && !other_portals {
                let rows = land.ground.open_rows(number as u32);
                sector.measure(&rows, &mut self.scratch);
                // A neighbour's bits are what they were.
                let old = before.binary_search_by_key(&(number as u32), |(other, _)| *other);
                let old = old.map_or(rows, |at| before[at].1);
                land.sectors[number].measure(&old, &mut self.scratch);
            }
            if matters && (other_portals || !sector.has_distances_of(&land.sectors[number])) {
                broken.push(number);
            }
            fresh.push((number, sector));
        }
        for (_, Open { flow, stamp }) in self.open.iter_mut() {
            *stamp = self::fresh(&mut self.last_stamp);
            let sectors = flow.goal.tiles(1).filter(|tile| !land.is_beyond(*tile));
            let mut sectors = sectors.map(|tile| land.ground.sector_of(tile) as usize);
            if sectors.any(|number| changed[number])
                || broken.iter().any(|number| flow.touches(land, *number))
            {
                flow.reset();
            }
        }
        for (number, sector) in fresh {
            land.sectors[number] = sector;
        }
        let numbers = if portals || parts {
            land.number()
        } else {
            Vec::new()
        };
        let begun = self.open.iter_mut().map(|(_, open)| &mut open.flow);
        for flow in begun.filter(|flow| flow.has_begun()) {
            if portals {
                flow.renumber(&numbers, land);
            }
            if portals || parts {
                flow.find_regions(land);
            }
            flow.drop_near(land, changed);
        }
    }

    /// The ways to `goal`, whose sector around `at` is ready to be asked.
    pub fn prepare(&mut self, goal: Goal, at: Tile) -> FieldId {
        let id = self.open(goal);
        self.prepare_at(id, at);
        id
    }

    /// Names a goal, about which nothing needs to be known yet.
    pub fn open(&mut self, goal: Goal) -> FieldId {
        *self.by_goal.entry(goal).or_insert_with(|| {
            self.open.insert(Open {
                flow: Flow::new(goal),
                stamp: fresh(&mut self.last_stamp),
            })
        })
    }

    /// Makes the sector around `at` ready to be asked, for an open goal. Nothing happens off the map.
    pub fn prepare_at(&mut self, id: FieldId, at: Tile) {
        self.prepare_within(id, at, &mut { u32::MAX });
    }

    /// The same with a search of at most `budget` steps, which it uses up. Returns whether the sector is
    /// ready: off the map it never is.
    ///
    /// A step looks at one portal and takes about half a microsecond; the first into a sector, if no
    /// search measured it yet, up to 40. Making ready a sector that the search has reached takes none,
    /// and some microseconds.
    pub fn prepare_within(&mut self, id: FieldId, at: Tile, budget: &mut u32) -> bool {
        let Some(open) = self.open.get_mut(id) else {
            return false;
        };
        if self.land.is_beyond(at) {
            return false;
        }
        let sector = self.land.ground.sector_of(at);
        let scratch = &mut self.scratch;
        open.flow
            .prepare(&mut self.land, sector, self.age, budget, scratch)
    }

    /// Steps that the search from an open goal has taken; 0 again, once ground has changed that it had
    /// passed. What is known of the ways to the goal follows from this, the blocked tiles and the goal.
    pub fn steps(&self, id: FieldId) -> u32 {
        self.flow(id).map_or(0, Flow::steps)
    }

    /// Takes the search from an open goal on to so many steps in all.
    pub fn resume(&mut self, id: FieldId, steps: u32) {
        if let Some(open) = self.open.get_mut(id) {
            open.flow.resume(&mut self.land, steps, &mut self.scratch);
        }
    }

    /// Forgets a goal.
    pub fn close(&mut self, goal: Goal) {
        if let Some(id) = self.by_goal.remove(&goal) {
            self.open.remove(id);
        }
    }

    /// Goals that are open.
    pub fn open_goals(&self) -> usize {
        self.by_goal.len()
    }

    /// Which way to go from a tile whose sector was prepared since the last refresh. `None` where no way
    /// leads to the goal. From a blocked tile the way leads to the nearest tile of its sector that has one.
    #[inline]
    pub fn direction(&self, id: FieldId, tile: Tile) -> Option<Direction> {
        let flow = self.flow(id)?;
        if self.land.is_beyond(tile) {
            return None;
        }
        let (sector, place) = (self.land.ground.sector_of(tile), local(tile));
        match flow.way(sector, place) {
            None if self.land.ground.is_blocked(tile) => flow.way_out(sector, place),
            way => way,
        }
    }

    /// The same, or `None` if the tile's sector is not ready; off the map no way leads anywhere.
    #[inline]
    pub fn direction_if_ready(&self, id: FieldId, tile: Tile) -> Option<Option<Direction>> {
        let flow = self.flow(id)?;
        let ready = self.land.is_beyond(tile) || flow.is_prepared(self.land.ground.sector_of(tile));
        ready.then(|| self.direction(id, tile))
    }

    /// Which way to go from all tiles of a block, as far as ways lead from them; see
    /// [`direction`](Self::direction). `None` if the sector was not prepared.
    #[inline]
    pub fn block(&self, id: FieldId, block: Block) -> Option<Ways> {
        let flow = self.flow(id)?;
        let tile = block.corner();
        if self.land.is_beyond(tile) {
            return None;
        }
        flow.block(self.land.ground.sector_of(tile), local(tile))
    }

    /// A number that names the goal and what is known of the ways to it: as long as it stays the same, so
    /// does every [`direction`](Self::direction) and [`block`](Self::block) that there was. 0 if none is open.
    #[inline]
    pub fn stamp(&self, id: FieldId) -> u32 {
        self.open.get(id).map_or(0, |open| open.stamp)
    }

    /// What it costs to go to the goal, 5 for a tile, along the directions, from a tile whose sector was
    /// prepared since the last refresh. `None` where no way leads to the goal. Takes some microseconds.
    pub fn cost(&self, id: FieldId, tile: Tile) -> Option<u32> {
        let flow = self.flow(id)?;
        if self.land.is_beyond(tile) {
            return None;
        }
        flow.cost(&self.land, self.land.ground.sector_of(tile), local(tile))
    }

    /// Whether a way leads from the tile to the goal, which must be open.
    pub fn is_reached(&self, id: FieldId, tile: Tile) -> bool {
        let region = self.region(tile);
        let flow = self.flow(id);
        region != 0 && flow.is_some_and(|flow| flow.is_reached_from(region))
    }

    #[inline]
    fn flow(&self, id: FieldId) -> Option<&Flow> {
        self.open.get(id).map(|open| &open.flow)
    }

    /// Bytes on the heap.
    pub fn memory(&self) -> usize {
        let open = self.open.iter().map(|(_, open)| open.flow.memory());
        open.sum::<usize>() + self.land.memory() + self.land.sectors.len() * TILES / 8
    }
}

/// The next number. Should they ever come round, then long after the old ones were forgotten.
fn fresh(last: &mut u32) -> u32 {
    *last = last.wrapping_add(1).max(1);
    *last
}

/// Refreshes after which an unused field is dropped, at the latest twice as many.
const KEPT: u32 = 64;
