//! The roster change as a match runs it: when to begin, what is said to whom, and what a decision does.

use super::Playing;
use super::epochs::{Posted, key};
use crate::encoding::Reader;
use crate::log::{Equivocation, RosterChange, decode_change, encode_change, roster_hash};
use crate::session::core::Core;
use crate::session::roster::{
    Do, Holding, Input, Joins, Message, Note, Peers, Promise, RECENT, View, note_signed_bytes,
};
use crate::session::wire::{Control, SignedNote};
use crate::{Event, Fault, Gone, LinkId, LogHash, TurnNumber};
use sim::Seat;
use std::time::Duration;

/// An attempt to decide that has come to nothing is followed by another, the second after twice this time, and so on.
const RETRY: Duration = Duration::from_secs(1);
/// While turns wait, suspicions are looked at this often.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Decisions of so many epochs to come are kept, of each peer of the match, until they can be proved: no fewer than
/// are sent at once, for they are not sent again.
const LATER: u32 = 64;
/// Notes and decisions in one message, at most.
const NOTES: usize = 64;

/// What there is to see around this peer, for its part in the agreement.
pub(super) struct Sight {
    holdings: Vec<Holding>,
    complete: u32,
    hashes: Vec<LogHash>,
    ahead: Vec<LogHash>,
    cheats: Peers,
    odd: Peers,
    suspects: Peers,
    unwanted: Peers,
    disbelieved: Peers,
    excused: Peers,
    present: Peers,
    joiner: Option<Joins>,
    asked: Vec<Joins>,
}

impl Sight {
    pub(super) fn view(&self) -> View<'_> {
        View {
            holdings: &self.holdings,
            complete: self.complete,
            hashes: &self.hashes,
            ahead: &self.ahead,
            cheats: self.cheats,
            odd: self.odd,
            suspects: self.suspects,
            unwanted: self.unwanted,
            disbelieved: self.disbelieved,
            excused: self.excused,
            present: self.present,
            joiner: self.joiner,
            asked: &self.asked,
        }
    }
}

impl Playing {
    /// Looks after the roster. True where turns may go on that could not before.
    pub(super) fn advance_change(&mut self, core: &mut Core) -> bool {
        self.count_votes(core);
        self.watch_peers(core);
        if self.ending.desynced() {
            return false;
        }
        let waited = !self.epochs.allows(self.complete);
        self.take_later_decision(core);
        self.hear_notes(core);
        self.coordinate_if_due(core);
        self.align(core);
        if self.epochs.is_changing() {
            self.tell_roster(core, Input::Look);
            self.hear_notes(core);
        }
        self.begin_epoch(core);
        waited && !self.over && self.epochs.allows(self.complete)
    }

    pub(super) fn change_deadline(&self) -> Option<Duration> {
        let looks = self.stall.is_some()
            || self.epochs.is_changing()
            || self.epochs.is_asked()
            || !self.cheating_voters().is_empty()
            || !self.odd_voters().is_empty()
            || !self.requests.is_empty()
            || !self.replaced(self.watch.at).is_empty()
            || !self.leavers().is_empty()
            || !self.too_slow().is_empty();
        (looks && !self.ending.desynced()).then_some(self.watch.at + LOOK_EVERY)
    }

    /// Takes what came by a link about a roster change.
    pub(super) fn receive_notes(&mut self, core: &mut Core, link: LinkId, notes: Vec<SignedNote>) {
        if notes.len() > NOTES {
            return core.fault(link, Fault::Oversize);
        }
        for signed in notes {
            if usize::from(signed.peer) >= self.members.len() {
                return core.fault(link, Fault::OutOfPlace);
            }
            let Ok(note) = Note::decode(&signed.content) else {
                return core.fault(link, Fault::Garbage);
            };
            let ballot = note.message.ballot();
            let key = key(note.epoch, signed.peer, &note.message);
            if let Some(link) = core.links.get_mut(&link).filter(|_| self.epochs.keeps(key)) {
                let known = link.notes_known.entry(key).or_insert(ballot);
                *known = ballot.max(*known);
            }
            if !self.epochs.is_news(key, ballot) {
                continue;
            }
            let bytes = note_signed_bytes(&self.start, signed.peer, &signed.content);
            let author = self.members[usize::from(signed.peer)].peer.peer;
            let signature = signed.signature.into();
            if !bytes.is_some_and(|bytes| core.signer.verify(author, &bytes, &signature)) {
                if note.epoch > self.epochs.epoch() {
                    core.strange(link);
                    continue;
                }
                return core.fault(link, Fault::Signature);
            }
            let posted = Posted {
                ballot,
                message: note.message,
                note: signed,
                heard: false,
            };
            self.epochs.post(key, posted);
        }
    }

