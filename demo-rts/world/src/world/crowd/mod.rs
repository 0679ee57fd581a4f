//! Neighbours of units. The crowd is made anew in every tick from units and buildings. It is never state, and
//! no result depends on the size of its cells.

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
    Kind, Tile, World,
    units::{Load, Order, Units, Way},
};
use bodies::{Bodies, Body, CIVIL, Coarse, FIRM, FIRM_AT, GHOST, GUARDS, LOOKS, SEAT_AT, TARGETS};
use masks::Masks;
use sim::{Grid, Num, Vec2};
use std::ops::Range;

/// All units on the map, sorted by cell, and which seats are where.
#[derive(Clone, Debug)]
pub(super) struct Crowd {
    bodies: Bodies,
    /// The units' rows by cell.
    grid: Grid,
    /// Tiles along a cell's edge, as a power of two.
    side: u32,
    /// The side that suits how crowded the last tick was.
    fitting: Option<u32>,
    /// A row's body and place, for its neighbours.
    rows: Vec<Row>,
    /// The widest unit's radius.
    widest: Coarse,
    masks: Masks,
    /// What each body found out, in the order of the bodies.
    found: Vec<Sensed>,
    /// The same by row, the order of its readers.
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
    /// The cell of the grid; [`Grid::NOWHERE`] for a unit off the map.
    cell: u32,
}

impl Crowd {
    /// An empty crowd, on a map of so many tiles an edge.
    pub fn new(size: u16) -> Self {
        Self {
            bodies: Bodies::default(),
            grid: grid(size, 0),
            side: 0,
            fitting: None,
            rows: Vec::new(),
            widest: widest(),
            masks: Masks::new(size),
            found: Vec::new(),
            sensed: Vec::new(),
            acts: Vec::new(),
        }
    }

    /// Sorts all units.
    pub fn fill(w: &mut World, threads: usize) {
        let (crowd, map) = (&mut w.crowd, &w.map);
        crowd.sort(&w.units, map.size(), w.tick, threads);
        crowd.masks.fill(map, &w.buildings, &crowd.bodies);
    }

    /// What a unit found out in this tick: nothing, if it was not on the map.
    #[inline]
    pub fn sensed(&self, row: usize) -> Sensed {
        self.sensed[row]
    }

    /// The findings of all rows.
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
        // Cells reach farther by an amount that depends on their size, and no result may show it.
        let near = move |place: &usize| {
            let (dx, dy) = (self.bodies.x[*place] - x, self.bodies.y[*place] - y);
            dx.abs() <= reach && dy.abs() <= reach
        };
        self.around(x, y, reach)
            .flatten()
            .filter(near)
            .map(|place| self.bodies.row[place] as usize)
    }

    /// Bytes that it keeps from tick to tick.
    pub fn memory(&self) -> usize {
        self.bodies.memory()
            + self.masks.memory()
            + self.grid.memory()
            + size_of::<Row>() * self.rows.capacity()
            + self.acts.capacity()
            + size_of::<Sensed>() * (self.found.capacity() + self.sensed.capacity())
    }

    fn sort(&mut self, units: &Units, size: u16, tick: u32, threads: usize) {
        let usual = || usual_side(size.into(), units.len());
        let side = self.fitting.unwrap_or_else(usual);
        if side != self.side {
            self.grid = grid(size, side);
            self.side = side;
        }
        self.rows.resize(units.len(), Row::default());
        let rows = self.rows.as_mut_slice();
        let (make, cells) = (RowMaker::new(), &self.grid);
        in_parts(threads, units.len(), rows, |from, part| {
            make.fill(units, tick, cells, from, part);
        });
        self.grid.fill(self.rows.iter().map(|row| row.cell));
        self.bodies.gather(&self.rows, self.grid.order(), threads);
        if tick.is_multiple_of(FITTING_TICKS) {
            let (living, pairs) = (self.bodies.len(), self.grid.pairs());
            self.fitting = Some(fitting_side(side, size.into(), living, pairs));
        }
    }

    /// The bodies in all cells that come within `reach` of a place, one run for each line of cells.
    #[inline(always)]
    fn around(
        &self,
        x: Coarse,
        y: Coarse,
        reach: Coarse,
    ) -> impl Iterator<Item = Range<usize>> + '_ {
        let (low, high) = (point(x - reach, y - reach), point(x + reach, y + reach));
        self.grid.runs(low, high)
    }
}

