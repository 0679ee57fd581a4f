//! Flat columns: one vector for each field, rows in the order of their ids.

use serde::{Serialize, de::DeserializeOwned};
use sim::{Field, LoadError, Sink};

/// A value that fills one place of a column.
pub(super) trait Cell: Copy {
    /// Bytes of one value.
    const BYTES: usize;
    /// Writes the value, little-endian, over `to`, which is `BYTES` long.
    fn put(self, to: &mut [u8]);
    /// The value of these `BYTES` bytes, if it is one.
    fn take(from: &[u8]) -> Option<Self>;
    /// As a person reads it.
    fn text(self) -> String;

    /// Appends a column.
    fn write(column: &[Self], to: &mut impl Sink) {
        let mut buffer = [0; 512];
        for chunk in column.chunks(buffer.len() / Self::BYTES) {
            let used = chunk.len() * Self::BYTES;
            for (place, value) in buffer.chunks_exact_mut(Self::BYTES).zip(chunk) {
                value.put(place);
            }
            to.bytes(&buffer[..used]);
        }
    }
}

macro_rules! integer_cells {
    ($($t:ty),*) => {$(
        impl Cell for $t {
            const BYTES: usize = size_of::<$t>();
            fn put(self, to: &mut [u8]) {
                to.copy_from_slice(&self.to_le_bytes());
            }
            fn take(from: &[u8]) -> Option<Self> {
                Some(<$t>::from_le_bytes(from.try_into().ok()?))
            }
            fn text(self) -> String {
                self.to_string()
            }
            fn write(column: &[Self], to: &mut impl Sink) {
                to.column(column);
            }
        }
    )*};
}
integer_cells!(u8, u16, u32, u64, sim::Num);

/// An enum that is one byte in a column.
macro_rules! byte_cell {
    ($t:ty, $from:expr) => {
        impl $crate::world::columns::Cell for $t {
            const BYTES: usize = 1;
            fn put(self, to: &mut [u8]) {
                to.fill(self as u8);
            }
            fn take(from: &[u8]) -> Option<Self> {
                from.first().copied().and_then($from)
            }
            fn text(self) -> String {
                format!("{self:?}")
            }
        }
    };
}
pub(super) use byte_cell;

impl<T: Cell + Default, const N: usize> Cell for [T; N] {
    const BYTES: usize = T::BYTES * N;
    fn put(self, to: &mut [u8]) {
        for (place, value) in to.chunks_exact_mut(T::BYTES).zip(self) {
            value.put(place);
        }
    }
    fn take(from: &[u8]) -> Option<Self> {
        let mut values = [T::default(); N];
        for (value, place) in values.iter_mut().zip(from.chunks_exact(T::BYTES)) {
            *value = T::take(place)?;
        }
        Some(values)
    }
    fn text(self) -> String {
        self.map(T::text).join(" ")
    }
}

/// Lends a cell to a visitor.
pub(super) struct Shown<T>(pub T);

impl<T: Cell> Field for Shown<T> {
    fn bytes(&self, out: &mut Vec<u8>) {
        T::write(&[self.0], out);
    }
    fn text(&self) -> String {
        self.0.text()
    }
}

/// Lends a list of cells to a visitor.
pub(super) struct Listed<'a, T>(pub &'a [T]);

impl<T: Cell> Field for Listed<'_, T> {
    fn bytes(&self, out: &mut Vec<u8>) {
        T::write(self.0, out);
    }
    fn text(&self) -> String {
        let texts: Vec<String> = self.0.iter().map(|cell| cell.text()).collect();
        texts.join(" ")
    }
}

/// Reads a snapshot from front to back; errors say what was wrong.
pub(super) struct Reader<'a>(sim::Reader<'a>);

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(sim::Reader::new(bytes))
    }

    /// `Err` that `what` is wrong just before here, unless `good`.
    pub fn require(&self, good: bool, what: &'static str) -> Result<(), LoadError> {
        if good { Ok(()) } else { Err(self.fail(what)) }
    }

    /// The error that `what` is wrong just before here.
    pub fn fail(&self, what: &'static str) -> LoadError {
        self.0.fail(what)
    }

    pub fn value<T: Cell>(&mut self, what: &'static str) -> Result<T, LoadError> {
        T::take(self.0.bytes(T::BYTES)?).ok_or_else(|| self.0.fail(what))
    }

    pub fn column<T: Cell>(
        &mut self,
        rows: usize,
        what: &'static str,
    ) -> Result<Vec<T>, LoadError> {
        let bytes = self.0.bytes(rows.saturating_mul(T::BYTES))?;
        bytes
            .chunks_exact(T::BYTES)
            .map(T::take)
            .collect::<Option<_>>()
            .ok_or_else(|| self.0.fail(what))
    }

    pub fn serde<T: Serialize + DeserializeOwned>(&mut self) -> Result<T, LoadError> {
        self.0.serde()
    }

    pub fn finish(self) -> Result<(), LoadError> {
        self.0.finish()
    }
}

/// A table of columns with its row type; saving, loading and visiting included.
macro_rules! columns {
    (
        $(#[$doc:meta])* $name:ident of $row:ident {
            $( $(#[$field_doc:meta])* $field:ident: $t:ty, )*
        }
        $( derived { $( $(#[$derived_doc:meta])* $derived:ident: $derived_t:ty, )* } )?
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default)]
        pub(super) struct $name {
            $( $(#[$field_doc])* pub $field: Vec<$t>, )*
            $($( $(#[$derived_doc])* $derived: $derived_t, )*)?
        }

        /// A row, before it becomes part of the columns.
        #[derive(Clone, Copy, Debug)]
        pub(super) struct $row {
            $( pub $field: $t, )*
        }

        impl $name {
            pub fn push(&mut self, row: $row) {
                $( self.$field.push(row.$field); )*
            }

            /// Drops every row that `gone` says, keeping the order of the others.
            #[allow(dead_code, reason = "seats are never removed")]
            pub fn remove(&mut self, gone: &[bool]) {
                $(
                    let mut flags = gone.iter();
                    self.$field.retain(|_| !flags.next().copied().unwrap_or(false));
                )*
            }

            pub fn write(&self, to: &mut impl sim::Sink) {
                $(
                    to.field(stringify!($field));
                    <$t as $crate::world::columns::Cell>::write(&self.$field, to);
                )*
            }

            pub fn load(
                from: &mut $crate::world::columns::Reader<'_>,
                rows: usize,
            ) -> Result<Self, sim::LoadError> {
                Ok(Self {
                    $( $field: from.column(rows, concat!(stringify!($name), ".", stringify!($field)))?, )*
                    $($( $derived: Default::default(), )*)?
                })
            }

            /// Describes the rows as a section; `ids` names them.
            pub fn visit(&self, section: &str, ids: impl Iterator<Item = u64>, to: &mut dyn sim::Visit) {
                let rows: Vec<u64> = ids.collect();
                if !to.section(section, rows.len()) {
                    return;
                }
                for (row, id) in rows.into_iter().enumerate() {
                    if to.row(id) {
                        $( to.field(stringify!($field), &$crate::world::columns::Shown(self.$field[row])); )*
                    }
                }
            }
        }
    };
}
pub(super) use columns;