    pub(super) fn receive_decision(&mut self, core: &mut Core, link: LinkId, bytes: &[u8]) {
        let mut reader = Reader::new(bytes);
        let Some(change) = decode_change(&mut reader)
            .ok()
            .filter(|_| reader.end().is_ok())
        else {
            return core.fault(link, Fault::Garbage);
        };
        if let Some(link) = core.links.get_mut(&link) {
            link.epoch = link.epoch.max(Some(change.epoch.saturating_add(1)));
        }
        let epoch = self.epochs.epoch();
        if change.epoch < epoch {
            return;
        }
        if change.epoch > epoch || self.epochs.pending().is_some() {
            // Proved once it is its turn; one of a peer takes the place of another of it, and there are few.
            if change.epoch <= epoch + LATER {
                let from = core.links.get(&link).and_then(|link| link.proved);
                if let Some((from, _)) = from {
                    self.epochs.later.insert((change.epoch, from), change);
                }
            }
            return;
        }
        match self.holds(core, &change) {
            true => self.decided(core, change),
            false => core.fault(link, Fault::Signature),
        }
    }

    fn holds(&self, core: &Core, change: &RosterChange) -> bool {
        let voters = self.epochs.voters().members();
        change.is_decided_by(&self.start, voters, |peer, bytes, signature| {
            core.signer.verify(peer, bytes, signature)
        })
    }

    fn take_later_decision(&mut self, core: &mut Core) {
        if self.epochs.pending().is_some() {
            return;
        }
        let epoch = self.epochs.epoch();
        let of_epoch = self.epochs.later.extract_if(.., |(of, _), _| *of == epoch);
        let told: Vec<RosterChange> = of_epoch.map(|(_, change)| change).collect();
        if let Some(change) = told.into_iter().find(|change| self.holds(core, change)) {
            self.decided(core, change);
        }
    }

    /// Passes on what others lack: notes to the roster, decisions to every peer of the match.
    pub(super) fn send_notes(&self, core: &mut Core) {
        let links: Vec<LinkId> = core.links.keys().copied().collect();
        for id in links {
            let told = self.member_of(core, id);
            let current = told.is_some();
            let told = told.or_else(|| self.past_member(core, id));
            let Some(at) = told.filter(|at| *at != self.me) else {
                continue;
            };
            // Before any note that needs it.
            self.send_proofs(core, id);
            let Some(link) = core.links.get_mut(&id) else {
                continue;
            };
            let decisions = self.epochs.lacking(link);
            let notes = match self.epochs.has(at) && current && link.takes_notes(core.now) {
                true => self.epochs.untold(link),
                false => Vec::new(),
            };
            if !notes.is_empty() {
                link.notes_sent(core.now);
            }
            for change in decisions {
                core.send(id, &Control::Decided(encode_change(&change)));
            }
            if !notes.is_empty() {
                core.send(id, &Control::Roster(notes));
            }
        }
    }

    /// When notes may leave again on a link that others have to wait for.
    pub(super) fn notes_deadline(&self, core: &Core) -> Option<Duration> {
        let waiting = core.links.values().filter(|link| {
            let leads_to = self.member_at(link);
            let other = leads_to.is_some_and(|at| at != self.me && self.epochs.has(at));
            other && !link.takes_notes(core.now) && self.epochs.has_untold(link)
        });
        waiting.map(|link| link.notes_at()).min()
    }

