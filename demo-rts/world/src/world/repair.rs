//! Mending damaged buildings, for a share of their price.

use super::{
    Id, World,
    economy::{approach, arrive, become_idle, is_beside, send_to_building},
    tables::RULES,
    units::Order,
};

/// A tick of a worker that mends.
pub(super) fn repair(w: &mut World, row: usize) {
    let building = w.buildings.row(Id(w.units.target[row]));
    let Some(building) = building.filter(|b| is_damaged(w, *b, w.units.seat[row])) else {
        match nearest_damaged(w, row) {
            Some(next) => send_to_building(w, row, Order::Repair, next),
            None => become_idle(w, row),
        }
        return;
    };
    let stats = *w.able_building(building);
    let tile = w.map.tile_of(w.buildings.tile[building]);
    if !is_beside(w, row, tile, stats.size) {
        approach(w, row, w.buildings.tile[building]);
        return;
    }
    arrive(w, row);
    w.units.work[row] = 1;
    let strikes = w.tick.wrapping_add(w.units.id[row]);
    if !strikes.is_multiple_of(RULES.repair_ticks) {
        return;
    }
    let hp = w.buildings.hp[building];
    let mended = (stats.hit_points / stats.build_ticks).max(1);
    let after = hp.saturating_add(mended).min(stats.hit_points);
    // Every point has the same share, so that many small repairs cost as much as one.
    let paid = |price: u32, hp: u16| {
        let whole = u64::from(price) * u64::from(RULES.repair_percent);
        let share = whole * u64::from(hp) / (100 * u64::from(stats.hit_points));
        share as u32
    };
    let gold = paid(stats.gold, after) - paid(stats.gold, hp);
    let wood = paid(stats.wood, after) - paid(stats.wood, hp);
    let seat = usize::from(w.units.seat[row]);
    if w.seats.gold[seat] < gold || w.seats.wood[seat] < wood {
        become_idle(w, row);
        return;
    }
    w.seats.pay(seat, gold, wood);
    w.buildings.hp[building] = after;
}

/// Whether it is a standing, finished building of this seat that misses hit points.
pub(super) fn is_damaged(w: &World, building: usize, seat: u8) -> bool {
    let hp = w.buildings.hp[building];
    w.buildings.seat[building] == seat
        && w.buildings.is_complete(building)
        && hp > 0
        && hp < w.able_building(building).hit_points
}

fn nearest_damaged(w: &World, row: usize) -> Option<usize> {
    let tile = w.units.tile(row);
    (0..w.buildings.len())
        .filter(|b| is_damaged(w, *b, w.units.seat[row]))
        .map(|b| (w.map.tile_of(w.buildings.tile[b]).king_steps(tile), b))
        .filter(|(steps, _)| *steps <= RULES.search_tiles)
        .min()
        .map(|(_, b)| b)
}
