//! A log in memory, encoded: an idle turn takes one byte.

use super::bundle::Bundle;
use super::codec::Codec;
use super::record::Record;
use super::start::Start;
use std::fmt;
use std::sync::Arc;

/// A start and the records behind it, encoded: an idle turn takes one byte. Reading decodes record by record. A clone
/// shares the memory of its original.
#[derive(Clone)]
pub struct EncodedLog {
    start: Arc<Start>,
    chunks: Vec<Arc<Chunk>>,
    /// Of all chunks.
    bytes: u64,
    /// Behind the last record.
    codec: Codec,
}

/// Whole records. A log in chunks grows without being copied, and is read from any turn on.
#[derive(Clone)]
struct Chunk {
    /// Bytes of the chunks before it.
    begin: u64,
    /// Before its first record.
    codec: Codec,
    bytes: Vec<u8>,
}

impl Chunk {
    fn end(&self) -> u64 {
        self.begin + self.bytes.len() as u64
    }
}

/// A chunk of so many bytes is full.
const CHUNK: usize = 1 << 10;

/// A place between two records.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    at: u64,
    /// The chunk that the place is in, or ends.
    chunk: usize,
    codec: Codec,
}

impl Cursor {
    /// Whether it stands before another one of the same log.
    pub(crate) fn is_before(&self, other: &Cursor) -> bool {
        self.at < other.at
    }

    /// The turn of the next bundle.
    pub(crate) fn turn(&self) -> u32 {
        self.codec.next_turn().0
    }
}

impl EncodedLog {
    /// An empty log behind this start.
    pub fn new(start: Arc<Start>) -> Self {
        EncodedLog {
            chunks: Vec::new(),
            bytes: 0,
            codec: Codec::behind(&start),
            start,
        }
    }

