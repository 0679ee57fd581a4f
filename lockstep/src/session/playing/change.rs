//! The roster change as a match runs it: whom to suspect, when to begin, what is said to whom, and what a decision does.

use super::Playing;
use super::epochs::{Posted, key};
use super::presence::GAP;
use crate::encoding::Reader;
use crate::log::{Equivocation, RosterChange, decode_change, encode_change, roster_hash};
use crate::session::core::Core;
use crate::session::roster::{
    Do, Holding, Input, Message, Note, Peers, Promise, RECENT, View, note_signed_bytes,
};
use crate::session::wire::{Control, SignedNote};
use crate::{Event, Fault, LinkId, RosterCause, TurnNumber};
use sim::Seat;
use std::time::Duration;

/// For so long a peer may block turns although it is heard, all told; it is given back a tenth of the time that passes.
pub(crate) const STALL_BUDGET: Duration = Duration::from_secs(10);
/// An attempt to decide that has come to nothing is followed by another, the second after twice this time, and so on.
const RETRY: Duration = Duration::from_secs(1);
/// While turns wait, suspicions are looked at this often.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Decisions of so many epochs to come are kept, of each peer of the match, until they can be proved: no fewer than
/// are sent at once, for they are not sent again.
const LATER: u32 = 64;
/// Notes and decisions in one message, at most.
const NOTES: usize = 64;

/// Who is suspected.
pub(super) struct Watch {
    suspicion: Duration,
    at: Duration,
    suspects: Peers,
    unwanted: Peers,
    told_no_quorum: bool,
}

impl Watch {
    pub(super) fn new(suspicion: Duration, now: Duration) -> Self {
        Watch {
            suspicion,
            at: now,
            suspects: Peers::default(),
            unwanted: Peers::default(),
            told_no_quorum: false,
        }
    }

    /// Nothing was seen up to this time.
    pub(super) fn skip(&mut self, now: Duration) {
        self.at = now;
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
            || !self.requests.is_empty()
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
                // Another run of its process may speak in an epoch that this peer has not come to.
                if note.epoch > self.epochs.epoch() {
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
            self.epochs.post(key, posted, core.now);
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
            let told = self.member_of(core, id).or(self.past_member(core, id));
            let Some(at) = told.filter(|at| *at != self.me) else {
                continue;
            };
            // Before any note that needs it.
            self.send_proofs(core, id);
            let current = self.member_of(core, id).is_some();
            let Some(link) = core.links.get_mut(&id) else {
                continue;
            };
            let decisions = self.epochs.lacking(link);
            let notes = match self.epochs.has(at) && current {
                true => self.epochs.untold(link),
                false => Vec::new(),
            };
            for change in decisions {
                core.send(id, &Control::Decided(encode_change(&change)));
            }
            if !notes.is_empty() {
                core.send(id, &Control::Roster(notes));
            }
        }
    }

    /// Peers of the roster whose leaving is in the log.
    fn leavers(&self) -> Peers {
        self.places(|at| self.members[at].left_from.is_some())
    }

    fn places(&self, of: impl Fn(usize) -> bool) -> Peers {
        let members = self.epochs.voters().members().iter();
        members.filter(|at| of(usize::from(*at))).collect()
    }

    /// The peers that the next turn, or the change, waits for.
    pub(super) fn blockers(&self) -> Peers {
        let me: Peers = std::iter::once(self.me as u8).collect();
        let waited_for = if self.epochs.is_changing() {
            let alive = self.alive();
            match self.epochs.roster.coordinates() {
                Some(_) => self
                    .epochs
                    .voters()
                    .members()
                    .without(self.epochs.roster.answered().or(self.cheats())),
                None => alive.lowest().into_iter().collect(),
            }
        } else if self.stall.is_some() {
            let missing = self.places(|at| !self.members[at].has(self.complete));
            missing.or(self.unanswering())
        } else {
            Peers::default()
        };
        waited_for.without(me)
    }

    /// Those who may coordinate. Who has said that it leaves does not, even if its last turn is not complete.
    fn alive(&self) -> Peers {
        let leaves = self.places(|at| self.members[at].leaves.is_some());
        let gone = self.watch.suspects.or(self.watch.unwanted).or(leaves);
        let gone = gone.or(self.cheats());
        self.epochs.voters().members().without(gone)
    }

