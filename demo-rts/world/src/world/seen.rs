//! What one seat may know: the view for its screen and its bot.

use super::{
    BuildingView, Id, Order, ProjectileView, QUEUE_LENGTH, Resource, SeatView, Selection, Setup,
    Terrain, Tile, UnitView, World, combat::Target, fog,
};
use sim::{Seat, SeatState};

/// The world as one seat knows it: its own things, what it sees of others, the buildings that it
/// remembers, and the ground that it has explored. A pure function of world and seat.
///
/// Explored ground is known as it stands: a forest cut down out of sight is known to be gone. So is whether a
/// unit can walk between two explored tiles, even where unseen ground lies between, or an unseen wall.
/// Nothing else tells of such a wall, and nothing at all of unexplored ground.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    pub(super) world: &'a World,
    pub(super) row: usize,
}

/// What every seat may know of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rival {
    /// The seat.
    pub seat: Seat,
    /// How it is held.
    pub state: SeatState,
    /// Whether it is out of the match.
    pub defeated: bool,
}

impl World {
    /// Whether a seat sees a tile now. Without fog every seat in play sees the whole map.
    pub fn sees(&self, seat: Seat, tile: Tile) -> bool {
        let row = self.seats.row(seat);
        row.is_some_and(|row| self.fog.sees(row, tile))
    }

    /// Whether a seat ever saw a tile.
    pub fn explored(&self, seat: Seat, tile: Tile) -> bool {
        let row = self.seats.row(seat);
        row.is_some_and(|row| self.fog.explored(row, tile))
    }

    /// What a seat may know, if it is in play.
    pub fn seen_by(&self, seat: Seat) -> Option<Seen<'_>> {
        let row = self.seats.row(seat)?;
        Some(Seen { world: self, row })
    }

    /// Whether the seat in `row` sees any part of a building.
    pub(super) fn sees_building(&self, row: usize, building: usize) -> bool {
        let b = &self.buildings;
        let tile = self.map.tile_of(b.tile[building]);
        usize::from(b.seat[building]) == row
            || self.fog.sees_any(row, tile, b.kind[building].stats().size)
    }

    /// Whether the seat in `row` sees this target. A seat always sees its own.
    pub(super) fn sees_target(&self, row: usize, target: Target) -> bool {
        match target {
            Target::Unit(unit) => {
                usize::from(self.units.seat[unit]) == row
                    || self.fog.sees(row, self.units.tile(unit))
            }
            Target::Building(building) => self.sees_building(row, building),
        }
    }
}

impl<'a> Seen<'a> {
    /// Ticks stepped so far.
    pub fn tick(self) -> u32 {
        self.world.tick
    }

