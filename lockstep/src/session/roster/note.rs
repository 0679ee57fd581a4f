//! Messages as they travel: signed, so that anyone may pass them on.

use super::{Ballot, Joins, Message, Peers, Request, Value, Voters, decides};
use crate::encoding::DecodeError;
use crate::log::{RosterChange, Start};
use crate::sign::Signer;
use crate::{Gone, MatchId, PeerId, RosterCause};
use serde::{Deserialize, Serialize};

/// Bytes of one note, at most: more than a promise of the largest roster takes, and little enough to pass many on.
const NOTE_BYTES: usize = 2_048;

/// What one peer says about the change that ends an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    /// The epoch.
    pub epoch: u32,
    /// What.
    pub message: Message,
}

impl Note {
    /// The bytes that are signed, but for the head.
    pub(crate) fn encode(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("a note always encodes")
    }

    /// Strict: one note has one encoding, or a decision could not be shown to others.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Note, DecodeError> {
        match postcard::take_from_bytes::<Note>(bytes) {
            Ok((note, [])) if bytes.len() <= NOTE_BYTES && note.encode() == bytes => Ok(note),
            _ => Err(DecodeError {
                what: "no such note",
                at: 0,
            }),
        }
    }
}

/// What is signed of a note by the peer with this place in the start's roster.
pub(crate) fn note_signed_bytes(start: &Start, peer: u8, content: &[u8]) -> Option<Vec<u8>> {
    let peer = start.roster.get(usize::from(peer))?;
    let MatchId(match_id) = start.match_id;
    let mut bytes = b"lockstep roster".to_vec();
    bytes.extend_from_slice(&crate::PROTOCOL.to_le_bytes());
    bytes.extend_from_slice(&match_id);
    bytes.extend_from_slice(&peer.incarnation.0);
    bytes.extend_from_slice(content);
    Some(bytes)
}

/// What the peer with this place in the start's roster signs to accept a value; `None` where there is no such place.
pub fn accept_signed_bytes(
    start: &Start,
    peer: u8,
    epoch: u32,
    ballot: Ballot,
    value: Value,
) -> Option<Vec<u8>> {
    let message = Message::Accept(ballot, value);
    note_signed_bytes(start, peer, &Note { epoch, message }.encode())
}

/// What a peer that wants to come back signs, for one epoch of the match: it follows, and has executed so many turns.
fn request_signed_bytes(start: &Start, epoch: u32, joins: Joins, turns: u32) -> Vec<u8> {
    let mut bytes = b"lockstep rejoin".to_vec();
    bytes.extend_from_slice(&crate::PROTOCOL.to_le_bytes());
    bytes.extend_from_slice(&start.match_id.0);
    bytes.extend_from_slice(&epoch.to_le_bytes());
    bytes.push(joins.peer);
    bytes.extend_from_slice(&joins.incarnation.0);
    bytes.extend_from_slice(&turns.to_le_bytes());
    bytes
}

impl Request {
    /// Signed by the peer that it names, for one epoch.
    pub fn signed(
        signer: &dyn Signer,
        start: &Start,
        epoch: u32,
        joins: Joins,
        turns: u32,
    ) -> Request {
        let signature = signer.sign(&request_signed_bytes(start, epoch, joins, turns));
        let (mut first, mut second) = ([0; 32], [0; 32]);
        first.copy_from_slice(&signature[..32]);
        second.copy_from_slice(&signature[32..]);
        Request {
            joins,
            turns,
            signature: (first, second),
        }
    }

    /// Whether its signature is `peer`'s, for this epoch.
    pub fn is_signed_by(
        &self,
        peer: PeerId,
        signer: &dyn Signer,
        start: &Start,
        epoch: u32,
    ) -> bool {
        let (first, second) = &self.signature;
        let mut signature = [0; 64];
        signature[..32].copy_from_slice(first);
        signature[32..].copy_from_slice(second);
        let bytes = request_signed_bytes(start, epoch, self.joins, self.turns);
        signer.verify(peer, &bytes, &signature)
    }
}

impl RosterChange {
    /// Those of `gone`, who are not in the roster any more, by why: whoever is not in `removed` had left by itself, as
    /// had whom the value tells of.
    pub fn gone(&self, gone: Peers, removed: Peers) -> Vec<(RosterCause, Peers)> {
        let value = &self.value;
        let removed = removed.without(value.left);
        let known = value.cheats.or(value.odd);
        let causes = match self.reopening {
            Some(_) => vec![(RosterCause::Reopened, gone)],
            None => vec![
                (RosterCause::Cheated, value.cheats),
                (RosterCause::Desynced, value.odd.without(value.cheats)),
                (RosterCause::Lost, removed.without(known)),
                (RosterCause::Left, gone.without(removed.or(known))),
            ],
        };
        let causes = causes.into_iter();
        let causes = causes.map(|(cause, peers)| (cause, peers.and(gone)));
        causes.filter(|(_, peers)| !peers.is_empty()).collect()
    }

    /// Why the roster changed, by which those are `gone`: see [`gone`](Self::gone).
    pub fn cause(&self, gone: &[Gone]) -> RosterCause {
        match (gone.first(), self.value.joins) {
            _ if self.reopening.is_some() => RosterCause::Reopened,
            (Some(gone), _) => gone.cause,
            (None, Some(_)) => RosterCause::Rejoined,
            (None, None) => RosterCause::FalseAlarm,
        }
    }

    /// Whether the accepts are those of peers of the roster before, hold, and decide, and whoever goes for cheating is
    /// proved to. `start` names the runs of their processes as [`apply`](Self::apply) left it; `verify` tells whether a
    /// signature is a peer's for some bytes. Of a reopening also [`follows_on`](Self::follows_on) must hold.
    pub fn is_decided_by(
        &self,
        start: &Start,
        roster_before: Peers,
        verify: impl Fn(PeerId, &[u8], &[u8; 64]) -> bool,
    ) -> bool {
        if let Some(reopening) = &self.reopening {
            return self.is_reopened_by(reopening, start, roster_before, verify);
        }
        let holds = |(peer, signature): &(u8, [u8; 64])| {
            let bytes = accept_signed_bytes(start, *peer, self.epoch, self.ballot, self.value);
            let place = start.roster.get(usize::from(*peer));
            bytes
                .zip(place)
                .is_some_and(|(bytes, place)| verify(place.peer, &bytes, signature))
        };
        let proved: Option<Peers> = self
            .proofs
            .iter()
            .map(|proof| proof.holds(start, &verify))
            .collect();
        let accepts: Peers = self.accepts.iter().map(|(peer, _)| *peer).collect();
        self.value.can_follow(roster_before)
            && accepts.is_within(roster_before)
            && decides(Voters::new(roster_before), self.value, accepts)
            && self.accepts.iter().all(holds)
            && proved == Some(self.value.cheats)
            && self
                .value
                .cheats
                .is_within(roster_before.without(self.value.roster))
            && self
                .value
                .odd
                .is_within(roster_before.without(self.value.roster))
            && self.value.log_hash.is_some()
    }

    /// Puts the runs of processes that come back in the place of those before: from now on `start` tells whose
    /// signatures hold in the new epoch.
    pub fn apply(&self, start: &mut Start) {
        for (peer, incarnation) in self.new_runs() {
            if let Some(place) = start.roster.get_mut(usize::from(peer)) {
                place.incarnation = incarnation;
            }
        }
    }
}
