//! What verification is told, and what is done about what it finds.

use super::Playing;
use crate::log::{Equivocation, Peers, SignedBatch};
use crate::session::Output;
use crate::session::core::Core;
use crate::session::verify::{Finding, Surroundings, Weighed, odd_ones, show_from};
use crate::session::wire::{Control, WireBatch};
use crate::{Desync, DesyncSide, Event, Fault, LinkId, TurnNumber};
use sim::Checksum;
use std::time::Duration;

/// Batches in one message, at most.
const BATCHES: usize = 24;

impl Playing {
    pub(super) fn around(&self, now: Duration) -> Surroundings {
        Surroundings {
            now,
            voters: self.epochs.voters(),
            epoch_began: self.epochs.began_at,
            desynced: self.ending.desynced(),
            executed: self.turns.executed(),
            checksum: self.turns.checksum(),
            extension: self.longer(),
        }
    }

    pub(super) fn act_on(&mut self, core: &mut Core, findings: impl IntoIterator<Item = Finding>) {
        for finding in findings {
            match finding {
                Finding::Log(record) => core.out.push(Output::Append(record)),
                Finding::Show(batches) => self.show_batches(core, &batches),
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

    pub(super) fn check_hashes(&mut self, core: &mut Core) {
        let around = self.around(core.now);
        let findings = self.verify.check_hashes(&self.ledger, &around);
        self.act_on(core, findings);
    }

    pub(super) fn agree(&mut self, core: &mut Core) {
        let findings = self.verify.agree(&self.ledger, core.now);
        self.act_on(core, findings);
    }

    /// Two batches of one peer for one turn, of which one came by this link, differ.
    pub(super) fn weigh(&mut self, core: &mut Core, link: LinkId, proof: Equivocation) {
        let signer = core.signer.as_ref();
        match self.verify.weigh(&proof, &self.ledger, signer) {
            Weighed::Nothing => {}
            Weighed::Proved(_) => {
                let named = self.verify.convict(proof);
                self.act_on(core, named);
            }
            Weighed::Unproved => core.strange(link),
        }
    }

    pub(super) fn desync(&mut self, core: &mut Core, turn: u32, reports: Vec<DesyncSide>) {
        if !self.ending.begin_desync(core.now) {
            return;
        }
        self.turns.give_up_stall(core.now);
        if self.leaving.is_none() && !self.epochs.is_out() {
            self.seal_last_reports(core);
        }
        core.out.push(Output::Save {
            turns: self.turns.handed_out(),
        });
        let odd = odd_ones(&reports, self.epochs.voters());
        core.event(Event::Desync(Desync {
            turn: TurnNumber(turn),
            reports,
            odd,
            goes_on: false,
            report: None,
        }));
    }

    /// Sends all batches from a turn on to every peer of the match.
    pub(super) fn show(&mut self, core: &mut Core, from: u32) {
        let shown = show_from(from, &self.ledger);
        self.act_on(core, [shown]);
    }

    fn show_batches(&self, core: &mut Core, batches: &[WireBatch]) {
        for part in batches.chunks(BATCHES) {
            let message = Control::Evidence(part.to_vec());
            for link in core.links.keys().copied().collect::<Vec<_>>() {
                if self.member_of(core, link).is_some() {
                    core.send(link, &message);
                }
            }
        }
    }

    /// Passes on the proofs that the other end of a link has not been sent.
    pub(super) fn send_proofs(&self, core: &mut Core, id: LinkId) {
        let Some(link) = core.links.get_mut(&id) else {
            return;
        };
        let new = self.verify.cheats().without(link.proofs_known);
        link.proofs_known = link.proofs_known.or(new);
        for at in new.iter() {
            if let Some(both) = self.verify.evidence(usize::from(at), &self.ledger) {
                core.send(id, &Control::Evidence(both));
            }
        }
    }

    pub(super) fn receive_evidence(
        &mut self,
        core: &mut Core,
        link: LinkId,
        shown: Vec<WireBatch>,
    ) {
        if shown.len() > BATCHES {
            return core.fault(link, Fault::Oversize);
        }
        let shown: Vec<SignedBatch> = shown.into_iter().map(SignedBatch::from).collect();
        if shown
            .iter()
            .any(|batch| usize::from(batch.peer) >= self.ledger.places.len())
        {
            return core.fault(link, Fault::OutOfPlace);
        }
        if let [one, other] = shown.as_slice() {
            let proof = Equivocation(one.clone(), other.clone());
            let differ = one.peer == other.peer && one.content != other.content;
            if differ && proof.turn().is_some() {
                self.weigh(core, link, proof);
                return self.keep_alternate(core, link, one.clone());
            }
        }
        for batch in &shown {
            self.receive_batch(core, link, batch.clone());
        }
        let voter = self.member_of(core, link);
        if voter.is_some_and(|at| self.epochs.has(at)) {
            let signer = core.signer.as_ref();
            for both in self.verify.answers(&shown, &self.ledger, signer) {
                core.send(link, &Control::Evidence(both));
            }
        }
    }

    /// Keeps what the voter at the other end of a link holds in the place of what this peer does, while the roster
    /// changes.
    pub(super) fn keep_alternate(&mut self, core: &mut Core, link: LinkId, signed: SignedBatch) {
        let changes = self.epochs.is_frozen() || self.epochs.pending().is_some();
        let holder = self.member_of(core, link).filter(|at| self.epochs.has(*at));
        let Some(holder) = holder.filter(|_| changes) else {
            return;
        };
        let (signer, epoch) = (core.signer.as_ref(), self.epochs.epoch());
        let ledger = &mut self.ledger;
        let now = core.now;
        if !self
            .verify
            .keep_alternate(holder, signed, epoch, ledger, (signer, now))
        {
            core.strange(link);
        }
    }
}
