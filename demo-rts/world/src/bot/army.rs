//! Soldiers wait at home until there are enough, then set out together. They return when home is attacked or
//! the fight is lost.

use super::{
    Habits,
    estate::{Estate, middle, strength},
    scout,
};
use crate::world::{BuildingView, Command, Kind, Order, Tile, UnitView};

/// Sends enough nearby soldiers against enemies that come near the household.
pub(super) fn defend(estate: &mut Estate<'_>, habits: &Habits, commands: &mut Vec<Command>) {
    let threat = estate
        .enemy_units
        .iter()
        .filter_map(|enemy| {
            let nearest = from_home(estate, enemy.tile)?;
            (nearest <= ALARM).then_some((nearest, enemy.id, enemy.tile))
        })
        .min();
    let Some((_, _, at)) = threat else {
        return;
    };
    let raiders: Vec<UnitView> = within(&estate.enemy_units, at, ALARM);
    if let [only] = raiders.as_slice()
        && !only.kind.is_soldier()
    {
        // A lone worker on the lookout is not worth a march.
        return;
    }
    let against = strength(&raiders);
    let mut able: Vec<UnitView> = estate
        .soldiers
        .iter()
        .filter(|unit| unit.target.is_none() && estate.is_free(unit))
        .filter(|unit| unit.order == Order::Idle || unit.goal.king_steps(at) > ALARM)
        .copied()
        .collect();
    able.sort_by_key(|unit| (unit.tile.king_steps(at), unit.id));
    let fighting = within(&estate.soldiers, at, ALARM);
    let mut called = strength(fighting.iter().filter(|unit| unit.target.is_some()));
    let mut defenders: Vec<UnitView> = Vec::new();
    for unit in able {
        // Soldiers in the field come back only if those at home do not suffice.
        let far = unit.tile.king_steps(at) > CALL;
        if called >= against * 3 || far && called * 4 >= against * 5 {
            break;
        }
        called += strength([&unit]);
        defenders.push(unit);
    }
    // Too few soldiers would fall one by one, so they wait at home for more.
    let enough = called * 10 >= against * habits.stand;
    if enough && !defenders.is_empty() {
        let units = estate.select(&defenders);
        commands.push(Command::AttackMove { units, to: at });
        return;
    }
    if !enough && habits.flees {
        flee(estate, &raiders, commands);
    }
    // Without soldiers the workers defend themselves against a few.
    if estate.soldiers.is_empty() && raiders.len() <= 3 {
        let mut workers: Vec<UnitView> = within(&estate.workers, at, 8);
        workers.retain(|unit| unit.order != Order::AttackMove && estate.is_free(unit));
        workers.truncate(raiders.len() * 4);
        if !workers.is_empty() {
            let units = estate.select(&workers);
            commands.push(Command::AttackMove { units, to: at });
        }
    }
}

/// Takes the workers away from places where soldiers are about to kill them.
fn flee(estate: &mut Estate<'_>, raiders: &[UnitView], commands: &mut Vec<Command>) {
    let danger = |tile: Tile, reach: u16| {
        raiders
            .iter()
            .any(|raider| raider.kind.is_soldier() && raider.tile.king_steps(tile) <= reach)
    };
    let workers: Vec<UnitView> = estate
        .free_workers()
        .filter(|worker| !matches!(worker.order, Order::Move | Order::Enter | Order::Inside))
        .filter(|worker| danger(worker.tile, 6))
        .copied()
        .collect();
    let Some(first) = workers.first() else {
        return;
    };
    let room = |b: &BuildingView| b.kind.stats().shelters.saturating_sub(u16::from(b.inside));
    let shelter = estate
        .buildings
        .iter()
        .filter(|b| b.complete && room(b) > 0 && middle(b).king_steps(first.tile) <= ALARM)
        .min_by_key(|b| (middle(b).king_steps(first.tile), b.id))
        .map(|b| (b.id, usize::from(room(b))));
    if let Some((building, room)) = shelter {
        let units = estate.select(workers.iter().take(room));
        commands.push(Command::Garrison { units, building });
        return;
    }
    let refuge = estate
        .buildings
        .iter()
        .filter(|b| b.complete && !danger(middle(b), ALARM))
        .min_by_key(|b| {
            (
                b.kind != Kind::TownHall,
                middle(b).king_steps(first.tile),
                b.id,
            )
        })
        .map(middle);
    if let Some(to) = refuge {
        let units = estate.select(&workers);
        commands.push(Command::Move { units, to });
    }
}

