//! Workers: gathering, building and mending; halls, farms and houses.

use super::{
    Habits,
    estate::{Estate, Mine, NEAR, middle, nearest},
    places,
};
use crate::world::{Command, Id, Kind, Order, Resource, Tile, UnitView};

/// Keeps the household growing, most urgent first. Returns whether it saves up for a hall.
pub(super) fn run(estate: &mut Estate<'_>, habits: &Habits, commands: &mut Vec<Command>) -> bool {
    employ_idle(estate, commands);
    finish_foundations(estate, commands);
    let saves = settle(estate, habits, commands);
    build_house(estate, habits, commands);
    train_workers(estate, habits, commands);
    plant(estate, habits, commands);
    if habits.mends {
        mend(estate, commands);
    }
    rebalance(estate, habits, commands);
    send_workers_to_the_mine(estate, commands);
    saves
}

fn employ_idle(estate: &mut Estate<'_>, commands: &mut Vec<Command>) {
    let idle: Vec<UnitView> = estate
        .free_workers()
        .filter(|worker| worker.order == Order::Idle)
        .copied()
        .collect();
    // The start moves on, so that two workers without a way do not keep the rest waiting.
    let Some(turn) = (estate.seen.tick() as usize / 8).checked_rem(idle.len()) else {
        return;
    };
    let some = if estate.seen.tick() < 40 { 3 } else { 2 };
    let chosen: Vec<UnitView> = idle
        .iter()
        .cycle()
        .skip(turn)
        .take(some.min(idle.len()))
        .copied()
        .collect();
    let farm = empty_farms(estate).next();
    let wanted = scarcer(estate);
    if let (Some(building), Resource::Gold) = (farm, wanted) {
        let units = estate.select(chosen.iter().take(1));
        commands.push(Command::Assist { units, building });
        return;
    }
    let near = chosen.first().map_or(estate.home(), |worker| worker.tile);
    let other = match wanted {
        Resource::Gold => Resource::Wood,
        Resource::Wood => Resource::Gold,
    };
    let from = place_for(estate, wanted, near).or_else(|| place_for(estate, other, near));
    if let Some(from) = from {
        let units = estate.select(&chosen);
        commands.push(Command::Gather { units, from });
    }
}

/// Where a worker that stands `near` should fetch this.
fn place_for(estate: &Estate<'_>, resource: Resource, near: Tile) -> Option<Tile> {
    match resource {
        Resource::Gold => estate
            .mines
            .iter()
            .filter(|mine| mine.miners < mine.room)
            .min_by_key(|mine| (mine.hall.king_steps(near), mine.tile))
            .map(|mine| mine.tile),
        Resource::Wood => {
            let hall = estate
                .complete(Kind::TownHall)
                .map(middle)
                .min_by_key(|hall| hall.king_steps(near));
            nearest(hall.unwrap_or(near), WOODS, estate.seen.size(), |tile| {
                let found = estate.seen.resource(tile);
                found.is_some_and(|(found, _)| found == Resource::Wood) && estate.is_reachable(tile)
            })
        }
    }
}

fn empty_farms(estate: &Estate<'_>) -> impl Iterator<Item = Id> {
    estate
        .complete(Kind::Farm)
        .map(|farm| farm.id)
        .filter(|farm| {
            let works =
                |worker: &UnitView| worker.order == Order::Farm && worker.target == Some(*farm);
            !estate.workers.iter().any(works)
        })
}

/// The resource that too few workers are after: about two in three should be after gold.
fn scarcer(estate: &Estate<'_>) -> Resource {
    let (gold, wood) = gatherers(estate);
    let rich = |have: u32, other: u32| have > other.saturating_mul(2).saturating_add(300);
    if rich(estate.gold, estate.wood) {
        Resource::Wood
    } else if rich(estate.wood, estate.gold) || gold * 4 <= wood * 7 {
        Resource::Gold
    } else {
        Resource::Wood
    }
}

