//! Soldiers: which, and where they are trained.

use super::{
    Habits,
    estate::{Estate, nearest},
    places,
};
use crate::world::{BuildingView, Command, Job, Kind, Tile};

/// Builds barracks and the like, and trains soldiers in them.
pub(super) fn run(estate: &mut Estate<'_>, habits: &Habits, commands: &mut Vec<Command>) {
    let plan = Plan::of(estate, habits);
    build_trainers(estate, habits, &plan, commands);
    research(estate, habits, commands);
    train(estate, habits, &plan, commands);
    build_towers(estate, habits, commands);
    set_rally(estate, commands);
}

/// Each kind's share in the army.
struct Plan([(Kind, u32); 4]);

impl Plan {
    fn of(estate: &Estate<'_>, habits: &Habits) -> Self {
        let throws = estate.soldiers.len() >= habits.wave && habits.trainers > 2;
        let mut plan = Plan([
            (Kind::Swordsman, 4),
            (Kind::Archer, 4),
            (Kind::Knight, 3),
            (Kind::Catapult, u32::from(throws)),
        ]);
        if habits.counters {
            for (kind, share) in plan.0.iter_mut().take(3) {
                let victim = victim_of(*kind);
                let known = estate.enemy_units.iter().filter(|unit| unit.kind == victim);
                let trained = estate
                    .enemy_buildings
                    .iter()
                    .filter(|b| b.kind.trains().contains(&victim));
                *share += (known.count() as u32).min(20) + 2 * (trained.count() as u32).min(4);
            }
        }
        plan
    }

    /// The allowed kind that falls shortest of its share.
    fn choose(&self, have: impl Fn(Kind) -> u32, may: impl Fn(Kind) -> bool) -> Option<Kind> {
        self.0
            .iter()
            .filter(|(kind, share)| *share > 0 && may(*kind))
            .max_by_key(|(kind, share)| (share * 1_000 / (have(*kind) + 1), *kind))
            .map(|(kind, _)| *kind)
    }
}

/// The kind that a kind of soldier beats at the same price.
fn victim_of(kind: Kind) -> Kind {
    match kind {
        Kind::Swordsman => Kind::Knight,
        Kind::Archer => Kind::Swordsman,
        _ => Kind::Archer,
    }
}

/// The building that trains a kind.
fn trainer_of(kind: Kind) -> Option<Kind> {
    Kind::ALL.into_iter().find(|b| b.trains().contains(&kind))
}

fn build_trainers(
    estate: &mut Estate<'_>,
    habits: &Habits,
    plan: &Plan,
    commands: &mut Vec<Command>,
) {
    let is_trainer = |kind: Kind| kind.trains().iter().any(|trained| trained.is_soldier());
    let trainers: Vec<_> = estate
        .buildings
        .iter()
        .filter(|b| is_trainer(b.kind))
        .collect();
    let have = trainers.len();
    if have >= habits.trainers || trainers.iter().any(|b| !b.complete) {
        return;
    }
    let rich = estate.gold > 400 && estate.wood > 400;
    let grown = estate.workers.len() >= (5 + (have + 1) * habits.workers_each).min(habits.workers);
    // Enough in store that the standing buildings can also train.
    let flush = have == 0 || (estate.gold > 150 && estate.wood > 250);
    if !(rich || grown && flush) {
        return;
    }
    let count = |kind: Kind| trainer_of(kind).map_or(0, |trainer| estate.count(trainer) as u32);
    let may = |kind: Kind| trainer_of(kind).is_some_and(|trainer| estate.may_have(trainer));
    let wanted = plan.choose(count, may).and_then(trainer_of);
    if let Some(kind) = wanted.filter(|kind| estate.can_pay(*kind)) {
        let home = estate.home();
        places::found_near(estate, kind, home, commands);
    }
}

