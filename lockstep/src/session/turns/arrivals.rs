//! When a peer's batch should have come: as long after this peer has sealed its own of the same turn as those before it.

use std::time::Duration;

/// A batch that comes no later than this after the usual time is not missed.
const MARGIN_MS: i64 = 5;
/// Beyond the usual way so many mean deviations are usual, too.
const DEVIATIONS: i64 = 4;
/// What is further from the usual than the deviations and this counts as that.
const MOST_BEYOND_MS: i64 = 16;
/// Ways beyond that are taken for that: a stop of a process, and not the way of its batches.
const LONGEST_MS: i64 = 30_000;
/// Ways and deviations are kept in such parts of a millisecond.
const PARTS: i64 = 64;

/// By place. Times are those from the own sealing of a turn to the arrival of a peer's batch of it.
pub(super) struct Arrivals(Vec<Option<Usual>>);

#[derive(Clone, Copy)]
struct Usual {
    way: i64,
    deviation: i64,
}

impl Arrivals {
    pub(super) fn new(peers: usize) -> Self {
        Arrivals(vec![None; peers])
    }

    /// A batch came from its peer, for the first time.
    pub(super) fn note(&mut self, at: usize, way_ms: i64) {
        let way = way_ms.clamp(-LONGEST_MS, LONGEST_MS) * PARTS;
        let usual = self.0[at].get_or_insert(Usual { way, deviation: 0 });
        // One that comes far later than any before it says little. Several that do are soon the usual.
        let most = usual.deviation * DEVIATIONS + MOST_BEYOND_MS * PARTS;
        let beyond = (way - usual.way).clamp(-most, most);
        usual.deviation += (beyond.abs() - usual.deviation) / 4;
        usual.way += beyond / 8;
    }

    /// When the batch should have come of a turn for which this peer sealed its own then. `None`: none has come yet.
    pub(super) fn expected(&self, at: usize, sealed: Duration) -> Option<Duration> {
        let usual = self.0[at]?;
        let within = (usual.way + usual.deviation * DEVIATIONS) / PARTS + MARGIN_MS;
        let part = Duration::from_millis(within.unsigned_abs());
        Some(match within < 0 {
            true => sealed.saturating_sub(part),
            false => sealed + part,
        })
    }

    /// Another run of a peer's process has its place.
    pub(super) fn readmit(&mut self, at: usize) {
        self.0[at] = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEALED: Duration = Duration::from_secs(100);

    fn expected_ms(ways: impl IntoIterator<Item = i64>) -> i128 {
        let mut arrivals = Arrivals::new(2);
        ways.into_iter().for_each(|way| arrivals.note(1, way));
        let expected = arrivals.expected(1, SEALED).expect("some have come");
        expected.as_millis() as i128 - SEALED.as_millis() as i128
    }

    #[test]
    fn a_batch_is_expected_when_those_before_it_came() {
        assert_eq!(Arrivals::new(2).expected(1, SEALED), None);
        assert_eq!(expected_ms([50; 20]), 55);
        assert_eq!(expected_ms([-30; 20]), -25, "its clock is ahead");
        let jitter = [45, 55, 48, 52, 50, 46, 54, 49];
        let within = expected_ms(jitter.into_iter().cycle().take(80));
        assert!((58..72).contains(&within), "{within}");
    }

    #[test]
    fn one_late_batch_does_not_put_off_what_is_missed_for_long() {
        let after = |more: usize| {
            let late = [50; 20].into_iter().chain([250]);
            expected_ms(late.chain(std::iter::repeat_n(50, more)))
        };
        assert_eq!((after(0), after(8)), (73, 61));
        let step = |more: usize| expected_ms([20; 20].into_iter().chain([150; 20]).take(20 + more));
        assert!(step(1) < 60 && step(5) > 150, "{} {}", step(1), step(5));
        assert!(expected_ms([i64::MIN, i64::MAX]).abs() < 200_000);
    }
}
