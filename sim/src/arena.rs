//! Items with stable ids.

use crate::{Id, Slots};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::SerializeSeq};

/// Items with stable ids, iterated in id order. The lowest free slot is reused first.
///
/// Equal histories make equal arenas, down to their bytes. For large numbers of small items use
/// [`Slots`] with one `Vec` per field instead.
///
/// ```
/// use sim::Arena;
/// let mut units = Arena::new();
/// let (first, second) = (units.insert("worker"), units.insert("archer"));
/// assert_eq!(units.remove(first), Some("worker"));
/// assert_eq!(units.get(first), None);
/// assert_eq!(units.iter().collect::<Vec<_>>(), [(second, &"archer")]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arena<T> {
    slots: Slots,
    /// One per slot, `Some` exactly where an id is alive.
    items: Vec<Option<T>>,
}

impl<T> Arena<T> {
    /// An empty arena.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            slots: Slots::new(),
            items: Vec::new(),
        }
    }

    /// Adds an item and names it.
    ///
    /// # Panics
    /// When all 2^32 − 1 slots are taken.
    pub fn insert(&mut self, item: T) -> Id {
        let id = self.slots.insert();
        if id.row() == self.items.len() {
            self.items.push(Some(item));
        } else {
            self.items[id.row()] = Some(item);
        }
        id
    }

    /// Takes the item out; `None` if the id is not alive.
    pub fn remove(&mut self, id: Id) -> Option<T> {
        if self.slots.remove(id) {
            self.items[id.row()].take()
        } else {
            None
        }
    }

    /// Whether the id is alive.
    #[must_use]
    pub fn contains(&self, id: Id) -> bool {
        self.slots.contains(id)
    }

    /// The item; `None` if the id is not alive.
    #[must_use]
    pub fn get(&self, id: Id) -> Option<&T> {
        if self.slots.contains(id) {
            self.items[id.row()].as_ref()
        } else {
            None
        }
    }

    /// The item; `None` if the id is not alive.
    pub fn get_mut(&mut self, id: Id) -> Option<&mut T> {
        if self.slots.contains(id) {
            self.items[id.row()].as_mut()
        } else {
            None
        }
    }

    /// The living id of this slot.
    #[must_use]
    pub fn id_at(&self, slot: u32) -> Option<Id> {
        self.slots.id_at(slot)
    }

    /// The living ids, ascending.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = Id> + '_ {
        self.slots.ids()
    }

    /// The items with their ids, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Id, &T)> {
        self.slots
            .all()
            .zip(&self.items)
            .filter_map(|(id, item)| Some((id, item.as_ref()?)))
    }

    /// The items with their ids, ascending.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (Id, &mut T)> {
        self.slots
            .all()
            .zip(&mut self.items)
            .filter_map(|(id, item)| Some((id, item.as_mut()?)))
    }

    /// Removes every item for which `keep` is false, asked in id order.
    pub fn retain(&mut self, mut keep: impl FnMut(Id, &mut T) -> bool) {
        for slot in 0..self.slots.rows() {
            let Some(id) = self.slots.id_at(slot) else {
                continue;
            };
            let kept = self.items[id.row()]
                .as_mut()
                .is_some_and(|item| keep(id, item));
            if !kept {
                self.remove(id);
            }
        }
    }

    /// How many items there are.
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.slots.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// One slot in bytes.
#[derive(Serialize, Deserialize)]
struct Row<T> {
    generation: u32,
    item: Option<T>,
}

impl<T: Serialize> Serialize for Arena<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(Some(self.items.len()))?;
        for (generation, item) in self.slots.generations().iter().zip(&self.items) {
            rows.serialize_element(&Row {
                generation: *generation,
                item: item.as_ref(),
            })?;
        }
        rows.end()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Arena<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let rows: Vec<Row<T>> = Vec::deserialize(deserializer)?;
        let mut generations = Vec::with_capacity(rows.len());
        let mut items = Vec::with_capacity(rows.len());
        for Row { generation, item } in rows {
            if (generation % 2 == 1) != item.is_some() {
                return Err(D::Error::custom(
                    "an arena's slot contradicts its generation",
                ));
            }
            generations.push(generation);
            items.push(item);
        }
        let slots = Slots::from_generations(generations)
            .ok_or_else(|| D::Error::custom("too many slots"))?;
        Ok(Self { slots, items })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn contradicting_slots_are_refused() {
        let dead_with_item = postcard::to_stdvec(&[(2_u32, Some(5_u8))].as_slice()).unwrap();
        let live_without = postcard::to_stdvec(&[(1_u32, None::<u8>)].as_slice()).unwrap();
        assert!(postcard::from_bytes::<Arena<u8>>(&dead_with_item).is_err());
        assert!(postcard::from_bytes::<Arena<u8>>(&live_without).is_err());
    }

    proptest! {
        #[test]
        fn behaves_like_a_map(steps in prop::collection::vec((0..6_u8, any::<u32>()), 0..400)) {
            let mut arena = Arena::new();
            let mut model: BTreeMap<Id, u32> = BTreeMap::new();
            let mut dead = Vec::new();
            for (kind, value) in steps {
                let chosen = model.keys().copied().nth(value as usize % model.len().max(1));
                match (kind, chosen) {
                    (3, Some(id)) => {
                        prop_assert_eq!(arena.remove(id), model.remove(&id));
                        dead.push(id);
                    }
                    (4, Some(id)) => {
                        *arena.get_mut(id).unwrap() = value;
                        model.insert(id, value);
                    }
                    (5, _) => {
                        arena.retain(|_, item| *item % 7 != 0);
                        dead.extend(model.keys().filter(|id| model[id].is_multiple_of(7)));
                        model.retain(|_, item| *item % 7 != 0);
                    }
                    _ => {
                        let id = arena.insert(value);
                        prop_assert!(model.insert(id, value).is_none());
                    }
                }
                prop_assert!(dead.iter().all(|id| !arena.contains(*id) && arena.get(*id).is_none()));
            }
            let expected: Vec<(Id, u32)> = model.into_iter().collect();
            prop_assert_eq!(arena.iter().map(|(id, item)| (id, *item)).collect::<Vec<_>>(), expected.clone());
            prop_assert_eq!(arena.len() as usize, expected.len());
            let bytes = postcard::to_stdvec(&arena).unwrap();
            let mut loaded: Arena<u32> = postcard::from_bytes(&bytes).unwrap();
            prop_assert_eq!(postcard::to_stdvec(&loaded).unwrap(), bytes);
            prop_assert_eq!(loaded.insert(0), arena.insert(0));
        }

        #[test]
        fn any_bytes_load_or_fail(bytes: Vec<u8>) {
            if let Ok(arena) = postcard::from_bytes::<Arena<u16>>(&bytes) {
                prop_assert_eq!(arena.iter().count(), arena.len() as usize);
            }
        }
    }
}
