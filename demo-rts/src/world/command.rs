//! What a player can want, and how a selection is written compactly.

use super::{Kind, Tile, Upgrade, tables::SELECTION};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

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

/// Up to [`Selection::MOST`] different units, ascending. Written as gaps, so that a group is a few bytes.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Selection(Vec<Id>);

impl Selection {
    /// Units that a selection holds at most.
    pub const MOST: usize = SELECTION;

    /// These units, once each; of too many, those with the lowest ids.
    pub fn new(units: impl IntoIterator<Item = Id>) -> Self {
        let mut ids: Vec<Id> = units.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        ids.truncate(Self::MOST);
        Self(ids)
    }

    /// The units, ascending.
    pub fn ids(&self) -> &[Id] {
        &self.0
    }

    /// Whether it names nobody.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<Id> for Selection {
    fn from_iter<I: IntoIterator<Item = Id>>(units: I) -> Self {
        Self::new(units)
    }
}

impl Serialize for Selection {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut last = 0;
        serializer.collect_seq(self.0.iter().map(|id| {
            let gap = id.0.wrapping_sub(last);
            last = id.0;
            gap
        }))
    }
}

impl<'de> Deserialize<'de> for Selection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Gaps)
    }
}

struct Gaps;

impl<'de> de::Visitor<'de> for Gaps {
    type Value = Selection;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "at most {SELECTION} gaps between ascending ids")
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Selection, A::Error> {
        let mut ids = Vec::new();
        let mut last: u32 = 0;
        while let Some(gap) = seq.next_element::<u32>()? {
            if ids.len() == SELECTION {
                return Err(de::Error::invalid_length(SELECTION + 1, &self));
            }
            if gap == 0 && !ids.is_empty() {
                return Err(de::Error::custom("a unit selected twice"));
            }
            last = last
                .checked_add(gap)
                .ok_or_else(|| de::Error::custom("an id beyond 32 bits"))?;
            ids.push(Id(last));
        }
        Ok(Selection(ids))
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
        let units = Selection::new([Id(7), Id(9), Id(300), Id(u32::MAX)]);
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
        let spread = (0..64).map(|n| Id(n * (u32::MAX / 64) + 1));
        let command = Command::Move {
            units: spread.collect(),
            to: Tile::new(u16::MAX, u16::MAX),
        };
        assert!(bytes(&command).len() <= 400, "{}", bytes(&command).len());
    }

    #[test]
    fn twenty_neighbours_take_little() {
        let command = Command::AttackMove {
            units: (500..520).map(Id).collect(),
            to: Tile::new(40, 40),
        };
        assert!(bytes(&command).len() <= 26);
    }

    #[test]
    fn hostile_selections_do_not_decode() {
        let too_many = vec![1_u32; SELECTION + 1];
        let twice = vec![5_u32, 0];
        let beyond = vec![u32::MAX, 1];
        for gaps in [too_many, twice, beyond] {
            let bytes = postcard::to_allocvec(&gaps).unwrap();
            assert!(postcard::from_bytes::<Selection>(&bytes).is_err());
        }
    }
}
