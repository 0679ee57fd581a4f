//! Who is near whom. Made anew in every tick from the units and buildings; never state, and no result
//! depends on the size of its cells.

mod bodies;
mod kernel;
mod masks;
mod scan;
#[cfg(test)]
mod tests;
mod threads;
pub(super) mod wide;

pub(super) use scan::{News, Note, Sensed, scan};
pub(super) use threads::{Parts, Threads, in_parts, of_parts, on_threads};

use super::{
    Kind, World,
    units::{Load, Order, Units, Way},
};
use bodies::{Bodies, Body, CIVIL, Coarse, FIRM, FIRM_AT, GHOST, GUARDS, LOOKS, SEAT_AT, TARGETS};
use masks::Masks;
use sim::{Num, Vec2};

/// All units on the map, sorted by cell, and which seats are where.
#[derive(Clone, Debug, Default)]
pub(super) struct Crowd {
    bodies: Bodies,
    /// For each cell, where its bodies begin; one more at the end.
    begin: Vec<u32>,
    /// Cells along an edge of the map.
    wide: i32,
    /// A cell's edge is 2 to this, in bits of the kernels' numbers.
    shift: u32,
    /// Tiles along a cell's edge, as a power of two, that suit how crowded the last tick was.
    fitting: Option<u32>,
    /// What every row is to its neighbours, and where.
    rows: Vec<Row>,
    /// For each row, its place among the bodies.
    place: Vec<u32>,
    /// The widest unit's radius.
    widest: Coarse,
    masks: Masks,
    /// What each body found out, in the order of the bodies.
    found: Vec<Sensed>,
    /// The same for each row, in which order it is read.
    sensed: Vec<Sensed>,
    /// For each row, whether it has anything to do in this tick.
    acts: Vec<bool>,
}

/// One unit on its way into the order of the cells.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    x: Coarse,
    y: Coarse,
    /// See [`Body`].
    body: i32,
    /// [`NOWHERE`] for who is not on the map.
    cell: u32,
}

impl Crowd {
    /// Sorts everybody by counting.
    pub fn fill(w: &mut World, threads: usize) {
        let mut crowd = std::mem::take(&mut w.crowd);
        crowd.widest = widest();
        crowd.sort(w, threads);
        crowd.masks.fill(w, &crowd.bodies);
        w.crowd = crowd;
    }

    /// What a unit found out in this tick: nothing, if it was not on the map.
    #[inline]
    pub fn sensed(&self, row: usize) -> Sensed {
        self.sensed[row]
    }

    /// The same of all rows.
    #[inline]
    pub fn all_sensed(&self) -> &[Sensed] {
        &self.sensed
    }

    /// Rows of the units that have something to do in this tick, from one row on.
    pub fn next_to_act(&self, from: usize) -> Option<usize> {
        let next = self.acts.get(from..)?.iter().position(|acts| *acts)?;
        Some(from + next)
    }

