//! The columns of the seats in play.

use super::{
    columns::{byte_cell, columns},
    tables::UPGRADES,
};
use sim::{Seat, SeatState};

/// [`SeatState`] as one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Held {
    Played = 0,
    Idle = 1,
    Ai = 2,
    Resigned = 3,
}

impl Held {
    const ALL: [Held; 4] = [Held::Played, Held::Idle, Held::Ai, Held::Resigned];

    fn from_number(number: u8) -> Option<Held> {
        Held::ALL.get(usize::from(number)).copied()
    }

    pub fn state(self) -> SeatState {
        match self {
            Held::Played => SeatState::Played,
            Held::Idle => SeatState::Idle,
            Held::Ai => SeatState::Ai,
            Held::Resigned => SeatState::Resigned,
        }
    }
}

impl From<SeatState> for Held {
    fn from(state: SeatState) -> Self {
        match state {
            SeatState::Played => Held::Played,
            SeatState::Idle => Held::Idle,
            SeatState::Ai => Held::Ai,
            SeatState::Resigned => Held::Resigned,
        }
    }
}

byte_cell!(Held, Held::from_number);

columns! {
    /// The seats, ascending. A row of this table is what units and buildings call their seat.
    Seats of SeatRow {
        seat: u8,
        gold: u32,
        wood: u32,
        held: Held,
        /// Tick at which it became idle.
        idle_since: u32,
        /// 1: out of the match.
        defeated: u8,
        /// Levels of every upgrade that it knows.
        upgrades: [u8; UPGRADES],
        /// Where it began: the middle of its first town hall.
        home: u32,
        trained: u32,
        lost: u32,
        killed: u32,
        gathered: u32,
    }
}

impl Seats {
    pub fn len(&self) -> usize {
        self.seat.len()
    }

    pub fn row(&self, seat: Seat) -> Option<usize> {
        self.seat.binary_search(&seat.0).ok()
    }

    /// The seat in a row that units and buildings name.
    pub fn seat(&self, row: u8) -> Seat {
        Seat(self.seat[usize::from(row)])
    }

    pub fn is_defeated(&self, row: usize) -> bool {
        self.defeated[row] != 0
    }

    /// Takes a price that is there.
    pub fn pay(&mut self, row: usize, gold: u32, wood: u32) {
        self.gold[row] = self.gold[row].saturating_sub(gold);
        self.wood[row] = self.wood[row].saturating_sub(wood);
    }

    pub fn earn(&mut self, row: usize, gold: u32, wood: u32) {
        self.gold[row] = self.gold[row].saturating_add(gold);
        self.wood[row] = self.wood[row].saturating_add(wood);
    }
}
