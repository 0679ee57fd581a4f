//! What it costs to go to one goal from each portal: found from the goal outwards, as far as a query needs or
//! a budget reaches.
//!
//! The portals come in an order that follows from the bits and the goal. So after any number of steps the
//! same portals are known, whatever the queries were.

use super::{
    land::Land,
    spread::{FAR, STRAIGHT, Scratch},
};
use std::{cmp::Reverse, collections::BinaryHeap};

#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    /// For each portal the cost to go, plus one; 0: not known. Final up to the frontier.
    costs: Vec<u32>,
    /// Portals whose cost may still sink: cost, sector, place.
    frontier: BinaryHeap<Reverse<(u32, u32, u8)>>,
    steps: u32,
}

impl Search {
    pub fn new(land: &Land) -> Self {
        Self {
            costs: vec![0; land.portals()],
            frontier: BinaryHeap::new(),
            steps: 0,
        }
    }

    /// Steps so far.
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// Tells of a way from a portal to the goal.
    pub fn offer(&mut self, land: &Land, sector: usize, place: usize, cost: u32) {
        let known = &mut self.costs[land.portal(sector, place)];
        if *known == 0 || cost + 1 < *known {
            *known = cost + 1;
            self.frontier
                .push(Reverse((cost, sector as u32, place as u8)));
        }
    }

    /// Whether anything is known of any portal of the sector: whether it matters how it is cut.
    pub fn touches(&self, land: &Land, sector: usize) -> bool {
        let count = land.sectors[sector].portals.len();
        (0..count).any(|place| self.costs[land.portal(sector, place)] != 0)
    }

    /// Whether something is known of every portal of the sector.
    pub fn fills(&self, land: &Land, sector: usize) -> bool {
        let count = land.sectors[sector].portals.len();
        (0..count).all(|place| self.costs[land.portal(sector, place)] != 0)
    }

    /// Follows portals to their new numbers. `before` holds the old ones of all sectors; a sector with
    /// another number of portals must be one that this does not touch.
    pub fn renumber(&mut self, before: &[u32], land: &Land) {
        let mut costs = vec![0; land.portals()];
        for (sector, bounds) in before.windows(2).enumerate() {
            let known = &self.costs[bounds[0] as usize..bounds[1] as usize];
            let count = land.sectors[sector].portals.len();
            if known.len() == count {
                costs[land.portal(sector, 0)..][..count].copy_from_slice(known);
            }
        }
        self.costs = costs;
    }

    /// The cost to go, once nothing can make it less.
    pub fn final_cost(&self, portal: usize) -> Option<u32> {
        let cost = self.costs[portal].checked_sub(1)?;
        match self.frontier.peek() {
            Some(Reverse((least, ..))) if cost > *least => None,
            _ => Some(cost),
        }
    }

    /// What is left to go beyond a portal, if the best way from it leads across the border.
    pub fn exit(&self, land: &Land, sector: usize, place: usize) -> Option<u32> {
        let here = self.final_cost(land.portal(sector, place))?;
        let (there, beyond) = land.beyond(sector, place)?;
        let left = self.costs[land.portal(there, beyond)].checked_sub(1)?;
        (left.checked_add(STRAIGHT)? == here).then_some(left)
    }

    /// Goes on until every portal that could be cheaper than `bound` is final, while `budget` lasts. Returns
    /// whether it got there.
    pub fn reach(
        &mut self,
        land: &mut Land,
        bound: u32,
        budget: &mut u32,
        scratch: &mut Scratch,
    ) -> bool {
        while let Some(Reverse((cost, ..))) = self.frontier.peek() {
            if *cost > bound {
                return true;
            }
            if !self.advance(land, budget, scratch) {
                return false;
            }
        }
        true
    }

    /// Goes on until a portal's cost is final or clearly no way leads there, while `budget` lasts. Returns
    /// whether it got there.
    pub fn find(
        &mut self,
        land: &mut Land,
        portal: usize,
        budget: &mut u32,
        scratch: &mut Scratch,
    ) -> bool {
        while self.final_cost(portal).is_none() {
            if self.frontier.is_empty() {
                return true;
            }
            if !self.advance(land, budget, scratch) {
                return false;
            }
        }
        true
    }

    /// Goes on to so many steps in all.
    pub fn resume(&mut self, land: &mut Land, steps: u32, scratch: &mut Scratch) {
        let mut budget = steps.saturating_sub(self.steps);
        while self.advance(land, &mut budget, scratch) {}
    }

    /// Goes on from the cheapest portal. `false` if there is none, or nothing left of `budget`.
    fn advance(&mut self, land: &mut Land, budget: &mut u32, scratch: &mut Scratch) -> bool {
        let Some(left) = budget.checked_sub(1) else {
            return false;
        };
        let Some(Reverse((cost, sector, place))) = self.frontier.pop() else {
            return false;
        };
        *budget = left;
        self.steps = self.steps.saturating_add(1);
        let (at, place) = (sector as usize, usize::from(place));
        if self.costs[land.portal(at, place)] != cost + 1 {
            return true;
        }
        let Some((there, beyond)) = land.beyond(at, place) else {
            return true;
        };
        // Ways go straight through a sector: what was reached from within goes on across the border, and
        // what came across the border goes on within.
        let partner = self.costs[land.portal(there, beyond)].checked_sub(1);
        let came_across = partner.is_some_and(|left| left + STRAIGHT == cost);
        if !came_across {
            self.offer(land, there, beyond, cost + STRAIGHT);
            return true;
        }
        if !land.sectors[at].is_measured() {
            let rows = land.ground.open_rows(sector);
            land.sectors[at].measure(&rows, scratch);
        }
        for to in 0..land.sectors[at].portals.len() {
            let distance = land.sectors[at].distance(place, to);
            if distance != FAR {
                self.offer(land, at, to, cost + distance);
            }
        }
        true
    }

    /// Bytes on the heap.
    pub fn memory(&self) -> usize {
        self.costs.capacity() * 4 + self.frontier.capacity() * size_of::<(u32, u32, u8)>()
    }
}
