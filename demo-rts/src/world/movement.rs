//! How units move: along their ways, apart from each other, never into blocked tiles.

use super::{
    World,
    path::clear_line,
    space::{ONE, Point, Step},
    units::{Load, Order, Way},
};

/// Moves everybody by one tick. All see where the others were before it.
pub(super) fn move_units(w: &mut World) {
    for row in 0..w.units.len() {
        if w.units.is_alive(row) {
            pass_corners(w, row);
        }
    }
    let moves: Vec<(Step, Step)> = (0..w.units.len())
        .map(|row| {
            if !w.units.is_alive(row) {
                return Default::default();
            }
            let wish = wish(w, row);
            (wish, push(w, row, wish))
        })
        .collect();
    for (row, (wish, push)) in moves.into_iter().enumerate() {
        let from = w.units.at(row);
        let to = slide(w, from, wish.plus(push));
        w.units.place(row, to);
        if wish != Step::default() {
            notice_stuck(w, row, from, to, wish);
        }
    }
}

/// Steps over the corners that are reached, and ends the way at the last.
fn pass_corners(w: &mut World, row: usize) {
    if !w.units.is_moving(row) {
        return;
    }
    let at = w.units.at(row);
    let corner = |step: u8| {
        w.map
            .tile_of(w.units.steps[row][usize::from(step)])
            .centre()
    };
    let step = w.units.step[row];
    let here = corner(step);
    if step + 1 < w.units.step_count[row] {
        let looks = (w.tick ^ w.units.id[row]).is_multiple_of(4);
        let passed = at.distance_squared(here) < square(ONE * 3 / 8)
            || looks && clear_line(&w.map, at, corner(step + 1));
        if passed {
            w.units.step[row] += 1;
        }
    } else if at.distance_squared(here) < square(ONE / 16) {
        end_way(w, row);
    }
}

fn end_way(w: &mut World, row: usize) {
    let aim = w.units.aim[row];
    match w.units.way[row] {
        Way::Part => {
            w.units.halt(row);
            w.units.ask(row, aim);
        }
        Way::Asked => {
            w.units.halt(row);
            w.units.ask(row, aim);
        }
        Way::Found | Way::None => w.units.halt(row),
    }
}

/// Where it would go if it were alone.
fn wish(w: &World, row: usize) -> Step {
    let units = &w.units;
    if !units.is_moving(row) {
        return Step::default();
    }
    let corner = units.steps[row][usize::from(units.step[row])];
    let to = w.map.tile_of(corner).centre();
    units.at(row).towards(to, units.stats(row).speed)
}

/// How its neighbours push it.
fn push(w: &World, row: usize, wish: Step) -> Step {
    let units = &w.units;
    let at = units.at(row);
    let radius = units.stats(row).radius;
    let moves = wish != Step::default();
    let busy = is_hauling(w, row);
    let mut sum = Step::default();
    for line in w.grid.around(units.tile(row), 1) {
        for other in line {
            let other = *other as usize;
            if other == row || busy && is_hauling(w, other) {
                continue;
            }
            let there = units.at(other);
            let least = radius + units.stats(other).radius;
            let (dx, dy) = (at.x - there.x, at.y - there.y);
            if dx.abs() >= least || dy.abs() >= least {
                continue;
            }
            let apart = at.distance(there) as i32;
            if apart >= least {
                continue;
            }
            let share = share(w, row, other, moves);
            let overlap = i64::from((least - apart) * share / 8);
            if apart < ONE / 256 {
                sum = sum.plus(parting(units.id[row], units.id[other], overlap as i32));
                continue;
            }
            let x = (i64::from(dx) * overlap / i64::from(apart)) as i32;
            let y = (i64::from(dy) * overlap / i64::from(apart)) as i32;
            sum = sum.plus(Step { x, y });
            if moves && !units.is_moving(other) {
                // Around whoever stands in the way, on the side that is nearer to the wish.
                let side = Step { x: -y, y: x };
                let left = side.along(wish) >= 0;
                sum = sum.plus(if left { side } else { Step { x: y, y: -x } });
            }
        }
    }
    // A push weaker than the wish keeps every moving unit moving: nobody blocks anybody for good.
    let most = if moves {
        units.stats(row).speed * 3 / 4
    } else {
        ONE / 12
    };
    sum.shortened(most)
}

/// Eighths of an overlap that `row` makes way for.
fn share(w: &World, row: usize, other: usize, moves: bool) -> i32 {
    match (moves, w.units.is_moving(other)) {
        (true, false) => 4,
        (false, true) if stands_firm(w, row) => 1,
        (false, true) => 2,
        _ if stands_firm(w, row) && !stands_firm(w, other) => 2,
        _ => 4,
    }
}

fn stands_firm(w: &World, row: usize) -> bool {
    w.units.target[row] != 0 || w.units.order[row] == Order::Hold
}

/// Workers on their rounds walk through each other, so that nobody jams a mine.
fn is_hauling(w: &World, row: usize) -> bool {
    let units = &w.units;
    let rounds = matches!(units.order[row], Order::Gather | Order::Return);
    rounds && (units.is_moving(row) || units.load[row] != Load::Nothing)
}

/// Sends two units that stand on one point different ways.
fn parting(own: u32, other: u32, length: i32) -> Step {
    let way = own.min(other) % 4;
    let sign = if own < other { length } else { -length };
    match way {
        0 => Step {
            x: sign,
            y: sign / 3,
        },
        1 => Step {
            x: sign / 3,
            y: sign,
        },
        2 => Step {
            x: -sign,
            y: sign / 2,
        },
        _ => Step {
            x: sign / 2,
            y: -sign,
        },
    }
}

/// The end of a step that stops at blocked tiles, along each axis by itself.
fn slide(w: &World, from: Point, step: Step) -> Point {
    let aside = Point {
        x: from.x.saturating_add(step.x),
        y: from.y,
    };
    let x = if w.map.is_blocked_at(aside) {
        from.x
    } else {
        aside.x
    };
    let along = Point {
        x,
        y: from.y.saturating_add(step.y),
    };
    let y = if w.map.is_blocked_at(along) {
        from.y
    } else {
        along.y
    };
    Point { x, y }
}

/// Counts ticks without advance; asks for a new way, or is content when it is near enough.
fn notice_stuck(w: &mut World, row: usize, from: Point, to: Point, wish: Step) {
    let done = Step {
        x: to.x - from.x,
        y: to.y - from.y,
    };
    let advances = done.along(wish).saturating_mul(5) >= wish.along(wish);
    let stuck = &mut w.units.stuck[row];
    if advances {
        *stuck = stuck.saturating_sub(1);
        return;
    }
    *stuck = stuck.saturating_add(1);
    if w.units.way[row] == Way::Asked {
        return;
    }
    let step = w.units.step[row];
    let corner = w
        .map
        .tile_of(w.units.steps[row][usize::from(step)])
        .centre();
    let last = step + 1 == w.units.step_count[row] && w.units.way[row] == Way::Found;
    if last && *stuck >= 8 && to.distance_squared(corner) < square(ONE * 5 / 2) {
        w.units.halt(row);
    } else if *stuck >= 16 {
        let aim = w.units.aim[row];
        w.units.failures[row] = w.units.failures[row].saturating_add(1);
        w.units.halt(row);
        if w.units.failures[row] < PATIENCE {
            w.units.ask(row, aim);
        }
    }
}

fn square(length: i32) -> u64 {
    u64::from(length.unsigned_abs()).pow(2)
}

/// Ways that may fail before a unit gives up.
pub(super) const PATIENCE: u8 = 6;
