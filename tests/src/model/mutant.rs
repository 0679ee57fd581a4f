//! Planted mistakes that the model must find.

use super::RosterModel;
use lockstep::session::roster::{Holding, Input, Message};

/// A planted mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// A peer that has promised still completes and seals.
    NoFreeze,
    /// A coordinator counts its own holdings, not those that others report.
    OwnMinimum,
    /// Less than half of the voters count as a quorum.
    SubMajority,
    /// A promise omits an earlier accept.
    IgnoredAccepted,
    /// Of two accepts that it is told of, a coordinator proposes the older one.
    OldestAccepted,
    /// A leaver loses its vote at once, without a decision.
    LeaveAtOnce,
    /// A peer leaves between a decision and the epoch that it begins.
    LeaveUndecided,
    /// A peer accepts a proposal before it holds its turns.
    NoFetch,
    /// Batches count for peers that have not learned of their epoch.
    EpochlessBatches,
    /// A peer that asks to rejoin votes at once, without a decision.
    JoinerCounted,
    /// A new run of a voter's process votes in the epoch of the old run.
    OldEpochVote,
    /// A joiner does not know that other new joiners' batches are empty by rule.
    ForgottenStart,
    /// A process that comes back does not know what the one before has accepted.
    AcceptsForgotten,
}

/// All mutants.
pub const MUTANTS: [Mutant; 13] = [
    Mutant::NoFreeze,
    Mutant::OwnMinimum,
    Mutant::SubMajority,
    Mutant::IgnoredAccepted,
    Mutant::OldestAccepted,
    Mutant::LeaveAtOnce,
    Mutant::LeaveUndecided,
    Mutant::NoFetch,
    Mutant::EpochlessBatches,
    Mutant::JoinerCounted,
    Mutant::OldEpochVote,
    Mutant::ForgottenStart,
    Mutant::AcceptsForgotten,
];

impl RosterModel {
    /// The mutant's message in place of a correct one.
    pub(super) fn mutate(&self, message: Message) -> Message {
        match (self.mutant, message) {
            (Some(Mutant::IgnoredAccepted), Message::Promise(mut promise)) => {
                promise.accepted = None;
                Message::Promise(promise)
            }
            (_, message) => message,
        }
    }

    /// The mutant's input in place of a correct one, given its holdings.
    pub(super) fn mutate_input(&self, input: Input, holdings: &[Holding]) -> Input {
        match (self.mutant, input) {
            (Some(Mutant::OwnMinimum), Input::Heard(from, Message::Promise(mut promise))) => {
                promise.holdings = holdings.to_vec();
                Input::Heard(from, Message::Promise(promise))
            }
            (Some(Mutant::OldestAccepted), Input::Heard(from, Message::Promise(mut promise))) => {
                let accepted = promise.accepted.as_mut();
                accepted
                    .into_iter()
                    .for_each(|(ballot, _)| ballot.round = u32::MAX - ballot.round);
                Input::Heard(from, Message::Promise(promise))
            }
            (_, input) => input,
        }
    }
}
