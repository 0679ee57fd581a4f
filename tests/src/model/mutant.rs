//! Mistakes that the model must find.

use super::RosterModel;
use lockstep::session::roster::{Holding, Input, Message};

/// A mistake that the model must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// Who has promised completes and seals on.
    NoFreeze,
    /// A coordinator counts what it holds itself, and not what others tell that they hold.
    OwnMinimum,
    /// Less than half of the voters are a quorum.
    SubMajority,
    /// A promise does not tell what was accepted before.
    IgnoredAccepted,
    /// A peer that leaves has no vote from then on, without a decision.
    LeaveAtOnce,
    /// A peer says that it leaves between a decision and the epoch that it begins.
    LeaveUndecided,
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
pub const MUTANTS: [Mutant; 11] = [
    Mutant::NoFreeze,
    Mutant::OwnMinimum,
    Mutant::SubMajority,
    Mutant::IgnoredAccepted,
    Mutant::LeaveAtOnce,
    Mutant::LeaveUndecided,
    Mutant::NoFetch,
    Mutant::EpochlessBatches,
    Mutant::JoinerCounted,
    Mutant::OldEpochVote,
    Mutant::ForgottenStart,
];

impl RosterModel {
    /// What a mutant says in the place of a message.
    pub(super) fn mutate(&self, message: Message) -> Message {
        match (self.mutant, message) {
            (Some(Mutant::IgnoredAccepted), Message::Promise(mut promise)) => {
                promise.accepted = None;
                Message::Promise(promise)
            }
            (_, message) => message,
        }
    }

    /// What a mutant that holds this much hears in the place of something.
    pub(super) fn mishear(&self, input: Input, holdings: &[Holding]) -> Input {
        match (self.mutant, input) {
            (Some(Mutant::OwnMinimum), Input::Heard(from, Message::Promise(mut promise))) => {
                promise.holdings = holdings.to_vec();
                Input::Heard(from, Message::Promise(promise))
            }
            (_, input) => input,
        }
    }
}
