//! The model of a roster change: every order in which messages can arrive, within a bound, run through the code
//! that plays real matches.
//!
//! Its peers are [`lockstep::session::roster::Roster`], each with the few rules of turns that matter here. A peer
//! seals at most `delay` turns ahead of what is complete, and completes a turn when it holds all required batches.
//! A frozen peer does neither. Batches have no content: under crash faults a peer sends one batch for a turn or
//! none.
//!
//! A rejoining run follows a few more rules: it walks what a quorum attests, asks, and begins with the epoch of its
//! admission. Its batches count from `cut + delay` on.
//!
//! A quorum whose processes have died may reopen the match. Each accept is durable before it is sent: the reopening knows
//! those of its peers, and of no other one.
//!
//! Nothing is lost, but a message may be late forever, and a peer may do nothing forever. So every crash, every
//! loss and every wrong suspicion is among the runs.

mod bounds;
mod mutant;
mod peer;
mod properties;
mod rejoin;
mod reopen;
mod run;

pub use bounds::{Bound, bounds, far, with_mutant};
pub use mutant::{MUTANTS, Mutant};
pub use peer::{Part, Peer};
pub use run::Checked;

use lockstep::session::roster::{Effect, Input, Message, Peers, Value, Voters};
use stateright::{Model, Property};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What to model, and how far.
#[derive(Clone, Debug)]
pub struct RosterModel {
    /// Peers of the start's roster.
    pub peers: usize,
    /// Turns that a peer may seal ahead of what it has completed.
    pub delay: u8,
    /// Turns of the match.
    pub turns: u8,
    /// Ballots in one epoch, over all coordinators.
    pub attempts: usize,
    /// Epochs that may end.
    pub epochs: u8,
    /// Whether turns go on after the last of them.
    pub goes_on: bool,
    /// Peers that may leave, at any time.
    pub leavers: Peers,
    /// Peers that were removed before the first modelled turn.
    pub out: Peers,
    /// Peers that may rejoin once, as another run.
    pub joiners: Peers,
    /// Whether a quorum whose processes die may reopen the match.
    pub reopens: bool,
    /// The planted mistake, if any.
    pub mutant: Option<Mutant>,
}

impl Default for RosterModel {
    /// Two peers, a delay of two turns, one turn, one ballot, one epoch; no peer leaves or rejoins.
    fn default() -> Self {
        RosterModel {
            peers: 2,
            delay: 2,
            turns: 1,
            attempts: 1,
            epochs: 1,
            goes_on: false,
            leavers: Peers::default(),
            out: Peers::default(),
            joiners: Peers::default(),
            reopens: false,
            mutant: None,
        }
    }
}

/// A state of all peers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The first runs of all places, then those that may rejoin.
    pub peers: Vec<Arc<Peer>>,
    /// Messages that may still matter. Each may arrive at any time, repeatedly, or never.
    pub sent: BTreeSet<Arc<Sent>>,
    /// Decisions that peers know, by epoch.
    pub decided: BTreeSet<(u8, Value)>,
}

/// A message of one run in one epoch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sent {
    /// The epoch.
    pub epoch: u8,
    /// The run.
    pub run: u8,
    /// The message.
    pub message: Message,
}

/// A step of one run, by its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It seals the next turn.
    Seal(u8),
    /// It seals the next turn as its last.
    Leave(u8),
    /// It receives the next batch of a place, by any path.
    Store(u8, u8),
    /// It completes the next turn.
    Complete(u8),
    /// It begins to coordinate, or starts over.
    Coordinate(u8),
    /// As coordinator it stops waiting for missing answers.
    Suspect(u8),
    /// It receives a message of its epoch.
    Receive(u8, Arc<Sent>),
    /// It receives the accepts that decide.
    Learn(u8, Arc<Sent>),
    /// It follows, and asks to rejoin.
    Request(u8),
    /// It begins its part after its admission.
    Rejoin(u8),
    /// The processes of these peers die, before they know of a decision, and others reopen the match in their places.
    Reopen(Peers),
}

impl RosterModel {
    fn say(&self, state: &mut State, at: u8, outcome: Vec<Effect>) {
        let place = state.peers[usize::from(at)].place;
        let mut open = outcome;
        while !open.is_empty() {
            let sent = std::mem::take(&mut open);
            for each in sent {
                let epoch = state.peers[usize::from(at)].epoch;
                match each {
                    Effect::Decided(decision) => {
                        state.decided.insert((epoch, decision.value));
                        peer_mut(state, at).decide(decision.value);
                    }
                    Effect::Broadcast(message) => {
                        let message = self.mutate(message);
                        self.post(state, at, epoch, &message);
                        // A peer handles its own messages at once, except its accept, which comes with those of
                        // others.
                        if !matches!(message, Message::Accept(..)) {
                            open.extend(self.call(state, at, Input::Heard(place, message)));
                        }
                    }
                }
            }
        }
    }

