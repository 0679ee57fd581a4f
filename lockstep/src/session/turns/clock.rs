//! The clock of turns: when the next one is due, and how this peer falls in line with the others.
//!
//! No wall clock. The offset between two peers is half the difference of their mutual slack; only a peer that is ahead of
//! the median slows down. The sum of both does not depend on clocks: where it is less than of late, a batch was lost on
//! the way and came as a copy, and the two slacks tell nothing of the offset.

use crate::log::NO_SLACK;
use std::time::Duration;

/// How often slack is reported, in batches' time.
const SLACK_EVERY: Duration = Duration::from_secs(1);
/// Being ahead by no more is in line.
const IN_LINE_MS: i64 = 4;
/// Mutual slack that is less by so much than the most of the last reports is that of a copy.
const OF_A_COPY_MS: i32 = 15;
/// The reports that count as of late. Links change.
const OF_LATE: usize = 8;

pub(super) struct Clock {
    /// When the next turn is due.
    due: Duration,
    /// How much longer turns are to be, in all, for this peer to fall back in line.
    slew: Duration,
    reported_at: Duration,
    /// By place.
    slacks: Vec<Slack>,
}

/// How long before they were due batches of one peer, and of this one there, arrived: milliseconds.
#[derive(Clone, Copy, Default)]
struct Slack {
    /// The least here, since the last report of this peer.
    here: Option<i16>,
    /// The same over the time of that report.
    reported: Option<i16>,
    /// The least of this peer's batches there, as the other peer last reported.
    there: Option<i16>,
    /// The same, the last time that it was not of a copy.
    direct: Option<i16>,
    /// The mutual slack at the last reports of the other peer, the newest first.
    mutual: [Option<i32>; OF_LATE],
}

impl Slack {
    /// The other peer has reported. Mutual slack is known once both have.
    fn reported(&mut self, slack: i16) {
        self.there = Some(slack);
        if let Some(here) = self.reported {
            self.mutual.rotate_right(1);
            self.mutual[0] = Some(i32::from(slack) + i32::from(here));
        }
        if !self.is_of_copy() {
            self.direct = self.there;
        }
    }

    fn is_of_copy(&self) -> bool {
        let most = self.mutual.iter().flatten().max();
        most.zip(self.mutual[0])
            .is_some_and(|(most, newest)| newest + OF_A_COPY_MS < *most)
    }

    /// How far this peer is ahead of the other one, in milliseconds, if both have reported. A peer with
    /// reports of copies alone counts as in line: without it another peer's word would weigh more.
    fn ahead(&self) -> Option<i64> {
        let ahead = i64::from(self.there?) - i64::from(self.reported?);
        Some(if self.is_of_copy() { 0 } else { ahead / 2 })
    }
}

impl Clock {
    pub(super) fn new(due: Duration, peers: usize, now: Duration) -> Self {
        Clock {
            due,
            slew: Duration::ZERO,
            reported_at: now,
            slacks: vec![Slack::default(); peers],
        }
    }

    pub(super) fn due(&self) -> Duration {
        self.due
    }

    /// What was not lived through was not waited for.
    pub(super) fn skip_to(&mut self, now: Duration) {
        self.due = self.due.max(now);
    }

    /// A turn of this length begins.
    pub(super) fn begin(&mut self, began: Duration, turn: Duration, next: Duration) {
        let step = self.slew.min(next / 20);
        self.slew -= step;
        self.due = began + turn + step;
    }

    /// A batch of a peer arrives that is due then.
    pub(super) fn arrived(&mut self, at: usize, due: Duration, now: Duration) {
        let slack_ms = due.as_millis() as i64 - now.as_millis() as i64;
        let slack = slack_ms.clamp(-30_000, 30_000) as i16;
        let here = &mut self.slacks[at].here;
        *here = Some(here.map_or(slack, |least| least.min(slack)));
    }

    /// A peer reports the slack of this one's batches there. The `gone` are out of line for good.
    pub(super) fn reported(&mut self, at: usize, slack: i16, gone: impl Fn(usize) -> bool) {
        self.slacks[at].reported(slack);
        let of = self.slacks.iter().enumerate();
        let of = of.filter(|(at, _)| !gone(*at));
        let mut ahead: Vec<i64> = of.filter_map(|(_, slack)| slack.ahead()).collect();
        ahead.sort_unstable();
        let lower = ahead.len().saturating_sub(1) / 2;
        let median = ahead.get(lower).copied().unwrap_or(0);
        let correction = if median > IN_LINE_MS { median / 3 } else { 0 };
        self.slew = Duration::from_millis(correction as u64);
    }

