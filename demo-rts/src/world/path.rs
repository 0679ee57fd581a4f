//! Ways around obstacles. Units that go to the same place share one search; a tick spends a bounded
//! amount of work and the rest of the queue waits for the next.

use super::{
    World,
    map::Map,
    space::{ONE, Point, Tile},
    units::{STEPS, Way},
};

/// Serves the units that ask for a way, in the order of their ids from where the last tick stopped.
pub(super) fn find_ways(w: &mut World) {
    let mut asking: Vec<usize> = (0..w.units.len())
        .filter(|row| w.units.way[*row] == Way::Asked && w.units.hp[*row] > 0)
        .collect();
    let first = asking.partition_point(|row| w.units.id[*row] < w.path_cursor);
    asking.rotate_left(first);
    let mut by_aim: Vec<(u32, usize)> =
        asking.iter().map(|row| (w.units.aim[*row], *row)).collect();
    by_aim.sort_unstable();

    let mut finder = std::mem::take(&mut w.finder);
    let mut work = 0;
    w.path_cursor = 0;
    for row in asking {
        if w.units.way[row] != Way::Asked {
            continue;
        }
        if work >= WORK_PER_TICK {
            w.path_cursor = w.units.id[row];
            break;
        }
        work += 8;
        let at = w.units.at(row);
        let end = final_tile(w, row);
        if !w.map.is_blocked(end) && clear_line(&w.map, at, end.centre()) {
            set_way(w, row, &[w.map.index(end)], false);
            continue;
        }
        let aim = w.units.aim[row];
        let region = w.map.region(w.units.tile(row));
        let from = by_aim.partition_point(|(other, _)| *other < aim);
        let group: Vec<usize> = by_aim[from..]
            .iter()
            .take_while(|(other, _)| *other == aim)
            .map(|(_, row)| *row)
            .filter(|row| {
                w.units.way[*row] == Way::Asked && w.map.region(w.units.tile(*row)) == region
            })
            .collect();
        let sources = sources(w, aim, region, &mut work);
        let wanted = group.iter().map(|row| w.map.index(w.units.tile(*row)));
        work += finder.search(&w.map, &sources, wanted);
        for member in group {
            work += follow(w, member, &finder);
        }
    }
    w.finder = finder;
}

/// Whether a point can go straight from `a` to `b` without entering a blocked tile.
pub(super) fn clear_line(map: &Map, a: Point, b: Point) -> bool {
    if map.is_blocked_at(a) || map.is_blocked_at(b) {
        return false;
    }
    let (mut x, mut y) = (a.x / ONE, a.y / ONE);
    let (end_x, end_y) = (b.x / ONE, b.y / ONE);
    let (dx, dy) = (
        i64::from(b.x) - i64::from(a.x),
        i64::from(b.y) - i64::from(a.y),
    );
    let (step_x, step_y) = (dx.signum() as i32, dy.signum() as i32);
    let open = |x: i32, y: i32| !map.is_blocked(Tile::new(x as u16, y as u16));
    while (x, y) != (end_x, end_y) {
        let border = |tile: i32, step: i32, from: i32| {
            let edge = i64::from(tile + i32::from(step > 0)) * i64::from(ONE);
            (edge - i64::from(from)).abs()
        };
        // Which border comes first is a comparison of fractions: of the way in x and in y.
        let to_x = border(x, step_x, a.x) * dy.abs();
        let to_y = border(y, step_y, a.y) * dx.abs();
        let (cross_x, cross_y) = match (x == end_x, y == end_y) {
            (true, _) => (false, true),
            (_, true) => (true, false),
            _ => (to_x <= to_y, to_y <= to_x),
        };
        if cross_x && cross_y && !(open(x + step_x, y) && open(x, y + step_y)) {
            return false;
        }
        x += if cross_x { step_x } else { 0 };
        y += if cross_y { step_y } else { 0 };
        if !open(x, y) {
            return false;
        }
    }
    true
}

/// The tile at which a unit's way ends, if that can be reached: its own post near the goal, or the aim.
fn final_tile(w: &World, row: usize) -> Tile {
    let units = &w.units;
    let post = w.map.tile_of(units.post[row]);
    let own =
        units.aim[row] == units.goal[row] && w.map.region(post) == w.map.region(units.tile(row));
    if own {
        post
    } else {
        w.map.tile_of(units.aim[row])
    }
}

