//! With zstd's own library.

use super::MOST_WINDOW;
use std::io::Read as _;

/// Unpacks exactly `length` bytes.
pub(crate) fn unpack(packed: &[u8], length: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut decoder = zstd::Decoder::with_buffer(packed).ok()?.single_frame();
    // The window takes memory too, and its size is a claim of the file.
    decoder.window_log_max(MOST_WINDOW).ok()?;
    // Grows with the actual bytes: the claimed length may be a lie.
    decoder
        .by_ref()
        .take(length.saturating_add(1))
        .read_to_end(&mut bytes)
        .ok()?;
    let whole = decoder.get_ref().is_empty();
    (whole && bytes.len() as u64 == length).then_some(bytes)
}
