//! The ground: terrain, the buildings on it, and which places are connected.

use super::{
    Id, Resource,
    columns::byte_cell,
    nav::{Block, Direction, FieldId, Goal, Nav, Ways},
    tile::Tile,
};
use sim::Vec2;

/// What a tile is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Terrain {
    /// Open.
    #[default]
    Ground = 0,
    /// Trees: wood. Blocks until cut down.
    Forest = 1,
    /// A piece of a mine: gold. Blocks until dug away.
    Gold = 2,
    /// Blocks.
    Rock = 3,
    /// Blocks.
    Water = 4,
}

impl Terrain {
    const LAST: u8 = Terrain::Water as u8;

    fn from_number(number: u8) -> Option<Terrain> {
        Some(match number {
            0 => Terrain::Ground,
            1 => Terrain::Forest,
            2 => Terrain::Gold,
            3 => Terrain::Rock,
            4 => Terrain::Water,
            _ => return None,
        })
    }

    /// What it yields.
    pub fn resource(self) -> Option<Resource> {
        match self {
            Terrain::Forest => Some(Resource::Wood),
            Terrain::Gold => Some(Resource::Gold),
            _ => None,
        }
    }
}

byte_cell!(Terrain, Terrain::from_number);

/// A square map. Terrain and amounts are state; the rest follows from them and from the buildings.
#[derive(Clone, Debug)]
pub struct Map {
    size: u16,
    /// A number of [`Terrain`] for each tile, so that the column is its own bytes.
    terrain: Vec<u8>,
    /// Tiles that hold a resource, ascending, and what is left there.
    deposits: Vec<u32>,
    amounts: Vec<u16>,
    /// For each tile the building on it; empty before the first is founded.
    occupant: Vec<Id>,
    nav: Nav,
}

impl Map {
    /// A map of this size, at most [`LARGEST`], row by row; missing tiles are open ground. `amounts` has
    /// a value, not 0, for each tile with a resource.
    pub(super) fn new(size: u16, terrain: Vec<Terrain>, amounts: Vec<u16>) -> Self {
        let mut numbers: Vec<u8> = terrain.into_iter().map(|terrain| terrain as u8).collect();
        numbers.resize(usize::from(size) * usize::from(size), Terrain::Ground as u8);
        Self::load(size, numbers, amounts).expect("a drawn map fits its format")
    }

    /// From columns that were saved.
    pub(super) fn load(size: u16, terrain: Vec<u8>, amounts: Vec<u16>) -> Result<Self, Unfit> {
        let tiles = usize::from(size) * usize::from(size);
        let known = terrain.iter().all(|number| *number <= Terrain::LAST);
        if size == 0 || size > LARGEST || terrain.len() != tiles || !known {
            return Err(Unfit);
        }
        let deposits = Self::deposits(&terrain);
        if deposits.len() != amounts.len() || amounts.contains(&0) {
            return Err(Unfit);
        }
        let edge = usize::from(size);
        let nav = Nav::new(size, |tile| {
            terrain[usize::from(tile.y) * edge + usize::from(tile.x)] != Terrain::Ground as u8
        });
        Ok(Self {
            size,
            terrain,
            deposits,
            amounts,
            occupant: Vec::new(),
            nav,
        })
    }

    /// The tiles of these numbers that hold a resource.
    pub(super) fn deposits(terrain: &[u8]) -> Vec<u32> {
        let holds = [Terrain::Forest as u8, Terrain::Gold as u8];
        let tiles = terrain.iter().enumerate();
        tiles
            .filter(|(_, number)| holds.contains(number))
            .map(|(at, _)| at as u32)
            .collect()
    }

    /// Makes one tile something else, with so much to gather there.
    #[cfg(test)]
    pub(super) fn put(&mut self, tile: Tile, terrain: Terrain, amount: u16) {
        let at = self.at(tile);
        self.terrain[at] = terrain as u8;
        let index = at as u32;
        if let Ok(row) = self.deposits.binary_search(&index) {
            self.deposits.remove(row);
            self.amounts.remove(row);
        }
        if terrain.resource().is_some() {
            let row = self.deposits.partition_point(|other| *other < index);
            self.deposits.insert(row, index);
            self.amounts.insert(row, amount);
        }
        self.nav.set_blocked(tile, terrain != Terrain::Ground);
    }

    /// A number for each tile, row by row: state.
    pub(super) fn terrain_column(&self) -> &[u8] {
        &self.terrain
    }

    /// What is left on each tile with a resource, row by row: state.
    pub(super) fn amount_column(&self) -> &[u16] {
        &self.amounts
    }

    /// Tiles along an edge.
    pub fn size(&self) -> u16 {
        self.size
    }

    /// Whether the tile is on the map.
    pub fn contains(&self, tile: Tile) -> bool {
        tile.x < self.size && tile.y < self.size
    }

