//! Research, queues of every kind, patrols, shelters, and stones that hit a place.

use super::nonsense::assert_sound;
use super::*;
use crate::world::{command::Task, tables::WAYPOINTS};

fn rich() -> World {
    let mut w = meadow();
    w.seats.earn(0, 5_000, 5_000);
    w
}

fn raise(w: &mut World, kind: Kind, seat: u8, x: u16, y: u16) -> Id {
    w.spawn_building(kind, seat, Tile::new(x, y), true);
    w.buildings().last().unwrap().id
}

fn research(w: &mut World, building: Id, upgrade: Upgrade) -> Result<(), Refusal> {
    issue(w, A, Command::Research { building, upgrade })
}

#[test]
fn blades_are_paid_learnt_once_and_cut_deeper() {
    let mut w = rich();
    let barracks = raise(&mut w, Kind::Barracks, 0, 20, 20);
    let line = Upgrade::Blades.stats();
    let refused = research(&mut w, barracks, Upgrade::Tools);
    assert_eq!(refused, Err(Refusal::CannotTrain));
    for level in 1..=line.levels {
        let before = w.seat(A).unwrap();
        research(&mut w, barracks, Upgrade::Blades).unwrap();
        let paid = w.seat(A).unwrap();
        let price = (before.gold - paid.gold, before.wood - paid.wood);
        assert_eq!(price, line.price(level));
        let again = research(&mut w, barracks, Upgrade::Blades);
        assert_eq!(again, Err(Refusal::AlreadyKnown));
        let effects = run(&mut w, u32::from(line.ticks));
        assert!(effects.contains(&Effect::Researched {
            seat: A,
            upgrade: Upgrade::Blades,
            level
        }));
        assert_eq!(w.building(barracks).unwrap().queued, 0);
    }
    let known = research(&mut w, barracks, Upgrade::Blades);
    assert_eq!(known, Err(Refusal::AlreadyKnown));
    let base = Kind::Knight.stats().damage;
    assert_eq!(w.stats(A, Kind::Knight).unwrap().damage, base + 4);
    assert_eq!(w.stats(B, Kind::Knight).unwrap().damage, base);
    assert_eq!(w.seat(A).unwrap().upgrades[Upgrade::Blades as usize], 2);

    let [us, them] = [(0, 30), (1, 31)].map(|(seat, x)| put(&mut w, Kind::Swordsman, seat, x, 30));
    run(&mut w, 1_200);
    assert!(w.unit(us).is_some() && w.unit(them).is_none());
}

#[test]
fn tools_speed_workers_and_masonry_strengthens_what_stands() {
    let mut w = rich();
    raise(&mut w, Kind::Barracks, 0, 20, 20);
    let house = raise(&mut w, Kind::House, 0, 30, 20);
    let row = w.buildings.row(house).unwrap();
    w.buildings.hp[row] = 100;
    let building = hall(&w, A).id;
    research(&mut w, building, Upgrade::Masonry).unwrap();
    research(&mut w, building, Upgrade::Tools).unwrap();
    run(&mut w, 1_801);
    assert_eq!(w.building(house).unwrap().hit_points, 120);
    assert_eq!(w.building(building).unwrap().hit_points, 1_440);
    assert!(w.stats(A, Kind::Worker).unwrap().gather_ticks < Kind::Worker.stats().gather_ticks);
    let saved = bytes(&w);
    assert_eq!(bytes(&World::load(&saved).unwrap()), saved);
    // Without its upgrade nothing can stand so firm.
    w.seats.upgrades[0] = [0; Upgrade::ALL.len()];
    assert!(World::load(&bytes(&w)).is_err());
}

#[test]
fn any_place_of_a_queue_can_be_cancelled_for_its_price() {
    let mut w = rich();
    let building = hall(&w, A).id;
    raise(&mut w, Kind::Barracks, 0, 20, 20);
    let before = w.seat(A).unwrap();
    let kind = Kind::Worker;
    issue(&mut w, A, Command::Train { building, kind }).unwrap();
    research(&mut w, building, Upgrade::Tools).unwrap();
    issue(&mut w, A, Command::Train { building, kind }).unwrap();
    run(&mut w, 20);
    let cancel = |place| Command::CancelTrain { building, place };
    assert_eq!(issue(&mut w, A, cancel(3)), Err(Refusal::Queue));
    issue(&mut w, A, cancel(1)).unwrap();
    let queue = w.building(building).unwrap().queue;
    let worker = Some(Job::Train(kind));
    assert_eq!(queue, [worker, worker, None, None, None]);
    assert_eq!(w.building(building).unwrap().worked, 20);
    issue(&mut w, A, cancel(0)).unwrap();
    assert_eq!(w.building(building).unwrap().worked, 0);
    issue(&mut w, A, cancel(0)).unwrap();
    let after = w.seat(A).unwrap();
    assert_eq!((after.gold, after.wood), (before.gold, before.wood));
    research(&mut w, building, Upgrade::Tools).unwrap();
}

