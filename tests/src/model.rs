//! The model of a roster change: every order in which messages can arrive, within a bound, run through the code that
//! plays real matches.
//!
//! Its peers are [`lockstep::session::roster::Roster`]; around each are the few rules of turns that matter here: seal
//! at most `delay` turns ahead of what is complete, complete a turn when all required batches are held, neither while
//! frozen. Batches have no content: in a crash a peer sends one batch for a turn or none.
//!
//! Nothing is ever lost here but may be late for ever, and a peer may do nothing for ever: so every crash, every loss
//! and every wrong suspicion is among the runs.

mod peer;
mod properties;

pub use peer::Peer;

use crate::random::Stream;
use lockstep::session::roster::{Do, Input, Message, Peers, Value, Voters};
use stateright::{Checker, HasDiscoveries, Model, Property};
use std::collections::BTreeSet;
use std::time::Duration;

/// What is modelled, and how far.
#[derive(Clone, Debug)]
pub struct RosterModel {
    /// Peers at the start.
    pub peers: usize,
    /// Turns that a peer may seal ahead of what it has completed.
    pub delay: u8,
    /// Turns of the match.
    pub turns: u8,
    /// Attempts to decide in one epoch, over all coordinators.
    pub attempts: usize,
    /// Epochs that may end.
    pub epochs: u8,
    /// Whether turns go on after the last of them.
    pub goes_on: bool,
    /// Peers that may leave, at any time.
    pub leavers: Peers,
    /// What is wrong in it.
    pub mutant: Option<Mutant>,
}

/// A mistake that the model must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// Who has promised completes and seals on.
    NoFreeze,
    /// The cut is the least that the coordinator itself holds.
    OwnMinimum,
    /// Less than half of the voters are a quorum.
    SubMajority,
    /// A promise does not tell what was accepted before.
    IgnoredAccepted,
    /// A peer that leaves has no vote from then on, without a decision.
    LeaveAtOnce,
    /// What is proposed is accepted before its turns are held.
    NoFetch,
    /// Batches that were sealed in an epoch count for peers that have not heard of it.
    EpochlessBatches,
}

/// All mutants.
pub const MUTANTS: [Mutant; 7] = [
    Mutant::NoFreeze,
    Mutant::OwnMinimum,
    Mutant::SubMajority,
    Mutant::IgnoredAccepted,
    Mutant::LeaveAtOnce,
    Mutant::NoFetch,
    Mutant::EpochlessBatches,
];

/// A run through the model, to a bound.
#[derive(Clone, Debug)]
pub struct Bound {
    /// What it is about.
    pub about: &'static str,
    /// The model.
    pub model: RosterModel,
}

/// What is run through with every test run: less than a minute of two cores.
pub fn small_bounds() -> Vec<Bound> {
    let bound = |about, model| Bound { about, model };
    let removal = RosterModel::default();
    vec![
        bound(
            "crash removal, 2 peers, 3 turns",
            RosterModel {
                turns: 3,
                attempts: 1,
                goes_on: true,
                ..removal.clone()
            },
        ),
        bound(
            "crash removal, 2 peers, 2 attempts",
            RosterModel {
                turns: 1,
                attempts: 2,
                goes_on: true,
                ..removal.clone()
            },
        ),
        bound(
            "crash removal, 3 peers",
            RosterModel {
                peers: 3,
                ..removal.clone()
            },
        ),
        bound(
            "leaving, 2 peers",
            RosterModel {
                turns: 2,
                leavers: Peers(0b11),
                ..removal.clone()
            },
        ),
        bound(
            "two epochs, 2 peers",
            RosterModel {
                turns: 2,
                epochs: 2,
                goes_on: true,
                ..removal
            },
        ),
    ]
}

/// What fits into five minutes of two cores in a release build.
pub fn large_bounds() -> Vec<Bound> {
    let bound = |about, model| Bound { about, model };
    let removal = RosterModel::default();
    vec![
        bound(
            "crash removal, 2 peers, 3 turns",
            RosterModel {
                turns: 3,
                attempts: 2,
                goes_on: true,
                ..removal.clone()
            },
        ),
        bound(
            "crash removal, 3 peers, 2 attempts",
            RosterModel {
                peers: 3,
                attempts: 2,
                ..removal.clone()
            },
        ),
        bound(
            "leaving, 3 peers",
            RosterModel {
                peers: 3,
                leavers: Peers(0b111),
                ..removal.clone()
            },
        ),
        bound(
            "leaving, 2 peers",
            RosterModel {
                turns: 3,
                attempts: 2,
                leavers: Peers(0b11),
                ..removal.clone()
            },
        ),
        bound(
            "two epochs, 2 peers",
            RosterModel {
                turns: 3,
                epochs: 2,
                goes_on: true,
                ..removal
            },
        ),
    ]
}

