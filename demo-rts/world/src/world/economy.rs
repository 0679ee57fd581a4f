//! Gathering and building: what workers do at their places.

use super::{
    Effect, Id, Kind, Resource, World,
    combat::distance_to_square,
    farms,
    tables::{CARRY, RULES},
    tile::Tile,
    units::{Load, Order, Way},
    waypoints,
};
use sim::Num;

/// Orders a worker to fetch from a tile.
pub(super) fn send_to_gather(w: &mut World, row: usize, from: u32) {
    w.units.command(row, Order::Gather);
    w.units.site[row] = from;
    w.units.goal[row] = from;
    w.units.post[row] = from;
}

/// Orders a unit to build, mend, work or enter a building.
pub(super) fn send_to_building(w: &mut World, row: usize, order: Order, building: usize) {
    w.units.command(row, order);
    w.units.target[row] = w.buildings.id[building];
    w.units.goal[row] = w.buildings.tile[building];
    w.units.post[row] = w.buildings.tile[building];
}

/// A tick of a worker that gathers.
pub(super) fn gather(w: &mut World, row: usize, effects: &mut Vec<Effect>) {
    let site = w.map.tile_of(w.units.site[row]);
    let Some(resource) = w.map.resource(site) else {
        go_on_nearby(w, row);
        return;
    };
    let full = w.units.load[row] == Load::of(resource) && w.units.amount[row] >= CARRY;
    if full {
        go_home(w, row);
        return;
    }
    if !is_beside(w, row, site, 1) {
        w.units.work[row] = 0;
        let site = w.units.site[row];
        approach(w, row, site);
        return;
    }
    arrive(w, row);
    w.units.work[row] += 1;
    if w.units.work[row] <= w.able(row).gather_ticks {
        return;
    }
    w.units.work[row] = 1;
    if w.units.load[row] != Load::of(resource) {
        w.units.load[row] = Load::of(resource);
        w.units.amount[row] = 0;
    }
    w.units.amount[row] += 1;
    if w.map.take(site) {
        effects.push(Effect::Exhausted { at: site });
    }
    if w.units.amount[row] >= CARRY {
        go_home(w, row);
    }
}

/// A tick of a worker that brings something home.
pub(super) fn bring_home(w: &mut World, row: usize, effects: &mut Vec<Effect>) {
    let hall = w.buildings.row(Id(w.units.target[row]));
    let Some(hall) = hall.or_else(|| nearest_hall(w, row)) else {
        become_idle(w, row);
        return;
    };
    w.units.target[row] = w.buildings.id[hall];
    let tile = w.map.tile_of(w.buildings.tile[hall]);
    if !is_beside(w, row, tile, w.buildings.kind[hall].stats().size) {
        approach(w, row, w.buildings.tile[hall]);
        return;
    }
    let seat = usize::from(w.units.seat[row]);
    if let Some(resource) = w.units.load[row].resource() {
        let amount = w.units.amount[row];
        match resource {
            Resource::Gold => w.seats.earn(seat, u32::from(amount), 0),
            Resource::Wood => w.seats.earn(seat, 0, u32::from(amount)),
        }
        let gathered = &mut w.seats.gathered[seat];
        *gathered = gathered.saturating_add(u32::from(amount));
        effects.push(Effect::Gathered {
            seat: w.seats.seat(w.units.seat[row]),
            resource,
            amount,
        });
    }
    w.units.load[row] = Load::Nothing;
    w.units.amount[row] = 0;
    if waypoints::waits(w, row) {
        become_idle(w, row);
        return;
    }
    let site = w.units.site[row];
    send_to_gather(w, row, site);
}

/// A tick of a worker that builds.
pub(super) fn construct(w: &mut World, row: usize, effects: &mut Vec<Effect>) {
    let building = w.buildings.row(Id(w.units.target[row]));
    let Some(building) = building.filter(|b| !w.buildings.is_complete(*b)) else {
        look_for_work(w, row);
        return;
    };
    let kind = w.buildings.kind[building];
    let stats = *w.able_building(building);
    let tile = w.map.tile_of(w.buildings.tile[building]);
    if !is_beside(w, row, tile, stats.size) {
        approach(w, row, w.buildings.tile[building]);
        return;
    }
    arrive(w, row);
    w.units.work[row] = 1;
    if !w.buildings.is_solid(building) {
        clear_site(w, tile, stats.size);
    }
    let share = |progress: u16| {
        u32::from(stats.hit_points) * u32::from(progress) / u32::from(stats.build_ticks)
    };
    let before = w.buildings.progress[building];
    let grown = share(before + 1) - share(before);
    let hp = &mut w.buildings.hp[building];
    *hp = hp.saturating_add(grown as u16).min(stats.hit_points);
    w.buildings.progress[building] += 1;
    if w.buildings.is_complete(building) {
        effects.push(Effect::Built {
            id: Id(w.buildings.id[building]),
            kind,
            seat: w.seats.seat(w.buildings.seat[building]),
        });
    }
}

/// Whether the unit stands at the side of a square of tiles.
pub(super) fn is_beside(w: &World, row: usize, tile: Tile, size: u16) -> bool {
    // A worker that has begun may be pushed a little before it has to walk again.
    let reach = if w.units.work[row] > 0 {
        Num::lit("1.5")
    } else {
        Num::lit("0.875")
    };
    distance_to_square(w.units.at(row), tile, size) <= reach
}

