//! When copies of own batches leave on a link.
//!
//! A copy leaves when it can still help. With the time at which the other end needs a batch, its way there and the jitter,
//! there is a last useful moment. Where the other end can ask before that for a batch that has not come, the copy waits
//! until it asks, if losses are seldom: nothing is acknowledged but with what leaves anyway. Else so many copies leave as
//! the loss asks for, spread over what is left. Where losses may be outages, the batch of a turn rides along with the next
//! one. Where losses are not seldom, acknowledgements are waited for, and end them.
//! Once the batch is late, copies follow at the pulse of the link, and then less and less often.

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
    /// An acknowledgement that is not waited for leaves within this time, with the batch of the next turn. That may be lost.
    pub turn: Duration,
    /// Little more may be sent now: each copy waits for an acknowledgement.
    pub is_short: bool,
}

/// The own batches that have left on a link and are not acknowledged, by turn.
#[derive(Default)]
pub(crate) struct Copies {
    sent: VecDeque<Sent>,
    /// How many own batches are acknowledged.
    acknowledged: u32,
    /// All that have left, and how often one left again.
    pub batches: u64,
    pub again: u64,
}

struct Sent {
    turn: u32,
    copies: u8,
    first: Duration,
    last: Duration,
    /// The last one said that its acknowledgement is waited for.
    waits: bool,
    /// The other end has asked for it, and for a copy that has not left yet.
    was_lacking: bool,
    is_lacking: bool,
}

/// An acknowledgement waits this long for a packet that leaves anyway.
pub(crate) const ACKNOWLEDGE_WITHIN: Duration = Duration::from_millis(2);
/// How late clocks, timers and threads may be in all.
const MARGIN: Duration = Duration::from_millis(10);
/// How late timers and threads at both ends may make an acknowledgement. A copy in vain costs less than a late one.
const ANSWERED_WITHIN: Duration = Duration::from_millis(4);
/// The shortest time between two copies, while losses are no sign of a narrow link.
pub(crate) const APART: Duration = Duration::from_millis(2);
/// Copies that are asked for, and have no more time, follow each other so closely.
const CLOSELY: Duration = Duration::from_millis(4);
/// A copy leaves so much before its time where a packet leaves anyway.
pub(crate) const RIDES_ALONG: Duration = Duration::from_millis(1);
/// One batch in so many may be late for losses: one turn in 100,000, with 15 links of a peer.
const LATE_BATCHES: u64 = 1_500_000;
/// One batch of a link in so many, where each copy costs its bytes in every turn, as no answer can come before it.
const LATE_UNANSWERED: u64 = 100_000;
const MOST_COPIES: u8 = 8;
/// After so many batches the other end knows when to expect the next one.
const ENOUGH: u32 = 4;
/// More batches than any peer keeps to send again.
const MOST_ON_THEIR_WAY: usize = 64;
/// The longest time from one copy of a batch that is not acknowledged to the next.
pub(crate) const LONGEST: Duration = Duration::from_millis(500);
/// Where more packets of 64 are lost, questions and what answers them are lost too often.
const SELDOM: u32 = 256 * 6;
/// Where more packets of 64 are lost, several in a row may be.
const OUTAGES: u32 = 256 * 2;
/// As much may be lost beside what is seen, of 64 packets in 256ths of one.
const UNSEEN: u64 = 32;

/// The time from one copy, or question, to the next after so many others in vain, each after twice as long.
pub(crate) fn backed_off(first: Duration, others: u32, longest: Duration) -> Duration {
    let doubled = first.saturating_mul(2u32.saturating_pow(others));
    doubled.min(longest.max(first))
}

impl Measured {
    /// Time from a packet until what it carries should be acknowledged.
    pub(crate) fn acknowledged_within(&self) -> Duration {
        self.rtt + self.jitter * 2 + ACKNOWLEDGE_WITHIN + ANSWERED_WITHIN
    }

    /// The same where the acknowledgement is not waited for.
    fn acknowledged_unasked(&self) -> Duration {
        self.acknowledged_within() + self.turn * 2
    }

    pub(crate) fn loses_seldom(&self) -> bool {
        self.lost <= SELDOM
    }

    /// Copies after which a batch has come, but for one in so many, if losses are independent.
    fn copies(&self, mut late: u64) -> u8 {
        // What no packets of a while show may still be lost: a part of one in 64 counts.
        let lost = u64::from(self.lost) + UNSEEN;
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
        while self.sent.pop_front_if(|sent| sent.turn < until).is_some() {
            self.acknowledged = self.acknowledged.saturating_add(1);
        }
    }

