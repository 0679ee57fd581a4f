//! Recordings and worlds for tests.

use crate::world::{Command, Id, Kind, Order, Setup, Tile, World};
use lockstep::log::{RosterPeer, Start, Terms};
use lockstep::{Incarnation, MatchId, PeerId};
use sim::{Entry, Seat, Seed, Simulation};

/// How a match of two players begins.
pub fn start(terms: Terms, names: [&str; 2]) -> Start {
    let setup = Setup::default();
    let peer = |seat: u8| RosterPeer {
        peer: PeerId([seat + 1; 32]),
        incarnation: Incarnation([seat; 16]),
        name: names[usize::from(seat)].to_owned(),
        seats: vec![Seat(seat)],
        share: [seat; 32],
    };
    Start {
        protocol: lockstep::PROTOCOL,
        match_id: MatchId([3; 16]),
        rules: World::rules(&setup),
        setup: postcard::to_allocvec(&setup).unwrap().into(),
        seed: Seed([5; 32]),
        terms,
        roster: (0..2).map(peer).collect(),
        build: "test".to_owned(),
        signatures: vec![[0; 64]; 2],
    }
}

/// A world of two seats. Five workers and a soldier, all that the first has, are inside its town hall, which is named too.
pub fn sheltered() -> (World, Id) {
    let seat = Seat(0);
    let mut world = World::new(&sim::Start {
        setup: Setup {
            gold: 1_000,
            wood: 1_000,
            ..Setup::default()
        },
        seed: Seed([1; 32]),
        seats: vec![seat, Seat(1)],
    });
    let units = |world: &World| -> Vec<Id> {
        let own = world.units().filter(|unit| unit.seat == seat);
        own.map(|unit| unit.id).collect()
    };
    let of_kind = |world: &World, kind: Kind| {
        let mut own = world.buildings().filter(|building| building.seat == seat);
        let found = own.find(|building| building.kind == kind && building.complete)?;
        Some(found.id)
    };
    let execute = |world: &mut World, command: Command, done: &dyn Fn(&World) -> bool| {
        world.step(&[Entry::Command { seat, command }], &mut Vec::new());
        let mut ticks = 0;
        while !done(world) {
            ticks += 1;
            assert!(ticks < 10_000, "it is done");
            world.step(&[], &mut Vec::new());
        }
    };
    let workers = units(&world);
    let seen = world.seen_by(seat).unwrap();
    let (home, edge) = (world.seat(seat).unwrap().home, world.map().size());
    let tiles = (0..edge).flat_map(|y| (0..edge).map(move |x| Tile::new(x, y)));
    let kind = Kind::Barracks;
    let sites = tiles.filter(|tile| seen.may_found(&workers, kind, *tile).is_ok());
    let at = sites.min_by_key(|tile| tile.king_steps(home)).unwrap();
    let builders = world.select(seat, workers);
    let build = Command::Build {
        units: builders,
        kind,
        at,
    };
    execute(&mut world, build, &|world| of_kind(world, kind).is_some());
    let train = Command::Train {
        building: of_kind(&world, kind).unwrap(),
        kind: Kind::Swordsman,
    };
    execute(&mut world, train, &|world| units(world).len() == 6);
    let hall = of_kind(&world, Kind::TownHall).unwrap();
    let garrison = Command::Garrison {
        units: world.select(seat, units(&world)),
        building: hall,
    };
    execute(&mut world, garrison, &|world| {
        let mut own = world.units().filter(|unit| unit.seat == seat);
        own.all(|unit| unit.order == Order::Inside)
    });
    (world, hall)
}
