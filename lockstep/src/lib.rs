//! Deterministic lockstep sessions.
//!
//! **The match is its log**: a start, and for every turn every seat's commands. Peers agree on the log turn by
//! turn; each derives the same world from it.

mod encoding;
mod event;
mod game;
mod ids;
mod limits;
#[cfg(feature = "live")]
pub mod live;
pub mod log;
#[cfg(feature = "quic")]
pub mod quic;
pub mod session;
pub mod sign;
pub mod source;
pub mod ticket;
mod transport;

pub use event::{
    Desync, DesyncSide, EndReason, Ended, Event, Fault, JoinRefused, LobbyPeer, Refused, SeatInfo,
    Status,
};
pub use game::{Counts, Match, world_entries};
pub use ids::{CommandId, Incarnation, LinkId, LogHash, MatchId, PeerId, Plan, TurnNumber};
pub use limits::Limits;
#[cfg(feature = "live")]
pub use live::{Config, Live, Network};
pub use sim::{Checksum, Outcome, Seat};
pub use ticket::{Ticket, TicketError};
pub use transport::{Blocked, Channel, LinkError, LinkEvent, MAX_DATAGRAM, Traffic, Transport};

/// Version of the wire and log format. Peers and files of another version are refused by name.
pub const PROTOCOL: u16 = 1;
