//! Flat columns: one vector for each field, rows in the order of their ids.

use sim::{Field, LoadError, Num, Reader, Sink};

/// A value that fills one place of a column.
pub(super) trait Cell: Field + Copy {
    /// Appends a column.
    fn write(column: &[Self], to: &mut impl Sink);

    /// Reads a column of `rows` values. The error says `what` where bytes are no value.
    fn read(from: &mut Reader<'_>, rows: u32, what: &'static str) -> Result<Vec<Self>, LoadError>;
}

macro_rules! number_cells {
    ($($t:ty),*) => {$(
        impl Cell for $t {
            fn write(column: &[Self], to: &mut impl Sink) {
                to.column(column);
            }
            fn read(from: &mut Reader<'_>, rows: u32, _: &str) -> Result<Vec<Self>, LoadError> {
                from.column(rows)
            }
        }
    )*};
}
number_cells!(u8, u16, u32, Num);

impl<const N: usize> Cell for [u8; N] {
    fn write(column: &[Self], to: &mut impl Sink) {
        to.bytes(column.as_flattened());
    }
    fn read(from: &mut Reader<'_>, rows: u32, _: &str) -> Result<Vec<Self>, LoadError> {
        let bytes = from.bytes((rows as usize).saturating_mul(N))?;
        Ok(bytes.as_chunks().0.to_vec())
    }
}

/// An enum that is one byte in a column.
macro_rules! byte_cell {
    ($t:ty, $from:expr) => {
        impl sim::Field for $t {
            fn bytes(&self, out: &mut Vec<u8>) {
                out.push(*self as u8);
            }
            fn text(&self) -> String {
                format!("{self:?}")
            }
        }

        impl $crate::world::columns::Cell for $t {
            fn write(column: &[Self], to: &mut impl sim::Sink) {
                let mut buffer = [0; 512];
                for chunk in column.chunks(buffer.len()) {
                    for (place, value) in buffer.iter_mut().zip(chunk) {
                        *place = *value as u8;
                    }
                    to.bytes(&buffer[..chunk.len()]);
                }
            }
            fn read(
                from: &mut sim::Reader<'_>,
                rows: u32,
                what: &'static str,
            ) -> Result<Vec<Self>, sim::LoadError> {
                let values = from
                    .bytes(rows as usize)?
                    .iter()
                    .map(|number| $from(*number));
                let values: Option<Vec<Self>> = values.collect();
                values.ok_or_else(|| from.fail(what))
            }
        }
    };
}
pub(super) use byte_cell;

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

            /// Drops every row marked in `gone`, keeping the order of the others.
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

            pub fn load(from: &mut sim::Reader<'_>, rows: u32) -> Result<Self, sim::LoadError> {
                use $crate::world::columns::Cell;
                Ok(Self {
                    $( $field: <$t>::read(from, rows, concat!(stringify!($name), ".", stringify!($field)))?, )*
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
                        $( to.field(stringify!($field), &self.$field[row]); )*
                    }
                }
            }
        }
    };
}
pub(super) use columns;
