//! Defeats and the verdict.

use super::{
    Effect, Kind, Scenario, World, columns::byte_cell, combat, seats::Held, tables::RULES,
};
use sim::Outcome;

/// Whether the match is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub(super) enum Verdict {
    #[default]
    Open = 0,
    Draw = 1,
    Won = 2,
}

impl Verdict {
    fn from_number(number: u8) -> Option<Verdict> {
        [Verdict::Open, Verdict::Draw, Verdict::Won]
            .into_iter()
            .find(|verdict| *verdict as u8 == number)
    }
}

byte_cell!(Verdict, Verdict::from_number);

/// The verdict and, of a won match, the winner's row in the seats' table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Ending {
    pub verdict: Verdict,
    pub winner: u8,
}

impl World {
    pub(super) fn ending_outcome(&self) -> Option<Outcome> {
        match self.ending.verdict {
            Verdict::Open => None,
            Verdict::Draw => Some(Outcome { winner: None }),
            Verdict::Won => Some(Outcome {
                winner: Some(self.seats.seat(self.ending.winner)),
            }),
        }
    }

    /// What a seat is worth: the price of everything that it owns, and a quarter of what it has in store.
    pub(super) fn worth(&self, row: usize) -> u64 {
        let price = |kind: Kind| u64::from(kind.stats().gold + kind.stats().wood);
        let units = (0..self.units.len())
            .filter(|unit| self.units.is_alive(*unit) && usize::from(self.units.seat[*unit]) == row)
            .map(|unit| price(self.units.kind[unit]));
        let buildings = (0..self.buildings.len())
            .filter(|b| usize::from(self.buildings.seat[*b]) == row)
            .filter(|b| self.buildings.is_complete(*b))
            .map(|b| price(self.buildings.kind[b]));
        let store = u64::from(self.seats.gold[row]) + u64::from(self.seats.wood[row]);
        units.chain(buildings).sum::<u64>() + store / 4
    }
}

/// Takes a seat out of the match: everything it owns falls.
pub(super) fn defeat(w: &mut World, row: usize, effects: &mut Vec<Effect>) {
    if w.seats.is_defeated(row) {
        return;
    }
    w.seats.defeated[row] = 1;
    effects.push(Effect::Defeated {
        seat: w.seats.seat(row as u8),
    });
    for unit in 0..w.units.len() {
        if usize::from(w.units.seat[unit]) == row && w.units.is_alive(unit) {
            combat::die(w, unit, effects);
        }
    }
    for building in 0..w.buildings.len() {
        if usize::from(w.buildings.seat[building]) == row {
            w.buildings.hp[building] = 0;
        }
    }
}

/// Defeats the seats that have nothing left to go on with.
pub(super) fn defeat_the_beaten(w: &mut World, effects: &mut Vec<Effect>) {
    let mut stands = vec![false; w.seats.len()];
    for row in 0..w.buildings.len() {
        stands[usize::from(w.buildings.seat[row])] |= w.buildings.hp[row] > 0;
    }
    // A seat without a building stands by its units. Most of the time the unit found last still lives.
    w.witnesses.resize(stands.len(), 0);
    for (seat, stands) in stands
        .iter_mut()
        .enumerate()
        .filter(|(_, stands)| !**stands)
    {
        let counts = |row: usize| speaks_for(w, row, seat);
        let last = w.witnesses[seat];
        let witness = Some(last)
            .filter(|row| *row < w.units.len() && counts(*row))
            .or_else(|| (0..w.units.len()).find(|row| counts(*row)));
        *stands = witness.is_some();
        w.witnesses[seat] = witness.unwrap_or_default();
    }
    for (row, stands) in stands.into_iter().enumerate() {
        if !stands {
            defeat(w, row, effects);
        }
    }
}

/// Whether a unit lives that keeps its seat in the match.
fn speaks_for(w: &World, row: usize, seat: usize) -> bool {
    let counts = w.setup.scenario != Scenario::Standard || w.units.kind[row] == Kind::Worker;
    usize::from(w.units.seat[row]) == seat && counts && w.units.hp[row] > 0
}

/// Decides the match, once.
pub(super) fn judge(w: &mut World) {
    if w.ending.verdict != Verdict::Open || w.seats.len() < 2 {
        return;
    }
    let standing: Vec<usize> = (0..w.seats.len()).filter(|row| contends(w, *row)).collect();
    w.ending = match standing.as_slice() {
        [] => Ending {
            verdict: Verdict::Draw,
            winner: 0,
        },
        [winner] => Ending {
            verdict: Verdict::Won,
            winner: *winner as u8,
        },
        _ if w.tick >= w.setup.last_tick() => by_worth(w, &standing),
        _ => return,
    };
}

/// Whether a seat can still win. A seat without its peer can, for a while: the peer may come back.
fn contends(w: &World, row: usize) -> bool {
    let left_for = w.tick.saturating_sub(w.seats.idle_since[row]);
    let forsaken = w.seats.held[row] == Held::Idle && left_for >= RULES.return_ticks;
    !w.seats.is_defeated(row) && !forsaken
}

fn by_worth(w: &World, standing: &[usize]) -> Ending {
    let most = standing.iter().map(|row| w.worth(*row)).max();
    let mut best = standing.iter().filter(|row| Some(w.worth(**row)) == most);
    match (best.next(), best.next()) {
        (Some(winner), None) => Ending {
            verdict: Verdict::Won,
            winner: *winner as u8,
        },
        _ => Ending {
            verdict: Verdict::Draw,
            winner: 0,
        },
    }
}
