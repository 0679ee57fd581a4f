//! With zstd's own library.

use super::MOST_WINDOW;
use std::io::{self, Read as _, Write};

/// Unpacks exactly `length` bytes to `out`. Takes constant memory beside that.
pub(crate) fn unpack(packed: &[u8], length: u64, out: &mut impl Write) -> Option<()> {
    let mut decoder = zstd::Decoder::with_buffer(packed).ok()?.single_frame();
    // The window takes memory too, and its size is a claim of the file.
    decoder.window_log_max(MOST_WINDOW).ok()?;
    let unpacked = io::copy(&mut decoder.by_ref().take(length.saturating_add(1)), out).ok()?;
    let whole = decoder.get_ref().is_empty();
    (whole && unpacked == length).then_some(())
}
