//! Flat columns as little-endian bytes, at the speed of a copy.

use crate::serde_state::{decode, encode};
use crate::{LoadError, Num};
use bytemuck::Pod;
use serde::{Serialize, de::DeserializeOwned};

/// A number of fixed width that columns are made of. Never `usize`, whose width differs.
pub trait Scalar: Pod + sealed::Little {}

/// Where a world's bytes go: a `Vec<u8>` for [`save`](crate::State::save), a [`Sum`](crate::Sum) for
/// [`checksum`](crate::State::checksum).
pub trait Sink {
    /// Takes bytes as they are.
    fn bytes(&mut self, bytes: &[u8]);

    /// Takes one number, little-endian.
    fn value<T: Scalar>(&mut self, value: T) {
        self.bytes(bytemuck::bytes_of(&value.little()));
    }

    /// Takes a column's numbers, little-endian, without their count: columns of one table share it.
    fn column<T: Scalar>(&mut self, column: &[T]) {
        write_column(self, column);
    }

    /// Takes a column that is not stored as such: a field of ids, of angles, of flags.
    fn column_of<T: Scalar>(&mut self, values: impl IntoIterator<Item = T>) {
        let mut buffer = [T::zeroed(); 256];
        let mut used = 0;
        for value in values {
            buffer[used] = value.little();
            used += 1;
            if used == buffer.len() {
                self.bytes(bytemuck::cast_slice(&buffer));
                used = 0;
            }
        }
        self.bytes(bytemuck::cast_slice(&buffer[..used]));
    }

    /// Takes what is small and not flat, as postcard writes it.
    ///
    /// # Panics
    /// For types that postcard cannot write: sequences that do not know their length, as
    /// `#[serde(flatten)]` makes.
    fn serde<T: Serialize + ?Sized>(&mut self, value: &T) {
        encode(value, |bytes| self.bytes(bytes));
    }

