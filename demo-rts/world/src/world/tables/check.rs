//! Whether a table contradicts itself.

mod roles;

use super::{Ability, KINDS, Kind, Stats, Tables, Upgrade, UpgradeStats};
use crate::world::{
    fog,
    setup::{MOST_SEATS, USUAL_POPULATION},
};
use roles::check_role;
use sim::Num;

/// The first contradiction found in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}: {field} {fault}")]
pub struct TableError {
    /// The line's name, or its number where it has none.
    pub line: Line,
    /// The column.
    pub field: &'static str,
    /// What is wrong there.
    pub fault: Fault,
}

/// Names a line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// What a kind costs and can do.
    Kind(Kind),
    /// What a kind can do for a seat that knows every level of every upgrade.
    Learnt(Kind),
    /// What an upgrade costs and changes.
    Upgrade(Upgrade),
    /// What holds for all kinds alike.
    Common,
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Line::Kind(kind) => write!(f, "{kind:?}"),
            Line::Learnt(kind) => write!(f, "{kind:?} with all upgrades"),
            Line::Upgrade(upgrade) => write!(f, "{upgrade:?}"),
            Line::Common => f.write_str("all kinds"),
        }
    }
}

/// What can be wrong with a place of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It must be something.
    #[error("is zero or empty")]
    Zero,
    /// It is below zero.
    #[error("is negative")]
    Negative,
    /// Something else in the table needs it to be more.
    #[error("is too small")]
    TooSmall,
    /// It is beyond what the rest of the world can bear.
    #[error("is too large")]
    TooLarge,
    /// It is set where nothing can come of it.
    #[error("means nothing here")]
    Needless,
    /// A building is named, or meant, where only a unit can be.
    #[error("names something that is not a unit")]
    NotAUnit,
    /// A unit is named where only a building can be.
    #[error("names something that is not a building")]
    NotABuilding,
    /// The same is said twice.
    #[error("is there twice")]
    Twice,
    /// What it needs needs it in turn.
    #[error("leads back to itself")]
    Cycle,
    /// No building trains this unit.
    #[error("is in no building's line")]
    Nowhere,
}

impl Tables {
    /// Looks for contradictions.
    ///
    /// # Errors
    /// The first line and column that cannot be meant.
    pub fn check(&self) -> Result<(), TableError> {
        for kind in Kind::ALL {
            let line = &self.kinds[kind as usize];
            let wrong = |(field, fault)| TableError {
                line: Line::Kind(kind),
                field,
                fault,
            };
            check_line(line).map_err(wrong)?;
            self.check_names(kind).map_err(wrong)?;
            check_role(kind, line).map_err(wrong)?;
        }
        for upgrade in Upgrade::ALL {
            let wrong = |(field, fault)| TableError {
                line: Line::Upgrade(upgrade),
                field,
                fault,
            };
            self.check_upgrade(&self.upgrades[upgrade as usize])
                .map_err(wrong)?;
        }
        self.check_learnt()?;
        self.check_common().map_err(|(field, fault)| TableError {
            line: Line::Common,
            field,
            fault,
        })?;
        let (kind, field, fault) = match self.first_out_of_reach() {
            None => return Ok(()),
            Some(found) => found,
        };
        Err(TableError {
            line: Line::Kind(kind),
            field,
            fault,
        })
    }

    fn check_upgrade(&self, line: &UpgradeStats) -> Result<(), Wrong> {
        let is_building = |kind: &Kind| self.kinds[*kind as usize].size > 0;
        require(!line.name.is_empty(), "name", Fault::Zero)?;
        let same_name = |other: &&UpgradeStats| other.name == line.name;
        let names = self.upgrades.iter().filter(same_name).count();
        require(names == 1, "name", Fault::Twice)?;
        require(line.gold | line.wood > 0, "gold", Fault::Zero)?;
        at_most("gold", line.gold, DEAREST)?;
        at_most("wood", line.wood, DEAREST)?;
        require(line.ticks > 0, "ticks", Fault::Zero)?;
        at_most("ticks", line.ticks.into(), LONGEST)?;
        require(line.levels > 0, "levels", Fault::Zero)?;
        at_most("levels", line.levels.into(), LEVELS)?;
        require(is_building(&line.at), "at", Fault::NotABuilding)?;
        // Only buildings that train have a queue for it.
        let queues = !self.kinds[line.at as usize].trains.is_empty();
        require(queues, "at", Fault::Needless)?;
        let buildings = line.needs.iter().all(is_building);
        require(buildings, "needs", Fault::NotABuilding)?;
        require(all_differ(line.needs), "needs", Fault::Twice)?;
        require(!line.changes.is_empty(), "changes", Fault::Zero)?;
        for change in line.changes {
            require(
                change.by != 0 && !change.of.is_empty(),
                "changes",
                Fault::Zero,
            )?;
            require(all_differ(change.of), "changes", Fault::Twice)?;
            for kind in change.of {
                let kind = &self.kinds[*kind as usize];
                let arms = kind.damage > 0;
                let means = match change.what {
                    Ability::Damage | Ability::Siege | Ability::Range => arms,
                    Ability::GatherTicks | Ability::FarmTicks => kind.gather_ticks > 0,
                    Ability::Armour => true,
                    // Learning would have to heal or hurt the units that live.
                    Ability::HitPoints => kind.size > 0,
                };
                require(means, "changes", Fault::Needless)?;
                let mut learnt = *kind;
                change.apply(&mut learnt, line.levels);
                require(learnt != *kind, "changes", Fault::Needless)?;
                check_line(&learnt).map_err(|(_, fault)| ("changes", fault))?;
            }
        }
        Ok(())
    }