    fn watch_peers(&mut self, core: &mut Core) {
        let now = core.now;
        let passed = now.saturating_sub(self.watch.at);
        self.watch.at = now;
        self.look_at_links(core);
        let blockers = self.blockers();
        let stalls_for = self
            .stall
            .as_ref()
            .map(|stall| now.saturating_sub(stall.since));
        let silent = self.places(|at| {
            let member = &self.members[at];
            at != self.me && member.heard_at + self.watch.suspicion <= now
        });
        let unheard = self.places(|at| {
            let member = &self.members[at];
            // Nobody waits longer for who has said that it leaves.
            let longer = match member.leaves {
                Some(_) => Duration::ZERO,
                None => self.longer(),
            };
            let unheard =
                member.restarted || member.heard_at + self.watch.suspicion + longer <= now;
            unheard && at != self.me
        });
        // Silence alone is no reason to begin. Once there is one, nobody waits for who is silent.
        let begun = self.epochs.is_changing()
            || !self.leavers().is_empty()
            || !self.cheating_voters().is_empty();
        let suspects = match begun || !unheard.and(blockers).is_empty() {
            true => unheard,
            false => Peers::default(),
        };
        // Where nobody can decide anything, nobody is to blame for turns that wait for that.
        let voters = self.epochs.voters();
        let lost = !voters.is_quorum(voters.members().without(suspects));
        // Who is waited for by a vote pays nothing for it, and who coordinates the others nothing for that one.
        let forgiven = stalls_for.is_some_and(|passed| passed < self.longer())
            || !silent.without(suspects).is_empty();
        for (at, member) in self.members.iter_mut().enumerate() {
            let blocks = blockers.contains(at as u8) && !suspects.contains(at as u8) && !lost;
            member.blocked = match blocks {
                true if forgiven => member.blocked,
                true => member.blocked + passed.min(GAP),
                false => member.blocked.saturating_sub(passed / 10),
            };
        }
        let late = self.places(|at| self.members[at].blocked >= STALL_BUDGET);
        let me: Peers = std::iter::once(self.me as u8).collect();
        let unwanted = late.or(self.too_slow().without(me));
        let known = self.watch.suspects.or(self.watch.unwanted);
        for at in suspects.or(unwanted).without(known).iter() {
            let member = &self.members[usize::from(at)];
            core.event(Event::Suspected {
                peer: member.peer.peer,
                seats: member.peer.seats.clone(),
                unheard: now.saturating_sub(member.heard_at),
            });
        }
        self.watch.suspects = suspects;
        self.watch.unwanted = unwanted;
        self.tell_no_quorum(core, lost);
    }

    /// The peer that has slowed the match down for longer than it may, where the others can go on without it.
    fn too_slow(&self) -> Peers {
        let voters = self.epochs.voters();
        let slow = self.course.too_slow();
        let slow =
            self.places(|at| slow.is_some_and(|seat| self.members[at].peer.seats.contains(&seat)));
        match voters.is_quorum(voters.members().without(slow)) {
            true => slow,
            false => Peers::default(),
        }
    }

    fn tell_no_quorum(&mut self, core: &mut Core, lost: bool) {
        let told = std::mem::replace(&mut self.watch.told_no_quorum, lost);
        if lost && !told {
            core.event(Event::NoQuorum {
                turn: TurnNumber(self.complete),
                missing: self.seats_of(self.watch.suspects),
            });
        }
    }

    /// Whether so many peers are lost that the others cannot decide to go on without them.
    pub(super) fn has_no_quorum(&self) -> bool {
        self.watch.told_no_quorum
    }

    /// Whether this peer has a reason of its own to freeze when it is asked to.
    fn sees_cause(&self) -> bool {
        let leaves = |at: usize| self.members[at].leaves.is_some();
        self.stall.is_some()
            || self.epochs.is_changing()
            || !self.too_slow().is_empty()
            || !self.places(leaves).is_empty()
            || !self.cheating_voters().is_empty()
            || self.leaving.is_some()
            || !self.requests.is_empty()
            || !self.wants_turns()
    }

    fn coordinate_if_due(&mut self, core: &mut Core) {
        let voters = self.epochs.voters();
        let cause = self.epochs.is_changing()
            || !self.leavers().is_empty()
            || !self.cheating_voters().is_empty()
            || self.joiner(core.now).is_some()
            || !self.watch.suspects.or(self.watch.unwanted).is_empty();
        let turn_of_another = self.alive().lowest() != Some(self.me as u8);
        let alone = voters.members().len() == 1 && self.joiner(core.now).is_none();
        let lost = self.watch.suspects.or(self.cheats());
        let lost = !voters.is_quorum(voters.members().without(lost));
        let decided = self.epochs.pending().is_some();
        if !cause || turn_of_another || alone || lost || decided {
            return;
        }
        let roster = &self.epochs.roster;
        let retry = core.now >= self.epochs.attempt_at + RETRY * roster.round().clamp(1, 8);
        if retry || !self.epochs.is_changing() {
            self.tell_roster(core, Input::Coordinate);
            self.hear_notes(core);
        }
    }