/// Cells of this side, 2 to a power of tiles, over a map.
fn grid(size: u16, side: u32) -> Grid {
    let last = Vec2::new(Num::DELTA, Num::DELTA);
    let high = Tile::new(size, size).corner() - last;
    Grid::new(Vec2::ZERO, high, Num::from_num(1 << side))
}

/// A point of the kernels, among the world's.
#[inline(always)]
fn point(x: Coarse, y: Coarse) -> Vec2 {
    Vec2::new(x.to_num(), y.to_num())
}

/// Makes rows out of units by table, without branches.
struct RowMaker {
    /// The body bits of each kind.
    kinds: [i32; 16],
    /// The traits of each order.
    orders: [OrderTraits; 16],
}

/// An order's effect on a unit: masks of body bits.
#[derive(Clone, Copy, Default)]
struct OrderTraits {
    /// [`GUARDS`], if all units with the order guard.
    guards: i32,
    /// [`GUARDS`], if soldiers with the order guard.
    guards_soldiers: i32,
    /// [`TARGETS`], if a unit with the order strikes its target.
    targets: i32,
    /// [`FIRM`], if a unit with the order stands its ground.
    holds: i32,
    /// [`GHOST`]: workers on their rounds walk through each other, so that no mine is jammed.
    rounds: i32,
    /// Whether a unit with the order is on the map.
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

    /// Makes the rows from `from` on.
    #[inline]
    fn fill(&self, units: &Units, tick: u32, grid: &Grid, from: usize, out: &mut [Row]) {
        let rows = from..from + out.len();
        let (x, y) = (&units.x[rows.clone()], &units.y[rows.clone()]);
        let (id, hp) = (&units.id[rows.clone()], &units.hp[rows.clone()]);
        let (kind, seat) = (&units.kind[rows.clone()], &units.seat[rows.clone()]);
        let (order, way) = (&units.order[rows.clone()], &units.way[rows.clone()]);
        let (target, load) = (&units.target[rows.clone()], &units.load[rows]);
        for (row, out) in out.iter_mut().enumerate() {
            let at = Vec2::new(x[row], y[row]);
            let kind = self.kinds[kind[row] as usize % 16];
            let traits = self.orders[order[row] as usize % 16];
            let is_on_map = traits.outside & (hp[row] > 0);
            let moves = way[row] != Way::None;
            let has_target = target[row] != 0;
            // Idle units make way; units that fight or hold hardly do.
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
            let cell = grid.cell_of(at);
            *out = Row {
                x: at.x.to_num(),
                y: at.y.to_num(),
                body,
                cell: if is_on_map { cell } else { Grid::NOWHERE },
            };
        }
    }
}

/// Tiles along a cell's edge, as a power of two, so that there are a few cells for each unit.
fn usual_side(size: u64, units: usize) -> u32 {
    let tiles = size.pow(2);
    (0..LARGEST_SIDE)
        .find(|side| tiles >> (2 * side) <= 2 * units as u64 + 1_024)
        .unwrap_or(LARGEST_SIDE)
}

/// Smaller cells where a body has many others in its own, larger ones where cells are mostly empty.
fn fitting_side(side: u32, size: u64, units: usize, pairs: u64) -> u32 {
    let usual = usual_side(size, units.max(1));
    let (units, tiles) = (units.max(1) as u64, size.pow(2));
    if side > 0 && pairs > units * 4 && tiles >> (2 * (side - 1)) <= 12 * units + 1_024 {
        side - 1
    } else if side < usual && pairs < units * 3 / 2 {
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

/// Every unit looks around once in so many ticks.
pub(super) const LOOK_TICKS: u32 = 8;
/// Ticks between two checks of the cells' size.
const FITTING_TICKS: u32 = 16;
/// The largest cell's edge: 8 tiles.
const LARGEST_SIDE: u32 = 3;
