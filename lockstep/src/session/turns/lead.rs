//! How long before its deadline each peer's batches leave: a peer that seals late has seen the commands of all others.
//!
//! In time, a batch leaves once the turn that calls for it is over: the network's budget before its deadline, at all peers
//! at once. A clock that is behind makes one way longer and the other one shorter by as much, and both ways together are the
//! round trip. What they exceed it by is how late the other peer seals. Jitter and loss delay batches, too: the worst of a
//! second is compared with the worst, a good one with the round trip, and what counts is the median of a minute.
//!
//! One of the two ways is the other peer's word. A peer may lie with it, and then seems to have a clock that is behind:
//! the way from it is long, and it tells of a short one there. A peer may delay all that it sends: then its link is slow.

use std::collections::VecDeque;
use std::time::Duration;

/// Reports of a peer that count: those of a minute.
const KEPT: usize = 60;
/// They come once a second. Reports of late batches between count with the next one: else a peer that reports all the time
/// would be judged by its last seconds.
const REPORTS_APART: Duration = Duration::from_millis(900);
/// With fewer of them nothing is told.
const ENOUGH: usize = 30;
/// Batches that a report is compared with.
const LEAST_BATCHES: usize = 3;
const MOST_BATCHES: usize = 64;
/// A peer stands out that seals later than most by such a part of the network's budget: a third.
const PART: i32 = 3;
/// It does not where that is less: links differ by as much, one way from the other.
const LEAST_MS: i32 = 40;
/// Leads beyond that are told as that: the slowest plans leave more.
pub(super) const LONGEST_LEAD_MS: u128 = 30_000;

/// By place.
pub(super) struct Leads(Vec<Sealing>);

/// When a peer seals.
#[derive(Clone, Default)]
struct Sealing {
    /// How long after this peer had sealed its own its batches came since the last report, in milliseconds, and whether each
    /// came for the first time, as it says.
    came: Vec<(i64, bool)>,
    round_trip: Duration,
    /// The longest way that it has reported since, in milliseconds, and when a report last counted.
    there: Option<i64>,
    counted_at: Option<Duration>,
    /// How late it sealed by each of the newest reports, in milliseconds.
    late: VecDeque<i16>,
    median: Option<i16>,
}

impl Leads {
    pub(super) fn new(peers: usize) -> Self {
        Leads(vec![Sealing::default(); peers])
    }

    /// A batch came by a link of this round trip so long after this peer had sealed its own, for the first time or as a copy.
    pub(super) fn note(
        &mut self,
        at: usize,
        (way_ms, is_direct): (i64, bool),
        round_trip: Duration,
    ) {
        let of = &mut self.0[at];
        of.round_trip = round_trip;
        if of.came.len() < MOST_BATCHES {
            of.came.push((way_ms, is_direct));
        }
    }

    /// A peer reports the longest way of this one's batches there, in milliseconds.
    pub(super) fn note_report(&mut self, at: usize, there_ms: i64, now: Duration) {
        let of = &mut self.0[at];
        let there_ms = of.there.map_or(there_ms, |longest| longest.max(there_ms));
        of.there = Some(there_ms);
        let is_early = of.counted_at.is_some_and(|at| now < at + REPORTS_APART);
        if of.came.len() < LEAST_BATCHES || is_early {
            return;
        }
        (of.there, of.counted_at) = (None, Some(now));
        // Copies count where nothing else came: a peer that calls all of its batches copies hides nothing.
        let all = std::mem::take(&mut of.came);
        let direct = all.iter().filter(|(_, is_direct)| *is_direct);
        let is_enough = direct.count() >= LEAST_BATCHES;
        let counts = all.iter().filter(|(_, is_direct)| *is_direct || !is_enough);
        let mut came: Vec<i64> = counts.map(|(way_ms, _)| *way_ms).collect();
        came.sort_unstable();
        // Even on a bad link one batch in four comes at once, as do the probes that measure the round trip.
        let (good, worst) = (came[came.len() / 4], came[came.len() - 1]);
        // The report is of the worst, which is taken to be as bad there as here.
        let late = good + there_ms - (worst - good) - of.round_trip.as_millis() as i64;
        of.late.truncate(KEPT - 1);
        of.late.push_front(late.clamp(-30_000, 30_000) as i16);
        if of.late.len() >= ENOUGH {
            let mut sorted: Vec<i16> = of.late.iter().copied().collect();
            sorted.sort_unstable();
            of.median = Some(sorted[sorted.len() / 2]);
        }
    }

