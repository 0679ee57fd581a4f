//! What fuzzing and the property tests feed with hostile bytes: one pure function for each decoder.
//!
//! A target returns where the bytes were handled as they must be, and panics where they were not.

mod sessions;

pub use sessions::{Scene, session};

use lockstep::log::Codec;
#[cfg(feature = "demo")]
use lockstep::log::Record;
#[cfg(feature = "demo")]
use lockstep::quic::Impairment;
use lockstep::session::Batch;
use lockstep::{Limits, Ticket};

/// A batch that decodes has these bytes and no others.
///
/// # Panics
/// When it has.
pub fn batch(bytes: &[u8]) {
    if let Ok(batch) = Batch::decode(bytes) {
        let mut again = Vec::new();
        batch.encode(&mut again);
        assert_eq!(again, bytes, "one batch, one encoding");
    }
}

/// A group of log records that decodes has these bytes and no others.
///
/// # Panics
/// When it has.
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

/// A ticket that parses is printed as a text that parses to the same.
///
/// # Panics
/// When it is not.
pub fn ticket(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(ticket) = text.parse::<Ticket>() {
        assert_eq!(ticket.to_string().parse().as_ref(), Ok(&ticket));
    }
}

/// An impairment either parses or says what is wrong.
///
/// # Panics
/// When it says nothing.
#[cfg(feature = "demo")]
pub fn impairment(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let parsed = text.parse::<Impairment>();
    if let Err(error) = parsed {
        assert!(!error.to_string().is_empty(), "an error says something");
    }
}

/// A replay file of any bytes opens or says why not, and all that it claims to hold is read.
///
/// # Panics
/// When a turn is out of order, or the error says nothing.
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
