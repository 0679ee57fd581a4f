//! The plan of every turn, from the bundles before it: for links that take their time, and for slow machines.

use super::adaptive::{Adaptive, Way};
use super::bundle::{Bundle, What};
use super::metering::Metering;
use super::start::Start;
use crate::Plan;
use sim::Seat;

/// What decides on the plan of every turn.
#[derive(Clone, Debug)]
pub struct Plans {
    metering: Metering,
    adaptive: Adaptive,
    slow: Option<Seat>,
    way: Option<Way>,
}

/// Another plan, from the next turn on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanChange {
    /// The plan.
    pub plan: Plan,
    /// The lowest seat of the peer that ticks are longer for than at the start, where they are.
    pub slow: Option<Seat>,
    /// The way that turns are as long, and as many, for, where the log tells of one.
    pub way: Option<Way>,
}

impl Plans {
    /// For the match of this start, from its first turn on.
    pub fn of(start: &Start) -> Self {
        Plans {
            metering: Metering::of(start),
            adaptive: Adaptive::of(start),
            slow: None,
            way: None,
        }
    }

    /// A roster change has begun an epoch, with so many peers, of which all know no more than the plan in force.
    pub fn begin_epoch(&mut self, peers: usize) {
        self.metering.begin_epoch(peers);
        self.adaptive.begin_epoch();
        (self.slow, self.way) = (None, None);
    }

    /// This plan of the next turn, and what it is for.
    pub(super) fn in_force(&self, plan: Plan) -> PlanChange {
        PlanChange {
            plan,
            slow: self.slow,
            way: self.way,
        }
    }

    /// The lowest seat of the peer that is to be removed, as it has slowed the match down for longer than it may.
    pub(super) fn too_slow(&self) -> Option<Seat> {
        self.metering.too_slow()
    }

    /// What the log is to hold of the load and the ways that the peer with this lowest seat reports.
    pub(super) fn reports(
        &self,
        of: Seat,
        load: u16,
        ways: impl Iterator<Item = (Seat, i16)>,
        tick_ms: u16,
    ) -> impl Iterator<Item = What> {
        let load = self.metering.counts(load).then_some(What::Load(load));
        let way = self.adaptive.report(of, tick_ms, ways);
        let way = way.map(|Way { from, ms, .. }| What::Way { from, ms });
        load.into_iter().chain(way)
    }

    /// Takes the next turn of the log. The plan of the turn after it, where it is another one.
    pub fn take(&mut self, bundle: &Bundle) -> Option<PlanChange> {
        let metered = self.metering.take(bundle);
        let plan = metered.map_or(bundle.plan, |metered| metered.plan);
        let adapted = self.adaptive.take(bundle, plan);
        self.slow = metered.map_or(self.slow, |metered| metered.slow);
        self.way = adapted.map_or(self.way, |(_, way)| way);
        let plan = adapted.map_or(plan, |(plan, _)| plan);
        (metered.is_some() || adapted.is_some()).then(|| self.in_force(plan))
    }
}