    /// What the tile is; rock beyond the edge.
    pub fn terrain(&self, tile: Tile) -> Terrain {
        if !self.contains(tile) {
            return Terrain::Rock;
        }
        Terrain::from_number(self.terrain[self.at(tile)]).unwrap_or_default()
    }

    /// What is left to gather there.
    pub fn amount(&self, tile: Tile) -> u16 {
        if self.terrain(tile).resource().is_none() {
            return 0;
        }
        let row = self.deposits.binary_search(&self.index(tile));
        row.map_or(0, |row| self.amounts[row])
    }

    /// What can be gathered there, if anything is left.
    pub fn resource(&self, tile: Tile) -> Option<Resource> {
        self.terrain(tile).resource()
    }

    /// Whether no unit can be there.
    pub fn is_blocked(&self, tile: Tile) -> bool {
        self.nav.is_blocked(tile)
    }

    /// The building or foundation on the tile.
    pub fn occupant(&self, tile: Tile) -> Option<Id> {
        if !self.contains(tile) {
            return None;
        }
        let id = self.occupant.get(self.at(tile)).copied();
        id.filter(|id| *id != Id::NONE)
    }

    /// Whether a building of this size can be founded with its upper left tile there.
    pub fn has_room(&self, tile: Tile, size: u16) -> bool {
        self.footprint(tile, size)
            .all(|t| !self.is_blocked(t) && self.occupant(t).is_none())
    }

    /// The tiles that a building of this size covers. Tiles may lie off the map.
    pub fn footprint(&self, tile: Tile, size: u16) -> impl Iterator<Item = Tile> + use<> {
        let (x, y) = (tile.x, tile.y);
        (0..size).flat_map(move |dy| {
            (0..size).map(move |dx| Tile::new(x.saturating_add(dx), y.saturating_add(dy)))
        })
    }

    /// The tiles around a building of this size, as far as they are on the map.
    pub fn ring(&self, tile: Tile, size: u16) -> impl Iterator<Item = Tile> + use<> {
        let edge = self.size;
        let (left, top) = (i32::from(tile.x) - 1, i32::from(tile.y) - 1);
        let span = i32::from(size) + 1;
        (0..=span).flat_map(move |dy| {
            let inner = dy > 0 && dy < span;
            let gap = if inner { span } else { 1 };
            (0..=span)
                .step_by(gap.max(1) as usize)
                .filter_map(move |dx| {
                    let x = u16::try_from(left + dx).ok()?;
                    let y = u16::try_from(top + dy).ok()?;
                    (x < edge && y < edge).then_some(Tile::new(x, y))
                })
        })
    }

    /// Equal for two open tiles between which a unit can walk; 0 for blocked ones.
    pub fn region(&self, tile: Tile) -> u32 {
        self.nav.region(tile)
    }

    /// The open tile of `region` nearest to `to`, wherever `to` is.
    pub fn nearest_in_region(&self, to: Tile, region: u32) -> Option<Tile> {
        self.nav.nearest_open(to, region)
    }

    /// Whether the side of a building or resource borders on `region`.
    pub(super) fn touches_region(&self, tile: Tile, size: u16, region: u32) -> bool {
        self.ring(tile, size)
            .any(|t| self.region(t) == region && region != 0)
    }

    /// Number of tiles.
    pub(super) fn tiles(&self) -> usize {
        self.terrain.len()
    }

    /// The tile's number. The tile must be on the map.
    pub(super) fn index(&self, tile: Tile) -> u32 {
        self.at(tile) as u32
    }

    /// The tile of a number.
    pub(super) fn tile_of(&self, index: u32) -> Tile {
        let size = u32::from(self.size);
        Tile::new((index % size) as u16, (index / size) as u16)
    }

    /// The number of the tile that holds `point`, moved onto the map.
    pub(super) fn index_at(&self, point: Vec2) -> u32 {
        self.index(self.tile_at(point))
    }

    /// The tile that holds `point`, moved onto the map.
    pub(super) fn tile_at(&self, point: Vec2) -> Tile {
        let last = Tile::new(self.size - 1, self.size - 1);
        Tile::of(point.clamp_to(Vec2::ZERO, last.corner()))
    }

    pub(super) fn is_blocked_at(&self, point: Vec2) -> bool {
        point.x < 0 || point.y < 0 || self.is_blocked(Tile::of(point))
    }

    /// Takes one piece away; `true` if it was the last. There must be one.
    pub(super) fn take(&mut self, tile: Tile) -> bool {
        let Ok(row) = self.deposits.binary_search(&self.index(tile)) else {
            return false;
        };
        self.amounts[row] -= 1;
        if self.amounts[row] > 0 {
            return false;
        }
        self.deposits.remove(row);
        self.amounts.remove(row);
        let at = self.at(tile);
        self.terrain[at] = Terrain::Ground as u8;
        self.nav.set_blocked(tile, false);
        true
    }

