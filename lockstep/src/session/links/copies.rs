//! When copies of own batches leave on a link.
//!
//! A copy leaves when it can still help and an acknowledgement could have come. With the time at which the other end
//! needs a batch, its way there and the jitter, there is a last useful moment. Where an acknowledgement can come before
//! that, the next copy waits for it, if losses are seldom. Else so many copies leave as the loss asks for, spread over
//! what is left, until one is acknowledged. Once the batch is late, copies follow at the pulse of the link.

use std::collections::VecDeque;
use std::time::Duration;

/// The measurements of a link that copies follow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    /// The round trip, smoothed.
    pub rtt: Duration,
    /// Its mean deviation.
    pub jitter: Duration,
    /// Packets lost of 64, in 256ths of one.
    pub lost: u32,
    /// The time from one copy of a late batch to the next.
    pub pulse: Duration,
    /// The shortest time between two copies.
    pub apart: Duration,
    /// Little more may be sent now: each copy waits for an acknowledgement.
    pub is_short: bool,
}

/// The own batches that have left on a link and are not acknowledged, by turn.
#[derive(Default)]
pub(crate) struct Copies(VecDeque<Sent>);

struct Sent {
    turn: u32,
    copies: u8,
    first: Duration,
    last: Duration,
}

/// An acknowledgement waits this long for a packet that leaves anyway.
pub(crate) const ACKNOWLEDGE_WITHIN: Duration = Duration::from_millis(2);
/// How late clocks, timers and threads may be in all.
const MARGIN: Duration = Duration::from_millis(10);
/// How late timers and threads at both ends may make an acknowledgement. A copy in vain costs less than a late one.
const ANSWERED_WITHIN: Duration = Duration::from_millis(4);
/// The shortest time between two copies, while losses are no sign of a narrow link.
pub(crate) const APART: Duration = Duration::from_millis(2);
/// A copy leaves so much before its time where a packet leaves anyway.
pub(crate) const RIDES_ALONG: Duration = Duration::from_millis(1);
/// One turn in so many may be late for losses of a match's links.
const LATE_TURNS: u64 = 100_000;
/// Links of a peer in the largest match.
const LINKS: u64 = 15;
const MOST_COPIES: u8 = 8;
/// More batches than any peer keeps to send again.
const MOST_ON_THEIR_WAY: usize = 64;
/// So often the time from one copy of a late batch to the next doubles, at most to when an acknowledgement may come.
const MOST_DOUBLINGS: u32 = 5;
/// Where more packets of 64 are lost, losses may last longer than what is left after an acknowledgement did not come.
const SELDOM: u32 = 256 * 3 / 2;

impl Measured {
    /// Time from a packet until what it carries should be acknowledged.
    pub(crate) fn acknowledged_within(&self) -> Duration {
        self.rtt + self.jitter * 2 + ACKNOWLEDGE_WITHIN + ANSWERED_WITHIN
    }

    /// Copies after which a batch has come, but for one in so many turns, if losses are independent.
    fn copies(&self) -> u8 {
        // What no 64 packets show may still be lost: half a packet counts.
        let lost = u64::from(self.lost) + 128;
        let mut late = LATE_TURNS * LINKS;
        let mut copies = 0;
        while late > 0 && copies < MOST_COPIES {
            late = late * lost / (64 * 256);
            copies += 1;
        }
        copies
    }
}

impl Copies {
    /// The other end holds all own batches before this turn.
    pub(crate) fn acknowledged(&mut self, until: u32) {
        while self.0.pop_front_if(|sent| sent.turn < until).is_some() {}
    }

    /// The batch of a turn leaves.
    pub(crate) fn left(&mut self, turn: u32, now: Duration) {
        match self.0.iter_mut().find(|sent| sent.turn == turn) {
            Some(sent) => {
                sent.copies = sent.copies.saturating_add(1);
                sent.last = now;
            }
            None => self.0.push_back(Sent {
                turn,
                copies: 1,
                first: now,
                last: now,
            }),
        }
        // The other end may never acknowledge.
        if self.0.len() > MOST_ON_THEIR_WAY {
            self.0.pop_front();
        }
    }

    /// Whether the batch of a turn has left, and is not acknowledged.
    pub(crate) fn holds(&self, turn: u32) -> bool {
        self.0.iter().any(|sent| sent.turn == turn)
    }

