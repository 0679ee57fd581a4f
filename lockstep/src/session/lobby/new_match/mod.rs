//! The base of a new match: nothing. Peers come with a ticket, and agree on seats, terms and seed.

mod agreement;
mod dialling;
mod guest;
mod host;
mod host_clock;
mod host_lost;
mod seed;

pub(super) use guest::Newcomer;
pub(super) use host::NewMatch;

use crate::MatchId;
use crate::log::{RosterPeer, Start};
use crate::session::wire::{LockedPeer, Offer};
use sim::Seed;

/// The start that a roster and its revealed shares give; `None` where a share is not what was committed to.
fn start_of(
    match_id: MatchId,
    offer: &Offer,
    roster: &[LockedPeer],
    shares: &[[u8; 32]],
    build: &str,
) -> Option<Start> {
    let seed = seed::seed_of(match_id, roster, shares)?;
    let peers = roster.iter().zip(shares).map(|(peer, share)| RosterPeer {
        peer: peer.peer,
        incarnation: peer.incarnation,
        name: peer.name.clone(),
        seats: peer.seats.clone(),
        share: *share,
    });
    Some(Start {
        protocol: crate::PROTOCOL,
        match_id,
        rules: offer.rules,
        setup: offer.setup.as_slice().into(),
        seed: Seed(seed),
        terms: offer.terms,
        roster: peers.collect(),
        build: build.to_owned(),
        signatures: Vec::new(),
    })
}
