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
/// What makes no sense when it is executed (a dead unit, somebody else's building, no gold, a tile off
/// the map) does nothing and is reported by [`Effect::Refused`](super::Effect::Refused).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Go there, minding nothing else.
    Move {
        /// Who.
        units: Selection,
        /// Where.
        to: Tile,
    },
    /// Attack this one until it is dead.
    Attack {
        /// Who.
        units: Selection,
        /// A unit or building of another seat.
        target: Id,
    },
    /// Go there and fight whatever is met.
    AttackMove {
        /// Who.
        units: Selection,
        /// Where.
        to: Tile,
    },
    /// Stay; fight only what is in reach.
    Hold {
        /// Who.
        units: Selection,
    },
    /// Forget every order.
    Stop {
        /// Who.
        units: Selection,
    },
    /// Fetch gold or wood from there, again and again. Units that are no workers go there.
    Gather {
        /// Who.
        units: Selection,
        /// A tile of forest or of a mine.
        from: Tile,
    },
    /// Found a building, paid at once, and go to build it.
    Build {
        /// The workers.
        units: Selection,
        /// What.
        kind: Kind,
        /// Its upper left tile.
        at: Tile,
    },
    /// Queue a unit, paid at once.
    Train {
        /// Where.
        building: Id,
        /// What.
        kind: Kind,
    },
    /// Take a unit or an upgrade out of the queue, for its full price.
    CancelTrain {
        /// Where.
        building: Id,
        /// Its place in the queue, from 0.
        place: u8,
    },
    /// Send units there as they are trained. Workers start to gather there.
    Rally {
        /// Where they are trained.
        building: Id,
        /// Where they go.
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
        /// Who.
        units: Selection,
        /// What.
        task: Task,
    },
    /// Go there and back again, fighting whoever is met. Patrols queued make a round.
    Patrol {
        /// Who.
        units: Selection,
        /// Where.
        to: Tile,
    },
    /// Hit a place, whoever is there. Catapults only.
    AttackGround {
        /// Who.
        units: Selection,
        /// Where.
        at: Tile,
    },
    /// Go inside a building.
    Garrison {
        /// Who.
        units: Selection,
        /// A finished building of the same seat with room inside.
        building: Id,
    },
    /// Send everybody out who is inside.
    Leave {
        /// Where.
        building: Id,
    },
    /// Queue the next level of an upgrade, paid at once.
    Research {
        /// Where.
        building: Id,
        /// What.
        upgrade: Upgrade,
    },
    /// Tear a finished building down, for nothing.
    Demolish {
        /// Where.
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
        /// What.
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
    /// The task that it gives and to whom, if that is what it does at once.
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
