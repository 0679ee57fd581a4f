//! Agreement, on plans: every plan of an adaptive match follows from the ways that its log holds.

use super::*;
use crate::plans::Links;

impl Judge {
    /// Each plan is that of the start, or follows from the log before it.
    pub(super) fn check_adaptive_plans(&self, canonical: &Log) {
        let (mut asked, turns) = (Links::at_start(), &canonical.turns);
        let first = canonical.start.as_ref().map(|start| start.terms.plan);
        let is_first = |turn: &Bundle| Some(turn.plan) == first;
        let must = self.must(RUN, Agreement, turns.first());
        must(
            turns.first().is_none_or(is_first),
            "begins with another plan",
        );
        for pair in turns.windows(2) {
            let (turn, plan) = (pair[1].turn.0, pair[1].plan);
            let wanted = match self.scenario.adaptive {
                true => asked.next(&pair[0], plan.tick_ms),
                false => Plan {
                    tick_ms: plan.tick_ms,
                    ..pair[0].plan
                },
            };
            let must = self.must(RUN, Agreement, (turn, plan, wanted));
            must(plan == wanted, "a plan that its log does not ask for");
            if canonical.epochs.iter().any(|(begins, _)| *begins == turn) {
                asked = Links::default();
            }
        }
    }
}
