mod lines;
mod steps;

use super::*;
use crate::world::generate::mix;
use sim::Num;

/// A map drawn with characters: `#` is blocked.
struct Drawing {
    size: u16,
    blocked: Vec<bool>,
}

impl Drawing {
    fn open(size: u16) -> Self {
        Self {
            size,
            blocked: vec![false; usize::from(size) * usize::from(size)],
        }
    }

    /// Lumps and walls of different kinds; about `percent` of it blocked.
    fn random(seed: u64, size: u16, percent: u64) -> Self {
        let mut drawing = Self::open(size);
        let mut dice = Dice(mix(seed));
        let lump = 1 + dice.below(4) as u16;
        let wanted = u64::from(size) * u64::from(size) * percent / 100;
        let mut count = 0;
        while count < wanted {
            let (x, y) = (dice.tile(size), dice.tile(size));
            let (width, height) = match dice.below(3) {
                0 => (lump, lump),
                1 => (1, lump * 4),
                _ => (lump * 4, 1),
            };
            let lump = Goal {
                tile: Tile::new(x, y),
                width: width as u8,
                height: height as u8,
            };
            for tile in lump.tiles(0) {
                if tile.x < size && tile.y < size && !drawing.blocked[drawing.at(tile)] {
                    drawing.set(tile, true);
                    count += 1;
                }
            }
        }
        drawing
    }

    fn at(&self, tile: Tile) -> usize {
        usize::from(tile.y) * usize::from(self.size) + usize::from(tile.x)
    }

    fn is_blocked(&self, x: i32, y: i32) -> bool {
        let edge = i32::from(self.size);
        x < 0 || y < 0 || x >= edge || y >= edge || self.blocked[(y * edge + x) as usize]
    }

    fn set(&mut self, tile: Tile, blocked: bool) {
        let at = self.at(tile);
        self.blocked[at] = blocked;
    }

    fn nav(&self) -> Nav {
        Nav::new(self.size, |tile| self.blocked[self.at(tile)])
    }

    fn tiles(&self) -> impl Iterator<Item = Tile> + use<> {
        let size = self.size;
        (0..size).flat_map(move |y| (0..size).map(move |x| Tile::new(x, y)))
    }

    fn open_tiles(&self) -> Vec<Tile> {
        self.tiles()
            .filter(|tile| !self.blocked[self.at(*tile)])
            .collect()
    }

    /// The steps that are allowed from a tile, without anything of the code under test.
    fn steps(&self, tile: Tile) -> Vec<(Tile, u32)> {
        let (x, y) = (i32::from(tile.x), i32::from(tile.y));
        let mut steps = Vec::new();
        for (dx, dy) in [
            (1, 0),
            (1, 1),
            (0, 1),
            (-1, 1),
            (-1, 0),
            (-1, -1),
            (0, -1),
            (1, -1),
        ] {
            let free = !self.is_blocked(x + dx, y + dy)
                && !self.is_blocked(x + dx, y)
                && !self.is_blocked(x, y + dy);
            if free {
                let cost = if dx != 0 && dy != 0 { 7 } else { 5 };
                steps.push((Tile::new((x + dx) as u16, (y + dy) as u16), cost));
            }
        }
        steps
    }

    /// The least costs to the ends of a goal: Dijkstra's search over all tiles.
    fn oracle(&self, ends: &[Tile]) -> Vec<Option<u32>> {
        let mut costs = vec![None; self.blocked.len()];
        let mut open = std::collections::BTreeSet::new();
        for end in ends {
            costs[self.at(*end)] = Some(0);
            open.insert((0, *end));
        }
        while let Some((cost, tile)) = open.pop_first() {
            for (there, step) in self.steps(tile) {
                let over = cost + step;
                let known = costs[self.at(there)];
                if known.is_none_or(|known| over < known) {
                    if let Some(known) = known {
                        open.remove(&(known, there));
                    }
                    costs[self.at(there)] = Some(over);
                    open.insert((over, there));
                }
            }
        }
        costs
    }

