//! What the world remembers of selections, so that the next command may refer to one.

use super::{
    Id, Refusal, Selection, World,
    tables::{SELECTION, SELECTION_WORTH_KEEPING, SELECTIONS_KEPT, SELECTIONS_NAMED},
};
use sim::{LoadError, Reader, Seat, Sink, Visit};
use std::collections::VecDeque;

/// The last selections that a seat spelled out.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent {
    /// Serial of the newest; the others count down from it.
    newest: u8,
    /// Numbers of units, ascending, the newest selection first. The dead are taken out.
    lists: VecDeque<Vec<u16>>,
}

impl Recent {
    fn keep(&mut self, numbers: Vec<u16>) {
        self.newest = self.newest.wrapping_add(1);
        self.lists.truncate(SELECTIONS_KEPT - 1);
        self.lists.push_front(numbers);
    }

    fn get(&self, serial: u8) -> Option<&[u16]> {
        let age = usize::from(self.newest.wrapping_sub(serial));
        self.lists.get(age).map(Vec::as_slice)
    }

    /// Takes a unit out that died: its number will go to another.
    pub fn forget(&mut self, number: u16) {
        for list in &mut self.lists {
            if let Ok(place) = list.binary_search(&number) {
                list.remove(place);
            }
        }
    }

    pub fn write(&self, to: &mut impl Sink) {
        to.column(&[self.newest, self.lists.len() as u8]);
        for list in &self.lists {
            to.value(list.len() as u16);
            to.column(list);
        }
    }

    /// `is_number` says which numbers the seat's units have.
    pub fn load(from: &mut Reader<'_>, is_number: impl Fn(u16) -> bool) -> Result<Self, LoadError> {
        let newest = from.value::<u8>()?;
        let count = usize::from(from.value::<u8>()?);
        from.require(count <= SELECTIONS_KEPT, "selections")?;
        let mut lists = VecDeque::with_capacity(count);
        for _ in 0..count {
            let length = from.value::<u16>()?;
            from.require(usize::from(length) <= SELECTION, "selection")?;
            let list = from.column::<u16>(length.into())?;
            from.require(list.is_sorted_by(|a, b| a < b), "selection")?;
            from.require(list.iter().all(|number| is_number(*number)), "selection")?;
            lists.push_back(list);
        }
        Ok(Self { newest, lists })
    }
}

/// Describes the lists of all seats as a section. A row's name joins its seat's row, and its age below 256.
pub(super) fn visit(recents: &[Recent], to: &mut dyn Visit) {
    let rows = recents.iter().map(|recent| recent.lists.len()).sum();
    if !to.section("selections", rows) {
        return;
    }
    for (seat, recent) in (0_u64..).zip(recents) {
        for (age, list) in (0_u8..).zip(&recent.lists) {
            if to.row(seat << 8 | u64::from(age)) {
                to.field("serial", &recent.newest.wrapping_sub(age));
                to.field("numbers", &list.as_slice());
            }
        }
    }
}

impl World {
    /// The shortest selection by which a command of this seat names these units. It leaves out dead units and
    /// other seats' units. Of too many, it keeps those with the lowest numbers.
    ///
    /// Ask the world as of the newest executed turn. If it remembers the very same units, the answer is
    /// a reference, good for as long as fewer than eight further selections of this seat are executed
    /// first; later the command is [refused](Refusal::Forgotten).
    pub fn select(&self, seat: Seat, units: impl IntoIterator<Item = Id>) -> Selection {
        let Some(seat) = self.seats.row(seat) else {
            return Selection::default();
        };
        let rows = units.into_iter().filter_map(|id| self.units.row(id));
        let own = rows.filter(|row| usize::from(self.units.seat[*row]) == seat);
        let explicit = Selection::new(own.map(|row| self.units.number[row]));
        match explicit.numbers().ok().and_then(|n| self.same(seat, n)) {
            Some(serial) => Selection::recent(serial),
            None => explicit,
        }
    }

    /// Rows of the living units of a selection, which is not remembered.
    pub(super) fn named(&self, seat: usize, selection: &Selection) -> Vec<usize> {
        let numbers = match selection.numbers() {
            Ok(numbers) => numbers,
            Err(serial) => self.recents[seat].get(serial).unwrap_or_default(),
        };
        let rows = numbers
            .iter()
            .filter_map(|number| self.living(seat, *number));
        rows.collect()
    }

    /// Rows of the living units of a selection, ascending. A selection that is spelled out is remembered.
    pub(super) fn selected(
        &mut self,
        seat: usize,
        selection: &Selection,
    ) -> Result<Vec<usize>, Refusal> {
        let numbers = match selection.numbers() {
            Ok(numbers) => numbers,
            Err(serial) => self.recents[seat].get(serial).ok_or(Refusal::Forgotten)?,
        };
        let living = |number: &u16| Some((self.living(seat, *number)?, *number));
        let (mut rows, living): (Vec<usize>, Vec<u16>) = numbers.iter().filter_map(living).unzip();
        if selection.numbers().is_ok()
            && living.len() >= SELECTION_WORTH_KEEPING
            && self.same(seat, &living).is_none()
        {
            self.recents[seat].keep(living);
        }
        rows.sort_unstable();
        Ok(rows)
    }

    /// Serial of the newest selection of exactly these living units that may be named.
    fn same(&self, seat: usize, numbers: &[u16]) -> Option<u8> {
        let recent = &self.recents[seat];
        let named = recent.lists.iter().take(SELECTIONS_NAMED);
        let mut serials = named.zip(0_u8..);
        let (_, age) =
            serials.find(|(list, _)| !numbers.is_empty() && list.as_slice() == numbers)?;
        Some(recent.newest.wrapping_sub(age))
    }

    /// Row of the living unit with this number.
    fn living(&self, seat: usize, number: u16) -> Option<usize> {
        self.roll.id(seat, number).and_then(|id| self.units.row(id))
    }
}

#[cfg(test)]
mod tests;
