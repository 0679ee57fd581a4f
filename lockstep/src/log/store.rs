//! Where a peer keeps its log.

use super::record::Record;
use crate::TurnNumber;
use std::time::Duration;

/// A store that cannot keep the log any more. It keeps what it has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The disk refused a write.
    #[error("cannot write the replay: {0}")]
    Io(std::io::ErrorKind),
    /// More than the store's bound.
    #[error("the log is larger than the {limit} bytes allowed")]
    Full {
        /// The bound.
        limit: u64,
    },
    /// The records asked for are not kept.
    #[error("turn {0} is not kept")]
    NotKept(TurnNumber),
}

/// Where one peer keeps its log. [`Memory`](super::Memory) here; the file is `replay::Recorder`.
///
/// Nothing here may wait: the match goes on while a store writes.
pub trait LogStore: Send {
    /// Appends a record.
    ///
    /// # Errors
    /// [`StoreError`], once; later records are dropped silently.
    fn append(&mut self, record: &Record) -> Result<(), StoreError>;

    /// Takes back every turn from `turns` on, and what was appended after it.
    ///
    /// # Errors
    /// As [`append`](Self::append); [`StoreError::NotKept`] where the turns are too far back.
    fn undo(&mut self, turns: u32) -> Result<(), StoreError>;

    /// Match time between two keyframes that the store wants, if it wants any.
    fn keyframe_every(&self) -> Option<Duration>;

    /// Start, and the bundles from turn `from` on, up to about `max_bytes`.
    ///
    /// # Errors
    /// [`StoreError::NotKept`], or the disk's error.
    fn read(&mut self, from: TurnNumber, max_bytes: usize) -> Result<Vec<Record>, StoreError>;

    /// Writes what is buffered and ends the log. Called once, when the match is over; may wait.
    ///
    /// # Errors
    /// [`StoreError`] when the last records could not be written.
    fn close(&mut self) -> Result<(), StoreError>;

    /// The file that holds the log, if one does.
    fn path(&self) -> Option<&std::path::Path> {
        None
    }
}