#[test]
fn a_building_is_demolished_for_nothing() {
    let mut w = meadow();
    let house = raise(&mut w, Kind::House, 0, 20, 20);
    let demolish = Command::Demolish { building: house };
    let foreign = issue(&mut w, B, demolish.clone());
    assert_eq!(foreign, Err(Refusal::NoSuchBuilding));
    let before = w.seat(A).unwrap();
    issue(&mut w, A, demolish).unwrap();
    run(&mut w, 1);
    assert_eq!(w.building(house), None);
    let after = w.seat(A).unwrap();
    assert_eq!((after.gold, after.wood), (before.gold, before.wood));
}

#[test]
fn queued_orders_are_done_one_after_the_other() {
    let mut w = rich();
    let tree = Tile::new(40, 12);
    resource(&mut w, tree, Terrain::Forest, 90);
    let worker = put(&mut w, Kind::Worker, 0, 20, 20);
    let units = one(&w, worker);
    let queue = |w: &mut World, task| {
        let units = units.clone();
        issue(w, A, Command::Queue { units, task })
    };
    let gold = w.seat(A).unwrap().wood;
    queue(
        &mut w,
        Task::Move {
            to: Tile::new(26, 20),
        },
    )
    .unwrap();
    for x in [30, 34] {
        let (kind, at) = (Kind::House, Tile::new(x, 20));
        queue(&mut w, Task::Build { kind, at }).unwrap();
    }
    queue(&mut w, Task::Gather { from: tree }).unwrap();
    assert_eq!(gold - w.seat(A).unwrap().wood, 2 * Kind::House.stats().wood);
    assert_eq!(w.waypoints(worker).count(), 4);
    run(&mut w, 1);
    assert_eq!(w.unit(worker).unwrap().order, Order::Move);
    let saved = bytes(&w);
    assert_eq!(bytes(&World::load(&saved).unwrap()), saved);
    run_until(&mut w, 300, |w| {
        w.unit(worker).unwrap().order == Order::Construct
    });
    assert_eq!(
        w.unit(worker).unwrap().tile.king_steps(Tile::new(26, 20)),
        0
    );
    run_until(&mut w, 1_500, |w| w.buildings().all(|b| b.complete));
    run(&mut w, 2);
    assert_eq!(w.unit(worker).unwrap().order, Order::Gather);
    assert_eq!(w.waypoints(worker).count(), 0);
}

#[test]
fn eight_errands_wait_and_a_direct_order_drops_them() {
    let mut w = meadow();
    let unit = put(&mut w, Kind::Swordsman, 0, 20, 20);
    let units = one(&w, unit);
    let to = Tile::new(50, 20);
    let go = Command::Move {
        units: units.clone(),
        to,
    };
    issue(&mut w, A, go.clone()).unwrap();
    let queue = Command::Queue {
        units: units.clone(),
        task: Task::Move { to },
    };
    for _ in 0..WAYPOINTS {
        issue(&mut w, A, queue.clone()).unwrap();
    }
    let full = issue(&mut w, A, queue.clone());
    assert_eq!(full, Err(Refusal::TooManyWaypoints));
    issue(&mut w, A, go).unwrap();
    assert_eq!(w.waypoints(unit).count(), 0);
    issue(&mut w, A, queue.clone()).unwrap();
    issue(&mut w, A, Command::Stop { units }).unwrap();
    assert_eq!(w.waypoints(unit).count(), 0);
    issue(&mut w, A, queue).unwrap();
    let row = w.units.row(unit).unwrap();
    w.units.hp[row] = 0;
    run(&mut w, 1);
    assert_eq!(w.waypoints.len(), 0);
}

#[test]
fn a_queued_attack_on_a_dead_target_is_skipped() {
    let mut w = meadow();
    let unit = put(&mut w, Kind::Knight, 0, 20, 20);
    let victim = put(&mut w, Kind::Worker, 1, 25, 25);
    let units = one(&w, unit);
    let (there, then) = (Tile::new(20, 24), Tile::new(20, 30));
    issue(
        &mut w,
        A,
        Command::Move {
            units: units.clone(),
            to: there,
        },
    )
    .unwrap();
    for task in [Task::Attack { target: victim }, Task::Move { to: then }] {
        let units = units.clone();
        issue(&mut w, A, Command::Queue { units, task }).unwrap();
    }
    let row = w.units.row(victim).unwrap();
    w.units.hp[row] = 0;
    run(&mut w, 300);
    assert_eq!(w.unit(unit).unwrap().tile, then);
}

