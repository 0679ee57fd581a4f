//! Writes, finds and checks items, and the segments that they form.

use crate::format::{
    FIRST_OWN_KIND, INDEX, KEYFRAME, MAX_RECORDS_BYTES, MOST_ITEMS, WINDOW_BYTES, Window,
    header_crc,
};
use std::io;

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A turn without entries.
    Idle,
    /// A turn in its short form.
    Turn,
    /// Log records, as the codec writes them.
    Records,
    Keyframe,
    Index,
    Seal,
}

/// An item of known and plausible length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub at: u64,
    pub kind: Kind,
    pub content_at: u64,
    pub content_bytes: u64,
    /// The offset of the next item.
    pub end: u64,
}

impl Item {
    pub(crate) fn content<'a>(&self, window: &'a mut Window) -> io::Result<&'a [u8]> {
        // A 64-bit machine may have written more than a 32-bit machine can hold.
        let count = usize::try_from(self.content_bytes).map_err(|_| io::ErrorKind::FileTooLarge)?;
        window.bytes(self.content_at, count)
    }

    /// The CRC in a seal.
    pub(crate) fn seal_crc(&self, window: &mut Window) -> io::Result<u32> {
        let bytes = window.bytes(self.end - LONG_CHECK, LONG_CHECK as usize)?;
        Ok(u32::from_le_bytes(
            bytes.try_into().expect("four bytes were asked for"),
        ))
    }
}

/// Encodes items one after the other.
#[derive(Clone)]
pub(crate) struct Encoder {
    checks: Checks,
    items: usize,
    bytes: usize,
    /// Whether no segment is sealed yet.
    first: bool,
}

impl Encoder {
    /// Behind the header of a file.
    pub(crate) fn new() -> Self {
        Encoder {
            checks: Checks::after(header_crc()),
            items: 0,
            bytes: 0,
            first: true,
        }
    }

    /// Appends an item other than a seal. `content` is empty for an idle turn and only for that.
    pub(crate) fn item(&mut self, kind: Kind, content: &[u8], out: &mut Vec<u8>) {
        let from = out.len();
        put_head(
            content.len() as u64 * 2 + u64::from(kind == Kind::Turn),
            out,
        );
        if kind == Kind::Idle {
            self.checks.cover(&out[from..], true);
        } else {
            let head = out.len() - from;
            out.extend_from_slice(content);
            let mut check = self.checks.of(content.len() as u64);
            check.update(&out[from..from + head]);
            check.update(content);
            let (bytes, count) = check.finish();
            self.checks
                .cover(&out[from..], is_short(content.len() as u64));
            self.checks.cover(&bytes[..count], true);
            out.extend_from_slice(&bytes[..count]);
        }
        self.items += 1;
        self.bytes += out.len() - from;
    }

    /// Appends a seal, unless the segment is empty.
    pub(crate) fn seal(&mut self, out: &mut Vec<u8>) {
        if self.items > 0 {
            let from = out.len();
            put_head(SEAL, out);
            self.checks.cover(&out[from..], true);
            let crc = self.checks.seal();
            out.extend_from_slice(&crc.to_le_bytes());
            self.checks = Checks::after(crc);
            self.items = 0;
            self.bytes = 0;
            self.first = false;
        }
    }

    /// Whether a seal is due: a damaged item may cost its whole segment. The start, without which nothing is
    /// readable, gets a segment of its own.
    pub(crate) fn is_full(&self) -> bool {
        self.first || self.items >= SEAL_AFTER_ITEMS || self.bytes >= SEAL_AFTER_BYTES
    }

    /// The CRC of the last seal, if nothing was written since.
    pub(crate) fn sealed(&self) -> Option<u32> {
        (self.items == 0).then_some(self.checks.before)
    }
}

/// The checks of one segment so far.
#[derive(Clone)]
struct Checks {
    /// The CRC of the previous seal.
    before: u32,
    short: u8,
    long: crc32fast::Hasher,
}

impl Checks {
    fn after(before: u32) -> Self {
        let mut long = crc32fast::Hasher::new();
        long.update(&before.to_le_bytes());
        Checks {
            before,
            short: before as u8,
            long,
        }
    }

    /// The check of the next item, before its first byte.
    fn of(&self, content_bytes: u64) -> Check {
        if is_short(content_bytes) {
            return Check::Short(self.short);
        }
        let mut crc = crc32fast::Hasher::new();
        crc.update(&[self.short]);
        Check::Long(crc)
    }

