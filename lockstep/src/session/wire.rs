//! What travels on a link: control messages on the ordered stream, turn packets and clock probes as datagrams.

use crate::addresses::Addresses;
use crate::encoding::{DecodeError, Reader, Signature, put_bytes, put_varint};
use crate::limits::MAX_PEERS;
use crate::log::{End, SignedBatch, Terms};
use crate::session::lobby::Said;
use crate::session::membership::paxos::Request;
use crate::text::{MAX_BUILD, tidy_name, tidy_text};
use crate::{
    Incarnation, JoinRefused, Limits, LobbyPeer, LogHash, MatchId, PeerId, Plan, TurnNumber,
};
use serde::{Deserialize, Serialize};
use sim::{Checksum, Outcome, RulesId, Seat};

/// A message of the control stream.
///
/// [`Hello`](Control::Hello) stays the first variant with its fields in every version: by it two versions recognise
/// each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Control {
    /// The first message of either side.
    Hello { protocol: u16, nonce: [u8; 32] },
    /// The second: a signature over both nonces and the link's binding.
    Proof {
        peer: PeerId,
        incarnation: Incarnation,
        signature: Signature,
    },
    /// Guest to host: admit me.
    Join {
        match_id: MatchId,
        secret: [u8; 16],
        name: String,
        build: String,
        own_seats: u8,
        addresses: Addresses,
    },
    /// Host to guest: you are in; this is what is played, and so often have starts failed before you came.
    Welcome { offer: Offer, attempt: u32 },
    /// You are not in, or not any more.
    Refused(JoinRefused),
    /// Host to all: the peers in the lobby.
    Lobby(Vec<LobbyEntry>),
    /// Guest to host: ready with this commitment to a share of the seed, or not ready.
    Ready { commit: Option<[u8; 32]> },
    /// Guest to host, and on to all: what a peer of the lobby says.
    Chat {
        from: PeerId,
        text: String,
        signature: Signature,
    },
    /// Host to all: the seats are settled.
    Lock {
        attempt: u32,
        roster: Vec<LockedPeer>,
    },
    /// Host to all: a peer failed; commit anew.
    Unlock { attempt: u32 },
    /// Guest to host: my share of the seed, and the longest round trip to another peer, if I know those to all.
    Reveal {
        attempt: u32,
        share: [u8; 32],
        rtt_ms: Option<u16>,
    },
    /// Host to all: the plan to begin with, and every share, in roster order.
    Shares {
        attempt: u32,
        plan: Plan,
        shares: Vec<[u8; 32]>,
    },
    /// Guest to host: the world is built; signed.
    Loaded {
        attempt: u32,
        signature: Signature,
        rtt_ms: u16,
    },
    /// Host to all: all have signed; turn 0 begins at this time on the host's clock.
    Go {
        attempt: u32,
        signatures: Vec<Signature>,
        begin_ms: u64,
    },
    /// To all: my match has ended, here.
    End {
        peer: u8,
        turns: u32,
        log_hash: LogHash,
        checksum: Checksum,
        outcome: Option<Outcome>,
        signature: Signature,
    },
    /// I go.
    Bye,
    /// To all, and on from them: what peers said about a roster change.
    Roster(Vec<SignedStatement>),
    /// To a peer that lags behind an epoch, or a joiner: the decision that ended it, encoded as in the log.
    Decided(Vec<u8>),
    /// To all, and on from them: what peers said of themselves.
    Words(Vec<SignedStatement>),
    /// From a peer that wants to come back, and follows: the request, and where it can be dialled.
    Rejoin {
        request: Request,
        addresses: Addresses,
    },
    /// Between peers that reopen a match.
    Reopen(Said),
    /// To all where logs differ: batches as they are held here. Two that differ of one peer for one turn prove it.
    Evidence(Vec<WireBatch>),
    /// Host to all in the lobby: round trips to its guests, in milliseconds.
    Pings(Vec<(PeerId, u16)>),
    /// From a player of a branch, to a peer of the match that it left: how it left that match, and what it plays now.
    Branch {
        left: MatchId,
        /// The roster change by which its log left that match, encoded.
        change: Vec<u8>,
        match_id: MatchId,
    },
    /// Host to a guest without the secret: my player is asked.
    Asked,
}

