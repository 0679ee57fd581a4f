//! Soldiers: at home until there are enough, then out; back when home is attacked.

use super::{
    Habits,
    estate::{Estate, middle},
};
use crate::world::{Command, Kind, Order, Tile, UnitView};

/// Sends everybody near against whoever comes near the household.
pub(super) fn defend(estate: &Estate<'_>, commands: &mut Vec<Command>) {
    let threat = estate
        .enemy_units
        .iter()
        .filter_map(|enemy| {
            let nearest = estate
                .buildings
                .iter()
                .map(|own| middle(own).king_steps(enemy.tile))
                .min()?;
            (nearest <= ALARM).then_some((nearest, enemy.id, enemy.tile))
        })
        .min();
    let Some((_, _, at)) = threat else {
        return;
    };
    let defenders = estate
        .soldiers
        .iter()
        .filter(|unit| unit.target.is_none() && unit.tile.king_steps(at) <= CALL)
        .filter(|unit| unit.order == Order::Idle || unit.goal.king_steps(at) > ALARM)
        .map(|unit| unit.id);
    let defenders = estate.select(defenders);
    if !defenders.is_empty() {
        commands.push(Command::AttackMove {
            units: defenders,
            to: at,
        });
        return;
    }
    // Without soldiers the workers defend themselves against a few.
    let raiders = estate
        .enemy_units
        .iter()
        .filter(|enemy| enemy.tile.king_steps(at) <= 6)
        .count();
    if estate.soldiers.is_empty() && raiders <= 3 {
        let workers = estate
            .workers
            .iter()
            .filter(|unit| unit.tile.king_steps(at) <= 8 && unit.order != Order::AttackMove)
            .map(|unit| unit.id)
            .take(raiders * 4);
        let workers = estate.select(workers);
        if !workers.is_empty() {
            commands.push(Command::AttackMove {
                units: workers,
                to: at,
            });
        }
    }
}

/// Lets archers that stand together shoot at one enemy: the one in reach that falls first.
pub(super) fn focus(estate: &Estate<'_>, habits: &Habits, commands: &mut Vec<Command>) {
    let mut shooting: Vec<&UnitView> = estate
        .soldiers
        .iter()
        .filter(|unit| unit.kind == Kind::Archer && unit.target.is_some())
        .collect();
    for _ in 0..habits.bands {
        let Some(first) = shooting.first().copied() else {
            return;
        };
        let band: Vec<&UnitView> = shooting
            .iter()
            .filter(|unit| unit.tile.king_steps(first.tile) <= 3)
            .copied()
            .collect();
        shooting.retain(|unit| unit.tile.king_steps(first.tile) > 3);
        let victim = estate
            .enemy_units
            .iter()
            .filter(|enemy| enemy.tile.king_steps(first.tile) <= 5)
            .min_by_key(|enemy| (!enemy.kind.is_soldier(), enemy.hit_points, enemy.id));
        let Some(victim) = victim else {
            continue;
        };
        let units = band
            .iter()
            .filter(|unit| unit.target != Some(victim.id))
            .map(|unit| unit.id);
        let units = estate.select(units);
        if !units.is_empty() && band.len() > 1 {
            commands.push(Command::Attack {
                units,
                target: victim.id,
            });
        }
    }
}

/// Sends a wave when it is large enough, and those who are out already to their next target.
pub(super) fn attack(estate: &Estate<'_>, habits: &Habits, commands: &mut Vec<Command>) {
    let home = estate.home();
    let idle = || {
        estate
            .soldiers
            .iter()
            .filter(|unit| unit.order == Order::Idle)
    };
    let out: Vec<&UnitView> = idle()
        .filter(|unit| unit.tile.king_steps(home) > CALL)
        .collect();
    if let Some(first) = out.first()
        && let Some(to) = next_target(estate, first.tile)
    {
        let band = out
            .iter()
            .filter(|unit| unit.tile.king_steps(first.tile) <= CALL)
            .map(|unit| unit.id);
        commands.push(Command::AttackMove {
            units: estate.select(band),
            to,
        });
    }
    let waiting: Vec<&UnitView> = idle()
        .filter(|unit| unit.tile.king_steps(home) <= CALL)
        .collect();
    let ready = waiting.len() >= habits.wave && outnumbers(estate, habits, waiting.len());
    let enough = ready || waiting.len() >= 2 * habits.wave || cannot_grow(estate);
    if enough && let Some(to) = next_target(estate, home) {
        let wave = estate.select(waiting.iter().map(|unit| unit.id));
        if !wave.is_empty() {
            commands.push(Command::AttackMove { units: wave, to });
        }
    }
}

/// Whether so many soldiers are enough against those of the nearest enemy.
fn outnumbers(estate: &Estate<'_>, habits: &Habits, soldiers: usize) -> bool {
    let home = estate.home();
    let nearest = estate
        .enemy_buildings
        .iter()
        .map(|building| (middle(building).king_steps(home), building.seat))
        .min();
    let Some((_, seat)) = nearest else {
        return true;
    };
    let defenders = estate
        .enemy_units
        .iter()
        .filter(|unit| unit.seat == seat && unit.kind.is_soldier())
        .count();
    soldiers * 5 >= defenders * habits.odds
}

/// Whether waiting makes the army no larger: no room, or nothing to train with.
fn cannot_grow(estate: &Estate<'_>) -> bool {
    let full = estate.seat.population + 2 >= u32::from(estate.world.setup().population);
    let trains = estate.complete(Kind::Barracks).next().is_some();
    let pays = estate.can_pay(Kind::Swordsman) || estate.can_pay(Kind::Archer);
    let earns = estate
        .workers
        .iter()
        .any(|worker| worker.order != Order::Idle);
    full || !(trains && pays || earns)
}

/// The enemy's building nearest to `from`; of one without buildings, its nearest unit.
fn next_target(estate: &Estate<'_>, from: Tile) -> Option<Tile> {
    let building = estate
        .enemy_buildings
        .iter()
        .map(|building| {
            (
                middle(building).king_steps(from),
                building.id,
                middle(building),
            )
        })
        .min();
    let unit = estate
        .enemy_units
        .iter()
        .map(|unit| (unit.tile.king_steps(from), unit.id, unit.tile))
        .min();
    building.or(unit).map(|(_, _, tile)| tile)
}

/// Tiles from a building within which an enemy is a threat.
const ALARM: u16 = 11;
/// Tiles from the threat within which soldiers are called.
const CALL: u16 = 26;
