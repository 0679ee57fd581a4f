//! A batch: what one peer seals for one turn, and signs.

use super::bundle::{LogEntry, MAX_LOAD, What, decode_entries, encode_entries};
use super::document::{Document, Kind};
use super::keyframe::SnapshotHash;
use super::start::Start;
use crate::encoding::{DecodeError, Reader, put_varint};
use crate::limits::{MAX_BATCH, MAX_PEERS};
use crate::sign::Signer;
use crate::{Incarnation, LogHash, MatchId, PeerId, TurnNumber};
use sim::{Checksum, Seat};
use std::ops::Range;
use std::sync::Arc;

/// One peer's commands for one turn, for all its seats, and what it reports beside them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The turn it is for.
    pub turn: TurnNumber,
    /// Commands, pauses, resumptions and chat, in seat order and as issued: nothing that peers make of batches.
    pub entries: Vec<LogEntry>,
    /// For each seat with commands, ascending, the number of the first of them.
    pub first_numbers: Vec<u32>,
    /// Turns that the world had executed at the first of `checksums`; 0 is the initial world.
    pub executed: u32,
    /// Checksums after that many turns, and one more each.
    pub checksums: Vec<Checksum>,
    /// Turns complete at the sender.
    pub complete: u32,
    /// Log hash after them.
    pub log_hash: LogHash,
    /// Milliseconds from the sealing of the sender's own batch of the same turn to the arrival of the other peers', at
    /// worst, since the last report; by index in the roster. Copies count where they came too late. Empty where the
    /// batch reports none.
    pub way_ms: Vec<i16>,
    /// Sixteenths of a millisecond that the sender's machine needs for a tick, up to [`MAX_LOAD`]; 0 where nothing was
    /// measured. Goes with `way_ms`, and is 0 without.
    pub load: u16,
    /// The sender leaves: its batches are empty by rule from the next turn on.
    pub leaving: bool,
    /// The epoch in which it was sealed. It counts for peers that have come as far.
    pub epoch: u32,
    /// The newest snapshot of the sender's world that no batch has reported: turns executed, and its hash.
    pub snapshot: Option<(u32, SnapshotHash)>,
}

/// A way that says nothing: no batch of that peer came directly, or too late, since the last report.
pub const NO_WAY: i16 = i16::MIN;

impl Batch {
    /// The numbers of turns after which it reports the world.
    pub(crate) fn reported(&self) -> Range<u32> {
        self.executed..self.executed.saturating_add(self.checksums.len() as u32)
    }

    /// Appends the canonical encoding, which is what is signed.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, u64::from(self.turn.0) << 1 | u64::from(self.leaving));
        encode_entries(out, &self.entries);
        for first in &self.first_numbers {
            put_varint(out, u64::from(*first));
        }
        put_varint(out, u64::from(self.executed));
        put_varint(out, self.checksums.len() as u64);
        for checksum in &self.checksums {
            out.extend_from_slice(&checksum.0.to_le_bytes());
        }
        put_varint(out, u64::from(self.complete));
        out.extend_from_slice(&self.log_hash.0);
        put_varint(out, self.way_ms.len() as u64);
        for way in &self.way_ms {
            out.extend_from_slice(&way.to_le_bytes());
        }
        if !self.way_ms.is_empty() {
            put_varint(out, u64::from(self.load));
        }
        // The first epoch goes without saying, unless more follows.
        if self.epoch > 0 || self.snapshot.is_some() {
            put_varint(out, u64::from(self.epoch));
        }
        if let Some((turns, hash)) = self.snapshot {
            put_varint(out, u64::from(turns));
            out.extend_from_slice(&hash.0);
        }
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    /// [`DecodeError`] for anything else, and for what exceeds the protocol's bounds: the same for every peer, whatever
    /// its own limits are.
    pub fn decode(bytes: &[u8]) -> Result<Batch, DecodeError> {
        let mut reader = Reader::new(bytes);
        if bytes.len() > MAX_CONTENT {
            return Err(reader.fail(TOO_LARGE));
        }
        let head = reader.varint()?;
        let turn = u32::try_from(head >> 1).map_err(|_| reader.fail("a turn above 2^32"))?;
        let entries = decode_entries(&mut reader)?;
        let is_made =
            |what: &What| matches!(what, What::Seat(_) | What::Load(_) | What::Way { .. });
        if entries.iter().any(|entry| is_made(&entry.what)) {
            return Err(reader.fail("an entry in a batch that peers make of it"));
        }
        let mut first_numbers = Vec::new();
        for _ in 0..seats_with_commands(&entries).count() {
            first_numbers.push(reader.number()?);
        }
        let executed = reader.number()?;
        let count = reader.count(reader.remaining() / 4, "more checksums than bytes")?;
        let checksums = (0..count)
            .map(|_| Ok(Checksum(reader.fixed_u32()?)))
            .collect::<Result<_, DecodeError>>()?;
        let complete = reader.number()?;
        let log_hash = LogHash(reader.array()?);
        let count = reader.count(MAX_PEERS, "more ways than peers")?;
        let way_ms = (0..count)
            .map(|_| Ok(i16::from_le_bytes(reader.array()?)))
            .collect::<Result<_, DecodeError>>()?;
        let load = match count {
            0 => 0,
            _ => reader.count(MAX_LOAD.into(), "a load above its bound")? as u16,
        };
        let epoch = match reader.remaining() {
            0 => 0,
            _ => match (reader.number()?, reader.remaining()) {
                (0, 0) => return Err(reader.fail("an epoch that goes without saying")),
                (epoch, _) => epoch,
            },
        };
        let snapshot = match reader.remaining() {
            0 => None,
            _ => Some((reader.number()?, SnapshotHash(reader.array()?))),
        };
        reader.end()?;
        Ok(Batch {
            turn: TurnNumber(turn),
            entries,
            first_numbers,
            executed,
            checksums,
            complete,
            log_hash,
            way_ms,
            load,
            leaving: head & 1 == 1,
            epoch,
            snapshot,
        })
    }

