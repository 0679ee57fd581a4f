//! What follows from what components return.

use super::{Player, seal};
use crate::log::{
    Accepted, Document, End, Equivocation, Gone, Peers, Record, RosterChange, Value, encode_change,
    roster_hash,
};
use crate::session::Output;
use crate::session::core::Core;
use crate::session::facts::Fact;
use crate::session::ledger::Ledger;
use crate::session::membership::paxos::Message;
use crate::session::membership::{Action, first_difference, promised_log};
use crate::session::verify::{Finding, Wanted, Weighed, minority_of, show_from, side};
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
        let delay = u32::from(self.turns.plan().delay_turns);
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
    fn convict(&mut self, core: &mut Core, proof: Equivocation) {
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
    fn desync(&mut self, core: &mut Core, turn: u32, reports: Vec<DesyncSide>) {
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
    fn own_side(&self) -> DesyncSide {
        let Ledger { places, window, .. } = &self.ledger;
        let own = Some(window.newest());
        side(places.me() as u8, self.turns.checksum(), own, places)
    }

    /// Does what follows from this peer's part in a roster change.
    pub(super) fn act(&mut self, core: &mut Core, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Broadcast(vote) => self.board.post(vote),
                Action::Sync(number, accepted) => self.record_accept(core, number, accepted),
                Action::Decided(change) => {
                    let proofs = self.verify.proofs_against(change.value.cheats);
                    self.decided(core, RosterChange { proofs, ..change });
                }
            }
        }
    }

    /// Has the store keep an accept durably. A later run of the process must be able to go on from the cut: what is
    /// complete is logged, and the turns between that and the cut stand in the accept.
    fn record_accept(&mut self, core: &mut Core, number: u64, accepted: Accepted) {
        core.out.extend(self.turns.log_complete());
        let Value { cut, log_hash, .. } = accepted.value;
        let mut turns = self.ledger.turns_ahead(self.turns.fold(), None);
        turns.retain(|(bundle, _)| bundle.turn.0 < cut);
        // A peer that goes may hold turns that lead elsewhere.
        if turns
            .last()
            .is_some_and(|(_, hash)| Some(*hash) != log_hash)
        {
            turns.clear();
        }
        let turns = turns.into_iter().map(|(bundle, _)| bundle);
        core.out.push(Output::Append(Record::Accept(Accepted {
            turns: turns.collect(),
            ..accepted
        })));
        core.out.push(Output::Sync(number));
    }

    /// An accept is durable: the others may hear of it.
    pub(crate) fn synced(&mut self, core: &Core, number: u64) {
        let (places, signer) = (&self.ledger.places, core.signer.as_ref());
        if let Some(accept) = self.membership.synced(number, places, signer) {
            self.board.post(accept);
        }
    }

    /// Tells this peer's part in a roster change of a vote.
    pub(super) fn deliver(&mut self, core: &mut Core, from: u8, message: Message) {
        if self.verify.cheats().contains(from) {
            return;
        }
        if let Message::Promise(promise) = &message {
            let complete = self.ledger.window.complete();
            let ahead = match promise.complete > complete {
                true => self.ledger.hashes_ahead(self.turns.fold(), None),
                false => Vec::new(),
            };
            let differs = first_difference(promise, &self.ledger, &ahead);
            let votes = self.membership.has(usize::from(from));
            // Once for each voter: it sends much then.
            if let Some(turn) = differs.filter(|_| votes) {
                let shown = self.verify.show_difference(from, turn, &self.ledger);
                self.act_on(core, shown);
            }
            if usize::from(from) != self.ledger.places.me() && votes {
                if let Some((turns, hash)) = promised_log(promise, complete) {
                    self.verify.expect_hash(usize::from(from), turns, hash);
                }
                self.check_hashes(core);
            }
        }
        if matches!(message, Message::Prepare(_)) {
            self.seal_before_promise(core);
        }
        let around = self.around_change(core.now);
        let (ledger, signer) = (&self.ledger, core.signer.as_ref());
        let actions = self
            .membership
            .deliver(from, message, &around, ledger, signer);
        self.act(core, actions);
    }

    /// A peer that promises seals nothing more in this epoch. Without a batch of it by a quorum no peer attests the log up
    /// to where it began, and a joiner that it has admitted, and that votes in it, could not take its place: so the first one
    /// is sealed even if the turn that calls for it is not over.
    fn seal_before_promise(&mut self, core: &Core) {
        let newest = self.ledger.batches.newest(self.ledger.places.me());
        if newest.is_none_or(|newest| newest.batch.epoch < self.membership.epoch()) {
            self.seal_due(core);
        }
    }

    pub(super) fn coordinate(&mut self, core: &mut Core) {
        let around = self.around_change(core.now);
        let (ledger, signer) = (&self.ledger, core.signer.as_ref());
        let (actions, begins) = self.membership.coordinate(&around, ledger, signer);
        self.act(core, actions);
        if begins {
            self.deliver_votes(core);
        }
    }

    /// Goes over to what others hold where that leads to the log of the roster change, and this peer's batches do not.
    pub(super) fn reconcile(&mut self, core: &mut Core) {
        let around = self.around_change(core.now);
        let (value, another) = self.membership.wanted(&around, &self.ledger);
        let me = self.ledger.places.me() as u8;
        let stays = value.filter(|value| value.roster.contains(me));
        let wanted = Wanted {
            log: stays.and_then(|value| Some((value.cut, value.log_hash?))),
            decided: self.membership.pending().is_some(),
            another,
        };
        let (ledger, fold) = (&mut self.ledger, self.turns.fold());
        let reconciled = self.verify.reconcile(ledger, fold, wanted, core.now);
        if let Some(from) = reconciled.show {
            let shown = show_from(from, &self.ledger);
            self.act_on(core, [shown]);
        }
        if reconciled.is_lost {
            self.turns.give_up_stall(core.now);
            self.ending.be_removed(core.now);
        }
    }

    /// A roster change is decided. Its turns may not all be complete.
    pub(super) fn decided(&mut self, core: &mut Core, change: RosterChange) {
        // What reopens the match was decided by other runs than this one.
        let reopened = change.reopening.is_some();
        let me = self.ledger.places.me() as u8;
        let stays = change.value.roster.contains(me) && !reopened;
        let (cut, roster) = (change.value.cut, change.value.roster);
        for proof in &change.proofs {
            self.convict(core, proof.clone());
        }
        let goes_back = stays && !change.value.cheats.is_empty();
        let too_far = match goes_back {
            true => !self.retract(core, &change),
            false => stays && self.ledger.window.complete() > cut,
        };
        if too_far {
            // No correct peer decides so: a peer that stays had told of all that it had completed.
            let side = self.own_side();
            return self.desync(core, cut, vec![side]);
        }
        let goes = self.membership.voters().members().without(roster);
        self.forward_decision(core, &change);
        let value = change.value;
        self.board.post(Fact::decision(change.clone()));
        self.membership.decide(change);
        let around = self.around_verify(core.now);
        let findings = self.verify.note_decision(value, &self.ledger, &around);
        self.act_on(core, findings);
        if !stays && (reopened || !self.ending.is_leaving()) {
            self.turns.give_up_stall(core.now);
            self.ending.be_removed(core.now);
        }
        for at in goes.iter().map(usize::from).filter(|_| stays) {
            let knows = self.ledger.batches.is_gone(at) || self.verify.convicts(at);
            self.dialling.note_removal(at, knows, core.now);
            self.ledger.batches.cut_off(at, cut);
        }
    }

    /// Tells a joiner that it is decided: its first batches are due soon.
    fn forward_decision(&self, core: &mut Core, change: &RosterChange) {
        let Some(joins) = change.value.joins else {
            return;
        };
        let peer = self.ledger.places.key(usize::from(joins.peer));
        let links: Vec<LinkId> = core.links_to(peer).map(|link| link.id).collect();
        for link in links {
            core.send(link, &Control::Decided(encode_change(change)));
        }
    }

    /// Takes back the turns from the cut on. False where that is too far back.
    fn retract(&mut self, core: &mut Core, change: &RosterChange) -> bool {
        let cut = change.value.cut;
        let began = self.membership.epoch_began_with();
        let Some(out) = self.turns.retract(cut, began, &mut self.ledger) else {
            return false;
        };
        core.out.extend(out);
        self.ledger.window.note_retraction(change);
        self.ending.retract(cut);
        self.verify.retract(cut);
        true
    }

    /// Begins the next epoch, once all turns of this one are complete.
    pub(super) fn begin_epoch(&mut self, core: &mut Core) {
        let before = self.membership.voters().members();
        let complete = self.ledger.window.complete();
        let Some(change) = self.membership.begin_next_epoch(complete, core.now) else {
            return;
        };
        let value = change.value;
        self.board.begin_epoch(self.membership.epoch());
        let alike = |hash| hash == self.ledger.window.newest();
        if !value.log_hash.is_none_or(alike) {
            let side = self.own_side();
            return self.desync(core, value.cut, vec![side]);
        }
        self.ledger.batches.forget_alternates();
        self.ending.stay(core.now);
        let goes = before.without(value.roster);
        // The log names earlier leavers already.
        let removed = goes.without(self.ledger.batches.gone());
        let seats = self.ledger.places.seats_of(removed);
        self.turns.close_seats(&seats);
        for at in removed.and(value.left).iter() {
            let peer = self.ledger.places.peer(usize::from(at));
            core.event(Event::Left {
                peer: peer.peer,
                seats: peer.seats.clone(),
                turn: TurnNumber(value.cut),
            });
        }
        for at in goes.iter() {
            self.ledger.batches.leave(usize::from(at), value.cut);
        }
        let around = self.around_verify(core.now);
        let ledger = &self.ledger;
        let findings = self.verify.begin_epoch(&change, goes, ledger, &around);
        self.act_on(core, findings);
        self.membership.settle_epoch(removed, core.now);
        self.turns.begin_epoch(value.roster.len() as usize);
        self.readmit(core, &change);
        let hash = roster_hash(self.ledger.window.tip(), &change);
        self.ledger.window.chain(hash);
        self.tell_roster(core, &change, before, (goes, removed));
        self.turns.push_change(change);
        self.agree(core);
    }

    /// A change is complete: the joiner that it lets in is of the roster again.
    fn readmit(&mut self, core: &Core, change: &RosterChange) {
        let Some(joins) = change.value.joins else {
            return;
        };
        let at = usize::from(joins.peer);
        let cut = change.value.cut;
        let first = cut + u32::from(self.turns.plan().delay_turns);
        self.ledger.places.readmit(joins, change);
        self.ledger.batches.readmit(at, first);
        self.dialling.readmit(at, core.now);
        // What was taken back in epochs before its own is nothing that the joiner has ever reported.
        self.verify.readmit(at, cut, change.epoch + 1);
        self.board.readmit(joins.peer, joins.incarnation);
        self.membership.readmit(at, joins.incarnation, core.now);
        let seats = &self.ledger.places.peer(at).seats;
        self.turns.readmit(at, seats);
    }

    /// Tells the game of a roster, by whose change some go; those that are not `removed` had left by themselves.
    pub(super) fn tell_roster(
        &self,
        core: &mut Core,
        change: &RosterChange,
        before: Peers,
        (goes, removed): (Peers, Peers),
    ) {
        let places = &self.ledger.places;
        let roster = change.value.roster;
        let gone = change.gone(goes, removed).into_iter();
        let gone = gone.map(|(cause, peers)| Gone {
            cause,
            seats: places.seats_of(peers),
        });
        let gone: Vec<Gone> = gone.collect();
        core.event(Event::RosterChanged {
            turn: TurnNumber(change.value.cut),
            epoch: self.membership.epoch(),
            seats: places.seats_of(roster),
            back: places.seats_of(roster.without(before)),
            cause: change.cause(&gone),
            gone,
        });
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

    pub(crate) fn finish(&mut self, core: &mut Core, reason: EndReason) {
        if std::mem::replace(&mut self.over, true) {
            return;
        }
        for link in core.links.keys().copied().collect::<Vec<_>>() {
            core.close(link);
        }
        if !matches!(reason, EndReason::Decided | EndReason::TurnLimit) {
            // What was just decided has no turn behind it yet, and may be what the newest batches speak of.
            let turns = self.turns.handed_out();
            core.out.extend(self.turns.log_changes(turns));
            self.log_attests(core);
            core.out.extend(self.turns.close_log(None));
        }
        let asked = self.asked_to_sign();
        let agreed = asked.iter().map(usize::from);
        let agreed = agreed.filter(|at| self.ending.agrees(*at)).count();
        core.event(Event::Ended(Ended {
            reason,
            turns: self.ending.turns().unwrap_or(self.turns.executed()),
            checksum: Some(self.ending.checksum().unwrap_or(self.turns.checksum())),
            outcome: self.ending.outcome(),
            agreed: agreed as u8,
            of: asked.len() as u8,
            branch_of: self.branch_of(),
        }));
    }
}
