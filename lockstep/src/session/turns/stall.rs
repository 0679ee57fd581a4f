//! Stalls: the next turn is due and its bundle is incomplete.

use std::time::Duration;

/// A stall is told to the game from here on, and then once a second.
const TOLD_AFTER: Duration = Duration::from_millis(100);
const TOLD_EVERY: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Stalls {
    /// Since when the next turn is waited for, and when the game was last told of that.
    pub since: Option<Duration>,
    told_at: Option<Duration>,
    /// Turns that were waited for, and for how long, without the open stall.
    pub late_turns: u64,
    total: Duration,
}

impl Stalls {
    /// Whether the game was told of the open stall.
    pub(super) fn is_told(&self) -> bool {
        self.told_at.is_some()
    }

    /// All time spent so.
    pub(super) fn total(&self, now: Duration) -> Duration {
        let open = self.since.map(|since| now.saturating_sub(since));
        self.total + open.unwrap_or(Duration::ZERO)
    }

    /// The wait is over, or for nothing any more; it counts all the same. How long it was, where the game was told.
    pub(super) fn end(&mut self, now: Duration) -> Option<Duration> {
        let late = now.saturating_sub(self.since.take()?);
        self.total += late;
        self.told_at.take().map(|_| late)
    }

    /// What was slept through was not waited for.
    pub(super) fn skip(&mut self, away: Duration) {
        self.since = self.since.map(|since| since + away);
        self.told_at = None;
    }

    /// When the game is told next.
    pub(super) fn tell_at(&self) -> Option<Duration> {
        self.since.map(|since| match self.told_at {
            None => since + TOLD_AFTER,
            Some(at) => at + TOLD_EVERY,
        })
    }

    /// The game is to be told now: how long the stall lasts.
    pub(super) fn tell(&mut self, now: Duration) -> Option<Duration> {
        self.tell_at().filter(|at| *at <= now)?;
        self.told_at = Some(now);
        self.since.map(|since| now.saturating_sub(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_stall_is_told_after_a_tenth_of_a_second_and_then_each_second() {
        let mut stalls = Stalls {
            since: Some(MS * 50),
            ..Stalls::default()
        };
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
        let mut stalls = Stalls {
            since: Some(MS * 50),
            ..Stalls::default()
        };
        assert_eq!(stalls.end(MS * 60), None);
        stalls.since = Some(MS * 100);
        stalls.skip(MS * 5_000);
        assert_eq!(stalls.end(MS * 5_120), None);
        assert_eq!(stalls.total(MS * 5_120), MS * 30);
    }
}
