//! Settings of sessions in a mesh, where the number of a peer is its address too.

use crate::log::Terms;
use crate::session::{HostConfig, Role, SessionConfig};
use crate::{Limits, MatchId, PeerId};
use sim::RulesId;
use std::time::Duration;

const MATCH: MatchId = MatchId([7; 16]);
const SECRET: [u8; 16] = [8; 16];
const RULES: RulesId = RulesId([9; 16]);

/// The key of a peer, by its number.
///
/// # Panics
/// Beyond the 255th.
pub fn peer_id(peer: usize) -> PeerId {
    PeerId([u8::try_from(peer + 1).expect("few peers"); 32])
}

/// A match of so many seats, without a setup and without an end.
pub fn hosted(seats: u8) -> HostConfig {
    HostConfig {
        match_id: MATCH,
        secret: SECRET,
        expires: None,
        takes_askers: false,
        setup: Vec::new(),
        rules: RULES,
        terms: Terms {
            seats,
            ..Terms::default()
        },
    }
}

/// The role of a guest in the lobby of peer 0, which hosts as [`hosted`] says.
pub fn guest() -> Role {
    Role::Join {
        match_id: MATCH,
        secret: SECRET,
        host: peer_id(0),
        addresses: vec!["0".to_owned()],
        rules: Box::new(|_| Some(RULES)),
    }
}

/// A peer with one seat, which is ready to start.
pub fn settings(peer: usize, role: Role) -> SessionConfig {
    SessionConfig {
        name: format!("peer {peer}"),
        own_seats: 1,
        ready: true,
        addresses: vec![peer.to_string()],
        entropy: [peer as u8; 32],
        share: None,
        keyframe_every: None,
        limits: Limits::default(),
        stall_limit: None,
        suspicion: Duration::from_secs(3),
        build: String::new(),
        role,
    }
}
