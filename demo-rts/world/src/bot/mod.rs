//! A player that wants to win. It knows what its seat sees and no more, and issues commands as a person
//! does: below [`think`] nothing holds the world, only [`Seen`].

mod army;
mod economy;
mod estate;
mod habits;
mod places;
mod scout;
#[cfg(test)]
mod tests;
mod training;

use crate::world::{Command, Seen, World};
use estate::Estate;
use habits::Habits;
use serde::{Deserialize, Serialize};
use sim::Seat;

/// How well a bot plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum Level {
    /// Thinks seldom, keeps a small household, attacks with few and never gives up a fight.
    Easy,
    /// Plays like an experienced player.
    #[default]
    Normal,
    /// Thinks often, grows fast, trains soldiers that beat the enemy's, attacks in force.
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

/// One thought: the commands that this seat should issue now, most urgent first. Empty when there is nothing
/// to do.
///
/// A thought is a function of what the seat sees, without memory. A second call before the commands were
/// executed says much the same again; [`Bot`] keeps the pace.
pub fn think(world: &World, seat: Seat, level: Level) -> Vec<Command> {
    let seen = world.seen_by(seat);
    seen.map_or_else(Vec::new, |seen| decide(seen, &level.habits()))
}

fn decide(seen: Seen<'_>, habits: &Habits) -> Vec<Command> {
    let Some(mut estate) = Estate::of(seen) else {
        return Vec::new();
    };
    let mut commands = Vec::new();
    army::defend(&mut estate, habits, &mut commands);
    army::come_out(&mut estate, &mut commands);
    army::retreat(&mut estate, habits, &mut commands);
    army::focus(&mut estate, habits, &mut commands);
    scout::run(&mut estate, habits, &mut commands);
    let saves = economy::run(&mut estate, habits, &mut commands);
    if !saves {
        training::run(&mut estate, habits, &mut commands);
    }
    army::attack(&mut estate, habits, &mut commands);
    commands.truncate(habits.commands);
    commands
}

/// A bot that keeps its own pace: ask it at every tick or turn, and issue its commands.
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

    /// Whether it thinks at this tick.
    pub fn is_due(&self, world: &World) -> bool {
        let rewound = self.next > world.tick().saturating_add(2 * self.level.habits().period);
        world.tick() >= self.next || rewound
    }

    /// The commands that it wants now. Empty when it is not [due](Bot::is_due), and often otherwise.
    pub fn think(&mut self, world: &World) -> Vec<Command> {
        if !self.is_due(world) {
            return Vec::new();
        }
        self.next = world.tick().saturating_add(self.level.habits().period);
        think(world, self.seat, self.level)
    }
}