#[test]
fn a_patrol_goes_to_and_fro_and_round_and_fights() {
    let mut w = meadow();
    let guard = put(&mut w, Kind::Swordsman, 0, 20, 20);
    let units = one(&w, guard);
    let ends = [Tile::new(20, 20), Tile::new(30, 20)];
    issue(
        &mut w,
        A,
        Command::Patrol {
            units: units.clone(),
            to: ends[1],
        },
    )
    .unwrap();
    for turn in 1..=4 {
        let to = ends[turn % 2];
        run_until(&mut w, 200, |w| w.unit(guard).unwrap().tile == to);
    }
    let raider = put(&mut w, Kind::Worker, 1, 25, 22);
    run_until(&mut w, 600, |w| w.unit(raider).is_none());
    assert_eq!(w.unit(guard).unwrap().order, Order::Patrol);

    let corners = [Tile::new(30, 30), Tile::new(20, 30), Tile::new(20, 20)];
    for to in corners {
        let units = units.clone();
        let task = Task::Patrol { to };
        issue(&mut w, A, Command::Queue { units, task }).unwrap();
    }
    run(&mut w, 200);
    for to in corners.into_iter().cycle().take(7) {
        run_until(&mut w, 900, |w| w.unit(guard).unwrap().tile == to);
    }
    assert_eq!(w.waypoints(guard).count(), 3);
}

#[test]
fn archers_inside_a_tower_shoot_with_it_and_leave_when_told() {
    let mut w = meadow();
    let tower = raise(&mut w, Kind::Tower, 0, 20, 20);
    let guests: Vec<Id> = (0..5)
        .map(|n| put(&mut w, Kind::Archer, 0, 18, 18 + n))
        .collect();
    let units = w.select(A, guests.iter().copied());
    let building = tower;
    let enter = Command::Garrison {
        units: units.clone(),
        building,
    };
    issue(&mut w, A, enter).unwrap();
    run_until(&mut w, 200, |w| w.building(tower).unwrap().inside == 4);
    run(&mut w, 60);
    let inside = |w: &World| w.units().filter(|u| u.order == Order::Inside).count();
    assert_eq!(inside(&w), 4);
    assert_eq!(w.seat(A).unwrap().population, 5);
    let saved = bytes(&w);
    assert_eq!(bytes(&World::load(&saved).unwrap()), saved);
    let ordered = issue(&mut w, A, Command::Stop { units });
    assert_eq!(ordered, Ok(()), "one stayed outside");
    let guest = w.units().find(|u| u.order == Order::Inside).unwrap().id;
    let knight = put(&mut w, Kind::Knight, 1, 40, 40);
    let attack = Command::Attack {
        units: one(&w, knight),
        target: guest,
    };
    assert_eq!(issue(&mut w, B, attack), Err(Refusal::NoSuchTarget));

    put(&mut w, Kind::Knight, 1, 25, 20);
    let volley = run(&mut w, 8)
        .iter()
        .filter(|e| matches!(e, Effect::Launched { from, .. } if *from == tower))
        .count();
    assert_eq!(volley, 5);
    issue(&mut w, A, Command::Leave { building }).unwrap();
    assert_eq!(inside(&w), 0);
    assert_eq!(w.building(tower).unwrap().inside, 0);
    let empty = issue(&mut w, A, Command::Leave { building });
    assert_eq!(empty, Err(Refusal::NoUnit));
    run(&mut w, 1);
    assert_sound(&w);
}

#[test]
fn units_inside_stand_on_the_ruins_when_the_building_falls() {
    let mut w = meadow();
    let tower = raise(&mut w, Kind::Tower, 0, 20, 20);
    let guests: Vec<Id> = (0..3)
        .map(|n| put(&mut w, Kind::Worker, 0, 18, 18 + n))
        .collect();
    let units = w.select(A, guests);
    let building = tower;
    issue(&mut w, A, Command::Garrison { units, building }).unwrap();
    run_until(&mut w, 200, |w| w.building(tower).unwrap().inside == 3);
    issue(&mut w, A, Command::Demolish { building }).unwrap();
    run(&mut w, 1);
    assert!(w.units().all(|unit| unit.order == Order::Idle));
    assert_sound(&w);
    let saved = bytes(&w);
    assert_eq!(bytes(&World::load(&saved).unwrap()), saved);
}

