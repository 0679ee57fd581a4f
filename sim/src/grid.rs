//! A uniform grid over positions: who is near whom.

use crate::{Num, Square, Vec2};

/// Finds items by place. Derived from positions, never state: rebuild it in the step that asks it.
///
/// Cells are squares whose side is a power of two (in 1/65,536 of a tile). Positions outside of the
/// grid's rectangle count as its border cells, and every question is answered exactly for them too.
/// Rebuilding sorts by counting, in time linear in items and cells, and allocates nothing once the grid
/// has seen as many items.
///
/// ```
/// use sim::{Grid, Num, Vec2};
/// let mut grid = Grid::new(Vec2::ZERO, Vec2::from_ints(64, 64), Num::from_num(4));
/// let positions = [Vec2::from_ints(1, 1), Vec2::from_ints(40, 2), Vec2::from_ints(3, 1)];
/// grid.rebuild((0..).zip(positions));
/// let near: Vec<u32> = grid.within(positions[0], Num::from_num(5)).map(|(id, _)| id).collect();
/// assert_eq!(near, [0, 2]);
/// let (nearest, _) = grid.nearest(positions[0], Num::MAX, |id| id != 0).unwrap();
/// assert_eq!(nearest, 2);
/// ```
#[derive(Clone, Debug)]
pub struct Grid {
    low: Vec2,
    /// A cell's side is 2^shift in bits of [`Num`].
    shift: u32,
    columns: u32,
    rows: u32,
    /// Where each cell's items begin in `sorted`; one more entry than cells.
    starts: Vec<u32>,
    /// The items in cell order, and within a cell in the order given.
    sorted: Vec<(u32, Vec2)>,
    /// Scratch of `rebuild`: the items as given, with their cells.
    given: Vec<(u32, u32, Vec2)>,
}

