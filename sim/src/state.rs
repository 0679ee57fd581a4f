//! How a world becomes bytes, and describes itself.

use serde::{Deserialize, Serialize};

/// CRC-32 (IEEE) of a world's bytes. Finds accidents, not lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Checksum(pub u32);

impl std::fmt::Display for Checksum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

/// How a world becomes bytes. Written by hand for flat columns, or by one line of `state_by_serde!`.
pub trait State: Sized {
    /// Appends the whole world, little-endian, exactly: loading the bytes continues bit-identically.
    fn save(&self, out: &mut Vec<u8>);

    /// The world that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// [`LoadError`] for bytes that `save` never writes. Memory stays within a small multiple of
    /// `bytes.len()`.
    fn load(bytes: &[u8]) -> Result<Self, LoadError>;

    /// CRC-32 of exactly the bytes that [`save`](Self::save) writes. Override it for speed only.
    fn checksum(&self) -> Checksum {
        let mut bytes = Vec::new();
        self.save(&mut bytes);
        Checksum(crc32fast::hash(&bytes))
    }

    /// Describes the world to a visitor: sections, their rows, the rows' fields.
    fn visit(&self, to: &mut dyn Visit);
}

/// What walks through a world that describes itself.
pub trait Visit {
    /// A section begins. `false` skips its rows.
    fn section(&mut self, name: &str, rows: usize) -> bool;
    /// A row of the section begins. `false` skips its fields.
    fn row(&mut self, id: u64) -> bool;
    /// A field of the row.
    fn field(&mut self, name: &str, value: &dyn Field);
}

/// A value that a visitor can hash and print.
pub trait Field {
    /// Appends the value's little-endian bytes.
    fn bytes(&self, out: &mut Vec<u8>);
    /// The value as a person reads it.
    fn text(&self) -> String;
}

/// Bytes that are not a world.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a snapshot of this world: {what} at byte {at}")]
pub struct LoadError {
    /// What was wrong.
    pub what: &'static str,
    /// Where, as an offset into the bytes.
    pub at: usize,
}
