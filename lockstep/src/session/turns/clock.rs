//! The clock of turns: when the next one is due, and how this peer falls in line with the others.
//!
//! No wall clock. A way is the time from the sealing of a batch to its arrival, if both clocks agree. The offset between two
//! peers is half the difference of their mutual ways. A peer that is ahead of the median slows down, and one that is behind
//! it makes haste: else all would fall back to where no batch has any time to spare. What a peer has waited for a batch it
//! makes up at once, before others see it. The sum of both ways does not depend on clocks. Where it is more than of late, a
//! batch was lost and came as a copy, and the two ways tell nothing of the offset.
//!
//! What reports tell is up to two seconds old, and of the worst of a second. A peer that moves with each report of each
//! other peer swings to and fro: it looks once a second, and moves by half.

use crate::Plan;
use crate::log::NO_WAY;
use std::time::Duration;

/// How often ways are reported.
const REPORT_EVERY: Duration = Duration::from_secs(1);
/// Being ahead, or behind, by no more is in line.
const IN_LINE_MS: i64 = 4;
/// Turns are longer or shorter by no more than such a part.
const PART: i64 = 20;
/// As much as turns can make up until the next report, and the one after it: a peer that reported may be gone by then.
const MOST_SLEW_US: i64 = 2 * REPORT_EVERY.as_micros() as i64 / PART;
/// Mutual ways that are longer by so much than the shortest of the last reports are those of a copy.
const OF_A_COPY_MS: i32 = 15;
/// The longest way that is reported, in milliseconds.
const LONGEST_MS: i64 = 30_000;
/// The reports that count as of late. Links change.
const OF_LATE: usize = 8;
/// The same of what is needed to know when a copy can still help.
const DIRECT: usize = 4;

pub(super) struct Clock {
    /// When the next turn is due.
    due: Duration,
    /// How much earlier it may begin, where all of it has come: what this peer has waited for turns and not made up.
    waited: Duration,
    /// How much longer turns are to be, in all, for this peer to fall back in line, in microseconds; negative: shorter.
    slew_us: i64,
    /// When this peer last looked whether it is in line.
    aligned_at: Duration,
    reported_at: Duration,
    /// By place.
    ways: Vec<Ways>,
}

/// How long after this peer had sealed its own batches those of one peer came, and this one's there: milliseconds.
#[derive(Clone, Copy, Default)]
struct Ways {
    /// The longest here, since the last report of this peer.
    here: Option<i16>,
    /// The same over the time of that report.
    reported: Option<i16>,
    /// The longest of this peer's batches there, as the other peer last reported.
    there: Option<i16>,
    /// The same, the last times that it was not of a copy.
    direct: [Option<i16>; DIRECT],
    /// The mutual ways at the last reports of the other peer while this one kept its clock, the newest first.
    mutual: [Option<i32>; OF_LATE],
    /// The least and the most that this peer had waited when it sealed, since the last report of the other peer and before.
    /// A way that is longer by the difference tells nothing of the link.
    waited: [Option<(Duration, Duration)>; 2],
    /// Reports in a row of which that is true.
    uneven: usize,
}

impl Ways {
    /// The other peer has reported. Mutual ways are known once both have.
    fn reported(&mut self, way_ms: i16, keeps_clock: bool) {
        self.there = Some(way_ms);
        self.uneven = match self.uneven_ms() > i64::from(OF_A_COPY_MS) {
            true => self.uneven + 1,
            false => 0,
        };
        // Else the two ways are of different times.
        if keeps_clock && self.mutual().is_some() {
            self.mutual.rotate_right(1);
            self.mutual[0] = self.mutual();
        }
        if !self.is_of_copy() {
            self.direct.rotate_right(1);
            self.direct[0] = self.there;
        }
    }

    fn mutual(&self) -> Option<i32> {
        Some(i32::from(self.reported?) + i32::from(self.there?))
    }

