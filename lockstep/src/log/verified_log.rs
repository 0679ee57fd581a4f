//! A log of which every record follows on those before it.

use super::encoded_log::{Cursor, EncodedLog};
use super::head::{DoesNotFollow, Head};
use super::keyframe::Keyframe;
use super::record::Record;
use super::start::Start;
use crate::encoding::DecodeError;
use crate::sign::Signer;
use crate::{Limits, LogHash};
use std::sync::Arc;

/// Append-only: records are taken where they follow, with the hash after each turn.
pub(crate) struct VerifiedLog {
    /// As the match began.
    start: Arc<Start>,
    encoded: EncodedLog,
    /// After so many turns.
    hashes: Vec<LogHash>,
    head: Head,
}

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
            encoded: EncodedLog::behind(&start),
            hashes: vec![head.hash()],
            head,
            start,
        }
    }

    /// A log of the records up to the first that does not follow.
    pub(crate) fn of<'a>(
        start: Arc<Start>,
        records: impl IntoIterator<Item = &'a Record>,
        signer: &dyn Signer,
    ) -> Self {
        let mut log = VerifiedLog::new(start);
        let mut records = records.into_iter();
        while records
            .next()
            .is_some_and(|record| log.take(record, signer).is_ok())
        {}
        log
    }

    /// Takes the next turn or roster change.
    pub(crate) fn take(
        &mut self,
        record: &Record,
        signer: &dyn Signer,
    ) -> Result<(), DoesNotFollow> {
        if self.encoded.len() > u64::from(u32::MAX / 2) {
            return Err(DoesNotFollow);
        }
        self.head.take(record, signer)?;
        self.encoded.append(record);
        if matches!(record, Record::Bundle(_)) {
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
        &self.start
    }

    /// What all of it comes to.
    pub(crate) fn head(&self) -> &Head {
        &self.head
    }

    /// The hash after so many turns.
    pub(crate) fn hash_after(&self, turns: u32) -> Option<LogHash> {
        self.hashes.get(turns as usize).copied()
    }

    /// The hashes after no turn, after one, and so on.
    pub(crate) fn hashes(&self) -> &[LogHash] {
        &self.hashes
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
        self.hashes.truncate(self.head.turns() as usize + 1);
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
            let taken = log.encoded().records(log.encoded().first()).count();
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
            assert_eq!(log.hashes().len() as u32, turns + 1);
            for record in &records[kept..] {
                log.take(record, &signer).expect("it follows again");
            }
            assert_eq!(log.hashes(), whole.hashes());
            assert_eq!(log.head().tip(), whole.head().tip());
        }
    }
}
