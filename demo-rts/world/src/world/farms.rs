//! Farms: one worker each, a little gold, for ever.

use super::{
    Effect, Id, Kind, Resource, World,
    economy::{approach, arrive, is_beside, look_for_work, send_to_building},
    tables::RULES,
    units::Order,
};

/// Orders a worker to a farm, or to the nearest free one if another worker has taken it. `false` when no farm
/// is free: the worker keeps its order.
pub(super) fn send_to_farm(w: &mut World, row: usize, farm: usize) -> bool {
    let farm = if is_free(w, farm, row) {
        Some(farm)
    } else {
        nearest_free(w, row, farm)
    };
    let Some(farm) = farm else {
        return false;
    };
    send_to_building(w, row, Order::Farm, farm);
    w.buildings.farmer[farm] = w.units.id[row];
    true
}

/// A tick of a worker at a farm.
pub(super) fn farm(w: &mut World, row: usize, effects: &mut Vec<Effect>) {
    let farm = w.buildings.row(Id(w.units.target[row]));
    let Some(farm) = farm.filter(|farm| is_free(w, *farm, row)) else {
        look_for_work(w, row);
        return;
    };
    let tile = w.map.tile_of(w.buildings.tile[farm]);
    if !is_beside(w, row, tile, w.buildings.kind[farm].stats().size) {
        w.units.work[row] = 0;
        approach(w, row, w.buildings.tile[farm]);
        return;
    }
    arrive(w, row);
    w.buildings.farmer[farm] = w.units.id[row];
    w.units.work[row] += 1;
    if w.units.work[row] <= w.able(row).farm_ticks {
        return;
    }
    w.units.work[row] = 1;
    let seat = usize::from(w.units.seat[row]);
    w.seats.earn(seat, u32::from(RULES.farm_gold), 0);
    let gathered = &mut w.seats.gathered[seat];
    *gathered = gathered.saturating_add(u32::from(RULES.farm_gold));
    effects.push(Effect::Gathered {
        seat: w.seats.seat(w.units.seat[row]),
        resource: Resource::Gold,
        amount: RULES.farm_gold,
    });
}

/// Whether the unit may work there: a finished farm of its own seat without another worker.
fn is_free(w: &World, farm: usize, row: usize) -> bool {
    let good = w.buildings.kind[farm] == Kind::Farm
        && w.buildings.hp[farm] > 0
        && w.buildings.is_complete(farm)
        && w.buildings.seat[farm] == w.units.seat[row];
    good && farmer(w, farm).is_none_or(|other| other == row)
}

/// The worker of a farm. A worker that died or was sent elsewhere has given it up.
pub(super) fn farmer(w: &World, farm: usize) -> Option<usize> {
    let row = w.units.row(Id(w.buildings.farmer[farm]))?;
    let works = w.units.order[row] == Order::Farm && w.units.target[row] == w.buildings.id[farm];
    works.then_some(row)
}

fn nearest_free(w: &World, row: usize, near: usize) -> Option<usize> {
    let centre = w.building_centre(near);
    (0..w.buildings.len())
        .filter(|farm| is_free(w, *farm, row))
        .min_by_key(|farm| w.building_centre(*farm).distance_squared(centre))
}
