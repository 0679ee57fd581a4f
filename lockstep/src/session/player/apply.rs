//! What follows from what components return.

use super::{Player, seal};
use crate::log::{Document, End, Equivocation, Record};
use crate::session::Output;
use crate::session::core::Core;
use crate::session::facts::Fact;
use crate::session::ledger::Ledger;
use crate::session::verify::{Finding, Weighed, minority_of, side};
use crate::session::wire::{Control, WireBatch};
use crate::{Desync, DesyncSide, EndReason, Ended, Event, LinkId, TurnNumber};
use sim::{Checksum, Outcome};

/// Batches in one message, at most.
pub(super) const BATCHES: usize = 24;

impl Player {
    /// Does what follows from verification.
    pub(super) fn act_on(&mut self, core: &mut Core, findings: impl IntoIterator<Item = Finding>) {
        for finding in findings {
            match finding {
                Finding::Log(turns, record) => {
                    core.out.extend(self.turns.record(turns, record));
                }
                Finding::Show(batches) => self.show(core, &batches),
                Finding::ShowDispute => {
                    let in_reach = self.in_reach(core);
                    let shown = self.verify.show_dispute(in_reach, &self.ledger, core.now);
                    self.act_on(core, shown);
                }
                Finding::Fault(at, fault) => {
                    let peer = self.ledger.places.key(at);
                    core.event(Event::PeerFault { peer, fault });
                }
                Finding::Excluded(desync) => {
                    let turns = self.turns.handed_out();
                    core.out.push(Output::Save { turns });
                    core.event(Event::Desync(desync));
                }
                Finding::Desync(turn, reports) => self.desync(core, turn, reports),
            }
        }
    }

    pub(super) fn report(&mut self, core: &mut Core, at: usize, turns: u32, checksum: Checksum) {
        let around = self.around_verify(core.now);
        let told = (at, turns, checksum);
        let findings = self.verify.report(told, &self.ledger, &around);
        self.act_on(core, findings);
    }

    pub(super) fn agree(&mut self, core: &mut Core) {
        let findings = self.verify.agree(&self.ledger, core.now);
        self.act_on(core, findings);
    }

    pub(super) fn check_hashes(&mut self, core: &mut Core) {
        let around = self.around_verify(core.now);
        let findings = self.verify.check_hashes(&self.ledger, &around);
        self.act_on(core, findings);
    }

    pub(super) fn check_mismatch(&mut self, core: &mut Core) {
        let around = self.around_verify(core.now);
        let findings = self.verify.check_mismatch(&self.ledger, &around);
        self.act_on(core, findings);
    }

    pub(super) fn advance_dispute(&mut self, core: &mut Core) {
        let around = self.around_verify(core.now);
        let findings = self.verify.advance_dispute(&self.ledger, &around);
        self.act_on(core, findings);
    }

    /// A turn is complete: earlier ones matter less.
    pub(super) fn forget_old(&mut self, core: &mut Core) {
        let complete = self.ledger.window.complete();
        self.ledger.batches.forget_before(complete);
        let delay = self.ledger.places.start().terms.longest_delay();
        let lag = core.limits.unexecuted_turns + 2 * delay + 8;
        let late = self.verify.end_late_reports(lag, &self.ledger);
        self.act_on(core, late);
    }

    /// Each peer's newest signed batch goes to the log, and how long before their deadline batches leave.
    pub(super) fn log_attests(&mut self, core: &mut Core) {
        let turns = self.turns.logged();
        let mut findings = self.verify.attests(turns, &self.ledger);
        let leads = self
            .there()
            .filter_map(|at| Some((at as u8, self.lead(at)?)));
        let leads: Vec<_> = leads.collect();
        if !leads.is_empty() {
            findings.push(Finding::Log(turns, Record::Leads { turns, leads }));
        }
        self.act_on(core, findings);
    }

    /// Two batches of one peer for one turn, of which one came by this link, differ.
    pub(super) fn weigh(&mut self, core: &mut Core, link: LinkId, proof: Equivocation) {
        let signer = core.signer.as_ref();
        match self.verify.weigh(&proof, &self.ledger, signer) {
            Weighed::Nothing => {}
            Weighed::Proved(_) => self.convict(core, proof),
            Weighed::Unproved => core.strange(link),
        }
    }