    /// Each upgrade may be good by itself, and all of them together too much.
    fn check_learnt(&self) -> Result<(), TableError> {
        for (kind, line) in Kind::ALL.into_iter().zip(&self.learnt()) {
            check_line(line).map_err(|(field, fault)| TableError {
                line: Line::Learnt(kind),
                field,
                fault,
            })?;
        }
        Ok(())
    }

    /// The lines of a seat that knows everything.
    fn learnt(&self) -> [Stats; KINDS] {
        self.with_levels(&self.upgrades.map(|upgrade| upgrade.levels))
    }

    fn check_common(&self) -> Result<(), Wrong> {
        let common = &self.common;
        for (field, number) in [
            ("carry", common.carry.into()),
            ("farm_gold", common.farm_gold.into()),
            ("tree_wood", common.tree_wood.into()),
            ("mine_gold", common.mine_gold.into()),
            ("repair_ticks", common.repair_ticks),
            ("search_tiles", common.search_tiles.into()),
            ("tower_look_ticks", common.tower_look_ticks),
            ("failures", common.failures.into()),
            ("return_ticks", common.return_ticks),
            ("workers", common.workers.into()),
        ] {
            require(number > 0, field, Fault::Zero)?;
        }
        // Founding and giving up, or hurting and mending, would be a trade.
        at_most("refund_percent", common.refund_percent, 100)?;
        at_most("repair_percent", common.repair_percent, 100)?;
        // A hit would heal.
        let spread = common.damage_spread_percent.into();
        at_most("damage_spread_percent", spread, 100)?;
        at_most("repair_ticks", common.repair_ticks, LONGEST)?;
        at_most("tower_look_ticks", common.tower_look_ticks, LONGEST)?;
        at_most("return_ticks", common.return_ticks, HOUR)?;
        at_most("search_tiles", common.search_tiles.into(), SEARCHED)?;
        let sight = fog::MOST_SIGHT.into();
        at_most("lenience_tiles", common.lenience_tiles.into(), sight)?;
        at_most("leash_tiles", common.leash_tiles.into(), 2 * sight)?;
        // Idle soldiers would turn against enemies that they must not pursue.
        let held = |line: &&Stats| line.size > 0 || line.alert <= common.leash_tiles;
        let all_held = self
            .kinds
            .iter()
            .chain(&self.learnt())
            .all(|line| held(&line));
        require(all_held, "leash_tiles", Fault::TooSmall)?;
        let housed = self.kinds[Kind::TownHall as usize].houses;
        let worker = self.kinds[Kind::Worker as usize].population;
        let room = u32::from(common.workers) * u32::from(worker) <= u32::from(housed);
        require(room, "workers", Fault::TooLarge)?;
        // Each seat thinks in a tick of its own.
        let turns = common.ai_period > 3 * MOST_SEATS as u32;
        require(turns, "ai_period", Fault::TooSmall)?;
        at_most("ai_period", common.ai_period, LONGEST)
    }

