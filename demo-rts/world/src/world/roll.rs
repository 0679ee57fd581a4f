//! Which unit of a seat has which number.
//!
//! Numbers are small, so that a selection of many is few bytes. A number goes to another unit only some
//! time after a burial, so that a command on its way finds nobody rather than the wrong one.

use super::{
    Id,
    columns::{Reader, columns},
    selection::NAMELESS,
    tables::NUMBER_REST,
    units::Units,
};
use sim::LoadError;

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
    /// From here on: made from the units and the graves. For each seat, who has each number.
    holders: Vec<Holders>,
}

#[derive(Clone, Debug, Default)]
struct Holders {
    ids: Vec<u32>,
    /// No number below it is free.
    lowest: usize,
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
        let holders = self.holders.get(seat)?;
        let id = *holders.ids.get(usize::from(number))?;
        (id != FREE && id != RESTS).then_some(Id(id))
    }

    /// Gives a new unit the lowest free number.
    pub fn enlist(&mut self, seat: usize, id: Id) -> u16 {
        let Some(holders) = self.holders.get_mut(seat) else {
            return NAMELESS;
        };
        let from = holders.lowest.min(holders.ids.len());
        let free = holders.ids[from..].iter().position(|held| *held == FREE);
        let number = free.map_or(holders.ids.len(), |place| from + place);
        holders.lowest = number;
        if number >= usize::from(NAMELESS) {
            return NAMELESS;
        }
        if number == holders.ids.len() {
            holders.ids.push(FREE);
        }
        holders.ids[number] = id.0;
        holders.lowest = number + 1;
        number as u16
    }

    /// Lets the number of a unit that just died rest.
    pub fn bury(&mut self, seat: u8, number: u16, tick: u32) {
        if self.set(seat, number, RESTS) {
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
            self.set(self.graves.seat[row], self.graves.number[row], FREE);
        }
        self.graves.seat.drain(..rested);
        self.graves.number.drain(..rested);
        self.graves.until.drain(..rested);
    }

    /// Reads the graves, and makes the rest from them and from the units.
    pub fn load(
        from: &mut Reader<'_>,
        graves: usize,
        units: &Units,
        seats: usize,
        tick: u32,
    ) -> Result<Self, LoadError> {
        let graves = Graves::load(from, graves)?;
        from.require(graves.until.is_sorted(), "graves")?;
        let latest = tick.saturating_add(NUMBER_REST);
        from.require(graves.until.iter().all(|until| *until <= latest), "graves")?;
        let resting = (graves.seat.iter().zip(&graves.number)).map(|pair| (pair, RESTS));
        let living = (units.seat.iter().zip(&units.number)).zip(units.id.iter().copied());
        let living = living.zip(&units.hp).filter(|(_, hp)| **hp > 0);
        let living = living.map(|(unit, _)| unit);
        let mut roll = Self::new(seats);
        for ((seat, number), id) in resting.chain(living) {
            if *number == NAMELESS && id != RESTS {
                continue;
            }
            let known = usize::from(*seat) < seats && *number < NAMELESS;
            from.require(known, "number")?;
            let ids = &mut roll.holders[usize::from(*seat)].ids;
            if ids.len() <= usize::from(*number) {
                ids.resize(usize::from(*number) + 1, FREE);
            }
            from.require(ids[usize::from(*number)] == FREE, "a number used twice")?;
            ids[usize::from(*number)] = id;
        }
        roll.graves = graves;
        Ok(roll)
    }

    /// Whether there is such a number.
    fn set(&mut self, seat: u8, number: u16, holder: u32) -> bool {
        let Some(holders) = self.holders.get_mut(usize::from(seat)) else {
            return false;
        };
        let Some(place) = holders.ids.get_mut(usize::from(number)) else {
            return false;
        };
        *place = holder;
        if holder == FREE {
            holders.lowest = holders.lowest.min(usize::from(number));
        }
        true
    }
}

/// No unit has this id.
const FREE: u32 = 0;
/// Ids do not grow so large.
const RESTS: u32 = u32::MAX;
