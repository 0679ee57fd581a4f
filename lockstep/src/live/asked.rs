//! What a piece of work asks for.

use crate::source::{Answer, Work};

/// The kind of answer that is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    World,
    Turn,
    Snapshot,
}

impl Asked {
    pub(super) fn by(work: &Work) -> Asked {
        match work {
            Work::New { .. } | Work::Load { .. } => Asked::World,
            Work::Execute(_) => Asked::Turn,
            Work::Save { .. } => Asked::Snapshot,
        }
    }

    pub(super) fn takes(self, answer: &Answer) -> bool {
        let answered = match answer {
            Answer::Ready { .. } | Answer::Failed => Asked::World,
            Answer::Executed { .. } => Asked::Turn,
            Answer::Saved(_) => Asked::Snapshot,
            Answer::Faulted { .. } => return true,
        };
        self == answered
    }
}
