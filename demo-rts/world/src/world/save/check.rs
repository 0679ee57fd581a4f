//! Whether a snapshot can be true: a world that plays on from it must not panic, nor wait for ever.

use crate::world::{
    Id, World,
    bands::BANDS,
    goals::{MOST_STEPS, most_goals},
    research::Job,
    setup::MOST_SEATS,
    tables::{CARRY, QUEUE_LENGTH, UPGRADES, Upgrade},
    tile::Tile,
    units::{Load, Order, Way},
    victory::Verdict,
};
use sim::{Grid, LoadError, Num, Reader, Vec2};

pub(super) fn check_seats(w: &World, from: &Reader<'_>) -> Result<(), LoadError> {
    let seats = &w.seats;
    from.require(seats.len() <= MOST_SEATS, "seats")?;
    from.require(seats.seat.is_sorted_by(|a, b| a < b), "seats")?;
    from.require(seats.defeated.iter().all(|flag| *flag <= 1), "defeated")?;
    from.require(in_map(w, &seats.home), "home")?;
    let known = |levels: &[u8; UPGRADES]| {
        let mut pairs = Upgrade::ALL.into_iter().zip(levels);
        pairs.all(|(upgrade, level)| *level <= upgrade.stats().levels)
    };
    from.require(seats.upgrades.iter().all(known), "upgrades")?;
    let won = w.ending.verdict == Verdict::Won;
    let winner = usize::from(w.ending.winner);
    from.require(
        if won {
            winner < seats.len()
        } else {
            winner == 0
        },
        "winner",
    )
}

/// Checks the buildings and puts them on the map.
pub(super) fn place_buildings(w: &mut World, from: &Reader<'_>) -> Result<(), LoadError> {
    from.require(ids_are_good(w, &w.buildings.id), "building ids")?;
    from.require(in_map(w, &w.buildings.rally), "rally")?;
    from.require(in_map(w, &w.buildings.tile), "building tile")?;
    for row in 0..w.buildings.len() {
        let b = &w.buildings;
        let stats = b.kind[row].stats();
        let queued = usize::from(b.queued[row]);
        from.require(b.kind[row].is_building(), "building kind")?;
        from.require(usize::from(b.seat[row]) < w.seats.len(), "building seat")?;
        let most = w.able_building(row).hit_points;
        from.require((1..=most).contains(&b.hp[row]), "building hit points")?;
        from.require(b.progress[row] <= stats.build_ticks, "progress")?;
        from.require(b.cooldown[row] <= stats.cooldown, "building cooldown")?;
        from.require(queued <= QUEUE_LENGTH, "queue")?;
        let (line, rest) = b.queue[row].split_at(queued);
        let known =
            |number: &u8| Job::from_number(*number).is_some_and(|job| job.is_done_at(b.kind[row]));
        from.require(
            line.iter().all(known) && rest.iter().all(|n| *n == 0),
            "queue",
        )?;
        let most = b.queue(row).next().map_or(0, Job::ticks);
        from.require(b.trained[row] <= most, "training")?;
        let inside = u16::from(b.inside[row]);
        from.require(inside <= stats.shelters, "building inside")?;
        from.require(inside == 0 || b.is_complete(row), "building inside")?;
        let tile: Tile = w.map.tile_of(b.tile[row]);
        from.require(w.map.has_room(tile, stats.size), "building ground")?;
        let id = Id(b.id[row]);
        let solid = b.is_solid(row);
        w.map.occupy(tile, stats.size, id);
        if solid {
            w.map.set_solid(tile, stats.size, true);
        }
    }
    Ok(())
}

pub(super) fn check_units(w: &World, from: &Reader<'_>) -> Result<(), LoadError> {
    let units = &w.units;
    from.require(ids_are_good(w, &units.id), "unit ids")?;
    let shared = units
        .id
        .iter()
        .any(|id| w.buildings.id.binary_search(id).is_ok());
    from.require(!shared, "an id used twice")?;
    from.require(crowding(w) <= MOST_CROWDING, "units upon each other")?;
    for tiles in [&units.goal, &units.post, &units.aim, &units.site] {
        from.require(in_map(w, tiles), "a unit's tile")?;
    }
    from.require(units.band.iter().all(|band| *band < BANDS), "band")?;
    for row in 0..units.len() {
        let stats = units.stats(row);
        from.require(!units.kind[row].is_building(), "unit kind")?;
        from.require(usize::from(units.seat[row]) < w.seats.len(), "unit seat")?;
        from.require(units.hp[row] <= stats.hit_points, "unit hit points")?;
        let at = units.at(row);
        from.require(on_map(w, at.x) && on_map(w, at.y), "unit ground")?;
        // Something may have been built where a unit died, or where a unit had no other place to go.
        let built_upon = w.map.occupant(units.tile(row)).is_some();
        from.require(
            !units.is_on_map(row) || !w.map.is_blocked_at(at) || built_upon,
            "unit ground",
        )?;
        from.require(units.cooldown[row] <= stats.cooldown, "cooldown")?;
        let course = usize::from(units.course[row]);
        let leads = w.goals.size.get(course).is_some_and(|size| *size > 0);
        from.require(units.way[row] != Way::Course || leads, "course")?;
        let load = units.load[row] != Load::Nothing;
        from.require(
            units.amount[row] <= CARRY && (load || units.amount[row] == 0),
            "load",
        )?;
        let works = matches!(
            units.order[row],
            Order::Gather | Order::Return | Order::Construct | Order::Farm | Order::Repair
        );
        from.require(!works || stats.gather_ticks > 0, "order")?;
        let throws = units.order[row] == Order::AttackGround;
        from.require(!throws || stats.splash > 0, "order")?;
        let longest = stats.gather_ticks.max(stats.farm_ticks);
        from.require(units.work[row] <= longest, "work")?;
    }
    Ok(())
}

