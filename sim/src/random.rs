//! Named random streams that are part of the world.

use crate::serde_state::encode;
use crate::{Entry, Num, Seed};
use rand_core::Rng;
use rand_pcg::Pcg32;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// One stream of random numbers. A world keeps one per purpose as fields of its state, so that a new
/// draw in combat does not shift the weather.
///
/// The numbers are those of PCG-XSH-RR 64/32, on every machine and forever: changing them would change the
/// rules of every game. They are not secret: the seed determines them all, unless the world calls
/// [`mix`](Self::mix).
///
/// ```
/// use sim::{Seed, Stream};
/// let seed = Seed([7; 32]);
/// let mut combat = Stream::named(&seed, "combat");
/// let damage = combat.range(3..7);
/// assert!((3..7).contains(&damage));
/// assert_ne!(combat, Stream::named(&seed, "weather"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream(Pcg32);

impl Stream {
    /// The stream of this name. State and sequence are two FNV-1a hashes, from different bases, of the
    /// seed and the name, each mixed by SplitMix64.
    #[must_use]
    pub fn named(seed: &Seed, name: &str) -> Self {
        Self::hashed(&[&seed.0, name.as_bytes()])
    }

    /// One of many streams of this name: of a seat, of a region of the map.
    #[must_use]
    pub fn numbered(seed: &Seed, name: &str, number: u64) -> Self {
        Self::hashed(&[&seed.0, name.as_bytes(), &[0], &number.to_le_bytes()])
    }

    fn hashed(parts: &[&[u8]]) -> Self {
        let state = split_mix(fnv(STATE_BASIS, parts));
        let sequence = split_mix(fnv(SEQUENCE_BASIS, parts));
        Self(Pcg32::new(state, sequence))
    }

    /// Mixes a hash of a step's entries into the stream. From then on its draws depend on all entries that it
    /// was ever given. Without entries nothing changes.
    ///
    /// Call it first in every step, with all entries of that step:
    ///
    /// ```
    /// use sim::{Entry, Seat, Seed, Stream};
    /// # #[derive(Clone)]
    /// struct World {
    ///     combat: Stream,
    /// }
    ///
    /// impl World {
    ///     fn step(&mut self, entries: &[Entry<u32>]) {
    ///         self.combat.mix(entries);
    ///         // … and the rest of the step.
    ///     }
    /// }
    ///
    /// let mut world = World { combat: Stream::named(&Seed([7; 32]), "combat") };
    /// let mut guess = world.clone();
    /// guess.step(&[]);
    /// world.step(&[Entry::Command { seat: Seat(1), command: 5 }]);
    /// assert_ne!(guess.combat.next_u64(), world.combat.next_u64());
    /// ```
    ///
    /// # What this prevents
    ///
    /// Every peer holds the whole world. A changed client can step a copy of it ahead, and order an attack only
    /// when the next hits are strong. With this call the copy's draws are wrong from the first tick for which
    /// another player's commands are still missing.
    ///
    /// # What this does not prevent
    ///
    /// - Once a turn is complete, its draws follow from it, and so do later draws until the next entry. While all
    ///   other players are silent, a player can compute every draw.
    /// - A peer that seals its batch after it has read all others' batches can try commands until the draws suit it.
    /// - A player can guess: few likely commands make few likely draws.
    /// - The world hides nothing. This is no cryptographic hash, and no draw is a secret.
    ///
    /// # Panics
    /// For commands that postcard cannot write. A session carries none.
    pub fn mix<C: Serialize>(&mut self, entries: &[Entry<C>]) {
        if entries.is_empty() {
            return;
        }
        let (mut state, mut sequence) = (STATE_BASIS, SEQUENCE_BASIS);
        let mut take = |bytes: &[u8]| {
            state = fnv(state, &[bytes]);
            sequence = fnv(sequence, &[bytes]);
        };
        take(&self.next_u64().to_le_bytes());
        take(&self.next_u64().to_le_bytes());
        for entry in entries {
            match entry {
                Entry::Command { seat, command } => {
                    take(&[0, seat.0]);
                    encode(command, &mut take);
                }
                Entry::Seat { seat, state } => {
                    take(&[1, seat.0]);
                    encode(state, &mut take);
                }
            }
        }
        *self = Self(Pcg32::new(split_mix(state), split_mix(sequence)));
    }

    /// The next 32 bits.
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// The next 64 bits: two draws, the first of them low.
    pub fn next_u64(&mut self) -> u64 {
        let low = u64::from(self.next_u32());
        low | u64::from(self.next_u32()) << 32
    }

