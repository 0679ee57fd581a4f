//! The board: signed facts that every neighbour should hold. Of each topic it keeps the newest, and of each neighbour what
//! both ends know that it holds.

use crate::Incarnation;
use crate::limits::MAX_PEERS;
use crate::log::RosterChange;
use crate::session::facts::{Body, Fact, Topic, Version};
use crate::session::wire::SignedStatement;
use std::collections::BTreeMap;
use std::time::Duration;

/// Votes in one message, and those of one author among them.
const VOTES_AT_ONCE: usize = 16;
const VOTES_OF_ONE: usize = 4;
/// Decisions that leave at once on one link.
const DECISIONS_AT_ONCE: usize = 16;
/// Decisions that are kept for peers that lag: none lags by more and has a part in the match.
const DECISIONS: usize = 256;
/// How often messages with votes leave on one link: a neighbour that is given more than it may pass on is blamed for it by
/// the others. Statuses need most of the rest of what a link takes.
const VOTES: Rate = Rate {
    every: Duration::from_millis(200),
    ahead: 32,
};
const STATUSES: Rate = Rate {
    every: Duration::from_millis(100),
    ahead: 0,
};

pub(crate) struct Board {
    epoch: u32,
    facts: BTreeMap<Topic, Fact>,
    /// Counts changes of the facts.
    changes: u64,
}

/// What both ends of a link know that the other one holds, and when it may be told more.
#[derive(Default)]
pub(crate) struct Neighbour {
    known: BTreeMap<Topic, Version>,
    votes: Paid,
    statuses: Paid,
    /// The author of the votes that come next.
    next_author: u8,
    /// After so many changes of the board it held all votes, and all statuses.
    has_votes: Option<u64>,
    has_statuses: Option<u64>,
}

/// A message leaves in each of these intervals, and so many may leave ahead of theirs.
#[derive(Clone, Copy)]
struct Rate {
    every: Duration,
    ahead: u32,
}

/// Up to this time messages that have left are paid for.
#[derive(Clone, Copy, Default)]
struct Paid(Duration);

impl Paid {
    /// When the next message may leave.
    fn free_at(self, rate: Rate) -> Duration {
        self.0.saturating_sub(rate.every * rate.ahead)
    }

    fn pay(&mut self, rate: Rate, now: Duration) {
        self.0 = self.0.max(now) + rate.every;
    }
}

impl Neighbour {
    /// The neighbour holds this version: it told it, or was told.
    pub(crate) fn note(&mut self, topic: Topic, version: Version) {
        let known = self.known.entry(topic).or_insert(version);
        if known.lacks(version) {
            *known = version;
        }
    }

    /// Whether it is not known that the neighbour holds this version.
    pub(crate) fn lacks(&self, topic: Topic, version: Version) -> bool {
        let known = self.known.get(&topic);
        known.is_none_or(|known| known.lacks(version))
    }

    /// Whether the neighbour was not sent the decision that ended this epoch, or a later one.
    pub(crate) fn lacks_decision(&self, epoch: u32) -> bool {
        self.lacks(Topic::Decisions, before(epoch))
    }

    pub(crate) fn note_decision(&mut self, epoch: u32) {
        self.note(Topic::Decisions, before(epoch));
    }

    fn lacks_fact(&self, fact: &Fact) -> bool {
        self.lacks(fact.topic, fact.version)
    }
}

impl Board {
    /// In this epoch.
    pub(crate) fn new(epoch: u32) -> Self {
        Board {
            epoch,
            facts: BTreeMap::new(),
            changes: 0,
        }
    }

    pub(crate) fn post(&mut self, fact: Fact) {
        self.changes += 1;
        self.facts.insert(fact.topic, fact);
    }

    /// Votes of earlier epochs matter no more.
    pub(crate) fn begin_epoch(&mut self, epoch: u32) {
        self.changes += 1;
        self.epoch = epoch;
        let kept = epoch.saturating_sub(DECISIONS as u32);
        self.facts.retain(|topic, _| match topic {
            Topic::Decision(of) => *of >= kept,
            topic => is_current(topic, epoch),
        });
    }