/// No seat researches a known level, or one upgrade twice.
pub(super) fn check_research(w: &World, from: &Reader<'_>) -> Result<(), LoadError> {
    let mut levels = w.seats.upgrades.clone();
    for row in 0..w.buildings.len() {
        for job in w.buildings.queue(row) {
            if let Job::Research(upgrade) = job {
                let known = w.seats.upgrades[usize::from(w.buildings.seat[row])][upgrade as usize];
                let level = &mut levels[usize::from(w.buildings.seat[row])][upgrade as usize];
                *level += 1;
                from.require(*level == known + 1, "research")?;
                from.require(*level <= upgrade.stats().levels, "research")?;
            }
        }
    }
    Ok(())
}

/// A unit inside stands in the middle of a building of its own seat, and every guest is counted.
pub(super) fn check_garrisons(w: &World, from: &Reader<'_>) -> Result<(), LoadError> {
    let units = &w.units;
    let mut inside = vec![0_u32; w.buildings.len()];
    for row in (0..units.len()).filter(|row| units.is_inside(*row) && units.is_alive(*row)) {
        let building = w.buildings.row(Id(units.target[row]));
        let own = building.filter(|b| w.buildings.seat[*b] == units.seat[row]);
        from.require(
            own.is_some_and(|b| w.building_centre(b) == units.at(row)),
            "garrison",
        )?;
        from.require(
            units.way[row] == Way::None && units.stats(row).splash == 0,
            "garrison",
        )?;
        if let Some(building) = own {
            inside[building] += 1;
        }
    }
    let counted = w.buildings.inside.iter().map(|count| u32::from(*count));
    from.require(counted.eq(inside), "garrison")
}

pub(super) fn check_projectiles(w: &World, from: &Reader<'_>) -> Result<(), LoadError> {
    let p = &w.projectiles;
    for places in [&p.x, &p.y, &p.to_x, &p.to_y] {
        let all_on_map = places.iter().all(|at| on_map(w, *at));
        from.require(all_on_map, "projectile place")?;
    }
    for row in 0..p.len() {
        from.require(p.kind[row].stats().arrow_speed > 0, "projectile kind")?;
        from.require(usize::from(p.seat[row]) < w.seats.len(), "projectile seat")?;
    }
    Ok(())
}

pub(super) fn check_goals(w: &World, from: &Reader<'_>) -> Result<(), LoadError> {
    let goals = &w.goals;
    from.require(goals.len() <= most_goals(w), "goals")?;
    from.require(in_map(w, &goals.tile), "goal")?;
    from.require(goals.size.iter().all(|size| *size <= 16), "goal")?;
    let seats = w.seats.len();
    from.require(
        goals.seat.iter().all(|seat| usize::from(*seat) < seats),
        "goal",
    )?;
    let mut places: Vec<_> = goals.tile.iter().zip(&goals.size).collect();
    places.retain(|(_, size)| **size > 0);
    let used = places.len();
    places.sort_unstable();
    places.dedup();
    from.require(places.len() == used, "a goal twice")?;
    from.require(goals.pursuit.iter().all(|flag| *flag <= 1), "goal")?;
    let steps: u64 = goals.steps.iter().map(|steps| u64::from(*steps)).sum();
    from.require(steps <= MOST_STEPS, "steps of searches")
}

/// Whether points of the map have such a coordinate.
fn on_map(w: &World, at: Num) -> bool {
    at >= 0 && at < w.map.size()
}

fn in_map(w: &World, tiles: &[u32]) -> bool {
    tiles.iter().all(|tile| (*tile as usize) < w.map.tiles())
}

/// How many pairs of units are close enough to look at each other, at about a ninth: each block of 8 × 8
/// tiles counts with the square of those in it.
pub(in crate::world) fn crowding(w: &World) -> u64 {
    let high = Tile::new(w.map.size(), w.map.size()).corner();
    let mut blocks = Grid::new(Vec2::ZERO, high, Num::from_num(8));
    let rows = (0..w.units.len()).filter(|row| w.units.is_on_map(*row));
    let cells: Vec<u32> = rows.map(|row| blocks.cell_of(w.units.at(row))).collect();
    blocks.fill(cells);
    blocks.pairs()
}

/// Ascending, used up by `next_id`, and far from the end of all ids.
fn ids_are_good(w: &World, ids: &[u32]) -> bool {
    let last = ids.last().copied().unwrap_or_default();
    ids.is_sorted_by(|a, b| a < b)
        && !ids.contains(&0)
        && last < w.next_id
        && w.next_id <= u32::MAX / 2
}

/// Twelve times what 20,000 units come to that all seats order to one tile. At this a tick takes a second or so;
/// without a limit 100,000 on one point would take minutes.
pub(in crate::world) const MOST_CROWDING: u64 = 1 << 30;
