//! Units inside buildings. They keep their rows and stand in the middle of the building. No other unit meets
//! them there until they leave or the building falls.

use super::{
    Id, Refusal, World,
    economy::{approach, become_idle, is_beside},
    tile::Tile,
    units::Order,
};

/// A tick of a unit that wants to get in.
pub(super) fn enter(w: &mut World, row: usize) {
    let building = w.buildings.row(Id(w.units.target[row]));
    let seat = w.units.seat[row];
    let Some(building) = building.filter(|b| w.buildings.seat[*b] == seat && has_room(w, *b))
    else {
        become_idle(w, row);
        return;
    };
    let tile = w.map.tile_of(w.buildings.tile[building]);
    if !is_beside(w, row, tile, w.buildings.kind[building].stats().size) {
        approach(w, row, w.buildings.tile[building]);
        return;
    }
    let id = w.buildings.id[building];
    w.units.command(row, Order::Inside);
    w.units.target[row] = id;
    let middle = w.building_centre(building);
    w.units.place(row, middle);
    w.buildings.inside[building] += 1;
}

fn has_room(w: &World, building: usize) -> bool {
    let shelters = w.buildings.kind[building].stats().shelters;
    w.buildings.is_complete(building) && u16::from(w.buildings.inside[building]) < shelters
}

/// Rows of the units inside a building, ascending.
pub(super) fn inside(w: &World, building: usize) -> Vec<usize> {
    if w.buildings.inside[building] == 0 {
        return Vec::new();
    }
    let id = w.buildings.id[building];
    (0..w.units.len())
        .filter(|row| w.units.is_inside(*row) && w.units.target[*row] == id)
        .filter(|row| w.units.is_alive(*row))
        .collect()
}

/// Sends all units out, each by the free side nearest to the rally point.
///
/// # Errors
/// No unit is inside, or every side is blocked.
pub(super) fn leave(w: &mut World, building: usize) -> Result<(), Refusal> {
    let guests = inside(w, building);
    if guests.is_empty() {
        return Err(Refusal::NoUnit);
    }
    let tile = w.map.tile_of(w.buildings.tile[building]);
    let size = w.buildings.kind[building].stats().size;
    let rally = w.map.tile_of(w.buildings.rally[building]).centre();
    let mut doors: Vec<Tile> = w
        .map
        .ring(tile, size)
        .filter(|door| !w.map.is_blocked(*door))
        .collect();
    doors.sort_by_key(|door| door.centre().distance_squared(rally));
    if doors.is_empty() {
        return Err(Refusal::NoRoom);
    }
    put_out(w, &guests, &doors);
    w.buildings.inside[building] = 0;
    Ok(())
}

/// Puts the units of a fallen building on the ground where it stood. Call it when that ground is open.
pub(super) fn fall(w: &mut World, building: usize) {
    let guests = inside(w, building);
    let tile = w.map.tile_of(w.buildings.tile[building]);
    let size = w.buildings.kind[building].stats().size;
    let ground: Vec<Tile> = w.map.footprint(tile, size).collect();
    put_out(w, &guests, &ground);
}

fn put_out(w: &mut World, guests: &[usize], places: &[Tile]) {
    for (guest, place) in guests.iter().zip(places.iter().cycle()) {
        w.units.place(*guest, place.centre());
        become_idle(w, *guest);
    }
}
