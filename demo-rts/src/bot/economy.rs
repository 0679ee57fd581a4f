//! Workers, houses, barracks, training.

use super::{
    Habits,
    estate::{Estate, middle},
};
use crate::world::{Command, Id, Kind, Order, Resource, Terrain, Tile};

/// Keeps the household growing, most urgent first.
pub(super) fn run(estate: &mut Estate<'_>, habits: &Habits, commands: &mut Vec<Command>) {
    employ_idle(estate, commands);
    finish_foundations(estate, commands);
    rebalance(estate, commands);
    let saves = settle(estate, commands);
    build_house(estate, habits, commands);
    train_workers(estate, habits, commands);
    if !saves {
        build_barracks(estate, habits, commands);
        train_soldiers(estate, commands);
    }
    set_rally(estate, commands);
}

fn employ_idle(estate: &Estate<'_>, commands: &mut Vec<Command>) {
    let mut idle: Vec<Id> = estate
        .workers
        .iter()
        .filter(|worker| worker.order == Order::Idle)
        .map(|worker| worker.id)
        .collect();
    if idle.is_empty() {
        return;
    }
    let wanted = scarcer(estate);
    let other = match wanted {
        Resource::Gold => Resource::Wood,
        Resource::Wood => Resource::Gold,
    };
    let home = estate.home();
    let from = estate
        .nearest_resource(wanted, home)
        .or_else(|| estate.nearest_resource(other, home));
    // A few at a time, so that the next few are weighed anew.
    let some = if estate.world.tick() < 40 { 3 } else { 2 };
    // Others each time, so that two who cannot get there do not keep the rest waiting.
    let turn = estate.world.tick() as usize / 8 % idle.len();
    idle.rotate_left(turn);
    if let Some(from) = from {
        commands.push(Command::Gather {
            units: estate.select(idle.into_iter().take(some)),
            from,
        });
    }
}

/// The resource that too few workers are after: five in nine should be after gold.
fn scarcer(estate: &Estate<'_>) -> Resource {
    let (gold, wood) = gatherers(estate);
    let rich = |have: u32, other: u32| have > other.saturating_mul(2).saturating_add(300);
    if rich(estate.gold, estate.wood) {
        Resource::Wood
    } else if rich(estate.wood, estate.gold) || gold * 4 <= wood * 5 {
        Resource::Gold
    } else {
        Resource::Wood
    }
}

fn gatherers(estate: &Estate<'_>) -> (usize, usize) {
    let after = |resource| {
        estate
            .workers
            .iter()
            .filter(|worker| estate.gathers(worker) == Some(resource))
            .count()
    };
    (after(Resource::Gold), after(Resource::Wood))
}

/// Moves workers over when one store overflows and the other is empty.
fn rebalance(estate: &Estate<'_>, commands: &mut Vec<Command>) {
    let (gold, wood) = gatherers(estate);
    let (from, to) = if estate.gold > estate.wood + 250 && gold > 3 {
        (Resource::Gold, Resource::Wood)
    } else if estate.wood > estate.gold + 250 && wood > 3 {
        (Resource::Wood, Resource::Gold)
    } else {
        return;
    };
    // A thought in eight, lest the workers spend their days walking.
    if !(estate.world.tick() / 16).is_multiple_of(8) {
        return;
    }
    let movers = estate
        .workers
        .iter()
        .filter(|worker| worker.carries.is_none() && estate.gathers(worker) == Some(from))
        .map(|worker| worker.id)
        .take(2);
    let movers = estate.select(movers);
    let place = estate.nearest_resource(to, estate.home());
    if let (Some(from), false) = (place, movers.is_empty()) {
        commands.push(Command::Gather {
            units: movers,
            from,
        });
    }
}

/// Sends somebody to a foundation that nobody builds.
fn finish_foundations(estate: &Estate<'_>, commands: &mut Vec<Command>) {
    for site in estate.buildings.iter().filter(|b| !b.complete) {
        let manned = estate
            .workers
            .iter()
            .any(|worker| worker.order == Order::Construct && worker.target == Some(site.id));
        if manned {
            continue;
        }
        if let Some(worker) = estate.free_worker(site.tile) {
            commands.push(Command::Assist {
                units: estate.select([worker]),
                building: site.id,
            });
        }
    }
}

