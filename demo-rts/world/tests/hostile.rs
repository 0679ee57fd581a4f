//! Commands made of random and hostile values, by the hundred thousand: no panic, no overflow, no tick
//! whose work or effects grow beyond what the rules bound, and the same world on every number of threads,
//! with and without wide instructions, and from a snapshot.
//!
//! For millions: `HOSTILE_COMMANDS=5000000 HOSTILE_SEED=1 cargo test --release -p demo-world --test hostile -- --nocapture`

use demo_world::bot::{Bot, Level};
use demo_world::world::{
    BUILDINGS_PER_SEAT, Command, Density, Effect, STEPS_PER_TICK, Scenario, Setup, WAYPOINTS, World,
};
use sim::{Entry, Seat, Seed, Simulation, Start, State, Stream};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

#[test]
fn hostile_streams_change_nothing_but_the_world() {
    let wanted = number("HOSTILE_COMMANDS").unwrap_or(USUAL_COMMANDS);
    let seed = number("HOSTILE_SEED").unwrap_or(USUAL_SEED);
    println!(
        "repeat: HOSTILE_COMMANDS={wanted} HOSTILE_SEED={seed} cargo test --release -p demo-world --test hostile -- --nocapture"
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
    println!("worst tick: {:?}, a figure and no limit", run.worst);
    for (kind, count) in &run.kinds {
        println!("  {count:>9} {kind}");
    }
    // Most variants must have been drawn, and some of their commands must have been obeyed.
    assert!(run.kinds.len() >= 12, "{:?}", run.kinds);
    assert!(run.refused < run.issued * 99 / 100, "nothing was obeyed");
    assert!(run.refused > 0, "nothing was refused");
    let all = wanted < USUAL_COMMANDS || matches >= BEGINNINGS;
    assert!(all && run.reloads > 0, "{matches} matches");
}

struct Run {
    random: Stream,
    issued: u64,
    undecodable: u64,
    refused: u64,
    ticks: u64,
    reloads: u64,
    /// The longest step of a world that runs on one thread.
    worst: Duration,
    kinds: BTreeMap<String, u64>,
    /// Encoded commands of bots: a nearly right command does most harm.
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
            reloads: 0,
            worst: Duration::ZERO,
            kinds: BTreeMap::new(),
            sane: Vec::new(),
        }
    }

    /// One match, until it is decided, long enough, or its share of the commands was issued.
    fn play(&mut self, number: u64, wanted: u64) {
        let start = self.start(number);
        let seats = start.seats.clone();
        let mut worlds: Vec<World> = (0..THREADS.len())
            .map(|place| kept_alike(World::new(&start), place))
            .collect();
        let mut bots: Vec<Bot> = seats
            .iter()
            .map(|seat| Bot::new(*seat, Level::Normal))
            .collect();
        let storm = STORMS[number as usize % STORMS.len()];
        let share = wanted.min(self.issued + wanted.div_ceil(BEGINNINGS));
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
            let before = Load::of(&worlds[0]);
            for (place, world) in worlds.iter_mut().enumerate() {
                let mut effects = Vec::new();
                let began = now();
                world.step(&entries, &mut effects);
                if place == 0 {
                    self.worst = self.worst.max(began.elapsed());
                    self.refused += before.check(world, entries.len(), &effects);
                }
            }
            self.ticks += 1;
            let done = worlds[0].outcome().is_some() || self.issued >= share;
            if done || tick % SAVED_EVERY == 0 {
                let sums: Vec<_> = worlds.iter().map(State::checksum).collect();
                assert!(
                    sums.iter().all(|sum| *sum == sums[0]),
                    "match {number}, tick {tick}: threads {THREADS:?} have {sums:?}"
                );
                check_bounds(&worlds[0], &start);
                let mut saved = Vec::new();
                worlds[RELOADED].save(&mut saved);
                let loaded = World::load(&saved)
                    .unwrap_or_else(|why| panic!("match {number}, tick {tick}: {why}"));
                worlds[RELOADED] = kept_alike(loaded, RELOADED);
                self.reloads += 1;
            }
            if done {
                return;
            }
        }
    }

    fn start(&mut self, number: u64) -> Start<Setup> {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&self.random.next_u64().to_le_bytes());
        let some = 60 + self.random.below(100) as u16;
        let (scenario, seats) = match number % BEGINNINGS {
            0 => (Scenario::Standard, 2),
            1 => (Scenario::Standard, 8),
            2 => {
                let units_per_seat = some;
                (Scenario::Skirmish { units_per_seat }, 4)
            }
            3 => {
                let units_per_seat = some;
                (Scenario::Archers { units_per_seat }, 8)
            }
            _ => {
                let (units, density) = (u32::from(some) * 10, Density::Dense);
                (Scenario::Swarm { units, density }, 3)
            }
        };
        Start {
            setup: Setup {
                scenario,
                gold: 5_000,
                wood: 5_000,
                ..Setup::default()
            },
            seed: Seed(seed),
            seats: (0..seats).map(Seat).collect(),
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
        // One surrender in a thousand stays: else every match would be over in a second.
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

/// The clock, for a figure that is printed and decides nothing.
#[allow(clippy::disallowed_methods)]
fn now() -> Instant {
    Instant::now()
}

/// One of the compared worlds: each runs in a way of its own.
fn kept_alike(mut world: World, place: usize) -> World {
    world.set_threads(THREADS[place]);
    world.set_plain(place == PLAIN);
    world
}

/// The sizes of a world before a tick, which bound the tick's work.
struct Load {
    units: usize,
    buildings: usize,
    search_steps: u64,
}

impl Load {
    fn of(world: &World) -> Load {
        Load {
            units: world.units().count(),
            buildings: world.buildings().count(),
            search_steps: world.search_steps(),
        }
    }

    /// Checks the work and the effects of the tick that came after, and counts what it refused.
    fn check(&self, world: &World, commands: usize, effects: &[Effect]) -> u64 {
        let steps = world.search_steps();
        assert!(steps <= self.search_steps + STEPS_PER_TICK, "{steps} steps");
        let mut counts = [0; 4];
        for effect in effects {
            let number = match effect {
                Effect::Refused { .. } => 0,
                Effect::Died { .. } => 1,
                Effect::Built { .. } | Effect::Trained { .. } | Effect::Researched { .. } => 2,
                Effect::Gathered { .. } | Effect::Exhausted { .. } => 3,
                Effect::Hit { .. } | Effect::Launched { .. } | Effect::Defeated { .. } => continue,
            };
            counts[number] += 1;
        }
        let [refused, died, made, gathered] = counts;
        // Each command founds one building at most.
        let buildings = self.buildings + commands;
        assert!(refused <= commands, "{refused} of {commands} refused");
        assert!(died <= self.units + buildings + made, "{died} died");
        assert!(made <= buildings, "{made} made");
        assert!(gathered <= 2 * self.units, "{gathered} gathered");
        refused as u64
    }
}

/// No seat owns more than the rules allow, or keeps more orders waiting.
fn check_bounds(world: &World, start: &Start<Setup>) {
    for seat in &start.seats {
        let buildings = world.buildings().filter(|b| b.seat == *seat).count();
        assert!(buildings <= BUILDINGS_PER_SEAT, "{buildings} buildings");
        if start.setup.scenario == Scenario::Standard {
            let units = world.units().filter(|unit| unit.seat == *seat).count();
            assert!(
                units <= usize::from(start.setup.population),
                "{units} units"
            );
        }
    }
    for unit in world.units() {
        assert!(world.waypoints(unit.id).count() <= WAYPOINTS);
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
/// Ways in which matches begin, one after the other.
const BEGINNINGS: u64 = 5;
/// The world that does without wide instructions, and the one that goes on from snapshots.
const PLAIN: usize = 2;
const RELOADED: usize = 1;
/// Ticks from one comparison and snapshot to the next.
const SAVED_EVERY: u32 = 40;
const TICKS: u32 = 2_000;
const REMEMBERED: usize = 512;
const USUAL_COMMANDS: u64 = 100_000;
const USUAL_SEED: u64 = 20_261_121;
