//! The fence: a peer that stood still, or whose machine slept, does nothing until others have told it that it still
//! belongs.
//!
//! Each peer tells one signed **status** of itself at a time, and forwards others' statuses; the newest of each peer
//! counts. After a gap a peer challenges the others in it, with a number that could not be foreseen, and its status
//! holds its responses to their challenges. A frozen peer responds to none: it may have accepted that the challenger
//! goes. So when a quorum has responded, no quorum had removed the challenger when it asked: one peer of it would have
//! responded.

use super::extensions::Votes;
use super::paxos::Peers;
use crate::encoding::DecodeError;
use crate::log::{Document, Kind};
use crate::session::clock_gap::{GAP, LOOK_AT_TIME};
use crate::session::ledger::Places;
use crate::session::wire::SignedStatement;
use crate::sign::Signer;
use crate::{Incarnation, MatchId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// What a peer says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PeerStatus {
    /// The run of its process that says so.
    pub run: Incarnation,
    /// Counts the statuses of one run of its process, from 1.
    pub number: u32,
    /// The epoch that it is in.
    pub epoch: u32,
    /// Its challenge after its last gap; 0 before any.
    challenge: u64,
    /// By index in the start's roster: the newest challenge of each peer that it has responded to; 0 for none.
    responses: Vec<u64>,
    /// Whether its players want to wait longer.
    pub(super) votes: Votes,
}

impl PeerStatus {
    fn encode(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("a status always encodes")
    }

    /// The fence of one of so many peers.
    pub(crate) fn decode(bytes: &[u8], peers: usize) -> Result<PeerStatus, DecodeError> {
        match postcard::take_from_bytes::<PeerStatus>(bytes) {
            Ok((status, [])) if status.responses.len() == peers => Ok(status),
            _ => Err(DecodeError {
                what: "no such status",
                at: 0,
            }),
        }
    }
}

pub(super) struct Fence {
    seen_at: Duration,
    /// The challenge that a quorum has not responded to yet.
    challenge: Option<u64>,
    own: PeerStatus,
    statuses: BTreeMap<u8, PeerStatus>,
}

impl Fence {
    pub(super) fn new(run: Incarnation, peers: usize, now: Duration) -> Self {
        Fence {
            seen_at: now,
            challenge: None,
            own: PeerStatus {
                run,
                number: 0,
                epoch: 0,
                challenge: 0,
                responses: vec![0; peers],
                votes: Votes::default(),
            },
            statuses: BTreeMap::new(),
        }
    }

    /// How long this peer's clock has stood still, where that was a gap.
    pub(super) fn detect_clock_gap(&mut self, now: Duration) -> Option<Duration> {
        let away = now.saturating_sub(self.seen_at);
        self.seen_at = now;
        (away > GAP).then_some(away)
    }

    /// When the clock is looked at again.
    pub(super) fn look_at(&self) -> Duration {
        self.seen_at + LOOK_AT_TIME
    }

    /// Challenges the others, with a number that could not be foreseen.
    pub(super) fn challenge(&mut self, number: u64) {
        self.challenge = Some(number.max(1));
    }

    /// Whether nothing may be sealed, completed or handed out until others have responded.
    pub(super) fn is_closed(&self) -> bool {
        self.challenge.is_some()
    }

    /// A quorum has responded.
    pub(super) fn open(&mut self) {
        self.challenge = None;
    }

    /// The statuses of the runs that are of the match, as far as this peer has come.
    pub(super) fn statuses(&self, places: &Places) -> impl Iterator<Item = (u8, &PeerStatus)> {
        let statuses = self.statuses.iter().map(|(at, status)| (*at, status));
        statuses.filter(|(at, status)| places.is_current(usize::from(*at), status.run))
    }

    /// The peers whose newest status responds to this peer's challenge. A peer in a later epoch than this may have seen
    /// this one go; its decision is on its way.
    pub(super) fn responding(&self, epoch: u32, places: &Places) -> Peers {
        let Some(challenge) = self.challenge else {
            return Peers::default();
        };
        let responding = self.statuses(places).filter(|(_, status)| {
            status.epoch <= epoch && status.responses.get(places.me()) == Some(&challenge)
        });
        responding.map(|(at, _)| at).collect()
    }

    /// Says what is new about this peer, in this epoch: its challenge, its votes, and, where it responds, its responses to
    /// the peers that stay. Its new status, signed.
    pub(super) fn publish_status(
        &mut self,
        (epoch, votes): (u32, Votes),
        responds_to: Peers,
        places: &Places,
        signer: &dyn Signer,
    ) -> Option<(PeerStatus, SignedStatement)> {
        let mut status = PeerStatus {
            epoch,
            challenge: self.challenge.unwrap_or(self.own.challenge),
            votes,
            ..self.own.clone()
        };
        for (at, other) in self.statuses(places) {
            let stays = responds_to.contains(at) && usize::from(at) != places.me();
            if stays && other.challenge != 0 {
                status.responses[usize::from(at)] = other.challenge;
            }
        }
        let news = (status.challenge, &status.responses, status.votes)
            != (self.own.challenge, &self.own.responses, self.own.votes);
        if !news {
            return None;
        }
        status.number += 1;
        let content = status.encode();
        let status_of = StatusOf(places.start().match_id, &content);
        let signature = status_of.sign(signer).into();
        let signed = SignedStatement {
            peer: places.me() as u8,
            content,
            signature,
        };
        self.own = status.clone();
        self.statuses.insert(signed.peer, status.clone());
        Some((status, signed))
    }

