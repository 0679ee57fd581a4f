//! What [`state_by_serde!`](crate::state_by_serde) stands on: serde's data model as bytes and as a
//! description. Usable piece by piece from a hand-written [`State`](crate::State).

mod bounded;
mod describe;
mod tree;

use crate::LoadError;
use bounded::Bounds;
use serde::{Serialize, de::DeserializeOwned};
use std::cell::Cell;

pub use describe::visit;

/// Implements [`State`](crate::State) for types with serde's derives, or for several at once.
///
/// The fields of the outermost struct become sections; the elements of a sequence, array or map become
/// rows; what is inside a row becomes fields, with dotted paths.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use sim::State;
///
/// #[derive(Serialize, Deserialize)]
/// struct World {
///     tick: u32,
///     health: Vec<u16>,
/// }
/// sim::state_by_serde!(World);
///
/// let mut bytes = Vec::new();
/// World { tick: 3, health: vec![100, 80] }.save(&mut bytes);
/// assert_eq!(World::load(&bytes)?.health, [100, 80]);
/// bytes.push(0);
/// assert!(World::load(&bytes).is_err());
/// # Ok::<(), sim::LoadError>(())
/// ```
#[macro_export]
macro_rules! state_by_serde {
    ($($world:ty),+ $(,)?) => {$(
        impl $crate::State for $world {
            fn save(&self, out: &mut ::std::vec::Vec<u8>) {
                $crate::serde_state::save(self, out);
            }

            fn load(bytes: &[u8]) -> ::std::result::Result<Self, $crate::LoadError> {
                $crate::serde_state::load(bytes)
            }

            fn visit(&self, to: &mut dyn $crate::Visit) {
                $crate::serde_state::visit(self, to);
            }
        }
    )+};
}

/// Appends the value as postcard writes it.
///
/// # Panics
/// For types that postcard cannot write: sequences that do not know their length, as
/// `#[serde(flatten)]` makes.
pub fn save<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) {
    encode(value, |bytes| out.extend_from_slice(bytes));
}

/// The value that [`save`] wrote. Memory stays within a small multiple of the input, whatever the bytes hold.
///
/// # Errors
/// For bytes that [`save`] never writes: bytes left over, numbers written longer than needed, maps out
/// of order. Also beyond two limits that honest worlds stay below: 128 values nested in each other, and
/// 1,024 + 8 per byte elements of sequences that themselves take no bytes.
pub fn load<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Result<T, LoadError> {
    let (value, used) = decode(bytes)?;
    if used == bytes.len() {
        Ok(value)
    } else {
        Err(LoadError {
            what: "bytes are left over",
            at: used,
        })
    }
}

/// Hands the value's bytes on, piece by piece.
pub(crate) fn encode<T: Serialize + ?Sized>(value: &T, to: impl FnMut(&[u8])) {
    postcard::serialize_with_flavor(value, Pieces(to))
        .expect("the world consists of types that postcard can write");
}

/// Reads a value from the front of the bytes, and says how many of them it took.
pub(crate) fn decode<T: Serialize + DeserializeOwned>(
    bytes: &[u8],
) -> Result<(T, usize), LoadError> {
    let used = Cell::new(0);
    let bounds = Bounds::new(bytes.len());
    let mut inner = postcard::Deserializer::from_flavor(Cursor { bytes, used: &used });
    let value = bounds.read::<T, _>(&mut inner).map_err(|error| LoadError {
        what: bounds.broken().unwrap_or_else(|| reason(error)),
        at: used.get(),
    })?;
    let used = used.get();
    let mut expected = &bytes[..used];
    let mut equal = true;
    encode(&value, |piece| match expected.strip_prefix(piece) {
        Some(rest) => expected = rest,
        None => equal = false,
    });
    if equal && expected.is_empty() {
        Ok((value, used))
    } else {
        Err(LoadError {
            what: "it is not written the way it would be saved",
            at: used - expected.len(),
        })
    }
}

struct Pieces<F>(F);

impl<F: FnMut(&[u8])> postcard::ser_flavors::Flavor for Pieces<F> {
    type Output = ();

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        (self.0)(bytes);
        Ok(())
    }

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        (self.0)(&[byte]);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// A reader that still tells its position after a failure.
struct Cursor<'a> {
    bytes: &'a [u8],
    used: &'a Cell<usize>,
}

impl<'a> postcard::de_flavors::Flavor<'a> for Cursor<'a> {
    type Remainder = ();
    type Source = &'a [u8];

    fn pop(&mut self) -> postcard::Result<u8> {
        Ok(self.try_take_n(1)?[0])
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.bytes.len() - self.used.get())
    }

    fn try_take_n(&mut self, count: usize) -> postcard::Result<&'a [u8]> {
        let rest = &self.bytes[self.used.get()..];
        let taken = rest
            .get(..count)
            .ok_or(postcard::Error::DeserializeUnexpectedEnd)?;
        self.used.set(self.used.get() + count);
        Ok(taken)
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

const fn reason(error: postcard::Error) -> &'static str {
    use postcard::Error as E;
    match error {
        E::DeserializeUnexpectedEnd => "it ends too early",
        E::DeserializeBadVarint => "a number is out of range",
        E::DeserializeBadBool => "a truth value is neither 0 nor 1",
        E::DeserializeBadChar => "a character is not valid",
        E::DeserializeBadUtf8 => "a text is not UTF-8",
        E::DeserializeBadOption => "an option is neither absent nor present",
        E::WontImplement | E::NotYetImplemented => "its type cannot be read back",
        _ => "a value is outside of its range",
    }
}

#[cfg(test)]
mod tests;
