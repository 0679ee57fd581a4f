//! What a roster change decides.

use super::peers::{Peers, Voters};
use crate::{Incarnation, LogHash};
use serde::{Deserialize, Serialize};

/// The number of an attempt to decide. Higher ones take over from lower ones; no two coordinators share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ballot {
    /// Which attempt of this epoch, counted from 1 over all coordinators that know of each other.
    pub round: u32,
    /// Its coordinator.
    pub peer: u8,
}

/// What is decided: which peers vote and must send batches in the next epoch, and where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Value {
    /// The next epoch's roster.
    pub roster: Peers,
    /// Turns that are executed under the old roster: the first turn of the next epoch has this number.
    pub cut: u32,
    /// The peer that comes back, if one does. Its batches are empty by rule until the command delay has passed.
    pub joins: Option<Readmission>,
    /// Peers that go because two different batches of theirs for one turn are known. Where there are any, only turns count
    /// that are complete, and alike, at all peers that stay. A peer with more turns goes back to the cut.
    pub cheats: Peers,
    /// The minority: peers that go because a quorum has another world than they, or another log.
    pub minority: Peers,
    /// Peers that go and had said that they leave, as the coordinator knows: their last batches may be behind the cut, and
    /// in no log. Only what the game is told depends on it.
    pub left: Peers,
    /// Hash of the log after the turns before the cut: no two peers begin the next epoch on different ones. What reopens
    /// a match names it elsewhere.
    pub log_hash: Option<LogHash>,
}

/// A peer that comes back: another run of its process takes its place in the roster again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Readmission {
    /// Its index in the start's roster.
    pub peer: u8,
    /// The run of its process that votes and seals from the next epoch on.
    pub incarnation: Incarnation,
}

impl Value {
    /// This roster goes on after so many turns. No peer comes back, cheats, differs or leaves, and no hash is named.
    pub fn of(roster: Peers, cut: u32) -> Self {
        Value {
            roster,
            cut,
            joins: None,
            cheats: Peers::default(),
            minority: Peers::default(),
            left: Peers::default(),
            log_hash: None,
        }
    }

    /// The same, after a log of this hash.
    pub fn with_log(self, log_hash: LogHash) -> Self {
        Value {
            log_hash: Some(log_hash),
            ..self
        }
    }

    /// The survivors of the old roster.
    pub fn stay(&self) -> Peers {
        self.roster.without(self.joiner())
    }

    /// Whether it can follow on this roster: some peers stay, and beside them there is at most one, which was not in it.
    pub fn can_follow(&self, before: Peers) -> bool {
        let (joiner, stay) = (self.joiner(), self.stay());
        let comes_back = joiner.is_within(self.roster) && joiner.and(before).is_empty();
        let leaves = self.left.is_within(before.without(self.roster));
        !stay.is_empty() && stay.is_within(before) && comes_back && leaves
    }

    /// Whether it can be proposed to these voters.
    pub(crate) fn can_end(&self, voters: Peers) -> bool {
        self.can_follow(voters) && self.log_hash.is_some()
    }

    fn joiner(&self) -> Peers {
        self.joins.iter().map(|joins| joins.peer).collect()
    }
}

/// Whether these accepts, all of one ballot, decide the value: they hold a quorum of the old roster, and one of its peers
/// that stay.
pub fn decides(voters: Voters, value: Value, accepts: Peers) -> bool {
    voters.is_quorum(accepts) && Voters::new(value.stay()).is_quorum(accepts)
}

/// A peer that was excluded so often, for another world or log than a quorum's, is not admitted again: once may be a bit
/// that flipped, and the world that it begins with then is sound. Another time it would stray for ever, and each time the
/// others wait.
pub(crate) const EXCLUSIONS: u8 = 2;

/// Whether these changes of a match bar a peer from coming back.
pub(crate) fn bars<'a>(values: impl Iterator<Item = &'a Value>, peer: u8) -> bool {
    let strayed = values.filter(|value| value.minority.contains(peer));
    strayed.count() >= usize::from(EXCLUSIONS)
}
