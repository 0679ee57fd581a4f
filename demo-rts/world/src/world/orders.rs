//! How commands and seat events enter the world: each is checked here, once.

use super::{
    Command, Effect, Id, Kind, Refusal, Selection, World,
    combat::Target,
    command::Task,
    economy::become_idle,
    errands::{self, Errand},
    garrison, may,
    research::Job,
    seats::Held,
    tables::{RULES, WAYPOINTS},
    tile::Tile,
    victory,
};
use sim::{Seat, SeatState};

/// A seat changed hands. Seats that are not in play, or have resigned, change nothing.
pub(super) fn change_hands(w: &mut World, seat: Seat, state: SeatState, effects: &mut Vec<Effect>) {
    let Some(row) = w.seats.row(seat) else {
        return;
    };
    if w.seats.held[row] == Held::Resigned {
        return;
    }
    if state == SeatState::Idle && w.seats.held[row] != Held::Idle {
        w.seats.idle_since[row] = w.tick;
    }
    w.seats.held[row] = state.into();
    if state == SeatState::Resigned {
        victory::defeat(w, row, effects);
    }
}

/// Executes a command, or reports why it does nothing.
pub(super) fn execute(w: &mut World, seat: Seat, command: &Command, effects: &mut Vec<Effect>) {
    let Some(row) = w.seats.row(seat) else {
        return;
    };
    let result = if w.seats.is_defeated(row) {
        Err(Refusal::Defeated)
    } else {
        obey(w, row, command, effects)
    };
    if let Err(reason) = result {
        effects.push(Effect::Refused { seat, reason });
    }
}

fn obey(
    w: &mut World,
    seat: usize,
    command: &Command,
    effects: &mut Vec<Effect>,
) -> Result<(), Refusal> {
    if let Some((units, task)) = command.task() {
        return order(w, seat, units, task);
    }
    match command {
        Command::Queue { units, task } => queue(w, seat, units, *task),
        Command::Stop { units } => {
            let rows = own_units(w, seat, units)?;
            forget_waypoints(w, &rows);
            for row in rows {
                become_idle(w, row);
            }
            Ok(())
        }
        Command::Train { building, kind } => enqueue(w, seat, *building, Job::Train(*kind)),
        Command::CancelTrain { building, place } => {
            let site = own_building(w, seat, *building)?;
            let place = usize::from(*place);
            let job = w.buildings.queue(site).nth(place).ok_or(Refusal::Queue)?;
            w.buildings.unqueue(site, place);
            let (gold, wood) = may::price(w, seat, job);
            w.seats.earn(seat, gold, wood);
            Ok(())
        }
        Command::Research { building, upgrade } => {
            enqueue(w, seat, *building, Job::Research(*upgrade))
        }
        Command::Rally { building, to } => {
            let site = own_building(w, seat, *building)?;
            if w.buildings.kind[site].trains().is_empty() {
                return Err(Refusal::NoSuchBuilding);
            }
            w.buildings.rally[site] = on_map(w, *to)?;
            Ok(())
        }
        Command::CancelBuild { building } => {
            let site = own_building(w, seat, *building)?;
            if w.buildings.is_complete(site) {
                return Err(Refusal::NoSuchBuilding);
            }
            let stats = w.buildings.kind[site].stats();
            let refund = |price: u32| price * RULES.refund_percent / 100;
            w.seats.earn(seat, refund(stats.gold), refund(stats.wood));
            w.buildings.hp[site] = 0;
            Ok(())
        }
        Command::Demolish { building } => {
            let site = own_building(w, seat, *building)?;
            if !w.buildings.is_complete(site) {
                return Err(Refusal::NoSuchBuilding);
            }
            w.buildings.hp[site] = 0;
            Ok(())
        }
        Command::Leave { building } => {
            let site = own_building(w, seat, *building)?;
            garrison::leave(w, site)
        }
        Command::Surrender => {
            w.seats.held[seat] = Held::Resigned;
            victory::defeat(w, seat, effects);
            Ok(())
        }
        // All that is a task was ordered above.
        Command::Move { .. }
        | Command::Attack { .. }
        | Command::AttackMove { .. }
        | Command::Hold { .. }
        | Command::Gather { .. }
        | Command::Build { .. }
        | Command::Assist { .. }
        | Command::Patrol { .. }
        | Command::AttackGround { .. }
        | Command::Garrison { .. } => Ok(()),
    }
}

