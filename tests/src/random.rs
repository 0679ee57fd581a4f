//! Seeded randomness of the harness: a stream per purpose, so that more draws for one purpose change no other.

use rand_core::Rng;
use rand_pcg::Lcg64Xsh32;
use std::time::Duration;

/// A stream of random numbers.
pub struct Stream(Lcg64Xsh32);

impl Stream {
    /// The stream of `seed` for a purpose, and for its `index`-th object.
    pub fn new(seed: u64, purpose: &str, index: u64) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("lockstep simulator stream");
        hasher.update(&seed.to_le_bytes());
        hasher.update(&index.to_le_bytes());
        hasher.update(purpose.as_bytes());
        let hash = hasher.finalize();
        let word = |at: usize| {
            let bytes = hash.as_bytes()[at..at + 8].try_into();
            u64::from_le_bytes(bytes.expect("eight bytes"))
        };
        Stream(Lcg64Xsh32::new(word(0), word(8)))
    }

    /// A number below `bound`.
    ///
    /// # Panics
    /// If `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "there is no number below 0");
        self.0.next_u64() % bound
    }

    /// A number in `low..=high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True with a probability of `parts` in a thousand.
    pub fn chance(&mut self, parts: u32) -> bool {
        self.below(1_000) < u64::from(parts)
    }

    /// A duration of `low..=high` milliseconds, finer than a millisecond.
    pub fn millis(&mut self, low: u64, high: u64) -> Duration {
        Duration::from_micros(self.between(low * 1_000, high * 1_000))
    }

    /// One of `choices`.
    ///
    /// # Panics
    /// If there are none.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// Random bytes.
    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.fill_bytes(&mut bytes);
        bytes
    }

    /// `count` random bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.0.fill_bytes(&mut bytes);
        bytes
    }
}
