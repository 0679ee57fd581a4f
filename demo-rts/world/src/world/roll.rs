//! Which unit of a seat has which number.
//!
//! Numbers are small, so that a selection of many is few bytes. A number rests for some time after a burial,
//! so that a late command finds no unit rather than a wrong one.

use super::{Id, columns::columns, selection::NAMELESS, tables::NUMBER_REST, units::Units};
use sim::{LoadError, Reader, Slots};

columns! {
    /// Numbers that rest, by ascending end of their rest.
    Graves of Grave {
        /// Row of the seat.
        seat: u8,
        number: u16,
        /// Tick from which a new unit may have it.
        until: u32,
    }
}

impl Graves {
    pub fn len(&self) -> usize {
        self.seat.len()
    }
}

/// The numbers of all units.
#[derive(Clone, Debug, Default)]
pub(super) struct Roll {
    pub graves: Graves,
    /// From here on: made from the units and the graves. For each seat, the holders of its numbers.
    holders: Vec<Holders>,
}

#[derive(Clone, Debug, Default)]
struct Holders {
    /// A slot for each number: taken by a living unit, or while it rests.
    numbers: Slots,
    /// For each number its living unit, else [`Id::NONE`].
    ids: Vec<Id>,
}

impl Roll {
    pub fn new(seats: usize) -> Self {
        Self {
            graves: Graves::default(),
            holders: vec![Holders::default(); seats],
        }
    }

    /// The living unit with this number.
    pub fn id(&self, seat: usize, number: u16) -> Option<Id> {
        let id = *self.holders.get(seat)?.ids.get(usize::from(number))?;
        (id != Id::NONE).then_some(id)
    }

    /// Gives a new unit the lowest free number.
    pub fn enlist(&mut self, seat: usize, id: Id) -> u16 {
        let Some(holders) = self.holders.get_mut(seat) else {
            return NAMELESS;
        };
        let taken = holders.numbers.insert();
        if taken.slot >= u32::from(NAMELESS) {
            holders.numbers.remove(taken);
            return NAMELESS;
        }
        if taken.row() == holders.ids.len() {
            holders.ids.push(id);
        } else {
            holders.ids[taken.row()] = id;
        }
        taken.slot as u16
    }

    /// Lets the number of a unit that just died rest.
    pub fn bury(&mut self, seat: u8, number: u16, tick: u32) {
        let holders = self.holders.get_mut(usize::from(seat));
        if let Some(holder) = holders.and_then(|held| held.ids.get_mut(usize::from(number))) {
            *holder = Id::NONE;
            self.graves.push(Grave {
                seat,
                number,
                until: tick.saturating_add(NUMBER_REST),
            });
        }
    }

    /// Frees the numbers that have rested.
    pub fn rise(&mut self, tick: u32) {
        let rested = self.graves.until.partition_point(|until| *until <= tick);
        if rested == 0 {
            return;
        }
        for row in 0..rested {
            let numbers = &mut self.holders[usize::from(self.graves.seat[row])].numbers;
            if let Some(rested) = numbers.id_at(self.graves.number[row].into()) {
                numbers.remove(rested);
            }
        }
        self.graves.seat.drain(..rested);
        self.graves.number.drain(..rested);
        self.graves.until.drain(..rested);
    }

    /// Reads the graves, and makes the rest from them and from the units.
    pub fn load(
        from: &mut Reader<'_>,
        graves: u32,
        units: &Units,
        seats: usize,
        tick: u32,
    ) -> Result<Self, LoadError> {
        let graves = Graves::load(from, graves)?;
        from.require(graves.until.is_sorted(), "graves")?;
        let latest = tick.saturating_add(NUMBER_REST);
        from.require(graves.until.iter().all(|until| *until <= latest), "graves")?;
        let resting = (graves.seat.iter().zip(&graves.number))
            .map(|(seat, number)| (*seat, *number, Id::NONE));
        let living = (0..units.len()).filter(|row| units.is_alive(*row));
        let living = living.map(|row| (units.seat[row], units.number[row], Id(units.id[row])));
        let mut generations = vec![Vec::new(); seats];
        let mut roll = Self::new(seats);
        for (seat, number, id) in resting.chain(living) {
            if number == NAMELESS && id != Id::NONE {
                continue;
            }
            let (seat, number) = (usize::from(seat), usize::from(number));
            from.require(seat < seats && number < usize::from(NAMELESS), "number")?;
            let (generations, ids) = (&mut generations[seat], &mut roll.holders[seat].ids);
            if ids.len() <= number {
                ids.resize(number + 1, Id::NONE);
                generations.resize(number + 1, FREE);
            }
            from.require(generations[number] == FREE, "a number used twice")?;
            (generations[number], ids[number]) = (TAKEN, id);
        }
        for (holders, generations) in roll.holders.iter_mut().zip(generations) {
            holders.numbers = Slots::from_generations(generations).unwrap_or_default();
        }
        roll.graves = graves;
        Ok(roll)
    }
}

/// Generations of slots: any that is even and one that is odd will do, for nothing asks after them.
const FREE: u32 = 2;
const TAKEN: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_run_out_and_come_back_after_their_rest() {
        let mut roll = Roll::new(1);
        for number in 0..NAMELESS {
            assert_eq!(roll.enlist(0, Id(1 + u32::from(number))), number);
        }
        assert_eq!(roll.enlist(0, Id(80_000)), NAMELESS);
        assert_eq!(roll.enlist(1, Id(80_000)), NAMELESS, "no such seat");
        roll.bury(0, NAMELESS, 5);
        assert_eq!((roll.id(0, NAMELESS), roll.graves.len()), (None, 0));
        roll.bury(0, 9, 5);
        roll.bury(0, 7, 6);
        assert_eq!((roll.id(0, 9), roll.id(0, 8)), (None, Some(Id(9))));
        roll.rise(4 + NUMBER_REST);
        assert_eq!(roll.enlist(0, Id(80_001)), NAMELESS, "both rest");
        roll.rise(6 + NUMBER_REST);
        assert_eq!(roll.enlist(0, Id(80_002)), 7);
        assert_eq!(roll.enlist(0, Id(80_003)), 9);
        assert_eq!(roll.id(0, 9), Some(Id(80_003)));
    }
}
