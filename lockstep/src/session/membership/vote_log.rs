//! The votes that peers have cast: of this epoch, and of later ones that others are in already.

use super::paxos::{Ballot, Message, Peers, Promise, Value, Voters};
use crate::limits::MAX_PEERS;
use crate::session::facts::{Topic, Version};
use std::collections::BTreeMap;
use std::time::Duration;

/// Epochs ahead of this one whose votes are kept.
const AHEAD: u32 = 4;
/// Attempts of one voter are taken up no more often than this: an honest one begins the next no sooner.
const ATTEMPTS_EVERY: Duration = Duration::from_millis(500);
/// So many rounds are taken up for each second of an epoch. What is said of later ones waits: all peers are led at most as
/// far, and rounds do not run out for days. Correct peers need no more than one in half a second.
const ROUNDS_PER_S: u32 = 4_096;
/// The peer in turn may begin so many more. So other peers leave rounds to it that all follow.
const IN_TURN: u32 = 64;
/// An attempt that has come to nothing is followed by another, the second after twice this time, and so on.
const RETRY: Duration = Duration::from_secs(1);
/// What a promise tells of may be on its way for so long, over links that lose much.
pub(super) const DOUBTED_AFTER: Duration = Duration::from_secs(1);

/// What the next vote to deliver depends on.
pub(super) struct Delivering {
    pub voters: Voters,
    /// Voters with attempts that are taken up.
    pub asks: Peers,
    /// The peer in turn, which is to begin one.
    pub in_turn: Option<u8>,
    pub now: Duration,
}

pub(super) struct VoteLog {
    me: u8,
    epoch: u32,
    /// When the epoch began here.
    began: Duration,
    /// The newest vote of each kind by each peer: its epoch, its author, and the kind.
    votes: BTreeMap<(u32, u8, u8), Vote>,
    /// By voter, the peers that it wants to go, by all that it has promised in this epoch.
    against: BTreeMap<u8, Peers>,
    /// When an attempt of each voter was last taken up; of this peer, at first, when the epoch began.
    prepared: BTreeMap<u8, Duration>,
    /// By coordinator, its newest attempt that was taken up, and the peers that have promised nothing in those before it.
    attempted: BTreeMap<u8, (Ballot, Peers)>,
    /// Attempts of this peer in this epoch, since there was last another peer to go.
    attempts: u32,
    /// All that were to go at any time of this epoch.
    to_go: Peers,
    /// Voters with promises that told of what this peer could not see.
    doubts: BTreeMap<u8, Doubt>,
}

/// What the newest promises of a voter tell, and this peer cannot see.
struct Doubt {
    /// The newest of these promises.
    of: Option<Ballot>,
    since: Duration,
    until: Duration,
    /// All that this promise tells of has been seen, late.
    is_over: bool,
}

/// A vote, and whether this peer's own part in the agreement has been told of it.
pub(super) struct Vote {
    pub message: Message,
    pub signature: [u8; 64],
    delivered: bool,
}

/// The topic of a vote.
pub(super) fn topic(epoch: u32, from: u8, message: &Message) -> Topic {
    Topic::Vote(epoch, from, kind(message))
}

/// Which of the votes of one topic it is.
pub(super) fn version(message: &Message) -> Version {
    Version::Ballot(message.ballot(), message.order())
}

const PREPARE: u8 = 0;
const PROMISE: u8 = 1;
const ACCEPT: u8 = 3;

fn kind(message: &Message) -> u8 {
    match message {
        Message::Prepare(_) => PREPARE,
        Message::Promise(_) => PROMISE,
        Message::Propose(..) => 2,
        Message::Accept(..) => ACCEPT,
        // One for each joiner: a later request of another must not take its place before all have heard of it.
        Message::Request(_, request) => 4 + request.joins.peer.min(MAX_PEERS as u8),
    }
}

impl VoteLog {
    pub(super) fn new(me: u8, epoch: u32, now: Duration) -> Self {
        VoteLog {
            me,
            epoch,
            began: now,
            votes: BTreeMap::new(),
            against: BTreeMap::new(),
            prepared: BTreeMap::from([(me, now)]),
            attempted: BTreeMap::new(),
            attempts: 0,
            to_go: Peers::default(),
            doubts: BTreeMap::new(),
        }
    }

    pub(super) fn begin_epoch(&mut self, epoch: u32, now: Duration) {
        (self.epoch, self.began) = (epoch, now);
        self.votes.retain(|(of, ..), _| *of >= epoch);
        // Votes of this epoch may have come before it began here.
        self.against = self.newest_against();
        self.prepared = BTreeMap::from([(self.me, now)]);
        self.attempted.clear();
        self.attempts = 0;
        self.to_go = Peers::default();
        self.doubts.clear();
    }

