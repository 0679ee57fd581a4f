//! Metering: how long ticks are, so that the slowest machine keeps up and no peer has to wait for it.
//!
//! A pure integer function of the log, which holds what slow machines reported: all peers compute the same plan, no
//! vote is needed, and the log alone shows a plan that is not the match's. It goes up at once to what was measured and a
//! margin. It comes down only after a time in which all that was measured would have fitted: steady beats fast. Every
//! epoch begins it anew, from the plan in force alone.
//!
//! A peer pays for what it costs the others, under every policy: a report may be a lie, and no peer can tell. The log
//! holds all that the account needs, so all peers agree on it, and the match is as fast again in the same turn for all.
//! Each peer's own measurement, by which late peers pay, would not do: peers would compute different plans.

use super::bundle::{Bundle, MAX_LOAD, What};
use super::start::Start;
use super::terms::OnSlow;
use crate::Plan;
use sim::Seat;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Time that one peer may cost the others by being late, and as much by being slow. A tenth of the time in which it costs
/// them nothing is given back.
pub(crate) const STALL_BUDGET: Duration = Duration::from_secs(10);

/// The longest tick, as a multiple of the one that the match began with.
const LONGEST: u16 = 4;
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
/// Of the time that passes so much is given back: a tenth.
const GIVEN_BACK: u64 = 10;
/// The stall budget, in tenths of a millisecond: short turns give back little.
const BUDGET: u64 = STALL_BUDGET.as_millis() as u64 * GIVEN_BACK;

/// What decides on the plan of every turn, from the bundles before it.
#[derive(Clone, Debug)]
pub struct Metering {
    nominal_ms: u16,
    on_slow: OnSlow,
    /// One peer plays alone, and costs no other anything.
    is_alone: bool,
    /// Match time since the epoch began.
    at_ms: u64,
    /// By the lowest seat of each peer.
    peers: BTreeMap<Seat, Machine>,
    /// The peer that ticks are as long as they are for: it pays.
    payer: Option<Seat>,
    changed_at_ms: u64,
    wait_ms: u64,
}

/// What is known of one peer's machine.
#[derive(Clone, Debug, Default)]
struct Machine {
    /// Its loads of the last [`WINDOW_MS`] that no later one reaches, with the time of each: the first is the worst.
    recent: VecDeque<(u64, u16)>,
    /// What it has cost the others, less what it was given back, in tenths of a millisecond.
    spent: u64,
    /// All of its stall budget was spent, and it does not have all back: its loads count for nothing.
    is_spent: bool,
    /// When ticks that it paid for were lowered last, and how long they wait for that: each peer's own failed lowerings
    /// make its waits longer.
    lowered_at_ms: Option<u64>,
    wait_ms: u64,
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
    /// For the match of this start, from its first turn on.
    pub fn of(start: &Start) -> Self {
        let terms = &start.terms;
        Metering {
            is_alone: start.roster.len() == 1,
            ..Metering::new(terms.plan.tick_ms, terms.on_slow)
        }
    }

    /// For a match of several peers that began with ticks of `nominal_ms`.
    pub fn new(nominal_ms: u16, on_slow: OnSlow) -> Self {
        Metering {
            nominal_ms,
            on_slow,
            is_alone: false,
            at_ms: 0,
            peers: BTreeMap::new(),
            payer: None,
            changed_at_ms: 0,
            wait_ms: WAIT_MS,
        }
    }

    /// As at the beginning: a roster change has begun an epoch, with so many peers. A removed peer slows no other down, and
    /// one that is back has paid.
    pub fn begin_epoch(&mut self, peers: usize) {
        *self = Metering {
            is_alone: peers == 1,
            wait_ms: EPOCH_WAIT_MS,
            ..Metering::new(self.nominal_ms, self.on_slow)
        };
    }

