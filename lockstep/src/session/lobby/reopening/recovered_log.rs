//! The log that an earlier run has recorded. Others are given what they lack of it, and it takes what this peer lacks.

use super::message::{Claim, Decided};
use crate::limits::LONGEST_DELAY;
use crate::log::{
    Accept, Accepted, Ballot, Bundle, Document, Head, Keyframe, NewRun, Peers, Record, Reopening,
    RosterChange, SignedReopening, Start, Value, VerifiedLog, roster_hash, start_hash,
};
use crate::session::Output;
use crate::session::rejoin::{
    Answer, Contradiction, DetachedWorld, PART, RejoinContext, Reopened, Testimony, Unfit, place_in,
};
use crate::sign::Signer;
use crate::{Incarnation, JoinRefused, Limits, LogHash};
use std::sync::Arc;
use std::time::Duration;

/// What a record taken from others counts as, at least: an idle turn is a byte, and takes time to verify.
pub(super) const RECORD: usize = size_of::<Record>() + size_of::<LogHash>();

pub(super) struct RecoveredLog {
    me: usize,
    log: VerifiedLog,
    /// What the run that recorded it had accepted, and the epoch that this was to end.
    accepted: Option<(u32, Ballot, Value)>,
    /// The reopening that was signed last.
    signed: Option<SignedReopening>,
    /// What others have signed of it as it was recorded.
    testimony: Testimony,
    /// Memory for what was taken from others.
    taken: u64,
}

impl RecoveredLog {
    /// What an earlier run of this process has recorded.
    ///
    /// # Errors
    /// Why this peer cannot go on with it.
    pub(super) fn open(signer: &dyn Signer, context: &RejoinContext) -> Result<Self, JoinRefused> {
        let Some(own) = &context.from.log else {
            return Err(JoinRefused::OtherMatch);
        };
        let start = own.start();
        let me = place_in(signer, start, start.match_id, &context.rules);
        let me = me.map_err(|unfit| match unfit {
            Unfit::Forged => JoinRefused::OtherMatch,
            Unfit::Refused(why) => why,
        })?;
        let log = VerifiedLog::of(start.clone(), own.records(), signer);
        // A log that has gone on in a branch is one of the branch.
        if log.head().start().match_id != context.from.match_id {
            return Err(JoinRefused::OtherMatch);
        }
        let mut recovered = RecoveredLog {
            me,
            log,
            accepted: None,
            signed: context.from.signed,
            testimony: Testimony::default(),
            taken: 0,
        };
        if let Some(accepted) = &context.from.accepted {
            recovered.accept(signer, accepted);
        }
        if !context.from.accepts_other_history {
            recovered.testimony =
                Testimony::of(&recovered.log, me as u8, &context.from.attests, signer);
        }
        Ok(recovered)
    }

    /// Takes what its run had accepted, with the turns up to the cut, where these lead to it.
    fn accept(&mut self, signer: &dyn Signer, accepted: &Accepted) {
        let (epoch, turns) = (self.epoch(), self.turns());
        if accepted.epoch != epoch {
            return;
        }
        self.accepted = Some((epoch, accepted.ballot, accepted.value));
        let behind = accepted.turns.iter();
        for bundle in behind.filter(|bundle| bundle.turn.0 >= turns) {
            if self
                .log
                .take(&Record::Bundle(bundle.clone()), signer)
                .is_err()
            {
                break;
            }
        }
        if self.turns() > turns && Some(self.log.head().hash()) != accepted.value.log_hash {
            self.cut_back(signer, epoch, turns);
        }
    }

    /// The change that its run had accepted in the epoch that the log has come to.
    pub(super) fn accepted(&self) -> Option<(Ballot, Value)> {
        let (epoch, ballot, value) = self.accepted?;
        (epoch == self.epoch()).then_some((ballot, value))
    }

    /// The reopening that its run, or this one, has signed last.
    pub(super) fn signed(&self) -> Option<SignedReopening> {
        self.signed
    }

    /// Peers that go on by a reopening which ends this epoch of the log after so many turns, and have signed more.
    pub(super) fn contradicted(&self, go_on: Peers, epoch: u32, cut: u32) -> Option<Contradiction> {
        let found = self.testimony.contradicted_at(&self.log, epoch, cut)?;
        let peers = found.peers.and(go_on);
        (!peers.is_empty()).then_some(Contradiction { peers, ..found })
    }

    /// The accept of this peer, which has recorded so many turns, as its recording is to keep it.
    pub(super) fn accepts(&self, decided: &Decided, recorded: u32) -> Accepted {
        let accepted = Accepted {
            epoch: self.epoch(),
            ballot: decided.ballot,
            value: decided.value,
            turns: self.bundles_from(recorded),
        };
        accepted.bounded()
    }

