//! What can be wrong with a replay file.

use lockstep::log::DecodeError;
use sim::RulesId;
use std::io;

/// Why a replay cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The disk, or the path.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A file of this name exists, and recordings are never overwritten.
    #[error("the file exists already: choose another name")]
    Exists,
    /// The file holds nothing.
    #[error("the file is empty")]
    Empty,
    /// The file is no replay.
    #[error("this is not a replay file")]
    Foreign,
    /// The file was written by another version of the format or protocol.
    #[error(
        "the file is of version {format}.{protocol}, this build reads {}.{}: use the release that wrote it",
        crate::format::VERSION,
        lockstep::PROTOCOL
    )]
    Version {
        /// The file's format.
        format: u16,
        /// The file's protocol.
        protocol: u16,
    },
    /// A recording was begun, and no match: its process died in the lobby.
    #[error("nothing is recorded in it yet: the match had not begun")]
    NotBegun,
    /// The file is cut or damaged before its first turn, so that nothing of the match is left.
    #[error("the start of the match is damaged at byte {at}: nothing can be read from this file")]
    Start {
        /// Offset of the first item that does not hold.
        at: u64,
    },
    /// A part of the file changed after it was opened.
    #[error("the file changed while it was read, at byte {at}: open it again")]
    Changed {
        /// Offset of the item.
        at: u64,
    },
    /// Nothing is known of where the match's peers were.
    #[error(
        "nothing beside this file says where the match's peers were: come back with a ticket of one of them"
    )]
    NoWayBack,
    /// The match of a ticket is another one.
    #[error("this is a replay of another match than the ticket's")]
    OtherMatch,
    /// There is nothing to go on with.
    #[error("the match in this replay has ended")]
    Over,
    /// More turns than are held in memory to come back with.
    #[error("the match has {turns} turns, and nobody comes back into one of more than {most}")]
    TooLong {
        /// Turns of the match.
        turns: u32,
        /// Turns that are taken.
        most: u32,
    },
    /// One player went on alone with this match: nobody else has that part of it.
    #[error(
        "from turn {turns} on one player went on alone in this replay: nobody can come back into that, only play on from it"
    )]
    Continued {
        /// Turns before that.
        turns: u32,
    },
    /// There is no such moment in the replay.
    #[error("there is no turn {turns}: the last moment to play on from is before turn {last}")]
    NoSuchTurn {
        /// The turn that was asked for.
        turns: u32,
        /// Turns of the replay.
        last: u32,
    },
    /// The match was decided at that moment.
    #[error("before turn {turns} the match is decided: choose an earlier turn to play on from")]
    Decided {
        /// Turns executed.
        turns: u32,
    },
    /// The turns do not lead to the worlds that were recorded.
    #[error(
        "after {turns} turns the world is another than the recorded one: `replay verify` says more"
    )]
    OtherWorld {
        /// Turns executed.
        turns: u32,
    },
    /// A recording stopped.
    #[error(transparent)]
    Store(#[from] lockstep::log::StoreError),
    /// A keyframe cannot be unpacked.
    #[error("the keyframe of turn {turns} cannot be read: {what}")]
    Keyframe {
        /// Turns that its world had executed.
        turns: u32,
        /// What is wrong with it.
        what: KeyframeFault,
    },
    /// This build of the game cannot read the match's setup.
    #[error(
        "this build of the game cannot read the match's setup: use the release of the game that recorded it"
    )]
    Setup,
    /// The match was played by other rules.
    #[error(
        "the match was played by rules {}, this build has {}: use the release of the game that recorded it",
        hex(&file.0),
        hex(&ours.0)
    )]
    OtherRules {
        /// The file's.
        file: RulesId,
        /// This build's, for the file's setup.
        ours: RulesId,
    },
}

/// What is wrong with a keyframe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyframeFault {
    /// Its compressed bytes do not unpack to the length they name, or that length is above the limit.
    #[error("it does not unpack")]
    Packing,
    /// The unpacked bytes are no keyframe.
    #[error("{0}")]
    Record(#[from] DecodeError),
    /// It names another turn, tick or log hash than the log around it.
    #[error("it does not belong to this log")]
    OtherLog,
}

/// Lower-case hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
