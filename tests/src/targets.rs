//! Targets of fuzzing and property tests: one pure function for each decoder of untrusted bytes.
//!
//! A target panics if the bytes are handled wrongly.

#[cfg(feature = "demo")]
mod files;
#[cfg(feature = "demo")]
mod found;
#[cfg(feature = "demo")]
mod seeds;
mod sessions;
#[cfg(feature = "demo")]
mod worlds;

#[cfg(feature = "demo")]
pub use files::{items, replay};
#[cfg(feature = "demo")]
pub use found::{announcement, contacts};
#[cfg(feature = "demo")]
pub use seeds::seeds;
pub use sessions::{Scene, Signatures, conversation, first_byte, recording, session};
#[cfg(feature = "demo")]
pub use worlds::world;

use lockstep::log::Codec;
#[cfg(feature = "demo")]
use lockstep::quic::Impairment;
use lockstep::quic::parts::{Decoder, Oversized, encode};
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

/// The longest message of the streams that are fuzzed.
const FRAMED_BYTES: u32 = 1_000;

/// A stream gives the same messages however it is cut, and each is framed as it came. The first byte is the length of
/// the pieces.
///
/// # Panics
/// If it does not.
pub fn frame(bytes: &[u8]) {
    let Some((length, stream)) = bytes.split_first() else {
        return;
    };
    let messages = |pieces: &mut dyn Iterator<Item = &[u8]>| {
        let mut decoder = Decoder::new(FRAMED_BYTES);
        let mut messages = Vec::new();
        for piece in pieces {
            decoder.push(piece);
            loop {
                match decoder.next_message() {
                    Ok(Some(message)) => messages.push(message),
                    Ok(None) => break,
                    Err(Oversized) => return (messages, None),
                }
            }
        }
        (messages, Some(decoder.is_between_messages()))
    };
    let (whole, end) = messages(&mut std::iter::once(stream));
    let pieces = stream.chunks(usize::from(*length).max(1));
    let cut = messages(&mut pieces.into_iter());
    // A stream of no bytes comes in no piece, and ends between messages as well.
    assert_eq!((&whole, end), (&cut.0, cut.1), "pieces give other messages");
    let mut again = Vec::new();
    for message in &whole {
        again.extend(encode(message, FRAMED_BYTES).expect("it is within the limit"));
    }
    assert!(stream.starts_with(&again), "one message, one frame");
    if end == Some(true) {
        assert_eq!(again.len(), stream.len(), "bytes between messages");
    }
}