/// Researches the upgrades of its level, one at a time, as soon as they do not keep soldiers waiting.
fn research(estate: &mut Estate<'_>, habits: &Habits, commands: &mut Vec<Command>) {
    let is_busy = |b: &BuildingView| {
        b.queue
            .iter()
            .flatten()
            .any(|job| matches!(job, Job::Research(_)))
    };
    if estate.soldiers.len() < habits.wave / 2 || estate.buildings.iter().any(is_busy) {
        return;
    }
    for upgrade in habits.upgrades {
        let stats = upgrade.stats();
        let level = estate.seat.upgrades[*upgrade as usize];
        let (gold, wood) = stats.price(level + 1);
        let able = estate.complete(stats.at).find(|b| b.queued < habits.queue);
        let stands = stats
            .needs
            .iter()
            .all(|need| estate.complete(*need).next().is_some());
        if level >= stats.levels || !stands {
            continue;
        }
        let Some(building) = able.map(|b| b.id) else {
            continue;
        };
        if estate.gold >= gold + 60 && estate.wood >= wood + 40 {
            estate.gold -= gold;
            estate.wood -= wood;
            let upgrade = *upgrade;
            commands.push(Command::Research { building, upgrade });
        }
        return;
    }
}

fn train(estate: &mut Estate<'_>, habits: &Habits, plan: &Plan, commands: &mut Vec<Command>) {
    let mut have: Vec<u32> = Kind::ALL
        .iter()
        .map(|kind| {
            estate
                .soldiers
                .iter()
                .filter(|unit| unit.kind == *kind)
                .count() as u32
        })
        .collect();
    let mut free: Vec<_> = estate
        .buildings
        .iter()
        .filter(|b| b.complete && b.queued < habits.queue)
        .filter(|b| b.kind.trains().iter().any(|kind| kind.is_soldier()))
        .map(|b| (b.id, b.kind))
        .collect();
    while !free.is_empty() {
        let trains = |kind: Kind| {
            estate.can_have(kind)
                && free
                    .iter()
                    .any(|(_, trainer)| trainer.trains().contains(&kind))
        };
        let Some(kind) = plan.choose(|kind| have[kind as usize], trains) else {
            return;
        };
        let place = free
            .iter()
            .position(|(_, trainer)| trainer.trains().contains(&kind));
        let Some(place) = place else {
            return;
        };
        let (building, _) = free.swap_remove(place);
        estate.pay(kind);
        have[kind as usize] += 1;
        commands.push(Command::Train { building, kind });
    }
}

/// A tower or two on the side of home that faces the enemy.
fn build_towers(estate: &mut Estate<'_>, habits: &Habits, commands: &mut Vec<Command>) {
    let have = estate.count(Kind::Tower);
    let ready = have < habits.towers
        && estate.soldiers.len() >= 8 * (have + 1)
        && !estate.is_being_built(Kind::Tower)
        && estate.gold > 250
        && estate.wood > 350;
    if ready && estate.can_have(Kind::Tower) {
        let before = leaning(estate.home(), middle_of_map(estate), 5);
        places::found_near(estate, Kind::Tower, before, commands);
    }
}

/// Gathers fresh soldiers before the base, towards the middle of the map.
fn set_rally(estate: &Estate<'_>, commands: &mut Vec<Command>) {
    let unset = estate.buildings.iter().find(|b| {
        let trains = b.kind.trains().iter().any(|kind| kind.is_soldier());
        trains && b.complete && b.rally == b.tile
    });
    let Some(trainer) = unset else {
        return;
    };
    let point = leaning(estate.home(), middle_of_map(estate), 7);
    let region = estate.home_region();
    let seen = estate.seen;
    let open = nearest(point, 12, seen.size(), |tile| {
        seen.region(tile) == region && region != 0
    });
    if let Some(to) = open {
        commands.push(Command::Rally {
            building: trainer.id,
            to,
        });
    }
}

fn middle_of_map(estate: &Estate<'_>) -> Tile {
    let half = estate.seen.size() / 2;
    Tile::new(half, half)
}

/// The tile `most` steps of a king from `from` towards `to`.
fn leaning(from: Tile, to: Tile, most: u16) -> Tile {
    let lean = |from: u16, to: u16| {
        let shift = from.abs_diff(to).min(most);
        if to > from {
            from + shift
        } else {
            from - shift
        }
    };
    Tile::new(lean(from.x, to.x), lean(from.y, to.y))
}
