//! Epochs: what is said about the change that ends this one, and what ended those before.

use crate::limits::MAX_PEERS;
use crate::log::RosterChange;
use crate::session::link::{Link, NoteKey};
use crate::session::roster::{Ballot, Message, Peers, Roster, Voters};
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
    /// The voters whose promises have shown another history.
    differing: Peers,
    /// The last decisions, oldest first, and without a hole.
    decisions: VecDeque<RosterChange>,
    /// Takes the place of the newest log hash for the first turn of this epoch.
    pub chained: Option<LogHash>,
    /// Changes that wait for their place in the log.
    pub unlogged: VecDeque<RosterChange>,
    pub began_at: Duration,
    /// When an attempt to decide was last heard of.
    pub attempt_at: Duration,
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
/// Notes in one message.
const NOTES_AT_ONCE: usize = 16;

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
            differing: Peers::default(),
            decisions: VecDeque::new(),
            chained: None,
            unlogged: VecDeque::new(),
            began_at: now,
            attempt_at: now,
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
            chained: Some(chained),
            unlogged: VecDeque::from([last]),
            ..Epochs::new(usize::from(me), 0, now)
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
        self.began_at = now;
        self.attempt_at = now;
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

    pub(super) fn post(&mut self, key: NoteKey, posted: Posted, now: Duration) {
        if matches!(posted.message, Message::Prepare(_)) {
            self.attempt_at = now;
        }
        self.board.insert(key, posted);
    }

    /// The next note that the own roster has not been told of. Prepares wait until there is a reason to freeze.
    pub(super) fn next_unheard(&mut self, sees_cause: bool) -> Option<(u8, Message)> {
        let (epoch, me) = (self.epoch, self.me);
        let mut open = self.board.iter_mut().filter(|((of, from, _), posted)| {
            let waits = matches!(posted.message, Message::Prepare(_)) && !sees_cause && *from != me;
            *of == epoch && !posted.heard && !waits
        });
        let ((_, from, _), posted) = open.next()?;
        posted.heard = true;
        Some((*from, posted.message.clone()))
    }

    /// Whether some other peer's attempt waits for this one to see a reason.
    pub(super) fn is_asked(&self) -> bool {
        let mut posted = self.board.iter();
        posted.any(|((of, ..), posted)| *of == self.epoch && !posted.heard)
    }

    /// The signature by which a peer accepted in a ballot.
    pub(super) fn accept_of(&self, peer: u8, ballot: Ballot) -> Option<[u8; 64]> {
        let posted = self.board.get(&(self.epoch, peer, ACCEPT))?;
        (posted.ballot == ballot).then(|| posted.note.signature.into())
    }

    /// The notes that the other end of a link does not know of; from now on it does.
    pub(super) fn untold(&self, link: &mut Link) -> Vec<SignedNote> {
        link.notes_known.retain(|(of, ..), _| *of >= self.epoch);
        let mut notes = Vec::new();
        for (key, posted) in &self.board {
            let known = link.notes_known.get(key);
            if known.is_none_or(|known| *known < posted.ballot) && notes.len() < NOTES_AT_ONCE {
                link.notes_known.insert(*key, posted.ballot);
                notes.push(posted.note.clone());
            }
        }
        notes
    }

    /// The decisions that the other end of a link lacks and has not been sent on it.
    pub(super) fn lacking(&self, link: &mut Link) -> Vec<RosterChange> {
        let Some(from) = link.epoch else {
            return Vec::new();
        };
        let from = from.max(link.decisions_sent);
        let lacking = self.decisions.iter().filter(|change| change.epoch >= from);
        let lacking: Vec<RosterChange> = lacking.take(NOTES_AT_ONCE).cloned().collect();
        if let Some(last) = lacking.last() {
            link.decisions_sent = last.epoch + 1;
        }
        lacking
    }
}

const ACCEPT: u8 = 3;

/// Where a message stands on the board.
pub(super) fn key(epoch: u32, from: u8, message: &Message) -> NoteKey {
    let kind = match message {
        Message::Prepare(_) => 0,
        Message::Promise(_) => 1,
        Message::Propose(..) => 2,
        Message::Accept(..) => ACCEPT,
        // One for each who asks: a later request of another must not take its place before all have heard of it.
        Message::Request(request) => 4 + request.joins.peer.min(MAX_PEERS as u8),
    };
    (epoch, from, kind)
}
