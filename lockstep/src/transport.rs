//! Bring your own network. The session itself proves the key at the other end of a link: a transport only carries
//! bytes and tells what binds its channel.

use crate::{LinkId, PeerId};
use std::sync::Arc;
use std::time::Duration;

/// The three kinds of traffic of a link. Exhaustive: a transport has to carry each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Turns. Datagrams of at most [`MAX_DATAGRAM`] bytes: may be lost, doubled or reordered, and a
    /// new one is worth more than an old one that waits.
    Turns,
    /// Lobby and agreement: small messages, each delivered once and in order.
    Control,
    /// Snapshots and log pages: as [`Control`](Self::Control), in an order of its own, and never in the way of turns.
    Bulk,
}

/// Bytes of the largest datagram that is ever handed to [`Transport::send`].
pub const MAX_DATAGRAM: usize = 1_000;

/// Carries bytes between peers. One thread calls it.
pub trait Transport: Send {
    /// Addresses at which others may try to dial this peer, best first.
    fn addresses(&self) -> Vec<String>;

    /// Starts to dial; the answer is [`LinkEvent::Up`] or [`LinkEvent::DialFailed`].
    fn dial(&mut self, address: &str, key: PeerId);

    /// Sends or queues `bytes`. For [`Channel::Turns`] the oldest queued datagram gives way to a new one.
    ///
    /// # Errors
    /// [`Blocked`] when the link is gone or its queue of messages is full; nothing was sent.
    fn send(&mut self, link: LinkId, channel: Channel, bytes: &[u8]) -> Result<(), Blocked>;

    /// Closes a link after what was sent on it, within a second. No event follows.
    fn close(&mut self, link: LinkId);

    /// Peers that belong here may dial from these addresses: from now on, strangers take no place that such a dial
    /// needs. Replaces the addresses of the call before. A transport that takes in any number of links ignores it.
    fn keep_places(&mut self, _addresses: &[String]) {}

    /// The next event. Waits for one up to `timeout`, or until the [`waker`](Self::waker) is called.
    fn poll(&mut self, timeout: Duration) -> Option<LinkEvent>;

    /// Ends a running [`poll`](Self::poll), or the next one, early. Any thread may call it.
    fn waker(&self) -> Arc<dyn Fn() + Send + Sync>;

    /// What has been carried so far.
    fn traffic(&self) -> Traffic;
}

/// What happened to a link. Exhaustive: a program that drives a session itself has to pass every event on.
#[derive(Debug)]
pub enum LinkEvent {
    /// A link is up: dialled by us, or accepted.
    Up {
        /// Its number.
        link: LinkId,
        /// The peer that this side dialled, or that the transport itself has recognised.
        peer: Option<PeerId>,
        /// True where this side dialled.
        dialled: bool,
        /// The other side's address as seen from here.
        address: String,
        /// Bytes that both ends of this very link know and no other link shares: a TLS exporter, for instance.
        binding: [u8; 32],
    },
    /// A dial came to nothing.
    DialFailed {
        /// The address that was dialled.
        address: String,
        /// The key expected there.
        key: PeerId,
        /// Why.
        why: LinkError,
    },
    /// A link is gone.
    Down {
        /// Its number.
        link: LinkId,
        /// Why.
        why: LinkError,
    },
    /// Bytes arrived: one datagram or one whole message.
    Received {
        /// On which link.
        link: LinkId,
        /// By which channel.
        channel: Channel,
        /// The bytes.
        bytes: Vec<u8>,
    },
}

/// Nothing could be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the link is gone or its queue is full")]
pub struct Blocked;

/// Why a link ended or never came up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The text is no address.
    #[error("not an address this transport can dial")]
    Address,
    /// The text names a machine, and no name server knows it, or answers.
    #[error(
        "the name of that machine was not found: is it spelt right, and is this machine online?"
    )]
    Name,
    /// No answer.
    #[error("no answer from there")]
    Unanswered,
    /// Another key answered than the one expected.
    #[error("another key answers there than the expected one")]
    WrongKey,
    /// The other side turned us away.
    #[error("the other side turned the link away")]
    Refused,
    /// Nothing was heard for too long.
    #[error("nothing was heard on the link for too long")]
    TimedOut,
    /// The other side closed it.
    #[error("the other side closed the link")]
    Closed,
    /// The other side broke the transport's rules or limits.
    #[error("the other side broke a rule or limit of the transport")]
    Violation,
}

/// Totals since the transport was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// UDP payload plus 28 bytes per packet, sent.
    pub bytes_sent: u64,
    /// The same, received.
    pub bytes_received: u64,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets received.
    pub packets_received: u64,
}
