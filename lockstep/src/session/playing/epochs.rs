//! Epochs: what is said about the change that ends this one, and what ended those before.

use crate::limits::MAX_PEERS;
use crate::log::RosterChange;
use crate::session::link::{Link, NoteKey};
use crate::session::roster::{Ballot, Holding, Message, Peers, Roster, Voters};
use crate::session::wire::SignedNote;
use crate::{LogHash, PeerId};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

pub(super) struct Epochs {
    me: u8,
    epoch: u32,
    pub roster: Roster,
    /// The newest note of each kind by each peer: of this epoch, and of later ones that others are in already.
    board: BTreeMap<NoteKey, Posted>,
    /// What ends this epoch, while turns up to its cut are not all complete.
    pending: Option<RosterChange>,
    /// Decisions of later epochs, as each peer told them: they are proved when their epoch has begun.
    pub later: BTreeMap<(u32, PeerId), RosterChange>,
    /// Of each voter, whom it wants to go, by all that it has promised in this epoch.
    against: BTreeMap<u8, Peers>,
    /// The voters whose promises have shown another history.
    differing: Peers,
    /// The last decisions, oldest first, and without a hole.
    decisions: VecDeque<RosterChange>,
    /// The epoch that ended with the decision that let this peer in. Who has not heard of that sends it no turns, by which
    /// it would show what it lacks; and who decided it may be gone.
    let_in: Option<u32>,
    /// Takes the place of the newest log hash for the first turn of this epoch.
    pub chained: Option<LogHash>,
    /// Changes that wait for their place in the log.
    pub unlogged: VecDeque<RosterChange>,
    pub began_at: Duration,
    /// When an attempt to decide was last taken up.
    pub attempt_at: Duration,
    /// Attempts of this peer in this epoch.
    pub attempts: u32,
    /// When an attempt of each voter was last taken up.
    prepared: BTreeMap<u8, Duration>,
}

/// A note that is passed on.
pub(super) struct Posted {
    pub ballot: Ballot,
    pub message: Message,
    pub note: SignedNote,
    /// The own roster has been told of it.
    pub heard: bool,
}

/// Epochs ahead of ours whose notes and decisions are kept.
const AHEAD: u32 = 4;
/// Decisions that are kept for who lags: nobody lags by more and has a part in the match.
const KEPT: usize = 256;
/// Attempts of one voter are taken up no more often than this: an honest one begins the next no sooner.
pub(super) const ATTEMPTS_EVERY: Duration = Duration::from_millis(500);
/// An attempt that is further ahead waits until others tell of such rounds, too. So nobody is led further away from the
/// others than they can follow.
const ROUNDS_AT_ONCE: u32 = 12;
/// Notes in one message.
const NOTES_AT_ONCE: usize = 16;
/// Those of one peer among them.
const NOTES_OF_ONE: usize = 4;

impl Epochs {
    pub(super) fn new(me: usize, peers: usize, now: Duration) -> Self {
        let me = me as u8;
        Epochs {
            me,
            epoch: 0,
            roster: Roster::new(me, Voters::new(Peers::first(peers))),
            board: BTreeMap::new(),
            pending: None,
            later: BTreeMap::new(),
            against: BTreeMap::new(),
            differing: Peers::default(),
            decisions: VecDeque::new(),
            let_in: None,
            chained: None,
            unlogged: VecDeque::new(),
            began_at: now,
            attempt_at: now,
            attempts: 0,
            prepared: BTreeMap::new(),
        }
    }

    /// Of a peer that comes back by the last of these changes, which are all there were.
    pub(super) fn resumed(
        me: usize,
        chained: LogHash,
        changes: Vec<RosterChange>,
        now: Duration,
    ) -> Self {
        let last = changes
            .last()
            .expect("a peer comes back by a change")
            .clone();
        let me = me as u8;
        let skipped = changes.len().saturating_sub(KEPT);
        Epochs {
            epoch: last.epoch + 1,
            roster: Roster::new(me, Voters::new(last.value.roster)),
            decisions: changes.into_iter().skip(skipped).collect(),
            let_in: Some(last.epoch),
            chained: Some(chained),
            unlogged: VecDeque::from([last]),
            ..Epochs::new(usize::from(me), 0, now)
        }
    }