/// More of everything than can be run through: for walks at random.
pub fn far() -> RosterModel {
    RosterModel {
        peers: 4,
        turns: 5,
        attempts: 3,
        epochs: 3,
        goes_on: true,
        leavers: Peers(0b1111),
        ..RosterModel::default()
    }
}

/// The model in which a mutant is found, at random and in no time.
pub fn with_mutant(mutant: Mutant) -> RosterModel {
    let leavers = match mutant {
        Mutant::LeaveAtOnce => Peers(0b11),
        _ => Peers::default(),
    };
    let (peers, attempts) = match mutant {
        Mutant::EpochlessBatches => (2, 1),
        _ => (3, 2),
    };
    RosterModel {
        peers,
        turns: 3,
        attempts,
        goes_on: true,
        leavers,
        mutant: Some(mutant),
        ..RosterModel::default()
    }
}

impl Default for RosterModel {
    /// Two peers, a delay of two turns, one turn, one attempt, one epoch; nobody leaves.
    fn default() -> Self {
        RosterModel {
            peers: 2,
            delay: 2,
            turns: 1,
            attempts: 1,
            epochs: 1,
            goes_on: false,
            leavers: Peers::default(),
            mutant: None,
        }
    }
}

/// A moment of all peers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The peers.
    pub peers: Vec<Peer>,
    /// Everything that was ever said: epoch, speaker, message. What is said may arrive at any time, often, or never.
    pub said: BTreeSet<(u8, u8, Message)>,
    /// What peers have found decided, by epoch.
    pub decided: BTreeSet<(u8, Value)>,
}

/// A step of one peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It seals the next turn.
    Seal(u8),
    /// It seals the next turn as its last.
    Leave(u8),
    /// The next batch of another peer reaches it, by any path.
    Store(u8, u8),
    /// It completes the next turn.
    Complete(u8),
    /// It begins to coordinate, or does anew.
    Coordinate(u8),
    /// As coordinator it waits no longer for those who have not answered.
    Suspect(u8),
    /// It hears something that was said in its epoch.
    Hear(u8, u8, Message),
    /// It hears the accepts that decide.
    Learn(u8, Message),
}

/// What a run of the model came to.
#[derive(Debug)]
pub struct Checked {
    /// Different states.
    pub states: usize,
    /// Whether every one within the bound was seen.
    pub complete: bool,
    /// What does not hold, with the steps that lead there.
    pub violation: Option<(&'static str, Vec<String>)>,
    /// What should be reached, and was not.
    pub unreached: Vec<&'static str>,
    /// How long it took.
    pub took: Duration,
}

impl RosterModel {
    /// Runs through every state within the bound, on all cores, or until the first violation.
    pub fn check(&self, at_most: Duration) -> Checked {
        let begun = std::time::Instant::now();
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let checker = self
            .clone()
            .checker()
            .threads(threads)
            .timeout(at_most)
            .finish_when(HasDiscoveries::AnyFailures)
            .spawn_bfs()
            .join();
        let found = checker.discoveries();
        let is_safety = |name: &&str| properties::SAFETY.iter().any(|(safety, _)| safety == name);
        let violation = found
            .iter()
            .find(|(name, _)| is_safety(name))
            .map(|(name, path)| {
                let steps = path.clone().into_actions();
                (
                    *name,
                    steps.iter().map(|step| format!("{step:?}")).collect(),
                )
            });
        let wanted = self.reachable();
        Checked {
            states: checker.unique_state_count(),
            complete: checker.is_done() && begun.elapsed() < at_most,
            violation,
            unreached: wanted
                .into_iter()
                .filter(|name| !found.contains_key(name))
                .collect(),
            took: begun.elapsed(),
        }
    }

    /// Takes steps at random, from the start until none is left, again and again. What does not hold, if anything is
    /// found, with the steps that lead there. Reaches further than [`check`](Self::check), and proves nothing.
    pub fn walk(&self, seed: u64, walks: u32) -> Option<(&'static str, Vec<String>)> {
        let mut random = Stream::new(seed, "model", 0);
        let begin = self.init_states();
        for _ in 0..walks {
            let mut state = begin[0].clone();
            let mut steps = Vec::new();
            loop {
                let mut actions = Vec::new();
                self.actions(&state, &mut actions);
                let next = loop {
                    if actions.is_empty() {
                        break None;
                    }
                    let at = random.below(actions.len() as u64) as usize;
                    let action = actions.swap_remove(at);
                    let step = format!("{action:?}");
                    if let Some(next) = self.next_state(&state, action) {
                        steps.push(step);
                        break Some(next);
                    }
                };
                let Some(next) = next else { break };
                state = next;
                let broken = properties::SAFETY
                    .iter()
                    .find(|(_, holds)| !holds(self, &state));
                if let Some((name, _)) = broken {
                    return Some((name, steps));
                }
            }
        }
        None
    }

