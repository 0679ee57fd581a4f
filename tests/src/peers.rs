//! Live peers over real QUIC links on loopback, with a world that only counts turns.

use lockstep::quic::QuicConfig;
use lockstep::source::{Answer, TurnSource, Work};
use lockstep::{Config, Event, Live, Network};
use sim::Checksum;
use std::time::{Duration, Instant};

/// A config with a free port on loopback and the key of this number.
///
/// # Panics
/// If there is no free port.
pub fn config(key: u8) -> Config {
    let mut quic = QuicConfig::new([key; 32]);
    quic.listen = ([127, 0, 0, 1], 0).into();
    Config {
        network: Some(Network::quic(quic).expect("a free port on loopback")),
        ..Config::default()
    }
}

/// Runs all peers until `wanted` returns a value.
///
/// # Panics
/// After 30 s.
pub fn run<T>(peers: &mut [&mut Live], wanted: impl FnMut(usize, &Event) -> Option<T>) -> T {
    run_worlds(peers, |_, turn| Checksum(turn), wanted)
}

/// Like [`run`], with checksums of worlds by peer and turn.
///
/// # Panics
/// As `run`.
pub fn run_worlds<T>(
    peers: &mut [&mut Live],
    checksum_after: impl Fn(usize, u32) -> Checksum,
    mut wanted: impl FnMut(usize, &Event) -> Option<T>,
) -> T {
    let until = Instant::now() + Duration::from_secs(30);
    while Instant::now() < until {
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
                    Work::Save { .. } => Answer::Saved(vec![at as u8; 9]),
                };
                peer.answer(answer).expect("answered in kind");
            }
            for event in peer.events() {
                if let Some(found) = wanted(at, &event) {
                    return found;
                }
            }
        }
    }
    panic!("no such event within 30 s");
}