    /// The kinds that a line names.
    fn check_names(&self, kind: Kind) -> Result<(), Wrong> {
        let line = &self.kinds[kind as usize];
        let is_building = |kind: &Kind| self.kinds[*kind as usize].size > 0;
        let same_name = |other: &&Stats| other.name == line.name;
        require(
            self.kinds.iter().filter(same_name).count() == 1,
            "name",
            Fault::Twice,
        )?;
        require(
            line.needs.iter().all(is_building),
            "needs",
            Fault::NotABuilding,
        )?;
        require(
            !line.trains.iter().any(is_building),
            "trains",
            Fault::NotAUnit,
        )?;
        let bonus: Vec<Kind> = line.bonus.iter().map(|(kind, _)| *kind).collect();
        require(!bonus.iter().any(is_building), "bonus", Fault::NotAUnit)?;
        for (field, kinds) in [
            ("needs", line.needs),
            ("trains", line.trains),
            ("bonus", &bonus),
        ] {
            require(all_differ(kinds), field, Fault::Twice)?;
        }
        require(!line.needs.contains(&kind), "needs", Fault::Cycle)
    }

    /// A kind that stays out of reach of a seat that begins with a town hall and its workers.
    fn first_out_of_reach(&self) -> Option<(Kind, &'static str, Fault)> {
        let mut had = [false; KINDS];
        had[Kind::TownHall as usize] = true;
        had[Kind::Worker as usize] = true;
        let trainers = |kind: Kind| {
            Kind::ALL
                .into_iter()
                .filter(move |by| self.kinds[*by as usize].trains.contains(&kind))
        };
        for _ in 0..KINDS {
            for kind in Kind::ALL {
                let line = &self.kinds[kind as usize];
                let allowed = line.needs.iter().all(|need| had[*need as usize]);
                let made = line.size > 0 || trainers(kind).any(|by| had[by as usize]);
                had[kind as usize] |= allowed && made;
            }
        }
        for kind in Kind::ALL {
            let line = &self.kinds[kind as usize];
            if line.size == 0 && trainers(kind).next().is_none() {
                return Some((kind, "trains", Fault::Nowhere));
            }
            if !had[kind as usize] || !line.needs.iter().all(|need| had[*need as usize]) {
                return Some((kind, "needs", Fault::Cycle));
            }
        }
        None
    }
}

/// What a line says by itself.
fn check_line(line: &Stats) -> Result<(), Wrong> {
    require(!line.name.is_empty(), "name", Fault::Zero)?;
    require(line.gold | line.wood > 0, "gold", Fault::Zero)?;
    at_most("gold", line.gold, DEAREST)?;
    at_most("wood", line.wood, DEAREST)?;
    require(line.hit_points > 0, "hit_points", Fault::Zero)?;
    at_most("hit_points", line.hit_points.into(), STRONGEST)?;
    require(line.build_ticks > 0, "build_ticks", Fault::Zero)?;
    at_most("build_ticks", line.build_ticks.into(), LONGEST)?;
    for (field, length) in [
        ("range", line.range),
        ("alert", line.alert),
        ("arrow_speed", line.arrow_speed),
        ("splash", line.splash),
        ("speed", line.speed),
        ("radius", line.radius),
    ] {
        require(length >= 0, field, Fault::Negative)?;
        require(length <= FARTHEST, field, Fault::TooLarge)?;
    }
    require(line.sight > 0, "sight", Fault::Zero)?;
    at_most("sight", line.sight.into(), fog::MOST_SIGHT.into())?;
    // It would turn against enemies that it cannot see.
    let seen = line.alert < line.sight;
    require(seen, "alert", Fault::TooLarge)?;
    check_weapon(line)?;
    if line.size == 0 {
        check_unit(line)
    } else {
        check_building(line)
    }
}

fn check_weapon(line: &Stats) -> Result<(), Wrong> {
    let bonus = line.bonus.iter().map(|(_, bonus)| u32::from(*bonus)).max();
    let hardest = u32::from(line.damage) + bonus.unwrap_or(0);
    at_most("damage", hardest, HARDEST)?;
    at_most("siege", line.siege.into(), HARDEST)?;
    at_most("armour", line.armour.into(), HARDEST)?;
    at_most("arrows", line.arrows.into(), ARROWS)?;
    let bonuses = line.bonus.iter().all(|(_, bonus)| *bonus > 0);
    require(bonuses, "bonus", Fault::Zero)?;
    if line.damage == 0 {
        require(line.siege == 0, "siege", Fault::Needless)?;
        require(line.bonus.is_empty(), "bonus", Fault::Needless)?;
        require(line.range == 0, "range", Fault::Needless)?;
        require(line.cooldown == 0, "cooldown", Fault::Needless)?;
        require(line.arrow_speed == 0, "arrow_speed", Fault::Needless)?;
        require(line.splash == 0, "splash", Fault::Needless)?;
        // It could not hit the enemies that it notices.
        require(line.alert == 0, "alert", Fault::Needless)?;
        return require(line.arrows == 0, "arrows", Fault::Needless);
    }
    require(line.siege > 0, "siege", Fault::Zero)?;
    require(line.range > 0, "range", Fault::Zero)?;
    require(line.cooldown > 0, "cooldown", Fault::Zero)?;
    at_most("cooldown", line.cooldown.into(), LONGEST)?;
    // A blow by hand has no place to land.
    let thrown = line.splash == 0 || line.arrow_speed > 0;
    require(thrown, "splash", Fault::Needless)?;
    // It would not notice enemies that it can hit.
    require(line.alert >= line.range, "range", Fault::TooLarge)
}