    fn is_of_copy(&self) -> bool {
        // Waits without end say nothing of the last ones: another peer may cause them.
        if (1..=OF_LATE).contains(&self.uneven) {
            return true;
        }
        let least = self.mutual.iter().flatten().min();
        least
            .zip(self.mutual())
            .is_some_and(|(least, newest)| newest > *least + OF_A_COPY_MS)
    }

    /// By how much of what it had waited this peer has sealed later at one time than at another.
    fn uneven_ms(&self) -> i64 {
        let waited = || self.waited.iter().flatten();
        let least = waited().map(|(least, _)| *least).min();
        let most = waited().map(|(_, most)| *most).max();
        let uneven = most
            .unwrap_or_default()
            .saturating_sub(least.unwrap_or_default());
        uneven.as_millis() as i64
    }

    /// How far this peer is ahead of the other one, in milliseconds, if both have reported. A peer with
    /// reports of copies alone counts as in line: without it another peer's word would weigh more.
    fn ahead(&self) -> Option<i64> {
        let ahead = i64::from(self.reported?) - i64::from(self.there?);
        Some(if self.is_of_copy() { 0 } else { ahead / 2 })
    }
}

impl Clock {
    pub(super) fn new(due: Duration, peers: usize, now: Duration) -> Self {
        Clock {
            due,
            waited: Duration::ZERO,
            slew_us: 0,
            aligned_at: now,
            reported_at: now,
            ways: vec![Ways::default(); peers],
        }
    }

    pub(super) fn due(&self) -> Duration {
        self.due
    }

    /// When the next turn may begin, where all of it has come. A peer that has waited for a batch makes that up at once. Else
    /// its own batches would come late until it is in line again, and the others would wait for them.
    pub(super) fn earliest(&self) -> Duration {
        self.due.saturating_sub(self.waited)
    }

    /// What was not lived through was not waited for.
    pub(super) fn skip_to(&mut self, now: Duration) {
        self.due = self.due.max(now);
        self.waited = Duration::ZERO;
    }

    /// A turn of this plan begins, later or earlier than it was due, and then one of this length.
    pub(super) fn begin(&mut self, began: Duration, plan: Plan, next: Duration) {
        let turn = plan.turn();
        // The others have sealed no further ahead. Where this peer has waited for much longer, they stood still as well.
        let delay = turn * u32::from(plan.delay_turns);
        let late = began.saturating_sub(self.due);
        let made_up = self.due.saturating_sub(began);
        self.waited = match self.ways.len() > 1 && late <= delay * 2 {
            true => (self.waited + late).saturating_sub(made_up).min(delay),
            false => Duration::ZERO,
        };
        for ways in &mut self.ways {
            let (least, most) = ways.waited[0].unwrap_or((self.waited, self.waited));
            ways.waited[0] = Some((least.min(self.waited), most.max(self.waited)));
        }
        let most = next.as_micros() as i64 / PART;
        let step = self.slew_us.clamp(-most, most);
        self.slew_us -= step;
        let part = Duration::from_micros(step.unsigned_abs());
        self.due = match step < 0 {
            true => (began + turn).saturating_sub(part),
            false => began + turn + part,
        };
    }

    /// A batch of a peer came so long after this peer had sealed its own.
    pub(super) fn arrived(&mut self, at: usize, way_ms: i64) {
        let way = way_ms.clamp(-LONGEST_MS, LONGEST_MS) as i16;
        let here = &mut self.ways[at].here;
        *here = Some(here.map_or(way, |longest| longest.max(way)));
    }

    /// A peer reports the way of this one's batches there. Returns how much longer it may be, in milliseconds, for what this
    /// peer had waited.
    pub(super) fn reported(&mut self, at: usize, way_ms: i16) -> i64 {
        self.ways[at].reported(way_ms, self.slew_us == 0);
        let uneven_ms = self.ways[at].uneven_ms();
        // Batches that are on their way count for the next report as well.
        self.ways[at].waited = [None, self.ways[at].waited[0]];
        uneven_ms
    }

