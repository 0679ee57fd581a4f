//! This peer's part in a roster change: what it sees around it, what arrives of it and leaves, and what follows from it, up
//! to the epoch that it begins.

use super::Player;
use crate::encoding::Reader;
use crate::log::{
    Accepted, Gone, Peers, Record, RosterChange, Value, decode_change, encode_change, roster_hash,
};
use crate::session::core::Core;
use crate::session::facts::Fact;
use crate::session::links::link::Link;
use crate::session::membership::paxos::{Message, Request};
use crate::session::membership::{Action, HeardLink, first_difference, promised_log};
use crate::session::timers::{Timer, Timers};
use crate::session::verify::{Wanted, show_from};
use crate::session::wire::{Control, SignedStatement};
use crate::session::{Output, membership};
use crate::{Event, Fault, JoinRefused, LinkId, TurnNumber};
use std::time::Duration;

/// Votes in one message, at most.
const VOTES: usize = 64;

impl Player {
    /// Tells this peer's part in a roster change of the votes that it may hear.
    pub(super) fn deliver_votes(&mut self, core: &mut Core) {
        while !self.over && self.membership.has_undelivered() {
            let around = self.around_membership(core.now);
            let next = self.membership.next_undelivered(&around, &self.ledger);
            let Some((from, message)) = next else {
                return;
            };
            self.deliver(core, from, message);
        }
    }

