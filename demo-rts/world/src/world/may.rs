//! What a seat may have. The world obeys the same rule that screens use to show a refusal beforehand.

use super::{
    Id, Kind, Refusal, Seen, World,
    orders::{on_map, own_building},
    research::Job,
    tables::{BUILDINGS_PER_SEAT, QUEUE_LENGTH},
    tile::Tile,
};
use sim::Seat;

/// Gold and wood.
pub(super) type Price = (u32, u32);

impl World {
    /// Whether a command to train or research this there would be obeyed now.
    ///
    /// # Errors
    /// Why it would do nothing.
    pub fn may_enqueue(&self, seat: Seat, building: Id, job: Job) -> Result<(), Refusal> {
        let seat = self.in_play(seat)?;
        enqueue(self, seat, building, job).map(drop)
    }

    /// Whether such a building could be founded now, given a place and a builder.
    ///
    /// # Errors
    /// Why a command to build it would do nothing.
    pub fn may_build(&self, seat: Seat, kind: Kind) -> Result<(), Refusal> {
        let seat = self.in_play(seat)?;
        match kind.is_building() {
            true => own(self, seat, kind).map(drop),
            false => Err(Refusal::CannotTrain),
        }
    }

    /// Gold and wood that a job costs a seat now; nothing, where the seat is not in play.
    pub fn price(&self, seat: Seat, job: Job) -> (u32, u32) {
        let row = self.seats.row(seat);
        row.map_or((0, 0), |row| price(self, row, job))
    }

    /// The first of these kinds of which a seat has no finished one.
    pub fn lacking(&self, seat: Seat, needs: &[Kind]) -> Option<Kind> {
        let row = self.seats.row(seat)?;
        let mut needs = needs.iter().copied();
        needs.find(|need| !self.owns_finished(row, *need))
    }

    fn in_play(&self, seat: Seat) -> Result<usize, Refusal> {
        let row = self.seats.row(seat).ok_or(Refusal::Defeated)?;
        match self.seats.is_defeated(row) {
            true => Err(Refusal::Defeated),
            false => Ok(row),
        }
    }
}

impl Seen<'_> {
    /// Whether such a building could be founded there now. Only the seat's own units count, and only the
    /// ground that it knows.
    ///
    /// # Errors
    /// Why a command to build it would do nothing.
    pub fn may_found(self, units: &[Id], kind: Kind, at: Tile) -> Result<(), Refusal> {
        let (w, seat) = (self.world, self.row);
        if w.seats.is_defeated(seat) {
            return Err(Refusal::Defeated);
        }
        let rows = units.iter().filter_map(|id| w.units.row(*id));
        let mut own: Vec<usize> = rows
            .filter(|row| usize::from(w.units.seat[*row]) == seat && !w.units.is_inside(*row))
            .collect();
        if own.is_empty() {
            return Err(Refusal::NoUnit);
        }
        own.retain(|row| w.units.kind[*row] == Kind::Worker);
        let room = |from: Tile, size| {
            let region = self.region(from);
            // The seat must not learn what lies on unexplored ground beside it.
            let reached = |tile| !self.explored(tile) || region != 0 && self.region(tile) == region;
            self.has_room(at, size) && w.map.ring(at, size).any(reached)
        };
        found(w, seat, own.into_iter().min(), kind, at, room).map(drop)
    }
}

/// The row of the building that queues a job, and the job's price.
pub(super) fn enqueue(
    w: &World,
    seat: usize,
    building: Id,
    job: Job,
) -> Result<(usize, Price), Refusal> {
    let site = own_building(w, seat, building)?;
    let needs = match job {
        Job::Train(kind) => kind.stats().needs,
        Job::Research(upgrade) => {
            let known = w.seats.upgrades[seat][upgrade as usize];
            if known >= upgrade.stats().levels || w.is_researching(seat, upgrade) {
                return Err(Refusal::AlreadyKnown);
            }
            upgrade.stats().needs
        }
    };
    if !w.buildings.is_complete(site) || !job.is_done_at(w.buildings.kind[site]) {
        return Err(Refusal::CannotTrain);
    }
    if usize::from(w.buildings.queued[site]) >= QUEUE_LENGTH {
        return Err(Refusal::Queue);
    }
    let price = price(w, seat, job);
    has_what_it_needs(w, seat, needs, price)?;
    Ok((site, price))
}

/// The price of a building founded by its first builder. `room` answers whether a building of this size,
/// built from that tile, has room.
pub(super) fn found(
    w: &World,
    seat: usize,
    builder: Option<usize>,
    kind: Kind,
    at: Tile,
    room: impl FnOnce(Tile, u16) -> bool,
) -> Result<Price, Refusal> {
    on_map(w, at)?;
    let builder = builder.ok_or(Refusal::NoUnit)?;
    if !kind.is_building() {
        return Err(Refusal::CannotTrain);
    }
    let size = kind.stats().size;
    let mut ground = w.map.footprint(at, size).filter(|t| w.map.contains(*t));
    if !ground.all(|tile| w.fog.explored(seat, tile)) {
        return Err(Refusal::Unexplored);
    }
    if !room(w.units.tile(builder), size) {
        return Err(Refusal::NoRoom);
    }
    own(w, seat, kind)
}

/// The price of one more building for a seat.
fn own(w: &World, seat: usize, kind: Kind) -> Result<Price, Refusal> {
    let owned = w.buildings.seat.iter();
    let owned = owned.filter(|owner| usize::from(**owner) == seat);
    if owned.count() >= BUILDINGS_PER_SEAT {
        return Err(Refusal::TooManyBuildings);
    }
    let stats = kind.stats();
    let price = (stats.gold, stats.wood);
    has_what_it_needs(w, seat, stats.needs, price)?;
    Ok(price)
}

/// What a job costs: an upgrade's price grows with the levels that the seat knows, and those do not
/// change while it is in a queue.
pub(super) fn price(w: &World, seat: usize, job: Job) -> Price {
    match job {
        Job::Train(kind) => (kind.stats().gold, kind.stats().wood),
        Job::Research(upgrade) => {
            let level = w.seats.upgrades[seat][upgrade as usize];
            upgrade.stats().price(level.saturating_add(1))
        }
    }
}

fn has_what_it_needs(
    w: &World,
    seat: usize,
    needs: &[Kind],
    (gold, wood): Price,
) -> Result<(), Refusal> {
    if !needs.iter().all(|need| w.owns_finished(seat, *need)) {
        return Err(Refusal::NeedsBuilding);
    }
    if w.seats.gold[seat] < gold {
        return Err(Refusal::NoGold);
    }
    if w.seats.wood[seat] < wood {
        return Err(Refusal::NoWood);
    }
    Ok(())
}