    fn ends(&self, goal: Goal) -> Vec<Tile> {
        let on_map = |tile: &Tile| tile.x < self.size && tile.y < self.size;
        let open = |tile: &Tile| on_map(tile) && !self.blocked[self.at(*tile)];
        let inside: Vec<Tile> = goal.tiles(0).filter(open).collect();
        if inside.is_empty() {
            goal.tiles(1).filter(open).collect()
        } else {
            inside
        }
    }

    /// Walks along the directions. Returns the cost, or `None` if there is no way.
    fn walk(&self, nav: &mut Nav, goal: Goal, from: Tile) -> Option<u32> {
        let mut tile = from;
        let mut cost = 0;
        for _ in 0..self.blocked.len() {
            let field = nav.prepare(goal, tile);
            let direction = nav.direction(field, tile)?;
            if direction == Direction::Here {
                return Some(cost);
            }
            let (dx, dy) = direction.step();
            let (x, y) = (i32::from(tile.x) + dx, i32::from(tile.y) + dy);
            let there = Tile::new(x as u16, y as u16);
            let step = self.steps(tile).into_iter().find(|(to, _)| *to == there);
            cost += step
                .unwrap_or_else(|| panic!("no step from {tile:?} to {there:?}"))
                .1;
            tile = there;
        }
        panic!("walking in circles from {from:?} to {goal:?}");
    }
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = mix(self.0.wrapping_add(1));
        (self.0 >> 32) % bound
    }

    fn tile(&mut self, size: u16) -> u16 {
        self.below(u64::from(size)) as u16
    }

    fn goal(&mut self, size: u16) -> Goal {
        Goal {
            tile: Tile::new(self.tile(size), self.tile(size)),
            width: 1 + self.below(4) as u8,
            height: 1 + self.below(4) as u8,
        }
    }
}

/// Checks all tiles' ways to a goal against the oracle. The worst cost in thousandths of the best, and
/// the sum of both.
fn check_against_oracle(drawing: &Drawing, goal: Goal) -> (u64, u64, u64) {
    let mut nav = drawing.nav();
    let ends = drawing.ends(goal);
    let oracle = drawing.oracle(&ends);
    let (mut worst, mut found, mut best) = (1000, 0, 0);
    for tile in drawing.open_tiles() {
        let walked = drawing.walk(&mut nav, goal, tile);
        let least = oracle[drawing.at(tile)];
        assert_eq!(walked.is_some(), least.is_some(), "{tile:?} to {goal:?}");
        let field = nav.prepare(goal, tile);
        let told = nav.cost(field, tile);
        assert_eq!(told.is_some(), least.is_some());
        assert_eq!(nav.is_reached(field, tile), least.is_some());
        if let (Some(walked), Some(least), Some(told)) = (walked, least, told) {
            assert!(least <= walked && walked <= told, "{least} {walked} {told}");
            found += u64::from(walked);
            best += u64::from(least);
            if least >= 100 {
                worst = worst.max(u64::from(walked) * 1000 / u64::from(least));
            }
        }
    }
    (worst, found, best)
}

#[test]
fn every_way_leads_to_the_goal_and_is_nearly_the_shortest() {
    let (mut worst, mut found, mut best) = (0, 0, 0);
    for seed in 0..16 {
        let mut dice = Dice(seed);
        let size = 40 + dice.below(60) as u16;
        let drawing = Drawing::random(seed, size, dice.below(5) * 12);
        for _ in 0..2 {
            let (ratio, walked, least) = check_against_oracle(&drawing, dice.goal(size));
            worst = worst.max(ratio);
            found += walked;
            best += least;
        }
    }
    println!(
        "worst {worst} thousandths, all {} thousandths",
        found * 1000 / best
    );
    assert!(worst <= 1200, "{worst}");
    assert!(found * 1000 / best <= 1030, "{found} {best}");
}

