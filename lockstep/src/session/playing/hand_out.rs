//! Handing out: turns go to the log and then to the world, and wait where a snapshot comes between that the log wants,
//! or the first one.

use super::Playing;
use crate::log::{Keyframe, Record};
use crate::session::Output;
use crate::session::core::Core;
use std::sync::Arc;

impl Playing {
    /// Logs and hands out what is due, up to the next snapshot.
    pub(super) fn hand_out(&mut self, core: &mut Core) {
        while self.snapshot_due.is_none() && !self.past.lacks_first() && !self.presence.is_unsure()
        {
            let Some(bundle) = self.due_bundles.pop_front() else {
                return;
            };
            self.load.handed_out(bundle.ticks());
            self.log_changes(core, bundle.turn.0);
            self.ticks_handed_out += u64::from(bundle.ticks());
            core.out
                .push(Output::Append(Record::Bundle(bundle.clone())));
            self.past.handed_out(&bundle);
            core.out.push(Output::Execute(bundle));
            self.handed_out += 1;
            let turns = self.handed_out;
            let to_go_back = self.past.wants_world(turns, self.ticks_handed_out);
            let wanted = self.logs_keyframe(turns) || self.snapshots.are_due(turns);
            if wanted && let Some(log_hash) = self.ledger.window.after(turns) {
                self.snapshot_due = Some(self.keyframe(log_hash));
            }
            if to_go_back || self.snapshot_due.is_some() {
                core.out.push(Output::Save { turns });
            }
        }
    }

    /// Logs the decided changes that come next behind so many turns.
    pub(super) fn log_changes(&mut self, core: &mut Core, turns: u32) {
        let changes = &mut self.epochs.unlogged;
        while let Some(change) = changes.pop_front_if(|change| change.value.cut == turns) {
            core.out.push(Output::Append(Record::Roster(change)));
        }
    }

    pub(crate) fn snapshot(&mut self, core: &mut Core, turns: u32, bytes: Arc<[u8]>) {
        if self.past.is_loading() {
            return;
        }
        self.past.keep_world(turns, &bytes);
        let due = self
            .snapshot_due
            .take_if(|keyframe| keyframe.turns == turns);
        // The world stopped at the end, which lies before such a keyframe.
        if self.ending.turns().is_some_and(|end| turns > end) {
            return;
        }
        if let Some(keyframe) = due {
            self.keep_keyframe(core, keyframe, bytes);
        }
        if !self.ending.holds_turns() {
            self.hand_out(core);
        }
    }

    fn keep_keyframe(&mut self, core: &mut Core, mut keyframe: Keyframe, snapshot: Arc<[u8]>) {
        let turns = keyframe.turns;
        keyframe.snapshot = snapshot;
        if self.snapshots.are_due(turns) {
            self.snapshots.keep(&keyframe, &core.limits);
        }
        if self.logs_keyframe(turns) {
            core.out.push(Output::Append(Record::Keyframe(keyframe)));
            self.append_attests(core);
        }
    }

    /// Each peer's newest signed batch: it attests the log up to what was complete when it was sealed. One that attests
    /// more than this log has might be of a peer that is removed before that.
    pub(super) fn append_attests(&self, core: &mut Core) {
        // What a peer signs that signs two histories, or has another world, says nothing.
        let says = |at: &usize| {
            let odd = self.verify.minority().contains(*at as u8);
            !self.verify.convicts(*at) && !odd
        };
        let newest = self.ledger.places.all().filter(says).filter_map(|at| {
            let known = match at == self.ledger.places.me() {
                true => self.ledger.window.complete(),
                false => self.ledger.window.complete().min(self.verify.alike(at)),
            };
            let most = self.ledger.window.at_most(known);
            self.ledger.batches.newest_within(at, most)
        });
        for newest in newest {
            core.out
                .push(Output::Append(Record::Attest(newest.signed.clone())));
        }
    }
}
