//! The end of the log: the hashes after its last turns, and which turns were taken back.

use crate::LogHash;
use crate::log::{Bundle, RosterChange, turn_hash};
use std::collections::VecDeque;

/// Log hashes that peers tell of: no peer has completed so many turns more than another one, or than turns are complete
/// when logs are found to differ.
pub const RECENT: usize = 20;

pub(crate) struct LogWindow {
    /// Turns complete; the number of the next one to complete.
    complete: u32,
    /// The hashes after the last turns, oldest first.
    hashes: VecDeque<LogHash>,
    kept: usize,
    /// Takes the place of the newest hash for the first turn of an epoch: a decision is chained in.
    chained: Option<LogHash>,
    /// What was taken back, oldest first.
    retractions: Vec<Retraction>,
}

struct Retraction {
    /// The first epoch of the turns that took the place of others.
    epoch: u32,
    cut: u32,
}

impl LogWindow {
    /// The window of a log of `complete` turns that ends with these hashes. It keeps the hashes of the last `turns`
    /// turns and some more: what a world still has to execute is among them.
    pub(crate) fn new(complete: u32, last: &[LogHash], turns: u32) -> Self {
        let kept = LogWindow::kept(turns) as usize;
        let last = &last[last.len().saturating_sub(kept)..];
        LogWindow {
            complete,
            hashes: last.iter().copied().collect(),
            kept,
            chained: None,
            retractions: Vec::new(),
        }
    }

    /// How many hashes a window keeps behind which a world may lie so many turns.
    pub(crate) fn kept(turns: u32) -> u32 {
        turns.saturating_add(64)
    }

    pub(crate) fn complete(&self) -> u32 {
        self.complete
    }

    pub(crate) fn newest(&self) -> LogHash {
        *self.hashes.back().expect("there is always the newest hash")
    }

    /// What the hash of the next turn follows on.
    pub(crate) fn tip(&self) -> LogHash {
        self.chained.unwrap_or(self.newest())
    }

    /// What stands in the place of the newest hash, if anything does.
    pub(crate) fn chained(&self) -> Option<LogHash> {
        self.chained
    }

    /// The newest hashes, the newest first.
    pub(crate) fn recent(&self, count: usize) -> Vec<LogHash> {
        self.hashes.iter().rev().take(count).copied().collect()
    }

    /// The hash after `turns` turns, if it is kept.
    pub(crate) fn after(&self, turns: u32) -> Option<LogHash> {
        let back = usize::try_from(self.complete.checked_sub(turns)?).ok()?;
        let at = self.hashes.len().checked_sub(back + 1)?;
        self.hashes.get(at).copied()
    }

    /// The next turn is complete.
    pub(crate) fn push(&mut self, bundle: &Bundle) {
        let hash = turn_hash(self.tip(), bundle);
        self.chained = None;
        self.complete += 1;
        self.hashes.push_back(hash);
        if self.hashes.len() > self.kept {
            self.hashes.pop_front();
        }
    }

    /// A decision is chained in before the next turn.
    pub(crate) fn chain(&mut self, hash: LogHash) {
        self.chained = Some(hash);
    }

    /// Takes back the turns from `cut` on, before which this was chained in.
    pub(crate) fn truncate(&mut self, cut: u32, chained: Option<LogHash>) {
        while self.complete > cut && self.hashes.len() > 1 {
            self.complete -= 1;
            self.hashes.pop_back();
        }
        self.chained = chained;
    }

    /// Remembers what a change has taken back, if anything.
    pub(crate) fn note_retraction(&mut self, change: &RosterChange) {
        if !change.value.cheats.is_empty() {
            self.retractions.push(Retraction {
                epoch: change.epoch + 1,
                cut: change.value.cut,
            });
        }
    }

    /// Turns up to which what a batch of this epoch says of its sender's world and log is about the log that counts.
    pub(crate) fn counts_up_to(&self, epoch: u32) -> u32 {
        let later = self.retractions.iter().filter(|taken| taken.epoch > epoch);
        later.map(|taken| taken.cut).min().unwrap_or(u32::MAX)
    }

    /// Of up to `turns` turns, those that a batch of each epoch can say something about: later ones are taken back.
    pub(crate) fn at_most(&self, turns: u32) -> impl Fn(u32) -> u32 {
        move |epoch| turns.min(self.counts_up_to(epoch))
    }

    /// Whether a peer may have had so many turns of which the last were taken back.
    pub(crate) fn took_back_before(&self, turns: u32) -> bool {
        let since = self.retractions.iter();
        let mut since = since.filter_map(|taken| turns.checked_sub(taken.cut));
        since.any(|turns| (1..=RECENT as u32).contains(&turns))
    }

    /// Turns with which a peer begins at most that reports in this epoch and reported in one before.
    pub(crate) fn reported_up_to(&self, before: u32, epoch: u32) -> u32 {
        let between = self.retractions.iter();
        let between = between.filter(|taken| (before + 1..=epoch).contains(&taken.epoch));
        let firsts = between.map(|taken| taken.cut + 1);
        firsts.min().unwrap_or(u32::MAX)
    }
}
