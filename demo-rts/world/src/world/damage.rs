//! How hard a hit is.

use super::{Kind, World, combat::Target, tables::RULES};

/// Damage of one hit on `target` by a `kind` of the seat in row `by`. The table's damage with the seat's
/// upgrades varies by a share, less the target's armour, and is never 0.
pub(super) fn draw(w: &mut World, kind: Kind, by: u8, target: Target) -> u16 {
    let stats = w.abilities.of(by, kind);
    let (usual, armour) = match target {
        Target::Unit(row) => (stats.damage_against(w.units.kind[row]), w.able(row).armour),
        Target::Building(row) => (stats.siege, w.able_building(row).armour),
    };
    let spread = (u32::from(usual) * u32::from(RULES.damage_spread_percent) / 100) as u16;
    let drawn = w.random.below(u32::from(spread) * 2 + 1) as u16;
    (usual - spread + drawn).saturating_sub(armour).max(1)
}
