//! Where a file breaks off, and how much of it is valid.

use crate::words::{clock, count, thousands};
use crate::{FileEnd, Reader};
use lockstep::TurnNumber;
use std::fmt;
use std::time::Duration;

/// Where and how a file breaks off, and how much of it is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// Offset of the first invalid byte.
    pub at: u64,
    /// Bytes of the file.
    pub of: u64,
    /// Whether it ends within an item; otherwise bytes are invalid.
    pub cut: bool,
    /// Whole turns before it.
    pub turns: u32,
    /// Their match time.
    pub time: Duration,
}

impl Damage {
    pub(crate) fn of(reader: &Reader) -> Option<Damage> {
        let (at, cut) = match reader.file_end() {
            FileEnd::Complete | FileEnd::Open => return None,
            FileEnd::Cut { at, .. } => (at, true),
            FileEnd::Damaged { at } => (at, false),
        };
        let turns = reader.turns();
        Some(Damage {
            at,
            of: reader.file_bytes(),
            cut,
            turns,
            time: reader.time_of(TurnNumber(turns)),
        })
    }

    /// What the user can do with the file of this name: a sentence without a full stop.
    pub fn remedy(&self, name: impl fmt::Display) -> String {
        format!(
            "the {} before it are valid; the command `replay trim {name}` writes them to a clean file",
            count(u64::from(self.turns), "turn")
        )
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.cut {
            "ends in the middle of a record"
        } else {
            "is damaged"
        };
        write!(
            f,
            "{what} at byte {} of {} (turn {}, {})",
            thousands(self.at),
            thousands(self.of),
            thousands(u64::from(self.turns)),
            clock(self.time)
        )
    }
}
