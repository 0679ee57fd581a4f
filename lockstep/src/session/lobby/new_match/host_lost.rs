//! A guest that has signed the start and lost its host: the other peers may have begun, and prove it.

use super::dialling::DIAL_AGAIN;
use std::time::Duration;

/// How long a guest waits to hear that the match has begun: later than this the others have gone on without it.
const PROOF_WITHIN: Duration = Duration::from_secs(10);

pub(super) struct HostLost {
    until: Duration,
    dial_at: Duration,
    dials: usize,
}

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    Stay,
    /// All peers that no link leads to are dialled, each at its address of this number.
    Dial(usize),
    GiveUp,
}

impl HostLost {
    pub(super) fn new(now: Duration) -> Self {
        HostLost {
            until: now + PROOF_WITHIN,
            dial_at: now,
            dials: 0,
        }
    }

    pub(super) fn deadline(&self) -> Duration {
        self.dial_at.min(self.until)
    }

    pub(super) fn advance(&mut self, now: Duration) -> Wait {
        if now >= self.until {
            return Wait::GiveUp;
        }
        if now < self.dial_at {
            return Wait::Stay;
        }
        let number = self.dials;
        self.dials += 1;
        self.dial_at = now + DIAL_AGAIN;
        Wait::Dial(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_others_are_dialled_every_second_until_they_are_given_up() {
        let mut lost = HostLost::new(Duration::from_secs(5));
        let mut dials = 0;
        for tenth in 50..150 {
            match lost.advance(Duration::from_millis(100 * tenth)) {
                Wait::Dial(number) => {
                    assert_eq!(number, dials);
                    dials += 1;
                }
                Wait::Stay => assert!(lost.deadline() > Duration::from_millis(100 * tenth)),
                Wait::GiveUp => panic!("at {tenth}"),
            }
        }
        assert_eq!(dials, 10);
        assert_eq!(lost.advance(Duration::from_secs(15)), Wait::GiveUp);
    }
}
