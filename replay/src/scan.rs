//! The first pass over a file: its valid prefix, and the places of its parts.

use crate::budget::Budget;
use crate::content;
use crate::format::{self, KeyframeHead, Window};
use crate::roster::{RosterAt, Rosters};
use crate::segment::{Item, Kind, Segment, Stop, segment_at};
use crate::{Error, FileEnd, KeyframeAt};
use lockstep::log::{
    Accepted, Bundle, Codec, Continuation, End, LogEntry, PlanChange, Plans, Record,
    SignedReopening, Start, Way, continued_hash, roster_hash, start_hash, turn_hash,
};
use lockstep::{Limits, LogHash, Plan, TurnNumber};
use sim::Seat;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

/// The result of the first pass.
pub(crate) struct Scan {
    pub start: Arc<Start>,
    /// Turns logged.
    pub turns: u32,
    /// Log hash after them.
    pub log_hash: LogHash,
    pub end: Option<End>,
    pub tail: FileEnd,
    /// The end of the valid prefix.
    pub valid_bytes: u64,
    pub file_bytes: u64,
    pub keyframes: Vec<KeyframeAt>,
    pub marks: Vec<Mark>,
    pub spans: Vec<Span>,
    /// The plan of turn 0, and every later one.
    pub plans: Vec<Planned>,
    /// What the recording peer has accepted, and the log has no decision of.
    pub accepted: Option<Accepted>,
    /// The reopening that it has signed last, and that the log does not go on by.
    pub signed: Option<SignedReopening>,
    /// Where players went on alone, by turn.
    pub continuations: Vec<Arc<Continuation>>,
    /// Roster changes, by turn.
    pub rosters: Vec<RosterAt>,
}

/// A place where reading may begin.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    /// Offset of a segment.
    pub at: u64,
    /// CRC of the seal before it.
    pub crc: u32,
    /// The codec before it; it knows the next turn.
    pub codec: Codec,
}

/// A turn plan, from its first turn on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planned {
    pub turn: TurnNumber,
    pub plan: Plan,
    /// The lowest seat of the peer that it is so slow for, if it is.
    pub slow: Option<Seat>,
    /// The way of batches that it is for, if the log tells of one.
    pub way: Option<Way>,
}

/// Consecutive turns of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The first turn.
    pub turn: u32,
    /// Match time before it.
    pub at_ms: u64,
    /// Ticks before it.
    pub at_tick: u64,
    /// Length of each turn.
    pub turn_ms: u32,
    /// Ticks of each turn.
    pub ticks: u8,
}

impl Span {
    /// Match time and ticks before `turn`, which lies in this span or directly behind it.
    pub(crate) fn before(&self, turn: u32) -> (u64, u64) {
        let turns = u64::from(turn.saturating_sub(self.turn));
        (
            self.at_ms + turns * u64::from(self.turn_ms),
            self.at_tick + turns * u64::from(self.ticks),
        )
    }
}

/// Bytes of records between two marks.
pub(crate) const MARK_EVERY_BYTES: u64 = 4 << 10;
/// A keyframe that stands further behind its turn is not used. [`Limits::unexecuted_turns`] is 600 unless a game raises it.
const HASHES_KEPT: usize = 1_024;

/// The state of the pass.
struct Pass {
    scan: Scan,
    /// The seats of the match.
    seats: Vec<Seat>,
    codec: Codec,
    crc: u32,
    /// Log hashes after the last turns, newest last.
    hashes: VecDeque<LogHash>,
    /// Replaces the newest hash for the next turn, after roster changes.
    chained: Option<LogHash>,
    plans: Plans,
    rosters: Rosters,
    epoch: u32,
    /// The plan of the next turn, if earlier turns ask for a change.
    change: Option<PlanChange>,
    marked_bytes: u64,
    budget: Budget,
    closed: bool,
}

pub(crate) fn scan(window: &mut Window, limits: &Limits) -> Result<Scan, Error> {
    let file_bytes = window.length()?;
    check_header(window, file_bytes)?;
    let at = format::HEADER_BYTES;
    let crc = format::header_crc();
    let mut segment = segment_at(window, at, file_bytes, crc, limits.snapshot_bytes)?;
    let Some(mut pass) = Pass::begin(window, &segment, file_bytes, limits)? else {
        return Err(Error::Start { at });
    };
    loop {
        let holds = pass.take(window, &segment, limits)?;
        let at = pass.scan.valid_bytes;
        match segment.stop {
            _ if !holds => pass.scan.tail = FileEnd::Damaged { at },
            Stop::Sealed(crc) => {
                pass.crc = crc;
                segment = segment_at(window, at, file_bytes, crc, limits.snapshot_bytes)?;
                continue;
            }
            Stop::Nothing => {}
            Stop::Cut => pass.scan.tail = FileEnd::Cut { at, of: file_bytes },
            Stop::Damaged => pass.scan.tail = FileEnd::Damaged { at },
        }
        break;
    }
    if pass.scan.tail == FileEnd::Open && pass.scan.end.is_some() {
        pass.scan.tail = FileEnd::Complete;
    }
    Ok(pass.scan)
}

