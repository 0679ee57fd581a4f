//! Moving, a batch of units at a time.
//!
//! Fields and ground lie all over the memory: what few of a batch need of them is asked for one right
//! after the other, with nothing to decide in between, so that it comes together. What most do alike is
//! done in loops over flat columns, eight at a time where the machine can.

use super::{MOST_PUSH, Walker, slide};
use crate::world::{
    Kind, World,
    crowd::{LOOK_TICKS, Parts, Sensed, in_parts, wide},
    nav::{Block, Direction, FieldId, Ways},
    space::{ONE, Point, Step, Tile},
    units::{Order, Way},
};

/// Moves everybody by one tick.
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
    x: &'a mut [i32],
    y: &'a mut [i32],
    way: &'a mut [Way],
    aim: &'a mut [u32],
    stuck: &'a mut [u8],
    failures: &'a mut [u8],
    headings: &'a mut [Heading],
}

/// Which ways a field led from the tiles around the unit of a row. It leads everybody the same ways, so
/// whoever has the row by now may go by it.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::world) struct Heading {
    /// Of the field; see [`Nav::stamp`](crate::world::nav::Nav::stamp). 0: nothing is known.
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
    /// For each row of the goals its field and the field's stamp; 0 if nobody went there yet.
    fields: Vec<(u32, FieldId)>,
    /// Of each kind.
    speeds: [i32; 16],
}

impl Known {
    fn new(w: &World) -> Self {
        let field = |row: usize| {
            let field = w.goals.field(row as u16);
            field.map_or_else(Default::default, |field| (w.map.stamp(field), field))
        };
        let mut speeds = [0; 16];
        for kind in Kind::ALL {
            speeds[kind as usize] = kind.stats().speed;
        }
        Self {
            fields: (0..w.goals.len()).map(field).collect(),
            speeds,
        }
    }

    #[inline(always)]
    fn field(&self, course: u16) -> (u32, FieldId) {
        let field = self.fields.get(usize::from(course));
        field.copied().unwrap_or_default()
    }
}

