//! The strengths of the kinds: battles, towers, farms, walls, mending, prerequisites.

use super::*;

/// Lets two armies of about the same price meet on open ground: hundredths of each that are left.
fn battle(kinds: [Kind; 2], budget: u32, draws: u32) -> [usize; 2] {
    let mut w = meadow();
    let mut counts = [0; 2];
    for _ in 0..draws {
        w.random.next_u64();
    }
    for (seat, kind) in kinds.into_iter().enumerate() {
        let price = kind.stats().gold + kind.stats().wood;
        counts[seat] = ((budget + price / 2) / price) as usize;
        let x = [22, 34][seat];
        let units: Vec<Id> = (0..counts[seat] as u16)
            .map(|n| put(&mut w, kind, seat as u8, x + n / 8, 20 + n % 8))
            .collect();
        let units = w.select(Seat(seat as u8), units);
        let to = Tile::new([34, 22][seat], 24);
        issue(&mut w, Seat(seat as u8), Command::AttackMove { units, to }).unwrap();
    }
    let left = |w: &World, seat| w.units().filter(|unit| unit.seat == seat).count();
    let over = |w: &World| left(w, A) * left(w, B) == 0;
    run_until(&mut w, 3_000, over);
    [A, B].map(|seat| left(&w, seat) * 100 / counts[usize::from(seat.0)])
}

#[test]
fn every_soldier_is_beaten_by_another_at_the_same_price() {
    let counters = [
        (Kind::Swordsman, Kind::Knight),
        (Kind::Knight, Kind::Archer),
        (Kind::Archer, Kind::Swordsman),
    ];
    let mut losers = Vec::new();
    for (strong, weak) in counters {
        for budget in [800, 1_600, 3_200] {
            for draws in 0..3 {
                let [there, here] =
                    [[strong, weak], [weak, strong]].map(|kinds| battle(kinds, budget, draws));
                println!("{strong:?} against {weak:?} for {budget}: {there:?}, {here:?} left");
                if there[0] == 0 || here[1] == 0 {
                    losers.push(strong);
                }
            }
        }
    }
    assert_eq!(losers, []);
}

/// A client computes the damage of the next hit while another player's command is on its way.
#[test]
fn damage_depends_on_the_commands_of_all_players() {
    let damages = |commands: &[(Seat, Tile)]| {
        let mut w = meadow();
        let units =
            [0, 1].map(|seat| put(&mut w, Kind::Worker, seat, 20, 20 + 20 * u16::from(seat)));
        let entries: Vec<Entry<Command>> = commands
            .iter()
            .map(|(seat, to)| {
                let units = w.select(*seat, [units[usize::from(seat.0)]]);
                let command = Command::Move { units, to: *to };
                Entry::Command {
                    seat: *seat,
                    command,
                }
            })
            .collect();
        w.step(&entries, &mut Vec::new());
        let target = combat::Target::Unit(1);
        [(); 16].map(|()| damage::draw(&mut w, Kind::Knight, 0, target))
    };
    let own = (A, Tile::new(22, 20));
    let other = |x| (B, Tile::new(x, 40));
    let guessed = damages(&[own]);
    assert_eq!(guessed, damages(&[own]));
    assert_ne!(guessed, damages(&[own, other(22)]));
    assert_ne!(damages(&[own, other(22)]), damages(&[own, other(23)]));
}

#[test]
fn a_tower_shoots_only_enemies_that_come_near() {
    let mut w = meadow();
    w.spawn_building(Kind::Tower, 0, Tile::new(20, 20), true);
    w.spawn_building(Kind::Tower, 0, Tile::new(30, 30), false);
    let near = put(&mut w, Kind::Worker, 1, 26, 20);
    let own = put(&mut w, Kind::Worker, 0, 23, 20);
    let by_the_foundation = put(&mut w, Kind::Worker, 1, 34, 34);
    let far = put(&mut w, Kind::Worker, 1, 20, 31);
    let effects = run(&mut w, 400);
    assert_eq!(w.unit(near), None);
    for spared in [own, by_the_foundation, far] {
        let unit = w.unit(spared).unwrap();
        assert_eq!(unit.hit_points, unit.kind.stats().hit_points);
    }
    assert_eq!(w.seat(A).unwrap().killed, 1);
    let shots = effects
        .iter()
        .filter(|e| matches!(e, Effect::Launched { .. }))
        .count();
    assert!((5..=8).contains(&shots), "{shots}");
}