    /// Covers more bytes of the file. `in_short` is false for bytes with a check of their own.
    fn cover(&mut self, bytes: &[u8], in_short: bool) {
        self.long.update(bytes);
        if in_short {
            self.short = crc8(self.short, bytes);
        }
    }

    fn seal(&self) -> u32 {
        self.long.clone().finalize()
    }
}

enum Check {
    Short(u8),
    Long(crc32fast::Hasher),
}

impl Check {
    fn update(&mut self, bytes: &[u8]) {
        match self {
            Check::Short(crc) => *crc = crc8(*crc, bytes),
            Check::Long(crc) => crc.update(bytes),
        }
    }

    /// The bytes of the check, and their number.
    fn finish(self) -> ([u8; LONG_CHECK as usize], usize) {
        match self {
            Check::Short(crc) => ([crc, 0, 0, 0], 1),
            Check::Long(crc) => (crc.finalize().to_le_bytes(), LONG_CHECK as usize),
        }
    }
}

fn crc8(crc: u8, bytes: &[u8]) -> u8 {
    bytes
        .iter()
        .fold(crc, |crc, byte| CRC8[usize::from(crc ^ byte)])
}

const CRC8: [u8; 256] = {
    let mut table = [0; 256];
    let mut place = 0;
    while place < 256 {
        let mut crc = place as u8;
        let mut bit = 0;
        while bit < 8 {
            crc = (crc << 1) ^ (if crc & 0x80 == 0 { 0 } else { 0x07 });
            bit += 1;
        }
        table[place] = crc;
        place += 1;
    }
    table
};

fn put_head(mut number: u64, out: &mut Vec<u8>) {
    loop {
        let more = u8::from(number >= 64) << 7;
        let byte = more | ((number as u8 & 63) << 1);
        out.push(byte | u8::from(byte.count_ones().is_multiple_of(2)));
        number >>= 6;
        if number == 0 {
            return;
        }
    }
}

/// The number in a head, and the head's length.
enum Head {
    Is(u64, u64),
    Cut,
    Damaged,
}

fn head(bytes: &[u8]) -> Head {
    let mut number = 0;
    for (place, byte) in bytes.iter().enumerate() {
        let part = u64::from(byte >> 1 & 63);
        let longer_than_needed = place > 0 && *byte < 0x80 && part == 0;
        if byte.count_ones().is_multiple_of(2) || longer_than_needed {
            return Head::Damaged;
        }
        number |= part << (6 * place);
        if *byte < 0x80 {
            return Head::Is(number, place as u64 + 1);
        }
    }
    if (bytes.len() as u64) < MOST_HEAD {
        Head::Cut
    } else {
        Head::Damaged
    }
}

/// What is at an offset.
pub(crate) enum Found {
    Item(Item),
    /// The end of the file.
    Nothing,
    /// An item that the end of the file cuts.
    Cut,
    /// Bytes that begin no item.
    Damaged,
}

/// The item at `at` of a file that ends at `end`. Only its head is checked.
pub(crate) fn item_at(
    window: &mut Window,
    at: u64,
    end: u64,
    snapshot_bytes: u64,
) -> io::Result<Found> {
    if at >= end {
        return Ok(Found::Nothing);
    }
    let there = (end - at).min(MOST_HEAD) as usize;
    let (number, head_bytes) = match head(window.bytes(at, there)?) {
        Head::Is(number, bytes) => (number, bytes),
        Head::Cut => return Ok(Found::Cut),
        Head::Damaged => return Ok(Found::Damaged),
    };
    let content_at = at + head_bytes;
    let content_bytes = number / 2;
    let is_turn = number % 2 == 1;
    let (kind, check_bytes) = match number {
        0 => (Kind::Idle, 0),
        SEAL => (Kind::Seal, LONG_CHECK),
        _ if content_at >= end => return Ok(Found::Cut),
        _ => {
            let kind = match window.bytes(content_at, 1)?[0] {
                _ if is_turn => Kind::Turn,
                KEYFRAME => Kind::Keyframe,
                INDEX => Kind::Index,
                ..FIRST_OWN_KIND => Kind::Records,
                _ => return Ok(Found::Damaged),
            };
            (kind, check_bytes(content_bytes))
        }
    };
    // Packed bytes may be a little longer than the unpacked ones.
    let most = match kind {
        Kind::Keyframe => snapshot_bytes.saturating_add(snapshot_bytes / 64 + (1 << 10)),
        _ => MAX_RECORDS_BYTES,
    };
    if content_bytes > most {
        return Ok(Found::Damaged);
    }
    let item_end = content_at + content_bytes + check_bytes;
    if item_end > end {
        return Ok(Found::Cut);
    }
    Ok(Found::Item(Item {
        at,
        kind,
        content_at,
        content_bytes,
        end: item_end,
    }))
}