    /// Another run of a peer's process has its place: no proof stands against that run, and the status of the one before
    /// is no more.
    pub(crate) fn readmit(&mut self, at: u8, run: Incarnation) {
        self.changes += 1;
        self.facts.remove(&Topic::Proof(at));
        let status = self.facts.get(&Topic::Status(at));
        let of_run = |fact: &Fact| matches!(fact.version, Version::Status(of, _) if of == run);
        if !status.is_none_or(of_run) {
            self.facts.remove(&Topic::Status(at));
        }
    }

    /// The peers whose proofs a neighbour lacks; from now on it holds them.
    pub(crate) fn proofs_for(&self, neighbour: &mut Neighbour) -> Vec<u8> {
        let proofs = self.facts.range(Topic::Proof(0)..=Topic::Proof(u8::MAX));
        let mut untold = Vec::new();
        for (topic, fact) in proofs {
            if let Topic::Proof(at) = *topic
                && neighbour.lacks_fact(fact)
            {
                neighbour.note(*topic, fact.version);
                untold.push(at);
            }
        }
        untold
    }

    /// The decisions that ended epochs from this one on and that a neighbour was not sent, some at once; from now on it
    /// holds them, and all before them.
    pub(crate) fn decisions_for(&self, neighbour: &mut Neighbour, from: u32) -> Vec<&RosterChange> {
        let decisions = self.facts.range(Topic::Decision(from)..Topic::Decisions);
        let untold = decisions.filter_map(|(_, fact)| match &fact.body {
            Body::Decision(change) => Some(change.as_ref()),
            _ => None,
        });
        let untold = untold.filter(|change| neighbour.lacks_decision(change.epoch));
        let untold: Vec<&RosterChange> = untold.take(DECISIONS_AT_ONCE).collect();
        if let Some(last) = untold.last() {
            neighbour.note_decision(last.epoch);
        }
        untold
    }

    /// The votes that a neighbour lacks, as many as may leave now; from now on it holds them. Own ones come first, then
    /// those of each other author in turn: a peer that says much does not keep back what others say.
    pub(crate) fn votes_for(
        &self,
        neighbour: &mut Neighbour,
        me: u8,
        now: Duration,
    ) -> Vec<SignedStatement> {
        let due = self.votes_due(neighbour);
        if due.is_none() {
            neighbour.has_votes = Some(self.changes);
        }
        if due.is_none_or(|at| at > now) {
            return Vec::new();
        }
        let current = |topic: &Topic| is_current(topic, self.epoch);
        neighbour.known.retain(|topic, _| current(topic));
        let others =
            (0..MAX_PEERS as u8).map(|step| (neighbour.next_author + step) % MAX_PEERS as u8);
        let others: Vec<u8> = others.filter(|author| *author != me).collect();
        let mut told = Vec::new();
        for author in std::iter::once(me).chain(others) {
            let of_it = self.votes().filter(|(of, ..)| *of == author);
            let untold = of_it.filter(|(_, fact, _)| neighbour.lacks_fact(fact));
            let room = VOTES_OF_ONE.min(VOTES_AT_ONCE - told.len());
            let untold: Vec<_> = untold.take(room).collect();
            for (_, fact, signed) in untold {
                neighbour.note(fact.topic, fact.version);
                neighbour.next_author = author + 1;
                told.push(signed.clone());
            }
        }
        neighbour.votes.pay(VOTES, now);
        told
    }

    /// When votes that a neighbour lacks may leave, if it lacks any.
    pub(crate) fn votes_due(&self, neighbour: &Neighbour) -> Option<Duration> {
        let has_all = neighbour.has_votes == Some(self.changes);
        let lacks = |(_, fact, _)| neighbour.lacks_fact(fact);
        let lacks = !has_all && self.votes().any(lacks);
        lacks.then_some(neighbour.votes.free_at(VOTES))
    }

