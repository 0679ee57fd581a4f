//! What the world has executed.

use super::Playing;
use crate::EndReason;
use crate::log::Peers;
use crate::session::core::Core;
use sim::{Checksum, Outcome};
use std::time::Duration;

impl Playing {
    pub(crate) fn world_executed(
        &mut self,
        core: &mut Core,
        checksum: Checksum,
        outcome: Option<Outcome>,
        step: Duration,
    ) {
        if self.past.is_loading() {
            return;
        }
        assert!(
            self.executed < self.handed_out,
            "a turn was handed out before it was executed"
        );
        self.executed += 1;
        self.load.executed(core.now, step);
        self.last_checksum = checksum;
        if self.ending.holds_turns() {
            return;
        }
        // Worlds that are reported already are not again: those before a peer came back, or went back.
        if self.executed == self.reported + self.unreported.len() as u32 {
            self.unreported.push_back(checksum);
            self.report(core, self.ledger.places.me(), self.executed, checksum);
        }
        let limit = self.ledger.places.start().turn_limit == Some(self.executed);
        if outcome.is_some() || limit {
            let reason = if outcome.is_some() {
                EndReason::Decided
            } else {
                EndReason::TurnLimit
            };
            self.begin_ending(core, reason, outcome);
        }
    }

    pub(super) fn report(&mut self, core: &mut Core, at: usize, turns: u32, checksum: Checksum) {
        let around = self.around(core.now);
        let told = (at, turns, checksum);
        let findings = self.verify.report(told, &self.ledger, &around);
        self.act_on(core, findings);
    }

    pub(super) fn check_mismatch(&mut self, core: &mut Core) {
        let around = self.around(core.now);
        let findings = self.verify.check_mismatch(&self.ledger, &around);
        self.act_on(core, findings);
    }

    pub(super) fn advance_dispute(&mut self, core: &mut Core) {
        let around = self.around(core.now);
        let findings = self.verify.advance_dispute(&self.ledger, &around);
        self.act_on(core, findings);
    }

    /// The convicted cheats among the voters.
    pub(super) fn cheating_voters(&self) -> Peers {
        self.verify.cheats().and(self.epochs.voters().members())
    }

    /// The voters that are to go for what they reported.
    pub(super) fn odd_voters(&self) -> Peers {
        self.verify.minority().and(self.epochs.voters().members())
    }
}