    fn coordinate_if_due(&mut self, core: &mut Core) {
        let turn_of_another = self.alive().lowest() != Some(self.me as u8);
        let decided = self.epochs.pending().is_some();
        if !turn_of_another && !decided {
            self.tell_of_joiners(core);
        }
        let voters = self.epochs.voters();
        let cause = self.epochs.is_changing()
            || !self.leavers().is_empty()
            || !self.cheating_voters().is_empty()
            || self.joiner(core.now).is_some()
            || !self.watch.suspects.or(self.watch.unwanted).is_empty();
        let alone = voters.members().len() == 1 && self.joiner(core.now).is_none();
        let lost = self.watch.suspects.or(self.cheats());
        let lost = !voters.is_quorum(voters.members().without(lost));
        if !cause || turn_of_another || alone || lost || decided {
            return;
        }
        // Others' attempts make this peer wait, but not longer each time: whoever makes many would have it wait for ever.
        let wait = RETRY * self.epochs.attempts.clamp(1, 8);
        let retry = core.now >= self.epochs.attempt_at + wait;
        if retry || !self.epochs.is_changing() {
            self.epochs.attempts += 1;
            self.tell_roster(core, Input::Coordinate);
            self.hear_notes(core);
        }
    }

    fn hear_notes(&mut self, core: &mut Core) {
        while self.epochs.pending().is_none() && !self.over {
            // Who is to go makes no more attempts: each would take the place of one that may decide so.
            let voters = self.epochs.voters().members();
            let asks = match self.sees_cause() {
                true => voters.without(self.watch.unwanted),
                false => Peers::default(),
            };
            let Some((from, message)) = self.epochs.next_unheard(asks, core.now) else {
                return;
            };
            if self.cheats().contains(from) {
                continue;
            }
            if let Message::Promise(promise) = &message {
                self.compare_promise(core, from, promise);
            }
            if let Message::Request(request) = &message {
                self.note_request(core, *request, from);
            }
            if matches!(message, Message::Prepare(_)) {
                self.seal_before_promise(core);
            }
            self.tell_roster(core, Input::Heard(from, message));
        }
    }

    /// Whoever promises seals nothing more in this epoch. Without a batch of it by a quorum nobody attests the log up to
    /// where it began, and whom it has let in, and who votes in it, could not take its place: so the first one is sealed
    /// even if the turn that calls for it is not over.
    fn seal_before_promise(&mut self, core: &mut Core) {
        let newest = self.members[self.me].newest_epoch();
        if newest.is_none_or(|newest| newest < self.epochs.epoch()) {
            self.seal_what_is_due(core);
        }
    }

    /// Two that hold different batches for one turn, or have different logs, find out.
    fn compare_promise(&mut self, core: &mut Core, from: u8, promise: &Promise) {
        let mut differs = u32::MAX;
        for (member, holding) in self.members.iter().zip(&promise.holdings) {
            let turn = holding.until.wrapping_sub(1);
            let own = member
                .batches
                .get(turn)
                .map(|held| newest_hash(&held.signed.content));
            if holding.newest != 0 && own.is_some_and(|own| own != holding.newest) {
                differs = differs.min(turn.saturating_sub(2));
            }
        }
        let ahead = promise.complete.checked_sub(self.complete + 1);
        let ahead = ahead.and_then(|more| self.hashes_ahead(None).get(more as usize).copied());
        if ahead.is_some_and(|own| promise.hashes.first().is_some_and(|told| *told != own)) {
            differs = differs.min(self.complete);
        }
        // Once for each who votes: what it sends then is much.
        let votes = self.epochs.has(usize::from(from));
        if differs != u32::MAX && votes && self.epochs.differs_first(from) {
            self.show(core, differs);
        }
        if usize::from(from) != self.me && self.epochs.has(usize::from(from)) {
            let member = &mut self.members[usize::from(from)];
            let told = promise.hashes.first();
            let told = told.map(|hash| (promise.complete, *hash));
            // Nobody has completed more than this; a lie about it would stay for ever.
            let most = self.complete.saturating_add(RECENT as u32);
            member
                .pending_hashes
                .extend(told.filter(|(turns, _)| *turns <= most));
            self.check_pending_hashes(core);
        }
    }

