//! Matches of the demo's world, played by its bots.

use crate::lines::Lines;
use demo_rts::{
    bot::{Bot, Level},
    world::{Scenario, Setup, World},
};
use sim::{Checksum, Entry, Outcome, Seat, SeatState, Seed, Simulation, Sink, Start, State, Sum};

/// Every run. A new scenario is one more entry.
fn runs() -> Vec<Run> {
    vec![
        Run {
            name: "match",
            seed: 2,
            seats: 2,
            most_ticks: 60 * MINUTE,
            every_turns: 50,
            ..Run::default()
        },
        Run {
            name: "four",
            seats: 4,
            most_ticks: 3 * MINUTE,
            every_turns: 50,
            // One is gone and comes back under the world's own rules, another gives up.
            changes: vec![
                (MINUTE, Seat(3), SeatState::Idle),
                (2 * MINUTE, Seat(3), SeatState::Ai),
                (2 * MINUTE, Seat(1), SeatState::Resigned),
            ],
            ..Run::default()
        },
        Run {
            name: "skirmish",
            scenario: Scenario::Skirmish {
                units_per_seat: 100,
            },
            seats: 3,
            most_ticks: MINUTE,
            every_turns: 20,
            ..Run::default()
        },
    ]
}

const MINUTE: u32 = 60 * 20;
/// As in the default plan: bots think once a turn, and the first tick executes what they said.
const TICKS_A_TURN: u32 = 4;

/// One match to trace.
struct Run {
    name: &'static str,
    scenario: Scenario,
    seed: u8,
    seats: u8,
    /// It ends here, or before with its outcome.
    most_ticks: u32,
    /// From one line to the next.
    every_turns: u32,
    /// What happens to seats, and at which tick.
    changes: Vec<(u32, Seat, SeatState)>,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            name: "",
            scenario: Scenario::Standard,
            seed: 1,
            seats: 2,
            most_ticks: MINUTE,
            every_turns: 50,
            changes: Vec::new(),
        }
    }
}

pub(crate) fn trace(lines: &mut Lines) {
    for run in runs() {
        run.trace(lines);
    }
}

impl Run {
    fn trace(&self, lines: &mut Lines) {
        let seats: Vec<Seat> = (0..self.seats).map(Seat).collect();
        let setup = Setup {
            scenario: self.scenario,
            ..Setup::default()
        };
        let mut world = World::new(&Start {
            setup,
            seed: Seed([self.seed; 32]),
            seats: seats.clone(),
        });
        let levels = [Level::Normal, Level::Hard, Level::Easy];
        let mut bots: Vec<Bot> = seats
            .iter()
            .zip(levels.into_iter().cycle())
            .map(|(seat, level)| Bot::new(*seat, level))
            .collect();
        // Every command and the world after every turn, also between the lines.
        let mut history = Sum::new();
        let mut turn = 0;
        self.line(lines, "begin", &world, &history);
        while world.outcome().is_none() && turn * TICKS_A_TURN < self.most_ticks {
            let entries = self.entries(&world, &mut bots, turn * TICKS_A_TURN);
            for entry in &entries {
                put_entry(&mut history, entry);
            }
            let mut effects = Vec::new();
            world.step(&entries, &mut effects);
            for _ in 1..TICKS_A_TURN {
                world.step(&[], &mut effects);
            }
            history.value(world.checksum().0);
            turn += 1;
            if turn % self.every_turns == 0 {
                self.line(lines, &format!("turn-{turn:05}"), &world, &history);
                // A machine that takes over here must come out where one does that played on.
                world = reloaded(&world);
            }
        }
        self.line(lines, "end", &world, &history);
        let outcome = match world.outcome() {
            None => "open".to_owned(),
            Some(Outcome { winner: None }) => "draw".to_owned(),
            Some(Outcome { winner: Some(seat) }) => format!("seat {}", seat.0),
        };
        lines.say(
            &format!("{}/outcome", self.name),
            &format!("{outcome} after turn {turn}"),
        );
    }

    fn entries(
        &self,
        world: &World,
        bots: &mut [Bot],
        tick: u32,
    ) -> Vec<Entry<<World as Simulation>::Command>> {
        let mut entries = Vec::new();
        for bot in bots {
            let seat = bot.seat();
            for (_, _, state) in self
                .changes
                .iter()
                .filter(|(when, whose, _)| (*when, *whose) == (tick, seat))
            {
                entries.push(Entry::Seat {
                    seat,
                    state: *state,
                });
            }
            for command in bot.think(world) {
                entries.push(Entry::Command { seat, command });
            }
        }
        entries
    }

    fn line(&self, lines: &mut Lines, when: &str, world: &World, history: &Sum) {
        lines.say(
            &format!("{}/{when}", self.name),
            &format!(
                "{} history {} units {}",
                world.checksum(),
                history.clone().checksum(),
                world.units().count()
            ),
        );
    }
}

fn reloaded(world: &World) -> World {
    let mut bytes = Vec::new();
    world.save(&mut bytes);
    assert_eq!(
        Checksum::of(&bytes),
        world.checksum(),
        "the checksum is that of the saved bytes"
    );
    World::load(&bytes).expect("a world loads what it saved")
}

fn put_entry(sum: &mut Sum, entry: &Entry<<World as Simulation>::Command>) {
    match entry {
        Entry::Command { seat, command } => {
            sum.serde(seat);
            sum.serde(command);
        }
        Entry::Seat { seat, state } => {
            sum.serde(seat);
            sum.serde(state);
        }
    }
}