    /// Begins to fall in line with most of the others, by what all have reported.
    fn align(&mut self, gone: impl Fn(usize) -> bool) {
        let of = self.ways.iter().enumerate();
        let of = of.filter(|(at, _)| !gone(*at));
        let mut ahead: Vec<i64> = of.filter_map(|(_, ways)| ways.ahead()).collect();
        ahead.sort_unstable();
        // More than half must say so: ways that differ may make each peer seem ahead of one, and behind another one.
        let least = |at: usize| ahead.get(at).copied().unwrap_or(0);
        let (lower, upper) = (
            least(ahead.len().saturating_sub(1) / 2),
            least(ahead.len() / 2),
        );
        let ahead_ms = if lower > IN_LINE_MS {
            // It has nothing to make up.
            self.waited = Duration::ZERO;
            lower
        } else if upper < -IN_LINE_MS {
            upper
        } else {
            0
        };
        let slew_us = ahead_ms * 1_000 / 2;
        self.slew_us = slew_us.clamp(-MOST_SLEW_US, MOST_SLEW_US);
    }

    /// What the next batch reports, by place; nothing where no report is due. A way beyond the budget is reported at once.
    pub(super) fn report(
        &mut self,
        now: Duration,
        budget_ms: i16,
        gone: impl Fn(usize) -> bool,
    ) -> Vec<i16> {
        let is_late = |ways: &Ways| ways.here.is_some_and(|way| way > budget_ms);
        let late = self.ways.iter().any(is_late);
        if self.ways.len() == 1 || !late && now < self.reported_at + REPORT_EVERY {
            return Vec::new();
        }
        self.reported_at = now;
        let report = self.ways.iter_mut().map(|ways| {
            ways.reported = ways.here.take();
            ways.reported.unwrap_or(NO_WAY)
        });
        let report = report.collect();
        if now >= self.aligned_at + REPORT_EVERY {
            self.aligned_at = now;
            self.align(gone);
        }
        report
    }

    /// How long batches of this peer take to another one, in milliseconds, if none is lost and none waits for a process.
    pub(super) fn way_there(&self, at: usize) -> Option<i16> {
        self.ways[at].direct.iter().flatten().min().copied()
    }

    /// Another run of a peer's process has its place.
    pub(super) fn readmit(&mut self, at: usize) {
        self.ways[at] = Ways::default();
    }

