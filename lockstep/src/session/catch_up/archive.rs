//! The whole log in memory, encoded: what peers that come back are given. An idle turn takes one byte.

use crate::log::{Codec, Record, Start};
use std::sync::Arc;

pub(crate) struct Archive {
    /// The start's record.
    start: Vec<u8>,
    first: Option<Arc<Start>>,
    /// What follows on it: turns, and before the first turn of an epoch its roster change.
    records: Vec<u8>,
    /// Where what belongs to each turn begins in `records`.
    turns: Vec<u32>,
    /// Bytes of the log that are kept at most.
    limit: u64,
    codec: Codec,
    /// A roster change that waits for its turn.
    between: bool,
    full: bool,
}

impl Archive {
    /// An empty one that keeps up to `limit` bytes.
    pub(crate) fn new(limit: u64) -> Self {
        Archive {
            start: Vec::new(),
            first: None,
            records: Vec::new(),
            turns: Vec::new(),
            limit,
            codec: Codec::default(),
            between: false,
            full: false,
        }
    }

    /// Takes a record that was appended to the log. What a world is not derived from is left out.
    pub(crate) fn take(&mut self, record: &Record) {
        match record {
            Record::Start(start) => {
                self.codec.encode(record, &mut self.start);
                self.first = Some(start.clone());
            }
            Record::Bundle(_) | Record::Roster(_) if !self.full => {
                if !self.between {
                    self.turns.push(self.records.len() as u32);
                }
                self.codec.encode(record, &mut self.records);
                self.between = matches!(record, Record::Roster(_));
                if self.records.len() as u64 > self.limit.min(u64::from(u32::MAX)) {
                    // Half a log is of no use, and what it took is.
                    self.full = true;
                    self.records = Vec::new();
                    self.turns = Vec::new();
                }
            }
            _ => {}
        }
    }

    /// How the match began, and its record; nothing where the log is not kept.
    pub(super) fn start(&self) -> Option<(&Arc<Start>, &[u8])> {
        let start = self.first.as_ref().filter(|_| !self.full)?;
        Some((start, &self.start))
    }

    /// Whole turns that it holds.
    pub(super) fn turns(&self) -> u32 {
        self.turns.len() as u32 - u32::from(self.between)
    }

    /// What follows on the turns before `from`, whole turns of at most about `most` bytes, or one turn.
    pub(super) fn page(&self, from: u32, most: usize) -> &[u8] {
        let end_of = |turn: u32| match self.turns.get(turn as usize + 1) {
            Some(next) => *next as usize,
            None => self.records.len(),
        };
        let Some(begin) = self.turns.get(from as usize).map(|at| *at as usize) else {
            return &[];
        };
        let fits = |turn: &u32| end_of(*turn) - begin <= most;
        let (mut low, mut high) = (from, self.turns().saturating_sub(1));
        if low > high {
            return &[];
        }
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            match fits(&middle) {
                true => low = middle,
                false => high = middle - 1,
            }
        }
        &self.records[begin..end_of(low)]
    }
}
