//! How commands and seat events enter the world: each is checked here, once.

use super::{
    Command, Effect, Id, Kind, Refusal, Selection, World,
    economy::{become_idle, send_to_build, send_to_gather},
    farms::send_to_farm,
    repair::{is_damaged, send_to_repair},
    seats::Held,
    space::Tile,
    tables::{BUILDINGS_PER_SEAT, QUEUE_LENGTH},
    units::Order,
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
    match command {
        Command::Move { units, to } => {
            let units = own_units(w, seat, units)?;
            go(w, units, Order::Move, *to)
        }
        Command::AttackMove { units, to } => {
            let units = own_units(w, seat, units)?;
            go(w, units, Order::AttackMove, *to)
        }
        Command::Attack { units, target } => attack(w, seat, units, *target),
        Command::Hold { units } => {
            for row in own_units(w, seat, units)? {
                become_idle(w, row);
                w.units.order[row] = Order::Hold;
            }
            Ok(())
        }
        Command::Stop { units } => {
            for row in own_units(w, seat, units)? {
                become_idle(w, row);
            }
            Ok(())
        }
        Command::Gather { units, from } => gather(w, seat, units, *from),
        Command::Build { units, kind, at } => build(w, seat, units, *kind, *at),
        Command::Assist { units, building } => {
            let workers = own_workers(w, seat, units)?;
            let site = own_building(w, seat, *building)?;
            assist(w, workers, site)
        }
        Command::Train { building, kind } => train(w, seat, *building, *kind),
        Command::CancelTrain { building } => {
            let site = own_building(w, seat, *building)?;
            let kind = w.buildings.queue(site).last().ok_or(Refusal::Queue)?;
            let last = usize::from(w.buildings.queued[site]) - 1;
            w.buildings.unqueue(site, last);
            let stats = kind.stats();
            w.seats.earn(seat, stats.gold, stats.wood);
            Ok(())
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
            w.seats.earn(seat, stats.gold * 3 / 4, stats.wood * 3 / 4);
            w.buildings.hp[site] = 0;
            Ok(())
        }
        Command::Surrender => {
            w.seats.held[seat] = Held::Resigned;
            victory::defeat(w, seat, effects);
            Ok(())
        }
    }
}

/// Rows of the selected units that live.
fn own_units(w: &mut World, seat: usize, units: &Selection) -> Result<Vec<usize>, Refusal> {
    let rows = w.selected(seat, units)?;
    if rows.is_empty() {
        Err(Refusal::Nobody)
    } else {
        Ok(rows)
    }
}

fn own_workers(w: &mut World, seat: usize, units: &Selection) -> Result<Vec<usize>, Refusal> {
    let mut rows = own_units(w, seat, units)?;
    rows.retain(|row| w.units.kind[*row] == Kind::Worker);
    if rows.is_empty() {
        Err(Refusal::Nobody)
    } else {
        Ok(rows)
    }
}

fn own_building(w: &World, seat: usize, id: Id) -> Result<usize, Refusal> {
    w.buildings
        .row(id)
        .filter(|row| usize::from(w.buildings.seat[*row]) == seat)
        .ok_or(Refusal::NoSuchBuilding)
}

fn on_map(w: &World, tile: Tile) -> Result<u32, Refusal> {
    if w.map.contains(tile) {
        Ok(w.map.index(tile))
    } else {
        Err(Refusal::OffTheMap)
    }
}

/// Sends a group: each unit gets its own place near the goal, and keeps its place in the group.
fn go(w: &mut World, mut units: Vec<usize>, order: Order, to: Tile) -> Result<(), Refusal> {
    let goal = on_map(w, to)?;
    let Some(first) = units.first() else {
        return Err(Refusal::Nobody);
    };
    let region = w.map.region(w.units.tile(*first));
    let mut places = places_around(w, to, units.len(), region);
    places.sort_unstable_by_key(|tile| (tile.y, tile.x));
    units.sort_by_key(|row| (w.units.y[*row], w.units.x[*row]));
    for (number, row) in units.into_iter().enumerate() {
        w.units.command(row, order);
        w.units.goal[row] = goal;
        w.units.post[row] = places.get(number).map_or(goal, |place| w.map.index(*place));
        w.units.ask(row, goal);
    }
    Ok(())
}

/// The open tiles of `region` nearest to `to`, as many as asked for or as there are nearby.
fn places_around(w: &World, to: Tile, count: usize, region: u32) -> Vec<Tile> {
    let reach = (count as u64).isqrt() as u16 / 2 + 3;
    let edge = w.map.size() - 1;
    let (left, right) = (
        to.x.saturating_sub(reach),
        to.x.saturating_add(reach).min(edge),
    );
    let (top, bottom) = (
        to.y.saturating_sub(reach),
        to.y.saturating_add(reach).min(edge),
    );
    let mut tiles: Vec<Tile> = (top..=bottom)
        .flat_map(|y| (left..=right).map(move |x| Tile::new(x, y)))
        .filter(|tile| w.map.region(*tile) == region && region != 0)
        .collect();
    let centre = to.centre();
    tiles.sort_by_key(|tile| tile.centre().distance_squared(centre));
    tiles.truncate(count);
    tiles
}

