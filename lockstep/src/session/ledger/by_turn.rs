//! Things of a few turns around the next one. They are asked for with every input, for every peer and link, so the turns
//! lie side by side.

use std::collections::VecDeque;

/// One thing for each of a few turns, perhaps with holes: there are as many places as turns from the first to the last.
pub(crate) struct ByTurn<T> {
    /// The turn of the first place.
    first: u32,
    places: VecDeque<Option<T>>,
}

impl<T> ByTurn<T> {
    pub(crate) fn new() -> Self {
        ByTurn {
            first: 0,
            places: VecDeque::new(),
        }
    }

    pub(crate) fn get(&self, turn: u32) -> Option<&T> {
        let place = turn.checked_sub(self.first)?;
        self.places.get(place as usize)?.as_ref()
    }

    /// Keeps the thing of a turn, which the caller has found to be near the others.
    pub(crate) fn insert(&mut self, turn: u32, thing: T) {
        if self.places.is_empty() {
            self.first = turn;
        }
        while turn < self.first {
            self.places.push_front(None);
            self.first -= 1;
        }
        let place = (turn - self.first) as usize;
        while self.places.len() <= place {
            self.places.push_back(None);
        }
        self.places[place] = Some(thing);
    }

    /// Takes the thing of a turn away.
    pub(crate) fn remove(&mut self, turn: u32) -> Option<T> {
        let place = turn.checked_sub(self.first)?;
        self.places.get_mut(place as usize)?.take()
    }

    /// What there is from a turn on and before another one, oldest first, with the turns.
    pub(crate) fn range(
        &self,
        from: u32,
        before: u32,
    ) -> impl DoubleEndedIterator<Item = (u32, &T)> {
        let place = |turn: u32| (turn.saturating_sub(self.first) as usize).min(self.places.len());
        let (from, before) = (place(from), place(before));
        let places = self.places.range(from.min(before)..before).enumerate();
        let first = self.first + from as u32;
        places.filter_map(move |(at, thing)| Some((first + at as u32, thing.as_ref()?)))
    }

    pub(crate) fn forget_before(&mut self, turn: u32) {
        while self.first < turn && self.places.pop_front().is_some() {
            self.first += 1;
        }
    }

    /// Forgets what there is from a turn on.
    pub(crate) fn forget_from(&mut self, turn: u32) {
        let stay = turn.saturating_sub(self.first) as usize;
        self.places.truncate(stay);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Does the same to both, and compares them.
    fn agree(by_turn: &ByTurn<u32>, map: &BTreeMap<u32, u32>) {
        for turn in 0..50 {
            assert_eq!(by_turn.get(turn), map.get(&turn), "turn {turn}");
            for before in [turn, turn + 3, 50, u32::MAX] {
                let there: Vec<_> = by_turn.range(turn, before).collect();
                let wanted: Vec<_> = map.range(turn..before).map(|(at, it)| (*at, it)).collect();
                assert_eq!(there, wanted, "{turn}..{before}");
                let back: Vec<_> = by_turn.range(turn, before).rev().collect();
                assert!(back.iter().eq(wanted.iter().rev()));
            }
        }
    }

    #[test]
    fn by_turn_holds_what_a_map_holds() {
        let (mut by_turn, mut map) = (ByTurn::new(), BTreeMap::new());
        agree(&by_turn, &map);
        let mut number = 12_345u32;
        for step in 0..400 {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let turn = (number >> 16) % 40;
            match (number >> 8) % 8 {
                0 => {
                    by_turn.forget_before(turn);
                    map.retain(|at, _| *at >= turn);
                }
                1 => {
                    by_turn.forget_from(turn);
                    map.retain(|at, _| *at < turn);
                }
                _ => {
                    by_turn.insert(turn, step);
                    map.insert(turn, step);
                }
            }
            agree(&by_turn, &map);
        }
    }
}
