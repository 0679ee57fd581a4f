//! How often one peer may do one thing.

use std::collections::VecDeque;
use std::time::Duration;

const WINDOW: Duration = Duration::from_secs(10);

/// Counts what happened in the last ten seconds.
#[derive(Default)]
pub(super) struct RateLimiter(VecDeque<Duration>);

impl RateLimiter {
    /// Whether one more is within `most`. It counts then.
    pub(super) fn takes(&mut self, now: Duration, most: usize) -> bool {
        let past = now.saturating_sub(WINDOW);
        self.0.retain(|at| *at > past);
        let takes = self.0.len() < most;
        if takes {
            self.0.push_back(now);
        }
        takes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_counts_what_was_taken_in_ten_seconds() {
        let mut limiter = RateLimiter::default();
        let taken = |limiter: &mut RateLimiter, from: u64| {
            let tries = (from..from + 10).map(Duration::from_millis);
            tries.filter(|now| limiter.takes(*now, 3)).count()
        };
        assert_eq!(taken(&mut limiter, 1_000), 3);
        assert_eq!(taken(&mut limiter, 10_000), 0);
        let next = taken(&mut limiter, 12_000);
        assert_eq!(next, 3, "what was refused does not count");
    }
}
