//! How long a peer that withholds holds each other one up, until it is out.

use super::Scenario;
use super::scenario::Hostile;
use std::collections::BTreeMap;
use std::time::Duration;

/// The time for which one peer's turns stood still for others.
#[derive(Default)]
pub(super) struct HeldUp {
    /// By the peer that was waited for, since it came last.
    waited: BTreeMap<usize, Duration>,
    /// The stall that lasts: the peers that are waited for, and until when that is counted.
    stall: Option<(Vec<usize>, Duration)>,
}

impl HeldUp {
    /// A turn is late for want of these peers' batches, since then.
    pub(super) fn stalled(&mut self, on: Vec<usize>, since: Duration, now: Duration) {
        let begun = self.stall.take().map_or(since, |(_, counted)| counted);
        self.stall = Some((on, begun));
        self.count(now);
    }

    /// The turn is no longer late.
    pub(super) fn goes_on(&mut self, now: Duration) {
        self.count(now);
        self.stall = None;
    }

    /// This peer is out of the roster: the time for which it was waited for.
    pub(super) fn removed(&mut self, peer: usize, now: Duration) -> Duration {
        self.count(now);
        self.waited.remove(&peer).unwrap_or_default()
    }

    fn count(&mut self, now: Duration) {
        if let Some((on, counted)) = &mut self.stall {
            for peer in on.iter() {
                *self.waited.entry(*peer).or_default() += now.saturating_sub(*counted);
            }
            *counted = now;
        }
    }
}

/// Whether a peer withholds what the others wait for, or is mute.
pub(super) fn withholds(scenario: &Scenario, peer: usize) -> bool {
    let hostile = scenario.peers[peer].hostile;
    matches!(hostile, Some(Hostile::Withholder(_) | Hostile::Mute { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_stalls_on_a_peer_count_until_it_is_out() {
        let mut held = HeldUp::default();
        let s = Duration::from_secs;
        held.stalled(vec![1, 2], s(9), s(10));
        held.stalled(vec![1], s(9), s(11));
        held.goes_on(s(12));
        held.stalled(vec![1], s(20), s(21));
        assert_eq!(held.removed(2, s(21)), s(1));
        assert_eq!(held.removed(1, s(22)), s(3) + s(2));
        assert_eq!(held.removed(1, s(23)), s(1), "of the stall that lasts");
    }
}
