//! Moving, a batch of units at a time.
//!
//! Fields and ground lie all over the memory. The few lookups of a batch follow each other without branches
//! between them, so that their waits overlap. Work that most units share is done in loops over flat columns,
//! eight at a time where the machine can.

use super::{MOST_PUSH, Walker, slide};
use crate::world::{
    Kind, World,
    crowd::{LOOK_TICKS, Parts, Sensed, in_parts, wide},
    nav::{Block, Direction, Ways},
    tile::Tile,
    units::{Order, Way},
};
use sim::{Num, Vec2};

/// Moves all units by one tick.
pub(in crate::world) fn move_units(w: &mut World, threads: usize) {
    let units = &mut w.units;
    let mut x = std::mem::take(&mut units.x);
    let mut y = std::mem::take(&mut units.y);
    let mut way = std::mem::take(&mut units.way);
    let mut aim = std::mem::take(&mut units.aim);
    let mut stuck = std::mem::take(&mut units.stuck);
    let mut failures = std::mem::take(&mut units.failures);
    let mut headings = std::mem::take(&mut w.headings);
    headings.resize(x.len(), Heading::default());
    let moving = Moving {
        x: &mut x,
        y: &mut y,
        way: &mut way,
        aim: &mut aim,
        stuck: &mut stuck,
        failures: &mut failures,
        headings: &mut headings,
    };
    let world = &*w;
    let known = Known::new(world);
    in_parts(threads, world.units.len(), moving, |from, part| {
        wide::move_part(world, &known, from, part);
    });
    let units = &mut w.units;
    (units.x, units.y, units.way) = (x, y, way);
    (units.aim, units.stuck, units.failures) = (aim, stuck, failures);
    w.headings = headings;
}

/// The columns that a move changes, of some consecutive rows. The world lacks them meanwhile.
pub(in crate::world) struct Moving<'a> {
    x: &'a mut [Num],
    y: &'a mut [Num],
    way: &'a mut [Way],
    aim: &'a mut [u32],
    stuck: &'a mut [u8],
    failures: &'a mut [u8],
    headings: &'a mut [Heading],
}

/// The ways that a field led from the tiles around the unit of a row. A field leads all units alike, so a
/// later unit of the row may go by it.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::world) struct Heading {
    /// The field's stamp; see [`Nav::stamp`](crate::world::nav::Nav::stamp). 0: nothing is known.
    stamp: u32,
    block: Block,
    ways: Ways,
}

/// What a unit that follows a course knows of its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Ahead {
    /// Nothing: the search from its goal has not come to it yet.
    #[default]
    Unknown,
    /// There is none.
    NoWay,
    /// There.
    To(Direction),
}

/// What all units look up.
pub(in crate::world) struct Known {
    /// For each row of the goals the stamp of its field; 0 if no unit went there yet.
    stamps: Vec<u32>,
    /// The speed of each kind.
    speeds: [Num; 16],
}

impl Known {
    fn new(w: &World) -> Self {
        let stamp = |row: usize| {
            let field = w.goals.field(row as u16);
            field.map_or(0, |field| w.map.stamp(field))
        };
        let mut speeds = [Num::ZERO; 16];
        for kind in Kind::ALL {
            speeds[kind as usize] = kind.stats().speed;
        }
        Self {
            stamps: (0..w.goals.len()).map(stamp).collect(),
            speeds,
        }
    }

    #[inline(always)]
    fn stamp(&self, course: u16) -> u32 {
        let stamp = self.stamps.get(usize::from(course));
        stamp.copied().unwrap_or_default()
    }
}

impl Moving<'_> {
    #[inline(always)]
    fn here(&self, at: usize) -> Vec2 {
        Vec2::new(self.x[at], self.y[at])
    }

    #[inline(always)]
    fn walker(&self, from: usize, at: usize, ahead: Ahead) -> Walker {
        Walker {
            row: from + at,
            at: self.here(at),
            ahead,
            way: self.way[at],
            aim: self.aim[at],
            stuck: self.stuck[at],
            failures: self.failures[at],
        }
    }
}

impl Parts for Moving<'_> {
    fn cut(self, at: usize) -> (Self, Self) {
        let (x, y) = (self.x.split_at_mut(at), self.y.split_at_mut(at));
        let (way, aim) = (self.way.split_at_mut(at), self.aim.split_at_mut(at));
        let stuck = self.stuck.split_at_mut(at);
        let failures = self.failures.split_at_mut(at);
        let headings = self.headings.split_at_mut(at);
        let part = |x, y, way, aim, stuck, failures, headings| Moving {
            x,
            y,
            way,
            aim,
            stuck,
            failures,
            headings,
        };
        (
            part(x.0, y.0, way.0, aim.0, stuck.0, failures.0, headings.0),
            part(x.1, y.1, way.1, aim.1, stuck.1, failures.1, headings.1),
        )
    }
}

