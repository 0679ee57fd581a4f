//! The agreement on a roster change: one single-decree Paxos that ends one epoch.
//!
//! Pure: no clock, no link, no signature. [`Roster::handle`] takes one [`Input`] and returns [`Effect`]s; the
//! caller suspects peers and carries messages. They may be lost, doubled and overtaken.
//!
//! 1. A coordinator (the lowest peer that is neither suspected nor leaves) asks to prepare.
//! 2. A peer that promises **freezes**: it completes and seals nothing more in this epoch, and tells what it holds.
//! 3. With the promises of a quorum `S` and of every peer that is not suspected, the coordinator proposes what was
//!    accepted in the highest ballot that it is told of; else the roster `S`, without leavers and unwanted peers,
//!    and the **cut**: for each voter the most that any of `S` holds, and of these the least.
//! 4. A peer **fetches** what it lacks up to the cut before it accepts; others forward it. So does the coordinator
//!    before it proposes: no peer could accept an unsealed batch, and a peer that tells of one is found out. The value
//!    names the **log's hash** at the cut, and a peer with batches that lead to another one does not accept.
//! 5. A quorum's accepts in one ballot decide. They must hold a quorum of the peers that stay, too: most of these have
//!    all turns of this epoch, so that the others can fetch them.
//! 6. All complete the turns up to the cut under the old roster; then the next epoch begins, with a new [`Roster`].
//!
//! No survivor has completed more than the cut: it promised, and had all batches of what it had completed. A removed
//! peer may have completed up to `delay` turns more: the batches that took, survivors had sealed when they had
//! completed `delay` turns less.
//!
//! Of a peer that is proved to have signed two batches for one turn nothing counts that is not complete, and alike, at
//! all survivors: the cut is the last turn after which their logs have one hash, and a peer with more turns goes
//! back. No coordinator proposes anything else to two whose logs differ, so this never goes back beyond the epoch.
//!
//! A roster that stays as it is, is a false alarm, and ends the epoch all the same.
//!
//! A peer that **comes back** ([`Readmission`]) is part of the value, and of nothing before: it votes from the next epoch on,
//! as another run of its process, and begins that epoch, as all peers do, once it has all turns up to the cut.

mod coordinator;
mod epoch_vote;
mod message;

pub use crate::log::{Ballot, Peers, Readmission, Value, Voters, decides};
pub use crate::session::ledger::RECENT;
use coordinator::Coordinating;
pub(crate) use coordinator::is_unlike;
pub(crate) use epoch_vote::EpochVote;
pub(crate) use message::first_of_hash;
use message::hash_after;
pub use message::{Holding, Message, Promise, Request};

use crate::LogHash;
use std::collections::BTreeMap;

/// One peer's part in the roster change that ends one epoch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Roster {
    me: u8,
    voters: Voters,
    /// The highest round heard of.
    round: u32,
    promised: Option<Ballot>,
    accepted: Option<(Ballot, Value)>,
    /// What is accepted once its turns are held and its ballot is promised.
    proposed: Option<(Ballot, Value)>,
    coordinating: Option<Coordinating>,
    /// Each voter's newest accept.
    accepts: BTreeMap<u8, (Ballot, Value)>,
    decision: Option<Decision>,
}

/// What was decided, and by whose accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decision {
    /// The ballot in which it was.
    pub ballot: Ballot,
    /// What.
    pub value: Value,
    /// Whose accepts are known.
    pub accepts: Peers,
}

/// What a roster change is told.
#[derive(Clone, Debug)]
pub enum Input {
    /// Coordinate, in a ballot above all that were heard of. Asked again, a new attempt begins.
    Coordinate,
    /// A voter said this: also what this peer itself said.
    Heard(u8, Message),
    /// Suspicions may have changed, or batches been stored.
    Recheck,
}

/// What there is to see around a peer.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// What it holds, by index in the start's roster.
    pub holdings: &'a [Holding],
    /// Turns complete.
    pub complete: u32,
    /// The log's hash after them, after one turn less, and so on: [`RECENT`] of them, or all.
    pub hashes: &'a [LogHash],
    /// What that will be after one turn more, after two, and so on, as far as the batches at hand go.
    pub ahead: &'a [LogHash],
    /// Peers that it knows to have signed two batches for one turn.
    pub cheats: Peers,
    /// Peers that have another world, or log, than a quorum, as it knows.
    pub evident_minority: Peers,
    /// Peers that it knows to have another world, or log, whether or not the others can know that, too.
    pub minority: Peers,
    /// Voters that it suspects: it waits for no promise of theirs.
    pub suspects: Peers,
    /// Voters that it wants removed even if they answer.
    pub unwanted: Peers,
    /// Voters that the others have kept of late though this peer wanted them removed: as coordinator it keeps them.
    pub kept: Peers,
    /// Voters that have told of batches and not delivered them: as coordinator it does without their promises where
    /// the others are a quorum.
    pub withholding: Peers,
    /// Voters that may go although they answer: they leave, cheat, or a quorum wants them to.
    pub excused: Peers,
    /// Voters that this peer hears, and knows no reason to go without.
    pub present: Peers,
    /// The joiner that is to come back with the next roster.
    pub joiner: Option<Readmission>,
    /// All joiners that have asked in this epoch: no other is accepted.
    pub asked: &'a [Readmission],
}

