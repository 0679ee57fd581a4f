//! Recordings for tests.

use crate::world::{Setup, World};
use lockstep::log::{RosterPeer, Start, Terms};
use lockstep::{Incarnation, MatchId, PeerId};
use sim::{Seat, Seed, Simulation};

/// How a match of two players begins.
pub fn start(terms: Terms, names: [&str; 2]) -> Start {
    let setup = Setup::default();
    let peer = |seat: u8| RosterPeer {
        peer: PeerId([seat + 1; 32]),
        incarnation: Incarnation([seat; 16]),
        name: names[usize::from(seat)].to_owned(),
        seats: vec![Seat(seat)],
        share: [seat; 32],
    };
    Start {
        protocol: lockstep::PROTOCOL,
        match_id: MatchId([3; 16]),
        rules: World::rules(&setup),
        setup: postcard::to_allocvec(&setup).unwrap().into(),
        seed: Seed([5; 32]),
        terms,
        roster: (0..2).map(peer).collect(),
        build: "test".to_owned(),
        signatures: vec![[0; 64]; 2],
    }
}
