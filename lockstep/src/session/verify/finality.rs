//! Final turns: no fault takes them back.

use super::Verify;
use crate::limits::LONGEST_DELAY;
use crate::log::Voters;
use crate::session::ledger::Ledger;

impl Verify {
    /// Turns that are final in an epoch of these voters, which began with so many: every voter whose batches are still
    /// required has reported this log's hash after them.
    ///
    /// A turn needs the batches of all, and a batch the turn before it by the command delay. So no correct peer is
    /// further behind than the longest delay, and none that is holds up what is final.
    pub(crate) fn final_turns(&self, (voters, began): (Voters, u32), ledger: &Ledger) -> u32 {
        let complete = ledger.window.complete();
        let counts = |at: &usize| {
            let required = *at != ledger.places.me() && !ledger.batches.is_gone(*at);
            required && !self.reports[*at].are_broken()
        };
        let others = voters.members().iter().map(usize::from).filter(counts);
        let alike = others.map(|at| self.reports[at].alike()).min();
        let least = complete.saturating_sub(LONGEST_DELAY).max(began);
        alike.unwrap_or(complete).max(least).min(complete)
    }
}
