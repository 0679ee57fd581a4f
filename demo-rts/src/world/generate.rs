//! Draws the map: equal for every start, all starts connected.

use super::{
    map::{LARGEST_PLAYED, Map, SMALLEST, Terrain},
    space::Tile,
    tables::{MINE_GOLD, TREE_WOOD},
};

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
        0..=2 => 64,
        3..=4 => 96,
        _ => 128,
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

/// Draws the map of `seed` for so many seats (1 to 8). `turn` says which start is the first seat's.
pub(super) fn draw(seed: u64, seats: usize, size: u16, turn: u64) -> Drawn {
    let size = size.clamp(least_size(seats), LARGEST_PLAYED);
    let symmetry = Symmetry::for_seats(seats, size);
    let mut brush = Brush {
        size,
        symmetry,
        terrain: noise_terrain(seed, symmetry),
        dice: Dice(mix(seed ^ 0x5eed)),
    };
    let hall = brush.place_start();
    let map = brush.finish(hall);
    let starts = starts_in_circle(symmetry, hall, &map);
    let first = (turn % starts.len() as u64) as usize;
    let starts = (0..seats)
        .map(|seat| starts[(first + seat * starts.len() / seats.max(1)) % starts.len()].clone())
        .collect();
    Drawn { map, starts }
}

/// The ways in which a square map can be laid over itself.
#[derive(Clone, Copy, Debug)]
struct Symmetry {
    size: u16,
    copies: usize,
}

impl Symmetry {
    fn for_seats(seats: usize, size: u16) -> Self {
        let copies = match seats {
            0..=2 => 2,
            3..=4 => 4,
            _ => 8,
        };
        Self { size, copies }
    }

    /// Where `tile` comes to lie in one of the copies; copy 0 is the tile itself.
    fn image(self, tile: Tile, copy: usize) -> Tile {
        let far = self.size - 1;
        let (x, y) = (tile.x, tile.y);
        let (x, y) = match (self.copies, copy) {
            (_, 0) => (x, y),
            (2, _) | (_, 1) => (far - x, far - y),
            (_, 2) => (far - y, x),
            (_, 3) => (y, far - x),
            (_, 4) => (y, x),
            (_, 5) => (far - y, far - x),
            (_, 6) => (x, far - y),
            _ => (far - x, y),
        };
        Tile::new(x, y)
    }

    fn images(self, tile: Tile) -> impl Iterator<Item = Tile> {
        (0..self.copies).map(move |copy| self.image(tile, copy))
    }
}

struct Brush {
    size: u16,
    symmetry: Symmetry,
    terrain: Vec<Terrain>,
    dice: Dice,
}

impl Brush {
    /// Clears the starts and lays out their mines and woods. The middle of the first town hall.
    fn place_start(&mut self) -> Tile {
        let size = self.size;
        let margin = 12;
        let hall = match self.symmetry.copies {
            8 => Tile::new(
                margin + self.dice.below(3),
                size / 3 - 2 + self.dice.below(5),
            ),
            _ => Tile::new(
                margin + self.dice.below(4),
                margin + self.dice.below(size - 2 * margin),
            ),
        };
        self.disc(hall, 9, Terrain::Ground);
        let first = usize::from(self.dice.below(8));
        let mut ways = (0..8)
            .map(|k| ROUND[(first + k * 3) % 8])
            .filter(|way| self.within(hall, *way, 9))
            .collect::<Vec<_>>();
        ways.truncate(3);
        for way in ways.iter().skip(1) {
            let wood = shifted(hall, *way, 8);
            self.disc(wood, 2, Terrain::Forest);
            self.disc(shifted(wood, (way.1, -way.0), 2), 2, Terrain::Forest);
        }
        self.disc(hall, 4, Terrain::Ground);
        if let Some(way) = ways.first() {
            self.mine(shifted(hall, *way, 6));
        }
        let second = ROUND
            .iter()
            .cycle()
            .skip(first + 5)
            .take(8)
            .find(|way| self.within(hall, **way, 21))
            .copied();
        if let Some(way) = second {
            let place = shifted(hall, way, 18);
            self.disc(place, 4, Terrain::Ground);
            self.mine(place);
            self.carve(hall, place);
        }
        let middle = size / 2;
        let heart = Tile::new(middle - 7, middle - 3);
        self.disc(heart, 3, Terrain::Ground);
        self.mine(heart);
        hall
    }