impl View<'_> {
    /// The log's hash after so many turns, which may be more than are complete; `None` where it is not known.
    pub fn hash_after(&self, turns: u32) -> Option<LogHash> {
        match turns.checked_sub(self.complete) {
            None | Some(0) => hash_after(self.complete, self.hashes, turns),
            Some(more) => self.ahead.get(more as usize - 1).copied(),
        }
    }
}

/// What follows from an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Tell every voter, this peer itself included: its own message counts once it hears it.
    Broadcast(Message),
    /// It is decided. Comes once.
    Decided(Decision),
}

impl Roster {
    /// The state of peer `me` at the beginning of an epoch with these voters.
    pub fn new(me: u8, voters: Voters) -> Self {
        Roster {
            me,
            voters,
            round: 0,
            promised: None,
            accepted: None,
            proposed: None,
            coordinating: None,
            accepts: BTreeMap::new(),
            decision: None,
        }
    }

    /// The voters of this epoch.
    pub fn voters(&self) -> Voters {
        self.voters
    }

    /// Whether this peer has promised and nothing is decided: it must complete and seal nothing.
    pub fn is_frozen(&self) -> bool {
        self.promised.is_some() && self.decision.is_none()
    }

    /// What is proposed to this peer, in the ballot that it has promised, and not accepted yet.
    pub fn proposed(&self) -> Option<&(Ballot, Value)> {
        let open = |(ballot, _): &&(Ballot, Value)| self.promised == Some(*ballot);
        self.proposed.as_ref().filter(open)
    }

    /// What this peer has accepted last, and in which ballot.
    pub fn accepted(&self) -> Option<(Ballot, Value)> {
        self.accepted
    }

    /// What may be decided already, as the newest coordinator found: this peer has accepted it in the highest ballot that it
    /// knows of, and each later coordinator must propose it.
    pub fn bound(&self) -> Option<Value> {
        let accepted = self
            .accepted
            .filter(|(ballot, _)| self.promised == Some(*ballot));
        accepted.map(|(_, value)| value)
    }

    /// The highest ballot that this peer has promised.
    pub fn promised(&self) -> Option<Ballot> {
        self.promised
    }

    /// What is decided, once it is.
    pub fn decision(&self) -> Option<&Decision> {
        self.decision.as_ref()
    }

    /// Takes one input and returns what to do, in order.
    #[must_use]
    pub fn handle(&mut self, input: Input, view: &View<'_>) -> Vec<Effect> {
        let mut out = Vec::new();
        if self.decision.is_some() {
            return out;
        }
        match input {
            Input::Coordinate => self.coordinate(&mut out),
            Input::Heard(_, Message::Request(..)) => {}
            Input::Heard(from, message) if self.voters.members().contains(from) => {
                self.round = self.round.max(message.ballot().round);
                match message {
                    Message::Prepare(ballot) if ballot.peer == from => {
                        self.promise(ballot, view, &mut out);
                        self.accept(view, &mut out);
                    }
                    Message::Promise(promise) => self.answer(from, promise, view, &mut out),
                    Message::Propose(ballot, value) if ballot.peer == from => {
                        self.proposal(ballot, value);
                        self.accept(view, &mut out);
                    }
                    Message::Accept(ballot, value) => {
                        self.accepted_by(from, ballot, value, &mut out);
                        if self.decision.is_none() {
                            self.accept(view, &mut out);
                        }
                    }
                    // No peer speaks for another coordinator.
                    Message::Prepare(_) | Message::Propose(..) | Message::Request(..) => {}
                }
            }
            Input::Heard(..) => {}
            Input::Recheck => {
                self.propose(view, &mut out);
                self.accept(view, &mut out);
            }
        }
        out
    }

    fn promise(&mut self, ballot: Ballot, view: &View<'_>, out: &mut Vec<Effect>) {
        if self.promised.is_some_and(|promised| promised >= ballot) {
            return;
        }
        self.promised = Some(ballot);
        out.push(Effect::Broadcast(Message::Promise(Promise {
            ballot,
            holdings: view.holdings.to_vec(),
            complete: view.complete,
            hashes: view.hashes.to_vec(),
            accepted: self.accepted,
            unwanted: view.unwanted.and(self.voters.members()),
        })));
    }

    fn proposal(&mut self, ballot: Ballot, value: Value) {
        let newer = self.proposed.is_none_or(|(known, _)| known < ballot);
        let open = self.promised.is_none_or(|promised| promised <= ballot)
            && self.accepted.is_none_or(|(known, _)| known < ballot);
        let possible = value.can_end(self.voters.members());
        if newer && open && possible {
            self.proposed = Some((ballot, value));
        }
    }

