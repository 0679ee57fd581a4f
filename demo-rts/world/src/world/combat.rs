//! Enemies, reach, blows and arrows.

use super::{
    Effect, Id, World, columns::columns, damage, garrison, map::Map, siege, tables::RULES,
    tile::Tile, units::Order,
};
use sim::{Num, Vec2};

columns! {
    /// Arrows in flight, in the order in which they were shot.
    Projectiles of Projectile {
        x: Num,
        y: Num,
        /// Where the target was last seen.
        to_x: Num,
        to_y: Num,
        target: u32,
        /// Id of the shooter.
        by: u32,
        /// The shooter's kind.
        kind: super::Kind,
        /// The shooter's row in the seats' table.
        seat: u8,
    }
}

impl Projectiles {
    pub fn len(&self) -> usize {
        self.x.len()
    }

    pub fn at(&self, row: usize) -> Vec2 {
        Vec2::new(self.x[row], self.y[row])
    }

    /// Where its target was last seen.
    pub fn to(&self, row: usize) -> Vec2 {
        Vec2::new(self.to_x[row], self.to_y[row])
    }
}

/// What an id names right now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A row of the units.
    Unit(usize),
    /// A row of the buildings.
    Building(usize),
}

/// Damage on its way. All blows of a tick fall together, so that no seat strikes first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blow {
    pub target: Id,
    pub damage: u16,
    pub by: Id,
    pub seat: u8,
}

impl World {
    /// The living unit or building of this id. A unit inside a building is no target.
    pub(super) fn target(&self, id: Id) -> Option<Target> {
        let unit = self.units.row(id);
        let unit = unit.filter(|row| !self.units.is_inside(*row));
        let unit = unit.map(Target::Unit);
        unit.or_else(|| self.buildings.row(id).map(Target::Building))
    }

    /// The owner's row in the seats' table.
    pub(super) fn owner(&self, target: Target) -> u8 {
        match target {
            Target::Unit(row) => self.units.seat[row],
            Target::Building(row) => self.buildings.seat[row],
        }
    }

    pub(super) fn id_of(&self, target: Target) -> Id {
        Id(match target {
            Target::Unit(row) => self.units.id[row],
            Target::Building(row) => self.buildings.id[row],
        })
    }

    pub(super) fn target_at(&self, target: Target) -> Vec2 {
        match target {
            Target::Unit(row) => self.units.at(row),
            Target::Building(row) => self.building_centre(row),
        }
    }

    /// The tile to go to in order to reach the target.
    pub(super) fn target_tile(&self, target: Target) -> u32 {
        match target {
            Target::Unit(row) => self.map.index(self.units.tile(row)),
            Target::Building(row) => self.buildings.tile[row],
        }
    }

    /// Room between a unit's edge and the target's. Negative when they overlap.
    pub(super) fn gap(&self, row: usize, target: Target) -> Num {
        let own = self.units.stats(row).radius;
        match target {
            Target::Unit(other) => {
                let apart = self.units.at(row).distance(self.units.at(other));
                apart - own - self.units.stats(other).radius
            }
            Target::Building(other) => {
                let tile = self.map.tile_of(self.buildings.tile[other]);
                let size = self.buildings.kind[other].stats().size;
                distance_to_square(self.units.at(row), tile, size) - own
            }
        }
    }

    /// Whether a unit's weapon reaches the target.
    #[inline]
    pub(super) fn is_in_reach(&self, row: usize, target: Target) -> bool {
        let stats = self.able(row);
        match target {
            Target::Unit(other) => {
                let reach = stats.range + stats.radius + self.units.stats(other).radius;
                self.units.at(row).within(self.units.at(other), reach)
            }
            Target::Building(_) => self.gap(row, target) <= stats.range,
        }
    }
}

/// From a point to the nearest edge of a square of tiles; 0 inside.
pub(super) fn distance_to_square(from: Vec2, tile: Tile, size: u16) -> Num {
    from.distance(tile.nearest_of_square(size, from))
}

/// Strikes a target in reach, if the weapon is ready.
pub(super) fn strike(
    w: &mut World,
    row: usize,
    target: Target,
    blows: &mut Vec<Blow>,
    effects: &mut Vec<Effect>,
) {
    if w.units.cooldown[row] > 0 {
        return;
    }
    let stats = w.units.stats(row);
    w.units.cooldown[row] = stats.cooldown;
    let by = Id(w.units.id[row]);
    let seat = w.units.seat[row];
    let id = w.id_of(target);
    if stats.arrow_speed == 0 {
        let damage = damage::draw(w, w.units.kind[row], seat, target);
        blows.push(Blow {
            target: id,
            damage,
            by,
            seat,
        });
        return;
    }
    let to = w.target_at(target);
    // A stone is thrown at a place and follows no target.
    let after = if stats.splash > 0 { Id::NONE } else { id };
    launch(w, Target::Unit(row), after, to, effects);
}

/// Shoots an arrow or a stone at a place. It follows `at`, unless `at` is [`Id::NONE`].
pub(super) fn launch(w: &mut World, by: Target, at: Id, to: Vec2, effects: &mut Vec<Effect>) {
    let from = w.target_at(by);
    let kind = match by {
        Target::Unit(row) => w.units.kind[row],
        Target::Building(row) => w.buildings.kind[row],
    };
    let id = w.id_of(by);
    w.projectiles.push(Projectile {
        x: from.x,
        y: from.y,
        to_x: to.x,
        to_y: to.y,
        target: at.0,
        by: id.0,
        kind,
        seat: w.owner(by),
    });
    effects.push(Effect::Launched {
        from: id,
        target: at,
    });
}

