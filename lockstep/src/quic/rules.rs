//! The rules of a link for every driver of QUIC: the tasks of [`link`](super::link) in real time, the simulator in
//! virtual time.
//!
//! The acceptor opens a two-way stream, the control stream, and writes [`WELCOME`] on it: only then does the dialler
//! know that it was admitted, because its own handshake succeeds before the acceptor has seen its key. Bulk messages go on
//! a one-way stream of their own, which each side opens with its first.

use super::{frame, tls};
use crate::doorway::Bounds;
use crate::{Channel, Limits, LinkError, MAX_DATAGRAM, PeerId};
use quinn::{ConnectionError, VarInt};
use rustls::pki_types::CertificateDer;
use std::any::Any;
use std::time::Duration;

/// The first byte of a control stream: the dialler is admitted.
pub const WELCOME: u8 = 1;
/// Label of the keying material that binds a link.
pub const EXPORTER_LABEL: &[u8] = b"lockstep link";
/// Never sent: the key identifies the peer at the other end.
pub const SERVER_NAME: &str = "lockstep";
/// Pending handshakes from which on a dialler must first show that it can be reached at its address. Also what its address
/// may have begun lately without showing it.
pub const RETRY_FROM: usize = 8;
/// Handshakes that others may have begun at one time, some 40 KiB each.
pub const HALF_OPEN: Bounds = Bounds {
    all: 256,
    each: 16,
    kept: 4,
    stay: Duration::from_millis(500),
};
/// Connections that others may have begun [lately](LATELY), whatever became of them: some 60 MiB.
pub const CONNECTIONS: usize = 1_500;
/// For so long a connection that another peer began counts. One that has ended keeps its memory for three probe timeouts:
/// about a second, and some 75 s where a stranger answers late and announces the longest delay of its acknowledgements.
pub const LATELY: Duration = Duration::from_secs(80);
/// How long a handshake that another peer began may take.
pub const HANDSHAKE: Duration = Duration::from_secs(3);
/// How long a dial may take, names looked up and welcome received.
pub const DIAL: Duration = Duration::from_secs(5);
/// How long a closing link may take to deliver what was sent on it.
pub const FLUSH: Duration = Duration::from_millis(900);
/// How long a transport that ends waits for its links to close, after what was sent on them.
pub const LAST_MESSAGES: Duration = Duration::from_millis(200);
/// How long it then waits for the packets that say so.
pub const LAST_PACKETS: Duration = Duration::from_millis(100);
/// Messages taken on each channel of a link in a second. More datagrams are lost; the streams wait. A match at the shortest
/// turns, over a link that loses a fifth, has a few hundred; a joiner fetches as many pieces, each of 32 KiB.
pub const MESSAGES_PER_S: u32 = 1_000;
/// The most bytes taken from a stream at once.
pub const CHUNK_BYTES: usize = 64 << 10;
/// Priority of the stream of bulk messages: below the control stream's 0.
pub const BULK_PRIORITY: i32 = -1;
/// Bytes of a connection's id, of which each packet has one: an endpoint has few connections.
pub const ID_BYTES: usize = 4;
/// Why a connection is closed: it is not needed any more.
pub const CLOSED: VarInt = VarInt::from_u32(0);
/// Why a connection is closed: the other side broke a rule.
pub const VIOLATION: VarInt = VarInt::from_u32(1);

const CONTROL_QUEUE_BYTES: usize = 256 << 10;
const BULK_QUEUE_BYTES: usize = 1 << 20;

/// Bytes of messages that may wait for the stream of a channel; never too few for one message.
pub fn queue_bytes(channel: Channel, limits: &Limits) -> usize {
    let bytes = match channel {
        Channel::Bulk => BULK_QUEUE_BYTES,
        Channel::Control | Channel::Turns => CONTROL_QUEUE_BYTES,
    };
    bytes.max(limits.message_bytes as usize + frame::HEADER)
}

/// Links that others may have dialled at one time, without those that are being closed. The session closes links of
/// strangers that are too many, so a new one comes up beside as many as it keeps.
pub fn places(limits: &Limits) -> usize {
    2 * (limits.unproved_links as usize + usize::from(limits.peers))
}

/// Whether a connection that takes datagrams of this size can be a link: one that cannot carry the largest is none.
pub fn carries_turns(largest_datagram: Option<usize>) -> bool {
    largest_datagram.is_some_and(|size| size >= MAX_DATAGRAM)
}

/// Whose key the other side has shown, from what TLS knows of it.
pub fn peer_of(identity: Option<Box<dyn Any>>) -> Option<PeerId> {
    let keys = identity?.downcast::<Vec<CertificateDer<'static>>>().ok()?;
    tls::key_of(keys.first()?)
}

/// Why a link has not come up, once its connection is lost.
pub fn not_up(error: &ConnectionError) -> LinkError {
    match error {
        ConnectionError::TimedOut | ConnectionError::LocallyClosed => LinkError::Unanswered,
        ConnectionError::TransportError(_) => LinkError::Violation,
        ConnectionError::VersionMismatch
        | ConnectionError::ConnectionClosed(_)
        | ConnectionError::ApplicationClosed(_)
        | ConnectionError::Reset
        | ConnectionError::CidsExhausted => LinkError::Refused,
    }
}

/// Why a link that was up is gone, once its connection is lost.
pub fn went_down(error: &ConnectionError) -> LinkError {
    match error {
        ConnectionError::TimedOut => LinkError::TimedOut,
        ConnectionError::TransportError(_) | ConnectionError::VersionMismatch => {
            LinkError::Violation
        }
        ConnectionError::ConnectionClosed(_)
        | ConnectionError::ApplicationClosed(_)
        | ConnectionError::Reset
        | ConnectionError::LocallyClosed
        | ConnectionError::CidsExhausted => LinkError::Closed,
    }
}
