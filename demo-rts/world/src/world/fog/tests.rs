use super::super::{
    Command, Effect, Order, Refusal, Setup, Terrain, buildings, orders, roll, units,
};
use super::*;
use sim::{Seat, Seed, Simulation, Start, State};

const A: Seat = Seat(0);
const B: Seat = Seat(1);

/// Two seats on open ground with fog, each with a hall in its corner and no units.
fn meadow() -> World {
    let mut w = World::new(&Start {
        setup: Setup {
            size: Some(64),
            ..Setup::default()
        },
        seed: Seed([1; 32]),
        seats: vec![A, B],
    });
    w.units = units::Units::default();
    w.roll = roll::Roll::new(2);
    w.buildings = buildings::Buildings::default();
    w.map = Map::new(64, Vec::new(), Vec::new());
    w.spawn_building(Kind::TownHall, 0, Tile::new(1, 1), true);
    w.spawn_building(Kind::TownHall, 1, Tile::new(60, 60), true);
    w.fog = Fog::new(true, 64, 2);
    refresh_all(&mut w);
    w
}

fn put(w: &mut World, kind: Kind, seat: u8, at: Tile) -> Id {
    w.spawn_unit(kind, seat, at.centre())
}

fn run(w: &mut World, ticks: u32) {
    for _ in 0..ticks {
        w.step(&[], &mut Vec::new());
    }
}

fn issue(w: &mut World, seat: Seat, command: Command) -> Result<(), Refusal> {
    let mut effects = Vec::new();
    orders::execute(w, seat, &command, &mut effects);
    let refused = effects.iter().find_map(|effect| match effect {
        Effect::Refused { reason, .. } => Some(*reason),
        _ => None,
    });
    refused.map_or(Ok(()), Err)
}

fn tiles(size: u16) -> impl Iterator<Item = Tile> {
    (0..size).flat_map(move |y| (0..size).map(move |x| Tile::new(x, y)))
}

/// The rule in its plainest form: a tile within a disc around a unit or building is in sight.
fn in_disc(tile: Tile, middle: Tile, radius: u16) -> bool {
    let dx = u32::from(tile.x.abs_diff(middle.x));
    let dy = u32::from(tile.y.abs_diff(middle.y));
    let radius = u32::from(radius);
    dx * dx + dy * dy <= radius * radius + radius
}

#[test]
fn a_disc_is_a_disc_wherever_it_lies() {
    for size in [48, 64, 100, 129] {
        let edge = size - 1;
        let middles = [(0, 0), (edge, 0), (edge / 2, edge), (63.min(edge), 31)];
        for (x, y) in middles {
            for radius in 0..=MOST_SIGHT {
                let middle = Tile::new(x, y);
                let mut fog = Fog::new(true, size, 1);
                paint(&mut fog.visible, size, middle, radius);
                for tile in tiles(size) {
                    let expected = in_disc(tile, middle, radius);
                    assert_eq!(fog.sees(0, tile), expected, "{size} {middle:?} {radius}");
                }
                let bits: u32 = fog.visible.iter().map(|word| word.count_ones()).sum();
                let on_map = tiles(size).filter(|tile| in_disc(*tile, middle, radius));
                assert_eq!(bits as usize, on_map.count(), "bits beyond the edge");
            }
        }
    }
}

#[test]
fn a_seat_sees_around_its_units_and_keeps_what_it_explored() {
    let mut w = meadow();
    let scout = put(&mut w, Kind::Swordsman, 0, Tile::new(30, 30));
    assert!(!w.sees(A, Tile::new(30, 30)), "before the first refresh");
    run(&mut w, 8);
    let sight = Kind::Swordsman.stats().sight;
    let edge = Tile::new(30 + sight, 30);
    assert!(w.sees(A, edge) && w.explored(A, edge));
    assert!(!w.sees(A, Tile::new(31 + sight, 30)));
    assert!(!w.sees(B, Tile::new(30, 30)) && !w.explored(B, Tile::new(30, 30)));
    assert!(!w.sees(A, Tile::new(64, 0)) && !w.sees(Seat(5), edge));
    let row = w.units.row(scout).unwrap();
    w.units.hp[row] = 0;
    run(&mut w, 8);
    assert!(!w.sees(A, edge) && w.explored(A, edge));
}