/// Moves the units of some consecutive rows, the first of which is `from`.
#[inline(always)]
pub(in crate::world) fn move_part(w: &World, known: &Known, from: usize, mut part: Moving<'_>) {
    let mut batch = Batch::default();
    let mut begin = 0;
    while begin < part.x.len() {
        begin = batch.choose(w, from, begin, &part);
        batch.look(w, known, from, &mut part);
        batch.go_onward();
        batch.steer_others(w, from, &mut part);
        batch.add_pushes();
        batch.stop_at_walls(w);
        batch.settle(w, from, &mut part);
    }
}

/// Whether a unit that follows a field looks for its end in this tick.
#[inline(always)]
fn is_turn_to_look(w: &World, id: u32) -> bool {
    w.tick.wrapping_add(id).is_multiple_of(2 * LOOK_TICKS)
}

/// The columns of a part that a move only reads.
struct Own<'a> {
    len: usize,
    id: &'a [u32],
    kind: &'a [Kind],
    hp: &'a [u16],
    order: &'a [Order],
    course: &'a [u16],
    band: &'a [u16],
    sensed: &'a [Sensed],
}

impl<'a> Own<'a> {
    #[inline(always)]
    fn new(w: &'a World, from: usize, len: usize) -> Self {
        let units = &w.units;
        Self {
            len,
            id: &units.id[from..][..len],
            kind: &units.kind[from..][..len],
            hp: &units.hp[from..][..len],
            order: &units.order[from..][..len],
            course: &units.course[from..][..len],
            band: &units.band[from..][..len],
            sensed: &w.crowd.all_sensed()[from..][..len],
        }
    }
}

type Column = [Num; BATCH];

/// A vector for each place, coordinate by coordinate.
struct Vectors {
    x: Column,
    y: Column,
}

impl Vectors {
    const ZERO: Self = Self {
        x: [Num::ZERO; BATCH],
        y: [Num::ZERO; BATCH],
    };

    #[inline(always)]
    fn at(&self, place: usize) -> Vec2 {
        Vec2::new(self.x[place], self.y[place])
    }

    #[inline(always)]
    fn set(&mut self, place: usize, to: Vec2) {
        (self.x[place], self.y[place]) = (to.x, to.y);
    }
}

/// Units of a part that may move in this tick.
struct Batch {
    /// Where they are in the part.
    at: [u32; BATCH],
    len: usize,
    here: Vectors,
    push: Vectors,
    speed: Column,
    ahead: [Ahead; BATCH],
    /// The direction of a unit that follows a field, else 0.
    ahead_x: [i32; BATCH],
    ahead_y: [i32; BATCH],
    wish: Vectors,
    step: Vectors,
    few: List,
}

impl Batch {
    /// Takes the next units that are on their way or pushed, from place `at` of the part on. Returns the
    /// place to go on from.
    #[inline(always)]
    fn choose(&mut self, w: &World, from: usize, mut at: usize, part: &Moving<'_>) -> usize {
        self.len = 0;
        let own = Own::new(w, from, part.x.len());
        let ways = &part.way[..own.len];
        while at < own.len && self.len < BATCH {
            let still = ways[at] == Way::None && own.sensed[at].push() == Vec2::ZERO;
            // The next unit overwrites one that does not count.
            self.at[self.len] = at as u32;
            self.len += usize::from(!still & (own.hp[at] > 0) & (own.order[at] != Order::Inside));
            at += 1;
        }
        at
    }

