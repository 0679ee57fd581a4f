//! This peer's part in a roster change: what it sees around it, when it coordinates, and what it is told.

use super::paxos::{
    Effect, Holding, Input, Message, Peers, Promise, RECENT, Readmission, View, can_do_without,
    first_of_hash, is_unlike,
};
use super::vote_log::{DOUBTED_AFTER, Delivering};
use super::{Membership, Surroundings};
use crate::LogHash;
use crate::log::{Accepted, RosterChange, Value};
use crate::session::facts::Fact;
use crate::session::ledger::{Batches, Ledger};
use crate::sign::Signer;
use std::time::Duration;

/// An attempt with a single follower holds that peer up for so long.
const UNFOLLOWED: Duration = DOUBTED_AFTER;

/// What follows from a part in a roster change, in order.
pub(crate) enum Action {
    /// All peers of the match are to hold this vote.
    Broadcast(Fact),
    /// The store is to hold this accept, with the turns up to its cut: under this number the accept is cast then.
    Sync(u64, Accepted),
    /// It is decided. Proofs are still to be added.
    Decided(RosterChange),
}

/// What is seen around this peer.
pub(super) struct Observations {
    holdings: Vec<Holding>,
    complete: u32,
    hashes: Vec<LogHash>,
    suspects: Peers,
    unwanted: Peers,
    kept: Peers,
    pub(super) withholding: Peers,
    excused: Peers,
    pub(super) present: Peers,
    joiner: Option<Readmission>,
    asked: Vec<Readmission>,
}

impl Membership {
    pub(super) fn observe(
        &self,
        joiner: Option<Readmission>,
        around: &Surroundings,
        ledger: &Ledger,
    ) -> Observations {
        let voters = self.epochs.voters();
        let left = ledger.batches.leaving().and(voters.members());
        let excused = self.votes.unwanted_by_quorum(voters);
        let excused = excused.or(around.cheats).or(left);
        let suspects = self.suspicion.suspects.or(self.suspicion.to_remove);
        let unwanted = self.suspicion.agreed.or(around.evident_minority);
        let holdings = holdings(ledger);
        let proposed = self.epochs.paxos.proposed();
        let had_to = proposed.is_some_and(|proposed| self.votes.had_to_propose(*proposed));
        let mut seen = Observations {
            holdings,
            complete: ledger.window.complete(),
            hashes: ledger.window.recent(RECENT),
            suspects,
            unwanted,
            kept: self.suspicion.kept(),
            withholding: Peers::default(),
            excused,
            present: Peers::default(),
            joiner,
            asked: self.readmission.known(),
        };
        let withholding = self.suspicion.withholding;
        if !withholding.is_empty() {
            seen.withholding = withholding.and(self.long_owing(&self.view(&seen, around)));
        }
        if !had_to {
            let heard = self.suspicion.heard_lately(voters, ledger.places.me());
            let present = heard.without(suspects.or(unwanted).or(excused));
            // Where batches are only late, a coordinator alone removes no peer that tells of them.
            seen.present = present.without(self.votes.doubted_for(DOUBTED_AFTER));
        }
        seen
    }

    fn view<'a>(&self, seen: &'a Observations, around: &'a Surroundings) -> View<'a> {
        View {
            holdings: &seen.holdings,
            complete: seen.complete,
            hashes: &seen.hashes,
            ahead: &around.ahead,
            cheats: around.cheats,
            evident_minority: around.evident_minority,
            minority: around.minority,
            suspects: seen.suspects,
            unwanted: seen.unwanted,
            kept: seen.kept,
            withholding: seen.withholding,
            excused: seen.excused,
            present: seen.present,
            joiner: seen.joiner,
            asked: &seen.asked,
        }
    }

    /// The voters with promises of batches, leavers or values that this peer cannot see.
    fn doubted(&self, view: &View<'_>) -> Peers {
        let doubts = |promise: &_| self.epochs.paxos.doubts(promise, view);
        self.votes.promised(doubts)
    }

