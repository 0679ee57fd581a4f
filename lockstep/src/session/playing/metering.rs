//! Metering: how long ticks are, so that the slowest machine keeps up and nobody has to wait for it.
//!
//! A pure integer function of what the batches of complete turns report, so that all peers compute the same plan and
//! nobody votes. It goes up at once to what was measured and a margin, and comes down only after a time in which all
//! that was measured would have fitted: steady beats fast. Every epoch begins it anew, from the plan in force alone.

use crate::Plan;
use crate::log::OnSlow;
use crate::session::MAX_LOAD;
use std::collections::VecDeque;

/// The longest tick, as a multiple of the one that the match began with.
const FLOOR: u16 = 4;
/// Tick lengths are multiples of this fraction of the one that the match began with.
const STEPS: u16 = 8;
/// All loads of so long must fit before ticks become shorter.
const WINDOW_MS: u64 = 10_000;
/// Ticks stay as long as they are for at least so long; after a lowering that failed, twice as long.
const WAIT_MS: u64 = 10_000;
/// The longest that they do.
const LONGEST_WAIT_MS: u64 = 480_000;
/// A lowering has failed where ticks have to be longer again within this time, or within twice the wait before it.
const TRIAL_MS: u64 = 60_000;
/// Time that a peer may cost the others, all told, under [`OnSlow::Remove`]: as much as it may by being late.
const BUDGET_MS: u64 = super::change::STALL_BUDGET.as_millis() as u64;

/// What decides on the plan.
pub(crate) struct Metering {
    nominal_ms: u16,
    on_slow: OnSlow,
    /// Match time since the epoch began.
    at_ms: u64,
    /// The loads of the last [`WINDOW_MS`] that no later one reaches: the first is the worst.
    recent: VecDeque<Reported>,
    changed_at_ms: u64,
    lowered_at_ms: Option<u64>,
    wait_ms: u64,
    /// What each peer has cost the others, less a tenth of the time since.
    spent_ms: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reported {
    at_ms: u64,
    peer: u8,
    load: u16,
}

/// Another plan, from the next turn on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Metered {
    pub plan: Plan,
    /// The peer that ticks are this long for; `None` where they are as long as at the start.
    pub slow: Option<u8>,
}

impl Metering {
    /// For a match that began with ticks of `nominal_ms`, among so many peers.
    pub(crate) fn new(nominal_ms: u16, on_slow: OnSlow, peers: usize) -> Self {
        Metering {
            nominal_ms,
            on_slow,
            at_ms: 0,
            recent: VecDeque::new(),
            changed_at_ms: 0,
            lowered_at_ms: None,
            wait_ms: WAIT_MS,
            spent_ms: vec![0; peers],
        }
    }

    /// As at the beginning: an epoch has begun, and who joins with it knows the plan and nothing else.
    pub(crate) fn begin_epoch(&mut self) {
        *self = Metering::new(self.nominal_ms, self.on_slow, self.spent_ms.len());
    }

    /// A turn under `plan` is complete, whose batches report these loads: peer, and sixteenths of a millisecond per
    /// tick. The plan of the next turn, where it is another one.
    pub(crate) fn turn(
        &mut self,
        plan: Plan,
        loads: impl Iterator<Item = (u8, u16)>,
    ) -> Option<Metered> {
        self.at_ms += plan.turn().as_millis() as u64;
        let since = self.at_ms.saturating_sub(WINDOW_MS);
        self.recent.retain(|reported| reported.at_ms > since);
        let mut worst_now = 0;
        for (peer, load) in loads.filter(|(_, load)| *load > 0) {
            worst_now = worst_now.max(load);
            self.note(peer, load);
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
            self.target(worst)
        } else {
            return None;
        };
        self.changed_at_ms = self.at_ms;
        let slow = self.recent.front().map(|reported| reported.peer);
        Some(Metered {
            plan: Plan { tick_ms, ..plan },
            slow: slow.filter(|_| tick_ms > self.nominal_ms),
        })
    }

    /// The peer that has cost the others more time than it may.
    pub(crate) fn too_slow(&self) -> Option<u8> {
        let spent = |peer: &u64| *peer >= BUDGET_MS;
        let peer = self.spent_ms.iter().position(spent)?;
        (self.on_slow == OnSlow::Remove).then_some(peer as u8)
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

    fn note(&mut self, peer: u8, load: u16) {
        while self.recent.back().is_some_and(|last| last.load < load) {
            self.recent.pop_back();
        }
        // Of equal loads the later one lasts longer, and the peer that reported first is the one that is named.
        if let Some(last) = self.recent.back_mut().filter(|last| last.load == load) {
            last.at_ms = self.at_ms;
            return;
        }
        let at_ms = self.at_ms;
        self.recent.push_back(Reported { at_ms, peer, load });
    }

    /// Whoever makes turns longer pays for it; the others are given back a tenth of the time.
    fn charge(&mut self, plan: Plan) {
        let longer = plan.tick_ms.saturating_sub(self.nominal_ms);
        let slow = self.recent.front().filter(|_| longer > 0);
        let slow = slow.map(|reported| usize::from(reported.peer));
        let passed_ms = plan.turn().as_millis() as u64;
        for (peer, spent_ms) in self.spent_ms.iter_mut().enumerate() {
            *spent_ms = match slow == Some(peer) {
                true => *spent_ms + u64::from(longer) * u64::from(plan.ticks),
                false => spent_ms.saturating_sub(passed_ms / 10),
            };
        }
    }

    fn raised(&mut self) {
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