    /// Rows of the units that were within `reach` of a place, along each axis, when the tick began. Their
    /// order means nothing.
    pub fn near(&self, at: Vec2, reach: Num) -> impl Iterator<Item = usize> + '_ {
        let (x, y) = (at.x.to_num::<Coarse>(), at.y.to_num::<Coarse>());
        let reach = reach.to_num::<Coarse>() + Coarse::DELTA;
        // Cells reach farther, as far as their size has it, and that must show in no result.
        let near = move |place: &usize| {
            let (dx, dy) = (self.bodies.x[*place] - x, self.bodies.y[*place] - y);
            dx.abs() <= reach && dy.abs() <= reach
        };
        self.around(x, y, reach)
            .flat_map(|(from, to)| from..to)
            .filter(near)
            .map(|place| self.bodies.row[place] as usize)
    }

    /// Bytes that it keeps from tick to tick.
    pub fn memory(&self) -> usize {
        self.bodies.memory()
            + self.masks.memory()
            + size_of::<u32>() * (self.begin.capacity() + self.place.capacity())
            + size_of::<Row>() * self.rows.capacity()
            + self.acts.capacity()
            + size_of::<Sensed>() * (self.found.capacity() + self.sensed.capacity())
    }

    fn sort(&mut self, w: &World, threads: usize) {
        let units = &w.units;
        let tiles = i32::from(w.map.size());
        let side = self
            .fitting
            .unwrap_or_else(|| usual_side(tiles, units.len()));
        self.shift = 10 + side;
        self.wide = (tiles + (1 << side) - 1) >> side;
        let (shift, wide) = (self.shift, self.wide);
        self.rows.resize(units.len(), Row::default());
        let rows = self.rows.as_mut_slice();
        let (tick, make) = (w.tick, RowMaker::new());
        in_parts(threads, units.len(), rows, |from, part| {
            make.fill(units, tick, (shift, wide), from, part);
        });
        let living = self.count();
        if w.tick.is_multiple_of(FITTING_TICKS) {
            let squares = self.begin[2..]
                .iter()
                .map(|here| u64::from(*here) * u64::from(*here));
            self.fitting = Some(fitting_side(side, tiles, living, squares.sum()));
        }
        self.bodies.resize(living);
        self.put_in_order();
        self.bodies.gather(&self.rows, threads);
    }

    /// Counts who is in each cell, one after the first of its own; and all on the map.
    fn count(&mut self) -> usize {
        let cells = self.wide as usize * self.wide as usize;
        self.begin.clear();
        self.begin.resize(cells + 2, 0);
        let mut living = 0;
        for row in &self.rows {
            if row.cell != NOWHERE {
                let count = &mut self.begin[row.cell as usize + 2];
                *count = count.wrapping_add(1);
                living += 1;
            }
        }
        living
    }

    /// Gives everybody on the map a place among the bodies.
    fn put_in_order(&mut self) {
        let mut sum: u32 = 0;
        for begin in &mut self.begin[2..] {
            sum = sum.wrapping_add(*begin);
            *begin = sum;
        }
        self.place.resize(self.rows.len(), NOWHERE);
        let places = self.rows.iter().zip(&mut self.place);
        for (number, (row, place)) in (0_u32..).zip(places) {
            if row.cell == NOWHERE {
                *place = NOWHERE;
                continue;
            }
            let end = &mut self.begin[row.cell as usize + 1];
            *place = *end;
            self.bodies.row[*end as usize] = number;
            *end = end.wrapping_add(1);
        }
        self.begin.pop();
    }

    /// The bodies in all cells that come within `reach` of a place, one run for each line of cells.
    #[inline(always)]
    fn around(
        &self,
        x: Coarse,
        y: Coarse,
        reach: Coarse,
    ) -> impl Iterator<Item = (usize, usize)> + '_ {
        let cell = |at: Coarse| (at.to_bits() >> self.shift).clamp(0, self.wide - 1);
        let (left, right) = (cell(x - reach), cell(x + reach));
        (cell(y - reach)..=cell(y + reach)).map(move |line| {
            let line = line * self.wide;
            let from = self.begin[(line + left) as usize];
            let to = self.begin[(line + right + 1) as usize];
            (from as usize, to as usize)
        })
    }
}

/// Makes rows out of units, without deciding anything that a table can tell.
struct RowMaker {
    /// What any unit of a kind is.
    kinds: [i32; 16],
    /// What an order makes of a unit.
    orders: [OrderTraits; 16],
}

/// What an order makes of a unit: masks of what it may be.
#[derive(Clone, Copy, Default)]
struct OrderTraits {
    /// [`GUARDS`], if all do.
    guards: i32,
    /// [`GUARDS`], if soldiers do.
    guards_soldiers: i32,
    /// [`TARGETS`], if its target is somebody to strike.
    targets: i32,
    /// [`FIRM`], if it stands its ground.
    holds: i32,
    /// [`GHOST`]: workers on their rounds walk through each other, so that nobody jams a mine.
    rounds: i32,
    /// Whether it is on the map.
    outside: bool,
}

impl RowMaker {
    fn new() -> Self {
        let mut kinds = [0; 16];
        for kind in Kind::ALL {
            let body = Body::new(kind.stats().radius.to_num(), 0, 0);
            kinds[kind as usize] = body.with(CIVIL, !kind.is_soldier()).0;
        }
        let mut orders = [OrderTraits::default(); 16];
        for order in (0..16).filter_map(Order::from_number) {
            let guards = order.guards() && order != Order::Idle;
            let flag = |flag, so: bool| if so { flag } else { 0 };
            orders[order as usize] = OrderTraits {
                guards: flag(GUARDS, guards),
                guards_soldiers: flag(GUARDS, order.guards()),
                targets: flag(TARGETS, order.strikes()),
                holds: flag(FIRM, order == Order::Hold),
                rounds: flag(GHOST, matches!(order, Order::Gather | Order::Return)),
                outside: order != Order::Inside,
            };
        }
        Self { kinds, orders }
    }