    /// Tells this peer's part in a roster change of a vote.
    fn deliver(&mut self, core: &mut Core, from: u8, message: Message) {
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

    /// A peer that promises seals nothing more in this epoch. A quorum's batches in an epoch attest the log at its
    /// beginning; without them its joiner cannot take its place. So a peer seals its first batch before it promises, even if
    /// its turn is not over.
    fn seal_before_promise(&mut self, core: &mut Core) {
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

    /// Does what follows from this peer's part in a roster change.
    pub(super) fn act(&mut self, core: &mut Core, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Broadcast(vote) => self.board.post(vote),
                Action::Sync(number, accepted) => self.record_accept(core, number, accepted),
                Action::Decided(change) => {
                    let proofs = self.verify.proofs_against(change.value.cheats);
                    // A cheat that links this peer to the others can keep the proof back. Peers that accepted the change
                    // have it, and tell it with the decision.
                    if proofs.len() == change.value.cheats.iter().count() {
                        self.decided(core, RosterChange { proofs, ..change });
                    }
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
        let plan = self.turns.plan();
        let Some(out) = self.turns.retract(cut, began, &mut self.ledger) else {
            return false;
        };
        core.out.extend(out);
        if self.turns.plan() != plan {
            core.event(self.turns.tell_plan(&self.ledger));
        }
        self.ledger.window.note_retraction(change);
        self.ending.retract(cut);
        self.verify.retract(cut);
        true
    }

    /// Begins the next epoch, once all turns of this one are complete.
    pub(super) fn begin_epoch(&mut self, core: &mut Core) {
        let complete = self.ledger.window.complete();
        let pending = self.membership.pending();
        let is_over = pending.is_some_and(|change| change.value.cut == complete);
        if !is_over || !self.membership.stays_for_next() {
            return;
        }
        let before = self.membership.voters().members();
        let change = self.membership.begin_next_epoch(core.now);
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
        let alters = value.roster != before || value.joins.is_some();
        let coordinator = alters.then_some(change.ballot.peer);
        self.membership.settle_epoch(removed, coordinator, core.now);
        self.turns.begin_epoch(value.cheats, [before, value.roster]);
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
        let first = cut + self.ledger.places.start().terms.longest_delay();
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

    /// Tells the game of a roster. Peers that go by its change and are not `removed` had left by themselves.
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

    pub(super) fn receive_votes(
        &mut self,
        core: &mut Core,
        id: LinkId,
        votes: Vec<SignedStatement>,
    ) {
        if votes.len() > VOTES {
            return core.fault(id, Fault::Oversize);
        }
        for signed in votes {
            let places = &self.ledger.places;
            let (vote, kept) = match self.membership.read_vote(&signed, places) {
                Ok(read) => read,
                Err(fault) => return core.fault(id, fault),
            };
            if let Some((topic, version)) = kept
                && let Some(link) = core.links.get_mut(&id)
            {
                link.board.note(topic, version);
            }
            let signer = core.signer.as_ref();
            match self.membership.take_vote(vote, signed, places, signer) {
                Ok(news) => news.into_iter().for_each(|fact| self.board.post(fact)),
                Err(true) => core.strange(id),
                Err(false) => return core.fault(id, Fault::Signature),
            }
        }
    }

    pub(super) fn receive_statuses(
        &mut self,
        core: &mut Core,
        id: LinkId,
        statuses: Vec<SignedStatement>,
    ) {
        if statuses.len() > self.ledger.places.len() {
            return core.fault(id, Fault::Oversize);
        }
        for signed in statuses {
            let (places, signer) = (&self.ledger.places, core.signer.as_ref());
            match self.membership.take_status(signed, places, signer) {
                Ok(None) => {}
                Ok(Some(fact)) => {
                    if let Some(link) = core.links.get_mut(&id) {
                        link.board.note(fact.topic, fact.version);
                    }
                    self.board.post(fact);
                }
                Err(fault) => return core.fault(id, fault),
            }
        }
    }

    pub(super) fn receive_decision(&mut self, core: &mut Core, id: LinkId, bytes: &[u8]) {
        let mut reader = Reader::new(bytes);
        let change = decode_change(&mut reader).ok();
        let Some(change) = change.filter(|_| reader.end().is_ok()) else {
            return core.fault(id, Fault::Garbage);
        };
        let mut from = None;
        if let Some(link) = core.links.get_mut(&id) {
            link.epoch = link.epoch.max(Some(change.epoch.saturating_add(1)));
            from = link.proved.map(|(peer, _)| peer);
        }
        let (places, signer) = (&self.ledger.places, core.signer.as_ref());
        match self.membership.take_decision(change, from, places, signer) {
            Ok(None) => {}
            Ok(Some(change)) => self.decided(core, change),
            Err(fault) => core.fault(id, fault),
        }
    }

    /// Takes a request that came by a link from the joiner itself, and passes it on.
    pub(super) fn receive_request(
        &mut self,
        core: &mut Core,
        link: LinkId,
        request: Request,
        addresses: Vec<String>,
    ) {
        let at = usize::from(request.joins.peer);
        let run = request.joins.incarnation;
        let proved = core.links.get(&link).and_then(|link| link.proved);
        let places = &self.ledger.places;
        let asks = places.get(at).map(|peer| (peer.peer, run));
        if asks.is_none() || asks != proved {
            return core.fault(link, Fault::OutOfPlace);
        }
        if self.verify.convicts(at) {
            return core.refuse(link, JoinRefused::Cheated);
        }
        if self.verify.is_barred(at) {
            return core.refuse(link, JoinRefused::Desynced);
        }
        // It may speak of the epoch before, or of one that this peer has not come to.
        if !self
            .membership
            .is_signed(&request, places, core.signer.as_ref())
        {
            return;
        }
        if self.membership.has(at) {
            return self.membership.note_replacement(at, run, places, core.now);
        }
        if self.dialling.note_addresses(at, addresses) {
            core.tell_contacts(self.contacts());
        }
        if self.over {
            return;
        }
        let around = self.around_membership(core.now);
        let (ledger, signer) = (&self.ledger, core.signer.as_ref());
        let told = self
            .membership
            .take_request(request, &around, ledger, signer);
        told.into_iter().for_each(|fact| self.board.post(fact));
    }

    /// What a change before this peer's part proves is posted for its neighbours.
    pub(super) fn post_earlier(&mut self, change: &RosterChange) {
        // A branch decides nothing for peers of the match that it leaves.
        if change.branch().is_some() {
            return;
        }
        self.board.post(Fact::decision(change.clone()));
        for proof in &change.proofs {
            let at = proof.0.peer;
            if self.verify.convicts(usize::from(at)) {
                self.board.post(Fact::proof(at));
            }
        }
    }

    /// Passes on what others lack: votes to the roster, proofs and decisions to every peer of the match.
    pub(super) fn send_facts(&self, core: &mut Core) {
        for id in core.links.keys().copied().collect::<Vec<_>>() {
            let now = core.now;
            let Some(link) = core.links.get_mut(&id) else {
                continue;
            };
            let member = self.member_at(link);
            let told = member.or_else(|| self.past_member_at(link));
            let Some(at) = told.filter(|at| *at != self.ledger.places.me()) else {
                continue;
            };
            let votes = member.is_some() && self.membership.has(at);
            let neighbour = &mut link.board;
            // Before any vote that needs them.
            let proofs = self.board.proofs_for(neighbour);
            let from = link.epoch.or(self.membership.admitted_after());
            let decisions =
                from.map_or(Vec::new(), |from| self.board.decisions_for(neighbour, from));
            let me = self.ledger.places.me() as u8;
            let votes = match votes {
                true => self.board.votes_for(neighbour, me, now),
                false => Vec::new(),
            };
            for cheat in proofs.into_iter().map(usize::from) {
                let both = self.verify.evidence(cheat, &self.ledger);
                let both = both.expect("a proof on the board was taken");
                core.send(id, &Control::Evidence(both));
            }
            for change in decisions {
                core.send(id, &Control::Decided(encode_change(change)));
            }
            if !votes.is_empty() {
                core.send(id, &Control::Roster(votes));
            }
        }
    }

    /// Passes on to the roster what peers have said of themselves. A joiner hears that only once it has its part, and tells
    /// its epoch then.
    fn send_statuses(&self, core: &mut Core) {
        for id in core.links.keys().copied().collect::<Vec<_>>() {
            let now = core.now;
            let link = core.links.get_mut(&id);
            let hears = |link: &&mut Link| link.epoch.is_some() && self.voter_at(link).is_some();
            if let Some(link) = link.filter(hears) {
                let statuses = self.board.statuses_for(&mut link.board, now);
                if !statuses.is_empty() {
                    core.send(id, &Control::Words(statuses));
                }
            }
        }
    }

    /// Votes that may leave already leave with the next input.
    pub(super) fn facts_timers(&self, core: &Core, timers: &mut Timers) {
        let links = core.links.values();
        for link in links.filter(|link| self.voter_at(link).is_some()) {
            let votes = self.board.votes_due(&link.board);
            timers.set(Timer::Votes, votes.filter(|at| *at > core.now));
            if link.epoch.is_some() {
                timers.set(Timer::Statuses, self.board.statuses_due(&link.board));
            }
        }
    }

    /// Which peers are heard on links. A run that is out and has not heard of it may know none of those that would tell:
    /// they are other runs, too.
    pub(super) fn note_links(&mut self, core: &mut Core) {
        let places = &self.ledger.places;
        let heard = core.links.values().filter_map(|link| {
            let (at, (_, run)) = (self.leads_to(link)?, link.proved?);
            Some(HeardLink {
                at,
                run,
                is_current: places.is_current(at, run),
                is_new: places.is_new(at, run),
                plays_branch: link.plays_branch,
                up_at: link.up_at,
                heard_at: link.heard_at,
            })
        });
        let heard: Vec<HeardLink> = heard.collect();
        self.membership.note_links(&heard);
        for link in core.links.values_mut() {
            let out = match self.member_at(link) {
                Some(at) => !self.membership.has(at),
                None => self.past_member_at(link).is_some(),
            };
            if out {
                link.epoch = link.epoch.max(Some(0));
            }
        }
    }

    /// What membership is told while the roster changes.
    pub(super) fn around_change(&self, now: Duration) -> membership::Surroundings {
        let (ledger, fold) = (&self.ledger, self.turns.fold());
        membership::Surroundings {
            ahead: match self.membership.is_changing() {
                true => ledger.hashes_ahead(fold, None),
                false => Vec::new(),
            },
            ..self.around_membership(now)
        }
    }

    pub(super) fn around_membership(&self, now: Duration) -> membership::Surroundings {
        let around = self.around_verify(now);
        let (ledger, fold) = (&self.ledger, self.turns.fold());
        let barred = ledger.places.all();
        let barred = barred.filter(|at| self.verify.is_barred(*at));
        membership::Surroundings {
            now,
            plan: self.turns.plan(),
            too_slow: fold.too_slow(),
            stalled_since: self.turns.stalled_since(),
            is_stall_told: self.turns.is_stall_told(),
            wants_turns: self.turns.wants_more(&self.gate(now), ledger),
            has_ended: self.ending.holds_turns(),
            is_desynced: around.desynced,
            is_leaving: self.ending.is_leaving(),
            cheats: self.verify.cheats(),
            minority: self.verify.minority(),
            minority_due: self.verify.minority_due(ledger, &around),
            unaware_of_minority: self.verify.unaware_of_minority(),
            evident_minority: self.verify.evident_minority(
                ledger,
                || ledger.hashes_ahead(fold, None),
                around.voters,
            ),
            disputed: self.verify.disputed(now),
            barred: barred.map(|at| at as u8).collect(),
            ahead: Vec::new(),
        }
    }

    /// Whether a quorum has confirmed that this peer still belongs.
    pub(super) fn open_fence(&mut self, core: &mut Core) -> bool {
        let (places, signer) = (&self.ledger.places, core.signer.as_ref());
        if let Some(status) = self.membership.publish_status(places, signer) {
            self.board.post(status);
        }
        self.send_statuses(core);
        let opens = self.membership.open_fence(&self.ledger.places);
        if opens && !self.ending.holds_turns() {
            self.hand_out(core);
        }
        opens
    }
}