#[test]
fn a_seat_sees_enemies_in_sight_and_never_their_orders() {
    let mut w = meadow();
    let watcher = put(&mut w, Kind::Worker, 0, Tile::new(30, 30));
    let near = put(&mut w, Kind::Worker, 1, Tile::new(35, 30));
    let far = put(&mut w, Kind::Worker, 1, Tile::new(50, 50));
    run(&mut w, 8);
    let to = Tile::new(60, 5);
    let units = w.select(B, [near]);
    issue(&mut w, B, Command::Move { units, to }).unwrap();
    let seen = w.seen_by(A).unwrap();
    let ids: Vec<Id> = seen.units().map(|unit| unit.id).collect();
    assert_eq!(ids, [watcher, near]);
    assert_eq!(seen.unit(far), None);
    let shown = seen.unit(near).unwrap();
    assert_eq!((shown.order, shown.goal), (Order::Idle, shown.tile));
    let own = w.seen_by(B).unwrap().unit(near).unwrap();
    assert_eq!((own.order, own.goal), (Order::Move, to));
    assert!(seen.buildings().all(|building| building.seat == A));
    assert_eq!(seen.terrain(Tile::new(50, 50)), None);
    assert_eq!(seen.terrain(Tile::new(30, 30)), Some(Terrain::Ground));
    assert_eq!(seen.region(Tile::new(50, 50)), 0);
    assert!(w.seen_by(Seat(7)).is_none());
}

#[test]
fn a_building_is_remembered_until_it_is_seen_gone() {
    let mut w = meadow();
    let house = w.spawn_building(Kind::House, 1, Tile::new(34, 30), true);
    put(&mut w, Kind::Worker, 0, Tile::new(30, 30));
    run(&mut w, 8);
    let known = |w: &World| w.seen_by(A).unwrap().building(house);
    assert!(known(&w).is_some_and(|b| !b.remembered && b.hit_points == 350));

    w.units.place(0, Tile::new(5, 50).centre());
    run(&mut w, 8);
    assert!(known(&w).is_some_and(|b| b.remembered && b.tile == Tile::new(34, 30)));
    let row = w.buildings.row(house).unwrap();
    w.buildings.hp[row] = 100;
    run(&mut w, 8);
    assert_eq!(known(&w).unwrap().hit_points, 350, "as it was last seen");

    let row = w.buildings.row(house).unwrap();
    w.buildings.hp[row] = 0;
    run(&mut w, 40);
    assert!(
        known(&w).is_some_and(|b| b.remembered),
        "its fall was out of sight"
    );
    let mut saved = Vec::new();
    w.save(&mut saved);
    let loaded = World::load(&saved).unwrap();
    assert_eq!(known(&loaded), known(&w));

    w.units.place(0, Tile::new(30, 30).centre());
    run(&mut w, 8);
    assert_eq!(known(&w), None);
    assert_eq!(w.fog.ghosts.len(), 0);
}

#[test]
fn memories_of_several_seats_stay_in_order() {
    let mut ghosts = Ghosts::default();
    for (viewer, id) in [(1, 7), (0, 9), (1, 3), (0, 2), (1, 7), (2, 1)] {
        ghosts.remember(Ghost {
            viewer,
            id,
            kind: Kind::House,
            seat: 3,
            tile: 0,
            hp: 10 + ghosts.len() as u16,
            complete: 1,
        });
    }
    assert_eq!(ghosts.viewer, [0, 0, 1, 1, 2]);
    assert_eq!(ghosts.id, [2, 9, 3, 7, 1]);
    assert_eq!(ghosts.hp[3], 14, "seen again");
}

#[test]
fn a_seat_targets_only_what_it_sees() {
    let mut w = meadow();
    let archer = put(&mut w, Kind::Archer, 0, Tile::new(10, 30));
    let victim = put(&mut w, Kind::Worker, 1, Tile::new(40, 30));
    run(&mut w, 8);
    let units = w.select(A, [archer]);
    let attack = |target| Command::Attack {
        units: units.clone(),
        target,
    };
    assert_eq!(issue(&mut w, A, attack(victim)), Err(Refusal::NoSuchTarget));
    w.units.place(1, Tile::new(17, 30).centre());
    run(&mut w, 8);
    assert_eq!(issue(&mut w, A, attack(victim)), Ok(()));
    assert_eq!(w.unit(archer).unwrap().order, Order::Attack);
    w.units.place(1, Tile::new(50, 30).centre());
    run(&mut w, 9);
    assert_eq!(w.unit(archer).unwrap().order, Order::Idle, "out of sight");
}

