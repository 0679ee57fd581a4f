//! How a match begins.

use super::chain::Chain;
use super::document::{Document, Kind, Rule, SignatureSet};
use super::terms::Terms;
use crate::encoding::{DecodeError, Reader, put_bytes, put_varint};
use crate::limits::MAX_PEERS;
use crate::text::{MAX_BUILD, MAX_NAME};
use crate::{Incarnation, Limits, LogHash, MatchId, PeerId};
use sim::{RulesId, Seat, Seed};
use std::sync::Arc;

/// How a match began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// Version of wire and log.
    pub protocol: u16,
    /// The match.
    pub match_id: MatchId,
    /// The rules in force.
    pub rules: RulesId,
    /// The game's own setup, encoded.
    pub setup: Arc<[u8]>,
    /// The seed that commit and reveal gave.
    pub seed: Seed,
    /// What the host settled for all.
    pub terms: Terms,
    /// The peers, in the order of their lowest seats. Its order gives the peers their indices.
    pub roster: Vec<RosterPeer>,
    /// The build that wrote this, for information.
    pub build: String,
    /// Each roster peer's signature over the [`AgreedStart`].
    pub signatures: Vec<[u8; 64]>,
}

/// One seat of a running match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeatInfo {
    /// The seat.
    pub seat: Seat,
    /// Its peer.
    pub peer: PeerId,
    /// What its peer calls itself.
    pub name: String,
}

impl Start {
    /// All seats, ascending.
    pub fn seats(&self) -> Vec<Seat> {
        let mut seats: Vec<Seat> = self
            .roster
            .iter()
            .flat_map(|peer| peer.seats.iter().copied())
            .collect();
        seats.sort_unstable();
        seats
    }

    /// The peer with this seat.
    pub fn peer_with(&self, seat: Seat) -> Option<&RosterPeer> {
        let mut roster = self.roster.iter();
        roster.find(|peer| peer.seats.contains(&seat))
    }

    /// Whether all of its roster have signed it. `verify` tells whether a signature is a peer's for some bytes.
    pub fn is_signed(&self, verify: impl Fn(PeerId, &[u8], &[u8; 64]) -> bool) -> bool {
        let signers = (0..).zip(self.roster.iter().map(|place| place.peer));
        let mut signatures = SignatureSet::new(&AgreedStart(start_hash(self)), signers);
        let given = (0..).zip(self.signatures.iter().copied());
        signatures.add_all(given, verify) && signatures.fulfils(Rule::All)
    }

