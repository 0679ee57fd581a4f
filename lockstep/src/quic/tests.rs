//! Two ends in one process, over loopback.

mod dialling;
mod messages;
// Other systems have one loopback address.
#[cfg(not(target_vendor = "apple"))]
mod strangers;

use super::*;
use crate::{LinkError, MAX_DATAGRAM};
use std::collections::VecDeque;
use std::net::UdpSocket;
use std::ops::{Deref, DerefMut};
use tokio::time::Instant;

/// A transport, and what it has reported so far.
struct End {
    quic: Quic,
    seen: VecDeque<LinkEvent>,
}

impl End {
    fn pump(&mut self) {
        self.seen.extend(self.quic.poll(Duration::from_micros(100)));
    }
}

impl Deref for End {
    type Target = Quic;

    fn deref(&self) -> &Quic {
        &self.quic
    }
}

impl DerefMut for End {
    fn deref_mut(&mut self) -> &mut Quic {
        &mut self.quic
    }
}

/// What an `Up` said.
struct Up {
    link: LinkId,
    peer: PeerId,
    dialled: bool,
    address: String,
    binding: [u8; 32],
}

fn open(key: u8) -> End {
    bound(QuicConfig::new([key; 32]))
}

fn bound(mut config: QuicConfig) -> End {
    config.listen = (Ipv4Addr::LOCALHOST, 0).into();
    End {
        quic: Quic::bind(config).unwrap(),
        seen: VecDeque::new(),
    }
}

fn at(quic: &Quic) -> String {
    quic.addresses().remove(0)
}

/// Dials from `a` to `b`; returns both ends in that order.
fn connect(a: &mut End, b: &mut End) -> (Up, Up) {
    a.dial(&at(b), b.peer());
    let end = |event| match event {
        LinkEvent::Up {
            link,
            peer,
            dialled,
            address,
            binding,
        } => Some(Up {
            link,
            peer: peer.unwrap(),
            dialled,
            address,
            binding,
        }),
        LinkEvent::DialFailed { .. } => panic!("{event:?}"),
        _ => None,
    };
    let from_a = until(b, a, end);
    (from_a, until(a, b, end))
}

/// Dials from `a` to `b` where one dial in some hundreds is bound to fail; returns the link of `a`.
fn connect_through_loss(a: &mut End, b: &mut End) -> LinkId {
    for _ in 0..3 {
        a.dial(&at(b), b.peer());
        let link = until(b, a, |event| match event {
            LinkEvent::Up { link, .. } => Some(Some(link)),
            LinkEvent::DialFailed { .. } => Some(None),
            _ => None,
        });
        if let Some(link) = link {
            return link;
        }
    }
    panic!("three dials came to nothing");
}

/// Polls both until `watched` has an event that `wanted` takes; drops those before it.
fn until<T>(other: &mut End, watched: &mut End, wanted: impl Fn(LinkEvent) -> Option<T>) -> T {
    let by = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < by, "no such event within {PATIENCE:?}");
        other.pump();
        watched.pump();
        while let Some(event) = watched.seen.pop_front() {
            if let Some(found) = wanted(event) {
                return found;
            }
        }
    }
}

fn received(channel: Channel) -> impl Fn(LinkEvent) -> Option<Vec<u8>> {
    move |event| match event {
        LinkEvent::Received {
            channel: by, bytes, ..
        } if by == channel => Some(bytes),
        _ => None,
    }
}

fn failed(event: LinkEvent) -> Option<(PeerId, LinkError)> {
    match event {
        LinkEvent::DialFailed { key, why, .. } => Some((key, why)),
        _ => None,
    }
}

fn down(event: LinkEvent) -> Option<(LinkId, LinkError)> {
    match event {
        LinkEvent::Down { link, why } => Some((link, why)),
        _ => None,
    }
}

fn quiet(end: &mut End) -> bool {
    end.seen.is_empty() && end.poll(Duration::from_millis(50)).is_none()
}

fn waker_after(pause: Duration, waker: Arc<dyn Fn() + Send + Sync>) -> impl FnOnce() + Send {
    move || {
        std::thread::park_timeout(pause);
        waker();
    }
}

/// How long anything may take that is to happen.
const PATIENCE: Duration = Duration::from_secs(10);
