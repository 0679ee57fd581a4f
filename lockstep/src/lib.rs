//! Deterministic lockstep sessions.
//!
//! **The match is its log**: a start, and for every turn every seat's commands. Peers agree on the log turn by
//! turn; each derives the same world from it.
//!
//! # A game for two
//!
//! The first to run starts a match and shows its ticket; the second joins with it.
//!
#![cfg_attr(feature = "live", doc = "```no_run")]
#![cfg_attr(not(feature = "live"), doc = "```ignore")]
//! use lockstep::{Config, Event, Match};
//! use serde::{Deserialize, Serialize};
//! use sim::{Entry, Outcome, RulesId, Simulation, Start};
//! use std::time::Duration;
//!
//! /// The first seat with ten presses has won.
//! #[derive(Serialize, Deserialize)]
//! struct World {
//!     presses: Vec<u8>,
//! }
//! sim::state_by_serde!(World);
//!
//! #[derive(Clone, Serialize, Deserialize)]
//! enum Command {
//!     Press,
//! }
//!
//! impl Simulation for World {
//!     type Setup = ();
//!     type Command = Command;
//!     type Effect = ();
//!
//!     fn rules(_: &()) -> RulesId {
//!         RulesId(*b"ten presses, 1st")
//!     }
//!
//!     fn new(start: &Start<()>) -> Self {
//!         World { presses: vec![0; start.seats.len()] }
//!     }
//!
//!     fn step(&mut self, entries: &[Entry<Command>], _: &mut Vec<()>) {
//!         for entry in entries {
//!             if let Entry::Command { seat, command: Command::Press } = entry
//!                 && let Some(presses) = self.presses.get_mut(usize::from(seat.0))
//!             {
//!                 *presses = presses.saturating_add(1);
//!             }
//!         }
//!     }
//!
//!     fn outcome(&self) -> Option<Outcome> {
//!         let most = self.presses.iter().max()?;
//!         let mut first = (0..).zip(&self.presses).filter(|(_, presses)| *presses == most);
//!         let winner = first.next().map(|(seat, _)| sim::Seat(seat));
//!         let tied = first.next().is_some();
//!         (*most >= 10).then_some(Outcome { winner: winner.filter(|_| !tied) })
//!     }
//! }
//!
//! # fn key_pressed() -> bool { true }
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let mut config = Config::default();
//!     config.host.terms.seats = 2;
//!     let mut game = match std::env::args().nth(1) {
//!         None => Match::<World>::host((), config)?,
//!         Some(ticket) => Match::join(&ticket.parse()?, config)?,
//!     };
//!     if let Some(ticket) = game.source().ticket() {
//!         println!("{ticket}");
//!     }
//!     loop {
//!         for event in game.poll() {
//!             match event {
//!                 Event::Stalled { on, .. } => println!("waiting for {on:?}"),
//!                 Event::Ended(end) => {
//!                     println!("{}: {:?}", end.reason, end.outcome);
//!                     return Ok(());
//!                 }
//!                 _ => {}
//!             }
//!         }
//!         if let Some(world) = game.world() {
//!             println!("{:?}", world.presses); // draw it here
//!         }
//!         if key_pressed() && let Err(refused) = game.issue(Command::Press) {
//!             println!("{refused}");
//!         }
//!         game.wait(Duration::from_millis(16));
//!     }
//! }
//! ```
//!
//! # What is here
//!
//! | For | there is |
//! |---|---|
//! | a match of a [`sim::Simulation`] | [`Match`]: `host`, `join`, `rejoin`, `single_player`, `play_on`, or [`over`](Match::over) any source of turns |
//! | what happens in it | [`Event`], [`Status`], [`Ended`]; [`Refused`] for a command that is not taken |
//! | settings | `Config`, [`Terms`](log::Terms) (what the host settles for all), [`Plan`] (how long turns are), [`Limits`] |
//! | a loop of your own | [`source::TurnSource`]; [`world_entries`] decodes a turn |
//! | keeping the match | [`log::LogStore`]; on disk by the crate `replay` |
//! | another network than QUIC | [`Transport`] |
//! | a session without clock, thread or socket | [`session`] |
//! | whole matches in virtual time, for tests | `harness`, with the feature of that name |
//!
//! Features: `quic` (default) brings QUIC and `live`; `live` alone the network thread, for any transport. Without
//! either there are sessions, logs and [`Match::over`].

mod addresses;
mod command;
mod doorway;
mod encoding;
mod event;
mod game;
#[cfg(any(test, feature = "harness"))]
pub mod harness;
mod ids;
mod limits;
#[cfg(feature = "live")]
pub mod live;
pub mod log;
mod moment;
#[cfg(feature = "quic")]
pub mod quic;
mod rejoin;
pub mod session;
pub mod sign;
pub mod source;
mod text;
pub mod ticket;
mod transport;

pub use command::{CommandId, Issued, Refused};
pub use event::{
    Asker, Contact, Desync, DesyncSide, EndReason, Ended, Event, Fault, JoinRefused, LobbyPeer,
    Status,
};
#[doc(hidden)]
pub use game::guard;
pub use game::{Counts, Match, world_entries};
pub use ids::{Incarnation, LinkId, LogHash, MatchId, PeerId, Plan, TurnNumber};
pub use limits::Limits;
#[cfg(feature = "live")]
pub use live::{Config, Hosting, Live, Network};
pub use log::{Gone, RosterCause, SeatInfo};
pub use moment::Moment;
pub use rejoin::Rejoin;
pub use sim::{Checksum, Outcome, Seat};
// For the crates of this repository. It may change at any time.
#[doc(hidden)]
pub use text::{escape_hidden, is_shown};
pub use ticket::{Ticket, TicketError};
pub use transport::{Blocked, Channel, LinkError, LinkEvent, MAX_DATAGRAM, Traffic, Transport};

/// Version of the wire and log format. Peers and files of another version are refused by name.
pub const PROTOCOL: u16 = 1;
