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
    syncing: Option<u64>,
}

impl Memory {
    /// An empty log that may grow to `limit` encoded bytes.
    pub fn new(limit: u64) -> Self {
        Memory {
            log: None,
            tail: Tail::default(),
            limit,
            full: false,
            syncing: None,
        }
    }

    /// The log, without the tail; `None` before its start.
    pub fn log(&self) -> Option<&EncodedLog> {
        self.log.as_ref()
    }
}

impl LogStore for Memory {
    fn append(&mut self, record: &Record) -> Result<(), StoreError> {
        if self.full {
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

    fn sync(&mut self, id: u64) {
        self.syncing = Some(id);
    }

    fn synced(&mut self) -> Option<u64> {
        self.syncing.take()
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
