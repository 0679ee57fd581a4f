//! The log as other peers are given it, within a bound of bytes.

use super::bundle::Bundle;
use super::encoded_log::EncodedLog;
use super::record::Record;
use super::start::Start;
use super::tail::{Tail, TailChange};
use std::sync::Arc;

/// All turns and roster changes, or nothing.
pub(crate) struct Archive {
    kept: Option<EncodedLog>,
    tail: Tail,
    /// Bytes that it keeps at most.
    limit: u64,
}

impl Archive {
    /// An empty one that keeps up to `limit` bytes, or none at all where that is 0.
    pub(crate) fn new(limit: u64) -> Self {
        Archive {
            kept: None,
            tail: Tail::default(),
            limit: limit.min(u32::MAX.into()),
        }
    }

    /// Takes a record that was appended to the log, if a world is derived from it.
    pub(crate) fn append(&mut self, record: &Record) {
        match record {
            Record::Start(start) if self.limit > 0 => {
                self.kept = Some(EncodedLog::new(start.clone()));
            }
            Record::Bundle(bundle) => {
                let change = self.tail.append(bundle);
                self.change(&change);
            }
            Record::Roster(_) => self.put(record),
            _ => {}
        }
    }

    /// Takes the turns that stand behind the log now.
    pub(crate) fn tail(&mut self, turns: &[Bundle]) {
        let change = self.tail.replace(turns);
        self.change(&change);
    }

    fn change(&mut self, change: &TailChange<'_>) {
        if let (Some(turn), Some(log)) = (change.take_back, &mut self.kept) {
            log.truncate_turns(turn);
        }
        for bundle in change.write {
            self.put(&Record::Bundle(bundle.clone()));
        }
    }

    fn put(&mut self, record: &Record) {
        if let Some(log) = &mut self.kept {
            log.append(record);
            if log.bytes() > self.limit {
                // Half a log is of no use, and its memory is.
                *self = Archive::new(0);
            }
        }
    }

    /// How the match began; `None` where the log is not kept.
    pub(crate) fn start(&self) -> Option<&Arc<Start>> {
        self.kept.as_ref().map(EncodedLog::start)
    }

    /// Whole turns that it holds.
    pub(crate) fn turns(&self) -> u32 {
        self.kept.as_ref().map_or(0, EncodedLog::turns)
    }

    /// The records of whole turns from this one on: as many as `most` bytes hold, and one turn at least.
    pub(crate) fn page(&self, from: u32, most: usize) -> Vec<u8> {
        let log = self.kept.as_ref();
        log.map_or(Vec::new(), |log| log.turns_from(from, most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LogHash;
    use crate::log::fixture::{bundle, false_alarm, start, turn, turns};

    fn archive(limit: u64) -> Archive {
        let mut archive = Archive::new(limit);
        archive.append(&Record::Start(start(3)));
        archive
    }

    #[test]
    fn an_archive_above_its_limit_keeps_nothing() {
        let change = Record::Roster(false_alarm(&start(3), 0, 2, LogHash([4; 16])));
        let idle = |at| turn(at, false, Vec::new());
        let mut archive = archive(2);
        archive.append(&idle(0));
        archive.append(&idle(1));
        assert_eq!((archive.turns(), archive.page(0, 100).len()), (2, 2));
        // What exceeds the limit is no turn.
        archive.append(&change);
        archive.append(&idle(2));
        assert_eq!((archive.turns(), archive.page(0, 100).len()), (0, 0));
        assert_eq!(archive.start(), None);
    }

    #[test]
    fn an_archive_leaves_out_what_no_world_is_derived_from() {
        let mut archive = archive(1 << 20);
        for record in turns(3) {
            archive.append(&record);
        }
        let checksum = sim::Checksum(1);
        archive.append(&Record::Checksum { turns: 3, checksum });
        let page = archive.page(0, 1 << 20);
        let mut codec = crate::log::Codec::behind(&start(3));
        let read = codec.decode_all(&page, &crate::Limits::default());
        assert_eq!(read, Ok(turns(3)));
        archive.tail(&[bundle(3)]);
        assert_eq!(archive.turns(), 4);
        archive.tail(&[]);
        assert_eq!((archive.turns(), archive.page(0, 1 << 20)), (3, page));
        assert_eq!(archive.start(), Some(&start(3)));
    }
}