    /// Opens a way to the middle where there is none, and fills in the amounts.
    fn finish(mut self, hall: Tile) -> Map {
        let middle = Tile::new(self.size / 2, self.size / 2);
        self.disc(middle, 3, Terrain::Ground);
        let map = Map::new(self.size, self.terrain.clone(), Vec::new());
        let connected = self
            .symmetry
            .images(hall)
            .all(|other| map.region(other) == map.region(middle));
        if !connected {
            self.carve(hall, middle);
        }
        let amount = self
            .terrain
            .iter()
            .map(|terrain| match terrain {
                Terrain::Forest => TREE_WOOD,
                Terrain::Gold => MINE_GOLD,
                _ => 0,
            })
            .collect();
        Map::new(self.size, self.terrain, amount)
    }

    /// Whether `way` times `length` from `from` stays well on the map.
    fn within(&self, from: Tile, way: (i32, i32), length: i32) -> bool {
        let inside = |at: u16, way: i32| {
            (3..i32::from(self.size) - 3).contains(&(i32::from(at) + reach(way, length)))
        };
        inside(from.x, way.0) && inside(from.y, way.1)
    }

    fn set(&mut self, tile: Tile, terrain: Terrain) {
        for copy in 0..self.symmetry.copies {
            let image = self.symmetry.image(tile, copy);
            let at = usize::from(image.y) * usize::from(self.size) + usize::from(image.x);
            self.terrain[at] = terrain;
        }
    }

    fn disc(&mut self, middle: Tile, radius: i32, terrain: Terrain) {
        for dy in -radius..=radius {
            for dx in -radius..=radius {
                let x = i32::from(middle.x) + dx;
                let y = i32::from(middle.y) + dy;
                let on_map = (0..i32::from(self.size)).contains(&x)
                    && (0..i32::from(self.size)).contains(&y);
                if on_map && dx * dx + dy * dy <= radius * radius + 1 {
                    self.set(Tile::new(x as u16, y as u16), terrain);
                }
            }
        }
    }

    fn mine(&mut self, corner: Tile) {
        for dy in 0..2 {
            for dx in 0..2 {
                self.set(Tile::new(corner.x + dx, corner.y + dy), Terrain::Gold);
            }
        }
    }

    /// A road three tiles wide. Mines stay.
    fn carve(&mut self, from: Tile, to: Tile) {
        let (dx, dy) = (
            i32::from(to.x) - i32::from(from.x),
            i32::from(to.y) - i32::from(from.y),
        );
        let length = dx.abs().max(dy.abs()).max(1);
        for step in 0..=length {
            let x = i32::from(from.x) + dx * step / length;
            let y = i32::from(from.y) + dy * step / length;
            for (ox, oy) in [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1)] {
                let (x, y) = (x + ox, y + oy);
                let edge = 0..i32::from(self.size);
                if !edge.contains(&x) || !edge.contains(&y) {
                    continue;
                }
                let tile = Tile::new(x as u16, y as u16);
                let at = usize::from(tile.y) * usize::from(self.size) + usize::from(tile.x);
                if self.terrain[at] != Terrain::Gold {
                    self.set(tile, Terrain::Ground);
                }
            }
        }
    }
}

/// Forest, rock and water by symmetric noise, each with its share of the map.
fn noise_terrain(seed: u64, symmetry: Symmetry) -> Vec<Terrain> {
    let edge = usize::from(symmetry.size);
    let mut terrain = vec![Terrain::Ground; edge * edge];
    let layers = [
        (Terrain::Forest, 7, 20),
        (Terrain::Rock, 9, 5),
        (Terrain::Water, 13, 8),
    ];
    for (number, (kind, cell, percent)) in layers.into_iter().enumerate() {
        let layer = mix(seed.wrapping_add(number as u64 + 1));
        let height: Vec<u32> = (0..edge * edge)
            .map(|at| {
                let tile = Tile::new((at % edge) as u16, (at / edge) as u16);
                symmetry
                    .images(tile)
                    .map(|image| noise(layer, image, cell) + noise(mix(layer), image, 3) / 4)
                    .sum()
            })
            .collect();
        let mut ranked = height.clone();
        ranked.sort_unstable();
        let bar = ranked[ranked.len() * (100 - percent) / 100];
        for (tile, height) in terrain.iter_mut().zip(height) {
            if height > bar {
                *tile = kind;
            }
        }
    }
    terrain
}

/// Smooth noise, 0..65,536, that changes over `cell` tiles.
fn noise(layer: u64, tile: Tile, cell: u16) -> u32 {
    let corner = |dx: u16, dy: u16| {
        let at = u64::from(tile.x / cell + dx) << 32 | u64::from(tile.y / cell + dy);
        (mix(layer ^ mix(at)) >> 48) as u32
    };
    let (fx, fy) = (u32::from(tile.x % cell), u32::from(tile.y % cell));
    let cell = u32::from(cell);
    let blend = |a: u32, b: u32, f: u32| (a * (cell - f) + b * f) / cell;
    blend(
        blend(corner(0, 0), corner(1, 0), fx),
        blend(corner(0, 1), corner(1, 1), fx),
        fy,
    )
}

