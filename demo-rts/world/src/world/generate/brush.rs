//! Starts, mines and roads, painted in every copy at once.

use super::{Dice, eighth, symmetry::Symmetry};
use crate::world::{
    map::{Map, Terrain},
    nav::Nav,
    tables::RULES,
    tile::Tile,
};

pub(super) struct Brush {
    symmetry: Symmetry,
    terrain: Vec<Terrain>,
    dice: Dice,
    /// Upper left tiles of the mines, each of which has its images.
    mines: Vec<Tile>,
}

impl Brush {
    pub fn new(symmetry: Symmetry, terrain: Vec<Terrain>, dice: Dice) -> Self {
        Self {
            symmetry,
            terrain,
            dice,
            mines: Vec::new(),
        }
    }

    /// Clears the starts and lays out their mines and woods. Returns the middle of the first town hall.
    pub fn place_start(&mut self) -> Tile {
        let size = self.symmetry.size;
        let margin = 12 + size / 32;
        let hall = match self.symmetry.copies {
            8 => Tile::new(
                margin + self.dice.below(3),
                size / 3 - 2 + self.dice.below(5),
            ),
            _ => Tile::new(
                margin + self.dice.below(4),
                margin + self.dice.below(size - 2 * margin),
            ),
        };
        self.disc(hall, 9, Terrain::Ground);
        let first = usize::from(self.dice.below(8));
        let mut ways = (0..8)
            .map(|k| eighth(first + k * 3, 10))
            .filter(|way| self.within(hall, *way, 9))
            .collect::<Vec<_>>();
        ways.truncate(3);
        for way in ways.iter().skip(1) {
            let wood = shifted(hall, *way, 8);
            self.disc(wood, 2, Terrain::Forest);
            self.disc(shifted(wood, (way.1, -way.0), 2), 2, Terrain::Forest);
        }
        self.disc(hall, 4, Terrain::Ground);
        if let Some(way) = ways.first() {
            self.mine(shifted(hall, *way, 6));
        }
        let middle = size / 2;
        let shared = Tile::new(middle - 7, middle - 3);
        // On the smallest maps a hall may stand there.
        if !self.is_on_hall(shared, hall) {
            self.clear_mine(shared, 3);
        }
        for far in EXPANSIONS {
            if let Some(place) = self.place_apart(hall, far) {
                self.clear_mine(place, 4);
            }
        }
        hall
    }

    /// Opens ways to the middle and to every mine where there are none, and fills in the amounts.
    pub fn finish(mut self, hall: Tile) -> Map {
        let middle = Tile::new(self.symmetry.size / 2, self.symmetry.size / 2);
        self.disc(middle, 3, Terrain::Ground);
        let nav = self.nav();
        let mut halls = self.symmetry.images(hall);
        if !halls.all(|other| nav.region(other) == nav.region(middle)) {
            self.carve(hall, middle);
        }
        drop(halls);
        for mine in self.mines.clone() {
            let nav = self.nav();
            let sides = (0..16).map(|at| Tile::new(mine.x + at % 4 - 1, mine.y + at / 4 - 1));
            if !sides
                .into_iter()
                .any(|side| nav.region(side) == nav.region(hall))
            {
                self.carve(hall, mine);
            }
        }
        let amounts = self.terrain.iter().filter_map(|terrain| match terrain {
            Terrain::Forest => Some(RULES.tree_wood),
            Terrain::Gold => Some(RULES.mine_gold),
            _ => None,
        });
        let amounts = amounts.collect();
        Map::new(self.symmetry.size, self.terrain, amounts)
    }

    fn nav(&self) -> Nav {
        Nav::new(self.symmetry.size, |tile| {
            self.terrain[self.at(tile)] != Terrain::Ground
        })
    }

    /// A place for a mine about `far` tiles from the hall: nearer to it than to any other hall, and not
    /// close to another mine.
    fn place_apart(&mut self, hall: Tile, far: u32) -> Option<Tile> {
        let symmetry = self.symmetry;
        let mut best: Option<(u32, Tile)> = None;
        for _ in 0..TRIES {
            let place = Tile::new(
                4 + self.dice.below(symmetry.size - 9),
                4 + self.dice.below(symmetry.size - 9),
            );
            let own = distance(place, hall);
            let others = symmetry.images(hall).skip(1);
            let fair = others
                .map(|other| distance(place, other))
                .all(|other| other >= own + 8);
            let mut mines = self.mines.iter().flat_map(|mine| symmetry.images(*mine));
            let alone = mines.all(|mine| distance(place, mine) >= 9)
                && symmetry
                    .images(place)
                    .skip(1)
                    .all(|image| distance(place, image) >= 9);
            let miss = own.abs_diff(far);
            if fair && alone && own >= 13 && best.is_none_or(|(least, _)| miss < least) {
                best = Some((miss, place));
            }
        }
        best.map(|(_, place)| place)
    }

