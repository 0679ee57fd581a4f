use super::super::{Change, Common, TABLES};
use super::*;

/// Breaks one line and says what the check finds.
fn broken(kind: Kind, change: fn(&mut Stats)) -> Option<(Line, &'static str, Fault)> {
    let mut tables = TABLES.clone();
    change(&mut tables.kinds[kind as usize]);
    let found = tables.check().err();
    found.map(|error| (error.line, error.field, error.fault))
}

#[test]
fn every_contradiction_is_found_and_named() {
    use Fault::{
        Cycle, Needless, Negative, NotABuilding, NotAUnit, Nowhere, TooLarge, Twice, Zero,
    };
    type Case = (Kind, fn(&mut Stats), &'static str, Fault);
    let cases: Vec<Case> = vec![
        (Kind::Worker, |s| s.name = "", "name", Zero),
        (Kind::Worker, |s| s.name = "wall", "name", Twice),
        (Kind::Worker, |s| (s.gold, s.wood) = (0, 0), "gold", Zero),
        (Kind::Worker, |s| s.gold = u32::MAX, "gold", TooLarge),
        (Kind::House, |s| s.wood = 100_001, "wood", TooLarge),
        (Kind::House, |s| s.hit_points = 0, "hit_points", Zero),
        (
            Kind::House,
            |s| s.hit_points = u16::MAX,
            "hit_points",
            TooLarge,
        ),
        (Kind::House, |s| s.build_ticks = 0, "build_ticks", Zero),
        (
            Kind::House,
            |s| s.build_ticks = u16::MAX,
            "build_ticks",
            TooLarge,
        ),
        (Kind::House, |s| s.size = 5, "size", TooLarge),
        (Kind::House, |s| s.speed = Num::DELTA, "speed", Needless),
        (Kind::House, |s| s.radius = Num::DELTA, "radius", Needless),
        (Kind::House, |s| s.population = 1, "population", Needless),
        (
            Kind::House,
            |s| s.gather_ticks = 1,
            "gather_ticks",
            Needless,
        ),
        (Kind::House, |s| s.sight = 0, "sight", Zero),
        (Kind::House, |s| s.sight = u16::MAX, "sight", TooLarge),
        (Kind::Knight, |s| s.sight = 7, "alert", TooLarge),
        (
            Kind::Tower,
            |s| s.arrow_speed = Num::ZERO,
            "arrow_speed",
            Zero,
        ),
        (Kind::Tower, |s| s.arrows = 9, "arrows", TooLarge),
        (Kind::Tower, |s| s.damage = 0, "siege", Needless),
        (Kind::Tower, |s| s.shelters = 51, "shelters", TooLarge),
        (Kind::Tower, |s| s.splash = Num::DELTA, "splash", Needless),
        (Kind::TownHall, |s| s.shelters = 0, "arrows", Zero),
        (
            Kind::Catapult,
            |s| s.arrow_speed = Num::ZERO,
            "splash",
            Needless,
        ),
        (Kind::Knight, |s| s.shelters = 1, "shelters", Needless),
        (Kind::Knight, |s| s.cooldown = 0, "cooldown", Zero),
        (
            Kind::Knight,
            |s| s.cooldown = u16::MAX,
            "cooldown",
            TooLarge,
        ),
        (Kind::Knight, |s| s.siege = 0, "siege", Zero),
        (Kind::Knight, |s| s.damage = 9_999, "damage", TooLarge),
        (Kind::Knight, |s| s.range = Num::ZERO, "range", Zero),
        (Kind::Knight, |s| s.range = -Num::DELTA, "range", Negative),
        (Kind::Knight, |s| s.alert = Num::ZERO, "range", TooLarge),
        (Kind::Knight, |s| s.alert = Num::MAX, "alert", TooLarge),
        (Kind::Knight, |s| s.speed = Num::ZERO, "speed", Zero),
        (
            Kind::Knight,
            |s| s.speed = Num::lit("0.25"),
            "speed",
            TooLarge,
        ),
        (
            Kind::Knight,
            |s| s.radius = Num::lit("0.5"),
            "radius",
            TooLarge,
        ),
        (Kind::Knight, |s| s.radius = Num::ZERO, "radius", Zero),
        (Kind::Knight, |s| s.population = 0, "population", Zero),
        (Kind::Knight, |s| s.arrows = 1, "arrows", Needless),
        (Kind::Knight, |s| s.farm_ticks = 1, "gather_ticks", Zero),
        (Kind::Worker, |s| s.farm_ticks = 0, "farm_ticks", Zero),
        (
            Kind::Knight,
            |s| s.bonus = &[(Kind::Wall, 1)],
            "bonus",
            NotAUnit,
        ),
        (
            Kind::Knight,
            |s| s.bonus = &[(Kind::Worker, 1), (Kind::Worker, 1)],
            "bonus",
            Twice,
        ),
        (
            Kind::Knight,
            |s| s.trains = &[Kind::Worker],
            "trains",
            Needless,
        ),
        (
            Kind::Stable,
            |s| s.trains = &[Kind::Wall],
            "trains",
            NotAUnit,
        ),
        (
            Kind::Stable,
            |s| s.needs = &[Kind::Knight],
            "needs",
            NotABuilding,
        ),
        (Kind::Stable, |s| s.needs = &[Kind::Stable], "needs", Cycle),
        (
            Kind::Stable,
            |s| s.needs = &[Kind::House, Kind::House],
            "needs",
            Twice,
        ),
    ];
    let more: Vec<Case> = vec![
        // A seat may have 150 in usual matches.
        (Kind::Knight, |s| s.population = 151, "population", TooLarge),
        (Kind::Knight, |s| s.houses = 1, "houses", Needless),
        (Kind::Wall, |s| s.alert = Num::ONE, "alert", Needless),
        (Kind::House, |s| s.houses = 0, "houses", Zero),
        (
            Kind::Knight,
            |s| s.bonus = &[(Kind::Archer, 0)],
            "bonus",
            Zero,
        ),
        (
            Kind::Farm,
            |s| s.trains = &[Kind::Worker],
            "trains",
            Needless,
        ),
        (
            Kind::Wall,
            |s| s.trains = &[Kind::Worker],
            "trains",
            Needless,
        ),
        (Kind::Farm, |s| s.shelters = 1, "shelters", Needless),
        (
            Kind::Knight,
            |s| (s.gather_ticks, s.farm_ticks) = (9, 9),
            "gather_ticks",
            Needless,
        ),
        (
            Kind::Worker,
            |s| (s.gather_ticks, s.farm_ticks) = (0, 0),
            "gather_ticks",
            Zero,
        ),
        (
            Kind::House,
            |s| {
                (s.size, s.speed, s.radius, s.population, s.houses) =
                    (0, Num::DELTA, Num::DELTA, 1, 0)
            },
            "size",
            NotABuilding,
        ),
    ];
    for (kind, change, field, fault) in cases.into_iter().chain(more) {
        let expected = Some((Line::Kind(kind), field, fault));
        assert_eq!(broken(kind, change), expected);
    }
    let orphan = broken(Kind::Stable, |s| s.trains = &[]);
    assert_eq!(orphan, Some((Line::Kind(Kind::Knight), "trains", Nowhere)));
    // The barracks need the stable, which needs the barracks.
    let round = broken(Kind::Barracks, |s| s.needs = &[Kind::Stable]);
    assert!(matches!(round, Some((_, "needs", Cycle))), "{round:?}");
}

#[test]
fn contradictory_upgrades_are_found_and_named() {
    use Fault::{Needless, NotABuilding, TooLarge, Twice, Zero};
    type Case = (fn(&mut UpgradeStats), &'static str, Fault);
    let cases: [Case; 15] = [
        (|u| u.at = Kind::Farm, "at", Needless),
        (|u| u.name = "", "name", Zero),
        (|u| u.name = "armour", "name", Twice),
        (|u| (u.gold, u.wood) = (0, 0), "gold", Zero),
        (|u| u.wood = u32::MAX, "wood", TooLarge),
        (|u| u.ticks = 0, "ticks", Zero),
        (|u| u.ticks = u16::MAX, "ticks", TooLarge),
        (|u| u.levels = 0, "levels", Zero),
        (|u| u.levels = 9, "levels", TooLarge),
        (|u| u.at = Kind::Knight, "at", NotABuilding),
        (|u| u.needs = &[Kind::Knight], "needs", NotABuilding),
        (|u| u.changes = &[], "changes", Zero),
        (|u| u.changes = &NOTHING, "changes", Zero),
        (|u| u.changes = &UNARMED, "changes", Needless),
        (|u| u.changes = &TOO_FAR, "changes", TooLarge),
    ];
    for (change, field, fault) in cases {
        let mut tables = TABLES.clone();
        change(&mut tables.upgrades[Upgrade::Blades as usize]);
        let expected = TableError {
            line: Line::Upgrade(Upgrade::Blades),
            field,
            fault,
        };
        assert_eq!(tables.check(), Err(expected));
    }
}

const NOTHING: [Change; 1] = [Change {
    of: &[Kind::Knight],
    what: Ability::Damage,
    by: 0,
}];
const UNARMED: [Change; 1] = [Change {
    of: &[Kind::Farm],
    what: Ability::Damage,
    by: 1,
}];
const TOO_FAR: [Change; 1] = [Change {
    of: &[Kind::Archer],
    what: Ability::Range,
    by: Num::lit("15").to_bits(),
}];

/// Farther by each of two upgrades, and too far by both.
#[test]
fn upgrades_that_are_too_much_together_are_found_and_named() {
    let farther = |upgrades: &[Upgrade], common: fn(&mut Common)| {
        let mut tables = TABLES.clone();
        for upgrade in upgrades {
            let line = &mut tables.upgrades[*upgrade as usize];
            (line.levels, line.changes) = (1, &SOME_FARTHER);
        }
        common(&mut tables.common);
        let found = tables.check().err();
        found.map(|error| (error.line, error.field, error.fault))
    };
    let (armour, masonry) = (Upgrade::Armour, Upgrade::Masonry);
    assert_eq!(farther(&[armour], |_| {}), None);
    assert_eq!(farther(&[masonry], |_| {}), None);
    let found = farther(&[armour, masonry], |_| {});
    let sight = (Line::Learnt(Kind::Swordsman), "alert", Fault::TooLarge);
    assert_eq!(found, Some(sight));
    // With one, soldiers turn against enemies that they must not pursue.
    let leash = (Line::Common, "leash_tiles", Fault::TooSmall);
    let short: fn(&mut Common) = |common| common.leash_tiles = 9;
    assert_eq!(farther(&[], short), None);
    let long = |upgrade| {
        let mut tables = TABLES.clone();
        tables.kinds[Kind::Catapult as usize].sight = 12;
        let line: &mut UpgradeStats = &mut tables.upgrades[upgrade as usize];
        (line.levels, line.changes) = (1, &STONES_FARTHER);
        tables.common.leash_tiles = 9;
        let found = tables.check().err();
        found.map(|error| (error.line, error.field, error.fault))
    };
    assert_eq!(long(armour), Some(leash));
}

const SOME_FARTHER: [Change; 1] = [Change {
    of: &[Kind::Swordsman],
    what: Ability::Range,
    by: Num::ONE.to_bits(),
}];
const STONES_FARTHER: [Change; 1] = [Change {
    of: &[Kind::Catapult],
    what: Ability::Range,
    by: Num::ONE.to_bits(),
}];

#[test]
fn an_error_says_where_and_what() {
    let mut tables = TABLES.clone();
    tables.kinds[Kind::Wall as usize].hit_points = 0;
    let error = tables.check().unwrap_err();
    assert_eq!(error.to_string(), "Wall: hit_points is zero or empty");
}

#[test]
fn contradictions_of_what_holds_for_all_are_found_and_named() {
    use Fault::{TooLarge, TooSmall, Zero};
    type Case = (fn(&mut Common), &'static str, Fault);
    let cases: [Case; 15] = [
        (|c| c.carry = 0, "carry", Zero),
        (|c| c.mine_gold = 0, "mine_gold", Zero),
        (|c| c.repair_ticks = 0, "repair_ticks", Zero),
        (|c| c.tower_look_ticks = 0, "tower_look_ticks", Zero),
        (|c| c.failures = 0, "failures", Zero),
        (|c| c.refund_percent = 101, "refund_percent", TooLarge),
        (|c| c.repair_percent = 101, "repair_percent", TooLarge),
        (
            |c| c.damage_spread_percent = 101,
            "damage_spread_percent",
            TooLarge,
        ),
        (|c| c.return_ticks = u32::MAX, "return_ticks", TooLarge),
        (|c| c.search_tiles = u16::MAX, "search_tiles", TooLarge),
        (|c| c.lenience_tiles = 17, "lenience_tiles", TooLarge),
        (|c| c.leash_tiles = u16::MAX, "leash_tiles", TooLarge),
        (|c| c.leash_tiles = 3, "leash_tiles", TooSmall),
        (|c| c.workers = 11, "workers", TooLarge),
        (|c| c.ai_period = 24, "ai_period", TooSmall),
    ];
    for (change, field, fault) in cases {
        let mut tables = TABLES.clone();
        change(&mut tables.common);
        let found = tables.check().err();
        let found = found.map(|error| (error.line, error.field, error.fault));
        assert_eq!(found, Some((Line::Common, field, fault)));
    }
}
