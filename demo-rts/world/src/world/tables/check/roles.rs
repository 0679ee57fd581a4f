//! Demands of the world on single kinds: whatever the table says, the world takes a worker for a worker and a
//! farm for a farm.

use super::{Fault, Kind, Stats, Wrong, require};

/// Whether a kind can do its own work in the world, and no other kind's.
pub(super) fn check_role(kind: Kind, line: &Stats) -> Result<(), Wrong> {
    require_size(kind, line)?;
    match kind {
        // The first worker could never be paid for by what it brings home.
        Kind::Worker => return require(line.gather_ticks > 0, "gather_ticks", Fault::Zero),
        Kind::House => require(line.houses > 0, "houses", Fault::Zero)?,
        _ => {}
    }
    require(line.gather_ticks == 0, "gather_ticks", Fault::Needless)?;
    if matches!(kind, Kind::House | Kind::Tower | Kind::Farm | Kind::Wall) {
        require(line.trains.is_empty(), "trains", Fault::Needless)?;
    }
    // Workers sent to a farm work there, so no unit would ever go inside.
    if kind == Kind::Farm {
        require(line.shelters == 0, "shelters", Fault::Needless)?;
    }
    Ok(())
}

/// Units stay units, and buildings buildings.
fn require_size(kind: Kind, line: &Stats) -> Result<(), Wrong> {
    let is_unit = matches!(
        kind,
        Kind::Worker | Kind::Swordsman | Kind::Archer | Kind::Knight | Kind::Catapult
    );
    let fault = if is_unit {
        Fault::NotAUnit
    } else {
        Fault::NotABuilding
    };
    require(is_unit == (line.size == 0), "size", fault)
}
