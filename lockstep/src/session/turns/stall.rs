//! Stalls: the next turn is due and its bundle is incomplete.

use std::time::Duration;

/// A stall is told to the game from here on, and then once a second.
const TOLD_AFTER: Duration = Duration::from_millis(100);
const TOLD_EVERY: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Stalls {
    open: Option<Stall>,
    /// Turns that were waited for, and for how long, without the open stall.
    pub late_turns: u64,
    total: Duration,
}

#[derive(Clone, Copy)]
struct Stall {
    since: Duration,
    told_at: Option<Duration>,
}

impl Stalls {
    /// Since when the next turn is waited for.
    pub(super) fn since(&self) -> Option<Duration> {
        self.open.map(|stall| stall.since)
    }

    /// Whether the game was told of it.
    pub(super) fn is_told(&self) -> bool {
        self.open.is_some_and(|stall| stall.told_at.is_some())
    }

    /// All time spent so.
    pub(super) fn total(&self, now: Duration) -> Duration {
        let open = self.since().map(|since| now.saturating_sub(since));
        self.total + open.unwrap_or(Duration::ZERO)
    }

    /// The next turn is due, and waited for since now: where this process has stood still no other peer is to blame. Whether
    /// that is new.
    pub(super) fn begin(&mut self, now: Duration) -> bool {
        let new = self.open.is_none();
        self.open.get_or_insert(Stall {
            since: now,
            told_at: None,
        });
        new
    }

    /// The wait is over, or for nothing any more; it counts all the same. How long it was, where the game was told.
    pub(super) fn end(&mut self, now: Duration) -> Option<Duration> {
        let stall = self.open.take()?;
        let late = now.saturating_sub(stall.since);
        self.total += late;
        stall.told_at.map(|_| late)
    }

    /// What was slept through was not waited for.
    pub(super) fn skip(&mut self, away: Duration) {
        if let Some(stall) = &mut self.open {
            stall.since += away;
            stall.told_at = None;
        }
    }

    /// When the game is told next.
    pub(super) fn tell_at(&self) -> Option<Duration> {
        self.open.map(|stall| match stall.told_at {
            None => stall.since + TOLD_AFTER,
            Some(at) => at + TOLD_EVERY,
        })
    }

    /// The game is to be told now: how long the stall lasts.
    pub(super) fn tell(&mut self, now: Duration) -> Option<Duration> {
        self.tell_at().filter(|at| *at <= now)?;
        let stall = self.open.as_mut()?;
        stall.told_at = Some(now);
        Some(now.saturating_sub(stall.since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_stall_is_told_after_a_tenth_of_a_second_and_then_each_second() {
        let mut stalls = Stalls::default();
        assert!(stalls.begin(MS * 50) && !stalls.begin(MS * 60));
        assert_eq!(stalls.tell(MS * 100), None);
        assert_eq!(stalls.tell(MS * 150), Some(MS * 100));
        assert_eq!(stalls.tell(MS * 1_000), None);
        assert_eq!(stalls.tell(MS * 1_150), Some(MS * 1_100));
        assert_eq!(stalls.total(MS * 1_250), MS * 1_200);
        assert_eq!(stalls.end(MS * 1_250), Some(MS * 1_200));
        assert_eq!(stalls.total(MS * 9_000), MS * 1_200);
    }

    #[test]
    fn a_short_stall_is_not_told_and_sleep_is_none() {
        let mut stalls = Stalls::default();
        stalls.begin(MS * 50);
        assert_eq!(stalls.end(MS * 60), None);
        stalls.begin(MS * 100);
        stalls.skip(MS * 5_000);
        assert_eq!(stalls.end(MS * 5_120), None);
        assert_eq!(stalls.total(MS * 5_120), MS * 30);
    }
}