impl Control {
    /// Whether the sender comes to a reopening that it takes this peer for the host of.
    pub(crate) fn comes_to_host(&self) -> bool {
        matches!(self, Control::Reopen(Said::Come { .. }))
    }

    /// What a peer, by place in the roster, has signed of the end, where this message says it.
    pub(crate) fn signed_end(&self) -> Option<(u8, End, [u8; 64])> {
        let Control::End {
            peer,
            turns,
            log_hash,
            checksum,
            outcome,
            signature,
        } = self
        else {
            return None;
        };
        let end = End {
            turns: *turns,
            log_hash: *log_hash,
            checksum: *checksum,
            outcome: *outcome,
            signatures: Vec::new(),
        };
        Some((*peer, end, (*signature).into()))
    }
}

/// A signed batch in a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct WireBatch {
    peer: u8,
    content: Vec<u8>,
    signature: Signature,
}

impl WireBatch {
    pub(crate) fn of(batch: &SignedBatch) -> Self {
        WireBatch {
            peer: batch.peer,
            content: batch.content.to_vec(),
            signature: batch.signature.into(),
        }
    }
}

impl From<WireBatch> for SignedBatch {
    fn from(batch: WireBatch) -> Self {
        SignedBatch {
            peer: batch.peer,
            content: batch.content.into(),
            signature: batch.signature.into(),
        }
    }
}

/// What one peer says about a roster change, or of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SignedStatement {
    /// The peer, by index in the start's roster.
    pub peer: u8,
    /// The vote or status, encoded.
    pub content: Vec<u8>,
    pub signature: Signature,
}

/// What is played, as the host settles it for all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Offer {
    pub rules: RulesId,
    pub setup: Vec<u8>,
    pub terms: Terms,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LobbyEntry {
    pub peer: PeerId,
    pub name: String,
    /// Empty where it is not told.
    pub build: String,
    pub seats: Vec<Seat>,
    pub ready: bool,
}

impl LobbyEntry {
    /// With no more of its words than is shown, and kept of any peer's.
    pub(crate) fn tidied(mut self) -> Self {
        self.name = tidy_name(&self.name);
        self.build = tidy_text(&self.build, MAX_BUILD);
        self
    }
}

/// One peer of the settled roster, with how to reach it and what it committed to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LockedPeer {
    pub peer: PeerId,
    pub incarnation: Incarnation,
    pub name: String,
    pub seats: Vec<Seat>,
    pub addresses: Addresses,
    pub commit: [u8; 32],
}

impl Control {
    pub(crate) fn encode(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("a control message always encodes")
    }

    /// Strict: every byte belongs to the message, and its length is bounded before it is read.
    pub(crate) fn decode(bytes: &[u8], limits: &Limits) -> Result<Control, DecodeError> {
        if bytes.len() > limits.message_bytes as usize {
            return Err(DecodeError {
                what: "a message above its limit",
                at: bytes.len(),
            });
        }
        match postcard::take_from_bytes(bytes) {
            Ok((message, [])) => Ok(message),
            Ok((_, rest)) => Err(DecodeError {
                what: "more bytes than expected",
                at: bytes.len() - rest.len(),
            }),
            Err(_) => Err(DecodeError {
                what: "no such message",
                at: 0,
            }),
        }
    }
}

/// A datagram.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Datagram {
    /// What the other side lacks, and what this side has.
    Turns(TurnPacket),
    /// A probe of the other side's clock.
    Probe { sent_us: u64 },
    /// Its answer.
    ProbeAnswer { sent_us: u64, clock_us: u64 },
}

