//! Agreement, on plans: every plan of an adaptive match follows from the ways that its log holds.

use super::*;
use crate::plans::Links;

/// The longest time from the arrival of a batch to the sealing of the one that tells of it.
const LATELY: Duration = Duration::from_millis(1_500);
/// What ways are rounded up by, what two clocks may differ in a turn, and what it takes to ask for a lost batch.
const UNEVEN: Duration = Duration::from_millis(500);

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

    /// After healing, the log holds no longer way than that of a packet. A batch may be sealed later than that of the peer
    /// that tells of its way, and that peer may have waited.
    pub(super) fn check_ways(&self, canonical: &Log) {
        let turns = canonical.turns.iter().filter(|_| self.knows_ways());
        let entries = turns.flat_map(|of| of.entries.iter().map(move |entry| (of, entry)));
        for (bundle, LogEntry { seat: to, what }) in entries {
            let What::Way { from, ms } = what else {
                continue;
            };
            let ends = [from, to].map(|seat| self.with_seat(canonical, *seat));
            let [Some(from), Some(to)] = ends.map(|end| end.filter(|peer| self.is_core(*peer)))
            else {
                continue;
            };
            let handed = |peer: usize| self.peers[peer].handed.iter().copied();
            let at = |peer, turn| Some(handed(peer).find(|(of, _)| *of == turn)?.1);
            let (length, by) = (
                bundle.plan.turn(),
                at(to, bundle.turn.0).unwrap_or_default(),
            );
            let since = by.saturating_sub(LATELY + length * self.scenario.delay());
            if Some(since) <= self.core.due || self.scenario.are_apart(from, to) {
                continue;
            }
            let pairs = self.peers[to].handed.windows(2);
            let lately = pairs.filter(|pair| (since..=by).contains(&pair[1].1));
            let here = lately.clone().flatten();
            let later = here.filter_map(|(turn, here)| at(from, *turn)?.checked_sub(*here));
            let waits = lately.map(|pair| (pair[1].1 - pair[0].1).saturating_sub(length));
            let late = later.max().unwrap_or_default() + waits.max().unwrap_or_default();
            let most = self.passages[1][&(from, to)][1] + late + UNEVEN;
            let must = self.must(to, Agreement, (bundle.turn, from, ms, most));
            must(
                u128::from(*ms) <= most.as_millis(),
                "tells of too long a way",
            );
        }
    }
}