#[test]
fn stones_hit_a_place_friend_and_foe_and_walls_hardest() {
    let mut w = meadow();
    let thrower = put(&mut w, Kind::Catapult, 0, 20, 20);
    let sword = put(&mut w, Kind::Swordsman, 0, 20, 24);
    let friend = put(&mut w, Kind::Worker, 0, 27, 20);
    let foe = put(&mut w, Kind::Worker, 1, 27, 21);
    let wall = raise(&mut w, Kind::Wall, 1, 26, 20);
    let far = put(&mut w, Kind::Worker, 1, 30, 26);
    let at = Tile::new(27, 20);
    let by_sword = Command::AttackGround {
        units: one(&w, sword),
        at,
    };
    assert_eq!(issue(&mut w, A, by_sword), Err(Refusal::NoUnit));
    let units = one(&w, sword);
    issue(&mut w, A, Command::Hold { units }).unwrap();
    for unit in [friend, foe] {
        let seat = w.unit(unit).unwrap().seat;
        let units = one(&w, unit);
        issue(&mut w, seat, Command::Hold { units }).unwrap();
    }
    let units = one(&w, thrower);
    issue(&mut w, A, Command::AttackGround { units, at }).unwrap();
    run(&mut w, 60);
    let lost = |id| {
        let unit = w.unit(id).unwrap();
        unit.kind.stats().hit_points - unit.hit_points
    };
    assert!(
        lost(friend) > 10 && lost(foe) > 10,
        "{} {}",
        lost(friend),
        lost(foe)
    );
    assert_eq!(lost(far), 0);
    let wall_lost = Kind::Wall.stats().hit_points - w.building(wall).unwrap().hit_points;
    assert!(wall_lost > 30, "{wall_lost}");
    run(&mut w, 700);
    assert_eq!((w.unit(friend), w.unit(foe)), (None, None));
    assert_eq!(w.building(wall), None);
    let seat = w.seat(A).unwrap();
    assert_eq!((seat.killed, seat.lost), (2, 1));
}

#[test]
fn hostile_garrisons_and_errands_do_not_load() {
    let mut w = meadow();
    let tower = raise(&mut w, Kind::Tower, 0, 20, 20);
    let guest = put(&mut w, Kind::Archer, 0, 18, 20);
    let other = put(&mut w, Kind::Swordsman, 0, 30, 30);
    let (units, building) = (one(&w, guest), tower);
    issue(&mut w, A, Command::Garrison { units, building }).unwrap();
    run_until(&mut w, 100, |w| w.building(tower).unwrap().inside == 1);
    let (units, task) = (one(&w, other), Task::Hold);
    issue(&mut w, A, Command::Queue { units, task }).unwrap();
    assert!(World::load(&bytes(&w)).is_ok());
    let (site, row) = (w.buildings.row(tower).unwrap(), w.units.row(guest).unwrap());
    let changes: [&dyn Fn(&mut World); 8] = [
        &|w| w.buildings.inside[site] = 2,
        &|w| w.buildings.inside[site] = 0,
        &|w| w.units.target[row] = 1,
        &|w| w.units.x[row] += Num::DELTA,
        &|w| w.waypoints.unit[0] = u32::MAX,
        &|w| w.waypoints.order[0] = Order::Inside,
        &|w| w.waypoints.order[0] = Order::Gather,
        &|w| w.waypoints.goal[0] = u32::MAX,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut bad = w.clone();
        change(&mut bad);
        assert!(World::load(&bytes(&bad)).is_err(), "change {number}");
    }
}

#[test]
fn a_snapshot_after_a_burial_holds_no_errands_of_the_dead() {
    let mut w = meadow();
    let unit = put(&mut w, Kind::Swordsman, 0, 20, 20);
    put(&mut w, Kind::Worker, 0, 22, 22);
    let units = one(&w, unit);
    let task = Task::Move {
        to: Tile::new(40, 20),
    };
    for _ in 0..3 {
        let units = units.clone();
        assert_eq!(issue(&mut w, A, Command::Queue { units, task }), Ok(()));
    }
    while !w.tick.is_multiple_of(16) {
        run(&mut w, 1);
    }
    let row = w.units.row(unit).unwrap();
    w.units.hp[row] = 0;
    run(&mut w, 1);
    let mut bytes = Vec::new();
    w.save(&mut bytes);
    assert!(World::load(&bytes).is_ok());
}

#[test]
fn a_foundation_throws_no_unit_over_a_wall() {
    let mut w = meadow();
    wall(&mut w, (0..64).map(|x| Tile::new(x, 30)));
    w.seats.earn(0, 5_000, 5_000);
    let workers: Vec<Id> = (0..6)
        .map(|n| put(&mut w, Kind::Worker, 0, 20 + n % 3, 31))
        .collect();
    run(&mut w, 20);
    let number = |id: &Id| w.units.number[w.units.row(*id).unwrap()];
    let units = Selection::new(workers.iter().map(number));
    let at = Tile::new(20, 31);
    let kind = Kind::Barracks;
    assert_eq!(issue(&mut w, A, Command::Build { units, kind, at }), Ok(()));
    run(&mut w, 200);
    for id in &workers {
        assert!(w.unit(*id).unwrap().tile.y > 30);
    }
}
