//! Ticks are longer than at the start only beside slow machines, and no longer than is allowed.

use super::{Invariant, Judge, Log};
use crate::simulator::Playable;
use std::time::Duration;

/// Ticks are at most so many times as long as at the start.
const LONGEST: u16 = 4;
/// Between two lowerings lies so much of the match.
const BETWEEN_LOWERINGS: Duration = Duration::from_secs(10);
/// Once no machine is slow, ticks are as at the start within so much of the match.
const RECOVERS: Duration = Duration::from_secs(40);

impl<W: Playable> Judge<W> {
    /// The plan of every turn follows from those of the turns before it.
    pub(super) fn check_plans(&mut self, canonical: &Log) {
        let first = self.scenario.plan;
        let slow = self.peers.iter().filter_map(|file| file.slow_until).max();
        let may_lie = self.scenario.hostile().next().is_some();
        let (mut before, mut at, mut lowered_at, mut fast_at) = (first, Duration::ZERO, None, None);
        let core = self
            .core
            .as_ref()
            .and_then(|core| core.members.first().copied());
        for turn in 0..canonical.turns() {
            let Some(bundle) = canonical.bundle(turn) else {
                return;
            };
            let plan = bundle.plan;
            let handed = core.and_then(|peer| {
                let mut handed = self.peers[peer].handed.iter();
                handed
                    .find(|(handed, _)| *handed == turn)
                    .map(|(_, at)| *at)
            });
            let all_fast = handed.is_some_and(|handed| slow.is_none_or(|slow| handed > slow));
            if all_fast && !bundle.paused {
                fast_at = fast_at.or(Some(at));
            } else if bundle.paused {
                // No tick is stepped: what was measured last stands.
                fast_at = None;
            }
            let lowered = plan.tick_ms < before.tick_ms;
            let early = lowered_at.is_some_and(|last| at < last + BETWEEN_LOWERINGS);
            let late = fast_at.is_some_and(|fast| at > fast + RECOVERS);
            let seen = if (plan.ticks, plan.delay_turns) != (first.ticks, first.delay_turns)
                || !(first.tick_ms..=first.tick_ms * LONGEST).contains(&plan.tick_ms)
            {
                Some("out of bounds")
            } else if plan != first && slow.is_none() && !may_lie {
                Some("though no machine is slow")
            } else if lowered && early {
                Some("too soon after the last lowering")
            } else if plan != first && late && !may_lie {
                Some("though all machines have been fast for long")
            } else {
                None
            };
            if let Some(seen) = seen {
                let seen = format!("turn {turn}: ticks of {} ms, {seen}", plan.tick_ms);
                return self.fail_of(None, Invariant::Progress, seen);
            }
            lowered_at = if lowered { Some(at) } else { lowered_at };
            // Every epoch begins the measurement anew.
            if canonical.epochs.iter().any(|epoch| epoch.begins == turn) {
                lowered_at = None;
            }
            (before, at) = (plan, at + plan.turn());
        }
    }
}