    /// Whether votes of an epoch are kept now.
    pub(super) fn keeps(&self, epoch: u32) -> bool {
        (self.epoch..=self.epoch + AHEAD).contains(&epoch)
    }

    /// Whether a vote would be news.
    pub(super) fn is_news(&self, epoch: u32, from: u8, message: &Message) -> bool {
        let known = self.votes.get(&(epoch, from, kind(message)));
        let is_newer = |vote: &Vote| version(&vote.message).lacks(version(message));
        self.keeps(epoch) && known.is_none_or(is_newer)
    }

    /// Keeps a vote whose signature holds.
    pub(super) fn post(&mut self, epoch: u32, from: u8, message: Message, signature: [u8; 64]) {
        if let Message::Promise(promise) = &message
            && epoch == self.epoch
        {
            let against = self.against.entry(from).or_default();
            *against = against.or(promise.unwanted);
        }
        let vote = Vote {
            signature,
            delivered: false,
            message,
        };
        let key = (epoch, from, kind(&vote.message));
        self.votes.insert(key, vote);
    }

    /// The votes of this epoch, with their authors.
    fn current(&self) -> impl Iterator<Item = (u8, &Vote)> {
        let votes = self.votes.range((self.epoch, 0, 0)..(self.epoch + 1, 0, 0));
        votes.map(|((_, from, _), vote)| (*from, vote))
    }

    /// The votes of one kind.
    fn of_kind(&self, kind: u8) -> impl Iterator<Item = (u8, &Vote)> {
        let votes = self.votes.range((self.epoch, 0, 0)..(self.epoch + 1, 0, 0));
        let votes = votes.filter(move |((.., of), _)| *of == kind);
        votes.map(|((_, from, _), vote)| (*from, vote))
    }

    /// Whether there may be a vote to deliver.
    pub(super) fn has_undelivered(&self) -> bool {
        self.current().any(|(_, vote)| !vote.delivered)
    }

    /// The next vote that the own part in the agreement has not been told of. Other peers' attempts wait until there is a
    /// reason to freeze, and until it is their turn; those of the peers in `asks` are taken up. What is said in a ballot
    /// waits until its peer has begun it: rounds that no peer begins would leave begun rounds behind.
    pub(super) fn next_undelivered(&mut self, seen: &Delivering) -> Option<(u8, Message)> {
        let (epoch, me) = (self.epoch, self.me);
        let Delivering { asks, now, .. } = *seen;
        let furthest = self.furthest_round(seen);
        let is_far = |ballot: Ballot| {
            let more = match seen.in_turn == Some(ballot.peer) {
                true => IN_TURN,
                false => 0,
            };
            ballot.round > furthest.saturating_add(more)
        };
        let prepared = &self.prepared;
        let soon = |after: &u8| {
            let at = prepared.get(after);
            at.is_some_and(|at| *at + ATTEMPTS_EVERY > now)
        };
        // The peer in turn has time for its answers: a later attempt would take them away.
        let begun = |of: &&u8| self.attempted.contains_key(of);
        let busy = seen.in_turn.iter().filter(begun).any(soon);
        let waits = |from: u8| !asks.contains(from) || soon(&from) || busy;
        let begun = self.of_kind(PREPARE);
        let begun: Vec<Ballot> = begun.map(|(_, vote)| vote.message.ballot()).collect();
        let open = self.votes.range_mut((epoch, 0, 0)..(epoch + 1, 0, 0));
        let mut open = open.filter(|((_, from, _), vote)| {
            let ballot = vote.message.ballot();
            let waits = match vote.message {
                Message::Request(..) => false,
                _ if *from != me && is_far(ballot) => true,
                Message::Prepare(_) => *from != me && waits(*from),
                _ => !begun
                    .iter()
                    .any(|begun| begun.peer == ballot.peer && *begun >= ballot),
            };
            !vote.delivered && !waits
        });
        let ((_, from, _), vote) = open.next()?;
        vote.delivered = true;
        let next = (*from, vote.message.clone());
        if let Message::Prepare(ballot) = next.1 {
            self.prepared.insert(next.0, now);
            let before = self.attempted.get(&next.0).map(|(before, _)| *before);
            let owing = before.map(|before| self.silent_since(before, is_far));
            let attempt = (ballot, owing.unwrap_or_default());
            self.attempted.insert(next.0, attempt);
        }
        Some(next)
    }

