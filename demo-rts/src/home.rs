//! Where a seat's base is on the map.

use crate::world::{Id, Kind, Tile, World};
use lockstep::Seat;

/// The view's first centre for a seat: its town hall, else its first unit, else the middle of the map.
pub fn look_at_first(seat: Seat, world: &World) -> Tile {
    let middle = Tile::new(world.map().size() / 2, world.map().size() / 2);
    let hall = hall_of(seat, world).map(|(_, tile)| tile);
    hall.or_else(|| first_unit_of(seat, world))
        .unwrap_or(middle)
}

/// A seat's first town hall, and its middle.
pub fn hall_of(seat: Seat, world: &World) -> Option<(Id, Tile)> {
    let hall = world
        .buildings()
        .find(|building| building.seat == seat && building.kind == Kind::TownHall)?;
    Some((hall.id, Tile::new(hall.tile.x + 1, hall.tile.y + 1)))
}

/// The tile of a seat's first unit.
pub fn first_unit_of(seat: Seat, world: &World) -> Option<Tile> {
    let unit = world.units().find(|unit| unit.seat == seat)?;
    Some(unit.tile)
}
