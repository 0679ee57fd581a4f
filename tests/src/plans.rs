//! The rules of `docs/plans.md`, computed anew: the plan of each turn of an adaptive match, by the ways in the log before it.

use lockstep::Plan;
use lockstep::log::{Bundle, What};
use sim::Seat;
use std::collections::BTreeMap;

/// The second worst way of this time makes a plan slower, and that of this longer time must fit a faster one.
const LATE: u64 = 5_000;
const LASTING: u64 = 30_000;
/// Waits for a faster plan: after a lowering that failed, and at most.
const WAIT: u64 = 60_000;
const LONGEST_WAIT: u64 = 480_000;
/// The wait of a plan that may be for a hiccup, and after how much of it reports count.
const HICCUP: u64 = 5_000;
const IN_LINE: u64 = 2_000;
/// The wait of the start's plan.
const FIRST: u64 = 5_000;
/// What a plan leaves beyond a way.
const MARGIN: u64 = 25;
/// Reports of one link that count.
const KEPT: usize = 64;

/// What the ways of an epoch ask for.
#[derive(Default)]
pub struct Links {
    at: u64,
    changed: u64,
    lowered: Option<u64>,
    may_be_hiccup: bool,
    /// Zero stands for that of an epoch's beginning.
    wait: u64,
    /// Time, link and length of each report.
    reports: Vec<(u64, [Seat; 2], u64)>,
}

/// Milliseconds in a turn, and those of its command delay.
fn length(plan: Plan) -> (u64, u64) {
    let turn = plan.turn().as_millis() as u64;
    (turn, turn * u64::from(plan.delay_turns))
}

/// The plan for a way, with ticks of this length: of the lengths from 50 to 200 ms the first that needs at most four turns,
/// else the last.
pub fn plan_for(way: u64, tick_ms: u16) -> Plan {
    let turn = |ticks: u8| u64::from(tick_ms) * u64::from(ticks);
    let lengths = [1, 2, 4, 8];
    let first = lengths.iter().find(|ticks| turn(**ticks) >= 50);
    let first = *first.unwrap_or(&8);
    let is_one = |ticks: &u8| *ticks >= first && (turn(*ticks) <= 200 || *ticks == first);
    let ticks: Vec<u8> = lengths.into_iter().filter(is_one).collect();
    let delay = |ticks: u8| way.div_ceil(turn(ticks)).max(1) + 1;
    let few = ticks.iter().find(|ticks| delay(**ticks) <= 4);
    let ticks = *few.or(ticks.last()).unwrap_or(&first);
    Plan {
        ticks,
        delay_turns: delay(ticks).min(8) as u8,
        tick_ms,
    }
}

impl Links {
    /// The second longest way of any link after this time, and 0 where none was told of twice.
    fn second(&self, since: u64) -> u64 {
        let new = self.reports.iter().filter(|(at, ..)| *at > since);
        let mut links: BTreeMap<[Seat; 2], Vec<u64>> = BTreeMap::new();
        new.for_each(|(_, link, way)| links.entry(*link).or_default().push(*way));
        let seconds = links.into_values().filter_map(|mut ways| {
            ways.sort_unstable();
            ways.len().checked_sub(2).map(|at| ways[at])
        });
        seconds.max().unwrap_or(0)
    }

    fn note(&mut self, bundle: &Bundle) {
        self.at += length(bundle.plan).0;
        let since = self.at.saturating_sub(LASTING);
        self.reports.retain(|(at, ..)| *at > since);
        for entry in &bundle.entries {
            if let What::Way { from, ms } = entry.what {
                let mut link = [from, entry.seat];
                link.sort_unstable();
                let same = |(_, of, _): &(u64, [Seat; 2], u64)| *of == link;
                if self.reports.iter().filter(|of| same(of)).count() == KEPT {
                    let oldest = self.reports.iter().position(same);
                    oldest.map(|at| self.reports.remove(at));
                }
                self.reports.push((self.at, link, ms.into()));
            }
        }
    }

    /// What the lobby's ways ask for.
    pub fn at_start() -> Links {
        Links {
            wait: FIRST,
            ..Links::default()
        }
    }

    /// The plan behind this turn, with ticks of this length.
    pub fn next(&mut self, bundle: &Bundle, tick_ms: u16) -> Plan {
        self.note(bundle);
        let plan = Plan {
            tick_ms,
            ..bundle.plan
        };
        let lasting = self.second(self.at.saturating_sub(LASTING));
        let late = match tick_ms == bundle.plan.tick_ms {
            true => self.second(self.at.saturating_sub(LATE)),
            false => lasting,
        };
        let budget = |plan: Plan| length(plan).1 - length(plan).0;
        let slower = plan_for(late + MARGIN, tick_ms);
        let wait = if self.wait == 0 { LASTING } else { self.wait };
        if late > budget(plan) && budget(slower) > budget(plan) {
            let lowered = self.lowered.take();
            let failed = lowered.is_some_and(|at| self.at - at < WAIT.max(2 * wait));
            self.wait = match lowered {
                _ if failed => (2 * wait).clamp(WAIT, LONGEST_WAIT),
                Some(_) => LASTING,
                None => wait.max(LASTING),
            };
            self.may_be_hiccup = !failed && self.wait == LASTING;
            self.changed = self.at;
            return slower;
        }
        let (wait, lasting) = match self.may_be_hiccup {
            true => (HICCUP, self.second(self.changed + IN_LINE)),
            false => (wait, lasting),
        };
        let need = if lasting == 0 { 0 } else { lasting + MARGIN };
        let faster = plan_for(need, tick_ms);
        if self.at - self.changed < wait || length(faster).1 >= length(plan).1 {
            return plan;
        }
        let is_of_start = self.wait == FIRST;
        (self.changed, self.lowered) = (self.at, (!is_of_start).then_some(self.at));
        self.may_be_hiccup = false;
        self.wait = self.wait.max(LASTING);
        faster
    }
}
