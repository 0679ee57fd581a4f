//! What the harness needs of a world beside `Simulation`, and how a bundle is executed on it.

use crate::random::Stream;
use lockstep::log::{Bundle, What};
use serde::{Serialize, de::DeserializeOwned};
use sim::{Entry, SeatState, Simulation};

/// A world that the harness can play at random.
pub trait Playable: Simulation {
    /// A random setup.
    fn setup(random: &mut Stream) -> Self::Setup;
    /// A random command. `mark` is unique; `bytes` is roughly the encoded length.
    fn command(random: &mut Stream, mark: u32, bytes: usize) -> Self::Command;
    /// Changes one bit, like a fault of memory or of code.
    fn corrupt(&mut self);
}

/// Builds the world of a start; `None` for a setup of another world.
pub fn build<W: Simulation>(start: &lockstep::log::Start) -> Option<W> {
    Some(W::new(&sim::Start {
        setup: from_bytes(&start.setup)?,
        seed: start.seed,
        seats: start.seats(),
    }))
}

/// Executes a bundle. A command that does not decode resigns its seat for the rest of the turn.
pub fn execute<W: Simulation>(world: &mut W, bundle: &Bundle) {
    let mut entries = Vec::new();
    let mut closed = None;
    for entry in &bundle.entries {
        let seat = entry.seat;
        match &entry.what {
            What::Command(_) if closed == Some(seat) => {}
            What::Command(bytes) => entries.push(match from_bytes(bytes) {
                Some(command) => Entry::Command { seat, command },
                None => {
                    closed = Some(seat);
                    let state = SeatState::Resigned;
                    Entry::Seat { seat, state }
                }
            }),
            What::Seat(state) => entries.push(Entry::Seat {
                seat,
                state: *state,
            }),
            _ => {}
        }
    }
    let mut effects = Vec::new();
    for _ in 0..bundle.ticks() {
        effects.clear();
        world.step(&entries, &mut effects);
        entries.clear();
    }
}

/// The encoding of commands and setups in a match.
pub fn to_bytes(value: &impl Serialize) -> Vec<u8> {
    postcard::to_allocvec(value).expect("a value in memory can be encoded")
}

fn from_bytes<V: DeserializeOwned>(bytes: &[u8]) -> Option<V> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Some(value),
        _ => None,
    }
}
