//! What holds for all kinds alike.

use super::TICKS_PER_SECOND;

/// Numbers of the rules that belong to no kind and no upgrade. Times in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Common {
    /// What a worker carries at most.
    pub carry: u16,
    /// Gold of one yield of a farm.
    pub farm_gold: u16,
    /// Wood in a forest tile.
    pub tree_wood: u16,
    /// Gold in a tile of a mine; a mine has four.
    pub mine_gold: u16,
    /// The percentage of its price that giving up a foundation pays back.
    pub refund_percent: u32,
    /// The percentage of its price that mending a building from nothing to whole costs.
    pub repair_percent: u32,
    /// From one stroke of a mending worker to the next.
    pub repair_ticks: u32,
    /// How far a hit's damage lies from the table's at most, either way.
    pub damage_spread_percent: u16,
    /// From its post, how far an idle soldier pursues.
    pub leash_tiles: u16,
    /// A soldier this much farther away is still dealt with before others, if the nearest is beside.
    pub lenience_tiles: u16,
    /// How far a worker looks for the next place to gather or build.
    pub search_tiles: u16,
    /// Ticks between two looks of a shooting building that sees no enemy.
    pub tower_look_ticks: u32,
    /// Ways that may fail before a unit gives up.
    pub failures: u8,
    /// How long the seat of a peer that left is kept for it.
    pub return_ticks: u32,
    /// Workers that a seat begins a standard match with.
    pub workers: u16,
    /// From one thought for an absent player to the next; more than three times the seats.
    pub ai_period: u32,
}

pub(super) const COMMON: Common = Common {
    carry: 10,
    farm_gold: 5,
    tree_wood: 90,
    mine_gold: 1_500,
    refund_percent: 75,
    repair_percent: 50,
    repair_ticks: 4,
    damage_spread_percent: 25,
    leash_tiles: 12,
    lenience_tiles: 5,
    search_tiles: 14,
    tower_look_ticks: 4,
    failures: 6,
    return_ticks: 30 * TICKS_PER_SECOND,
    workers: 5,
    ai_period: 30,
};