#[test]
fn a_map_changed_bit_by_bit_answers_like_a_new_one() {
    for seed in 0..8 {
        let mut dice = Dice(mix(seed));
        let size = 33 + dice.below(50) as u16;
        let mut drawing = Drawing::random(seed, size, dice.below(4) * 12);
        let mut nav = drawing.nav();
        let goals: Vec<Goal> = (0..4).map(|_| dice.goal(size)).collect();
        for _ in 0..12 {
            // Ask a little, so that caches hold different things when the ground changes.
            for _ in 0..dice.below(12) {
                let from = Tile::new(dice.tile(size), dice.tile(size));
                nav.prepare(goals[dice.below(4) as usize], from);
            }
            for _ in 0..dice.below(4) {
                let (tile, blocked) = (
                    Tile::new(dice.tile(size), dice.tile(size)),
                    dice.below(2) == 0,
                );
                for tile in Goal::square(tile, 1 + dice.below(3) as u8).tiles(0) {
                    if tile.x < size && tile.y < size {
                        drawing.set(tile, blocked);
                    }
                    nav.set_blocked(tile, blocked);
                }
            }
            nav.refresh();
            assert_same_answers(&mut nav, &drawing, &goals, &mut dice);
        }
    }
}

fn assert_same_answers(nav: &mut Nav, drawing: &Drawing, goals: &[Goal], dice: &mut Dice) {
    let mut fresh = drawing.nav();
    for tile in drawing.tiles() {
        assert_eq!(nav.is_blocked(tile), fresh.is_blocked(tile));
        assert_eq!(nav.region(tile), fresh.region(tile), "{tile:?}");
    }
    for goal in goals {
        for _ in 0..20 {
            let tile = Tile::new(dice.tile(drawing.size), dice.tile(drawing.size));
            let (one, two) = (nav.prepare(*goal, tile), fresh.prepare(*goal, tile));
            let origin = (tile.x / 16 * 16, tile.y / 16 * 16);
            for (dx, dy) in (0..16).flat_map(|y| (0..16).map(move |x| (x, y))) {
                let tile = Tile::new(origin.0 + dx, origin.1 + dy);
                assert_eq!(
                    nav.direction(one, tile),
                    fresh.direction(two, tile),
                    "{tile:?} to {goal:?}"
                );
            }
            assert_eq!(nav.cost(one, tile), fresh.cost(two, tile));
        }
    }
}

#[test]
fn other_queries_change_no_answer() {
    for seed in 0..16 {
        let mut dice = Dice(mix(seed ^ 77));
        let size = 60 + dice.below(40) as u16;
        let drawing = Drawing::random(seed, size, dice.below(5) * 10);
        let goal = dice.goal(size);
        let mut asked = drawing.nav();
        for tile in drawing.tiles() {
            asked.prepare(goal, tile);
        }
        let corners = drawing
            .tiles()
            .filter(|tile| tile.x % 16 == 0 && tile.y % 16 == 0);
        for corner in corners {
            let mut alone = drawing.nav();
            let (one, two) = (asked.prepare(goal, corner), alone.prepare(goal, corner));
            for tile in Goal::square(corner, 16).tiles(0) {
                assert_eq!(
                    asked.direction(one, tile),
                    alone.direction(two, tile),
                    "{tile:?}"
                );
            }
            let last = Tile::new(corner.x + 15, corner.y + 15);
            assert_eq!(asked.cost(one, last), alone.cost(two, last), "{last:?}");
        }
    }
}

#[test]
fn a_new_pocket_elsewhere_renames_regions_and_breaks_no_way() {
    let mut drawing = Drawing::open(64);
    for y in 0..64 {
        drawing.set(Tile::new(40, y), true);
    }
    let mut nav = drawing.nav();
    let goal = Goal::tile(Tile::new(60, 60));
    let (near, far) = (Tile::new(55, 60), Tile::new(50, 3));
    nav.prepare(goal, near);
    let before = nav.region(far);
    for tile in Goal::square(Tile::new(4, 4), 3).tiles(0) {
        let ring = tile != Tile::new(5, 5);
        drawing.set(tile, ring);
        nav.set_blocked(tile, ring);
    }
    nav.refresh();
    assert_ne!(nav.region(far), before, "the case that this is about");
    assert!(drawing.walk(&mut nav, goal, far).is_some());
    assert_eq!(drawing.walk(&mut nav, goal, Tile::new(3, 3)), None);
}