/// Founds a hall where there is gold, when there is none or its mine runs out. Returns whether the
/// household should save up for it.
fn settle(estate: &mut Estate<'_>, commands: &mut Vec<Command>) -> bool {
    let unfinished = estate
        .buildings
        .iter()
        .any(|b| b.kind == Kind::TownHall && !b.complete);
    if unfinished || estate.count(Kind::TownHall) >= 5 || gold_nearby(estate) > 900 {
        return false;
    }
    let Some(gold) = estate.nearest_resource(Resource::Gold, estate.home()) else {
        return false;
    };
    let Some(at) = site(estate, Kind::TownHall, gold) else {
        return false;
    };
    if !estate.can_pay(Kind::TownHall) {
        return !estate.workers.is_empty();
    }
    found(estate, Kind::TownHall, at, commands);
    false
}

/// Gold left where workers of this household need not walk far.
fn gold_nearby(estate: &Estate<'_>) -> u32 {
    let map = estate.world.map();
    let near_hall = |tile: Tile| {
        estate
            .complete(Kind::TownHall)
            .any(|hall| middle(hall).king_steps(tile) <= 12)
    };
    (0..map.size())
        .flat_map(|y| (0..map.size()).map(move |x| Tile::new(x, y)))
        .filter(|tile| map.terrain(*tile) == Terrain::Gold && near_hall(*tile))
        .map(|tile| u32::from(map.amount(tile)))
        .sum()
}

fn build_house(estate: &mut Estate<'_>, habits: &Habits, commands: &mut Vec<Command>) {
    let coming: u32 = estate
        .buildings
        .iter()
        .filter(|b| !b.complete)
        .map(|b| u32::from(b.kind.stats().houses))
        .sum();
    let limit = estate.seat.population_limit + coming;
    let most = u32::from(estate.world.setup().population);
    let grows = estate.seat.population + habits.spare_room >= limit && limit < most;
    if grows && estate.can_pay(Kind::House) {
        let home = estate.home();
        if let Some(at) = site(estate, Kind::House, home) {
            found(estate, Kind::House, at, commands);
        }
    }
}

fn build_barracks(estate: &mut Estate<'_>, habits: &Habits, commands: &mut Vec<Command>) {
    let (barracks, ranges) = (estate.count(Kind::Barracks), estate.count(Kind::Range));
    let have = barracks + ranges;
    let kind = if ranges < barracks {
        Kind::Range
    } else {
        Kind::Barracks
    };
    let unfinished = estate
        .buildings
        .iter()
        .any(|b| matches!(b.kind, Kind::Barracks | Kind::Range) && !b.complete);
    let workers_first = 8 + have * 5;
    let rich = estate.gold > 500 && estate.wood > 500;
    let most = habits.barracks + if rich { 2 } else { 0 };
    let ready = have < most && !unfinished && (rich || estate.workers.len() >= workers_first);
    // Enough in hand that the barracks can also train.
    let flush = have == 0 || (estate.gold > 200 && estate.wood > 250);
    if ready && flush && estate.can_pay(kind) {
        let home = estate.home();
        if let Some(at) = site(estate, kind, home) {
            found(estate, kind, at, commands);
        }
    }
}

fn found(estate: &mut Estate<'_>, kind: Kind, at: Tile, commands: &mut Vec<Command>) {
    if let Some(worker) = estate.free_worker(at) {
        estate.pay(kind);
        commands.push(Command::Build {
            units: estate.select([worker]),
            kind,
            at,
        });
    }
}

