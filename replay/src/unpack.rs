//! Unpacking what a file holds packed: one frame of zstd, of a length that the file names.
//!
//! The file may lie. So neither its length nor its window is believed before the bytes are there. zstd's own library is
//! used wherever there is C, and a decoder in Rust elsewhere. The tests hold both to the same: what a writer packs unpacks,
//! lies are refused, and damage is bounded.

#[cfg(any(target_arch = "wasm32", test))]
mod in_rust;
#[cfg(not(target_arch = "wasm32"))]
mod library;

#[cfg(target_arch = "wasm32")]
pub(crate) use in_rust::unpack;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use library::unpack;

/// 8 MiB, as a power of two: what zstd's own format asks of every reader. The recorder needs less.
const MOST_WINDOW: u32 = 23;

#[cfg(test)]
mod tests;
