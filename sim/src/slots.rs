//! Stable ids: the allocator alone, for worlds that keep their items in columns.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// The name of an item, never given twice: a slot, and which of the slot's items it is.
///
/// Ids order by slot, as everything that iterates does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Id {
    /// The item's row in columns and arenas.
    pub slot: u32,
    /// Counts the slot's items: odd while one lives there.
    pub generation: u32,
}

impl Id {
    /// Both numbers in one, in the same order: the slot above the generation.
    #[inline]
    #[must_use]
    pub const fn pack(self) -> u64 {
        (self.slot as u64) << 32 | self.generation as u64
    }

    /// The id that [`pack`](Self::pack) packed. Any number is some id, though perhaps of nothing.
    #[inline]
    #[must_use]
    pub const fn unpack(packed: u64) -> Self {
        Self {
            slot: (packed >> 32) as u32,
            generation: packed as u32,
        }
    }

    /// The slot as an index into columns.
    #[inline]
    #[must_use]
    pub const fn row(self) -> usize {
        self.slot as usize
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.slot, self.generation)
    }
}

/// Gives out ids and takes them back. The lowest free slot is always reused first, so equal
/// histories give equal ids.
///
/// ```
/// use sim::Slots;
/// let mut slots = Slots::new();
/// let (first, second) = (slots.insert(), slots.insert());
/// slots.remove(first);
/// let third = slots.insert();
/// assert_eq!(third.slot, first.slot);
/// assert!(!slots.contains(first));
/// assert_eq!(slots.ids().collect::<Vec<_>>(), [third, second]);
/// ```
#[derive(Clone, Debug, Default, Eq)]
pub struct Slots {
    /// One per slot: odd while an item lives there, 0 once all its generations were used up.
    generations: Vec<u32>,
    /// One bit per slot that may be reused, 64 slots to a word.
    free: Vec<u64>,
    /// No word before this one has a free slot.
    first_free_word: usize,
    live: u32,
}

impl Slots {
    /// No slots.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            generations: Vec::new(),
            free: Vec::new(),
            first_free_word: 0,
            live: 0,
        }
    }

    /// A new id, in the lowest free slot, or in a new slot after all others.
    ///
    /// # Panics
    /// When all 2^32 − 1 slots are taken.
    pub fn insert(&mut self) -> Id {
        let slot = self.take_free().unwrap_or_else(|| self.push());
        let generation = &mut self.generations[slot as usize];
        *generation += 1;
        self.live += 1;
        Id {
            slot,
            generation: *generation,
        }
    }

    /// Takes the id back. False, and nothing happens, if it is not alive.
    pub fn remove(&mut self, id: Id) -> bool {
        if !self.contains(id) {
            return false;
        }
        self.live -= 1;
        let next = id.generation.wrapping_add(1);
        self.generations[id.row()] = next;
        if next != 0 {
            self.mark_free(id.row());
        }
        true
    }

    /// Whether the id is alive.
    #[inline]
    #[must_use]
    pub fn contains(&self, id: Id) -> bool {
        id.generation % 2 == 1 && self.generations.get(id.row()) == Some(&id.generation)
    }

    /// The living id of this slot.
    #[inline]
    #[must_use]
    pub fn id_at(&self, slot: u32) -> Option<Id> {
        let generation = *self.generations.get(slot as usize)?;
        (generation % 2 == 1).then_some(Id { slot, generation })
    }

    /// The living ids, ascending.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = Id> + '_ {
        self.all().filter(|id| id.generation % 2 == 1)
    }

    /// How many ids are alive.
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.live
    }

    /// Whether no id is alive.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// How many rows columns need: one more than the highest slot ever used.
    #[must_use]
    pub fn rows(&self) -> u32 {
        self.generations.len() as u32
    }

    /// The generation of every slot: all there is to save, as one column.
    #[must_use]
    pub fn generations(&self) -> &[u32] {
        &self.generations
    }

    /// The slots that had these generations. `None` where there are more than 2^32 − 1.
    #[must_use]
    pub fn from_generations(generations: Vec<u32>) -> Option<Self> {
        let rows = generations.len();
        u32::try_from(rows).ok()?;
        let mut slots = Self {
            generations: Vec::new(),
            free: vec![0; rows.div_ceil(64)],
            first_free_word: rows.div_ceil(64),
            live: 0,
        };
        for (row, generation) in generations.iter().enumerate() {
            if generation % 2 == 1 {
                slots.live += 1;
            } else if *generation != 0 {
                slots.mark_free(row);
            }
        }
        slots.generations = generations;
        Some(slots)
    }

    /// Every slot's newest id, alive or not.
    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = Id> + ExactSizeIterator + '_ {
        self.generations
            .iter()
            .enumerate()
            .map(|(row, generation)| Id {
                slot: row as u32,
                generation: *generation,
            })
    }

    fn take_free(&mut self) -> Option<u32> {
        while let Some(word) = self.free.get_mut(self.first_free_word) {
            if *word != 0 {
                let bit = word.trailing_zeros();
                *word &= *word - 1;
                return Some(self.first_free_word as u32 * 64 + bit);
            }
            self.first_free_word += 1;
        }
        None
    }

    fn push(&mut self) -> u32 {
        let slot = self.rows();
        assert!(slot < u32::MAX, "all slots are taken");
        self.generations.push(0);
        if slot.is_multiple_of(64) {
            self.free.push(0);
            // The word just added holds no free slot, so the search may start behind it.
            self.first_free_word = self.free.len();
        }
        slot
    }

    fn mark_free(&mut self, row: usize) {
        self.free[row / 64] |= 1 << (row % 64);
        self.first_free_word = self.first_free_word.min(row / 64);
    }
}