    /// The peers that the next turn, or the change, waits for. A coordinator charges silent voters no earlier than others do.
    pub(crate) fn blockers(&self, around: &Surroundings, ledger: &Ledger, now: Duration) -> Peers {
        let waited_for = if self.epochs.is_changing() {
            match self.epochs.paxos.coordinates() {
                Some(_) => {
                    let answered = self.epochs.paxos.answered().or(around.cheats);
                    let silent = self.epochs.voters().members().without(answered);
                    // A peer that would not begin a change itself has had its time to answer.
                    let silent = match self.votes.has_just_begun(now) {
                        true => silent.and(self.suspicion.passed_over.or(self.votes.owed(self.me))),
                        false => silent,
                    };
                    silent.or(self.unproved(around, ledger))
                }
                None => self.waits_for_coordinator(around, ledger, now),
            }
        } else if around.stalled_since.is_some() {
            self.waits_for_turn(around, ledger)
        } else {
            Peers::default()
        };
        waited_for.without(ledger.places.own())
    }

    /// The peers that the next turn waits for. Where some are to go, it waits for a change, and so for the peer that is to
    /// begin that: its attempt may never come.
    fn waits_for_turn(&self, around: &Surroundings, ledger: &Ledger) -> Peers {
        let complete = ledger.window.complete();
        let missing = self.voting(|at| !ledger.batches.has(at, complete));
        let waits = match self.due_coordinator(around, ledger) {
            Some(first) => {
                let gone = missing.and(self.to_go(around, ledger));
                gone.or(std::iter::once(first).collect())
            }
            None => missing,
        };
        let (_, holders) = self.held(around, ledger);
        waits.or(holders).or(self.unresponsive(&ledger.places))
    }

    /// The voters that turns wait for as they have promised in an attempt of another peer, which this peer does not follow;
    /// and the peers that have begun these.
    pub(super) fn held(&self, around: &Surroundings, ledger: &Ledger) -> (Peers, Peers) {
        if self.epochs.is_changing() || around.stalled_since.is_none() {
            return Default::default();
        }
        let complete = ledger.window.complete();
        let missing = self.voting(|at| !ledger.batches.has(at, complete));
        let promised = self.epochs.paxos.promised();
        // A peer that has left, or was removed, pays for no other one.
        let voters = self.epochs.voters().members();
        let holders = missing.iter().filter_map(|at| {
            let holder = self.votes.held_by(at, promised);
            Some((at, holder.filter(|of| *of != at && voters.contains(*of))?))
        });
        let (held, holders): (Vec<u8>, Vec<u8>) = holders.unzip();
        (held.into_iter().collect(), holders.into_iter().collect())
    }

    /// The peer that is to begin a change, where it must know that others are to go. It may learn of a minority much later
    /// than this peer. A cheat may keep a proof from a peer that no link leads to.
    fn due_coordinator(&self, around: &Surroundings, ledger: &Ledger) -> Option<u8> {
        let to_go = self.to_go(around, ledger).without(around.minority);
        if to_go.is_empty() || self.has_lost(around) {
            return None;
        }
        let lost = self.suspicion.suspects.or(self.suspicion.to_remove);
        let first = self.first_in_turn(around, ledger)?;
        let knows = !lost.and(to_go).is_empty() || self.suspicion.is_linked(first);
        knows.then_some(first)
    }

    /// Looks for voters with promises that this peer cannot follow, and since when there are any.
    pub(super) fn watch_doubts(&mut self, around: &Surroundings, ledger: &Ledger) {
        if self.votes.promised(|_| true).is_empty() {
            return;
        }
        let seen = self.observe(None, around, ledger);
        let doubted = self.doubted(&self.view(&seen, around));
        self.votes.note_doubted(doubted, around.now);
    }

    /// Looks whether it is still the turn of the peer that is to begin a change.
    pub(super) fn watch_succession(&mut self, around: &Surroundings, ledger: &Ledger) {
        let due = self.due_coordinator(around, ledger);
        let removes = !around.minority_due.is_empty() && !self.has_lost(around);
        let first = self.first_in_turn(around, ledger);
        let unaware = first.filter(|first| removes && around.unaware_of_minority.contains(*first));
        // Nor may the first peer in turn know of a voter that a single attempt holds.
        let asks = first.filter(|_| !self.frozen_alone(around, ledger).is_empty());
        let due = due.or(unaware).or(asks);
        let due = due.filter(|first| !self.epochs.is_changing() && *first != self.me);
        self.suspicion.note_turn(due, self.epochs.is_changing());
    }

