//! What seats have learnt, and what stands in the queues of buildings.

use super::{
    Effect, Kind, World,
    seats::Seats,
    tables::{KINDS, Stats, TABLES, Upgrade},
};

/// A place in a building's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// Training a unit.
    Train(Kind),
    /// Researching the next level of an upgrade.
    Research(Upgrade),
}

impl Job {
    /// The job's number in the column.
    pub(super) fn number(self) -> u8 {
        match self {
            Job::Train(kind) => kind as u8,
            Job::Research(upgrade) => RESEARCH | upgrade as u8,
        }
    }

    pub(super) fn from_number(number: u8) -> Option<Job> {
        if number & RESEARCH == 0 {
            Kind::from_number(number).map(Job::Train)
        } else {
            Upgrade::from_number(number & !RESEARCH).map(Job::Research)
        }
    }

    /// Ticks that it takes.
    pub fn ticks(self) -> u16 {
        match self {
            Job::Train(kind) => kind.stats().build_ticks,
            Job::Research(upgrade) => upgrade.stats().ticks,
        }
    }

    /// Whether a building of this kind does such work.
    pub fn is_done_at(self, building: Kind) -> bool {
        match self {
            Job::Train(kind) => building.trains().contains(&kind),
            Job::Research(upgrade) => upgrade.stats().at == building,
        }
    }
}

/// The table as every seat's upgrades change it. Follows from the seats' levels, and is never state.
#[derive(Clone, Debug, Default)]
pub(super) struct Abilities {
    seats: Vec<[Stats; KINDS]>,
}

impl Abilities {
    pub fn of_seats(seats: &Seats) -> Self {
        let levels = seats.upgrades.iter();
        Self {
            seats: levels.map(|levels| TABLES.with_levels(levels)).collect(),
        }
    }

    /// The line of a kind, for a row of the seats' table.
    pub fn of(&self, seat: u8, kind: Kind) -> &Stats {
        &self.seats[usize::from(seat)][kind as usize]
    }
}

impl World {
    /// The line of a unit's kind, with its seat's upgrades.
    pub(super) fn able(&self, row: usize) -> &Stats {
        self.abilities
            .of(self.units.seat[row], self.units.kind[row])
    }

    /// The line of a building's kind, with its seat's upgrades.
    pub(super) fn able_building(&self, row: usize) -> &Stats {
        self.abilities
            .of(self.buildings.seat[row], self.buildings.kind[row])
    }

    /// Whether some queue of the seat in this row holds this upgrade.
    pub(super) fn is_researching(&self, seat: usize, upgrade: Upgrade) -> bool {
        (0..self.buildings.len()).any(|row| {
            usize::from(self.buildings.seat[row]) == seat
                && self.buildings.hp[row] > 0
                && self
                    .buildings
                    .queue(row)
                    .any(|job| job == Job::Research(upgrade))
        })
    }
}

/// The seat has learnt one level more.
pub(super) fn learn(w: &mut World, seat: u8, upgrade: Upgrade, effects: &mut Vec<Effect>) {
    let before = w.abilities.clone();
    let level = &mut w.seats.upgrades[usize::from(seat)][upgrade as usize];
    *level = level.saturating_add(1).min(upgrade.stats().levels);
    let level = *level;
    effects.push(Effect::Researched {
        seat: w.seats.seat(seat),
        upgrade,
        level,
    });
    w.abilities = Abilities::of_seats(&w.seats);
    // What stands keeps the same share of its strength.
    for row in 0..w.buildings.len() {
        if w.buildings.seat[row] != seat || w.buildings.hp[row] == 0 {
            continue;
        }
        let kind = w.buildings.kind[row];
        let old = u32::from(before.of(seat, kind).hit_points);
        let new = u32::from(w.abilities.of(seat, kind).hit_points);
        let hp = u32::from(w.buildings.hp[row]) * new / old;
        w.buildings.hp[row] = hp.clamp(1, new) as u16;
    }
}

/// Set in the numbers of research.
const RESEARCH: u8 = 0x80;
