//! Searches for ways, a part of them in each tick.

use super::nonsense::Dice;
use super::*;

/// Four seats' units on a large map, each on its way to a place of its own.
fn scattered() -> World {
    let setup = Setup {
        size: Some(256),
        map: Some(MapKind::Lakes),
        scenario: Scenario::Skirmish { units_per_seat: 60 },
        fog: false,
        ..Setup::default()
    };
    let mut w = World::new(&start(4, 5, setup));
    let mut dice = Dice(8);
    let all: Vec<(Seat, u16)> = w.units().map(|unit| (unit.seat, unit.number)).collect();
    for (seat, number) in all {
        let to = w.map.tile_of(dice.below(w.map.tiles() as u64) as u32);
        let units = Selection::new([number]);
        issue(&mut w, seat, Command::Move { units, to }).expect("it lives");
    }
    w
}

/// Units that follow a course to a place without a known way.
fn waiting(w: &World) -> usize {
    let follows = |row: &usize| w.units.way[*row] == Way::Course;
    let here = |row: usize| {
        let field = w.goals.field(w.units.course[row])?;
        w.map.direction_if_ready(field, w.units.tile(row))
    };
    let rows = (0..w.units.len()).filter(follows);
    rows.filter(|row| here(*row).is_none()).count()
}

#[test]
fn searches_keep_to_their_steps_and_all_find_their_ways() {
    let mut w = scattered();
    let mut waits = Vec::new();
    for tick in 0..100 {
        if tick == 50 {
            let column = (0..256).filter(|y| y % 37 != 0);
            wall(&mut w, column.map(|y| Tile::new(128, y)));
        }
        let before = w.search_steps();
        run(&mut w, 1);
        assert!(w.search_steps() <= before + STEPS_PER_TICK, "tick {tick}");
        waits.push(waiting(&w));
    }
    println!("waiting: {waits:?}");
    assert!(waits[0] > 100 && waits[49] < 20);
    assert!(waits[50] > 100 && waits[99] < 20);
}

#[test]
fn a_world_loaded_amid_searches_goes_on_alike() {
    let mut w = scattered();
    let mut twin = w.clone();
    for tick in 0..60_u16 {
        if tick % 10 == 3 {
            let hole = [Tile::new(100 + tick, 90), Tile::new(130, 60 + tick)];
            for world in [&mut w, &mut twin] {
                for tile in hole {
                    world.map.put(tile, Terrain::Rock, 0);
                }
            }
        }
        run(&mut w, 1);
        run(&mut twin, 1);
        assert_eq!(w.checksum(), twin.checksum(), "tick {tick}");
        if tick % 4 == 0 {
            twin = World::load(&bytes(&twin)).expect("what was saved loads");
        }
    }
}

#[test]
fn a_snapshot_that_claims_too_many_steps_is_refused() {
    let mut w = scattered();
    run(&mut w, 3);
    assert!(World::load(&bytes(&w)).is_ok());
    w.goals.steps.fill(u32::MAX);
    assert!(World::load(&bytes(&w)).is_err());
}

#[test]
fn changed_ground_sends_its_searches_to_the_end_of_the_line() {
    let mut w = scattered();
    run(&mut w, 50);
    let before = w.goals.clone();
    let tick = w.tick;
    // A wall in one corner, which the ways to near places elsewhere do not pass.
    wall(&mut w, (0..20).map(|x| Tile::new(x, 24)));
    let (mut anew, mut kept) = (0, 0);
    for row in (0..w.goals.len()).filter(|row| before.steps[*row] > 0) {
        if w.goals.steps[row] == 0 {
            assert_eq!(w.goals.since[row], tick);
            anew += 1;
        } else {
            assert_eq!(w.goals.steps[row], before.steps[row]);
            assert_eq!(w.goals.since[row], before.since[row]);
            kept += 1;
        }
    }
    assert!(anew > 5 && kept > 5, "{anew} and {kept}");
}