    fn bundles_from(&self, turn: u32) -> Vec<Bundle> {
        let encoded = self.log.encoded();
        let records = encoded.before_turn(turn);
        let records = records.map(|from| encoded.records_behind(from));
        let bundles = records.into_iter().flatten();
        let bundles = bundles.filter_map(|record| match record {
            Record::Bundle(bundle) => Some(bundle),
            _ => None,
        });
        bundles.collect()
    }

    /// Has a new store keep it. Turns from `cut` on may not count, nor the last ones before.
    pub(super) fn store(
        self,
        keyframe: Option<Keyframe>,
        cut: u32,
    ) -> (DetachedWorld, Vec<Output>) {
        let provisional = self.turns().saturating_sub(LONGEST_DELAY).min(cut);
        DetachedWorld::recorded(self.log, self.me as u8, keyframe, provisional)
    }

    /// The hash of all, once this change has ended the epoch here.
    pub(super) fn tip_behind(&self, decided: &Decided) -> LogHash {
        roster_hash(self.tip(), &decided.change(self.epoch(), Vec::new()))
    }

    /// The accept of this peer that decides a change here.
    pub(super) fn sign_accept(&self, signer: &dyn Signer, decided: &Decided) -> Option<[u8; 64]> {
        Some(self.accept_of(self.me(), decided)?.sign(signer))
    }

    /// What the peer at a place signs to decide a change here.
    pub(super) fn accept_of(&self, peer: u8, decided: &Decided) -> Option<Accept> {
        let (start, epoch) = (self.head().start(), self.epoch());
        Accept::of(start, peer, epoch, decided.ballot, decided.value)
    }

    /// Takes a change that was decided here. Whether it was.
    pub(super) fn take_decided(&mut self, signer: &dyn Signer, change: &RosterChange) -> bool {
        let record = Record::Roster(change.clone());
        change.reopening.is_none() && self.log.take(&record, signer).is_ok()
    }

    /// The log's hash after so many turns.
    pub(super) fn hash_after(&self, turns: u32) -> Option<LogHash> {
        self.log.hash_after(turns)
    }

    /// As the match began.
    pub(super) fn start(&self) -> &Arc<Start> {
        self.log.start()
    }

    /// This peer's place in the start's roster.
    pub(super) fn me(&self) -> u8 {
        self.me as u8
    }

    pub(super) fn turns(&self) -> u32 {
        self.log.head().turns()
    }

    pub(super) fn epoch(&self) -> u32 {
        self.log.head().epoch()
    }

    /// The first turn of that epoch.
    pub(super) fn began(&self) -> u32 {
        self.log.head().began()
    }

    pub(super) fn roster(&self) -> Peers {
        self.log.head().roster()
    }

    /// Hash of all, with the changes chained in that wait for their first turn.
    pub(super) fn tip(&self) -> LogHash {
        self.log.head().tip()
    }

    pub(super) fn claim(&self) -> Claim {
        Claim {
            start: start_hash(self.start()),
            epoch: self.epoch(),
            turns: self.turns(),
            hash: self.log.head().hash(),
        }
    }

    /// Turns of this log that a peer with such a claim has too; `None` where it has others. Of a claim that goes further in
    /// the same epoch only its peer can tell whether it goes on from here: it signs, or refuses to.
    pub(super) fn shared_with(&self, claim: &Claim) -> Option<u32> {
        let mut changes = self.log.head().changes().iter();
        let ended = changes.find(|change| change.epoch == claim.epoch);
        match ended.map(|change| change.value.cut) {
            // What it has beyond the end of its epoch is its own.
            Some(cut) if claim.turns > cut => Some(cut),
            _ if claim.epoch > self.epoch() => None,
            _ if claim.turns > self.turns() => Some(self.turns()),
            _ => {
                let ours = self.log.hash_after(claim.turns);
                (ours == Some(claim.hash)).then_some(claim.turns)
            }
        }
    }

    /// Whether the log names this run of a peer's process: it is not a new one.
    pub(super) fn names_run(&self, peer: u8, run: Incarnation) -> bool {
        self.log.head().names_run(peer, run)
    }

    /// Goes back to so many turns of an epoch that it has come to.
    pub(super) fn cut_back(&mut self, signer: &dyn Signer, epoch: u32, turns: u32) {
        if (self.epoch(), self.turns()) == (epoch, turns) {
            return;
        }
        let stays = |record: &Record| match record {
            Record::Bundle(bundle) => bundle.turn.0 < turns,
            Record::Roster(change) => change.epoch < epoch && change.value.cut <= turns,
            _ => false,
        };
        let records = self.log.encoded().records().filter(stays);
        self.log = VerifiedLog::of(self.start().clone(), records, signer);
    }

    /// Goes back behind what others may not have, to be given the turns of a later epoch.
    pub(super) fn cut_back_provisional(&mut self, signer: &dyn Signer) {
        let turns = self.turns().saturating_sub(LONGEST_DELAY);
        self.cut_back(signer, self.epoch(), turns);
    }