    /// The peer that is to begin a change.
    fn first_in_turn(&self, around: &Surroundings, ledger: &Ledger) -> Option<u8> {
        let alive = self.alive(around, ledger);
        alive.without(self.suspicion.passed_over).lowest()
    }

    /// The peers to name while a change is waited for, as they were last looked at. At the beginning of an attempt none of
    /// them is late, and yet it waits for their answers.
    pub(crate) fn known_blockers(&self, around: &Surroundings, ledger: &Ledger) -> Peers {
        let blockers = self.blockers(around, ledger, self.suspicion.at);
        let gone = self.suspicion.suspects.or(self.suspicion.to_remove);
        let others = self.epochs.voters().members();
        let others = others.without(gone.or(ledger.places.own()));
        let silent = others.without(self.epochs.paxos.answered());
        let mut named = [blockers, silent, others].into_iter();
        named.find(|peers| !peers.is_empty()).unwrap_or_default()
    }

    /// The peers that a change of another coordinator waits for: the coordinator with this peer's promise, whether or not
    /// it was its turn. While the coordinator waits itself, the peers that have not answered it, or that tell of batches which
    /// this peer lacks as well. At first they cannot have: a peer that begins attempt after attempt waits for
    /// none.
    fn waits_for_coordinator(
        &self,
        around: &Surroundings,
        ledger: &Ledger,
        now: Duration,
    ) -> Peers {
        let alive = self.alive(around, ledger);
        let promised = self.epochs.paxos.promised();
        let promised = promised.filter(|ballot| alive.contains(ballot.peer));
        let Some(ballot) = promised.filter(|ballot| ballot.peer != self.me) else {
            let first = self.first_in_turn(around, ledger);
            if first != Some(self.me) {
                return first.into_iter().collect();
            }
            // It is this peer's turn: it waits for those that begin later rounds than its own.
            let own = self.epochs.paxos.begun().map_or(0, |own| own.round);
            return self.votes.begun_after(own);
        };
        if self.must_find_out(around) {
            return Peers::default();
        }
        let gone = self.suspicion.suspects.or(self.suspicion.to_remove);
        let answered = self.votes.promised_in(ballot, ledger.places.len());
        let answered = answered.or(around.cheats);
        let silent = self.epochs.voters().members().without(answered);
        let seen = self.observe(None, around, ledger);
        let owing = silent.or(self.doubted(&self.view(&seen, around)));
        let owing = owing.without(gone);
        let coordinator = std::iter::once(ballot.peer).collect();
        let overdue = self.suspicion.passed_over.or(self.votes.owed(ballot.peer));
        let overdue = silent.and(overdue).without(gone);
        match self.votes.has_just_begun(now) || owing.is_empty() {
            true if overdue.is_empty() => coordinator,
            true => overdue,
            // Peers with a little less time left for it do not answer it any more.
            false if self.suspicion.has_little_left(ballot.peer) => owing.or(coordinator),
            false => owing,
        }
    }

    /// Whether the change waits for this peer: what is proposed removes a peer that attests another log, and the coordinator
    /// may have been in reach of that peer, and this one not.
    fn must_find_out(&self, around: &Surroundings) -> bool {
        let proposed = self.epochs.paxos.proposed();
        let goes = proposed.map(|(_, value)| around.disputed.without(value.stay()));
        goes.is_some_and(|goes| !goes.is_empty())
    }

    /// Peers that owe this peer, the coordinator, batches that their promises told of.
    pub(super) fn unproved(&self, around: &Surroundings, ledger: &Ledger) -> Peers {
        let paxos = &self.epochs.paxos;
        if paxos.begun().is_none() {
            return Peers::default();
        }
        let seen = self.observe(None, around, ledger);
        paxos.unproved(&self.view(&seen, around))
    }