    /// Makes the rows from `from` on, for cells of this size and so many in a line.
    #[inline]
    fn fill(
        &self,
        units: &Units,
        tick: u32,
        (shift, wide): (u32, i32),
        from: usize,
        out: &mut [Row],
    ) {
        let rows = from..from + out.len();
        let (x, y) = (&units.x[rows.clone()], &units.y[rows.clone()]);
        let (id, hp) = (&units.id[rows.clone()], &units.hp[rows.clone()]);
        let (kind, seat) = (&units.kind[rows.clone()], &units.seat[rows.clone()]);
        let (order, way) = (&units.order[rows.clone()], &units.way[rows.clone()]);
        let (target, load) = (&units.target[rows.clone()], &units.load[rows]);
        for (row, out) in out.iter_mut().enumerate() {
            let (x, y) = (x[row].to_num::<Coarse>(), y[row].to_num::<Coarse>());
            let (column, line) = (x.to_bits() >> shift, y.to_bits() >> shift);
            let cell = line.wrapping_mul(wide).wrapping_add(column);
            let kind = self.kinds[kind[row] as usize % 16];
            let traits = self.orders[order[row] as usize % 16];
            let is_on_map = traits.outside & (hp[row] > 0);
            let moves = way[row] != Way::None;
            let has_target = target[row] != 0;
            // Those who stand idle make way; those who fight or hold hardly do.
            let stands = if has_target { FIRM } else { traits.holds };
            let firm = if moves { 0 } else { stands };
            let firmness = if moves | (firm != 0) { 4 } else { 2 };
            let carries = moves | (load[row] != Load::Nothing);
            let guards = if kind & CIVIL == 0 {
                traits.guards_soldiers
            } else {
                traits.guards
            };
            let looks = tick.wrapping_add(id[row]).is_multiple_of(LOOK_TICKS);
            let body = kind
                | firmness << FIRM_AT
                | i32::from(seat[row]) << SEAT_AT
                | firm
                | if carries { traits.rounds } else { 0 }
                | guards
                | if looks { LOOKS } else { 0 }
                | if has_target { traits.targets } else { 0 };
            *out = Row {
                x,
                y,
                body,
                cell: if is_on_map { cell as u32 } else { NOWHERE },
            };
        }
    }
}

/// Tiles along a cell's edge, as a power of two, so that there are a few cells for each unit.
fn usual_side(tiles: i32, units: usize) -> u32 {
    let tiles = u64::from(tiles.unsigned_abs()).pow(2);
    (0..LARGEST_SIDE)
        .find(|side| tiles >> (2 * side) <= 2 * units as u64 + 1_024)
        .unwrap_or(LARGEST_SIDE)
}

/// Smaller cells where a body has many others in its own, larger ones where cells are mostly empty.
fn fitting_side(side: u32, tiles: i32, units: usize, crowded: u64) -> u32 {
    let units = units.max(1) as u64;
    let tiles = u64::from(tiles.unsigned_abs()).pow(2);
    let usual = usual_side(tiles.isqrt() as i32, units as usize);
    if side > 0 && crowded > units * 4 && tiles >> (2 * (side - 1)) <= 12 * units + 1_024 {
        side - 1
    } else if side < usual && crowded < units * 3 / 2 {
        side + 1
    } else {
        side
    }
}

/// The widest unit's radius.
fn widest() -> Coarse {
    let units = Kind::ALL.into_iter().filter(|kind| !kind.is_building());
    let widest = units.map(|kind| kind.stats().radius).max();
    widest.unwrap_or_default().to_num()
}

/// Everybody looks around once in so many ticks.
pub(super) const LOOK_TICKS: u32 = 8;
/// Ticks between two looks whether other cells would suit better.
const FITTING_TICKS: u32 = 16;
/// No place among the bodies.
const NOWHERE: u32 = u32::MAX;
/// The largest cell's edge: 8 tiles.
const LARGEST_SIDE: u32 = 3;
