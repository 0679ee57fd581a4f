//! The demo's world and its bots. The crate builds for any target, and is optimised even where the demo is
//! not.

pub mod bot;
pub mod world;