impl Grid {
    /// An empty grid over the rectangle from `low` to `high` with cells of about `cell` a side: rounded
    /// up to a power of two, and doubled until there are at most 2^22 of them.
    ///
    /// A good side is the radius most often asked for.
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
            shift,
            columns,
            rows,
            starts: vec![0; (columns * rows) as usize + 1],
            sorted: Vec::new(),
            given: Vec::new(),
        }
    }

    /// Forgets all items and takes these: any number for each, most often its slot, given in ascending
    /// order. Answers within a cell come in the order given.
    ///
    /// # Panics
    /// For 2^32 items or more.
    pub fn rebuild(&mut self, items: impl IntoIterator<Item = (u32, Vec2)>) {
        let mut given = std::mem::take(&mut self.given);
        given.clear();
        given.extend(
            items
                .into_iter()
                .map(|(id, position)| (self.cell_of(position), id, position)),
        );
        assert!(u32::try_from(given.len()).is_ok(), "too many items");

        // Counted one entry late, a running sum leaves each cell's start in the entry that the
        // scattering below then moves on to the cell's end, which is the next cell's start.
        self.starts.fill(0);
        for (cell, _, _) in &given {
            if let Some(start) = self.starts.get_mut(*cell as usize + 2) {
                *start += 1;
            }
        }
        let mut sum = 0;
        for start in &mut self.starts {
            sum += *start;
            *start = sum;
        }
        self.sorted.resize(given.len(), (0, Vec2::ZERO));
        for (cell, id, position) in &given {
            let next = &mut self.starts[*cell as usize + 1];
            self.sorted[*next as usize] = (*id, *position);
            *next += 1;
        }
        self.given = given;
    }

    /// The items at most `radius` from `center`, with their positions, in cell order (rows of cells by
    /// ascending `y`, within a row by ascending `x`).
    pub fn within(&self, center: Vec2, radius: Num) -> impl Iterator<Item = (u32, Vec2)> + '_ {
        let reach = Vec2::new(radius, radius);
        self.candidates(center - reach, center + reach)
            .filter(move |(_, position)| center.within(*position, radius))
    }

    /// The items in the rectangle from `low` to `high`, borders included, in cell order.
    pub fn in_rect(&self, low: Vec2, high: Vec2) -> impl Iterator<Item = (u32, Vec2)> + '_ {
        self.candidates(low, high).filter(move |(_, position)| {
            (low.x..=high.x).contains(&position.x) && (low.y..=high.y).contains(&position.y)
        })
    }

    /// The items of all cells that touch the rectangle from `low` to `high`, in cell order: a superset of
    /// [`in_rect`](Self::in_rect), for callers that test by themselves.
    pub fn candidates(&self, low: Vec2, high: Vec2) -> impl Iterator<Item = (u32, Vec2)> + '_ {
        let (left, bottom) = self.place_of(low);
        let (right, top) = self.place_of(high);
        (bottom..=top).flat_map(move |row| self.run(row, left, right).iter().copied())
    }

    /// The item nearest to `center` and at most `radius` away for which `accept` holds, with the square
    /// of its distance. Of several equally near, the one with the lowest number.
    ///
    /// `accept` must answer each item by itself: how often and in which order it is asked may change.
    pub fn nearest(
        &self,
        center: Vec2,
        radius: Num,
        mut accept: impl FnMut(u32) -> bool,
    ) -> Option<(u32, Square)> {
        if radius < 0 {
            return None;
        }
        let mut best: Option<(Square, u32)> = None;
        let reach = u64::from(radius.to_bits().unsigned_abs());
        let farthest = Square::from_bits(reach * reach);
        let (column, row) = self.place_of(center);
        let rings = self.columns.max(self.rows);
        for ring in 0..rings {
            // Clamping to the grid only brings cells nearer, so what lies in this ring is at least
            // ring − 1 whole cells away, wherever its true position is.
            let gap = u64::from(ring.saturating_sub(1)) << self.shift;
            let gap = Square::from_bits(gap.saturating_mul(gap));
            if gap > best.map_or(farthest, |(square, _)| square) {
                break;
            }
            self.for_ring(column, row, ring, |id, position| {
                let square = center.distance_squared(position);
                let better = best.is_none_or(|best| (square, id) < best);
                if square <= farthest && better && accept(id) {
                    best = Some((square, id));
                }
            });
        }
        best.map(|(square, id)| (id, square))
    }

    /// How many items there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    fn for_ring(&self, column: u32, row: u32, ring: u32, mut visit: impl FnMut(u32, Vec2)) {
        let left = column.saturating_sub(ring);
        let right = (column + ring).min(self.columns - 1);
        let bottom = row.saturating_sub(ring);
        let top = (row + ring).min(self.rows - 1);
        for at in bottom..=top {
            let mut visit_run = |from, to| {
                for (id, position) in self.run(at, from, to) {
                    visit(*id, *position);
                }
            };
            if at.abs_diff(row) == ring {
                visit_run(left, right);
            } else {
                if column >= ring {
                    visit_run(left, left);
                }
                if column + ring < self.columns {
                    visit_run(right, right);
                }
            }
        }
    }

    /// The items of the cells `left..=right` of one row, which lie side by side.
    fn run(&self, row: u32, left: u32, right: u32) -> &[(u32, Vec2)] {
        if left > right {
            return &[];
        }
        let first = row * self.columns;
        let from = self.starts[(first + left) as usize];
        let to = self.starts[(first + right) as usize + 1];
        &self.sorted[from as usize..to as usize]
    }

    fn cell_of(&self, position: Vec2) -> u32 {
        let (column, row) = self.place_of(position);
        row * self.columns + column
    }

    fn place_of(&self, position: Vec2) -> (u32, u32) {
        let column = span(self.low.x, position.x) >> self.shift;
        let row = span(self.low.y, position.y) >> self.shift;
        (column.min(self.columns - 1), row.min(self.rows - 1))
    }
}

