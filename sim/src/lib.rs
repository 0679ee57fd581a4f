//! Deterministic worlds for lockstep games.
//!
//! A world implements [`State`] (how it becomes bytes) and [`Simulation`] (how it steps). Fed the same
//! [`Start`] and the same [`Entry`] lists, it must reach the same bytes on every machine.
//!
//! Nothing here does I/O, reads a clock, computes with floats or starts a thread.
//!
//! # A small world
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use sim::{
//!     Arena, Entry, Id, Num, Outcome, RulesId, Seat, SeatState, Seed, Simulation, Start, State,
//!     Stream, Vec2,
//! };
//!
//! /// The first runner to reach the line wins.
//! #[derive(Serialize, Deserialize)]
//! struct Race {
//!     runners: Arena<Runner>,
//!     wind: Stream,
//! }
//! sim::state_by_serde!(Race);
//!
//! #[derive(Serialize, Deserialize)]
//! struct Runner {
//!     seat: Seat,
//!     at: Vec2,
//!     running: bool,
//! }
//!
//! #[derive(Clone, Serialize, Deserialize)]
//! enum Command {
//!     Run(Id),
//! }
//!
//! impl Simulation for Race {
//!     type Setup = ();
//!     type Command = Command;
//!     type Effect = ();
//!
//!     fn rules(_: &()) -> RulesId {
//!         RulesId(*b"a race, 1st rule")
//!     }
//!
//!     fn new(start: &Start<()>) -> Self {
//!         let mut runners = Arena::new();
//!         for seat in &start.seats {
//!             let at = Vec2::from_ints(0, i32::from(seat.0));
//!             runners.insert(Runner { seat: *seat, at, running: false });
//!         }
//!         Self { runners, wind: Stream::named(&start.seed, "wind") }
//!     }
//!
//!     fn step(&mut self, entries: &[Entry<Command>], _: &mut Vec<()>) {
//!         for entry in entries {
//!             match entry {
//!                 Entry::Command { seat, command: Command::Run(id) } => {
//!                     if let Some(runner) = self.runners.get_mut(*id)
//!                         && runner.seat == *seat
//!                     {
//!                         runner.running = true;
//!                     }
//!                 }
//!                 Entry::Seat { seat, state: SeatState::Resigned } => {
//!                     self.runners.retain(|_, runner| runner.seat != *seat);
//!                 }
//!                 Entry::Seat { .. } => {}
//!             }
//!         }
//!         for (_, runner) in self.runners.iter_mut() {
//!             if runner.running {
//!                 let pace = self.wind.num_between(Num::lit("0.1"), Num::lit("0.2"));
//!                 runner.at += Vec2::new(pace, Num::ZERO);
//!             }
//!         }
//!     }
//!
//!     fn outcome(&self) -> Option<Outcome> {
//!         let (_, first) = self.runners.iter().find(|(_, runner)| runner.at.x >= 10)?;
//!         Some(Outcome { winner: Some(first.seat) })
//!     }
//! }
//!
//! let start = Start { setup: (), seed: Seed([5; 32]), seats: vec![Seat(0), Seat(1)] };
//! let mut race = Race::new(&start);
//! let id = race.runners.ids().next().unwrap();
//! let run = Entry::Command { seat: Seat(0), command: Command::Run(id) };
//! race.step(&[run.clone()], &mut Vec::new());
//! for _ in 0..100 {
//!     race.step(&[], &mut Vec::new());
//! }
//! assert_eq!(race.outcome(), Some(Outcome { winner: Some(Seat(0)) }));
//!
//! let mut snapshot = Vec::new();
//! race.save(&mut snapshot);
//! assert_eq!(Race::load(&snapshot)?.checksum(), race.checksum());
//!
//! // In a test of the game: the race stays deterministic under any commands.
//! sim::check::<Race>(&start)
//!     .commands(move |_, random| {
//!         let id = Id { slot: random.below(3), generation: 1 };
//!         let seat = Seat(random.below(2) as u8);
//!         vec![Entry::Command { seat, command: Command::Run(id) }]
//!     })
//!     .assert();
//! # Ok::<(), sim::LoadError>(())
//! ```
//!
//! # What is here
//!
//! | For | there is |
//! |---|---|
//! | numbers | [`Num`], [`Vec2`], [`Angle`], [`isqrt`], [`sqrt`]; exact products are [`Wide`], exact squares [`Square`] |
//! | chance | [`Stream`]; [`Stream::mix`] where players must not compute draws ahead |
//! | things with ids | [`Arena`]; [`Slots`] for worlds in columns; [`Id`] |
//! | neighbours | [`Grid`] |
//! | bytes | [`state_by_serde!`] for most worlds; [`Sink`] and [`Reader`] for large ones in columns; [`Sum`] |
//! | finding faults | [`check()`], [`diff`](diff()), [`Digest`] |
//!
//! The rules that keep a world deterministic are in [`determinism`].

#![deny(
    clippy::float_arithmetic,
    clippy::disallowed_types,
    clippy::disallowed_methods
)]

mod angle;
mod arena;
mod checksum;
mod columns;
mod diff;
mod digest;
mod field;
mod grid;
mod num;
mod random;
mod simulation;
mod slots;
mod state;
mod vec2;

pub mod check;
pub mod serde_state;

#[doc = include_str!("../docs/determinism.md")]
pub mod determinism {}

pub use angle::Angle;
pub use arena::Arena;
pub use check::check;
pub use checksum::Sum;
pub use columns::{Reader, Scalar, Sink};
pub use diff::{Difference, diff};
pub use digest::{Digest, DigestField, DigestSection, Digester, Spot};
pub use fixed;
pub use grid::Grid;
pub use num::{Num, Square, Wide, isqrt, length_of, sqrt};
pub use random::Stream;
pub use simulation::{Entry, Outcome, RulesId, Seat, SeatState, Seed, Simulation, Start};
pub use slots::{Id, Slots};
pub use state::{Checksum, Field, LoadError, State, Visit};
pub use vec2::Vec2;
