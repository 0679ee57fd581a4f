//! Peers over QUIC on loopback, with worlds that only count turns.

use crate::quic::QuicConfig;
use crate::source::{Answer, TurnSource, Work};
use crate::{Config, Event, Live, Network};
use sim::Checksum;
use std::time::{Duration, Instant};

/// The config of a peer with a key of this number, on a free port.
pub(super) fn config(key: u8) -> Config {
    let mut quic = QuicConfig::new([key; 32]);
    quic.listen = ([127, 0, 0, 1], 0).into();
    Config {
        network: Some(Network::quic(quic).expect("a free port on loopback")),
        ..Config::default()
    }
}

/// Runs all peers until `wanted` returns a value, which is asked again and again with a peer's new events, if any.
/// `checksum_after` tells the world of a peer after a turn.
pub(super) fn run<T>(
    peers: &mut [&mut Live],
    checksum_after: impl Fn(usize, u32) -> Checksum,
    mut wanted: impl FnMut(usize, &[Event]) -> Option<T>,
) -> T {
    let until = now() + PATIENCE;
    while now() < until {
        for (at, peer) in peers.iter_mut().enumerate() {
            peer.wait(Duration::from_millis(2));
            while let Some(work) = peer.next(Duration::ZERO) {
                let answer = match work {
                    Work::New { .. } | Work::Load { .. } => Answer::Ready {
                        checksum: Checksum(1),
                    },
                    Work::Execute(bundle) => Answer::Executed {
                        checksum: checksum_after(at, bundle.turn.0),
                        outcome: None,
                        step: Duration::ZERO,
                    },
                    Work::Save { .. } => Answer::Saved(vec![7; 9]),
                };
                peer.answer(answer).expect("answered in kind");
            }
            if let Some(found) = wanted(at, &peer.events()) {
                return found;
            }
        }
    }
    panic!("nothing was found within {PATIENCE:?}");
}

#[expect(clippy::disallowed_methods, reason = "real peers take real time")]
pub(super) fn now() -> Instant {
    Instant::now()
}

const PATIENCE: Duration = Duration::from_secs(30);
