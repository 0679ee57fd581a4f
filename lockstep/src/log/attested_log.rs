//! A log that other peers give, and how much of it a quorum attests.

use super::batch::{Batch, SignedBatch};
use super::encoded_log::{Cursor, EncodedLog};
use super::head::{DoesNotFollow, Head};
use super::record::Record;
use super::roster_change::RosterChange;
use super::start::Start;
use super::verified_log::{Mark, VerifiedLog};
use crate::sign::Signer;
use crate::{Limits, LogHash};
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A batch tells of all turns that were complete, up to so many before its own: the longest command delay, and as many
/// turns as are taken back at most. A peer that makes up fewer is not believed.
const BEHIND: u32 = 32;

/// A verified log, with a mark up to which it counts.
pub(crate) struct AttestedLog {
    log: VerifiedLog,
    /// Up to where a quorum attests it, or the own replay holds it.
    confirmed: Mark,
    /// Turns that each peer's batches attest.
    attested: BTreeMap<u8, u32>,
    /// The newest epoch that each peer's batches tell of, and the fewest complete turns that they tell in it.
    epochs: BTreeMap<u8, (u32, u32)>,
    /// It began with an own replay, which may be wrong at its end: no quorum has attested more yet.
    rests_on_own: bool,
    /// Bytes of all pages that sources gave.
    bytes: u64,
}

impl AttestedLog {
    /// Begins with those of the own records that follow each other.
    pub(crate) fn new(
        start: Arc<Start>,
        own: impl IntoIterator<Item = impl Borrow<Record>>,
        signer: &dyn Signer,
    ) -> Self {
        let mut own = own.into_iter().peekable();
        AttestedLog {
            rests_on_own: own.peek().is_some(),
            ..AttestedLog::of(VerifiedLog::of(start, own, signer))
        }
    }

    /// Begins with a log that counts as confirmed.
    pub(crate) fn of(log: VerifiedLog) -> Self {
        AttestedLog {
            confirmed: log.mark(),
            log,
            attested: BTreeMap::new(),
            epochs: BTreeMap::new(),
            rests_on_own: false,
            bytes: 0,
        }
    }

    /// As the match began.
    pub(crate) fn start(&self) -> &Arc<Start> {
        self.log.start()
    }

    /// All that sources gave.
    pub(crate) fn ahead(&self) -> &Head {
        self.log.head()
    }

    /// The part that a quorum attests.
    pub(crate) fn confirmed(&self) -> &Head {
        self.confirmed.head()
    }

    /// The log itself, up to the end of what sources gave.
    pub(crate) fn verified(&self) -> &VerifiedLog {
        &self.log
    }

    /// Whether this change comes next behind all that sources gave.
    pub(crate) fn ends_with(&self, change: &RosterChange) -> bool {
        let head = self.log.head();
        (change.epoch, change.value.cut) == (head.epoch(), head.turns())
    }

    pub(crate) fn has_unconfirmed(&self) -> bool {
        self.confirmed.end().is_before(&self.log.encoded().end())
    }

    /// Whether it began with an own replay, and no quorum has attested more.
    pub(crate) fn rests_on_own(&self) -> bool {
        self.rests_on_own
    }

    /// The next confirmed record, with which the cursor moves on.
    pub(crate) fn next_confirmed(&self, cursor: &mut Cursor) -> Option<Record> {
        let more = cursor.is_before(self.confirmed.end());
        more.then(|| self.log.encoded().read(cursor)).flatten()
    }

    /// The confirmed records, with the start.
    pub(crate) fn confirmed_log(&self) -> EncodedLog {
        let mut log = self.log.encoded().clone();
        log.truncate(self.confirmed.end());
        log
    }

    /// Decodes the next page that a source gives; `None` where there is more than the limits allow.
    pub(crate) fn decode(&mut self, page: &[u8], limits: &Limits) -> Option<Vec<Record>> {
        self.bytes += page.len() as u64;
        let within = self.bytes <= limits.catch_up_bytes;
        within.then(|| self.log.decode(page, limits).ok()).flatten()
    }

    /// Takes the next record that a source gives.
    pub(crate) fn take(
        &mut self,
        record: &Record,
        signer: &dyn Signer,
    ) -> Result<(), DoesNotFollow> {
        self.log.take(record, signer)
    }

    /// Takes what a signed batch says about the log.
    pub(crate) fn attest(&mut self, signed: &SignedBatch, signer: &dyn Signer) {
        let Some(batch) = self.log.head().read(signed, signer) else {
            return;
        };
        let Batch {
            turn,
            epoch,
            complete,
            log_hash,
            ..
        } = batch;
        let least = complete.max(turn.0.saturating_sub(BEHIND));
        let newest = self.epochs.entry(signed.peer);
        let newest = newest.or_insert((epoch, least));
        match newest.0.cmp(&epoch) {
            Ordering::Less => *newest = (epoch, least),
            Ordering::Equal => newest.1 = least.min(newest.1),
            Ordering::Greater => {}
        }
        self.attest_turns(signed.peer, complete, log_hash);
    }

    /// Takes that a peer has signed a hash after so many turns.
    pub(crate) fn attest_turns(&mut self, peer: u8, turns: u32, hash: LogHash) {
        if self.log.hash_after(turns) == Some(hash) {
            let attested = self.attested.entry(peer).or_default();
            *attested = turns.max(*attested);
        }
    }

