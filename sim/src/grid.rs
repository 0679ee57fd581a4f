//! A uniform grid over positions, for finding neighbours.

use crate::{Num, Vec2};
use std::ops::Range;

/// Sorts items by place. A grid is derived from positions and never state: fill it in the step that queries
/// it.
///
/// Items are the rows of a world's columns. The grid sorts them by cell, so neighbours lie side by side: a
/// query takes one run of places per row of cells. A world with many queries copies the queried columns into
/// that [`order`](Self::order). A world with few queries calls [`around`](Self::around).
///
/// Cells are squares whose side is a power of two (in 1/65,536 of a tile). Positions outside of the grid's
/// rectangle count as its border cells. Filling sorts by counting, in time linear in items and cells, and
/// allocates nothing once the grid has seen as many items.
///
/// ```
/// use sim::{Grid, Num, Vec2};
/// let positions = [Vec2::from_ints(1, 1), Vec2::from_ints(40, 2), Vec2::from_ints(3, 1)];
/// let mut grid = Grid::new(Vec2::ZERO, Vec2::from_ints(64, 64), Num::from_num(4));
/// let cells = positions.map(|at| grid.cell_of(at));
/// grid.fill(cells);
///
/// let (at, reach) = (positions[0], Num::from_num(5));
/// let edge = Vec2::new(reach, reach);
/// let near = grid
///     .around(at - edge, at + edge)
///     .map(|item| (item, positions[item as usize]))
///     .filter(|(_, there)| at.within(*there, reach));
/// // Of several equally near, the one with the lowest number.
/// let nearest = near
///     .filter(|(item, _)| *item != 0)
///     .min_by_key(|(item, there)| (at.distance_squared(*there), *item));
/// assert_eq!(nearest, Some((2, positions[2])));
/// ```
#[derive(Clone, Debug)]
pub struct Grid {
    low: Vec2,
    /// From `low` to the other corner, in bits of [`Num`].
    width: u32,
    height: u32,
    /// A cell's side is 2^shift in bits of [`Num`].
    shift: u32,
    columns: u32,
    rows: u32,
    /// Where each cell's items begin; two more entries than cells, of which the last is for sorting only.
    starts: Vec<u32>,
    /// The items in cell order, and within a cell in the order given.
    order: Vec<u32>,
    /// For each item its place in the order.
    places: Vec<u32>,
}

impl Grid {
    /// The cell, and then the place, of an item that is left out.
    pub const NOWHERE: u32 = u32::MAX;

    /// An empty grid over the rectangle from `low` to `high` with cells of about `cell` a side. The side is
    /// rounded up to a power of two, and doubled until there are at most 2^22 cells.
    ///
    /// A good side is the most common query radius.
    #[must_use]
    pub fn new(low: Vec2, high: Vec2, cell: Num) -> Self {
        let width = span(low.x, high.x);
        let height = span(low.y, high.y);
        let side = cell.to_bits().max(1) as u32;
        let mut shift = side.next_power_of_two().trailing_zeros();
        let cells = |span: u32, shift: u32| u64::from(span >> shift) + 1;
        while cells(width, shift).saturating_mul(cells(height, shift)) > MOST_CELLS {
            shift += 1;
        }
        let (columns, rows) = ((width >> shift) + 1, (height >> shift) + 1);
        Self {
            low,
            width,
            height,
            shift,
            columns,
            rows,
            starts: vec![0; (columns * rows) as usize + 2],
            order: Vec::new(),
            places: Vec::new(),
        }
    }

    /// How many cells there are in a row, and how many rows of cells. They are numbered row by row.
    #[must_use]
    pub const fn size(&self) -> (u32, u32) {
        (self.columns, self.rows)
    }

    /// The number of the cell that a position lies in.
    #[inline]
    #[must_use]
    pub fn cell_of(&self, position: Vec2) -> u32 {
        let (column, row) = self.column_and_row(position);
        // There are at most 2^22 cells.
        row.wrapping_mul(self.columns).wrapping_add(column)
    }

    /// Replaces all items by these, fewer than 2^32. `cells` holds the cell numbers of item 0, 1, 2 and so
    /// on. [`NOWHERE`](Self::NOWHERE) leaves an item out.
    ///
    /// # Panics
    /// For a cell that the grid does not have.
    pub fn fill<I: IntoIterator<Item = u32>>(&mut self, cells: I)
    where
        I::IntoIter: Clone,
    {
        let cells = cells.into_iter();
        // Counts go in two entries late, so the running sum leaves each cell's start one entry late. The
        // scattering below advances that entry to the cell's end, which is the next cell's start.
        let starts = &mut self.starts[..];
        starts.fill(0);
        for cell in cells.clone().filter(|cell| *cell != Self::NOWHERE) {
            let count = &mut starts[cell as usize + 2];
            *count = count.wrapping_add(1);
        }
        let mut sum: u32 = 0;
        for start in &mut starts[2..] {
            sum = sum.wrapping_add(*start);
            *start = sum;
        }
        self.order.resize(sum as usize, 0);
        let order = &mut self.order[..];
        let places = (0_u32..).zip(cells).map(|(item, cell)| {
            if cell == Self::NOWHERE {
                return Self::NOWHERE;
            }
            let next = &mut starts[cell as usize + 1];
            let place = *next;
            *next = place.wrapping_add(1);
            order[place as usize] = item;
            place
        });
        self.places.clear();
        self.places.extend(places);
    }

