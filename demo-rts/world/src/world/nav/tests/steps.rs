//! Searches in parts.

use super::*;

/// Ready sectors and their answers must follow from the steps taken: a loaded world goes on with the steps
/// alone.
#[test]
fn the_steps_taken_determine_the_ready_sectors() {
    let (mut ready, mut not_yet, mut kept) = (0, 0, 0);
    for seed in 0..30 {
        let mut dice = Dice(mix(seed ^ 99));
        let size = 60 + dice.below(90) as u16;
        let mut drawing = Drawing::random(seed, size, 5 + dice.below(5) * 10);
        let mut nav = drawing.nav();
        let goals: Vec<Goal> = (0..3).map(|_| dice.goal(size)).collect();
        let ids: Vec<FieldId> = goals.iter().map(|goal| nav.open(*goal)).collect();
        for _ in 0..16 {
            for _ in 0..dice.below(8) {
                let from = Tile::new(dice.tile(size), dice.tile(size));
                let mut budget = dice.below(60) as u32;
                let (id, most) = (ids[dice.below(3) as usize], budget);
                let before = nav.steps(id);
                nav.prepare_within(id, from, &mut budget);
                assert_eq!(nav.steps(id) - before, most - budget);
            }
            let steps: u32 = ids.iter().map(|id| nav.steps(*id)).sum();
            for _ in 0..dice.below(3) {
                let (tile, blocked) = (
                    Tile::new(dice.tile(size), dice.tile(size)),
                    dice.below(2) == 0,
                );
                if tile.x < size && tile.y < size {
                    drawing.set(tile, blocked);
                }
                nav.set_blocked(tile, blocked);
            }
            let changed = nav.refresh();
            let left: u32 = ids.iter().map(|id| nav.steps(*id)).sum();
            kept += u32::from(changed && left > 0 && left == steps);
            let mut fresh = drawing.nav();
            for (goal, id) in goals.iter().zip(&ids) {
                let twin = fresh.open(*goal);
                fresh.resume(twin, nav.steps(*id));
                assert_eq!(fresh.steps(twin), nav.steps(*id));
                for tile in drawing.tiles().filter(|t| t.x % 16 == 0 && t.y % 16 == 0) {
                    let one = nav.prepare_within(*id, tile, &mut 0);
                    let two = fresh.prepare_within(twin, tile, &mut 0);
                    assert_eq!(one, two, "seed {seed} {tile:?} to {goal:?}");
                    ready += u32::from(one);
                    not_yet += u32::from(!one);
                    for part in Goal::square(tile, 16).tiles(0) {
                        let one = nav.direction_if_ready(*id, part);
                        assert_eq!(one, fresh.direction_if_ready(twin, part), "{part:?}");
                    }
                }
            }
        }
    }
    println!("{ready} sectors ready, {not_yet} not yet; {kept} changes broke no search");
    assert!(ready > 1_000 && not_yet > 1_000 && kept > 50);
}

#[test]
fn a_sector_without_a_way_waits_again_when_ground_opens() {
    let mut drawing = Drawing::open(160);
    for y in 0..160 {
        drawing.set(Tile::new(88, y), true);
    }
    let mut nav = drawing.nav();
    let id = nav.open(Goal::tile(Tile::new(5, 5)));
    let (from, gap) = (Tile::new(150, 150), Tile::new(88, 40));
    assert!(nav.prepare_within(id, from, &mut 100));
    assert_eq!(nav.direction_if_ready(id, from), Some(None));
    nav.set_blocked(gap, false);
    nav.refresh();
    assert!(nav.steps(id) > 0, "the case that this is about");
    assert_eq!(nav.direction_if_ready(id, from), None);
    assert!(!nav.prepare_within(id, from, &mut 100));
    assert!(nav.prepare_within(id, from, &mut 10_000));
    assert!(
        nav.direction_if_ready(id, from)
            .is_some_and(|way| way.is_some())
    );
}