    fn say(&self, state: &mut State, at: u8, outcome: Vec<Do>) {
        let mut open = outcome;
        while !open.is_empty() {
            let said = std::mem::take(&mut open);
            for each in said {
                match each {
                    Do::Decided(decision) => {
                        let epoch = state.peers[usize::from(at)].epoch;
                        state.decided.insert((epoch, decision.value));
                    }
                    Do::Say(message) => {
                        let epoch = state.peers[usize::from(at)].epoch;
                        let message = self.mutate(state, at, epoch, message);
                        state.said.insert((epoch, at, message.clone()));
                        // What a peer says it hears at once; its own accept is heard with those of others.
                        if !matches!(message, Message::Accept(..)) {
                            open.extend(self.tell(state, at, Input::Heard(at, message)));
                        }
                    }
                }
            }
        }
    }

    /// Calls the roster of peer `at`.
    fn tell(&self, state: &mut State, at: u8, input: Input) -> Vec<Do> {
        self.tell_suspecting(state, at, input, Peers::default())
    }

    fn tell_suspecting(&self, state: &mut State, at: u8, input: Input, suspects: Peers) -> Vec<Do> {
        let leaves: Vec<Option<u8>> = state.peers.iter().map(|peer| peer.leaves).collect();
        let blind = self.mutant == Some(Mutant::NoFetch)
            && matches!(input, Input::Heard(_, Message::Propose(..)));
        let peer = &mut state.peers[usize::from(at)];
        let mut holdings = peer.holdings(&leaves);
        if blind {
            holdings
                .iter_mut()
                .for_each(|holding| holding.until = u32::MAX);
        }
        peer.handle(input, &holdings, suspects)
    }

    fn mutate(&self, state: &State, at: u8, epoch: u8, message: Message) -> Message {
        match (self.mutant, message) {
            (Some(Mutant::IgnoredAccepted), Message::Promise(mut promise)) => {
                promise.accepted = None;
                Message::Promise(promise)
            }
            (Some(Mutant::OwnMinimum), Message::Propose(ballot, mut value)) => {
                let promises = state.said.iter().filter_map(|said| match said {
                    (of, _, Message::Promise(promise)) if *of == epoch => Some(promise),
                    _ => None,
                });
                let mut promises = promises.filter(|promise| promise.ballot == ballot);
                if promises.all(|promise| promise.accepted.is_none()) {
                    let own = &state.peers[usize::from(at)];
                    let held = own.roster.voters().members().iter();
                    let held = held.map(|peer| u32::from(own.held[usize::from(peer)]));
                    value.cut = held.min().unwrap_or(value.cut).min(value.cut);
                }
                Message::Propose(ballot, value)
            }
            (_, message) => message,
        }
    }

    pub(crate) fn voters(&self, members: Peers) -> Voters {
        match self.mutant {
            Some(Mutant::SubMajority) => {
                Voters::with_threshold(members, members.len().saturating_sub(2))
            }
            _ => Voters::new(members),
        }
    }

