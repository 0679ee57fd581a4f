//! What the batches of each peer report of its world and its log.

use crate::log::Batch;
use crate::session::ledger::LogWindow;
use crate::{LogHash, TurnNumber};
use sim::Checksum;
use std::collections::VecDeque;

/// The reports of one peer.
#[derive(Clone, Default)]
pub(super) struct Reports {
    /// Worlds reported: checksums after `from..reported` turns are in.
    reported: u32,
    /// The peer reports no world of fewer turns.
    from: u32,
    /// The next report begins wherever it does: this peer was not there for those before.
    reset: bool,
    /// The newest epoch in which the peer has reported.
    epoch: u32,
    /// The reports do not follow each other: no more of them are taken.
    broken: bool,
    /// Log hashes reported that this peer has not reached: turns complete, and the hash.
    pending: VecDeque<(u32, LogHash)>,
    /// Turns after which the peer's log is known to be this one.
    alike: u32,
}

/// What a batch reports that follows on the reports before.
pub(crate) struct Report {
    /// Checksums that count, each after one turn more, the first after so many.
    pub from: u32,
    pub checksums: Vec<Checksum>,
}

impl Reports {
    /// The reports of a peer whose first report is of the world after `from` turns, or, with `reset`, of any.
    pub(super) fn new(from: u32, reset: bool) -> Self {
        Reports {
            reported: from,
            from,
            reset,
            ..Reports::default()
        }
    }

    /// As [`new`](Self::new), of a peer whose part begins with this epoch.
    pub(super) fn since(from: u32, epoch: u32) -> Self {
        Reports {
            epoch,
            ..Reports::new(from, false)
        }
    }

    /// Takes the next batch of the peer. None where its reports have a hole, now or before.
    pub(super) fn take(&mut self, batch: &Batch, window: &LogWindow) -> Option<Report> {
        let Batch {
            turn: TurnNumber(turn),
            executed,
            complete,
            log_hash,
            ..
        } = *batch;
        let counts_up_to = window.counts_up_to(batch.epoch);
        let again = window.reported_up_to(self.epoch, batch.epoch);
        self.reported = self.reported.min(again);
        self.epoch = self.epoch.max(batch.epoch);
        if self.broken {
            return None;
        }
        if std::mem::take(&mut self.reset) {
            self.reported = executed;
        }
        let last = u64::from(executed) + batch.checksums.len() as u64;
        if executed != self.reported || complete > turn || last > u64::from(complete) + 1 {
            return None;
        }
        self.reported += batch.checksums.len() as u32;
        if complete <= counts_up_to {
            self.pending.push_back((complete, log_hash));
        }
        let counts = counts_up_to.saturating_add(1).saturating_sub(executed);
        let checksums = batch.checksums.iter().take(counts as usize);
        Some(Report {
            from: executed,
            checksums: checksums.copied().collect(),
        })
    }

    /// The reports have a hole. Whether that is new.
    pub(super) fn end(&mut self) -> bool {
        !std::mem::replace(&mut self.broken, true)
    }

    /// Whether the peer reports the world after so many turns.
    pub(super) fn includes(&self, turns: u32) -> bool {
        turns >= self.from && !self.broken
    }

    /// Whether the peer's part begins behind the world after so many turns.
    pub(super) fn begin_behind(&self, turns: u32) -> bool {
        turns < self.from
    }

    /// Whether no more of them are taken.
    pub(super) fn are_broken(&self) -> bool {
        self.broken
    }

    /// How many turns the reports are behind.
    pub(super) fn lag(&self, complete: u32) -> u32 {
        complete.saturating_sub(self.reported)
    }

    /// The peer tells of its log's hash after so many turns.
    pub(super) fn expect(&mut self, turns: u32, hash: LogHash) {
        self.pending.push_back((turns, hash));
    }

    /// The next hash told of that can be compared by now.
    pub(super) fn next_hash(&mut self, complete: u32) -> Option<(u32, LogHash)> {
        self.pending.pop_front_if(|(turns, _)| *turns <= complete)
    }

    /// Whether the peer's log is known to be this one after so many turns, or tells of one hash later that is `own`.
    pub(super) fn is_alike(&self, turns: u32, own: impl Fn(u32) -> Option<LogHash>) -> bool {
        let mut later = self.pending.iter().filter(|(after, _)| *after >= turns);
        self.alike >= turns || later.any(|(after, hash)| own(*after) == Some(*hash))
    }

    /// Compares no hash any more that the peer has told of. How many turns its log is known to be this one.
    pub(super) fn forget_hashes(&mut self) -> u32 {
        self.pending.clear();
        self.alike
    }

    /// The peer's log is this one after so many turns.
    pub(super) fn agree(&mut self, turns: u32) {
        self.alike = self.alike.max(turns);
    }

    /// Turns from `cut` on are taken back.
    pub(super) fn retract(&mut self, cut: u32) {
        self.pending.clear();
        self.alike = self.alike.min(cut);
    }

    pub(super) fn alike(&self) -> u32 {
        self.alike
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(turn: u32, executed: u32, complete: u32, checksums: usize) -> Batch {
        Batch {
            turn: TurnNumber(turn),
            entries: Vec::new(),
            first_numbers: Vec::new(),
            executed,
            checksums: vec![Checksum(7); checksums],
            complete,
            log_hash: LogHash([1; 16]),
            way_ms: Vec::new(),
            load: 0,
            leaving: false,
            epoch: 0,
            snapshot: None,
        }
    }

    fn window() -> LogWindow {
        LogWindow::new(0, &[LogHash([0; 16])], 8)
    }

    #[test]
    fn reports_that_follow_each_other_count() {
        let mut reports = Reports::new(0, false);
        let first = reports.take(&batch(2, 0, 0, 1), &window()).expect("counts");
        assert_eq!((first.from, first.checksums.len()), (0, 1));
        let next = reports.take(&batch(3, 1, 1, 1), &window()).expect("counts");
        assert_eq!((next.from, next.checksums.len()), (1, 1));
        assert_eq!(reports.next_hash(0), Some((0, LogHash([1; 16]))));
        assert_eq!(reports.next_hash(0), None, "turn 1 is not complete here");
        assert_eq!(reports.lag(5), 3);
    }

    #[test]
    fn a_hole_in_the_reports_is_found() {
        let mut reports = Reports::new(0, false);
        assert!(reports.take(&batch(2, 1, 1, 1), &window()).is_none());
        assert!(reports.end() && !reports.end());
        assert!(reports.take(&batch(3, 0, 0, 1), &window()).is_none());
        let more_than_complete = batch(2, 0, 0, 2);
        let mut reports = Reports::new(0, false);
        assert!(reports.take(&more_than_complete, &window()).is_none());
        let ahead_of_itself = batch(2, 0, 3, 1);
        assert!(
            Reports::new(0, false)
                .take(&ahead_of_itself, &window())
                .is_none()
        );
    }

    #[test]
    fn a_reset_takes_up_reports_wherever_they_are() {
        let mut reports = Reports::new(4, true);
        let report = reports
            .take(&batch(12, 9, 9, 1), &window())
            .expect("counts");
        assert_eq!(report.from, 9);
        assert!(!reports.includes(3) && reports.includes(4));
    }
}
