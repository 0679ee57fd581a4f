//! A log in memory.

use super::codec::Codec;
use super::record::Record;
use super::store::{LogStore, StoreError};
use crate::TurnNumber;
use std::time::Duration;

/// Keeps records in memory, up to a bound of bytes.
pub struct Memory {
    records: Vec<Record>,
    bytes: u64,
    limit: u64,
    codec: Codec,
    full: bool,
}

impl Memory {
    /// An empty log that may grow to `limit` encoded bytes.
    pub fn new(limit: u64) -> Self {
        Memory {
            records: Vec::new(),
            bytes: 0,
            limit,
            codec: Codec::default(),
            full: false,
        }
    }

    /// All records.
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
        self.records.push(record.clone());
        Ok(())
    }

    fn undo(&mut self, turns: u32) -> Result<(), StoreError> {
        let gone =
            |record: &Record| matches!(record, Record::Bundle(bundle) if bundle.turn.0 >= turns);
        if let Some(from) = self.records.iter().position(gone) {
            let kept: Vec<Record> = self.records.drain(..from).collect();
            *self = Memory {
                full: self.full,
                ..Memory::new(self.limit)
            };
            for record in kept {
                let mut encoded = Vec::new();
                self.codec.encode(&record, &mut encoded);
                self.bytes += encoded.len() as u64;
                self.records.push(record);
            }
        }
        Ok(())
    }

    fn keyframe_every(&self) -> Option<Duration> {
        None
    }

    fn read(&mut self, from: TurnNumber, max_bytes: usize) -> Result<Vec<Record>, StoreError> {
        let mut page = Vec::new();
        let mut bytes = 0;
        for record in &self.records {
            match record {
                Record::Start(_) => page.push(record.clone()),
                Record::Bundle(bundle) if bundle.turn >= from && bytes < max_bytes => {
                    bytes += bundle.entries.iter().map(size_of_val).sum::<usize>() + 1;
                    page.push(record.clone());
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