    fn is_leaver(&self, peer: u8) -> bool {
        self.leavers.contains(peer)
    }
}

impl Model for RosterModel {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let members = Peers::first(self.peers);
        let peers = members
            .iter()
            .map(|at| Peer::new(at, self.peers, self.voters(members)));
        vec![State {
            peers: peers.collect(),
            said: BTreeSet::new(),
            decided: BTreeSet::new(),
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (at, peer) in (0u8..).zip(&state.peers) {
            if peer.is_removed() {
                continue;
            }
            let over = peer.epoch == self.epochs && !self.goes_on;
            let frozen = over || peer.roster.is_frozen() && self.mutant != Some(Mutant::NoFreeze);
            let room = peer.sealed() < self.turns && peer.sealed() < peer.complete + self.delay;
            if !frozen && room && peer.leaves.is_none() {
                actions.push(Action::Seal(at));
                if self.is_leaver(at) {
                    actions.push(Action::Leave(at));
                }
            }
            for (of, other) in (0u8..).zip(&state.peers) {
                let held = peer.held[usize::from(of)];
                let understood = self.mutant == Some(Mutant::EpochlessBatches)
                    || other.sealed_in.get(usize::from(held)) <= Some(&peer.epoch);
                if of != at && held < other.sealed() && understood && !over {
                    actions.push(Action::Store(at, of));
                }
            }
            // Who leaves only answers, and follows to the next epoch where it must.
            let plays = peer.leaves.is_none() || peer.stays_for_next();
            let open = !frozen && peer.complete < self.turns;
            if plays && open && peer.can_complete(&state.peers) {
                actions.push(Action::Complete(at));
            }
            if peer.epoch >= self.epochs || peer.roster.decision().is_some() {
                continue;
            }
            // Leavers never coordinate.
            let prepares = state.said.iter().filter(|(epoch, _, message)| {
                *epoch == peer.epoch && matches!(message, Message::Prepare(_))
            });
            if peer.leaves.is_none() && prepares.count() < self.attempts {
                actions.push(Action::Coordinate(at));
            }
            if peer.roster.coordinates().is_some() {
                actions.push(Action::Suspect(at));
            }
            for (epoch, from, message) in &state.said {
                if *epoch != peer.epoch {
                    continue;
                }
                let for_it = match message {
                    Message::Promise(promise) => promise.ballot.peer == at && *from != at,
                    Message::Prepare(_) | Message::Propose(..) | Message::Request(_) => *from != at,
                    Message::Accept(..) => {
                        actions.push(Action::Learn(at, message.clone()));
                        false
                    }
                };
                if for_it {
                    actions.push(Action::Hear(at, *from, message.clone()));
                }
            }
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        match action {
            Action::Seal(at) => {
                state.peers[usize::from(at)].seal();
            }
            Action::Leave(at) => {
                let peer = &mut state.peers[usize::from(at)];
                peer.leaves = Some(peer.sealed());
                peer.seal();
            }
            Action::Store(at, of) => {
                state.peers[usize::from(at)].held[usize::from(of)] += 1;
                let outcome = self.tell(&mut state, at, Input::Look);
                self.say(&mut state, at, outcome);
            }
            Action::Complete(at) => {
                let others = state.peers.clone();
                state.peers[usize::from(at)].complete(&others);
                self.after_turn(&mut state, at);
            }
            Action::Coordinate(at) => {
                let outcome = self.tell(&mut state, at, Input::Coordinate);
                self.say(&mut state, at, outcome);
            }
            Action::Suspect(at) => {
                let peer = &state.peers[usize::from(at)];
                let silent = peer
                    .roster
                    .voters()
                    .members()
                    .without(peer.roster.answered());
                let outcome = self.tell_suspecting(&mut state, at, Input::Look, silent);
                self.say(&mut state, at, outcome);
            }
            Action::Hear(at, from, message) => {
                let outcome = self.tell(&mut state, at, Input::Heard(from, message));
                self.say(&mut state, at, outcome);
            }
            Action::Learn(at, accept) => {
                let epoch = state.peers[usize::from(at)].epoch;
                let alike = state
                    .said
                    .iter()
                    .filter(|(of, _, said)| *of == epoch && *said == accept);
                let from: Vec<u8> = alike.map(|(_, from, _)| *from).collect();
                for from in from {
                    let heard = Input::Heard(from, accept.clone());
                    let outcome = self.tell(&mut state, at, heard);
                    self.say(&mut state, at, outcome);
                }
                // Accepts that decide nothing yet change nothing: they are heard once they do.
                state.peers[usize::from(at)].roster.decision()?;
                self.after_turn(&mut state, at);
            }
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

impl RosterModel {
    /// What must be among the states for the proof to mean something.
    fn reachable(&self) -> Vec<&'static str> {
        let fits = |name: &str| match name {
            properties::LEFT => !self.leavers.is_empty(),
            properties::AGAIN => self.attempts > 1,
            properties::SECOND => self.epochs > 1,
            _ => true,
        };
        let names = properties::REACHED.iter().map(|(name, _)| *name);
        names.filter(|name| fits(name)).collect()
    }

    /// Begins the next epoch where the turns up to the cut are complete.
    fn after_turn(&self, state: &mut State, at: u8) {
        let leaves: Vec<Option<u8>> = state.peers.iter().map(|peer| peer.leaves).collect();
        let peer = &mut state.peers[usize::from(at)];
        if self.mutant == Some(Mutant::LeaveAtOnce) && peer.roster.decision().is_none() {
            let members = peer.roster.voters().members();
            let gone: Peers = members
                .iter()
                .filter(|of| peer.knows_left(*of, &leaves))
                .collect();
            if !gone.is_empty() && !gone.contains(at) && !peer.roster.is_frozen() {
                peer.begin(members.without(gone), |members| self.voters(members), false);
            }
        }
        if let Some(decision) = peer.roster.decision().copied()
            && u32::from(peer.complete) == decision.value.cut
            && decision.value.roster.contains(at)
        {
            peer.begin(decision.value.roster, |members| self.voters(members), true);
        }
    }
}
