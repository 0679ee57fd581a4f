//! Matches of the demo's world, played by its bots.

use crate::lines::Lines;
use demo_rts::{
    bot::{Bot, Level},
    world::{Command, Density, MapKind, Scenario, Setup, World},
};
use sim::{
    Checksum, Entry, Outcome, RulesId, Seat, SeatState, Seed, Simulation, Sink, Start, State, Sum,
};
use std::num::NonZeroUsize;

/// All runs.
fn runs() -> Vec<Run> {
    vec![
        // A whole match, to its end.
        Run {
            name: "match",
            seed: 2,
            most_ticks: 60 * MINUTE,
            ..Run::default()
        },
        // Seats that change hands: one is idle and then played by the world, another one surrenders.
        Run {
            name: "four",
            map: Some(MapKind::Valleys),
            seats: 4,
            most_ticks: 3 * MINUTE,
            changes: vec![
                (MINUTE, Seat(3), SeatState::Idle),
                (2 * MINUTE, Seat(3), SeatState::Ai),
                (2 * MINUTE, Seat(1), SeatState::Resigned),
            ],
            ..Run::default()
        },
        Run {
            name: "skirmish",
            map: Some(MapKind::Lakes),
            scenario: Scenario::Skirmish {
                units_per_seat: 100,
            },
            seats: 3,
            every_turns: 20,
            ..Run::default()
        },
        Run {
            name: "archers",
            scenario: Scenario::Archers { units_per_seat: 50 },
            seats: 8,
            bots: false,
            every_turns: 20,
            ..Run::default()
        },
        Run {
            name: "march",
            scenario: Scenario::March { units: 1_500 },
            bots: false,
            most_ticks: MINUTE / 2,
            every_turns: 10,
            ..Run::default()
        },
        Run {
            name: "swarm",
            scenario: Scenario::Swarm {
                units: 4_000,
                density: Density::Dense,
            },
            seats: 8,
            bots: false,
            most_ticks: MINUTE / 8,
            every_turns: 5,
            ..Run::default()
        },
    ]
}

const MINUTE: u32 = 60 * 20;
/// As in the default plan: a bot thinks once a turn, and the turn's first tick executes its commands.
const TICKS_A_TURN: u32 = 4;

/// How worlds are computed, which must not change the result.
#[derive(Clone, Copy, Debug, Default)]
pub struct How {
    /// Number of threads; `None` leaves it to the world.
    pub threads: Option<NonZeroUsize>,
    /// Whether to avoid instructions that only newer machines have.
    pub plain: bool,
}

/// One match to trace.
struct Run {
    name: &'static str,
    map: Option<MapKind>,
    scenario: Scenario,
    seed: u8,
    seats: u8,
    /// Whether bots play; otherwise units only carry out the scenario's first orders.
    bots: bool,
    /// The run ends here, or earlier with its outcome.
    most_ticks: u32,
    /// Turns between two lines of the trace.
    every_turns: u32,
    /// Changes of seats, by tick.
    changes: Vec<(u32, Seat, SeatState)>,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            name: "",
            map: None,
            scenario: Scenario::Standard,
            seed: 1,
            seats: 2,
            bots: true,
            most_ticks: MINUTE,
            every_turns: 50,
            changes: Vec::new(),
        }
    }
}

pub(crate) fn trace(how: How, lines: &mut Lines) {
    // Peers on different machines can play together only if their rules are equal.
    let RulesId(rules) = World::rules(&Setup::default());
    lines.sum("rules", |sum| sum.bytes(&rules));
    for run in runs() {
        run.trace(how, lines);
    }
}

impl Run {
    fn trace(&self, how: How, lines: &mut Lines) {
        let seats: Vec<Seat> = (0..self.seats).map(Seat).collect();
        let setup = Setup {
            map: self.map,
            scenario: self.scenario,
            ..Setup::default()
        };
        let mut world = World::new(&Start {
            setup,
            seed: Seed([self.seed; 32]),
            seats: seats.clone(),
        });
        how.set(&mut world);
        let levels = [Level::Normal, Level::Hard, Level::Easy];
        let mut bots: Vec<Bot> = seats
            .iter()
            .zip(levels.into_iter().cycle())
            .filter(|_| self.bots)
            .map(|(seat, level)| Bot::new(*seat, level))
            .collect();
        // Covers every command, and the world after every turn between the lines too.
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
                // A snapshot must continue exactly like the world that it was taken from.
                world = reloaded(&world);
                how.set(&mut world);
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

    /// Entries for the world in this turn, in seat order.
    fn entries(&self, world: &World, bots: &mut [Bot], tick: u32) -> Vec<Entry<Command>> {
        let due = self.changes.iter().filter(|(when, ..)| *when == tick);
        let mut entries: Vec<_> = due
            .map(|(_, seat, state)| Entry::Seat {
                seat: *seat,
                state: *state,
            })
            .collect();
        for bot in bots {
            let seat = bot.seat();
            let thoughts = bot.think(world).into_iter();
            entries.extend(thoughts.map(|command| Entry::Command { seat, command }));
        }
        entries.sort_by_key(|entry| match entry {
            Entry::Command { seat, .. } | Entry::Seat { seat, .. } => *seat,
        });
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

impl How {
    fn set(self, world: &mut World) {
        world.set_plain(self.plain);
        if let Some(threads) = self.threads {
            world.set_threads(threads);
        }
    }
}

fn reloaded(world: &World) -> World {
    let mut bytes = Vec::new();
    world.save(&mut bytes);
    assert_eq!(
        Checksum::of(&bytes),
        world.checksum(),
        "the checksum covers the saved bytes"
    );
    World::load(&bytes).expect("a world loads what it saved")
}

fn put_entry(sum: &mut Sum, entry: &Entry<Command>) {
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