#[test]
fn nothing_but_blockage_changes_before_a_refresh() {
    let drawing = Drawing::random(5, 64, 10);
    let (mut nav, mut other) = (drawing.nav(), drawing.nav());
    let goal = Goal::tile(drawing.open_tiles()[0]);
    for tile in drawing.tiles() {
        other.prepare(goal, tile);
    }
    for x in 0..64 {
        nav.set_blocked(Tile::new(x, 30), true);
        other.set_blocked(Tile::new(x, 30), true);
    }
    assert!(nav.is_blocked(Tile::new(3, 30)));
    for tile in drawing.tiles() {
        let (one, two) = (nav.prepare(goal, tile), other.prepare(goal, tile));
        assert_eq!(nav.direction(one, tile), other.direction(two, tile));
        assert_eq!(nav.region(tile), other.region(tile));
    }
}

#[test]
fn fields_are_forgotten_and_come_back_the_same() {
    let drawing = Drawing::random(8, 96, 15);
    let mut nav = drawing.nav();
    let (goal, from) = (Goal::tile(Tile::new(80, 80)), drawing.open_tiles()[0]);
    let field = nav.prepare(goal, from);
    let direction = nav.direction(field, from);
    assert!(direction.is_some());
    for _ in 0..2 * KEPT {
        nav.refresh();
    }
    assert_eq!(nav.direction(field, from), None);
    nav.prepare_at(field, from);
    assert_eq!(nav.direction(field, from), direction);
    nav.close(goal);
    assert_eq!((nav.open_goals(), nav.direction(field, from)), (0, None));
    nav.close(goal);
    nav.prepare_at(field, from);
}

#[test]
fn a_long_march_goes_through_the_only_gap() {
    let mut drawing = Drawing::open(128);
    for wall in [30, 61, 95] {
        for x in 0..128 {
            drawing.set(Tile::new(x, wall), true);
        }
        drawing.set(Tile::new(wall, wall), false);
    }
    let mut nav = drawing.nav();
    let goal = Goal::tile(Tile::new(120, 127));
    let (walked, best) = (
        drawing.walk(&mut nav, goal, Tile::new(2, 2)).unwrap(),
        drawing.oracle(&[goal.tile])[2 * 128 + 2].unwrap(),
    );
    assert!(walked * 100 <= best * 104, "{walked} {best}");
}

#[test]
fn a_walled_goal_is_reached_only_from_inside_until_a_wall_falls() {
    let mut drawing = Drawing::open(64);
    for tile in Goal::square(Tile::new(20, 20), 9).tiles(0) {
        let inside = (21..28).contains(&tile.x) && (21..28).contains(&tile.y);
        drawing.set(tile, !inside);
    }
    let goal = Goal::square(Tile::new(23, 23), 3);
    let mut nav = drawing.nav();
    let outside = Tile::new(50, 50);
    assert_eq!(drawing.walk(&mut nav, goal, outside), None);
    assert!(drawing.walk(&mut nav, goal, Tile::new(21, 27)).is_some());
    assert_ne!(nav.region(outside), nav.region(Tile::new(22, 22)));
    assert_eq!(
        nav.nearest_open(Tile::new(24, 24), nav.region(outside)),
        Some(Tile::new(24, 19))
    );
    drawing.set(Tile::new(28, 25), false);
    nav.set_blocked(Tile::new(28, 25), false);
    nav.refresh();
    assert!(drawing.walk(&mut nav, goal, outside).is_some());
    assert_eq!(nav.region(outside), nav.region(Tile::new(22, 22)));
}

#[test]
fn a_building_is_reached_at_its_side() {
    let mut drawing = Drawing::open(64);
    let goal = Goal::square(Tile::new(30, 30), 4);
    for tile in goal.tiles(0) {
        drawing.set(tile, true);
    }
    let mut nav = drawing.nav();
    // Straight to the side: from column 5 to column 29.
    assert_eq!(drawing.walk(&mut nav, goal, Tile::new(5, 31)), Some(24 * 5));
    check_against_oracle(&drawing, goal);
}