    /// What follows on the turns before `from`.
    pub(super) fn page(&self, from: u32) -> Answer {
        Answer::Log {
            from,
            records: self.log.encoded().records_from(from, PART),
            turns: self.log.head().turns(),
            due_in_ms: 0,
            batches: Vec::new(),
        }
    }

    /// Takes such a page. `None` where it does not follow, brings nothing new, or is too much.
    pub(super) fn take(
        &mut self,
        signer: &dyn Signer,
        limits: &Limits,
        from: u32,
        bytes: &[u8],
    ) -> Option<()> {
        let log = &mut self.log;
        let before = (log.head().epoch(), log.head().turns());
        if from != log.head().turns() {
            return None;
        }
        let records = log.decode(bytes, limits).ok()?;
        self.taken += (bytes.len() + records.len() * RECORD) as u64;
        if self.taken > limits.catch_up_bytes {
            return None;
        }
        for record in records {
            // No guest leads a match into a branch.
            let branches = matches!(&record, Record::Roster(change) if change.branch().is_some());
            // The change that began the epoch stands where the page begins, too.
            if !log.head().is_past(&record) {
                if branches {
                    return None;
                }
                log.take(&record, signer).ok()?;
            }
        }
        (before != (log.head().epoch(), log.head().turns())).then_some(())
    }

    /// Whether a change reopens the match where this log ends, decided by the runs that it names.
    pub(super) fn is_reopened_by(&self, signer: &dyn Signer, change: &RosterChange) -> bool {
        let head = self.log.head();
        change.reopening.is_some()
            && head.is_next(change, signer)
            && change.follows_on(head.turns(), head.tip(), head.began(), head.roster())
    }

    /// The branch that this run of the peer's process begins where the log ends, to be signed.
    pub(super) fn branch(&self, run: Incarnation) -> Reopening {
        Reopening {
            log_hash: self.tip(),
            runs: vec![NewRun {
                peer: self.me(),
                incarnation: run,
                held: true,
            }],
            branch: true,
        }
    }

    /// What all of the log comes to.
    pub(super) fn head(&self) -> &Head {
        self.log.head()
    }

    /// What its peer goes on from, once this change has reopened the match.
    pub(super) fn reopened(self, change: RosterChange, due: Duration) -> Reopened {
        Reopened {
            log: self.log,
            me: self.me,
            change,
            due,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::fixture::{self, signer};

    /// A log of so many turns, every fifth of them with a long text.
    fn log(turns: u32) -> RecoveredLog {
        let (start, records) = (fixture::start(1), fixture::turns(turns));
        let log = VerifiedLog::of(start, &records, &signer(0));
        assert_eq!(log.head().turns(), turns);
        RecoveredLog {
            me: 0,
            log,
            accepted: None,
            signed: None,
            testimony: Testimony::default(),
            taken: 0,
        }
    }

    #[test]
    fn another_peer_is_given_the_whole_log_page_by_page() {
        let (giving, mut taking) = (log(2_000), log(7));
        let mut pages = 0;
        while taking.turns() < 2_000 {
            let from = taking.turns();
            let Answer::Log { records, .. } = giving.page(from) else {
                panic!("a page");
            };
            assert!(records.len() <= PART);
            let taken = taking.take(&signer(0), &Limits::default(), from, &records);
            taken.expect("it follows");
            pages += 1;
        }
        assert_eq!(taking.claim(), giving.claim());
        assert!((5..8).contains(&pages), "{pages}");
    }

    #[test]
    fn taken_records_are_counted_by_their_memory() {
        let mut log = log(0);
        let limits = Limits {
            catch_up_bytes: 1_000 * (RECORD as u64 + 1),
            ..Limits::default()
        };
        assert!(log.take(&signer(0), &limits, 0, &[1; 1_000]).is_some());
        let more = log.take(&signer(0), &limits, 1_000, &[1]);
        assert!(more.is_none(), "idle turns are not free");
    }

    #[test]
    fn a_log_shares_the_turns_of_a_claim_that_has_its_hash() {
        let (log, short) = (log(9), log(5).claim());
        assert_eq!(log.shared_with(&short), Some(5));
        let other = Claim {
            hash: LogHash([9; 16]),
            ..short
        };
        assert_eq!(log.shared_with(&other), None);
        let longer = Claim { turns: 12, ..other };
        assert_eq!(log.shared_with(&longer), Some(9), "its peer can tell");
        let later = Claim { epoch: 1, ..short };
        assert_eq!(log.shared_with(&later), None);
    }

    #[test]
    fn a_log_that_is_cut_back_ends_there() {
        let mut log = log(9);
        log.cut_back(&signer(0), 0, 5);
        assert_eq!(log.claim(), self::log(5).claim());
        log.cut_back_provisional(&signer(0));
        assert_eq!(log.turns(), 0);
    }
}
