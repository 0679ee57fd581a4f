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

/// The distance from the first to the last of these units.
fn drawn_out(w: &World, units: &[Id]) -> Num {
    let x = |id: &Id| w.unit(*id).expect("no unit dies").at.x;
    let first = units.iter().map(x).max().unwrap();
    let last = units.iter().map(x).min().unwrap();
    first - last
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
    assert!(together < 6, "{together} tiles");
    assert!(
        apart > together + Num::from_num(3),
        "{apart} and {together} tiles"
    );
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
fn a_unit_sent_elsewhere_leaves_the_band() {
    let mut w = meadow();
    let units = company(&mut w);
    go(&mut w, &units, 50, 20);
    go(&mut w, &units[..1], 8, 50);
    assert_eq!(w.units.band[w.units.row(units[0]).unwrap()], 0);
    assert_ne!(w.units.band[w.units.row(units[1]).unwrap()], 0);
    // A knight by itself is as fast as a knight.
    let before = w.unit(units[0]).unwrap().at;
    run(&mut w, 40);
    let way = before.distance(w.unit(units[0]).unwrap().at);
    assert!(way > Kind::Knight.stats().speed * 38, "{way}");
}

#[test]
fn band_numbers_come_round_and_skip_zero() {
    let mut w = meadow();
    let units = company(&mut w);
    w.last_band = bands::BANDS - 2;
    for expected in [bands::BANDS - 1, 1, 2] {
        go(&mut w, &units, 50, 20);
        assert_eq!(w.units.band[w.units.row(units[3]).unwrap()], expected);
    }
}

/// A wall along y = 27 and 28 with a pocket of one tile at (30, 28), open only to the south.
fn pocket(w: &mut World) -> Tile {
    let tile = Tile::new(30, 28);
    let wide = (0..64).flat_map(|x| [Tile::new(x, 27), Tile::new(x, 28)]);
    wall(w, wide.filter(|t| *t != tile));
    tile
}

fn crowd(w: &mut World, at: Tile) -> Vec<Id> {
    (0..75)
        .map(|_| put(w, Kind::Swordsman, 0, at.x, at.y))
        .collect()
}

fn is_idle(w: &World, units: &[Id]) -> bool {
    units
        .iter()
        .all(|id| w.unit(*id).unwrap().order == Order::Idle)
}

#[test]
fn a_crowd_sent_beyond_a_wall_spreads_before_it_and_is_done() {
    let mut w = meadow();
    let tile = pocket(&mut w);
    let crowd = crowd(&mut w, tile);
    go(&mut w, &crowd, 24, 17);
    run_until(&mut w, 600, |w| is_idle(w, &crowd));
    run(&mut w, 100);
    for id in &crowd {
        let at = w.unit(*id).unwrap().tile;
        assert!(
            at.y >= 28 && at.king_steps(Tile::new(24, 29)) <= 10,
            "{at:?}"
        );
    }
    let mut tiles: Vec<Tile> = crowd.iter().map(|id| w.unit(*id).unwrap().tile).collect();
    tiles.sort_unstable();
    tiles.dedup();
    assert!(tiles.len() > 30, "{} tiles for 75", tiles.len());
}

#[test]
fn a_crowd_sent_unit_by_unit_to_one_tile_is_done_there() {
    let mut w = meadow();
    let tile = pocket(&mut w);
    let crowd = crowd(&mut w, Tile::new(30, 40));
    for id in &crowd {
        go(&mut w, std::slice::from_ref(id), tile.x, tile.y);
    }
    run_until(&mut w, 900, |w| is_idle(w, &crowd));
}

#[test]
fn a_crowd_on_one_point_in_a_dead_end_gets_out_again() {
    let mut w = meadow();
    let tile = pocket(&mut w);
    let crowd = crowd(&mut w, tile);
    go(&mut w, &crowd, 30, 50);
    run_until(&mut w, 900, |w| is_idle(w, &crowd));
    for id in &crowd {
        let at = w.unit(*id).unwrap().tile;
        assert!(at.king_steps(Tile::new(30, 50)) <= 8, "{at:?}");
    }
}
