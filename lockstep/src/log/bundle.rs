//! What a turn executes, and how its entries are encoded.

use crate::encoding::{DecodeError, Reader, put_bytes, put_varint};
use crate::limits::{MAX_CHAT, MAX_COMMAND};
use crate::{Plan, TurnNumber};
use sim::{Seat, SeatState};
use std::sync::Arc;

/// What one turn executes: the effective content of all roster peers' batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// The turn.
    pub turn: TurnNumber,
    /// The plan in force.
    pub plan: Plan,
    /// A paused turn steps no tick and holds no command.
    pub paused: bool,
    /// In seat order, and within a seat in the order of issue.
    pub entries: Vec<LogEntry>,
}

impl Bundle {
    /// Ticks to step.
    pub fn ticks(&self) -> u8 {
        if self.paused { 0 } else { self.plan.ticks }
    }
}

/// One entry of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// The seat it comes from.
    pub seat: Seat,
    /// What it is.
    pub what: What,
}

impl LogEntry {
    /// All seats that it names.
    pub fn seats(&self) -> impl Iterator<Item = Seat> {
        let other = match self.what {
            What::Way { from, .. } => Some(from),
            _ => None,
        };
        std::iter::once(self.seat).chain(other)
    }
}

/// What an entry of a bundle is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum What {
    /// A command of the game, encoded. The `n`-th command of its seat in the log has the number `n`.
    Command(Arc<[u8]>),
    /// The seat changed hands.
    Seat(SeatState),
    /// Turns after this one are paused.
    Pause,
    /// Turns after this one run again.
    Resume,
    /// Public chat.
    Chat(String),
    /// The machine of the peer whose lowest seat this is needs so many sixteenths of a millisecond for a tick. Only
    /// where that is more than ticks of the start's length have to spare; see [`Metering`](super::Metering).
    Load(u16),
    /// Batches of the peer with this lowest seat came to the peer whose lowest seat the entry names so many milliseconds
    /// after their sealing, at worst. Only where the plan is adaptive and its fastest form does not fit that; see
    /// [`Plans`](super::Plans).
    Way {
        /// The lowest seat of the peer that sealed them.
        from: Seat,
        /// Milliseconds, up to [`MAX_WAY`].
        ms: u16,
    },
}

/// The largest load that is reported: the longest tick there is.
pub const MAX_LOAD: u16 = 16_000;
/// The longest way of a batch that a plan is made for, in milliseconds.
pub const MAX_WAY: u16 = 600;

pub(crate) fn encode_entries(out: &mut Vec<u8>, entries: &[LogEntry]) {
    put_varint(out, entries.len() as u64);
    for entry in entries {
        out.push(entry.seat.0);
        match &entry.what {
            // Most entries are commands: their length carries the kind, above the other kinds' numbers.
            What::Command(bytes) => {
                put_varint(out, bytes.len() as u64 + FIRST_LENGTH);
                out.extend_from_slice(bytes);
            }
            What::Seat(state) => {
                out.push(0);
                out.push(match state {
                    SeatState::Played => 0,
                    SeatState::Idle => 1,
                    SeatState::Ai => 2,
                    SeatState::Resigned => 3,
                });
            }
            What::Pause => out.push(1),
            What::Resume => out.push(2),
            What::Chat(text) => {
                out.push(3);
                put_bytes(out, text.as_bytes());
            }
            What::Load(load) => {
                out.push(4);
                put_varint(out, u64::from(*load));
            }
            What::Way { from, ms } => {
                out.push(5);
                out.push(from.0);
                put_varint(out, u64::from(*ms));
            }
        }
    }
}

const FIRST_LENGTH: u64 = 6;

/// Bytes of the entries of one turn: more than the batches of all peers, their reports and the changes of all seats.
const MAX_TURN: usize = 16 << 10;

pub(crate) fn decode_entries(reader: &mut Reader<'_>) -> Result<Vec<LogEntry>, DecodeError> {
    let before = reader.remaining();
    let count = reader.count(before / 2, "more entries than bytes")?;
    let mut entries = Vec::with_capacity(count);
    for _ in 0..count {
        let seat = Seat(reader.byte()?);
        let what = match reader.varint()? {
            0 => What::Seat(match reader.byte()? {
                0 => SeatState::Played,
                1 => SeatState::Idle,
                2 => SeatState::Ai,
                3 => SeatState::Resigned,
                _ => return Err(reader.fail("no such seat state")),
            }),
            1 => What::Pause,
            2 => What::Resume,
            3 => {
                let text = reader.text()?;
                if text.len() > MAX_CHAT {
                    return Err(reader.fail("a chat text above its limit"));
                }
                What::Chat(text)
            }
            4 => What::Load(reader.count(MAX_LOAD.into(), "a load above its bound")? as u16),
            5 => What::Way {
                from: Seat(reader.byte()?),
                ms: reader.count(MAX_WAY.into(), "a way above its bound")? as u16,
            },
            length => {
                let length = length - FIRST_LENGTH;
                if length > MAX_COMMAND as u64 {
                    return Err(reader.fail("a command above its limit"));
                }
                What::Command(reader.take(length as usize)?.into())
            }
        };
        entries.push(LogEntry { seat, what });
        if before - reader.remaining() > MAX_TURN {
            return Err(reader.fail("a turn above its limit"));
        }
    }
    if !entries.is_sorted_by_key(|entry| entry.seat) {
        return Err(reader.fail("entries out of seat order"));
    }
    Ok(entries)
}
