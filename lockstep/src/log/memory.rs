//! A log in memory.

use super::bundle::Bundle;
use super::encoded_log::EncodedLog;
use super::record::Record;
use super::store::{LogStore, StoreError};
use super::tail::Tail;
use crate::TurnNumber;
use std::time::Duration;

/// Keeps records in memory, up to a bound of bytes.
pub struct Memory {
    log: Option<EncodedLog>,
    tail: Tail,
    limit: u64,
    full: bool,
}

impl Memory {
    /// An empty log that may grow to `limit` encoded bytes.
    pub fn new(limit: u64) -> Self {
        Memory {
            log: None,
            tail: Tail::default(),
            limit,
            full: false,
        }
    }

    /// The log, without the tail; `None` before its start.
    pub fn log(&self) -> Option<&EncodedLog> {
        self.log.as_ref()
    }
}

impl LogStore for Memory {
    fn append(&mut self, record: &Record) -> Result<(), StoreError> {
        // No world begins with a keyframe of this log: only turns follow one another.
        if self.full || matches!(record, Record::Keyframe(_)) {
            return Ok(());
        }
        match (&mut self.log, record) {
            (Some(log), _) => {
                let end = log.end();
                log.append(record);
                if log.bytes() > self.limit {
                    log.truncate(&end);
                    self.full = true;
                    return Err(StoreError::Full { limit: self.limit });
                }
            }
            (log, Record::Start(start)) => *log = Some(EncodedLog::new(start.clone())),
            // No record precedes the start.
            (None, _) => {}
        }
        if let Record::Bundle(bundle) = record {
            self.tail.append(bundle);
        }
        Ok(())
    }

    fn tail(&mut self, turns: &[Bundle]) -> Result<(), StoreError> {
        if !self.full {
            self.tail.replace(turns);
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn keyframe_every(&self) -> Option<Duration> {
        None
    }

    fn read(&mut self, from: TurnNumber, max_bytes: usize) -> Result<Vec<Record>, StoreError> {
        let Some(log) = &self.log else {
            return Ok(Vec::new());
        };
        let mut page = vec![Record::Start(log.start().clone())];
        let mut bytes = 0;
        let tail = self.tail.turns().cloned().map(Record::Bundle);
        for record in log.records().chain(tail) {
            match &record {
                Record::Bundle(bundle) if bundle.turn >= from && bytes < max_bytes => {
                    bytes += bundle.entries.iter().map(size_of_val).sum::<usize>() + 1;
                    page.push(record);
                }
                _ => {}
            }
        }
        Ok(page)
    }

    fn close(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::VerifiedLog;
    use crate::log::fixture::{signer, start, turns};

    #[test]
    fn a_keyframe_of_turns_to_come_is_not_kept() {
        let log = VerifiedLog::of(start(3), turns(9), &signer(0));
        let keyframe = log.keyframe(9, 36, vec![7; 10].into());
        let keyframe = Record::Keyframe(keyframe.expect("a turn of the log"));
        let begin = Record::Start(start(3));
        let mut memory = Memory::new(1 << 20);
        for record in [begin, keyframe].iter().chain(&turns(3)) {
            memory.append(record).expect("there is room");
        }
        assert_eq!(memory.log().expect("it has begun").turns(), 3);
    }
}