    /// All seats with their peers, ascending.
    pub fn seat_infos(&self) -> Vec<SeatInfo> {
        let of = |peer: &RosterPeer, seat: Seat| SeatInfo {
            seat,
            peer: peer.peer,
            name: peer.name.clone(),
        };
        let peers = self.roster.iter();
        let mut infos: Vec<SeatInfo> = peers
            .flat_map(|peer| peer.seats.iter().map(move |seat| of(peer, *seat)))
            .collect();
        infos.sort_by_key(|info| info.seat);
        infos
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, u64::from(self.protocol));
        out.extend_from_slice(&self.match_id.0);
        out.extend_from_slice(&self.rules.0);
        put_bytes(out, &self.setup);
        out.extend_from_slice(&self.seed.0);
        self.terms.encode(out);
        put_varint(out, self.roster.len() as u64);
        for peer in &self.roster {
            out.extend_from_slice(&peer.peer.0);
            out.extend_from_slice(&peer.incarnation.0);
            put_bytes(out, peer.name.as_bytes());
            put_varint(out, peer.seats.len() as u64);
            out.extend(peer.seats.iter().map(|seat| seat.0));
            out.extend_from_slice(&peer.share);
        }
        put_bytes(out, self.build.as_bytes());
        put_varint(out, self.signatures.len() as u64);
        for signature in &self.signatures {
            out.extend_from_slice(signature);
        }
    }

    pub(super) fn decode(reader: &mut Reader<'_>, limits: &Limits) -> Result<Start, DecodeError> {
        let protocol =
            u16::try_from(reader.varint()?).map_err(|_| reader.fail("no protocol version"))?;
        if protocol != crate::PROTOCOL {
            return Err(reader.fail("another protocol version"));
        }
        let match_id = MatchId(reader.array()?);
        let rules = RulesId(reader.array()?);
        let setup: Arc<[u8]> = reader.bytes()?.into();
        if setup.len() > limits.setup_bytes as usize {
            return Err(reader.fail("a setup above its limit"));
        }
        let seed = Seed(reader.array()?);
        let mut terms = Terms::decode(reader)?;
        let count = reader.count(MAX_PEERS, "more peers than allowed")?;
        let mut roster = Vec::with_capacity(count);
        for _ in 0..count {
            let peer = PeerId(reader.array()?);
            if roster.iter().any(|known: &RosterPeer| known.peer == peer) {
                return Err(reader.fail("a key given twice"));
            }
            roster.push(RosterPeer {
                peer,
                incarnation: Incarnation(reader.array()?),
                name: reader.short_text(MAX_NAME, "a name above its limit")?,
                seats: {
                    let seats: Vec<Seat> = reader.bytes()?.iter().copied().map(Seat).collect();
                    if !seats.is_sorted_by(|a, b| a < b) {
                        return Err(reader.fail("seats out of order"));
                    }
                    seats
                },
                share: reader.array()?,
            });
        }
        let mut seen = [false; 256];
        for seat in roster.iter().flat_map(|peer| &peer.seats) {
            if std::mem::replace(&mut seen[usize::from(seat.0)], true) {
                return Err(reader.fail("a seat given twice"));
            }
            terms.seats = terms.seats.saturating_add(1);
        }
        let build = reader.short_text(MAX_BUILD, "the name of a build above its limit")?;
        let count = reader.count(roster.len(), "more signatures than peers")?;
        let signatures = (0..count)
            .map(|_| reader.array())
            .collect::<Result<_, _>>()?;
        Ok(Start {
            protocol,
            match_id,
            rules,
            setup,
            seed,
            terms,
            roster,
            build,
            signatures,
        })
    }
}

/// A peer of the roster at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RosterPeer {
    /// Its key.
    pub peer: PeerId,
    /// The run of its process.
    pub incarnation: Incarnation,
    /// What it calls itself.
    pub name: String,
    /// Its seats, ascending.
    pub seats: Vec<Seat>,
    /// Its revealed share of the seed.
    pub share: [u8; 32],
}

/// `h(−1)`: everything about the start that its peers sign. The build that wrote it is left out.
pub fn start_hash(start: &Start) -> LogHash {
    let mut hash = Chain::new("lockstep start 1");
    hash.number(u32::from(start.protocol));
    hash.bytes(&start.match_id.0);
    hash.bytes(&start.rules.0);
    hash.bytes(&start.setup);
    hash.bytes(&start.seed.0);
    start.terms.chain(&mut hash);
    hash.number(start.roster.len() as u32);
    for peer in &start.roster {
        hash.bytes(&peer.peer.0);
        hash.bytes(&peer.incarnation.0);
        hash.bytes(peer.name.as_bytes());
        let seats: Vec<u8> = peer.seats.iter().map(|seat| seat.0).collect();
        hash.bytes(&seats);
        hash.bytes(&peer.share);
    }
    hash.end()
}

/// What all roster peers sign once their worlds are built: the [`start_hash`](super::start_hash) of what they agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgreedStart(pub LogHash);

impl Document for AgreedStart {
    const KIND: Kind = Kind::Start;

    fn put_content(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::fixture::start;

    #[test]
    fn a_roster_with_one_key_twice_is_refused() {
        let decoded = |start: &Start| {
            let mut bytes = Vec::new();
            start.encode(&mut bytes);
            Start::decode(&mut Reader::new(&bytes), &Limits::default())
        };
        let mut double = Start::clone(&start(3));
        assert_eq!(decoded(&double).as_ref(), Ok(&double));
        double.roster[2].peer = double.roster[0].peer;
        assert_eq!(decoded(&double).unwrap_err().what, "a key given twice");
    }
}
