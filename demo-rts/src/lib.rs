//! A small real-time strategy game over the lockstep kit: world, bot, terminal and command line.
//!
//! Without its features only the world and its bots are built: no network, no terminal, no clock. So they build for
//! targets that have none of these. `viewer` adds what a replay is watched with in a window or in a browser's page.

pub use demo_world::{bot, world};

#[cfg(feature = "play")]
pub mod cli;
#[cfg(feature = "play")]
pub mod exit;
#[cfg(feature = "play")]
pub mod facts;
#[cfg(feature = "play")]
pub mod headless;
#[cfg(any(feature = "play", feature = "viewer"))]
pub mod home;
#[cfg(feature = "play")]
pub mod local;
#[cfg(feature = "play")]
pub mod log;
#[cfg(any(feature = "play", feature = "viewer"))]
pub mod names;
#[cfg(any(feature = "play", feature = "viewer"))]
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
pub mod recording;
#[cfg(any(feature = "play", feature = "viewer"))]
pub mod signals;
#[cfg(feature = "play")]
pub mod tally;
#[cfg(feature = "play")]
pub mod terminal;
#[cfg(feature = "play")]
pub mod watch;
#[cfg(feature = "viewer")]
pub mod window;
#[cfg(any(feature = "play", feature = "viewer"))]
mod words;

#[cfg(feature = "play")]
pub use program::run;
