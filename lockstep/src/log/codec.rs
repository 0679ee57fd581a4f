//! The one encoding of log records.

use super::accepted::Accepted;
use super::batch::SignedBatch;
use super::bundle::{Bundle, LogEntry, decode_entries, encode_entries};
use super::continuation::Continuation;
use super::keyframe::Keyframe;
use super::record::{End, Lead, Record};
use super::reopening::SignedReopening;
use super::roster_change::{decode_change, put_change};
use super::start::Start;
use crate::encoding::{DecodeError, Reader, put_bytes, put_varint};
use crate::limits::MAX_PEERS;
use crate::{Limits, LogHash, Plan, TurnNumber};
use sim::{Checksum, Outcome, Seat};
use std::sync::Arc;

/// What the records so far say about the next one, so that it need not.
///
/// A `Start` and a `Keyframe` set everything anew: decoding may begin at either with a fresh codec.
#[derive(Clone, Debug, Default)]
pub struct Codec {
    next: TurnNumber,
    plan: Plan,
    paused: bool,
}

const START: u8 = 0;
const IDLE_TURN: u8 = 1;
const TURN: u8 = 2;
const PLAN: u8 = 3;
const CHECKSUM: u8 = 4;
const MISMATCH: u8 = 5;
const ATTEST: u8 = 6;
const KEYFRAME: u8 = 7;
const END: u8 = 8;
const ROSTER: u8 = 9;
const CONTINUED: u8 = 10;
const ACCEPT: u8 = 11;
const SIGNED: u8 = 12;
const LEADS: u8 = 13;

impl Codec {
    /// The codec behind this start.
    pub(crate) fn behind(start: &Start) -> Self {
        Codec {
            next: TurnNumber(0),
            plan: start.terms.plan,
            paused: false,
        }
    }

    /// Goes on behind a bundle that was encoded before.
    pub(crate) fn pass(&mut self, bundle: &Bundle) {
        *self = Codec {
            next: bundle.turn.next(),
            plan: bundle.plan,
            paused: bundle.paused,
        };
    }

    /// The turn of the next bundle.
    pub fn next_turn(&self) -> TurnNumber {
        self.next
    }

    /// Whether a bundle is the next one, with plan and pause as they were.
    pub fn continues(&self, bundle: &Bundle) -> bool {
        (bundle.turn, bundle.plan, bundle.paused) == (self.next, self.plan, self.paused)
    }

    /// The next bundle, with plan and pause as they were; `None` behind the last possible turn.
    pub fn next_bundle(&mut self, entries: Vec<LogEntry>) -> Option<Bundle> {
        let turn = self.next;
        if turn.0 == u32::MAX {
            return None;
        }
        self.next = turn.next();
        Some(Bundle {
            turn,
            plan: self.plan,
            paused: self.paused,
            entries,
        })
    }

