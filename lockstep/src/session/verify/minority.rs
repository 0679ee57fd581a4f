//! The minority: peers that have another world, or another log, than a quorum.
//!
//! A checksum says that worlds differ, and never whose is right. So no peer goes for one unless a quorum of the roster
//! reported the same and is more than half of all that reported: a single liar, or several that are fewer than the
//! others, remove only themselves. The tie-break is no help to a half: it settles which half goes on where both are
//! right.

use crate::log::{EXCLUSIONS, Peers, Voters};
use std::time::Duration;

/// After a change that has kept one of the minority, as not all knew of it, the next one begins so much later, and so on.
const AGAIN: Duration = Duration::from_secs(1);
/// After so many of these changes the match ends.
const KEPT: u32 = 8;

/// The peers that are to go for it.
pub(super) struct Minority {
    peers: Peers,
    /// The newest world that this peer's own report helped to judge: no change begins before the others can know it.
    judged: Option<u32>,
    /// Turns after which worlds, or logs, were last found to differ.
    differs_after: Option<u32>,
    /// Changes that have kept one of them.
    kept: u32,
    /// By place: how often the peer was removed so.
    removals: Vec<u8>,
}

/// What reports that differ say.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A quorum reported the same, these something else.
    Minority(Peers),
    /// No quorum reported the same, and one may yet.
    Open,
    /// No quorum can.
    NoMinority,
}

impl Verdict {
    /// The verdict on what voters among the peers told, where peers in `open` may still report.
    pub(super) fn of<T: PartialEq>(told: &[(u8, T)], open: Peers, voters: Voters) -> Verdict {
        let told = || {
            let told = told.iter();
            told.filter(|(peer, _)| voters.members().contains(*peer))
        };
        let all: Peers = told().map(|(peer, _)| *peer).collect();
        let side = |of: &T| -> Peers {
            let alike = told().filter(|(_, other)| other == of);
            alike.map(|(peer, _)| *peer).collect()
        };
        let wins = |side: Peers, of: Peers| voters.is_quorum(side) && 2 * side.len() > of.len();
        let mut sides = told().map(|(_, of)| side(of));
        if let Some(side) = sides.clone().find(|side| wins(*side, all)) {
            return Verdict::Minority(all.without(side));
        }
        let open = open.and(voters.members());
        match sides.any(|side| wins(side.or(open), all.or(open))) {
            true => Verdict::Open,
            false => Verdict::NoMinority,
        }
    }
}

impl Minority {
    pub(super) fn new(peers: usize) -> Self {
        Minority {
            peers: Peers::default(),
            judged: None,
            differs_after: None,
            kept: 0,
            removals: vec![0; peers],
        }
    }

    pub(super) fn peers(&self) -> Peers {
        self.peers
    }

    pub(super) fn contains(&self, at: usize) -> bool {
        self.peers.contains(at as u8)
    }

    /// These were found to differ after so many turns.
    pub(super) fn add(&mut self, peers: Peers, turns: u32) {
        self.peers = self.peers.or(peers);
        self.differs_after = Some(turns);
    }

    /// This peer's report of the world after so many turns is one of those that differ.
    pub(super) fn judge_with_own(&mut self, turns: u32) {
        self.judged = self.judged.max(Some(turns));
    }

    /// Turns after which it was last found to differ.
    pub(super) fn differs_after(&self) -> Option<u32> {
        self.differs_after
    }

    /// Peers that a change may remove now. This peer's batches report the worlds after fewer than `reported` turns.
    pub(super) fn due(&self, reported: u32, epoch_began: Duration, now: Duration) -> Peers {
        let is_told = self.judged.is_none_or(|turns| turns < reported);
        match is_told && (self.kept == 0 || now >= epoch_began + AGAIN * self.kept) {
            true => self.peers,
            false => Peers::default(),
        }
    }

    /// A change has removed these for their worlds, or logs.
    pub(super) fn count(&mut self, removed: Peers) {
        for at in removed.iter() {
            let count = &mut self.removals[usize::from(at)];
            *count = count.saturating_add(1);
        }
    }

    /// Whether a peer has strayed too often to come back.
    pub(super) fn is_barred(&self, at: usize) -> bool {
        self.removals
            .get(at)
            .is_some_and(|count| *count >= EXCLUSIONS)
    }

    /// An epoch begins that has removed some. False where changes have kept the others too often.
    pub(super) fn begin_epoch(&mut self, removed: Peers, voters: Voters) -> bool {
        self.peers = self.peers.without(removed);
        match self.peers.and(voters.members()).is_empty() {
            true => self.kept = 0,
            false => self.kept += 1,
        }
        self.kept <= KEPT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minority_is_what_differs_from_a_quorum_and_more_than_half() {
        let voters = Voters::new(Peers::first(4));
        let told = [(0, 'a'), (1, 'b'), (2, 'a'), (3, 'a')];
        let verdict = Verdict::of(&told, Peers::default(), voters);
        assert_eq!(verdict, Verdict::Minority(Peers(0b0010)));
        let halves = [(0, 'a'), (1, 'a'), (2, 'b'), (3, 'b')];
        let verdict = Verdict::of(&halves, Peers::default(), voters);
        assert_eq!(verdict, Verdict::NoMinority, "the tie-break is not right");
        let open = [(1, 'b'), (2, 'a'), (3, 'a')];
        let open = Verdict::of(&open, Peers(0b0001), voters);
        assert_eq!(open, Verdict::Open);
    }

    #[test]
    fn changes_that_keep_a_minority_come_later_each_time_and_end_the_match() {
        let mut minority = Minority::new(3);
        let voters = Voters::new(Peers::first(3));
        minority.add(Peers(0b100), 7);
        let now = Duration::from_secs(10);
        assert_eq!(minority.due(0, now, now), Peers(0b100));
        for kept in 1..=KEPT {
            assert!(minority.begin_epoch(Peers::default(), voters));
            let due = now + AGAIN * kept;
            assert!(minority.due(0, now, due - AGAIN).is_empty());
            assert_eq!(minority.due(0, now, due), Peers(0b100));
        }
        assert!(!minority.begin_epoch(Peers::default(), voters));
    }

    #[test]
    fn no_change_begins_before_the_report_that_decides_is_in_a_batch() {
        let mut minority = Minority::new(4);
        minority.add(Peers(0b1000), 71);
        minority.judge_with_own(71);
        let now = Duration::from_secs(10);
        assert!(minority.due(71, now, now).is_empty());
        assert_eq!(minority.due(72, now, now), Peers(0b1000));
    }

    #[test]
    fn a_second_removal_bars_a_peer() {
        let mut minority = Minority::new(2);
        minority.count(Peers(0b10));
        assert!(!minority.is_barred(1));
        minority.count(Peers(0b10));
        assert!(minority.is_barred(1) && !minority.is_barred(0) && !minority.is_barred(9));
    }
}
