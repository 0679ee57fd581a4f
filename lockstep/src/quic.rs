//! QUIC links, identities on disk, and links made worse on purpose.
//!
//! [`Quic`] is a [`Transport`] over one UDP socket that dials and accepts. Both ends of a link show an Ed25519 key and
//! prove that they hold it. The dialler accepts only the expected key; the acceptor accepts any, because the session
//! decides about admission. Turns travel as datagrams, messages on streams.

mod address;
mod frame;
mod handshakes;
mod identity;
mod impairment;
mod link;
mod lookups;
mod outgoing;
mod recent;
mod rules;
mod settings;
mod socket;
#[cfg(test)]
mod tests;
mod tls;
mod ways;

/// What binds every link, for drivers of QUIC that do not call [`Quic`]: the simulator of this repository is one, on a
/// virtual clock. Part of no promise: any version may change it.
#[doc(hidden)]
pub mod parts {
    pub use super::frame::{Decoder, Oversized, encode};
    pub use super::rules::*;
    pub use super::settings::{client, server};
    pub use super::tls::{OwnKey, accepting, dialling};
    pub use crate::doorway::{Arrival, Bounds, Crowd, Doorway};
}

pub use identity::{Identity, IdentityError};
pub use impairment::{Impairment, ImpairmentError};
pub use ways::{Impairments, Ways};

use crate::sign::{Ed25519, Signer as _};
use crate::{Blocked, Channel, Limits, LinkEvent, LinkId, PeerId, Traffic, Transport};
use link::{Happening, LinkHandle, Shared};
use lookups::LOOKUP_THREADS;
use quinn::Runtime as _;
use rules::{LAST_MESSAGES, LAST_PACKETS};
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::{Notify, mpsc};
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};

/// What a [`Quic`] is made of.
#[derive(Debug)]
pub struct QuicConfig {
    /// Where to listen. Default: any free port on every IPv4 address.
    pub listen: SocketAddr,
    /// The port to listen on where it is free and `listen` names none: that of an earlier run, where others seek this peer.
    pub preferred_port: Option<u16>,
    /// The key that this peer is known by.
    pub key: Key,
    /// Bounds on messages and links. A game that raises [`Limits::message_bytes`] for its match raises it here as well: a
    /// link carries no longer message than these limits allow.
    pub limits: Limits,
    /// Makes the ways out worse, for tests.
    pub impairments: Option<Impairments>,
}

impl QuicConfig {
    /// The default configuration with this key.
    pub fn new(key: impl Into<Key>) -> QuicConfig {
        QuicConfig {
            listen: (Ipv4Addr::UNSPECIFIED, 0).into(),
            preferred_port: None,
            key: key.into(),
            limits: Limits::default(),
            impairments: None,
        }
    }
}

/// A key, and whatever must be kept for as long as it is used.
#[non_exhaustive]
pub enum Key {
    /// An Ed25519 secret.
    Secret([u8; 32]),
    /// An identity file, which stays locked as long as the transport lives.
    Identity(Identity),
}

impl Key {
    /// Signs with this key.
    pub fn signer(&self) -> Ed25519 {
        Ed25519::new(&self.secret())
    }

    fn secret(&self) -> [u8; 32] {
        match self {
            Key::Secret(secret) => *secret,
            Key::Identity(identity) => identity.secret(),
        }
    }
}

impl std::fmt::Debug for Key {
    /// Shows whose key it is, never its secret half.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let peer = Ed25519::new(&self.secret()).id();
        f.debug_tuple("Key").field(&peer).finish()
    }
}

impl From<[u8; 32]> for Key {
    fn from(secret: [u8; 32]) -> Key {
        Key::Secret(secret)
    }
}

impl From<Identity> for Key {
    fn from(identity: Identity) -> Key {
        Key::Identity(identity)
    }
}

/// Why there is no transport.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The socket could not be had.
    #[error(
        "cannot listen on {address}: {source}; choose another port, or port 0 for any free one"
    )]
    Bind {
        /// Where it should listen.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// The operating system gave no timer or no readiness queue.
    #[error("cannot set up the network thread: {0}")]
    Runtime(#[source] io::Error),
}

/// Links over QUIC. All of its work is done within [`poll`](Transport::poll), on the thread that calls it, so that must
/// be called again and again; it must not be called within an asynchronous runtime.
pub struct Quic {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    shared: Arc<Shared>,
    happenings: mpsc::Receiver<Happening>,
    links: BTreeMap<LinkId, LinkHandle>,
    woken: Arc<Notify>,
    counters: Arc<socket::Counters>,
    local: SocketAddr,
    key: Key,
}

impl Quic {
    /// Opens the socket and begins to take in links.
    ///
    /// # Errors
    /// [`Error::Bind`] if the address cannot be listened on, [`Error::Runtime`] if the operating system denies a timer.
    pub fn bind(config: QuicConfig) -> Result<Quic, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(LOOKUP_THREADS)
            .build()
            .map_err(Error::Runtime)?;
        let at_bind = |source| Error::Bind {
            address: config.listen,
            source,
        };
        let udp = listening(&config).map_err(at_bind)?;
        let local = udp.local_addr().map_err(at_bind)?;

        let within = runtime.enter();
        let inner = quinn::TokioRuntime.wrap_udp_socket(udp).map_err(at_bind)?;
        let counters = Arc::new(socket::Counters::default());
        let socket = socket::wrap(inner, counters.clone(), config.impairments);
        let key = tls::OwnKey::new(&config.key.secret());
        let endpoint = quinn::Endpoint::new_with_abstract_socket(
            settings::endpoint(),
            Some(settings::server(tls::accepting(&key))),
            socket,
            Arc::new(quinn::TokioRuntime),
        )
        .map_err(at_bind)?;
        let (sender, happenings) = mpsc::channel(MAX_HAPPENINGS);
        let shared = Arc::new(Shared::new(endpoint, key, config.limits, sender));
        tokio::spawn(link::accept(shared.clone()));
        drop(within);

        Ok(Quic {
            runtime: Some(runtime),
            shared,
            happenings,
            links: BTreeMap::new(),
            woken: Arc::new(Notify::new()),
            counters,
            local,
            key: config.key,
        })
    }

    /// The key that this peer is known by.
    pub fn peer(&self) -> PeerId {
        Ed25519::new(&self.key.secret()).id()
    }

    /// Where the socket listens.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    fn runtime(&self) -> &Runtime {
        self.runtime
            .as_ref()
            .expect("the runtime is there until the transport is dropped")
    }

    /// Keeps track of links; `None` for what no longer concerns the caller.
    fn report(&mut self, happening: Happening) -> Option<LinkEvent> {
        match happening {
            Happening::Up(handle) => {
                let event = LinkEvent::Up {
                    link: handle.link,
                    peer: Some(handle.peer),
                    dialled: handle.dialled,
                    address: handle.address.clone(),
                    binding: handle.binding,
                };
                self.links.insert(handle.link, handle);
                Some(event)
            }
            Happening::DialFailed { address, key, why } => {
                Some(LinkEvent::DialFailed { address, key, why })
            }
            Happening::Down { link, why } => {
                self.links.remove(&link)?;
                Some(LinkEvent::Down { link, why })
            }
            Happening::Received {
                link,
                channel,
                bytes,
            } => self
                .links
                .contains_key(&link)
                .then_some(LinkEvent::Received {
                    link,
                    channel,
                    bytes,
                }),
        }
    }
}

