//! Tickets: the short text that invites into a match.

use crate::{MatchId, PeerId};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// An invitation: which match, where, and who answers there.
///
/// Its text is one word of letters, digits and dashes, fit for a chat window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// The match.
    pub match_id: MatchId,
    /// What a joiner must know to be let in.
    pub secret: [u8; 16],
    /// The host's key.
    pub host: PeerId,
    /// Where the host may be dialled, best first; at most 8, each of at most 64 bytes.
    pub addresses: Vec<String>,
    /// Seconds since 1970 on the issuer's clock after which the lobby turns it away.
    pub expires_unix_s: u64,
}
