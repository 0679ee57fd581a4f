//! Mistakes that the model must find.

use super::{RosterModel, State};
use lockstep::session::roster::Message;

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
    /// A peer that asks to come back votes from then on, without a decision.
    JoinerCounted,
    /// Another run of a voter's process votes in the epoch of the run before it.
    OldEpochVote,
    /// Who comes back does not know that others who did so just before have batches that are empty by rule.
    ForgottenStart,
}

/// All mutants.
pub const MUTANTS: [Mutant; 10] = [
    Mutant::NoFreeze,
    Mutant::OwnMinimum,
    Mutant::SubMajority,
    Mutant::IgnoredAccepted,
    Mutant::LeaveAtOnce,
    Mutant::NoFetch,
    Mutant::EpochlessBatches,
    Mutant::JoinerCounted,
    Mutant::OldEpochVote,
    Mutant::ForgottenStart,
];

impl RosterModel {
    /// What a mutant says in the place of a message.
    pub(super) fn mutate(&self, state: &State, at: u8, epoch: u8, message: Message) -> Message {
        match (self.mutant, message) {
            (Some(Mutant::IgnoredAccepted), Message::Promise(mut promise)) => {
                promise.accepted = None;
                Message::Promise(promise)
            }
            (Some(Mutant::OwnMinimum), Message::Propose(ballot, mut value)) => {
                let promises = state.said.iter().filter_map(|said| match &said.message {
                    Message::Promise(promise) if said.epoch == epoch => Some(promise),
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
}