#[test]
fn a_farm_feeds_one_worker_for_ever() {
    let mut w = meadow();
    let [first, second] = [20, 21].map(|y| put(&mut w, Kind::Worker, 0, 20, y));
    let units = w.select(A, [first, second]);
    let (kind, at) = (Kind::Farm, Tile::new(22, 20));
    let build = Command::Build {
        units: units.clone(),
        kind,
        at,
    };
    issue(&mut w, A, build).unwrap();
    let farm = w.buildings().last().unwrap().id;
    run_until(&mut w, 600, |w| w.building(farm).unwrap().complete);
    run(&mut w, 40);
    let farmers: Vec<Id> = w
        .units()
        .filter(|unit| unit.order == Order::Farm)
        .map(|unit| unit.id)
        .collect();
    assert_eq!(farmers, [first]);
    let gold = w.seat(A).unwrap().gold;
    run(&mut w, 1_800);
    let earned = w.seat(A).unwrap().gold - gold;
    assert!((45..=50).contains(&earned), "{earned}");

    let help = Command::Assist {
        units: one(&w, second),
        building: farm,
    };
    let again = issue(&mut w, A, help.clone());
    assert_eq!(again, Err(Refusal::NothingToDo));
    let units = one(&w, first);
    issue(&mut w, A, Command::Stop { units }).unwrap();
    issue(&mut w, A, help).unwrap();
    assert_eq!(w.unit(second).unwrap().order, Order::Farm);
}

#[test]
fn workers_left_over_take_the_next_farm() {
    let mut w = meadow();
    for y in [20, 24, 28] {
        w.spawn_building(Kind::Farm, 0, Tile::new(22, y), true);
    }
    let farm = w.buildings().last().unwrap().id;
    let units: Vec<Id> = (0..4)
        .map(|n| put(&mut w, Kind::Worker, 0, 20, 20 + n))
        .collect();
    let units = w.select(A, units);
    let help = Command::Assist {
        units,
        building: farm,
    };
    issue(&mut w, A, help).unwrap();
    let mut farms: Vec<Option<Id>> = w
        .units()
        .filter(|unit| unit.order == Order::Farm)
        .map(|unit| unit.target)
        .collect();
    farms.sort_unstable();
    farms.dedup();
    assert_eq!(farms.len(), 3);
}

#[test]
fn mending_costs_half_the_price_of_what_is_mended() {
    let mut w = meadow();
    let at = Tile::new(20, 20);
    w.spawn_building(Kind::Barracks, 0, at, true);
    let building = w.buildings().last().unwrap().id;
    let mender = put(&mut w, Kind::Worker, 0, 19, 20);
    let help = Command::Assist {
        units: one(&w, mender),
        building,
    };
    assert_eq!(issue(&mut w, A, help.clone()), Err(Refusal::NothingToDo));
    let stats = Kind::Barracks.stats();
    let row = w.buildings.row(building).unwrap();
    w.buildings.hp[row] = stats.hit_points / 2;
    let before = w.seat(A).unwrap();
    issue(&mut w, A, help.clone()).unwrap();
    run_until(&mut w, 4_000, |w| {
        w.building(building).unwrap().hit_points == stats.hit_points
    });
    run(&mut w, 1);
    let after = w.seat(A).unwrap();
    assert!((before.gold - after.gold).abs_diff(stats.gold / 4) <= 1);
    assert!((before.wood - after.wood).abs_diff(stats.wood / 4) <= 1);
    assert_eq!(w.unit(mender).unwrap().order, Order::Idle);

    w.buildings.hp[row] = 1;
    w.seats.pay(0, u32::MAX, u32::MAX);
    issue(&mut w, A, help).unwrap();
    run(&mut w, 200);
    assert_eq!(w.unit(mender).unwrap().order, Order::Idle);
    assert!(w.building(building).unwrap().hit_points < 20);
}

#[test]
fn a_stable_needs_finished_barracks_of_ones_own() {
    let mut w = meadow();
    let builder = put(&mut w, Kind::Worker, 0, 20, 20);
    let stable = Command::Build {
        units: one(&w, builder),
        kind: Kind::Stable,
        at: Tile::new(22, 20),
    };
    w.spawn_building(Kind::Barracks, 1, Tile::new(40, 20), true);
    w.spawn_building(Kind::Barracks, 0, Tile::new(40, 30), false);
    let refused = issue(&mut w, A, stable.clone());
    assert_eq!(refused, Err(Refusal::NeedsBuilding));
    assert_eq!(w.seat(A).unwrap().wood, 200);
    w.spawn_building(Kind::Barracks, 0, Tile::new(40, 40), true);
    issue(&mut w, A, stable).unwrap();
    assert_eq!(w.seat(A).unwrap().wood, 200 - Kind::Stable.stats().wood);
}

#[test]
fn a_wall_without_a_gap_keeps_units_out_until_it_falls() {
    let mut w = meadow();
    let inside = Tile::new(30, 30);
    let ring = w.map.ring(Tile::new(29, 29), 3).collect::<Vec<_>>();
    for tile in ring {
        w.spawn_building(Kind::Wall, 0, tile, true);
    }
    let raider = put(&mut w, Kind::Swordsman, 1, 40, 30);
    let units = one(&w, raider);
    let go = Command::Move {
        units: units.clone(),
        to: inside,
    };
    issue(&mut w, B, go).unwrap();
    run(&mut w, 300);
    assert!(w.unit(raider).unwrap().tile.king_steps(inside) > 2);
    let there = Command::AttackMove { units, to: inside };
    issue(&mut w, B, there).unwrap();
    run_until(&mut w, 3_000, |w| {
        w.buildings().filter(|b| b.kind == Kind::Wall).count() < 16
    });
}