/// Lets hidden workers out once no enemy is near any more.
pub(super) fn come_out(estate: &mut Estate<'_>, commands: &mut Vec<Command>) {
    let safe = |b: &BuildingView| {
        let near =
            |unit: &UnitView| unit.kind.is_soldier() && unit.tile.king_steps(middle(b)) <= ALARM;
        !estate.enemy_units.iter().any(near)
    };
    let full = estate.buildings.iter().find(|b| b.inside > 0 && safe(b));
    if let Some(building) = full.map(|b| b.id) {
        commands.push(Command::Leave { building });
    }
}

/// Lets archers that stand together shoot at one enemy: the one in reach that falls first.
pub(super) fn focus(estate: &mut Estate<'_>, habits: &Habits, commands: &mut Vec<Command>) {
    let mut shooting: Vec<UnitView> = estate
        .soldiers
        .iter()
        .filter(|unit| unit.kind.stats().arrow_speed > 0 && unit.target.is_some())
        .filter(|unit| estate.is_free(unit))
        .copied()
        .collect();
    for _ in 0..habits.bands {
        let Some(first) = shooting.first().copied() else {
            return;
        };
        let band = within(&shooting, first.tile, 3);
        shooting.retain(|unit| unit.tile.king_steps(first.tile) > 3);
        let victim = estate
            .enemy_units
            .iter()
            .filter(|enemy| enemy.tile.king_steps(first.tile) <= 5)
            .min_by_key(|enemy| (!enemy.kind.is_soldier(), enemy.hit_points, enemy.id))
            .map(|enemy| enemy.id);
        let Some(target) = victim else {
            continue;
        };
        let others = band.iter().filter(|unit| unit.target != Some(target));
        let others: Vec<UnitView> = others.copied().collect();
        if !others.is_empty() && band.len() > 1 {
            let units = estate.select(&others);
            commands.push(Command::Attack { units, target });
        }
    }
}

/// Calls back soldiers that fight far from home against too many.
pub(super) fn retreat(estate: &mut Estate<'_>, habits: &Habits, commands: &mut Vec<Command>) {
    let front = estate
        .soldiers
        .iter()
        .filter(|unit| unit.target.is_some() && estate.is_free(unit))
        .find(|unit| from_home(estate, unit.tile).is_some_and(|far| far > ALARM + 6))
        .map(|unit| unit.tile);
    let (Some(front), true) = (front, habits.retreat > 0) else {
        return;
    };
    let band: Vec<UnitView> = within(&estate.soldiers, front, CLASH);
    let against = strength(&soldiers(&estate.enemy_units, front)) + towers(estate, front);
    if strength(&band) * 10 >= against * habits.retreat {
        return;
    }
    let to = estate.home();
    let units = estate.select(&band);
    commands.push(Command::Move { units, to });
}

