//! The log of a lockstep match on disk.
//!
//! A [`Recorder`] is the match's [`LogStore`](lockstep::log::LogStore): it writes every agreed turn, on the match's log
//! thread. A slow or full disk never disturbs the match. A [`Reader`] reads a file to its longest valid
//! prefix, wherever it was cut or damaged. A [`Player`] feeds a world from a file, with seek and speed; [`open`]
//! puts it under a [`Match`]. From a moment of it ([`WorldAt`]) a player can play on alone.
//!
//! [`verify`](verify::verify) re-runs a match and checks all claims of its file, [`diff`](diff::diff) compares two
//! files, and [`cli::run`] is a command line for any game.
//!
//! # In a game
//!
//! ```no_run
//! use lockstep::log::LogStore as _;
//! use lockstep::{Config, Event, Match};
//! use replay::{Recorder, Speed};
//! use sim::Simulation;
//! use std::path::Path;
//! use std::process::ExitCode;
//! use std::time::Duration;
//!
//! type Failure = Box<dyn std::error::Error>;
//!
//! /// Every peer records; their files hold the same match.
//! fn host<World: Simulation>(setup: World::Setup) -> Result<Match<World>, Failure> {
//!     let recorder = Recorder::create_in(Path::new("replays"), "match")?;
//!     println!("recording to {:?}", recorder.path());
//!     let config = Config { log: Some(Box::new(recorder)), ..Config::default() };
//!     Ok(Match::host(setup, config)?)
//! }
//!
//! /// The same loop as a match's, but for the commands.
//! fn watch<World: Simulation>(file: &Path) -> Result<(), Failure> {
//!     let mut game = replay::open::<World>(file)?;
//!     game.source().set_speed(Speed::times(2));
//!     loop {
//!         for event in game.poll() {
//!             if let Event::Ended(end) = event {
//!                 println!("{} after {} turns", end.reason, end.turns);
//!                 return Ok(());
//!             }
//!         }
//!         if let Some(_world) = game.world() {
//!             // draw it
//!         }
//!         game.wait(Duration::from_millis(16));
//!     }
//! }
//!
//! /// `mygame replay verify match.replay`
//! fn replay_command<World: Simulation>(words: &[String]) -> ExitCode {
//!     replay::cli::run::<World>(words)
//! }
//! ```
//!
//! A recorder creates its file at once, before any peer has joined. If the match never begins, the file is removed.
//!
//! # In a browser
//!
//! On `wasm32` there are no files: recording is left out, and reading takes bytes
//! ([`Reader::from_bytes`]).

#![cfg_attr(
    target_arch = "wasm32",
    expect(
        dead_code,
        reason = "recording is left out, and with it the use of its helpers"
    )
)]

mod budget;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(not(target_arch = "wasm32"))]
mod contacts;
mod content;
mod damage;
pub mod diff;
mod error;
mod format;
// For tests of programs that read replays. It may change at any time.
#[cfg(any(test, feature = "harness"))]
#[doc(hidden)]
pub mod harness;
#[cfg(not(target_arch = "wasm32"))]
mod moment;
mod output;
// For the crates of this repository. It may change at any time.
#[cfg(not(target_arch = "wasm32"))]
#[doc(hidden)]
pub mod parts;
mod player;
mod reader;
#[cfg(not(target_arch = "wasm32"))]
mod recorder;
mod roster;
mod scan;
mod segment;
mod unpack;
pub mod verify;
mod words;
#[cfg(not(target_arch = "wasm32"))]
mod writer;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod worst;

#[cfg(not(target_arch = "wasm32"))]
pub use contacts::{WayBack, rejoin, rejoin_by, reopen};
pub use damage::Damage;
pub use error::{Error, KeyframeFault};
#[cfg(not(target_arch = "wasm32"))]
pub use moment::WorldAt;
pub use output::Output;
pub use player::{Player, Speed};
pub use reader::{FileEnd, KeyframeAt, PlanAt, Reader, Records, Source};
#[cfg(not(target_arch = "wasm32"))]
pub use recorder::Recorder;
pub use roster::RosterAt;
// For the crates of this repository. It may change at any time.
#[doc(hidden)]
pub use words::clock;

use lockstep::Match;
use sim::Simulation;
use std::path::Path;

/// Opens a replay for watching: a match with turns from the file.
///
/// # Errors
/// [`Error`]: no such file, not a replay, damaged before its first turn, or recorded under other rules.
pub fn open<S: Simulation>(path: &Path) -> Result<Match<S, Player>, Error> {
    let reader = Reader::open(path)?;
    reader.setup::<S>()?;
    Ok(Match::over(Player::new(reader)))
}