    pub(super) fn occupy(&mut self, tile: Tile, size: u16, id: Id) {
        self.occupant.resize(self.tiles(), Id::NONE);
        for t in self.footprint(tile, size) {
            if self.contains(t) {
                let at = self.at(t);
                self.occupant[at] = id;
            }
        }
    }

    pub(super) fn set_solid(&mut self, tile: Tile, size: u16, solid: bool) {
        for t in self.footprint(tile, size) {
            let blocked = solid || self.terrain(t) != Terrain::Ground;
            self.nav.set_blocked(t, blocked);
        }
    }

    /// Applies what was blocked or opened: regions and ways change only here. Returns whether anything was.
    pub(super) fn refresh_regions(&mut self) -> bool {
        self.nav.refresh()
    }

    /// Bytes of what follows from the terrain and the buildings.
    pub(super) fn scratch_bytes(&self) -> usize {
        self.nav.memory() + size_of::<u32>() * (self.deposits.capacity() + self.occupant.capacity())
    }

    pub(super) fn is_clear(&self, from: Vec2, to: Vec2) -> bool {
        self.nav.is_clear(from, to)
    }

    pub(super) fn open_goal(&mut self, goal: Goal) -> FieldId {
        self.nav.open(goal)
    }

    pub(super) fn prepare_within(&mut self, id: FieldId, at: Tile, budget: &mut u32) -> bool {
        self.nav.prepare_within(id, at, budget)
    }

    pub(super) fn steps(&self, id: FieldId) -> u32 {
        self.nav.steps(id)
    }

    pub(super) fn resume(&mut self, id: FieldId, steps: u32) {
        self.nav.resume(id, steps);
    }

    pub(super) fn close_goal(&mut self, goal: Goal) {
        self.nav.close(goal);
    }

    #[inline]
    pub(super) fn direction_if_ready(&self, id: FieldId, tile: Tile) -> Option<Option<Direction>> {
        self.nav.direction_if_ready(id, tile)
    }

    /// See [`Nav::block`].
    #[inline]
    pub(super) fn block(&self, id: FieldId, block: Block) -> Option<Ways> {
        self.nav.block(id, block)
    }

    /// See [`Nav::stamp`].
    #[inline]
    pub(super) fn stamp(&self, id: FieldId) -> u32 {
        self.nav.stamp(id)
    }

    fn at(&self, tile: Tile) -> usize {
        usize::from(tile.y) * usize::from(self.size) + usize::from(tile.x)
    }
}

/// Columns that are no map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unfit;

/// The longest edge of a map: its points lie within 28 of 32 bits.
pub const LARGEST: u16 = 4_096;
/// The longest edge of a map that players choose; the larger ones are for scenarios.
pub const LARGEST_PLAYED: u16 = 256;
/// The shortest edge of a map.
pub const SMALLEST: u16 = 48;

#[cfg(test)]
mod tests {
    use super::*;
    use sim::Num;

    #[test]
    fn a_wall_makes_two_regions_and_a_hole_one() {
        let mut map = Map::new(48, Vec::new(), Vec::new());
        map.set_solid(Tile::new(0, 20), 1, true);
        for x in 0..48 {
            map.set_solid(Tile::new(x, 20), 1, true);
        }
        map.refresh_regions();
        let (up, down) = (Tile::new(5, 5), Tile::new(5, 40));
        assert_ne!(map.region(up), map.region(down));
        assert_eq!(map.region(Tile::new(9, 20)), 0);
        let near = map.nearest_in_region(down, map.region(up));
        assert_eq!(near, Some(Tile::new(5, 19)));
        map.set_solid(Tile::new(9, 20), 1, false);
        map.refresh_regions();
        assert_eq!(map.region(up), map.region(down));
    }

    #[test]
    fn a_ring_goes_once_around() {
        let map = Map::new(48, Vec::new(), Vec::new());
        assert_eq!(map.ring(Tile::new(5, 5), 3).count(), 16);
        assert_eq!(map.ring(Tile::new(5, 5), 2).count(), 12);
        assert_eq!(map.ring(Tile::new(5, 5), 1).count(), 8);
        assert_eq!(map.ring(Tile::new(0, 0), 2).count(), 5);
        let covered: Vec<Tile> = map.footprint(Tile::new(5, 5), 3).collect();
        assert!(map.ring(Tile::new(5, 5), 3).all(|t| !covered.contains(&t)));
    }

    #[test]
    fn nothing_is_open_beyond_the_edge() {
        let map = Map::new(48, Vec::new(), Vec::new());
        let beyond = Tile::new(48, 0);
        assert!(map.is_blocked(beyond) && map.is_blocked(Tile::new(u16::MAX, u16::MAX)));
        assert!(!map.has_room(Tile::new(46, 46), 3) && map.has_room(Tile::new(45, 45), 3));
        assert!(!map.has_room(Tile::new(u16::MAX, u16::MAX), 3));
        assert_eq!(map.terrain(beyond), Terrain::Rock);
        assert!(map.is_blocked_at(Vec2::new(-Num::DELTA, Num::ONE)));
    }
}