    /// The settings.
    pub fn setup(self) -> &'a Setup {
        &self.world.setup
    }

    /// The seat that looks.
    pub fn seat(self) -> SeatView {
        self.world.seat_view(self.row, self.world.room()[self.row])
    }

    /// The other seats, ascending.
    pub fn rivals(self) -> impl Iterator<Item = Rival> + use<'a> {
        let (seats, own) = (&self.world.seats, self.row);
        (0..seats.len())
            .filter(move |row| *row != own)
            .map(|row| Rival {
                seat: Seat(seats.seat[row]),
                state: seats.held[row].state(),
                defeated: seats.is_defeated(row),
            })
    }

    /// Own units, and other seats' units in sight, by ascending id.
    pub fn units(self) -> impl Iterator<Item = UnitView> + use<'a> {
        (0..self.world.units.len()).filter_map(move |row| self.unit_in(row))
    }

    /// At most `own` of its own units and `others` of other seats' units in sight, by ascending id. Where
    /// there are more, a slice of consecutive units, which moves on from time to time.
    pub fn some_units(self, own: usize, others: usize) -> Vec<UnitView> {
        let rows = self.world.units.len();
        let turn = (self.world.tick / SLICE_TICKS).wrapping_mul(SLICE_STRIDE) as usize;
        let first = if rows > own { turn % rows } else { 0 };
        let mut left = [others, own];
        let mut views = Vec::new();
        for row in (first..rows).chain(0..first) {
            let is_own = usize::from(self.world.units.seat[row]) == self.row;
            let left = &mut left[usize::from(is_own)];
            if *left > 0
                && let Some(unit) = self.unit_in(row)
            {
                views.push(unit);
                *left -= 1;
            }
        }
        views.sort_unstable_by_key(|unit| unit.id);
        views
    }

    /// One unit, while it lives and is seen.
    pub fn unit(self, id: Id) -> Option<UnitView> {
        self.world.units.row(id).and_then(|row| self.unit_in(row))
    }

    /// Own buildings, and other seats' buildings in sight, by ascending id; then remembered buildings.
    pub fn buildings(self) -> impl Iterator<Item = BuildingView> + use<'a> {
        (0..self.world.buildings.len())
            .filter_map(move |row| self.building_in(row))
            .chain(self.ghosts())
    }

    /// One building, while it stands as far as this seat knows.
    pub fn building(self, id: Id) -> Option<BuildingView> {
        let row = self.world.buildings.row(id);
        row.and_then(|row| self.building_in(row))
            .or_else(|| self.ghosts().find(|ghost| ghost.id == id))
    }

    /// The building that covers a tile, as far as this seat knows.
    pub fn building_on(self, tile: Tile) -> Option<BuildingView> {
        let occupant = self.world.map.occupant(tile);
        let row = occupant.and_then(|id| self.world.buildings.row(id));
        row.and_then(|row| self.building_in(row)).or_else(|| {
            self.ghosts().find(|ghost| {
                let mut covered = self
                    .world
                    .map
                    .footprint(ghost.tile, ghost.kind.stats().size);
                covered.any(|part| part == tile)
            })
        })
    }

    /// Arrows in sight.
    pub fn projectiles(self) -> impl Iterator<Item = ProjectileView> + use<'a> {
        self.world
            .projectiles()
            .filter(move |arrow| self.sees(self.world.map.tile_at(arrow.at)))
    }

    /// The shortest selection of these units, as far as they are its own.
    pub fn select(self, units: impl IntoIterator<Item = Id>) -> Selection {
        let seat = self.world.seats.seat(self.row as u8);
        self.world.select(seat, units)
    }

    /// Tiles along an edge of the map.
    pub fn size(self) -> u16 {
        self.world.map.size()
    }

    /// Whether the tile is in sight.
    pub fn sees(&self, tile: Tile) -> bool {
        self.world.fog.sees(self.row, tile)
    }

    /// Whether the tile was ever in sight.
    pub fn explored(&self, tile: Tile) -> bool {
        self.world.fog.explored(self.row, tile)
    }

    /// What an explored tile is.
    pub fn terrain(&self, tile: Tile) -> Option<Terrain> {
        self.explored(tile).then(|| self.world.map.terrain(tile))
    }

    /// What can be gathered on a tile, and how much of it is left; as far as it is explored.
    pub fn resource(&self, tile: Tile) -> Option<(Resource, u16)> {
        let found = self.world.map.resource(tile)?;
        self.explored(tile)
            .then(|| (found, self.world.map.amount(tile)))
    }

    /// Whether a building of this size could be founded there, as far as this seat knows.
    pub fn has_room(self, tile: Tile, size: u16) -> bool {
        let map = &self.world.map;
        let open = |part: Tile| {
            let occupant = map
                .occupant(part)
                .and_then(|id| self.world.buildings.row(id));
            self.terrain(part) == Some(Terrain::Ground)
                && !occupant.is_some_and(|row| self.world.sees_building(self.row, row))
        };
        let apart = |at: u16, long: u16, other: u16, wide: u16| {
            at.saturating_add(long) <= other || other.saturating_add(wide) <= at
        };
        map.footprint(tile, size).all(open)
            && self.ghosts().all(|ghost| {
                let wide = ghost.kind.stats().size;
                apart(tile.x, size, ghost.tile.x, wide) || apart(tile.y, size, ghost.tile.y, wide)
            })
    }

    /// Equal for two explored tiles between which a unit can walk; 0 for others. What bars the way, or opens
    /// it, need not be in sight: a unit that is sent there goes by the same.
    pub fn region(&self, tile: Tile) -> u32 {
        if self.explored(tile) {
            self.world.map.region(tile)
        } else {
            0
        }
    }

    fn unit_in(self, row: usize) -> Option<UnitView> {
        let units = &self.world.units;
        let own = usize::from(units.seat[row]) == self.row;
        let met = units.is_on_map(row) && self.sees(units.tile(row));
        if units.hp[row] == 0 || !own && !met {
            return None;
        }
        let unit = self.world.unit_view(row);
        if own {
            return Some(unit);
        }
        // A seat sees the places and the health of other seats' units, not their orders.
        Some(UnitView {
            number: 0,
            order: Order::Idle,
            target: None,
            goal: unit.tile,
            ..unit
        })
    }

    fn building_in(self, row: usize) -> Option<BuildingView> {
        let buildings = &self.world.buildings;
        if buildings.hp[row] == 0 || !self.world.sees_building(self.row, row) {
            return None;
        }
        let building = self.world.building_view(row);
        if usize::from(buildings.seat[row]) == self.row {
            return Some(building);
        }
        Some(BuildingView {
            queued: 0,
            queue: [None; QUEUE_LENGTH],
            worked: 0,
            training: None,
            inside: 0,
            rally: building.tile,
            ..building
        })
    }

    fn ghosts(self) -> impl Iterator<Item = BuildingView> + use<'a> {
        let world = self.world;
        let ghosts = &world.fog.ghosts;
        (0..ghosts.len())
            .map(|row| ghosts.row(row))
            .filter(move |ghost| usize::from(ghost.viewer) == self.row)
            .filter(move |ghost| {
                let row = world.buildings.row(Id(ghost.id));
                let shown = row.is_some_and(|row| world.sees_building(self.row, row));
                !shown && !fog::is_seen_gone(world, ghost)
            })
            .map(|ghost| remembered(world, &ghost))
    }
}

fn remembered(world: &World, ghost: &fog::Ghost) -> BuildingView {
    let stats = ghost.kind.stats();
    let tile = world.map.tile_of(ghost.tile);
    let complete = ghost.complete == 1;
    BuildingView {
        id: Id(ghost.id),
        kind: ghost.kind,
        seat: world.seats.seat(ghost.seat),
        tile,
        centre: super::tile::middle_of(tile, stats.size),
        hit_points: ghost.hp,
        complete,
        progress: if complete { stats.build_ticks } else { 0 },
        queued: 0,
        queue: [None; QUEUE_LENGTH],
        worked: 0,
        training: None,
        inside: 0,
        rally: tile,
        remembered: true,
    }
}

/// Ticks for which a slice of too many units stays the same, so that a player can think and act.
const SLICE_TICKS: u32 = 64;
/// How far the slice moves on.
const SLICE_STRIDE: u32 = 997;