    /// Of a player that goes on alone in this epoch, with what takes the place of the newest hash for its first turn.
    pub(super) fn continued(epoch: u32, chained: LogHash, now: Duration) -> Self {
        Epochs {
            epoch,
            chained: Some(chained),
            ..Epochs::new(0, 1, now)
        }
    }

    pub(super) fn epoch(&self) -> u32 {
        self.epoch
    }

    pub(super) fn voters(&self) -> Voters {
        self.roster.voters()
    }

    /// Whether the peer at this place is in the roster.
    pub(super) fn has(&self, at: usize) -> bool {
        self.voters().members().contains(at as u8)
    }

    /// Whether nothing may be completed or sealed.
    pub(super) fn is_frozen(&self) -> bool {
        self.pending.is_none() && self.roster.is_frozen()
    }

    /// Turns before this epoch.
    pub(super) fn began_with(&self) -> u32 {
        let mut before = self.decisions.iter().rev();
        let before = before.find(|change| change.epoch < self.epoch);
        before.map_or(0, |change| change.value.cut)
    }

    /// Whether a change is under way and not decided.
    pub(super) fn is_changing(&self) -> bool {
        self.pending.is_none() && (self.roster.is_frozen() || self.roster.coordinates().is_some())
    }

    pub(super) fn pending(&self) -> Option<&RosterChange> {
        self.pending.as_ref()
    }

    /// Whether a decision says that this peer is out.
    pub(super) fn is_out(&self) -> bool {
        let mut pending = self.pending.iter();
        pending.any(|change| !change.value.roster.contains(self.me))
    }

    /// Whether a decision says that this peer is in the next epoch's roster.
    pub(super) fn stays_for_next(&self) -> bool {
        self.pending.is_some() && !self.is_out()
    }

    /// Whether a turn belongs to this epoch, as far as that is decided, and is not held up.
    pub(super) fn allows(&self, turn: u32) -> bool {
        !self.is_frozen()
            && self
                .pending
                .as_ref()
                .is_none_or(|change| turn < change.value.cut)
    }

    pub(super) fn decide(&mut self, change: RosterChange) {
        self.decisions.push_back(change.clone());
        if self.decisions.len() > KEPT {
            self.decisions.pop_front();
        }
        self.pending = Some(change);
    }

    /// Begins the next epoch where `complete` turns are all of this one. What ended it.
    pub(super) fn begin_next(&mut self, complete: u32, now: Duration) -> Option<RosterChange> {
        let change = self.pending.take_if(|change| {
            change.value.cut == complete && change.value.roster.contains(self.me)
        })?;
        self.epoch += 1;
        self.roster = Roster::new(self.me, Voters::new(change.value.roster));
        let epoch = self.epoch;
        self.board.retain(|(of, ..), _| *of >= epoch);
        self.later.retain(|(of, _), _| *of >= epoch);
        self.differing = Peers::default();
        self.against.clear();
        self.began_at = now;
        self.attempt_at = now;
        self.attempts = 0;
        self.prepared.clear();
        Some(change)
    }

    /// Whether this is the first promise of a voter in this epoch that shows another history.
    pub(super) fn differs_first(&mut self, from: u8) -> bool {
        let first = !self.differing.contains(from);
        self.differing = self.differing.or(std::iter::once(from).collect());
        first
    }

    /// Whether notes of this key are kept now.
    pub(super) fn keeps(&self, (of, ..): NoteKey) -> bool {
        (self.epoch..=self.epoch + AHEAD).contains(&of)
    }

    /// Whether a note of this key and ballot would be news.
    pub(super) fn is_news(&self, key: NoteKey, ballot: Ballot) -> bool {
        self.keeps(key)
            && self
                .board
                .get(&key)
                .is_none_or(|posted| posted.ballot < ballot)
    }

    /// The voters whom a quorum wants to go. That somebody left no promise says: its batch does.
    pub(super) fn unwanted_by_quorum(&self) -> Peers {
        let members = self.voters().members().iter();
        let unwanted = members.filter(|of| {
            let against = self.against.iter();
            let against = against.filter(|(_, unwanted)| unwanted.contains(*of));
            self.voters()
                .is_quorum(against.map(|(by, _)| *by).collect())
        });
        unwanted.collect()
    }

