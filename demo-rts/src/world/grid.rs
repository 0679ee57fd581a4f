//! Who is near whom: all units, sorted by tile. Made anew each tick; never state.

use super::{map::Map, space::Tile, units::Units};

/// Rows of the living units on the map, in the order of their tiles.
#[derive(Clone, Debug, Default)]
pub(super) struct Grid {
    size: u16,
    /// For each tile, where its rows begin.
    begin: Vec<u32>,
    rows: Vec<u32>,
}

impl Grid {
    /// Sorts all units by counting.
    pub fn fill(&mut self, map: &Map, units: &Units) {
        self.size = map.size();
        self.begin.clear();
        self.begin.resize(map.tiles() + 2, 0);
        let tile = |row: usize| map.index_at(units.at(row)) as usize;
        let living = || (0..units.len()).filter(|row| units.is_on_map(*row));
        for row in living() {
            self.begin[tile(row) + 2] += 1;
        }
        for at in 2..self.begin.len() {
            self.begin[at] += self.begin[at - 1];
        }
        self.rows.clear();
        self.rows.resize(units.len(), 0);
        for row in living() {
            let place = &mut self.begin[tile(row) + 1];
            self.rows[*place as usize] = row as u32;
            *place += 1;
        }
    }

    /// The rows within `reach` tiles of `tile`, as one slice for each line of the map.
    pub fn around(&self, tile: Tile, reach: u16) -> impl Iterator<Item = &[u32]> {
        let edge = self.size.saturating_sub(1);
        let left = usize::from(tile.x.saturating_sub(reach));
        let right = usize::from(tile.x.saturating_add(reach).min(edge));
        let top = tile.y.saturating_sub(reach);
        let bottom = tile.y.saturating_add(reach).min(edge);
        (top..=bottom).map(move |y| {
            let line = usize::from(y) * usize::from(self.size);
            let from = self.begin[line + left] as usize;
            let to = self.begin[line + right + 1] as usize;
            &self.rows[from..to]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{Id, Kind, units::Unit};

    #[test]
    fn finds_exactly_who_is_near() {
        let map = Map::new(64, Vec::new(), Vec::new());
        let mut units = Units::default();
        for number in 0..500_u16 {
            let tile = Tile::new(number * 7 % 64, number * 13 % 64);
            let id = Id(u32::from(number) + 1);
            units.push(Unit::new(id, Kind::Archer, 0, tile.centre(), 0));
        }
        let mut grid = Grid::default();
        grid.fill(&map, &units);
        for (tile, reach) in [((0, 0), 3), ((63, 63), 5), ((30, 31), 0), ((10, 60), 90)] {
            let tile = Tile::new(tile.0, tile.1);
            let mut found: Vec<u32> = grid.around(tile, reach).flatten().copied().collect();
            found.sort_unstable();
            let expected: Vec<u32> = (0..500)
                .filter(|row| units.tile(*row as usize).king_steps(tile) <= reach)
                .collect();
            assert_eq!(found, expected);
        }
    }
}
