//! What a player can want.

use super::{Kind, Selection, Tile, Upgrade};
use serde::{Deserialize, Serialize};

/// Names a unit or a building for as long as the match lasts; never used again after its death.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Id(pub u32);

impl Id {
    /// No unit, no building.
    pub(super) const NONE: Id = Id(0);
}

/// A player's intent. Append variants only: anything else changes the rules.
///
/// A command that makes no sense when it is executed does nothing, and
/// [`Effect::Refused`](super::Effect::Refused) reports it: a dead unit, another seat's building, no gold, a
/// tile off the map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Go there, minding nothing else.
    Move {
        /// The units.
        units: Selection,
        /// Where.
        to: Tile,
    },
    /// Attack a target until it is dead.
    Attack {
        /// The units.
        units: Selection,
        /// A unit or building of another seat.
        target: Id,
    },
    /// Go there and fight every enemy on the way.
    AttackMove {
        /// The units.
        units: Selection,
        /// Where.
        to: Tile,
    },
    /// Stay; fight only what is in reach.
    Hold {
        /// The units.
        units: Selection,
    },
    /// Forget every order.
    Stop {
        /// The units.
        units: Selection,
    },
    /// Fetch gold or wood from there, again and again. Units that are no workers go there.
    Gather {
        /// The units.
        units: Selection,
        /// A tile of forest or of a mine.
        from: Tile,
    },
    /// Found a building, paid at once, and go to build it.
    Build {
        /// The workers.
        units: Selection,
        /// The kind of building.
        kind: Kind,
        /// Its upper left tile.
        at: Tile,
    },
    /// Queue a unit, paid at once.
    Train {
        /// The building that trains.
        building: Id,
        /// The kind of unit.
        kind: Kind,
    },
    /// Take a unit or an upgrade out of the queue, for its full price.
    CancelTrain {
        /// The building with the queue.
        building: Id,
        /// Its place in the queue, from 0.
        place: u8,
    },
    /// Send units there as they are trained. Workers start to gather there.
    Rally {
        /// The building that trains the units.
        building: Id,
        /// Where the units go.
        to: Tile,
    },
    /// Give up.
    Surrender,
    /// Build a foundation, mend what is damaged, or work a farm.
    Assist {
        /// The workers.
        units: Selection,
        /// A building of the same seat.
        building: Id,
    },
    /// Tear a foundation down, for three quarters of its price.
    CancelBuild {
        /// An unfinished building.
        building: Id,
    },
    /// Do this after everything that was ordered before. At most eight errands wait for a unit.
    Queue {
        /// The units.
        units: Selection,
        /// The task.
        task: Task,
    },
    /// Go there and back again, fighting every enemy on the way. Queued patrols make a round.
    Patrol {
        /// The units.
        units: Selection,
        /// Where.
        to: Tile,
    },
    /// Hit a place, friends included. Catapults only.
    AttackGround {
        /// The units.
        units: Selection,
        /// Where.
        at: Tile,
    },
    /// Go inside a building.
    Garrison {
        /// The units.
        units: Selection,
        /// A finished building of the same seat with room inside.
        building: Id,
    },
    /// Send out all units inside.
    Leave {
        /// The building that they leave.
        building: Id,
    },
    /// Queue the next level of an upgrade, paid at once.
    Research {
        /// The building that researches.
        building: Id,
        /// The upgrade.
        upgrade: Upgrade,
    },
    /// Tear a finished building down, for nothing.
    Demolish {
        /// The building.
        building: Id,
    },
}

/// What units can be told to do, now or after something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Task {
    /// As [`Command::Move`].
    Move {
        /// Where.
        to: Tile,
    },
    /// As [`Command::Attack`].
    Attack {
        /// A unit or building of another seat.
        target: Id,
    },
    /// As [`Command::AttackMove`].
    AttackMove {
        /// Where.
        to: Tile,
    },
    /// As [`Command::Hold`].
    Hold,
    /// As [`Command::Gather`].
    Gather {
        /// A tile of forest or of a mine.
        from: Tile,
    },
    /// As [`Command::Build`].
    Build {
        /// The kind of building.
        kind: Kind,
        /// Its upper left tile.
        at: Tile,
    },
    /// As [`Command::Assist`].
    Assist {
        /// A building of the same seat.
        building: Id,
    },
    /// As [`Command::Patrol`].
    Patrol {
        /// Where.
        to: Tile,
    },
    /// As [`Command::AttackGround`].
    AttackGround {
        /// Where.
        at: Tile,
    },
    /// As [`Command::Garrison`].
    Garrison {
        /// A finished building of the same seat with room inside.
        building: Id,
    },
}

