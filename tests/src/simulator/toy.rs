//! A small world that makes every mistake visible: commands change numbers that later ticks mix.

use super::playable::Playable;
use crate::random::Stream;
use rand_core::Rng;
use rand_pcg::Lcg64Xsh32;
use serde::{Deserialize, Serialize};
use sim::{Entry, LoadError, Outcome, RulesId, Seat, SeatState, Simulation, Start, State, Visit};

/// Units on a ring, pushed by commands and by chance.
pub struct Toy {
    tick: u32,
    /// One bit per seat that resigned or became idle.
    closed: u32,
    places: Vec<i32>,
    speeds: Vec<i32>,
    marks: Vec<u32>,
    random: Lcg64Xsh32,
}

/// A command of a seat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Want {
    /// Unique in a run.
    pub mark: u32,
    /// The order.
    pub order: Order,
}

/// The orders of the toy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Changes a unit's speed.
    Push(u16, i16),
    /// Gives a unit a random speed.
    Roll(u16),
    /// Bytes that are mixed into the units one by one.
    Mix(Vec<u8>),
}

const UNITS: usize = 256;

impl State for Toy {
    fn save(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.tick.to_le_bytes());
        out.extend_from_slice(&self.closed.to_le_bytes());
        for column in [&self.places, &self.speeds] {
            for value in column {
                out.extend_from_slice(&value.to_le_bytes());
            }
        }
        for value in &self.marks {
            out.extend_from_slice(&value.to_le_bytes());
        }
        let random = postcard::to_allocvec(&self.random).expect("a generator is plain numbers");
        out.extend_from_slice(&random);
    }

    fn load(bytes: &[u8]) -> Result<Self, LoadError> {
        let short = || LoadError {
            what: "ends too early",
            at: bytes.len(),
        };
        let (words, random) = bytes
            .split_at_checked((2 + 3 * UNITS) * 4)
            .ok_or_else(short)?;
        let words: Vec<[u8; 4]> = words
            .chunks_exact(4)
            .map(|word| word.try_into().expect("chunks of four"))
            .collect();
        let signed = |range: std::ops::Range<usize>| {
            words[range]
                .iter()
                .map(|word| i32::from_le_bytes(*word))
                .collect()
        };
        Ok(Toy {
            tick: u32::from_le_bytes(words[0]),
            closed: u32::from_le_bytes(words[1]),
            places: signed(2..2 + UNITS),
            speeds: signed(2 + UNITS..2 + 2 * UNITS),
            marks: words[2 + 2 * UNITS..]
                .iter()
                .map(|word| u32::from_le_bytes(*word))
                .collect(),
            random: postcard::from_bytes(random).map_err(|_| short())?,
        })
    }

    fn visit(&self, to: &mut dyn Visit) {
        to.section("units", UNITS);
    }
}

impl Simulation for Toy {
    type Setup = u32;
    type Command = Want;
    type Effect = ();

    fn rules(_: &u32) -> RulesId {
        RulesId(*b"toy world rules1")
    }

    fn new(start: &Start<u32>) -> Self {
        let half = |at: usize| {
            let bytes = start.seed.0[at..at + 8].try_into();
            u64::from_le_bytes(bytes.expect("eight bytes"))
        };
        Toy {
            tick: start.setup,
            closed: 0,
            places: (0..UNITS as i32).collect(),
            speeds: vec![0; UNITS],
            marks: vec![0; UNITS],
            random: Lcg64Xsh32::new(half(0), half(8)),
        }
    }

    fn step(&mut self, entries: &[Entry<Want>], _: &mut Vec<()>) {
        for entry in entries {
            match entry {
                Entry::Seat { seat, state } => self.close(*seat, *state),
                Entry::Command { seat, command } => self.obey(*seat, command),
            }
        }
        self.tick = self.tick.wrapping_add(1);
        let pushed = (self.random.next_u32() as usize) % UNITS;
        self.speeds[pushed] = self.speeds[pushed].wrapping_add(1);
        for unit in 0..UNITS {
            self.places[unit] = self.places[unit].wrapping_add(self.speeds[unit]);
        }
    }

    fn outcome(&self) -> Option<Outcome> {
        None
    }
}

impl Toy {
    fn close(&mut self, seat: Seat, state: SeatState) {
        let bit = 1_u32.wrapping_shl(u32::from(seat.0));
        match state {
            SeatState::Played => self.closed &= !bit,
            SeatState::Idle | SeatState::Ai | SeatState::Resigned => self.closed |= bit,
        }
    }

    fn obey(&mut self, seat: Seat, want: &Want) {
        if self.closed & 1_u32.wrapping_shl(u32::from(seat.0)) != 0 {
            return;
        }
        let home = usize::from(seat.0) % UNITS;
        self.marks[home] = self.marks[home].wrapping_mul(31).wrapping_add(want.mark);
        match &want.order {
            Order::Push(unit, by) => {
                let unit = usize::from(*unit) % UNITS;
                self.speeds[unit] = self.speeds[unit].wrapping_add(i32::from(*by));
            }
            Order::Roll(unit) => {
                let unit = usize::from(*unit) % UNITS;
                self.speeds[unit] = (self.random.next_u32() % 1_000) as i32;
            }
            Order::Mix(bytes) => {
                for (unit, byte) in bytes.iter().enumerate() {
                    let mark = &mut self.marks[unit % UNITS];
                    *mark = mark.wrapping_mul(257).wrapping_add(u32::from(*byte));
                }
            }
        }
    }
}

impl Playable for Toy {
    fn setup(random: &mut Stream) -> u32 {
        random.below(1_000) as u32
    }

    fn command(random: &mut Stream, mark: u32, bytes: usize) -> Want {
        let order = match random.below(3) {
            _ if bytes > 12 => Order::Mix(random.bytes(bytes - 10)),
            0 => Order::Roll(random.below(UNITS as u64) as u16),
            1 => Order::Push(
                random.below(UNITS as u64) as u16,
                random.below(200) as i16 - 100,
            ),
            _ => Order::Mix(random.bytes(bytes / 2)),
        };
        Want { mark, order }
    }

    fn corrupt(&mut self) {
        self.places[UNITS / 2] ^= 1;
    }
}
