//! The log of a peer that comes back, as far as it has come.

use crate::LogHash;
use crate::log::{Keyframe, Record, RosterChange, Start};
use crate::session::catch_up::walk::{DoesNotFollow, Walk};
use crate::session::core::Core;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The log so far.
pub(in crate::session) struct Log {
    pub(in crate::session) start: Arc<Start>,
    /// What a quorum attests, or the own replay holds.
    pub(in crate::session) confirmed: Walk,
    pub(in crate::session) ahead: Walk,
    /// What `ahead` has walked beyond `confirmed`.
    pub(in crate::session) pending: VecDeque<Record>,
    /// All that is confirmed.
    pub(in crate::session) ready: Vec<Record>,
    /// After so many turns, up to `ahead`.
    pub(in crate::session) hashes: Vec<LogHash>,
    /// Turns that each peer's batches attest.
    pub(in crate::session) attested: BTreeMap<u8, u32>,
    /// The epoch of each peer's newest batch.
    pub(in crate::session) epochs: BTreeMap<u8, u32>,
    pub(in crate::session) bytes: u64,
    /// It began with an own replay, which may be wrong at its end.
    pub(in crate::session) of_own: bool,
}

impl Log {
    pub(in crate::session) fn new(start: Arc<Start>, own: &[Record], core: &Core) -> Self {
        let walk = Walk::new(start.clone());
        let mut log = Log {
            start,
            hashes: vec![walk.hash],
            ahead: walk.clone(),
            confirmed: walk,
            pending: VecDeque::new(),
            ready: Vec::new(),
            attested: BTreeMap::new(),
            epochs: BTreeMap::new(),
            bytes: 0,
            of_own: !own.is_empty(),
        };
        for record in own {
            // Whatever follows on what does not hold is fetched.
            if log.walk(record.clone(), core).is_err() {
                break;
            }
        }
        log.confirmed = log.ahead.clone();
        log.ready = std::mem::take(&mut log.pending).into();
        log
    }

    pub(in crate::session) fn walk(
        &mut self,
        record: Record,
        core: &Core,
    ) -> Result<(), DoesNotFollow> {
        self.ahead.take(&record, core.signer.as_ref())?;
        if matches!(record, Record::Bundle(_)) {
            self.hashes.push(self.ahead.hash);
        }
        self.pending.push_back(record);
        Ok(())
    }

    /// Takes over what a quorum attests, of which some may have signed what they decided next. True where that is more
    /// than before, or all.
    pub(in crate::session) fn confirm(
        &mut self,
        core: &Core,
        decided: Option<&RosterChange>,
    ) -> bool {
        let mut told: Vec<(u32, u8)> = self
            .attested
            .iter()
            .filter(|(peer, _)| self.ahead.roster.contains(**peer))
            .map(|(peer, turns)| (*turns, *peer))
            .collect();
        told.sort_unstable_by_key(|(turns, peer)| (std::cmp::Reverse(*turns), *peer));
        let quorum = (1..=told.len()).find(|count| {
            let first = told[..*count].iter().map(|(_, peer)| *peer);
            self.ahead.is_quorum(first.collect())
        });
        let until = quorum.map_or(0, |count| told[count - 1].0);
        // Those who signed a change signed the log's hash at its cut.
        let signed = self.pending.iter().filter_map(|record| match record {
            Record::Roster(change) if change.binds_log() => Some(change.value.cut),
            _ => None,
        });
        let decided = decided.filter(|change| {
            let hash = self.hashes.get(change.value.cut as usize);
            change.epoch == self.ahead.epoch
                && hash.is_some()
                && hash == change.value.log_hash.as_ref()
        });
        let signed = signed.chain(decided.map(|change| change.value.cut));
        let until = signed.fold(until, u32::max);
        let before = self.confirmed.turns;
        while let Some(record) = self.pending.pop_front_if(|record| match record {
            Record::Bundle(bundle) => bundle.turn.0 < until,
            // Its accepts prove it, once what is before it is attested.
            Record::Roster(change) => change.value.cut <= until,
            _ => false,
        }) {
            let taken = self.confirmed.take(&record, core.signer.as_ref());
            taken.expect("what was walked before follows");
            self.ready.push(record);
        }
        self.confirmed.turns > before
    }

    /// Whether nobody has attested a turn since the roster last changed: where a match is reopened, all worlds step
    /// anew what is before that.
    pub(in crate::session) fn is_anew(&self) -> bool {
        let began = self.ahead.began();
        let mut attested = self.attested.values();
        began > 0 && attested.all(|turns| *turns <= began)
    }

    /// Whether a quorum of the log's last roster has begun a later epoch than the log tells of.
    pub(in crate::session) fn lacks_a_change(&self) -> bool {
        let later = self.epochs.iter();
        let later = later.filter(|(_, epoch)| **epoch > self.ahead.epoch);
        let later = later.map(|(peer, _)| *peer);
        self.ahead.is_quorum(later.collect())
    }

    pub(in crate::session) fn forget_unconfirmed(&mut self) {
        self.ahead = self.confirmed.clone();
        self.pending.clear();
        self.hashes.truncate(self.confirmed.turns as usize + 1);
        self.attested.clear();
    }

    /// The record of a snapshot of the world after so many turns.
    pub(in crate::session) fn keyframe(
        &self,
        turns: u32,
        ticks: u64,
        snapshot: Arc<[u8]>,
    ) -> Option<Keyframe> {
        let log_hash = *self.hashes.get(turns as usize)?;
        let next = self
            .ready
            .iter()
            .chain(&self.pending)
            .find_map(|record| match record {
                Record::Bundle(bundle) if bundle.turn.0 == turns => {
                    Some((bundle.plan, bundle.paused))
                }
                _ => None,
            });
        let of_course = self.ahead.course.keyframe(turns, ticks, log_hash);
        let (plan, paused) = next.unwrap_or((of_course.plan, of_course.paused));
        Some(Keyframe {
            plan,
            paused,
            snapshot,
            ..of_course
        })
    }
}