/// Turn traffic between two peers of a match.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct TurnPacket {
    /// Counts the packets of this link and direction.
    pub sequence: u32,
    /// The newest packet received, and how long ago, in milliseconds.
    pub echo: Option<(u32, u16)>,
    /// Packets missing among the last 64 sent by the other side.
    pub missing: u8,
    /// The sender waits for an acknowledgement. Elsewhere it comes with what leaves next.
    pub acknowledge: bool,
    /// The other side's next batch should have come, and has not.
    pub lacks: bool,
    /// The epoch that the sender is in.
    pub epoch: u32,
    /// The peers heard directly of late, as a set of roster indices.
    pub heard: u16,
    /// By roster index: the first turn whose batch is not held.
    pub held: Vec<TurnNumber>,
    /// Batches, oldest first.
    pub batches: Vec<SignedBatch>,
    /// For each of them, whether its peer has sent it on this link before, or another peer has sealed it.
    pub copies: Vec<bool>,
}

/// Packets of which a turn packet tells how many are missing.
const COUNTED_PACKETS: u8 = 64;

const TURNS: u8 = 0;
const PROBE: u8 = 1;
const PROBE_ANSWER: u8 = 2;
/// As [`TURNS`], in an epoch after the first.
const LATER_TURNS: u8 = 3;
/// Beside the kind of a turn packet: an acknowledgement is waited for, and a batch is lacking.
const ACKNOWLEDGE: u8 = 1 << 6;
const LACKS: u8 = 1 << 7;
/// Beside the number of a batch's peer: it is a copy.
const COPY: u8 = 1 << 7;

impl TurnPacket {
    /// An upper bound of the encoding without batches, for `peers` peers.
    pub(crate) fn head_len(peers: usize) -> usize {
        1 + 5 + 5 + 5 + 3 + 1 + 2 + 1 + 5 + 5 * peers
    }
}

