//! What a guest of a reopening consents to: it signs a proposal once its log is the proposed one up to the cut.

use super::message::{Claim, Decided, PAGE_COST, Proposal};
use super::open_change::may_follow;
use super::recovered_log::RecoveredLog;
use crate::encoding::Reader;
use crate::log::{
    Accepted, Ballot, Document, RosterChange, SignedReopening, Value, Voters, decode_change,
};
use crate::session::rejoin::{Answer, Ask, Contradiction, RejoinContext, Reopened};
use crate::sign::Signer;
use crate::{Incarnation, JoinRefused, Limits};
use std::time::Duration;

/// The host tells within this time that all have signed, or that a peer has not.
const BEGINS: Duration = Duration::from_secs(10);

pub(super) struct Consent {
    /// As recorded, or up to the cut that is proposed.
    log: RecoveredLog,
    /// What this peer had when it came.
    own: Claim,
    run: Incarnation,
    wanted: Option<Proposal>,
    /// What it signs once its recording tells so.
    ready: Option<Ready>,
    /// The attempt whose proposal it has signed, and when.
    signed: Option<(u32, Duration)>,
    /// It has cut off the end of its log, which may have been its own alone.
    went_back: bool,
    /// Bytes of the log that the host may still be given.
    allowance: u64,
}

/// The answer to the proposal of an attempt: a signature, and the accept of what is decided with it.
struct Ready {
    attempt: u32,
    signature: [u8; 64],
    accept: Option<[u8; 64]>,
}

/// What a guest does about a proposal.
#[derive(Debug, PartialEq)]
pub(super) enum Answered {
    /// Nothing now.
    Stay,
    /// It asks for what it lacks up to the cut.
    Ask(Ask),
    /// It records that it signs this, and accepts what is decided with it.
    Record(SignedReopening, Option<Accepted>),
    /// It signs the proposal of this attempt, and accepts what is decided with it.
    Sign(u32, [u8; 64], Option<[u8; 64]>),
    /// It has another history, and goes.
    OtherHistory,
    /// Others have signed that history, too: it goes.
    Contradicted(Contradiction),
}

impl Consent {
    /// `run` is that of this peer's process, and `allowance` bounds the bytes of the log that the host is given.
    pub(super) fn new(log: RecoveredLog, run: Incarnation, allowance: u64) -> Self {
        Consent {
            own: log.claim(),
            log,
            run,
            wanted: None,
            ready: None,
            signed: None,
            went_back: false,
            allowance,
        }
    }

    pub(super) fn log(&self) -> &RecoveredLog {
        &self.log
    }

    pub(super) fn claim(&self) -> Claim {
        self.own
    }

    /// What an earlier run of its process has accepted in the epoch of its claim.
    pub(super) fn accepted(&self) -> Option<(Ballot, Value)> {
        self.log.accepted()
    }

    #[cfg(test)]
    pub(super) fn wanted(&self) -> Option<&Proposal> {
        self.wanted.as_ref()
    }

    /// The host proposes. What an earlier proposal cut off or added is not this peer's own.
    ///
    /// # Errors
    /// Why this peer cannot go on with what it has recorded.
    pub(super) fn propose(
        &mut self,
        signer: &dyn Signer,
        context: &RejoinContext,
        proposal: Proposal,
    ) -> Result<Answered, JoinRefused> {
        self.log = RecoveredLog::open(signer, context)?;
        (self.wanted, self.signed, self.went_back) = (Some(proposal), None, false);
        self.ready = None;
        Ok(self.answer(signer))
    }

    /// The host takes a proposal back.
    pub(super) fn withdraw(&mut self, attempt: u32) {
        self.wanted.take_if(|wanted| wanted.attempt == attempt);
    }

    /// Takes a page of the log from the host. What was asked for an earlier proposal may come late.
    pub(super) fn fetched(
        &mut self,
        signer: &dyn Signer,
        limits: &Limits,
        from: u32,
        records: &[u8],
    ) -> Answered {
        if self.wanted.is_none() || from != self.log.turns() {
            return Answered::Stay;
        }
        match self.log.take(signer, limits, from, records) {
            Some(()) => self.answer(signer),
            None => Answered::OtherHistory,
        }
    }

