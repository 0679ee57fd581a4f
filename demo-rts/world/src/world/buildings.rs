//! The columns of all buildings, and what happens inside them.

use super::{
    Effect, Id, Kind, World,
    columns::columns,
    economy,
    research::{self, Job},
    tables::QUEUE_LENGTH,
    tile::{Tile, middle_of},
    units::{Order, Unit},
};
use sim::Vec2;

columns! {
    /// All standing buildings and foundations, by ascending id.
    Buildings of Building {
        id: u32,
        kind: Kind,
        /// Row of the owner in the seats' table.
        seat: u8,
        /// Upper left tile.
        tile: u32,
        hp: u16,
        /// Work done on it; complete at the table's `build_ticks`.
        progress: u16,
        /// Numbers of jobs; the first is being worked on.
        queue: [u8; QUEUE_LENGTH],
        queued: u8,
        /// Work done on the first in the queue. 0: not begun.
        trained: u16,
        /// Tile that trained units go to.
        rally: u32,
        /// Ticks until it can shoot again.
        cooldown: u16,
        /// The worker that has taken this farm. 0: no worker.
        farmer: u32,
        /// Units inside.
        inside: u8,
    }
}

impl Buildings {
    pub fn len(&self) -> usize {
        self.id.len()
    }

    /// The standing building of this id.
    pub fn row(&self, id: Id) -> Option<usize> {
        let row = self.id.binary_search(&id.0).ok()?;
        (self.hp[row] > 0).then_some(row)
    }

    pub fn is_complete(&self, row: usize) -> bool {
        self.progress[row] >= self.kind[row].stats().build_ticks
    }

    /// Whether its ground is blocked: from the first work on.
    pub fn is_solid(&self, row: usize) -> bool {
        self.progress[row] > 0
    }

    /// The jobs in its queue.
    pub fn queue(&self, row: usize) -> impl Iterator<Item = Job> + '_ {
        self.queue[row]
            .iter()
            .take(usize::from(self.queued[row]))
            .filter_map(|number| Job::from_number(*number))
    }

    /// Takes the entry at `place` out of the queue.
    pub fn unqueue(&mut self, row: usize, place: usize) {
        if place >= usize::from(self.queued[row]) {
            return;
        }
        self.queue[row].copy_within(place + 1.., place);
        self.queue[row][QUEUE_LENGTH - 1] = 0;
        self.queued[row] -= 1;
        if place == 0 {
            self.trained[row] = 0;
        }
    }
}

/// Room taken and given, for each row of the seats' table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Room {
    pub taken: u32,
    pub given: u32,
}

impl World {
    /// Counts all units, and those in training.
    pub(super) fn room(&self) -> Vec<Room> {
        let mut room = vec![Room::default(); self.seats.len()];
        for row in 0..self.units.len() {
            if self.units.hp[row] > 0 {
                room[usize::from(self.units.seat[row])].taken +=
                    u32::from(self.units.stats(row).population);
            }
        }
        for row in 0..self.buildings.len() {
            let seat = &mut room[usize::from(self.buildings.seat[row])];
            if self.buildings.is_complete(row) && self.buildings.hp[row] > 0 {
                seat.given += u32::from(self.buildings.kind[row].stats().houses);
            }
            if self.buildings.trained[row] > 0
                && let Some(Job::Train(kind)) = self.buildings.queue(row).next()
            {
                seat.taken += u32::from(kind.stats().population);
            }
        }
        for seat in &mut room {
            seat.given = seat.given.min(u32::from(self.setup.population));
        }
        room
    }

    /// Whether a seat has such a building, finished and standing.
    pub(super) fn owns_finished(&self, seat: usize, kind: Kind) -> bool {
        let b = &self.buildings;
        (0..b.len()).any(|row| {
            b.kind[row] == kind
                && usize::from(b.seat[row]) == seat
                && b.hp[row] > 0
                && b.is_complete(row)
        })
    }

    /// The middle of a building.
    pub(super) fn building_centre(&self, row: usize) -> Vec2 {
        let tile = self.map.tile_of(self.buildings.tile[row]);
        middle_of(tile, self.buildings.kind[row].stats().size)
    }
}