impl Moving<'_> {
    fn here(&self, at: usize) -> Point {
        Point {
            x: self.x[at],
            y: self.y[at],
        }
    }

    /// The tile on which a unit is. All are on the map.
    #[inline(always)]
    fn tile(&self, at: usize) -> Tile {
        Tile::new((self.x[at] >> 16) as u16, (self.y[at] >> 16) as u16)
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

type Column = [i32; BATCH];

/// Those of some consecutive units that may move in this tick, one after the other.
struct Batch {
    /// Where they are in the part.
    at: [u32; BATCH],
    len: usize,
    x: Column,
    y: Column,
    push_x: Column,
    push_y: Column,
    speed: Column,
    ahead: [Ahead; BATCH],
    /// The direction of those who follow a field, else 0.
    ahead_x: Column,
    ahead_y: Column,
    wish_x: Column,
    wish_y: Column,
    step_x: Column,
    step_y: Column,
    few: List,
}

impl Batch {
    /// Takes the next who are on their way or pushed, from place `at` of the part on. Returns where to go
    /// on.
    #[inline(always)]
    fn choose(&mut self, w: &World, from: usize, mut at: usize, part: &Moving<'_>) -> usize {
        self.len = 0;
        let own = Own::new(w, from, part.x.len());
        let ways = &part.way[..own.len];
        while at < own.len && self.len < BATCH {
            let still = ways[at] == Way::None && own.sensed[at].push() == Step::default();
            // What is not counted is overwritten by the next.
            self.at[self.len] = at as u32;
            self.len += usize::from(!still & (own.hp[at] > 0) & (own.order[at] != Order::Inside));
            at += 1;
        }
        at
    }

    /// Finds out which way and how fast they go. Who does not follow a field is among the few after this.
    #[inline(always)]
    fn look(&mut self, w: &World, known: &Known, from: usize, part: &mut Moving<'_>) {
        let own = Own::new(w, from, part.x.len());
        let (x, y) = (&part.x[..own.len], &part.y[..own.len]);
        let (ways, headings) = (&part.way[..own.len], &part.headings[..own.len]);
        self.few.clear();
        for place in 0..self.len.min(BATCH) {
            let at = self.at[place] as usize;
            // Said once for all columns, so that it is not asked for each.
            assert!(at < own.len);
            (self.x[place], self.y[place]) = (x[at], y[at]);
            let push = own.sensed[at].push();
            (self.push_x[place], self.push_y[place]) = (push.x, push.y);
            // Who stands has no speed, and so wishes nothing.
            let speed = if ways[at] == Way::None {
                0
            } else {
                known.speeds[own.kind[at] as usize % 16]
            };
            self.speed[place] = if own.band[at] == 0 {
                speed
            } else {
                let here = Point { x: x[at], y: y[at] };
                w.bands.speed(w, from + at, here, ways[at]).min(speed)
            };
            let (stamp, _) = known.field(own.course[at]);
            let heading = headings[at];
            let tile = Tile::new((x[at] >> 16) as u16, (y[at] >> 16) as u16);
            let way = heading.ways.from(tile);
            let hit = (heading.stamp == stamp) & (heading.block == Block::of(tile)) & (stamp != 0);
            self.ahead[place] = way.map_or(Ahead::NoWay, Ahead::To);
            let follows = ways[at] == Way::Course;
            self.few.add(place, follows & !(hit & way.is_some()));
        }
        for place in self.few.iter() {
            let at = self.at[place] as usize;
            let (stamp, field) = known.field(w.units.course[from + at]);
            let tile = part.tile(at);
            if stamp == 0 {
                self.ahead[place] = Ahead::Unknown;
                continue;
            }
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
            let aside = |at: i32| {
                let within = at & (ONE - 1);
                let most = speed >> 1;
                let low = (ONE / 8 - within).max(0).min(most);
                let high = (within - ONE * 7 / 8).max(0).min(most);
                low.wrapping_sub(high)
            };
            let slanting = speed.wrapping_mul(181) >> 8;
            let part = if x != 0 && y != 0 { slanting } else { speed };
            let (aside_x, aside_y) = (aside(self.x[place]), aside(self.y[place]));
            self.wish_x[place] = if x == 0 {
                aside_x
            } else {
                x.wrapping_mul(part)
            };
            self.wish_y[place] = if y == 0 {
                aside_y
            } else {
                y.wrapping_mul(part)
            };
        }
    }

    /// Lets those steer who do not simply follow a field.
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
                self.wish_x[place] = wish.x;
                self.wish_y[place] = wish.y;
            }
            part.way[at] = walker.way;
            part.aim[at] = walker.aim;
            part.stuck[at] = walker.stuck;
        }
    }

    /// What becomes of the wishes among the others: a push, and around whoever stands in the way, on the
    /// side that is nearer to the wish.
    #[inline(always)]
    fn add_pushes(&mut self) {
        for place in 0..BATCH {
            let (wish_x, wish_y) = (self.wish_x[place], self.wish_y[place]);
            let (push_x, push_y) = (self.push_x[place], self.push_y[place]);
            let along = |x: i32, y: i32| {
                let along = i64::from(x).wrapping_mul(i64::from(wish_x));
                along.wrapping_add(i64::from(y).wrapping_mul(i64::from(wish_y)))
            };
            let blocked = along(push_x, push_y) < 0;
            let left = along(push_y.wrapping_neg(), push_x) >= 0;
            let (side_x, side_y) = if left {
                (push_y.wrapping_neg(), push_x)
            } else {
                (push_y, push_x.wrapping_neg())
            };
            let (side_x, side_y) = if blocked { (side_x, side_y) } else { (0, 0) };
            let waits = wish_x | wish_y == 0;
            let most = if waits {
                MOST_PUSH
            } else {
                self.speed[place] >> 1
            };
            let held = |part: i32| part.min(most).max(most.wrapping_neg());
            self.step_x[place] = wish_x.wrapping_add(held(push_x.wrapping_add(side_x)));
            self.step_y[place] = wish_y.wrapping_add(held(push_y.wrapping_add(side_y)));
        }
    }

    #[inline(always)]
    fn stop_at_walls(&mut self, w: &World) {
        // Most steps stay within a tile, and whoever is in it may move in it.
        self.few.clear();
        for place in 0..self.len.min(BATCH) {
            let (x, y) = (self.x[place], self.y[place]);
            let to_x = x.wrapping_add(self.step_x[place]);
            let to_y = y.wrapping_add(self.step_y[place]);
            self.few.add(place, (to_x ^ x | to_y ^ y) >> 16 != 0);
        }
        for place in self.few.iter() {
            let (x, y) = (self.x[place], self.y[place]);
            let step = Step {
                x: self.step_x[place],
                y: self.step_y[place],
            };
            let step = slide(w, Point { x, y }, step);
            self.step_x[place] = step.x;
            self.step_y[place] = step.y;
        }
    }

    /// Makes the steps. Who does not get on takes note of it.
    #[inline(always)]
    fn settle(&mut self, w: &World, from: usize, part: &mut Moving<'_>) {
        let mut hindered = [0_u8; BATCH];
        for (place, hindered) in hindered.iter_mut().enumerate() {
            let (wish_x, wish_y) = (self.wish_x[place], self.wish_y[place]);
            let ahead = |done: i32, wish: i32| {
                let more = i64::from(done)
                    .wrapping_mul(5)
                    .wrapping_sub(i64::from(wish));
                more.wrapping_mul(i64::from(wish))
            };
            let on =
                ahead(self.step_x[place], wish_x).wrapping_add(ahead(self.step_y[place], wish_y));
            *hindered = u8::from(on < 0);
        }
        self.few.clear();
        let len = part.x.len();
        let stuck = &mut part.stuck[..len];
        for (place, hindered) in hindered.iter().enumerate().take(self.len) {
            let at = self.at[place] as usize;
            assert!(at < len);
            let wants = self.wish_x[place] | self.wish_y[place] != 0;
            let relief = u8::from(wants && *hindered == 0);
            stuck[at] = stuck[at].saturating_sub(relief);
            self.few.add(place, *hindered != 0);
        }
        for place in self.few.iter() {
            let at = self.at[place] as usize;
            let mut walker = part.walker(from, at, Ahead::Unknown);
            walker.be_hindered(
                w,
                Step {
                    x: self.step_x[place],
                    y: self.step_y[place],
                },
            );
            part.way[at] = walker.way;
            part.stuck[at] = walker.stuck;
            part.failures[at] = walker.failures;
        }
        let len = part.x.len();
        let (x, y) = (&mut part.x[..len], &mut part.y[..len]);
        for place in 0..self.len.min(BATCH) {
            let at = self.at[place] as usize;
            assert!(at < len);
            x[at] = self.x[place].wrapping_add(self.step_x[place]);
            y[at] = self.y[place].wrapping_add(self.step_y[place]);
        }
    }
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            at: [0; BATCH],
            len: 0,
            x: [0; BATCH],
            y: [0; BATCH],
            push_x: [0; BATCH],
            push_y: [0; BATCH],
            speed: [0; BATCH],
            ahead: [Ahead::Unknown; BATCH],
            ahead_x: [0; BATCH],
            ahead_y: [0; BATCH],
            wish_x: [0; BATCH],
            wish_y: [0; BATCH],
            step_x: [0; BATCH],
            step_y: [0; BATCH],
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
    /// Adds a place, if it is so. At most [`BATCH`] may be added.
    #[inline(always)]
    fn add(&mut self, place: usize, so: bool) {
        // What is not counted is overwritten by the next.
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

/// Units that are dealt with together.
const BATCH: usize = 64;
