//! The units that a command is for, written in few bytes.
//!
//! The bytes of a selection say by their number what they are:
//!
//! - none: no units;
//! - one: a reference, the serial of a selection that the world remembers;
//! - two or more: numbers of units. The first four bits say how, the most significant bit first:
//!   - `0..=12`: each gap between neighbours as a Rice code with this parameter: the upper part as so many
//!     zeros and a one, then the lower bits. With parameter 0 this is a bitmap;
//!   - `13`: runs, each as two Elias gamma codes: the way from the end of the last run, and the length.
//!
//!   Zeros fill the last byte, and the second where one would do.
//!
//! Of these, the way with the fewest bits is used, of equals the one with the lowest header. Anything
//! else does not decode, so a selection has one encoding.

use super::tables::SELECTION;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The units that a command is for: up to [`MOST`](Selection::MOST) units of the issuing seat by their
/// numbers, or a reference to such a list in the world.
///
/// [`World::select`](super::World::select) makes the shortest one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection(Named);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Named {
    /// Ascending, at most `SELECTION`, all below `NAMELESS`.
    Units(Vec<u16>),
    /// The serial of a remembered selection.
    Recent(u8),
}

impl Selection {
    /// Units that a selection holds at most.
    pub const MOST: usize = SELECTION;

    /// The units with these numbers, once each; of too many, those with the lowest numbers.
    pub fn new(numbers: impl IntoIterator<Item = u16>) -> Self {
        let named = |number: &u16| *number < NAMELESS;
        let mut numbers: Vec<u16> = numbers.into_iter().filter(named).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.truncate(Self::MOST);
        Self(Named::Units(numbers))
    }

    /// The selection that the world remembers by this serial.
    pub fn recent(serial: u8) -> Self {
        Self(Named::Recent(serial))
    }

    /// The numbers it spells out, ascending; `Err` with the serial if it is a reference.
    pub fn numbers(&self) -> Result<&[u16], u8> {
        match &self.0 {
            Named::Units(numbers) => Ok(numbers),
            Named::Recent(serial) => Err(*serial),
        }
    }

    /// Whether it names no unit. A reference counts as naming some.
    pub fn is_empty(&self) -> bool {
        self.numbers() == Ok(&[])
    }
}

impl Default for Selection {
    fn default() -> Self {
        Self(Named::Units(Vec::new()))
    }
}

impl FromIterator<u16> for Selection {
    fn from_iter<I: IntoIterator<Item = u16>>(numbers: I) -> Self {
        Self::new(numbers)
    }
}

impl Serialize for Selection {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Named::Recent(serial) => serializer.serialize_bytes(&[*serial]),
            Named::Units(numbers) => {
                let mut to = Writer::new();
                write(numbers, &mut to);
                serializer.serialize_bytes(to.finish())
            }
        }
    }
}

impl<'de> Deserialize<'de> for Selection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(Bytes)
    }
}

struct Bytes;

impl de::Visitor<'_> for Bytes {
    type Value = Selection;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "at most {SELECTION} numbers in their shortest encoding")
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Selection, E> {
        match bytes {
            [] => Ok(Selection::default()),
            [serial] => Ok(Selection::recent(*serial)),
            _ => match read(bytes) {
                Some(numbers) => Ok(Selection(Named::Units(numbers))),
                None => Err(E::invalid_value(de::Unexpected::Bytes(bytes), &self)),
            },
        }
    }
}

/// How numbers are written.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Plan {
    header: u32,
    bits: u32,
}

impl Plan {
    /// The one way to write these numbers, which are not none.
    fn of(numbers: &[u16]) -> Plan {
        let rice = Plan::rice(numbers);
        let mut bits = HEADER_BITS;
        for run in runs(numbers) {
            bits += gamma_bits(run.way) + gamma_bits(run.length);
        }
        if bits < rice.bits {
            return Plan { header: RUNS, bits };
        }
        rice
    }

    /// The cheapest parameter: the cost is convex in it, so a walk downhill finds it.
    fn rice(numbers: &[u16]) -> Plan {
        let count = numbers.len() as u32;
        let cost =
            |k: u32| HEADER_BITS + count * (k + 1) + gaps(numbers).map(|gap| gap >> k).sum::<u32>();
        let missing = gaps(numbers).sum::<u32>();
        let mut best = (missing / count).max(1).ilog2().min(MOST_LOW_BITS);
        let mut bits = cost(best);
        while best > 0 && cost(best - 1) <= bits {
            best -= 1;
            bits = cost(best);
        }
        while best < MOST_LOW_BITS && cost(best + 1) < bits {
            best += 1;
            bits = cost(best);
        }
        Plan { header: best, bits }
    }

    fn bytes(self) -> usize {
        self.bits.div_ceil(8).max(2) as usize
    }
}

/// Numbers missing before each number.
fn gaps(numbers: &[u16]) -> impl Iterator<Item = u32> + '_ {
    let mut next = 0;
    numbers.iter().map(move |number| {
        let gap = u32::from(*number) - next;
        next = u32::from(*number) + 1;
        gap
    })
}

/// Consecutive numbers. Both parts are at least 1.
struct Run {
    /// Numbers missing before it; one more before the first run, which may begin at 0.
    way: u32,
    length: u32,
}