    /// The last round that is taken up: a later one counts where the voters that have come to earlier ones only are no quorum.
    fn furthest_round(&self, seen: &Delivering) -> u32 {
        let seconds = seen.now.saturating_sub(self.began).as_secs() + 1;
        let by_time = seconds.saturating_mul(u64::from(ROUNDS_PER_S));
        let by_time = u32::try_from(by_time).unwrap_or(u32::MAX);
        let told = || {
            let votes = self.current().map(|(from, vote)| (from, &vote.message));
            let votes = votes.filter(|(_, message)| !matches!(message, Message::Request(..)));
            votes.map(|(from, message)| (from, message.ballot().round))
        };
        let is_common = |round: &u32| {
            let come = told().filter(|(_, of)| of >= round);
            let come = come.map(|(from, _)| from).collect();
            !seen.voters.is_quorum(seen.voters.members().without(come))
        };
        let later = told().map(|(_, round)| round);
        let later = later.filter(|round| *round > by_time).filter(is_common);
        later.max().unwrap_or(by_time)
    }

    /// The peers that have promised nothing in this attempt of a coordinator, or in a later one of any that is not far.
    fn silent_since(&self, ballot: Ballot, is_far: impl Fn(Ballot) -> bool) -> Peers {
        let promised = self.of_kind(PROMISE);
        let promised = promised.filter(|(_, vote)| {
            let of = vote.message.ballot();
            of >= ballot && !is_far(of)
        });
        Peers::first(MAX_PEERS).without(promised.map(|(from, _)| from).collect())
    }

    /// The peers that owed a coordinator their promises when it began its newest attempt: it began that for their sake.
    pub(super) fn owed(&self, coordinator: u8) -> Peers {
        let attempt = self.attempted.get(&coordinator);
        attempt.map(|(_, owing)| *owing).unwrap_or_default()
    }

    /// Whether another peer's attempt waits for this one to see a reason.
    pub(super) fn is_asked(&self) -> bool {
        self.of_kind(PREPARE).any(|(_, vote)| !vote.delivered)
    }

    /// Whether an attempt was taken up so lately that its coordinator cannot have all answers.
    pub(super) fn has_just_begun(&self, now: Duration) -> bool {
        let mut prepared = self.prepared.values();
        prepared.any(|at| now < *at + ATTEMPTS_EVERY)
    }

    /// Whether it is time for another attempt of this peer. Others' attempts make it wait, but not longer each time: a
    /// peer that makes many would have it wait for ever. Those of peers that are `to_remove` do not count.
    pub(super) fn is_retry_due(&self, to_remove: Peers, now: Duration) -> bool {
        let prepared = self.prepared.iter();
        let mut counted = prepared.filter(|(of, _)| !to_remove.contains(**of));
        let time = RETRY * self.attempts.clamp(1, 8);
        counted.all(|(_, at)| now >= *at + time)
    }

    /// These peers are to go. Voters that have not promised so yet will, in the next attempt: that is soon again.
    pub(super) fn note_to_go(&mut self, to_go: Peers) {
        if !to_go.without(self.to_go).is_empty() {
            self.attempts = 0;
        }
        self.to_go = self.to_go.or(to_go);
    }

    pub(super) fn count_attempt(&mut self) {
        self.attempts += 1;
    }

    /// The voters that a quorum has wanted to go at any time of this epoch. That a peer left no promise says: its batch does.
    pub(super) fn unwanted_by_quorum(&self, voters: Voters) -> Peers {
        unwanted_by_quorum(voters, &self.against)
    }

    /// The voters that a quorum wants to go by its newest promises.
    pub(super) fn still_unwanted(&self, voters: Voters) -> Peers {
        unwanted_by_quorum(voters, &self.newest_against())
    }

    /// By voter, the peers that its newest promise wants to go.
    fn newest_against(&self) -> BTreeMap<u8, Peers> {
        let promises = self.of_kind(PROMISE);
        let against = promises.filter_map(|(by, vote)| match &vote.message {
            Message::Promise(promise) => Some((by, promise.unwanted)),
            _ => None,
        });
        against.collect()
    }

    /// The peers that have begun a later round than this one.
    pub(super) fn begun_after(&self, round: u32) -> Peers {
        let later = self.of_kind(PREPARE);
        let later = later.filter(|(_, vote)| vote.message.ballot().round > round);
        later.map(|(from, _)| from).collect()
    }

    /// The peers that have promised last in a later ballot than this one.
    pub(super) fn promised_after(&self, ballot: Option<Ballot>) -> Peers {
        let later = self.of_kind(PROMISE).filter(|(_, vote)| vote.delivered);
        let later = later.filter(|(_, vote)| Some(vote.message.ballot()) > ballot);
        later.map(|(from, _)| from).collect()
    }

    /// The coordinator that a voter follows by its newest promise, where that is in a later ballot than this one.
    pub(super) fn held_by(&self, voter: u8, ballot: Option<Ballot>) -> Option<u8> {
        let of = self.newest_promise(voter)?;
        (Some(of) > ballot && self.has_begun(of)).then_some(of.peer)
    }