/// Where a search for ways to `aim` begins: the tile, or the sides of what stands there, or else the
/// nearest tile of the region.
fn sources(w: &World, aim: u32, region: u32, work: &mut u32) -> Vec<u32> {
    let tile = w.map.tile_of(aim);
    if w.map.region(tile) == region && region != 0 {
        return vec![aim];
    }
    if w.map.is_blocked(tile) {
        let building = w.map.occupant(tile).and_then(|id| w.buildings.row(id));
        let (corner, size) = match building {
            Some(row) => (
                w.map.tile_of(w.buildings.tile[row]),
                w.buildings.kind[row].stats().size,
            ),
            None => (tile, 1),
        };
        let sides: Vec<u32> = w
            .map
            .ring(corner, size)
            .filter(|side| w.map.region(*side) == region && region != 0)
            .map(|side| w.map.index(side))
            .collect();
        if !sides.is_empty() {
            return sides;
        }
    }
    *work += w.map.tiles() as u32 / 8;
    let nearest = w.map.nearest_in_region(tile, region);
    nearest.map(|tile| w.map.index(tile)).into_iter().collect()
}

/// Turns the search's result into the corners of one unit's way. Returns the work it took.
fn follow(w: &mut World, row: usize, finder: &Finder) -> u32 {
    let map = &w.map;
    let end = final_tile(w, row);
    let mut tile = map.index(w.units.tile(row));
    if !finder.is_settled(tile) {
        w.units.halt(row);
        w.units.failures[row] = w.units.failures[row].saturating_add(1);
        return 1;
    }
    let mut work = 1;
    let mut from = w.units.at(row);
    let mut steps = [0; STEPS];
    let mut count = 0;
    let mut part = true;
    while count < STEPS {
        work += 2;
        if !map.is_blocked(end) && clear_line(map, from, end.centre()) {
            steps[count] = map.index(end);
            count += 1;
            part = false;
            break;
        }
        let mut corner = finder.next(tile);
        if corner == tile {
            // At its end already, if not in the middle of it: from there everything beside it is in reach.
            if count == 0 {
                steps[0] = tile;
                count = 1;
            }
            part = false;
            break;
        }
        for _ in 0..LOOK_AHEAD {
            let beyond = finder.next(corner);
            work += 1;
            if beyond == corner || !clear_line(map, from, map.tile_of(beyond).centre()) {
                break;
            }
            corner = beyond;
        }
        steps[count] = corner;
        count += 1;
        tile = corner;
        from = map.tile_of(corner).centre();
    }
    set_way(w, row, &steps[..count], part);
    work
}

fn set_way(w: &mut World, row: usize, steps: &[u32], part: bool) {
    let units = &mut w.units;
    units.way[row] = if part { Way::Part } else { Way::Found };
    units.steps[row] = [0; STEPS];
    units.steps[row][..steps.len()].copy_from_slice(steps);
    units.step[row] = 0;
    units.step_count[row] = steps.len() as u8;
    if steps.is_empty() {
        units.halt(row);
    }
}

/// The memory of searches. Nothing in it outlives a tick.
#[derive(Clone, Debug, Default)]
pub(super) struct Finder {
    round: u32,
    /// Round in which the tile was reached.
    reached: Vec<u32>,
    /// Round in which the tile's way became final.
    settled: Vec<u32>,
    /// Round in which somebody waited on the tile.
    wanted: Vec<u32>,
    cost: Vec<u32>,
    next: Vec<u32>,
    /// Open tiles by cost modulo the number of buckets.
    buckets: [Vec<u32>; BUCKETS],
}

impl Finder {
    /// Spreads from `sources` until all `wanted` tiles know their way there. Returns the work it took.
    fn search(&mut self, map: &Map, sources: &[u32], wanted: impl Iterator<Item = u32>) -> u32 {
        self.begin(map.tiles());
        let mut missing = 0;
        for tile in wanted {
            let mark = &mut self.wanted[tile as usize];
            missing += u32::from(*mark != self.round);
            *mark = self.round;
        }
        for source in sources {
            self.reach(*source, 0, *source);
        }
        let mut work = 0;
        let mut cost = 0;
        let mut empty = 0;
        while missing > 0 && empty < BUCKETS {
            let bucket = cost as usize % BUCKETS;
            let Some(tile) = self.buckets[bucket].pop() else {
                cost += 1;
                empty += 1;
                continue;
            };
            empty = 0;
            let at = tile as usize;
            if self.settled[at] == self.round || self.cost[at] != cost {
                continue;
            }
            self.settled[at] = self.round;
            missing -= u32::from(self.wanted[at] == self.round);
            work += 1;
            self.spread(map, tile, cost);
        }
        work
    }

    fn is_settled(&self, tile: u32) -> bool {
        self.settled.get(tile as usize) == Some(&self.round)
    }

    /// The tile after `tile` on the way; itself at the end of it.
    fn next(&self, tile: u32) -> u32 {
        self.next[tile as usize]
    }

    fn begin(&mut self, tiles: usize) {
        if self.reached.len() != tiles || self.round == u32::MAX {
            *self = Self {
                reached: vec![0; tiles],
                settled: vec![0; tiles],
                wanted: vec![0; tiles],
                cost: vec![0; tiles],
                next: vec![0; tiles],
                ..Self::default()
            };
        }
        self.round += 1;
        self.buckets.iter_mut().for_each(Vec::clear);
    }