#[test]
fn a_seat_builds_and_gathers_only_on_explored_ground() {
    let mut w = meadow();
    let builder = put(&mut w, Kind::Worker, 0, Tile::new(10, 10));
    run(&mut w, 8);
    let units = w.select(A, [builder]);
    let build = |x, y| Command::Build {
        units: units.clone(),
        kind: Kind::House,
        at: Tile::new(x, y),
    };
    assert_eq!(issue(&mut w, A, build(40, 40)), Err(Refusal::Unexplored));
    assert_eq!(issue(&mut w, A, build(12, 12)), Ok(()));
    let gather = Command::Gather {
        units: w.select(A, [builder]),
        from: Tile::new(40, 40),
    };
    assert_eq!(issue(&mut w, A, gather), Err(Refusal::Unexplored));
}

#[test]
fn soldiers_leave_unseen_enemies_alone() {
    let mut w = meadow();
    let guard = put(&mut w, Kind::Archer, 0, Tile::new(30, 30));
    run(&mut w, 8);
    put(&mut w, Kind::Worker, 1, Tile::new(34, 30));
    for _ in 0..2 * PERIOD {
        let plane = w.fog.plane(0);
        w.fog.visible[plane].fill(0);
        run(&mut w, 1);
        assert_eq!(w.unit(guard).unwrap().target, None);
    }
    run(&mut w, 2 * PERIOD);
    assert!(w.unit(guard).unwrap().target.is_some());
}

#[test]
fn without_fog_every_seat_sees_everything() {
    let setup = Setup {
        fog: false,
        size: Some(64),
        ..Setup::default()
    };
    let w = World::new(&Start {
        setup,
        seed: Seed([2; 32]),
        seats: vec![A, B],
    });
    let seen = w.seen_by(A).unwrap();
    assert_eq!(seen.units().count(), w.units().count());
    assert_eq!(seen.buildings().count(), 2);
    assert!(w.sees(A, Tile::new(63, 63)) && !w.sees(A, Tile::new(64, 0)));
    assert_eq!(w.fog.explored.len(), 0);
}

#[test]
fn snapshots_with_impossible_fog_are_refused() {
    let setup = Setup {
        size: Some(100),
        ..Setup::default()
    };
    let good = World::new(&Start {
        setup,
        seed: Seed([2; 32]),
        seats: vec![A, B],
    });
    let bytes = |w: &World| {
        let mut out = Vec::new();
        w.save(&mut out);
        out
    };
    let ghost = Ghost {
        viewer: 0,
        id: 1,
        kind: Kind::House,
        seat: 1,
        tile: 0,
        hp: 1,
        complete: 0,
    };
    let mut spoilt: Vec<World> = Vec::new();
    let mut spoil = |change: &dyn Fn(&mut World)| {
        let mut w = good.clone();
        change(&mut w);
        spoilt.push(w);
    };
    spoil(&|w| w.fog.visible[0] |= !w.fog.explored[0]);
    spoil(&|w| w.fog.explored[1] |= 1 << 63);
    let wrong = [
        Ghost { viewer: 2, ..ghost },
        Ghost { seat: 0, ..ghost },
        Ghost { id: 0, ..ghost },
        Ghost {
            id: u32::MAX,
            ..ghost
        },
        Ghost {
            kind: Kind::Worker,
            ..ghost
        },
        Ghost { hp: 0, ..ghost },
        Ghost {
            complete: 2,
            ..ghost
        },
        Ghost { tile: 99, ..ghost },
        Ghost {
            tile: 9_950,
            ..ghost
        },
        Ghost {
            tile: u32::MAX,
            ..ghost
        },
    ];
    for ghost in wrong {
        spoil(&|w| w.fog.ghosts.push(ghost));
    }
    spoil(&|w| {
        w.fog.ghosts.push(ghost);
        w.fog.ghosts.push(ghost);
    });
    for (number, w) in spoilt.iter().enumerate() {
        assert!(World::load(&bytes(w)).is_err(), "number {number}");
    }
    let mut fine = good.clone();
    fine.fog.ghosts.push(ghost);
    assert!(World::load(&bytes(&fine)).is_ok());
}

#[test]
fn a_foundation_without_work_sees_nothing() {
    let mut w = meadow();
    let far = Tile::new(40, 40);
    w.spawn_building(Kind::TownHall, 0, far, false);
    run(&mut w, 40);
    assert!(!w.sees(A, far));
    let site = w.buildings.len() - 1;
    w.buildings.progress[site] = 1;
    run(&mut w, 40);
    assert!(w.sees(A, far));
}
