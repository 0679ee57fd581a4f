//! The file format, version 4.
//!
//! | part | bytes |
//! |---|---|
//! | header | magic `93 72 65 70 6c 61 79 0a`, format version (u16), protocol version (u16) |
//! | segment, repeated | items, and a seal |
//! | item | head, content, check |
//! | seal | head, CRC-32 (u32) |
//!
//! A head is a number in bytes of six bits each, the lowest first, in its shortest form. The upper bit of a byte
//! says that another byte follows. The lowest bit makes the number of ones odd, so that no flipped bit turns one
//! head into another. The number is twice the length of the content, plus 1 if the content is a turn:
//!
//! | number | item |
//! |---|---|
//! | 0 | an idle turn: no content and no check |
//! | 1 | the seal |
//! | odd | a turn: entries up to the end of the content, each a byte of the seat (three bits) and the length of the command (five bits), and the command |
//! | even, content below `f0` | log records, as [`lockstep::log::Codec`] writes them; the first record of a file is the start |
//! | even, content `f0` | keyframe: turns (varint), offset of the previous keyframe or 0 (varint), unpacked length (varint), zstd of a keyframe record that a fresh codec wrote. It has a segment of its own |
//! | even, content `f1` | index: number of keyframes (varint), and for each its turns (varint) and its offset (varint); only a seal follows it |
//!
//! The check of a content below 64 bytes is a CRC-8 (polynomial 07) of the previous checks in the segment, and of
//! the heads and contents between. It begins with the lowest byte of the previous seal. The check of a longer
//! content is a CRC-32 of that CRC-8, the head and the content.
//!
//! A seal's CRC-32 covers the CRC of the previous seal (for the first, that of the header) and everything since,
//! its own head included. So a segment is valid only in its place. Integers are little-endian; varints are LEB128
//! in their shortest form.
//!
//! Items are written as they come, so a crash leaves items behind the last seal, which only their checks cover. A
//! segment has at most 256 items, and no more than 64 idle turns in a row: bytes of another file that a power loss
//! leaves behind the last seal can count as no more turns than these. A seal with zeros for its last bytes is half
//! written, and counts as none. Any other wrong seal takes all items of its segment with it.
//!
//! A turn is written when it is complete. Until it is final it may be taken back: then the file is cut before it, and
//! what was final behind it is written again. So where no agreed end follows, the last turns are provisional, as many
//! as the command delay has.
//!
//! An accept tells what the recording peer has agreed to and does not know to be decided, and a signature by which
//! reopening it may go on. The newest one of each counts, until a roster change ends its epoch.
//!
//! A keyframe comes behind the bundles of the turns that its world has executed, and possibly behind later ones:
//! the world lags behind the log.

use std::io::{self, Read, Seek, SeekFrom};

pub(crate) const VERSION: u16 = 4;
pub(crate) const MAGIC: [u8; 8] = *b"\x93replay\n";
pub(crate) const HEADER_BYTES: u64 = 12;
/// The largest content of an item other than a keyframe. Reading one takes memory in proportion.
pub(crate) const MAX_RECORDS_BYTES: u64 = 256 << 10;
pub(crate) const FIRST_OWN_KIND: u8 = 0xf0;
pub(crate) const KEYFRAME: u8 = 0xf0;
pub(crate) const INDEX: u8 = 0xf1;
/// The most items of a segment. Reading one takes memory in proportion.
pub(crate) const MOST_ITEMS: usize = 256;

/// Bytes that a [`Window`] reads at once.
pub(crate) const WINDOW_BYTES: usize = 64 << 10;

pub(crate) fn header() -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&lockstep::PROTOCOL.to_le_bytes());
    bytes
}

/// The CRC that the first seal continues.
pub(crate) fn header_crc() -> u32 {
    crc32fast::hash(&header())
}

pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes a varint from the front of `bytes`; `None` unless it is there in its shortest form.
pub(crate) fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for (place, byte) in bytes.iter().enumerate() {
        let part = u64::from(byte & 0x7f);
        if place == 9 && part > 1 || place > 9 || place > 0 && *byte == 0 {
            return None;
        }
        value |= part << (7 * place);
        if *byte < 0x80 {
            *bytes = &bytes[place + 1..];
            return Some(value);
        }
    }
    None
}

/// The head of a keyframe's content, before the packed bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyframeHead {
    pub turns: u32,
    /// Offset of the previous keyframe, or 0.
    pub previous: u64,
    pub unpacked: u64,
}

impl KeyframeHead {
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.push(KEYFRAME);
        put_varint(out, u64::from(self.turns));
        put_varint(out, self.previous);
        put_varint(out, self.unpacked);
    }

    /// The head, and its length in bytes.
    pub(crate) fn read(content: &[u8]) -> Option<(KeyframeHead, usize)> {
        let (KEYFRAME, mut rest) = content.split_first().map(|(kind, rest)| (*kind, rest))? else {
            return None;
        };
        let head = KeyframeHead {
            turns: u32::try_from(take_varint(&mut rest)?).ok()?,
            previous: take_varint(&mut rest)?,
            unpacked: take_varint(&mut rest)?,
        };
        Some((head, content.len() - rest.len()))
    }
}

/// The content of the index that closes a file: turns and offset of every keyframe.
pub(crate) fn index_content(keyframes: impl ExactSizeIterator<Item = (u32, u64)>) -> Vec<u8> {
    let mut content = vec![INDEX];
    put_varint(&mut content, keyframes.len() as u64);
    for (turns, at) in keyframes {
        put_varint(&mut content, u64::from(turns));
        put_varint(&mut content, at);
    }
    content
}

/// A buffered file, read by offset.
pub(crate) struct Window {
    source: Box<dyn crate::Source>,
    buffer: Vec<u8>,
    start: u64,
}

impl Window {
    pub(crate) fn new(source: Box<dyn crate::Source>) -> Self {
        Window {
            source,
            buffer: Vec::new(),
            start: 0,
        }
    }

    pub(crate) fn length(&mut self) -> io::Result<u64> {
        self.source.seek(SeekFrom::End(0))
    }

    /// The `count` bytes at offset `at`. The caller must bound `count`.
    pub(crate) fn bytes(&mut self, at: u64, count: usize) -> io::Result<&[u8]> {
        let end = self.start + self.buffer.len() as u64;
        if at < self.start || at + count as u64 > end {
            self.source.seek(SeekFrom::Start(at))?;
            let want = count.max(WINDOW_BYTES);
            self.buffer.clear();
            self.start = at;
            (&mut self.source)
                .take(want as u64)
                .read_to_end(&mut self.buffer)?;
            if self.buffer.len() < count {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let from = (at - self.start) as usize;
        Ok(&self.buffer[from..from + count])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_round_trip_only_in_their_shortest_form() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            let mut rest = &bytes[..];
            assert_eq!(take_varint(&mut rest), Some(value));
            assert!(rest.is_empty());
        }
        for wrong in [&[0x80, 0x00][..], &[0xff; 10], &[0x80; 11], &[0x80], &[]] {
            assert_eq!(take_varint(&mut { wrong }), None, "{wrong:?}");
        }
    }
}
