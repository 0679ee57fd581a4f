//! What makes the levels differ: pace, household, composition and care. No level sees more than another.

use super::Level;
use crate::world::Upgrade;

pub(super) struct Habits {
    /// Ticks between two thoughts.
    pub period: u32,
    /// Commands of one thought.
    pub commands: usize,
    /// Workers it wants in the end.
    pub workers: usize,
    /// Workers it wants before each further building that trains.
    pub workers_each: usize,
    /// Buildings that train soldiers.
    pub trainers: usize,
    /// Places of a queue that it fills.
    pub queue: u8,
    /// How much more of one resource than of the other it bears to have in store.
    pub slack: u32,
    /// Town halls that it wants while there are mines.
    pub halls: usize,
    /// Gold near its halls below which it looks for another mine.
    pub reserve: u32,
    /// Farms it may own.
    pub farms: usize,
    /// Towers it may own.
    pub towers: usize,
    /// Soldiers that set out together.
    pub wave: usize,
    /// Tenths of the enemy's strength that a wave must have.
    pub odds: u32,
    /// Tenths of the enemy's strength below which it gives up a fight. 0: never.
    pub retreat: u32,
    /// Tenths of the raiders' strength that it takes to meet them.
    pub stand: u32,
    /// Whether its workers run from raiders that no soldier meets.
    pub flees: bool,
    /// Bands that shoot at one target each, in one thought.
    pub bands: usize,
    /// Free room below which it builds a house.
    pub spare_room: u32,
    /// Tick from which it scouts.
    pub scout_from: u32,
    /// Ticks from one scout to the next.
    pub scout_every: u32,
    /// Whether it trains soldiers that beat the known enemies.
    pub counters: bool,
    /// Upgrades that it researches, the first one first.
    pub upgrades: &'static [Upgrade],
    /// Whether it mends damaged buildings.
    pub mends: bool,
}

impl Level {
    pub(super) fn habits(self) -> Habits {
        match self {
            Level::Easy => Habits {
                period: 80,
                commands: 2,
                workers: 16,
                workers_each: 6,
                trainers: 2,
                queue: 1,
                slack: 400,
                halls: 1,
                reserve: 300,
                farms: 4,
                towers: 2,
                wave: 16,
                odds: 8,
                retreat: 0,
                stand: 0,
                flees: false,
                bands: 0,
                spare_room: 2,
                scout_from: 4_800,
                scout_every: 6_000,
                counters: false,
                upgrades: &[],
                mends: false,
            },
            Level::Normal => Habits {
                period: 56,
                commands: 3,
                workers: 20,
                workers_each: 5,
                trainers: 3,
                queue: 1,
                slack: 250,
                halls: 1,
                reserve: 1_200,
                farms: 8,
                towers: 1,
                wave: 18,
                odds: 10,
                retreat: 4,
                stand: 4,
                flees: false,
                bands: 1,
                spare_room: 4,
                scout_from: 1_800,
                scout_every: 4_800,
                counters: false,
                upgrades: &[Upgrade::Blades, Upgrade::Armour],
                mends: true,
            },
            Level::Hard => Habits {
                period: 16,
                commands: 6,
                workers: 36,
                workers_each: 4,
                trainers: 7,
                queue: 2,
                slack: 90,
                halls: 3,
                reserve: 3_000,
                farms: 14,
                towers: 2,
                wave: 26,
                odds: 12,
                retreat: 6,
                stand: 8,
                flees: true,
                bands: 2,
                spare_room: 7,
                scout_from: 900,
                scout_every: 3_600,
                counters: true,
                upgrades: &[
                    Upgrade::Tools,
                    Upgrade::Fletching,
                    Upgrade::Blades,
                    Upgrade::Armour,
                    Upgrade::Masonry,
                ],
                mends: true,
            },
        }
    }
}