    /// Peers that owe this peer, the coordinator, what their newest promises tell of, for so long that the others doubt these
    /// as well; and those that tell it of another log.
    pub(super) fn owing(&self, around: &Surroundings, ledger: &Ledger) -> Peers {
        if self.epochs.paxos.begun().is_none() {
            return Peers::default();
        }
        let seen = self.observe(None, around, ledger);
        self.long_owing(&self.view(&seen, around))
    }

    fn long_owing(&self, view: &View<'_>) -> Peers {
        let unlike = self.votes.promised(|promise| is_unlike(promise, view));
        unlike.or(self.votes.doubted_for(DOUBTED_AFTER * 2))
    }

    /// Peers that may coordinate. A peer that has said that it leaves does not, even if its last turn is not complete; nor
    /// does a peer that a quorum wants to go.
    fn alive(&self, around: &Surroundings, ledger: &Ledger) -> Peers {
        let gone = self.unwanted().or(ledger.batches.leaving());
        let gone = gone.or(around.cheats).or(around.minority);
        self.epochs.voters().members().without(gone)
    }

    /// Whether this peer has a reason of its own to freeze when it is asked to.
    fn sees_cause(&self, around: &Surroundings, ledger: &Ledger) -> bool {
        let peers = ledger.batches.leaving();
        let peers = peers.or(around.cheats).or(around.minority);
        around.stalled_since.is_some()
            || self.epochs.is_changing()
            || !self.too_slow(around, ledger).is_empty()
            || !peers.and(self.epochs.voters().members()).is_empty()
            || !self.replaced(self.suspicion.at, ledger).is_empty()
            || around.is_leaving
            || !self.readmission.is_empty()
            || !around.wants_turns
    }

    /// The joiner that is to be admitted next. None is admitted behind the end, and a joiner knows nothing of why another peer
    /// is to go.
    fn joiner(&self, around: &Surroundings, ledger: &Ledger) -> Option<Readmission> {
        let minority = around.minority.and(self.epochs.voters().members());
        if around.has_ended || !is_cut_attestable(around, ledger) || !minority.is_empty() {
            return None;
        }
        let complete = ledger.window.complete();
        self.readmission.next(around.plan, complete, around.now)
    }

    /// The voters that a change is to remove.
    fn to_go(&self, around: &Surroundings, ledger: &Ledger) -> Peers {
        let reasons = ledger.batches.gone().or(around.cheats);
        let reasons = reasons.and(self.epochs.voters().members());
        reasons.or(self.unwanted())
    }

    /// The voters that this peer suspects or would remove, and those that a quorum wants to go.
    fn unwanted(&self) -> Peers {
        let lost = self.suspicion.suspects.or(self.suspicion.to_remove);
        lost.or(self.votes.still_unwanted(self.epochs.voters()))
    }

    /// Whether too few voters are left to decide a change.
    fn has_lost(&self, around: &Surroundings) -> bool {
        let lost = self.suspicion.suspects.or(around.cheats);
        !can_do_without(lost, self.epochs.voters(), self.epochs.only_end())
    }

    /// Coordinates, where it is this peer's turn and there is a reason. Whether it has begun an attempt.
    pub(crate) fn coordinate(
        &mut self,
        around: &Surroundings,
        ledger: &Ledger,
        signer: &dyn Signer,
    ) -> (Vec<Action>, bool) {
        let turn_of_another = self.first_in_turn(around, ledger) != Some(self.me);
        let decided = self.epochs.pending().is_some();
        if turn_of_another || decided {
            return (Vec::new(), false);
        }
        let mut actions = self.broadcast_join_requests(around, ledger, signer);
        let joiner = self.joiner(around, ledger);
        let to_go = self.to_go(around, ledger);
        self.votes.note_to_go(to_go);
        let cause = self.epochs.is_changing()
            || joiner.is_some()
            || !to_go.is_empty()
            || !self.frozen_alone(around, ledger).is_empty();
        let alone = self.epochs.voters().members().len() == 1 && joiner.is_none();
        // An attempt of a peer that a quorum wants to go comes to nothing.
        let unwanted = self.votes.still_unwanted(self.epochs.voters());
        let promised = self.epochs.paxos.promised();
        let is_vain = promised.is_some_and(|ballot| unwanted.contains(ballot.peer));
        let to_remove = self.suspicion.to_remove;
        let due = self.votes.is_retry_due(to_remove, around.now)
            || is_vain && !self.votes.has_just_begun(around.now)
            || !self.epochs.is_changing();
        let begins = cause && !alone && !self.has_lost(around) && due;
        if begins {
            self.votes.count_attempt();
            actions.extend(self.handle(Input::Coordinate, around, ledger, signer));
        }
        (actions, begins)
    }

