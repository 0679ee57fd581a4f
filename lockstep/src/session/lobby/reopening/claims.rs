//! What the guests of a reopening claim to have recorded, and from when on they count.

use super::message::{Claim, PAGE_COST};
use crate::Incarnation;
use crate::log::{Ballot, Peers, SignedReopening, Value};
use std::collections::BTreeMap;
use std::time::Duration;

/// A peer by which an attempt has failed counts so much later when it comes again, twice as much after another failure,
const COUNTS_AFTER: Duration = Duration::from_secs(2);
/// and so on, up to this many doublings.
const DOUBLINGS: u32 = 5;

/// What a guest tells of its recording.
#[derive(Clone, Copy)]
pub(super) struct Told {
    pub(super) claim: Claim,
    /// What it has accepted in the epoch of its claim.
    pub(super) accepted: Option<(Ballot, Value)>,
    /// The reopening that it has signed last, elsewhere.
    pub(super) signed: Option<SignedReopening>,
}

#[cfg(test)]
impl Told {
    pub(super) fn of(claim: Claim, accepted: Option<(Ballot, Value)>) -> Self {
        Told {
            claim,
            accepted,
            signed: None,
        }
    }
}

/// A guest's claim.
pub(super) struct Claimed {
    pub(super) incarnation: Incarnation,
    pub(super) told: Told,
    /// Bytes of the log that it may still be given.
    allowance: u64,
    /// Until then the others do not wait for it, nor go on with it.
    counts_from: Duration,
    counts: bool,
}

/// Attempts that have failed by one peer.
#[derive(Default)]
struct Failures {
    times: u32,
    until: Duration,
}

/// By place in the start's roster.
#[derive(Default)]
pub(super) struct Claims {
    here: BTreeMap<u8, Claimed>,
    failures: BTreeMap<u8, Failures>,
}

impl Claims {
    /// A guest comes. `allowance` bounds the bytes of the log that it is given.
    pub(super) fn come(
        &mut self,
        place: u8,
        incarnation: Incarnation,
        told: Told,
        allowance: u64,
        now: Duration,
    ) {
        let failures = self.failures.get(&place);
        let claimed = Claimed {
            incarnation,
            told,
            allowance,
            counts_from: failures.map_or(now, |failures| failures.until.max(now)),
            counts: false,
        };
        self.here.insert(place, claimed);
    }

    /// A guest goes.
    pub(super) fn go(&mut self, place: u8) {
        self.here.remove(&place);
    }

    /// An attempt has failed by this peer.
    pub(super) fn failed(&mut self, place: u8, now: Duration) {
        let failures = self.failures.entry(place).or_default();
        failures.until = now + COUNTS_AFTER * (1 << failures.times.min(DOUBLINGS));
        failures.times += 1;
    }

    /// Counts guests whose time has come. Whether there are any.
    pub(super) fn count(&mut self, now: Duration) -> bool {
        let mut news = false;
        for claimed in self.here.values_mut() {
            if !claimed.counts && claimed.counts_from <= now {
                (claimed.counts, news) = (true, true);
            }
        }
        news
    }

    /// When the next guest counts.
    pub(super) fn next_counts(&self) -> Option<Duration> {
        let waiting = self.here.values().filter(|claimed| !claimed.counts);
        waiting.map(|claimed| claimed.counts_from).min()
    }

    /// What a guest claims, counting or not.
    pub(super) fn of(&self, place: u8) -> Option<&Claimed> {
        self.here.get(&place)
    }

    /// All guests, counting or not.
    pub(super) fn all(&self) -> impl Iterator<Item = (u8, &Claimed)> {
        self.here.iter().map(|(place, claimed)| (*place, claimed))
    }

    /// The claims that count.
    pub(super) fn counting(&self) -> impl Iterator<Item = (u8, &Claim)> {
        let counting = self.all().filter(|(_, claimed)| claimed.counts);
        counting.map(|(place, claimed)| (place, &claimed.told.claim))
    }

    /// Guests that count.
    pub(super) fn peers(&self) -> Peers {
        self.counting().map(|(place, _)| place).collect()
    }

    /// Whether a guest may be given one more page of the log.
    pub(super) fn takes_page(&mut self, place: u8) -> bool {
        let claimed = self.here.get_mut(&place);
        let left = claimed.and_then(|claimed| {
            claimed.allowance = claimed.allowance.checked_sub(PAGE_COST)?;
            Some(())
        });
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LogHash;

    const SECOND: Duration = Duration::from_secs(1);

    fn come(claims: &mut Claims, place: u8, now: Duration) {
        let claim = Claim {
            start: LogHash([1; 16]),
            epoch: 0,
            turns: 10,
            hash: LogHash([2; 16]),
        };
        let run = Incarnation([place; 16]);
        claims.come(place, run, Told::of(claim, None), 2 * PAGE_COST, now);
    }

    #[test]
    fn a_guest_counts_at_once_and_is_news_once() {
        let mut claims = Claims::default();
        come(&mut claims, 3, SECOND);
        assert_eq!(claims.next_counts(), Some(SECOND));
        assert!(claims.peers().is_empty());
        assert!(claims.count(SECOND));
        assert!(!claims.count(SECOND));
        assert!(claims.peers().contains(3));
        assert_eq!(claims.next_counts(), None);
    }

    #[test]
    fn a_peer_by_which_attempts_fail_counts_later_each_time() {
        let mut claims = Claims::default();
        for wait in [2, 4, 8, 16, 32, 64, 64] {
            claims.failed(3, SECOND);
            come(&mut claims, 3, SECOND);
            assert_eq!(claims.next_counts(), Some(SECOND * (1 + wait)));
        }
        claims.go(3);
        assert_eq!(claims.next_counts(), None);
    }

    #[test]
    fn pages_are_given_as_long_as_the_allowance_lasts() {
        let mut claims = Claims::default();
        come(&mut claims, 3, SECOND);
        assert!(claims.takes_page(3) && claims.takes_page(3));
        assert!(!claims.takes_page(3));
        assert!(!claims.takes_page(4), "no guest");
    }
}