/// Sends a wave when it is strong enough, and soldiers in the field to their next target.
pub(super) fn attack(estate: &mut Estate<'_>, habits: &Habits, commands: &mut Vec<Command>) {
    let idle: Vec<UnitView> = estate
        .soldiers
        .iter()
        .filter(|unit| unit.order == Order::Idle && unit.target.is_none())
        .filter(|unit| estate.is_free(unit))
        .copied()
        .collect();
    let at_home = |unit: &UnitView| from_home(estate, unit.tile).is_some_and(|far| far <= CALL / 2);
    let (waiting, out): (Vec<UnitView>, Vec<UnitView>) =
        idle.iter().partition(|unit| at_home(unit));
    if let Some(first) = out.first() {
        let band = within(&out, first.tile, CLASH);
        let few =
            habits.retreat > 0 && band.len() * 3 < habits.wave && !estate.buildings.is_empty();
        let home = estate.home();
        let to = next_target(estate, first.tile);
        let units = estate.select(&band);
        if few && !cannot_grow(estate) {
            commands.push(Command::Move { units, to: home });
        } else {
            commands.push(Command::AttackMove { units, to });
        }
    }
    let Some(first) = waiting.first() else {
        return;
    };
    let to = next_target(estate, first.tile);
    let marching = estate
        .soldiers
        .iter()
        .filter(|unit| unit.order == Order::AttackMove && unit.goal.king_steps(to) <= CALL)
        .count();
    // A wave may be smaller while another one is on its way.
    let wave = if marching >= habits.wave {
        habits.wave / 2
    } else {
        habits.wave
    };
    let ready = waiting.len() >= wave && is_stronger(estate, habits, &waiting, to);
    if ready || waiting.len() >= 3 * habits.wave || cannot_grow(estate) {
        let units = estate.select(&waiting);
        commands.push(Command::AttackMove { units, to });
    }
}

/// Whether a wave suffices against the known defenders of a place.
fn is_stronger(estate: &Estate<'_>, habits: &Habits, wave: &[UnitView], to: Tile) -> bool {
    let against = strength(&soldiers(&estate.enemy_units, to)) + towers(estate, to);
    strength(wave) * 10 >= against * habits.odds
}

/// Whether waiting makes the army no larger: no room, or nothing to train with.
fn cannot_grow(estate: &Estate<'_>) -> bool {
    let full = estate.seat.population + 3 >= u32::from(estate.seen.setup().population);
    let able = estate.buildings.iter().any(|b| {
        let trains = |kind: &&Kind| kind.is_soldier() && estate.can_have(**kind);
        b.complete && b.kind.trains().iter().find(trains).is_some()
    });
    let earns = estate
        .workers
        .iter()
        .any(|worker| worker.order != Order::Idle);
    full || !(able || earns)
}

/// The known enemy building nearest to `from`; else an enemy in sight; else where enemies may hide.
fn next_target(estate: &Estate<'_>, from: Tile) -> Tile {
    let building = estate
        .enemy_buildings
        .iter()
        .map(|b| {
            let at = middle(b);
            (b.kind == Kind::Wall, at.king_steps(from), b.id, at)
        })
        .min()
        .map(|(_, _, _, at)| at);
    let unit = estate
        .enemy_units
        .iter()
        .map(|unit| (unit.tile.king_steps(from), unit.id, unit.tile))
        .min()
        .map(|(_, _, at)| at);
    building
        .or(unit)
        .unwrap_or_else(|| scout::goal(estate, from))
}

/// Steps to the nearest own building, if there is any.
fn from_home(estate: &Estate<'_>, tile: Tile) -> Option<u16> {
    let steps = estate
        .buildings
        .iter()
        .map(|own| middle(own).king_steps(tile));
    steps.min()
}

fn within(units: &[UnitView], at: Tile, reach: u16) -> Vec<UnitView> {
    let near = units
        .iter()
        .filter(|unit| unit.tile.king_steps(at) <= reach);
    near.copied().collect()
}

fn soldiers(units: &[UnitView], at: Tile) -> Vec<UnitView> {
    let mut near = within(units, at, CLASH);
    near.retain(|unit| unit.kind.is_soldier());
    near
}

/// What the known towers around a place are worth.
fn towers(estate: &Estate<'_>, at: Tile) -> u32 {
    let shoots = |b: &&BuildingView| {
        b.complete && b.kind.stats().damage > 0 && middle(b).king_steps(at) <= CLASH
    };
    let price = |b: &BuildingView| b.kind.stats().gold + b.kind.stats().wood;
    estate
        .enemy_buildings
        .iter()
        .filter(shoots)
        .map(price)
        .sum()
}

/// Tiles from a building within which an enemy is a threat.
const ALARM: u16 = 11;
/// Tiles from the threat within which soldiers are called first.
const CALL: u16 = 26;
/// Tiles around a place that take part in one fight.
const CLASH: u16 = 10;