    /// Voters that a single attempt has held for long: a hostile peer may begin one with one other peer. A change with all
    /// voters ends that.
    fn frozen_alone(&self, around: &Surroundings, ledger: &Ledger) -> Peers {
        let long = around.stalled_since.map(|since| since + UNFOLLOWED);
        if long.is_none_or(|long| around.now < long) {
            return Peers::default();
        }
        // A promise that is not taken up yet is too far ahead: it would outrank an attempt of this peer, too.
        let promised = self.epochs.paxos.promised();
        let (held, _) = self.held(around, ledger);
        held.and(self.votes.promised_after(promised))
    }

    /// Tells all of joiners that follow and have reached only others: what is proposed is accepted by the peers that were
    /// told of it.
    fn broadcast_join_requests(
        &mut self,
        around: &Surroundings,
        ledger: &Ledger,
        signer: &dyn Signer,
    ) -> Vec<Action> {
        let complete = ledger.window.complete();
        let untold = self.readmission.untold(around.plan, complete, around.now);
        let told = untold.into_iter().map(|request| {
            Action::Broadcast(self.tell_request(request, around.now, &ledger.places, signer))
        });
        told.collect()
    }

    /// Looks whether what was seen since allows the next step.
    pub(crate) fn look(
        &mut self,
        around: &Surroundings,
        ledger: &Ledger,
        signer: &dyn Signer,
    ) -> Vec<Action> {
        self.handle(Input::Recheck, around, ledger, signer)
    }

    /// Whether there may be a vote to deliver.
    pub(crate) fn has_undelivered(&self) -> bool {
        self.epochs.pending().is_none() && self.votes.has_undelivered()
    }

    /// The next vote that this peer's part in the agreement is to be told of, and its author.
    pub(crate) fn next_undelivered(
        &mut self,
        around: &Surroundings,
        ledger: &Ledger,
    ) -> Option<(u8, Message)> {
        if self.epochs.pending().is_some() {
            return None;
        }
        // A peer that is to go makes no more attempts: each would take the place of one that may decide so. Where a quorum has
        // answered one, it has that place: to refuse it would only leave this peer out of the next roster.
        let unwanted = self.votes.still_unwanted(self.epochs.voters());
        let voters = self.epochs.voters();
        let late = self.suspicion.late.iter();
        let answered = late.filter(|of| {
            let peers = ledger.places.len();
            self.votes.is_answered_by_quorum(*of, voters, peers)
        });
        let refused = self.suspicion.to_remove.without(answered.collect());
        let asks = match self.sees_cause(around, ledger) {
            true => voters.members().without(refused.or(unwanted)),
            false => Peers::default(),
        };
        self.votes.next_undelivered(&Delivering {
            voters,
            asks,
            in_turn: self.first_in_turn(around, ledger),
            now: around.now,
        })
    }

    /// Tells this peer's part in the agreement of a vote.
    pub(crate) fn deliver(
        &mut self,
        from: u8,
        message: Message,
        around: &Surroundings,
        ledger: &Ledger,
        signer: &dyn Signer,
    ) -> Vec<Action> {
        if let Message::Request(_, request) = &message {
            self.note_request(*request, Some(from), around, ledger, signer);
        }
        self.handle(Input::Heard(from, message), around, ledger, signer)
    }