/// One tick of every queue.
pub(super) fn train(w: &mut World, effects: &mut Vec<Effect>) {
    if w.buildings.queued.iter().all(|queued| *queued == 0) {
        return;
    }
    let mut room = w.room();
    for row in 0..w.buildings.len() {
        if w.buildings.hp[row] == 0 || w.buildings.queued[row] == 0 {
            continue;
        }
        let Some(job) = w.buildings.queue(row).next() else {
            continue;
        };
        if let Job::Train(kind) = job
            && w.buildings.trained[row] == 0
        {
            let seat = &mut room[usize::from(w.buildings.seat[row])];
            let stats = kind.stats();
            if seat.taken + u32::from(stats.population) > seat.given {
                continue;
            }
            seat.taken += u32::from(stats.population);
        }
        if w.buildings.trained[row] < job.ticks() {
            w.buildings.trained[row] += 1;
        }
        if w.buildings.trained[row] < job.ticks() {
            continue;
        }
        let done = match job {
            Job::Train(kind) => release(w, row, kind, effects),
            Job::Research(upgrade) => {
                research::learn(w, w.buildings.seat[row], upgrade, effects);
                true
            }
        };
        if done {
            w.buildings.unqueue(row, 0);
        }
    }
}

/// Sets the trained unit on a free tile beside the building, if possible on one from which it can walk
/// to the rally point: a door may open into a pocket between trees. `false` while there is none.
fn release(w: &mut World, row: usize, kind: Kind, effects: &mut Vec<Effect>) -> bool {
    let tile = w.map.tile_of(w.buildings.tile[row]);
    let rally = w.map.tile_of(w.buildings.rally[row]);
    let doors = w.map.ring(tile, w.buildings.kind[row].stats().size);
    let Some(door) = doors
        .filter(|door| !w.map.is_blocked(*door))
        .min_by_key(|door| {
            let region = w.map.region(*door);
            let leads = w.map.region(rally) == region || w.map.touches_region(rally, 1, region);
            (
                !leads,
                door.centre().distance_squared(rally.centre()),
                door.y,
                door.x,
            )
        })
    else {
        return false;
    };
    let seat = w.buildings.seat[row];
    let id = w.spawn_unit(kind, seat, door.centre());
    w.seats.trained[usize::from(seat)] = w.seats.trained[usize::from(seat)].saturating_add(1);
    effects.push(Effect::Trained {
        id,
        kind,
        seat: w.seats.seat(seat),
    });
    let unit = w.units.len() - 1;
    let rally_index = w.buildings.rally[row];
    if w.map
        .footprint(tile, w.buildings.kind[row].stats().size)
        .any(|t| t == rally)
    {
        return true;
    }
    if kind == Kind::Worker && w.map.resource(rally).is_some() {
        economy::send_to_gather(w, unit, rally_index);
    } else {
        let order = if kind.is_soldier() {
            Order::AttackMove
        } else {
            Order::Move
        };
        w.units.command(unit, order);
        w.units.goal[unit] = rally_index;
        w.units.post[unit] = rally_index;
        w.units.ask(unit, rally_index);
    }
    true
}

impl World {
    /// A new unit; ids ascend, so it is the last row.
    pub(super) fn spawn_unit(&mut self, kind: Kind, seat: u8, at: Vec2) -> Id {
        let id = self.fresh_id();
        let post = self.map.index_at(at);
        let number = self.roll.enlist(usize::from(seat), id);
        self.units.push(Unit {
            number,
            ..Unit::new(id, kind, seat, at, post)
        });
        id
    }

    /// A new building on free ground; ids ascend, so it is the last row.
    pub(super) fn spawn_building(&mut self, kind: Kind, seat: u8, at: Tile, complete: bool) -> Id {
        let id = self.fresh_id();
        let stats = kind.stats();
        let tile = self.map.index(at);
        let most = self.abilities.of(seat, kind).hit_points;
        self.buildings.push(Building {
            id: id.0,
            kind,
            seat,
            tile,
            hp: if complete { most } else { 1 },
            progress: if complete { stats.build_ticks } else { 0 },
            queue: [0; QUEUE_LENGTH],
            queued: 0,
            trained: 0,
            rally: tile,
            cooldown: 0,
            farmer: 0,
            inside: 0,
        });
        self.map.occupy(at, stats.size, id);
        if complete {
            self.map.set_solid(at, stats.size, true);
        }
        id
    }

    fn fresh_id(&mut self) -> Id {
        let id = Id(self.next_id);
        self.next_id = self.next_id.saturating_add(1);
        id
    }
}
