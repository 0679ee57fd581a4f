//! Groups on the march.

use super::*;

/// Knights and swordsmen in a block of 4 by 4 around (8, 20).
fn company(w: &mut World) -> Vec<Id> {
    (0..16)
        .map(|n| {
            let kind = [Kind::Knight, Kind::Swordsman][n % 2];
            put(w, kind, 0, 7 + n as u16 % 4, 19 + n as u16 / 4)
        })
        .collect()
}

fn go(w: &mut World, units: &[Id], x: u16, y: u16) {
    let number = |id: &Id| w.units.number[w.units.row(*id).unwrap()];
    let units = Selection::new(units.iter().map(number));
    let to = Tile::new(x, y);
    assert_eq!(issue(w, A, Command::Move { units, to }), Ok(()));
}

/// From the first to the last of them, in tiles.
fn drawn_out(w: &World, units: &[Id]) -> i32 {
    let x = |id: &Id| w.unit(*id).expect("nobody dies").at.x;
    let first = units.iter().map(x).max().unwrap();
    let last = units.iter().map(x).min().unwrap();
    (first - last) / ONE
}

#[test]
fn a_mixed_group_keeps_together() {
    let mut w = meadow();
    let units = company(&mut w);
    go(&mut w, &units, 50, 20);
    let mut alone = w.clone();
    alone.units.band.fill(0);
    run(&mut w, 150);
    run(&mut alone, 150);
    let (together, apart) = (drawn_out(&w, &units), drawn_out(&alone, &units));
    assert!(together <= 5, "{together} tiles");
    assert!(apart > together + 3, "{apart} and {together} tiles");
    let ticks = run_until(&mut w, 600, |w| {
        units
            .iter()
            .all(|id| w.unit(*id).unwrap().order == Order::Idle)
    });
    assert!(ticks < 500);
}

#[test]
fn a_group_gets_through_a_gap_and_gathers_behind_it() {
    let mut w = meadow();
    wall(
        &mut w,
        (0..64).filter(|y| *y != 40).map(|y| Tile::new(28, y)),
    );
    let units = company(&mut w);
    go(&mut w, &units, 50, 20);
    run_until(&mut w, 1_200, |w| {
        units
            .iter()
            .all(|id| w.unit(*id).unwrap().order == Order::Idle)
    });
    for id in &units {
        let tile = w.unit(*id).unwrap().tile;
        assert!(tile.king_steps(Tile::new(50, 20)) <= 4, "{tile:?}");
    }
}

#[test]
fn who_is_sent_elsewhere_leaves_the_band() {
    let mut w = meadow();
    let units = company(&mut w);
    go(&mut w, &units, 50, 20);
    go(&mut w, &units[..1], 8, 50);
    assert_eq!(w.units.band[w.units.row(units[0]).unwrap()], 0);
    assert_ne!(w.units.band[w.units.row(units[1]).unwrap()], 0);
    // A knight by itself is as fast as a knight.
    let before = w.unit(units[0]).unwrap().at;
    run(&mut w, 40);
    let way = before.distance(w.unit(units[0]).unwrap().at) as i32;
    assert!(way > 38 * Kind::Knight.stats().speed, "{way}");
}

#[test]
fn band_numbers_come_round_and_are_never_nobody() {
    let mut w = meadow();
    let units = company(&mut w);
    w.last_band = bands::BANDS - 2;
    for expected in [bands::BANDS - 1, 1, 2] {
        go(&mut w, &units, 50, 20);
        assert_eq!(w.units.band[w.units.row(units[3]).unwrap()], expected);
    }
}
