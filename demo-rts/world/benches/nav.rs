//! What navigation costs: setting up, opening goals, walking, building in the way.
//!
//! `cargo bench -p demo-world --bench nav`

use demo_world::world::{
    Tile,
    nav::{Direction, Goal, Nav},
};
use std::{
    hint::black_box,
    time::{Duration, Instant},
};

fn main() {
    println!("map     what                                        time");
    small();
    large();
}

/// A map of 256 × 256 tiles, a fifth of it blocked; 2,000 units walk to 60 goals.
fn small() {
    let blocked = |tile: Tile| {
        let lump = hash(u32::from(tile.x / 3) << 16 | u32::from(tile.y / 3));
        lump.is_multiple_of(5)
    };
    let (spent, mut nav) = timed(|| Nav::new(256, blocked));
    report("256²", "set up", spent);
    let mut dice = 1;
    let mut place = |nav: &Nav| loop {
        dice = hash(dice);
        let tile = Tile::new((dice >> 8) as u16 % 256, (dice >> 20) as u16 % 256);
        if nav.region(tile) == nav.region(middle(nav)) {
            return tile;
        }
    };
    let goals: Vec<Goal> = (0..60).map(|_| Goal::tile(place(&nav))).collect();
    let mut units: Vec<(Tile, Goal)> = (0..2000_usize)
        .map(|number| (place(&nav), goals[number % goals.len()]))
        .collect();
    let far = Tile::new(2, 2);
    let far = nav
        .nearest_open(far, nav.region(middle(&nav)))
        .unwrap_or(far);
    let warm = Goal::tile(place(&nav));
    let (spent, _) = timed(|| nav.prepare(warm, far));
    report("256²", "the first goal, and all sectors measured", spent);
    let mut each = Vec::new();
    for goal in &goals {
        each.push(timed(|| nav.prepare(*goal, far)).0);
    }
    each.sort_unstable();
    report(
        "256²",
        "a goal opened from afar, median",
        each[each.len() / 2],
    );
    report(
        "256²",
        "a goal opened from afar, most",
        each[each.len() - 1],
    );

    let (spent, ()) = timed(|| {
        for at in 0..256_u16 {
            nav.prepare(warm, Tile::new(at % 16 * 16, at / 16 * 16));
        }
    });
    report("256²", "the field of a sector", spent / 255);

    let mut ticks = Vec::new();
    for _ in 0..600 {
        ticks.push(tick(&mut nav, &mut units, &goals));
    }
    report("256²", "2,000 units, a tick, the first", ticks[0]);
    let mut steady = ticks.split_off(100);
    steady.sort_unstable();
    report(
        "256²",
        "2,000 units, a tick, median",
        steady[steady.len() / 2],
    );
    report(
        "256²",
        "2,000 units, a tick, most",
        steady[steady.len() - 1],
    );

    let mut builds = Vec::new();
    for number in 0..200 {
        let tile = place(&nav);
        nav.set_blocked(tile, number % 2 == 0);
        builds.push(tick(&mut nav, &mut units, &goals));
    }
    builds.sort_unstable();
    report(
        "256²",
        "a tick with one tile changed, median",
        builds[builds.len() / 2],
    );
    report(
        "256²",
        "a tick with one tile changed, most",
        builds[builds.len() - 1],
    );
    println!("256²    memory {} KiB", nav.memory() / 1024);
    close_a_wall(nav, &units, &goals);
}

/// Builds a wall across the map with one gap, under all the ways: at once, and in the parts that a world does
/// in a tick.
fn close_a_wall(mut nav: Nav, units: &[(Tile, Goal)], goals: &[Goal]) {
    for y in (0..256).filter(|y| *y != 77) {
        nav.set_blocked(Tile::new(128, y), true);
    }
    let mut twin = nav.clone();
    let (spent, ()) = timed(|| {
        twin.refresh();
        for (at, goal) in units {
            twin.prepare(*goal, *at);
        }
    });
    report("256²", "a wall across 60 ways, all at once", spent);
    let (spent, _) = timed(|| nav.refresh());
    report("256²", "a wall across 60 ways, taken note of", spent);
    let mut wanted = units.to_vec();
    wanted.sort_unstable_by_key(|(at, goal)| (*goal, at.y / 16, at.x / 16));
    wanted.dedup_by_key(|(at, goal)| (*goal, at.y / 16, at.x / 16));
    let ids: Vec<_> = goals.iter().map(|goal| (*goal, nav.open(*goal))).collect();
    let mut ticks = Vec::new();
    while !wanted.is_empty() {
        let mut budget = STEPS_PER_TICK;
        let (spent, ()) = timed(|| {
            wanted.retain(|(at, goal)| {
                let id = ids.iter().find(|(other, _)| other == goal);
                id.is_some_and(|(_, id)| !nav.prepare_within(*id, *at, &mut budget))
            });
        });
        ticks.push(spent);
    }
    let most = ticks.iter().copied().max().unwrap_or_default();
    report("256²", "a wall across 60 ways, a tick, most", most);
    println!("256²    ... and {} ticks", ticks.len());
}