    /// How long before their deadline a peer's batches leave, in milliseconds.
    pub(super) fn of(&self, at: usize, budget: Duration) -> Option<i16> {
        let lead = budget.as_millis() as i32 - i32::from(self.0[at].median?);
        Some(lead.clamp(-30_000, 30_000) as i16)
    }

    /// Whether a peer seals so much later than most of the `others`, and this one, that it can choose its commands by
    /// theirs.
    pub(super) fn stands_out(
        &self,
        at: usize,
        others: impl Iterator<Item = usize>,
        budget: Duration,
    ) -> bool {
        let Some(late) = self.0[at].median else {
            return false;
        };
        // A process that is slow to take what comes sees all others as late.
        let all = others.filter_map(|at| self.0[at].median).chain([0]);
        let mut all: Vec<i16> = all.collect();
        all.sort_unstable();
        // A peer that seals in time accuses no other by sealing, as it seems, still earlier.
        let most = all[(all.len() - 1) / 2].max(0);
        let budget = budget.as_millis() as i32;
        // A batch that leaves behind its deadline gains nothing more, and costs its peer stall budget.
        let late = i32::from(late).min(budget);
        late - i32::from(most) >= (budget / PART).max(LEAST_MS)
    }

    /// Another run of a peer's process has its place.
    pub(super) fn readmit(&mut self, at: usize) {
        self.0[at] = Sealing::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Duration = Duration::from_millis(200);
    const RTT: Duration = Duration::from_millis(60);

    /// A minute of a peer that seals so late, with a clock that is behind, on ways of `ways` each.
    fn play(
        leads: &mut Leads,
        at: usize,
        late_ms: i64,
        behind_ms: i64,
        rtt: Duration,
        ways: &[i64],
    ) {
        for second in 0..KEPT {
            let way = |batch: usize| ways[(second * 5 + batch) % ways.len()];
            for batch in 0..5 {
                leads.note(at, (late_ms + behind_ms + way(batch), true), rtt);
            }
            let worst = (0..5).map(|batch| way(batch + 2)).max().unwrap_or(0);
            let now = after_last(leads, at);
            leads.note_report(at, worst - behind_ms, now);
        }
    }

    /// A second after the last report of this peer that counted.
    fn after_last(leads: &Leads, at: usize) -> Duration {
        leads.0[at].counted_at.unwrap_or_default() + Duration::from_secs(1)
    }

    fn named(leads: &Leads) -> Vec<usize> {
        let all = 1..leads.0.len();
        let is_named = |at: &usize| leads.stands_out(*at, all.clone(), BUDGET);
        all.clone().filter(is_named).collect()
    }

    #[test]
    fn a_peer_that_seals_late_stands_out_and_others_do_not() {
        let mut leads = Leads::new(8);
        (1..7).for_each(|at| play(&mut leads, at, 0, 0, RTT, &[30]));
        play(&mut leads, 7, 170, 0, RTT, &[30]);
        assert_eq!(leads.of(1, BUDGET), Some(200));
        assert_eq!(leads.of(7, BUDGET), Some(30));
        assert_eq!(named(&leads), [7]);
    }

    #[test]
    fn a_peer_that_reports_with_each_batch_is_judged_by_its_last_minute() {
        let mut leads = Leads::new(2);
        for batch in 0..1_200 {
            // It looks ahead but for eight seconds in the end, with turns of 50 ms.
            let late_ms = if batch < 1_040 { 170 } else { 0 };
            leads.note(1, (late_ms + 30, true), RTT);
            leads.note_report(1, 30, Duration::from_millis(50 * batch));
        }
        assert_eq!(leads.of(1, BUDGET), Some(30));
    }

    #[test]
    fn clocks_that_differ_accuse_no_peer_and_hide_none() {
        let mut leads = Leads::new(4);
        play(&mut leads, 1, 0, 120, RTT, &[30]);
        play(&mut leads, 2, 170, -120, RTT, &[30]);
        play(&mut leads, 3, 0, -40, RTT, &[30]);
        let all = (1..4).map(|at| leads.of(at, BUDGET));
        assert_eq!(all.collect::<Vec<_>>(), [Some(200), Some(30), Some(200)]);
        assert_eq!(named(&leads), [2]);
    }

    #[test]
    fn a_bad_link_explains_what_comes_late_over_it() {
        let mut leads = Leads::new(4);
        (1..3).for_each(|at| play(&mut leads, at, 0, 0, RTT, &[30]));
        // 100 ± 30 ms, and one batch in twenty is lost, and comes a quarter of a second later.
        let ways = [
            70, 130, 95, 105, 100, 120, 80, 110, 90, 350, 100, 75, 125, 85, 115, 100, 92, 108, 128,
            71,
        ];
        let rtt = Duration::from_millis(200);
        play(&mut leads, 3, 0, 60, rtt, &ways);
        let lead = leads.of(3, BUDGET).expect("it is known");
        assert!((170..=240).contains(&lead), "{lead}");
        assert_eq!(named(&leads), [0; 0]);
        play(&mut leads, 2, 170, 0, rtt, &ways);
        assert_eq!(named(&leads), [2], "and hides no look-ahead");
    }

    #[test]
    fn a_slow_process_here_accuses_no_peer() {
        let mut leads = Leads::new(4);
        (1..4).for_each(|at| play(&mut leads, at, 90, 0, RTT, &[30]));
        assert_eq!(named(&leads), [0; 0]);
    }

    #[test]
    fn a_peer_in_time_is_not_late_beside_peers_that_seem_early() {
        let mut leads = Leads::new(4);
        (1..3).for_each(|at| play(&mut leads, at, -60, 0, RTT, &[30]));
        play(&mut leads, 3, 11, 0, RTT, &[30]);
        assert_eq!(named(&leads), [0; 0]);
    }

    #[test]
    fn a_plan_too_short_for_its_links_accuses_no_peer() {
        let mut leads = Leads::new(4);
        (1..3).for_each(|at| play(&mut leads, at, 0, 0, RTT, &[30]));
        play(&mut leads, 3, 100, 0, RTT, &[30]);
        let short = Duration::from_millis(33);
        assert!(leads.stands_out(3, 1..4, BUDGET));
        assert!(!leads.stands_out(3, 1..4, short));
    }

    #[test]
    fn few_reports_tell_nothing_and_another_run_begins_anew() {
        let mut leads = Leads::new(2);
        let second = |leads: &mut Leads| {
            (0..5).for_each(|_| leads.note(1, (200, false), RTT));
            let now = after_last(leads, 1);
            leads.note_report(1, 30, now);
        };
        (1..ENOUGH).for_each(|_| second(&mut leads));
        leads.note_report(1, 200, Duration::from_secs(60));
        assert_eq!(leads.of(1, BUDGET), None, "a report without batches");
        second(&mut leads);
        assert_eq!(leads.of(1, BUDGET), Some(30));
        leads.readmit(1);
        assert_eq!(leads.of(1, BUDGET), None);
    }

    #[test]
    fn what_a_peer_did_long_ago_counts_no_more() {
        let mut leads = Leads::new(2);
        play(&mut leads, 1, 170, 0, RTT, &[30]);
        assert_eq!(named(&leads), [1]);
        play(&mut leads, 1, 0, 0, RTT, &[30]);
        assert_eq!(named(&leads), [0; 0]);
        assert_eq!(leads.0[1].late.len(), KEPT);
        for _ in 0..1_000 {
            leads.note(1, (30, true), RTT);
        }
        assert_eq!(leads.0[1].came.len(), MOST_BATCHES);
    }
}
