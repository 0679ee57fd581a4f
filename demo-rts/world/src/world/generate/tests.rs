use super::*;
use crate::world::map::Terrain;

/// Every kind of map, for every number of seats.
fn each(seeds: u64, check: impl Fn(&str, usize, &Drawn)) {
    for seed in 0..seeds {
        for kind in MapKind::ALL {
            for seats in 1..=8 {
                let drawn = draw(seed, Some(kind), seats, usual_size(seats), seed);
                let name = format!("seed {seed}, {}, {seats} seats", kind.name());
                check(&name, seats, &drawn);
            }
        }
    }
}

fn tiles(map: &Map) -> impl Iterator<Item = Tile> {
    (0..map.tiles()).map(|index| map.tile_of(index as u32))
}

#[test]
fn every_map_is_symmetric_and_connects_every_start() {
    each(5, |name, seats, Drawn { map, starts }| {
        let symmetry = Symmetry::for_seats(seats, map.size());
        for tile in tiles(map) {
            for image in symmetry.images(tile) {
                assert_eq!(map.terrain(tile), map.terrain(image), "{name}");
                assert_eq!(map.amount(tile), map.amount(image), "{name}");
            }
        }
        assert_eq!(starts.len(), seats);
        let home = map.region(starts[0].hall);
        assert_ne!(home, 0);
        for start in starts {
            assert_eq!(map.region(start.hall), home, "{name}");
            let corner = Tile::new(start.hall.x - 1, start.hall.y - 1);
            assert!(map.has_room(corner, 3));
            assert!(start.units.len() >= 40, "{name}");
            assert!(start.units.iter().all(|tile| map.region(*tile) == home));
        }
    });
}

#[test]
fn starts_are_apart_and_rich() {
    each(5, |name, _, Drawn { map, starts }| {
        for (number, start) in starts.iter().enumerate() {
            for other in &starts[..number] {
                assert!(start.hall.king_steps(other.hall) >= 24, "{name}");
            }
            let near = |kind: Terrain| {
                let near = tiles(map).filter(|tile| tile.king_steps(start.hall) <= 12);
                near.filter(|tile| map.terrain(*tile) == kind).count()
            };
            assert!(
                near(Terrain::Gold) >= 4 && near(Terrain::Forest) >= 15,
                "{name}"
            );
        }
    });
}

#[test]
fn every_mine_is_reached_and_every_start_has_three_of_its_own() {
    each(5, |name, seats, Drawn { map, starts }| {
        let home = map.region(starts[0].hall);
        let symmetry = Symmetry::for_seats(seats, map.size());
        let halls: Vec<Tile> = symmetry.images(starts[0].hall).collect();
        let mut own = 0;
        for tile in tiles(map).filter(|tile| map.terrain(*tile) == Terrain::Gold) {
            let reached = map.touches_region(tile, 1, home);
            // A mine is two by two tiles; where two of them touch, the outer ones are dug first.
            let beside = map.ring(tile, 1).any(|t| map.touches_region(t, 1, home));
            assert!(reached || beside, "{name}: {tile:?}");
            let steps = |hall: &Tile| hall.centre().distance_squared(tile.centre());
            let nearest = halls.iter().map(steps).min();
            own += u32::from(nearest == Some(steps(&halls[0])));
        }
        assert!(own >= 12, "{name}: {own} tiles of gold");
    });
}

#[test]
fn kinds_differ_as_they_should() {
    let share = |kind: MapKind, wanted: Terrain| {
        let shares = (0..6).map(|seed| {
            let map = draw(seed, Some(kind), 2, 96, 0).map;
            tiles(&map)
                .filter(|tile| map.terrain(*tile) == wanted)
                .count()
                * 100
                / map.tiles()
        });
        shares.sum::<usize>() / 6
    };
    let open = MapKind::ALL.map(|kind| share(kind, Terrain::Ground));
    assert!(
        open.iter().all(|percent| (55..90).contains(percent)),
        "{open:?}"
    );
    assert!(open[0] > open[2], "{open:?}");
    assert!(share(MapKind::Valleys, Terrain::Rock) >= 6);
    assert!(share(MapKind::Lakes, Terrain::Water) >= 12);
    assert!(share(MapKind::Plains, Terrain::Water) <= 5);
    let drawn: Vec<MapKind> = (0..40).map(MapKind::drawn).collect();
    assert!(MapKind::ALL.iter().all(|kind| drawn.contains(kind)));
}

#[test]
fn seeds_differ_and_sizes_are_bounded() {
    let draw = |seed, seats, size, turn| draw(seed, None, seats, size, turn);
    let a = draw(1, 4, 96, 0).map;
    let b = draw(2, 4, 96, 0).map;
    assert_ne!(a.terrain_column(), b.terrain_column());
    assert_eq!(draw(1, 2, 0, u64::MAX).map.size(), SMALLEST);
    assert_eq!(draw(1, 8, u16::MAX, 3).map.size(), LARGEST_PLAYED);
    assert_eq!(draw(7, 8, SMALLEST, 3).map.size(), least_size(8));
}

/// A building on blocked ground is in no snapshot that loads.
#[test]
fn no_hall_stands_on_a_mine_on_the_smallest_maps() {
    for size in [SMALLEST, SMALLEST + 1] {
        for seed in 0..60 {
            for kind in MapKind::ALL {
                let Drawn { map, starts } = draw(seed, Some(kind), 2, size, 0);
                for start in &starts {
                    let corner = Tile::new(start.hall.x - 1, start.hall.y - 1);
                    let name = format!("seed {seed}, {}, {size} tiles", kind.name());
                    assert!(map.has_room(corner, 3), "{name}: {:?}", start.hall);
                }
            }
        }
    }
}