/// Gives units a task, in place of everything that they had to do.
fn order(w: &mut World, seat: usize, units: &Selection, task: Task) -> Result<(), Refusal> {
    let units = own_units(w, seat, units)?;
    let mut ordered = Vec::new();
    for (row, errand) in errands::plan(w, seat, units, task)? {
        if errands::begin(w, row, errand) {
            ordered.push(row);
        }
    }
    if ordered.is_empty() {
        return Err(Refusal::NothingToDo);
    }
    forget_waypoints(w, &ordered);
    w.form_band(&ordered);
    Ok(())
}

/// Gives units a task for when they are done with what they have to do.
fn queue(w: &mut World, seat: usize, units: &Selection, task: Task) -> Result<(), Refusal> {
    let mut units = own_units(w, seat, units)?;
    // The seat pays nothing for units without room for an errand.
    units.retain(|row| w.waypoints.of(w.units.id[*row]).len() < WAYPOINTS);
    if units.is_empty() {
        return Err(Refusal::TooManyWaypoints);
    }
    let mut errands: Vec<(u32, Errand)> = errands::plan(w, seat, units, task)?
        .into_iter()
        .map(|(row, errand)| (w.units.id[row], errand))
        .collect();
    errands.sort_unstable_by_key(|(unit, _)| *unit);
    w.waypoints.append(&errands);
    Ok(())
}

fn forget_waypoints(w: &mut World, rows: &[usize]) {
    let mut units: Vec<u32> = rows.iter().map(|row| w.units.id[*row]).collect();
    units.sort_unstable();
    w.waypoints.forget(&units);
}

/// Rows of the selected units that live and are not inside a building.
fn own_units(w: &mut World, seat: usize, units: &Selection) -> Result<Vec<usize>, Refusal> {
    let mut rows = w.selected(seat, units)?;
    rows.retain(|row| !w.units.is_inside(*row));
    if rows.is_empty() {
        Err(Refusal::NoUnit)
    } else {
        Ok(rows)
    }
}

pub(super) fn own_building(w: &World, seat: usize, id: Id) -> Result<usize, Refusal> {
    w.buildings
        .row(id)
        .filter(|row| usize::from(w.buildings.seat[*row]) == seat)
        .ok_or(Refusal::NoSuchBuilding)
}

pub(super) fn on_map(w: &World, tile: Tile) -> Result<u32, Refusal> {
    if w.map.contains(tile) {
        Ok(w.map.index(tile))
    } else {
        Err(Refusal::OffTheMap)
    }
}

/// The living thing of this id, if a unit of the seat may be ordered to attack it: another seat's, and
/// in sight.
pub(super) fn targetable(w: &World, seat: usize, id: Id) -> Result<Target, Refusal> {
    // Dead and hidden targets get the same answer: else it would tell which ids live.
    w.target(id)
        .filter(|found| usize::from(w.owner(*found)) != seat)
        .filter(|found| w.sees_target(seat, *found))
        .ok_or(Refusal::NoSuchTarget)
}

/// Founds a building for these workers to build, and pays for it. Returns its row.
pub(super) fn found(
    w: &mut World,
    seat: usize,
    workers: &[usize],
    kind: Kind,
    at: Tile,
) -> Result<usize, Refusal> {
    let room = |from: Tile, size| {
        w.map.has_room(at, size) && w.map.touches_region(at, size, w.map.region(from))
    };
    let (gold, wood) = may::found(w, seat, workers.first().copied(), kind, at, room)?;
    w.seats.pay(seat, gold, wood);
    w.spawn_building(kind, seat as u8, at, false);
    Ok(w.buildings.len() - 1)
}

/// Puts a job in a building's queue, and pays for it.
fn enqueue(w: &mut World, seat: usize, building: Id, job: Job) -> Result<(), Refusal> {
    let (site, (gold, wood)) = may::enqueue(w, seat, building, job)?;
    w.seats.pay(seat, gold, wood);
    let place = usize::from(w.buildings.queued[site]);
    w.buildings.queue[site][place] = job.number();
    w.buildings.queued[site] += 1;
    Ok(())
}
