//! Unpacks one frame of zstd, of a length that the file names.
//!
//! The file may lie, so neither its length nor its window counts before the bytes are there. zstd's own library is
//! used where there is C, and a decoder in Rust elsewhere. The tests hold both to the same: packed bytes unpack,
//! lies are refused, and damage is bounded.

#[cfg(any(target_arch = "wasm32", test))]
mod in_rust;
#[cfg(not(target_arch = "wasm32"))]
mod library;

#[cfg(target_arch = "wasm32")]
pub(crate) use in_rust::unpack;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use library::unpack;

/// 8 MiB, as a power of two: every reader of zstd's format must support it. The recorder needs less.
const MOST_WINDOW: u32 = 23;

#[cfg(test)]
mod tests;
