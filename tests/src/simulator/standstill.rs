//! A guard against runs in which time stands still: one would go on for ever.

use lockstep::session::Output;
use std::time::Duration;

/// Calls of all sessions at one instant, at most: many times more than a run without a fault has.
const CALLS: u32 = 50_000;
/// The length of an output's name in a report.
const NAME: usize = 40;

/// The calls of sessions at the newest instant.
#[derive(Default)]
pub struct Standstill {
    at: Duration,
    calls: u32,
}

impl Standstill {
    /// Counts a call. Whether time has stood still for too many.
    pub fn has_come(&mut self, now: Duration) -> bool {
        if self.at < now {
            (self.at, self.calls) = (now, 0);
        }
        self.calls += 1;
        self.calls > CALLS
    }
}

/// What a session asks for, in short.
pub fn names(outputs: &[Output]) -> Vec<String> {
    let name = |output: &Output| format!("{output:?}").chars().take(NAME).collect();
    outputs.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_count_until_time_passes() {
        let mut standstill = Standstill::default();
        let second = Duration::from_secs(1);
        for now in [second, second * 2] {
            assert!((0..CALLS).all(|_| !standstill.has_come(now)));
        }
        assert!(standstill.has_come(second * 2));
        assert!(!standstill.has_come(second * 3));
    }
}