    pub(super) fn sight(&self, joiner: Option<Joins>) -> Sight {
        let odd = self.evidently_odd();
        let left = self.places(|at| self.members[at].leaves.is_some());
        let excused = self.epochs.unwanted_by_quorum().or(self.cheats()).or(left);
        let suspects = self.watch.suspects.or(self.watch.unwanted);
        let unwanted = self.watch.agreed.or(odd);
        let holdings: Vec<Holding> = self.members.iter().map(|member| member.holding()).collect();
        let present = match self.epochs.had_to_propose() {
            true => Peers::default(),
            false => self
                .heard_lately()
                .without(self.epochs.tell_of_more(&holdings)),
        };
        let present = present.without(suspects.or(unwanted).or(excused));
        Sight {
            holdings,
            complete: self.complete,
            hashes: self.hashes.recent(RECENT),
            ahead: match self.epochs.is_changing() {
                true => self.hashes_ahead(None),
                false => Vec::new(),
            },
            cheats: self.cheats(),
            odd,
            suspects,
            unwanted,
            disbelieved: self.watch.disbelieved,
            excused,
            present,
            joiner,
            asked: self.requests.known(),
        }
    }

    fn tell_roster(&mut self, core: &mut Core, input: Input) {
        let sight = self.sight(self.joiner(core.now));
        for each in self.epochs.roster.handle(input, &sight.view()) {
            match each {
                Do::Say(message) => self.say(core, message),
                Do::Decided(decision) => {
                    let accept = |peer| Some((peer, self.epochs.accept_of(peer, decision.ballot)?));
                    let change = RosterChange {
                        epoch: self.epochs.epoch(),
                        ballot: decision.ballot,
                        value: decision.value,
                        accepts: decision.accepts.iter().filter_map(accept).collect(),
                        proofs: self.proofs_of(decision.value.cheats),
                        reopening: None,
                    };
                    self.decided(core, change);
                }
            }
        }
    }

    pub(super) fn say(&mut self, core: &mut Core, message: Message) {
        let epoch = self.epochs.epoch();
        let me = self.me as u8;
        let content = Note {
            epoch,
            message: message.clone(),
        }
        .encode();
        let bytes = note_signed_bytes(&self.start, me, &content)
            .expect("this peer is in the start's roster");
        let note = SignedNote {
            peer: me,
            content,
            signature: core.signer.sign(&bytes).into(),
        };
        let posted = Posted {
            ballot: message.ballot(),
            message: message.clone(),
            note,
            heard: false,
        };
        self.epochs.post(key(epoch, me, &message), posted);
    }

    fn proofs_of(&self, cheats: Peers) -> Vec<Equivocation> {
        let members = cheats
            .iter()
            .filter_map(|at| self.members.get(usize::from(at)));
        members.filter_map(|member| member.proof.clone()).collect()
    }

    fn decided(&mut self, core: &mut Core, change: RosterChange) {
        // What reopens the match was decided by other runs than this one.
        let reopened = change.reopening.is_some();
        let stays = change.value.roster.contains(self.me as u8) && !reopened;
        let (cut, roster) = (change.value.cut, change.value.roster);
        for proof in &change.proofs {
            self.note_proof(core, proof.clone());
        }
        let goes_back = stays && !change.value.cheats.is_empty();
        let too_far = match goes_back {
            true => !self.undo(core, &change),
            false => stays && self.complete > cut,
        };
        if too_far {
            // No correct peer decides so: whoever stays had told of all that it had completed.
            let side = self.side(
                self.me as u8,
                self.last_checksum,
                Some(self.hashes.newest()),
            );
            return self.desync(core, cut, vec![side]);
        }
        let goes = self.epochs.voters().members().without(roster);
        self.tell_joiner(core, &change);
        let value = change.value;
        self.epochs.decide(change);
        self.others.look_anew();
        if !value.odd.is_empty() {
            self.others_go_without(core, value);
        }
        if !stays && (reopened || self.leaving.is_none()) {
            self.give_up_stall(core.now);
            self.ending.be_removed(core.now);
        }
        if stays {
            for at in goes.iter() {
                self.members[usize::from(at)].cut_off(cut, core.now);
            }
        }
    }

