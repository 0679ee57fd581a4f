//! The views that screens and bots may read.

use super::{
    Command, Id, Job, Kind, Map, Order, QUEUE_LENGTH, Resource, Setup, Stats, Tile, Upgrade, World,
    units::Way,
};
use sim::{Seat, SeatState, Vec2};

/// A seat, as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeatView {
    /// The seat.
    pub seat: Seat,
    /// Its place among the seats, from 0: pick a colour by it.
    pub colour: u8,
    /// Gold in store.
    pub gold: u32,
    /// Wood in store.
    pub wood: u32,
    /// Room that its units take, those in training included.
    pub population: u32,
    /// Room that its buildings give.
    pub population_limit: u32,
    /// How it is held.
    pub state: SeatState,
    /// Whether it is out of the match.
    pub defeated: bool,
    /// Where it began: the middle of its first town hall.
    pub home: Tile,
    /// The price of what it owns, and a quarter of what it has in store.
    pub score: u64,
    /// Units trained.
    pub trained: u32,
    /// Units lost.
    pub lost: u32,
    /// Units and buildings of other seats that it destroyed.
    pub killed: u32,
    /// Gold and wood brought home.
    pub gathered: u32,
    /// Levels that it knows, in the order of [`Upgrade::ALL`].
    pub upgrades: [u8; Upgrade::ALL.len()],
}

/// A unit, as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitView {
    /// The unit.
    pub id: Id,
    /// Its number among the units of its seat, for commands; see [`World::select`]. 0 where a seat looks at
    /// others, see [`World::seen_by`].
    pub number: u16,
    /// Its kind.
    pub kind: Kind,
    /// The owner.
    pub seat: Seat,
    /// Its place, exactly.
    pub at: Vec2,
    /// Its tile.
    pub tile: Tile,
    /// Damage it can still take.
    pub hit_points: u16,
    /// Its order.
    pub order: Order,
    /// The unit or building that it attacks or builds.
    pub target: Option<Id>,
    /// Tile that its order names: where it goes or gathers.
    pub goal: Tile,
    /// Its load, and how much of it.
    pub carries: Option<(Resource, u16)>,
    /// Whether it walks or waits for a way.
    pub moving: bool,
}

/// A building or foundation, as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildingView {
    /// The building.
    pub id: Id,
    /// Its kind.
    pub kind: Kind,
    /// The owner.
    pub seat: Seat,
    /// Its upper left tile.
    pub tile: Tile,
    /// Its middle.
    pub centre: Vec2,
    /// Damage it can still take.
    pub hit_points: u16,
    /// Whether it is more than a foundation.
    pub complete: bool,
    /// Ticks of work done on it, of the table's `build_ticks`.
    pub progress: u16,
    /// Jobs in its queue.
    pub queued: u8,
    /// Its queue; the first is being worked on.
    pub queue: [Option<Job>; QUEUE_LENGTH],
    /// Ticks of work done on the first in the queue.
    pub worked: u16,
    /// Units inside.
    pub inside: u8,
    /// The unit being trained, and the ticks of work done on it.
    pub training: Option<(Kind, u16)>,
    /// Where its units go.
    pub rally: Tile,
    /// Whether it is out of sight and as it was last seen: only in [`Seen`](super::Seen).
    pub remembered: bool,
}

/// An arrow in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProjectileView {
    /// Its place.
    pub at: Vec2,
    /// Where it flies to.
    pub to: Vec2,
    /// The owner.
    pub seat: Seat,
}

impl World {
    /// Ticks stepped so far.
    pub fn tick(&self) -> u32 {
        self.tick
    }

    /// The settings, every number in its range.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The ground.
    pub fn map(&self) -> &Map {
        &self.map
    }