    /// Its recording tells by now what it is ready to sign: it signs, where that is still proposed.
    pub(super) fn recorded(&mut self, now: Duration) -> Answered {
        let wanted = self.wanted.as_ref().map(|wanted| wanted.attempt);
        match self.ready.take() {
            Some(ready) if wanted == Some(ready.attempt) => {
                self.signed = Some((ready.attempt, now));
                Answered::Sign(ready.attempt, ready.signature, ready.accept)
            }
            _ => Answered::Stay,
        }
    }

    /// Is ready to sign what is proposed, once all turns up to the cut are here; before, asks for them.
    fn answer(&mut self, signer: &dyn Signer) -> Answered {
        let Some(wanted) = &self.wanted else {
            return Answered::Stay;
        };
        let (epoch, cut) = (wanted.recorded_epoch(), wanted.cut);
        if epoch < self.log.epoch() {
            return Answered::OtherHistory;
        }
        if epoch == self.log.epoch() && cut < self.log.turns() {
            self.log.cut_back(signer, epoch, cut);
        }
        if (self.log.epoch(), self.log.turns()) != (epoch, cut) {
            if self.log.epoch() < epoch && !std::mem::replace(&mut self.went_back, true) {
                self.log.cut_back_provisional(signer);
            }
            return Answered::Ask(Ask::Log {
                from: self.log.turns(),
                attested: 0,
            });
        }
        if !self.agrees(wanted) {
            return Answered::OtherHistory;
        }
        let reopening = wanted.reopening();
        if let Some(found) = self.log.contradicted(reopening.roster(), epoch, cut) {
            return Answered::Contradicted(found);
        }
        let attempt = wanted.attempt;
        let document = reopening.at(self.log.head().start(), wanted.epoch, cut);
        let decided = wanted.decided.as_ref();
        self.ready = Some(Ready {
            attempt,
            signature: document.sign(signer),
            accept: decided.and_then(|decided| self.log.sign_accept(signer, decided)),
        });
        let accepts = decided.map(|decided| self.log.accepts(decided, self.own.turns));
        Answered::Record(document.signed(), accepts)
    }

    /// Whether the proposal is about this log, and says of this peer what is so.
    fn agrees(&self, wanted: &Proposal) -> bool {
        let held = self.held(wanted.cut);
        let mut runs = wanted.runs.iter();
        let own = runs.find(|run| run.peer == self.log.me());
        let of_me = own.is_some_and(|run| run.incarnation == self.run && run.held == held);
        let tip = match &wanted.decided {
            Some(decided) if !self.may_decide(decided, wanted) => return false,
            Some(decided) => self.log.tip_behind(decided),
            None => self.log.tip(),
        };
        of_me && wanted.log_hash == tip
    }

    /// Whether this peer's own replay holds the turns up to the cut. What it had beyond is cut off by now.
    fn held(&self, cut: u32) -> bool {
        let same_epoch = self.own.epoch == self.log.epoch();
        self.own.turns >= cut && (same_epoch || self.log.shared_with(&self.own) == Some(cut))
    }

    /// Whether a change that is decided with a proposal is one of this log.
    fn may_decide(&self, decided: &Decided, wanted: &Proposal) -> bool {
        let (value, head) = (&decided.value, self.log.head());
        let reopening = wanted.reopening();
        value.can_end(head.roster())
            && value.cheats.is_empty()
            && (value.cut, value.log_hash) == (wanted.cut, Some(head.hash()))
            && reopening.roster().is_within(value.roster)
            && may_follow(
                Voters::new(head.roster()),
                reopening.holders(),
                self.own.turns,
                wanted.cut,
            )
    }

    /// Whether the host's word that the match begins may be on its way.
    pub(super) fn may_have_begun(&self, now: Duration) -> bool {
        self.signed.is_some_and(|(_, at)| now < at + BEGINS)
    }

    /// A page of the log for the host, which may lack turns.
    pub(super) fn page(&mut self, from: u32) -> Answer {
        let left = self.allowance.checked_sub(PAGE_COST);
        self.allowance = left.unwrap_or(0);
        match left {
            Some(_) => self.log.page(from),
            None => Answer::Nothing,
        }
    }