    /// Whether `way` times `length` from `from` stays well on the map.
    fn within(&self, from: Tile, way: (i32, i32), length: i32) -> bool {
        let inside = |at: u16, way: i32| {
            (3..i32::from(self.symmetry.size) - 3).contains(&(i32::from(at) + reach(way, length)))
        };
        inside(from.x, way.0) && inside(from.y, way.1)
    }

    fn at(&self, tile: Tile) -> usize {
        usize::from(tile.y) * usize::from(self.symmetry.size) + usize::from(tile.x)
    }

    fn set(&mut self, tile: Tile, terrain: Terrain) {
        for copy in 0..self.symmetry.copies {
            let at = self.at(self.symmetry.image(tile, copy));
            self.terrain[at] = terrain;
        }
    }

    fn is_on_map(&self, x: i32, y: i32) -> bool {
        let edge = 0..i32::from(self.symmetry.size);
        edge.contains(&x) && edge.contains(&y)
    }

    /// Mines stay.
    fn disc(&mut self, middle: Tile, radius: i32, terrain: Terrain) {
        for dy in -radius..=radius {
            for dx in -radius..=radius {
                let (x, y) = (i32::from(middle.x) + dx, i32::from(middle.y) + dy);
                if self.is_on_map(x, y) && dx * dx + dy * dy <= radius * radius + 1 {
                    self.paint(Tile::new(x as u16, y as u16), terrain);
                }
            }
        }
    }

    /// Whether one of the halls stands on a mine with this corner, or on an image of it.
    fn is_on_hall(&self, corner: Tile, hall: Tile) -> bool {
        let tiles = MINE.map(|(dx, dy)| Tile::new(corner.x + dx, corner.y + dy));
        let mut images = tiles
            .into_iter()
            .flat_map(|tile| self.symmetry.images(tile));
        images.any(|tile| tile.king_steps(hall) <= 1)
    }

    fn clear_mine(&mut self, corner: Tile, radius: i32) {
        self.disc(corner, radius, Terrain::Ground);
        self.mine(corner);
    }

    fn mine(&mut self, corner: Tile) {
        for (dx, dy) in MINE {
            self.set(Tile::new(corner.x + dx, corner.y + dy), Terrain::Gold);
        }
        self.mines.push(corner);
    }

    fn paint(&mut self, tile: Tile, terrain: Terrain) {
        if self.terrain[self.at(tile)] != Terrain::Gold {
            self.set(tile, terrain);
        }
    }

    /// A road three tiles wide. Mines stay.
    fn carve(&mut self, from: Tile, to: Tile) {
        let (dx, dy) = (
            i32::from(to.x) - i32::from(from.x),
            i32::from(to.y) - i32::from(from.y),
        );
        let length = dx.abs().max(dy.abs()).max(1);
        for step in 0..=length {
            let x = i32::from(from.x) + dx * step / length;
            let y = i32::from(from.y) + dy * step / length;
            for (ox, oy) in [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1)] {
                if self.is_on_map(x + ox, y + oy) {
                    self.paint(Tile::new((x + ox) as u16, (y + oy) as u16), Terrain::Ground);
                }
            }
        }
    }
}

/// Whole tiles from one to the other.
fn distance(a: Tile, b: Tile) -> u32 {
    a.corner().distance(b.corner()).to_num()
}

fn shifted(from: Tile, way: (i32, i32), length: i32) -> Tile {
    let shift = |at: u16, way: i32| (i32::from(at) + reach(way, length)).max(0) as u16;
    Tile::new(shift(from.x, way.0), shift(from.y, way.1))
}

fn reach(way: i32, length: i32) -> i32 {
    way * length / 10
}

/// The tiles of a mine, from its corner.
const MINE: [(u16, u16); 4] = [(0, 0), (1, 0), (0, 1), (1, 1)];
/// How far from the hall, in tiles, further mines lie: to expand to.
const EXPANSIONS: [u32; 2] = [19, 32];
/// Places tried for each of them.
const TRIES: usize = 400;
