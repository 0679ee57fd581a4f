//! Adaptive plans: turns as short, and as few of them between a command and its execution, as the links allow.
//!
//! A pure integer function of the log, as [`Metering`](super::Metering) is. The log holds the ways that peers report:
//! the time from the sealing of a batch to its arrival. Of the reports about a link the second worst counts: a machine that
//! stands still for a moment makes one way long once, and a link that is slower makes both ways long, or one again and
//! again. Where that is more than the network's budget, the plan goes up at once, to what was measured and a margin. It
//! comes down soon where that was a hiccup, and else only where the second worst way of a long time fits: steady beats
//! fast.

use super::bundle::{Bundle, MAX_WAY, What};
use super::start::Start;
use crate::Plan;
use sim::Seat;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Reports of so long make a plan slower.
const LATE_WINDOW_MS: u64 = 5_000;
/// A faster plan must fit the second worst way of this time; a plan stays in force for no less.
const WINDOW_MS: u64 = 30_000;
/// A slower plan may be for a hiccup, unless a faster plan failed before it: it stays in force for no less.
const HICCUP_MS: u64 = 5_000;
/// After so long all are in line again, where one had to wait: only what is reported since then shows a hiccup's end.
const IN_LINE_MS: u64 = 2_000;
/// The plan of the start stays in force for no less: the lobby has measured no way between two guests.
const FIRST_WAIT_MS: u64 = 5_000;
/// After a lowering that failed, plans stay in force for at least so long; after the next, twice as long.
const WAIT_MS: u64 = 60_000;
/// The longest that they do.
const LONGEST_WAIT_MS: u64 = 480_000;
/// A lowering has failed where the plan has to be slower again within this time, or within twice the wait before it.
const TRIAL_MS: u64 = 60_000;
/// What a plan leaves for a copy of a batch that was lost.
pub(super) const MARGIN_MS: u16 = 25;
/// Ways are rounded up to multiples of this.
const STEP_MS: u16 = 5;
/// The shortest turn, and the longest, in milliseconds, if ticks allow.
const SHORTEST_MS: u16 = 50;
const LONGEST_MS: u16 = 200;
/// Turns are longer where more than so many would lie between a command and its execution: each costs a packet.
const MOST_DELAY: u16 = 4;
/// The longest delay of an adaptive plan.
const LONGEST_DELAY: u16 = crate::limits::LONGEST_DELAY as u16;
/// Reports of one link that are kept. More of them come in no window from correct peers.
const MOST_REPORTS: usize = 64;

/// The way of batches from one peer to another: the time from their sealing to their arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// The lowest seat of the peer that sealed them.
    pub from: Seat,
    /// The lowest seat of the peer that reports it.
    pub to: Seat,
    /// Milliseconds, up to [`MAX_WAY`].
    pub ms: u16,
}

/// The lowest seats of the peers at both ends, the lower one first.
type Link = (Seat, Seat);

impl Way {
    fn link(&self) -> Link {
        (self.from.min(self.to), self.from.max(self.to))
    }
}

/// What decides on the plan of every turn that is adaptive, from the bundles before it.
#[derive(Clone, Debug)]
pub(super) struct Adaptive {
    is_fixed: bool,
    /// Match time since the epoch began.
    at_ms: u64,
    /// By link: the reports of the last [`WINDOW_MS`], with the time of each.
    reports: BTreeMap<Link, VecDeque<(u64, Way)>>,
    changed_at_ms: u64,
    /// The last change was to a slower plan, and it came after no failed lowering.
    may_be_hiccup: bool,
    wait_ms: u64,
    lowered_at_ms: Option<u64>,
}

impl Adaptive {
    /// For the match of this start, from its first turn on. A peer that plays alone waits for no link.
    pub(super) fn of(start: &Start) -> Self {
        let is_fixed = !start.terms.adaptive || start.roster.len() == 1;
        Adaptive::new(is_fixed, FIRST_WAIT_MS)
    }

