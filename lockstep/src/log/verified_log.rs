//! A log of which every record follows on those before it.

use super::encoded_log::{Cursor, EncodedLog};
use super::hash::{roster_hash, turn_hash};
use super::head::{DoesNotFollow, Head};
use super::keyframe::Keyframe;
use super::record::Record;
use super::start::Start;
use crate::encoding::DecodeError;
use crate::sign::Signer;
use crate::{Limits, LogHash};
use std::borrow::Borrow;
use std::sync::Arc;

/// Append-only: records are taken where they follow, with the hash after each turn.
pub(crate) struct VerifiedLog {
    encoded: EncodedLog,
    /// After no turn, after [`HASH_EVERY`] of them, and so on: the others are computed from these.
    hashes: Vec<LogHash>,
    head: Head,
}

/// Turns between two hashes that are kept. The hash of each would take many times an idle turn.
const HASH_EVERY: u32 = 64;

/// A place up to which a log may be kept.
#[derive(Clone)]
pub(crate) struct Mark {
    head: Head,
    end: Cursor,
}

impl Mark {
    pub(crate) fn head(&self) -> &Head {
        &self.head
    }

    /// The place itself.
    pub(crate) fn end(&self) -> &Cursor {
        &self.end
    }
}

impl VerifiedLog {
    /// A log without turns.
    pub(crate) fn new(start: Arc<Start>) -> Self {
        let head = Head::new(start.clone());
        VerifiedLog {
            encoded: EncodedLog::new(start),
            hashes: vec![head.hash()],
            head,
        }
    }

    /// A log of the records up to the first that does not follow.
    pub(crate) fn of(
        start: Arc<Start>,
        records: impl IntoIterator<Item = impl Borrow<Record>>,
        signer: &dyn Signer,
    ) -> Self {
        let mut log = VerifiedLog::new(start);
        let mut records = records.into_iter();
        while records
            .next()
            .is_some_and(|record| log.take(record.borrow(), signer).is_ok())
        {}
        log
    }

    /// Takes the next turn or roster change.
    pub(crate) fn take(
        &mut self,
        record: &Record,
        signer: &dyn Signer,
    ) -> Result<(), DoesNotFollow> {
        if self.encoded.bytes() > u64::from(u32::MAX / 2) {
            return Err(DoesNotFollow);
        }
        self.head.take(record, signer)?;
        self.encoded.append(record);
        if matches!(record, Record::Bundle(_)) && self.head.turns().is_multiple_of(HASH_EVERY) {
            self.hashes.push(self.head.hash());
        }
        Ok(())
    }

    /// Decodes a page of another peer's log, which goes on where this one ends.
    ///
    /// # Errors
    /// As [`Codec::decode_all`](super::Codec::decode_all).
    pub(crate) fn decode(&self, page: &[u8], limits: &Limits) -> Result<Vec<Record>, DecodeError> {
        self.head.codec().clone().decode_all(page, limits)
    }

    pub(crate) fn start(&self) -> &Arc<Start> {
        self.encoded.start()
    }

    /// What all of it comes to.
    pub(crate) fn head(&self) -> &Head {
        &self.head
    }

    /// The hash after so many turns.
    pub(crate) fn hash_after(&self, turns: u32) -> Option<LogHash> {
        if turns == self.head.turns() {
            return Some(self.head.hash());
        }
        self.hashes_from(turns)?.next()
    }

    /// The hashes after the last `count` turns at most, the oldest first.
    pub(crate) fn last_hashes(&self, count: u32) -> Vec<LogHash> {
        let first = self.head.turns().saturating_sub(count);
        self.hashes_from(first).into_iter().flatten().collect()
    }

    /// The hash after so many turns, and after each turn behind them; `None` beyond the end.
    fn hashes_from(&self, turns: u32) -> Option<impl Iterator<Item = LogHash>> {
        if turns > self.head.turns() {
            return None;
        }
        let known = turns / HASH_EVERY;
        let first = *self.hashes.get(known as usize)?;
        let begin = self.encoded.before_turn(known * HASH_EVERY)?;
        let (mut hash, mut chained) = (first, None);
        let later = self.encoded.records_behind(begin);
        let later = later.filter_map(move |record| match record {
            Record::Bundle(bundle) => {
                hash = turn_hash(chained.take().unwrap_or(hash), &bundle);
                Some(hash)
            }
            Record::Roster(change) => {
                chained = Some(roster_hash(chained.unwrap_or(hash), &change));
                None
            }
            _ => None,
        });
        let all = std::iter::once(first).chain(later);
        Some(all.skip((turns - known * HASH_EVERY) as usize))
    }

    /// Its records, encoded.
    pub(crate) fn encoded(&self) -> &EncodedLog {
        &self.encoded
    }