    /// Whether so many stay, or are known to go for a reason, that a correct coordinator may have proposed it: others go
    /// only where a quorum has answered without them.
    fn keeps_enough(&self, value: &Value, view: &View<'_>) -> bool {
        let excused = view.excused.and(self.voters.members());
        self.voters.is_quorum(value.stay().or(excused))
    }

    /// Whether all stay that are heard and have no reason to go: a coordinator alone removes no other peer.
    fn keeps_present(&self, value: &Value, view: &View<'_>) -> bool {
        let present = view.present.and(self.voters.members());
        present.is_within(value.stay())
    }

    /// Whether this peer waits for others to accept first: as the coordinator, or as a peer that is removed, where the value
    /// removes peers without a reason that this peer sees. A value that only they want would bind every later ballot.
    fn waits_for_others(&self, (ballot, value): (Ballot, Value), view: &View<'_>) -> bool {
        let stay = value.stay();
        let reasons = view.excused.or(view.minority).or(view.cheats);
        let removed = self.voters.members().without(stay.or(reasons));
        let is_asked_to = ballot.peer == self.me || removed.contains(self.me);
        let own = std::iter::once(self.me).collect();
        !removed.is_empty()
            && is_asked_to
            && !decides(self.voters, value, own)
            && !self.is_wanted_by_others(ballot, value, removed)
    }

    /// Whether a voter has accepted a value that is neither its coordinator nor removed by it.
    fn is_wanted_by_others(&self, ballot: Ballot, value: Value, removed: Peers) -> bool {
        let others = self.voters.members().without(removed);
        let mut accepts = self.accepts.iter();
        accepts.any(|(by, accept)| {
            *by != ballot.peer && others.contains(*by) && *accept == (ballot, value)
        })
    }

    /// Accepts what is proposed in the promised ballot, once all turns up to the cut are held.
    fn accept(&mut self, view: &View<'_>, out: &mut Vec<Effect>) {
        let Some((ballot, value)) = self.proposed else {
            return;
        };
        let promised = self.promised;
        if promised.is_some_and(|promised| promised > ballot) {
            self.proposed = None;
            return;
        }
        // No cheat is accepted unproved, no minority unseen, and no peer stays with another log, or with more turns
        // than count.
        let stays = value.roster.contains(self.me);
        let misplaced = match value.cheats.is_empty() {
            true => view.complete > value.cut,
            false => view.complete < value.cut,
        };
        let unlike = misplaced || view.hash_after(value.cut) != value.log_hash;
        let known =
            value.cheats.is_within(view.cheats) && value.minority.is_within(view.evident_minority);
        // What others have accepted binds later ballots: the coordinator does not undo it where a peer is heard again.
        let gone = self.voters.members().without(value.stay());
        let binds = ballot.peer == self.me && self.is_wanted_by_others(ballot, value, gone);
        let keeps_present = binds || self.keeps_present(&value, view);
        let known = known && self.keeps_enough(&value, view) && keeps_present;
        if !known || stays && unlike || self.waits_for_others((ballot, value), view) {
            return;
        }
        let mut holdings = self.voters.members().iter().map(|peer| {
            let holding = view.holdings.get(usize::from(peer));
            holding.is_some_and(|holding| holding.reaches(value.cut))
        });
        let asked = value.joins.is_none_or(|joins| view.asked.contains(&joins));
        if promised == Some(ballot) && asked && holdings.all(|reaches| reaches) {
            self.accepted = Some((ballot, value));
            self.proposed = None;
            out.push(Effect::Broadcast(Message::Accept(ballot, value)));
        }
    }

    fn accepted_by(&mut self, from: u8, ballot: Ballot, value: Value, out: &mut Vec<Effect>) {
        let known = self.accepts.get(&from);
        if known.is_some_and(|(known, _)| *known >= ballot) {
            return;
        }
        self.accepts.insert(from, (ballot, value));
        let alike = self
            .accepts
            .iter()
            .filter(|(_, accept)| **accept == (ballot, value));
        let accepts: Peers = alike.map(|(peer, _)| *peer).collect();
        if decides(self.voters, value, accepts) {
            let decision = Decision {
                ballot,
                value,
                accepts,
            };
            self.decision = Some(decision);
            out.push(Effect::Decided(decision));
        }
    }
}

/// What an epoch can end with alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnlyEnd {
    /// It may be decided already.
    Bound(Value),
    /// It is, and not all turns before its cut are complete.
    Decided(Value),
}

/// Whether the others of an epoch's voters can go on without these: they can end the epoch, or begin the next one.
pub fn can_do_without(lost: Peers, voters: Voters, end: Option<OnlyEnd>) -> bool {
    let rest = voters.members().without(lost);
    match end {
        None => voters.is_quorum(rest),
        Some(OnlyEnd::Bound(value)) => decides(voters, value, rest),
        Some(OnlyEnd::Decided(value)) => {
            Voters::new(value.roster).is_quorum(value.roster.without(lost))
        }
    }
}

#[cfg(test)]
mod tests;
