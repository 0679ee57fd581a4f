//! The numbers and names that everything else speaks in.

use crate::encoding::{DecodeError, Reader, put_varint};
use crate::limits::LONGEST_DELAY;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// The number of a turn. The first turn is 0.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct TurnNumber(pub u32);

impl TurnNumber {
    /// The turn after this one.
    ///
    /// # Panics
    /// After turn 4,294,967,295: 27 years at 200 ms a turn.
    pub fn next(self) -> TurnNumber {
        TurnNumber(
            self.0
                .checked_add(1)
                .expect("a match ends before turn 2^32"),
        )
    }
}

impl fmt::Display for TurnNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The turn plan: how long turns are, and how many whole turns lie between issuing and executing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Ticks in a turn: 1, 2, 4 or 8.
    pub ticks: u8,
    /// Command delay in turns: 2–8 with a network, 1 without.
    pub delay_turns: u8,
    /// Milliseconds in a tick, 1–1,000.
    pub tick_ms: u16,
}

impl Plan {
    /// Length of a turn.
    pub fn turn(&self) -> Duration {
        Duration::from_millis(u64::from(self.ticks) * u64::from(self.tick_ms))
    }

    /// Time from a batch's sealing to its deadline at the others, if all clocks agree.
    pub fn network_budget(&self) -> Duration {
        self.turn() * u32::from(self.delay_turns.saturating_sub(1))
    }

    /// The longest time from a command to its execution, if no turn is late.
    pub fn latency(&self) -> Duration {
        self.turn() * u32::from(self.delay_turns)
    }

    /// Length of a tick.
    pub fn tick(&self) -> Duration {
        Duration::from_millis(u64::from(self.tick_ms))
    }

    /// Checks every number against its range; `networked` asks for a delay of at least 2.
    pub fn is_valid(&self, networked: bool) -> bool {
        let least = if networked { 2 } else { 1 };
        matches!(self.ticks, 1 | 2 | 4 | 8)
            && (least..=LONGEST_DELAY as u8).contains(&self.delay_turns)
            && (1..=1_000).contains(&self.tick_ms)
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.ticks);
        out.push(self.delay_turns);
        put_varint(out, u64::from(self.tick_ms));
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Plan, DecodeError> {
        let plan = Plan {
            ticks: reader.byte()?,
            delay_turns: reader.byte()?,
            tick_ms: u16::try_from(reader.varint()?)
                .map_err(|_| reader.fail("a tick that is too long"))?,
        };
        match plan.is_valid(false) {
            true => Ok(plan),
            false => Err(reader.fail("a plan out of range")),
        }
    }
}

impl Default for Plan {
    /// 200 ms × 2 at 50 ms per tick.
    fn default() -> Self {
        Plan {
            ticks: 4,
            delay_turns: 2,
            tick_ms: 50,
        }
    }
}

impl fmt::Display for Plan {
    /// `200x2`: milliseconds in a turn and command delay.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.turn().as_millis(), self.delay_turns)
    }
}

/// A peer's name: its Ed25519 public key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PeerId(pub [u8; 32]);

/// Names a match.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MatchId(pub [u8; 16]);

/// One run of a peer's process: a random number drawn at its start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Incarnation(pub [u8; 16]);

/// The hash chain over the log, up to some turn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LogHash(pub [u8; 16]);

/// A link to another peer, numbered by the transport; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

impl fmt::Display for PeerId {
    /// The first 8 hex digits, enough to tell the peers of a match apart.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(f, &self.0[..4])
    }
}

impl fmt::Display for MatchId {
    /// `7f3a-91c2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(f, &self.0[..2])?;
        f.write_str("-")?;
        hex(f, &self.0[2..4])
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(f, &self.0)
    }
}

impl fmt::Display for LogHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(f, &self.0)
    }
}

macro_rules! debug_as_hex {
    ($($name:ident),*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "("))?;
                hex(f, &self.0)?;
                f.write_str(")")
            }
        }
    )*};
}
debug_as_hex!(PeerId, MatchId, Incarnation, LogHash);

fn hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}