    /// Whether a quorum has answered the newest attempt of a peer.
    pub(super) fn is_answered_by_quorum(&self, of: u8, voters: Voters, peers: usize) -> bool {
        let begun = self.votes.get(&(self.epoch, of, PREPARE));
        let answered = |begun: &Vote| self.promised_in(begun.message.ballot(), peers);
        begun.is_some_and(|begun| voters.is_quorum(answered(begun)))
    }

    /// Whether the peer of this ballot has begun it, or a later one.
    fn has_begun(&self, ballot: Ballot) -> bool {
        let begun = self.votes.get(&(self.epoch, ballot.peer, PREPARE));
        begun.is_some_and(|begun| begun.message.ballot() >= ballot)
    }

    /// The voters that have promised in this ballot, or in a later one, as far as others have passed it on. What no
    /// coordinator would take for a promise is none: it tells of as many holdings as there are `peers`, in a ballot that
    /// was begun, and not too far ahead.
    pub(super) fn promised_in(&self, ballot: Ballot, peers: usize) -> Peers {
        let counts = |vote: &Vote| {
            let whole = matches!(&vote.message, Message::Promise(promise) if promise.holdings.len() == peers);
            let of = vote.message.ballot();
            whole && of >= ballot && vote.delivered && self.has_begun(of)
        };
        let promised = self.of_kind(PROMISE).filter(|(_, vote)| counts(vote));
        promised.map(|(from, _)| from).collect()
    }

    /// Whether the coordinator of what is proposed had to propose it: another voter has accepted it before.
    pub(super) fn had_to_propose(&self, (ballot, value): (Ballot, Value)) -> bool {
        self.current().any(|(from, vote)| {
            let told = match &vote.message {
                Message::Promise(promise) => promise.accepted,
                _ => None,
            };
            from != ballot.peer && told.is_some_and(|(_, accepted)| accepted == value)
        })
    }

    /// Voters that have made such a promise last.
    pub(super) fn promised(&self, is: impl Fn(&Promise) -> bool) -> Peers {
        let promises = self.current().filter(|(_, vote)| match &vote.message {
            Message::Promise(promise) => is(promise),
            _ => false,
        });
        promises.map(|(from, _)| from).collect()
    }

    /// These voters have promises that tell of what this peer cannot see. A promise that was doubted for long stays so: what
    /// it told of may come just when the others have been asked to go on without it.
    pub(super) fn note_doubted(&mut self, doubted: Peers, now: Duration) {
        let mut doubts = std::mem::take(&mut self.doubts);
        doubts.retain(|peer, doubt| {
            doubt.is_over |= !doubted.contains(*peer);
            let stays = doubt.of == self.newest_promise(*peer) && doubt.lasts() >= DOUBTED_AFTER;
            !doubt.is_over || stays
        });
        for peer in doubted.iter() {
            let of = self.newest_promise(peer);
            let before = doubts.get(&peer).filter(|doubt| !doubt.is_over);
            let doubt = Doubt {
                of,
                since: before.map_or(now, |doubt| doubt.since),
                until: now,
                is_over: false,
            };
            doubts.insert(peer, doubt);
        }
        self.doubts = doubts;
    }

    /// Voters with newest promises that were doubted for so long.
    pub(super) fn doubted_for(&self, time: Duration) -> Peers {
        let doubts = self.doubts.iter();
        let long =
            doubts.filter(|(peer, of)| of.lasts() >= time && of.of == self.newest_promise(**peer));
        long.map(|(peer, _)| *peer).collect()
    }

    /// The ballot of a voter's newest promise.
    fn newest_promise(&self, peer: u8) -> Option<Ballot> {
        let promise = self.votes.get(&(self.epoch, peer, PROMISE))?;
        Some(promise.message.ballot())
    }

    /// The signature by which a peer accepted in a ballot.
    pub(super) fn accept_of(&self, peer: u8, ballot: Ballot) -> Option<[u8; 64]> {
        let vote = self.votes.get(&(self.epoch, peer, ACCEPT))?;
        (vote.message.ballot() == ballot).then_some(vote.signature)
    }
}

impl Doubt {
    fn lasts(&self) -> Duration {
        self.until - self.since
    }
}

/// The voters that a quorum is against; `against`: by voter, the peers that it wants to go.
fn unwanted_by_quorum(voters: Voters, against: &BTreeMap<u8, Peers>) -> Peers {
    let named = against
        .values()
        .fold(Peers::default(), |all, peers| all.or(*peers));
    let unwanted = voters.members().and(named).iter().filter(|of| {
        let against = against.iter().filter(|(_, peers)| peers.contains(*of));
        voters.is_quorum(against.map(|(by, _)| *by).collect())
    });
    unwanted.collect()
}

#[cfg(test)]
mod tests;
