//! Disputes: a peer attests another log than this one's, and it is not known yet why.

use crate::LogHash;
use std::time::Duration;

/// Logs that differ are shown to all, again and again, for so long; without a proof it is a desync then, as it is where
/// worlds differ.
const SHOWN_FOR: Duration = Duration::from_secs(5);
/// The peer that attests another log may hold the proof: it is judged once it was in reach at so many showings in a row.
const SHOWN: u8 = 3;
/// It is judged all the same so long after it first attested another log: the turns of the others must go on.
const REACHED_WITHIN: Duration = Duration::from_secs(15);
/// The others have so long to decide on going on without a peer that signed both, or attests what a quorum does not.
const DECIDED_WITHIN: Duration = Duration::from_secs(30);
const SHOWN_EVERY: Duration = Duration::from_secs(1);

/// The dispute at hand, and since when each peer has attested another log.
pub(super) struct Disputes {
    open: Option<Dispute>,
    /// By place, with no peer proved to be behind it.
    since: Vec<Option<Duration>>,
}

/// A peer's log differs from this one's after some turns.
pub(super) struct Dispute {
    since: Duration,
    shown_at: Duration,
    /// The first turn of which batches are shown.
    pub from: u32,
    /// The logs differ after so many turns.
    pub turns: u32,
    /// Whose log it is, and its hash.
    pub other: usize,
    pub hash: LogHash,
    /// The last showings in a row at which that peer was in reach.
    shown: u8,
    /// It was shown for long enough, and there is no proof.
    unproved: bool,
}

/// What is due of a dispute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The proof may still come.
    Open,
    /// A quorum is to judge.
    Judged,
    /// The time to decide is over.
    Over,
}

impl Disputes {
    pub(super) fn new(peers: usize) -> Self {
        Disputes {
            open: None,
            since: vec![None; peers],
        }
    }

    pub(super) fn open(&self) -> Option<&Dispute> {
        self.open.as_ref()
    }

    /// A peer attests another log after some turns. Whether that begins a dispute; one at a time is enough.
    pub(super) fn begin(
        &mut self,
        (other, hash): (usize, LogHash),
        turns: u32,
        from: u32,
        now: Duration,
    ) -> bool {
        if self.open.is_some() {
            return false;
        }
        let first = *self.since[other].get_or_insert(now);
        self.open = Some(Dispute {
            since: now,
            shown_at: now,
            from,
            turns,
            other,
            hash,
            shown: 0,
            // What every roster change began again would never end.
            unproved: first + REACHED_WITHIN <= now,
        });
        true
    }

    /// The peer of the other log, until that peer is judged even where it is out of reach of this one.
    pub(super) fn unjudged(&self, now: Duration) -> Option<u8> {
        let dispute = self.open.as_ref()?;
        let since = self.since[dispute.other].unwrap_or(dispute.since);
        (now < since + REACHED_WITHIN).then_some(dispute.other as u8)
    }

    /// The dispute is settled.
    pub(super) fn settle(&mut self) -> Option<Dispute> {
        self.open.take()
    }

    /// Logs are one again from here on: a peer that differed from the one before may have been right.
    pub(super) fn forget(&mut self) {
        self.since.iter_mut().for_each(|since| *since = None);
    }

    /// A peer was removed for its log, or another run of its process has its place.
    pub(super) fn forget_of(&mut self, at: usize) {
        self.since[at] = None;
    }

    /// What was slept through is no time in which a proof was shown, and the peer that may hold it is to be in reach anew.
    pub(super) fn skip(&mut self, away: Duration, now: Duration) {
        let mut since: Vec<&mut Duration> = self.since.iter_mut().flatten().collect();
        if let Some(dispute) = &mut self.open {
            since.push(&mut dispute.since);
            (dispute.shown, dispute.unproved) = (0, false);
        }
        for since in since {
            *since = now.min(*since + away);
        }
    }

    /// When the open dispute is over, where voters are convicted of cheating or not.
    fn ends(&self, dispute: &Dispute, convicted: bool, extension: Duration) -> Duration {
        let lasts = match dispute.unproved || convicted {
            // Where players wait longer for a silent peer, what goes on without the other one waits as well.
            true => DECIDED_WITHIN + extension,
            false => SHOWN_FOR,
        };
        dispute.since + lasts
    }

    /// When its batches are shown again, or it is judged.
    pub(super) fn next_at(&self, convicted: bool, extension: Duration) -> Option<Duration> {
        let dispute = self.open.as_ref()?;
        let ends = self.ends(dispute, convicted, extension);
        Some(ends.min(dispute.shown_at + SHOWN_EVERY))
    }

