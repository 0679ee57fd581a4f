//! Checksums without building the bytes first.

use crate::{Checksum, Sink};

/// Takes a world's bytes and becomes their [`Checksum`]. A world that writes itself to a [`Sink`] uses
/// one function for `save` and `checksum`, so that they cannot disagree.
///
/// ```
/// use sim::{Sink, Sum};
/// fn write(health: &[u16], to: &mut impl Sink) {
///     to.value(health.len() as u32);
///     to.column(health);
/// }
/// let mut bytes = Vec::new();
/// write(&[10, 20], &mut bytes);
/// let mut sum = Sum::new();
/// write(&[10, 20], &mut sum);
/// assert_eq!(sum.checksum(), sim::Checksum::of(&bytes));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Sum(crc32fast::Hasher);

impl Sum {
    /// The sum of no bytes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The checksum of all bytes so far.
    #[must_use]
    pub fn checksum(self) -> Checksum {
        Checksum(self.0.finalize())
    }
}

impl Sink for Sum {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_check_value() {
        assert_eq!(Checksum::of(b"123456789"), Checksum(0xcbf4_3926));
        let mut sum = Sum::new();
        sum.bytes(b"1234");
        sum.bytes(b"56789");
        assert_eq!(sum.checksum(), Checksum(0xcbf4_3926));
    }
}