impl Datagram {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        match self {
            Datagram::Turns(packet) => {
                let acknowledge = if packet.acknowledge { ACKNOWLEDGE } else { 0 };
                let flags = acknowledge | if packet.lacks { LACKS } else { 0 };
                match packet.epoch {
                    0 => out.push(TURNS | flags),
                    epoch => {
                        out.push(LATER_TURNS | flags);
                        put_varint(&mut out, u64::from(epoch));
                    }
                }
                put_varint(&mut out, u64::from(packet.sequence));
                match packet.echo {
                    None => put_varint(&mut out, 0),
                    Some((sequence, age_ms)) => {
                        put_varint(&mut out, u64::from(sequence) + 1);
                        put_varint(&mut out, u64::from(age_ms));
                    }
                }
                out.push(packet.missing);
                out.extend_from_slice(&packet.heard.to_le_bytes());
                out.push(packet.held.len() as u8);
                let base = packet.held.iter().map(|turn| turn.0).min().unwrap_or(0);
                put_varint(&mut out, u64::from(base));
                for turn in &packet.held {
                    put_varint(&mut out, u64::from(turn.0 - base));
                }
                for (batch, is_copy) in packet.batches.iter().zip(&packet.copies) {
                    out.push(batch.peer | if *is_copy { COPY } else { 0 });
                    put_bytes(&mut out, &batch.content);
                    out.extend_from_slice(&batch.signature);
                }
            }
            Datagram::Probe { sent_us } => {
                out.push(PROBE);
                put_varint(&mut out, *sent_us);
            }
            Datagram::ProbeAnswer { sent_us, clock_us } => {
                out.push(PROBE_ANSWER);
                put_varint(&mut out, *sent_us);
                put_varint(&mut out, *clock_us);
            }
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Datagram, DecodeError> {
        let mut reader = Reader::new(bytes);
        let kind = reader.byte()?;
        let datagram = match kind & !(ACKNOWLEDGE | LACKS) {
            TURNS => Datagram::Turns(turn_packet(&mut reader, kind, 0)?),
            LATER_TURNS => match reader.number()? {
                0 => return Err(reader.fail("an epoch that goes without saying")),
                epoch => Datagram::Turns(turn_packet(&mut reader, kind, epoch)?),
            },
            other if other != kind => return Err(reader.fail("no such datagram")),
            PROBE => Datagram::Probe {
                sent_us: reader.varint()?,
            },
            PROBE_ANSWER => Datagram::ProbeAnswer {
                sent_us: reader.varint()?,
                clock_us: reader.varint()?,
            },
            _ => return Err(reader.fail("no such datagram")),
        };
        reader.end()?;
        Ok(datagram)
    }
}

fn turn_packet(reader: &mut Reader<'_>, kind: u8, epoch: u32) -> Result<TurnPacket, DecodeError> {
    let sequence = reader.number()?;
    let echo = match reader.varint()? {
        0 => None,
        echo => {
            let echo =
                u32::try_from(echo - 1).map_err(|_| reader.fail("a packet number above 2^32"))?;
            let age =
                u16::try_from(reader.varint()?).map_err(|_| reader.fail("an age above 65 s"))?;
            Some((echo, age))
        }
    };
    let missing = reader.byte()?;
    if missing > COUNTED_PACKETS {
        return Err(reader.fail("more packets missing than counted"));
    }
    let heard = u16::from_le_bytes(reader.array()?);
    let peers = reader.byte()?;
    if usize::from(peers) > MAX_PEERS {
        return Err(reader.fail("more peers than allowed"));
    }
    let base = reader.number()?;
    let mut held = Vec::with_capacity(usize::from(peers));
    for _ in 0..peers {
        let turn = base
            .checked_add(reader.number()?)
            .ok_or_else(|| reader.fail("a turn above 2^32"))?;
        held.push(TurnNumber(turn));
    }
    let (mut batches, mut copies) = (Vec::new(), Vec::new());
    while reader.remaining() > 0 {
        let head = reader.byte()?;
        copies.push(head & COPY != 0);
        batches.push(SignedBatch::read(head & !COPY, reader)?);
    }
    Ok(TurnPacket {
        sequence,
        echo,
        missing,
        acknowledge: kind & ACKNOWLEDGE != 0,
        lacks: kind & LACKS != 0,
        epoch,
        heard,
        held,
        batches,
        copies,
    })
}

impl From<LobbyEntry> for LobbyPeer {
    fn from(entry: LobbyEntry) -> Self {
        LobbyPeer {
            peer: entry.peer,
            name: entry.name,
            build: entry.build,
            seats: entry.seats,
            ready: entry.ready,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn the_largest_head_of_a_packet_is_as_long_as_its_bound() {
        for peers in [2, 16] {
            let mut held = vec![TurnNumber(u32::MAX); peers];
            held[0] = TurnNumber(0);
            let packet = TurnPacket {
                sequence: u32::MAX,
                echo: Some((u32::MAX - 1, u16::MAX)),
                missing: 64,
                acknowledge: peers == 2,
                lacks: true,
                epoch: u32::MAX,
                heard: u16::MAX,
                held,
                batches: Vec::new(),
                copies: Vec::new(),
            };
            let bytes = Datagram::Turns(packet.clone()).encode();
            assert!(bytes.len() <= TurnPacket::head_len(peers), "{peers} peers");
            assert_eq!(
                Datagram::decode(&bytes),
                Ok(Datagram::Turns(packet.clone()))
            );
            let untrue = TurnPacket {
                missing: 65,
                ..packet.clone()
            };
            let untrue = Datagram::decode(&Datagram::Turns(untrue).encode());
            let why = untrue.map_err(|error| error.what);
            assert_eq!(why, Err("more packets missing than counted"));
            let batch = |peer| SignedBatch {
                peer,
                content: Arc::from([7; 3]),
                signature: [9; 64],
            };
            let packet = TurnPacket {
                batches: (0..peers as u8).map(batch).collect(),
                copies: (0..peers).map(|at| at % 3 == 0).collect(),
                ..packet
            };
            let bytes = Datagram::Turns(packet.clone()).encode();
            assert_eq!(Datagram::decode(&bytes), Ok(Datagram::Turns(packet)));
        }
    }
}
