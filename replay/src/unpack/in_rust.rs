//! In Rust, for targets without C.

use super::MOST_WINDOW;
use ruzstd::decoding::StreamingDecoder;
use std::io::{self, Read as _, Write};

/// Unpacks exactly `length` bytes to `out`. Takes constant memory beside that.
pub(crate) fn unpack(packed: &[u8], length: u64, out: &mut impl Write) -> Option<()> {
    // The window takes memory too, and its size is a claim of the file.
    let mut decoder = StreamingDecoder::new_with_max_window_size(packed, 1 << MOST_WINDOW).ok()?;
    let unpacked = io::copy(&mut decoder.by_ref().take(length.saturating_add(1)), out).ok()?;
    let whole = decoder.decoder.is_finished() && decoder.get_ref().is_empty();
    let named = decoder.decoder.get_checksum_from_data();
    let holds = named.is_none() || named == decoder.decoder.get_calculated_checksum();
    (whole && holds && unpacked == length).then_some(())
}