    pub(super) fn stage(&self, convicted: bool, extension: Duration, now: Duration) -> Stage {
        let Some(dispute) = &self.open else {
            return Stage::Open;
        };
        let over = now >= self.ends(dispute, convicted, extension);
        match over || dispute.unproved && !convicted {
            true if over && dispute.since + DECIDED_WITHIN <= now => Stage::Over,
            true => Stage::Judged,
            false => Stage::Open,
        }
    }

    /// There is no proof.
    pub(super) fn note_unproved(&mut self) {
        if let Some(dispute) = &mut self.open {
            dispute.unproved = true;
        }
    }

    /// Whether what the other peer of the dispute holds would be known by now, if it holds anything.
    pub(super) fn was_in_reach(&self, now: Duration) -> bool {
        self.open.as_ref().is_none_or(|dispute| {
            let first = self.since[dispute.other].unwrap_or(dispute.since);
            dispute.shown >= SHOWN || first + REACHED_WITHIN <= now
        })
    }

    pub(super) fn is_show_due(&self, now: Duration) -> bool {
        let open = self.open.as_ref();
        open.is_some_and(|dispute| dispute.shown_at + SHOWN_EVERY <= now)
    }

    /// Batches are shown from the turn that this returns on, to the other peer as well where it is in reach.
    pub(super) fn show(&mut self, in_reach: bool, now: Duration) {
        if let Some(dispute) = &mut self.open {
            dispute.shown_at = now;
            dispute.shown = match in_reach {
                true => dispute.shown.saturating_add(1),
                false => 0,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const OTHER: (usize, LogHash) = (2, LogHash([9; 16]));

    #[test]
    fn a_dispute_is_judged_after_it_was_shown_and_over_after_that() {
        let mut disputes = Disputes::new(3);
        assert!(disputes.begin(OTHER, 5, 1, Duration::ZERO));
        assert!(!disputes.begin((1, OTHER.1), 5, 1, Duration::ZERO));
        let stage = |disputes: &Disputes, s: u32| disputes.stage(false, Duration::ZERO, SECOND * s);
        assert_eq!(stage(&disputes, 4), Stage::Open);
        assert_eq!(stage(&disputes, 5), Stage::Judged);
        disputes.note_unproved();
        assert_eq!(stage(&disputes, 6), Stage::Judged);
        assert_eq!(stage(&disputes, 30), Stage::Over);
    }

    #[test]
    fn a_peer_out_of_reach_is_waited_for_and_not_for_ever() {
        let mut disputes = Disputes::new(3);
        disputes.begin(OTHER, 5, 1, Duration::ZERO);
        for s in 1..=3 {
            assert!(!disputes.was_in_reach(SECOND * s));
            assert!(disputes.is_show_due(SECOND * s));
            disputes.show(true, SECOND * s);
        }
        assert!(disputes.was_in_reach(SECOND * 3));
        disputes.show(false, SECOND * 4);
        assert!(!disputes.was_in_reach(SECOND * 4));
        assert!(disputes.was_in_reach(SECOND * 15));
        assert_eq!(disputes.unjudged(SECOND * 14), Some(2));
        assert_eq!(disputes.unjudged(SECOND * 15), None);
        // What it sleeps through does not count.
        disputes.skip(SECOND * 16, SECOND * 20);
        assert!(!disputes.was_in_reach(SECOND * 30));
        assert!(disputes.was_in_reach(SECOND * 31));
    }

    #[test]
    fn a_dispute_is_judged_no_later_than_a_sleep_was_long() {
        let mut disputes = Disputes::new(3);
        disputes.begin(OTHER, 5, 1, Duration::ZERO);
        disputes.skip(SECOND * 2, SECOND * 4);
        let stage = |s: u32| disputes.stage(false, Duration::ZERO, SECOND * s);
        assert_eq!((stage(6), stage(7)), (Stage::Open, Stage::Judged));
        assert!(!disputes.was_in_reach(SECOND * 7));
        assert!(disputes.was_in_reach(SECOND * 17));
    }

    #[test]
    fn a_dispute_begun_anew_by_a_change_is_judged_at_once() {
        let mut disputes = Disputes::new(3);
        disputes.begin(OTHER, 5, 1, Duration::ZERO);
        disputes.settle();
        disputes.begin(OTHER, 9, 5, SECOND * 15);
        let stage = disputes.stage(false, Duration::ZERO, SECOND * 15);
        assert_eq!(stage, Stage::Judged);
        disputes.settle();
        disputes.forget();
        disputes.begin(OTHER, 12, 8, SECOND * 16);
        let stage = disputes.stage(false, Duration::ZERO, SECOND * 16);
        assert_eq!(stage, Stage::Open);
    }
}
