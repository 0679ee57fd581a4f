//! Whole matches between bots.

use super::*;
use crate::world::{Effect, Id, Refusal, Selection, Setup, Task};
use sim::{Entry, Outcome, Seed, Simulation, Start, State};

struct Played {
    world: World,
    issued: usize,
    refused: usize,
}

fn begin(seed: u64, setup: Setup, seats: u8) -> World {
    let mut bytes = [3; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    World::new(&Start {
        setup,
        seed: Seed(bytes),
        seats: (0..seats).map(Seat).collect(),
    })
}

fn bots(levels: &[Level]) -> Vec<Bot> {
    let seats = (0..).map(Seat);
    let bots = seats
        .zip(levels)
        .map(|(seat, level)| Bot::new(seat, *level));
    bots.collect()
}

fn play(seed: u64, setup: Setup, levels: &[Level], most: u32) -> Played {
    let mut world = begin(seed, setup, levels.len() as u8);
    let mut bots = bots(levels);
    let (mut issued, mut refused) = (0, 0);
    let mut effects = Vec::new();
    while world.outcome().is_none() && world.tick() < most {
        let mut entries = Vec::new();
        for bot in &mut bots {
            let seat = bot.seat();
            let commands = bot.think(&world).into_iter();
            entries.extend(commands.map(|command| Entry::Command { seat, command }));
        }
        issued += entries.len();
        effects.clear();
        world.step(&entries, &mut effects);
        let is_refusal = |effect: &&Effect| matches!(effect, Effect::Refused { reason, .. } if *reason != Refusal::Defeated);
        refused += effects.iter().filter(is_refusal).count();
    }
    Played {
        world,
        issued,
        refused,
    }
}

#[test]
fn matches_end_with_a_winner() {
    for seed in 1..=4 {
        let played = play(seed, Setup::default(), &[Level::Normal; 2], 72_000);
        let ticks = played.world.tick();
        let outcome = played.world.outcome();
        println!("seed {seed}: {outcome:?} after {ticks} ticks");
        assert!(
            matches!(outcome, Some(Outcome { winner: Some(_) })),
            "seed {seed}"
        );
        assert!(
            (3_000..48_000).contains(&ticks),
            "seed {seed}: {ticks} ticks"
        );
        let a_minute = played.issued as u32 * 1_200 / ticks / 2;
        assert!(
            (6..=120).contains(&a_minute),
            "{a_minute} commands a minute"
        );
        assert!(
            played.refused * 16 <= played.issued,
            "{} of {} refused",
            played.refused,
            played.issued
        );
    }
}

#[test]
fn every_level_beats_an_idle_seat() {
    for level in [Level::Easy, Level::Normal, Level::Hard] {
        let mut bytes = [1; 32];
        bytes[0] = level as u8;
        let mut world = World::new(&Start {
            setup: Setup::default(),
            seed: Seed(bytes),
            seats: vec![Seat(0), Seat(1)],
        });
        let mut bot = Bot::new(Seat(1), level);
        while world.outcome().is_none() && world.tick() < 30_000 {
            let commands = bot.think(&world).into_iter();
            let entries: Vec<_> = commands
                .map(|command| Entry::Command {
                    seat: Seat(1),
                    command,
                })
                .collect();
            world.step(&entries, &mut Vec::new());
        }
        println!("{level}: {} ticks", world.tick());
        assert_eq!(
            world.outcome(),
            Some(Outcome {
                winner: Some(Seat(1))
            }),
            "{level}"
        );
    }
}

#[test]
fn the_same_seed_plays_the_same_match() {
    let levels = [Level::Hard, Level::Easy, Level::Normal];
    let [a, b] = [0, 0].map(|_| play(11, Setup::default(), &levels, 4_000).world.checksum());
    assert_eq!(a, b);
}

#[test]
fn an_army_without_a_home_still_attacks() {
    let setup = Setup {
        scenario: crate::world::Scenario::Skirmish { units_per_seat: 30 },
        ..Setup::default()
    };
    let played = play(5, setup, &[Level::Normal; 2], 12_000);
    assert!(
        played.world.outcome().is_some(),
        "{} left",
        played.world.units().count()
    );
}

#[test]
fn a_seat_that_is_not_in_play_thinks_nothing() {
    let played = play(1, Setup::default(), &[Level::Easy], 10);
    assert!(think(&played.world, Seat(9), Level::Hard).is_empty());
}

/// The units, the own building, and the target that a command names.
fn named(command: &Command) -> (Option<&Selection>, Option<Id>, Option<Id>) {
    let (units, task) = match command {
        Command::Queue { units, task } => (units, *task),
        Command::Stop { units } => return (Some(units), None, None),
        Command::Train { building, .. }
        | Command::CancelTrain { building, .. }
        | Command::Rally { building, .. }
        | Command::CancelBuild { building }
        | Command::Leave { building }
        | Command::Research { building, .. }
        | Command::Demolish { building } => return (None, Some(*building), None),
        Command::Surrender => return (None, None, None),
        other => other.task().expect("the others are tasks"),
    };
    match task {
        Task::Attack { target } => (Some(units), None, Some(target)),
        Task::Assist { building } | Task::Garrison { building } => {
            (Some(units), Some(building), None)
        }
        _ => (Some(units), None, None),
    }
}

#[test]
fn bots_command_own_units_and_name_only_targets_in_sight() {
    let levels = [Level::Hard, Level::Normal, Level::Hard, Level::Easy];
    let mut named_targets = 0;
    for seed in 21..=22 {
        let mut world = begin(seed, Setup::default(), levels.len() as u8);
        let mut bots = bots(&levels);
        while world.outcome().is_none() && world.tick() < 12_000 {
            let mut entries = Vec::new();
            for bot in &mut bots {
                let seat = bot.seat();
                for command in bot.think(&world) {
                    let (units, building, target) = named(&command);
                    // A reference names units that this seat selected before: its own.
                    let numbers = units.and_then(|units| units.numbers().ok());
                    for number in numbers.unwrap_or(&[]) {
                        let mut own = world.units().filter(|unit| unit.seat == seat);
                        let found = own.any(|unit| unit.number == *number);
                        assert!(found, "seed {seed}: {command:?}");
                    }
                    let owner = building.map(|id| world.building(id).map(|b| b.seat));
                    assert!(owner.is_none_or(|owner| owner == Some(seat)), "{command:?}");
                    if let Some(target) = target {
                        named_targets += 1;
                        let at = world.unit(target).map(|unit| unit.tile);
                        let at = at.or_else(|| world.building(target).map(|b| b.tile));
                        let seen = at.is_some_and(|tile| world.sees(seat, tile));
                        assert!(seen, "seed {seed}: {command:?}");
                    }
                    if let Command::Build { at, .. } | Command::Gather { from: at, .. } = command {
                        assert!(world.explored(seat, at), "seed {seed}: {command:?}");
                    }
                    entries.push(Entry::Command { seat, command });
                }
            }
            world.step(&entries, &mut Vec::new());
        }
    }
    assert!(named_targets > 0, "no command named a target");
}

#[test]
fn a_thought_is_a_function_of_what_the_seat_sees() {
    let levels = [Level::Hard, Level::Hard];
    let mut thoughts = 0;
    for most in [1_500, 3_000, 4_000, 5_000] {
        let world = play(31, Setup::default(), &levels, most).world;
        let mut saved = Vec::new();
        world.save(&mut saved);
        let loaded = World::load(&saved).expect("its own snapshot");
        // Another seat's deeds out of sight change nothing.
        let hidden: Vec<Id> = world
            .units()
            .filter(|unit| unit.seat == Seat(1) && !world.sees(Seat(0), unit.tile))
            .map(|unit| unit.id)
            .collect();
        assert!(hidden.len() > 5, "{}", hidden.len());
        let units = world.select(Seat(1), hidden);
        let (mut stopped, mut working) = (world.clone(), world.clone());
        let entries = [Entry::Command {
            seat: Seat(1),
            command: Command::Stop { units },
        }];
        stopped.step(&entries, &mut Vec::new());
        working.step(&[], &mut Vec::new());
        assert_ne!(stopped.checksum(), working.checksum());
        for level in [Level::Easy, Level::Normal, Level::Hard] {
            let thought = think(&world, Seat(0), level);
            assert_eq!(thought, think(&loaded, Seat(0), level));
            thoughts += thought.len();
            let [a, b] = [&stopped, &working].map(|world| think(world, Seat(0), level));
            assert_eq!(a, b, "{level}");
        }
    }
    assert!(thoughts > 0, "no thought had a command");
}

#[test]
#[allow(clippy::disallowed_methods, reason = "it measures a thought")]
fn a_thought_about_a_full_household_is_short() {
    let population = 250;
    let army = |units_per_seat| {
        let scenario = crate::world::Scenario::Skirmish { units_per_seat };
        let setup = Setup {
            scenario,
            population,
            ..Setup::default()
        };
        begin(7, setup, 2)
    };
    // The best of several, because the machine has other things to do.
    let spent = |world: &World| {
        let thoughts = (0..20).map(|_| {
            let began = std::time::Instant::now();
            think(world, Seat(0), Level::Hard);
            began.elapsed()
        });
        thoughts.min().expect("some")
    };
    let (few, many) = (spent(&army(250)), spent(&army(2_000)));
    println!("{few:?} at 250 units of each seat, {many:?} at 2,000");
    let bound = std::time::Duration::from_millis(if cfg!(debug_assertions) { 40 } else { 4 });
    assert!(few < bound, "{few:?}");
    assert!(
        many < few * 24 + bound,
        "{few:?} {many:?}: more than linear"
    );
}

#[test]
fn levels_read_as_they_are_written() {
    for level in [Level::Easy, Level::Normal, Level::Hard] {
        assert_eq!(level.to_string().parse(), Ok(level));
    }
    assert_eq!("brutal".parse::<Level>(), Err(UnknownLevel));
}
