//! What the host chooses before a match, and the world's first tick.

use super::{
    Kind, World,
    fog::{self, Fog},
    generate::{self, Drawn, MapKind, StartPlace, mix},
    map::{LARGEST_PLAYED, SMALLEST},
    recent::Recent,
    research::Abilities,
    roll::Roll,
    scenarios,
    seats::{Held, SeatRow},
    tables::{RULES, TICKS_PER_SECOND, UPGRADES},
    tile::Tile,
};
use serde::{Deserialize, Serialize};
use sim::{Num, Seat, Start, Stream, Vec2};

/// The game's settings. Numbers out of range are taken as the nearest that is in range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// Draws the map. `None`: the match seed does.
    pub map_seed: Option<u64>,
    /// What the land looks like. `None`: the map's seed draws it.
    pub map: Option<MapKind>,
    /// Tiles along an edge of the map, 48 to 256. `None`: as suits the number of seats.
    pub size: Option<u16>,
    /// How the match begins.
    pub scenario: Scenario,
    /// Units that a seat may have at most, 10 to 250.
    pub population: u16,
    /// Gold at the start, up to 100,000.
    pub gold: u32,
    /// Wood at the start, up to 100,000.
    pub wood: u32,
    /// Match minutes at normal speed, 1 to 600, after which the highest score wins.
    pub minutes: u16,
    /// Whether seats see only what is near their units and buildings.
    pub fog: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            map_seed: None,
            map: None,
            size: None,
            scenario: Scenario::Standard,
            population: USUAL_POPULATION,
            gold: 250,
            wood: 200,
            minutes: 60,
            fog: true,
        }
    }
}

impl Setup {
    /// The tick at which the highest score wins.
    pub fn last_tick(&self) -> u32 {
        u32::from(self.minutes).saturating_mul(60 * TICKS_PER_SECOND)
    }

    /// With every number in its range.
    #[must_use]
    pub fn in_range(&self) -> Self {
        Self {
            map_seed: self.map_seed,
            map: self.map,
            size: self.size.map(|size| size.clamp(SMALLEST, LARGEST_PLAYED)),
            scenario: match self.scenario {
                Scenario::Skirmish { units_per_seat } => Scenario::Skirmish {
                    units_per_seat: units_per_seat.clamp(1, MOST_PER_SEAT),
                },
                Scenario::Archers { units_per_seat } => Scenario::Archers {
                    units_per_seat: units_per_seat.clamp(1, MOST_PER_SEAT),
                },
                Scenario::March { units } => Scenario::March {
                    units: units.clamp(1, MOST_MARCHING),
                },
                Scenario::Swarm { units, density } => Scenario::Swarm {
                    units: units.clamp(1, MOST_SWARMING),
                    density,
                },
                Scenario::Standard => Scenario::Standard,
            },
            population: self.population.clamp(10, 250),
            gold: self.gold.min(100_000),
            wood: self.wood.min(100_000),
            minutes: self.minutes.clamp(SHORTEST_MINUTES, LONGEST_MINUTES),
            fog: self.fog && !self.scenario.is_staged(),
        }
    }
}

/// How a match begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scenario {
    /// A town hall and five workers for each seat.
    Standard,
    /// An army for each seat, half swordsmen and half archers, and nothing else.
    Skirmish {
        /// Soldiers of each seat, 1 to 2,500.
        units_per_seat: u16,
    },
    /// An army of archers for each seat, in a circle, on its way to the middle.
    Archers {
        /// Archers of each seat, 1 to 2,500.
        units_per_seat: u16,
    },
    /// Soldiers of all seats on their way through walls with gaps.
    March {
        /// Units in all, 1 to 10,000.
        units: u32,
    },
    /// Soldiers of all seats that attack every enemy they meet, on a map as large as their density demands.
    Swarm {
        /// Units in all, 1 to 100,000.
        units: u32,
        /// How thick they stand.
        density: Density,
    },
}

impl Scenario {
    /// Whether it is a stage for armies: a map of its own, no fog, nothing to build.
    pub fn is_staged(self) -> bool {
        matches!(
            self,
            Scenario::Archers { .. } | Scenario::March { .. } | Scenario::Swarm { .. }
        )
    }
}

/// Units for each square tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum Density {
    /// 0.01.
    Sparse = 0,
    /// 0.05.
    Normal = 1,
    /// 0.25.
    Dense = 2,
}

impl Density {
    pub(super) fn from_number(number: u32) -> Option<Density> {
        [Density::Sparse, Density::Normal, Density::Dense]
            .into_iter()
            .find(|density| *density as u32 == number)
    }
}

