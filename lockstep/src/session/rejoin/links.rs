//! Facts about links: a joiner's components are told them by the session that owns the links.

use crate::{Incarnation, LinkId, PeerId};
use std::time::Duration;

/// A link whose other end has proved its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProvedLink {
    pub link: LinkId,
    pub peer: PeerId,
    /// The run of the peer's process.
    pub run: Incarnation,
    /// When the other end was heard last.
    pub heard_at: Duration,
}

/// A link that this peer has dialled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DialledLink<'a> {
    /// The key that must answer, where one was asked for.
    pub expected: Option<PeerId>,
    pub address: &'a str,
}
