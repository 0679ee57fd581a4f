//! How units move: straight to what they see and else by the field of their goal, apart from each other,
//! never into blocked tiles.
//!
//! All move from where they were when the tick began, so threads may share the work. A push is weaker
//! than the will to go on: nobody keeps anybody from moving for good, and no choke point is jammed.

use super::{
    World,
    combat::distance_to_square,
    crowd::{LOOK_TICKS, Parts, in_parts},
    goals::ahead as ahead_of,
    nav::Direction,
    space::{ONE, Point, Step, Tile},
    tables::RULES,
    units::Way,
};

/// Moves everybody by one tick.
pub(super) fn move_units(w: &mut World, threads: usize) {
    let units = &mut w.units;
    let mut x = std::mem::take(&mut units.x);
    let mut y = std::mem::take(&mut units.y);
    let mut way = std::mem::take(&mut units.way);
    let mut aim = std::mem::take(&mut units.aim);
    let mut stuck = std::mem::take(&mut units.stuck);
    let mut failures = std::mem::take(&mut units.failures);
    let moving = Moving {
        x: &mut x,
        y: &mut y,
        way: &mut way,
        aim: &mut aim,
        stuck: &mut stuck,
        failures: &mut failures,
    };
    let world = &*w;
    in_parts(threads, world.units.len(), moving, |from, part| {
        move_part(world, from, part);
    });
    let units = &mut w.units;
    (units.x, units.y, units.way) = (x, y, way);
    (units.aim, units.stuck, units.failures) = (aim, stuck, failures);
}

/// The columns that a move changes, of some consecutive rows. The world lacks them meanwhile.
struct Moving<'a> {
    x: &'a mut [i32],
    y: &'a mut [i32],
    way: &'a mut [Way],
    aim: &'a mut [u32],
    stuck: &'a mut [u8],
    failures: &'a mut [u8],
}

impl Moving<'_> {
    fn here(&self, at: usize) -> Point {
        Point {
            x: self.x[at],
            y: self.y[at],
        }
    }
}

impl Parts for Moving<'_> {
    fn cut(self, at: usize) -> (Self, Self) {
        let (x, y) = (self.x.split_at_mut(at), self.y.split_at_mut(at));
        let (way, aim) = (self.way.split_at_mut(at), self.aim.split_at_mut(at));
        let stuck = self.stuck.split_at_mut(at);
        let failures = self.failures.split_at_mut(at);
        let part = |x, y, way, aim, stuck, failures| Moving {
            x,
            y,
            way,
            aim,
            stuck,
            failures,
        };
        (
            part(x.0, y.0, way.0, aim.0, stuck.0, failures.0),
            part(x.1, y.1, way.1, aim.1, stuck.1, failures.1),
        )
    }
}

fn move_part(w: &World, from: usize, mut part: Moving<'_>) {
    // Fields lie all over the memory. Asked for one right after the other, with little to decide in
    // between, they come together.
    let mut ahead = [None; BATCH];
    let mut begin = 0;
    while begin < part.x.len() {
        let end = part.x.len().min(begin + BATCH);
        for (at, ahead) in (begin..end).zip(&mut ahead) {
            *ahead = match part.way[at] {
                Way::Course => ahead_of(w, w.units.course[from + at], part.here(at)),
                _ => None,
            };
        }
        for at in begin..end {
            move_one(w, from, &mut part, at, ahead[at - begin]);
        }
        begin = end;
    }
}

#[inline(always)]
fn move_one(
    w: &World,
    from: usize,
    part: &mut Moving<'_>,
    at: usize,
    ahead: Option<Option<Direction>>,
) {
    let row = from + at;
    let push = w.crowd.sensed(row).push();
    if part.way[at] == Way::None && push == Step::default() || !w.units.is_on_map(row) {
        return;
    }
    let here = part.here(at);
    let mut walker = Walker {
        row,
        at: here,
        ahead,
        way: part.way[at],
        aim: part.aim[at],
        stuck: part.stuck[at],
        failures: part.failures[at],
    };
    let speed = w.bands.speed(w, row, here, walker.way);
    let wish = walker.steer(w, speed);
    let most = if wish == Step::default() {
        MOST_PUSH
    } else {
        speed / 2
    };
    let push = around(push, wish).held(most);
    let to = slide(w, here, wish.plus(push));
    if wish != Step::default() {
        walker.notice_stuck(w, to, wish);
    }
    part.x[at] = to.x;
    part.y[at] = to.y;
    part.way[at] = walker.way;
    part.aim[at] = walker.aim;
    part.stuck[at] = walker.stuck;
    part.failures[at] = walker.failures;
}

