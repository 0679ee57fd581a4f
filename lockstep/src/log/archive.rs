//! The log as other peers are given it, within a bound of bytes.

use super::encoded_log::EncodedLog;
use super::record::Record;
use super::start::Start;
use std::sync::Arc;

/// All turns and roster changes, or nothing.
pub(crate) struct Archive {
    kept: Option<(Arc<Start>, EncodedLog)>,
    /// Bytes that it keeps at most.
    limit: u64,
}

impl Archive {
    /// An empty one that keeps up to `limit` bytes, or none at all where that is 0.
    pub(crate) fn new(limit: u64) -> Self {
        let limit = limit.min(u32::MAX.into());
        Archive { kept: None, limit }
    }

    /// Takes a record that was appended to the log, if a world is derived from it.
    pub(crate) fn take(&mut self, record: &Record) {
        match (record, &mut self.kept) {
            (Record::Start(start), _) if self.limit > 0 => {
                self.kept = Some((start.clone(), EncodedLog::behind(start)));
            }
            (Record::Bundle(_) | Record::Roster(_), Some((_, log))) => {
                log.append(record);
                if log.len() > self.limit {
                    // Half a log is of no use, and its memory is.
                    *self = Archive::new(0);
                }
            }
            _ => {}
        }
    }

    /// Takes back every turn from this one on.
    pub(crate) fn undo(&mut self, turn: u32) {
        if let Some((_, log)) = &mut self.kept {
            log.truncate_turns(turn);
        }
    }

    /// How the match began; `None` where the log is not kept.
    pub(crate) fn start(&self) -> Option<&Arc<Start>> {
        self.kept.as_ref().map(|(start, _)| start)
    }

    /// Whole turns that it holds.
    pub(crate) fn turns(&self) -> u32 {
        self.kept.as_ref().map_or(0, |(_, log)| log.turns())
    }

    /// The records of whole turns from this one on: as many as `most` bytes hold, and one turn at least.
    pub(crate) fn page(&self, from: u32, most: usize) -> &[u8] {
        let log = self.kept.as_ref().map(|(_, log)| log);
        log.map_or(&[], |log| log.turns_from(from, most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LogHash;
    use crate::log::fixture::{false_alarm, start, turn, turns};

    fn archive(limit: u64) -> Archive {
        let mut archive = Archive::new(limit);
        archive.take(&Record::Start(start(3)));
        archive
    }

    #[test]
    fn an_archive_above_its_limit_keeps_nothing() {
        let change = Record::Roster(false_alarm(&start(3), 0, 2, LogHash([4; 16])));
        let idle = |at| turn(at, false, Vec::new());
        let mut archive = archive(2);
        archive.take(&idle(0));
        archive.take(&idle(1));
        assert_eq!((archive.turns(), archive.page(0, 100).len()), (2, 2));
        // What exceeds the limit is no turn.
        archive.take(&change);
        archive.take(&idle(2));
        assert_eq!((archive.turns(), archive.page(0, 100).len()), (0, 0));
        assert_eq!(archive.start(), None);
    }

    #[test]
    fn an_archive_leaves_out_what_no_world_is_derived_from() {
        let mut archive = archive(1 << 20);
        for record in turns(3) {
            archive.take(&record);
        }
        let checksum = sim::Checksum(1);
        archive.take(&Record::Checksum { turns: 3, checksum });
        let page = archive.page(0, 1 << 20);
        let mut codec = crate::log::Codec::behind(&start(3));
        let read = codec.decode_all(page, &crate::Limits::default());
        assert_eq!(read, Ok(turns(3)));
        archive.undo(1);
        assert_eq!((archive.turns(), archive.start()), (1, Some(&start(3))));
    }
}