fn gatherers(estate: &Estate<'_>) -> (usize, usize) {
    let after = |resource| {
        let after = |worker: &&UnitView| estate.gathers(worker) == Some(resource);
        estate.workers.iter().filter(after).count()
    };
    (after(Resource::Gold), after(Resource::Wood))
}

/// Moves workers over when one store overflows and the other is empty, or a mine is crowded.
fn rebalance(estate: &mut Estate<'_>, habits: &Habits, commands: &mut Vec<Command>) {
    // Workers that switch more often spend the match walking.
    if !(estate.seen.tick() / 16).is_multiple_of(5) {
        return;
    }
    let (gold, wood) = gatherers(estate);
    let crowd = estate.mines.iter().find(|mine| mine.miners > mine.room + 1);
    let home = estate.home();
    let (from, to, near) = match crowd {
        Some(mine) => {
            let room = |mine: &Mine| mine.miners < mine.room;
            let to = if estate.mines.iter().any(room) {
                Resource::Gold
            } else {
                Resource::Wood
            };
            (Resource::Gold, to, mine.tile)
        }
        None if estate.gold > estate.wood + habits.slack && gold > 3 => {
            (Resource::Gold, Resource::Wood, home)
        }
        None if estate.wood > estate.gold + habits.slack && wood > 3 => {
            (Resource::Wood, Resource::Gold, home)
        }
        None => return,
    };
    let mut movers: Vec<UnitView> = estate
        .free_workers()
        .filter(|worker| worker.carries.is_none() && worker.order == Order::Gather)
        .filter(|worker| estate.gathers(worker) == Some(from))
        .copied()
        .collect();
    movers.sort_by_key(|worker| (worker.tile.king_steps(near), worker.id));
    let farm = empty_farms(estate).next();
    if let (Some(building), Resource::Gold) = (farm, to) {
        movers.truncate(1);
        if !movers.is_empty() {
            let units = estate.select(&movers);
            commands.push(Command::Assist { units, building });
        }
        return;
    }
    movers.truncate(2);
    if let (Some(from), false) = (place_for(estate, to, near), movers.is_empty()) {
        let units = estate.select(&movers);
        commands.push(Command::Gather { units, from });
    }
}

/// Sends a worker to a foundation without a builder.
fn finish_foundations(estate: &mut Estate<'_>, commands: &mut Vec<Command>) {
    let unmanned = estate
        .buildings
        .iter()
        .filter(|b| !b.complete)
        .find(|site| {
            let builds = |worker: &UnitView| {
                worker.order == Order::Construct && worker.target == Some(site.id)
            };
            !estate.workers.iter().any(builds)
        });
    let Some(site) = unmanned.copied() else {
        return;
    };
    if let Some(worker) = estate.builder(site.tile) {
        let units = estate.select([&worker]);
        commands.push(Command::Assist {
            units,
            building: site.id,
        });
    }
}

/// Founds a hall where there is gold, when there is none or its mines run out. Returns whether the
/// household should save up for it.
fn settle(estate: &mut Estate<'_>, habits: &Habits, commands: &mut Vec<Command>) -> bool {
    let halls = estate.count(Kind::TownHall);
    let gold: u32 = estate.mines.iter().map(|mine: &Mine| mine.gold).sum();
    let crowded = estate.mines.iter().all(|mine| mine.miners >= mine.room);
    let grown = estate.workers.len() * 2 > habits.workers;
    let wanted = halls == 0 || gold < habits.reserve || halls < habits.halls && crowded && grown;
    let most = if gold < 300 { 6 } else { habits.halls.max(1) };
    if !wanted || halls >= most || estate.is_being_built(Kind::TownHall) {
        return false;
    }
    let Some(gold) = places::free_mine(estate) else {
        return false;
    };
    let Some(at) = places::site(estate, Kind::TownHall, gold) else {
        return false;
    };
    if !estate.can_have(Kind::TownHall) {
        return !estate.workers.is_empty();
    }
    places::found(estate, Kind::TownHall, at, commands);
    false
}