fn runs(numbers: &[u16]) -> impl Iterator<Item = Run> + '_ {
    let mut next = 0;
    let mut first = 1;
    numbers
        .chunk_by(|a, b| u32::from(*a) + 1 == u32::from(*b))
        .map(move |run| {
            let (start, length) = (u32::from(run[0]), run.len() as u32);
            let way = start - next + first;
            next = start + length;
            first = 0;
            Run { way, length }
        })
}

fn gamma_bits(value: u32) -> u32 {
    2 * value.ilog2() + 1
}

fn write(numbers: &[u16], to: &mut Writer) {
    if numbers.is_empty() {
        return;
    }
    let plan = Plan::of(numbers);
    to.put(plan.header, HEADER_BITS);
    if plan.header == RUNS {
        for run in runs(numbers) {
            for value in [run.way, run.length] {
                to.zeros(value.ilog2());
                to.put(value, value.ilog2() + 1);
            }
        }
    } else {
        let low = plan.header;
        for gap in gaps(numbers) {
            to.zeros(gap >> low);
            to.put((1 << low) | (gap & ((1 << low) - 1)), low + 1);
        }
    }
    to.pad(plan.bytes());
}

/// The numbers that are written so, and nothing else is.
fn read(bytes: &[u8]) -> Option<Vec<u16>> {
    if bytes.len() > MOST_BYTES {
        return None;
    }
    let mut from = Reader { bytes, at: 0 };
    let header = from.take(HEADER_BITS)?;
    let mut numbers = Vec::with_capacity(bytes.len().min(SELECTION));
    let mut next = 0;
    while let Some(zeros) = from.zeros() {
        let length = if header == RUNS {
            let way = from.gamma(zeros)?;
            next += if numbers.is_empty() { way - 1 } else { way };
            let zeros = from.zeros()?;
            from.gamma(zeros)?
        } else if header <= MOST_LOW_BITS {
            next += (zeros << header) | from.take(header)?;
            1
        } else {
            return None;
        };
        let end = next + length;
        if end > u32::from(NAMELESS) || numbers.len() + length as usize > SELECTION {
            return None;
        }
        numbers.extend((next..end).map(|number| number as u16));
        next = end;
    }
    let plan = (!numbers.is_empty()).then(|| Plan::of(&numbers))?;
    (plan.header == header && plan.bytes() == bytes.len()).then_some(numbers)
}

struct Writer {
    bytes: [u8; MOST_BYTES + 4],
    length: usize,
    /// The last `held` bits of it are not among the bytes yet.
    word: u64,
    held: u32,
}

impl Writer {
    fn new() -> Self {
        Self {
            bytes: [0; MOST_BYTES + 4],
            length: 0,
            word: 0,
            held: 0,
        }
    }

    /// Appends the `width` lowest bits, at most 32; `value` has no others.
    fn put(&mut self, value: u32, width: u32) {
        self.word = (self.word << width) | u64::from(value);
        self.held += width;
        if self.held >= 32 {
            self.held -= 32;
            let whole = (self.word >> self.held) as u32;
            self.bytes[self.length..self.length + 4].copy_from_slice(&whole.to_be_bytes());
            self.length += 4;
        }
    }

    fn zeros(&mut self, mut count: u32) {
        while count > 32 {
            self.put(0, 32);
            count -= 32;
        }
        self.put(0, count);
    }

    /// Writes what is held, and zeros up to so many bytes.
    fn pad(&mut self, bytes: usize) {
        self.put(0, 32 - self.held);
        self.length = bytes;
    }

    fn finish(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    /// Bits read.
    at: u32,
}

impl Reader<'_> {
    /// The next bits at the upper end, at least [`WINDOW`] of them; zeros after the last.
    fn peek(&self) -> u64 {
        let rest = self.bytes.get(self.at as usize / 8..).unwrap_or_default();
        let window = match rest.first_chunk() {
            Some(window) => *window,
            None => {
                let mut window = [0; 8];
                window[..rest.len()].copy_from_slice(rest);
                window
            }
        };
        u64::from_be_bytes(window) << (self.at % 8)
    }

    fn end(&self) -> u32 {
        self.bytes.len() as u32 * 8
    }

    fn take(&mut self, bits: u32) -> Option<u32> {
        if bits == 0 {
            return Some(0);
        }
        let value = (self.peek() >> (64 - bits)) as u32;
        self.at += bits;
        (self.at <= self.end()).then_some(value)
    }

    /// Zeros before the next 1, which is read too; `None` when no 1 follows.
    fn zeros(&mut self) -> Option<u32> {
        let from = self.at;
        while self.at < self.end() {
            let zeros = self.peek().leading_zeros();
            if zeros < WINDOW {
                self.at += zeros + 1;
                return Some(self.at - from - 1);
            }
            self.at += WINDOW;
        }
        None
    }

    /// The rest of a gamma code after its zeros and its first one.
    fn gamma(&mut self, zeros: u32) -> Option<u32> {
        if zeros > 16 {
            return None;
        }
        Some((1 << zeros) | self.take(zeros)?)
    }
}

/// The number of a unit that was born when too many of its seat lived. No selection names it.
pub(super) const NAMELESS: u16 = u16::MAX;
const HEADER_BITS: u32 = 4;
/// The largest parameter of a Rice code.
const MOST_LOW_BITS: u32 = 12;
const RUNS: u32 = 13;
/// Bits that a peek shows at least.
const WINDOW: u32 = 57;
/// Bytes of 250 numbers up to 65,534, with parameter 8: at most 9 bits each, 256 zeros, and the header.
const MOST_BYTES: usize = 320;

#[cfg(test)]
mod tests;
