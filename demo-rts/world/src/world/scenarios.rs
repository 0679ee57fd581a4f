//! Armies on ground made for them: to see many units at once, and to measure them.

use super::{
    Kind, Map, Terrain, Tile, World,
    generate::{eighth, mix},
    setup::Density,
    units::Order,
};
use sim::{Num, Vec2};

/// A map and the armies on it, before they are part of a world.
pub(super) struct Stage {
    pub map: Map,
    groups: Vec<Group>,
}

/// Soldiers of one seat that are sent off together.
struct Group {
    seat: u8,
    order: Order,
    kinds: &'static [Kind],
    places: Vec<Vec2>,
    /// How far each unit goes, in tiles.
    way: (i32, i32),
    /// The middle of where they stand.
    middle: Tile,
}

/// `units` of each seat in a circle around the middle, on their way there.
pub(super) fn archers(seed: u64, seats: usize, units: u16) -> Stage {
    let seats = seats.max(1);
    let edge = u64::from(units).isqrt() as i32 + 1;
    let size = (edge * 6).clamp(96, 512) as u16;
    let map = Map::new(size, rocks(seed, size, 16), Vec::new());
    let middle = i32::from(size) / 2;
    let reach = middle - edge * 3 / 4 - 4;
    let groups = (0..seats).map(|seat| {
        let (x, y) = eighth(seat * 8 / seats, 64);
        let centre = (middle + x * reach / 64, middle + y * reach / 64);
        Group {
            seat: seat as u8,
            order: Order::AttackMove,
            kinds: &[Kind::Archer],
            places: block(&map, centre, edge, usize::from(units)),
            way: (middle - centre.0, middle - centre.1),
            middle: tile(&map, centre),
        }
    });
    let groups = groups.collect();
    Stage { map, groups }
}

/// `units` in all, in companies of a hundred, from the left edge to the right through walls with gaps.
pub(super) fn march(seats: usize, units: u32) -> Stage {
    let companies = (units as usize).div_ceil(COMPANY).max(1);
    let lines = companies.isqrt().max(1) as i32;
    let columns = companies.div_ceil(lines as usize) as i32;
    let size = (columns * 12 * 3 + 40).max(lines * 12 + 8).clamp(96, 1_024) as u16;
    let map = Map::new(size, walls(size), Vec::new());
    let top = (i32::from(size) - lines * 12) / 2;
    let groups = (0..companies).map(|company| {
        let (line, column) = (company as i32 % lines, company as i32 / lines);
        let centre = (8 + column * 12, top + 6 + line * 12);
        let left = units as usize - company * COMPANY;
        Group {
            seat: (company % seats.max(1)) as u8,
            order: Order::Move,
            kinds: &[Kind::Swordsman, Kind::Archer],
            places: block(&map, centre, 10, left.min(COMPANY)),
            way: (i32::from(size) - columns * 12 - 8, 0),
            middle: tile(&map, centre),
        }
    });
    let groups = groups.collect();
    Stage { map, groups }
}

/// `units` in all on ground of such a size that they stand as thick as asked, in squares of one seat
/// each. Every other column of squares goes right, the others left: fights break out along the edges.
pub(super) fn swarm(seed: u64, seats: usize, units: u32, density: Density) -> Stage {
    let seats = seats.max(1);
    let size = (u64::from(units) * density.tiles())
        .isqrt()
        .clamp(48, 3_600) as u16;
    let map = Map::new(size, rocks(seed, size, 24), Vec::new());
    let across = u64::from(units / 1_000).isqrt().clamp(2, 10) as i32;
    let side = i32::from(size) / across;
    let squares = (across * across) as u32;
    let groups = (0..squares).map(|square| {
        let (x, y) = (square as i32 % across, square as i32 / across);
        let count = units / squares + u32::from(square < units % squares);
        let centre = (x * side + side / 2, y * side + side / 2);
        Group {
            seat: ((x + y * 3) as usize % seats) as u8,
            order: Order::AttackMove,
            kinds: &[Kind::Swordsman, Kind::Archer],
            places: scatter(&map, (x * side, y * side), side, count),
            way: (if x % 2 == 0 { side } else { -side }, 0),
            middle: tile(&map, centre),
        }
    });
    let groups = groups.collect();
    Stage { map, groups }
}

/// Puts the armies into the world, orders given.
pub(super) fn deploy(world: &mut World, stage: &[Deployed]) {
    for group in stage {
        for (number, (at, post)) in group.places.iter().enumerate() {
            let kind = group.kinds[number % group.kinds.len()];
            world.spawn_unit(kind, group.seat, *at);
            let row = world.units.len() - 1;
            world.units.command(row, group.order);
            world.units.goal[row] = group.goal;
            world.units.post[row] = *post;
            world.units.ask(row, group.goal);
        }
    }
}

/// A group, with every place settled.
pub(super) struct Deployed {
    seat: u8,
    order: Order,
    kinds: &'static [Kind],
    goal: u32,
    /// Where each unit begins, and the tile where it ends.
    places: Vec<(Vec2, u32)>,
}