    /// Appends the encoding of `record`.
    ///
    /// # Panics
    /// When a bundle does not follow the one before it: turns have no holes.
    pub fn encode(&mut self, record: &Record, out: &mut Vec<u8>) {
        match record {
            Record::Start(start) => {
                out.push(START);
                start.encode(out);
                *self = Codec::behind(start);
            }
            Record::Bundle(bundle) => {
                assert_eq!(bundle.turn, self.next, "bundles follow each other");
                if (bundle.plan, bundle.paused) != (self.plan, self.paused) {
                    out.push(PLAN);
                    bundle.plan.encode(out);
                    out.push(u8::from(bundle.paused));
                }
                if bundle.entries.is_empty() {
                    out.push(IDLE_TURN);
                } else {
                    out.push(TURN);
                    encode_entries(out, &bundle.entries);
                }
                self.pass(bundle);
            }
            Record::Checksum { turns, checksum } => {
                out.push(CHECKSUM);
                put_varint(out, u64::from(*turns));
                out.extend_from_slice(&checksum.0.to_le_bytes());
            }
            Record::Mismatch { turns, checksums } => {
                out.push(MISMATCH);
                put_varint(out, u64::from(*turns));
                put_varint(out, checksums.len() as u64);
                for (peer, checksum) in checksums {
                    out.push(*peer);
                    out.extend_from_slice(&checksum.0.to_le_bytes());
                }
            }
            Record::Attest(batch) => {
                out.push(ATTEST);
                out.push(batch.peer);
                put_bytes(out, &batch.content);
                out.extend_from_slice(&batch.signature);
            }
            Record::Leads { turns, leads } => {
                out.push(LEADS);
                put_varint(out, u64::from(*turns));
                put_varint(out, leads.len() as u64);
                for (peer, lead) in leads {
                    out.push(*peer);
                    out.extend_from_slice(&lead.ms.to_le_bytes());
                    out.extend_from_slice(&lead.usual_ms.to_le_bytes());
                    out.push(u8::from(lead.stands_out));
                }
            }
            Record::Keyframe(keyframe) => {
                out.push(KEYFRAME);
                put_varint(out, u64::from(keyframe.turns));
                put_varint(out, keyframe.ticks);
                keyframe.plan.encode(out);
                out.push(u8::from(keyframe.paused));
                out.extend_from_slice(&keyframe.log_hash.0);
                put_bytes(out, &keyframe.snapshot);
                *self = Codec {
                    next: TurnNumber(keyframe.turns),
                    plan: keyframe.plan,
                    paused: keyframe.paused,
                };
            }
            Record::Roster(change) => {
                out.push(ROSTER);
                put_change(out, change);
            }
            Record::Continued(continuation) => {
                out.push(CONTINUED);
                continuation.encode(out);
            }
            Record::Accept(accepted) => {
                out.push(ACCEPT);
                accepted.encode(out);
            }
            Record::Signed(signed) => {
                out.push(SIGNED);
                signed.encode(out);
            }
            Record::End(end) => {
                out.push(END);
                put_varint(out, u64::from(end.turns));
                out.extend_from_slice(&end.log_hash.0);
                out.extend_from_slice(&end.checksum.0.to_le_bytes());
                put_outcome(out, end.outcome);
                put_varint(out, end.signatures.len() as u64);
                for (peer, signature) in &end.signatures {
                    out.push(*peer);
                    out.extend_from_slice(signature);
                }
            }
        }
    }

    /// Decodes exactly one record. Allocates at most a small multiple of `bytes`.
    ///
    /// # Errors
    /// [`DecodeError`] for bytes that [`encode`](Self::encode) never writes, or that exceed `limits`.
    pub fn decode(&mut self, bytes: &[u8], limits: &Limits) -> Result<Record, DecodeError> {
        let mut next = self.clone();
        let mut reader = Reader::new(bytes);
        let record = next.decode_next(&mut reader, limits)?;
        reader.end()?;
        *self = next;
        Ok(record)
    }

