//! What a seat may know.

use super::*;

#[test]
fn of_many_units_some_are_told_and_others_later() {
    let mut w = meadow();
    for n in 0..600 {
        put(&mut w, Kind::Archer, 0, 5 + n % 50, 5 + n / 50);
        put(&mut w, Kind::Archer, 1, 5 + n % 50, 40 + n / 50);
    }
    let seen = w.seen_by(A).expect("it plays");
    let all: Vec<UnitView> = seen.units().collect();
    assert_eq!(seen.some_units(600, 600), all, "as many as there are");
    let some = |w: &World| w.seen_by(A).expect("it plays").some_units(100, 40);
    let mut told = std::collections::BTreeSet::new();
    for _ in 0..40 {
        let units = some(&w);
        let own = units.iter().filter(|unit| unit.seat == A).count();
        assert_eq!((own, units.len()), (100, 140));
        assert!(units.is_sorted_by_key(|unit| unit.id));
        told.extend(units.iter().map(|unit| unit.id));
        w.tick += 64;
    }
    assert!(told.len() > 1_000, "{}", told.len());
}

/// What is documented as known out of sight: whether one could walk from here to there.
#[test]
fn regions_know_of_walls_out_of_sight_and_nothing_else_does() {
    let mut w = meadow();
    w.setup.fog = true;
    w.fog = fog::Fog::new(true, 64, 2);
    let (here, there) = (Tile::new(8, 40), Tile::new(56, 20));
    for tile in [here, there] {
        put(&mut w, Kind::Archer, 0, tile.x, tile.y);
    }
    run(&mut w, 20);
    let known = |w: &World| {
        let seen = w.seen_by(A).expect("it plays");
        let buildings: Vec<Id> = seen.buildings().map(|b| b.id).collect();
        let middle = Tile::new(32, 30);
        let terrain = seen.terrain(middle);
        (buildings, terrain, seen.region(middle))
    };
    let is_joined = |w: &World| {
        let seen = w.seen_by(A).expect("it plays");
        let regions = [here, there].map(|tile| seen.region(tile));
        assert!(!regions.contains(&0));
        regions[0] == regions[1]
    };
    let before = known(&w);
    assert_eq!((before.1, before.2), (None, 0), "nobody was there");
    assert!(is_joined(&w));
    for y in 0..64 {
        w.spawn_building(Kind::Wall, 1, Tile::new(32, y), true);
    }
    goals::refresh(&mut w);
    assert_eq!(known(&w), before);
    assert!(!is_joined(&w));
}
