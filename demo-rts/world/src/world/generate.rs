//! Draws the map: equal for every start, all starts connected.

mod brush;
mod ground;
mod symmetry;
#[cfg(test)]
mod tests;

use super::{
    map::{LARGEST_PLAYED, Map, SMALLEST},
    tile::Tile,
};
use brush::Brush;
use serde::{Deserialize, Serialize};
use sim::{Angle, Num};
use symmetry::Symmetry;

/// What the land looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum MapKind {
    /// Open land with woods: armies come from every side.
    Plains = 0,
    /// Ridges with passes between the valleys: a pass guards the land behind it.
    Valleys = 1,
    /// Lakes with fords and land bridges between them.
    Lakes = 2,
}

impl MapKind {
    /// Every kind.
    pub const ALL: [MapKind; 3] = [MapKind::Plains, MapKind::Valleys, MapKind::Lakes];

    /// The kind's name on a command line.
    pub fn name(self) -> &'static str {
        match self {
            MapKind::Plains => "plains",
            MapKind::Valleys => "valleys",
            MapKind::Lakes => "lakes",
        }
    }

    pub(super) fn from_number(number: u8) -> Option<MapKind> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The kind that a seed draws.
    fn drawn(seed: u64) -> MapKind {
        Self::ALL[(mix(seed ^ 0x1a4d) % Self::ALL.len() as u64) as usize]
    }
}

/// A drawn map and its starts.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    pub map: Map,
    /// The starts of the seats in play, each equal to the others by symmetry.
    pub starts: Vec<StartPlace>,
}

/// Where a seat begins.
#[derive(Clone, Debug)]
pub(super) struct StartPlace {
    /// Middle of the town hall.
    pub hall: Tile,
    /// Where the first units stand, in order.
    pub units: Vec<Tile>,
}

/// The size of map that suits so many seats.
pub(super) fn usual_size(seats: usize) -> u16 {
    match seats {
        0..=2 => 96,
        3..=4 => 128,
        _ => 176,
    }
}

/// The smallest map on which so many starts lie apart.
pub(super) fn least_size(seats: usize) -> u16 {
    match seats {
        0..=2 => SMALLEST,
        3..=4 => 80,
        _ => 112,
    }
}

/// Draws the map of `seed` for so many seats (1 to 8), of this kind or of one that the seed draws. `turn`
/// says which start is the first seat's.
pub(super) fn draw(seed: u64, kind: Option<MapKind>, seats: usize, size: u16, turn: u64) -> Drawn {
    let size = size.clamp(least_size(seats), LARGEST_PLAYED);
    let symmetry = Symmetry::for_seats(seats, size);
    let kind = kind.unwrap_or_else(|| MapKind::drawn(seed));
    let terrain = ground::terrain(seed, kind, symmetry);
    let mut brush = Brush::new(symmetry, terrain, Dice(mix(seed ^ 0x5eed)));
    let hall = brush.place_start();
    let map = brush.finish(hall);
    let starts = starts_in_circle(symmetry, hall, &map);
    let first = (turn % starts.len() as u64) as usize;
    let starts = (0..seats)
        .map(|seat| starts[(first + seat * starts.len() / seats.max(1)) % starts.len()].clone())
        .collect();
    Drawn { map, starts }
}

/// All starts, going once around the middle.
fn starts_in_circle(symmetry: Symmetry, hall: Tile, map: &Map) -> Vec<StartPlace> {
    let home = map.region(hall);
    let yard: Vec<Tile> = (2..=8)
        .flat_map(|far| {
            let corner = Tile::new(hall.x - far, hall.y - far);
            map.ring(Tile::new(corner.x + 1, corner.y + 1), far * 2 - 1)
                .collect::<Vec<_>>()
        })
        .filter(|tile| map.region(*tile) == home)
        .collect();
    let mut starts: Vec<StartPlace> = (0..symmetry.copies)
        .map(|copy| StartPlace {
            hall: symmetry.image(hall, copy),
            units: yard
                .iter()
                .map(|tile| symmetry.image(*tile, copy))
                .collect(),
        })
        .collect();
    starts.sort_by_key(|start| symmetry.bearing(start.hall));
    starts
}

/// A way of this length, so many eighths of a turn from the right, in whole numbers.
pub(super) fn eighth(turn: usize, length: u16) -> (i32, i32) {
    let way = Angle::degrees(45 * (turn % 8) as i32).direction() * Num::from_num(length);
    (way.x.round().to_num(), way.y.round().to_num())
}

/// Draws of one seed, used up while a map is drawn; never part of a world.
struct Dice(u64);

impl Dice {
    /// Below `bound`, which is at least 1.
    fn below(&mut self, bound: u16) -> u16 {
        self.0 = mix(self.0.wrapping_add(1));
        ((self.0 >> 32) % u64::from(bound)) as u16
    }
}

/// Scrambles 64 bits: a multiplicative hash with two folds.
pub(super) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let value = (value ^ (value >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    value ^ (value >> 32)
}
