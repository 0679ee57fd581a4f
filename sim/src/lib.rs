//! Deterministic worlds for lockstep games.
//!
//! A world implements [`State`] (how it becomes bytes) and [`Simulation`] (how it steps). Fed the same
//! [`Start`] and the same [`Entry`] lists, it must reach the same bytes on every machine.
//!
//! Nothing here does I/O, reads a clock, computes with floats or starts a thread.

mod simulation;
mod state;

pub use simulation::{Entry, Outcome, RulesId, Seat, SeatState, Seed, Simulation, Start};
pub use state::{Checksum, Field, LoadError, State, Visit};