pub(super) fn arrive(w: &mut World, row: usize) {
    w.units.failures[row] = 0;
    if w.units.way[row] != Way::None {
        w.units.halt(row);
    }
}

/// Goes to a place; gives up after many ways that did not lead there.
pub(super) fn approach(w: &mut World, row: usize, aim: u32) {
    if w.units.way[row] != Way::None {
        return;
    }
    if w.units.failures[row] >= RULES.failures {
        become_idle(w, row);
        return;
    }
    w.units.failures[row] = w.units.failures[row].saturating_add(1);
    w.units.ask(row, aim);
}

fn go_home(w: &mut World, row: usize) {
    let site = w.units.site[row];
    w.units.command(row, Order::Return);
    w.units.site[row] = site;
}

/// The site is used up: takes the nearest other one of its kind, or goes home with what it has.
fn go_on_nearby(w: &mut World, row: usize) {
    let site = w.map.tile_of(w.units.site[row]);
    let wanted = w.units.load[row].resource();
    let region = w.map.region(w.units.tile(row));
    let next = nearest_resource(w, w.units.seat[row], site, wanted, region);
    match next {
        Some(tile) => {
            let site = w.map.index(tile);
            send_to_gather(w, row, site);
        }
        None if w.units.load[row] != Load::Nothing => go_home(w, row),
        None => become_idle(w, row),
    }
}

/// After building: the next foundation nearby, else the farm just built, else something to gather.
pub(super) fn look_for_work(w: &mut World, row: usize) {
    if waypoints::waits(w, row) {
        become_idle(w, row);
        return;
    }
    let tile = w.units.tile(row);
    let seat = w.units.seat[row];
    let built = w.buildings.row(Id(w.units.target[row]));
    let farm = built.filter(|b| w.buildings.kind[*b] == Kind::Farm);
    let foundation = (0..w.buildings.len())
        .filter(|b| w.buildings.seat[*b] == seat && w.buildings.hp[*b] > 0)
        .filter(|b| !w.buildings.is_complete(*b))
        .map(|b| (w.map.tile_of(w.buildings.tile[b]).king_steps(tile), b))
        .filter(|(steps, _)| *steps <= RULES.search_tiles)
        .min();
    if let Some((_, building)) = foundation {
        send_to_building(w, row, Order::Construct, building);
        return;
    }
    if farm.is_some_and(|farm| farms::send_to_farm(w, row, farm)) {
        return;
    }
    let region = w.map.region(tile);
    match nearest_resource(w, seat, tile, w.units.load[row].resource(), region) {
        Some(found) => {
            let site = w.map.index(found);
            send_to_gather(w, row, site);
        }
        None => become_idle(w, row),
    }
}

/// The nearest tile to gather from that the seat has explored and `region` borders on.
pub(super) fn nearest_resource(
    w: &World,
    seat: u8,
    from: Tile,
    wanted: Option<Resource>,
    region: u32,
) -> Option<Tile> {
    let centre = from.centre();
    let edge = w.map.size() - 1;
    let low = |at: u16| at.saturating_sub(RULES.search_tiles);
    let high = |at: u16| at.saturating_add(RULES.search_tiles).min(edge);
    (low(from.y)..=high(from.y))
        .flat_map(|y| (low(from.x)..=high(from.x)).map(move |x| Tile::new(x, y)))
        .filter(|tile| {
            let found = w.map.resource(*tile);
            found.is_some() && (wanted.is_none() || wanted == found)
        })
        .filter(|tile| w.fog.explored(usize::from(seat), *tile))
        .filter(|tile| w.map.touches_region(*tile, 1, region))
        .min_by_key(|tile| (tile.centre().distance_squared(centre), tile.y, tile.x))
}

fn nearest_hall(w: &World, row: usize) -> Option<usize> {
    let at = w.units.at(row);
    let region = w.map.region(w.units.tile(row));
    (0..w.buildings.len())
        .filter(|b| w.buildings.seat[*b] == w.units.seat[row] && w.buildings.hp[*b] > 0)
        .filter(|b| w.buildings.kind[*b] == Kind::TownHall && w.buildings.is_complete(*b))
        .filter(|b| {
            w.map.touches_region(
                w.map.tile_of(w.buildings.tile[*b]),
                Kind::TownHall.stats().size,
                region,
            )
        })
        .min_by_key(|b| w.building_centre(*b).distance_squared(at))
}

/// Makes the ground of a foundation solid, after moving all units off it.
fn clear_site(w: &mut World, tile: Tile, size: u16) {
    w.map.set_solid(tile, size, true);
    for row in 0..w.units.len() {
        let stands = w.units.tile(row);
        if !w.units.is_on_map(row) || !w.map.is_blocked(stands) {
            continue;
        }
        // Walls keep units on their side: the regions still predate the solid site. Where a unit's region is all below
        // the site, the unit stays there.
        if let Some(exit) = w.map.nearest_in_region(stands, w.map.region(stands)) {
            w.units.place(row, exit.centre());
        }
    }
}

pub(super) fn become_idle(w: &mut World, row: usize) {
    w.units.command(row, Order::Idle);
    let here = w.map.index(w.units.tile(row));
    w.units.goal[row] = here;
    w.units.post[row] = here;
}