    /// Finds each unit's direction and speed. `few` then holds the units with no known direction.
    #[inline(always)]
    fn look(&mut self, w: &World, known: &Known, from: usize, part: &mut Moving<'_>) {
        let own = Own::new(w, from, part.x.len());
        let (x, y) = (&part.x[..own.len], &part.y[..own.len]);
        let (ways, headings) = (&part.way[..own.len], &part.headings[..own.len]);
        self.few.clear();
        for place in 0..self.len.min(BATCH) {
            let at = self.at[place] as usize;
            // One check for all columns spares a check for each.
            assert!(at < own.len);
            let here = Vec2::new(x[at], y[at]);
            self.here.set(place, here);
            self.push.set(place, own.sensed[at].push());
            // A standing unit has no speed, and so wishes nothing.
            let speed = if ways[at] == Way::None {
                Num::ZERO
            } else {
                known.speeds[own.kind[at] as usize % 16]
            };
            self.speed[place] = if own.band[at] == 0 {
                speed
            } else {
                w.bands.speed(w, from + at, here, ways[at]).min(speed)
            };
            let stamp = known.stamp(own.course[at]);
            let heading = headings[at];
            let tile = Tile::of(here);
            let way = heading.ways.from(tile);
            let hit = (heading.stamp == stamp) & (heading.block == Block::of(tile)) & (stamp != 0);
            self.ahead[place] = way.map_or(Ahead::NoWay, Ahead::To);
            let follows = ways[at] == Way::Course;
            self.few.add(place, follows & !(hit & way.is_some()));
        }
        for place in self.few.iter() {
            let at = self.at[place] as usize;
            let course = w.units.course[from + at];
            let tile = Tile::of(part.here(at));
            let Some(field) = w.goals.field(course) else {
                self.ahead[place] = Ahead::Unknown;
                continue;
            };
            let stamp = known.stamp(course);
            let block = Block::of(tile);
            let ways = w.map.block(field, block);
            self.ahead[place] = match ways.and_then(|ways| ways.from(tile)) {
                Some(way) => Ahead::To(way),
                None => match w.map.direction_if_ready(field, tile) {
                    Some(way) => way.map_or(Ahead::NoWay, Ahead::To),
                    None => Ahead::Unknown,
                },
            };
            part.headings[at] = Heading {
                stamp: if ways.is_some() { stamp } else { 0 },
                block,
                ways: ways.unwrap_or_default(),
            };
        }
        let ways = &part.way[..own.len];
        self.few.clear();
        for place in 0..self.len.min(BATCH) {
            let at = self.at[place] as usize;
            assert!(at < own.len);
            let follows = ways[at] == Way::Course;
            let (x, y) = match self.ahead[place] {
                Ahead::To(direction) if follows => direction.step(),
                _ => (0, 0),
            };
            (self.ahead_x[place], self.ahead_y[place]) = (x, y);
            let looks = is_turn_to_look(w, own.id[at]);
            let onward = follows & ((x | y) != 0) & !looks;
            self.few.add(place, !onward & (ways[at] != Way::None));
        }
    }

    /// A step to the next tile, on the same track as now, so that many walk side by side; away from the
    /// edge of the tile, where corners are.
    #[inline(always)]
    fn go_onward(&mut self) {
        for place in 0..BATCH {
            let (x, y) = (self.ahead_x[place], self.ahead_y[place]);
            let speed = self.speed[place];
            let aside = |at: Num| {
                let within = at.frac();
                let most = speed >> 1;
                let low = (EDGE - within).max(Num::ZERO).min(most);
                let high = (within - FAR_EDGE).max(Num::ZERO).min(most);
                low.wrapping_sub(high)
            };
            let slanting = speed.wrapping_mul_int(181) >> 8;
            let part = if x != 0 && y != 0 { slanting } else { speed };
            let here = self.here.at(place);
            let (aside_x, aside_y) = (aside(here.x), aside(here.y));
            self.wish.x[place] = if x == 0 {
                aside_x
            } else {
                part.wrapping_mul_int(x)
            };
            self.wish.y[place] = if y == 0 {
                aside_y
            } else {
                part.wrapping_mul_int(y)
            };
        }
    }

    /// Steers the units that do not simply follow a field.
    #[inline(always)]
    fn steer_others(&mut self, w: &World, from: usize, part: &mut Moving<'_>) {
        for place in self.few.iter() {
            let at = self.at[place] as usize;
            let mut walker = part.walker(from, at, self.ahead[place]);
            let speed = self.speed[place];
            let looks = walker.way == Way::Course && is_turn_to_look(w, w.units.id[from + at]);
            let end = if looks {
                walker.look_for_end(w, speed)
            } else {
                None
            };
            let led = walker.way == Way::Course && (self.ahead_x[place] | self.ahead_y[place]) != 0;
            let wish = match end {
                None if !led => Some(walker.steer(w, speed)),
                end => end,
            };
            if let Some(wish) = wish {
                self.wish.set(place, wish);
            }
            part.way[at] = walker.way;
            part.aim[at] = walker.aim;
            part.stuck[at] = walker.stuck;
        }
    }