    fn hear_notes(&mut self, core: &mut Core) {
        while self.epochs.pending().is_none() && !self.over {
            let cause = self.sees_cause();
            let Some((from, message)) = self.epochs.next_unheard(cause) else {
                return;
            };
            if self.cheats().contains(from) {
                continue;
            }
            if let Message::Promise(promise) = &message {
                self.compare_promise(core, from, promise);
            }
            if let Message::Request(request) = &message {
                self.note_request(core, *request);
            }
            self.tell_roster(core, Input::Heard(from, message));
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
        // Once for each who votes: what it sends then is much.
        let votes = self.epochs.has(usize::from(from));
        if differs != u32::MAX && votes && self.epochs.differs_first(from) {
            self.show(core, differs);
        }
        if usize::from(from) != self.me && self.epochs.has(usize::from(from)) {
            let member = &mut self.members[usize::from(from)];
            let told = promise.hashes.first();
            let told = told.map(|hash| (promise.complete, *hash));
            member.pending_hashes.extend(told);
            self.check_pending_hashes(core);
        }
    }

    fn tell_roster(&mut self, core: &mut Core, input: Input) {
        let holdings: Vec<Holding> = self.members.iter().map(|member| member.holding()).collect();
        let hashes = self.hashes.recent(RECENT);
        let view = View {
            holdings: &holdings,
            complete: self.complete,
            hashes: &hashes,
            cheats: self.cheats(),
            suspects: self.watch.suspects.or(self.watch.unwanted),
            unwanted: self.watch.unwanted,
            joiner: self.joiner(core.now),
            asked: self.requests.known(),
        };
        for each in self.epochs.roster.handle(input, &view) {
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
        self.epochs.post(key(epoch, me, &message), posted, core.now);
    }

    fn proofs_of(&self, cheats: Peers) -> Vec<Equivocation> {
        let members = cheats
            .iter()
            .filter_map(|at| self.members.get(usize::from(at)));
        members.filter_map(|member| member.proof.clone()).collect()
    }

    fn decided(&mut self, core: &mut Core, change: RosterChange) {
        let stays = change.value.roster.contains(self.me as u8);
        let (cut, roster) = (change.value.cut, change.value.roster);
        for proof in &change.proofs {
            self.note_proof(core, proof.clone());
        }
        let goes_back = stays && change.value.log_hash.is_some();
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
        self.epochs.decide(change);
        if !stays && self.leaving.is_none() {
            self.stall = None;
            self.ending.be_removed(core.now);
        }
        if stays {
            for at in goes.iter() {
                self.members[usize::from(at)].cut_off(cut);
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
        self.dispute.take_if(|_| !change.value.cheats.is_empty());
        let goes = before.without(change.value.roster);
        // Of who left before, the log says so already.
        let removed: Peers = goes
            .iter()
            .filter(|at| self.members[usize::from(*at)].left_from.is_none())
            .collect();
        self.course.close(&self.seats_of(removed));
        for at in goes.iter() {
            let member = &mut self.members[usize::from(at)];
            member.left_from = member.left_from.or(Some(change.value.cut));
            // What it said of turns that only it had is not about this log.
            member.pending_hashes.clear();
            self.checksums
                .forget_after(usize::from(at), change.value.cut);
        }
        self.members
            .iter_mut()
            .for_each(|member| member.blocked = Duration::ZERO);
        self.course.begin_epoch();
        self.readmit(core, &change);
        self.watch.suspects = Peers::default();
        self.watch.unwanted = Peers::default();
        self.watch.told_no_quorum = false;
        let hash = self.epochs.chained.unwrap_or(self.hashes.newest());
        self.epochs.chained = Some(roster_hash(hash, &change));
        core.event(Event::RosterChanged {
            turn: TurnNumber(change.value.cut),
            epoch: self.epochs.epoch(),
            seats: self.seats_of(change.value.roster),
            gone: self.seats_of(goes),
            cause: match (removed.is_empty(), goes.is_empty(), change.value.joins) {
                _ if !change.value.cheats.is_empty() => RosterCause::Cheated,
                (false, ..) => RosterCause::Lost,
                (true, false, _) => RosterCause::Left,
                (true, true, Some(_)) => RosterCause::Rejoined,
                (true, true, None) => RosterCause::FalseAlarm,
            },
        });
        self.epochs.unlogged.push_back(change);
        self.agree(core);
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

    /// Who was heard, and whose process has another run: one may be at the other end of a link that was up before this
    /// peer came back itself, too.
    fn look_at_links(&mut self, core: &Core) {
        for link in core.links.values() {
            let (Some(at), Some((_, run))) = (self.leads_to(link), link.proved) else {
                continue;
            };
            let member = &mut self.members[at];
            member.heard_at = member.heard_at.max(link.heard_at);
            member.restarted |= run != member.peer.incarnation && !member.past.contains(&run);
        }
    }
}

/// The beginning of the hash of a batch's content.
pub(super) fn newest_hash(content: &[u8]) -> u64 {
    let hash = blake3::hash(content);
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_le_bytes(first)
}
