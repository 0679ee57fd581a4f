//! A small real-time strategy game over the lockstep kit.
//!
//! Without features only the world and its bots are built, for targets without network, terminal or clock. `viewer`
//! adds the replay viewer, in a window or a browser's page; `play` and `window` add the game.

#![cfg_attr(
    not(feature = "window"),
    allow(dead_code, reason = "smaller builds share modules with the window")
)]

pub use demo_world::{bot, world};

#[cfg(feature = "play")]
mod cli;
#[cfg(feature = "play")]
mod exit;
#[cfg(feature = "play")]
pub mod facts;
#[cfg(all(test, any(feature = "play", feature = "viewer")))]
mod fixture;
#[cfg(feature = "play")]
mod headless;
#[cfg(any(feature = "play", feature = "viewer"))]
mod home;
#[cfg(feature = "play")]
mod local;
#[cfg(feature = "play")]
mod log;
#[cfg(any(feature = "play", feature = "viewer"))]
mod names;
#[cfg(any(feature = "play", feature = "viewer"))]
mod news;
#[cfg(feature = "play")]
mod options;
#[cfg(feature = "play")]
mod output;
#[cfg(feature = "play")]
mod pacing;
#[cfg(feature = "play")]
mod peer;
#[cfg(feature = "play")]
mod plain;
#[cfg(feature = "play")]
mod play;
#[cfg(feature = "play")]
mod play_on;
#[cfg(feature = "play")]
mod program;
#[cfg(feature = "play")]
mod recording;
#[cfg(feature = "play")]
mod requests;
#[cfg(any(feature = "play", feature = "viewer"))]
pub mod signals;
#[cfg(feature = "play")]
mod tally;
#[cfg(feature = "play")]
mod terminal;
#[cfg(feature = "play")]
mod watch;
#[cfg(feature = "viewer")]
pub mod window;
#[cfg(any(feature = "play", feature = "viewer"))]
mod words;

#[cfg(feature = "play")]
pub use program::{command_line, run};
