//! What a seat has, sorted for thinking.

use crate::world::{
    BuildingView, Id, Kind, Order, Resource, SeatView, Selection, Tile, UnitView, World,
};
use sim::Seat;

pub(super) struct Estate<'a> {
    pub world: &'a World,
    pub seat: SeatView,
    pub workers: Vec<UnitView>,
    pub soldiers: Vec<UnitView>,
    pub buildings: Vec<BuildingView>,
    pub enemy_units: Vec<UnitView>,
    pub enemy_buildings: Vec<BuildingView>,
    /// What is left to spend after the commands of this thought.
    pub gold: u32,
    pub wood: u32,
}

impl<'a> Estate<'a> {
    /// What this seat has, while it is in the match.
    pub fn of(world: &'a World, seat: Seat) -> Option<Self> {
        let view = world.seat(seat).filter(|view| !view.defeated)?;
        let mut estate = Self {
            world,
            seat: view,
            workers: Vec::new(),
            soldiers: Vec::new(),
            buildings: Vec::new(),
            enemy_units: Vec::new(),
            enemy_buildings: Vec::new(),
            gold: view.gold,
            wood: view.wood,
        };
        for unit in world.units() {
            if unit.seat != seat {
                estate.enemy_units.push(unit);
            } else if unit.kind == Kind::Worker {
                estate.workers.push(unit);
            } else {
                estate.soldiers.push(unit);
            }
        }
        for building in world.buildings() {
            if building.seat == seat {
                estate.buildings.push(building);
            } else {
                estate.enemy_buildings.push(building);
            }
        }
        Some(estate)
    }

    /// These units of the household, as a command names them.
    pub fn select(&self, units: impl IntoIterator<Item = Id>) -> Selection {
        self.world.select(self.seat.seat, units)
    }

    /// Where the household is centred: a finished hall, or any building, or where it all began.
    pub fn home(&self) -> Tile {
        let hall = self.complete(Kind::TownHall).next();
        hall.or(self.buildings.first())
            .map_or(self.seat.home, middle)
    }

    pub fn complete(&self, kind: Kind) -> impl Iterator<Item = &BuildingView> {
        self.buildings
            .iter()
            .filter(move |b| b.kind == kind && b.complete)
    }

    pub fn count(&self, kind: Kind) -> usize {
        self.buildings.iter().filter(|b| b.kind == kind).count()
    }

    pub fn can_pay(&self, kind: Kind) -> bool {
        let stats = kind.stats();
        self.gold >= stats.gold && self.wood >= stats.wood
    }

    pub fn pay(&mut self, kind: Kind) {
        let stats = kind.stats();
        self.gold = self.gold.saturating_sub(stats.gold);
        self.wood = self.wood.saturating_sub(stats.wood);
    }

    /// What a worker is after, if it gathers.
    pub fn gathers(&self, worker: &UnitView) -> Option<Resource> {
        match worker.order {
            Order::Gather | Order::Return => worker
                .carries
                .map(|(resource, _)| resource)
                .or_else(|| self.world.map().resource(worker.goal)),
            _ => None,
        }
    }

    /// The worker nearest to a place that has nothing better to do than gather.
    pub fn free_worker(&self, near: Tile) -> Option<Id> {
        self.workers
            .iter()
            .filter(|worker| worker.order != Order::Construct)
            .min_by_key(|worker| {
                let busy = match (worker.order, worker.carries) {
                    (Order::Idle, _) => 0,
                    (_, None) => 6,
                    _ => 12,
                };
                (worker.tile.king_steps(near) + busy, worker.id)
            })
            .map(|worker| worker.id)
    }

    /// The tile nearest to `from` with this resource that a walker from there can work at.
    pub fn nearest_resource(&self, resource: Resource, from: Tile) -> Option<Tile> {
        let map = self.world.map();
        let region = self.home_region();
        let centre = from.centre();
        (0..map.size())
            .flat_map(|y| (0..map.size()).map(move |x| Tile::new(x, y)))
            .filter(|tile| map.resource(*tile) == Some(resource))
            .filter(|tile| map.ring(*tile, 1).any(|side| map.region(side) == region))
            .min_by_key(|tile| tile.centre().distance_squared(centre))
    }

    /// The region in which the household's people walk.
    pub fn home_region(&self) -> u32 {
        let map = self.world.map();
        let anybody = self.workers.first().or(self.soldiers.first());
        anybody.map_or(0, |unit| map.region(unit.tile))
    }
}

/// The tile in the middle of a building.
pub(super) fn middle(building: &BuildingView) -> Tile {
    let half = building.kind.stats().size / 2;
    Tile::new(building.tile.x + half, building.tile.y + half)
}
