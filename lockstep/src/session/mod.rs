//! The session: one match's protocol state on one peer.
//!
//! Pure. Time and bytes come in as arguments, what is to be done comes out. It knows no socket, clock, thread or
//! unseeded randomness, and nothing of the world but checksums: commands are opaque bytes.
//!
//! [`Session::handle`] takes one [`Input`] and returns what to do, in order; [`Session::deadline`] says when it wants
//! [`Input::Timeout`]. Nothing else: it cannot be called in a wrong order.

mod batch;

pub use batch::{Batch, NO_SLACK};

use crate::log::{Bundle, Record, Start};
use crate::{Channel, Event, LinkError, LinkId, PeerId, Plan};
use crate::{Limits, MatchId};
use sim::{Checksum, Outcome, RulesId, Seat};
use std::sync::Arc;
use std::time::Duration;

/// What a session is told.
#[derive(Debug)]
pub enum Input<'a> {
    /// A link is up.
    LinkUp {
        /// Its number.
        link: LinkId,
        /// Whom the transport says it leads to, if it knows.
        peer: Option<PeerId>,
        /// True where this side dialled.
        dialled: bool,
        /// The other side's address as seen from here.
        address: String,
        /// What binds the link's channel.
        binding: [u8; 32],
    },
    /// A dial came to nothing.
    DialFailed {
        /// The address that was dialled.
        address: String,
        /// Who was expected there.
        key: PeerId,
        /// Why.
        why: LinkError,
    },
    /// A link is gone.
    LinkDown {
        /// Its number.
        link: LinkId,
        /// Why.
        why: LinkError,
    },
    /// Bytes arrived on a link.
    Received {
        /// The link.
        link: LinkId,
        /// The channel.
        channel: Channel,
        /// One datagram or one whole message.
        bytes: &'a [u8],
    },
    /// This peer is, or is no longer, ready to start.
    Ready(bool),
    /// The world of the start is built.
    Loaded {
        /// Checksum of the initial world.
        checksum: Checksum,
    },
    /// The world could not be built.
    LoadFailed,
    /// A command for one of this peer's seats, which the caller has checked against the limits.
    Issue {
        /// The seat.
        seat: Seat,
        /// The encoded command.
        command: Vec<u8>,
    },
    /// Public chat.
    Chat(String),
    /// Pause the match, for this peer's first seat.
    Pause,
    /// Let a paused match go on.
    Resume,
    /// The world has executed the next turn.
    Executed {
        /// Checksum of the world after it.
        checksum: Checksum,
        /// How the match ended, if it has.
        outcome: Option<Outcome>,
    },
    /// The snapshot that [`Output::Save`] asked for.
    Snapshot {
        /// Turns that the world had executed.
        turns: u32,
        /// What [`sim::State::save`] wrote.
        bytes: Arc<[u8]>,
    },
    /// Leave the match.
    Leave,
    /// Time has passed.
    Timeout,
}

/// What a session wants done, in this order.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Dial a peer.
    Dial {
        /// Where.
        address: String,
        /// Who must answer.
        key: PeerId,
    },
    /// Close a link, after what was sent on it before.
    Close {
        /// Its number.
        link: LinkId,
    },
    /// Send bytes. That they are lost where the channel allows it, or that the link is gone, needs no answer.
    Send {
        /// On which link.
        link: LinkId,
        /// By which channel.
        channel: Channel,
        /// The bytes.
        bytes: Arc<[u8]>,
    },
    /// Append a record to the log. Comes before the turn it holds is executed.
    Append(Record),
    /// Build the world and answer [`Input::Loaded`] or [`Input::LoadFailed`].
    New(Arc<Start>),
    /// Execute a turn and answer [`Input::Executed`]. Turns come without a hole.
    Execute(Bundle),
    /// Save the world once every turn handed out so far is executed, and answer [`Input::Snapshot`].
    Save {
        /// Turns executed by then.
        turns: u32,
    },
    /// Tell the game.
    Event(Event),
}

/// How a session begins.
pub struct SessionConfig {
    /// What this peer calls itself; at most 32 bytes are kept.
    pub name: String,
    /// Seats that this peer asks for. At least 1.
    pub own_seats: u8,
    /// Whether this peer is ready from the beginning.
    pub ready: bool,
    /// Addresses at which others may try to dial this peer.
    pub addresses: Vec<String>,
    /// Secret randomness, drawn anew for every run of the process: nonces and the incarnation come from it.
    pub entropy: [u8; 32],
    /// This peer's share of the match seed; drawn from `entropy` where there is none.
    pub share: Option<[u8; 32]>,
    /// Turns between keyframes of the log, if any are wanted, under a given plan.
    pub keyframe_every: Option<fn(&Plan) -> u32>,
    /// Bounds.
    pub limits: Limits,
    /// A turn that is waited for longer than this ends the match for this peer; `None` waits for ever.
    pub stall_limit: Option<Duration>,
    /// The build, for information in the log.
    pub build: String,
    /// What this peer is in its lobby.
    pub role: Role,
}

/// What a peer is in its lobby.
pub enum Role {
    /// It opened the match and decides who comes in.
    Host(HostConfig),
    /// It comes with a ticket.
    Join {
        /// The match.
        match_id: MatchId,
        /// The ticket's secret.
        secret: [u8; 16],
        /// The host's key.
        host: PeerId,
        /// Where to dial the host, best first.
        addresses: Vec<String>,
        /// The rules that this build plays a given setup by; `None` for a setup it cannot read.
        rules: Box<dyn Fn(&[u8]) -> Option<RulesId> + Send>,
    },
}

/// What the host settles for everybody.
pub struct HostConfig {
    /// The match.
    pub match_id: MatchId,
    /// What a joiner must know to be let in.
    pub secret: [u8; 16],
    /// When the invitation expires, on the session's clock; `None`: never.
    pub expires: Option<Duration>,
    /// The game's own setup, encoded.
    pub setup: Vec<u8>,
    /// The rules in force.
    pub rules: RulesId,
    /// Seats of the match.
    pub seats: u8,
    /// The plan.
    pub plan: Plan,
    /// Turns after which the match ends, if it is to end so.
    pub turn_limit: Option<u32>,
}
