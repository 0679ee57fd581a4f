//! The seed of a new match, by commit and reveal: each peer commits to a share before any peer reveals one.

use crate::log::Chain;
use crate::session::wire::LockedPeer;
use crate::{MatchId, PeerId};
use std::collections::BTreeMap;

/// A peer's own shares.
pub(super) struct OwnShare {
    match_id: MatchId,
    peer: PeerId,
    /// The share of every attempt comes from this.
    configured: [u8; 32],
}

impl OwnShare {
    pub(super) fn new(match_id: MatchId, peer: PeerId, configured: [u8; 32]) -> Self {
        OwnShare {
            match_id,
            peer,
            configured,
        }
    }

    pub(super) fn of(&self, attempt: u32) -> [u8; 32] {
        let mut chain = Chain::new("lockstep seed share 1");
        chain.bytes(&self.configured);
        chain.number(attempt);
        chain.end_256()
    }

    /// What the peer commits to for an attempt.
    pub(super) fn commitment(&self, attempt: u32) -> [u8; 32] {
        commitment(self.match_id, self.peer, &self.of(attempt))
    }
}

/// What a peer commits to.
fn commitment(match_id: MatchId, peer: PeerId, share: &[u8; 32]) -> [u8; 32] {
    let mut chain = Chain::new("lockstep seed commitment 1");
    chain.bytes(&match_id.0);
    chain.bytes(&peer.0);
    chain.bytes(share);
    chain.end_256()
}

/// The seed that the shares of a roster give; `None` where one is missing, or is not what its peer committed to.
pub(super) fn seed_of(
    match_id: MatchId,
    roster: &[LockedPeer],
    shares: &[[u8; 32]],
) -> Option<[u8; 32]> {
    let is_revealed = |(peer, share): (&LockedPeer, &[u8; 32])| {
        commitment(match_id, peer.peer, share) == peer.commit
    };
    if shares.len() != roster.len() || !roster.iter().zip(shares).all(is_revealed) {
        return None;
    }
    let mut seed = Chain::new("lockstep seed 1");
    seed.bytes(&match_id.0);
    shares.iter().for_each(|share| seed.bytes(share));
    Some(seed.end_256())
}

/// The host's record of what the peers of its lobby committed to and revealed.
pub(super) struct SeedDraw {
    match_id: MatchId,
    commitments: BTreeMap<PeerId, [u8; 32]>,
    /// Once the roster is locked.
    drawn: Option<Drawn>,
}

struct Drawn {
    roster: Vec<LockedPeer>,
    shares: Vec<Option<[u8; 32]>>,
}

/// What a revealed share comes to.
#[derive(Debug, PartialEq)]
pub(super) enum Revealed {
    /// Shares are missing, or the peer has none to reveal.
    Waits,
    /// It is not what the peer committed to.
    False,
    /// All shares are here.
    All(Vec<LockedPeer>, Vec<[u8; 32]>),
}

impl SeedDraw {
    pub(super) fn new(match_id: MatchId) -> Self {
        SeedDraw {
            match_id,
            commitments: BTreeMap::new(),
            drawn: None,
        }
    }

    /// What a peer has committed to.
    pub(super) fn commitment(&self, peer: PeerId) -> Option<[u8; 32]> {
        self.commitments.get(&peer).copied()
    }

    /// A peer commits, or takes its commitment back.
    pub(super) fn commit(&mut self, peer: PeerId, commitment: Option<[u8; 32]>) {
        match commitment {
            Some(commitment) => self.commitments.insert(peer, commitment),
            None => self.commitments.remove(&peer),
        };
    }

    /// From now on these peers reveal their shares.
    pub(super) fn lock(&mut self, roster: Vec<LockedPeer>) {
        self.drawn = Some(Drawn {
            shares: vec![None; roster.len()],
            roster,
        });
    }

    pub(super) fn reveal(&mut self, peer: PeerId, share: [u8; 32]) -> Revealed {
        let Some(drawn) = &mut self.drawn else {
            return Revealed::Waits;
        };
        let Some(at) = drawn.roster.iter().position(|locked| locked.peer == peer) else {
            return Revealed::Waits;
        };
        if commitment(self.match_id, peer, &share) != drawn.roster[at].commit {
            return Revealed::False;
        }
        drawn.shares[at] = Some(share);
        match drawn.shares.iter().copied().collect() {
            Some(shares) => {
                let roster = std::mem::take(&mut drawn.roster);
                self.drawn = None;
                Revealed::All(roster, shares)
            }
            None => Revealed::Waits,
        }
    }

    /// Peers that are to reveal and have not.
    pub(super) fn silent(&self) -> Vec<PeerId> {
        let drawn = self.drawn.iter();
        let peers = drawn.flat_map(|drawn| drawn.roster.iter().zip(&drawn.shares));
        let silent = peers.filter(|(_, share)| share.is_none());
        silent.map(|(peer, _)| peer.peer).collect()
    }

    /// All commit anew.
    pub(super) fn reset(&mut self) {
        self.commitments.clear();
        self.drawn = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Incarnation;
    use sim::Seat;

    const MATCH: MatchId = MatchId([7; 16]);

    fn own(peer: u8) -> OwnShare {
        OwnShare::new(MATCH, PeerId([peer; 32]), [peer; 32])
    }

    fn locked(peer: u8, attempt: u32) -> LockedPeer {
        LockedPeer {
            peer: PeerId([peer; 32]),
            incarnation: Incarnation([peer; 16]),
            name: String::new(),
            seats: vec![Seat(peer)],
            addresses: Vec::new().into(),
            commit: own(peer).commitment(attempt),
        }
    }

    fn draw(peers: u8) -> SeedDraw {
        let mut draw = SeedDraw::new(MATCH);
        draw.lock((0..peers).map(|peer| locked(peer, 0)).collect());
        draw
    }

    #[test]
    fn a_seed_comes_from_all_shares_once_they_are_revealed() {
        let mut draw = draw(2);
        assert_eq!(draw.reveal(PeerId([1; 32]), own(1).of(0)), Revealed::Waits);
        assert_eq!(draw.silent(), [PeerId([0; 32])]);
        let Revealed::All(roster, shares) = draw.reveal(PeerId([0; 32]), own(0).of(0)) else {
            panic!("all shares are here");
        };
        let seed = seed_of(MATCH, &roster, &shares).expect("they were committed to");
        let other = [own(0).of(0), own(1).of(1)];
        assert_eq!(seed_of(MATCH, &roster, &other), None, "of another attempt");
        assert_eq!(
            seed_of(MATCH, &roster, &shares[..1]),
            None,
            "one is missing"
        );
        assert_ne!(
            seed,
            seed_of(MATCH, &roster[..1], &shares[..1]).expect("a seed")
        );
    }

    #[test]
    fn a_share_that_was_not_committed_to_is_false() {
        let mut draw = draw(2);
        assert_eq!(draw.reveal(PeerId([1; 32]), own(0).of(0)), Revealed::False);
        assert_eq!(draw.reveal(PeerId([9; 32]), own(9).of(0)), Revealed::Waits);
        assert_eq!(draw.silent().len(), 2);
    }

    #[test]
    fn all_peers_commit_again_after_a_reset() {
        let mut draw = draw(2);
        draw.commit(PeerId([1; 32]), Some(own(1).commitment(0)));
        draw.reset();
        assert_eq!(draw.commitment(PeerId([1; 32])), None);
        assert_eq!(draw.silent(), []);
        assert_ne!(own(1).commitment(0), own(1).commitment(1));
    }
}
