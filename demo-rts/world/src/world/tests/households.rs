//! Workers, training and building.

use super::*;

#[test]
fn every_seat_starts_alike() {
    for seats in 1..=8 {
        let w = world(seats, 5);
        for seat in w.seats() {
            assert_eq!((seat.gold, seat.wood), (250, 200));
            assert_eq!((seat.population, seat.population_limit), (5, 10));
            assert_eq!(workers(&w, seat.seat).numbers().map(<[u16]>::len), Ok(5));
        }
        assert_eq!(w.units().count(), 5 * usize::from(seats));
        let scores: Vec<u64> = w.seats().map(|seat| seat.score).collect();
        assert!(scores.iter().all(|score| *score == scores[0]));
    }
}

#[test]
fn settings_and_seats_out_of_range_still_make_a_world() {
    let wild = Setup {
        map_seed: Some(u64::MAX),
        map: Some(MapKind::Lakes),
        size: Some(u16::MAX),
        scenario: Scenario::Skirmish {
            units_per_seat: u16::MAX,
        },
        population: u16::MAX,
        gold: u32::MAX,
        wood: u32::MAX,
        minutes: 0,
        fog: true,
    };
    let mut begin = start(2, 3, wild);
    begin.seats = (0..=255).rev().map(Seat).collect();
    let mut w = World::new(&begin);
    assert_eq!(w.seats().count(), MOST_SEATS);
    run(&mut w, 2);
    begin.seats.clear();
    begin.setup.size = Some(0);
    begin.setup.scenario = Scenario::Skirmish { units_per_seat: 0 };
    let mut empty = World::new(&begin);
    run(&mut empty, 2);
    assert_eq!(empty.outcome(), None);
}

#[test]
fn workers_fetch_gold_and_wood_and_take_the_next_tree() {
    let mut w = meadow();
    let (tree, next, mine) = (Tile::new(9, 2), Tile::new(9, 5), Tile::new(2, 9));
    resource(&mut w, tree, Terrain::Forest, 12);
    resource(&mut w, next, Terrain::Forest, 90);
    resource(&mut w, mine, Terrain::Gold, 900);
    let cutter = put(&mut w, Kind::Worker, 0, 6, 2);
    let digger = put(&mut w, Kind::Worker, 0, 2, 6);
    let units = one(&w, cutter);
    issue(&mut w, A, Command::Gather { units, from: tree }).unwrap();
    let units = one(&w, digger);
    issue(&mut w, A, Command::Gather { units, from: mine }).unwrap();
    let before = w.seat(A).unwrap();
    let effects = run(&mut w, 1_500);
    let after = w.seat(A).unwrap();
    assert!(after.gold >= before.gold + 30, "{}", after.gold);
    assert!(after.wood >= before.wood + 30, "{}", after.wood);
    assert_eq!(w.map().terrain(tree), Terrain::Ground);
    assert!(!w.map().is_blocked(tree));
    assert!(effects.contains(&Effect::Exhausted { at: tree }));
    assert_eq!(w.unit(cutter).unwrap().goal, next);
    let taken = u32::from(90 - w.map().amount(next)) + 12;
    let carried = w.unit(cutter).unwrap().carries.map_or(0, |(_, n)| n);
    assert_eq!(after.wood - before.wood + u32::from(carried), taken);
}

#[test]
fn training_costs_takes_room_and_can_be_cancelled() {
    let mut w = meadow();
    let building = hall(&w, A).id;
    let kind = Kind::Worker;
    for _ in 0..5 {
        issue(&mut w, A, Command::Train { building, kind }).unwrap();
    }
    assert_eq!(w.seat(A).unwrap().gold, 0);
    assert_eq!(
        issue(&mut w, A, Command::Train { building, kind }),
        Err(Refusal::Queue)
    );
    issue(&mut w, A, Command::CancelTrain { building, place: 4 }).unwrap();
    assert_eq!(w.seat(A).unwrap().gold, 50);
    let swordsman = Kind::Swordsman;
    let train = Command::Train {
        building,
        kind: swordsman,
    };
    assert_eq!(issue(&mut w, A, train), Err(Refusal::CannotTrain));
    let foreign = hall(&w, B).id;
    let train = Command::Train {
        building: foreign,
        kind,
    };
    assert_eq!(issue(&mut w, A, train), Err(Refusal::NoSuchBuilding));
    run(&mut w, 240 * 4);
    assert_eq!(w.units().count(), 4);
    assert_eq!(w.seat(A).unwrap().population, 4);
}

#[test]
fn no_unit_is_trained_beyond_the_room() {
    let mut w = meadow();
    for x in 0..10 {
        put(&mut w, Kind::Archer, 0, 10 + x, 20);
    }
    let building = hall(&w, A).id;
    let kind = Kind::Worker;
    issue(&mut w, A, Command::Train { building, kind }).unwrap();
    run(&mut w, 300);
    assert_eq!(w.units().count(), 10);
    w.spawn_building(Kind::House, 0, Tile::new(10, 1), true);
    run(&mut w, 300);
    assert_eq!(w.units().count(), 11);
    assert_eq!(w.seat(A).unwrap().population_limit, 18);
}

