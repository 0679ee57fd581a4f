//! Who is near whom. Made anew in every tick from the units and buildings; never state, and no result
//! depends on the size of its cells.

mod bodies;
mod kernel;
mod masks;
mod scan;
#[cfg(test)]
mod tests;
mod threads;
mod wide;

pub(super) use bodies::COARSER;
pub(super) use scan::{Note, Sensed, scan};
pub(super) use threads::{Parts, Threads, in_parts};

use super::{
    Kind, World,
    space::Point,
    units::{Load, Order, Units, Way},
};
use bodies::{Bodies, Body, CIVIL, FIRM, GHOST, GUARDS, LOOKS, TARGETS};
use masks::Masks;

/// All units on the map, sorted by cell, and which seats are where.
#[derive(Clone, Debug, Default)]
pub(super) struct Crowd {
    bodies: Bodies,
    /// For each cell, where its bodies begin; one more at the end.
    begin: Vec<u32>,
    /// Cells along an edge of the map.
    wide: i32,
    /// A cell's edge is 2 to this, in the kernels' units.
    shift: u32,
    /// Tiles along a cell's edge, as a power of two, that suit how crowded the last tick was.
    fitting: Option<u32>,
    /// Cell of every row; [`NOWHERE`] for the dead.
    cells: Vec<u32>,
    /// For each row, its place among the bodies.
    place: Vec<u32>,
    /// The widest unit's radius.
    widest: i32,
    masks: Masks,
    /// What each body found out, in the order of the bodies.
    found: Vec<Sensed>,
    /// The same for each row, in which order it is read.
    sensed: Vec<Sensed>,
}

impl Crowd {
    /// Sorts everybody by counting.
    pub fn fill(w: &mut World) {
        let mut crowd = std::mem::take(&mut w.crowd);
        crowd.widest = widest();
        crowd.sort(w);
        crowd.masks.fill(w, &crowd.bodies);
        w.crowd = crowd;
    }

    /// What a unit found out in this tick: nothing, if it was not on the map.
    #[inline]
    pub fn sensed(&self, row: usize) -> Sensed {
        self.sensed[row]
    }

    /// Rows of the units that were within `reach` of a place, along each axis, when the tick began. Their
    /// order means nothing.
    pub fn near(&self, at: Point, reach: i32) -> impl Iterator<Item = usize> + '_ {
        let (x, y) = (at.x >> COARSER, at.y >> COARSER);
        let reach = (reach >> COARSER) + 1;
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
            + size_of::<u32>()
                * (self.begin.capacity() + self.cells.capacity() + self.place.capacity())
            + size_of::<Sensed>() * (self.found.capacity() + self.sensed.capacity())
    }

    fn sort(&mut self, w: &World) {
        let units = &w.units;
        let tiles = i32::from(w.map.size());
        let side = self
            .fitting
            .unwrap_or_else(|| usual_side(tiles, units.len()));
        self.shift = 10 + side;
        self.wide = (tiles + (1 << side) - 1) >> side;
        let cells = self.wide as usize * self.wide as usize;
        self.begin.clear();
        self.begin.resize(cells + 2, 0);
        self.cells.clear();
        let mut living = 0;
        for row in 0..units.len() {
            if !units.is_on_map(row) {
                self.cells.push(NOWHERE);
                continue;
            }
            let shift = self.shift + COARSER as u32;
            let cell = (units.y[row] >> shift) * self.wide + (units.x[row] >> shift);
            self.cells.push(cell as u32);
            self.begin[cell as usize + 2] += 1;
            living += 1;
        }
        if w.tick.is_multiple_of(FITTING_TICKS) {
            let squares = self.begin[2..]
                .iter()
                .map(|here| u64::from(*here) * u64::from(*here));
            self.fitting = Some(fitting_side(side, tiles, living, squares.sum()));
        }
        let mut sum: u32 = 0;
        for begin in &mut self.begin[2..] {
            sum = sum.wrapping_add(*begin);
            *begin = sum;
        }
        self.bodies.resize(living);
        self.place.resize(units.len(), NOWHERE);
        for row in 0..units.len() {
            let cell = self.cells[row];
            if cell == NOWHERE {
                self.place[row] = NOWHERE;
                continue;
            }
            let end = &mut self.begin[cell as usize + 1];
            let place = *end as usize;
            *end = end.wrapping_add(1);
            self.place[row] = place as u32;
            self.bodies.x[place] = units.x[row] >> COARSER;
            self.bodies.y[place] = units.y[row] >> COARSER;
            self.bodies.body[place] = body(units, row, w.tick).0;
            self.bodies.row[place] = row as u32;
        }
        self.begin.pop();
    }

    /// The bodies in all cells that come within `reach` of a place, one run for each line of cells.
    #[inline(always)]
    fn around(&self, x: i32, y: i32, reach: i32) -> impl Iterator<Item = (usize, usize)> + '_ {
        let cell = |at: i32| (at >> self.shift).clamp(0, self.wide - 1);
        let (left, right) = (cell(x - reach), cell(x + reach));
        (cell(y - reach)..=cell(y + reach)).map(move |line| {
            let line = line * self.wide;
            let from = self.begin[(line + left) as usize];
            let to = self.begin[(line + right + 1) as usize];
            (from as usize, to as usize)
        })
    }
}

/// What a unit is to its neighbours.
#[inline(always)]
fn body(units: &Units, row: usize, tick: u32) -> Body {
    let kind = units.kind[row];
    let order = units.order[row];
    let moves = units.way[row] != Way::None;
    let targets = units.target[row] != 0 && order.strikes();
    // Those who stand idle make way; those who fight or hold hardly do.
    let firm = !moves && (units.target[row] != 0 || order == Order::Hold);
    // Workers on their rounds walk through each other, so that nobody jams a mine.
    let rounds = matches!(order, Order::Gather | Order::Return);
    let soldier = kind.is_soldier();
    let guards = order.guards() && (soldier || order != Order::Idle);
    let turn = tick.wrapping_add(units.id[row]).is_multiple_of(LOOK_TICKS);
    let firmness = if moves || firm { 4 } else { 2 };
    Body::new(kind.stats().radius >> COARSER, firmness, units.seat[row])
        .with(FIRM, firm)
        .with(GHOST, rounds && (moves || units.load[row] != Load::Nothing))
        .with(CIVIL, !soldier)
        .with(GUARDS, guards)
        .with(LOOKS, turn)
        .with(TARGETS, targets)
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

/// The widest unit's radius, in the kernels' units.
fn widest() -> i32 {
    let units = Kind::ALL.into_iter().filter(|kind| !kind.is_building());
    let widest = units.map(|kind| kind.stats().radius).max();
    widest.unwrap_or_default() >> COARSER
}

/// Everybody looks around once in so many ticks.
pub(super) const LOOK_TICKS: u32 = 8;
/// Ticks between two looks whether other cells would suit better.
const FITTING_TICKS: u32 = 16;
/// No place among the bodies.
const NOWHERE: u32 = u32::MAX;
/// The largest cell's edge: 8 tiles.
const LARGEST_SIDE: u32 = 3;
