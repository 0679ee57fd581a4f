//! The tree of hashes that says where two worlds differ, without sending a world.

use crate::{Checksum, Scalar, Sink};
use std::ops::Range;

/// World → section → field → chunk: equal parts have equal hashes, so two peers that exchange digests
/// find the [`Spot`] in which their worlds differ, and then need to exchange only that chunk's bytes.
///
/// It covers exactly the bytes that the [`Checksum`] covers, and costs little more to compute. Compute it
/// when a checksum differs, not in every turn. Like the checksum it finds accidents, not lies.
///
/// ```
/// use sim::{Digest, Digester, Sink};
/// fn write(x: &[i32], health: &[u16], to: &mut impl Sink) {
///     to.section("units");
///     to.field("x");
///     to.column(x);
///     to.field("health");
///     to.column(health);
/// }
/// let digest = |x: &[i32], health: &[u16]| -> Digest {
///     let mut digester = Digester::new();
///     write(x, health, &mut digester);
///     digester.finish()
/// };
/// let x = vec![7; 20_000];
/// let mut health = vec![40; 20_000];
/// let ours = digest(&x, &health);
/// health[9_000] = 39;
/// let theirs = digest(&x, &health);
/// let spot = ours.difference(&theirs).unwrap();
/// assert_eq!((spot.section, spot.field), ("units", "health"));
/// assert!(spot.rows.contains(&9_000));
/// assert_eq!(spot.to_string(), "units.health, rows 8192 to 16383");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    root: u64,
    sections: Vec<DigestSection>,
}

/// A table of the world, or whatever else it calls a section.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DigestSection {
    /// Its name; empty for what a world writes before it names anything.
    pub name: &'static str,
    /// The hash over its fields' hashes.
    pub hash: u64,
    /// In the order in which the world writes them.
    pub fields: Vec<DigestField>,
}

/// A field of a section: a column, or whatever lies between two names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DigestField {
    /// Its name; empty for what a section writes before it names a field.
    pub name: &'static str,
    /// The hash over its chunks' hashes.
    pub hash: u64,
    /// Bytes of one row. 0: it is not one column.
    pub width: u32,
    /// Offset of its first byte in what [`State::save`](crate::State::save) writes.
    pub at: u64,
    /// Length in bytes.
    pub len: u64,
    /// CRC-32 of each [`CHUNK`](Digest::CHUNK) bytes.
    pub chunks: Vec<u32>,
}

/// Where two worlds differ, as far as digests tell.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spot {
    /// The section.
    pub section: &'static str,
    /// The field of the section.
    pub field: &'static str,
    /// Rows of the column among which the difference lies. Empty where it is not one column.
    pub rows: Range<u64>,
    /// The same, as a range of the world's bytes.
    pub bytes: Range<u64>,
}

impl std::fmt::Display for Spot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let section = if self.section.is_empty() {
            "world"
        } else {
            self.section
        };
        f.write_str(section)?;
        if !self.field.is_empty() {
            write!(f, ".{}", self.field)?;
        }
        if self.rows.is_empty() {
            let end = self.bytes.end.saturating_sub(1);
            write!(f, ", bytes {} to {end}", self.bytes.start)
        } else {
            write!(f, ", rows {} to {}", self.rows.start, self.rows.end - 1)
        }
    }
}

impl Digest {
    /// Bytes that one leaf covers: 4,096 rows of a column of 32 bits.
    pub const CHUNK: u64 = 16 << 10;

