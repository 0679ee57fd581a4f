//! A peer that makes turns longer pays for that alone, all of its stall budget and not more, and counts again once it has all
//! back.

use super::*;
use crate::simulator::{REFILL, STALL_BUDGET};

impl Judge {
    /// Ticks are long for a lie until its budget is spent, and short until that is given back. Pauses, other slow machines
    /// and roster changes would count as well.
    pub(super) fn check_charge(&self, canonical: &Log) {
        let first = self.scenario.plan;
        let alone = self.scenario.lies_of_load() && self.scenario.slowing() == 1;
        let paused = canonical.turns.iter().any(|bundle| bundle.paused);
        if !alone || paused || !canonical.changes.is_empty() {
            return;
        }
        let (mut owed, mut is_spent, mut before) = (Duration::ZERO, false, first);
        for bundle in &canonical.turns {
            let (plan, must) = (bundle.plan, self.must(RUN, Progress, bundle));
            must(
                plan.tick_ms == first.tick_ms || !is_spent,
                "believes a peer in debt",
            );
            let lowered = plan.tick_ms < before.tick_ms;
            must(is_spent || !lowered, "charges a peer for more than it cost");
            let longer = Duration::from_millis((plan.tick_ms - first.tick_ms).into());
            let longer = longer * u32::from(plan.ticks);
            owed = (owed + longer).saturating_sub((plan.turn() - longer) / REFILL);
            is_spent = !owed.is_zero() && (is_spent || owed >= STALL_BUDGET);
            before = plan;
        }
    }
}