    pub(super) fn post(&mut self, key: NoteKey, posted: Posted) {
        if let ((of, from, PROMISE), Message::Promise(promise)) = (key, &posted.message)
            && of == self.epoch
        {
            let against = self.against.entry(from).or_default();
            *against = against.or(promise.unwanted);
        }
        self.board.insert(key, posted);
    }

    /// The next note that the own roster has not been told of. Other peers' attempts wait until there is a reason to
    /// freeze, and until it is their turn; those of nobody in `asks` are taken up. What is said in a ballot waits until its
    /// peer has begun it: rounds that nobody begins would leave those behind who do.
    pub(super) fn next_unheard(&mut self, asks: Peers, now: Duration) -> Option<(u8, Message)> {
        let (epoch, me, round) = (self.epoch, self.me, self.roster.round());
        let prepared = &self.prepared;
        let waits = |from: u8, ballot: Ballot| {
            let soon = prepared
                .get(&from)
                .is_some_and(|at| *at + ATTEMPTS_EVERY > now);
            !asks.contains(from) || soon || ballot.round > round.saturating_add(ROUNDS_AT_ONCE)
        };
        let begun = self
            .board
            .iter()
            .filter(|((of, _, kind), _)| (*of, *kind) == (epoch, PREPARE));
        let begun: Vec<Ballot> = begun.map(|(_, posted)| posted.ballot).collect();
        let mut open = self.board.iter_mut().filter(|((of, from, _), posted)| {
            let waits = match posted.message {
                Message::Prepare(_) => *from != me && waits(*from, posted.ballot),
                Message::Request(_) => false,
                _ => !begun
                    .iter()
                    .any(|begun| begun.peer == posted.ballot.peer && *begun >= posted.ballot),
            };
            *of == epoch && !posted.heard && !waits
        });
        let ((_, from, _), posted) = open.next()?;
        posted.heard = true;
        if matches!(posted.message, Message::Prepare(_)) {
            self.attempt_at = now;
            self.prepared.insert(*from, now);
        }
        Some((*from, posted.message.clone()))
    }

    /// Whether some other peer's attempt waits for this one to see a reason.
    pub(super) fn is_asked(&self) -> bool {
        let mut posted = self.board.iter();
        posted.any(|((of, _, kind), posted)| (*of, *kind) == (self.epoch, PREPARE) && !posted.heard)
    }

    /// Whether the peer of this ballot has begun it, or a later one.
    fn has_begun(&self, ballot: Ballot) -> bool {
        let begun = self.board.get(&(self.epoch, ballot.peer, PREPARE));
        begun.is_some_and(|begun| begun.ballot >= ballot)
    }

    /// Who has begun a later round than this one.
    pub(super) fn begun_after(&self, round: u32) -> Peers {
        let posted = self.board.iter();
        let later = posted.filter(|((of, _, kind), posted)| {
            (*of, *kind) == (self.epoch, PREPARE) && posted.ballot.round > round
        });
        later.map(|((_, from, _), _)| *from).collect()
    }

    /// The voters who have promised in this ballot, or in a later one, as far as others have passed it on. What whoever
    /// coordinates would not take for a promise is none: it tells of as many holdings as there are `peers`, in a ballot
    /// that was begun.
    pub(super) fn promised_in(&self, ballot: Ballot, peers: usize) -> Peers {
        let counts = |posted: &Posted| {
            let whole = matches!(&posted.message, Message::Promise(promise) if promise.holdings.len() == peers);
            whole && posted.ballot >= ballot && self.has_begun(posted.ballot)
        };
        let posted = self.board.iter();
        let promised = posted.filter(|((of, _, kind), posted)| {
            (*of, *kind) == (self.epoch, PROMISE) && counts(posted)
        });
        promised.map(|((_, from, _), _)| *from).collect()
    }

    /// Whether the coordinator of what is proposed to this peer had to propose it: another voter has accepted it before.
    pub(super) fn had_to_propose(&self) -> bool {
        let Some((ballot, value)) = self.roster.proposed() else {
            return false;
        };
        let mut posted = self.board.iter();
        posted.any(|((of, from, _), posted)| {
            let told = match &posted.message {
                Message::Promise(promise) => promise.accepted,
                _ => None,
            };
            let accepted = told.is_some_and(|(_, accepted)| accepted == *value);
            *of == self.epoch && *from != ballot.peer && accepted
        })
    }

