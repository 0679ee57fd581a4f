//! How hard a hit is.

use super::{Kind, World, combat::Target};

/// Damage of one hit by a `kind` of `seat` on `target`: the table's, give or take a quarter, less the
/// target's armour, and never nothing.
pub(super) fn draw(w: &mut World, kind: Kind, target: Target) -> u16 {
    let (usual, armour) = match target {
        Target::Unit(row) => {
            let other = w.units.kind[row];
            (kind.stats().damage_against(other), other.stats().armour)
        }
        Target::Building(row) => {
            let other = w.buildings.kind[row];
            (kind.stats().siege, other.stats().armour)
        }
    };
    let spread = usual / 4;
    let drawn = w.random.below(u32::from(spread) * 2 + 1) as u16;
    (usual - spread + drawn).saturating_sub(armour).max(1)
}