/// All starts, going once around the middle.
fn starts_in_circle(symmetry: Symmetry, hall: Tile, map: &Map) -> Vec<StartPlace> {
    let yard: Vec<Tile> = (2..=8)
        .flat_map(|far| {
            let corner = Tile::new(hall.x - far, hall.y - far);
            map.ring(Tile::new(corner.x + 1, corner.y + 1), far * 2 - 1)
                .collect::<Vec<_>>()
        })
        .filter(|tile| !map.is_blocked(*tile))
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
    starts.sort_by_key(|start| bearing(start.hall, symmetry.size));
    starts
}

/// Grows as one goes around the middle of the map.
fn bearing(tile: Tile, size: u16) -> i32 {
    let dx = 2 * i32::from(tile.x) - i32::from(size - 1);
    let dy = 2 * i32::from(tile.y) - i32::from(size - 1);
    let part = dy * 10_000 / (dx.abs() + dy.abs()).max(1);
    match (dx >= 0, dy >= 0) {
        (true, true) => part,
        (false, _) => 20_000 - part,
        (true, false) => 40_000 + part,
    }
}

fn shifted(from: Tile, way: (i32, i32), length: i32) -> Tile {
    let shift = |at: u16, way: i32| (i32::from(at) + reach(way, length)).max(0) as u16;
    Tile::new(shift(from.x, way.0), shift(from.y, way.1))
}

fn reach(way: i32, length: i32) -> i32 {
    way * length / 10
}

/// Eight ways around, ten tenths of a tile long.
const ROUND: [(i32, i32); 8] = [
    (10, 0),
    (7, 7),
    (0, 10),
    (-7, 7),
    (-10, 0),
    (-7, -7),
    (0, -10),
    (7, -7),
];

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_map_is_symmetric_and_connects_every_start() {
        for seed in 0..60 {
            for seats in 1..=8 {
                let size = usual_size(seats);
                let Drawn { map, starts } = draw(seed, seats, size, seed);
                let symmetry = Symmetry::for_seats(seats, size);
                for index in 0..map.tiles() {
                    let tile = map.tile_of(index as u32);
                    for image in symmetry.images(tile) {
                        assert_eq!(map.terrain(tile), map.terrain(image), "seed {seed}");
                        assert_eq!(map.amount(tile), map.amount(image));
                    }
                }
                assert_eq!(starts.len(), seats);
                let home = map.region(starts[0].hall);
                assert_ne!(home, 0);
                for start in &starts {
                    assert_eq!(map.region(start.hall), home, "seed {seed} seats {seats}");
                    let corner = Tile::new(start.hall.x - 1, start.hall.y - 1);
                    assert!(map.has_room(corner, 3));
                    assert!(start.units.len() >= 40);
                }
            }
        }
    }

    #[test]
    fn starts_are_apart_and_rich() {
        for seed in 0..60 {
            for seats in 2..=8 {
                let Drawn { map, starts } = draw(seed, seats, usual_size(seats), 0);
                for (number, start) in starts.iter().enumerate() {
                    for other in &starts[..number] {
                        assert!(
                            start.hall.king_steps(other.hall) >= 18,
                            "seed {seed} seats {seats}"
                        );
                    }
                    let mut near = [0_u32; 2];
                    for index in 0..map.tiles() {
                        let tile = map.tile_of(index as u32);
                        if tile.king_steps(start.hall) <= 12 {
                            match map.terrain(tile) {
                                Terrain::Gold => near[0] += 1,
                                Terrain::Forest => near[1] += 1,
                                _ => {}
                            }
                        }
                    }
                    assert!(
                        near[0] >= 4 && near[1] >= 15,
                        "seed {seed} seats {seats}: {near:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn seeds_differ_and_sizes_are_bounded() {
        let a = draw(1, 4, 96, 0).map;
        let b = draw(2, 4, 96, 0).map;
        assert_ne!(a.terrain, b.terrain);
        assert_eq!(draw(1, 2, 0, u64::MAX).map.size(), SMALLEST);
        assert_eq!(draw(1, 8, u16::MAX, 3).map.size(), LARGEST_PLAYED);
        assert_eq!(draw(7, 8, SMALLEST, 3).map.size(), least_size(8));
    }
}
