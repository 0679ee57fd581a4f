//! Weapons that hit a place and everything on it, friends as well.

use super::{
    Effect, Id, World,
    combat::{Blow, Target, distance_to_square, launch},
    damage,
    economy::become_idle,
    tables::RULES,
    units::Way,
};
use sim::Num;

/// A tick of a unit that attacks a place.
pub(super) fn attack_ground(w: &mut World, row: usize, effects: &mut Vec<Effect>) {
    let to = w.map.tile_of(w.units.goal[row]).centre();
    let gap = w.units.at(row).distance(to) - w.units.stats(row).radius;
    if gap > w.able(row).range {
        if w.units.way[row] != Way::None {
            return;
        }
        if w.units.failures[row] >= RULES.failures {
            become_idle(w, row);
            return;
        }
        w.units.failures[row] = w.units.failures[row].saturating_add(1);
        w.units.ask(row, w.units.goal[row]);
        return;
    }
    w.units.failures[row] = 0;
    if w.units.way[row] != Way::None {
        w.units.halt(row);
    }
    if w.units.cooldown[row] == 0 {
        w.units.cooldown[row] = w.able(row).cooldown;
        launch(w, Target::Unit(row), Id::NONE, to, effects);
    }
}

/// A throw lands: hits all units and buildings within its splash.
pub(super) fn burst(w: &mut World, projectile: usize, blows: &mut Vec<Blow>) {
    let arrows = &w.projectiles;
    let at = arrows.to(projectile);
    let (kind, seat, by) = (
        arrows.kind[projectile],
        arrows.seat[projectile],
        Id(arrows.by[projectile]),
    );
    let splash = kind.stats().splash;
    // Two tiles more: for the widest unit, and for this tick's moves.
    let mut rows: Vec<usize> = w
        .crowd
        .near(at, splash + Num::from_num(2))
        .filter(|row| w.units.is_on_map(*row))
        .filter(|row| {
            let reach = splash + w.units.stats(*row).radius;
            w.units.at(*row).distance(at) <= reach
        })
        .collect();
    rows.sort_unstable();
    let units = rows.into_iter().map(Target::Unit);
    let buildings = (0..w.buildings.len())
        .filter(|row| w.buildings.hp[*row] > 0)
        .filter(|row| {
            let tile = w.map.tile_of(w.buildings.tile[*row]);
            let size = w.buildings.kind[*row].stats().size;
            distance_to_square(at, tile, size) <= splash
        })
        .map(Target::Building);
    let hit: Vec<Target> = units.chain(buildings).collect();
    for target in hit {
        let id = match target {
            Target::Unit(row) => w.units.id[row],
            Target::Building(row) => w.buildings.id[row],
        };
        let damage = damage::draw(w, kind, seat, target);
        blows.push(Blow {
            target: Id(id),
            damage,
            by,
            seat,
        });
    }
}
