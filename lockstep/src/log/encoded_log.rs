//! The records behind a log's start, encoded: an idle turn takes one byte.

use super::bundle::Bundle;
use super::codec::Codec;
use super::record::Record;
use super::start::Start;

/// Turns, and before the first turn of an epoch its roster change.
#[derive(Clone)]
pub(crate) struct EncodedLog {
    bytes: Vec<u8>,
    /// Where the records of each turn begin, its changes first; last, where those behind all turns begin.
    begins: Vec<u32>,
    /// Before the first record.
    first: Codec,
    /// Behind the last one.
    codec: Codec,
}

/// A place between two records.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    at: usize,
    codec: Codec,
}

impl Cursor {
    /// Whether it stands before another one of the same log.
    pub(crate) fn is_before(&self, other: &Cursor) -> bool {
        self.at < other.at
    }
}

impl EncodedLog {
    /// An empty log behind this start.
    pub(crate) fn behind(start: &Start) -> Self {
        let first = Codec::behind(start);
        EncodedLog {
            bytes: Vec::new(),
            begins: vec![0],
            codec: first.clone(),
            first,
        }
    }

    /// Appends the next turn or roster change.
    pub(crate) fn append(&mut self, record: &Record) {
        self.codec.encode(record, &mut self.bytes);
        if matches!(record, Record::Bundle(_)) {
            self.begins.push(self.bytes.len() as u32);
        }
    }

    /// Bytes of all records.
    pub(crate) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Whole turns.
    pub(crate) fn turns(&self) -> u32 {
        self.begins.len() as u32 - 1
    }

    /// The place before the first record.
    pub(crate) fn first(&self) -> Cursor {
        Cursor {
            at: 0,
            codec: self.first.clone(),
        }
    }

    /// The place behind the last record.
    pub(crate) fn end(&self) -> Cursor {
        Cursor {
            at: self.bytes.len(),
            codec: self.codec.clone(),
        }
    }

    /// Reads the record at the cursor and moves it on; `None` at the end.
    pub(crate) fn read(&self, cursor: &mut Cursor) -> Option<Record> {
        let rest = self
            .bytes
            .get(cursor.at..)
            .filter(|rest| !rest.is_empty())?;
        let (record, bytes) = cursor.codec.decode_first(rest);
        cursor.at += bytes;
        Some(record)
    }

    /// All records from a place on.
    pub(crate) fn records(&self, mut from: Cursor) -> impl Iterator<Item = Record> {
        std::iter::from_fn(move || self.read(&mut from))
    }

    /// The bundle of a turn.
    pub(crate) fn bundle(&self, turn: u32) -> Option<Bundle> {
        if turn >= self.turns() {
            return None;
        }
        self.records(self.first()).find_map(|record| match record {
            Record::Bundle(bundle) if bundle.turn.0 == turn => Some(bundle),
            _ => None,
        })
    }

    /// Forgets the records behind this place.
    pub(crate) fn truncate(&mut self, end: &Cursor) {
        self.bytes.truncate(end.at);
        let kept = self
            .begins
            .partition_point(|begin| *begin as usize <= end.at);
        self.begins.truncate(kept);
        self.codec = end.codec.clone();
    }

    /// Forgets every turn from this one on. A change before the first of them stays.
    pub(crate) fn truncate_turns(&mut self, turns: u32) {
        let mut end = self.first();
        let mut next = end.clone();
        while let Some(record) = self.read(&mut next) {
            let stays = match &record {
                Record::Bundle(bundle) => bundle.turn.0 < turns,
                _ => true,
            };
            if !stays {
                break;
            }
            end = next.clone();
        }
        self.truncate(&end);
    }

    /// The records of whole turns from this one on: as many as `most` bytes hold, and one turn at least.
    pub(crate) fn turns_from(&self, turn: u32, most: usize) -> &[u8] {
        match self.page(turn, most) {
            Some((begin, end)) if turn < self.turns() => &self.bytes[begin..end],
            _ => &[],
        }
    }

    /// As [`turns_from`](Self::turns_from), with the changes behind the last turn where they fit.
    pub(crate) fn records_from(&self, turn: u32, most: usize) -> &[u8] {
        match self.page(turn, most) {
            Some((begin, end)) => {
                let all = end == self.last_begin() && self.bytes.len() <= begin + most;
                let end = if all || turn == self.turns() {
                    self.bytes.len()
                } else {
                    end
                };
                &self.bytes[begin..end]
            }
            None => &[],
        }
    }

    fn page(&self, turn: u32, most: usize) -> Option<(usize, usize)> {
        let turn = turn as usize;
        let begin = *self.begins.get(turn)? as usize;
        let fitting = self
            .begins
            .partition_point(|at| *at as usize <= begin.saturating_add(most));
        let end = fitting.max(turn + 2).min(self.begins.len()) - 1;
        Some((begin, self.begins[end] as usize))
    }

    fn last_begin(&self) -> usize {
        self.begins.last().map_or(0, |begin| *begin as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LogHash;
    use crate::log::What;
    use crate::log::fixture::{false_alarm, start, turn, turns};

    fn log_of(records: &[Record]) -> EncodedLog {
        let mut log = EncodedLog::behind(&start(3));
        records.iter().for_each(|record| log.append(record));
        log
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
            let rest: Vec<Record> = log.records(at.clone()).collect();
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
            assert_eq!(log.records(log.first()).collect::<Vec<_>>(), kept);
            assert_eq!(log.turns(), turns.min(5));
            for record in &records[kept.len()..] {
                log.append(record);
            }
            assert_eq!(log.bytes, log_of(&records).bytes);
            assert_eq!(log.begins, log_of(&records).begins);
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
            let mut codec = log.first.clone();
            (0..from).for_each(|_| drop(codec.next_bundle(Vec::new())));
            let limits = crate::Limits::default();
            from += codec.decode_all(page, &limits).expect("whole turns").len() as u32;
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
        assert_eq!((log.turns(), all), (4, log.bytes.len()));
        assert!(turns < all);
        assert_eq!(log.turns_from(4, 4_000), &[0; 0]);
        assert_eq!(log.records_from(4, 4_000).len(), all - turns);
        assert_eq!(log.records_from(0, turns), log.turns_from(0, turns));
    }
}
