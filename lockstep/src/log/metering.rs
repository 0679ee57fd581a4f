//! Metering: how long ticks are, so that the slowest machine keeps up and no peer has to wait for it.
//!
//! A pure integer function of the log, which holds what slow machines reported: all peers compute the same plan, no
//! vote is needed, and the log alone shows a plan that is not the match's. It goes up at once to what was measured and a
//! margin, and comes down only after a time in which all that was measured would have fitted: steady beats fast. Every
//! epoch begins it anew, from the plan in force alone.

use super::bundle::{Bundle, MAX_LOAD, What};
use super::terms::OnSlow;
use crate::Plan;
use sim::Seat;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Time that one peer may cost the others, by being late or by being slow; a tenth of the time since is given back.
pub(crate) const STALL_BUDGET: Duration = Duration::from_secs(10);

/// The longest tick, as a multiple of the one that the match began with.
const FLOOR: u16 = 4;
/// Tick lengths are multiples of this fraction of the one that the match began with.
const STEPS: u16 = 8;
/// All loads of so long must fit before ticks become shorter.
const WINDOW_MS: u64 = 10_000;
/// Ticks stay as long as they are for at least so long; after a lowering that failed, twice as long.
const WAIT_MS: u64 = 10_000;
/// An epoch begins without any load. Slow machines report theirs within this time, or ticks become shorter.
const EPOCH_WAIT_MS: u64 = 3_000;
/// The longest that they do.
const LONGEST_WAIT_MS: u64 = 480_000;
/// A lowering has failed where ticks have to be longer again within this time, or within twice the wait before it.
const TRIAL_MS: u64 = 60_000;
/// Time that a peer may cost the others, all told, under [`OnSlow::Remove`]: as much as it may by being late.
const BUDGET_MS: u64 = STALL_BUDGET.as_millis() as u64;

/// What decides on the plan of every turn, from the bundles before it.
#[derive(Clone, Debug)]
pub struct Metering {
    nominal_ms: u16,
    on_slow: OnSlow,
    /// Match time since the epoch began.
    at_ms: u64,
    /// The loads of the last [`WINDOW_MS`] that no later one reaches: the first is the worst.
    recent: VecDeque<Reported>,
    changed_at_ms: u64,
    lowered_at_ms: Option<u64>,
    wait_ms: u64,
    /// What each peer has cost the others, less a tenth of the time since, by its lowest seat.
    spent_ms: BTreeMap<Seat, u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reported {
    at_ms: u64,
    seat: Seat,
    load: u16,
}

/// Another plan, from the next turn on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metered {
    /// The plan.
    pub plan: Plan,
    /// The lowest seat of the peer that ticks are this long for; `None` where they are as long as at the start.
    pub slow: Option<Seat>,
}

impl Metering {
    /// For a match that began with ticks of `nominal_ms`.
    pub fn new(nominal_ms: u16, on_slow: OnSlow) -> Self {
        Metering {
            nominal_ms,
            on_slow,
            at_ms: 0,
            recent: VecDeque::new(),
            changed_at_ms: 0,
            lowered_at_ms: None,
            wait_ms: WAIT_MS,
            spent_ms: BTreeMap::new(),
        }
    }

    /// As at the beginning: a roster change has begun an epoch. A removed peer slows no other down, and one that is back
    /// has paid.
    pub fn begin_epoch(&mut self) {
        *self = Metering::new(self.nominal_ms, self.on_slow);
        self.wait_ms = EPOCH_WAIT_MS;
    }

    /// Whether a load of so many sixteenths of a millisecond per tick is one that ticks may have to be longer for: the
    /// log holds these only.
    pub(crate) fn counts(&self, load: u16) -> bool {
        self.target(load) > self.nominal_ms
    }

    /// Takes the next turn of the log. The plan of the turn after it, where it is another one.
    pub fn take(&mut self, bundle: &Bundle) -> Option<Metered> {
        let entries = bundle.entries.iter();
        let loads = entries.filter_map(|entry| match entry.what {
            What::Load(load) => Some((entry.seat, load)),
            _ => None,
        });
        self.turn(bundle.plan, loads)
    }