    /// The place where it ends.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            head: self.head.clone(),
            end: self.encoded.end(),
        }
    }

    /// Forgets what is behind a place.
    pub(crate) fn truncate(&mut self, mark: &Mark) {
        self.encoded.truncate(&mark.end);
        self.head = mark.head.clone();
        let kept = self.head.turns() / HASH_EVERY + 1;
        self.hashes.truncate(kept as usize);
    }

    /// Moves a mark over the records for which `takes` holds.
    pub(crate) fn advance(
        &self,
        mark: &mut Mark,
        takes: impl Fn(&Record) -> bool,
        signer: &dyn Signer,
    ) {
        loop {
            let mut next = mark.end.clone();
            match self.encoded.read(&mut next) {
                Some(record) if takes(&record) => {
                    let taken = mark.head.take(&record, signer);
                    taken.expect("a record that was taken before follows");
                    mark.end = next;
                }
                _ => return,
            }
        }
    }

    /// The record of a snapshot of the world after so many turns.
    pub(crate) fn keyframe(&self, turns: u32, ticks: u64, snapshot: Arc<[u8]>) -> Option<Keyframe> {
        let log_hash = self.hash_after(turns)?;
        let of_fold = self.head.fold().keyframe(turns, ticks, log_hash);
        let next = self.encoded.bundle(turns);
        let next = next.map(|bundle| (bundle.plan, bundle.paused));
        let (plan, paused) = next.unwrap_or((of_fold.plan, of_fold.paused));
        Some(Keyframe {
            plan,
            paused,
            snapshot,
            ..of_fold
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::fixture::{false_alarm, signer, start, turn, turns};

    /// Turns, then a false alarm, then turns again.
    fn records() -> Vec<Record> {
        let start = start(3);
        let mut records = turns(5);
        let hash = VerifiedLog::of(start.clone(), &records, &signer(0))
            .head()
            .hash();
        records.push(Record::Roster(false_alarm(&start, 0, 5, hash)));
        records.extend((5..9).map(|at| turn(at, false, Vec::new())));
        records
    }

    #[test]
    fn record_that_does_not_follow_is_refused() {
        let records = records();
        for left_out in 0..records.len() {
            let others = (0..records.len()).filter(|at| *at != left_out);
            let others: Vec<Record> = others.map(|at| records[at].clone()).collect();
            let log = VerifiedLog::of(start(3), &others, &signer(0));
            let taken = log.encoded().records().count();
            // Turns go on without the change: they are other turns, as their hash shows.
            let expected = match left_out {
                5 => others.len(),
                _ => left_out,
            };
            assert_eq!(taken, expected, "without record {left_out}");
        }
    }

    #[test]
    fn a_log_goes_back_to_any_mark_and_on_again() {
        let (records, signer) = (records(), signer(0));
        let whole = VerifiedLog::of(start(3), &records, &signer);
        for kept in 0..=records.len() {
            let mut log = VerifiedLog::of(start(3), &records[..kept], &signer);
            let mark = log.mark();
            for record in &records[kept..] {
                log.take(record, &signer).expect("it follows");
            }
            assert_eq!(log.head().tip(), whole.head().tip());
            let mut moved = VerifiedLog::new(start(3)).mark();
            let turns = mark.head().turns();
            log.advance(
                &mut moved,
                |record| match record {
                    Record::Bundle(bundle) => bundle.turn.0 < turns,
                    _ => kept > 5,
                },
                &signer,
            );
            assert_eq!(moved.head().tip(), mark.head().tip());
            log.truncate(&mark);
            assert_eq!(log.head().turns(), turns);
            assert_eq!(log.last_hashes(u32::MAX).len() as u32, turns + 1);
            for record in &records[kept..] {
                log.take(record, &signer).expect("it follows again");
            }
            assert_eq!(log.last_hashes(u32::MAX), whole.last_hashes(u32::MAX));
            assert_eq!(log.head().tip(), whole.head().tip());
        }
    }

    #[test]
    fn hash_after_each_turn_is_the_one_that_the_log_had_then() {
        let signer = signer(0);
        let mut log = VerifiedLog::new(start(3));
        let mut hashes = vec![log.head().hash()];
        for at in 0..3 * HASH_EVERY {
            if at % 50 == 20 {
                let epoch = log.head().epoch();
                let change = false_alarm(&start(3), epoch, at, log.head().hash());
                log.take(&Record::Roster(change), &signer).expect("decided");
            }
            log.take(&turn(at, false, Vec::new()), &signer)
                .expect("it follows");
            hashes.push(log.head().hash());
        }
        for (turns, hash) in (0..).zip(&hashes) {
            assert_eq!(log.hash_after(turns), Some(*hash), "after {turns} turns");
        }
        assert_eq!(log.hash_after(hashes.len() as u32), None);
        assert_eq!(log.last_hashes(9), hashes[hashes.len() - 10..]);
    }

    #[test]
    fn idle_turns_of_a_verified_log_take_little_memory() {
        let turns = 1 << 20;
        let taken = allocation_counter::measure(|| {
            let mut log = VerifiedLog::new(start(3));
            for at in 0..turns {
                log.take(&turn(at, false, Vec::new()), &signer(0))
                    .expect("it follows");
            }
        });
        let most = u64::from(turns) * 2 + (1 << 20);
        assert!(taken.bytes_max < most, "{} bytes", taken.bytes_max);
    }
}
