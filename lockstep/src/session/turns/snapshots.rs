//! Snapshots that a quorum has signed: what a joiner may trust.
//!
//! About every ten seconds of match, 5 to 20 where plans are adaptive, each peer saves its world and reports the
//! snapshot's hash in its next batch. Once a quorum has reported the hash of the own one, that is the snapshot that others
//! are given.

use crate::Limits;
use crate::log::{Keyframe, Peers, SignedBatch, SnapshotHash, Terms, Voters};
use crate::session::ledger::{Held, LogWindow};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Match time between two snapshots, about.
const EVERY: Duration = Duration::from_secs(10);
/// Own snapshots that wait for others' reports, and turns of which reports are kept.
const KEPT: usize = 2;

pub(super) struct Snapshots {
    /// Turns between two; `None` where there are no others.
    every: Option<u32>,
    own: VecDeque<(Arc<Keyframe>, SnapshotHash)>,
    unreported: Option<(u32, SnapshotHash)>,
    /// By turns, what each peer reported.
    reports: BTreeMap<u32, BTreeMap<u8, (SnapshotHash, SignedBatch)>>,
    signed: Option<SignedSnapshot>,
}

/// A snapshot with the batches of a quorum that report it.
#[derive(Clone)]
pub(crate) struct SignedSnapshot {
    pub keyframe: Arc<Keyframe>,
    pub hash: SnapshotHash,
    pub batches: Vec<SignedBatch>,
}

impl Snapshots {
    pub(super) fn new(terms: &Terms, peers: usize) -> Self {
        Snapshots {
            every: (peers > 1).then(|| terms.turns_in(EVERY)),
            own: VecDeque::new(),
            unreported: None,
            reports: BTreeMap::new(),
            signed: None,
        }
    }

    /// Whether each peer saves its world after so many turns.
    pub(super) fn are_due(&self, turns: u32) -> bool {
        self.every.is_some_and(|every| turns.is_multiple_of(every))
    }

    /// Takes the own snapshot; no peer would load one above its limit.
    pub(super) fn keep(&mut self, keyframe: &Keyframe, limits: &Limits) {
        if keyframe.snapshot.len() as u64 > limits.snapshot_bytes {
            return;
        }
        let hash = SnapshotHash::of(keyframe);
        self.own.push_back((Arc::new(keyframe.clone()), hash));
        if self.own.len() > KEPT {
            self.own.pop_front();
        }
        self.unreported = Some((keyframe.turns, hash));
    }

    /// What the next batch is to report.
    pub(super) fn take_unreported(&mut self) -> Option<(u32, SnapshotHash)> {
        self.unreported.take()
    }

    /// Takes note of the snapshot that a peer's batch reports, if it does.
    pub(super) fn note(&mut self, held: &Held, window: &LogWindow, voters: Voters) {
        // No correct peer has saved a world of turns that it has not completed.
        let most = window.counts_up_to(held.batch.epoch);
        let most = held.batch.complete.min(most);
        if let Some(report) = held.batch.snapshot.filter(|(turns, _)| *turns <= most) {
            self.report(report, held.signed.clone());
            self.look(voters);
        }
    }

    fn report(&mut self, (turns, hash): (u32, SnapshotHash), batch: SignedBatch) {
        if !self.are_due(turns) {
            return;
        }
        let reports = self.reports.entry(turns).or_default();
        reports.entry(batch.peer).or_insert((hash, batch));
        while self.reports.len() > KEPT {
            self.reports.pop_first();
        }
    }

    /// Looks whether a newer snapshot is signed by a quorum.
    fn look(&mut self, voters: Voters) {
        let known = self
            .signed
            .as_ref()
            .map_or(0, |signed| signed.keyframe.turns);
        for (keyframe, hash) in self.own.iter().filter(|(own, _)| own.turns > known) {
            let Some(reports) = self.reports.get(&keyframe.turns) else {
                continue;
            };
            let alike = || reports.iter().filter(|(_, (told, _))| told == hash);
            if voters.is_quorum(alike().map(|(peer, _)| *peer).collect()) {
                self.signed = Some(SignedSnapshot {
                    keyframe: keyframe.clone(),
                    hash: *hash,
                    batches: alike().map(|(_, (_, batch))| batch.clone()).collect(),
                });
            }
        }
    }

