//! What one peer of the roster has told.

use super::by_turn::ByTurn;
use super::change::newest_hash;
use super::rejoin::FRESH;
use super::watch::HALF_SPENT;
use crate::log::{Equivocation, RosterPeer, SignedBatch};
use crate::session::Batch;
use crate::session::roster::Holding;
use crate::{Incarnation, LogHash, TurnNumber};
use std::collections::VecDeque;
use std::time::Duration;

/// Turns before the next one whose batches are kept, for peers that lag: none can lag by more than the delay.
const KEPT: u32 = 24;
/// Earlier runs of a peer's process that are remembered: so often nobody comes back whose earlier runs still speak.
const PAST_KEPT: usize = 64;
/// So long who is out is dialled to hear of it. Its own dials lead nowhere where this peer has moved.
const TELL_GONE: Duration = Duration::from_secs(10);

pub(crate) struct Member {
    pub peer: RosterPeer,
    pub addresses: Vec<String>,
    /// Those of a few turns around the next one.
    pub batches: ByTurn<Held>,
    /// The first turn whose batch is not held.
    pub held: u32,
    /// The turn of the batch by which it leaves, once all up to that one are held.
    pub leaves: Option<u32>,
    /// It came back: before this turn its batches are empty by rule.
    pub from: u32,
    /// It left, or was removed: from this turn on its batches are empty by rule.
    pub left_from: Option<u32>,
    /// It is removed by a decision whose turns are not all complete: from this turn on nothing of it counts.
    pub void_from: Option<u32>,
    /// Worlds reported: checksums after `reports_from..reported` turns are in.
    pub reported: u32,
    /// It reports no world of fewer turns.
    pub reports_from: u32,
    /// Its next report begins wherever it does: this peer was not there for those before.
    pub reports_anew: bool,
    /// Log hashes that it reported and that we have not reached: turns complete, and the hash.
    pub pending_hashes: VecDeque<(u32, LogHash)>,
    /// Least slack of its batches here, since we last reported.
    pub slack_ms: Option<i16>,
    /// Slack of our batches there, as it last reported.
    pub slack_there_ms: Option<i16>,
    /// Slack of its batches here over the time of that report.
    pub slack_here_ms: Option<i16>,
    /// It is out of the roster, and may be coming back.
    pub returns: Option<Returns>,
    /// It may not know that it is out: where no link leads to it, it is dialled until then.
    pub tell_until: Duration,
    pub next_dial: Duration,
    pub dials: usize,
    /// Turns after which its log is known to be ours.
    pub alike: u32,
    /// Two batches of it for one turn.
    pub proof: Option<Equivocation>,
    /// The newest epoch in which it has reported.
    pub reported_in: u32,
    /// When it was last heard, by any path.
    pub heard_at: Duration,
    /// Batches for turns before it may have been sealed before its peer fell silent: they are no sign of life.
    pub lives_from: u32,
    /// For how long it has blocked turns of late though it was heard.
    pub blocked: Duration,
    /// The others have kept it, whom this peer would not: until then it begins no change again to remove it.
    pub kept_until: Duration,
    /// For how long it has owed, in this epoch, batches that it told of.
    pub unproved: Duration,
    /// How often it was removed after it had held the others up for long.
    pub held_up: u32,
    /// Since when it attests another log than this peer, and nobody is proved to be behind it.
    pub disputed_since: Option<Duration>,
    /// How often it was removed for its world, or its log.
    pub desyncs: u8,
    /// From when on this peer proposes to let it in again.
    pub back_at: Duration,
    /// Another run of its process has shown up.
    pub restarted: bool,
    /// When another run of its process last asked for its place, having followed.
    pub replaced_at: Option<Duration>,
    /// How often it was removed while one asked.
    pub replaced: u32,
    /// Since when this run of its process is of the roster, where another one was before.
    pub run_since: Duration,
    /// Runs of its process that are over.
    pub past: Vec<Incarnation>,
    /// Its reports do not follow each other: they are not taken any more.
    pub misreports: bool,
}

/// What was last seen of a peer that may be coming back.
pub(crate) struct Returns {
    /// Where it was heard from.
    pub from: String,
    /// Until then it goes on trying.
    pub until: Duration,
    /// This peer is the one that it asks: their link falls silent only where it does not carry any more.
    pub asks: bool,
}

/// A batch that is held.
pub(crate) struct Held {
    pub signed: SignedBatch,
    pub batch: Batch,
    pub arrived: Duration,
}

impl Member {
    pub(crate) fn new(
        peer: RosterPeer,
        addresses: Vec<String>,
        first: TurnNumber,
        now: Duration,
    ) -> Self {
        Member {
            peer,
            addresses,
            batches: ByTurn::new(),
            held: first.0,
            leaves: None,
            from: 0,
            left_from: None,
            void_from: None,
            reported: 0,
            reports_from: 0,
            reports_anew: false,
            pending_hashes: VecDeque::new(),
            slack_ms: None,
            slack_there_ms: None,
            slack_here_ms: None,
            returns: None,
            tell_until: Duration::ZERO,
            next_dial: now + Duration::from_secs(2),
            dials: 0,
            alike: 0,
            proof: None,
            reported_in: 0,
            heard_at: now,
            lives_from: 0,
            blocked: Duration::ZERO,
            kept_until: Duration::ZERO,
            unproved: Duration::ZERO,
            held_up: 0,
            disputed_since: None,
            desyncs: 0,
            back_at: Duration::ZERO,
            restarted: false,
            replaced_at: None,
            replaced: 0,
            run_since: Duration::ZERO,
            past: Vec::new(),
            misreports: false,
        }
    }