    /// The other end asks for batches that should have come. Those that may still be on their way are not lacking yet. A
    /// question is answered no more often than losses could ask for, and no sooner than on a link that loses many.
    pub(crate) fn lacking(&mut self, now: Duration, link: &Measured) {
        self.leave_again(now, link, |sent| sent.copies <= MOST_COPIES);
    }

    /// The other end is heard again: the link may have carried nothing.
    pub(crate) fn returned(&mut self, now: Duration, link: &Measured) {
        self.sent.iter_mut().for_each(|sent| sent.copies = 1);
        self.leave_again(now, link, |_| true);
    }

    fn leave_again(&mut self, now: Duration, link: &Measured, wanted: impl Fn(&Sent) -> bool) {
        let on_its_way = (link.rtt * 3 / 4).max(link.apart);
        let is_over = |sent: &&mut Sent| wanted(sent) && sent.last + on_its_way <= now;
        for sent in self.sent.iter_mut().filter(is_over) {
            (sent.was_lacking, sent.is_lacking) = (true, true);
        }
    }

    /// The batch of a turn leaves. The sender `waits` for an acknowledgement of its packet, or leaves it to the next batch.
    pub(crate) fn left(&mut self, turn: u32, now: Duration, waits: bool) {
        match self.sent.iter_mut().find(|sent| sent.turn == turn) {
            Some(sent) => {
                self.again += 1;
                sent.copies = sent.copies.saturating_add(1);
                (sent.last, sent.waits, sent.is_lacking) = (now, waits, false);
            }
            None => {
                self.batches += 1;
                self.sent.push_back(Sent {
                    turn,
                    copies: 1,
                    first: now,
                    last: now,
                    waits,
                    was_lacking: false,
                    is_lacking: false,
                });
            }
        }
        // The other end may never acknowledge.
        if self.sent.len() > MOST_ON_THEIR_WAY {
            self.sent.pop_front();
        }
    }

    /// Whether to wait for an acknowledgement of a turn's batch that leaves now.
    pub(crate) fn waits(&self, turn: u32, now: Duration, link: &Measured) -> bool {
        let of = self.sent.iter().find(|sent| sent.turn == turn);
        let is_overdue = |sent: &Sent| {
            let unanswered = sent.copies >= link.copies(LATE_UNANSWERED);
            let overdue = sent.last + link.acknowledged_unasked() <= now + RIDES_ALONG;
            sent.waits || sent.was_lacking || unanswered || overdue
        };
        !link.loses_seldom() || self.acknowledged < ENOUGH || of.is_some_and(is_overdue)
    }

    /// Whether the batch of a turn leaves once more, in the packet of the next batch: an outage may have taken all copies. That
    /// packet comes sooner than what the other end could ask for.
    pub(crate) fn rides_along(&self, turn: u32, now: Duration, link: &Measured) -> bool {
        let of = self.sent.iter().find(|sent| sent.turn == turn);
        let lately = |sent: &Sent| sent.first + link.turn * 3 / 2 > now;
        let is_lossy = link.lost > OUTAGES && link.turn <= link.acknowledged_within();
        is_lossy && !link.is_short && of.is_some_and(lately)
    }

    /// Whether the batch of a turn has left, and is not acknowledged.
    pub(crate) fn holds(&self, turn: u32) -> bool {
        self.sent.iter().any(|sent| sent.turn == turn)
    }

