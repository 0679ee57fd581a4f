//! A small real-time strategy game over the lockstep kit.

pub mod bot;
pub mod world;