fn attack(w: &mut World, seat: usize, units: &Selection, target: Id) -> Result<(), Refusal> {
    let units = own_units(w, seat, units)?;
    let enemy = w
        .target(target)
        .filter(|found| usize::from(w.owner(*found)) != seat);
    let enemy = enemy.ok_or(Refusal::NoSuchTarget)?;
    if !w.sees_target(seat, enemy) {
        return Err(Refusal::OutOfSight);
    }
    let aim = w.target_tile(enemy);
    for row in units {
        w.units.command(row, Order::Attack);
        w.units.target[row] = target.0;
        w.units.goal[row] = aim;
        w.units.post[row] = aim;
        w.units.ask(row, aim);
    }
    Ok(())
}

fn gather(w: &mut World, seat: usize, units: &Selection, from: Tile) -> Result<(), Refusal> {
    let units = own_units(w, seat, units)?;
    let site = on_map(w, from)?;
    if !w.fog.explored(seat, from) {
        return Err(Refusal::Unexplored);
    }
    if w.map.resource(from).is_none() {
        return Err(Refusal::NothingToGather);
    }
    let (workers, others): (Vec<usize>, Vec<usize>) = units
        .into_iter()
        .partition(|row| w.units.kind[*row] == Kind::Worker);
    for row in workers {
        send_to_gather(w, row, site);
    }
    if others.is_empty() {
        Ok(())
    } else {
        go(w, others, Order::Move, from)
    }
}

/// Sends workers to build what is unfinished, mend what is damaged, or work a farm.
fn assist(w: &mut World, workers: Vec<usize>, site: usize) -> Result<(), Refusal> {
    if !w.buildings.is_complete(site) {
        for worker in workers {
            send_to_build(w, worker, site);
        }
        return Ok(());
    }
    if is_damaged(w, site, w.buildings.seat[site]) {
        for worker in workers {
            send_to_repair(w, worker, site);
        }
        return Ok(());
    }
    if w.buildings.kind[site] != Kind::Farm {
        return Err(Refusal::NothingToDo);
    }
    let mut anybody = false;
    for worker in workers {
        anybody |= send_to_farm(w, worker, site);
    }
    if anybody {
        Ok(())
    } else {
        Err(Refusal::NothingToDo)
    }
}

fn build(
    w: &mut World,
    seat: usize,
    units: &Selection,
    kind: Kind,
    at: Tile,
) -> Result<(), Refusal> {
    let workers = own_workers(w, seat, units)?;
    on_map(w, at)?;
    let stats = kind.stats();
    let Some(first) = workers.first().filter(|_| kind.is_building()) else {
        return Err(Refusal::CannotTrain);
    };
    let mut ground = w
        .map
        .footprint(at, stats.size)
        .filter(|t| w.map.contains(*t));
    if !ground.all(|tile| w.fog.explored(seat, tile)) {
        return Err(Refusal::Unexplored);
    }
    let region = w.map.region(w.units.tile(*first));
    if !w.map.has_room(at, stats.size) || !w.map.touches_region(at, stats.size, region) {
        return Err(Refusal::NoRoom);
    }
    let owned = w
        .buildings
        .seat
        .iter()
        .filter(|owner| usize::from(**owner) == seat);
    if owned.count() >= BUILDINGS_PER_SEAT {
        return Err(Refusal::TooManyBuildings);
    }
    has_what_it_needs(w, seat, kind)?;
    pay(w, seat, kind)?;
    w.spawn_building(kind, seat as u8, at, false);
    let site = w.buildings.len() - 1;
    for worker in workers {
        send_to_build(w, worker, site);
    }
    Ok(())
}

fn train(w: &mut World, seat: usize, building: Id, kind: Kind) -> Result<(), Refusal> {
    let site = own_building(w, seat, building)?;
    if !w.buildings.is_complete(site) || !w.buildings.kind[site].trains().contains(&kind) {
        return Err(Refusal::CannotTrain);
    }
    let place = usize::from(w.buildings.queued[site]);
    if place >= QUEUE_LENGTH {
        return Err(Refusal::Queue);
    }
    has_what_it_needs(w, seat, kind)?;
    pay(w, seat, kind)?;
    w.buildings.queue[site][place] = kind as u8;
    w.buildings.queued[site] += 1;
    Ok(())
}

fn has_what_it_needs(w: &World, seat: usize, kind: Kind) -> Result<(), Refusal> {
    let needs = kind.stats().needs;
    if needs.iter().all(|need| w.owns_finished(seat, *need)) {
        Ok(())
    } else {
        Err(Refusal::NeedsBuilding)
    }
}

fn pay(w: &mut World, seat: usize, kind: Kind) -> Result<(), Refusal> {
    let stats = kind.stats();
    if w.seats.gold[seat] < stats.gold {
        return Err(Refusal::NoGold);
    }
    if w.seats.wood[seat] < stats.wood {
        return Err(Refusal::NoWood);
    }
    w.seats.pay(seat, stats.gold, stats.wood);
    Ok(())
}