/// The free place for a building nearest to `near`, with a lane around it and away from mines.
fn site(estate: &Estate<'_>, kind: Kind, near: Tile) -> Option<Tile> {
    let map = estate.world.map();
    let size = kind.stats().size;
    let region = estate.home_region();
    let edge = map.size();
    let from = |at: u16| at.saturating_sub(FAR).max(1);
    let to = |at: u16| (at + FAR).min(edge - size - 1);
    (from(near.y)..to(near.y))
        .flat_map(|y| (from(near.x)..to(near.x)).map(move |x| Tile::new(x, y)))
        .filter(|at| map.has_room(Tile::new(at.x - 1, at.y - 1), size + 2))
        .filter(|at| map.region(*at) == region)
        .filter(|at| {
            let corner = Tile::new(at.x.saturating_sub(2), at.y.saturating_sub(2));
            let near_gold = map
                .footprint(corner, size + 4)
                .any(|tile| map.terrain(tile) == Terrain::Gold);
            !near_gold && !between_hall_and_mine(estate, *at, kind)
        })
        .min_by_key(|at| {
            let half = size / 2;
            let centre = Tile::new(at.x + half, at.y + half).centre();
            (centre.distance_squared(near.centre()), at.y, at.x)
        })
}

/// Whether a building there would stand in the way of the workers at a mine.
fn between_hall_and_mine(estate: &Estate<'_>, at: Tile, kind: Kind) -> bool {
    if kind == Kind::TownHall {
        return false;
    }
    let half = kind.stats().size / 2;
    let centre = Tile::new(at.x + half, at.y + half);
    let Some(mine) = estate.nearest_resource(Resource::Gold, estate.home()) else {
        return false;
    };
    estate.complete(Kind::TownHall).any(|hall| {
        let hall = middle(hall);
        let around = centre.king_steps(hall) + centre.king_steps(mine);
        hall.king_steps(mine) <= 12 && around <= hall.king_steps(mine) + 2
    })
}

fn train_workers(estate: &mut Estate<'_>, habits: &Habits, commands: &mut Vec<Command>) {
    let queued: usize = estate
        .complete(Kind::TownHall)
        .map(|hall| usize::from(hall.queued))
        .sum();
    let missing = habits.workers.saturating_sub(estate.workers.len() + queued);
    let halls: Vec<Id> = estate
        .complete(Kind::TownHall)
        .filter(|hall| hall.queued < 2)
        .map(|hall| hall.id)
        .take(missing)
        .collect();
    for building in halls {
        if !estate.can_pay(Kind::Worker) {
            return;
        }
        estate.pay(Kind::Worker);
        commands.push(Command::Train {
            building,
            kind: Kind::Worker,
        });
    }
}

fn train_soldiers(estate: &mut Estate<'_>, commands: &mut Vec<Command>) {
    let of = |kind| {
        estate
            .soldiers
            .iter()
            .filter(|unit| unit.kind == kind)
            .count()
    };
    let (swords, bows) = (of(Kind::Swordsman), of(Kind::Archer));
    // Three swords for two bows hold the line; what cannot be paid gives way to what can.
    let order = if swords <= bows * 3 / 2 {
        [Kind::Swordsman, Kind::Archer, Kind::Knight]
    } else {
        [Kind::Archer, Kind::Swordsman, Kind::Knight]
    };
    for kind in order {
        let able: Vec<Id> = estate
            .buildings
            .iter()
            .filter(|b| b.complete && b.queued < 2 && b.kind.trains().contains(&kind))
            .map(|b| b.id)
            .collect();
        for building in able {
            if !estate.can_pay(kind) {
                break;
            }
            estate.pay(kind);
            commands.push(Command::Train { building, kind });
        }
    }
}

/// Gathers fresh soldiers before the base, towards the middle of the map.
fn set_rally(estate: &Estate<'_>, commands: &mut Vec<Command>) {
    let Some(barracks) = estate
        .complete(Kind::Barracks)
        .chain(estate.complete(Kind::Range))
        .find(|barracks| barracks.rally == barracks.tile)
    else {
        return;
    };
    let home = estate.home();
    let map = estate.world.map();
    let heart = map.size() / 2;
    let lean = |from: u16, to: u16| {
        let shift = from.abs_diff(to).min(7);
        if to > from {
            from + shift
        } else {
            from - shift
        }
    };
    let point = Tile::new(lean(home.x, heart), lean(home.y, heart));
    let region = estate.home_region();
    if let Some(to) = map.nearest_in_region(point, region) {
        commands.push(Command::Rally {
            building: barracks.id,
            to,
        });
    }
}

/// How far from its centre a household builds.
const FAR: u16 = 18;