    /// The items in the order of their cells.
    #[must_use]
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// For each item its place in the [`order`](Self::order), or [`NOWHERE`](Self::NOWHERE).
    #[must_use]
    pub fn places(&self) -> &[u32] {
        &self.places
    }

    /// The places in the [`order`](Self::order) of all items in cells that touch the rectangle from `low` to
    /// `high`: one run per row of cells.
    #[inline(always)]
    pub fn runs(&self, low: Vec2, high: Vec2) -> impl Iterator<Item = Range<usize>> + '_ {
        let (left, bottom) = self.column_and_row(low);
        let (right, top) = self.column_and_row(high);
        // There are at most 2^22 cells.
        let end = if left > right {
            bottom
        } else {
            top.wrapping_add(1)
        };
        (bottom..end).map(move |row| {
            let first = row.wrapping_mul(self.columns);
            let from = self.starts[first.wrapping_add(left) as usize];
            let to = self.starts[first.wrapping_add(right).wrapping_add(1) as usize];
            from as usize..to as usize
        })
    }

    /// The items of all cells that touch the rectangle from `low` to `high`, in cell order. Some lie outside
    /// the rectangle, so the caller tests each position.
    pub fn around(&self, low: Vec2, high: Vec2) -> impl Iterator<Item = u32> + '_ {
        self.runs(low, high)
            .flat_map(|run| self.order[run].iter().copied())
    }

    /// Pairs of items that share a cell, each item with itself included: the cost of comparing all items cell
    /// by cell.
    #[must_use]
    pub fn pairs(&self) -> u64 {
        let cells = self.starts[..self.starts.len() - 1].windows(2);
        cells
            .map(|starts| u64::from(starts[1] - starts[0]).pow(2))
            .sum()
    }

    /// Bytes of memory that the grid keeps.
    #[must_use]
    pub fn memory(&self) -> usize {
        let columns = [&self.starts, &self.order, &self.places];
        columns.map(Vec::capacity).iter().sum::<usize>() * size_of::<u32>()
    }

    #[inline]
    fn column_and_row(&self, position: Vec2) -> (u32, u32) {
        // Both wrap to more than the rectangle's size below `low`.
        let x = position.x.to_bits().wrapping_sub(self.low.x.to_bits()) as u32;
        let y = position.y.to_bits().wrapping_sub(self.low.y.to_bits()) as u32;
        if x <= self.width && y <= self.height {
            (x.wrapping_shr(self.shift), y.wrapping_shr(self.shift))
        } else {
            self.nearest_column_and_row(position)
        }
    }

    /// The same for a position outside of the rectangle. Few are, so the branch above costs less than
    /// clamping every position.
    #[cold]
    fn nearest_column_and_row(&self, position: Vec2) -> (u32, u32) {
        let column = span(self.low.x, position.x) >> self.shift;
        let row = span(self.low.y, position.y) >> self.shift;
        (column.min(self.columns - 1), row.min(self.rows - 1))
    }
}

/// How far `to` lies above `from`, in bits; 0 if it lies below.
#[inline]
fn span(from: Num, to: Num) -> u32 {
    if to > from {
        to.to_bits().abs_diff(from.to_bits())
    } else {
        0
    }
}

