//! L1, too: ticks are longer than at the start only beside slow machines, or lies of one, and within bounds. All that
//! this costs is bounded, under every policy.

use super::*;
use crate::simulator::{REFILL, STALL_BUDGET};

/// The longest ticks, as a multiple of those at the start.
const LONGEST: u16 = 4;
/// The shortest time of the match between two lowerings.
const BETWEEN_LOWERINGS: Duration = Duration::from_secs(10);
/// The longest time of the match until ticks are as at the start, once no machine is slow.
const RECOVERS: Duration = Duration::from_secs(40);

/// The longest time of the match for which a plan stays in force in a new epoch that no machine of it needs.
const OF_EARLIER_EPOCH: Duration = Duration::from_secs(3);

impl Judge {
    /// The plan of every turn follows from those of the turns before it.
    pub(super) fn check_plans(&self, canonical: &Log) {
        let slow = self.peers.iter().filter_map(|of| of.notes.slow_until).max();
        // The first turn that the core executed when no machine was slow any more.
        let core = self.core.members.iter().take(1);
        let mut handed = core.flat_map(|peer| &self.peers[*peer].handed);
        let fast = handed.find(|(_, at)| Some(*at) > slow);
        let first = self.scenario.plan;
        let slowing = self.scenario.slowing() as u32;
        // A turn may overdraw the stall budget.
        let most = (STALL_BUDGET + first.turn() * LONGEST.into()) * slowing + OF_EARLIER_EPOCH;
        // What longer ticks have cost in this epoch, and that without what is given back.
        let (mut cost, mut owed) = (Duration::ZERO, Duration::ZERO);
        // With the time of the last lowering, and the time since when all machines are fast.
        let (mut last, mut at, mut lowered_at, mut fast_at) = (first, Duration::ZERO, None, None);
        for bundle in &canonical.turns {
            let (turn, plan) = (bundle.turn.0, bundle.plan);
            let must = self.must(RUN, Progress, bundle);
            let in_bounds = (first.tick_ms..=first.tick_ms * LONGEST).contains(&plan.tick_ms);
            let same = (plan.ticks, plan.delay_turns) == (first.ticks, first.delay_turns);
            must(same && in_bounds, "a plan out of bounds");
            let fast = fast.is_some_and(|(since, _)| *since <= turn);
            // A pause steps no tick, and the last measurement stands.
            fast_at = fast_at.or(fast.then_some(at)).filter(|_| !bundle.paused);
            let late = fast_at.is_some_and(|since| at > since + RECOVERS);
            let founded = plan == first || slow.is_some() && !late || self.scenario.lies_of_load();
            must(founded, "a plan for no slow machine");
            // Every epoch begins the measurement anew.
            let anew = canonical.epochs.iter().any(|(begins, _)| *begins == turn);
            let kept = u32::from(!anew);
            // A peer alone costs no other anything.
            let costs = !bundle.paused && canonical.roster(turn).len() > 1;
            let longer = (plan.turn() - first.turn()) * u32::from(costs);
            let before = cost;
            cost = cost * kept + longer;
            let given_back = (plan.turn() - longer) * slowing / REFILL;
            owed = (owed * kept + longer).saturating_sub(given_back);
            must(owed <= most, "ticks are long for more than stall budgets");
            // Ticks are short at once when a stall budget is spent.
            let again = lowered_at.is_some_and(|last| at < last + BETWEEN_LOWERINGS);
            let lowered = plan.tick_ms < last.tick_ms;
            must(
                !lowered || !again || before >= STALL_BUDGET,
                "lowered too soon again",
            );
            lowered_at = lowered.then_some(at).or(lowered_at).filter(|_| !anew);
            (last, at) = (plan, at + plan.turn());
        }
    }
}
