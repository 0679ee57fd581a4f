//! How units move: straight to what they see and else by the field of their goal, apart from each other,
//! never into blocked tiles.
//!
//! All move from where they were when the tick began, so threads may share the work. A push is weaker
//! than the will to go on: nobody keeps anybody from moving for good, and no choke point is jammed.

mod batch;

use batch::Ahead;
pub(super) use batch::{Heading, Known, Moving, move_part, move_units};

use super::{
    World,
    combat::distance_to_square,
    crowd::LOOK_TICKS,
    space::{ONE, Point, Step, Tile},
    tables::RULES,
    units::Way,
};

/// A unit on the move.
struct Walker {
    row: usize,
    at: Point,
    /// What it knows of its way, if it follows a course.
    ahead: Ahead,
    way: Way,
    aim: u32,
    stuck: u8,
    failures: u8,
}

impl Walker {
    /// Where it would go if it were alone, and were not led on by a field.
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
            Way::Course => match self.ahead {
                Ahead::Unknown => self.step_to(self.end(w).centre(), speed),
                Ahead::NoWay => {
                    self.way = Way::Asked;
                    Step::default()
                }
                Ahead::To(_) => self.come_to(w, speed, w.units.course[self.row]),
            },
        }
    }

    /// Goes straight on from the field of its goal, if it sees its end.
    fn look_for_end(&mut self, w: &World, speed: i32) -> Option<Step> {
        let end = self.end(w).centre();
        let near = self.at.x.abs_diff(end.x).max(self.at.y.abs_diff(end.y)) < NEAR;
        (near && w.map.is_clear(self.at, end)).then(|| {
            self.way = Way::Straight;
            self.step_to(end, speed)
        })
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
    fn be_hindered(&mut self, w: &World, done: Step) {
        // Nothing but a crowd is in the way of one who sees its end. There a unit that is pushed to and fro
        // does not hope for ever, and is content the sooner, the nearer it came.
        let sees = self.way == Way::Straight;
        self.stuck = self.stuck.saturating_add(1 + u8::from(sees));
        let end = self.at.plus(done).distance_squared(self.end(w).centre());
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

/// As much of a step as does not lead into blocked tiles, along each axis by itself.
fn slide(w: &World, from: Point, step: Step) -> Step {
    let to = from.plus(step);
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
    Step {
        x: x.wrapping_sub(from.x),
        y: y.wrapping_sub(from.y),
    }
}

fn square(length: i32) -> u64 {
    u64::from(length.unsigned_abs()).pow(2)
}

/// How far a unit looks whether its straight way is still clear, in the units of a point.
const GLANCE: i32 = ONE - 1;
/// Within this a unit that follows a field looks for its end.
const NEAR: u32 = 24 * ONE as u32;
/// How far a unit that stands is pushed in a tick at most.
const MOST_PUSH: i32 = ONE / 12;
/// Within this of its end a unit that cannot get through a crowd has come near enough.
const CROWDED: i32 = 8 * ONE;
