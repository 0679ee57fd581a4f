//! The checksums of worlds, turn by turn, as peers report them.

use sim::Checksum;
use std::collections::BTreeMap;
use std::time::Duration;

/// How many turns before its own part a peer that joins compares worlds of: the reports of these are on their way then.
const EARLIER: u32 = 16;

/// Checksums as they come in, until all peers have reported a turn.
pub(super) struct Checksums {
    peers: usize,
    /// Of fewer turns not all report: they never agree.
    from: u32,
    /// Worlds of fewer turns are not compared.
    compared_from: u32,
    /// Fewer turns than these have agreed, or never will: a report of them says nothing more.
    agreed_until: u32,
    /// By turns executed.
    rows: BTreeMap<u32, Vec<Option<Checksum>>>,
    /// The newest turn that all had alike, and when that was known.
    newest: Option<(u32, Duration)>,
}

/// What a report led to.
pub(super) enum Compared {
    Waiting,
    Differs,
}

impl Checksums {
    /// The checksums of so many peers, of which this one reports none of fewer turns than `from`. Where a match `stops` for
    /// a difference, the others stop for one shortly before that, so this peer does, too. Otherwise they settle it.
    pub(super) fn new(peers: usize, from: u32, stops: bool) -> Self {
        let earlier = if stops { EARLIER } else { 0 };
        Checksums {
            peers,
            from,
            compared_from: from.saturating_sub(earlier),
            agreed_until: 0,
            rows: BTreeMap::new(),
            newest: None,
        }
    }

    pub(super) fn report(&mut self, peer: usize, turns: u32, checksum: Checksum) -> Compared {
        if turns < self.compared_from.max(self.agreed_until) {
            return Compared::Waiting;
        }
        let row = self
            .rows
            .entry(turns)
            .or_insert_with(|| vec![None; self.peers]);
        row[peer] = Some(checksum);
        if row.iter().flatten().any(|other| *other != checksum) {
            Compared::Differs
        } else {
            Compared::Waiting
        }
    }

    /// The next turn that all peers that still `must` have reported, alike.
    pub(super) fn next_agreed(
        &mut self,
        now: Duration,
        must: impl Fn(usize, u32) -> bool,
    ) -> Option<(u32, Checksum)> {
        let (turns, row) = self.rows.range(self.from..).next()?;
        let (turns, checksum) = (*turns, row.iter().flatten().next().copied());
        if row
            .iter()
            .enumerate()
            .any(|(peer, reported)| reported.is_none() && must(peer, turns))
        {
            return None;
        }
        if row.iter().flatten().any(|other| Some(*other) != checksum) {
            return None;
        }
        self.rows.remove(&turns);
        self.agreed_until = turns + 1;
        if checksum.is_some() {
            self.newest = Some((turns, now));
        }
        checksum.map(|checksum| (turns, checksum))
    }

    /// The newest turn that [`next_agreed`](Self::next_agreed) gave, and when.
    pub(super) fn newest_agreed(&self) -> Option<(u32, Duration)> {
        self.newest
    }

    /// Forgets what a peer that is out reported of more than `turns` turns.
    pub(super) fn forget_after(&mut self, peer: usize, turns: u32) {
        for (_, row) in self.rows.range_mut(turns + 1..) {
            row[peer] = None;
        }
    }

    /// Forgets what a peer reported of at least so many turns.
    pub(super) fn forget_from(&mut self, peer: usize, turns: u32) {
        for (_, row) in self.rows.range_mut(turns..) {
            row[peer] = None;
        }
    }

    /// The fewest turns of which reports differ.
    pub(super) fn first_difference(&self) -> Option<u32> {
        let differs = |row: &[Option<Checksum>]| {
            let mut told = row.iter().flatten();
            let first = told.next();
            told.any(|other| Some(other) != first)
        };
        let mut rows = self.rows.iter();
        rows.find(|(_, row)| differs(row)).map(|(turns, _)| *turns)
    }

    /// Forgets all reports of more than `turns` turns.
    pub(super) fn forget_all_after(&mut self, turns: u32) {
        self.rows.split_off(&(turns + 1));
        self.agreed_until = self.agreed_until.min(turns + 1);
    }

    /// What was reported of a turn.
    pub(super) fn row(&self, turns: u32) -> Vec<(u8, Checksum)> {
        let row = self.rows.get(&turns).map(Vec::as_slice).unwrap_or_default();
        row.iter()
            .enumerate()
            .filter_map(|(peer, checksum)| Some((peer as u8, (*checksum)?)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agreed(checksums: &mut Checksums) -> Option<u32> {
        let agreed = checksums.next_agreed(Duration::ZERO, |_, _| true);
        agreed.map(|(turns, _)| turns)
    }

    #[test]
    fn a_late_report_of_an_agreed_turn_holds_up_no_later_one() {
        let mut checksums = Checksums::new(2, 0, false);
        let report = |checksums: &mut Checksums, turns| {
            for peer in 0..2 {
                checksums.report(peer, turns, Checksum(7));
            }
        };
        report(&mut checksums, 1);
        assert_eq!(agreed(&mut checksums), Some(1));
        checksums.report(1, 1, Checksum(7));
        report(&mut checksums, 2);
        assert_eq!(agreed(&mut checksums), Some(2));
        // What is taken back is reported, and agreed, again.
        checksums.forget_all_after(1);
        report(&mut checksums, 2);
        assert_eq!(agreed(&mut checksums), Some(2));
        assert_eq!(agreed(&mut checksums), None);
    }
}
