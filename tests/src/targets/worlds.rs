//! The demo's world: snapshots and commands of any bytes.

use demo_rts::world::{Command, Scenario, Setup, World};
use lockstep::log::{Bundle, LogEntry, What};
use lockstep::{Plan, TurnNumber, world_entries};
use sim::{Seat, Seed, Simulation, Start, State};
use std::sync::LazyLock;

/// Where the first byte is even, the rest is a snapshot; else it is commands of one turn for a small world: a byte of the
/// seat, one of the length, and the command. A snapshot that loads saves as the same bytes. Both worlds play on, and load
/// from what they save.
///
/// # Panics
/// If they do not.
pub fn world(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else {
        return;
    };
    let (mut world, entries) = match first % 2 {
        0 => {
            let Ok(world) = World::load(rest) else {
                return;
            };
            assert_eq!(saved(&world), rest, "one world, one encoding");
            (world, Vec::new())
        }
        _ => (SMALL.clone(), entries(rest)),
    };
    for tick in 0..TICKS {
        let entries = if tick == 0 { &entries[..] } else { &[] };
        world.step(entries, &mut Vec::new());
    }
    let bytes = saved(&world);
    let loaded = World::load(&bytes).expect("what a world saves loads");
    assert_eq!(loaded.checksum(), world.checksum());
}

/// The input that is this snapshot.
pub(super) fn of_snapshot(world: &World) -> Vec<u8> {
    let mut input = vec![0];
    world.save(&mut input);
    input
}

/// The input that is these commands.
pub(super) fn of_commands(commands: &[(Seat, Command)]) -> Vec<u8> {
    let mut input = vec![1];
    for (seat, command) in commands {
        let command = postcard::to_allocvec(command).expect("a command encodes");
        if let Ok(length) = u8::try_from(command.len()) {
            input.extend([seat.0, length]);
            input.extend(command);
        }
    }
    input
}

/// The world that is given commands.
pub(super) fn small() -> World {
    let setup = Setup {
        scenario: Scenario::Standard,
        size: Some(48),
        gold: 5_000,
        wood: 5_000,
        ..Setup::default()
    };
    let mut world = World::new(&Start {
        setup,
        seed: Seed([7; 32]),
        seats: vec![Seat(0), Seat(1)],
    });
    world.set_threads(std::num::NonZeroUsize::MIN);
    for _ in 0..20 {
        world.step(&[], &mut Vec::new());
    }
    world
}

static SMALL: LazyLock<World> = LazyLock::new(small);

/// Ticks that a world plays on.
const TICKS: u32 = 4;
/// Commands of a turn.
const MOST_COMMANDS: usize = 64;

/// As a peer takes them out of a turn.
fn entries(mut bytes: &[u8]) -> Vec<sim::Entry<Command>> {
    let mut entries = Vec::new();
    while let [seat, length, rest @ ..] = bytes
        && entries.len() < MOST_COMMANDS
    {
        let (command, after) = rest.split_at(usize::from(*length).min(rest.len()));
        entries.push(LogEntry {
            seat: Seat(seat % 3),
            what: What::Command(command.into()),
        });
        bytes = after;
    }
    entries.sort_by_key(|entry| entry.seat);
    let turn = Bundle {
        turn: TurnNumber(0),
        plan: Plan::default(),
        paused: false,
        entries,
    };
    world_entries(&turn).0
}

fn saved(world: &World) -> Vec<u8> {
    let mut bytes = Vec::new();
    world.save(&mut bytes);
    bytes
}