    /// A log of these records, of which it takes turns, roster changes and continuations, up to the first turn that leaves
    /// a hole. `None` unless the first record is a start.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Option<Self> {
        let mut records = records.into_iter();
        let Some(Record::Start(start)) = records.next() else {
            return None;
        };
        let mut log = EncodedLog::new(start.clone());
        for record in records {
            match record {
                Record::Bundle(bundle) if bundle.turn.0 != log.turns() => break,
                Record::Bundle(_) | Record::Roster(_) | Record::Continued(_) => log.append(record),
                _ => {}
            }
        }
        Some(log)
    }

    /// Appends a record.
    ///
    /// # Panics
    /// When a bundle does not follow the one before it: turns have no holes. A keyframe counts as the turns before it.
    pub fn append(&mut self, record: &Record) {
        let last = match self.chunks.last_mut() {
            Some(last) if last.bytes.len() < CHUNK => last,
            last => {
                if let Some(last) = last.and_then(Arc::get_mut) {
                    last.bytes.shrink_to_fit();
                }
                self.chunks.push(Arc::new(Chunk {
                    begin: self.bytes,
                    codec: self.codec.clone(),
                    bytes: Vec::new(),
                }));
                self.chunks.last_mut().expect("it was just added")
            }
        };
        let last = Arc::make_mut(last);
        self.codec.encode(record, &mut last.bytes);
        self.bytes = last.end();
    }

    /// How the match began.
    pub fn start(&self) -> &Arc<Start> {
        &self.start
    }

    /// All records behind the start.
    pub fn records(&self) -> impl Iterator<Item = Record> {
        self.records_behind(self.first())
    }

    /// Bytes of the records behind the start.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whole turns.
    pub fn turns(&self) -> u32 {
        self.codec.next_turn().0
    }

    /// The place before the first record.
    pub(crate) fn first(&self) -> Cursor {
        Cursor {
            at: 0,
            chunk: 0,
            codec: Codec::behind(&self.start),
        }
    }

    /// The place behind the last record.
    pub(crate) fn end(&self) -> Cursor {
        Cursor {
            at: self.bytes,
            chunk: self.chunks.len().saturating_sub(1),
            codec: self.codec.clone(),
        }
    }

    /// The place before this turn, and before the changes that come with it; `None` beyond the end.
    pub(crate) fn before_turn(&self, turn: u32) -> Option<Cursor> {
        if turn > self.turns() {
            return None;
        }
        let before = |chunk: &Arc<Chunk>| chunk.codec.next_turn().0 < turn;
        let chunk = self.chunks.partition_point(before).saturating_sub(1);
        let mut at = self.chunks.get(chunk).map_or(self.first(), |of| Cursor {
            at: of.begin,
            chunk,
            codec: of.codec.clone(),
        });
        while at.turn() < turn {
            self.read(&mut at)?;
        }
        Some(at)
    }

    /// The place behind the turns before this one, and behind the changes that follow on them; `None` beyond the end.
    pub(crate) fn behind_changes(&self, turn: u32) -> Option<Cursor> {
        let mut at = self.before_turn(turn)?;
        let mut next = at.clone();
        while let Some(record) = self.read(&mut next)
            && !matches!(record, Record::Bundle(_))
        {
            at = next.clone();
        }
        Some(at)
    }

    /// Reads the record at the cursor and moves it on; `None` at the end.
    pub(crate) fn read(&self, cursor: &mut Cursor) -> Option<Record> {
        let is_behind = |chunk: &Arc<Chunk>| chunk.end() <= cursor.at;
        let chunk =
            cursor.chunk + usize::from(self.chunks.get(cursor.chunk).is_some_and(is_behind));
        let of = self.chunks.get(chunk)?;
        let rest = of.bytes.get((cursor.at - of.begin) as usize..)?;
        let (record, bytes) = cursor.codec.decode_first(rest);
        cursor.at += bytes as u64;
        cursor.chunk = chunk;
        Some(record)
    }

    /// All records from a place on.
    pub(crate) fn records_behind(&self, mut from: Cursor) -> impl Iterator<Item = Record> {
        std::iter::from_fn(move || self.read(&mut from))
    }

    /// The records between two places.
    pub(crate) fn part(&self, from: Cursor, end: &Cursor) -> LogPart {
        LogPart {
            log: self.clone(),
            from,
            end: end.at,
            turns: end.turn(),
        }
    }

    /// The bundle of a turn.
    pub(crate) fn bundle(&self, turn: u32) -> Option<Bundle> {
        let mut records = self.records_behind(self.before_turn(turn)?);
        records.find_map(|record| match record {
            Record::Bundle(bundle) => Some(bundle),
            _ => None,
        })
    }

    /// Forgets the records behind this place.
    pub(crate) fn truncate(&mut self, end: &Cursor) {
        let kept = self.chunks.partition_point(|chunk| chunk.begin < end.at);
        self.chunks.truncate(kept);
        if let Some(last) = self.chunks.last_mut()
            && last.end() > end.at
        {
            let last = Arc::make_mut(last);
            last.bytes.truncate((end.at - last.begin) as usize);
        }
        self.bytes = end.at;
        self.codec = end.codec.clone();
    }

    /// Forgets every turn from this one on. A change before the first of them stays.
    pub(crate) fn truncate_turns(&mut self, turns: u32) {
        if let Some(end) = self.behind_changes(turns) {
            self.truncate(&end);
        }
    }

    /// The records of whole turns from this one on: as many as `most` bytes hold, and one turn at least.
    pub(crate) fn turns_from(&self, turn: u32, most: usize) -> Vec<u8> {
        match self.page(turn, most) {
            Some((begin, end, _)) => self.copied(begin, end),
            None => Vec::new(),
        }
    }

    /// As [`turns_from`](Self::turns_from), with the changes behind the last turn where they fit.
    pub(crate) fn records_from(&self, turn: u32, most: usize) -> Vec<u8> {
        match self.page(turn, most) {
            Some((begin, end, is_last)) => {
                let fits = self.bytes <= begin + most as u64;
                let all = turn == self.turns() || is_last && fits;
                self.copied(begin, if all { self.bytes } else { end })
            }
            None => Vec::new(),
        }
    }

    /// Where the records of such turns begin and end, and whether the last turn is among them.
    fn page(&self, turn: u32, most: usize) -> Option<(u64, u64, bool)> {
        let mut at = self.before_turn(turn)?;
        let begin = at.at;
        let mut end = begin;
        while let Some(record) = self.read(&mut at) {
            if end > begin && at.at > begin + most as u64 {
                break;
            }
            if matches!(record, Record::Bundle(_)) {
                end = at.at;
            }
        }
        Some((begin, end, at.turn() == self.turns() && at.at == self.bytes))
    }

    fn copied(&self, begin: u64, end: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity((end - begin) as usize);
        let first = self.chunks.partition_point(|chunk| chunk.end() <= begin);
        for chunk in &self.chunks[first..] {
            if chunk.begin >= end {
                break;
            }
            let from = begin.saturating_sub(chunk.begin) as usize;
            let until = (end - chunk.begin).min(chunk.bytes.len() as u64) as usize;
            out.extend_from_slice(&chunk.bytes[from..until]);
        }
        out
    }
}

