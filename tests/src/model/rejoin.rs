//! A rejoining peer: it walks the log as far as a quorum attests it, asks, and begins its part once it knows of its
//! admission.
//!
//! Its earlier run may continue all the time: a process that is cut off looks the same as a dead one.

use super::{Mutant, Part, Peer, RosterModel, Sent, State};
use lockstep::Incarnation;
use lockstep::session::roster::{Message, Peers, Readmission, Request, Roster, Value};
use std::sync::Arc;

/// An epoch, as the decisions begin it.
pub struct Epoch {
    /// Its voters.
    pub roster: Peers,
    /// By place: the run that counts.
    pub runs: Vec<u8>,
    /// Its first turn.
    pub begins: u32,
}

/// The turns for which a run's batches count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tenure {
    /// The first turn.
    pub first: u32,
    /// The first turn that does not count any more, if any.
    pub end: Option<u32>,
}

impl State {
    /// The value that is decided to end an epoch.
    pub fn ends(&self, epoch: u8) -> Option<Value> {
        let mut decided = self.decided.iter();
        let found = decided.find(|(of, _)| *of == epoch);
        found.map(|(_, value)| *value)
    }
}

impl RosterModel {
    /// The place of a run.
    pub(super) fn place(&self, run: u8) -> u8 {
        match usize::from(run).checked_sub(self.peers) {
            None => run,
            Some(other) => self.joiners.iter().nth(other).expect("a run is of a place"),
        }
    }

    /// The voters of epoch 0.
    pub(super) fn first_roster(&self) -> Peers {
        Peers::first(self.peers).without(self.out)
    }

    /// Whether a run is not the first of its place.
    pub(super) fn is_later_run(&self, run: u8) -> bool {
        usize::from(run) >= self.peers
    }

    /// The value that admits a run.
    pub(super) fn joins(place: u8, run: u8) -> Readmission {
        Readmission {
            peer: place,
            incarnation: Incarnation([run; 16]),
        }
    }

    /// All epochs, from the decisions.
    pub(super) fn epochs(&self, state: &State) -> Vec<Epoch> {
        let mut epochs = vec![Epoch {
            roster: self.first_roster(),
            runs: (0..self.peers as u8).collect(),
            begins: 0,
        }];
        while let Some(value) = state.ends(epochs.len() as u8 - 1) {
            let mut runs = epochs[epochs.len() - 1].runs.clone();
            if let Some(joins) = value.joins {
                runs[usize::from(joins.peer)] = joins.incarnation.0[0];
            }
            epochs.push(Epoch {
                roster: value.roster,
                runs,
                begins: value.cut,
            });
        }
        epochs
    }

    /// The turns for which a run's batches count; `None` if it is in no roster.
    pub(super) fn tenure(&self, epochs: &[Epoch], run: u8) -> Option<Tenure> {
        let place = self.place(run);
        let counts =
            |epoch: &Epoch| epoch.roster.contains(place) && epoch.runs[usize::from(place)] == run;
        let since = epochs.iter().position(counts)?;
        let first = match self.is_later_run(run) {
            true => epochs[since].begins + u32::from(self.delay),
            false => 0,
        };
        let mut later = epochs[since..].iter();
        let end = later.find(|epoch| !counts(epoch));
        Some(Tenure {
            first,
            end: end.map(|epoch| epoch.begins),
        })
    }

    /// Walks the log up to its admission: turns that a quorum of their epoch or of a later one attests, and
    /// decisions with complete turns.
    pub(super) fn walk_log(&self, state: &State, run: u8) -> Peer {
        let mut peer = Peer::clone(&state.peers[usize::from(run)]);
        loop {
            let value = state.ends(peer.epoch);
            match value {
                Some(value) if u32::from(peer.complete) == value.cut => {
                    if value.joins == Some(Self::joins(peer.place, run)) {
                        return peer;
                    }
                    peer.begin_epoch(value, self.delay, self.voters(value.roster));
                    peer.held.fill(0);
                }
                _ => {
                    let Some(turn) = self.attested(state, &peer) else {
                        return peer;
                    };
                    peer.log.push(turn);
                    peer.complete += 1;
                    let passed = peer.from.iter_mut().filter(|from| **from <= peer.complete);
                    passed.for_each(|from| *from = 0);
                }
            }
        }
    }