    /// The seats in play, ascending.
    pub fn seats(&self) -> impl Iterator<Item = SeatView> + '_ {
        let room = self.room();
        (0..self.seats.len()).map(move |row| self.seat_view(row, room[row]))
    }

    /// One seat, if it is in play.
    pub fn seat(&self, seat: Seat) -> Option<SeatView> {
        let row = self.seats.row(seat)?;
        Some(self.seat_view(row, self.room()[row]))
    }

    /// All living units, by ascending id.
    pub fn units(&self) -> impl Iterator<Item = UnitView> + '_ {
        (0..self.units.len())
            .filter(|row| self.units.is_alive(*row))
            .map(|row| self.unit_view(row))
    }

    /// One unit, while it lives.
    pub fn unit(&self, id: Id) -> Option<UnitView> {
        self.units.row(id).map(|row| self.unit_view(row))
    }

    /// All buildings and foundations, by ascending id.
    pub fn buildings(&self) -> impl ExactSizeIterator<Item = BuildingView> + '_ {
        (0..self.buildings.len()).map(|row| self.building_view(row))
    }

    /// One building or foundation, while it stands.
    pub fn building(&self, id: Id) -> Option<BuildingView> {
        self.buildings.row(id).map(|row| self.building_view(row))
    }

    /// All arrows in flight.
    pub fn projectiles(&self) -> impl ExactSizeIterator<Item = ProjectileView> + '_ {
        let p = &self.projectiles;
        (0..p.len()).map(|row| ProjectileView {
            at: p.at(row),
            to: p.to(row),
            seat: self.seats.seat(p.seat[row]),
        })
    }

    /// The line of a kind with the upgrades of a seat, if it is in play.
    pub fn stats(&self, seat: Seat, kind: Kind) -> Option<&Stats> {
        let row = self.seats.row(seat)?;
        Some(self.abilities.of(row as u8, kind))
    }

    /// The orders that wait for a unit, and the tiles that they name.
    pub fn waypoints(&self, id: Id) -> impl Iterator<Item = (Order, Tile)> + '_ {
        self.waypoints.of(id.0).map(|at| {
            let goal = self.map.tile_of(self.waypoints.goal[at]);
            (self.waypoints.order[at], goal)
        })
    }

    /// The price of what a seat owns, and a quarter of what it has in store.
    pub fn score(&self, seat: Seat) -> Option<u64> {
        self.seats.row(seat).map(|row| self.worth(row))
    }

    /// The command that a right click of these units on a tile means, as far as their seat knows the tile.
    /// They attack an enemy in sight, march upon a remembered enemy building, build, mend, farm, shelter,
    /// gather, or go.
    pub fn meant_by_click(&self, seat: Seat, units: super::Selection, on: Tile) -> Command {
        let Some(seen) = self.seen_by(seat) else {
            return Command::Move { units, to: on };
        };
        let enemy = seen
            .units()
            .find(|unit| unit.tile == on && unit.seat != seat)
            .map(|unit| unit.id);
        let building = seen.building_on(on);
        let rival = building.filter(|b| b.seat != seat);
        let in_sight = rival.filter(|b| !b.remembered).map(|b| b.id);
        if let Some(target) = enemy.or(in_sight) {
            return Command::Attack { units, target };
        }
        if rival.is_some() {
            return Command::AttackMove { units, to: on };
        }
        if let Some(own) = building {
            let building = own.id;
            let whole = self.stats(seat, own.kind).map_or(0, |line| line.hit_points);
            let works = !own.complete || own.hit_points < whole || own.kind == Kind::Farm;
            let row = self.seats.row(seat);
            let named = row.map(|row| self.named(row, &units));
            let workers = named
                .into_iter()
                .flatten()
                .any(|row| self.units.kind[row] == Kind::Worker);
            if works && workers {
                return Command::Assist { units, building };
            }
            if own.complete && own.kind.stats().shelters > 0 {
                return Command::Garrison { units, building };
            }
        }
        match seen.resource(on) {
            Some(_) => Command::Gather { units, from: on },
            None => Command::Move { units, to: on },
        }
    }

    pub(super) fn seat_view(&self, row: usize, room: super::buildings::Room) -> SeatView {
        let seats = &self.seats;
        SeatView {
            seat: Seat(seats.seat[row]),
            colour: row as u8,
            gold: seats.gold[row],
            wood: seats.wood[row],
            population: room.taken,
            population_limit: room.given,
            state: seats.held[row].state(),
            defeated: seats.is_defeated(row),
            home: self.map.tile_of(seats.home[row]),
            score: self.worth(row),
            trained: seats.trained[row],
            lost: seats.lost[row],
            killed: seats.killed[row],
            gathered: seats.gathered[row],
            upgrades: seats.upgrades[row],
        }
    }

    pub(super) fn unit_view(&self, row: usize) -> UnitView {
        let units = &self.units;
        let load = units.load[row].resource();
        UnitView {
            id: Id(units.id[row]),
            number: units.number[row],
            kind: units.kind[row],
            seat: self.seats.seat(units.seat[row]),
            at: units.at(row),
            tile: units.tile(row),
            hit_points: units.hp[row],
            order: units.order[row],
            target: Some(Id(units.target[row])).filter(|id| *id != Id::NONE),
            goal: self.map.tile_of(units.goal[row]),
            carries: load.map(|resource| (resource, units.amount[row])),
            moving: units.way[row] != Way::None,
        }
    }

    pub(super) fn building_view(&self, row: usize) -> BuildingView {
        let b = &self.buildings;
        BuildingView {
            id: Id(b.id[row]),
            kind: b.kind[row],
            seat: self.seats.seat(b.seat[row]),
            tile: self.map.tile_of(b.tile[row]),
            centre: self.building_centre(row),
            hit_points: b.hp[row],
            complete: b.is_complete(row),
            progress: b.progress[row],
            queued: b.queued[row],
            queue: std::array::from_fn(|place| b.queue(row).nth(place)),
            worked: b.trained[row],
            inside: b.inside[row],
            training: b.queue(row).next().and_then(|job| match job {
                Job::Train(kind) => Some((kind, b.trained[row])),
                Job::Research(_) => None,
            }),
            rally: self.map.tile_of(b.rally[row]),
            remembered: false,
        }
    }
}
