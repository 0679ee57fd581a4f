//! L1, too: ticks are longer than at the start only beside slow machines, and no longer than is allowed.

use super::*;

/// Ticks are at most so many times as long as at the start.
const LONGEST: u16 = 4;
/// Between two lowerings lies so much of the match.
const BETWEEN_LOWERINGS: Duration = Duration::from_secs(10);
/// Once no machine is slow, ticks are as at the start within so much of the match.
const RECOVERS: Duration = Duration::from_secs(40);

impl Judge {
    /// The plan of every turn follows from those of the turns before it.
    pub(super) fn check_plans(&self, canonical: &Log) {
        let slow = self.peers.iter().filter_map(|of| of.notes.slow_until);
        let slow = slow.max();
        let may_lie = self.scenario.hostile().next().is_some();
        let first = self.scenario.plan;
        let (mut last, mut at) = (first, Duration::ZERO);
        // When ticks were made shorter, and since when all machines are fast.
        let (mut lowered_at, mut fast_at) = (None, None);
        for bundle in &canonical.turns {
            let (turn, plan) = (bundle.turn.0, bundle.plan);
            let must = self.must(RUN, Progress, bundle);
            let in_bounds = (first.tick_ms..=first.tick_ms * LONGEST).contains(&plan.tick_ms);
            let same = (plan.ticks, plan.delay_turns) == (first.ticks, first.delay_turns);
            must(same && in_bounds, "a plan out of bounds");
            let excused = plan == first || may_lie;
            must(excused || slow.is_some(), "a plan for no slow machine");
            let core = self.core.members.iter().take(1);
            let mut handed = core.flat_map(|peer| &self.peers[*peer].handed);
            let handed = handed.find(|(handed, _)| *handed == turn);
            let fast = handed.is_some_and(|(_, at)| slow.is_none_or(|slow| *at > slow));
            // In a pause no tick is stepped: what was measured last stands.
            fast_at = fast_at.or(fast.then_some(at)).filter(|_| !bundle.paused);
            let late = fast_at.is_some_and(|since| at > since + RECOVERS);
            must(excused || !late, "a plan for a machine that was slow");
            // Every epoch begins the measurement anew.
            let anew = canonical.epochs.iter().any(|(begins, _)| *begins == turn);
            let early = lowered_at.is_some_and(|last| at < last + BETWEEN_LOWERINGS);
            let lowered = plan.tick_ms < last.tick_ms;
            must(!lowered || !early, "lowered too soon again");
            lowered_at = lowered.then_some(at).or(lowered_at).filter(|_| !anew);
            (last, at) = (plan, at + plan.turn());
        }
    }
}