    /// When the next copy of a turn's batch is due, which the other end needs at `needed`. `None`: it has not left yet.
    pub(crate) fn next(&self, turn: u32, needed: Duration, link: &Measured) -> Option<Duration> {
        let sent = self.sent.iter().find(|sent| sent.turn == turn)?;
        if sent.is_lacking && !link.is_short {
            return Some(sent.last);
        }
        let within = link.acknowledged_within();
        // The jitter is that of both ways together.
        let way = link.rtt / 2 + link.jitter * 3 / 2;
        let useful_until = needed.saturating_sub(way + MARGIN);
        let acknowledged = match sent.waits || sent.is_lacking {
            true => within,
            false => link.acknowledged_unasked(),
        };
        let in_vain = match link.is_short {
            true => u32::from(sent.copies) - 1,
            false => 0,
        };
        let waits_until = || sent.last + backed_off(acknowledged.max(link.pulse), in_vain, LONGEST);
        // What the other end asks for is asked for no later than it would be acknowledged.
        let asked = sent.last + within.max(link.pulse);
        if link.is_short || asked <= useful_until && link.loses_seldom() {
            return Some(waits_until());
        }
        let copies = link.copies(match link.loses_seldom() && !sent.was_lacking {
            true => LATE_UNANSWERED,
            false => LATE_BATCHES,
        });
        let wanted = u32::from(copies.saturating_sub(sent.copies));
        let left = useful_until.saturating_sub(sent.last);
        if wanted > 0 {
            // Within the margin a copy may be in time, if it leaves at once. Where all of them are late, none comes of haste:
            // on a link that seldom loses one, it waits in a queue.
            let gap = match left.is_zero() {
                true if sent.was_lacking => CLOSELY,
                true if link.loses_seldom() && sent.last + way < needed => link.apart,
                true if link.loses_seldom() => return Some(waits_until()),
                true => within / wanted,
                false => left / wanted,
            };
            return Some(sent.last + gap.max(link.apart));
        }
        let late = needed.max(match sent.waits {
            true => sent.first + within,
            false => waits_until(),
        });
        // The longer it is late, the less often it leaves.
        let late_for = sent.last.saturating_sub(late);
        let more = u32::from(sent.copies.saturating_sub(copies + 1));
        let gap = backed_off(link.pulse, more, LONGEST).min(within.max(late_for));
        Some(late.max(sent.last + gap.max(link.pulse)))
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
            turn: ms(200),
            is_short: false,
        }
    }

    /// Of a link on which batches have been acknowledged.
    fn known() -> Copies {
        Copies {
            acknowledged: ENOUGH,
            ..Copies::default()
        }
    }

    /// When copies leave of a batch that is needed after this time and never acknowledged, and asked for at these times:
    /// the first so many, in ms.
    fn leave(needed_ms: u64, link: &Measured, asked_ms: &[u64], most: usize) -> Vec<u128> {
        let mut copies = known();
        let (mut now, mut times) = (ms(0), Vec::new());
        let mut asked = asked_ms.iter().copied().map(ms).peekable();
        for _ in 0..most {
            let waits = copies.waits(7, now, link);
            copies.left(7, now, waits);
            times.push(now.as_millis());
            now = copies.next(7, ms(needed_ms), link).expect("it has left");
            while let Some(asked) = asked.next_if(|asked| *asked < now) {
                copies.lacking(asked, link);
                let next = copies.next(7, ms(needed_ms), link);
                now = next.map_or(now, |next| next.max(asked).min(now));
            }
        }
        times
    }

    #[test]
    fn a_copy_waits_until_it_is_asked_for_where_that_can_be_in_time() {
        // Where it is not asked for the acknowledgement comes with the next batch, and is lost as well.
        assert_eq!(leave(200, &link(100, 0), &[], 3), [0, 508, 533]);
        assert_eq!(leave(200, &link(2, 0), &[10], 3), [0, 10, 35]);
        assert_eq!(leave(200, &link(100, 0), &[110, 118], 3), [0, 110, 138]);
        assert_eq!(leave(200, &link(100, 0), &[40], 2), [0, 508], "on its way");
    }

    #[test]
    fn copies_are_spread_where_no_question_can_come_in_time() {
        let short = Measured {
            turn: ms(100),
            ..link(100, 0)
        };
        let times = leave(100, &short, &[], 4);
        assert_eq!(times, [0, 38, 38 + 308, 38 + 308 + 25]);
        let times = leave(100, &short, &[120], 4);
        assert_eq!(times, [0, 38, 120, 145], "late, and asked for");
    }

    #[test]
    fn where_losses_are_not_seldom_copies_follow_until_one_is_acknowledged() {
        let times = leave(200, &link(100, 7), &[], 6);
        assert_eq!(times, [0, 23, 46, 69, 92, 115]);
        // Copies do not feed losses that last.
        let narrow = Measured {
            apart: ms(75),
            pulse: ms(75),
            ..link(100, 20)
        };
        assert_eq!(leave(200, &narrow, &[], 4), [0, 75, 150, 225]);
    }

    #[test]
    fn acknowledgements_are_waited_for_where_they_end_copies() {
        assert!(
            Copies::default().waits(7, ms(0), &link(100, 0)),
            "the first"
        );
        let mut copies = known();
        let waits = |copies: &Copies, now| copies.waits(7, ms(now), &link(100, 0));
        assert!(copies.waits(7, ms(0), &link(100, 7)), "losses");
        assert!(!waits(&copies, 0));
        copies.left(7, ms(0), false);
        assert!(!waits(&copies, 38), "the second of two");
        assert!(waits(&copies, 508), "no acknowledgement came with the next");
        copies.lacking(ms(110), &link(100, 0));
        assert!(waits(&copies, 110), "asked for");
    }

    #[test]
    fn a_batch_rides_along_once_where_outages_may_be_and_no_answer_came() {
        let mut copies = known();
        copies.left(7, ms(0), false);
        copies.left(7, ms(8), true);
        let rides = |now, link: &Measured| copies.rides_along(7, ms(now), link);
        assert!(rides(200, &link(300, 3)));
        assert!(!rides(400, &link(300, 3)), "once");
        assert!(!rides(200, &link(300, 1)), "losses are rare");
        assert!(!rides(200, &link(100, 3)), "an answer comes sooner");
        let short = Measured {
            is_short: true,
            ..link(300, 3)
        };
        assert!(!rides(200, &short));
        assert!(
            !copies.rides_along(8, ms(200), &link(300, 3)),
            "it has not left"
        );
    }

    #[test]
    fn more_loss_asks_for_more_copies() {
        let copies = [0, 1, 3, 6, 13, 32, 60].map(|lost| link(100, lost).copies(LATE_BATCHES));
        assert!(copies.is_sorted(), "{copies:?}");
        assert_eq!((copies[0], copies[6]), (3, MOST_COPIES));
        let unanswered = [0, 1].map(|lost| link(100, lost).copies(LATE_UNANSWERED));
        assert_eq!(unanswered, [2, 3]);
    }

    #[test]
    fn what_is_acknowledged_is_forgotten() {
        let mut copies = Copies::default();
        for turn in 3..6 {
            copies.left(turn, ms(0), true);
        }
        copies.acknowledged(5);
        let next = |turn| copies.next(turn, ms(200), &link(2, 0));
        assert_eq!((next(4), next(5)), (None, Some(ms(25))));
        copies.acknowledged(9);
        assert!(copies.sent.is_empty());
    }

    #[test]
    fn a_peer_that_asks_without_end_gets_few_copies() {
        let again = |link: &Measured, asks: bool| {
            let mut copies = known();
            copies.left(7, ms(0), false);
            for now in 1..10_000 {
                if asks {
                    copies.lacking(ms(now), link);
                }
                let next = copies.next(7, ms(0), link).expect("it has left");
                if next <= ms(now) {
                    copies.left(7, ms(now), true);
                }
            }
            copies.again
        };
        let plain = Measured {
            rtt: ms(0),
            pulse: ms(800),
            ..link(0, 0)
        };
        let of = [false, true].map(|asks| again(&plain, asks));
        assert!(of[1] <= of[0] + u64::from(MOST_COPIES), "{of:?} in 10 s");
        let lossy = Measured {
            apart: ms(75),
            ..plain
        };
        let mut copies = known();
        copies.left(7, ms(0), false);
        copies.lacking(ms(74), &lossy);
        assert!(copies.next(7, ms(0), &lossy) > Some(ms(75)));
        copies.lacking(ms(75), &lossy);
        assert_eq!(copies.next(7, ms(0), &lossy), Some(ms(0)));
        let short = Measured {
            is_short: true,
            ..lossy
        };
        assert!(
            copies.next(7, ms(0), &short) > Some(ms(75)),
            "it is to wait"
        );
    }

    #[test]
    fn a_peer_that_acknowledges_nothing_takes_no_more_memory() {
        let mut copies = Copies::default();
        (0..100_000).for_each(|turn| copies.left(turn, ms(u64::from(turn) * 200), false));
        assert_eq!(copies.sent.len(), MOST_ON_THEIR_WAY);
    }

    #[test]
    fn copies_that_are_all_late_do_not_leave_at_once() {
        let times = leave(20, &link(100, 0), &[], 4);
        assert_eq!(times, [0, 508, 533, 558]);
        let times = leave(55, &link(100, 0), &[], 2);
        assert_eq!(times, [0, 2], "in time without a margin");
    }
}
