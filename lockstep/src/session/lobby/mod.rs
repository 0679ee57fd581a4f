//! The lobby: who plays, by which rules, from which seed.
//!
//! The host lets peers in and settles the roster. Then everybody commits to a share of the seed, reveals it, builds
//! the world, signs the start, and begins turn 0 at one moment.

mod host;
mod join;
mod pings;

pub(crate) use host::Host;
pub(crate) use join::Joiner;
pub(crate) use pings::Pings;

use super::rejoin::Returned;
use super::wire::{LockedPeer, Terms};
use crate::log::{Chain, RosterChange, RosterPeer, Start};
use crate::{EndReason, LinkId, MatchId, PeerId};
use sim::{Checksum, Seed};
use std::time::Duration;

/// What this peer brings into the lobby.
pub(crate) struct OwnPeer {
    pub name: String,
    /// Seats that it takes or asks for.
    pub seats: u8,
    pub ready: bool,
    /// Where others may try to dial it.
    pub addresses: Vec<String>,
    /// Its share of the match seed comes from this, anew in every attempt.
    pub share: [u8; 32],
    pub build: String,
}

/// What a ticket says.
pub(crate) struct Invitation {
    pub match_id: MatchId,
    pub secret: [u8; 16],
    pub host: PeerId,
    pub addresses: Vec<String>,
}

/// What a lobby comes to.
pub(crate) enum Step {
    /// It goes on.
    Stay,
    /// The match begins.
    Begin(Box<Settled>),
    /// A peer that comes back begins its part.
    Return(Box<Returned>),
    /// A player goes on alone, from a world with this checksum.
    PlayOn(Checksum),
    /// Who is asked at the other end of this link waits for the others, to reopen the match.
    Gather(LinkId),
    /// The match is not reopened where it seemed to be: this peer looks further, and ends so where it finds nobody.
    Search(EndReason),
    /// All who are here go on by this change; its first turn is due then.
    Reopened(Box<RosterChange>, Duration),
    /// It is over for this peer.
    End(EndReason),
}

/// A match that is ready to begin.
pub(crate) struct Settled {
    /// Complete with everybody's signatures.
    pub start: Start,
    /// Where each peer can be dialled, by roster index.
    pub addresses: Vec<Vec<String>>,
    /// When turn 0 is due, on this session's clock.
    pub begin: Duration,
}

/// What a peer commits to before anybody reveals.
pub(crate) fn commitment(match_id: MatchId, peer: PeerId, share: &[u8; 32]) -> [u8; 32] {
    let mut chain = Chain::new("lockstep seed commitment 1");
    chain.bytes(&match_id.0);
    chain.bytes(&peer.0);
    chain.bytes(share);
    chain.end_256()
}

/// A peer's share for the given attempt, from the share that it was configured with.
pub(crate) fn share_of_attempt(configured: &[u8; 32], attempt: u32) -> [u8; 32] {
    let mut chain = Chain::new("lockstep seed share 1");
    chain.bytes(configured);
    chain.number(attempt);
    chain.end_256()
}

/// The start that the roster and its revealed shares give; `None` where a share is not what was committed to.
pub(crate) fn start_of(
    match_id: MatchId,
    terms: &Terms,
    roster: &[LockedPeer],
    shares: &[[u8; 32]],
    build: &str,
) -> Option<Start> {
    if shares.len() != roster.len() {
        return None;
    }
    let mut seed = Chain::new("lockstep seed 1");
    seed.bytes(&match_id.0);
    let mut peers = Vec::with_capacity(roster.len());
    for (peer, share) in roster.iter().zip(shares) {
        if commitment(match_id, peer.peer, share) != peer.commit {
            return None;
        }
        seed.bytes(share);
        peers.push(RosterPeer {
            peer: peer.peer,
            incarnation: peer.incarnation,
            name: peer.name.clone(),
            seats: peer.seats.clone(),
            share: *share,
        });
    }
    Some(Start {
        protocol: crate::PROTOCOL,
        match_id,
        rules: terms.rules,
        setup: terms.setup.as_slice().into(),
        seed: Seed(seed.end_256()),
        plan: terms.plan,
        turn_limit: terms.turn_limit,
        pauses: terms.pauses,
        on_slow: terms.on_slow,
        on_desync: terms.on_desync,
        absent: terms.absent,
        roster: peers,
        build: build.to_owned(),
        signatures: Vec::new(),
    })
}