    /// Encodes and signs for the peer with this index.
    pub fn seal(
        &self,
        peer: u8,
        match_id: MatchId,
        incarnation: Incarnation,
        signer: &dyn Signer,
    ) -> SignedBatch {
        let mut content = Vec::new();
        self.encode(&mut content);
        let sealed = Sealed {
            match_id,
            incarnation,
            content: &content,
        };
        let signature = sealed.sign(signer);
        SignedBatch {
            peer,
            content: content.into(),
            signature,
        }
    }
}

/// Bytes of the largest content: with its signature it is within the protocol's bound.
const MAX_CONTENT: usize = MAX_BATCH - 64;
const TOO_LARGE: &str = "a batch above its limit";

impl SignedBatch {
    /// Reads content and signature of the batch of this peer.
    pub(crate) fn read(peer: u8, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let content = reader.bytes()?;
        if content.len() > MAX_CONTENT {
            return Err(reader.fail(TOO_LARGE));
        }
        Ok(SignedBatch {
            peer,
            content: content.into(),
            signature: reader.array()?,
        })
    }

    /// Bytes that it takes on the wire.
    pub fn encoded_len(&self) -> usize {
        1 + 2 + self.content.len() + 64
    }

    /// Whether the signature is that of the roster's peer `self.peer`, for the match of `start`.
    pub fn is_signed(&self, start: &Start, signer: &dyn Signer) -> bool {
        self.is_signed_by(start, signer.verifier())
    }

    /// As [`is_signed`](Self::is_signed), with any means to verify a signature: [`Ed25519::verify`](crate::sign::Ed25519::verify)
    /// for a replay.
    pub fn is_signed_by(
        &self,
        start: &Start,
        verify: impl FnOnce(PeerId, &[u8], &[u8; 64]) -> bool,
    ) -> bool {
        let peer = start.roster.get(usize::from(self.peer));
        peer.is_some_and(|peer| self.is_signed_in(start, peer.incarnation, verify))
    }

    /// As [`is_signed_by`](Self::is_signed_by), as another run of the peer's process than `start` names.
    pub fn is_signed_in(
        &self,
        start: &Start,
        incarnation: Incarnation,
        verify: impl FnOnce(PeerId, &[u8], &[u8; 64]) -> bool,
    ) -> bool {
        let peer = start.roster.get(usize::from(self.peer));
        peer.is_some_and(|peer| {
            let document = Sealed {
                match_id: start.match_id,
                incarnation,
                content: &self.content,
            };
            document.with(self.signature).is_by(peer.peer, verify)
        })
    }
}

/// The seats that have a command among `entries`, ascending, each once.
pub(crate) fn seats_with_commands(entries: &[LogEntry]) -> impl Iterator<Item = Seat> + '_ {
    let mut last = None;
    entries
        .iter()
        .filter(|entry| matches!(entry.what, What::Command(_)))
        .map(|entry| entry.seat)
        .filter(move |seat| last.replace(*seat) != Some(*seat))
}

/// What a peer signs of a batch.
struct Sealed<'a> {
    match_id: MatchId,
    incarnation: Incarnation,
    content: &'a [u8],
}

impl Document for Sealed<'_> {
    const KIND: Kind = Kind::Batch;

    fn put_content(&self, out: &mut Vec<u8>) {
        out.reserve(32 + self.content.len());
        out.extend_from_slice(&self.match_id.0);
        out.extend_from_slice(&self.incarnation.0);
        out.extend_from_slice(self.content);
    }
}

/// A batch as its peer signed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedBatch {
    /// Index of the peer in the roster.
    pub peer: u8,
    /// The signed bytes; [`Batch::decode`] reads them.
    pub content: Arc<[u8]>,
    /// The peer's signature, which also binds the match and the peer's incarnation.
    pub signature: [u8; 64],
}

/// Two different batches that one run of one peer's process signed for one turn: no correct peer does. A holder of
/// the start can check it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Equivocation(pub SignedBatch, pub SignedBatch);

impl Equivocation {
    /// Whose it is, by index in the start's roster; `None` where it proves nothing. `verify` tells whether a signature
    /// is a peer's for some bytes.
    pub fn holds(
        &self,
        start: &Start,
        verify: impl Fn(PeerId, &[u8], &[u8; 64]) -> bool,
    ) -> Option<u8> {
        let Equivocation(one, other) = self;
        let differ = one.peer == other.peer && one.content != other.content;
        let same_turn = differ && self.turn().is_some();
        let signed = same_turn
            && [one, other]
                .iter()
                .all(|batch| batch.is_signed_by(start, &verify));
        signed.then_some(one.peer)
    }

    /// The turn that both are for, if it is one.
    pub fn turn(&self) -> Option<TurnNumber> {
        let turn = |batch: &SignedBatch| Some(Batch::decode(&batch.content).ok()?.turn);
        turn(&self.0).filter(|of| turn(&self.1) == Some(*of))
    }
}
