//! How hard a hit is.

use super::{Kind, World, combat::Target};

/// Damage of one hit on `target` by a `kind` of the seat in `by`: the table's with the seat's upgrades,
/// give or take a quarter, less the target's armour, and never nothing.
pub(super) fn draw(w: &mut World, kind: Kind, by: u8, target: Target) -> u16 {
    let stats = w.abilities.of(by, kind);
    let (usual, armour) = match target {
        Target::Unit(row) => (stats.damage_against(w.units.kind[row]), w.able(row).armour),
        Target::Building(row) => (stats.siege, w.able_building(row).armour),
    };
    let spread = usual / 4;
    let drawn = w.random.below(u32::from(spread) * 2 + 1) as u16;
    (usual - spread + drawn).saturating_sub(armour).max(1)
}