    /// The change by which the host says that the match is reopened; `None` where it is not the one that this peer has
    /// signed, with the signatures of all.
    pub(super) fn reopened_by(
        &mut self,
        signer: &dyn Signer,
        decided: Option<&[u8]>,
        change: &[u8],
    ) -> Option<RosterChange> {
        let change = decode(change)?;
        let (attempt, _) = self.signed?;
        let signed = self
            .wanted
            .as_ref()
            .filter(|wanted| wanted.attempt == attempt)?;
        if let Some(wanted) = signed.decided {
            let decided = decode(decided?)?;
            let as_signed = (decided.ballot, decided.value) == (wanted.ballot, wanted.value);
            if !as_signed || !self.log.take_decided(signer, &decided) {
                return None;
            }
        }
        let as_signed = change.reopening == Some(signed.reopening());
        (as_signed && self.log.is_reopened_by(signer, &change)).then_some(change)
    }

    /// What this peer goes on from, once a change has reopened the match.
    pub(super) fn into_reopened(self, change: RosterChange, due: Duration) -> Reopened {
        self.log.reopened(change, due)
    }
}

fn decode(change: &[u8]) -> Option<RosterChange> {
    let mut reader = Reader::new(change);
    let change = decode_change(&mut reader).ok()?;
    reader.end().ok()?;
    Some(change)
}

#[cfg(test)]
mod tests {
    use super::super::open_change::OpenChange;
    use super::*;
    use crate::log::fixture::{accepted_at, signer};
    use crate::log::{Ballot, NewRun, Peers, Value};
    use crate::session::lobby::reopening::fixture::{context, log, run, start};

    const NOW: Duration = Duration::from_secs(5);

    /// Of peer 1, which has recorded so many turns.
    fn consent(turns: u32) -> Consent {
        Consent::new(log(1, turns), run(1), 2 * PAGE_COST)
    }

    /// To go on behind so many turns, which these peers held.
    fn proposal(cut: u32, held: [bool; 3]) -> Proposal {
        let run = |peer: u8| NewRun {
            peer,
            incarnation: run(peer),
            held: held[usize::from(peer)],
        };
        Proposal {
            attempt: 4,
            epoch: 0,
            cut,
            log_hash: log(0, cut).tip(),
            runs: (0..3).map(run).collect(),
            decided: None,
        }
    }

    fn propose(consent: &mut Consent, recorded: u32, proposal: &Proposal) -> Answered {
        let answered = consent.propose(&signer(1), &context(recorded), proposal.clone());
        record(consent, answered.expect("it was recorded"))
    }

    /// Its recording tells what it is ready to sign.
    fn record(consent: &mut Consent, answered: Answered) -> Answered {
        match answered {
            Answered::Record(..) => consent.recorded(NOW),
            answered => answered,
        }
    }

    fn signature(peer: u8, proposal: &Proposal) -> [u8; 64] {
        let reopening = proposal.reopening();
        let document = reopening.at(&start(), proposal.epoch, proposal.cut);
        document.sign(&signer(peer))
    }

    #[test]
    fn a_proposal_is_signed_once_the_log_ends_at_its_cut() {
        let mut consent = consent(20);
        let wanted = proposal(18, [true; 3]);
        let signs = Answered::Sign(4, signature(1, &wanted), None);
        assert_eq!(propose(&mut consent, 20, &wanted), signs);
        assert!(consent.may_have_begun(NOW));
        assert!(!consent.may_have_begun(NOW + BEGINS));
    }

    #[test]
    fn missing_turns_are_fetched_before_signing() {
        let mut consent = consent(15);
        let wanted = proposal(18, [true, false, true]);
        let ask = Answered::Ask(Ask::Log {
            from: 15,
            attested: 0,
        });
        assert_eq!(propose(&mut consent, 15, &wanted), ask);
        assert!(!consent.may_have_begun(NOW));
        let Answer::Log { records, .. } = log(0, 18).page(15) else {
            panic!("a page");
        };
        let limits = Limits::default();
        let late = consent.fetched(&signer(1), &limits, 14, &records);
        assert_eq!(late, Answered::Stay);
        let fetched = consent.fetched(&signer(1), &limits, 15, &records);
        let fetched = record(&mut consent, fetched);
        assert_eq!(fetched, Answered::Sign(4, signature(1, &wanted), None));
        let garbage = self::consent(15).fetched(&signer(1), &limits, 15, &[255]);
        assert_eq!(garbage, Answered::Stay, "nothing is proposed");
    }

