//! Logs that differ, with no proof why: they are shown, and judged by a quorum.

use super::dispute::{Dispute, Stage};
use super::finding::{Finding, Judgement, desync_sides, show_from};
use super::minority::Verdict;
use super::{Surroundings, Verify};
use crate::LogHash;
use crate::log::Peers;
use crate::session::ledger::Ledger;
use std::time::Duration;

impl Verify {
    /// The batches of the dispute are shown now, to the other peer as well where it is among those in reach.
    pub(crate) fn show_dispute(
        &mut self,
        in_reach: Peers,
        ledger: &Ledger,
        now: Duration,
    ) -> Option<Finding> {
        let (other, from) = self.disputes.open().map(|open| (open.other, open.from))?;
        self.disputes.show(in_reach.contains(other as u8), now);
        Some(show_from(from, ledger))
    }

    /// Shows the batches of a dispute again, or gives up: then it is a desync like any other.
    pub(crate) fn advance_dispute(
        &mut self,
        ledger: &Ledger,
        around: &Surroundings,
    ) -> Vec<Finding> {
        let Some(dispute) = self.disputes.open().filter(|_| !around.desynced) else {
            return Vec::new();
        };
        let turn = dispute.turns.saturating_sub(1);
        let convicted = self.convicted(around.voters);
        let stage = self.disputes.stage(convicted, around.extension, around.now);
        let mut findings = Vec::new();
        if stage != Stage::Open {
            let sides = self.sides_of_logs(dispute, ledger);
            let judgement = match stage {
                Stage::Over => Judgement::Undecided,
                _ => self.judge(ledger, around, &sides),
            };
            match judgement {
                Judgement::Open => {}
                Judgement::Settled(settled) => findings = settled,
                Judgement::Undecided => {
                    let sides = desync_sides(&sides, around.checksum, &ledger.places);
                    return vec![Finding::Desync(turn, sides)];
                }
            }
            self.disputes.note_unproved();
        }
        if self.disputes.is_show_due(around.now) {
            findings.push(Finding::ShowDispute);
        }
        findings
    }

    /// What peers attest of the log after so many turns is different, and no peer is convicted: whether the others can go
    /// on without those that attest another log than this peer and a quorum.
    fn judge(
        &mut self,
        ledger: &Ledger,
        around: &Surroundings,
        sides: &[(u8, LogHash)],
    ) -> Judgement {
        let voters = around.voters.members();
        let Some(dispute) = self.disputes.open() else {
            return Judgement::Settled(Vec::new());
        };
        let (turns, other) = (dispute.turns, dispute.other);
        let own = ledger.window.after(turns);
        let differs = own.is_some_and(|own| own != dispute.hash);
        if !(voters.contains(other as u8) && differs) {
            self.disputes.settle();
            return Judgement::Settled(Vec::new());
        }
        if !self.disputes.was_in_reach(around.now) {
            return Judgement::Open;
        }
        if !self.excludes() {
            return Judgement::Undecided;
        }
        let known: Peers = sides.iter().map(|(peer, _)| *peer).collect();
        match Verdict::of(sides, voters.without(known), around.voters) {
            Verdict::Minority(minority) if !minority.contains(ledger.places.me() as u8) => {
                // Nothing is left to find out, and turns must go on: a change that is decided may need some of them.
                self.disputes.settle();
                let told = desync_sides(sides, around.checksum, &ledger.places);
                Judgement::Settled(self.exclude(minority, (turns, told), ledger, around.now))
            }
            Verdict::Open => Judgement::Open,
            Verdict::Minority(_) | Verdict::NoMinority => Judgement::Undecided,
        }
    }

    /// What the peers say of the log after so many turns, as far as it is known. What a cheat says of it means nothing.
    pub(super) fn sides_of_logs(&self, dispute: &Dispute, ledger: &Ledger) -> Vec<(u8, LogHash)> {
        let own = ledger.window.after(dispute.turns);
        let told = |at: usize| match at {
            _ if self.convicts(at) => None,
            _ if at == dispute.other => Some(dispute.hash),
            _ if at == ledger.places.me() => own,
            _ if self.reports[at].alike() >= dispute.turns => own,
            _ => None,
        };
        let sides = ledger.places.all();
        let sides = sides.filter_map(|at| Some((at as u8, told(at)?)));
        sides.collect()
    }
}
