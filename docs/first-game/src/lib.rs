//! A race: the first runner at the flag wins.

use serde::{Deserialize, Serialize};
use sim::{
    Arena, Entry, Id, Num, Outcome, RulesId, Seat, SeatState, Simulation, Start, Stream, Vec2,
};
use std::fmt;

/// What the host decides.
#[derive(Clone, Serialize, Deserialize)]
pub struct Setup {
    /// Runners of each seat.
    pub runners: u8,
}

/// What a player wants.
#[derive(Clone, Serialize, Deserialize)]
pub enum Command {
    /// These runners go there.
    Go {
        /// The runners.
        runners: Vec<Id>,
        /// Where they go.
        to: Vec2,
    },
}

/// Everything that a step reads or changes.
#[derive(Serialize, Deserialize)]
pub struct World {
    flag: Vec2,
    runners: Arena<Runner>,
    wind: Stream,
}
sim::state_by_serde!(World);

#[derive(Serialize, Deserialize)]
struct Runner {
    seat: Seat,
    at: Vec2,
    goal: Vec2,
}

impl World {
    /// The runners of a seat.
    pub fn runners_of(&self, seat: Seat) -> Vec<Id> {
        let own = self
            .runners
            .iter()
            .filter(|(_, runner)| runner.seat == seat);
        own.map(|(id, _)| id).collect()
    }
}

impl Simulation for World {
    type Setup = Setup;
    type Command = Command;
    type Effect = ();

    fn rules(_: &Setup) -> RulesId {
        RulesId(*b"a race, version1")
    }

    fn new(start: &Start<Setup>) -> Self {
        let mut flags = Stream::named(&start.seed, "flag");
        let mut runners = Arena::new();
        for seat in &start.seats {
            for place in 0..start.setup.runners {
                let at = Vec2::from_ints(place.into(), seat.0.into());
                runners.insert(Runner {
                    seat: *seat,
                    at,
                    goal: at,
                });
            }
        }
        World {
            flag: Vec2::from_ints(flags.range(5..10), flags.range(5..10)),
            runners,
            wind: Stream::named(&start.seed, "wind"),
        }
    }

    fn step(&mut self, entries: &[Entry<Command>], _: &mut Vec<()>) {
        for entry in entries {
            match entry {
                Entry::Command {
                    seat,
                    command: Command::Go { runners, to },
                } => {
                    for id in runners {
                        if let Some(runner) = self.runners.get_mut(*id)
                            && runner.seat == *seat
                        {
                            runner.goal = *to;
                        }
                    }
                }
                Entry::Seat {
                    seat,
                    state: SeatState::Resigned,
                } => {
                    self.runners.retain(|_, runner| runner.seat != *seat);
                }
                Entry::Seat { .. } => {}
            }
        }
        for (_, runner) in self.runners.iter_mut() {
            let pace = self.wind.num_between(Num::lit("0.1"), Num::lit("0.3"));
            runner.at += (runner.goal - runner.at).clamp_length(pace);
        }
    }

    fn outcome(&self) -> Option<Outcome> {
        let mut runners = self.runners.iter().map(|(_, runner)| runner);
        let first = runners.find(|runner| runner.at.within(self.flag, Num::ONE))?;
        Some(Outcome {
            winner: Some(first.seat),
        })
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "flag at {} {}", self.flag.x, self.flag.y)?;
        for (_, runner) in self.runners.iter() {
            write!(
                f,
                "  {}: {:.1} {:.1}",
                runner.seat.0, runner.at.x, runner.at.y
            )?;
        }
        Ok(())
    }
}
