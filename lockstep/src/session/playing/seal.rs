//! Sealing: one batch for every turn of this peer's tenure, in order.

use super::Playing;
use super::own;
use crate::TurnNumber;
use crate::session::core::Core;
use crate::session::ledger::Held;
use crate::session::{Batch, NO_SLACK};
use std::time::Duration;

/// How often slack is reported, in batches' time.
const SLACK_EVERY: Duration = Duration::from_secs(1);
/// Checksums that one batch reports at most.
const CHECKSUMS_PER_BATCH: usize = 32;

impl Playing {
    /// Seals every turn up to the one that a turn which is over calls for.
    pub(super) fn seal_what_is_due(&mut self, core: &mut Core) {
        let until = self.ledger.window.complete() + u32::from(self.course.plan.delay_turns);
        let limit = self.ledger.places.start().turn_limit.unwrap_or(u32::MAX);
        while self.sealed < until.min(limit)
            && !self.epochs.is_frozen()
            && !self.presence.is_unsure()
            && self
                .leaving
                .as_ref()
                .is_none_or(|leaving| leaving.sealed_for.is_none())
        {
            self.seal(core);
        }
    }

    pub(super) fn seal(&mut self, core: &mut Core) {
        let slack_ms = self.slack_report(core.now);
        let leaving = self.leaving.is_some() && self.may_say_leaving();
        let count = self.unreported.len().min(CHECKSUMS_PER_BATCH);
        let mut batch = Batch {
            turn: TurnNumber(self.sealed),
            entries: Vec::new(),
            first_numbers: Vec::new(),
            executed: self.reported,
            checksums: self.unreported.drain(..count).collect(),
            complete: self.ledger.window.complete(),
            log_hash: self.ledger.window.newest(),
            load: match slack_ms.is_empty() {
                true => 0,
                false => self.load.report(),
            },
            slack_ms,
            leaving,
            epoch: self.epochs.epoch(),
            snapshot: self.snapshots.take_unreported(),
        };
        self.reported += count as u32;
        own::fill(
            &mut self.own,
            &mut batch,
            self.course.paused_by.is_some(),
            &core.limits,
        );
        if let Some(last) = self.leaving.as_mut().filter(|_| leaving) {
            last.sealed_for = Some(self.sealed);
        }
        let signed = batch.seal(
            self.ledger.places.me() as u8,
            self.ledger.places.start().match_id,
            core.incarnation,
            core.signer.as_ref(),
        );
        assert!(
            signed.content.len() + 64 <= core.limits.batch_bytes as usize,
            "a batch fits its limit"
        );
        let arrived = core.now;
        let held = Held {
            signed,
            batch,
            arrived,
        };
        let turn = self.sealed;
        self.ledger
            .batches
            .seal(self.ledger.places.me(), turn, held);
        self.sealed += 1;
        self.note_snapshot(self.ledger.places.me(), turn);
        self.fresh_batch = true;
    }

    fn slack_report(&mut self, now: Duration) -> Vec<i16> {
        let late = self
            .members
            .iter()
            .any(|member| member.slack_ms.is_some_and(|slack| slack < 0));
        if self.ledger.places.len() == 1 || !late && now < self.slack_reported_at + SLACK_EVERY {
            return Vec::new();
        }
        self.slack_reported_at = now;
        let report = self.members.iter_mut().map(|member| {
            member.slack_here_ms = member.slack_ms.take();
            member.slack_here_ms.unwrap_or(NO_SLACK)
        });
        report.collect()
    }
}