    /// The digest of bytes without names.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let mut digester = Digester::new();
        digester.bytes(bytes);
        digester.finish()
    }

    /// The hash over everything.
    #[must_use]
    pub fn root(&self) -> u64 {
        self.root
    }

    /// The sections, in the order in which the world writes them.
    #[must_use]
    pub fn sections(&self) -> &[DigestSection] {
        &self.sections
    }

    /// The checksum of the digested bytes.
    #[must_use]
    pub fn checksum(&self) -> Checksum {
        let mut sum = crc32fast::Hasher::new();
        for field in self.sections.iter().flat_map(|section| &section.fields) {
            for (number, chunk) in (0..).zip(&field.chunks) {
                let len = (field.len - number * Self::CHUNK).min(Self::CHUNK);
                sum.combine(&crc32fast::Hasher::new_with_initial_len(*chunk, len));
            }
        }
        Checksum(sum.finalize())
    }

    /// The first spot in which the digests differ. Where sections, fields or lengths differ already, the spot
    /// is the whole first such field.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<Spot> {
        if self == other {
            return None;
        }
        let (ours, theirs) = (self.fields(), other.fields());
        let place = ours.iter().zip(&theirs).position(|(a, b)| a != b);
        let shorter = ours.len().min(theirs.len());
        let at = place.unwrap_or(shorter);
        let (section, field) = *ours.get(at).or(theirs.get(at))?;
        let whole = Spot {
            section,
            field: field.name,
            rows: 0..field.rows(),
            bytes: field.at..field.at + field.len,
        };
        let Some((_, their)) = theirs.get(at).filter(|(name, their)| {
            *name == section
                && (their.name, their.width, their.len) == (field.name, field.width, field.len)
        }) else {
            return Some(whole);
        };
        let chunk = field
            .chunks
            .iter()
            .zip(&their.chunks)
            .position(|(a, b)| a != b);
        let Some(chunk) = chunk else {
            return Some(whole);
        };
        let from = chunk as u64 * Self::CHUNK;
        let to = (from + Self::CHUNK).min(field.len);
        let rows = match u64::from(field.width) {
            0 => 0..0,
            width => from / width..to.div_ceil(width),
        };
        Some(Spot {
            rows,
            bytes: field.at + from..field.at + to,
            ..whole
        })
    }

    fn fields(&self) -> Vec<(&'static str, &DigestField)> {
        let of = |section: &'_ DigestSection| section.name;
        self.sections
            .iter()
            .flat_map(|section| section.fields.iter().map(move |field| (of(section), field)))
            .collect()
    }
}

impl DigestField {
    fn rows(&self) -> u64 {
        self.len.checked_div(u64::from(self.width)).unwrap_or(0)
    }
}

/// Takes a world's bytes, with the names of their parts, and becomes their [`Digest`].
#[derive(Debug)]
pub struct Digester {
    sections: Vec<DigestSection>,
    field: DigestField,
    /// The checksum of the chunk in progress, `filled` bytes long.
    open: crc32fast::Hasher,
    filled: u64,
}

impl Default for Digester {
    fn default() -> Self {
        Self::new()
    }
}

impl Digester {
    /// The digest of no bytes.
    #[must_use]
    pub fn new() -> Self {
        Self {
            sections: vec![DigestSection::begin("")],
            field: DigestField::begin("", 0),
            open: crc32fast::Hasher::new(),
            filled: 0,
        }
    }

    /// The digest of all bytes so far.
    #[must_use]
    pub fn finish(mut self) -> Digest {
        self.close_field("");
        let mut sections = self.sections;
        sections.retain(|section| !section.fields.is_empty());
        for section in &mut sections {
            let fields = section.fields.iter().map(|field| field.hash);
            section.hash = hash(section.name, fields);
        }
        let root = hash("", sections.iter().map(|section| section.hash));
        Digest { root, sections }
    }

    fn close_field(&mut self, next: &'static str) {
        self.close_chunk();
        let at = self.field.at + self.field.len;
        let mut field = std::mem::replace(&mut self.field, DigestField::begin(next, at));
        if field.len == 0 {
            return;
        }
        let shape = [u64::from(field.width), field.len];
        let chunks = field.chunks.iter().map(|chunk| u64::from(*chunk));
        field.hash = hash(field.name, shape.into_iter().chain(chunks));
        if let Some(section) = self.sections.last_mut() {
            section.fields.push(field);
        }
    }

    fn close_chunk(&mut self) {
        if self.filled > 0 {
            let open = std::mem::take(&mut self.open);
            self.field.chunks.push(open.finalize());
            self.filled = 0;
        }
    }
}

impl Sink for Digester {
    fn bytes(&mut self, bytes: &[u8]) {
        self.field.width = 0;
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = (Digest::CHUNK - self.filled) as usize;
            let (now, later) = rest.split_at(room.min(rest.len()));
            if now.len() as u64 == Digest::CHUNK {
                self.field.chunks.push(crc32fast::hash(now));
            } else {
                self.open.update(now);
                self.filled += now.len() as u64;
                if self.filled == Digest::CHUNK {
                    self.close_chunk();
                }
            }
            rest = later;
        }
        self.field.len += bytes.len() as u64;
    }

    fn column<T: Scalar>(&mut self, column: &[T]) {
        // A column may come in pieces. Two columns of different numbers under one name have no rows.
        let width = size_of::<T>() as u32;
        let goes_on = self.field.len == 0 || self.field.width == width;
        crate::columns::write_column(self, column);
        self.field.width = if goes_on { width } else { 0 };
    }

    fn section(&mut self, name: &'static str) {
        self.close_field("");
        self.sections.push(DigestSection::begin(name));
    }

    fn field(&mut self, name: &'static str) {
        self.close_field(name);
    }
}

