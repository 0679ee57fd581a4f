//! The trace as text: a name and a checksum per line.

use sim::{Sink, Sum};

/// Named checksums, in the order of computation.
#[derive(Clone, Debug, Default)]
pub struct Lines(String);

impl Lines {
    /// The lines as text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Adds the checksum of what `fill` writes.
    pub(crate) fn sum(&mut self, name: &str, fill: impl FnOnce(&mut Sum)) {
        let mut sum = Sum::new();
        fill(&mut sum);
        self.say(name, &sum.checksum().to_string());
    }

    pub(crate) fn say(&mut self, name: &str, value: &str) {
        self.0.push_str(name);
        self.0.push(' ');
        self.0.push_str(value);
        self.0.push('\n');
    }
}

/// Writes a text after its length, so that no two sequences of texts look alike.
pub(crate) fn put_text(sum: &mut Sum, text: &str) {
    sum.value(text.len() as u32);
    sum.bytes(text.as_bytes());
}
