//! The length of ticks: longer only where a machine is slow, long enough then, and as at the start soon after.

use super::roster::STALL_BUDGET;
use super::{Invariant, Judge};
use crate::simulator::{Playable, RECOVERS_WITHIN, Scenario};
use lockstep::log::{Bundle, OnSlow};
use sim::Seat;
use std::time::Duration;

/// Ticks are at most so many times as long as at the start.
const LONGEST: u16 = 4;
/// Between two lowerings lies so much of the match.
const BETWEEN_LOWERINGS: Duration = Duration::from_secs(10);
/// A world never lies so far behind its session, in turns as long as at the start, as long as machines are no slower
/// than the match can be.
const FARTHEST_BEHIND: Duration = Duration::from_secs(10);
/// The match changes its mind no more often than this for all machines that are slow in one run.
const MOST_CHANGES: u32 = 12;

/// What was seen of the plan so far.
#[derive(Default)]
pub(super) struct Plans {
    /// The peers whose machines are slow for a while.
    slow: Vec<usize>,
    /// When the last one became fast again.
    fast_at: Duration,
    /// What had been played by then, or when faults ended, as the match counts its time: while it stands still nothing
    /// is measured.
    pub(super) fast_after: Duration,
    lowered_at: Option<Duration>,
    changes: u32,
}

impl Plans {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let is_slow = |peer: &usize| scenario.peers[*peer].slow.is_some();
        Plans {
            slow: (0..scenario.peers.len()).filter(is_slow).collect(),
            ..Plans::default()
        }
    }

    pub(super) fn is_slow(&self, peer: usize) -> bool {
        self.slow.contains(&peer)
    }
}

impl<W: Playable> Judge<W> {
    /// A slow machine has become fast.
    pub fn fast_again(&mut self) {
        self.plans.fast_at = self.now;
        self.plans.fast_after = self.time_before(self.history.len() as u32);
    }

    /// A turn that is new to the history: its plan follows from that of the turn before.
    pub(super) fn check_plan(&mut self, peer: usize, bundle: &Bundle) {
        let Some(start) = &self.start else {
            return;
        };
        let (first, plan) = (start.plan, bundle.plan);
        let before = self.history.last().map_or(first, |turn| turn.bundle.plan);
        let at = self.time_before(bundle.turn.0);
        let known = &mut self.plans;
        if bundle.paused {
            // No tick is stepped: what was measured last stands.
            known.fast_after = known.fast_after.max(at);
        }
        let due = self
            .healed_at
            .map(|healed| healed.max(known.fast_at) + RECOVERS_WITHIN);
        let lowered = plan.tick_ms < before.tick_ms;
        known.changes += u32::from(plan != before);
        let early = |last: Duration| at < last + BETWEEN_LOWERINGS;
        let seen = if (plan.ticks, plan.delay_turns) != (first.ticks, first.delay_turns)
            || plan.tick_ms < first.tick_ms
            || plan.tick_ms > first.tick_ms * LONGEST
        {
            "out of bounds"
        } else if plan != first && known.slow.is_empty() {
            "though no machine is slow"
        } else if lowered && known.lowered_at.is_some_and(early) {
            "too soon after the last lowering"
        } else if known.changes > MOST_CHANGES {
            "once too often"
        } else if plan != first
            && due.is_some_and(|due| self.now > due)
            && at > known.fast_after + RECOVERS_WITHIN
        {
            "though all machines have been fast for long"
        } else {
            if lowered {
                known.lowered_at = Some(at);
            }
            return;
        };
        let seen = format!("turn {}: ticks of {} ms, {seen}", bundle.turn, plan.tick_ms);
        self.fail(Some(peer), Invariant::Progress, seen);
    }

    /// A turn says of a peer's machine that it is slow: so it must be, unless its owner lies.
    pub(super) fn check_load(&mut self, peer: usize, bundle: &Bundle, seat: Seat, load: u16) {
        let owner = self.owner(seat);
        let first = owner.and_then(|owner| self.peers[owner].own.first().copied());
        let slow = owner.is_some_and(|owner| self.plans.is_slow(owner));
        if (!slow || load == 0 || first != Some(seat))
            && (self.hostile.is_none() || owner != self.hostile)
        {
            let seen = format!("turn {}: load {load} for {seat:?}", bundle.turn);
            self.fail(Some(peer), Invariant::NoLoss, seen);
        }
    }

    /// Whether a peer may be removed for what longer turns have cost the others before a turn.
    pub(super) fn has_cost_too_much(&self, peer: usize, turn: u32) -> bool {
        let Some(start) = self.start.as_ref().filter(|_| self.plans.is_slow(peer)) else {
            return false;
        };
        let nominal = start.plan.turn();
        let turns = self.history.iter().take(turn as usize);
        let cost: Duration = turns
            .map(|turn| turn.bundle.plan.turn().saturating_sub(nominal))
            .sum();
        start.on_slow == OnSlow::Remove && cost >= STALL_BUDGET
    }

    /// A world has work before it: no more than it can be rid of in time.
    pub(super) fn check_behind(&mut self, peer: usize) {
        let file = &self.peers[peer];
        // Who comes back has the whole match before it, and is no slow machine for that.
        if file.returned.is_some() && (file.follows() || !file.caught_up) {
            return;
        }
        let behind = self.turn * (file.handed.len() as u32).saturating_sub(file.executed);
        if behind > FARTHEST_BEHIND && self.hostile.is_none() && self.flaw.is_none() {
            let seen = format!("its world lies {behind:.1?} behind");
            self.fail(Some(peer), Invariant::Progress, seen);
        }
    }

    /// Match time before a turn: what the plans in force say.
    pub(super) fn time_before(&self, turn: u32) -> Duration {
        let turns = self.history.iter().take(turn as usize);
        turns.map(|turn| turn.bundle.plan.turn()).sum()
    }
}