    fn votes(&self) -> impl Iterator<Item = (u8, &Fact, &SignedStatement)> {
        let votes = self.facts.range(..Topic::Status(0));
        votes.filter_map(|(topic, fact)| match (topic, &fact.body) {
            (Topic::Vote(_, author, _), Body::Vote(signed)) => Some((*author, fact, signed)),
            _ => None,
        })
    }

    /// The statuses that a neighbour lacks, if they may leave now; from now on it holds them.
    pub(crate) fn statuses_for(
        &self,
        neighbour: &mut Neighbour,
        now: Duration,
    ) -> Vec<SignedStatement> {
        let due = self.statuses_due(neighbour);
        if due.is_none() {
            neighbour.has_statuses = Some(self.changes);
        }
        if due.is_none_or(|at| at > now) {
            return Vec::new();
        }
        let mut told = Vec::new();
        for (fact, signed) in self.statuses() {
            if neighbour.lacks_fact(fact) {
                neighbour.note(fact.topic, fact.version);
                told.push(signed.clone());
            }
        }
        neighbour.statuses.pay(STATUSES, now);
        told
    }

    /// When statuses that a neighbour lacks may leave, if it lacks any.
    pub(crate) fn statuses_due(&self, neighbour: &Neighbour) -> Option<Duration> {
        let has_all = neighbour.has_statuses == Some(self.changes);
        let lacks = |(fact, _)| neighbour.lacks_fact(fact);
        let lacks = !has_all && self.statuses().any(lacks);
        lacks.then_some(neighbour.statuses.free_at(STATUSES))
    }

    fn statuses(&self) -> impl Iterator<Item = (&Fact, &SignedStatement)> {
        let statuses = self.facts.range(Topic::Status(0)..=Topic::Status(u8::MAX));
        statuses.filter_map(|(_, fact)| match &fact.body {
            Body::Status(signed) => Some((fact, signed)),
            _ => None,
        })
    }
}

/// The decisions up to the one that ended this epoch.
fn before(epoch: u32) -> Version {
    Version::Before(epoch.saturating_add(1))
}

