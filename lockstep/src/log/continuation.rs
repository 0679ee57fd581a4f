//! How one player goes on alone from a moment of a match.

use super::chain::Chain;
use super::start::{OnDesync, OnSlow, RosterPeer, Start};
use crate::encoding::{DecodeError, Reader, put_bytes, put_varint};
use crate::text::{MAX_BUILD, MAX_NAME};
use crate::{Incarnation, LogHash, PeerId, Plan};
use sim::Seat;

/// From here on the match is that of one player, who has all its seats: against bots, or to see what else could have
/// been. Those who played until then have no part in it, and their signatures say nothing of it: every turn behind it is
/// signed by the key that it names, as every turn before it is signed by theirs.
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
    /// The key's signature over [`signed_bytes`](Self::signed_bytes).
    pub signature: [u8; 64],
}

impl Continuation {
    /// What the key signs. `before` is the start of the match, whose id it binds.
    pub fn signed_bytes(&self, before: &Start) -> Vec<u8> {
        let mut chain = Chain::new("lockstep continuation 1");
        chain.bytes(&before.match_id.0);
        self.chain(&mut chain);
        let mut bytes = b"lockstep continue".to_vec();
        bytes.extend_from_slice(&crate::PROTOCOL.to_le_bytes());
        bytes.extend_from_slice(&chain.end_256());
        bytes
    }

    /// Whether it has a seat of the match and its key has signed it. `verify` tells whether a signature is a peer's for
    /// some bytes.
    pub fn is_signed(
        &self,
        before: &Start,
        verify: impl Fn(PeerId, &[u8], &[u8; 64]) -> bool,
    ) -> bool {
        before.peer_with(self.seat).is_some()
            && verify(self.peer, &self.signed_bytes(before), &self.signature)
    }

    /// The start as it counts from here on: the same match, with one peer that has all seats. Nobody signs it; the
    /// continuation itself is signed.
    pub fn start(&self, before: &Start) -> Start {
        Start {
            plan: self.plan,
            turn_limit: self.turn_limit,
            on_slow: OnSlow::Meter,
            on_desync: OnDesync::default(),
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
        chain.number(self.turn_limit.map_or(0, |turns| turns.saturating_add(1)));
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
        let limit = self.turn_limit.map_or(0, |turns| u64::from(turns) + 1);
        put_varint(out, limit);
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
            turn_limit: match reader.varint()? {
                0 => None,
                turns => {
                    let turns = u32::try_from(turns - 1);
                    Some(turns.map_err(|_| reader.fail("too many turns"))?)
                }
            },
            build: reader.short_text(MAX_BUILD, "the name of a build above its limit")?,
            signature: reader.array()?,
        })
    }
}

/// What takes the place of `h(n − 1)` for the first turn `n` behind a continuation.
pub fn continued_hash(before: LogHash, continuation: &Continuation) -> LogHash {
    let mut hash = Chain::new("lockstep continued 1");
    hash.bytes(&before.0);
    continuation.chain(&mut hash);
    hash.end()
}