    /// Delivers a message to all peers, now or later. A coordinator that has proposed ignores further promises.
    fn post(&self, state: &mut State, run: u8, epoch: u8, message: &Message) {
        let ballot = message.ballot();
        let promise = |sent: &Arc<Sent>| {
            let of = matches!(&sent.message, Message::Promise(promise) if promise.ballot == ballot);
            sent.epoch == epoch && of
        };
        let proposed = |sent: &Arc<Sent>| {
            let of = matches!(&sent.message, Message::Propose(of, _) if *of == ballot);
            sent.epoch == epoch && of
        };
        match message {
            Message::Propose(..) => state.sent.retain(|sent| !promise(sent)),
            Message::Promise(_) if state.sent.iter().any(proposed) => return,
            _ => {}
        }
        state.sent.insert(Arc::new(Sent {
            epoch,
            run,
            message: message.clone(),
        }));
    }

    /// Calls the roster of peer `at`.
    fn call(&self, state: &mut State, at: u8, input: Input) -> Vec<Effect> {
        self.call_suspecting(state, at, input, Peers::default())
    }

    fn call_suspecting(
        &self,
        state: &mut State,
        at: u8,
        input: Input,
        suspects: Peers,
    ) -> Vec<Effect> {
        let peer = &state.peers[usize::from(at)];
        let mut holdings = peer.holdings(&peer.leaves(state));
        let blind = self.mutant == Some(Mutant::NoFetch) || self.votes_early(peer);
        if blind && matches!(input, Input::Heard(_, Message::Propose(..))) {
            holdings
                .iter_mut()
                .for_each(|holding| holding.until = u32::MAX);
        }
        let input = self.mutate_input(input, &holdings);
        peer_mut(state, at).handle(input, &holdings, suspects)
    }

    /// Whether a run is a voter in the eyes of a peer: signatures of others do not count.
    fn is_signed(&self, peer: &Peer, run: u8) -> bool {
        let place = usize::from(self.place(run));
        peer.runs[place] == run || self.mutant == Some(Mutant::OldEpochVote)
    }

    pub(crate) fn voters(&self, members: Peers) -> Voters {
        match self.mutant {
            Some(Mutant::SubMajority) => {
                Voters::with_threshold(members, members.len().saturating_sub(2))
            }
            _ => Voters::new(members),
        }
    }

    /// Steps of turns for a run that plays.
    fn turns(&self, state: &State, at: u8, actions: &mut Vec<Action>) {
        let peer = &state.peers[usize::from(at)];
        let over = peer.epoch == self.epochs && !self.goes_on;
        let frozen = over || peer.roster.is_frozen() && self.mutant != Some(Mutant::NoFreeze);
        let room = peer.sealed() < self.turns && peer.sealed() < peer.complete + self.delay;
        if !frozen && room && peer.leaves.is_none() {
            actions.push(Action::Seal(at));
            let at_once = self.mutant == Some(Mutant::LeaveUndecided) || peer.pending.is_none();
            if at_once && self.leavers.contains(peer.place) && !self.is_later_run(at) {
                actions.push(Action::Leave(at));
            }
        }
        for (of, run) in (0u8..).zip(&peer.runs) {
            let other = &state.peers[usize::from(*run)];
            let held = peer.held[usize::from(of)];
            let understood = self.mutant == Some(Mutant::EpochlessBatches)
                || other.sealed_in.get(usize::from(held)) <= Some(&peer.epoch);
            let there = held < other.sealed() && peer.takes(of);
            if *run != at && there && understood && !over {
                actions.push(Action::Store(at, of));
            }
        }
        // A leaver only answers, and follows to the next epoch if it must.
        let plays = peer.leaves.is_none() || peer.stays_for_next();
        let open = !frozen && peer.complete < self.turns;
        if plays && open && peer.can_complete(&peer.leaves(state)) {
            actions.push(Action::Complete(at));
        }
    }

    /// Messages that a voting run can receive.
    fn deliveries(&self, state: &State, at: u8, actions: &mut Vec<Action>) {
        let peer = &state.peers[usize::from(at)];
        for sent in state.sent.iter().filter(|sent| sent.epoch == peer.epoch) {
            let of_another = sent.run != at;
            let for_it = match &sent.message {
                Message::Promise(promise) => promise.ballot.peer == peer.place && of_another,
                Message::Prepare(_) | Message::Propose(..) => of_another,
                Message::Request(..) => peer.part == Part::Plays,
                Message::Accept(..) => {
                    if peer.part == Part::Plays && self.is_signed(peer, sent.run) {
                        actions.push(Action::Learn(at, sent.clone()));
                    }
                    false
                }
            };
            let counts =
                matches!(sent.message, Message::Request(..)) || self.is_signed(peer, sent.run);
            if for_it && counts {
                actions.push(Action::Receive(at, sent.clone()));
            }
        }
    }