    /// A turn under `plan`, with these loads.
    fn turn(&mut self, plan: Plan, loads: impl Iterator<Item = (Seat, u16)>) -> Option<Metered> {
        self.at_ms += plan.turn().as_millis() as u64;
        let since = self.at_ms.saturating_sub(WINDOW_MS);
        self.recent.retain(|reported| reported.at_ms > since);
        let mut worst_now = 0;
        for (seat, load) in loads {
            if self.counts(load) {
                worst_now = worst_now.max(load);
                self.note(seat, load);
            }
        }
        self.charge(plan);
        let worst = self.recent.front().map_or(0, |reported| reported.load);
        let tick_ms = if worst_now > plan.tick_ms * 16 && plan.tick_ms < self.floor() {
            self.raised();
            self.target(worst)
        } else if self.at_ms - self.changed_at_ms >= self.wait_ms
            && self.target(worst) < plan.tick_ms
        {
            self.lowered_at_ms = Some(self.at_ms);
            self.wait_ms = self.wait_ms.max(WAIT_MS);
            self.target(worst)
        } else {
            return None;
        };
        self.changed_at_ms = self.at_ms;
        let slow = self.recent.front().map(|reported| reported.seat);
        Some(Metered {
            plan: Plan { tick_ms, ..plan },
            slow: slow.filter(|_| tick_ms > self.nominal_ms),
        })
    }

    /// The lowest seat of the peer that has cost the others more time than it may.
    pub(crate) fn too_slow(&self) -> Option<Seat> {
        let mut spent = self.spent_ms.iter();
        let (seat, _) = spent.find(|(_, spent_ms)| **spent_ms >= BUDGET_MS)?;
        (self.on_slow == OnSlow::Remove).then_some(*seat)
    }

    /// The least length of a tick that leaves a quarter of the load as margin.
    fn target(&self, load: u16) -> u16 {
        let wanted = u32::from(load) * 5;
        let fits = |tick_ms: &u16| u32::from(*tick_ms) * 64 >= wanted;
        let steps = STEPS..=STEPS * FLOOR;
        let lengths = steps.map(|steps| self.steps(steps));
        lengths.clone().find(fits).unwrap_or(self.floor())
    }

    fn steps(&self, steps: u16) -> u16 {
        let tick_ms = (u32::from(self.nominal_ms) * u32::from(steps)).div_ceil(STEPS.into());
        tick_ms.min(u32::from(MAX_LOAD / 16)) as u16
    }

    fn floor(&self) -> u16 {
        self.steps(STEPS * FLOOR)
    }

    fn note(&mut self, seat: Seat, load: u16) {
        while self.recent.back().is_some_and(|last| last.load < load) {
            self.recent.pop_back();
        }
        // Of equal loads the later one lasts longer. The first peer to report it is named for as long as its report lasts.
        let same = |last: &&mut Reported| (last.seat, last.load) == (seat, load);
        if let Some(last) = self.recent.back_mut().filter(same) {
            last.at_ms = self.at_ms;
            return;
        }
        let at_ms = self.at_ms;
        self.recent.push_back(Reported { at_ms, seat, load });
    }

    /// The peer that makes turns longer pays for it; the others are given back a tenth of the time.
    fn charge(&mut self, plan: Plan) {
        let longer = plan.tick_ms.saturating_sub(self.nominal_ms);
        let slow = self.recent.front().filter(|_| longer > 0);
        let slow = slow.map(|reported| reported.seat);
        let passed_ms = plan.turn().as_millis() as u64;
        self.spent_ms.retain(|seat, spent_ms| {
            if slow != Some(*seat) {
                *spent_ms = spent_ms.saturating_sub(passed_ms / 10);
            }
            *spent_ms > 0
        });
        if let Some(seat) = slow {
            *self.spent_ms.entry(seat).or_default() += u64::from(longer) * u64::from(plan.ticks);
        }
    }

    fn raised(&mut self) {
        self.wait_ms = self.wait_ms.max(WAIT_MS);
        let trial = TRIAL_MS.max(2 * self.wait_ms);
        match self.lowered_at_ms.take() {
            Some(at) if self.at_ms - at < trial => {
                self.wait_ms = (2 * self.wait_ms).min(LONGEST_WAIT_MS);
            }
            Some(_) => self.wait_ms = WAIT_MS,
            None => {}
        }
    }
}

#[cfg(test)]
mod tests;
