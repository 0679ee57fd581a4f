//! A small real-time strategy game over the lockstep kit: world, bot, terminal and command line.
//!
//! Without the feature `play` only the world and its bots are built: no network, no terminal, no clock.
//! So they build for targets that have none of these.

pub mod bot;
pub mod world;

#[cfg(feature = "play")]
pub mod cli;
#[cfg(feature = "play")]
pub mod exit;
#[cfg(feature = "play")]
pub mod facts;
#[cfg(feature = "play")]
pub mod headless;
#[cfg(feature = "play")]
pub mod local;
#[cfg(feature = "play")]
pub mod log;
#[cfg(feature = "play")]
pub mod news;
#[cfg(feature = "play")]
pub mod options;
#[cfg(feature = "play")]
pub mod output;
#[cfg(feature = "play")]
pub mod pacing;
#[cfg(feature = "play")]
pub mod peer;
#[cfg(feature = "play")]
pub mod plain;
#[cfg(feature = "play")]
pub mod play;
#[cfg(feature = "play")]
pub mod play_on;
#[cfg(feature = "play")]
mod program;
#[cfg(feature = "play")]
pub mod signals;
#[cfg(feature = "play")]
pub mod tally;
#[cfg(feature = "play")]
pub mod terminal;
#[cfg(feature = "play")]
pub mod watch;
#[cfg(feature = "window")]
pub mod window;
#[cfg(feature = "play")]
mod words;

#[cfg(feature = "play")]
pub use program::run;
