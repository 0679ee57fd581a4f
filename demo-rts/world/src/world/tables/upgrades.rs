//! What can be researched, and what it changes.

use super::{KINDS, Kind, Stats, TABLES, Tables};
use crate::world::columns::byte_cell;
use sim::Num;

/// Something that a seat can learn, in levels. Numbers are never reused: new ones are appended.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[repr(u8)]
pub enum Upgrade {
    /// Swordsmen and knights hit harder.
    Blades = 0,
    /// Soldiers lose less by every hit.
    Armour = 1,
    /// Archers and towers shoot farther and harder.
    Fletching = 2,
    /// Workers cut, dig and farm faster.
    Tools = 3,
    /// Buildings bear more.
    Masonry = 4,
}

/// How many upgrades there are.
pub(in crate::world) const UPGRADES: usize = 5;

impl Upgrade {
    /// Every upgrade, in the order of its number.
    pub const ALL: [Upgrade; UPGRADES] = [
        Upgrade::Blades,
        Upgrade::Armour,
        Upgrade::Fletching,
        Upgrade::Tools,
        Upgrade::Masonry,
    ];

    /// The upgrade with this number.
    pub fn from_number(number: u8) -> Option<Upgrade> {
        Upgrade::ALL.get(usize::from(number)).copied()
    }

    /// Its line of the table.
    pub fn stats(self) -> &'static UpgradeStats {
        &TABLES.upgrades[self as usize]
    }
}

byte_cell!(Upgrade, Upgrade::from_number);

/// A line of the upgrades' table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpgradeStats {
    /// Its name, in lower case.
    pub name: &'static str,
    /// Price of the first level in gold. Every further level costs as much more.
    pub gold: u32,
    /// Price of the first level in wood.
    pub wood: u32,
    /// Ticks that a building researches one level.
    pub ticks: u16,
    /// Levels there are.
    pub levels: u8,
    /// Where it is researched.
    pub at: Kind,
    /// Finished buildings that its owner must have, one of each kind.
    pub needs: &'static [Kind],
    /// What every level changes.
    pub changes: &'static [Change],
}

impl UpgradeStats {
    /// Price in gold and wood of a level, the first being 1.
    pub fn price(&self, level: u8) -> (u32, u32) {
        let times = u32::from(level);
        (
            self.gold.saturating_mul(times),
            self.wood.saturating_mul(times),
        )
    }
}

/// One number that an upgrade changes, for some kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The kinds that it changes.
    pub of: &'static [Kind],
    /// The column that it changes.
    pub what: Ability,
    /// By how much with every level, in the unit of the column; of hit points, in hundredths; of the range, in the last
    /// bits of its number.
    pub by: i32,
}

/// A column that upgrades may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ability {
    /// `Stats::damage`.
    Damage = 0,
    /// `Stats::siege`.
    Siege = 1,
    /// `Stats::armour`.
    Armour = 2,
    /// `Stats::range`, and `Stats::alert` with it.
    Range = 3,
    /// `Stats::gather_ticks`.
    GatherTicks = 4,
    /// `Stats::farm_ticks`.
    FarmTicks = 5,
    /// `Stats::hit_points`.
    HitPoints = 6,
}

impl Change {
    /// Changes a line as so many levels do.
    pub(in crate::world) fn apply(&self, line: &mut Stats, levels: u8) {
        let by = self.by.saturating_mul(i32::from(levels));
        let grown = |number: u16| (i32::from(number).saturating_add(by)).clamp(0, 30_000) as u16;
        match self.what {
            Ability::Damage => line.damage = grown(line.damage),
            Ability::Siege => line.siege = grown(line.siege),
            Ability::Armour => line.armour = grown(line.armour),
            Ability::Range => {
                let by = Num::from_bits(by);
                line.range = line.range.saturating_add(by).max(Num::ZERO);
                line.alert = line.alert.saturating_add(by).max(Num::ZERO);
            }
            Ability::GatherTicks => line.gather_ticks = grown(line.gather_ticks).max(1),
            Ability::FarmTicks => line.farm_ticks = grown(line.farm_ticks).max(1),
            Ability::HitPoints => {
                let share = i64::from(line.hit_points) * i64::from(by.max(-99) + 100) / 100;
                line.hit_points = share.clamp(1, 60_000) as u16;
            }
        }
    }
}

impl Tables {
    /// The lines of all kinds, as these levels change them.
    pub(in crate::world) fn with_levels(&self, levels: &[u8; UPGRADES]) -> [Stats; KINDS] {
        let mut lines = self.kinds;
        for (upgrade, level) in self.upgrades.iter().zip(levels) {
            for change in upgrade.changes {
                for kind in change.of {
                    change.apply(&mut lines[*kind as usize], *level);
                }
            }
        }
        lines
    }
}

const RIDERS_AND_SWORDS: &[Kind] = &[Kind::Swordsman, Kind::Knight];
const SOLDIERS: &[Kind] = &[Kind::Swordsman, Kind::Knight, Kind::Archer];
const SHOOTERS: &[Kind] = &[Kind::Archer, Kind::Tower];
const BUILDINGS: &[Kind] = &[
    Kind::TownHall,
    Kind::House,
    Kind::Barracks,
    Kind::Range,
    Kind::Stable,
    Kind::Tower,
    Kind::Farm,
    Kind::Wall,
    Kind::Workshop,
];

pub(super) const UPGRADE_LINES: [UpgradeStats; UPGRADES] = [
    UpgradeStats {
        name: "blades",
        gold: 90,
        wood: 60,
        ticks: 900,
        levels: 2,
        at: Kind::Barracks,
        needs: &[],
        changes: &[
            Change {
                of: RIDERS_AND_SWORDS,
                what: Ability::Damage,
                by: 2,
            },
            Change {
                of: RIDERS_AND_SWORDS,
                what: Ability::Siege,
                by: 2,
            },
        ],
    },
    UpgradeStats {
        name: "armour",
        gold: 100,
        wood: 40,
        ticks: 900,
        levels: 2,
        at: Kind::Barracks,
        needs: &[],
        changes: &[Change {
            of: SOLDIERS,
            what: Ability::Armour,
            by: 1,
        }],
    },
    UpgradeStats {
        name: "fletching",
        gold: 70,
        wood: 90,
        ticks: 900,
        levels: 2,
        at: Kind::Range,
        needs: &[],
        changes: &[
            Change {
                of: SHOOTERS,
                what: Ability::Damage,
                by: 1,
            },
            Change {
                of: SHOOTERS,
                what: Ability::Range,
                by: Num::lit("0.5").to_bits(),
            },
        ],
    },
    UpgradeStats {
        name: "tools",
        gold: 60,
        wood: 80,
        ticks: 800,
        levels: 2,
        at: Kind::TownHall,
        needs: &[],
        changes: &[
            Change {
                of: &[Kind::Worker],
                what: Ability::GatherTicks,
                by: -2,
            },
            Change {
                of: &[Kind::Worker],
                what: Ability::FarmTicks,
                by: -24,
            },
        ],
    },
    UpgradeStats {
        name: "masonry",
        gold: 60,
        wood: 150,
        ticks: 1_000,
        levels: 2,
        at: Kind::TownHall,
        needs: &[Kind::Barracks],
        changes: &[
            Change {
                of: BUILDINGS,
                what: Ability::HitPoints,
                by: 20,
            },
            Change {
                of: BUILDINGS,
                what: Ability::Armour,
                by: 1,
            },
        ],
    },
];