impl Command {
    /// The task that the command gives at once, and its units; `None` for any other command.
    pub fn task(&self) -> Option<(&Selection, Task)> {
        Some(match self {
            Command::Move { units, to } => (units, Task::Move { to: *to }),
            Command::Attack { units, target } => (units, Task::Attack { target: *target }),
            Command::AttackMove { units, to } => (units, Task::AttackMove { to: *to }),
            Command::Hold { units } => (units, Task::Hold),
            Command::Gather { units, from } => (units, Task::Gather { from: *from }),
            Command::Build { units, kind, at } => {
                let (kind, at) = (*kind, *at);
                (units, Task::Build { kind, at })
            }
            Command::Assist { units, building } => {
                let building = *building;
                (units, Task::Assist { building })
            }
            Command::Patrol { units, to } => (units, Task::Patrol { to: *to }),
            Command::AttackGround { units, at } => (units, Task::AttackGround { at: *at }),
            Command::Garrison { units, building } => {
                let building = *building;
                (units, Task::Garrison { building })
            }
            _ => return None,
        })
    }

    /// The same for when its units have done what they are at; a command that gives no task stays as it is.
    pub fn later(self) -> Command {
        match self.task() {
            Some((units, task)) => Command::Queue {
                units: units.clone(),
                task,
            },
            None => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(command: &Command) -> Vec<u8> {
        postcard::to_allocvec(command).expect("commands encode")
    }

    #[test]
    fn every_command_comes_back() {
        let units = Selection::new([7, 9, 300, 65_000]);
        let to = Tile::new(3, u16::MAX);
        let all = [
            Command::Move {
                units: units.clone(),
                to,
            },
            Command::Attack {
                units: units.clone(),
                target: Id(5),
            },
            Command::AttackMove {
                units: units.clone(),
                to,
            },
            Command::Hold {
                units: units.clone(),
            },
            Command::Stop {
                units: Selection::default(),
            },
            Command::Gather {
                units: units.clone(),
                from: to,
            },
            Command::Build {
                units: units.clone(),
                kind: Kind::House,
                at: to,
            },
            Command::Train {
                building: Id(2),
                kind: Kind::Archer,
            },
            Command::CancelTrain {
                building: Id(2),
                place: 4,
            },
            Command::Rally {
                building: Id(2),
                to,
            },
            Command::Surrender,
            Command::Assist {
                units: units.clone(),
                building: Id(2),
            },
            Command::CancelBuild { building: Id(2) },
            Command::Queue {
                units: units.clone(),
                task: Task::Patrol { to },
            },
            Command::Patrol {
                units: units.clone(),
                to,
            },
            Command::AttackGround {
                units: units.clone(),
                at: to,
            },
            Command::Garrison {
                units,
                building: Id(2),
            },
            Command::Leave { building: Id(2) },
            Command::Research {
                building: Id(2),
                upgrade: Upgrade::Tools,
            },
            Command::Demolish { building: Id(2) },
        ];
        for (number, command) in all.iter().enumerate() {
            let bytes = bytes(command);
            assert_eq!(usize::from(bytes[0]), number, "variants are only appended");
            assert_eq!(&postcard::from_bytes::<Command>(&bytes).unwrap(), command);
        }
    }

    #[test]
    fn the_largest_command_fits_its_limit() {
        let most = Selection::MOST as u16;
        for spread in [1, 3, 64, 200, u16::MAX / most] {
            let command = Command::Move {
                units: (0..most).map(|n| n * spread + n % 2).collect(),
                to: Tile::new(u16::MAX, u16::MAX),
            };
            assert!(bytes(&command).len() <= 350, "{}", bytes(&command).len());
        }
    }

    #[test]
    fn twenty_neighbours_take_little_and_a_reference_takes_less() {
        let to = Tile::new(100, 127);
        let command = Command::AttackMove {
            units: (500..520).collect(),
            to,
        };
        assert!(bytes(&command).len() <= 9, "{:?}", bytes(&command));
        let again = Command::AttackMove {
            units: Selection::recent(200),
            to: Tile::new(u16::MAX, u16::MAX),
        };
        assert!(bytes(&again).len() <= 8);
        let again = Command::AttackMove {
            units: Selection::recent(200),
            to,
        };
        assert_eq!(bytes(&again).len(), 5);
    }
}