    /// Forgets what is of more than so many turns, which are taken back.
    pub(super) fn retract(&mut self, turns: u32) {
        self.own.retain(|(own, _)| own.turns <= turns);
        self.unreported.take_if(|(of, _)| *of > turns);
        self.reports.split_off(&(turns + 1));
        self.signed.take_if(|signed| signed.keyframe.turns > turns);
    }

    /// An epoch ends that these voters decided. What a cheat has signed that the change proves does not count with a
    /// joiner: the other signatures must be those of a quorum of either roster.
    pub(super) fn end_epoch(&mut self, cheats: Peers, rosters: [Peers; 2]) {
        if cheats.is_empty() {
            return;
        }
        for reports in self.reports.values_mut() {
            reports.retain(|peer, _| !cheats.contains(*peer));
        }
        if let Some(signed) = &mut self.signed {
            signed.batches.retain(|of| !cheats.contains(of.peer));
            let by: Peers = signed.batches.iter().map(|of| of.peer).collect();
            let counts = |roster: &Peers| Voters::new(*roster).is_quorum(by);
            self.signed.take_if(|_| !rosters.iter().any(counts));
        }
        // Others may have reported it since.
        for roster in rosters {
            self.look(Voters::new(roster));
        }
    }

    /// The newest that a quorum has signed.
    pub(super) fn signed(&self) -> Option<&SignedSnapshot> {
        self.signed.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Batch;
    use crate::session::ledger::fixture::{batch, held};
    use crate::{LogHash, Plan};

    fn keyframe(turns: u32) -> Keyframe {
        Keyframe {
            turns,
            ticks: 0,
            plan: Plan::default(),
            paused: false,
            log_hash: LogHash([0; 16]),
            snapshot: Arc::from([1; 8]),
        }
    }

    #[test]
    fn a_snapshot_counts_once_a_quorum_reports_its_hash() {
        let mut snapshots = Snapshots::new(&Terms::default(), 3);
        let window = LogWindow::new(0, &[LogHash([0; 16])], 8);
        let voters = Voters::new(Peers::first(3));
        let every = snapshots.every.expect("there are others");
        snapshots.keep(&keyframe(every), &Limits::default());
        let (turns, hash) = snapshots
            .take_unreported()
            .expect("the next batch reports it");
        assert_eq!((turns, snapshots.take_unreported()), (every, None));
        let report = |hash: SnapshotHash, complete: u32| Batch {
            snapshot: Some((every, hash)),
            complete,
            ..batch(every + 2)
        };
        snapshots.note(&held(0, report(hash, every)), &window, voters);
        let other = SnapshotHash([9; 16]);
        snapshots.note(&held(1, report(other, every)), &window, voters);
        assert!(snapshots.signed().is_none(), "two that differ");
        snapshots.note(&held(2, report(hash, every - 1)), &window, voters);
        assert!(
            snapshots.signed().is_none(),
            "of turns that are not complete"
        );
        snapshots.note(&held(2, report(hash, every)), &window, voters);
        let signed = snapshots.signed().expect("a quorum");
        assert_eq!((signed.hash, signed.batches.len()), (hash, 2));
        snapshots.retract(every - 1);
        assert!(snapshots.signed().is_none());
    }

    #[test]
    fn a_snapshot_that_a_cheat_signed_counts_with_a_quorum_of_others_alone() {
        let every = Snapshots::new(&Terms::default(), 5).every.expect("others");
        let cheat = Peers::from_iter([3]);
        let rosters = [Peers::first(5), Peers::first(5).without(cheat)];
        for (signers, counts) in [
            (&[0, 1, 3][..], true),
            (&[1, 2, 3], false),
            (&[1, 2, 4], true),
            (&[1, 2, 3, 4], true),
        ] {
            let mut snapshots = Snapshots::new(&Terms::default(), 5);
            let window = LogWindow::new(0, &[LogHash([0; 16])], 8);
            snapshots.keep(&keyframe(every), &Limits::default());
            let (_, hash) = snapshots
                .take_unreported()
                .expect("the next batch reports it");
            let report = Batch {
                snapshot: Some((every, hash)),
                complete: every,
                ..batch(every + 2)
            };
            for signer in signers {
                let of = held(*signer, report.clone());
                snapshots.note(&of, &window, Voters::new(rosters[0]));
            }
            assert_eq!(snapshots.signed().map(|of| of.batches.len()), Some(3));
            snapshots.end_epoch(cheat, rosters);
            assert_eq!(snapshots.signed().is_some(), counts, "{signers:?}");
        }
    }
}