impl fmt::Debug for EncodedLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncodedLog")
            .field("turns", &self.turns())
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

/// Records of a log that stand one behind the other.
#[derive(Clone)]
pub struct LogPart {
    log: EncodedLog,
    from: Cursor,
    end: u64,
    turns: u32,
}

impl LogPart {
    /// The records.
    pub fn records(&self) -> impl Iterator<Item = Record> {
        let mut at = self.from.clone();
        std::iter::from_fn(move || match at.at < self.end {
            true => self.log.read(&mut at),
            false => None,
        })
    }

    /// Whether it has no record.
    pub fn is_empty(&self) -> bool {
        self.from.at >= self.end
    }

    /// Their bytes.
    pub fn bytes(&self) -> u64 {
        self.end.saturating_sub(self.from.at)
    }

    /// Whole turns of the log before the part, and at its end.
    pub(crate) fn turns(&self) -> (u32, u32) {
        (self.from.turn(), self.turns)
    }
}

impl PartialEq for LogPart {
    fn eq(&self, other: &Self) -> bool {
        self.records().eq(other.records())
    }
}

impl fmt::Debug for LogPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.records()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LogHash;
    use crate::log::What;
    use crate::log::fixture::{false_alarm, start, turn, turns};

    fn log_of(records: &[Record]) -> EncodedLog {
        let mut log = EncodedLog::new(start(3));
        records.iter().for_each(|record| log.append(record));
        log
    }

    fn whole(log: &EncodedLog) -> Vec<u8> {
        log.copied(0, log.bytes)
    }

    fn change(cut: u32) -> Record {
        Record::Roster(false_alarm(&start(3), 0, cut, LogHash([4; 16])))
    }

    /// With a pause, and a roster change before turn 3.
    fn some() -> Vec<Record> {
        vec![
            turn(0, false, Vec::new()),
            turn(1, false, vec![What::Pause]),
            turn(2, true, Vec::new()),
            change(3),
            turn(3, true, vec![What::Resume]),
            turn(4, false, vec![What::Chat("here".to_owned())]),
        ]
    }

    #[test]
    fn reading_gives_the_records_from_any_place_on() {
        let records = some();
        let log = log_of(&records);
        let mut at = log.first();
        for left in 0..=records.len() {
            let rest: Vec<Record> = log.records_behind(at.clone()).collect();
            assert_eq!(rest, records[left..]);
            assert_eq!(log.read(&mut at).as_ref(), records.get(left));
        }
        assert!(!at.is_before(&log.end()));
        let paused = |turn| log.bundle(turn).map(|bundle| bundle.paused);
        assert_eq!(
            [1, 2, 3, 5].map(paused),
            [Some(false), Some(true), Some(true), None]
        );
    }

    #[test]
    fn truncated_records_can_be_appended_again() {
        let records = some();
        for turns in 0..=6 {
            let mut log = log_of(&records);
            log.truncate_turns(turns);
            // A change before the first turn that goes stays.
            let before = |record: &&Record| match record {
                Record::Bundle(bundle) => bundle.turn.0 < turns,
                Record::Roster(_) => turns >= 3,
                _ => false,
            };
            let kept: Vec<Record> = records.iter().filter(before).cloned().collect();
            assert_eq!(log.records().collect::<Vec<_>>(), kept);
            assert_eq!(log.turns(), turns.min(5));
            for record in &records[kept.len()..] {
                log.append(record);
            }
            assert_eq!(whole(&log), whole(&log_of(&records)));
            assert!(log.records().eq(records.iter().cloned()));
        }
    }

    #[test]
    fn a_page_holds_whole_turns_within_its_bytes() {
        let log = log_of(&turns(200));
        let (mut from, mut pages) = (0, 0);
        while from < 200 {
            let page = log.turns_from(from, 4_000);
            assert_eq!(page, log.records_from(from, 4_000));
            assert!(page.len() <= 4_000, "{}", page.len());
            let mut codec = Codec::behind(&start(3));
            (0..from).for_each(|_| drop(codec.next_bundle(Vec::new())));
            let limits = crate::Limits::default();
            from += codec.decode_all(&page, &limits).expect("whole turns").len() as u32;
            pages += 1;
            assert!(pages < 10, "a page brings turns");
        }
        assert!((4..7).contains(&pages), "{pages}");
        assert_eq!(log.turns_from(200, 4_000), &[0; 0]);
        assert_eq!(log.turns_from(201, 4_000), &[0; 0]);
        assert!(log.turns_from(0, 1).len() > 1, "one turn at least");
    }

    #[test]
    fn a_change_behind_the_last_turn_is_no_turn() {
        let mut records = turns(4);
        records.push(change(4));
        let log = log_of(&records);
        let all = log.records_from(0, 4_000).len();
        let turns = log.turns_from(0, 4_000).len();
        assert_eq!((log.turns(), all as u64), (4, log.bytes()));
        assert!(turns < all);
        assert_eq!(log.turns_from(4, 4_000), &[0; 0]);
        assert_eq!(log.records_from(4, 4_000).len(), all - turns);
        assert_eq!(log.records_from(0, turns), log.turns_from(0, turns));
    }

    #[test]
    fn a_long_log_is_read_cut_and_copied_over_its_chunks() {
        let mut records = turns(400);
        let changes = [change(100), change(100)];
        records.splice(100..100, changes);
        let log = log_of(&records);
        assert!(log.chunks.len() > 10, "{}", log.chunks.len());
        assert!(log.records().eq(records.iter().cloned()));
        let all = whole(&log);
        for turn in (0..=400).step_by(25) {
            let at = log.before_turn(turn).expect("so many turns");
            let place = turn as usize + 2 * usize::from(turn > 100);
            assert!(
                log.records_behind(at.clone())
                    .eq(records[place..].iter().cloned())
            );
            assert_eq!(log.copied(at.at, log.bytes), all[at.at as usize..]);
            let part = log.part(log.first(), &at);
            assert!(part.records().eq(records[..place].iter().cloned()));
            assert_eq!((part.turns(), part.bytes()), ((0, turn), at.at));
            let mut cut = log.clone();
            cut.truncate_turns(turn);
            assert_eq!(cut.turns(), turn);
            let kept = place + 2 * usize::from(turn == 100);
            records[kept..].iter().for_each(|record| cut.append(record));
            assert_eq!(whole(&cut), all);
        }
        assert!(log.before_turn(401).is_none());
    }

    #[test]
    fn idle_turns_take_little_more_than_a_byte_each() {
        let turns = 1 << 20;
        let taken = allocation_counter::measure(|| {
            let mut log = EncodedLog::new(start(3));
            for at in 0..turns {
                log.append(&turn(at, false, Vec::new()));
            }
            assert_eq!(log.records().count() as u32, turns);
        });
        let most = u64::from(turns) * 3 / 2;
        assert!(taken.bytes_max < most, "{} bytes", taken.bytes_max);
    }
}
