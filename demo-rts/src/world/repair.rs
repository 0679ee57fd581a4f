//! Mending damaged buildings, for a share of their price.

use super::{
    Id, World,
    economy::{SEARCH, approach, arrive, become_idle, is_beside},
    units::Order,
};

/// Orders a worker to mend a building.
pub(super) fn send_to_repair(w: &mut World, row: usize, building: usize) {
    w.units.command(row, Order::Repair);
    w.units.target[row] = w.buildings.id[building];
    w.units.goal[row] = w.buildings.tile[building];
    w.units.post[row] = w.buildings.tile[building];
}

/// A tick of a worker that mends.
pub(super) fn repair(w: &mut World, row: usize) {
    let building = w.buildings.row(Id(w.units.target[row]));
    let Some(building) = building.filter(|b| is_damaged(w, *b, w.units.seat[row])) else {
        match nearest_damaged(w, row) {
            Some(next) => send_to_repair(w, row, next),
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
    if !strikes.is_multiple_of(REPAIR_TICKS) {
        return;
    }
    let hp = w.buildings.hp[building];
    let mended = (stats.hit_points / stats.build_ticks).max(1);
    let after = hp.saturating_add(mended).min(stats.hit_points);
    // Of every point the same share of half the price, so that many small repairs cost as much as one.
    let paid = |price: u32, hp: u16| {
        let share = u64::from(price) * u64::from(hp) / (2 * u64::from(stats.hit_points));
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
        .filter(|(steps, _)| *steps <= SEARCH)
        .min()
        .map(|(_, b)| b)
}

/// Ticks between two strokes of the hammer.
const REPAIR_TICKS: u32 = 4;