fn check_unit(line: &Stats) -> Result<(), Wrong> {
    require(line.speed > 0, "speed", Fault::Zero)?;
    require(line.speed < FASTEST, "speed", Fault::TooLarge)?;
    require(line.radius > 0, "radius", Fault::Zero)?;
    require(line.radius < WIDEST, "radius", Fault::TooLarge)?;
    require(line.population > 0, "population", Fault::Zero)?;
    // No seat could ever have one in a usual match.
    at_most(
        "population",
        line.population.into(),
        USUAL_POPULATION.into(),
    )?;
    require(line.houses == 0, "houses", Fault::Needless)?;
    require(line.trains.is_empty(), "trains", Fault::Needless)?;
    require(line.arrows == 0, "arrows", Fault::Needless)?;
    require(line.shelters == 0, "shelters", Fault::Needless)?;
    at_most("gather_ticks", line.gather_ticks.into(), LONGEST)?;
    at_most("farm_ticks", line.farm_ticks.into(), LONGEST)?;
    let gathers = line.gather_ticks > 0;
    let field = if gathers {
        "farm_ticks"
    } else {
        "gather_ticks"
    };
    require(gathers == (line.farm_ticks > 0), field, Fault::Zero)
}

fn check_building(line: &Stats) -> Result<(), Wrong> {
    require(line.size <= BROADEST, "size", Fault::TooLarge)?;
    require(line.speed == 0, "speed", Fault::Needless)?;
    require(line.radius == 0, "radius", Fault::Needless)?;
    require(line.population == 0, "population", Fault::Needless)?;
    require(line.gather_ticks == 0, "gather_ticks", Fault::Needless)?;
    require(line.farm_ticks == 0, "farm_ticks", Fault::Needless)?;
    at_most("shelters", line.shelters.into(), CROWD)?;
    require(line.splash == 0, "splash", Fault::Needless)?;
    // Without arrows of its own it shoots for those inside.
    let shoots = line.arrows > 0 || line.shelters > 0;
    require(line.damage == 0 || shoots, "arrows", Fault::Zero)?;
    // Buildings attack by arrows alone.
    let arrows = line.damage == 0 || line.arrow_speed > 0;
    require(arrows, "arrow_speed", Fault::Zero)
}

/// A column, and what is wrong with it.
type Wrong = (&'static str, Fault);

fn require(good: bool, field: &'static str, fault: Fault) -> Result<(), Wrong> {
    if good { Ok(()) } else { Err((field, fault)) }
}

fn at_most(field: &'static str, number: u32, most: u32) -> Result<(), Wrong> {
    require(number <= most, field, Fault::TooLarge)
}

fn all_differ(kinds: &[Kind]) -> bool {
    kinds
        .iter()
        .enumerate()
        .all(|(place, kind)| !kinds[..place].contains(kind))
}

/// The longest footprint's edge that building, leaving and drawing are made for.
const BROADEST: u16 = 4;
/// Beyond it a unit could pass through a wall, or another unit, in one tick.
const FASTEST: Num = Num::lit("0.25");
/// Two wider ones could not pass each other's tiles.
const WIDEST: Num = Num::lit("0.5");
/// Distances of the weapons' kernels fit 32 bits up to here.
const FARTHEST: Num = Num::lit("20");
/// No seat could ever pay more: a start gives at most this much.
const DEAREST: u32 = 100_000;
/// Shares of hit points are computed in 32 bits.
const STRONGEST: u32 = 30_000;
const HARDEST: u32 = 10_000;
const LONGEST: u32 = 30_000;
const HOUR: u32 = 3_600 * super::TICKS_PER_SECOND;
/// A worker looks over a square of twice as many tiles along its edge.
const SEARCHED: u32 = 32;
const ARROWS: u32 = 8;
const LEVELS: u32 = 8;
/// Guests are counted in a byte.
const CROWD: u32 = 50;

#[cfg(test)]
mod tests;
