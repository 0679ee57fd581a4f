//! How units move: straight to what they see and else by the field of their goal, apart from each other,
//! never into blocked tiles.
//!
//! All units move from their places at the start of the tick, so threads may share the work. A push is weaker
//! than a step: no unit keeps another from moving for good, and no choke point is jammed.

mod batch;

use batch::Ahead;
pub(super) use batch::{Heading, Known, Moving, move_part, move_units};

use super::{World, crowd::LOOK_TICKS, tables::RULES, tile::Tile, units::Way};
use sim::{Num, Vec2, Wide};

/// A unit on the move.
struct Walker {
    row: usize,
    at: Vec2,
    /// What it knows of its way, if it follows a course.
    ahead: Ahead,
    way: Way,
    aim: u32,
    stuck: u8,
    failures: u8,
}

impl Walker {
    /// The step that it would take alone and without a field.
    fn steer(&mut self, w: &World, speed: Num) -> Vec2 {
        let turn = w.tick.wrapping_add(w.units.id[self.row]);
        match self.way {
            Way::None => Vec2::ZERO,
            Way::Asked => self.step_to(self.end(w).centre(), speed),
            Way::Straight => {
                let end = self.end(w).centre();
                // A push, at most half a step each way, can keep a unit from its end for ever, but not by a step.
                if self.at.distance_squared(end) < square(speed.max(NEAREST)) {
                    self.stop();
                    return Vec2::ZERO;
                }
                // It saw all of the way when it set out; a push may have taken it behind a corner.
                if turn.is_multiple_of(LOOK_TICKS) {
                    let ahead = self.step_to(end, GLANCE);
                    if !w.map.is_clear(self.at, self.at + ahead) {
                        self.way = Way::Asked;
                    }
                }
                self.step_to(end, speed)
            }
            Way::Course => match self.ahead {
                Ahead::Unknown => self.step_to(self.end(w).centre(), speed),
                Ahead::NoWay => {
                    self.way = Way::Asked;
                    Vec2::ZERO
                }
                Ahead::To(_) => self.come_to(w, speed, w.units.course[self.row]),
            },
        }
    }

    /// Goes straight on from the field of its goal, if it sees its end.
    fn look_for_end(&mut self, w: &World, speed: Num) -> Option<Vec2> {
        let end = self.end(w).centre();
        let near = self.at.x.abs_diff(end.x).max(self.at.y.abs_diff(end.y)) < NEAR;
        (near && w.map.is_clear(self.at, end)).then(|| {
            self.way = Way::Straight;
            self.step_to(end, speed)
        })
    }

    /// At the end of the field: on to the side of what is there, or to its own place.
    fn come_to(&mut self, w: &World, speed: Num, course: u16) -> Vec2 {
        let (place, size) = w.goals.place(course);
        let corner = w.map.tile_of(place);
        if w.map.is_blocked(corner) {
            let nearest = corner.nearest_of_square(size, self.at);
            if self.at.distance(nearest) <= BESIDE {
                self.stop();
                return Vec2::ZERO;
            }
            return self.step_to(nearest, speed);
        }
        let end = self.end(w);
        self.aim = w.map.index(end);
        self.way = Way::Asked;
        self.step_to(end.centre(), speed)
    }

    fn step_to(&self, to: Vec2, speed: Num) -> Vec2 {
        (to - self.at).clamp_roughly(speed)
    }

    fn stop(&mut self) {
        self.way = Way::None;
        self.stuck = 0;
    }

    fn end(&self, w: &World) -> Tile {
        end_of(w, self.row, self.aim)
    }

    /// Counts ticks without advance. It asks anew, or stops when it is near enough.
    fn be_hindered(&mut self, w: &World, done: Vec2) {
        // Only a crowd is in the way of a unit that sees its end. A unit that is pushed to and fro there
        // gives up, the sooner the nearer it came.
        let sees = self.way == Way::Straight;
        self.stuck = self.stuck.saturating_add(1 + u8::from(sees));
        let end = (self.at + done).distance_squared(self.end(w).centre());
        let near = self.stuck >= 8 && end < square(Num::lit("2.5"));
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
fn slide(w: &World, from: Vec2, step: Vec2) -> Vec2 {
    let to = from + step;
    let x = if w.map.is_blocked_at(Vec2::new(to.x, from.y)) {
        from.x
    } else {
        to.x
    };
    let y = if w.map.is_blocked_at(Vec2::new(x, to.y)) {
        from.y
    } else {
        to.y
    };
    Vec2::new(x, y) - from
}

fn square(length: Num) -> Wide {
    length.wide_mul(length)
}

/// How far a unit looks whether its straight way is still clear.
const GLANCE: Num = Num::lit("0.99998");
/// Within this of its end a unit has arrived, however slow it is.
const NEAREST: Num = Num::lit("0.0625");
/// Within this of a building's side a unit has arrived there.
const BESIDE: Num = Num::lit("0.5");
/// Within this a unit that follows a field looks for its end.
const NEAR: Num = Num::lit("24");
/// How far a unit that stands is pushed in a tick at most.
const MOST_PUSH: Num = Num::lit("0.08333");
/// Within this of its end a unit that cannot get through a crowd has come near enough.
const CROWDED: Num = Num::lit("8");
