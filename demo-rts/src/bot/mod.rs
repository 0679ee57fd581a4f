//! A player that wants to win. It reads the world as a view does and issues commands as a person does.

mod army;
mod economy;
mod estate;
#[cfg(test)]
mod tests;

use crate::world::{Command, World};
use estate::Estate;
use serde::{Deserialize, Serialize};
use sim::Seat;

/// How well a bot plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum Level {
    /// Thinks seldom, keeps a small household, attacks late and with few.
    Easy,
    /// Plays like somebody who knows the game.
    #[default]
    Normal,
    /// Thinks often, grows fast, attacks in force.
    Hard,
}

impl std::str::FromStr for Level {
    type Err = UnknownLevel;

    fn from_str(text: &str) -> Result<Self, UnknownLevel> {
        match text {
            "easy" => Ok(Level::Easy),
            "normal" => Ok(Level::Normal),
            "hard" => Ok(Level::Hard),
            _ => Err(UnknownLevel),
        }
    }
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Level::Easy => "easy",
            Level::Normal => "normal",
            Level::Hard => "hard",
        })
    }
}

/// A word that names no level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a level: choose easy, normal or hard")]
pub struct UnknownLevel;

/// One thought: what this seat should do now, most urgent first. Empty when there is nothing to do.
///
/// It remembers nothing. Called again before its commands were executed, it says much the same again;
/// [`Bot`] keeps the pace.
pub fn think(world: &World, seat: Seat, level: Level) -> Vec<Command> {
    let Some(mut estate) = Estate::of(world, seat) else {
        return Vec::new();
    };
    let habits = level.habits();
    let mut commands = Vec::new();
    army::defend(&estate, &mut commands);
    army::focus(&estate, &habits, &mut commands);
    economy::run(&mut estate, &habits, &mut commands);
    army::attack(&estate, &habits, &mut commands);
    commands.truncate(habits.commands);
    commands
}

/// A bot that keeps its own pace: ask it at every tick or turn, and issue what it says.
#[derive(Clone, Debug)]
pub struct Bot {
    seat: Seat,
    level: Level,
    next: u32,
}

impl Bot {
    /// A bot that plays this seat.
    pub fn new(seat: Seat, level: Level) -> Self {
        Self {
            seat,
            level,
            next: u32::from(seat.0) % 8,
        }
    }

    /// The seat it plays.
    pub fn seat(&self) -> Seat {
        self.seat
    }

    /// What it wants now. Mostly empty: it thinks about once a second.
    pub fn think(&mut self, world: &World) -> Vec<Command> {
        let period = self.level.habits().period;
        let rewound = self.next > world.tick().saturating_add(2 * period);
        if world.tick() < self.next && !rewound {
            return Vec::new();
        }
        self.next = world.tick().saturating_add(period);
        think(world, self.seat, self.level)
    }
}

/// What makes the levels differ.
struct Habits {
    /// Ticks between two thoughts.
    period: u32,
    /// Commands of one thought.
    commands: usize,
    workers: usize,
    barracks: usize,
    /// Soldiers that set out together.
    wave: usize,
    /// Fifths of the nearest enemy's soldiers that a wave must have.
    odds: usize,
    /// Bands that shoot at one target each, in one thought.
    bands: usize,
    /// Free room below which it builds a house.
    spare_room: u32,
}

impl Level {
    fn habits(self) -> Habits {
        match self {
            Level::Easy => Habits {
                period: 80,
                commands: 2,
                workers: 10,
                barracks: 1,
                wave: 12,
                odds: 3,
                bands: 0,
                spare_room: 2,
            },
            Level::Normal => Habits {
                period: 24,
                commands: 4,
                workers: 22,
                barracks: 3,
                wave: 12,
                odds: 5,
                bands: 1,
                spare_room: 4,
            },
            Level::Hard => Habits {
                period: 16,
                commands: 5,
                workers: 22,
                barracks: 4,
                wave: 20,
                odds: 7,
                bands: 2,
                spare_room: 6,
            },
        }
    }
}