    /// The longest way of a peer's batches here, and of this peer's there, over the last reports.
    pub(super) fn ways(&self, at: usize) -> (Option<i16>, Option<i16>) {
        let ways = self.ways[at];
        (ways.reported, ways.there)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    const MS: Duration = Duration::from_millis(1);
    const SECOND: Duration = Duration::from_secs(1);

    fn plan(turn_ms: u16) -> Plan {
        Plan {
            ticks: 1,
            tick_ms: turn_ms,
            delay_turns: 2,
        }
    }

    /// A second passes in which the batches of all others came here in the same time, and each tells how long this peer's took.
    fn tell(clock: &mut Clock, here_ms: i64, there_ms: &[i16]) {
        let told = there_ms.iter().enumerate();
        for (at, there_ms) in told {
            clock.arrived(at + 1, here_ms);
            clock.reported(at + 1, *there_ms);
        }
        clock.report(SECOND, i16::MAX, |_| false);
    }

    #[test]
    fn what_a_peer_has_waited_it_may_make_up_to_the_delay() {
        let mut clock = Clock::new(MS * 1_000, 2, Duration::ZERO);
        let mut begin = |at_ms: u32| {
            clock.begin(MS * at_ms, plan(100), MS * 100);
            [clock.earliest(), clock.due()].map(|time| time.as_millis())
        };
        assert_eq!(begin(1_000), [1_100, 1_100]);
        assert_eq!(begin(1_170), [1_200, 1_270], "a batch came 70 ms late");
        assert_eq!(begin(1_220), [1_300, 1_320], "50 ms are made up");
        assert_eq!(begin(1_300), [1_400, 1_400]);
        assert_eq!(begin(1_750), [1_650, 1_850], "no more than two turns");
        assert_eq!(begin(1_850), [1_750, 1_950]);
        assert_eq!(begin(2_400), [2_500, 2_500], "all stood still");
        begin(2_600);
        clock.skip_to(MS * 5_000);
        assert_eq!(clock.earliest(), MS * 5_000, "slept");
        let mut alone = Clock::new(MS * 1_000, 1, Duration::ZERO);
        alone.begin(MS * 1_070, plan(100), MS * 100);
        assert_eq!(alone.earliest(), MS * 1_170);
    }

    #[test]
    fn a_peer_that_is_ahead_has_nothing_to_make_up() {
        let mut clock = Clock::new(Duration::ZERO, 2, Duration::ZERO);
        clock.begin(MS * 150, plan(200), MS * 200);
        assert_eq!(clock.due() - clock.earliest(), MS * 150);
        clock.begin(clock.due(), plan(200), MS * 200);
        tell(&mut clock, 190, &[40]);
        assert!(clock.slew_us > 0, "it is 75 ms ahead");
        assert_eq!(clock.earliest(), clock.due());
    }

    #[test]
    fn a_report_moves_turns_no_longer_than_the_next_ones_take() {
        for way_ms in [-30_000, 30_000] {
            let mut clock = Clock::new(Duration::ZERO, 2, Duration::ZERO);
            tell(&mut clock, 0, &[way_ms]);
            assert_eq!(clock.slew_us.abs(), 100_000, "{way_ms}");
        }
    }

    #[test]
    fn a_peer_that_is_ahead_slows_down_by_no_more_than_a_twentieth() {
        let mut clock = Clock::new(Duration::ZERO, 2, Duration::ZERO);
        // Its batches take 90 ms here, and this peer's 30 ms there.
        tell(&mut clock, 90, &[30]);
        assert_eq!(clock.ways(1), (Some(90), Some(30)));
        let mut next = || {
            clock.begin(clock.due(), plan(100), MS * 100);
            clock.due().as_millis()
        };
        let dues: Vec<u128> = (0..6).map(|_| next()).collect();
        assert_eq!(dues, [105, 210, 315, 415, 515, 615], "15 of 30 ms");
    }

    #[test]
    fn a_peer_that_is_behind_makes_haste_and_one_that_is_gone_counts_no_more() {
        let mut clock = Clock::new(Duration::ZERO, 2, Duration::ZERO);
        tell(&mut clock, 30, &[90]);
        clock.begin(SECOND, plan(100), MS * 100);
        assert_eq!(clock.due(), MS * 1_095, "15 of 30 ms are to do");
        clock.begin(clock.due(), plan(200), MS * 200);
        assert_eq!(clock.due(), MS * 1_285);
        clock.begin(clock.due(), plan(100), MS * 100);
        assert_eq!(clock.due(), MS * 1_385, "it looks again before it goes on");
        clock.reported(1, -400);
        clock.report(SECOND * 6, 100, |at| at == 1);
        assert_eq!(clock.slew_us, 0);
    }

    #[test]
    fn a_peer_falls_in_line_with_more_than_half_of_the_others() {
        let slew_us = |others: &[i16]| {
            let mut clock = Clock::new(Duration::ZERO, others.len() + 1, Duration::ZERO);
            tell(&mut clock, 50, others);
            clock.slew_us
        };
        assert_eq!(slew_us(&[110, 110, 110]), -15_000);
        assert_eq!(slew_us(&[110, 110, -10]), -15_000, "one lies");
        assert_eq!(slew_us(&[110, 110, -10, -10]), 0);
        assert_eq!(slew_us(&[-10, -10, 110]), 15_000);
        assert_eq!(slew_us(&[58, 58]), 0, "in line");
    }

    #[test]
    fn a_batch_that_came_as_a_copy_says_nothing_of_clocks() {
        let mut clock = Clock::new(Duration::ZERO, 2, Duration::ZERO);
        let mut slew = |second: u32, here: i64, there: i16| {
            clock.reported(1, there);
            clock.arrived(1, here);
            clock.report(SECOND * second, 200, |_| false);
            clock.slew_us
        };
        assert_eq!([slew(1, 60, 60), slew(2, 60, 60)], [0, 0]);
        assert_eq!(slew(3, 180, 60), 0, "a copy came here");
        assert_eq!(slew(4, 60, 180), 0, "and there");
        // A slower link is all that there is, after a while.
        let slews: Vec<i64> = (5..15).map(|second| slew(second, 180, 120)).collect();
        assert_eq!((&slews[..7], slews[9]), (&[0; 7][..], 15_000));
        let mut clock = Clock::new(Duration::ZERO, 2, Duration::ZERO);
        tell(&mut clock, 70, &[50]);
        assert_eq!(clock.slew_us, 5_000, "it is 10 ms ahead");
    }

    #[test]
    fn a_way_tells_nothing_of_clocks_where_this_peer_has_sealed_late_once() {
        let mut clock = Clock::new(Duration::ZERO, 2, Duration::ZERO);
        let mut report = |second: u32, there: i16, late_ms: &[i64]| {
            for late_ms in late_ms {
                let due_ms = clock.due().as_millis() as i64;
                clock.begin(MS * (due_ms + late_ms) as u32, plan(200), MS * 200);
            }
            let uneven_ms = clock.reported(1, there);
            clock.arrived(1, 60);
            clock.report(SECOND * second, 200, |_| false);
            (uneven_ms, clock.slew_us)
        };
        assert_eq!(report(1, 60, &[0, 0]), (0, 0));
        assert_eq!(report(2, 68, &[10, -10]), (10, 0), "in line");
        assert_eq!(report(3, 210, &[150, -150]), (150, 0));
        assert_eq!(report(4, 210, &[0]), (150, 0), "some were on their way");
        assert_eq!(report(5, 60, &[0]), (0, 0));
        assert_eq!(report(6, 160, &[100]).0, 100);
        assert_eq!(report(7, 160, &[0, 0]).0, 0, "it stays behind");
        // Another peer that has it wait now and then keeps it out of line for a while.
        let slews: Vec<i64> = (8..18).map(|at| report(at, 40, &[20, -20]).1).collect();
        assert!(slews[..7].iter().all(|slew_us| *slew_us == 0), "{slews:?}");
        assert!(slews[9] > 0, "{slews:?}");
    }

    #[test]
    fn a_late_batch_is_reported_at_once_and_ways_each_second() {
        let mut clock = Clock::new(Duration::ZERO, 2, Duration::ZERO);
        clock.arrived(1, 90);
        assert!(clock.report(MS * 500, 100, |_| false).is_empty());
        clock.arrived(1, 110);
        assert_eq!(clock.report(MS * 501, 100, |_| false), [NO_WAY, 110]);
        assert!(clock.report(MS * 600, 100, |_| false).is_empty());
        assert_eq!(clock.report(MS * 1_501, 100, |_| false), [NO_WAY, NO_WAY]);
    }

    /// How far apart the peers begin each turn, in milliseconds, where all ways are as long. They begin so late, and report
    /// one after the other.
    fn spreads(late_ms: &[u32], turn_ms: u16, way_ms: u32) -> Vec<u128> {
        let (plan, peers) = (plan(turn_ms), late_ms.len());
        let budget = plan.network_budget();
        let begins = late_ms.iter().enumerate().map(|(at, late_ms)| {
            let reported = MS * (1_000 * at / peers) as u32;
            Clock::new(MS * (1_000 + late_ms), peers, reported)
        });
        let mut clocks: Vec<Clock> = begins.collect();
        // By place: when turns began, whether one is waited for, and by sender how many batches came and are on their way.
        let mut began = vec![Vec::<Duration>::new(); peers];
        let mut waits = vec![false; peers];
        let mut held = vec![vec![2; peers]; peers];
        let mut mail = vec![vec![VecDeque::<(Duration, Vec<i16>)>::new(); peers]; peers];
        for now in (0..40_000).map(|ms| MS * ms) {
            for (to, from) in (0..peers * peers).map(|pair| (pair / peers, pair % peers)) {
                let came =
                    |mail: &VecDeque<(Duration, _)>| mail.front().is_some_and(|it| it.0 <= now);
                while came(&mail[to][from]) {
                    let (_, report) = mail[to][from].pop_front().expect("it came");
                    let turn: usize = held[to][from];
                    held[to][from] += 1;
                    let due = clocks[to].due() + plan.turn() * (turn - began[to].len()) as u32;
                    let sealed = began[to].get(turn - 1).copied().unwrap_or(due - budget);
                    let way = now.as_millis() as i64 - sealed.as_millis() as i64;
                    clocks[to].arrived(from, way);
                    if let Some(there) = report.get(to).filter(|way| **way != NO_WAY) {
                        clocks[to].reported(from, *there);
                    }
                }
            }
            for at in 0..peers {
                let turn = began[at].len();
                let complete = (0..peers).all(|from| from == at || held[at][from] > turn);
                let (earliest, due) = (clocks[at].earliest(), clocks[at].due());
                if now < if complete { earliest } else { due } {
                    continue;
                }
                if !complete {
                    waits[at] = true;
                    continue;
                }
                let since = if std::mem::take(&mut waits[at]) {
                    now
                } else {
                    due.min(now)
                };
                clocks[at].begin(since, plan, plan.turn());
                began[at].push(now);
                // The batch for the turn after it is sealed, of which the first two hold none.
                if turn == 0 {
                    continue;
                }
                let report = clocks[at].report(now, budget.as_millis() as i16, |_| false);
                for to in (0..peers).filter(|to| *to != at) {
                    mail[to][at].push_back((now + MS * way_ms, report.clone()));
                }
            }
        }
        let turns = began.iter().map(Vec::len).min().unwrap_or(0);
        let spread = |turn: usize| {
            let times = began.iter().map(|began| began[turn]);
            let (first, last) = (times.clone().min(), times.max());
            (last.unwrap_or_default() - first.unwrap_or_default()).as_millis()
        };
        (0..turns).map(spread).collect()
    }

    #[test]
    fn peers_fall_in_line_and_stay_there() {
        for (late_ms, turn_ms, way_ms) in [
            (vec![0, 30], 100, 40),
            (vec![0, 30], 50, 20),
            (vec![30, 30, 30, 30, 0, 30, 30, 30], 50, 15),
            (vec![0, 0, 0, 0, 0, 0, 0, 40], 50, 15),
            (vec![0, 0, 0, 0, 60, 60, 60, 60], 200, 50),
            (vec![0, 10, 20, 30, 40, 50, 60, 70], 100, 30),
            (vec![0, 500, 0], 100, 30),
            (vec![0, 0, 150], 100, 30),
        ] {
            let spreads = spreads(&late_ms, turn_ms, way_ms);
            let begun = spreads.iter().max();
            let settled = spreads.iter().skip(10_000 / usize::from(turn_ms)).max();
            assert!(spreads.len() > 35_000 / usize::from(turn_ms), "{late_ms:?}");
            assert!(
                begun <= late_ms.iter().max().map(|late| u128::from(*late)).as_ref(),
                "{late_ms:?}: {begun:?}"
            );
            assert!(settled <= Some(&5), "{late_ms:?}: {settled:?}");
        }
    }
}
