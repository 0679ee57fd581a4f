//! When a peer's batch should have come: as long after this peer has sealed its own as it took before, and a turn after the
//! one before. The latter counts where the peer had to wait, and seals later than this one since. A batch that later ones
//! have passed should have come with the first of these.

use std::collections::VecDeque;
use std::time::Duration;

/// A batch that comes no later than this after it should is not missed.
const MARGIN: Duration = Duration::from_millis(5);
/// A longer way is taken for one of this length: a process stood still, and a batch took no such way.
const LONGEST_MS: i64 = 30_000;
/// A way that became longer is the least one after about so many batches.
const FORGETS_IN: i64 = 16;
/// After the last batch that came first-hand, no more turns are counted: their length may have been another one.
const MOST_TURNS: u32 = 4;
/// So many of the last batches are kept: no peer seals further ahead of one that is lost.
const KEPT: usize = crate::limits::LONGEST_DELAY as usize;
/// Ways are kept in such parts of a millisecond.
const PARTS: i64 = 64;

/// By place, of batches that came from their peer, and for the first time.
pub(super) struct Arrivals(Vec<Option<Came>>);

#[derive(Clone)]
struct Came {
    /// The turns of the last ones, and when they came.
    last: VecDeque<(u32, Duration)>,
    /// The least time of late from the own sealing of a turn until one came.
    least: i64,
}

impl Arrivals {
    pub(super) fn new(peers: usize) -> Self {
        Arrivals(vec![None; peers])
    }

    /// The batch of a turn came now, so long after this peer had sealed its own.
    pub(super) fn note(&mut self, at: usize, turn: u32, now: Duration, way_ms: i64) {
        let way = way_ms.clamp(-LONGEST_MS, LONGEST_MS) * PARTS;
        let came = self.0[at].get_or_insert_with(|| Came {
            last: VecDeque::with_capacity(KEPT),
            least: way,
        });
        came.least = way.min(came.least + (way - came.least) / FORGETS_IN);
        if came.last.len() == KEPT {
            came.last.pop_front();
        }
        came.last.push_back((turn, now));
    }

    /// When the batch of a turn, of this length, should have come for which this peer sealed its own then. As long as none
    /// has come, its peer is taken to have sealed it at that time as well, and it to take this `way`.
    pub(super) fn expected(
        &self,
        at: usize,
        (turn, length): (u32, Duration),
        sealed: Duration,
        way: Duration,
    ) -> Duration {
        let Some(came) = &self.0[at] else {
            return sealed + way + MARGIN;
        };
        let least = Duration::from_millis(came.least.unsigned_abs() / PARTS as u64);
        let after_own = match came.least < 0 {
            true => sealed.saturating_sub(least),
            false => sealed + least,
        };
        // They are kept as they came.
        let passed = came.last.iter().find(|(of, _)| *of > turn);
        let newest = came.last.iter().max_by_key(|(of, _)| *of);
        let after_last = passed.or(newest).map(|(of, at)| {
            let turns = turn.saturating_sub(*of).min(MOST_TURNS);
            *at + length * turns
        });
        after_last.map_or(after_own, |after_last| after_last.max(after_own)) + MARGIN
    }

    /// Turns from this one on are taken back, and come again.
    pub(super) fn retract(&mut self, turn: u32) {
        for came in self.0.iter_mut().flatten() {
            came.last.retain(|(of, _)| *of < turn);
        }
    }

    /// Another run of a peer's process has its place.
    pub(super) fn readmit(&mut self, at: usize) {
        self.0[at] = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: Duration = Duration::from_millis(200);
    const WAY: Duration = Duration::from_millis(40);

    /// After how many milliseconds behind the own sealing the next batch is expected, where those before took these ways.
    fn expected_ms(ways: &[i64]) -> i128 {
        let mut arrivals = Arrivals::new(2);
        let sealed = |turn: usize| TURN * (100 + turn as u32);
        for (turn, way) in ways.iter().enumerate() {
            let came = sealed(turn).as_millis() as i64 + way;
            arrivals.note(1, turn as u32, Duration::from_millis(came as u64), *way);
        }
        let next = ways.len();
        let expected = arrivals.expected(1, (next as u32, TURN), sealed(next), WAY);
        expected.as_millis() as i128 - sealed(next).as_millis() as i128
    }

    #[test]
    fn a_batch_is_expected_when_those_before_it_came() {
        assert_eq!(expected_ms(&[]), 45, "none has come");
        assert_eq!(expected_ms(&[50; 20]), 55);
        assert_eq!(expected_ms(&[-30; 20]), -25, "its clock is ahead");
        assert_eq!(expected_ms(&[50, 58, 45, 52]), 57);
        assert_eq!(expected_ms(&[50, 45, 58, 47]), 52);
    }

    #[test]
    fn a_peer_that_had_to_wait_is_expected_later() {
        let after = |more: usize| [&[50; 20][..], &vec![250; more]].concat();
        assert_eq!(expected_ms(&after(1)), 255);
        assert_eq!(expected_ms(&[after(1), vec![50]].concat()), 55);
        // It is behind for good.
        assert_eq!(expected_ms(&[after(60), vec![245]].concat()), 250);
    }

    #[test]
    fn a_batch_that_later_ones_have_passed_should_have_come_with_the_first() {
        let mut arrivals = Arrivals::new(1);
        for turn in [5, 6, 8, 9, 10, 7] {
            let expected = arrivals.expected(0, (7, TURN), TURN * 7, WAY);
            match turn {
                9 | 10 | 7 => assert_eq!(expected, TURN * 8 + WAY + MARGIN, "before {turn}"),
                _ => assert!(expected <= TURN * 7 + WAY + MARGIN, "before {turn}"),
            }
            let came_with = if turn == 7 { 10 } else { turn };
            arrivals.note(0, turn, TURN * came_with + WAY, 40);
        }
        // One that was overtaken does not put off what comes behind those before it.
        let expected = arrivals.expected(0, (11, TURN), TURN * 11, WAY);
        assert_eq!(expected, TURN * 11 + WAY + MARGIN);
        // What is taken back comes again, and passes no other batch.
        arrivals.retract(7);
        let expected = arrivals.expected(0, (7, TURN), TURN * 7, WAY);
        assert_eq!(expected, TURN * 7 + WAY + MARGIN);
    }

    #[test]
    fn turns_count_from_the_last_batch_and_not_for_long() {
        let mut arrivals = Arrivals::new(1);
        arrivals.note(0, 7, TURN, i64::MIN);
        for (turn, turns) in [(9, 3), (11, 5), (1_000, 5)] {
            let expected = arrivals.expected(0, (turn, TURN), TURN, WAY);
            assert_eq!(expected, TURN * turns + MARGIN, "turn {turn}");
        }
        arrivals.readmit(0);
        let expected = arrivals.expected(0, (9, TURN), TURN, WAY);
        assert_eq!(expected, TURN + WAY + MARGIN);
    }
}
