//! How a guest dials its host until a link has admitted it.

use crate::{LinkError, PeerId};
use std::time::Duration;

/// The host is dialled anew after this time, whether or not the dial before has come to anything: losses delay an answer
/// further with every repetition.
pub(super) const DIAL_AGAIN: Duration = Duration::from_secs(1);
/// How long it is dialled while no link to it comes up. A new dial each second gets through losses that one dial does not.
const REACH_WITHIN: Duration = Duration::from_secs(20);
/// How long it is dialled once a link came up, which may be bad, or its host crowded.
const ENTER_WITHIN: Duration = Duration::from_secs(60);

pub(super) struct Dialling {
    host: PeerId,
    /// Where the host may be. An address at which another key answers is left out, and a text that is none.
    addresses: Vec<String>,
    /// Why no link has admitted this peer so far.
    failure: LinkError,
    dial_at: Duration,
    /// Since when the host is dialled, and until when, on the session's clock.
    since: Duration,
    until: Duration,
}

/// What to do where no link leads to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    Wait,
    Dial,
    GiveUp(LinkError),
}

impl Dialling {
    pub(super) fn new(host: PeerId, addresses: Vec<String>, now: Duration) -> Self {
        Dialling {
            host,
            addresses,
            failure: LinkError::Unanswered,
            dial_at: now,
            since: now,
            until: now + REACH_WITHIN,
        }
    }

    /// The addresses to dial now.
    pub(super) fn dial(&mut self, now: Duration) -> &[String] {
        self.dial_at = now + DIAL_AGAIN;
        &self.addresses
    }

    pub(super) fn failed(&mut self, address: &str, key: PeerId, why: LinkError) {
        if key != self.host {
            return;
        }
        if matches!(why, LinkError::WrongKey | LinkError::Address) {
            self.addresses.retain(|other| other != address);
        }
        // Of several failures the most telling counts: another key is more than silence.
        if self.failure != LinkError::WrongKey {
            self.failure = why;
        }
    }

    /// A link to the host is gone that has not let this peer in.
    pub(super) fn lost(&mut self, now: Duration, why: LinkError) {
        self.failure = why;
        self.dial_at = now + DIAL_AGAIN;
    }

    /// A link to the host is up.
    pub(super) fn linked(&mut self) {
        self.until = self.until.max(self.since + ENTER_WITHIN);
    }

    /// The host's player is asked, and may take any time: the host is dialled for so long from then on.
    pub(super) fn asked(&mut self, now: Duration) {
        self.until = now + ENTER_WITHIN;
    }

    pub(super) fn reach(&self, now: Duration) -> Reach {
        if self.addresses.is_empty() || now >= self.until {
            Reach::GiveUp(self.failure)
        } else if now >= self.dial_at {
            Reach::Dial
        } else {
            Reach::Wait
        }
    }

    pub(super) fn deadline(&self) -> Duration {
        self.dial_at.min(self.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: PeerId = PeerId([1; 32]);

    fn dialling() -> Dialling {
        let addresses = ["a", "b"].map(str::to_owned).to_vec();
        Dialling::new(HOST, addresses, Duration::ZERO)
    }

    #[test]
    fn a_host_is_dialled_every_second_until_it_is_given_up() {
        let mut dialling = dialling();
        assert_eq!(dialling.reach(Duration::ZERO), Reach::Dial);
        assert_eq!(dialling.dial(Duration::ZERO), ["a", "b"]);
        assert_eq!(dialling.reach(Duration::ZERO), Reach::Wait);
        assert_eq!(dialling.reach(DIAL_AGAIN), Reach::Dial);
        let unanswered = Reach::GiveUp(LinkError::Unanswered);
        assert_eq!(dialling.reach(REACH_WITHIN), unanswered);
        dialling.linked();
        assert_eq!(dialling.reach(REACH_WITHIN), Reach::Dial);
        assert_eq!(dialling.reach(ENTER_WITHIN), unanswered);
    }

    #[test]
    fn an_address_of_another_key_is_left_out_and_remembered() {
        let mut dialling = dialling();
        dialling.failed("a", PeerId([9; 32]), LinkError::WrongKey);
        assert_eq!(dialling.dial(Duration::ZERO), ["a", "b"], "another peer's");
        dialling.failed("a", HOST, LinkError::WrongKey);
        dialling.failed("b", HOST, LinkError::Unanswered);
        assert_eq!(dialling.dial(Duration::ZERO), ["b"]);
        dialling.failed("b", HOST, LinkError::Address);
        let wrong_key = Reach::GiveUp(LinkError::WrongKey);
        assert_eq!(dialling.reach(Duration::ZERO), wrong_key);
    }
}
