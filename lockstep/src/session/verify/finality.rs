//! Final turns, which no fault takes back, and what attests them.

use super::{Finding, Verify};
use crate::limits::LONGEST_DELAY;
use crate::log::{Record, Voters};
use crate::session::ledger::{Held, Ledger};

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

    /// Logs each peer's newest signed batch: it attests the log up to what was complete when it was sealed. A batch that attests
    /// more than the `logged` turns might be of a peer that is removed before that, or of turns that are taken back. A peer
    /// that lies may attest another log in one batch, and this one in the next.
    pub(crate) fn attests(&self, logged: u32, ledger: &Ledger) -> Vec<Finding> {
        let (batches, window) = (&ledger.batches, &ledger.window);
        // What a peer signs that signs two histories, or has another world, says nothing.
        let says = |at: &usize| !self.convicts(*at) && !self.minority.contains(*at);
        let newest = ledger.places.all().filter(says).filter_map(|at| {
            let known = match at == ledger.places.me() {
                true => logged,
                false => logged.min(self.alike(at)),
            };
            batches.newest_within(at, window.at_most(known))
        });
        let alike = |held: &&Held| {
            let own = window.after(held.batch.complete);
            own.is_none_or(|own| own == held.batch.log_hash)
        };
        let attests = newest
            .filter(alike)
            .map(|held| Finding::Log(held.batch.complete, Record::Attest(held.signed.clone())));
        attests.collect()
    }
}
