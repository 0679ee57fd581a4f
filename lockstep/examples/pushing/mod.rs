//! A contest for two: each pushes the stone away from itself, and the dice help.

use serde::{Deserialize, Serialize};
use sim::{Entry, Outcome, RulesId, Seat, Simulation, Start, Stream};

/// What the host settles.
#[derive(Clone, Serialize, Deserialize)]
pub struct Setup {
    /// Steps from one end to the other.
    pub width: i32,
}

/// The only command.
#[derive(Clone, Serialize, Deserialize)]
pub struct Push {
    /// How hard, 1–3.
    pub by: i32,
}

/// The stone between two players.
#[derive(Serialize, Deserialize)]
pub struct World {
    width: i32,
    stone: i32,
    dice: Stream,
}

sim::state_by_serde!(World);

impl World {
    /// Shows the stone where a window would show a picture.
    pub fn draw(&self, _alpha: f32) {
        let columns = usize::try_from(self.stone).unwrap_or(0);
        eprint!(
            "\r|{:columns$}o{:rest$}|",
            "",
            "",
            rest = self.width.abs_diff(self.stone) as usize
        );
    }
}

impl Simulation for World {
    type Setup = Setup;
    type Command = Push;
    type Effect = ();

    fn rules(_: &Setup) -> RulesId {
        RulesId(*b"pushing contest1")
    }

    fn new(start: &Start<Setup>) -> Self {
        let width = start.setup.width.clamp(2, 200);
        World {
            width,
            stone: width / 2,
            dice: Stream::named(&start.seed, "dice"),
        }
    }

    fn step(&mut self, entries: &[Entry<Push>], _: &mut Vec<()>) {
        for entry in entries {
            if let Entry::Command {
                seat: Seat(seat),
                command,
            } = entry
            {
                let luck = self.dice.below(9) as i32;
                let push = command.by.clamp(1, 3) + luck;
                let pushed = if *seat == 0 {
                    self.stone + push
                } else {
                    self.stone - push
                };
                self.stone = pushed.clamp(0, self.width);
            }
        }
    }

    fn outcome(&self) -> Option<Outcome> {
        match self.stone {
            0 => Some(Outcome {
                winner: Some(Seat(1)),
            }),
            stone if stone == self.width => Some(Outcome {
                winner: Some(Seat(0)),
            }),
            _ => None,
        }
    }
}