    /// What the next batch reports, by place; nothing where no report is due.
    pub(super) fn report(&mut self, now: Duration) -> Vec<i16> {
        let is_late = |slack: &Slack| slack.here.is_some_and(|slack| slack < 0);
        let late = self.slacks.iter().any(is_late);
        if self.slacks.len() == 1 || !late && now < self.reported_at + SLACK_EVERY {
            return Vec::new();
        }
        self.reported_at = now;
        let report = self.slacks.iter_mut().map(|slack| {
            slack.reported = slack.here.take();
            slack.reported.unwrap_or(NO_SLACK)
        });
        report.collect()
    }

    /// How long before they are needed batches of this peer arrive at another one, in milliseconds, if none is lost.
    pub(super) fn slack_there(&self, at: usize) -> Option<i16> {
        self.slacks[at].direct
    }

    /// Another run of a peer's process has its place.
    pub(super) fn readmit(&mut self, at: usize) {
        self.slacks[at] = Slack::default();
    }

    /// Slack of a peer's batches here, and of this peer's there, over the last reports.
    pub(super) fn slack(&self, at: usize) -> (Option<i16>, Option<i16>) {
        let slack = self.slacks[at];
        (slack.reported, slack.there)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_peer_that_is_ahead_slows_down_by_no_more_than_a_twentieth() {
        let mut clock = Clock::new(Duration::ZERO, 2, Duration::ZERO);
        // Its batches come here 10 ms before they are due, and this peer's there 70 ms.
        clock.arrived(1, MS * 110, MS * 100);
        assert_eq!(clock.report(MS * 1_000), [NO_SLACK, 10]);
        clock.reported(1, 70, |_| false);
        assert_eq!(clock.slack(1), (Some(10), Some(70)));
        clock.begin(Duration::ZERO, MS * 100, MS * 100);
        assert_eq!(clock.due(), MS * 105, "a third of 30 ms is to do");
        clock.begin(clock.due(), MS * 100, MS * 100);
        assert_eq!(clock.due(), MS * 210);
        clock.begin(clock.due(), MS * 100, MS * 100);
        assert_eq!(clock.due(), MS * 310, "this peer is in line");
    }

    #[test]
    fn a_peer_behind_and_one_that_is_gone_change_nothing() {
        let mut clock = Clock::new(Duration::ZERO, 2, Duration::ZERO);
        clock.arrived(1, MS * 170, MS * 100);
        clock.report(MS * 1_000);
        clock.reported(1, 10, |_| false);
        assert_eq!(clock.slew, Duration::ZERO);
        clock.reported(1, 500, |at| at == 1);
        assert_eq!(clock.slew, Duration::ZERO);
    }

    #[test]
    fn a_batch_that_came_as_a_copy_says_nothing_of_clocks() {
        let mut clock = Clock::new(Duration::ZERO, 2, Duration::ZERO);
        let mut slew = |second: u32, here: u32, there: i16| {
            let now = MS * 1_000 * second;
            clock.arrived(1, now + MS * here, now);
            clock.report(now);
            clock.reported(1, there, |_| false);
            clock.slew
        };
        assert_eq!(slew(1, 140, 140), Duration::ZERO);
        assert_eq!(slew(2, 20, 140), Duration::ZERO, "a copy came");
        assert_eq!(slew(3, 130, 150), MS * 3, "it is 10 ms ahead");
        // A slower link is all that there is, after a while.
        let slews: Vec<Duration> = (4..13).map(|second| slew(second, 20, 80)).collect();
        assert!(slews[..7].iter().all(Duration::is_zero), "{slews:?}");
        assert_eq!(slews[8], MS * 10);
    }

    #[test]
    fn a_late_batch_is_reported_at_once_and_slack_each_second() {
        let mut clock = Clock::new(Duration::ZERO, 2, Duration::ZERO);
        clock.arrived(1, MS * 100, MS * 90);
        assert!(clock.report(MS * 500).is_empty());
        clock.arrived(1, MS * 300, MS * 310);
        assert_eq!(clock.report(MS * 501), [NO_SLACK, -10]);
        assert!(clock.report(MS * 600).is_empty());
        assert_eq!(clock.report(MS * 1_501), [NO_SLACK, NO_SLACK]);
    }
}