    fn handle(
        &mut self,
        input: Input,
        around: &Surroundings,
        ledger: &Ledger,
        signer: &dyn Signer,
    ) -> Vec<Action> {
        let seen = self.observe(self.joiner(around, ledger), around, ledger);
        let view = self.view(&seen, around);
        let done = self.epochs.paxos.handle(input, &view);
        let actions = done.into_iter().map(|each| match each {
            Effect::Broadcast(Message::Accept(ballot, value)) => {
                self.accepts += 1;
                let accepted = Accepted {
                    epoch: self.epochs.epoch(),
                    ballot,
                    value,
                    turns: Vec::new(),
                };
                Action::Sync(self.accepts, accepted)
            }
            Effect::Broadcast(message) => {
                Action::Broadcast(self.cast(message, &ledger.places, signer))
            }
            Effect::Decided(decision) => {
                let accept = |peer| Some((peer, self.votes.accept_of(peer, decision.ballot)?));
                Action::Decided(RosterChange {
                    epoch: self.epochs.epoch(),
                    ballot: decision.ballot,
                    value: decision.value,
                    accepts: decision.accepts.iter().filter_map(accept).collect(),
                    proofs: Vec::new(),
                    reopening: None,
                })
            }
        });
        actions.collect()
    }

    /// The log that what is decided, or proposed, wants; the second says whether this peer, as coordinator, is told of
    /// another one than its batches lead to.
    pub(crate) fn wanted(&self, around: &Surroundings, ledger: &Ledger) -> (Option<Value>, bool) {
        if let Some(change) = self.epochs.pending() {
            return (Some(change.value), false);
        }
        if !self.epochs.is_changing() {
            return (None, false);
        }
        let seen = self.observe(None, around, ledger);
        let view = self.view(&seen, around);
        let paxos = &self.epochs.paxos;
        (paxos.wanted(&view), paxos.is_told_another_log(&view))
    }
}

/// The first turn of those before which a promise and this peer differ: in a batch that both hold, or in the log.
pub(crate) fn first_difference(
    promise: &Promise,
    ledger: &Ledger,
    ahead: &[LogHash],
) -> Option<u32> {
    let complete = ledger.window.complete();
    let batches = ledger.places.all().zip(&promise.holdings);
    let batches = batches.filter_map(|(at, holding)| {
        let turn = holding.until.wrapping_sub(1);
        let own = ledger.batches.get(at, turn)?;
        let differs = holding.newest != 0 && first_of_hash(&own.signed.content) != holding.newest;
        differs.then_some(turn.saturating_sub(2))
    });
    let more = promise.complete.checked_sub(complete + 1);
    let own = more.and_then(|more| ahead.get(more as usize));
    let told = promise.hashes.first();
    let log = own.zip(told).is_some_and(|(own, told)| own != told);
    batches.chain(log.then_some(complete)).min()
}

/// The log hash that a promise tells, and after how many turns. No peer has completed more than this; a lie about it would
/// stay for ever.
pub(crate) fn promised_log(promise: &Promise, complete: u32) -> Option<(u32, LogHash)> {
    let most = complete.saturating_add(RECENT as u32);
    let told = promise.hashes.first();
    let told = told.map(|hash| (promise.complete, *hash));
    told.filter(|(turns, _)| *turns <= most)
}

/// Whether batches attest the log up to a cut that is decided on now: the last ones of a match are sealed some turns before
/// its end. A joiner that is admitted behind them could not know that the log it has is the others', and would never take its
/// place.
fn is_cut_attestable(around: &Surroundings, ledger: &Ledger) -> bool {
    let delay = u32::from(around.plan.delay_turns);
    let limit = ledger.places.start().terms.turn_limit;
    limit.is_none_or(|limit| ledger.window.complete() + 2 * delay <= limit)
}

/// What this peer holds of each peer's batches.
fn holdings(ledger: &Ledger) -> Vec<Holding> {
    let holding = |batches: &Batches, at: usize| Holding {
        until: batches.held(at),
        left: batches.leaves(at).is_some(),
        newest: batches
            .newest(at)
            .map_or(0, |held| first_of_hash(&held.signed.content)),
    };
    let places = ledger.places.all();
    places.map(|at| holding(&ledger.batches, at)).collect()
}
