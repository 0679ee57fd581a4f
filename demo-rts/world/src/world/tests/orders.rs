//! What units do when told, and by themselves.

use super::*;

#[test]
fn units_walk_around_walls_and_as_near_as_they_can() {
    let mut w = meadow();
    wall(&mut w, (0..55).map(|y| Tile::new(30, y)));
    let runner = put(&mut w, Kind::Swordsman, 0, 20, 10);
    let (units, to) = (one(&w, runner), Tile::new(40, 10));
    issue(&mut w, A, Command::Move { units, to }).unwrap();
    for _ in 0..1_000 {
        run(&mut w, 1);
        assert!(!w.map().is_blocked(w.unit(runner).unwrap().tile));
    }
    assert_eq!(w.unit(runner).unwrap().tile, to);
    assert_eq!(w.unit(runner).unwrap().order, Order::Idle);

    let cage = w.map.ring(Tile::new(50, 10), 3).collect::<Vec<_>>();
    wall(&mut w, cage);
    let (units, to) = (one(&w, runner), Tile::new(51, 11));
    issue(&mut w, A, Command::Move { units, to }).unwrap();
    run(&mut w, 600);
    let unit = w.unit(runner).unwrap();
    assert!(
        !unit.moving && unit.tile.king_steps(to) <= 3,
        "{:?}",
        unit.tile
    );
}

#[test]
fn a_crowd_spreads_out() {
    let mut w = meadow();
    let units: Vec<Id> = (0..60)
        .map(|n| put(&mut w, Kind::Archer, 0, 20 + n % 2, 20))
        .collect();
    let units = w.select(A, units);
    let to = Tile::new(40, 30);
    issue(&mut w, A, Command::Move { units, to }).unwrap();
    run(&mut w, 700);
    let all: Vec<UnitView> = w.units().collect();
    for (n, a) in all.iter().enumerate() {
        assert!(a.tile.king_steps(to) <= 9, "{a:?}");
        for b in &all[..n] {
            assert!(a.at.distance(b.at) > Num::lit("0.333"), "{a:?} {b:?}");
        }
    }
}

#[test]
fn opposite_crowds_pass_a_gap_of_one_tile() {
    let mut w = meadow();
    wall(
        &mut w,
        (0..64).filter(|y| *y != 30).map(|y| Tile::new(30, y)),
    );
    let left: Vec<Id> = (0..15)
        .map(|n| put(&mut w, Kind::Worker, 0, 20 + n % 3, 28 + n / 3))
        .collect();
    let right: Vec<Id> = (0..15)
        .map(|n| put(&mut w, Kind::Worker, 0, 40 + n % 3, 28 + n / 3))
        .collect();
    for (group, x) in [(&left, 45), (&right, 15)] {
        let units = w.select(A, group.iter().copied());
        let to = Tile::new(x, 30);
        issue(&mut w, A, Command::Move { units, to }).unwrap();
    }
    run_until(&mut w, 1_200, |w| {
        w.units().all(|unit| unit.order == Order::Idle)
    });
    assert!(left.iter().all(|id| w.unit(*id).unwrap().tile.x > 30));
    assert!(right.iter().all(|id| w.unit(*id).unwrap().tile.x < 30));
}

#[test]
fn archers_strike_first_and_knights_win_at_arms_length() {
    let mut w = meadow();
    let bow = put(&mut w, Kind::Archer, 0, 20, 20);
    let rider = put(&mut w, Kind::Knight, 1, 28, 20);
    let effects = run(&mut w, 24);
    let launched = effects
        .iter()
        .any(|e| matches!(e, Effect::Launched { from, .. } if *from == bow));
    assert!(launched);
    let hurt = |w: &World, id| w.unit(id).map_or(0, |unit| unit.hit_points);
    assert!(hurt(&w, rider) < Kind::Knight.stats().hit_points);
    assert_eq!(hurt(&w, bow), Kind::Archer.stats().hit_points);
    let effects = run(&mut w, 600);
    assert_eq!(w.unit(bow), None);
    assert!(
        effects
            .iter()
            .any(|e| matches!(e, Effect::Died { id, .. } if *id == bow))
    );
    assert_eq!(w.seat(B).unwrap().killed, 1);
    assert_eq!(w.seat(A).unwrap().lost, 1);
    assert_eq!(w.projectiles().len(), 0);
}

