//! Buildings that shoot: by themselves, or for the archers inside.

use super::{
    Effect, Id, Kind, World,
    combat::{Target, distance_to_square, launch},
    garrison,
    tables::RULES,
};
use sim::Num;

/// Lets every building shoot that has a ready weapon and an enemy in reach.
pub(super) fn shoot(w: &mut World, effects: &mut Vec<Effect>) {
    for row in 0..w.buildings.len() {
        let armed = w.buildings.kind[row].stats().damage > 0;
        if !armed || w.buildings.hp[row] == 0 || !w.buildings.is_complete(row) {
            continue;
        }
        w.buildings.cooldown[row] = w.buildings.cooldown[row].saturating_sub(1);
        // A building that sees no enemy looks again a little later; ids spread the looks over the ticks.
        let looks = w
            .tick
            .wrapping_add(w.buildings.id[row])
            .is_multiple_of(RULES.tower_look_ticks);
        if w.buildings.cooldown[row] == 0
            && looks
            && let arrows @ 1.. = arrows(w, row)
            && let Some(target) = nearest_enemy(w, row)
        {
            w.buildings.cooldown[row] = w.able_building(row).cooldown;
            let (at, to) = (Id(w.units.id[target]), w.units.at(target));
            for _ in 0..arrows {
                launch(w, Target::Building(row), at, to, effects);
            }
        }
    }
}

/// Its own arrows, and one of every archer inside.
fn arrows(w: &World, row: usize) -> usize {
    let archers = garrison::inside(w, row)
        .into_iter()
        .filter(|guest| w.units.kind[*guest] == Kind::Archer);
    usize::from(w.buildings.kind[row].stats().arrows) + archers.count()
}

/// The row of the enemy's unit in reach that is nearest; soldiers before others.
fn nearest_enemy(w: &World, row: usize) -> Option<usize> {
    let stats = w.able_building(row);
    let tile = w.map.tile_of(w.buildings.tile[row]);
    let seat = w.buildings.seat[row];
    let reach = stats.range + Num::from_num(stats.size);
    w.crowd
        .near(w.building_centre(row), reach)
        .filter(|unit| w.units.seat[*unit] != seat && w.units.is_on_map(*unit))
        .filter(|unit| w.sees_target(usize::from(seat), Target::Unit(*unit)))
        .map(|unit| {
            let gap = distance_to_square(w.units.at(unit), tile, stats.size);
            (!w.units.kind[unit].is_soldier(), gap, unit)
        })
        .filter(|(_, gap, _)| *gap <= stats.range)
        .min()
        .map(|(_, _, unit)| unit)
}
