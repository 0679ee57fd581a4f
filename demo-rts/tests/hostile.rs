//! Commands made of random and hostile values, by the hundred thousand: no panic, no overflow, no tick
//! that takes for ever, and the same world on every number of threads.
//!
//! For millions: `HOSTILE_COMMANDS=5000000 HOSTILE_SEED=1 cargo test --release -p demo-rts --test hostile -- --nocapture`

use demo_rts::bot::{Bot, Level};
use demo_rts::world::{Command, Effect, Scenario, Setup, World};
use sim::{Entry, Seat, Seed, Simulation, Start, State, Stream};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

#[test]
fn hostile_streams_change_nothing_but_the_world() {
    let wanted = number("HOSTILE_COMMANDS").unwrap_or(USUAL_COMMANDS);
    let seed = number("HOSTILE_SEED").unwrap_or(USUAL_SEED);
    println!(
        "repeat: HOSTILE_COMMANDS={wanted} HOSTILE_SEED={seed} cargo test --release -p demo-rts --test hostile -- --nocapture"
    );
    let mut run = Run::new(seed);
    let mut matches = 0;
    while run.issued < wanted {
        run.play(matches, wanted);
        matches += 1;
    }
    println!(
        "{} commands of {} kinds in {matches} matches and {} ticks: {} refused, {} bytes were no command",
        run.issued,
        run.kinds.len(),
        run.ticks,
        run.refused,
        run.undecodable,
    );
    for (kind, count) in &run.kinds {
        println!("  {count:>9} {kind}");
    }
    // Most variants must have been drawn, and must have been able to do something.
    assert!(run.kinds.len() >= 12, "{:?}", run.kinds);
    assert!(run.refused < run.issued * 99 / 100, "nothing was obeyed");
    assert!(run.refused > 0, "nothing was refused");
}

struct Run {
    random: Stream,
    issued: u64,
    undecodable: u64,
    refused: u64,
    ticks: u64,
    kinds: BTreeMap<String, u64>,
    /// Encoded commands of bots: what is nearly right does most harm.
    sane: Vec<Vec<u8>>,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Self {
            random: Stream::named(&Seed(bytes), "hostile"),
            issued: 0,
            undecodable: 0,
            refused: 0,
            ticks: 0,
            kinds: BTreeMap::new(),
            sane: Vec::new(),
        }
    }

    /// One match, until it is decided, long enough, or enough commands were issued.
    fn play(&mut self, number: u64, wanted: u64) {
        let start = self.start(number);
        let seats = start.seats.clone();
        let mut worlds: Vec<World> = THREADS
            .iter()
            .map(|threads| {
                let mut world = World::new(&start);
                world.set_threads(*threads);
                world
            })
            .collect();
        let mut bots: Vec<Bot> = seats
            .iter()
            .map(|seat| Bot::new(*seat, Level::Normal))
            .collect();
        let storm = STORMS[number as usize % STORMS.len()];
        for tick in 0..TICKS {
            let mut entries = Vec::new();
            for bot in &mut bots {
                let seat = bot.seat();
                for command in bot.think(&worlds[0]) {
                    self.remember(&command);
                    entries.push(Entry::Command { seat, command });
                }
            }
            for _ in 0..storm {
                let seat = Seat(self.random.below(seats.len() as u32 + 1) as u8);
                if let Some(command) = self.command() {
                    entries.push(Entry::Command { seat, command });
                    self.issued += 1;
                }
            }
            for (number, world) in worlds.iter_mut().enumerate() {
                let mut effects = Vec::new();
                world.step(&entries, &mut effects);
                if number == 0 {
                    let refused = effects
                        .iter()
                        .filter(|e| matches!(e, Effect::Refused { .. }));
                    self.refused += refused.count() as u64;
                }
            }
            self.ticks += 1;
            let done = worlds[0].outcome().is_some() || self.issued >= wanted;
            if done || tick % 64 == 0 {
                let sums: Vec<_> = worlds.iter().map(State::checksum).collect();
                assert!(
                    sums.iter().all(|sum| *sum == sums[0]),
                    "match {number}, tick {tick}: threads {THREADS:?} have {sums:?}"
                );
            }
            if done {
                return;
            }
        }
    }

    fn start(&mut self, number: u64) -> Start<Setup> {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&self.random.next_u64().to_le_bytes());
        let scenario = match number % 3 {
            0 | 1 => Scenario::Standard,
            _ => Scenario::Skirmish {
                units_per_seat: 60 + self.random.below(100) as u16,
            },
        };
        Start {
            setup: Setup {
                scenario,
                gold: 5_000,
                wood: 5_000,
                ..Setup::default()
            },
            seed: Seed(seed),
            seats: (0..2 + (number % 3) as u8).map(Seat).collect(),
        }
    }

    fn remember(&mut self, command: &Command) {
        let bytes = postcard::to_allocvec(command).expect("commands encode");
        if self.sane.len() < REMEMBERED {
            self.sane.push(bytes);
        } else {
            let place = self.random.below(REMEMBERED as u32) as usize;
            self.sane[place] = bytes;
        }
    }

    /// Random bytes, small numbers, or a sane command with a few bytes changed: whatever decodes.
    fn command(&mut self) -> Option<Command> {
        let way = self.random.below(4);
        let bytes = if way > 1 && !self.sane.is_empty() {
            self.bent()
        } else {
            self.drawn(way == 0)
        };
        let Ok((command, _)) = postcard::take_from_bytes::<Command>(&bytes) else {
            self.undecodable += 1;
            return None;
        };
        // One in a thousand gives up: else every match would be over in a second.
        if command == Command::Surrender && self.random.below(1_000) > 0 {
            return None;
        }
        let text = format!("{command:?}");
        let kind = text.split([' ', '(', '{']).next().unwrap_or_default();
        *self.kinds.entry(kind.to_owned()).or_default() += 1;
        Some(command)
    }

    fn bent(&mut self) -> Vec<u8> {
        let place = self.random.below(self.sane.len() as u32) as usize;
        let mut bytes = self.sane[place].clone();
        for _ in 0..self.random.below(4) {
            let at = self.random.below(bytes.len() as u32) as usize;
            bytes[at] = self.byte(self.issued.is_multiple_of(2));
        }
        bytes
    }

    fn drawn(&mut self, small: bool) -> Vec<u8> {
        let mut bytes = vec![self.random.below(32) as u8];
        for _ in 0..40 {
            let byte = self.byte(small);
            bytes.push(byte);
        }
        bytes
    }

    fn byte(&mut self, small: bool) -> u8 {
        let byte = self.random.below(256) as u8;
        if small { byte % 16 } else { byte }
    }
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is no number")),
    )
}

const THREADS: [NonZeroUsize; 3] = [
    NonZeroUsize::MIN,
    NonZeroUsize::new(2).unwrap(),
    NonZeroUsize::new(8).unwrap(),
];
/// Hostile commands of one tick, match by match.
const STORMS: [u32; 3] = [40, 400, 5];
const TICKS: u32 = 3_000;
const REMEMBERED: usize = 512;
const USUAL_COMMANDS: u64 = 100_000;
const USUAL_SEED: u64 = 20_261_121;