fn build_house(estate: &mut Estate<'_>, habits: &Habits, commands: &mut Vec<Command>) {
    let coming: u32 = estate
        .buildings
        .iter()
        .filter(|b| !b.complete)
        .map(|b| u32::from(b.kind.stats().houses))
        .sum();
    let limit = estate.seat.population_limit + coming;
    let most = u32::from(estate.seen.setup().population);
    let grows = estate.seat.population + habits.spare_room >= limit && limit < most;
    if grows && estate.can_have(Kind::House) {
        let home = estate.home();
        places::found_near(estate, Kind::House, home, commands);
    }
}

fn train_workers(estate: &mut Estate<'_>, habits: &Habits, commands: &mut Vec<Command>) {
    let queued: usize = estate
        .complete(Kind::TownHall)
        .map(|hall| usize::from(hall.queued))
        .sum();
    let missing = habits.workers.saturating_sub(estate.workers.len() + queued);
    let halls: Vec<Id> = estate
        .complete(Kind::TownHall)
        .filter(|hall| hall.queued < habits.queue)
        .map(|hall| hall.id)
        .take(missing)
        .collect();
    for building in halls {
        if !estate.can_have(Kind::Worker) {
            return;
        }
        estate.pay(Kind::Worker);
        commands.push(Command::Train {
            building,
            kind: Kind::Worker,
        });
    }
}

/// Founds farms when the mines have no room for more workers.
fn plant(estate: &mut Estate<'_>, habits: &Habits, commands: &mut Vec<Command>) {
    let full = estate.mines.iter().all(|mine| mine.miners >= mine.room);
    // Wood without another use is well spent on gold for ever.
    let most = if estate.wood > estate.gold + 800 {
        2 * habits.farms
    } else {
        habits.farms
    };
    let ready = full
        && estate.count(Kind::Farm) < most
        && empty_farms(estate).next().is_none()
        && !estate.is_being_built(Kind::Farm)
        && estate.wood > estate.gold / 2 + 60;
    if ready && estate.can_have(Kind::Farm) {
        let home = estate.home();
        places::found_near(estate, Kind::Farm, home, commands);
    }
}

/// Mends damaged buildings that are not under attack, as far as there is wood to spare.
fn mend(estate: &mut Estate<'_>, commands: &mut Vec<Command>) {
    if estate.gold < 100 || estate.wood < 100 {
        return;
    }
    let damaged = estate.buildings.iter().find(|b| {
        let whole = u32::from(b.kind.stats().hit_points);
        let hurt = b.complete && u32::from(b.hit_points) * 10 < whole * 8;
        let mended = estate
            .workers
            .iter()
            .any(|w| w.order == Order::Repair && w.target == Some(b.id));
        let near = |enemy: &UnitView| enemy.tile.king_steps(b.tile) <= NEAR;
        hurt && !mended && !estate.enemy_units.iter().any(near)
    });
    let Some(damaged) = damaged.copied() else {
        return;
    };
    if let Some(worker) = estate.builder(damaged.tile) {
        let units = estate.select([&worker]);
        commands.push(Command::Assist {
            units,
            building: damaged.id,
        });
    }
}

/// Lets new workers begin at the mine by themselves.
fn send_workers_to_the_mine(estate: &Estate<'_>, commands: &mut Vec<Command>) {
    for mine in &estate.mines {
        let hall = estate
            .complete(Kind::TownHall)
            .find(|hall| middle(hall) == mine.hall);
        if let Some(hall) = hall.filter(|hall| estate.seen.resource(hall.rally).is_none()) {
            commands.push(Command::Rally {
                building: hall.id,
                to: mine.tile,
            });
        }
    }
}

/// How far from a hall it looks for wood.
const WOODS: u16 = 30;
