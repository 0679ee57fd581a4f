//! The file format, version 1.
//!
//! | part | bytes |
//! |---|---|
//! | header | magic `93 72 65 70 6c 61 79 0a`, format version (u16), protocol version (u16) |
//! | group, repeated | length of the content (varint), content, CRC-32 (u32) |
//!
//! The CRC-32 of a group covers the CRC before it (the header's own, for the first), the length and the content: a
//! group holds only in its place. Integers are little-endian; varints are LEB128 in their shortest form.
//!
//! The first byte of a content says what it is:
//!
//! | first byte | content |
//! |---|---|
//! | below `f0` | log records, as [`lockstep::log::Codec`] writes them; the first record of a file is the start |
//! | `f0` | keyframe: turns (varint), offset of the keyframe group before it or 0 (varint), unpacked length (varint), zstd of a keyframe record that a fresh codec wrote |
//! | `f1` | index: number of keyframes (varint), and for each its turns (varint) and the offset of its group (varint); nothing follows it |
//!
//! A keyframe stands behind the bundles of the turns that it has executed, and perhaps behind some later ones: the
//! world lies behind the log.

use std::io::{self, Read, Seek, SeekFrom};

/// Version of the format.
pub(crate) const VERSION: u16 = 1;
pub(crate) const MAGIC: [u8; 8] = *b"\x93replay\n";
pub(crate) const HEADER_BYTES: u64 = 12;
/// The largest content that is not a keyframe. Reading one takes memory in proportion to it.
pub(crate) const MAX_RECORDS_BYTES: u64 = 256 << 10;
pub(crate) const FIRST_OWN_KIND: u8 = 0xf0;
pub(crate) const KEYFRAME: u8 = 0xf0;
pub(crate) const INDEX: u8 = 0xf1;

const CRC_BYTES: u64 = 4;
const WINDOW_BYTES: usize = 64 << 10;

pub(crate) fn header() -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&lockstep::PROTOCOL.to_le_bytes());
    bytes
}

/// The CRC that the first group's follows.
pub(crate) fn header_crc() -> u32 {
    crc32fast::hash(&header())
}

/// Appends a group; gives its CRC.
pub(crate) fn put_group(before: u32, content: &[u8], out: &mut Vec<u8>) -> u32 {
    let from = out.len();
    put_varint(out, content.len() as u64);
    out.extend_from_slice(content);
    let mut crc = chained(before);
    crc.update(&out[from..]);
    let crc = crc.finalize();
    out.extend_from_slice(&crc.to_le_bytes());
    crc
}

fn chained(before: u32) -> crc32fast::Hasher {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&before.to_le_bytes());
    crc
}

pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes a varint from the front of `bytes`; `None` where there is none in its shortest form.
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
    /// Offset of the keyframe group before this one, or 0.
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

    /// The head, and how many bytes it takes.
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

/// A file seen through a buffer, read by offset.
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

    /// The `count` bytes at offset `at`. Whoever asks has bounded `count`.
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

/// A group whose length is known and plausible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub at: u64,
    pub kind: u8,
    pub content_at: u64,
    pub content_bytes: u64,
    /// Where the next group begins.
    pub end: u64,
}

/// What stands at an offset.
pub(crate) enum Found {
    Group(Group),
    /// The file ends here.
    Nothing,
    /// The file ends within the group.
    Cut,
    /// No group begins like this.
    Damaged,
}

/// The group at `at` of a file that ends at `end`; its CRC is not checked yet.
pub(crate) fn group_at(
    window: &mut Window,
    at: u64,
    end: u64,
    snapshot_bytes: u64,
) -> io::Result<Found> {
    if at >= end {
        return Ok(Found::Nothing);
    }
    let there = (end - at).min(LENGTH_BYTES) as usize;
    let head = window.bytes(at, there)?;
    let mut rest = head;
    let Some(content_bytes) = take_varint(&mut rest) else {
        let cut = (there as u64) < LENGTH_BYTES && head.iter().all(|byte| *byte >= 0x80);
        return Ok(if cut { Found::Cut } else { Found::Damaged });
    };
    let content_at = at + (there - rest.len()) as u64;
    if content_bytes == 0 {
        return Ok(Found::Damaged);
    }
    if content_at >= end {
        return Ok(Found::Cut);
    }
    let kind = window.bytes(content_at, 1)?[0];
    // Packed bytes may be a little longer than what they pack.
    let most = match kind {
        KEYFRAME => snapshot_bytes.saturating_add(snapshot_bytes / 64 + (1 << 10)),
        _ => MAX_RECORDS_BYTES,
    };
    if content_bytes > most {
        return Ok(Found::Damaged);
    }
    let group_end = content_at + content_bytes + CRC_BYTES;
    if group_end > end {
        return Ok(Found::Cut);
    }
    Ok(Found::Group(Group {
        at,
        kind,
        content_at,
        content_bytes,
        end: group_end,
    }))
}

/// Enough for the length of any group that is allowed.
const LENGTH_BYTES: u64 = 6;

impl Group {
    /// The CRC that the group carries.
    pub(crate) fn written_crc(&self, window: &mut Window) -> io::Result<u32> {
        let bytes = window.bytes(self.end - CRC_BYTES, CRC_BYTES as usize)?;
        Ok(u32::from_le_bytes(
            bytes.try_into().expect("four bytes were asked for"),
        ))
    }

    /// The group's CRC if it holds after the group with CRC `before`. Takes constant memory.
    pub(crate) fn check(&self, window: &mut Window, before: u32) -> io::Result<Option<u32>> {
        let mut crc = chained(before);
        let mut at = self.at;
        let end = self.end - CRC_BYTES;
        while at < end {
            let count = (end - at).min(WINDOW_BYTES as u64) as usize;
            crc.update(window.bytes(at, count)?);
            at += count as u64;
        }
        let crc = crc.finalize();
        Ok((self.written_crc(window)? == crc).then_some(crc))
    }

    pub(crate) fn content<'a>(&self, window: &'a mut Window) -> io::Result<&'a [u8]> {
        // A 64-bit machine may have written more than a 32-bit one can hold.
        let count = usize::try_from(self.content_bytes).map_err(|_| io::ErrorKind::FileTooLarge)?;
        window.bytes(self.content_at, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_varint_is_read_as_written_and_only_in_its_shortest_form() {
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

    #[test]
    fn a_group_holds_only_after_the_one_before_it() {
        let mut bytes = Vec::new();
        put_group(1, b"abc", &mut bytes);
        let end = bytes.len() as u64;
        let mut window = Window::new(Box::new(io::Cursor::new(bytes)));
        let Ok(Found::Group(group)) = group_at(&mut window, 0, end, 0) else {
            panic!("a whole group");
        };
        assert!(group.check(&mut window, 1).expect("in memory").is_some());
        assert!(group.check(&mut window, 2).expect("in memory").is_none());
    }
}
