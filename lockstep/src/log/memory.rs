//! A log in memory.

use super::bundle::Bundle;
use super::codec::Codec;
use super::record::Record;
use super::store::{LogStore, StoreError};
use super::tail::Tail;
use crate::TurnNumber;
use std::time::Duration;

/// Keeps records in memory, up to a bound of bytes.
pub struct Memory {
    records: Vec<Record>,
    tail: Tail,
    bytes: u64,
    limit: u64,
    codec: Codec,
    full: bool,
    syncing: Option<u64>,
}

impl Memory {
    /// An empty log that may grow to `limit` encoded bytes.
    pub fn new(limit: u64) -> Self {
        Memory {
            records: Vec::new(),
            tail: Tail::default(),
            bytes: 0,
            limit,
            codec: Codec::default(),
            full: false,
            syncing: None,
        }
    }

    /// The records of the log, without the tail.
    pub fn records(&self) -> &[Record] {
        &self.records
    }
}

impl LogStore for Memory {
    fn append(&mut self, record: &Record) -> Result<(), StoreError> {
        if self.full {
            return Ok(());
        }
        let mut encoded = Vec::new();
        self.codec.encode(record, &mut encoded);
        self.bytes += encoded.len() as u64;
        if self.bytes > self.limit {
            self.full = true;
            return Err(StoreError::Full { limit: self.limit });
        }
        if let Record::Bundle(bundle) = record {
            self.tail.append(bundle);
        }
        self.records.push(record.clone());
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
        let mut page = Vec::new();
        let mut bytes = 0;
        let tail = self.tail.turns().cloned().map(Record::Bundle);
        for record in self.records.iter().cloned().chain(tail) {
            match &record {
                Record::Start(_) => page.push(record),
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