    /// A number below `n`, all equally likely. 0 for 0, without a draw.
    pub fn below(&mut self, n: u32) -> u32 {
        if n == 0 {
            return 0;
        }
        // Lemire's multiplication, with another draw for a few low products. A snapshot may hold a stuck
        // generator, so the retries end. A working one needs that many once in 2^64 calls.
        let unfair = n.wrapping_neg() % n;
        let mut product = 0;
        for _ in 0..MOST_RETRIES {
            product = u64::from(self.next_u32()) * u64::from(n);
            if product as u32 >= unfair {
                break;
            }
        }
        (product >> 32) as u32
    }

    /// A number of the range, all equally likely. Its start if the range is empty, without a draw.
    pub fn range(&mut self, range: Range<i32>) -> i32 {
        if range.is_empty() {
            return range.start;
        }
        let width = range.end.abs_diff(range.start);
        range.start.wrapping_add_unsigned(self.below(width))
    }

    /// True `numerator` times in `denominator`. Never for a denominator of 0.
    pub fn chance(&mut self, numerator: u32, denominator: u32) -> bool {
        denominator != 0 && self.below(denominator) < numerator
    }

    /// A number from `low` to `high`, both included, in steps of 1/65,536, all equally likely. `low` if
    /// `high` is below it, without a draw.
    pub fn num_between(&mut self, low: Num, high: Num) -> Num {
        if high < low {
            return low;
        }
        let width = high.to_bits().abs_diff(low.to_bits());
        let above = match width.checked_add(1) {
            Some(count) => self.below(count),
            None => self.next_u32(),
        };
        Num::from_bits(low.to_bits().wrapping_add_unsigned(above))
    }

    /// One item of the slice, all equally likely; `None` if it is empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let index = self.below(count(items.len()));
        items.get(index as usize)
    }

    /// Puts the slice into a random order, all equally likely.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(count(last + 1));
            items.swap(last, other as usize);
        }
    }
}

/// Items beyond 2^32 are never drawn.
fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