    fn new(is_fixed: bool, wait_ms: u64) -> Self {
        Adaptive {
            is_fixed,
            at_ms: 0,
            reports: BTreeMap::new(),
            changed_at_ms: 0,
            may_be_hiccup: false,
            wait_ms,
            lowered_at_ms: None,
        }
    }

    /// As at the beginning: a roster change has begun an epoch.
    pub(super) fn begin_epoch(&mut self) {
        *self = Adaptive::new(self.is_fixed, WINDOW_MS);
    }

    /// The worst of these ways to a peer, by the lowest seat that sealed, if the log is to hold it: one that the fastest
    /// plan does not fit, and that was not reported twice of late.
    pub(super) fn report(
        &self,
        to: Seat,
        tick_ms: u16,
        ways: impl Iterator<Item = (Seat, i16)>,
    ) -> Option<Way> {
        let (ms, from) = ways
            .map(|(from, ms)| (ms, std::cmp::Reverse(from)))
            .max()
            .filter(|(ms, _)| !self.is_fixed && *ms > 0)?;
        let ms = (ms as u16).next_multiple_of(STEP_MS).min(MAX_WAY);
        let from = from.0;
        let way = Way { from, to, ms };
        let in_line = self.in_line_ms().filter(|at| *at <= self.at_ms);
        let since = self.at_ms.saturating_sub(LATE_WINDOW_MS);
        let known = self.second_worst(way.link(), in_line.unwrap_or(0).max(since));
        let is_known = known.is_some_and(|known| known.ms >= ms);
        let fits = fitting(ms + MARGIN_MS, tick_ms) == fitting(0, tick_ms);
        (!is_known && !fits).then_some(way)
    }

    /// Takes the next turn of the log, behind which `plan` would be in force. The plan that is instead, with the way that
    /// it is for.
    pub(super) fn take(&mut self, bundle: &Bundle, plan: Plan) -> Option<(Plan, Option<Way>)> {
        if self.is_fixed {
            return None;
        }
        self.at_ms += bundle.plan.turn().as_millis() as u64;
        self.note(bundle);
        let lasting = self.worst(WINDOW_MS);
        // Ticks of another length leave the links another budget.
        let late = match plan.tick_ms == bundle.plan.tick_ms {
            true => self.worst(LATE_WINDOW_MS),
            false => lasting,
        };
        let budget = plan.network_budget();
        if let Some(way) = late.filter(|way| Duration::from_millis(way.ms.into()) > budget) {
            let next = fitting_plan(way.ms + MARGIN_MS, plan);
            if next.network_budget() > budget {
                self.raised();
                return Some((next, Some(way)));
            }
        }
        let lasted_ms = self.at_ms - self.changed_at_ms;
        let (wait_ms, lasting) = match self.in_line_ms() {
            Some(at_ms) => (HICCUP_MS, self.worst(self.at_ms.saturating_sub(at_ms))),
            None => (self.wait_ms, lasting),
        };
        let need_ms = lasting.map_or(0, |way| way.ms + MARGIN_MS);
        let next = fitting_plan(need_ms, plan);
        if lasted_ms < wait_ms || next.latency() >= plan.latency() {
            return None;
        }
        self.changed_at_ms = self.at_ms;
        self.may_be_hiccup = false;
        // The start's plan was for what the lobby could not measure: no plan came down too early with it.
        let is_of_start = self.wait_ms == FIRST_WAIT_MS;
        self.lowered_at_ms = (!is_of_start).then_some(self.at_ms);
        self.wait_ms = self.wait_ms.max(WINDOW_MS);
        Some((next, lasting))
    }