    #[test]
    fn a_proposal_that_tells_a_lie_is_of_another_history() {
        let lies: [fn(&mut Proposal); 4] = [
            |lie| lie.log_hash = log(0, 17).tip(),
            |lie| lie.runs[1].held = false,
            |lie| lie.runs[1].incarnation = Incarnation([9; 16]),
            |lie| lie.runs.truncate(1),
        ];
        for lie in lies {
            let mut wanted = proposal(18, [true; 3]);
            lie(&mut wanted);
            assert_eq!(
                propose(&mut consent(20), 20, &wanted),
                Answered::OtherHistory
            );
        }
    }

    /// The change that a proposal makes, with these signatures.
    fn change(proposal: &Proposal, signers: &[u8]) -> Vec<u8> {
        let reopening = proposal.reopening();
        let accepts = signers.iter();
        let accepts = accepts.map(|peer| (*peer, signature(*peer, proposal)));
        crate::log::encode_change(&RosterChange {
            epoch: proposal.epoch,
            ballot: Ballot { round: 0, peer: 0 },
            value: Value::of(reopening.roster(), proposal.cut),
            accepts: accepts.collect(),
            proofs: Vec::new(),
            reopening: Some(reopening),
        })
    }

    #[test]
    fn the_match_is_reopened_by_what_was_signed_and_by_all() {
        let mut consent = consent(20);
        let wanted = proposal(18, [true; 3]);
        let all = change(&wanted, &[0, 1, 2]);
        assert!(
            consent.reopened_by(&signer(1), None, &all).is_none(),
            "not signed"
        );
        propose(&mut consent, 20, &wanted);
        assert!(consent.reopened_by(&signer(1), None, &all).is_some());
        let some = change(&wanted, &[0, 1]);
        assert!(consent.reopened_by(&signer(1), None, &some).is_none());
        let other = change(&proposal(17, [true; 3]), &[0, 1, 2]);
        assert!(consent.reopened_by(&signer(1), None, &other).is_none());
        consent.withdraw(4);
        assert!(
            consent.reopened_by(&signer(1), None, &all).is_none(),
            "taken back"
        );
    }

    #[test]
    fn a_host_is_given_no_more_pages_than_allowed() {
        let mut consent = consent(20);
        for _ in 0..2 {
            assert!(matches!(consent.page(0), Answer::Log { .. }));
        }
        assert_eq!(consent.page(0), Answer::Nothing);
    }

    #[test]
    fn a_guest_accepts_what_is_decided_with_a_proposal_and_no_invention() {
        let open = OpenChange {
            value: accepted_at(0, 18, log(0, 18).tip()).value,
            absent: Peers::default(),
        };
        let decided = open.adopted(0);
        let mut wanted = proposal(18, [true, true, false]);
        wanted.runs.pop();
        let wanted = Proposal {
            epoch: 1,
            log_hash: log(1, 18).tip_behind(&decided),
            decided: Some(decided),
            ..wanted
        };
        let mut consent = consent(18);
        let Answered::Sign(4, signed, Some(accept)) = propose(&mut consent, 18, &wanted) else {
            panic!("it has all turns up to the cut");
        };
        assert_eq!(Some(accept), log(1, 18).sign_accept(&signer(1), &decided));
        assert_eq!(signed, signature(1, &wanted));
        let elsewhere = Proposal {
            log_hash: log(1, 18).tip(),
            ..wanted.clone()
        };
        let refused = propose(&mut consent, 18, &elsewhere);
        assert_eq!(refused, Answered::OtherHistory, "not behind the change");
        // Many turns that one peer alone holds.
        let mut far = self::consent(1);
        let mut lone = wanted;
        (lone.runs[1].held, lone.runs[0].held) = (false, true);
        assert!(matches!(propose(&mut far, 1, &lone), Answered::Ask(_)));
        let Answer::Log { records, .. } = log(0, 18).page(1) else {
            panic!("a page");
        };
        let fetched = far.fetched(&signer(1), &Limits::default(), 1, &records);
        assert_eq!(fetched, Answered::OtherHistory);
    }
}
