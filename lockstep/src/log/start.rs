//! How a match begins, and by which rules it is played.

use crate::encoding::{DecodeError, Reader, put_bytes, put_varint};
use crate::limits::MAX_PEERS;
use crate::text::{MAX_BUILD, MAX_NAME};
use crate::{Incarnation, Limits, MatchId, PeerId, Plan};
use sim::{RulesId, Seat, SeatState, Seed};
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
    /// The plan of turn 0.
    pub plan: Plan,
    /// Turns after which the match ends, where the host set such a limit.
    pub turn_limit: Option<u32>,
    /// How often and how long one seat may pause.
    pub pauses: PauseBudget,
    /// What becomes of a peer whose machine is too slow.
    pub on_slow: OnSlow,
    /// What becomes of a match whose worlds differ.
    pub on_desync: OnDesync,
    /// Who plays the seats of a peer that is gone.
    pub absent: Absent,
    /// The peers, in the order of their lowest seats. Its order gives the peers their indices.
    pub roster: Vec<RosterPeer>,
    /// The build that wrote this, for information.
    pub build: String,
    /// Each roster peer's signature over [`start_signed_bytes`](super::start_signed_bytes).
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
        self.plan.encode(out);
        put_varint(out, self.turn_limit.map_or(0, |turns| u64::from(turns) + 1));
        out.push(self.pauses.pauses);
        put_varint(out, u64::from(self.pauses.seconds));
        out.push(self.on_slow as u8);
        out.push(self.on_desync as u8);
        out.push(self.absent as u8);
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
        let plan = Plan::decode(reader)?;
        let turn_limit = match reader.varint()? {
            0 => None,
            turns => Some(u32::try_from(turns - 1).map_err(|_| reader.fail("too many turns"))?),
        };
        let pauses = PauseBudget {
            pauses: reader.byte()?,
            seconds: u16::try_from(reader.varint()?)
                .map_err(|_| reader.fail("a budget of pauses that is too large"))?,
        };
        // Of each policy there are two.
        let on_slow = [OnSlow::Meter, OnSlow::Remove][usize::from(reader.flag()?)];
        let on_desync = [OnDesync::Pause, OnDesync::RemoveMinority][usize::from(reader.flag()?)];
        let absent = [Absent::Idle, Absent::Ai][usize::from(reader.flag()?)];
        let count = reader.count(MAX_PEERS, "more peers than allowed")?;
        let mut roster = Vec::with_capacity(count);
        for _ in 0..count {
            roster.push(RosterPeer {
                peer: PeerId(reader.array()?),
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
            plan,
            turn_limit,
            pauses,
            on_slow,
            on_desync,
            absent,
            roster,
            build,
            signatures,
        })
    }
}

/// How often and how long one seat may pause a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PauseBudget {
    /// Pauses that it may call.
    pub pauses: u8,
    /// Seconds that they may last together.
    pub seconds: u16,
}

impl Default for PauseBudget {
    /// Three pauses, five minutes together.
    fn default() -> Self {
        PauseBudget {
            pauses: 3,
            seconds: 300,
        }
    }
}

/// What becomes of a peer whose machine takes longer for a tick than the match has for it.
///
/// Under either policy ticks become longer for all, four times at most, until it keeps up; who it is, is told to all.
/// They are short again once it has been fast enough for some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum OnSlow {
    /// The match stays slow for as long as it takes: for friends. Who cannot keep up even so falls behind, until turns
    /// wait for it and it is removed for being late.
    #[default]
    Meter,
    /// Time that it costs the others counts as being late, so it is removed after ten seconds of it, of which a tenth of
    /// the time is given back: for strangers, whom a false measurement buys no more than being late.
    Remove,
}

/// What becomes of a match when its peers' worlds differ, or their logs do and nobody is proved to have cheated.
///
/// Under either policy every peer writes a desync report, and the log holds what each one reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum OnDesync {
    /// It stands still for all: no turn is executed any more, and every peer ends with
    /// [`EndReason::Desync`](crate::EndReason::Desync). For development, where a difference is to be looked at.
    Pause,
    /// The others go on without those who differ, where a quorum of the roster reported the same and is more than half
    /// of all who reported. Anything else is as under [`Pause`](Self::Pause): nobody knows then who is right. So it is
    /// with two peers, and where halves stand against each other, although one of them has the tie-break: that settles
    /// who goes on, not who is right.
    ///
    /// Who is removed so may come back, from a snapshot that a quorum signed or from the start, and once only: memory
    /// that flips a bit is no lie, but whoever strays again would go on to do so.
    #[default]
    RemoveMinority,
}

/// Who plays the seats of a peer that has left or was removed, until it comes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Absent {
    /// Nobody: they stand idle.
    #[default]
    Idle,
    /// The world's own AI, if it has one: nothing of that goes over the network.
    Ai,
}

impl Absent {
    /// What the world is told of such a seat.
    pub fn state(self) -> SeatState {
        match self {
            Absent::Idle => SeatState::Idle,
            Absent::Ai => SeatState::Ai,
        }
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
