//! How one player goes on alone from a moment of a match.

use super::chain::Chain;
use super::document::{Document, Kind};
use super::start::{RosterPeer, Start};
use super::terms::{OnDesync, OnSlow, Terms, put_turn_limit, turn_limit};
use crate::encoding::{DecodeError, Reader, put_bytes, put_varint};
use crate::sign::Signer;
use crate::text::{MAX_BUILD, MAX_NAME};
use crate::{Incarnation, LogHash, MatchId, PeerId, Plan};
use sim::Seat;

/// From here on the match is that of one player in all its seats: against bots, or to see what else could have been. The
/// players until then have no part in it, and their signatures say nothing of it. The key that it names signs every turn
/// behind it, as theirs sign every turn before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Continuation {
    /// The epoch that it ends; the first is 0.
    pub epoch: u32,
    /// Turns of the match before it.
    pub turns: u32,
    /// Hash of the log of those, with the changes chained in that wait for their first turn.
    pub log_hash: LogHash,
    /// The key that goes on.
    pub peer: PeerId,
    /// The run of its process.
    pub incarnation: Incarnation,
    /// What it calls itself.
    pub name: String,
    /// The seat that it plays itself; bots have the others.
    pub seat: Seat,
    /// The plan of its first turn.
    pub plan: Plan,
    /// Turns of the match, from turn 0 on, after which it ends, where there is such a limit.
    pub turn_limit: Option<u32>,
    /// The build that wrote this, for information.
    pub build: String,
    /// The key's signature over the rest of it but for the build, and over the match.
    pub signature: [u8; 64],
}

impl Continuation {
    /// The same, signed as one of the match that began so.
    pub fn signed(self, before: &Start, signer: &dyn Signer) -> Self {
        let signature = self.of(before).sign(signer);
        Continuation { signature, ..self }
    }

    /// Whether it has a seat of the match and its key has signed it. `verify` tells whether a signature is a peer's for
    /// some bytes.
    pub fn is_signed(
        &self,
        before: &Start,
        verify: impl Fn(PeerId, &[u8], &[u8; 64]) -> bool,
    ) -> bool {
        before.peer_with(self.seat).is_some()
            && self
                .of(before)
                .with(self.signature)
                .is_by(self.peer, verify)
    }

    pub(crate) fn of<'a>(&'a self, before: &Start) -> ContinuationOf<'a> {
        ContinuationOf {
            match_id: before.match_id,
            continuation: self,
        }
    }

    /// The start as it counts from here on: the same match, with one peer that has all seats. It is not signed; the
    /// continuation itself is.
    pub fn start(&self, before: &Start) -> Start {
        Start {
            terms: Terms {
                plan: self.plan,
                turn_limit: self.turn_limit,
                on_slow: OnSlow::Meter,
                on_desync: OnDesync::default(),
                ..before.terms
            },
            roster: vec![RosterPeer {
                peer: self.peer,
                incarnation: self.incarnation,
                name: self.name.clone(),
                seats: before.seats(),
                share: [0; 32],
            }],
            build: self.build.clone(),
            signatures: Vec::new(),
            ..before.clone()
        }
    }

    fn chain(&self, chain: &mut Chain) {
        chain.number(self.epoch);
        chain.number(self.turns);
        chain.bytes(&self.log_hash.0);
        chain.bytes(&self.peer.0);
        chain.bytes(&self.incarnation.0);
        chain.bytes(self.name.as_bytes());
        chain.number(u32::from(self.seat.0));
        chain.plan(&self.plan);
        chain.turn_limit(self.turn_limit);
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, u64::from(self.epoch));
        put_varint(out, u64::from(self.turns));
        out.extend_from_slice(&self.log_hash.0);
        out.extend_from_slice(&self.peer.0);
        out.extend_from_slice(&self.incarnation.0);
        put_bytes(out, self.name.as_bytes());
        out.push(self.seat.0);
        self.plan.encode(out);
        put_turn_limit(out, self.turn_limit);
        put_bytes(out, self.build.as_bytes());
        out.extend_from_slice(&self.signature);
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Continuation, DecodeError> {
        Ok(Continuation {
            epoch: reader.number()?,
            turns: reader.number()?,
            log_hash: LogHash(reader.array()?),
            peer: PeerId(reader.array()?),
            incarnation: Incarnation(reader.array()?),
            name: reader.short_text(MAX_NAME, "a name above its limit")?,
            seat: Seat(reader.byte()?),
            plan: Plan::decode(reader)?,
            turn_limit: turn_limit(reader)?,
            build: reader.short_text(MAX_BUILD, "the name of a build above its limit")?,
            signature: reader.array()?,
        })
    }
}

/// A continuation with the match that it binds.
pub(crate) struct ContinuationOf<'a> {
    match_id: MatchId,
    continuation: &'a Continuation,
}

impl Document for ContinuationOf<'_> {
    const KIND: Kind = Kind::Continuation;

    fn put_content(&self, out: &mut Vec<u8>) {
        let mut chain = Chain::new("lockstep continuation 1");
        chain.bytes(&self.match_id.0);
        self.continuation.chain(&mut chain);
        out.extend_from_slice(&chain.end_256());
    }
}

/// What takes the place of `h(n − 1)` for the first turn `n` behind a continuation.
pub fn continued_hash(before: LogHash, continuation: &Continuation) -> LogHash {
    let mut hash = Chain::new("lockstep continued 1");
    hash.bytes(&before.0);
    continuation.chain(&mut hash);
    hash.end()
}