impl DigestSection {
    fn begin(name: &'static str) -> Self {
        Self {
            name,
            hash: 0,
            fields: Vec::new(),
        }
    }
}

impl DigestField {
    fn begin(name: &'static str, at: u64) -> Self {
        Self {
            name,
            hash: 0,
            width: 0,
            at,
            len: 0,
            chunks: Vec::new(),
        }
    }
}

/// A 64-bit hash of a name and numbers, by the finaliser of Sebastiano Vigna's SplitMix64.
fn hash(name: &str, numbers: impl Iterator<Item = u64>) -> u64 {
    let letters = name.bytes().map(u64::from);
    let end_of_name = std::iter::once(u64::MAX);
    let all = letters.chain(end_of_name).chain(numbers);
    all.fold(0x9e37_79b9_7f4a_7c15, |sum, number| {
        let mut x = (sum ^ number).wrapping_add(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    struct World {
        tick: u32,
        x: Vec<i32>,
        health: Vec<u16>,
        notes: Vec<u8>,
    }

    impl World {
        fn write(&self, to: &mut impl Sink) {
            to.value(self.tick);
            to.section("units");
            to.value(self.x.len() as u32);
            to.field("x");
            to.column(&self.x);
            to.field("health");
            to.column_of(self.health.iter().copied());
            to.section("notes");
            to.bytes(&self.notes);
        }

        fn digest(&self) -> Digest {
            let mut digester = Digester::new();
            self.write(&mut digester);
            digester.finish()
        }

        fn bytes(&self) -> Vec<u8> {
            let mut bytes = Vec::new();
            self.write(&mut bytes);
            bytes
        }
    }

    fn world(units: usize) -> World {
        World {
            tick: 9,
            x: (0..units as i32).collect(),
            health: vec![40; units],
            notes: vec![1; units * 3],
        }
    }

    #[test]
    fn names_the_column_and_its_rows() {
        let ours = world(50_000);
        let mut theirs = ours.clone();
        theirs.x[49_999] = 0;
        let spot = ours.digest().difference(&theirs.digest()).unwrap();
        assert_eq!((spot.section, spot.field), ("units", "x"));
        assert_eq!(spot.rows, 49_152..50_000);
        let bytes = spot.bytes.start as usize..spot.bytes.end as usize;
        assert_ne!(ours.bytes()[bytes.clone()], theirs.bytes()[bytes]);

        theirs = ours.clone();
        theirs.health.pop();
        let spot = ours.digest().difference(&theirs.digest()).unwrap();
        assert_eq!((spot.section, spot.field), ("units", "health"));

        theirs = ours.clone();
        theirs.notes[20_000] = 0;
        let spot = ours.digest().difference(&theirs.digest()).unwrap();
        assert_eq!(spot.section, "notes");
        assert!(spot.rows.is_empty());
        assert_eq!(
            spot.to_string(),
            format!(
                "notes, bytes {} to {}",
                spot.bytes.start,
                spot.bytes.end - 1
            )
        );
    }

    #[test]
    fn nothing_and_something() {
        let nothing = Digest::of(&[]);
        assert_eq!(nothing.checksum(), Checksum::of(&[]));
        assert_eq!(nothing.difference(&nothing), None);
        let spot = nothing.difference(&Digest::of(&[1])).unwrap();
        assert_eq!(spot.bytes, 0..1);
        assert_eq!(spot.to_string(), "world, bytes 0 to 0");
    }

    proptest! {
        #[test]
        fn covers_what_the_checksum_covers(units in 0_usize..9_000, pieces in prop::collection::vec(any::<u16>(), 0..6)) {
            let world = world(units);
            let bytes = world.bytes();
            prop_assert_eq!(world.digest().checksum(), Checksum::of(&bytes));
            // The split into pieces does not change the digest.
            let mut digester = Digester::new();
            let mut rest = &bytes[..];
            for piece in pieces {
                let (now, later) = rest.split_at(usize::from(piece).min(rest.len()));
                digester.bytes(now);
                rest = later;
            }
            digester.bytes(rest);
            prop_assert_eq!(digester.finish(), Digest::of(&bytes));
        }

        #[test]
        fn finds_every_changed_byte(units in 1_usize..9_000, place: u32, bit in 0_u8..8) {
            let mut bytes = world(units).bytes();
            let before = Digest::of(&bytes);
            let place = place as usize % bytes.len();
            bytes[place] ^= 1 << bit;
            let spot = before.difference(&Digest::of(&bytes)).expect("a difference");
            prop_assert!(spot.bytes.contains(&(place as u64)));
        }
    }
}