    /// The voters whose newest promises tell of batches that a peer with these holdings lacks.
    pub(super) fn tell_of_more(&self, holdings: &[Holding]) -> Peers {
        let posted = self.board.iter();
        let more = posted.filter(|((of, _, _), posted)| match &posted.message {
            Message::Promise(promise) if *of == self.epoch => {
                let mut pairs = promise.holdings.iter().zip(holdings);
                pairs.any(|(told, held)| told.until > held.until)
            }
            _ => false,
        });
        more.map(|((_, from, _), _)| *from).collect()
    }

    /// The signature by which a peer accepted in a ballot.
    pub(super) fn accept_of(&self, peer: u8, ballot: Ballot) -> Option<[u8; 64]> {
        let posted = self.board.get(&(self.epoch, peer, ACCEPT))?;
        (posted.ballot == ballot).then(|| posted.note.signature.into())
    }

    /// The notes that the other end of a link does not know of; from now on it does.
    pub(super) fn untold(&self, link: &mut Link) -> Vec<SignedNote> {
        link.notes_known.retain(|(of, ..), _| *of >= self.epoch);
        if !self.has_untold(link) {
            return Vec::new();
        }
        // Own ones first, then those of each other in turn: whoever says much does not keep back what others say.
        let mut authors = vec![self.me];
        let others = (0..MAX_PEERS as u8).map(|step| (link.notes_from + step) % MAX_PEERS as u8);
        authors.extend(others.filter(|author| *author != self.me));
        let mut notes = Vec::new();
        for author in authors {
            let known = &mut link.notes_known;
            let of_it = self
                .board
                .iter()
                .filter(|((_, from, _), _)| *from == author);
            let untold = of_it.filter(|(key, posted)| is_untold(known, key, posted));
            let room = NOTES_OF_ONE.min(NOTES_AT_ONCE - notes.len());
            let untold: Vec<_> = untold.take(room).collect();
            for (key, posted) in untold {
                link.notes_known.insert(*key, posted.ballot);
                link.notes_from = author + 1;
                notes.push(posted.note.clone());
            }
        }
        notes
    }

    /// Whether there are any.
    pub(super) fn has_untold(&self, link: &Link) -> bool {
        let mut posted = self.board.iter();
        posted.any(|(key, posted)| is_untold(&link.notes_known, key, posted))
    }

    /// The decisions that the other end of a link lacks and has not been sent on it.
    pub(super) fn lacking(&self, link: &mut Link) -> Vec<RosterChange> {
        // Those who have decided anything since then know of it.
        let let_in = self.let_in.filter(|epoch| epoch + 1 == self.epoch);
        let Some(from) = link.epoch.or(let_in) else {
            return Vec::new();
        };
        let from = from.max(link.decisions_sent);
        let first = self.decisions.partition_point(|change| change.epoch < from);
        let lacking = self.decisions.range(first..).take(NOTES_AT_ONCE);
        let lacking: Vec<RosterChange> = lacking.cloned().collect();
        if let Some(last) = lacking.last() {
            link.decisions_sent = last.epoch + 1;
        }
        lacking
    }
}

fn is_untold(known: &BTreeMap<NoteKey, Ballot>, key: &NoteKey, posted: &Posted) -> bool {
    known.get(key).is_none_or(|known| *known < posted.ballot)
}

const PREPARE: u8 = 0;
const PROMISE: u8 = 1;
const ACCEPT: u8 = 3;

/// Where a message stands on the board.
pub(super) fn key(epoch: u32, from: u8, message: &Message) -> NoteKey {
    let kind = match message {
        Message::Prepare(_) => PREPARE,
        Message::Promise(_) => PROMISE,
        Message::Propose(..) => 2,
        Message::Accept(..) => ACCEPT,
        // One for each who asks: a later request of another must not take its place before all have heard of it.
        Message::Request(request) => 4 + request.joins.peer.min(MAX_PEERS as u8),
    };
    (epoch, from, kind)
}