    /// Whether a status of another peer is news, in this epoch. A peer that has not heard that an earlier run is over may
    /// quote it; a later run speaks in epochs to come.
    pub(super) fn is_news(&self, at: u8, status: &PeerStatus, epoch: u32, places: &Places) -> bool {
        let current = places.is_current(usize::from(at), status.run);
        let newer = |known: &PeerStatus| match known.run == status.run {
            true => known.number < status.number,
            false => known.epoch < status.epoch,
        };
        let of_the_match = current || status.epoch > epoch;
        let news = self.statuses.get(&at).is_none_or(newer);
        usize::from(at) != places.me() && of_the_match && news
    }

    /// Takes a status whose signature holds.
    pub(super) fn take(&mut self, at: u8, status: PeerStatus) {
        self.statuses.insert(at, status);
    }

    /// Another run of a peer's process takes the place of the one before, whose status is no more.
    pub(super) fn readmit(&mut self, at: u8, run: Incarnation) {
        self.statuses
            .retain(|of, status| *of != at || status.run == run);
    }
}

/// What a peer signs of its status: the match, and the status encoded.
pub(super) struct StatusOf<'a>(pub(super) MatchId, pub(super) &'a [u8]);

impl Document for StatusOf<'_> {
    const KIND: Kind = Kind::PeerStatus;

    fn put_content(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.0);
        out.extend_from_slice(self.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::ledger::fixture::{ledger, signer};

    const SECOND: Duration = Duration::from_secs(1);

    /// What another peer's fence says in response to this status of peer 0.
    fn response(status: &PeerStatus, responds_to: Peers) -> Option<PeerStatus> {
        let ledger = ledger(2);
        let places = Places::new(ledger.places.start().clone(), 1, Vec::new());
        let mut other = Fence::new(Incarnation([1; 16]), 2, Duration::ZERO);
        other.take(0, status.clone());
        let told = other.publish_status((0, Votes::default()), responds_to, &places, &signer(1));
        told.map(|(status, _)| status)
    }

    #[test]
    fn a_gap_closes_the_fence_until_a_response_to_its_challenge() {
        let places = ledger(2).places;
        let mut fence = Fence::new(Incarnation([0; 16]), 2, Duration::ZERO);
        assert_eq!(fence.detect_clock_gap(SECOND), None);
        assert_eq!(fence.detect_clock_gap(SECOND * 3), Some(SECOND * 2));
        fence.challenge(7);
        assert!(fence.is_closed());
        let peers = Peers(0b11);
        let told = fence.publish_status((0, Votes::default()), peers, &places, &signer(0));
        let (status, signed) = told.expect("a challenge is news");
        assert_eq!(PeerStatus::decode(&signed.content, 2), Ok(status.clone()));
        let other = response(&status, peers).expect("a response is news");
        assert!(fence.is_news(1, &other, 0, &places));
        fence.take(1, other.clone());
        assert_eq!(fence.responding(0, &places), Peers(0b10));
        assert!(!fence.is_news(1, &other, 0, &places));
        // The next challenge is another one.
        fence.challenge(8);
        assert!(fence.responding(0, &places).is_empty());
    }

    #[test]
    fn a_frozen_peer_and_one_of_a_later_epoch_confirm_nothing() {
        let places = ledger(2).places;
        let mut fence = Fence::new(Incarnation([0; 16]), 2, Duration::ZERO);
        fence.challenge(7);
        let told = fence.publish_status((0, Votes::default()), Peers(0), &places, &signer(0));
        let (status, _) = told.expect("a challenge is news");
        assert_eq!(response(&status, Peers::default()), None);
        let other = response(&status, Peers(0b11)).expect("a response is news");
        let later = PeerStatus { epoch: 1, ..other };
        fence.take(1, later);
        assert!(fence.responding(0, &places).is_empty());
        assert_eq!(fence.responding(1, &places), Peers(0b10));
    }

    #[test]
    fn a_run_that_is_over_is_not_listened_to() {
        let places = ledger(2).places;
        let mut fence = Fence::new(Incarnation([0; 16]), 2, Duration::ZERO);
        let over = PeerStatus {
            run: Incarnation([77; 16]),
            number: 1,
            ..fence.own.clone()
        };
        assert!(!fence.is_news(1, &over, 0, &places));
        let to_come = PeerStatus { epoch: 1, ..over };
        assert!(fence.is_news(1, &to_come, 0, &places));
        fence.take(1, to_come);
        assert_eq!(fence.statuses(&places).count(), 0);
        fence.readmit(1, Incarnation([1; 16]));
        assert!(fence.statuses.is_empty());
    }
}