    fn note(&mut self, bundle: &Bundle) {
        let since = self.at_ms.saturating_sub(WINDOW_MS);
        for reports in self.reports.values_mut() {
            while reports.pop_front_if(|(at_ms, _)| *at_ms <= since).is_some() {}
        }
        for entry in &bundle.entries {
            let What::Way { from, ms } = entry.what else {
                continue;
            };
            let to = entry.seat;
            let way = Way { from, to, ms };
            let reports = self.reports.entry(way.link()).or_default();
            if reports.len() == MOST_REPORTS {
                reports.pop_front();
            }
            reports.push_back((self.at_ms, way));
        }
    }

    /// Where the plan may be for a hiccup: when that is over, and all are in line again.
    fn in_line_ms(&self) -> Option<u64> {
        let in_line_ms = self.changed_at_ms + IN_LINE_MS;
        self.may_be_hiccup.then_some(in_line_ms)
    }

    /// The worst way of the last `window_ms`; of equal ones, that of the lowest seats.
    fn worst(&self, window_ms: u64) -> Option<Way> {
        let since = self.at_ms.saturating_sub(window_ms);
        let links = self.reports.keys();
        let ways = links.filter_map(|link| self.second_worst(*link, since));
        ways.max_by_key(|way| (way.ms, std::cmp::Reverse(way.link())))
    }

    /// The second worst way of a link after this time.
    fn second_worst(&self, link: Link, since: u64) -> Option<Way> {
        let reports = self.reports.get(&link)?.iter();
        let ways = reports.filter(|(at_ms, _)| *at_ms > since);
        let worst_two = |(first, second): (Option<Way>, _), (_, way): &(u64, Way)| match first {
            Some(worst) if worst.ms >= way.ms => (first, worse(second, *way)),
            _ => (Some(*way), first),
        };
        ways.fold((None, None), worst_two).1
    }

    /// The plan is slower. Where it was faster not for long, that has failed.
    fn raised(&mut self) {
        let trial = TRIAL_MS.max(2 * self.wait_ms);
        let lowered_at_ms = self.lowered_at_ms.take();
        let has_failed = lowered_at_ms.is_some_and(|at| self.at_ms - at < trial);
        self.wait_ms = match lowered_at_ms {
            _ if has_failed => (2 * self.wait_ms).clamp(WAIT_MS, LONGEST_WAIT_MS),
            Some(_) => WINDOW_MS,
            None => self.wait_ms.max(WINDOW_MS),
        };
        self.may_be_hiccup = !has_failed && self.wait_ms == WINDOW_MS;
        self.changed_at_ms = self.at_ms;
    }
}

/// The longer one; of equal ones, the one that was told first.
fn worse(known: Option<Way>, way: Way) -> Option<Way> {
    Some(known.filter(|known| known.ms >= way.ms).unwrap_or(way))
}

/// The plan that leaves a batch so long for its way.
pub(crate) fn fitting_plan(way_ms: u16, plan: Plan) -> Plan {
    let (ticks, delay_turns) = fitting(way_ms, plan.tick_ms);
    Plan {
        ticks,
        delay_turns,
        ..plan
    }
}

/// Ticks in a turn, and turns of delay: of the shortest turns where few of them are enough, and of longer ones else.
fn fitting(way_ms: u16, tick_ms: u16) -> (u8, u8) {
    let length = |ticks: &u8| u16::from(*ticks) * tick_ms;
    let lengths = [1, 2, 4, 8].into_iter();
    let shortest = lengths.clone().find(|ticks| length(ticks) >= SHORTEST_MS);
    let shortest = shortest.unwrap_or(8);
    let mut lengths = lengths
        .filter(|ticks| *ticks == shortest || *ticks > shortest && length(ticks) <= LONGEST_MS)
        .map(|ticks| (ticks, way_ms.div_ceil(length(&ticks)).max(1) + 1));
    let longest = lengths.clone().next_back().unwrap_or((shortest, 2));
    let fits = lengths.find(|(_, delay)| *delay <= MOST_DELAY);
    let (ticks, delay) = fits.unwrap_or(longest);
    (ticks, delay.min(LONGEST_DELAY) as u8)
}

#[cfg(test)]
mod tests;
