//! Whole matches between bots.

use super::*;
use crate::world::{Effect, Refusal, Setup};
use sim::{Entry, Outcome, Seed, Simulation, Start, State};

struct Played {
    world: World,
    issued: usize,
    refused: usize,
}

fn play(seed: u64, setup: Setup, levels: &[Level], most: u32) -> Played {
    let mut bytes = [3; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let seats: Vec<Seat> = (0..levels.len() as u8).map(Seat).collect();
    let mut world = World::new(&Start {
        setup,
        seed: Seed(bytes),
        seats: seats.clone(),
    });
    let mut bots: Vec<Bot> = seats
        .iter()
        .zip(levels)
        .map(|(seat, level)| Bot::new(*seat, *level))
        .collect();
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
            (10..=120).contains(&a_minute),
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
fn every_level_beats_nobody_at_home() {
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

#[test]
fn levels_read_as_they_are_written() {
    for level in [Level::Easy, Level::Normal, Level::Hard] {
        assert_eq!(level.to_string().parse(), Ok(level));
    }
    assert_eq!("brutal".parse::<Level>(), Err(UnknownLevel));
}