    /// Where it may be dialled; nowhere, where it is of no use. It is of the roster, or `outside` of it.
    pub(crate) fn found_at(&self, outside: bool, now: Duration) -> impl Iterator<Item = &String> {
        let returns = self.returns.as_ref();
        let returns = returns.filter(|returns| outside && returns.until > now);
        let wanted = returns.is_some() || !outside || self.tell_until > now;
        let known = self.addresses.iter().filter(move |_| wanted);
        returns
            .map(|returns| &returns.from)
            .into_iter()
            .chain(known)
    }

    /// Whether its batch of `turn` is needed.
    pub(crate) fn required(&self, turn: u32) -> bool {
        let ends = [self.left_from, self.void_from];
        turn >= self.from && ends.iter().flatten().all(|from| turn < *from)
    }

    /// It comes back: as this run of its process, with turns from `cut` on, of which the first ones are empty by rule.
    pub(crate) fn come_back(&mut self, run: Incarnation, cut: u32, from: u32, now: Duration) {
        if self.past.len() == PAST_KEPT {
            self.past.remove(0);
        }
        self.past.push(self.peer.incarnation);
        let peer = RosterPeer {
            incarnation: run,
            ..self.peer.clone()
        };
        let past = std::mem::take(&mut self.past);
        let addresses = std::mem::take(&mut self.addresses);
        *self = Member {
            from,
            reported: cut + 1,
            reports_from: cut + 1,
            past,
            blocked: self.blocked.min(HALF_SPENT),
            held_up: self.held_up,
            disputed_since: self.disputed_since,
            desyncs: self.desyncs,
            replaced: self.replaced,
            run_since: now,
            ..Member::new(peer, addresses, TurnNumber(from), now)
        };
    }

    /// Whether another run of its process has asked for its place of late.
    pub(super) fn is_asked_for(&self, now: Duration) -> bool {
        let asked = self.replaced_at;
        asked.is_some_and(|asked| now < asked + FRESH)
    }

    /// Puts another batch of a turn in the place of the one that is held, which it returns.
    pub(crate) fn exchange(&mut self, turn: u32, other: Held) -> Option<Held> {
        let before = self.batches.remove(turn)?;
        self.batches.insert(turn, other);
        let leaving = {
            let mut held = self.batches.range(0, self.held);
            held.find(|(_, held)| held.batch.leaving)
                .map(|(turn, _)| turn)
        };
        self.leaves = leaving;
        Some(before)
    }

    /// Drops what it sent for turns that the decision to remove it cuts off, which it is to hear of.
    pub(crate) fn cut_off(&mut self, from: u32, now: Duration) {
        let knows = self.left_from.is_some() || self.proof.is_some();
        self.tell_until = if knows {
            Duration::ZERO
        } else {
            now + TELL_GONE
        };
        self.void_from = Some(from);
        self.batches.forget_from(from);
        self.held = self.held.min(from);
    }

    pub(crate) fn has(&self, turn: u32) -> bool {
        !self.required(turn) || turn < self.held
    }

    /// The batches from a turn on, up to which all are held, oldest first.
    pub(crate) fn held_from(&self, from: u32) -> impl Iterator<Item = &Held> {
        self.batches.range(from, self.held).map(|(_, held)| held)
    }

    /// All batches that are held, oldest first.
    pub(crate) fn all_held(&self) -> impl Iterator<Item = &Held> {
        self.batches.range(0, u32::MAX).map(|(_, held)| held)
    }

    /// Forgets batches that no peer can need any more.
    pub(crate) fn forget_before(&mut self, complete: u32) {
        self.batches.forget_before(complete.saturating_sub(KEPT));
    }

    /// The newest batch up to which all are held, that attests no more turns than `most` says for its epoch.
    pub(crate) fn newest_within(&self, most: impl Fn(u32) -> u32) -> Option<&SignedBatch> {
        self.held_within(most).map(|held| &held.signed)
    }

    fn held_within(&self, most: impl Fn(u32) -> u32) -> Option<&Held> {
        let mut held = self.batches.range(0, self.held).rev();
        let within = held.find(|(_, held)| held.batch.complete <= most(held.batch.epoch));
        within.map(|(_, held)| held)
    }

    /// Turns that its newest batch attests, of those that attest no more than `most` says for their epochs.
    pub(crate) fn attested_within(&self, most: impl Fn(u32) -> u32) -> Option<u32> {
        self.held_within(most).map(|held| held.batch.complete)
    }

    /// What is held of it, for a roster change.
    pub(crate) fn holding(&self) -> Holding {
        let newest = self.newest().map(|signed| newest_hash(&signed.content));
        Holding {
            until: self.held,
            left: self.leaves.is_some(),
            newest: newest.unwrap_or(0),
        }
    }

    /// The newest batch up to which all are held.
    pub(crate) fn newest(&self) -> Option<&SignedBatch> {
        self.batches
            .get(self.held.checked_sub(1)?)
            .map(|held| &held.signed)
    }

    /// The epoch in which that one was sealed.
    pub(crate) fn newest_epoch(&self) -> Option<u32> {
        let newest = self.batches.get(self.held.checked_sub(1)?);
        newest.map(|held| held.batch.epoch)
    }

    pub(crate) fn note_slack(&mut self, slack_ms: i64) {
        let slack = slack_ms.clamp(-30_000, 30_000) as i16;
        self.slack_ms = Some(self.slack_ms.map_or(slack, |least| least.min(slack)));
    }
}