    fn reach(&mut self, tile: u32, cost: u32, next: u32) {
        let at = tile as usize;
        if self.reached[at] == self.round && self.cost[at] <= cost {
            return;
        }
        self.reached[at] = self.round;
        self.cost[at] = cost;
        self.next[at] = next;
        self.buckets[cost as usize % BUCKETS].push(tile);
    }

    fn spread(&mut self, map: &Map, tile: u32, cost: u32) {
        let here = map.tile_of(tile);
        let open = |dx: i32, dy: i32| {
            let x = u16::try_from(i32::from(here.x) + dx).ok()?;
            let y = u16::try_from(i32::from(here.y) + dy).ok()?;
            let there = Tile::new(x, y);
            (!map.is_blocked(there)).then(|| map.index(there))
        };
        let sides = SIDES.map(|(dx, dy)| open(dx, dy));
        for side in sides.into_iter().flatten() {
            self.reach(side, cost + STRAIGHT, tile);
        }
        for (number, (dx, dy)) in SIDES.into_iter().enumerate() {
            let (turn_x, turn_y) = (-dy, dx);
            let turned = (number + 1) % SIDES.len();
            if sides[number].is_some()
                && sides[turned].is_some()
                && let Some(corner) = open(dx + turn_x, dy + turn_y)
            {
                self.reach(corner, cost + DIAGONAL, tile);
            }
        }
    }
}

/// Sides of a tile, each a quarter turn after the one before.
const SIDES: [(i32, i32); 4] = [(1, 0), (0, 1), (-1, 0), (0, -1)];
const STRAIGHT: u32 = 5;
const DIAGONAL: u32 = 7;
/// More than the dearest step, so that no two open costs share a bucket.
const BUCKETS: usize = 8;
/// Tiles along a way that are tried for a shortcut from one corner.
const LOOK_AHEAD: usize = 32;
/// Tiles looked at in a tick, after which no further search begins.
const WORK_PER_TICK: u32 = 24_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn walled() -> Map {
        let mut map = Map::new(64, Vec::new(), Vec::new());
        for y in 0..60 {
            map.set_solid(Tile::new(30, y), 1, true);
        }
        map.refresh_regions();
        map
    }

    #[test]
    fn a_line_is_clear_only_if_every_tile_on_it_is_open() {
        let map = walled();
        let at = |x, y| Tile::new(x, y).centre();
        assert!(clear_line(&map, at(2, 2), at(29, 50)));
        assert!(!clear_line(&map, at(2, 2), at(31, 2)));
        assert!(!clear_line(&map, at(29, 59), at(31, 60)));
        assert!(clear_line(&map, at(29, 60), at(31, 61)));
        assert!(clear_line(&map, at(5, 5), at(5, 5)));
    }

    #[test]
    fn no_line_squeezes_between_two_corners() {
        let mut map = Map::new(64, Vec::new(), Vec::new());
        map.set_solid(Tile::new(10, 10), 1, true);
        map.set_solid(Tile::new(11, 11), 1, true);
        let at = |x, y| Tile::new(x, y).centre();
        assert!(!clear_line(&map, at(11, 10), at(10, 11)));
        assert!(!clear_line(&map, at(8, 13), at(13, 8)));
    }

    #[test]
    fn a_search_goes_around_a_wall_by_the_shortest_way() {
        let map = walled();
        let goal = map.index(Tile::new(40, 10));
        let start = map.index(Tile::new(20, 10));
        let mut finder = Finder::default();
        finder.search(&map, &[goal], [start].into_iter());
        assert!(finder.is_settled(start));
        let mut tile = start;
        let mut cost = 0;
        while finder.next(tile) != tile {
            let (a, b) = (map.tile_of(tile), map.tile_of(finder.next(tile)));
            assert!(!map.is_blocked(b) && a.king_steps(b) == 1);
            cost += if a.x != b.x && a.y != b.y {
                DIAGONAL
            } else {
                STRAIGHT
            };
            tile = finder.next(tile);
        }
        assert_eq!(tile, goal);
        // Ten columns and fifty rows down, straight past the wall's end, and fifty rows up again.
        assert_eq!(
            cost,
            9 * DIAGONAL + 41 * STRAIGHT + 2 * STRAIGHT + 9 * DIAGONAL + 41 * STRAIGHT
        );
    }

    #[test]
    fn a_search_for_an_unreachable_tile_ends() {
        let mut map = Map::new(64, Vec::new(), Vec::new());
        for side in map.ring(Tile::new(5, 5), 1).collect::<Vec<_>>() {
            map.set_solid(side, 1, true);
        }
        let mut finder = Finder::default();
        let inside = map.index(Tile::new(5, 5));
        let outside = map.index(Tile::new(20, 20));
        let work = finder.search(&map, &[outside], [inside].into_iter());
        assert!(!finder.is_settled(inside) && work as usize <= map.tiles());
    }
}
