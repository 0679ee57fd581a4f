//! The whole log in memory, encoded: what peers that come back are given. An idle turn takes one byte.

use crate::log::{Codec, Record, Start};
use crate::session::roster::RECENT;
use std::collections::VecDeque;
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
    /// What stood before each of the last turns.
    points: VecDeque<Point>,
    /// A roster change that waits for its turn.
    between: bool,
    full: bool,
}

struct Point {
    turn: u32,
    /// Where its bundle begins in `records`.
    at: usize,
    codec: Codec,
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
            points: VecDeque::new(),
            between: false,
            full: false,
        }
    }

    /// One that keeps nothing.
    pub(crate) fn none() -> Self {
        Archive {
            full: true,
            ..Archive::new(0)
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
                if let Record::Bundle(bundle) = record {
                    self.note(bundle.turn.0);
                }
                self.codec.encode(record, &mut self.records);
                self.between = matches!(record, Record::Roster(_));
                if self.records.len() as u64 > self.limit.min(u64::from(u32::MAX)) {
                    // Half a log is of no use, and what it took is.
                    self.full = true;
                    self.records = Vec::new();
                    self.turns = Vec::new();
                    self.points = VecDeque::new();
                }
            }
            _ => {}
        }
    }

    fn note(&mut self, turn: u32) {
        self.points.push_back(Point {
            turn,
            at: self.records.len(),
            codec: self.codec.clone(),
        });
        if self.points.len() > RECENT {
            self.points.pop_front();
        }
    }

    /// Takes back every turn from `turn` on, one of the last.
    pub(crate) fn undo(&mut self, turn: u32) {
        let at = self.points.iter().position(|point| point.turn == turn);
        let Some(point) = at.and_then(|at| self.points.drain(at..).next()) else {
            return;
        };
        self.records.truncate(point.at);
        self.codec = point.codec;
        // What stands before the turn, of its own, stays: the roster change that it follows on.
        let begins = self.turns.get(turn as usize).copied();
        self.between = begins.is_some_and(|begins| (begins as usize) < point.at);
        self.turns
            .truncate(turn as usize + usize::from(self.between));
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
