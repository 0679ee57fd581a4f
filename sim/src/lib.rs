//! Deterministic worlds for lockstep games.
//!
//! A world implements [`State`] (how it becomes bytes) and [`Simulation`] (how it steps). Fed the same
//! [`Start`] and the same [`Entry`] lists, it must reach the same bytes on every machine.
//!
//! Nothing here does I/O, reads a clock, computes with floats or starts a thread.

#![deny(
    clippy::float_arithmetic,
    clippy::disallowed_types,
    clippy::disallowed_methods
)]

mod angle;
mod arena;
mod checksum;
mod columns;
mod field;
mod grid;
mod num;
mod random;
pub mod serde_state;
mod simulation;
mod slots;
mod state;
mod vec2;

pub use angle::Angle;
pub use arena::Arena;
pub use checksum::Sum;
pub use columns::{Reader, Scalar, Sink};
pub use fixed;
pub use grid::Grid;
pub use num::{Num, Square, Wide, isqrt, length_of, sqrt};
pub use random::Stream;
pub use simulation::{Entry, Outcome, RulesId, Seat, SeatState, Seed, Simulation, Start};
pub use slots::{Id, Slots};
pub use state::{Checksum, Field, LoadError, State, Visit};
pub use vec2::Vec2;