    /// Decodes the front of a keyframe record of so many bytes, of which the first are here: the keyframe with an empty
    /// snapshot, and where in the record its snapshot begins, which takes the rest.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    pub fn decode_keyframe_head(
        front: &[u8],
        record_bytes: u64,
        limits: &Limits,
    ) -> Result<(Keyframe, u64), DecodeError> {
        let mut reader = Reader::new(front);
        if reader.byte()? != KEYFRAME {
            return Err(reader.fail("no keyframe"));
        }
        let keyframe = keyframe_head(&mut reader)?;
        let snapshot = reader.varint()?;
        let at = (front.len() - reader.remaining()) as u64;
        if snapshot > limits.snapshot_bytes {
            return Err(reader.fail("a snapshot above its limit"));
        }
        match at.checked_add(snapshot) == Some(record_bytes) {
            true => Ok((keyframe, at)),
            false => Err(reader.fail("a snapshot of another length")),
        }
    }

    /// Decodes the first record of a group, and takes its bytes from the front.
    ///
    /// # Errors
    /// As [`decode`](Self::decode); the codec and the bytes are left as they were.
    pub fn decode_front(
        &mut self,
        bytes: &mut &[u8],
        limits: &Limits,
    ) -> Result<Record, DecodeError> {
        let mut next = self.clone();
        let mut reader = Reader::new(bytes);
        let record = next.decode_next(&mut reader, limits)?;
        *bytes = &bytes[bytes.len() - reader.remaining()..];
        *self = next;
        Ok(record)
    }

    /// Decodes all records of a group.
    ///
    /// # Errors
    /// As [`decode`](Self::decode); nothing is given, and the codec left as it was, where any record is wrong.
    pub fn decode_all(
        &mut self,
        bytes: &[u8],
        limits: &Limits,
    ) -> Result<Vec<Record>, DecodeError> {
        let mut next = self.clone();
        let mut reader = Reader::new(bytes);
        let mut records = Vec::new();
        while reader.remaining() > 0 {
            records.push(next.decode_next(&mut reader, limits)?);
        }
        *self = next;
        Ok(records)
    }

    /// Decodes the first of some records that were encoded here, and tells its bytes.
    pub(super) fn decode_first(&mut self, bytes: &[u8]) -> (Record, usize) {
        let mut reader = Reader::new(bytes);
        // What was encoded here was within its own limits.
        let limits = Limits {
            setup_bytes: u32::MAX,
            snapshot_bytes: u64::MAX,
            ..Limits::default()
        };
        let record = self.decode_next(&mut reader, &limits);
        let record = record.expect("what was encoded here decodes");
        (record, bytes.len() - reader.remaining())
    }

    fn decode_next(
        &mut self,
        reader: &mut Reader<'_>,
        limits: &Limits,
    ) -> Result<Record, DecodeError> {
        Ok(match reader.byte()? {
            START => {
                let start = Start::decode(reader, limits)?;
                *self = Codec::behind(&start);
                Record::Start(Arc::new(start))
            }
            PLAN => {
                let changed = (Plan::decode(reader)?, reader.flag()?);
                if changed == (self.plan, self.paused) {
                    return Err(reader.fail("a plan that changes nothing"));
                }
                (self.plan, self.paused) = changed;
                match reader.byte()? {
                    IDLE_TURN => self.bundle(Vec::new(), reader)?,
                    TURN => {
                        let entries = some_entries(reader)?;
                        self.bundle(entries, reader)?
                    }
                    _ => return Err(reader.fail("a plan without its turn")),
                }
            }
            IDLE_TURN => self.bundle(Vec::new(), reader)?,
            TURN => {
                let entries = some_entries(reader)?;
                self.bundle(entries, reader)?
            }
            CHECKSUM => Record::Checksum {
                turns: reader.number()?,
                checksum: Checksum(reader.fixed_u32()?),
            },
            MISMATCH => {
                let turns = reader.number()?;
                let count = reader.count(MAX_PEERS, "more peers than allowed")?;
                let checksums = (0..count)
                    .map(|_| Ok((reader.byte()?, Checksum(reader.fixed_u32()?))))
                    .collect::<Result<_, DecodeError>>()?;
                Record::Mismatch { turns, checksums }
            }
            ATTEST => {
                let peer = reader.byte()?;
                Record::Attest(SignedBatch::read(peer, reader)?)
            }
            LEADS => {
                let turns = reader.number()?;
                let count = reader.count(MAX_PEERS, "more peers than allowed")?;
                let leads = (0..count).map(|_| Ok((reader.byte()?, lead(reader)?)));
                let leads = leads.collect::<Result<_, DecodeError>>()?;
                Record::Leads { turns, leads }
            }
            KEYFRAME => {
                let mut keyframe = keyframe_head(reader)?;
                let snapshot = reader.bytes()?;
                if snapshot.len() as u64 > limits.snapshot_bytes {
                    return Err(reader.fail("a snapshot above its limit"));
                }
                keyframe.snapshot = snapshot.into();
                *self = Codec {
                    next: TurnNumber(keyframe.turns),
                    plan: keyframe.plan,
                    paused: keyframe.paused,
                };
                Record::Keyframe(keyframe)
            }
            ROSTER => Record::Roster(decode_change(reader)?),
            CONTINUED => Record::Continued(Arc::new(Continuation::decode(reader)?)),
            ACCEPT => Record::Accept(Accepted::decode(reader)?),
            SIGNED => Record::Signed(SignedReopening::decode(reader)?),
            END => {
                let turns = reader.number()?;
                let log_hash = LogHash(reader.array()?);
                let checksum = Checksum(reader.fixed_u32()?);
                let outcome = outcome(reader)?;
                let count = reader.count(MAX_PEERS, "more peers than allowed")?;
                let signatures = (0..count)
                    .map(|_| Ok((reader.byte()?, reader.array()?)))
                    .collect::<Result<_, DecodeError>>()?;
                Record::End(End {
                    turns,
                    log_hash,
                    checksum,
                    outcome,
                    signatures,
                })
            }
            _ => return Err(reader.fail("no such record")),
        })
    }

    fn bundle(
        &mut self,
        entries: Vec<LogEntry>,
        reader: &Reader<'_>,
    ) -> Result<Record, DecodeError> {
        let bundle = self.next_bundle(entries);
        bundle
            .map(Record::Bundle)
            .ok_or_else(|| reader.fail("too many turns"))
    }
}

