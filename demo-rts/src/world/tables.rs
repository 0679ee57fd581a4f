//! The one table of what everything costs, can do and can bear.

use super::space::ONE;

/// What a thing is.
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
    /// Trains workers, takes what they carry, houses ten.
    TownHall = 3,
    /// Houses eight.
    House = 4,
    /// Trains swordsmen and archers.
    Barracks = 5,
}

impl Kind {
    /// Every kind, in the order of its number.
    pub const ALL: [Kind; 6] = [
        Kind::Worker,
        Kind::Swordsman,
        Kind::Archer,
        Kind::TownHall,
        Kind::House,
        Kind::Barracks,
    ];

    /// The kind with this number.
    pub fn from_number(number: u8) -> Option<Kind> {
        Kind::ALL.get(usize::from(number)).copied()
    }

    /// Its line of the table.
    pub fn stats(self) -> &'static Stats {
        &TABLE[self as usize]
    }

    /// Whether it stands on the ground and never moves.
    pub fn is_building(self) -> bool {
        self.stats().size > 0
    }

    /// Whether its business is to fight.
    pub fn is_soldier(self) -> bool {
        matches!(self, Kind::Swordsman | Kind::Archer)
    }

    /// What it can train.
    pub fn trains(self) -> &'static [Kind] {
        match self {
            Kind::TownHall => &[Kind::Worker],
            Kind::Barracks => &[Kind::Swordsman, Kind::Archer],
            _ => &[],
        }
    }
}

/// A line of the table. Distances in 1/65,536 of a tile, times in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Its name, in lower case.
    pub name: &'static str,
    /// Price in gold.
    pub gold: u32,
    /// Price in wood.
    pub wood: u32,
    /// Damage it can take.
    pub hit_points: u16,
    /// Damage of one hit on a unit. 0: cannot attack.
    pub damage: u16,
    /// Damage of one hit on a building.
    pub siege: u16,
    /// How far it reaches, from edge to edge.
    pub range: i32,
    /// From one hit to the next.
    pub cooldown: u16,
    /// Way of one arrow in a tick. 0: hits at once.
    pub arrow_speed: i32,
    /// How far it looks for enemies of its own accord.
    pub alert: i32,
    /// How far its seat sees from it, in whole tiles.
    pub sight: u16,
    /// Way of one tick.
    pub speed: i32,
    /// Half its width. A building's is given by `size`.
    pub radius: i32,
    /// Work to train or build it: ticks of one worker, or of the building that trains.
    pub build_ticks: u16,
    /// Room it takes.
    pub population: u16,
    /// Room it gives.
    pub houses: u16,
    /// Edge of a building in tiles. 0: a unit.
    pub size: u16,
}

/// Ticks in a second at normal speed.
pub const TICKS_PER_SECOND: u32 = 20;
/// What a worker carries at most.
pub const CARRY: u16 = 10;
/// Ticks to cut or dig one of something.
pub const GATHER_TICKS: u16 = 16;
/// Wood in a forest tile.
pub const TREE_WOOD: u16 = 90;
/// Gold in a tile of a mine; a mine has four.
pub const MINE_GOLD: u16 = 1_500;
/// Places in a training queue.
pub const QUEUE_LENGTH: usize = 5;
/// Units that one command may name.
pub const SELECTION: usize = 250;
/// Selections of each seat that the world remembers.
pub const SELECTIONS_KEPT: usize = 16;
/// Of these, so many of the newest are referred to by new commands; the others are for commands on their way.
pub const SELECTIONS_NAMED: usize = 9;
/// Fewer units are spelled out faster than remembered.
pub const SELECTION_WORTH_KEEPING: usize = 3;
/// Ticks after a death before another unit may have the number.
pub const NUMBER_REST: u32 = 256;
/// Buildings that a seat may own, foundations included.
pub const BUILDINGS_PER_SEAT: usize = 64;

const TILE: i32 = ONE;

const UNIT: Stats = Stats {
    name: "",
    gold: 0,
    wood: 0,
    hit_points: 0,
    damage: 0,
    siege: 0,
    range: 0,
    cooldown: 0,
    arrow_speed: 0,
    alert: 0,
    sight: 0,
    speed: 0,
    radius: 0,
    build_ticks: 0,
    population: 1,
    houses: 0,
    size: 0,
};

const BUILDING: Stats = Stats {
    population: 0,
    ..UNIT
};