const MOST_CELLS: u64 = 1 << 22;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_grid() -> impl Strategy<Value = Grid> {
        let small = (0..6_000_000, 0..6_000_000, 200_000..1_000_000);
        let wild = (any::<i32>(), any::<i32>(), 1 << 27..i32::MAX);
        (any::<bool>(), small, wild).prop_map(|(wild_one, small, wild)| {
            let (x, y, cell) = if wild_one { wild } else { small };
            let high = Vec2::new(Num::from_bits(x), Num::from_bits(y));
            let low = if wild_one { -high } else { Vec2::ZERO };
            Grid::new(low, high, Num::from_bits(cell))
        })
    }

    fn any_position() -> impl Strategy<Value = Vec2> {
        let coordinate = prop_oneof![
            4 => -200_000..6_200_000,
            1 => any::<i32>(),
            1 => Just(i32::MIN),
            1 => Just(i32::MAX)
        ];
        (coordinate.clone(), coordinate)
            .prop_map(|(x, y)| Vec2::new(Num::from_bits(x), Num::from_bits(y)))
    }

    fn fill(grid: &mut Grid, positions: &[Vec2]) {
        let cells: Vec<u32> = positions.iter().map(|at| grid.cell_of(*at)).collect();
        grid.fill(cells);
    }

    #[test]
    fn extreme_grids_are_bounded() {
        let low = Vec2::new(Num::MIN, Num::MIN);
        let high = Vec2::new(Num::MAX, Num::MAX);
        for (from, to) in [(low, high), (high, low), (low, low)] {
            for cell in [Num::MIN, Num::ZERO, Num::DELTA, Num::MAX] {
                let mut grid = Grid::new(from, to, cell);
                let (columns, rows) = grid.size();
                assert!(u64::from(columns) * u64::from(rows) <= MOST_CELLS);
                fill(&mut grid, &[low, high]);
                assert_eq!(grid.around(low, high).collect::<Vec<_>>(), [0, 1]);
                let beside = grid.around(high, low).count();
                assert_eq!(beside, if grid.starts.len() == 3 { 2 } else { 0 });
            }
        }
    }

    #[test]
    fn nothing_is_near_in_an_empty_grid() {
        let mut grid = Grid::new(Vec2::ZERO, Vec2::from_ints(10, 10), Num::ONE);
        let everywhere = |grid: &Grid| grid.around(Vec2::ZERO, Vec2::from_ints(10, 10)).count();
        assert_eq!((everywhere(&grid), grid.pairs()), (0, 0));
        grid.fill([Grid::NOWHERE; 3]);
        assert_eq!((everywhere(&grid), grid.pairs()), (0, 0));
        assert_eq!(grid.places(), [Grid::NOWHERE; 3]);
    }

    #[test]
    #[should_panic(expected = "index out of bounds")]
    fn a_cell_that_is_not_there_is_refused() {
        let mut grid = Grid::new(Vec2::ZERO, Vec2::from_ints(1, 1), Num::from_num(4));
        assert_eq!(grid.size(), (1, 1));
        grid.fill([1]);
    }

    #[test]
    fn filling_reuses_its_memory() {
        let mut grid = Grid::new(Vec2::ZERO, Vec2::from_ints(10, 10), Num::ONE);
        let positions: Vec<Vec2> = (0..100).map(|id| Vec2::from_ints(id % 10, 3)).collect();
        fill(&mut grid, &positions);
        let memory = |grid: &Grid| (grid.order.as_ptr(), grid.places.as_ptr(), grid.memory());
        let before = memory(&grid);
        fill(&mut grid, &positions[..50]);
        fill(&mut grid, &positions);
        assert_eq!(memory(&grid), before);
        assert_eq!((grid.order().len(), grid.pairs()), (100, 1_000));
    }

    proptest! {
        #[test]
        fn nothing_that_is_near_is_missed(
            mut grid in any_grid(),
            positions in prop::collection::vec(any_position(), 0..80),
            low in any_position(),
            high in any_position(),
        ) {
            fill(&mut grid, &positions);
            let found: Vec<u32> = grid.around(low, high).collect();
            for (item, at) in (0..).zip(&positions) {
                let inside = (low.x..=high.x).contains(&at.x) && (low.y..=high.y).contains(&at.y);
                prop_assert!(!inside || found.contains(&item));
            }
            let places: Vec<usize> = grid.runs(low, high).flatten().collect();
            prop_assert!(places.is_sorted_by(|a, b| a < b));
            prop_assert_eq!(places.iter().map(|place| grid.order[*place]).collect::<Vec<_>>(), found);
        }

        #[test]
        fn a_position_counts_where_the_grid_is_nearest(grid in any_grid(), at in any_position()) {
            let (columns, rows) = grid.size();
            let cell = |low: Num, at: Num, cells: u32| {
                let beyond = i64::from(at.to_bits()) - i64::from(low.to_bits());
                (beyond >> grid.shift).clamp(0, i64::from(cells) - 1)
            };
            let (column, row) = (cell(grid.low.x, at.x, columns), cell(grid.low.y, at.y, rows));
            prop_assert_eq!(i64::from(grid.cell_of(at)), row * i64::from(columns) + column);
        }

        #[test]
        fn every_item_has_its_place(
            mut grid in any_grid(),
            positions in prop::collection::vec(prop::option::of(any_position()), 0..80),
        ) {
            let cell = |at: &Option<Vec2>| at.map_or(Grid::NOWHERE, |at| grid.cell_of(at));
            let cells: Vec<u32> = positions.iter().map(cell).collect();
            grid.fill(cells.iter().copied());
            let order: Vec<(u32, u32)> = grid.order.iter().map(|item| (cells[*item as usize], *item)).collect();
            prop_assert!(order.is_sorted_by(|a, b| a < b));
            for (item, place) in (0_u32..).zip(grid.places()) {
                prop_assert_eq!(*place == Grid::NOWHERE, cells[item as usize] == Grid::NOWHERE);
                prop_assert!(*place == Grid::NOWHERE || grid.order[*place as usize] == item);
            }
            let crowds = order.chunk_by(|(a, _), (b, _)| a == b);
            prop_assert_eq!(grid.pairs(), crowds.map(|crowd| (crowd.len() as u64).pow(2)).sum::<u64>());
        }
    }
}