#[test]
fn trained_units_go_where_they_are_sent() {
    let mut w = meadow();
    let building = hall(&w, A).id;
    let mine = Tile::new(12, 3);
    resource(&mut w, mine, Terrain::Gold, 500);
    issue(&mut w, A, Command::Rally { building, to: mine }).unwrap();
    let kind = Kind::Worker;
    issue(&mut w, A, Command::Train { building, kind }).unwrap();
    run(&mut w, 250);
    assert_eq!(w.units().next().unwrap().order, Order::Gather);
    let to = Tile::new(20, 20);
    issue(&mut w, A, Command::Rally { building, to }).unwrap();
    issue(&mut w, A, Command::Train { building, kind }).unwrap();
    run(&mut w, 600);
    assert_eq!(w.units().last().unwrap().tile, to);
    let off = Command::Rally {
        building,
        to: Tile::new(64, 0),
    };
    assert_eq!(issue(&mut w, A, off), Err(Refusal::OffTheMap));
}

#[test]
fn trained_units_do_not_come_out_into_a_pocket() {
    let mut w = meadow();
    let building = hall(&w, A).id;
    // The door nearest to the rally point leads nowhere.
    let pocket = [(4, 1), (5, 1), (5, 2), (5, 3), (4, 3)];
    wall(&mut w, pocket.map(|(x, y)| Tile::new(x, y)));
    let to = Tile::new(20, 2);
    issue(&mut w, A, Command::Rally { building, to }).unwrap();
    let kind = Kind::Worker;
    issue(&mut w, A, Command::Train { building, kind }).unwrap();
    run(&mut w, 600);
    assert_eq!(w.units().next().unwrap().tile, to);
}

#[test]
fn a_house_is_paid_founded_built_and_solid() {
    let mut w = meadow();
    let builder = put(&mut w, Kind::Worker, 0, 10, 10);
    let bystander = put(&mut w, Kind::Archer, 0, 14, 14);
    let at = Tile::new(14, 14);
    let (units, kind) = (one(&w, builder), Kind::House);
    let build = Command::Build { units, kind, at };
    issue(&mut w, A, build.clone()).unwrap();
    assert_eq!(w.seat(A).unwrap().wood, 120);
    assert_eq!(issue(&mut w, A, build), Err(Refusal::NoRoom));
    assert!(!w.map().is_blocked(at));
    let effects = run(&mut w, 600);
    assert!(effects.iter().any(|e| matches!(
        e,
        Effect::Built {
            kind: Kind::House,
            ..
        }
    )));
    assert!(w.map().is_blocked(at));
    let house = w.buildings().last().unwrap();
    assert_eq!(house.hit_points, Kind::House.stats().hit_points);
    assert!(!w.map().is_blocked(w.unit(bystander).unwrap().tile));
    assert_eq!(w.seat(A).unwrap().population_limit, 18);
}

#[test]
fn two_workers_halve_the_time_and_a_foundation_can_be_given_up() {
    let mut times = Vec::new();
    for builders in [1, 2] {
        let mut w = meadow();
        let units: Vec<Id> = (0..builders)
            .map(|n| put(&mut w, Kind::Worker, 0, 10, 10 + n))
            .collect();
        let units = w.select(A, units);
        let (kind, at) = (Kind::House, Tile::new(11, 10));
        issue(&mut w, A, Command::Build { units, kind, at }).unwrap();
        times.push(run_until(&mut w, 900, |w| {
            w.buildings().all(|b| b.complete)
        }));
    }
    assert!(times[1] * 2 <= times[0] + 60, "{times:?}");

    let mut w = meadow();
    let builder = put(&mut w, Kind::Worker, 0, 10, 10);
    let (units, kind, at) = (one(&w, builder), Kind::Barracks, Tile::new(20, 10));
    issue(&mut w, A, Command::Build { units, kind, at }).unwrap();
    let building = w.buildings().last().unwrap().id;
    assert_eq!(
        issue(&mut w, B, Command::CancelBuild { building }),
        Err(Refusal::NoSuchBuilding)
    );
    issue(&mut w, A, Command::CancelBuild { building }).unwrap();
    run(&mut w, 3);
    assert_eq!(w.building(building), None);
    assert_eq!(w.seat(A).unwrap().wood, 50 + 150 * 3 / 4);
    assert!(w.map().has_room(at, 3));
}

#[test]
fn workers_crowded_at_one_side_of_a_mine_keep_at_it() {
    let mut w = meadow();
    let mine = Tile::new(12, 2);
    resource(&mut w, mine, Terrain::Gold, 1_500);
    let sides = w.map.ring(mine, 1).skip(1).collect::<Vec<_>>();
    wall(&mut w, sides);
    let units: Vec<Id> = (0..8)
        .map(|_| put(&mut w, Kind::Worker, 0, 11, 1))
        .collect();
    let units = w.select(A, units);
    issue(&mut w, A, Command::Gather { units, from: mine }).unwrap();
    run(&mut w, 900);
    let at_work = w
        .units()
        .filter(|unit| matches!(unit.order, Order::Gather | Order::Return));
    assert_eq!(at_work.count(), 8);
    assert!(w.seat(A).unwrap().gathered >= 160);
}