    /// Whether ticks may have to be longer for this load, in sixteenths of a millisecond per tick: the log holds these
    /// loads only.
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
        self.turn(bundle.plan, bundle.paused, loads)
    }

    /// A turn under `plan`, with these loads.
    fn turn(
        &mut self,
        plan: Plan,
        paused: bool,
        loads: impl Iterator<Item = (Seat, u16)>,
    ) -> Option<Metered> {
        self.at_ms += plan.turn().as_millis() as u64;
        let is_spent = self.charge(plan, paused);
        let worst_now = self.note(loads);
        let worst = self.worst();
        let target = worst.map_or(self.nominal_ms, |(load, _)| self.target(load));
        let has_waited = self.at_ms - self.changed_at_ms >= self.wait_ms;
        if worst_now > plan.tick_ms * 16 && plan.tick_ms < self.longest() {
            self.raised(worst);
        } else if (is_spent || has_waited) && target < plan.tick_ms {
            self.lowered();
        } else {
            self.hand_over(plan, worst);
            return None;
        }
        self.changed_at_ms = self.at_ms;
        self.payer = worst.map(|(_, seat)| seat);
        Some(Metered {
            plan: Plan {
                tick_ms: target,
                ..plan
            },
            slow: self.payer.filter(|_| target > self.nominal_ms),
        })
    }

    /// The lowest seat of the peer that has cost the others more time than it may.
    pub(crate) fn too_slow(&self) -> Option<Seat> {
        let mut peers = self.peers.iter();
        let (seat, _) = peers.find(|(_, machine)| machine.is_spent)?;
        (self.on_slow == OnSlow::Remove).then_some(*seat)
    }

    /// The least length of a tick that leaves a quarter of the load as margin.
    fn target(&self, load: u16) -> u16 {
        let wanted = u32::from(load) * 5;
        let fits = |tick_ms: &u16| u32::from(*tick_ms) * 64 >= wanted;
        let steps = STEPS..=STEPS * LONGEST;
        let lengths = steps.map(|steps| self.steps(steps));
        lengths.clone().find(fits).unwrap_or(self.longest())
    }

    fn steps(&self, steps: u16) -> u16 {
        let tick_ms = (u32::from(self.nominal_ms) * u32::from(steps)).div_ceil(STEPS.into());
        tick_ms.min(u32::from(MAX_LOAD / 16)) as u16
    }

    fn longest(&self) -> u16 {
        self.steps(STEPS * LONGEST)
    }

    /// Takes the loads of a turn. The worst of them that counts; 0 for none.
    fn note(&mut self, loads: impl Iterator<Item = (Seat, u16)>) -> u16 {
        let since = self.at_ms.saturating_sub(WINDOW_MS);
        for machine in self.peers.values_mut() {
            machine.recent.retain(|(at_ms, _)| *at_ms > since);
        }
        let mut worst = 0;
        for (seat, load) in loads {
            let counts = self.counts(load);
            let machine = self.peers.entry(seat).or_default();
            if counts && !machine.is_spent {
                worst = worst.max(load);
                machine.note(self.at_ms, load);
            }
        }
        worst
    }

    /// The worst load of late, and the peer that reported it; of equal ones, the lowest seat.
    fn worst(&self) -> Option<(u16, Seat)> {
        let peers = self.peers.iter();
        let loads = peers.filter_map(|(seat, machine)| Some((machine.worst()?, *seat)));
        loads.max_by_key(|(load, seat)| (*load, std::cmp::Reverse(*seat)))
    }

    /// Another peer pays where it needs ticks of this length and the one that has paid does not. A peer that needs them no
    /// more pays on while no other does: they are long until the wait is over that it began.
    fn hand_over(&mut self, plan: Plan, worst: Option<(u16, Seat)>) {
        let needs = |load: u16| self.target(load) >= plan.tick_ms;
        let payer = self.payer.and_then(|seat| self.peers.get(&seat));
        let load = payer.and_then(Machine::worst);
        let (Some((load_of_worst, seat)), false) = (worst, load.is_some_and(needs)) else {
            return;
        };
        if needs(load_of_worst) {
            self.payer = Some(seat);
            self.wait_ms = self.peers[&seat].wait_ms();
        }
    }

    /// The peer that makes turns longer pays for it, and all are given back a tenth of the time that they did not cost.
    /// Paused turns cost no peer anything. Whether the one that pays has spent all that it may.
    fn charge(&mut self, plan: Plan, paused: bool) -> bool {
        let ticks = u64::from(plan.ticks);
        let longer = u64::from(plan.tick_ms.saturating_sub(self.nominal_ms)) * ticks;
        let longer = if paused || self.is_alone { 0 } else { longer };
        let passed = plan.turn().as_millis() as u64;
        for (seat, machine) in &mut self.peers {
            let cost = if self.payer == Some(*seat) { longer } else { 0 };
            let given_back = passed - cost;
            machine.spent = (machine.spent + cost * GIVEN_BACK).saturating_sub(given_back);
            machine.is_spent &= machine.spent > 0;
        }
        let payer = self.payer.and_then(|seat| self.peers.get_mut(&seat));
        let spent = payer.filter(|payer| longer > 0 && payer.spent >= BUDGET);
        let Some(payer) = spent else {
            return false;
        };
        payer.is_spent = true;
        payer.recent.clear();
        self.payer = None;
        true
    }

    /// Ticks are longer for this peer. Where they were not for long, the lowering before has failed.
    /// The wait is the peer's own: another one's failed lowerings would cost it the stall budget.
    fn raised(&mut self, worst: Option<(u16, Seat)>) {
        let Some(machine) = worst.and_then(|(_, seat)| self.peers.get_mut(&seat)) else {
            return;
        };
        let wait_ms = machine.wait_ms();
        let trial = TRIAL_MS.max(2 * wait_ms);
        machine.wait_ms = match machine.lowered_at_ms.take() {
            Some(at) if self.at_ms - at < trial => (2 * wait_ms).min(LONGEST_WAIT_MS),
            Some(_) => WAIT_MS,
            None => wait_ms,
        };
        self.wait_ms = machine.wait_ms;
    }

    fn lowered(&mut self) {
        let payer = self.payer.and_then(|seat| self.peers.get_mut(&seat));
        if let Some(payer) = payer {
            payer.lowered_at_ms = Some(self.at_ms);
        }
        self.wait_ms = self.wait_ms.max(WAIT_MS);
    }
}

impl Machine {
    fn wait_ms(&self) -> u64 {
        self.wait_ms.max(WAIT_MS)
    }

    fn worst(&self) -> Option<u16> {
        self.recent.front().map(|(_, load)| *load)
    }

    fn note(&mut self, at_ms: u64, load: u16) {
        while self.recent.back().is_some_and(|(_, last)| *last <= load) {
            self.recent.pop_back();
        }
        self.recent.push_back((at_ms, load));
    }
}

#[cfg(test)]
mod tests;
