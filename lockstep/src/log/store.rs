//! Where a peer keeps its log.

use super::bundle::Bundle;
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
    /// More changes of roster or plan than a file may hold.
    #[error("the match has changed its roster or plan more often than a replay can hold")]
    TooManyChanges,
    /// The records asked for are not kept.
    #[error("turn {0} is not kept")]
    NotKept(TurnNumber),
}

/// Where one peer keeps its log. [`Memory`](super::Memory) here; the file is `replay::Recorder`.
///
/// The log grows at its end. Behind it stands the **tail**: turns that are complete, and executed, and not final yet.
/// [`Tail`](super::Tail) tells a store what to write when the tail changes.
///
/// A thread of its own calls a live match's store, and nothing else of the match waits for it: a store may wait for the
/// disk. Up to 8 MiB of records wait meanwhile, and 64 MiB of keyframes; a store that falls further behind gets no more.
/// The thread asks for a sync within a second of what it hands over.
pub trait LogStore: Send {
    /// Appends a record for good. A turn that stands first in the tail goes from there into the log. Another record is
    /// about turns of the log; it may come while the tail holds turns, which stay behind it.
    ///
    /// # Errors
    /// [`StoreError`], once; later records are dropped silently.
    fn append(&mut self, record: &Record) -> Result<(), StoreError>;

    /// Replaces the tail by these turns, the first of which follows on the log's last one. Comes before the world
    /// executes any of them.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    fn tail(&mut self, turns: &[Bundle]) -> Result<(), StoreError>;

    /// Makes all that it was given so far durable: it would survive a loss of power. A store without a disk, or one that
    /// has failed, does nothing: no later run of the process reads there what it holds.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    fn sync(&mut self) -> Result<(), StoreError>;

    /// Match time between two keyframes that the store wants, if it wants any.
    fn keyframe_every(&self) -> Option<Duration>;

    /// Start, and the bundles from turn `from` on, those of the tail included, up to about `max_bytes`.
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