impl Stage {
    /// Settles where every unit ends, and hands over the map.
    pub fn settle(self) -> (Map, Vec<Deployed>) {
        let Stage { map, groups } = self;
        let deployed = groups.iter().map(|group| {
            let shifted = |tile: Tile| {
                let x = i32::from(tile.x) + group.way.0;
                let y = i32::from(tile.y) + group.way.1;
                open_near(&map, x, y)
            };
            let goal = map.index(shifted(group.middle));
            let places = group.places.iter().map(|at| {
                let post = map.index(shifted(map.tile_at(*at)));
                (*at, post)
            });
            Deployed {
                seat: group.seat,
                order: group.order,
                kinds: group.kinds,
                goal,
                places: places.collect(),
            }
        });
        let deployed = deployed.collect();
        (map, deployed)
    }
}

/// The first open tile at or right of a place, moved onto the map; the place's tile if there is none.
fn open_near(map: &Map, x: i32, y: i32) -> Tile {
    let edge = i32::from(map.size()) - 1;
    let (x, y) = (x.clamp(0, edge) as u16, y.clamp(0, edge) as u16);
    let open = (x..map.size()).map(|x| Tile::new(x, y));
    let back = (0..x).rev().map(|x| Tile::new(x, y));
    open.chain(back)
        .find(|tile| !map.is_blocked(*tile))
        .unwrap_or(Tile::new(x, y))
}

fn tile(map: &Map, (x, y): (i32, i32)) -> Tile {
    open_near(map, x, y)
}

/// So many places in a square around a centre, row by row, on open ground.
fn block(map: &Map, centre: (i32, i32), edge: i32, count: usize) -> Vec<Vec2> {
    let edge = edge.max(1);
    (0..count as i32)
        .map(|number| {
            let x = centre.0 - edge / 2 + number % edge;
            let y = centre.1 - edge / 2 + number / edge;
            open_near(map, x, y).centre()
        })
        .collect()
}

/// So many places in a square, drawn evenly and row by row, on open ground.
fn scatter(map: &Map, (left, top): (i32, i32), side: i32, count: u32) -> Vec<Vec2> {
    let across = u64::from(count).isqrt().max(1) as i32;
    (0..count as i32)
        .map(|number| {
            let drawn = mix(u64::from(number as u32) << 32 ^ (left as u64) << 16 ^ top as u64);
            let spot = |number: i32, from: i32, drawn: u64| {
                let cell = Num::from_num(side) / across;
                let within = drawn % u64::from(cell.to_bits().unsigned_abs().max(1));
                cell * (number % across) + Num::from_num(from) + Num::from_bits(within as i32)
            };
            let at = Vec2::new(
                spot(number, left, drawn & 0xffff_ffff),
                spot(number / across, top, drawn >> 32),
            );
            let tile = map.tile_at(at);
            if map.is_blocked(tile) {
                open_near(map, i32::from(tile.x), i32::from(tile.y)).centre()
            } else {
                at
            }
        })
        .collect()
}

/// Ground with a rock of some tiles here and there, `apart` tiles from one to the next.
fn rocks(seed: u64, size: u16, apart: u16) -> Vec<Terrain> {
    let mut terrain = vec![Terrain::Ground; usize::from(size) * usize::from(size)];
    let cells = size / apart;
    for cell in 0..u32::from(cells) * u32::from(cells) {
        let drawn = mix(seed ^ u64::from(cell) << 20);
        let corner = |number: u32, drawn: u64| {
            number as u16 * apart + 2 + (drawn % u64::from(apart - 6)) as u16
        };
        let x = corner(cell % u32::from(cells), drawn & 0xffff);
        let y = corner(cell / u32::from(cells), drawn >> 16 & 0xffff);
        let (wide, high) = (1 + (drawn >> 40) % 4, 1 + (drawn >> 44) % 4);
        for dy in 0..high as usize {
            let from = (usize::from(y) + dy) * usize::from(size) + usize::from(x);
            terrain[from..from + wide as usize].fill(Terrain::Rock);
        }
    }
    terrain
}

/// Two walls from top to bottom, two tiles thick, with a gap of four tiles in every 24.
fn walls(size: u16) -> Vec<Terrain> {
    let mut terrain = vec![Terrain::Ground; usize::from(size) * usize::from(size)];
    for (number, line) in terrain.chunks_exact_mut(usize::from(size)).enumerate() {
        for (wall, shift) in [(2, 0), (3, 12)] {
            if (number + shift) % 24 >= 4 {
                let from = usize::from(size) * wall / 5 + usize::from(size) / 20;
                line[from..from + 2].fill(Terrain::Rock);
            }
        }
    }
    terrain
}

impl Density {
    /// Square tiles for each unit.
    fn tiles(self) -> u64 {
        match self {
            Density::Sparse => 100,
            Density::Normal => 20,
            Density::Dense => 4,
        }
    }
}

/// Units that march together.
const COMPANY: usize = 100;