fn fnv(basis: u64, parts: &[&[u8]]) -> u64 {
    parts.iter().copied().flatten().fold(basis, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn split_mix(value: u64) -> u64 {
    let z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

const STATE_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const SEQUENCE_BASIS: u64 = !STATE_BASIS;
const MOST_RETRIES: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Seat, SeatState};
    use proptest::prelude::*;

    fn stream() -> Stream {
        Stream::named(&Seed([1; 32]), "test")
    }

    /// Computed by another implementation of the published algorithms.
    #[test]
    fn the_numbers_never_change() {
        let mut stream = stream();
        let bits: Vec<u32> = (0..4).map(|_| stream.next_u32()).collect();
        assert_eq!(bits, [0xe1a2281e, 0x0b78219d, 0x75ee1586, 0x6359f655]);
        let dice: Vec<i32> = (0..12).map(|_| stream.range(1..7)).collect();
        assert_eq!(dice, [3, 6, 2, 4, 5, 5, 1, 5, 3, 6, 3, 6]);
        let mut items = [0, 1, 2, 3, 4, 5, 6, 7];
        stream.shuffle(&mut items);
        assert_eq!(items, [3, 5, 6, 2, 4, 7, 0, 1]);
        let mut ninth = Stream::numbered(&Seed([1; 32]), "test", 9);
        assert_eq!(ninth.next_u64(), 0x0549933cd232f6ea);
    }

    fn command(seat: u8, command: u32) -> Entry<u32> {
        let seat = Seat(seat);
        Entry::Command { seat, command }
    }

    /// Computed by another implementation as well.
    #[test]
    fn mixed_numbers_never_change() {
        let mut stream = stream();
        let (seat, state) = (Seat(2), SeatState::Resigned);
        stream.mix(&[command(1, 300), Entry::Seat { seat, state }]);
        let bits: Vec<u32> = (0..4).map(|_| stream.next_u32()).collect();
        assert_eq!(bits, [0x37bdcc83, 0x5394433e, 0x187ee480, 0xa46114f2]);
    }

    /// A player knows the world and its own commands, and computes whether a blow hits in two turns.
    #[test]
    fn a_prediction_without_the_others_commands_fails() {
        let mut others = Stream::named(&Seed([2; 32]), "others");
        let mut world = stream();
        let mut right = [0; 2];
        for turn in 0..1_000 {
            let own = command(0, turn);
            let other = command(1, others.below(1 << 20));
            let mut without = world.clone();
            without.mix(std::slice::from_ref(&own));
            let mut with = world.clone();
            with.mix(&[own.clone(), other.clone()]);
            world.mix(&[own, other]);
            let hits = world.chance(1, 2);
            right[0] += i32::from(without.chance(1, 2) == hits);
            right[1] += i32::from(with.chance(1, 2) == hits);
        }
        // Ten standard deviations are 158.
        assert!(right[0].abs_diff(500) < 158, "{right:?}");
        assert_eq!(right[1], 1_000);
    }

    #[test]
    fn each_part_of_an_entry_changes_the_draws() {
        let draw = |entries: &[Entry<u32>]| {
            let mut stream = stream();
            stream.mix(entries);
            stream.next_u64()
        };
        let seat = |seat, state| Entry::Seat {
            seat: Seat(seat),
            state,
        };
        let draws = [
            draw(&[]),
            draw(&[command(0, 7)]),
            draw(&[command(0, 8)]),
            draw(&[command(1, 7)]),
            draw(&[command(0, 7), command(1, 7)]),
            draw(&[command(1, 7), command(0, 7)]),
            draw(&[seat(0, SeatState::Idle)]),
            draw(&[seat(0, SeatState::Ai)]),
            draw(&[seat(1, SeatState::Ai)]),
        ];
        for (number, one) in draws.iter().enumerate() {
            assert!(!draws[..number].contains(one), "number {number}");
        }
    }

    #[test]
    fn draws_depend_on_entries_of_all_steps_before() {
        let [mut one, mut other] = [7, 8].map(|first| {
            let mut stream = stream();
            stream.mix(&[command(0, first)]);
            stream
        });
        for step in 0..100 {
            assert_ne!(one.next_u64(), other.next_u64(), "step {step}");
            one.mix(&[command(0, step)]);
            other.mix(&[command(0, step)]);
        }
        let saved = one.clone();
        one.mix::<u32>(&[]);
        assert_eq!(one, saved);
    }

    #[test]
    fn a_stuck_generator_still_answers() {
        let mut stuck: Stream = postcard::from_bytes(&[0, 0]).unwrap();
        assert_eq!(stuck.next_u32(), stuck.next_u32());
        assert!(stuck.below(1_000_000) < 1_000_000);
        stuck.shuffle(&mut [1, 2, 3]);
    }

    #[test]
    fn saving_continues_the_stream() {
        let mut stream = stream();
        stream.next_u32();
        let bytes = postcard::to_stdvec(&stream).unwrap();
        let mut loaded: Stream = postcard::from_bytes(&bytes).unwrap();
        assert_eq!(loaded, stream);
        assert_eq!(loaded.next_u64(), stream.next_u64());
    }

    #[test]
    fn draws_are_fair() {
        let mut stream = stream();
        let mut counts = [0_u32; 6];
        for _ in 0..60_000 {
            counts[stream.below(6) as usize] += 1;
        }
        // Ten standard deviations are 913.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 913));
        let heads = (0..10_000).filter(|_| stream.chance(1, 4)).count();
        assert!(heads.abs_diff(2_500) < 433);
    }

    #[test]
    fn every_order_of_three_comes_up() {
        let mut stream = stream();
        let mut orders = std::collections::BTreeMap::new();
        for _ in 0..6_000 {
            let mut items = [1, 2, 3];
            stream.shuffle(&mut items);
            *orders.entry(items).or_insert(0_u32) += 1;
        }
        assert_eq!(orders.len(), 6);
        assert!(orders.values().all(|count| count.abs_diff(1_000) < 289));
    }

    #[test]
    fn empty_asks_cost_no_draw() {
        let mut stream = stream();
        let before = stream.clone();
        assert_eq!(stream.below(0), 0);
        assert_eq!(stream.range(5..5), 5);
        assert_eq!(stream.num_between(Num::ONE, Num::ZERO), 1);
        assert!(!stream.chance(1, 0));
        assert_eq!(stream.pick::<u8>(&[]), None);
        assert_eq!(stream, before);
    }

    proptest! {
        #[test]
        fn draws_stay_inside(start: i32, end: i32, low: i32, high: i32) {
            let mut stream = stream();
            let drawn = stream.range(start..end);
            prop_assert!(drawn == start || (start..end).contains(&drawn));
            let (low, high) = (Num::from_bits(low), Num::from_bits(high));
            let drawn = stream.num_between(low, high);
            prop_assert!(drawn == low || (low..=high).contains(&drawn));
        }
    }
}