    /// What follows belongs to this table of the world. Adds no bytes: only a [`Digest`](crate::Digest)
    /// keeps it.
    fn section(&mut self, _name: &'static str) {}

    /// What follows is this field, or column, of the section. Adds no bytes.
    fn field(&mut self, _name: &'static str) {}
}

/// A column's numbers as little-endian bytes.
pub(crate) fn write_column<T: Scalar>(to: &mut (impl Sink + ?Sized), column: &[T]) {
    if cfg!(target_endian = "little") {
        to.bytes(bytemuck::cast_slice(column));
    } else {
        to.column_of(column.iter().copied());
    }
}

impl Sink for Vec<u8> {
    fn bytes(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Reads what a [`Sink`] took, never beyond its end and never more memory than there are bytes for.
///
/// ```
/// use sim::{Reader, Sink};
/// let mut bytes = Vec::new();
/// bytes.value(2_u32);
/// bytes.column(&[7_i16, -7]);
///
/// let mut reader = Reader::new(&bytes);
/// let count = reader.value::<u32>()?;
/// assert_eq!(reader.column::<i16>(count)?, [7, -7]);
/// reader.finish()?;
/// # Ok::<(), sim::LoadError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// At the beginning of the bytes.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next `count` bytes as they are.
    ///
    /// # Errors
    /// When fewer are left.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], LoadError> {
        let rest = &self.bytes[self.at..];
        let taken = rest.get(..count).ok_or(LoadError {
            what: "it ends too early",
            at: self.at,
        })?;
        self.at += count;
        Ok(taken)
    }

    /// The next number.
    ///
    /// # Errors
    /// When too few bytes are left.
    pub fn value<T: Scalar>(&mut self) -> Result<T, LoadError> {
        let bytes = self.bytes(size_of::<T>())?;
        Ok(bytemuck::pod_read_unaligned::<T>(bytes).little())
    }

    /// The next column, of `count` numbers.
    ///
    /// # Errors
    /// When too few bytes are left. Nothing is allocated then.
    pub fn column<T: Scalar>(&mut self, count: u32) -> Result<Vec<T>, LoadError> {
        let size = (count as usize).saturating_mul(size_of::<T>());
        let mut column: Vec<T> = bytemuck::pod_collect_to_vec(self.bytes(size)?);
        if cfg!(target_endian = "big") {
            for value in &mut column {
                *value = value.little();
            }
        }
        Ok(column)
    }

    /// The next value that [`Sink::serde`] took.
    ///
    /// # Errors
    /// For bytes that it never writes.
    pub fn serde<T: Serialize + DeserializeOwned>(&mut self) -> Result<T, LoadError> {
        let (value, used) = decode(&self.bytes[self.at..]).map_err(|error| LoadError {
            what: error.what,
            at: self.at.saturating_add(error.at),
        })?;
        self.at += used;
        Ok(value)
    }

    /// Checks what was just read.
    ///
    /// # Errors
    /// [`fail`](Self::fail) with `what` unless `good`.
    pub const fn require(&self, good: bool, what: &'static str) -> Result<(), LoadError> {
        if good { Ok(()) } else { Err(self.fail(what)) }
    }

    /// An error about what was just read.
    #[must_use]
    pub const fn fail(&self, what: &'static str) -> LoadError {
        LoadError { what, at: self.at }
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// When bytes are left over.
    pub const fn finish(self) -> Result<(), LoadError> {
        if self.at == self.bytes.len() {
            Ok(())
        } else {
            Err(self.fail("bytes are left over"))
        }
    }
}

mod sealed {
    pub trait Little {
        /// Swaps the bytes where numbers are big-endian.
        fn little(self) -> Self;
    }
}

macro_rules! scalars {
    ($($number:ty),*) => {$(
        impl Scalar for $number {}
        impl sealed::Little for $number {
            fn little(self) -> Self {
                self.to_le()
            }
        }
    )*};
}

scalars!(u8, i8, u16, i16, u32, i32, u64, i64, u128, i128);

impl Scalar for Num {}
impl sealed::Little for Num {
    fn little(self) -> Self {
        Self::from_bits(self.to_bits().to_le())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bytes_are_little_endian_everywhere() {
        let mut bytes = Vec::new();
        bytes.value(0x0102_u16);
        bytes.column(&[Num::ONE, Num::NEG_ONE]);
        bytes.column_of((0..3).map(|n| n + 0x10_20_u16));
        let expected = [
            2, 1, 0, 0, 1, 0, 0, 0, 255, 255, 0x20, 0x10, 0x21, 0x10, 0x22, 0x10,
        ];
        assert_eq!(bytes, expected);
    }

    proptest! {
        #[test]
        fn columns_come_back(a: Vec<i64>, b: Vec<u16>, text: String) {
            let mut bytes = vec![0];
            bytes.column(&a);
            bytes.serde(&text);
            bytes.column_of(b.iter().copied());
            let mut reader = Reader::new(&bytes[1..]);
            prop_assert_eq!(reader.column::<i64>(a.len() as u32).unwrap(), a);
            prop_assert_eq!(reader.serde::<String>().unwrap(), text);
            prop_assert_eq!(reader.column::<u16>(b.len() as u32).unwrap(), b);
            prop_assert!(reader.finish().is_ok());
        }

        #[test]
        fn any_bytes_load_or_fail(bytes: Vec<u8>, count: u32, wide: bool) {
            let mut reader = Reader::new(&bytes);
            let small = count % 9;
            let read = if wide { reader.column::<u64>(count).map(drop) } else { reader.column::<u8>(small).map(drop) };
            let size = if wide { u64::from(count) * 8 } else { u64::from(small) };
            prop_assert_eq!(read.is_ok(), size <= bytes.len() as u64);
            if let Ok(values) = reader.serde::<Vec<u32>>() {
                let mut again = Vec::new();
                again.serde(&values);
                prop_assert!(bytes.windows(again.len()).any(|window| window == again));
            }
            let _ = (reader.value::<i128>(), reader.finish());
        }
    }
}