/// All units ask once and walk a tile. A unit at its goal turns around.
fn tick(nav: &mut Nav, units: &mut [(Tile, Goal)], goals: &[Goal]) -> Duration {
    let (spent, ()) = timed(|| {
        nav.refresh();
        for (at, goal) in units.iter_mut() {
            let field = nav.prepare(*goal, *at);
            match nav.direction(field, *at) {
                None => {}
                Some(Direction::Here) => {
                    let next = hash(u32::from(at.x) + u32::from(goal.tile.y));
                    *goal = goals[next as usize % goals.len()];
                }
                Some(direction) => {
                    let (dx, dy) = direction.step();
                    let (x, y) = (i32::from(at.x) + dx, i32::from(at.y) + dy);
                    *at = Tile::new(x as u16, y as u16);
                }
            }
        }
    });
    spent
}

/// The largest map, with rock on a fiftieth of it: one goal in a corner, asked for from everywhere.
fn large() {
    let blocked = |tile: Tile| {
        let lump = hash(u32::from(tile.x / 8) << 16 | u32::from(tile.y / 8));
        lump.is_multiple_of(50)
    };
    let (spent, mut nav) = timed(|| Nav::new(4096, blocked));
    report("4096²", "set up", spent);
    println!("4096²   memory {} KiB", nav.memory() / 1024);
    let goal = Goal::tile(middle(&nav));
    let (spent, _) = timed(|| nav.prepare(goal, Tile::new(2200, 2200)));
    report("4096²", "a goal opened from 220 tiles away", spent);
    let mut parts = nav.clone();
    let (spent, id) = timed(|| nav.prepare(goal, Tile::new(4090, 4090)));
    report("4096²", "the same goal from a corner, at once", spent);
    println!("4096²   ... and {} steps", nav.steps(id));
    let mut ticks = Vec::new();
    let mut ready = false;
    while !ready {
        let mut budget = STEPS_PER_TICK;
        let (spent, now) = timed(|| parts.prepare_within(id, Tile::new(4090, 4090), &mut budget));
        ready = now;
        ticks.push(spent);
    }
    let most = ticks.iter().copied().max().unwrap_or_default();
    report("4096²", "the same in parts, a tick, most", most);
    println!("4096²   ... and {} ticks", ticks.len());
    let (spent, ()) = timed(|| {
        for at in 0..65_536_u32 {
            nav.prepare(
                goal,
                Tile::new((at % 256 * 16) as u16, (at / 256 * 16) as u16),
            );
        }
    });
    report("4096²", "its fields in all 65,536 sectors", spent);
    println!("4096²   memory {} KiB", nav.memory() / 1024);
    let home = nav.region(middle(&nav));
    let (spent, _) = timed(|| nav.nearest_open(Tile::new(0, 0), home));
    report("4096²", "the open tile nearest to a corner", spent);
    let (spent, ()) = timed(|| {
        nav.set_blocked(Tile::new(100, 100), true);
        nav.refresh();
    });
    report("4096²", "one tile changed", spent);
}

fn middle(nav: &Nav) -> Tile {
    let half = nav.size() / 2;
    (half..)
        .map(|x| Tile::new(x, half))
        .find(|tile| !nav.is_blocked(*tile))
        .unwrap_or(Tile::new(half, half))
}

/// Steps that a world's searches take together in a tick.
const STEPS_PER_TICK: u32 = 16_384;

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed(), black_box(result))
}

fn report(map: &str, what: &str, spent: Duration) {
    println!(
        "{map:<7} {what:<42} {:>9.1} µs",
        spent.as_nanos() as f64 / 1000.0
    );
}

fn hash(value: u32) -> u32 {
    let value = (value ^ (value >> 16)).wrapping_mul(0x045d_9f3b);
    let value = (value ^ (value >> 16)).wrapping_mul(0x045d_9f3b);
    value ^ (value >> 16)
}
