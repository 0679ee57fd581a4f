//! Bytes in and out: the few shapes that the log and the wire are made of.
//!
//! Integers are little-endian varints (LEB128, shortest form only) unless a fixed width is named, so that one
//! value has one encoding.

use serde::{Deserialize, Serialize};

/// Bytes that are not what they should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {at}")]
#[non_exhaustive]
pub struct DecodeError {
    /// What was wrong.
    pub what: &'static str,
    /// Offset into the bytes.
    pub at: usize,
}

/// Appends a varint.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a length and the bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads from the front of a slice; never past its end.
#[derive(Clone)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, at: 0 }
    }

    pub(crate) fn fail(&self, what: &'static str) -> DecodeError {
        DecodeError { what, at: self.at }
    }

    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        if count > self.remaining() {
            return Err(self.fail("ends too early"));
        }
        let part = &self.bytes[self.at..self.at + count];
        self.at += count;
        Ok(part)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let part = self.take(N)?;
        Ok(part.try_into().expect("take gives what it was asked for"))
    }

    pub(crate) fn byte(&mut self) -> Result<u8, DecodeError> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn fixed_u32(&mut self) -> Result<u32, DecodeError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 || shift > 0 && byte == 0 {
                return Err(self.fail("a number that is not in its shortest form"));
            }
            value |= part << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.fail("a number that is too long"))
    }

    pub(crate) fn number(&mut self) -> Result<u32, DecodeError> {
        u32::try_from(self.varint()?).map_err(|_| self.fail("a number above 2^32"))
    }

    /// A number of at most `most`, named `what` where it is larger.
    pub(crate) fn count(&mut self, most: usize, what: &'static str) -> Result<usize, DecodeError> {
        match usize::try_from(self.varint()?) {
            Ok(count) if count <= most => Ok(count),
            _ => Err(self.fail(what)),
        }
    }

    /// A length and that many bytes; the length is bounded by what is there.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = self.count(self.remaining(), "a length beyond the end")?;
        self.take(length)
    }

    pub(crate) fn text(&mut self) -> Result<String, DecodeError> {
        let at = self.at;
        match std::str::from_utf8(self.bytes()?) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(DecodeError {
                what: "a text that is not UTF-8",
                at,
            }),
        }
    }

    /// A text of at most so many bytes, named `what` where it is longer.
    pub(crate) fn short_text(
        &mut self,
        most: u32,
        what: &'static str,
    ) -> Result<String, DecodeError> {
        let text = self.text()?;
        match text.len() <= most as usize {
            true => Ok(text),
            false => Err(self.fail(what)),
        }
    }

    pub(crate) fn flag(&mut self) -> Result<bool, DecodeError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.fail("neither yes nor no")),
        }
    }

    pub(crate) fn end(&self) -> Result<(), DecodeError> {
        match self.remaining() {
            0 => Ok(()),
            _ => Err(self.fail("more bytes than expected")),
        }
    }
}

/// A signature in two halves, as serde knows arrays up to 32.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Signature([u8; 32], [u8; 32]);

impl From<[u8; 64]> for Signature {
    fn from(bytes: [u8; 64]) -> Self {
        let mut halves = Signature([0; 32], [0; 32]);
        halves.0.copy_from_slice(&bytes[..32]);
        halves.1.copy_from_slice(&bytes[32..]);
        halves
    }
}

impl From<Signature> for [u8; 64] {
    fn from(halves: Signature) -> Self {
        let mut bytes = [0; 64];
        bytes[..32].copy_from_slice(&halves.0);
        bytes[32..].copy_from_slice(&halves.1);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_varint_has_one_encoding() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.varint(), Ok(value));
            assert_eq!(reader.end(), Ok(()));
        }
        for wrong in [&[0x80, 0x00][..], &[0xff; 10], &[0x80; 11], &[0x80]] {
            assert!(Reader::new(wrong).varint().is_err(), "{wrong:?}");
        }
    }
}
