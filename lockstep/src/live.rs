//! The network thread: it owns session, transport and log store; the game thread holds two bounded queues.

use crate::log::LogStore;
use crate::sign::Signer;
use crate::{Limits, Plan, Transport};
use std::path::PathBuf;
use std::time::Duration;

/// How a live match is set up.
pub struct Config {
    /// What this peer calls itself; at most 32 bytes are kept.
    pub name: String,
    /// Host: seats of the match, 1–16. Default 2.
    pub seats: u8,
    /// Seats that this peer takes. Default 1.
    pub own_seats: u8,
    /// Host: the turn plan. Default 200 ms × 2.
    pub plan: Plan,
    /// Host: turns after which the match ends, if it is to end so.
    pub turn_limit: Option<u32>,
    /// Whether this peer is ready from the beginning. Default true.
    pub ready: bool,
    /// Bounds on what others can make us hold or do.
    pub limits: Limits,
    /// Where the log is kept. Default: in memory, up to 64 MiB.
    pub log: Option<Box<dyn LogStore>>,
    /// The network. Default: QUIC on any free port, with the key of this user's identity file.
    pub network: Option<Network>,
    /// Fixes this peer's share of the match seed.
    pub seed: Option<u64>,
    /// Host: how long the ticket invites. Default one day.
    pub invite_for: Duration,
    /// How long one `poll` may step. Default 8 ms.
    pub budget: Duration,
    /// A turn waited for longer than this ends the match for this peer. Default 60 s; `None` waits for ever.
    pub stall_limit: Option<Duration>,
    /// Where to write the folder about a desync. Default: the current folder.
    pub reports: PathBuf,
    /// Names the build in the log.
    pub build: String,
}

/// A transport, and the key that this peer is known by on it.
pub struct Network {
    /// Carries the bytes.
    pub transport: Box<dyn Transport>,
    /// Signs what this peer says.
    pub signer: Box<dyn Signer>,
}
