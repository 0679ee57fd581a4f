//! The demo's world and its bots. They build for any target, and are optimised where the demo around them is not.

pub mod bot;
pub mod world;