    /// Begins the next epoch once the turns up to the cut are complete.
    fn after_turn(&self, state: &mut State, at: u8) {
        let leaves = state.peers[usize::from(at)].leaves(state);
        let peer = peer_mut(state, at);
        if self.mutant == Some(Mutant::LeaveAtOnce) && peer.pending.is_none() {
            let members = peer.roster.voters().members();
            let gone: Peers = members
                .iter()
                .filter(|of| peer.knows_left(*of, &leaves))
                .collect();
            if !gone.is_empty() && !gone.contains(peer.place) && !peer.roster.is_frozen() {
                let voters = self.voters(members.without(gone));
                peer.roster = lockstep::session::roster::Roster::new(peer.place, voters);
            }
        }
        if let Some(value) = peer.pending
            && u32::from(peer.complete) == value.cut
            && value.roster.contains(peer.place)
        {
            peer.begin_epoch(value, self.delay, self.voters(value.roster));
        }
    }
}

fn peer_mut(state: &mut State, at: u8) -> &mut Peer {
    Arc::make_mut(&mut state.peers[usize::from(at)])
}

impl Model for RosterModel {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let voters = self.voters(self.first_roster());
        let first = (0..self.peers as u8).map(|place| Peer::new(place, self.peers, voters));
        let others = self.joiners.iter().map(|place| Peer {
            part: Part::Follows,
            ..Peer::new(place, self.peers, voters)
        });
        vec![State {
            peers: first.chain(others).map(Arc::new).collect(),
            sent: BTreeSet::new(),
            decided: BTreeSet::new(),
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (at, peer) in (0u8..).zip(&state.peers) {
            match peer.part {
                Part::Gone => continue,
                Part::Follows => {
                    actions.push(Action::Request(at));
                    actions.push(Action::Rejoin(at));
                    if self.votes_early(peer) {
                        self.deliveries(state, at, actions);
                    }
                    continue;
                }
                Part::Plays => self.turns(state, at, actions),
            }
            if peer.epoch >= self.epochs || peer.pending.is_some() {
                continue;
            }
            // Leavers never coordinate.
            let prepares = state.sent.iter().filter(|sent| {
                sent.epoch == peer.epoch && matches!(sent.message, Message::Prepare(_))
            });
            if peer.leaves.is_none() && prepares.count() < self.attempts {
                actions.push(Action::Coordinate(at));
            }
            if peer.roster.coordinates().is_some() {
                actions.push(Action::Suspect(at));
            }
            self.deliveries(state, at, actions);
        }
        self.reopenings(state, actions);
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        match action {
            Action::Seal(at) => peer_mut(&mut state, at).seal(),
            Action::Leave(at) => {
                let peer = peer_mut(&mut state, at);
                peer.leaves = Some(peer.sealed());
                peer.seal();
            }
            Action::Store(at, of) => {
                peer_mut(&mut state, at).held[usize::from(of)] += 1;
                let outcome = self.call(&mut state, at, Input::Recheck);
                self.say(&mut state, at, outcome);
            }
            Action::Complete(at) => {
                let leaves = before.peers[usize::from(at)].leaves(before);
                peer_mut(&mut state, at).complete(&leaves);
                self.after_turn(&mut state, at);
            }
            Action::Coordinate(at) => {
                let outcome = self.call(&mut state, at, Input::Coordinate);
                self.say(&mut state, at, outcome);
            }
            Action::Suspect(at) => {
                let roster = &state.peers[usize::from(at)].roster;
                let silent = roster.voters().members().without(roster.answered());
                let outcome = self.call_suspecting(&mut state, at, Input::Recheck, silent);
                self.say(&mut state, at, outcome);
            }
            Action::Receive(at, sent) => {
                let input = match &sent.message {
                    Message::Request(_, request) => {
                        self.note_request(&mut state, at, request.joins)?;
                        Input::Recheck
                    }
                    message => Input::Heard(self.place(sent.run), message.clone()),
                };
                let outcome = self.call(&mut state, at, input);
                self.say(&mut state, at, outcome);
            }
            Action::Learn(at, accept) => {
                let peer = &before.peers[usize::from(at)];
                let alike = before.sent.iter().filter(|sent| {
                    let same = (sent.epoch, &sent.message) == (accept.epoch, &accept.message);
                    same && self.is_signed(peer, sent.run)
                });
                for sent in alike {
                    let heard = Input::Heard(self.place(sent.run), accept.message.clone());
                    let outcome = self.call(&mut state, at, heard);
                    self.say(&mut state, at, outcome);
                }
                // Accepts below a quorum change nothing: they arrive once they decide.
                state.peers[usize::from(at)].pending?;
                self.after_turn(&mut state, at);
            }
            Action::Request(run) => self.request(&mut state, run)?,
            Action::Rejoin(run) => self.begin_rejoined(&mut state, run)?,
            Action::Reopen(peers) => self.reopen(&mut state, peers)?,
        }
        (state != *before).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut all: Vec<Property<Self>> = properties::SAFETY
            .iter()
            .map(|(name, holds)| Property::always(name, *holds))
            .collect();
        let wanted = self.reachable();
        let reached = properties::REACHED
            .iter()
            .filter(|(name, _)| wanted.contains(name));
        all.extend(reached.map(|(name, reached)| Property::sometimes(name, *reached)));
        all
    }
}
