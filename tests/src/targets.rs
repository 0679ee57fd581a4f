//! Targets of fuzzing and property tests: one pure function for each decoder of untrusted bytes.
//!
//! A target panics if the bytes are handled wrongly.

mod sessions;

pub use sessions::{Scene, session};

use lockstep::log::Codec;
#[cfg(feature = "demo")]
use lockstep::log::Record;
#[cfg(feature = "demo")]
use lockstep::quic::Impairment;
use lockstep::session::Batch;
use lockstep::{Limits, Ticket};

/// A batch that decodes re-encodes to the same bytes.
///
/// # Panics
/// If it does not.
pub fn batch(bytes: &[u8]) {
    if let Ok(batch) = Batch::decode(bytes) {
        let mut again = Vec::new();
        batch.encode(&mut again);
        assert_eq!(again, bytes, "one batch, one encoding");
    }
}

/// A group of log records that decodes re-encodes to the same bytes.
///
/// # Panics
/// If it does not.
pub fn records(bytes: &[u8]) {
    let limits = Limits::default();
    if let Ok(records) = Codec::default().decode_all(bytes, &limits) {
        let mut again = Vec::new();
        let mut codec = Codec::default();
        for record in &records {
            codec.encode(record, &mut again);
        }
        assert_eq!(again, bytes, "one log, one encoding");
        let read = Codec::default().decode_all(&again, &limits);
        assert_eq!(read.as_ref(), Ok(&records), "what was written is read");
    }
}

/// A ticket that parses prints as a text that parses to the same ticket.
///
/// # Panics
/// If it does not.
pub fn ticket(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(ticket) = text.parse::<Ticket>() {
        assert_eq!(ticket.to_string().parse().as_ref(), Ok(&ticket));
    }
}

/// An impairment either parses or has an error message.
///
/// # Panics
/// If the message is empty.
#[cfg(feature = "demo")]
pub fn impairment(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let parsed = text.parse::<Impairment>();
    if let Err(error) = parsed {
        assert!(!error.to_string().is_empty(), "an error says something");
    }
}

/// A replay file of any bytes opens with all its claimed turns, or has an error message.
///
/// # Panics
/// If a turn is out of order, or the message is empty.
#[cfg(feature = "demo")]
pub fn replay(bytes: &[u8]) {
    match replay::Reader::from_bytes(bytes.to_vec()) {
        Err(error) => assert!(!error.to_string().is_empty(), "an error says something"),
        Ok(mut reader) => {
            let turns = reader.turns();
            let records = reader.records().map_while(Result::ok);
            let bundles = records.filter(|record| matches!(record, Record::Bundle(_)));
            assert!(
                bundles.count() <= turns as usize,
                "more turns than it claims"
            );
        }
    }
}