/// How far `to` lies above `from`, in bits; 0 if it lies below.
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

    fn any_radius() -> impl Strategy<Value = Num> {
        prop_oneof![-5..1_500_000, any::<i32>(), Just(i32::MAX)].prop_map(Num::from_bits)
    }

    fn sorted(mut ids: Vec<u32>) -> Vec<u32> {
        ids.sort_unstable();
        ids
    }

    fn ids(items: impl Iterator<Item = (u32, Vec2)>) -> Vec<u32> {
        items.map(|(id, _)| id).collect()
    }

    #[test]
    fn extreme_grids_are_bounded() {
        let low = Vec2::new(Num::MIN, Num::MIN);
        let high = Vec2::new(Num::MAX, Num::MAX);
        for (from, to) in [(low, high), (high, low), (low, low)] {
            for cell in [Num::MIN, Num::ZERO, Num::DELTA, Num::MAX] {
                let mut grid = Grid::new(from, to, cell);
                assert!(u64::from(grid.columns) * u64::from(grid.rows) <= MOST_CELLS);
                grid.rebuild([(0, low), (1, high)]);
                assert_eq!(
                    ids(grid.in_rect(low, high)),
                    sorted(ids(grid.in_rect(low, high)))
                );
                assert_eq!(grid.in_rect(low, high).count(), 2);
            }
        }
    }

    #[test]
    fn nothing_is_near_in_an_empty_grid() {
        let grid = Grid::new(Vec2::ZERO, Vec2::from_ints(10, 10), Num::ONE);
        assert!(grid.is_empty());
        assert_eq!(grid.nearest(Vec2::ZERO, Num::MAX, |_| true), None);
        assert_eq!(grid.within(Vec2::ZERO, Num::MAX).count(), 0);
    }

    #[test]
    fn rebuilding_reuses_its_memory() {
        let mut grid = Grid::new(Vec2::ZERO, Vec2::from_ints(10, 10), Num::ONE);
        let items = || (0..100).map(|id| (id, Vec2::from_ints(id as i32 % 10, 3)));
        grid.rebuild(items());
        let before = (
            grid.sorted.as_ptr(),
            grid.given.as_ptr(),
            grid.starts.as_ptr(),
        );
        grid.rebuild(items().take(50));
        grid.rebuild(items());
        assert_eq!(
            before,
            (
                grid.sorted.as_ptr(),
                grid.given.as_ptr(),
                grid.starts.as_ptr()
            )
        );
        assert_eq!(grid.len(), 100);
    }

    proptest! {
        #[test]
        fn answers_like_a_search_through_everything(
            mut grid in any_grid(),
            positions in prop::collection::vec(any_position(), 0..80),
            center in any_position(),
            corner in any_position(),
            radius in any_radius(),
        ) {
            grid.rebuild((0..).zip(positions.iter().copied()));
            let all = || (0..).zip(positions.iter().copied());

            let near = ids(all().filter(|(_, at)| center.within(*at, radius)));
            prop_assert_eq!(sorted(ids(grid.within(center, radius))), near);

            let inside = ids(all().filter(|(_, at)| {
                (center.x..=corner.x).contains(&at.x) && (center.y..=corner.y).contains(&at.y)
            }));
            if center.x <= corner.x && center.y <= corner.y {
                prop_assert_eq!(sorted(ids(grid.in_rect(center, corner))), inside);
            }

            let even = |id: u32| id.is_multiple_of(2);
            let nearest = all()
                .filter(|(id, at)| even(*id) && center.within(*at, radius))
                .map(|(id, at)| (center.distance_squared(at), id))
                .min();
            let found = grid.nearest(center, radius, even).map(|(id, square)| (square, id));
            prop_assert_eq!(found, nearest);
        }

        #[test]
        fn cell_order_is_stable(positions in prop::collection::vec(any_position(), 0..80)) {
            let mut grid = Grid::new(Vec2::ZERO, Vec2::from_ints(90, 90), Num::from_num(4));
            grid.rebuild((0..).zip(positions));
            let order: Vec<(u32, u32)> = grid.sorted.iter().map(|(id, at)| (grid.cell_of(*at), *id)).collect();
            prop_assert!(order.is_sorted());
            prop_assert_eq!(grid.starts.last().copied(), Some(order.len() as u32));
        }
    }
}