    /// A proof holds: its peer is named, and every neighbour is to hold it.
    pub(super) fn convict(&mut self, core: &mut Core, proof: Equivocation) {
        let at = proof.0.peer;
        if let Some(named) = self.verify.convict(proof) {
            self.board.post(Fact::proof(at));
            self.act_on(core, [named]);
        }
    }

    /// Sends batches to every peer of the match.
    fn show(&self, core: &mut Core, batches: &[WireBatch]) {
        for part in batches.chunks(BATCHES) {
            let message = Control::Evidence(part.to_vec());
            for link in core.links.keys().copied().collect::<Vec<_>>() {
                if self.member_of(core, link).is_some() {
                    core.send(link, &message);
                }
            }
        }
    }

    /// The match stops: worlds or logs differ.
    pub(super) fn desync(&mut self, core: &mut Core, turn: u32, reports: Vec<DesyncSide>) {
        if !self.ending.begin_desync(core.now) {
            return;
        }
        self.turns.give_up_stall(core.now);
        if !self.ending.is_leaving() && !self.membership.is_out() {
            let gate = self.gate(core.now);
            let ledger = &mut self.ledger;
            let sealed = self.turns.seal_last_reports(&gate, ledger, seal(core));
            self.note_sealed(sealed);
        }
        let turns = self.turns.handed_out();
        core.out.push(Output::Save { turns });
        let minority = minority_of(&reports, self.membership.voters());
        core.event(Event::Desync(Desync {
            turn: TurnNumber(turn),
            reports,
            minority,
            goes_on: false,
            report: None,
        }));
    }

    /// What this peer itself has, where the others cannot be right.
    pub(super) fn own_side(&self) -> DesyncSide {
        let Ledger { places, window, .. } = &self.ledger;
        let own = Some(window.newest());
        side(places.me() as u8, self.turns.checksum(), own, places)
    }

    pub(super) fn begin_ending(
        &mut self,
        core: &mut Core,
        reason: EndReason,
        outcome: Option<Outcome>,
    ) {
        if self.ending.holds_turns() {
            return;
        }
        let turns = self.turns.executed();
        let log_hash = self.ledger.window.after(turns);
        let end = End {
            turns,
            log_hash: log_hash.expect("the hashes of all that the world has not executed are kept"),
            checksum: self.turns.checksum(),
            outcome,
            signatures: Vec::new(),
        };
        let signature = end.sign(core.signer.as_ref());
        self.turns.end(core.now);
        let (me, plan) = (self.ledger.places.me(), self.turns.plan());
        let told = self
            .ending
            .begin(me, (end, signature), reason, plan, core.now);
        self.forward_end(core, &told, None);
    }

    /// The match is over for this peer: for all with this end, where there is one.
    pub(crate) fn finish(&mut self, core: &mut Core, reason: EndReason, end: Option<End>) {
        if std::mem::replace(&mut self.over, true) {
            return;
        }
        // What was just decided has no turn behind it yet: it may be what the newest batches speak of, or hold the proof
        // that a peer cheated.
        let turns = end
            .as_ref()
            .map_or(self.turns.handed_out(), |end| end.turns);
        core.out.extend(self.turns.log_changes(turns));
        let settled = end.as_ref().map(|end| self.turns.settle(end.turns));
        core.out.extend(settled.into_iter().flatten());
        self.log_attests(core);
        core.out.extend(self.turns.close_log());
        let is_final = end.is_some();
        core.out
            .extend(end.map(|end| Output::Append(Record::End(end))));
        for link in core.links.keys().copied().collect::<Vec<_>>() {
            core.close(link);
        }
        let asked = self.asked_to_sign();
        let agreed = asked.iter().map(usize::from);
        let agreed = agreed.filter(|at| self.ending.agrees(*at)).count();
        let of_world = (!self.turns.is_loading()).then(|| self.turns.checksum());
        core.event(Event::Ended(Ended {
            reason,
            turns: self.ending.turns().unwrap_or(self.turns.executed()),
            checksum: self.ending.checksum().or(of_world),
            outcome: self.ending.outcome(),
            agreed: agreed as u8,
            of: asked.len() as u8,
            is_final,
            branch_of: self.branch_of(),
        }));
    }
}