fn is_short(content_bytes: u64) -> bool {
    content_bytes < LONG_CONTENT
}

fn check_bytes(content_bytes: u64) -> u64 {
    if is_short(content_bytes) {
        1
    } else {
        LONG_CHECK
    }
}

/// The valid items of a segment, and why there are no more.
pub(crate) struct Segment {
    pub items: Vec<Item>,
    pub stop: Stop,
    /// Behind the seal, or where the first invalid item begins.
    pub end: u64,
}

/// How a segment ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// With a seal of this CRC.
    Sealed(u32),
    /// With the file.
    Nothing,
    Cut,
    Damaged,
}

/// The segment at `at`, behind a seal with the CRC `before`. Memory is bounded by its items, not their contents.
pub(crate) fn segment_at(
    window: &mut Window,
    at: u64,
    end: u64,
    before: u32,
    snapshot_bytes: u64,
) -> io::Result<Segment> {
    let mut checks = Checks::after(before);
    let mut segment = Segment {
        items: Vec::new(),
        stop: Stop::Nothing,
        end: at,
    };
    let mut unchecked = 0;
    loop {
        let item = match item_at(window, segment.end, end, snapshot_bytes)? {
            Found::Item(item) => item,
            Found::Nothing => return Ok(segment),
            Found::Cut => {
                segment.stop = Stop::Cut;
                return Ok(segment);
            }
            Found::Damaged => {
                segment.stop = Stop::Damaged;
                return Ok(segment);
            }
        };
        if item.kind == Kind::Seal {
            let head = (item.content_at - item.at) as usize;
            checks.cover(window.bytes(item.at, head)?, true);
            let crc = checks.seal();
            let written = item.seal_crc(window)?;
            if written == crc && !segment.items.is_empty() {
                segment.stop = Stop::Sealed(crc);
                segment.end = item.end;
                return Ok(segment);
            }
            segment.stop = Stop::Damaged;
            if !is_half_written(written, crc) {
                // The seal does not match, and there is no telling which item is wrong.
                segment.items.clear();
                segment.end = at;
            }
            return Ok(segment);
        }
        let keyframe = |item: &Item| item.kind == Kind::Keyframe;
        let alone = segment.items.is_empty()
            || !keyframe(&item) && !segment.items.first().is_some_and(keyframe);
        // Only what follows checks an idle turn: bytes that another file left behind this one may look like many.
        unchecked = match item.kind {
            Kind::Idle => unchecked + 1,
            _ => 0,
        };
        if unchecked > SEAL_AFTER_ITEMS {
            segment.stop = Stop::Damaged;
            return Ok(segment);
        }
        if !alone || segment.items.len() == MOST_ITEMS || !holds(window, &item, &mut checks)? {
            segment.stop = Stop::Damaged;
            return Ok(segment);
        }
        segment.end = item.end;
        segment.items.push(item);
    }
}

/// Whether a power loss left zeros in place of the last bytes of a seal. It tells no more of the items before it than a
/// seal that the end of the file cuts: their own checks must suffice.
fn is_half_written(written: u32, crc: u32) -> bool {
    let there = |bytes: u32| crc & ((1 << (8 * bytes)) - 1);
    (0..LONG_CHECK as u32).any(|bytes| written == there(bytes))
}

/// Whether the check of an item matches. Takes constant memory.
fn holds(window: &mut Window, item: &Item, checks: &mut Checks) -> io::Result<bool> {
    let content_end = item.content_at + item.content_bytes;
    let mut check = checks.of(item.content_bytes);
    let short = is_short(item.content_bytes);
    let mut at = item.at;
    while at < content_end {
        let count = (content_end - at).min(WINDOW_BYTES as u64) as usize;
        let bytes = window.bytes(at, count)?;
        check.update(bytes);
        checks.cover(bytes, short);
        at += count as u64;
    }
    if item.kind == Kind::Idle {
        return Ok(true);
    }
    let (expected, count) = check.finish();
    let written = window.bytes(content_end, count)?;
    checks.cover(written, true);
    Ok(written == &expected[..count])
}