fn listening(config: &QuicConfig) -> io::Result<UdpSocket> {
    let mut preferred = config.listen;
    if let Some(port) = config.preferred_port.filter(|_| preferred.port() == 0) {
        preferred.set_port(port);
    }
    UdpSocket::bind(preferred).or_else(|_| UdpSocket::bind(config.listen))
}

impl Transport for Quic {
    fn addresses(&self) -> Vec<String> {
        address::reachable(self.local)
            .iter()
            .map(SocketAddr::to_string)
            .collect()
    }

    fn dial(&mut self, address: &str, key: PeerId) {
        let dial = link::dial(self.shared.clone(), address.to_owned(), key);
        self.runtime().spawn(dial);
    }

    fn send(&mut self, link: LinkId, channel: Channel, bytes: &[u8]) -> Result<(), Blocked> {
        let handle = self.links.get(&link).ok_or(Blocked)?;
        match channel {
            Channel::Turns => {
                // Older datagrams that wait only for their turn on this thread must not give way.
                if handle.datagrams_waiting(bytes.len()) {
                    self.runtime().block_on(yield_now());
                }
                handle.send_datagram(bytes)
            }
            Channel::Control | Channel::Bulk => {
                handle.send_message(channel, bytes, &self.shared.limits)
            }
        }
    }

    fn close(&mut self, link: LinkId) {
        self.links.remove(&link);
    }

    fn keep_places(&mut self, addresses: &[String]) {
        let addresses = addresses.iter();
        let sockets = addresses.filter_map(|address| address.parse::<SocketAddr>().ok());
        self.shared
            .handshakes
            .keep(sockets.map(|socket| socket.ip()));
    }

    fn poll(&mut self, timeout: Duration) -> Option<LinkEvent> {
        let runtime = self
            .runtime
            .take()
            .expect("the runtime is there until the transport is dropped");
        let event = runtime.block_on(self.next_event(timeout));
        self.runtime = Some(runtime);
        event
    }

    fn waker(&self) -> Arc<dyn Fn() + Send + Sync> {
        let woken = self.woken.clone();
        Arc::new(move || woken.notify_one())
    }

    fn traffic(&self) -> Traffic {
        self.counters.traffic()
    }
}

impl Quic {
    async fn next_event(&mut self, limit: Duration) -> Option<LinkEvent> {
        // The first pass sends what is queued and asks the socket, the second takes what has arrived. Without them, a
        // caller that never has to wait would never send.
        yield_now().await;
        yield_now().await;
        while let Ok(happening) = self.happenings.try_recv() {
            if let Some(event) = self.report(happening) {
                return Some(event);
            }
        }
        if limit.is_zero() {
            return None;
        }
        let over = sleep(limit);
        tokio::pin!(over);
        loop {
            let happening = tokio::select! {
                happening = self.happenings.recv() => happening?,
                () = self.woken.notified() => return None,
                () = &mut over => return None,
            };
            if let Some(event) = self.report(happening) {
                return Some(event);
            }
        }
    }
}

impl Drop for Quic {
    /// Closes all links, for which it waits up to 300 ms.
    fn drop(&mut self) {
        self.links.clear();
        self.happenings.close();
        if let Some(runtime) = self.runtime.take() {
            let endpoint = &self.shared.endpoint;
            runtime.block_on(async {
                if timeout(LAST_MESSAGES, endpoint.wait_idle()).await.is_err() {
                    endpoint.close(quinn::VarInt::from_u32(0), &[]);
                    let _ = timeout(LAST_PACKETS, endpoint.wait_idle()).await;
                }
            });
            // A name that is being looked up must not hold up the end.
            runtime.shutdown_background();
        }
    }
}

/// Events that wait for [`Transport::poll`]; beyond, links wait and QUIC slows the other side down.
const MAX_HAPPENINGS: usize = 256;