/// A unit on the move.
struct Walker {
    row: usize,
    at: Point,
    /// Which way the field of its goal leads, if it follows one that is known.
    ahead: Option<Option<Direction>>,
    way: Way,
    aim: u32,
    stuck: u8,
    failures: u8,
}

impl Walker {
    /// Where it would go if it were alone.
    fn steer(&mut self, w: &World, speed: i32) -> Step {
        let turn = w.tick.wrapping_add(w.units.id[self.row]);
        match self.way {
            Way::None => Step::default(),
            Way::Asked => self.step_to(self.end(w).centre(), speed),
            Way::Straight => {
                let end = self.end(w).centre();
                // A push, at most half a step each way, can keep a unit from its end for ever, but not by a step.
                if self.at.distance_squared(end) < square(speed.max(ONE / 16)) {
                    self.stop();
                    return Step::default();
                }
                // It saw all of the way when it set out; a push may have taken it behind a corner.
                if turn.is_multiple_of(LOOK_TICKS) {
                    let ahead = self.step_to(end, GLANCE);
                    if !w.map.is_clear(self.at, self.at.plus(ahead)) {
                        self.way = Way::Asked;
                    }
                }
                self.step_to(end, speed)
            }
            Way::Course => self.follow(w, speed, turn.is_multiple_of(2 * LOOK_TICKS)),
        }
    }

    /// Along the field of its goal, until it sees its end.
    fn follow(&mut self, w: &World, speed: i32, looks: bool) -> Step {
        if looks {
            let end = self.end(w).centre();
            let near = self.at.x.abs_diff(end.x).max(self.at.y.abs_diff(end.y)) < NEAR;
            if near && w.map.is_clear(self.at, end) {
                self.way = Way::Straight;
                return self.step_to(end, speed);
            }
        }
        match self.ahead {
            None => self.step_to(self.end(w).centre(), speed),
            Some(None) => {
                self.way = Way::Asked;
                Step::default()
            }
            Some(Some(Direction::Here)) => self.come_to(w, speed, w.units.course[self.row]),
            Some(Some(direction)) => onward(self.at, direction, speed),
        }
    }

    /// At the end of the field: on to the side of what is there, or to its own place.
    fn come_to(&mut self, w: &World, speed: i32, course: u16) -> Step {
        let (place, size) = w.goals.place(course);
        let corner = w.map.tile_of(place);
        if w.map.is_blocked(corner) {
            if distance_to_square(self.at, corner, size) <= ONE / 2 {
                self.stop();
                return Step::default();
            }
            let (low_x, low_y) = (i32::from(corner.x) * ONE, i32::from(corner.y) * ONE);
            let edge = i32::from(size) * ONE;
            let nearest = Point {
                x: self.at.x.clamp(low_x, low_x + edge),
                y: self.at.y.clamp(low_y, low_y + edge),
            };
            return self.step_to(nearest, speed);
        }
        let end = self.end(w);
        self.aim = w.map.index(end);
        self.way = Way::Asked;
        self.step_to(end.centre(), speed)
    }

    fn step_to(&self, to: Point, speed: i32) -> Step {
        Step {
            x: to.x.wrapping_sub(self.at.x),
            y: to.y.wrapping_sub(self.at.y),
        }
        .heading(speed)
    }

    fn stop(&mut self) {
        self.way = Way::None;
        self.stuck = 0;
    }

    fn end(&self, w: &World) -> Tile {
        end_of(w, self.row, self.aim)
    }

