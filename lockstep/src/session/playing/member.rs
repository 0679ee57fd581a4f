//! What one peer of the roster has told.

use crate::log::{RosterPeer, SignedBatch};
use crate::session::Batch;
use crate::{LogHash, TurnNumber};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Turns before the next one whose batches are kept, for peers that lag: none can lag by more than the delay.
const KEPT: u32 = 24;

pub(crate) struct Member {
    pub peer: RosterPeer,
    pub addresses: Vec<String>,
    pub batches: BTreeMap<u32, Held>,
    /// The first turn whose batch is not held.
    pub held: u32,
    /// From this turn on its batches are empty by rule.
    pub left_from: Option<u32>,
    /// Worlds reported: checksums after `0..reported` turns are in.
    pub reported: u32,
    /// Log hashes that it reported and that we have not reached: turns complete, and the hash.
    pub pending_hashes: VecDeque<(u32, LogHash)>,
    /// Least slack of its batches here, since we last reported.
    pub slack_ms: Option<i16>,
    /// Slack of our batches there, as it last reported.
    pub slack_there_ms: Option<i16>,
    /// Slack of its batches here over the time of that report.
    pub slack_here_ms: Option<i16>,
    pub next_dial: Duration,
    pub dials: usize,
    pub equivocated: bool,
    /// Its reports do not follow each other: they are not taken any more.
    pub misreports: bool,
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
            batches: BTreeMap::new(),
            held: first.0,
            left_from: None,
            reported: 0,
            pending_hashes: VecDeque::new(),
            slack_ms: None,
            slack_there_ms: None,
            slack_here_ms: None,
            next_dial: now + Duration::from_secs(2),
            dials: 0,
            equivocated: false,
            misreports: false,
        }
    }

    /// Whether its batch of `turn` is needed.
    pub(crate) fn required(&self, turn: u32) -> bool {
        self.left_from.is_none_or(|from| turn < from)
    }

    pub(crate) fn has(&self, turn: u32) -> bool {
        !self.required(turn) || turn < self.held
    }

    /// The batches from a turn on, up to which all are held, oldest first.
    pub(crate) fn held_from(&self, from: u32) -> impl Iterator<Item = &Held> {
        // Mostly nothing is lacking, and this is asked for every peer and link: no search for an empty range.
        let range = (from < self.held).then(|| self.batches.range(from..self.held));
        range.into_iter().flatten().map(|(_, held)| held)
    }

    /// Forgets batches that no peer can need any more.
    pub(crate) fn forget_before(&mut self, complete: u32) {
        let from = complete.saturating_sub(KEPT);
        while self
            .batches
            .first_key_value()
            .is_some_and(|(turn, _)| *turn < from)
        {
            self.batches.pop_first();
        }
    }

    /// The newest batch up to which all are held.
    pub(crate) fn newest(&self) -> Option<&SignedBatch> {
        self.batches
            .get(&self.held.checked_sub(1)?)
            .map(|held| &held.signed)
    }

    pub(crate) fn note_slack(&mut self, slack_ms: i64) {
        let slack = slack_ms.clamp(-30_000, 30_000) as i16;
        self.slack_ms = Some(self.slack_ms.map_or(slack, |least| least.min(slack)));
    }
}