fn check_header(window: &mut Window, file_bytes: u64) -> Result<(), Error> {
    if file_bytes == 0 {
        return Err(Error::Empty);
    }
    let expected = format::header();
    let there = file_bytes.min(format::HEADER_BYTES) as usize;
    let header = window.bytes(0, there)?;
    if header[..there.min(8)] != expected[..there.min(8)] {
        return Err(Error::Foreign);
    }
    if there < expected.len() {
        return Err(Error::Start { at: there as u64 });
    }
    if header != expected {
        return Err(Error::Version {
            format: u16::from_le_bytes([header[8], header[9]]),
            protocol: u16::from_le_bytes([header[10], header[11]]),
        });
    }
    if file_bytes == format::HEADER_BYTES {
        return Err(Error::NotBegun);
    }
    Ok(())
}

impl Pass {
    /// Before the first segment; `None` unless that begins with a start.
    fn begin(
        window: &mut Window,
        segment: &Segment,
        file_bytes: u64,
        limits: &Limits,
    ) -> io::Result<Option<Pass>> {
        let Some(item) = segment.items.first() else {
            return Ok(None);
        };
        let content = item.content(window)?;
        let mut codec = Codec::default();
        let first = content::next(item.kind, &mut { content }, &mut codec, limits);
        let Some(Record::Start(start)) = first else {
            return Ok(None);
        };
        let log_hash = start_hash(&start);
        Ok(Some(Pass {
            scan: Scan {
                start: start.clone(),
                turns: 0,
                log_hash,
                end: None,
                tail: FileEnd::Open,
                valid_bytes: format::HEADER_BYTES,
                file_bytes,
                keyframes: Vec::new(),
                marks: Vec::new(),
                spans: Vec::new(),
                plans: vec![Planned {
                    turn: TurnNumber(0),
                    plan: start.terms.plan,
                    slow: None,
                    way: None,
                }],
                accepted: None,
                signed: None,
                continuations: Vec::new(),
                rosters: Vec::new(),
            },
            seats: start.seats(),
            codec: Codec::default(),
            crc: format::header_crc(),
            hashes: VecDeque::from([log_hash]),
            chained: None,
            plans: Plans::of(&start),
            rosters: Rosters::new(start.clone()),
            epoch: 0,
            change: None,
            marked_bytes: MARK_EVERY_BYTES,
            budget: Budget::default(),
            closed: false,
        }))
    }

    /// Takes the items of a segment. False if one is out of place.
    fn take(
        &mut self,
        window: &mut Window,
        segment: &Segment,
        limits: &Limits,
    ) -> io::Result<bool> {
        let keyframe = |item: &Item| item.kind == Kind::Keyframe;
        if self.marked_bytes >= MARK_EVERY_BYTES && !segment.items.first().is_some_and(keyframe) {
            self.marked_bytes = 0;
            self.scan.marks.push(Mark {
                at: self.scan.valid_bytes,
                crc: self.crc,
                codec: self.codec.clone(),
            });
        }
        for item in &segment.items {
            if !self.take_item(window, item, limits)? {
                return Ok(false);
            }
            self.scan.valid_bytes = item.end;
        }
        self.scan.valid_bytes = segment.end;
        Ok(true)
    }

    fn take_item(&mut self, window: &mut Window, item: &Item, limits: &Limits) -> io::Result<bool> {
        if self.closed {
            return Ok(false);
        }
        match item.kind {
            Kind::Keyframe => {
                let head = item.content_bytes.min(KEYFRAME_HEAD_BYTES) as usize;
                let head = window.bytes(item.content_at, head)?;
                Ok(self.take_keyframe(head, item))
            }
            Kind::Index => {
                let keyframes = self.scan.keyframes.iter();
                let expected = format::index_content(keyframes.map(|k| (k.turns, k.at)));
                self.closed = true;
                Ok(item.content(window)? == expected)
            }
            kind => {
                self.marked_bytes += item.content_bytes;
                let content = item.content(window)?;
                let mut follows = Follows {
                    seats: &self.seats,
                    may_start: self.scan.valid_bytes == format::HEADER_BYTES,
                    turns: self.scan.turns,
                    ended: self.scan.end.is_some(),
                };
                let mut codec = self.codec.clone();
                if kind == Kind::Records {
                    // Of an item with a record that is out of place, none counts.
                    let mut ahead = codec.clone();
                    let mut records = content::decode(content, &mut ahead, limits);
                    let budget = &mut self.budget;
                    let mut takes = |record: Option<Record>| {
                        record.is_some_and(|record| follows.takes(&record, budget))
                    };
                    if !records.all(&mut takes) {
                        return Ok(false);
                    }
                    let records = content::decode(content, &mut codec, limits);
                    records
                        .flatten()
                        .for_each(|record| self.take_record(record));
                } else {
                    match content::next(kind, &mut { content }, &mut codec, limits) {
                        Some(record) if follows.takes(&record, &mut self.budget) => {
                            self.take_record(record);
                        }
                        _ => return Ok(false),
                    }
                }
                self.codec = codec;
                Ok(true)
            }
        }
    }