/// Moves arrows towards their targets. An arrow falls where its target died.
pub(super) fn fly(w: &mut World, blows: &mut Vec<Blow>) {
    let mut gone = vec![false; w.projectiles.len()];
    for (row, gone) in gone.iter_mut().enumerate() {
        let id = Id(w.projectiles.target[row]);
        let target = w.target(id);
        if let Some(target) = target {
            let to = w.target_at(target);
            w.projectiles.to_x[row] = to.x;
            w.projectiles.to_y[row] = to.y;
        }
        let arrows = &mut w.projectiles;
        let (to, stats) = (arrows.to(row), arrows.kind[row].stats());
        let at = arrows.at(row).move_towards(to, stats.arrow_speed);
        (arrows.x[row], arrows.y[row]) = (at.x, at.y);
        if at == to {
            *gone = true;
            if stats.splash > 0 {
                siege::burst(w, row, blows);
            } else if let Some(target) = target {
                let (kind, seat) = (w.projectiles.kind[row], w.projectiles.seat[row]);
                let damage = damage::draw(w, kind, seat, target);
                let arrows = &w.projectiles;
                blows.push(Blow {
                    target: id,
                    damage,
                    by: Id(arrows.by[row]),
                    seat: arrows.seat[row],
                });
            }
        }
    }
    if gone.contains(&true) {
        w.projectiles.remove(&gone);
    }
}

/// Lets all blows fall.
pub(super) fn fall(w: &mut World, blows: &[Blow], effects: &mut Vec<Effect>) {
    for blow in blows {
        let Some(target) = w.target(blow.target) else {
            continue;
        };
        let hp = match target {
            Target::Unit(row) => &mut w.units.hp[row],
            Target::Building(row) => &mut w.buildings.hp[row],
        };
        *hp = hp.saturating_sub(blow.damage);
        let dead = *hp == 0;
        effects.push(Effect::Hit {
            target: blow.target,
            at: w.target_at(target),
            damage: blow.damage,
        });
        if dead {
            if let Target::Unit(row) = target {
                die(w, row, effects);
            }
            // A stone that kills a friend adds nothing to the count.
            if w.owner(target) != blow.seat {
                let killed = &mut w.seats.killed[usize::from(blow.seat)];
                *killed = killed.saturating_add(1);
            }
        } else if let Target::Unit(row) = target {
            answer(w, row, blow.by);
        }
    }
}

/// An idle soldier turns against an attacker that its seat sees.
fn answer(w: &mut World, row: usize, by: Id) {
    let calm = w.units.order[row] == Order::Idle && w.units.target[row] == 0;
    let seat = usize::from(w.units.seat[row]);
    let seen = w.target(by).is_some_and(|by| w.sees_target(seat, by));
    if calm && w.units.kind[row].is_soldier() && seen {
        w.units.target[row] = by.0;
    }
}

/// Ends a unit's life. Its row goes at the next burial.
pub(super) fn die(w: &mut World, row: usize, effects: &mut Vec<Effect>) {
    w.units.hp[row] = 0;
    let seat = w.units.seat[row];
    let number = w.units.number[row];
    w.roll.bury(seat, number, w.tick);
    w.recents[usize::from(seat)].forget(number);
    let lost = &mut w.seats.lost[usize::from(seat)];
    *lost = lost.saturating_add(1);
    effects.push(Effect::Died {
        id: Id(w.units.id[row]),
        kind: w.units.kind[row],
        seat: w.seats.seat(seat),
        at: w.units.at(row),
    });
}

/// Takes fallen buildings off the map, and now and then the rows of dead units.
pub(super) fn bury(w: &mut World, effects: &mut Vec<Effect>) {
    w.roll.rise(w.tick);
    if w.tick.is_multiple_of(BURIAL_TICKS) {
        let ids = w.units.id.iter().zip(&w.units.hp);
        let dead: Vec<u32> = ids.filter(|(_, hp)| **hp == 0).map(|(id, _)| *id).collect();
        w.waypoints.forget(&dead);
        w.units.bury();
    }
    if w.buildings.hp.contains(&0) {
        for row in 0..w.buildings.len() {
            if w.buildings.hp[row] == 0 {
                effects.push(Effect::Died {
                    id: Id(w.buildings.id[row]),
                    kind: w.buildings.kind[row],
                    seat: w.seats.seat(w.buildings.seat[row]),
                    at: w.building_centre(row),
                });
                clear_ground(
                    &mut w.map,
                    w.buildings.tile[row],
                    w.buildings.kind[row].stats().size,
                );
                garrison::fall(w, row);
            }
        }
        let gone: Vec<bool> = w.buildings.hp.iter().map(|hp| *hp == 0).collect();
        w.buildings.remove(&gone);
    }
}

fn clear_ground(map: &mut Map, tile: u32, size: u16) {
    let tile = map.tile_of(tile);
    map.occupy(tile, size, Id::NONE);
    map.set_solid(tile, size, false);
}

/// How far from its post an idle soldier pursues.
pub(super) const LEASH: Num = Num::const_from_int(RULES.leash_tiles as i32);
/// Ticks between two burials of units.
pub(super) const BURIAL_TICKS: u32 = 16;