    /// The turn after the walked ones, if a quorum attests the log up to it.
    fn attested(&self, state: &State, peer: &Peer) -> Option<Peers> {
        let next = peer.log.len();
        let mut epoch = peer.epoch;
        let (mut roster, mut runs) = (peer.roster.voters().members(), peer.runs.clone());
        loop {
            let log = |of: u8| {
                let other = &state.peers[usize::from(runs[usize::from(of)])];
                let log = other.log.get(..=next).filter(|log| log[..next] == peer.log);
                log.filter(|_| other.part != Part::Follows)
                    .map(|log| log[next])
            };
            for turn in roster.iter().filter_map(log) {
                let alike = roster.iter().filter(|of| log(*of) == Some(turn)).collect();
                if self.voters(roster).is_quorum(alike) {
                    return Some(turn);
                }
            }
            let value = state.ends(epoch)?;
            (roster, epoch) = (value.roster, epoch + 1);
            if let Some(joins) = value.joins {
                runs[usize::from(joins.peer)] = joins.incarnation.0[0];
            }
        }
    }

    /// Walks as far as possible, and asks to rejoin if it is in no roster. `None` if nothing changes.
    ///
    /// Its source may be the slowest peer: then it always follows.
    pub(super) fn request(&self, state: &mut State, run: u8) -> Option<()> {
        let mut peer = self.walk_log(state, run);
        let (place, epoch) = (peer.place, peer.epoch);
        let voters = peer.roster.voters().members();
        if state.ends(epoch).is_some() || epoch >= self.epochs || voters.contains(place) {
            return None;
        }
        if self.mutant == Some(Mutant::JoinerCounted) {
            peer.count(place, run, |members| self.voters(members));
            state.peers[usize::from(run)] = Arc::new(peer);
        }
        let request = Request {
            joins: Self::joins(place, run),
            turns: 0,
            signature: ([0; 32], [0; 32]),
        };
        let message = Message::Request(1, request);
        let sent = Sent {
            epoch,
            run,
            message,
        };
        state.sent.insert(Arc::new(sent)).then_some(())
    }

    /// Receives a request. A member of the roster has nothing to ask for.
    pub(super) fn note_request(&self, state: &mut State, at: u8, joins: Readmission) -> Option<()> {
        let peer = Arc::make_mut(&mut state.peers[usize::from(at)]);
        let outside = !peer.roster.voters().members().contains(joins.peer);
        if !outside || peer.asked.contains(&joins) {
            return None;
        }
        peer.asked.push(joins);
        peer.asked.sort_unstable();
        if self.mutant == Some(Mutant::JoinerCounted) && !peer.roster.is_frozen() {
            let run = joins.incarnation.0[0];
            peer.count(joins.peer, run, |members| self.voters(members));
        }
        Some(())
    }

    /// Begins its part, if it knows of its admission and has walked all turns before it.
    pub(super) fn begin_rejoined(&self, state: &mut State, run: u8) -> Option<()> {
        let mut peer = self.walk_log(state, run);
        let place = usize::from(peer.place);
        let value = state.ends(peer.epoch)?;
        let admits = value.joins == Some(Self::joins(peer.place, run));
        if !admits || u32::from(peer.complete) != value.cut {
            return None;
        }
        peer.begin_epoch(value, self.delay, self.voters(value.roster));
        peer.part = Part::Plays;
        peer.sealed_in = vec![peer.epoch; usize::from(peer.from[place])];
        if self.mutant == Some(Mutant::ForgottenStart) {
            let own = std::mem::take(&mut peer.from[place]);
            peer.from.fill(0);
            peer.from[place] = own;
        }
        for (of, held) in peer.held.iter_mut().enumerate() {
            *held = peer.complete.max(peer.from[of]);
        }
        state.peers[usize::from(run)] = Arc::new(peer);
        Some(())
    }

    /// Whether a following run votes: only with the planted mistake.
    pub(super) fn votes_early(&self, peer: &Peer) -> bool {
        let mutants = [Some(Mutant::JoinerCounted), Some(Mutant::OldEpochVote)];
        let counts = peer.roster.voters().members().contains(peer.place);
        peer.part == Part::Follows && counts && mutants.contains(&self.mutant)
    }
}

impl Peer {
    /// The planted mistake: a peer that has only asked counts as a voter.
    fn count(&mut self, place: u8, run: u8, voters: impl Fn(Peers) -> super::Voters) {
        let mut members = self.roster.voters().members();
        members.insert(place);
        self.runs[usize::from(place)] = run;
        self.from[usize::from(place)] = u8::MAX;
        self.held[usize::from(place)] = u8::MAX;
        self.roster = Roster::new(self.place, voters(members));
    }
}