/// The world before its first tick.
pub(super) fn begin(start: &Start<Setup>) -> World {
    let setup = start.setup.in_range();
    let mut seats: Vec<Seat> = start.seats.clone();
    seats.sort_unstable();
    seats.dedup();
    seats.truncate(MOST_SEATS);
    let agreed = fold(&start.seed.0);
    let map_seed = setup.map_seed.unwrap_or_else(|| mix(agreed));
    let stage = match setup.scenario {
        Scenario::Standard | Scenario::Skirmish { .. } => None,
        Scenario::Archers { units_per_seat } => {
            Some(scenarios::archers(map_seed, seats.len(), units_per_seat))
        }
        Scenario::March { units } => Some(scenarios::march(seats.len(), units)),
        Scenario::Swarm { units, density } => {
            Some(scenarios::swarm(map_seed, seats.len(), units, density))
        }
    };
    let (map, starts, armies) = match stage {
        Some(stage) => {
            let (map, armies) = stage.settle();
            (map, Vec::new(), armies)
        }
        None => {
            let size = setup.size;
            let Drawn { map, starts } = generate::draw(
                map_seed,
                setup.map,
                seats.len(),
                size.unwrap_or_else(|| generate::usual_size(seats.len())),
                mix(agreed ^ 1),
            );
            (map, starts, Vec::new())
        }
    };
    let random = Stream::named(&start.seed, "weapons");
    let mut world = World::empty(setup, map, random);
    world.roll = Roll::new(seats.len());
    world.recents = vec![Recent::default(); seats.len()];
    for (row, seat) in seats.iter().enumerate() {
        let place = starts.get(row);
        world.seats.push(SeatRow {
            seat: seat.0,
            gold: world.setup.gold,
            wood: world.setup.wood,
            held: Held::Played,
            idle_since: 0,
            defeated: 0,
            upgrades: [0; UPGRADES],
            home: place.map_or(0, |place| world.map.index(place.hall)),
            trained: 0,
            lost: 0,
            killed: 0,
            gathered: 0,
        });
        world.abilities = Abilities::of_seats(&world.seats);
        if let Some(place) = place {
            settle(&mut world, row as u8, place);
        }
    }
    if !world.seats.seat.is_empty() {
        scenarios::deploy(&mut world, &armies);
    }
    world.map.refresh_regions();
    world.fog = Fog::new(world.setup.fog, world.map.size(), world.seats.len());
    fog::refresh_all(&mut world);
    world
}

/// Places what a seat begins with.
fn settle(world: &mut World, seat: u8, place: &StartPlace) {
    match world.setup.scenario {
        Scenario::Standard => {
            let corner = Tile::new(place.hall.x - 1, place.hall.y - 1);
            world.spawn_building(Kind::TownHall, seat, corner, true);
            for tile in place.units.iter().take(RULES.workers.into()) {
                world.spawn_unit(Kind::Worker, seat, tile.centre());
            }
        }
        Scenario::Skirmish { units_per_seat } => {
            for number in 0..usize::from(units_per_seat) {
                let kind = [Kind::Swordsman, Kind::Archer][number % 2];
                let tiles = place.units.len().max(1);
                let tile = place.units.get(number % tiles).unwrap_or(&place.hall);
                let at = beside_centre(*tile, number / tiles);
                world.spawn_unit(kind, seat, at);
            }
        }
        Scenario::Archers { .. } | Scenario::March { .. } | Scenario::Swarm { .. } => {}
    }
}

/// One of nine points in a tile, so that many units start on few tiles without standing on one point.
fn beside_centre(tile: Tile, turn: usize) -> Vec2 {
    let part = |number: usize| Num::lit("0.3125") * [0, -1, 1][number % 3];
    tile.centre() + Vec2::new(part(turn), part(turn / 3))
}

/// The agreed seed as one number.
fn fold(seed: &[u8; 32]) -> u64 {
    let mut words = seed.chunks_exact(8).map(|chunk| {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    let first = words.next().unwrap_or_default();
    words.fold(mix(first), |sum, word| mix(sum ^ word))
}

/// Units that a seat may have at most, unless the host chooses another number.
pub(super) const USUAL_POPULATION: u16 = 150;
/// Seats that a map has room for.
pub const MOST_SEATS: usize = 8;
/// The shortest match, in minutes at normal speed.
pub const SHORTEST_MINUTES: u16 = 1;
/// The longest.
pub const LONGEST_MINUTES: u16 = 600;
/// Units of a march.
const MOST_MARCHING: u32 = 10_000;
/// Units of a swarm.
const MOST_SWARMING: u32 = 100_000;
/// Units of a seat that a scenario may begin with.
pub(super) const MOST_PER_SEAT: u16 = 2_500;