const TABLE: [Stats; 6] = [
    Stats {
        name: "worker",
        gold: 50,
        hit_points: 40,
        damage: 3,
        siege: 2,
        range: TILE / 4,
        cooldown: 24,
        alert: 4 * TILE,
        sight: 8,
        speed: TILE * 9 / 64,
        radius: TILE * 9 / 32,
        build_ticks: 240,
        ..UNIT
    },
    Stats {
        name: "swordsman",
        gold: 60,
        wood: 20,
        hit_points: 90,
        damage: 9,
        siege: 9,
        range: TILE / 4,
        cooldown: 20,
        alert: 7 * TILE,
        sight: 9,
        speed: TILE * 10 / 64,
        radius: TILE * 11 / 32,
        build_ticks: 320,
        ..UNIT
    },
    Stats {
        name: "archer",
        gold: 40,
        wood: 45,
        hit_points: 50,
        damage: 7,
        siege: 3,
        range: 5 * TILE,
        cooldown: 28,
        arrow_speed: TILE / 2,
        alert: 8 * TILE,
        sight: 9,
        speed: TILE * 9 / 64,
        radius: TILE * 10 / 32,
        build_ticks: 320,
        ..UNIT
    },
    Stats {
        name: "town hall",
        gold: 250,
        wood: 300,
        hit_points: 1_200,
        build_ticks: 1_600,
        houses: 10,
        sight: 11,
        size: 3,
        ..BUILDING
    },
    Stats {
        name: "house",
        wood: 80,
        hit_points: 350,
        build_ticks: 400,
        houses: 8,
        sight: 6,
        size: 2,
        ..BUILDING
    },
    Stats {
        name: "barracks",
        gold: 30,
        wood: 150,
        hit_points: 800,
        build_ticks: 700,
        sight: 8,
        size: 3,
        ..BUILDING
    },
];

/// The table and the constants beside it, as bytes: what `rules` hashes.
pub(super) fn table_bytes() -> Vec<u8> {
    let mut out = Vec::new();
    let mut put = |number: i64| out.extend_from_slice(&number.to_le_bytes());
    for kind in Kind::ALL {
        let s = kind.stats();
        put(i64::from(kind as u8));
        put(i64::from(s.gold));
        put(i64::from(s.wood));
        put(i64::from(s.hit_points));
        put(i64::from(s.damage));
        put(i64::from(s.siege));
        put(i64::from(s.range));
        put(i64::from(s.cooldown));
        put(i64::from(s.arrow_speed));
        put(i64::from(s.alert));
        put(i64::from(s.sight));
        put(i64::from(s.speed));
        put(i64::from(s.radius));
        put(i64::from(s.build_ticks));
        put(i64::from(s.population));
        put(i64::from(s.houses));
        put(i64::from(s.size));
        put(kind.trains().len() as i64);
        for trained in kind.trains() {
            put(i64::from(*trained as u8));
        }
    }
    put(i64::from(CARRY));
    put(i64::from(GATHER_TICKS));
    put(i64::from(TREE_WOOD));
    put(i64::from(MINE_GOLD));
    put(QUEUE_LENGTH as i64);
    put(SELECTION as i64);
    put(SELECTIONS_KEPT as i64);
    put(SELECTIONS_NAMED as i64);
    put(SELECTION_WORTH_KEEPING as i64);
    put(i64::from(NUMBER_REST));
    put(BUILDINGS_PER_SEAT as i64);
    out
}

#[cfg(test)]
mod tests {
    use super::{super::fog, *};

    #[test]
    fn the_table_is_in_the_order_of_the_kinds_and_makes_sense() {
        for (number, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
            let s = kind.stats();
            assert!(s.hit_points > 0 && s.build_ticks > 0 && s.gold + s.wood > 0);
            assert!(s.damage == 0 || s.cooldown > 0, "{}", s.name);
            assert_eq!(s.size == 0, s.speed > 0, "{}", s.name);
            assert!((1..=fog::MOST_SIGHT).contains(&s.sight), "{}", s.name);
            assert!(i32::from(s.sight) * TILE > s.alert, "{}", s.name);
            assert!(s.speed < TILE / 4 && s.radius < TILE / 2, "{}", s.name);
            assert!(kind.trains().iter().all(|trained| !trained.is_building()));
        }
        assert!(Kind::Archer.stats().range > Kind::Swordsman.stats().range);
    }
}
