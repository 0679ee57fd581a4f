//! In Rust, for targets without C.

use super::MOST_WINDOW;
use ruzstd::decoding::StreamingDecoder;
use std::io::Read as _;

/// Unpacks exactly `length` bytes.
pub(crate) fn unpack(packed: &[u8], length: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    // The window takes memory too, and its size is a claim of the file.
    let mut decoder = StreamingDecoder::new_with_max_window_size(packed, 1 << MOST_WINDOW).ok()?;
    // Grows with the actual bytes: the claimed length may be a lie.
    decoder
        .by_ref()
        .take(length.saturating_add(1))
        .read_to_end(&mut bytes)
        .ok()?;
    let whole = decoder.decoder.is_finished() && decoder.get_ref().is_empty();
    let named = decoder.decoder.get_checksum_from_data();
    let holds = named.is_none() || named == decoder.decoder.get_calculated_checksum();
    (whole && holds && bytes.len() as u64 == length).then_some(bytes)
}
