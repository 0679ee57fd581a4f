//! The land before the starts are placed on it: woods, rock and water by symmetric noise.

use super::{MapKind, mix, symmetry::Symmetry};
use crate::world::{map::Terrain, tile::Tile};

/// A number of [`Terrain`] for each tile, row by row.
pub(super) fn terrain(seed: u64, kind: MapKind, symmetry: Symmetry) -> Vec<Terrain> {
    let mut land = Land {
        seed,
        symmetry,
        terrain: vec![Terrain::Ground; usize::from(symmetry.size) * usize::from(symmetry.size)],
    };
    match kind {
        MapKind::Plains => {
            land.lay(Terrain::Forest, 7, 84..100);
            land.lay(Terrain::Rock, 9, 97..100);
            land.lay(Terrain::Water, 13, 96..100);
        }
        MapKind::Valleys => {
            land.lay(Terrain::Forest, 7, 86..100);
            // A ridge follows a line of equal height, except where a pass leads over it.
            let ridges = land.layer(12 + symmetry.size / 12, 44..58);
            let passes = land.layer(8, 66..100);
            land.put(Terrain::Rock, |at| ridges[at] && !passes[at]);
        }
        MapKind::Lakes => {
            land.lay(Terrain::Forest, 7, 87..100);
            let lakes = land.layer(15, 72..100);
            let fords = land.layer(11, 43..57);
            land.put(Terrain::Water, |at| lakes[at] && !fords[at]);
            land.lay(Terrain::Rock, 9, 98..100);
        }
    }
    land.terrain
}

struct Land {
    seed: u64,
    symmetry: Symmetry,
    terrain: Vec<Terrain>,
}

impl Land {
    fn lay(&mut self, kind: Terrain, cell: u16, percent: std::ops::Range<usize>) {
        let layer = self.layer(cell, percent);
        self.put(kind, |at| layer[at]);
    }

    fn put(&mut self, kind: Terrain, there: impl Fn(usize) -> bool) {
        for (at, tile) in self.terrain.iter_mut().enumerate() {
            if there(at) {
                *tile = kind;
            }
        }
    }

    /// The tiles whose height, in noise that changes over `cell` tiles, ranks in these percent of all.
    fn layer(&mut self, cell: u16, percent: std::ops::Range<usize>) -> Vec<bool> {
        self.seed = mix(self.seed.wrapping_add(1));
        let (seed, symmetry) = (self.seed, self.symmetry);
        let edge = usize::from(symmetry.size);
        let at = |tile: Tile| usize::from(tile.y) * edge + usize::from(tile.x);
        let mut height = vec![0; edge * edge];
        for number in 0..edge * edge {
            let tile = Tile::new((number % edge) as u16, (number / edge) as u16);
            // The first of its images is drawn for all of them.
            if symmetry.images(tile).any(|image| at(image) < number) {
                continue;
            }
            let drawn = symmetry
                .images(tile)
                .map(|image| noise(seed, image, cell) + noise(mix(seed), image, 3) / 6)
                .sum::<u32>();
            for image in symmetry.images(tile) {
                height[at(image)] = drawn;
            }
        }
        let mut ranked = height.clone();
        ranked.sort_unstable();
        let bar = |percent: usize| ranked.get(ranked.len() * percent / 100).copied();
        let least = bar(percent.start).unwrap_or(u32::MAX);
        let most = bar(percent.end).unwrap_or(u32::MAX);
        height
            .iter()
            .map(|height| (least..most).contains(height))
            .collect()
    }
}

/// Smooth noise, 0..65,536, that changes over `cell` tiles.
fn noise(layer: u64, tile: Tile, cell: u16) -> u32 {
    let corner = |dx: u16, dy: u16| {
        let at = u64::from(tile.x / cell + dx) << 32 | u64::from(tile.y / cell + dy);
        (mix(layer ^ mix(at)) >> 48) as u32
    };
    let (fx, fy) = (u32::from(tile.x % cell), u32::from(tile.y % cell));
    let cell = u32::from(cell);
    let blend = |a: u32, b: u32, f: u32| (a * (cell - f) + b * f) / cell;
    blend(
        blend(corner(0, 0), corner(1, 0), fx),
        blend(corner(0, 1), corner(1, 1), fx),
        fy,
    )
}