#[test]
fn holding_units_stay_and_idle_ones_return() {
    let mut w = meadow();
    let holder = put(&mut w, Kind::Swordsman, 0, 20, 20);
    let guard = put(&mut w, Kind::Swordsman, 0, 40, 20);
    let units = one(&w, holder);
    issue(&mut w, A, Command::Hold { units }).unwrap();
    let near_holder = put(&mut w, Kind::Worker, 1, 23, 20);
    let near_guard = put(&mut w, Kind::Worker, 1, 43, 20);
    run(&mut w, 200);
    assert!(w.unit(near_holder).is_some());
    assert_eq!(w.unit(holder).unwrap().tile, Tile::new(20, 20));
    assert!(w.unit(near_guard).is_none());
    assert_eq!(w.unit(guard).unwrap().tile, Tile::new(40, 20));
}

#[test]
fn an_attack_brings_a_building_down_and_opens_its_ground() {
    let mut w = meadow();
    w.spawn_building(Kind::House, 1, Tile::new(30, 30), true);
    let house = w.buildings().last().unwrap().id;
    let units: Vec<Id> = (0..6)
        .map(|n| put(&mut w, Kind::Swordsman, 0, 24, 26 + n))
        .collect();
    let units = w.select(A, units);
    let own = hall(&w, A).id;
    let at_own = Command::Attack {
        units: units.clone(),
        target: own,
    };
    assert_eq!(issue(&mut w, A, at_own), Err(Refusal::NoSuchTarget));
    issue(
        &mut w,
        A,
        Command::Attack {
            units,
            target: house,
        },
    )
    .unwrap();
    run(&mut w, 500);
    assert_eq!(w.building(house), None);
    assert!(w.map().has_room(Tile::new(30, 30), 2));
    assert!(w.units().all(|unit| unit.order == Order::Idle));
}

#[test]
fn an_attack_move_fights_on_the_way_and_goes_on() {
    let mut w = meadow();
    let units: Vec<Id> = (0..4)
        .map(|n| put(&mut w, Kind::Swordsman, 0, 10, 20 + n))
        .collect();
    let units = w.select(A, units);
    let victim = put(&mut w, Kind::Worker, 1, 25, 24);
    let to = Tile::new(45, 22);
    issue(&mut w, A, Command::AttackMove { units, to }).unwrap();
    run(&mut w, 500);
    assert_eq!(w.unit(victim), None);
    assert!(w.units().all(|unit| unit.tile.king_steps(to) <= 4));
}

#[test]
fn commands_for_others_or_the_dead_are_refused() {
    let mut w = meadow();
    let own = put(&mut w, Kind::Archer, 0, 10, 10);
    put(&mut w, Kind::Worker, 1, 50, 50);
    let to = Tile::new(5, 5);
    let refusals = [
        (
            Command::Move {
                units: Selection::new([9]),
                to,
            },
            Refusal::NoUnit,
        ),
        (
            Command::Move {
                units: Selection::default(),
                to,
            },
            Refusal::NoUnit,
        ),
        (
            Command::Stop {
                units: Selection::recent(0),
            },
            Refusal::Forgotten,
        ),
        (
            Command::Move {
                units: one(&w, own),
                to: Tile::new(64, 3),
            },
            Refusal::OffTheMap,
        ),
        (
            Command::Attack {
                units: one(&w, own),
                target: Id(0),
            },
            Refusal::NoSuchTarget,
        ),
        (
            Command::Gather {
                units: one(&w, own),
                from: to,
            },
            Refusal::NothingToGather,
        ),
        (
            Command::Build {
                units: one(&w, own),
                kind: Kind::House,
                at: to,
            },
            Refusal::NoUnit,
        ),
    ];
    let before = w.checksum();
    for (command, refusal) in refusals {
        assert_eq!(
            issue(&mut w, A, command.clone()),
            Err(refusal),
            "{command:?}"
        );
    }
    assert_eq!(issue(&mut w, Seat(77), Command::Surrender), Ok(()));
    assert_eq!(w.checksum(), before);
}
