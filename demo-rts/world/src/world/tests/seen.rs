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

/// The documented knowledge beyond sight: whether a unit could walk from here to there.
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
    assert_eq!((before.1, before.2), (None, 0), "unexplored");
    assert!(is_joined(&w));
    for y in 0..64 {
        w.spawn_building(Kind::Wall, 1, Tile::new(32, y), true);
    }
    goals::refresh(&mut w);
    assert_eq!(known(&w), before);
    assert!(!is_joined(&w));
}

fn all_tiles(w: &World) -> impl Iterator<Item = Tile> + use<> {
    let edge = w.map.size();
    (0..edge).flat_map(move |y| (0..edge).map(move |x| Tile::new(x, y)))
}

#[test]
fn a_click_on_unexplored_ground_tells_nothing_of_it() {
    let setup = Setup {
        map: Some(MapKind::Plains),
        ..Setup::default()
    };
    let w = World::new(&start(2, 3, setup));
    let units = workers(&w, A);
    let (mut hidden, mut gathered) = (0, 0);
    for on in all_tiles(&w) {
        let meant = w.meant_by_click(A, units.clone(), on);
        let resource = w.map.resource(on).is_some();
        if !w.explored(A, on) {
            let to = on;
            let units = units.clone();
            assert_eq!(meant, Command::Move { units, to });
            hidden += u32::from(resource);
        } else if resource {
            let from = on;
            let units = units.clone();
            assert_eq!(meant, Command::Gather { units, from });
            gathered += 1;
        }
        assert_eq!(issue(&mut w.clone(), A, meant), Ok(()), "{on:?}");
    }
    // There was something to tell, and something to gather.
    assert!(hidden > 500 && gathered > 5, "{hidden} and {gathered}");
}

#[test]
fn a_click_on_a_remembered_enemy_building_attacks_it() {
    let mut w = meadow();
    w.setup.fog = true;
    w.fog = fog::Fog::new(true, 64, 2);
    let on = Tile::new(31, 31);
    let target = w.spawn_building(Kind::Barracks, 1, Tile::new(30, 30), true);
    let scout = put(&mut w, Kind::Archer, 0, 26, 31);
    let soldier = put(&mut w, Kind::Knight, 0, 8, 8);
    let units = one(&w, soldier);
    let meant = |w: &World| w.meant_by_click(A, units.clone(), on);
    let to = on;
    let walk = Command::Move {
        units: units.clone(),
        to,
    };
    assert_eq!(meant(&w), walk, "unseen");
    run(&mut w, 8);
    let attack = Command::Attack {
        units: units.clone(),
        target,
    };
    assert_eq!(meant(&w), attack);
    assert_eq!(issue(&mut w, A, attack), Ok(()));
    let row = w.units.row(scout).expect("it lives");
    w.units.hp[row] = 0;
    run(&mut w, 32);
    let seen = w.seen_by(A).expect("it plays");
    assert!(seen.building(target).is_some_and(|b| b.remembered));
    let march = Command::AttackMove {
        units: units.clone(),
        to,
    };
    assert_eq!(meant(&w), march);
    assert_eq!(issue(&mut w, A, march), Ok(()));
    // A building that burnt down out of sight is remembered until its place is seen.
    let row = w.buildings.row(target).expect("it stands");
    w.buildings.hp[row] = 0;
    run(&mut w, 32);
    assert!(matches!(meant(&w), Command::AttackMove { .. }));
    put(&mut w, Kind::Archer, 0, 26, 31);
    run(&mut w, 8);
    assert_eq!(meant(&w), walk);
}
