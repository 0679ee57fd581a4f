//! Sealing: one batch for every turn of this peer's tenure, in order.

use super::{Gate, Turns};
use crate::log::Batch;
use crate::session::ledger::{Held, Ledger};
use crate::sign::Signer;
use crate::{Incarnation, Limits, TurnNumber};
use sim::Checksum;
use std::collections::VecDeque;

/// Checksums that one batch reports at most.
const CHECKSUMS_PER_BATCH: usize = 32;
/// Batches that report the last checksums once turns have stopped: as far as the others take batches in advance.
const LAST_BATCHES: u32 = 8;

/// What a batch is sealed with.
#[derive(Clone, Copy)]
pub(crate) struct Seal<'a> {
    pub signer: &'a dyn Signer,
    pub run: Incarnation,
    pub limits: &'a Limits,
}

/// What sealing came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sealed {
    pub batches: u32,
    /// The turn of the batch that says that this peer leaves.
    pub leaving: Option<u32>,
}

/// Checksums of this peer's world that no batch has reported yet.
pub(super) struct OwnReports {
    unreported: VecDeque<Checksum>,
    /// Turns after which the first of them is.
    next: u32,
}

impl OwnReports {
    /// Reports of worlds of at least `from` turns; the world has `executed` so many.
    pub(super) fn new(from: u32, executed: u32, checksum: Checksum) -> Self {
        OwnReports {
            unreported: (executed >= from).then_some(checksum).into_iter().collect(),
            next: from,
        }
    }

    /// The world has executed the next turn. False where that was reported already, before this peer went back.
    pub(super) fn push(&mut self, executed: u32, checksum: Checksum) -> bool {
        let new = executed == self.next + self.unreported.len() as u32;
        if new {
            self.unreported.push_back(checksum);
        }
        new
    }

    /// Turns from `cut` on are taken back.
    pub(super) fn retract(&mut self, cut: u32) {
        self.next = self.next.min(cut + 1);
        self.unreported.truncate((cut + 1 - self.next) as usize);
    }

    fn is_empty(&self) -> bool {
        self.unreported.is_empty()
    }

    /// What the next batch reports, and after how many turns the first of it is.
    fn take(&mut self) -> (u32, Vec<Checksum>) {
        let count = self.unreported.len().min(CHECKSUMS_PER_BATCH);
        let first = self.next;
        self.next += count as u32;
        (first, self.unreported.drain(..count).collect())
    }
}

impl Turns {
    /// Seals every turn up to the one that a turn which is over calls for.
    pub(crate) fn seal_due(&mut self, gate: &Gate, ledger: &mut Ledger, with: Seal<'_>) -> Sealed {
        let until = ledger.window.complete() + u32::from(self.fold.plan.delay_turns);
        let until = until.min(self.limit(ledger));
        let mut sealed = Sealed::default();
        let held_up = gate.is_frozen || gate.is_fenced || gate.said_leaving;
        while self.sealed < until && !held_up && sealed.leaving.is_none() {
            self.seal(gate, ledger, with, &mut sealed);
        }
        sealed
    }

    /// Seals the batch that says that this peer leaves.
    pub(crate) fn seal_leaving(
        &mut self,
        gate: &Gate,
        ledger: &mut Ledger,
        with: Seal<'_>,
    ) -> Sealed {
        let mut sealed = Sealed::default();
        let held_up = gate.has_ended || gate.is_frozen || gate.is_fenced;
        let unsaid = gate.says_leaving && !gate.said_leaving;
        if unsaid && !held_up && self.sealed < self.limit(ledger) {
            self.seal(gate, ledger, with, &mut sealed);
        }
        sealed
    }

    /// Seals what reports the last worlds, where turns go no further: the others must see the difference, too.
    pub(crate) fn seal_last_reports(
        &mut self,
        gate: &Gate,
        ledger: &mut Ledger,
        with: Seal<'_>,
    ) -> Sealed {
        let mut sealed = Sealed::default();
        for batch in 0..LAST_BATCHES {
            if self.reports.is_empty() && batch > 0 {
                break;
            }
            self.seal(gate, ledger, with, &mut sealed);
        }
        sealed
    }

    fn seal(&mut self, gate: &Gate, ledger: &mut Ledger, with: Seal<'_>, sealed: &mut Sealed) {
        let gone = |at| ledger.batches.is_gone(at);
        let way_ms = self.clock.report(gate.now, self.budget_ms(), gone);
        let (executed, checksums) = self.reports.take();
        let mut batch = Batch {
            turn: TurnNumber(self.sealed),
            entries: Vec::new(),
            first_numbers: Vec::new(),
            executed,
            checksums,
            complete: ledger.window.complete(),
            log_hash: ledger.window.newest(),
            load: match way_ms.is_empty() {
                true => 0,
                false => self.delivery.load.report(),
            },
            way_ms,
            leaving: gate.says_leaving,
            epoch: gate.epoch,
            snapshot: self.delivery.snapshots.take_unreported(),
        };
        let paused = self.fold.paused_by.is_some();
        self.own.fill(&mut batch, paused, with.limits);
        let (turn, me) = (self.sealed, ledger.places.me());
        if batch.leaving {
            sealed.leaving = Some(turn);
        }
        let match_id = ledger.places.start().match_id;
        let signed = batch.seal(me as u8, match_id, with.run, with.signer);
        assert!(
            signed.content.len() + 64 <= with.limits.batch_bytes as usize,
            "a batch fits its limit"
        );
        let held = Held {
            signed,
            batch,
            arrived: gate.now,
        };
        ledger.batches.seal(me, turn, held);
        self.sealed += 1;
        sealed.batches += 1;
        self.note_snapshot(me, turn, ledger, gate.voters);
    }
}