    /// When the next copy of a turn's batch is due, which the other end needs at `needed`. `None`: it has not left yet.
    pub(crate) fn next(&self, turn: u32, needed: Duration, link: &Measured) -> Option<Duration> {
        let sent = self.0.iter().find(|sent| sent.turn == turn)?;
        let within = link.acknowledged_within();
        let way = link.rtt / 2 + link.jitter * 2 + MARGIN;
        let useful_until = needed.saturating_sub(way);
        let wanted = link.copies().saturating_sub(sent.copies);
        let waits_until = sent.last + within.max(link.pulse);
        let last = waits_until + link.apart * u32::from(wanted.saturating_sub(1));
        if link.is_short || last <= useful_until && link.lost <= SELDOM {
            return Some(waits_until);
        }
        let left = useful_until.saturating_sub(sent.last);
        if wanted > 0 {
            // Where all of them are late, none comes of haste: on a link that seldom loses one, it waits in a queue.
            let span = match left.is_zero() {
                true if link.lost <= SELDOM => return Some(waits_until),
                true => within,
                false => left,
            };
            return Some(sent.last + (span / u32::from(wanted)).max(link.apart));
        }
        let late = needed.max(sent.first + within);
        // The longer no acknowledgement comes, the less often it is asked for.
        let more = u32::from(sent.copies.saturating_sub(link.copies() + 1));
        let gap = link.pulse * 2u32.pow(more.min(MOST_DOUBLINGS));
        Some(late.max(sent.last + gap.min(within).max(link.pulse)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn link(rtt_ms: u64, lost_of_64: u32) -> Measured {
        Measured {
            rtt: ms(rtt_ms),
            jitter: ms(1),
            lost: lost_of_64 * 256,
            pulse: ms(25),
            apart: APART,
            is_short: false,
        }
    }

    /// When copies leave of a batch that is needed after this time and never acknowledged: the first so many, in ms.
    fn leave(needed_ms: u64, link: &Measured, most: usize) -> Vec<u128> {
        let mut copies = Copies::default();
        let (mut now, mut times) = (ms(0), Vec::new());
        for _ in 0..most {
            copies.left(7, now);
            times.push(now.as_millis());
            now = copies.next(7, ms(needed_ms), link).expect("it has left");
        }
        times
    }

    #[test]
    fn a_copy_waits_for_an_acknowledgement_that_can_come_in_time() {
        assert_eq!(leave(200, &link(2, 0), 4), [0, 25, 50, 75]);
        assert_eq!(leave(200, &link(100, 0), 2), [0, 108]);
    }

    #[test]
    fn copies_are_spread_where_no_acknowledgement_can_come_in_time() {
        // Of four copies the last two, up to the last useful moment; then at the pulse, once the batch is late.
        let times = leave(200, &link(100, 1), 7);
        assert_eq!(times, [0, 108, 123, 138, 200, 225, 275]);
        let times = leave(100, &link(100, 0), 5);
        assert_eq!(times, [0, 19, 38, 108, 133]);
        // Where more is lost, none waits.
        let times = leave(200, &link(100, 3), 6);
        assert_eq!(times, [0, 34, 69, 103, 138, 200]);
        // Copies do not feed losses that last.
        let narrow = Measured {
            apart: ms(75),
            pulse: ms(75),
            ..link(100, 20)
        };
        assert_eq!(leave(200, &narrow, 4), [0, 75, 150, 225]);
    }

    #[test]
    fn more_loss_asks_for_more_copies() {
        let copies = [0, 1, 3, 6, 13, 32, 60].map(|lost| link(100, lost).copies());
        assert!(copies.is_sorted(), "{copies:?}");
        assert_eq!((copies[0], copies[6]), (3, MOST_COPIES));
    }

    #[test]
    fn what_is_acknowledged_is_forgotten() {
        let mut copies = Copies::default();
        for turn in 3..6 {
            copies.left(turn, ms(0));
        }
        copies.acknowledged(5);
        let next = |turn| copies.next(turn, ms(200), &link(2, 0));
        assert_eq!((next(4), next(5)), (None, Some(ms(25))));
        copies.acknowledged(9);
        assert!(copies.0.is_empty());
    }

    #[test]
    fn a_peer_that_acknowledges_nothing_takes_no_more_memory() {
        let mut copies = Copies::default();
        (0..100_000).for_each(|turn| copies.left(turn, ms(u64::from(turn) * 200)));
        assert_eq!(copies.0.len(), MOST_ON_THEIR_WAY);
    }

    #[test]
    fn copies_that_are_all_late_do_not_leave_at_once() {
        assert_eq!(leave(20, &link(100, 0), 5), [0, 108, 216, 241, 266]);
    }
}