    /// Begins the next epoch, once all turns of this one are complete.
    pub(super) fn begin_epoch(&mut self, core: &mut Core) {
        let before = self.epochs.voters().members();
        let Some(change) = self.epochs.begin_next(self.complete, core.now) else {
            return;
        };
        let alike = |hash| hash == self.hashes.newest();
        if !change.value.log_hash.is_none_or(alike) {
            let own = Some(self.hashes.newest());
            let side = self.side(self.me as u8, self.last_checksum, own);
            return self.desync(core, change.value.cut, vec![side]);
        }
        // All who begin it have one log.
        self.dispute.take_if(|_| change.value.log_hash.is_some());
        if !change.value.cheats.is_empty() {
            self.forget_disputes();
        }
        self.others.begin_epoch();
        self.ending.stay();
        let goes = before.without(change.value.roster);
        // Of who left before, the log says so already.
        let removed: Peers = goes
            .iter()
            .filter(|at| self.members[usize::from(*at)].left_from.is_none())
            .collect();
        self.course.close(&self.seats_of(removed));
        for at in removed.and(change.value.left).iter() {
            let peer = &self.members[usize::from(at)].peer;
            core.event(Event::Left {
                peer: peer.peer,
                seats: peer.seats.clone(),
                turn: TurnNumber(change.value.cut),
            });
        }
        for at in goes.iter() {
            let member = &mut self.members[usize::from(at)];
            member.left_from = member.left_from.or(Some(change.value.cut));
            // What it said of turns that only it had is not about this log.
            member.pending_hashes.clear();
            self.checksums
                .forget_after(usize::from(at), change.value.cut);
        }
        self.note_odd(core, change.value, goes);
        self.keep_debts(removed, core.now);
        let still_in = self.epochs.has(self.me);
        if let Some(leaving) = self.leaving.as_mut().filter(|_| still_in) {
            // The others could not decide on it before.
            leaving.since = core.now;
        }
        self.course.begin_epoch();
        self.readmit(core, &change);
        let hash = self.epochs.chained.unwrap_or(self.hashes.newest());
        self.epochs.chained = Some(roster_hash(hash, &change));
        let gone = self.gone_by(&change, goes, removed);
        core.event(Event::RosterChanged {
            turn: TurnNumber(change.value.cut),
            epoch: self.epochs.epoch(),
            seats: self.seats_of(change.value.roster),
            back: self.seats_of(change.value.roster.without(before)),
            cause: change.cause(&gone),
            gone,
        });
        self.epochs.unlogged.push_back(change);
        self.agree(core);
    }

    /// Those of `goes`, by why: whoever is not in `removed` had left by itself.
    pub(super) fn gone_by(&self, change: &RosterChange, goes: Peers, removed: Peers) -> Vec<Gone> {
        let gone = change.gone(goes, removed).into_iter();
        let gone = gone.map(|(cause, peers)| Gone {
            cause,
            seats: self.seats_of(peers),
        });
        gone.collect()
    }

    pub(super) fn seats_of(&self, peers: Peers) -> Vec<Seat> {
        let members = peers
            .iter()
            .filter_map(|at| self.members.get(usize::from(at)));
        let mut seats: Vec<Seat> = members
            .flat_map(|member| member.peer.seats.iter().copied())
            .collect();
        seats.sort_unstable();
        seats
    }
}

/// The beginning of the hash of a batch's content.
pub(super) fn newest_hash(content: &[u8]) -> u64 {
    let hash = blake3::hash(content);
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_le_bytes(first)
}