#[test]
fn a_unit_on_a_blocked_tile_is_led_out() {
    let mut drawing = Drawing::open(64);
    for tile in Goal::square(Tile::new(34, 34), 7).tiles(0) {
        drawing.set(tile, true);
    }
    let mut nav = drawing.nav();
    for tile in Goal::square(Tile::new(34, 34), 7).tiles(0) {
        let mut at = tile;
        for _ in 0..8 {
            let field = nav.prepare(Goal::tile(Tile::new(2, 2)), at);
            let (dx, dy) = nav.direction(field, at).unwrap().step();
            at = Tile::new((i32::from(at.x) + dx) as u16, (i32::from(at.y) + dy) as u16);
            if !nav.is_blocked(at) {
                break;
            }
        }
        assert!(!nav.is_blocked(at), "from {tile:?} to {at:?}");
    }
}

#[test]
fn the_nearest_open_tile_is_the_nearest() {
    for seed in 0..30 {
        let mut dice = Dice(mix(seed));
        let size = 20 + dice.below(80) as u16;
        let drawing = Drawing::random(seed, size, 30 + dice.below(40));
        let nav = drawing.nav();
        let open = drawing.open_tiles();
        for _ in 0..20 {
            let region = nav.region(open[dice.below(open.len() as u64) as usize]);
            let to = Tile::new(dice.tile(size * 2), dice.tile(size * 2));
            let distance = |tile: &&Tile| {
                let (dx, dy) = (tile.x.abs_diff(to.x), tile.y.abs_diff(to.y));
                u32::from(dx) * u32::from(dx) + u32::from(dy) * u32::from(dy)
            };
            let best = open
                .iter()
                .filter(|tile| nav.region(**tile) == region)
                .min_by_key(distance);
            assert_eq!(
                nav.nearest_open(to, region).as_ref(),
                best,
                "seed {seed} {to:?}"
            );
        }
        assert_eq!(nav.nearest_open(Tile::new(3, 3), 0), None);
    }
}

#[test]
fn regions_are_what_can_be_walked() {
    for seed in 0..20 {
        let drawing = Drawing::random(seed, 70, 40);
        let nav = drawing.nav();
        let open = drawing.open_tiles();
        let from = open[open.len() / 2];
        let reached = drawing.oracle(&[from]);
        for tile in drawing.tiles() {
            let same = nav.region(tile) == nav.region(from);
            assert_eq!(same, reached[drawing.at(tile)].is_some(), "{tile:?}");
            assert_eq!(nav.region(tile) == 0, drawing.blocked[drawing.at(tile)]);
        }
    }
}

#[test]
fn a_map_of_4096_tiles_is_walked_into_its_corner() {
    let mut nav = Nav::new(4096, |tile| tile.x % 64 == 40 && tile.y % 32 < 20);
    let goal = Goal::tile(Tile::new(4090, 4090));
    let mut at = Tile::new(3500, 3601);
    let mut steps = 0;
    loop {
        let field = nav.prepare(goal, at);
        let direction = nav.direction(field, at).unwrap();
        if direction == Direction::Here {
            break;
        }
        let (dx, dy) = direction.step();
        at = Tile::new((i32::from(at.x) + dx) as u16, (i32::from(at.y) + dy) as u16);
        assert!(!nav.is_blocked(at));
        steps += 1;
    }
    assert!((590..700).contains(&steps), "{steps}");
    let far = nav.nearest_open(Tile::new(u16::MAX, u16::MAX), nav.region(at));
    assert_eq!(far, Some(Tile::new(4095, 4095)));
}

#[test]
fn goals_off_the_map_and_of_any_shape_are_answered() {
    let drawing = Drawing::random(3, 50, 20);
    let mut nav = drawing.nav();
    for (x, y, width, height) in [
        (u16::MAX, u16::MAX, 255, 255),
        (49, 49, 0, 0),
        (60, 3, 16, 1),
        (0, 50, 3, 3),
    ] {
        let tile = Tile::new(x, y);
        let goal = Goal {
            tile,
            width,
            height,
        };
        for from in [Tile::new(1, 1), Tile::new(49, 49), tile] {
            let field = nav.prepare(goal, from);
            nav.direction(field, from);
            nav.cost(field, from);
        }
    }
    nav.set_blocked(Tile::new(u16::MAX, 0), false);
    nav.refresh();
    assert_eq!(nav.region(Tile::new(u16::MAX, 0)), 0);
}