/// The entries of a turn that has some: a turn without is written otherwise, and only so.
fn some_entries(reader: &mut Reader<'_>) -> Result<Vec<LogEntry>, DecodeError> {
    let entries = decode_entries(reader)?;
    if entries.is_empty() {
        return Err(reader.fail("a turn that is said to have entries and has none"));
    }
    Ok(entries)
}

fn put_outcome(out: &mut Vec<u8>, outcome: Option<Outcome>) {
    match outcome {
        None => out.push(0),
        Some(Outcome { winner: None }) => out.push(1),
        Some(Outcome { winner: Some(seat) }) => out.extend_from_slice(&[2, seat.0]),
    }
}

fn outcome(reader: &mut Reader<'_>) -> Result<Option<Outcome>, DecodeError> {
    Ok(match reader.byte()? {
        0 => None,
        1 => Some(Outcome { winner: None }),
        2 => Some(Outcome {
            winner: Some(Seat(reader.byte()?)),
        }),
        _ => return Err(reader.fail("no such outcome")),
    })
}

fn lead(reader: &mut Reader<'_>) -> Result<Lead, DecodeError> {
    Ok(Lead {
        ms: i16::from_le_bytes(reader.array()?),
        usual_ms: i16::from_le_bytes(reader.array()?),
        stands_out: reader.flag()?,
    })
}

/// All of a keyframe before its snapshot.
fn keyframe_head(reader: &mut Reader<'_>) -> Result<Keyframe, DecodeError> {
    Ok(Keyframe {
        turns: reader.number()?,
        ticks: reader.varint()?,
        plan: Plan::decode(reader)?,
        paused: reader.flag()?,
        log_hash: LogHash(reader.array()?),
        snapshot: Arc::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_turn_has_one_encoding() {
        let limits = Limits::default();
        assert!(Codec::default().decode_all(&[IDLE_TURN], &limits).is_ok());
        assert!(Codec::default().decode_all(&[TURN, 0], &limits).is_err());
    }

    #[test]
    fn leads_are_read_back_and_no_more_than_there_can_be_peers() {
        let lead = Lead {
            ms: -7,
            usual_ms: 200,
            stands_out: true,
        };
        let limits = Limits::default();
        for (peers, holds) in [(0, true), (16, true), (17, false)] {
            let leads = (0..peers).map(|peer| (peer, lead)).collect();
            let record = Record::Leads { turns: 9, leads };
            let mut bytes = Vec::new();
            Codec::default().encode(&record, &mut bytes);
            let read = Codec::default().decode_all(&bytes, &limits);
            assert_eq!(read.ok(), holds.then(|| vec![record]), "{peers}");
        }
    }
}