    /// Takes over what a quorum attests, of which some may have signed the decision on the next change. True where that
    /// is more than before.
    pub(crate) fn confirm(&mut self, signer: &dyn Signer, decided: Option<&RosterChange>) -> bool {
        let ahead = self.log.head();
        let mut told: Vec<(u32, u8)> = self
            .attested
            .iter()
            .filter(|(peer, _)| ahead.roster().contains(**peer))
            .map(|(peer, turns)| (*turns, *peer))
            .collect();
        told.sort_unstable_by_key(|(turns, peer)| (std::cmp::Reverse(*turns), *peer));
        let quorum = (1..=told.len()).find(|count| {
            let first = told[..*count].iter().map(|(_, peer)| *peer);
            ahead.is_quorum(first.collect())
        });
        let until = quorum.map_or(0, |count| told[count - 1].0);
        // An accept signs the log's hash at the cut, too.
        let unconfirmed = &ahead.changes()[self.confirmed.head().changes().len()..];
        let signed = unconfirmed.iter().filter(|change| change.binds_log());
        let signed = signed.map(|change| change.value.cut);
        let decided = decided.filter(|change| {
            let hash = self.log.hash_after(change.value.cut);
            change.epoch == ahead.epoch() && hash.is_some() && hash == change.value.log_hash
        });
        let signed = signed.chain(decided.map(|change| change.value.cut));
        let until = signed.fold(until, u32::max);
        let before = self.confirmed.head().turns();
        if until >= ahead.turns() {
            self.confirmed = self.log.mark();
        }
        self.log.advance(
            &mut self.confirmed,
            |record| match record {
                Record::Bundle(bundle) => bundle.turn.0 < until,
                // Its accepts prove it, once what is before it is attested.
                Record::Roster(change) => change.value.cut <= until,
                _ => false,
            },
            signer,
        );
        let more = self.confirmed.head().turns() > before;
        self.rests_on_own &= !more;
        more
    }

    /// Whether no peer has attested a turn since the roster last changed: where a match is reopened, all worlds step
    /// anew what is before that.
    pub(crate) fn is_reset(&self) -> bool {
        let began = self.ahead().began();
        let mut attested = self.attested.values();
        began > 0 && attested.all(|turns| *turns <= began)
    }

    /// Whether a quorum of the log's last roster has begun a later epoch than the log tells of.
    pub(crate) fn lacks_a_change(&self) -> bool {
        self.is_later(u32::MAX)
    }

    /// Whether it has turns behind those with which such an epoch began: the quorum has others there.
    pub(crate) fn runs_past_a_change(&self) -> bool {
        self.is_later(self.ahead().turns())
    }

    /// Whether a quorum of the last roster tells of a later epoch before so many turns were complete.
    fn is_later(&self, before: u32) -> bool {
        let ahead = self.ahead();
        let tells = |of: &(&u8, &(u32, u32))| of.1.0 > ahead.epoch() && of.1.1 < before;
        let later = self.epochs.iter().filter(tells);
        ahead.is_quorum(later.map(|(peer, _)| *peer).collect())
    }

    pub(crate) fn forget_unconfirmed(&mut self) {
        self.log.truncate(&self.confirmed);
        self.attested.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::fixture::{signer, start, turn};
    use crate::log::{Codec, What};

    /// Turns with two pauses.
    fn records() -> Vec<Record> {
        let turn = |at: u32| match at {
            3 | 8 => turn(at, false, vec![What::Pause]),
            6 | 11 => turn(at, true, vec![What::Resume]),
            _ => turn(at, matches!(at, 4..=6 | 9..=11), Vec::new()),
        };
        (0..15).map(turn).collect()
    }

    #[test]
    fn a_log_is_read_on_from_any_turn_up_to_which_it_is_confirmed() {
        let (records, signer) = (records(), signer(0));
        for confirmed in 0..records.len() {
            let mut codec = Codec::behind(&start(2));
            let (mut before, mut page) = (Vec::new(), Vec::new());
            for (at, record) in records.iter().enumerate() {
                let out = if at < confirmed {
                    &mut before
                } else {
                    &mut page
                };
                codec.encode(record, out);
            }
            let mut log = AttestedLog::new(start(2), &[] as &[Record], &signer);
            for record in &records {
                log.take(record, &signer).expect("it follows");
            }
            let turns = confirmed as u32;
            let hash = log
                .verified()
                .hash_after(turns)
                .expect("turns that are here");
            log.attest_turns(0, turns, hash);
            log.attest_turns(1, turns, hash);
            assert_eq!(log.confirm(&signer, None), confirmed > 0);
            assert!(log.has_unconfirmed());
            assert!(
                log.confirmed_log()
                    .records()
                    .eq(records[..confirmed].iter().cloned())
            );
            log.forget_unconfirmed();
            let read = log.decode(&page, &Limits::default());
            assert_eq!(read.as_deref(), Some(&records[confirmed..]));
        }
    }

    #[test]
    fn a_source_gives_no_more_than_the_limits_allow() {
        let mut log = AttestedLog::new(start(2), &[] as &[Record], &signer(0));
        let limits = Limits {
            catch_up_bytes: 5,
            ..Limits::default()
        };
        let mut idle = Vec::new();
        let mut codec = Codec::behind(&start(2));
        (0..3).for_each(|at| codec.encode(&turn(at, false, Vec::new()), &mut idle));
        assert_eq!(log.decode(&idle, &limits).map(|turns| turns.len()), Some(3));
        assert_eq!(log.decode(&idle, &limits), None);
    }
}
