//! What peers tell each other about a roster change.

use super::Peers;
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

/// What is decided: who votes and must send batches in the next epoch, and where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Value {
    /// The next epoch's roster.
    pub roster: Peers,
    /// Turns that are executed under the old roster: the first turn of the next epoch has this number.
    pub cut: u32,
    /// The peer that comes back, if one does. Its batches are empty by rule until the command delay has passed.
    pub joins: Option<Joins>,
    /// Who goes because two different batches of it for one turn are known. Where there are any, nothing counts that
    /// is not complete, and alike, at everybody who stays: who is beyond the cut goes back to it.
    pub cheats: Peers,
    /// Who goes because a quorum has another world than they, or another log.
    pub odd: Peers,
    /// Who of those who go had said that it leaves, as whoever proposes this knows: its last batch may be behind the
    /// cut, and in nobody's log. No more depends on it than what is told.
    pub left: Peers,
    /// Hash of the log after the turns before the cut: no two peers begin the next epoch on different ones. What reopens
    /// a match names it elsewhere.
    pub log_hash: Option<LogHash>,
}

/// A peer that comes back: another run of its process takes its place in the roster again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Joins {
    /// Its index in the start's roster.
    pub peer: u8,
    /// The run of its process that votes and seals from the next epoch on.
    pub incarnation: Incarnation,
}

impl Value {
    /// This roster goes on after so many turns; nobody comes back, cheats, is odd or leaves, and no hash is named.
    pub fn of(roster: Peers, cut: u32) -> Self {
        Value {
            roster,
            cut,
            joins: None,
            cheats: Peers::default(),
            odd: Peers::default(),
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

    /// Those of the old roster that stay.
    pub fn stay(&self) -> Peers {
        self.roster.without(self.joiner())
    }

    /// Whether it can follow on this roster: some of it stay, and beside them there is at most one, who was not in it.
    pub fn can_follow(&self, before: Peers) -> bool {
        let (joiner, stay) = (self.joiner(), self.stay());
        let comes_back = joiner.is_within(self.roster) && joiner.and(before).is_empty();
        let leaves = self.left.is_within(before.without(self.roster));
        !stay.is_empty() && stay.is_within(before) && comes_back && leaves
    }

    /// Whether it can be proposed to these voters.
    pub(super) fn can_end(&self, voters: Peers) -> bool {
        self.can_follow(voters) && self.log_hash.is_some()
    }

    fn joiner(&self) -> Peers {
        self.joins.iter().map(|joins| joins.peer).collect()
    }
}

/// What a peer holds of one peer's batches.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Holding {
    /// The first turn whose batch is not held.
    pub until: u32,
    /// The batch by which it leaves is among them: from the turn after that on its batches are empty by rule.
    pub left: bool,
    /// The beginning of the BLAKE3 hash of the newest one's content, 0 where there is none: two peers that hold
    /// different batches for one turn find out.
    pub newest: u64,
}

impl Holding {
    /// Whether it holds all that is needed of turns below `turn`.
    pub fn reaches(&self, turn: u32) -> bool {
        self.left || self.until >= turn
    }
}

/// The answer to a coordinator: this peer has frozen, and has this much.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Promise {
    /// Whom it is given to, and to nobody with a lower one.
    pub ballot: Ballot,
    /// What is held, by index in the start's roster.
    pub holdings: Vec<Holding>,
    /// Turns complete.
    pub complete: u32,
    /// The log's hash after them, after one turn less, and so on: [`RECENT`](super::RECENT) of them, or all.
    pub hashes: Vec<LogHash>,
    /// The value that this peer has accepted last, if it has, and in which ballot.
    pub accepted: Option<(Ballot, Value)>,
    /// Voters that this peer wants removed although they answer: they blocked turns for longer than is allowed.
    pub unwanted: Peers,
}

/// A message about the roster change that ends one epoch. It is for every peer of the roster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Message {
    /// A coordinator asks all to freeze and to say what they hold.
    Prepare(Ballot),
    /// The answer.
    Promise(Promise),
    /// The coordinator of this ballot proposes a value.
    Propose(Ballot, Value),
    /// Its sender holds all turns up to the cut, and accepts.
    Accept(Ballot, Value),
    /// Its sender was asked by a peer that wants to come back. No part of the agreement: a reason for it.
    Request(Request),
}

/// What a peer that wants to come back says once it follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Request {
    /// Who.
    pub joins: Joins,
    /// Turns that its world has executed.
    pub turns: u32,
    /// The two halves of its signature.
    pub signature: ([u8; 32], [u8; 32]),
}

impl Promise {
    /// The log's hash after so many turns, where it is told.
    pub fn hash_after(&self, turns: u32) -> Option<LogHash> {
        hash_after(self.complete, &self.hashes, turns)
    }
}

/// The hash after `turns` turns among those after `complete` turns, after one less, and so on.
pub(super) fn hash_after(complete: u32, hashes: &[LogHash], turns: u32) -> Option<LogHash> {
    let back = usize::try_from(complete.checked_sub(turns)?).ok()?;
    hashes.get(back).copied()
}

impl Message {
    /// The ballot that it belongs to: of two messages of one kind the one with the higher counts.
    pub fn ballot(&self) -> Ballot {
        match self {
            Message::Promise(promise) => promise.ballot,
            // It has none; a newer request takes the place of an older one as a higher ballot does.
            Message::Request(request) => Ballot {
                round: request.turns,
                peer: request.joins.peer,
            },
            Message::Prepare(ballot) | Message::Propose(ballot, _) | Message::Accept(ballot, _) => {
                *ballot
            }
        }
    }
}
