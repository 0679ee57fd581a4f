//! A peer's network: its key, and the impairment of its outgoing packets.

use super::KeyChoice;
use crate::cli::Common;
use crate::exit::Problem;
use crate::log::{LogLevel, say};
use crate::options::{Impair, ways_in};
use lockstep::quic::{Identity, IdentityError, Impairments, QuicConfig};
use lockstep::sign::Signer as _;
use lockstep::{Network, Rejoin};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

pub(super) fn network(
    listen: SocketAddr,
    common: &Common,
    key: KeyChoice,
) -> Result<Network, Problem> {
    Ok(Network::quic(config(listen, common, key, None)?)?)
}

fn config(
    listen: SocketAddr,
    common: &Common,
    key: KeyChoice,
    earlier: Option<&Rejoin>,
) -> Result<QuicConfig, Problem> {
    let mut config = match (key, &common.identity, earlier) {
        (KeyChoice::Ephemeral, ..) => QuicConfig::new(fresh_key()?),
        (KeyChoice::Kept, Some(path), _) => QuicConfig::new(Identity::at(path)?),
        (KeyChoice::Kept, None, Some(from)) => QuicConfig::new(kept_key(from)?),
        (KeyChoice::Kept, None, None) => QuicConfig::new(Identity::default_for_user()?),
    };
    config.listen = listen;
    config.impairments = common.impair.as_ref().map(impairments);
    Ok(config)
}

/// The key that the earlier run has played with.
fn kept_key(from: &Rejoin) -> Result<Identity, Problem> {
    Identity::of_earlier_run(from).map_err(|why| match why {
        IdentityError::NoPlace => Problem::KeyWithoutSeat,
        why => why.into(),
    })
}

/// The network of a peer with a seat in the match. It listens on the port of its earlier run where that is free: the
/// addresses that other players have kept lead there.
pub(super) fn network_of_player(
    listen: SocketAddr,
    common: &Common,
    key: KeyChoice,
    from: &Rejoin,
) -> Result<Network, Problem> {
    let mut config = config(listen, common, key, Some(from))?;
    let own = config.key.signer().id();
    // A ticket names no players; there the other peers check the key.
    if from.log.is_some() && from.roster().all(|peer| peer != own) {
        return Err(Problem::KeyWithoutSeat);
    }
    config.preferred_port = from.port_of(own);
    Ok(Network::quic(config)?)
}

fn impairments(impair: &Impair) -> Impairments {
    let impairments = Impairments::new(impair.ways.clone());
    if let Some(path) = impair.file.clone() {
        let followed = impairments.clone();
        std::thread::spawn(move || follow(&followed, &path));
    }
    impairments
}

/// Reads the file repeatedly while the socket lives. Unreadable text changes nothing.
fn follow(impairments: &Impairments, path: &Path) {
    let mut reported = None;
    while impairments.is_shared() {
        match ways_in(path) {
            Ok(ways) => {
                reported = None;
                if ways != impairments.get() {
                    impairments.set(ways);
                }
            }
            Err(why) => {
                let why = why.to_string();
                if reported.as_ref() != Some(&why) {
                    say(LogLevel::Warn, format_args!("--impair: {why}"));
                }
                reported = Some(why);
            }
        }
        std::thread::sleep(FOLLOW_EVERY);
    }
}

fn fresh_key() -> Result<[u8; 32], Problem> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|_| lockstep::live::Error::Randomness)?;
    Ok(key)
}

const FOLLOW_EVERY: Duration = Duration::from_millis(50);