    /// Adds pushes to the wishes. A unit also goes around a unit in its way, on the side nearer to its wish.
    #[inline(always)]
    fn add_pushes(&mut self) {
        for place in 0..BATCH {
            let (wish, push) = (self.wish.at(place), self.push.at(place));
            let blocked = push.dot(wish).is_negative();
            let (left, right) = (push.y.wrapping_neg(), push.x.wrapping_neg());
            let (side_x, side_y) = if push.cross(wish).is_negative() {
                (push.y, right)
            } else {
                (left, push.x)
            };
            let most = if wish == Vec2::ZERO {
                MOST_PUSH
            } else {
                self.speed[place] >> 1
            };
            let held = |push: Num, side: Num| {
                let side = if blocked { side } else { Num::ZERO };
                let pushed = push.wrapping_add(side);
                pushed.min(most).max(most.wrapping_neg())
            };
            self.step.x[place] = wish.x.wrapping_add(held(push.x, side_x));
            self.step.y[place] = wish.y.wrapping_add(held(push.y, side_y));
        }
    }

    #[inline(always)]
    fn stop_at_walls(&mut self, w: &World) {
        // Most steps stay within a tile, and a unit may always move within its tile.
        self.few.clear();
        for place in 0..self.len.min(BATCH) {
            let (here, step) = (self.here.at(place), self.step.at(place));
            let to = Vec2::new(here.x.wrapping_add(step.x), here.y.wrapping_add(step.y));
            self.few.add(place, Tile::of(to) != Tile::of(here));
        }
        for place in self.few.iter() {
            let step = slide(w, self.here.at(place), self.step.at(place));
            self.step.set(place, step);
        }
    }

    /// Makes the steps, and counts the ticks of units that do not advance.
    #[inline(always)]
    fn settle(&mut self, w: &World, from: usize, part: &mut Moving<'_>) {
        let mut hindered = [0_u8; BATCH];
        for (place, hindered) in hindered.iter_mut().enumerate() {
            let (step, wish) = (self.step.at(place), self.wish.at(place));
            // It advances by less than a fifth of what it wishes.
            *hindered = u8::from(step.dot(wish).wrapping_mul_int(5) < wish.dot(wish));
        }
        self.few.clear();
        let len = part.x.len();
        let stuck = &mut part.stuck[..len];
        for (place, hindered) in hindered.iter().enumerate().take(self.len) {
            let at = self.at[place] as usize;
            assert!(at < len);
            let wants = self.wish.at(place) != Vec2::ZERO;
            let relief = u8::from(wants && *hindered == 0);
            stuck[at] = stuck[at].saturating_sub(relief);
            self.few.add(place, *hindered != 0);
        }
        for place in self.few.iter() {
            let at = self.at[place] as usize;
            let mut walker = part.walker(from, at, Ahead::Unknown);
            walker.be_hindered(w, self.step.at(place));
            part.way[at] = walker.way;
            part.stuck[at] = walker.stuck;
            part.failures[at] = walker.failures;
        }
        let len = part.x.len();
        let (x, y) = (&mut part.x[..len], &mut part.y[..len]);
        for place in 0..self.len.min(BATCH) {
            let at = self.at[place] as usize;
            assert!(at < len);
            x[at] = self.here.x[place].wrapping_add(self.step.x[place]);
            y[at] = self.here.y[place].wrapping_add(self.step.y[place]);
        }
    }
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            at: [0; BATCH],
            len: 0,
            here: Vectors::ZERO,
            push: Vectors::ZERO,
            speed: [Num::ZERO; BATCH],
            ahead: [Ahead::Unknown; BATCH],
            ahead_x: [0; BATCH],
            ahead_y: [0; BATCH],
            wish: Vectors::ZERO,
            step: Vectors::ZERO,
            few: List::default(),
        }
    }
}

/// Some places of a batch, in ascending order.
struct List {
    places: [u8; BATCH],
    len: usize,
}

impl List {
    /// Adds a place if `so`. At most [`BATCH`] may be added.
    #[inline(always)]
    fn add(&mut self, place: usize, so: bool) {
        // The next place overwrites one that does not count.
        self.places[self.len % BATCH] = place as u8;
        self.len += usize::from(so);
    }

    #[inline(always)]
    fn clear(&mut self) {
        self.len = 0;
    }

    #[inline(always)]
    fn iter(&self) -> impl Iterator<Item = usize> + use<> {
        let places = self.places;
        (0..self.len).map(move |at| usize::from(places[at % BATCH]) % BATCH)
    }
}

impl Default for List {
    fn default() -> Self {
        Self {
            places: [0; BATCH],
            len: 0,
        }
    }
}

/// How near to a tile's edge corners are in the way.
const EDGE: Num = Num::lit("0.125");
/// The same from the other edge.
const FAR_EDGE: Num = Num::lit("0.875");
/// Units that are dealt with together.
const BATCH: usize = 64;
