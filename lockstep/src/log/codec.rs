//! The one encoding of log records.

use super::{
    Bundle, Continuation, End, Equivocation, Keyframe, LogEntry, NewRun, Record, Reopening,
    RosterChange, RosterPeer, SignedBatch, Start, Terms, What,
};
use crate::encoding::{Reader, put_bytes, put_varint};
use crate::limits::{MAX_BATCH, MAX_CHAT, MAX_COMMAND, MAX_PEERS};
use crate::session::MAX_LOAD;
use crate::session::roster::{Ballot, Joins, Peers, Value};
use crate::text::{MAX_BUILD, MAX_NAME};
use crate::{Incarnation, Limits, LogHash, MatchId, PeerId, Plan, TurnNumber};
use sim::{Checksum, Outcome, RulesId, Seat, SeatState, Seed};
use std::sync::Arc;

pub use crate::encoding::DecodeError;

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

impl Codec {
    /// As it is behind this start.
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
                put_start(out, start);
                *self = Codec::behind(start);
            }
            Record::Bundle(bundle) => {
                assert_eq!(bundle.turn, self.next, "bundles follow each other");
                if (bundle.plan, bundle.paused) != (self.plan, self.paused) {
                    out.push(PLAN);
                    put_plan(out, &bundle.plan);
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
            Record::Keyframe(keyframe) => {
                out.push(KEYFRAME);
                put_varint(out, u64::from(keyframe.turns));
                put_varint(out, keyframe.ticks);
                put_plan(out, &keyframe.plan);
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

    fn decode_next(
        &mut self,
        reader: &mut Reader<'_>,
        limits: &Limits,
    ) -> Result<Record, DecodeError> {
        Ok(match reader.byte()? {
            START => {
                let start = start(reader, limits)?;
                *self = Codec::behind(&start);
                Record::Start(Arc::new(start))
            }
            PLAN => {
                let changed = (plan(reader)?, reader.flag()?);
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
                let content = reader.bytes()?;
                if content.len() > MAX_BATCH {
                    return Err(reader.fail("a batch above its limit"));
                }
                Record::Attest(SignedBatch {
                    peer,
                    content: content.into(),
                    signature: reader.array()?,
                })
            }
            KEYFRAME => {
                let keyframe = Keyframe {
                    turns: reader.number()?,
                    ticks: reader.varint()?,
                    plan: plan(reader)?,
                    paused: reader.flag()?,
                    log_hash: LogHash(reader.array()?),
                    snapshot: {
                        let snapshot = reader.bytes()?;
                        if snapshot.len() as u64 > limits.snapshot_bytes {
                            return Err(reader.fail("a snapshot above its limit"));
                        }
                        snapshot.into()
                    },
                };
                *self = Codec {
                    next: TurnNumber(keyframe.turns),
                    plan: keyframe.plan,
                    paused: keyframe.paused,
                };
                Record::Keyframe(keyframe)
            }
            ROSTER => Record::Roster(decode_change(reader)?),
            CONTINUED => Record::Continued(Arc::new(Continuation::decode(reader)?)),
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

fn put_start(out: &mut Vec<u8>, start: &Start) {
    put_varint(out, u64::from(start.protocol));
    out.extend_from_slice(&start.match_id.0);
    out.extend_from_slice(&start.rules.0);
    put_bytes(out, &start.setup);
    out.extend_from_slice(&start.seed.0);
    start.terms.encode(out);
    put_varint(out, start.roster.len() as u64);
    for peer in &start.roster {
        out.extend_from_slice(&peer.peer.0);
        out.extend_from_slice(&peer.incarnation.0);
        put_bytes(out, peer.name.as_bytes());
        put_varint(out, peer.seats.len() as u64);
        out.extend(peer.seats.iter().map(|seat| seat.0));
        out.extend_from_slice(&peer.share);
    }
    put_bytes(out, start.build.as_bytes());
    put_varint(out, start.signatures.len() as u64);
    for signature in &start.signatures {
        out.extend_from_slice(signature);
    }
}

/// A text of at most so many bytes.
pub(super) fn short(
    reader: &mut Reader<'_>,
    most: u32,
    what: &'static str,
) -> Result<String, DecodeError> {
    let text = reader.text()?;
    match text.len() <= most as usize {
        true => Ok(text),
        false => Err(reader.fail(what)),
    }
}

fn start(reader: &mut Reader<'_>, limits: &Limits) -> Result<Start, DecodeError> {
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
        roster.push(RosterPeer {
            peer: PeerId(reader.array()?),
            incarnation: Incarnation(reader.array()?),
            name: short(reader, MAX_NAME, "a name above its limit")?,
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
    let build = short(reader, MAX_BUILD, "the name of a build above its limit")?;
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

pub(crate) fn encode_entries(out: &mut Vec<u8>, entries: &[LogEntry]) {
    put_varint(out, entries.len() as u64);
    for entry in entries {
        out.push(entry.seat.0);
        match &entry.what {
            // Most entries are commands: their length carries the kind, above the other kinds' numbers.
            What::Command(bytes) => {
                put_varint(out, bytes.len() as u64 + FIRST_LENGTH);
                out.extend_from_slice(bytes);
            }
            What::Seat(state) => {
                out.push(0);
                out.push(match state {
                    SeatState::Played => 0,
                    SeatState::Idle => 1,
                    SeatState::Ai => 2,
                    SeatState::Resigned => 3,
                });
            }
            What::Pause => out.push(1),
            What::Resume => out.push(2),
            What::Chat(text) => {
                out.push(3);
                put_bytes(out, text.as_bytes());
            }
            What::Load(load) => {
                out.push(4);
                put_varint(out, u64::from(*load));
            }
        }
    }
}

const FIRST_LENGTH: u64 = 5;

pub(crate) fn decode_entries(reader: &mut Reader<'_>) -> Result<Vec<LogEntry>, DecodeError> {
    let count = reader.count(reader.remaining() / 2, "more entries than bytes")?;
    let mut entries = Vec::with_capacity(count);
    for _ in 0..count {
        let seat = Seat(reader.byte()?);
        let what = match reader.varint()? {
            0 => What::Seat(match reader.byte()? {
                0 => SeatState::Played,
                1 => SeatState::Idle,
                2 => SeatState::Ai,
                3 => SeatState::Resigned,
                _ => return Err(reader.fail("no such seat state")),
            }),
            1 => What::Pause,
            2 => What::Resume,
            3 => {
                let text = reader.text()?;
                if text.len() > MAX_CHAT {
                    return Err(reader.fail("a chat text above its limit"));
                }
                What::Chat(text)
            }
            4 => What::Load(reader.count(MAX_LOAD.into(), "a load above its bound")? as u16),
            length => {
                let length = length - FIRST_LENGTH;
                if length > MAX_COMMAND as u64 {
                    return Err(reader.fail("a command above its limit"));
                }
                What::Command(reader.take(length as usize)?.into())
            }
        };
        entries.push(LogEntry { seat, what });
    }
    if !entries.is_sorted_by_key(|entry| entry.seat) {
        return Err(reader.fail("entries out of seat order"));
    }
    Ok(entries)
}

pub(crate) fn encode_change(change: &RosterChange) -> Vec<u8> {
    let mut out = Vec::new();
    put_change(&mut out, change);
    out
}

fn put_change(out: &mut Vec<u8>, change: &RosterChange) {
    put_varint(out, u64::from(change.epoch));
    put_varint(out, u64::from(change.ballot.round));
    out.push(change.ballot.peer);
    out.extend_from_slice(&change.value.roster.0.to_le_bytes());
    put_varint(out, u64::from(change.value.cut));
    match (&change.reopening, change.value.joins) {
        (None, None) => out.push(0),
        (None, Some(joins)) => {
            out.extend_from_slice(&[1, joins.peer]);
            out.extend_from_slice(&joins.incarnation.0);
        }
        (Some(reopening), _) => {
            out.push(2);
            out.extend_from_slice(&reopening.log_hash.0);
            put_varint(out, reopening.runs.len() as u64);
            for run in &reopening.runs {
                out.extend_from_slice(&[run.peer, u8::from(run.held)]);
                out.extend_from_slice(&run.incarnation.0);
            }
        }
    }
    out.extend_from_slice(&change.value.odd.0.to_le_bytes());
    out.extend_from_slice(&change.value.left.0.to_le_bytes());
    put_varint(out, change.accepts.len() as u64);
    for (peer, signature) in &change.accepts {
        out.push(*peer);
        out.extend_from_slice(signature);
    }
    out.push(u8::from(change.value.log_hash.is_some()));
    if let Some(hash) = &change.value.log_hash {
        out.extend_from_slice(&hash.0);
    }
    out.extend_from_slice(&change.value.cheats.0.to_le_bytes());
    put_varint(out, change.proofs.len() as u64);
    for Equivocation(one, other) in &change.proofs {
        put_batch(out, one);
        put_batch(out, other);
    }
}

fn put_batch(out: &mut Vec<u8>, batch: &SignedBatch) {
    out.push(batch.peer);
    put_bytes(out, &batch.content);
    out.extend_from_slice(&batch.signature);
}

fn signed_batch(reader: &mut Reader<'_>) -> Result<SignedBatch, DecodeError> {
    let peer = reader.byte()?;
    let content = reader.bytes()?;
    if content.len() + 64 > MAX_BATCH {
        return Err(reader.fail("a batch above its limit"));
    }
    Ok(SignedBatch {
        peer,
        content: content.into(),
        signature: reader.array()?,
    })
}

pub(crate) fn decode_change(reader: &mut Reader<'_>) -> Result<RosterChange, DecodeError> {
    let epoch = reader.number()?;
    let ballot = Ballot {
        round: reader.number()?,
        peer: reader.byte()?,
    };
    let mut value = Value::of(Peers(u16::from_le_bytes(reader.array()?)), reader.number()?);
    let reopening = match reader.byte()? {
        0 => None,
        1 => {
            value.joins = Some(Joins {
                peer: reader.byte()?,
                incarnation: Incarnation(reader.array()?),
            });
            None
        }
        2 => Some(reopening(reader)?),
        _ => return Err(reader.fail("no such roster change")),
    };
    value.odd = Peers(u16::from_le_bytes(reader.array()?));
    value.left = Peers(u16::from_le_bytes(reader.array()?));
    let count = reader.count(MAX_PEERS, "more peers than allowed")?;
    let accepts: Vec<(u8, [u8; 64])> = (0..count)
        .map(|_| Ok((reader.byte()?, reader.array()?)))
        .collect::<Result<_, DecodeError>>()?;
    if value.roster.is_empty() || !accepts.is_sorted_by(|one, next| one.0 < next.0) {
        return Err(reader.fail("no roster, or accepts out of order"));
    }
    if reader.flag()? {
        value.log_hash = Some(LogHash(reader.array()?));
    }
    value.cheats = Peers(u16::from_le_bytes(reader.array()?));
    let count = reader.count(MAX_PEERS, "more proofs than peers")?;
    let proofs = (0..count)
        .map(|_| Ok(Equivocation(signed_batch(reader)?, signed_batch(reader)?)))
        .collect::<Result<_, DecodeError>>()?;
    Ok(RosterChange {
        epoch,
        ballot,
        value,
        accepts,
        reopening,
        proofs,
    })
}

fn reopening(reader: &mut Reader<'_>) -> Result<Reopening, DecodeError> {
    let log_hash = LogHash(reader.array()?);
    let count = reader.count(MAX_PEERS, "more peers than allowed")?;
    let runs = (0..count)
        .map(|_| {
            Ok(NewRun {
                peer: reader.byte()?,
                held: reader.flag()?,
                incarnation: Incarnation(reader.array()?),
            })
        })
        .collect::<Result<_, DecodeError>>()?;
    Ok(Reopening { log_hash, runs })
}

pub(crate) fn put_plan(out: &mut Vec<u8>, plan: &Plan) {
    out.push(plan.ticks);
    out.push(plan.delay_turns);
    put_varint(out, u64::from(plan.tick_ms));
}

pub(crate) fn plan(reader: &mut Reader<'_>) -> Result<Plan, DecodeError> {
    let plan = Plan {
        ticks: reader.byte()?,
        delay_turns: reader.byte()?,
        tick_ms: u16::try_from(reader.varint()?)
            .map_err(|_| reader.fail("a tick that is too long"))?,
    };
    if plan.is_valid(false) {
        Ok(plan)
    } else {
        Err(reader.fail("a plan out of range"))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_turn_has_one_encoding() {
        let limits = Limits::default();
        assert!(Codec::default().decode_all(&[IDLE_TURN], &limits).is_ok());
        assert!(Codec::default().decode_all(&[TURN, 0], &limits).is_err());
    }
}