const SEAL: u64 = 1;
/// Bytes of a CRC-32.
const LONG_CHECK: u64 = 4;
/// Contents of at least this many bytes have a CRC-32 of their own.
const LONG_CONTENT: u64 = 64;
/// Enough for the head of any allowed item.
const MOST_HEAD: u64 = 6;
const SEAL_AFTER_ITEMS: usize = 64;
const SEAL_AFTER_BYTES: usize = 4 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_round_trip_and_no_flipped_bit_makes_another() {
        for number in [0, 1, 2, 63, 64, 4_095, 4_096, 1 << 35] {
            let mut bytes = Vec::new();
            put_head(number, &mut bytes);
            let count = bytes.len() as u64;
            assert!(matches!(head(&bytes), Head::Is(n, c) if (n, c) == (number, count)));
            for bit in 0..bytes.len() * 8 {
                let mut flipped = bytes.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert!(
                    matches!(head(&flipped), Head::Damaged),
                    "{number}, bit {bit}"
                );
            }
        }
        assert!(
            matches!(head(&[0; 6]), Head::Damaged),
            "zeros are not turns"
        );
        assert!(matches!(head(&[0x80]), Head::Cut));
        assert!(
            matches!(head(&[0x80, 0x01]), Head::Damaged),
            "not the shortest"
        );
    }

    #[test]
    fn the_short_check_is_standard_crc_8() {
        assert_eq!(crc8(0, b"123456789"), 0xf4);
    }

    #[test]
    fn a_segment_is_valid_only_after_its_predecessor() {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new();
        encoder.item(Kind::Records, b"abc", &mut bytes);
        encoder.item(Kind::Idle, b"", &mut bytes);
        encoder.item(Kind::Turn, &[7; 100], &mut bytes);
        encoder.seal(&mut bytes);
        let end = bytes.len() as u64;
        let mut window = Window::new(Box::new(io::Cursor::new(bytes)));
        let mut at = |before| segment_at(&mut window, 0, end, before, 0).expect("in memory");
        let whole = at(header_crc());
        assert_eq!(whole.items.len(), 3);
        assert_eq!(
            whole.stop,
            Stop::Sealed(encoder.sealed().expect("just sealed"))
        );
        // The lowest byte matches, so that only the seal reveals it.
        let other = at(header_crc() ^ 0x100);
        assert_eq!(
            (other.items.len(), other.stop, other.end),
            (0, Stop::Damaged, 0)
        );
        assert_eq!(at(header_crc() ^ 1).items.len(), 0);
    }

    #[test]
    fn a_half_written_seal_costs_no_item_and_a_wrong_one_all() {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new();
        encoder.item(Kind::Records, b"abc", &mut bytes);
        encoder.item(Kind::Turn, &[7; 100], &mut bytes);
        let items_end = bytes.len() as u64;
        encoder.seal(&mut bytes);
        let end = bytes.len();
        let found = |bytes: Vec<u8>| {
            let mut window = Window::new(Box::new(io::Cursor::new(bytes)));
            let segment = segment_at(&mut window, 0, end as u64, header_crc(), 0);
            let segment = segment.expect("in memory");
            (segment.items.len(), segment.stop, segment.end)
        };
        for lost in 1..=LONG_CHECK as usize {
            let mut torn = bytes.clone();
            torn[end - lost..].fill(0);
            assert_eq!(found(torn), (2, Stop::Damaged, items_end), "{lost} bytes");
            let mut wrong = bytes.clone();
            wrong[end - lost] ^= 0x10;
            assert_eq!(found(wrong), (0, Stop::Damaged, 0), "{lost} bytes");
        }
    }

    #[test]
    fn stale_bytes_behind_the_last_seal_count_as_few_turns() {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new();
        encoder.item(Kind::Records, b"abc", &mut bytes);
        encoder.seal(&mut bytes);
        let (sealed, before) = (bytes.len() as u64, encoder.sealed().expect("just sealed"));
        encoder.item(Kind::Turn, b"abc", &mut bytes);
        let mut idle = Vec::new();
        encoder.item(Kind::Idle, b"", &mut idle);
        bytes.extend(idle.repeat(4_096));
        let end = bytes.len() as u64;
        let mut window = Window::new(Box::new(io::Cursor::new(bytes)));
        let tail = segment_at(&mut window, sealed, end, before, 0).expect("in memory");
        assert_eq!(
            (tail.items.len(), tail.stop),
            (1 + SEAL_AFTER_ITEMS, Stop::Damaged)
        );
    }
}
