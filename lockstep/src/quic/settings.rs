//! How quinn is set up for turns: many small datagrams whose loss must slow nothing down.

use super::rules::ID_BYTES;
use quinn::congestion::{Controller, ControllerFactory};
use quinn::{AckFrequencyConfig, IdleTimeout, TransportConfig, VarInt};
use quinn_proto::RandomConnectionIdGenerator;
use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The settings of every link. `dialled` is true on the side that dialled.
fn transport(dialled: bool) -> Arc<TransportConfig> {
    let mut config = TransportConfig::default();
    let mut acknowledgements = AckFrequencyConfig::default();
    acknowledgements
        .ack_eliciting_threshold(VarInt::from_u32(PACKETS_UNACKNOWLEDGED))
        .reordering_threshold(VarInt::from_u32(1))
        .max_ack_delay(Some(ACKNOWLEDGED_WITHIN));
    config
        .ack_frequency_config(Some(acknowledgements))
        .max_idle_timeout(Some(IdleTimeout::from(VarInt::from_u32(IDLE_MS))))
        .keep_alive_interval(Some(KEEP_ALIVE))
        .initial_rtt(INITIAL_RTT)
        .mtu_discovery_config(None)
        .datagram_send_buffer_size(DATAGRAM_SEND_BYTES)
        .datagram_receive_buffer_size(Some(DATAGRAM_RECEIVE_BYTES))
        // The acceptor opens the only two-way stream, each side at most one one-way stream.
        .max_concurrent_bidi_streams(VarInt::from_u32(u32::from(dialled)))
        .max_concurrent_uni_streams(VarInt::from_u32(1))
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
        .receive_window(VarInt::from_u32(LINK_WINDOW))
        .send_window(u64::from(STREAM_WINDOW))
        .congestion_controller_factory(Arc::new(SteadyWindow));
    Arc::new(config)
}

/// What dials and accepts links.
pub(super) fn endpoint() -> quinn::EndpointConfig {
    let mut config = quinn::EndpointConfig::default();
    config.cid_generator(|| Box::new(RandomConnectionIdGenerator::new(ID_BYTES)));
    config
}

/// How a link is dialled.
pub fn client(tls: rustls::ClientConfig) -> quinn::ClientConfig {
    let crypto = quinn::crypto::rustls::QuicClientConfig::try_from(tls)
        .expect("the provider has the cipher of QUIC's first packets");
    let mut config = quinn::ClientConfig::new(Arc::new(crypto));
    config.transport_config(transport(true));
    config
}

/// What an endpoint that accepts links is bound by.
pub fn server(tls: rustls::ServerConfig) -> quinn::ServerConfig {
    let crypto = quinn::crypto::rustls::QuicServerConfig::try_from(tls)
        .expect("the provider has the cipher of QUIC's first packets");
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    config
        .transport_config(transport(false))
        .max_incoming(MAX_INCOMING)
        .incoming_buffer_size(INCOMING_BYTES)
        .incoming_buffer_size_total(INCOMING_BYTES * MAX_INCOMING as u64);
    config
}

/// A window that loss does not close. Under the usual controllers a few lost packets shrink it until turns wait in
/// line; what a link carries is bounded by the session's pulses instead.
#[derive(Clone, Debug)]
struct SteadyWindow;

impl Controller for SteadyWindow {
    fn on_congestion_event(
        &mut self,
        _now: Instant,
        _sent: Instant,
        _is_persistent_congestion: bool,
        _lost_bytes: u64,
    ) {
    }

    fn on_mtu_update(&mut self, _new_mtu: u16) {}

    fn window(&self) -> u64 {
        WINDOW
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        WINDOW
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl ControllerFactory for SteadyWindow {
    fn build(self: Arc<Self>, _now: Instant, _current_mtu: u16) -> Box<dyn Controller> {
        Box::new((*self).clone())
    }
}

/// Bytes in flight on one link.
const WINDOW: u64 = 64 << 10;
/// A link on which nothing was heard for so long is gone. The session suspects a peer long before.
const IDLE_MS: u32 = 10_000;
const KEEP_ALIVE: Duration = Duration::from_secs(2);
/// Acknowledgements of QUIC ride on turn packets where one leaves within this time, or within a round trip of at least 25 ms
/// if that is shorter. Packets that come out of order are acknowledged at once, so that streams lose no time.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_millis(100);
const PACKETS_UNACKNOWLEDGED: u32 = 8;
/// Assumed until it is measured: handshakes repeat lost packets three times sooner than by default.
const INITIAL_RTT: Duration = Duration::from_millis(100);
/// Two of the largest datagrams with quinn's book-keeping: what waits longer is stale.
const DATAGRAM_SEND_BYTES: usize = 2_800;
const DATAGRAM_RECEIVE_BYTES: usize = 64 << 10;
const STREAM_WINDOW: u32 = 256 << 10;
const LINK_WINDOW: u32 = 1 << 20;
/// First packets that wait for [`accept`](super::link::accept).
const MAX_INCOMING: usize = 64;
/// Bytes kept for each of those.
const INCOMING_BYTES: u64 = 16 << 10;