/// The generations tell all: a loaded allocator equals the saved one, though it may search from elsewhere.
impl PartialEq for Slots {
    fn eq(&self, other: &Self) -> bool {
        self.generations == other.generations
    }
}

impl Serialize for Slots {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.generations.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Slots {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let generations = Vec::deserialize(deserializer)?;
        Self::from_generations(generations).ok_or_else(|| D::Error::custom("too many slots"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_used_up_slot_is_retired() {
        let mut slots = Slots::from_generations(vec![u32::MAX - 1]).unwrap();
        let last = slots.insert();
        assert_eq!(last.generation, u32::MAX);
        assert!(slots.remove(last));
        assert_eq!(
            slots.insert(),
            Id {
                slot: 1,
                generation: 1
            }
        );
        let loaded = Slots::from_generations(slots.generations().to_vec()).unwrap();
        assert_eq!(loaded.id_at(0), None);
        assert_eq!(loaded.clone().insert().slot, 2);
    }

    #[test]
    fn packing_keeps_the_order() {
        let low = Id {
            slot: 1,
            generation: u32::MAX,
        };
        let high = Id {
            slot: 2,
            generation: 1,
        };
        assert!(low < high && low.pack() < high.pack());
        assert_eq!(Id::unpack(low.pack()), low);
    }

    #[test]
    fn foreign_ids_are_not_alive() {
        let mut slots = Slots::new();
        slots.insert();
        for id in [
            Id {
                slot: 0,
                generation: 0,
            },
            Id {
                slot: 9,
                generation: 1,
            },
            Id {
                slot: 0,
                generation: 2,
            },
        ] {
            assert!(!slots.contains(id));
            assert!(!slots.remove(id));
        }
    }

    /// What the allocator promises, done the slow way.
    #[derive(Default)]
    struct Model {
        generations: Vec<u32>,
        live: BTreeMap<u32, u32>,
    }

    impl Model {
        fn insert(&mut self) -> Id {
            let free = (0..).find(|slot| !self.live.contains_key(slot)).unwrap();
            if free as usize == self.generations.len() {
                self.generations.push(0);
            }
            let generation = self.generations[free as usize] + 1;
            self.generations[free as usize] = generation;
            self.live.insert(free, generation);
            Id {
                slot: free,
                generation,
            }
        }

        fn remove(&mut self, id: Id) {
            self.live.remove(&id.slot);
            self.generations[id.row()] += 1;
        }
    }

    proptest! {
        #[test]
        fn behaves_like_the_model(steps in prop::collection::vec((0..5_u8, any::<prop::sample::Index>()), 0..600)) {
            let mut slots = Slots::new();
            let mut model = Model::default();
            for (kind, which) in steps {
                let ids: Vec<Id> = slots.ids().collect();
                if kind < 3 || ids.is_empty() {
                    prop_assert_eq!(slots.insert(), model.insert());
                } else if kind == 3 {
                    let id = ids[which.index(ids.len())];
                    prop_assert!(slots.remove(id));
                    prop_assert!(!slots.remove(id));
                    model.remove(id);
                } else {
                    let bytes = postcard::to_stdvec(&slots).unwrap();
                    let loaded = postcard::from_bytes(&bytes).unwrap();
                    prop_assert_eq!(&slots, &loaded);
                    slots = loaded;
                }
                let expected: Vec<Id> = model.live.iter().map(|(&slot, &generation)| Id { slot, generation }).collect();
                prop_assert_eq!(slots.ids().collect::<Vec<_>>(), expected);
                prop_assert_eq!(slots.len() as usize, model.live.len());
                prop_assert_eq!(slots.generations(), &model.generations[..]);
            }
        }
    }
}