    fn take_keyframe(&mut self, head: &[u8], item: &Item) -> bool {
        let Some((head, _)) = KeyframeHead::read(head) else {
            return false;
        };
        let (previous, newer) = match self.scan.keyframes.last() {
            Some(last) => (last.at, head.turns > last.turns),
            None => (0, true),
        };
        let fits = newer && head.turns <= self.scan.turns;
        if head.previous != previous || !fits || !self.budget.take_keyframe() {
            return false;
        }
        let behind = (self.scan.turns - head.turns) as usize;
        let newest = self.hashes.len() - 1;
        self.scan.keyframes.push(KeyframeAt {
            turns: head.turns,
            at: item.at,
            packed_bytes: item.content_bytes,
            unpacked_bytes: head.unpacked,
            log_hash: newest.checked_sub(behind).map(|place| self.hashes[place]),
        });
        true
    }

    fn take_record(&mut self, record: Record) {
        match record {
            Record::Continued(continuation) => {
                let before = self.chained.unwrap_or(self.scan.log_hash);
                self.chained = Some(continued_hash(before, &continuation));
                self.plans = Plans::of(&continuation.start(&self.scan.start));
                self.change = None;
                self.scan.continuations.push(continuation);
            }
            Record::Roster(change) => {
                let before = self.chained.unwrap_or(self.scan.log_hash);
                self.chained = Some(roster_hash(before, &change));
                self.plans.begin_epoch(change.value.roster.len() as usize);
                self.scan.rosters.push(self.rosters.change(&change));
                self.epoch = change.epoch.saturating_add(1);
                let epoch = self.epoch;
                self.scan
                    .accepted
                    .take_if(|accepted| accepted.epoch < epoch);
                self.scan.signed.take_if(|signed| signed.epoch < epoch);
            }
            Record::Bundle(bundle) => self.take_bundle(&bundle),
            Record::Accept(accepted) if accepted.epoch >= self.epoch => {
                self.scan.accepted = Some(accepted);
            }
            Record::Signed(signed) if signed.epoch >= self.epoch => {
                self.scan.signed = Some(signed);
            }
            Record::End(end) => self.scan.end = Some(end),
            _ => {}
        }
    }

    fn take_bundle(&mut self, bundle: &Bundle) {
        let before = self.chained.take().unwrap_or(self.scan.log_hash);
        self.scan.log_hash = turn_hash(before, bundle);
        if self.hashes.len() == HASHES_KEPT {
            self.hashes.pop_front();
        }
        self.hashes.push_back(self.scan.log_hash);
        let ticks = bundle.ticks();
        let turn_ms = u32::from(ticks) * u32::from(bundle.plan.tick_ms);
        let turn = bundle.turn.0;
        match self.scan.spans.last() {
            Some(span) if (span.turn_ms, span.ticks) == (turn_ms, ticks) => {}
            last => {
                let (at_ms, at_tick) = last.map_or((0, 0), |span| span.before(turn));
                self.scan.spans.push(Span {
                    turn,
                    at_ms,
                    at_tick,
                    turn_ms,
                    ticks,
                });
            }
        }
        self.take_plan(bundle);
        self.rosters.bundle(bundle);
        self.scan.turns = turn + 1;
    }

    fn take_plan(&mut self, bundle: &Bundle) {
        let change = self.change.take();
        self.change = self.plans.take(bundle);
        let (turn, plan) = (bundle.turn, bundle.plan);
        if self.scan.plans.last().is_some_and(|last| last.plan == plan) {
            return;
        }
        // A change that earlier turns did not ask for is blamed on no machine and no link.
        let change = change.filter(|change| change.plan == plan);
        let slow = change.and_then(|change| change.slow);
        let way = change.and_then(|change| change.way);
        self.scan.plans.push(Planned {
            turn,
            plan,
            slow,
            way,
        });
    }
}

/// What tells whether a record is in its place.
struct Follows<'a> {
    /// The seats of the match: a world may rely on them.
    seats: &'a [Seat],
    /// It is the first of the file.
    may_start: bool,
    turns: u32,
    ended: bool,
}

impl Follows<'_> {
    /// Takes the next record; false where it is out of place, or the file has too many of its kind.
    fn takes(&mut self, record: &Record, budget: &mut Budget) -> bool {
        let starts = std::mem::take(&mut self.may_start);
        if self.ended || !budget.take(record) {
            return false;
        }
        match record {
            Record::Start(_) => return starts,
            Record::Keyframe(_) => return false,
            Record::Bundle(bundle) => {
                self.turns = bundle.turn.0 + 1;
                let mut named = bundle.entries.iter().flat_map(LogEntry::seats);
                return named.all(|seat| self.seats.contains(&seat));
            }
            Record::Roster(change) => return change.value.cut == self.turns,
            Record::Continued(continuation) => return continuation.turns == self.turns,
            Record::End(_) => self.ended = true,
            _ => {}
        }
        true
    }
}

/// Enough for the head of any keyframe.
const KEYFRAME_HEAD_BYTES: u64 = 32;