    /// Counts ticks without advance; asks anew, or is content when it is near enough.
    fn notice_stuck(&mut self, w: &World, to: Point, wish: Step) {
        let done = Step {
            x: to.x - self.at.x,
            y: to.y - self.at.y,
        };
        if done.along(wish).saturating_mul(5) >= wish.along(wish) {
            self.stuck = self.stuck.saturating_sub(1);
            return;
        }
        // Nothing but a crowd is in the way of one who sees its end. There a unit that is pushed to and fro
        // does not hope for ever, and is content the sooner, the nearer it came.
        let sees = self.way == Way::Straight;
        self.stuck = self.stuck.saturating_add(1 + u8::from(sees));
        let end = to.distance_squared(self.end(w).centre());
        let near = self.stuck >= 8 && end < square(ONE * 5 / 2);
        if near || sees && self.stuck >= 24 && end < square(CROWDED) {
            self.stop();
        } else if self.stuck >= 32 {
            self.failures = self.failures.saturating_add(1);
            self.stuck = 0;
            self.way = if self.failures < RULES.failures {
                Way::Asked
            } else {
                Way::None
            };
        }
    }
}

/// The tile at which a unit's way ends: its own place near the goal of its order, or what it aims at.
pub(super) fn end(w: &World, row: usize) -> Tile {
    end_of(w, row, w.units.aim[row])
}

fn end_of(w: &World, row: usize, aim: u32) -> Tile {
    let units = &w.units;
    let own = aim == units.goal[row];
    w.map.tile_of(if own { units.post[row] } else { aim })
}

/// A step to the next tile, on the same track as now, so that many walk side by side; away from the edge
/// of the tile, where corners are.
fn onward(at: Point, direction: Direction, speed: i32) -> Step {
    let (x, y) = direction.step();
    if x != 0 && y != 0 {
        let part = speed * 181 / 256;
        return Step {
            x: x * part,
            y: y * part,
        };
    }
    let aside = |at: i32| {
        let within = at & (ONE - 1);
        let most = speed / 2;
        (ONE / 8 - within).clamp(0, most) - (within - ONE * 7 / 8).clamp(0, most)
    };
    if x != 0 {
        Step {
            x: x * speed,
            y: aside(at.y),
        }
    } else {
        Step {
            x: aside(at.x),
            y: y * speed,
        }
    }
}

/// The push, and around whoever stands in the way, on the side that is nearer to the wish.
fn around(push: Step, wish: Step) -> Step {
    if push.along(wish) >= 0 {
        return push;
    }
    let side = Step {
        x: -push.y,
        y: push.x,
    };
    let left = side.along(wish) >= 0;
    push.plus(if left {
        side
    } else {
        Step {
            x: push.y,
            y: -push.x,
        }
    })
}

/// The end of a step that stops at blocked tiles, along each axis by itself.
#[inline]
fn slide(w: &World, from: Point, step: Step) -> Point {
    // Most steps stay within a tile, and whoever is in it may move in it.
    let to = from.plus(step);
    if (to.x ^ from.x | to.y ^ from.y) >> 16 == 0 {
        return to;
    }
    let aside = Point { x: to.x, y: from.y };
    let x = if w.map.is_blocked_at(aside) {
        from.x
    } else {
        aside.x
    };
    let along = Point { x, y: to.y };
    let y = if w.map.is_blocked_at(along) {
        from.y
    } else {
        along.y
    };
    Point { x, y }
}

fn square(length: i32) -> u64 {
    u64::from(length.unsigned_abs()).pow(2)
}

/// Units whose fields are asked together.
const BATCH: usize = 64;
/// How far a unit looks whether its straight way is still clear, in the units of a point.
const GLANCE: i32 = ONE - 1;
/// Within this a unit that follows a field looks for its end.
const NEAR: u32 = 24 * ONE as u32;
/// How far a unit that stands is pushed in a tick at most.
const MOST_PUSH: i32 = ONE / 12;
/// Within this of its end a unit that cannot get through a crowd has come near enough.
const CROWDED: i32 = 8 * ONE;
