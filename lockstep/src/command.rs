//! What becomes of a command.

use crate::TurnNumber;

/// Names one issued command: the `number`-th of its seat, counting from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId {
    /// The seat it was issued for.
    pub seat: sim::Seat,
    /// Its place in the seat's order of issue.
    pub number: u32,
}

/// A command that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Issued {
    /// Its name.
    pub id: CommandId,
    /// The turn that is expected to execute it: later where the match is paused, or turns are taken back.
    pub turn: TurnNumber,
}

/// Why a command is not executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// No match is running here: it is in the lobby or builds its world, is a replay, or is over.
    #[error("no match is running")]
    NotLive,
    /// The seat is not this peer's.
    #[error("the seat is not this peer's")]
    NotOwnSeat,
    /// The encoded command is too large.
    #[error("the command takes {bytes} bytes, the limit is {limit}")]
    TooLarge {
        /// Encoded size.
        bytes: u32,
        /// The limit.
        limit: u32,
    },
    /// The command's own encoding failed.
    #[error("the command cannot be encoded")]
    Unencodable,
    /// The commands that wait fill the next two turns.
    #[error("the commands that wait fill the next two turns: {bytes} of {limit} bytes")]
    Backlog {
        /// Bytes of the commands that no batch holds yet, in a batch.
        bytes: u32,
        /// The limit: twice [`Limits::turn_bytes`](crate::Limits::turn_bytes).
        limit: u32,
    },
    /// Too many commands per second, or too many that still wait.
    #[error("too many commands: wait until earlier ones are executed")]
    RateLimited,
    /// The match ended before it was executed.
    #[error("the match ended first")]
    Ended,
}
