//! A group keeps together on the march: it goes at the pace of its slowest unit, and units ahead wait for
//! units behind.
//!
//! Units that one command sends off together are a band. Each unit's way is measured to its own place at the
//! goal, so a band in formation has no unit ahead. Where a choke point draws a band out, its first units slow
//! down behind it but never stop. So no unit waits for a unit whose way it blocks.

use super::{
    World,
    units::{Order, Way},
};
use sim::{
    Num, Vec2,
    fixed::types::{U16F16, U28F4},
};

/// Facts about the bands on the march. They are made anew in every tick, and never state.
#[derive(Clone, Debug, Default)]
pub(super) struct Bands {
    bands: Vec<Band>,
    /// Whether any unit belongs to a band.
    any: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Band {
    slowest: Num,
    /// The goal of its first member. A member with another goal keeps the pace but does not wait.
    goal: u32,
    /// The sum of the remaining ways to it, in sixteenths of a tile.
    remaining: u64,
    members: u32,
}

impl Bands {
    /// Gathers all units on the march.
    pub fn fill(w: &mut World) {
        let mut bands = std::mem::take(&mut w.bands);
        bands.look(w);
        w.bands = bands;
    }

    fn look(&mut self, w: &World) {
        if self.any || self.bands.is_empty() {
            self.bands.clear();
            self.bands.resize(usize::from(BANDS), Band::default());
            self.any = false;
        }
        for (row, number) in w.units.band.iter().enumerate() {
            if *number == 0 || w.units.hp[row] == 0 || !marches(w, row, w.units.way[row]) {
                continue;
            }
            self.any = true;
            let band = &mut self.bands[usize::from(*number)];
            let speed = w.units.stats(row).speed;
            let goal = w.units.goal[row];
            if band.members == 0 {
                (band.slowest, band.goal) = (speed, goal);
            }
            band.slowest = band.slowest.min(speed);
            if band.goal == goal {
                band.remaining += u64::from(remaining(w, row, w.units.at(row)));
                band.members += 1;
            }
        }
    }

    /// How far a unit goes in this tick.
    #[inline]
    pub fn speed(&self, w: &World, row: usize, at: Vec2, way: Way) -> Num {
        let own = w.units.stats(row).speed;
        let number = w.units.band[row];
        if number == 0 || !marches(w, row, way) {
            return own;
        }
        let band = &self.bands[usize::from(number)];
        let alone = band.goal != w.units.goal[row] || w.units.order[row] == Order::Patrol;
        let Some(mean) = band.remaining.checked_div(u64::from(band.members)) else {
            return own;
        };
        if alone {
            return band.slowest.min(own);
        }
        let ahead = mean as i64 - i64::from(remaining(w, row, at));
        match ahead {
            ..=BEHIND => own,
            // A unit so far ahead does not march with its band.
            TOO_FAR.. => band.slowest,
            FAR_AHEAD.. => band.slowest / 2,
            AHEAD.. => band.slowest * 3 / 4,
            _ => band.slowest,
        }
        .min(own)
    }
}

impl World {
    /// Makes one band of the units that a command just sent off together. The command's other units leave
    /// their bands.
    pub(super) fn form_band(&mut self, rows: &[usize]) {
        let goes = |w: &World, row: usize| is_march(w.units.order[row]);
        let together = rows.iter().filter(|row| goes(self, **row)).count() > 1;
        if together {
            self.last_band = self.last_band % (BANDS - 1) + 1;
        }
        for row in rows {
            let joins = together && goes(self, *row);
            self.units.band[*row] = if joins { self.last_band } else { 0 };
        }
    }
}

fn is_march(order: Order) -> bool {
    matches!(order, Order::Move | Order::AttackMove | Order::Patrol)
}

/// Whether a unit is on its way, and not in pursuit.
fn marches(w: &World, row: usize, way: Way) -> bool {
    way != Way::None && w.units.target[row] == 0 && is_march(w.units.order[row])
}

/// About how far a unit is from its own place at the goal, in sixteenths of a tile: at most an eighth too much.
fn remaining(w: &World, row: usize, at: Vec2) -> u32 {
    let place = w.map.tile_of(w.units.post[row]).centre();
    let (dx, dy) = (at.x.abs_diff(place.x), at.y.abs_diff(place.y));
    let steps = |way: U16F16| way.to_num::<U28F4>().to_bits();
    steps(dx.max(dy)).saturating_add(steps(dx.min(dy)) / 2)
}

/// Bands have numbers below this. A number comes round long after its band has arrived.
pub(super) const BANDS: u16 = 1_024;
// In sixteenths of a tile.
const AHEAD: i64 = 24;
const FAR_AHEAD: i64 = 56;
const TOO_FAR: i64 = 16 * 16;
const BEHIND: i64 = -12;
