//! Errors of replay files.

use lockstep::log::DecodeError;
use sim::RulesId;
use std::io;

/// Why a replay cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The disk, or the path.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A file of this name exists; recordings never overwrite.
    #[error("the file exists already: choose another name")]
    Exists,
    /// The file has no bytes.
    #[error("the file is empty")]
    Empty,
    /// The file is no replay.
    #[error("this is not a replay file")]
    Foreign,
    /// The file's version of format or protocol is not this build's.
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
    /// The file holds no match: the recording process died in the lobby.
    #[error("the file holds no turn: the match had not begun")]
    NotBegun,
    /// The file is cut or damaged before its first turn.
    #[error("the start of the match is damaged at byte {at}: nothing can be read from this file")]
    Start {
        /// Offset of the first invalid item.
        at: u64,
    },
    /// The file changed after it was opened.
    #[error("the file changed while it was read, at byte {at}: open it again")]
    Changed {
        /// Offset of the item.
        at: u64,
    },
    /// There are no addresses to rejoin the match at.
    #[error(
        "no file beside this replay holds the addresses of its peers: rejoin with the ticket of a peer"
    )]
    NoWayBack,
    /// The ticket belongs to another match.
    #[error("the ticket belongs to another match than this replay")]
    OtherMatch,
    /// The match is over.
    #[error("the match in this replay has ended")]
    Over,
    /// The match is too long to hold in memory.
    #[error(
        "{turns} turns are too many to run again: rejoin a match of at most {most}, or choose an earlier turn to play on from"
    )]
    TooLong {
        /// Turns of the match.
        turns: u32,
        /// The largest number of turns.
        most: u32,
    },
    /// A player plays this match alone, so no other peer has that part.
    #[error(
        "from turn {turns} on one player is alone in this replay: it can be played on, but not rejoined"
    )]
    Continued {
        /// The first turn of that part.
        turns: u32,
    },
    /// The replay has no such moment.
    #[error("there is no turn {turns}: the last moment to play on from is before turn {last}")]
    NoSuchTurn {
        /// The turn that was asked for.
        turns: u32,
        /// Turns of the replay.
        last: u32,
    },
    /// The match was decided by that moment.
    #[error("the match was decided before turn {turns}: choose an earlier turn to play on from")]
    Decided {
        /// Turns executed.
        turns: u32,
    },
    /// The turns do not lead to the recorded worlds.
    #[error("after {turns} turns the world differs from the recorded one: see `replay verify`")]
    OtherWorld {
        /// Turns executed.
        turns: u32,
    },
    /// The world panicked in a turn.
    #[error("the world panicked in turn {turn}: {message}")]
    World {
        /// The turn.
        turn: u32,
        /// The words of the panic.
        message: String,
    },
    /// A recording stopped.
    #[error(transparent)]
    Store(#[from] lockstep::log::StoreError),
    /// A keyframe is invalid.
    #[error("the keyframe of turn {turns} cannot be read: {what}")]
    Keyframe {
        /// Turns that its world had executed.
        turns: u32,
        /// The fault.
        what: KeyframeFault,
    },
    /// This build of the game cannot read the match's setup.
    #[error(
        "this build of the game cannot read the match's setup: use the release of the game that recorded it"
    )]
    Setup,
    /// The match was played under other rules.
    #[error(
        "the match was played under rules {}, this build has {}: use the release of the game that recorded it",
        hex(&file.0),
        hex(&ours.0)
    )]
    OtherRules {
        /// The file's rules.
        file: RulesId,
        /// This build's rules for the file's setup.
        ours: RulesId,
    },
}

/// The fault of a keyframe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyframeFault {
    /// It does not unpack to its stated length.
    #[error("it does not unpack")]
    Packing,
    /// The limits, or the length of its file, allow less memory than the keyframe takes.
    #[error("it unpacks to {bytes} bytes, of {limit} that this file may take")]
    TooLong {
        /// Bytes of the keyframe, unpacked.
        bytes: u64,
        /// See [`Reader::keyframe`](crate::Reader::keyframe).
        limit: u64,
    },
    /// The unpacked bytes are no keyframe.
    #[error("{0}")]
    Record(#[from] DecodeError),
    /// Its log hash is compared with none, as it stands too far behind its turn: a world has fallen back by more than a
    /// thousand turns.
    #[error("it stands too far behind its turn to be checked")]
    FarBehind,
    /// Its turn, tick or log hash is not that of the log around it.
    #[error("it does not belong to this log")]
    OtherLog,
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