/// Whether a topic matters in this epoch.
fn is_current(topic: &Topic, epoch: u32) -> bool {
    !matches!(topic, Topic::Vote(of, ..) if *of < epoch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{Ballot, Peers, Value};

    const MS: Duration = Duration::from_millis(1);

    fn signed(peer: u8) -> SignedStatement {
        SignedStatement {
            peer,
            content: vec![peer],
            signature: [0; 64].into(),
        }
    }

    fn vote(epoch: u32, author: u8, kind: u8, round: u32) -> Fact {
        Fact {
            topic: Topic::Vote(epoch, author, kind),
            version: Version::Ballot(
                Ballot {
                    round,
                    peer: author,
                },
                0,
            ),
            body: Body::Vote(signed(author)),
        }
    }

    #[test]
    fn a_neighbour_is_told_once_and_again_of_a_newer_version() {
        let (mut board, mut neighbour) = (Board::new(0), Neighbour::default());
        board.post(vote(0, 1, 0, 1));
        assert_eq!(board.votes_for(&mut neighbour, 0, MS).len(), 1);
        assert_eq!(board.votes_due(&neighbour), None);
        board.post(vote(0, 1, 0, 2));
        assert_eq!(board.votes_for(&mut neighbour, 0, MS).len(), 1);
        // What the neighbour has told itself it holds, and of that no older version.
        neighbour.note(Topic::Vote(0, 2, 0), vote(0, 2, 0, 5).version);
        board.post(vote(0, 2, 0, 4));
        assert_eq!(board.votes_due(&neighbour), None);
    }

    #[test]
    fn many_votes_of_one_author_keep_back_no_other() {
        let (mut board, mut neighbour) = (Board::new(0), Neighbour::default());
        for kind in 0..20 {
            board.post(vote(0, 1, kind, 1));
        }
        board.post(vote(0, 0, 0, 1));
        board.post(vote(0, 2, 0, 1));
        let told = board.votes_for(&mut neighbour, 0, MS);
        let authors: Vec<u8> = told.iter().map(|signed| signed.peer).collect();
        assert_eq!(authors, [0, 1, 1, 1, 1, 2]);
        let told = board.votes_for(&mut neighbour, 0, MS);
        assert_eq!(told.len(), VOTES_OF_ONE);
    }

    #[test]
    fn messages_leave_at_their_rate() {
        let (mut board, mut neighbour) = (Board::new(0), Neighbour::default());
        let second = MS * 1_000;
        let mut told = 0;
        for round in 1..=VOTES.ahead + 10 {
            board.post(vote(0, 1, 0, round));
            told += board.votes_for(&mut neighbour, 0, second).len() as u32;
        }
        assert!((VOTES.ahead..VOTES.ahead + 7).contains(&told), "{told}");
        let due = board.votes_due(&neighbour).expect("more to tell");
        assert!(due > second && due <= second + VOTES.every);
        assert_eq!(board.votes_for(&mut neighbour, 0, due).len(), 1);
    }

    #[test]
    fn an_epoch_that_is_over_is_forgotten() {
        let (mut board, mut neighbour) = (Board::new(0), Neighbour::default());
        board.post(vote(0, 1, 0, 1));
        board.post(vote(1, 1, 0, 1));
        board.begin_epoch(1);
        assert_eq!(board.votes_for(&mut neighbour, 0, MS).len(), 1);
        assert_eq!(neighbour.known.len(), 1);
    }

    #[test]
    fn statuses_and_proofs_are_told_once() {
        let (mut board, mut neighbour) = (Board::new(0), Neighbour::default());
        let run = Incarnation([1; 16]);
        board.post(Fact {
            topic: Topic::Status(1),
            version: Version::Status(run, 1),
            body: Body::Status(signed(1)),
        });
        board.post(Fact::proof(2));
        assert_eq!(board.statuses_for(&mut neighbour, MS * 200).len(), 1);
        assert_eq!(board.statuses_due(&neighbour), None);
        board.post(Fact {
            topic: Topic::Status(1),
            version: Version::Status(run, 2),
            body: Body::Status(signed(1)),
        });
        let due = board.statuses_due(&neighbour);
        assert_eq!(due, Some(MS * 200 + STATUSES.every));
        assert_eq!(board.proofs_for(&mut neighbour), [2]);
        assert!(board.proofs_for(&mut neighbour).is_empty());
    }

    #[test]
    fn a_new_run_ends_the_proof_and_the_status_of_the_one_before() {
        let (mut board, run) = (Board::new(0), Incarnation([2; 16]));
        let status = |run| Fact {
            topic: Topic::Status(1),
            version: Version::Status(run, 1),
            body: Body::Status(signed(1)),
        };
        board.post(Fact::proof(1));
        board.post(status(Incarnation([1; 16])));
        board.readmit(1, run);
        assert!(board.facts.is_empty());
        board.post(status(run));
        board.readmit(1, run);
        assert_eq!(board.facts.len(), 1);
    }

    fn decision(epoch: u32) -> Fact {
        Fact::decision(RosterChange {
            epoch,
            ballot: Ballot { round: 1, peer: 0 },
            value: Value::of(Peers(1), epoch),
            accepts: Vec::new(),
            proofs: Vec::new(),
            reopening: None,
        })
    }

    #[test]
    fn a_neighbour_that_lags_is_told_all_decisions_in_order() {
        let (mut board, mut neighbour) = (Board::new(0), Neighbour::default());
        (0..20).for_each(|epoch| board.post(decision(epoch)));
        let told = |board: &Board, neighbour: &mut Neighbour, from: u32| -> Vec<u32> {
            let told = board.decisions_for(neighbour, from);
            told.iter().map(|change| change.epoch).collect()
        };
        let first: Vec<u32> = (2..18).collect();
        assert_eq!(told(&board, &mut neighbour, 2), first);
        assert_eq!(told(&board, &mut neighbour, 2), [18, 19]);
        assert!(told(&board, &mut neighbour, 0).is_empty());
        board.begin_epoch(DECISIONS as u32 + 3);
        let mut other = Neighbour::default();
        assert_eq!(board.decisions_for(&mut other, 0)[0].epoch, 3);
    }
}
