//! How often a peer asks on a link for a batch that should have come.

use super::copies::{Measured, backed_off};
use std::time::Duration;

/// What was asked for last.
#[derive(Default)]
pub(crate) struct Asking {
    turn: u32,
    times: u8,
    last: Duration,
}

/// A question may be lost as well: so many follow each other closely.
const AT_ONCE: u8 = 4;
const AGAIN_WITHIN: Duration = Duration::from_millis(4);
/// The time between two questions, or between a question and its answer, where that is longer: a peer that has nothing to
/// send is silent for as long.
const LONGEST: Duration = Duration::from_millis(250);

impl Asking {
    /// When to ask, at the earliest, for the batch of a turn that should have come at `expected`, but for jitter.
    pub(crate) fn next(&self, turn: u32, expected: Duration, link: &Measured) -> Duration {
        let expected = expected + link.jitter * 2;
        if self.turn != turn || self.times == 0 {
            return expected;
        }
        let gap = match self.times {
            ..AT_ONCE if !link.is_short => AGAIN_WITHIN,
            // A link may carry what it is asked for no sooner, or its peer have nothing to send.
            times => {
                let answered = link.acknowledged_within().max(link.pulse);
                let at_once = if link.is_short { 1 } else { AT_ONCE };
                backed_off(answered, times.saturating_sub(at_once).into(), LONGEST)
            }
        };
        expected.max(self.last + gap)
    }

    /// It is asked for now.
    pub(crate) fn left(&mut self, turn: u32, now: Duration) {
        if self.turn != turn {
            (self.turn, self.times) = (turn, 0);
        }
        self.times = self.times.saturating_add(1);
        self.last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::links::copies::APART;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn questions_follow_each_other_less_and_less_often() {
        let link = Measured {
            rtt: ms(100),
            jitter: ms(1),
            lost: 0,
            pulse: ms(25),
            apart: APART,
            turn: ms(200),
            is_short: false,
        };
        let (mut asking, mut now, mut times) = (Asking::default(), ms(60), Vec::new());
        for _ in 0..8 {
            now = asking.next(7, ms(58), &link).max(now);
            asking.left(7, now);
            times.push(now.as_millis());
        }
        assert_eq!(times, [60, 64, 68, 72, 180, 396, 646, 896]);
        assert_eq!(asking.next(8, ms(258), &link), ms(260), "another turn");
    }
}
