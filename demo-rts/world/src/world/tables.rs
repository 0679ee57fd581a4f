//! The one table of what everything costs, can do and can bear.

mod bytes;
mod check;
mod common;
mod lines;
mod upgrades;

pub(super) use bytes::table_bytes;
pub use check::{Fault, Line, TableError};
pub use common::Common;
pub(super) use upgrades::UPGRADES;
pub use upgrades::{Ability, Change, Upgrade, UpgradeStats};

use sim::Num;

/// A kind of unit or building. Numbers are never reused: new kinds are appended.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[repr(u8)]
pub enum Kind {
    /// Gathers and builds.
    Worker = 0,
    /// Fights hand to hand.
    Swordsman = 1,
    /// Fights from afar.
    Archer = 2,
    /// Trains workers, takes what they carry, houses ten, shelters.
    TownHall = 3,
    /// Houses eight.
    House = 4,
    /// Trains swordsmen.
    Barracks = 5,
    /// Rides fast and fights hand to hand.
    Knight = 6,
    /// Trains archers.
    Range = 7,
    /// Trains knights.
    Stable = 8,
    /// Shoots at enemies that come near; shelters.
    Tower = 9,
    /// Yields a little gold for ever to one worker.
    Farm = 10,
    /// Stands in the way.
    Wall = 11,
    /// Throws stones from very far, at walls and crowds, friends or not.
    Catapult = 12,
    /// Makes catapults.
    Workshop = 13,
}

/// How many kinds there are.
pub(super) const KINDS: usize = 14;

impl Kind {
    /// Every kind, in the order of its number.
    pub const ALL: [Kind; KINDS] = [
        Kind::Worker,
        Kind::Swordsman,
        Kind::Archer,
        Kind::TownHall,
        Kind::House,
        Kind::Barracks,
        Kind::Knight,
        Kind::Range,
        Kind::Stable,
        Kind::Tower,
        Kind::Farm,
        Kind::Wall,
        Kind::Catapult,
        Kind::Workshop,
    ];

    /// The kind with this number.
    pub fn from_number(number: u8) -> Option<Kind> {
        Kind::ALL.get(usize::from(number)).copied()
    }

    /// Its line of the table, before any upgrade.
    pub fn stats(self) -> &'static Stats {
        &TABLES.kinds[self as usize]
    }

    /// Whether it stands on the ground and never moves.
    pub fn is_building(self) -> bool {
        self.stats().size > 0
    }

    /// Whether it is a soldier: a unit for fighting.
    pub fn is_soldier(self) -> bool {
        let stats = self.stats();
        stats.size == 0 && stats.gather_ticks == 0
    }

    /// What it can train.
    pub fn trains(self) -> &'static [Kind] {
        self.stats().trains
    }
}

/// A line of the table. Distances in tiles, times in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Its name, in lower case.
    pub name: &'static str,
    /// Price in gold.
    pub gold: u32,
    /// Price in wood.
    pub wood: u32,
    /// Finished buildings that its owner must have, one of each kind.
    pub needs: &'static [Kind],
    /// Damage it can take.
    pub hit_points: u16,
    /// What every hit on it loses; a hit always does 1.
    pub armour: u16,
    /// Damage of one hit on a unit. 0: cannot attack.
    pub damage: u16,
    /// Damage that a hit on such a unit does beyond `damage`.
    pub bonus: &'static [(Kind, u16)],
    /// Damage of one hit on a building.
    pub siege: u16,
    /// How far it reaches, from edge to edge.
    pub range: Num,
    /// From one hit to the next.
    pub cooldown: u16,
    /// Way of one arrow in a tick. 0: hits at once.
    pub arrow_speed: Num,
    /// Radius in which a hit on a place hits all units and buildings. 0: only the target.
    pub splash: Num,
    /// Arrows that a building shoots at a time by itself.
    pub arrows: u16,
    /// How far it looks for enemies of its own accord.
    pub alert: Num,
    /// How far its seat sees from it, in whole tiles.
    pub sight: u16,
    /// Way of one tick.
    pub speed: Num,
    /// Half its width. A building's is given by `size`.
    pub radius: Num,
    /// Work to train or build it: ticks of one worker, or of the building that trains.
    pub build_ticks: u16,
    /// Ticks to cut or dig one of something. 0: is no worker.
    pub gather_ticks: u16,
    /// Ticks at a farm for one yield.
    pub farm_ticks: u16,
    /// Room it takes.
    pub population: u16,
    /// Room it gives.
    pub houses: u16,
    /// Edge of a building in tiles. 0: a unit.
    pub size: u16,
    /// Units that find room inside.
    pub shelters: u16,
    /// What it trains.
    pub trains: &'static [Kind],
}

impl Stats {
    /// Damage of one hit on a unit of this kind, armour apart.
    pub fn damage_against(&self, other: Kind) -> u16 {
        let bonus = self.bonus.iter().find(|(kind, _)| *kind == other);
        self.damage
            .saturating_add(bonus.map_or(0, |(_, bonus)| *bonus))
    }
}

/// Everything that costs, hurts, lasts or reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    /// A line for each kind, in the order of their numbers.
    pub kinds: [Stats; KINDS],
    /// A line for each upgrade, in the order of their numbers.
    pub upgrades: [UpgradeStats; UPGRADES],
    /// What holds for all kinds alike.
    pub common: Common,
}

/// The table that is played by.
pub static TABLES: Tables = Tables {
    kinds: lines::KIND_LINES,
    upgrades: upgrades::UPGRADE_LINES,
    common: RULES,
};

/// The numbers of the table that belong to no line of it.
pub(super) const RULES: Common = common::COMMON;

/// Ticks in a second at normal speed.
pub const TICKS_PER_SECOND: u32 = 20;
/// What a worker carries at most.
pub const CARRY: u16 = RULES.carry;
/// Places in a training queue.
pub const QUEUE_LENGTH: usize = 5;
/// Units that one command may name.
pub const SELECTION: usize = 250;
/// Selections of each seat that the world remembers.
pub const SELECTIONS_KEPT: usize = 16;
/// Of these, new commands may refer to so many of the newest; the rest are for commands on their way.
pub const SELECTIONS_NAMED: usize = 9;
/// Fewer units are spelled out faster than remembered.
pub const SELECTION_WORTH_KEEPING: usize = 3;
/// Ticks after a death before another unit may have the number.
pub const NUMBER_REST: u32 = 256;
/// Errands that may wait for a unit.
pub const WAYPOINTS: usize = 8;
/// Buildings that a seat may own, foundations and walls included.
pub const BUILDINGS_PER_SEAT: usize = 160;

#[cfg(test)]
mod tests;
