//! The log of a lockstep match on disk.
//!
//! A [`Recorder`] is the match's [`LogStore`](lockstep::log::LogStore): it writes every turn as it is agreed, on a
//! thread of its own, so that a slow or full disk never disturbs the match. A [`Reader`] reads a file to its longest
//! valid prefix, wherever it was cut or damaged. A [`Player`] feeds a world from a file, with seek and speed;
//! [`open`] puts it under a [`Match`]. [`verify`](verify::verify) re-runs a match and checks all that its file
//! claims, [`diff`](diff::diff) compares two files, and [`cli::run`] is a command line over all of it for any game.

pub mod cli;
pub mod diff;
mod error;
mod format;
mod output;
mod player;
mod reader;
mod recorder;
mod scan;
pub mod verify;
mod writer;

#[cfg(test)]
mod fixture;

pub use error::Error;
pub use output::Output;
pub use player::{Player, Speed};
pub use reader::{KeyframeAt, Reader, Records, Source, Tail};
pub use recorder::Recorder;

use lockstep::Match;
use sim::Simulation;
use std::path::Path;

/// Opens a replay for watching: a match whose turns come from the file.
///
/// # Errors
/// [`Error`]: no such file, not a replay, damaged before its first turn, or of other rules than this build's.
pub fn open<S: Simulation>(path: &Path) -> Result<Match<S, Player>, Error> {
    let reader = Reader::open(path)?;
    reader.setup::<S>()?;
    Ok(Match::over(Player::new(reader)))
}
