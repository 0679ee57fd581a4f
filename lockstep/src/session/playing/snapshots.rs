//! Snapshots that a quorum has signed: what a peer that comes back may trust.
//!
//! Every ten seconds of match each peer saves its world and reports the snapshot's hash in its next batch. Once a quorum
//! has reported the hash of the own one, that is the snapshot that others are given.

use super::Playing;
use crate::log::{Keyframe, SignedBatch};
use crate::session::SnapshotHash;
use crate::session::membership::paxos::Voters;
use crate::{Limits, LogHash, Plan};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Match time between two snapshots.
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
    pub(super) fn new(plan: Plan, peers: usize) -> Self {
        let every = (EVERY.as_millis() / plan.turn().as_millis()).max(1) as u32;
        Snapshots {
            every: (peers > 1).then_some(every),
            own: VecDeque::new(),
            unreported: None,
            reports: BTreeMap::new(),
            signed: None,
        }
    }

    /// Whether everybody saves its world after so many turns.
    pub(super) fn are_due(&self, turns: u32) -> bool {
        self.every.is_some_and(|every| turns.is_multiple_of(every))
    }

    /// Takes the own snapshot; one above its limit nobody would load.
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

    fn report(&mut self, peer: u8, (turns, hash): (u32, SnapshotHash), batch: SignedBatch) {
        if !self.are_due(turns) {
            return;
        }
        let reports = self.reports.entry(turns).or_default();
        reports.entry(peer).or_insert((hash, batch));
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
    pub(super) fn undo(&mut self, turns: u32) {
        self.own.retain(|(own, _)| own.turns <= turns);
        self.unreported.take_if(|(of, _)| *of > turns);
        self.reports.split_off(&(turns + 1));
        self.signed.take_if(|signed| signed.keyframe.turns > turns);
    }

    /// The newest that a quorum has signed.
    pub(super) fn signed(&self) -> Option<&SignedSnapshot> {
        self.signed.as_ref()
    }
}

impl Playing {
    /// Whether the log wants a snapshot of the world after so many turns.
    pub(super) fn logs_keyframe(&self, turns: u32) -> bool {
        self.keyframe_every
            .is_some_and(|every| turns.is_multiple_of(every))
    }

    /// What a keyframe says beside the world, after the turns that are handed out.
    pub(super) fn keyframe(&self, log_hash: LogHash) -> Keyframe {
        let of_course = self
            .course
            .keyframe(self.handed_out, self.ticks_handed_out, log_hash);
        match self.due_bundles.front() {
            Some(next) => Keyframe {
                plan: next.plan,
                paused: next.paused,
                ..of_course
            },
            None => of_course,
        }
    }

    /// Takes note of the snapshot that a peer's batch reports, if it does.
    pub(super) fn note_snapshot(&mut self, at: usize, turn: u32) {
        let Some(held) = self.ledger.batches.get(at, turn) else {
            return;
        };
        // No correct peer has saved a world of turns that it has not completed.
        let (report, complete) = (held.batch.snapshot, held.batch.complete);
        let most = complete.min(self.ledger.window.counts_up_to(held.batch.epoch));
        if let Some(report) = report.filter(|(turns, _)| *turns <= most) {
            let signed = held.signed.clone();
            self.snapshots.report(at as u8, report, signed);
            self.snapshots.look(self.epochs.voters());
        }
    }
}
