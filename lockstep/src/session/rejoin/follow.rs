//! Following: the log of a joiner as it grows, how far its world is behind the others', and whether what a source gives
//! is believed.

use super::joiner_log::JoinerLog;
use crate::limits::MAX_PEERS;
use crate::log::{DoesNotFollow, Head, Record, RosterChange, SignedBatch, Start, VerifiedLog};
use crate::sign::Signer;
use crate::{Incarnation, Limits, TurnNumber};
use std::sync::Arc;
use std::time::Duration;

/// A log that goes on for so long and that no quorum attests is not the match's.
const CONFIRM: Duration = Duration::from_secs(5);

/// The log, once a source has told how the match began.
pub(crate) struct Follow {
    /// This peer's place in the roster.
    me: u8,
    log: JoinerLog,
    /// Turns that the source has, as it reported last, and when the next one is due here.
    reported: Option<(u32, Duration)>,
    /// When a quorum last attested more, or there was no more to attest.
    confirmed_at: Duration,
    /// What a source gave last did not follow on the log, and a quorum tells of changes that are not in it.
    doubts: bool,
}

/// What came of confirming.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Confirmed {
    /// A quorum attests more.
    More,
    Waits,
    /// It does not, for so long that the source may have less than others.
    Stuck,
    /// The source's log goes on for long, and no quorum attests it.
    Unattested,
}

/// What is to be mistrusted where a log does not follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistrust {
    /// The source holds a change back, or another one has it first.
    Source,
    /// The source has lied.
    Liar,
    /// The log so far: it was this peer's own, or its end was taken back.
    Log,
    /// The same, and the world has executed it.
    World,
}

/// A page of the log, as a joiner takes it.
pub(crate) struct Page<'a> {
    pub now: Duration,
    pub bytes: &'a [u8],
    /// This run of the joiner's process, where it may have been let in.
    pub run: Option<Incarnation>,
    /// The decision that lets it in, where it is known.
    pub decided: Option<&'a RosterChange>,
    /// Turns after which the match is over, where that is known.
    pub over_at: Option<u32>,
    pub limits: &'a Limits,
    pub signer: &'a dyn Signer,
}

impl Follow {
    /// Begins with those of the own records that follow each other.
    pub(crate) fn new(
        now: Duration,
        me: u8,
        start: Arc<Start>,
        own: &[Record],
        signer: &dyn Signer,
    ) -> Self {
        Follow::of(now, me, JoinerLog::new(start, own, signer))
    }

    /// Goes on with a log.
    pub(crate) fn of(now: Duration, me: u8, log: JoinerLog) -> Self {
        Follow {
            me,
            log,
            reported: None,
            confirmed_at: now,
            doubts: false,
        }
    }

    /// While its machine slept this peer has waited for nothing.
    pub(crate) fn skip(&mut self, away: Duration) {
        self.confirmed_at += away;
    }

    /// Takes what the source says of itself: its turns, and when the next one is due there. Whatever it says, that is soon
    /// where a match goes on.
    pub(crate) fn source_reports(
        &mut self,
        now: Duration,
        turns: u32,
        due_in_ms: i32,
        one_way: Duration,
    ) {
        let due = now.as_millis() as i64 + i64::from(due_in_ms);
        let due = Duration::from_millis(due.max(0) as u64).saturating_sub(one_way);
        let plan = self.log.ahead().fold().plan;
        let soon = plan.turn() * (u32::from(plan.delay_turns) + 1);
        self.set_reported(turns, due.min(now + soon));
    }

    /// The others have so many turns, and the next one is due then.
    pub(crate) fn set_reported(&mut self, turns: u32, due: Duration) {
        self.reported = Some((turns, due));
    }

    /// Takes a page of the log, up to the decision that lets this peer in: turns behind it are turns that it has a part
    /// in. The decision, where the page holds it.
    ///
    /// # Errors
    /// A record does not follow, or it is too much.
    pub(crate) fn page(&mut self, page: &Page<'_>) -> Result<Option<RosterChange>, DoesNotFollow> {
        let records = self.log.decode(page.bytes, page.limits);
        let records = records.ok_or(DoesNotFollow)?;
        if !self.log.has_unconfirmed() {
            self.confirmed_at = page.now;
        }
        for record in records {
            // A page begins with the changes before its first turn: those that are known come again.
            if self.log.ahead().is_past(&record) {
                continue;
            }
            if page.decided.is_some_and(|change| self.is_next(change)) {
                break;
            }
            if let Record::Roster(change) = &record
                && page.over_at.is_none_or(|turns| turns <= change.value.cut)
                && page.run.is_some_and(|run| self.lets_in(change, run))
            {
                let decided = self.log.ahead().is_next(change, page.signer);
                return match decided {
                    true => Ok(Some(change.clone())),
                    false => Err(DoesNotFollow),
                };
            }
            self.log.take(&record, page.signer)?;
        }
        Ok(None)
    }

    fn lets_in(&self, change: &RosterChange, run: Incarnation) -> bool {
        let joins = change.value.joins;
        joins.is_some_and(|joins| (joins.peer, joins.incarnation) == (self.me, run))
    }

    /// Whether this is a decision that lets the joiner in, of the epoch and at a turn that the log comes to. One of another
    /// epoch will be seen in the log, or is of the past.
    pub(crate) fn takes_decision(
        &self,
        change: &RosterChange,
        run: Incarnation,
        signer: &dyn Signer,
    ) -> bool {
        let head = self.log.ahead();
        self.lets_in(change, run)
            && change.value.cut >= head.turns()
            && head.is_next(change, signer)
    }

    fn is_next(&self, change: &RosterChange) -> bool {
        let head = self.log.ahead();
        (change.epoch, change.value.cut) == (head.epoch(), head.turns())
    }

    /// Takes what signed batches say about the log.
    pub(crate) fn attest(&mut self, batches: &[SignedBatch], signer: &dyn Signer) {
        for signed in batches.iter().take(2 * MAX_PEERS) {
            self.log.attest(signed, signer);
        }
    }

    /// Takes over what a quorum attests. `unexecuted_turns`: how many turns members may be ahead of their worlds.
    pub(crate) fn confirm(
        &mut self,
        now: Duration,
        decided: Option<&RosterChange>,
        unexecuted_turns: u32,
        signer: &dyn Signer,
    ) -> Confirmed {
        if self.log.confirm(signer, decided) {
            self.confirmed_at = now;
            self.doubts = false;
            return Confirmed::More;
        }
        // While members settle which of two histories counts, their newest batches attest neither.
        let waited = now >= self.confirmed_at + CONFIRM;
        if !waited || !self.log.has_unconfirmed() {
            return Confirmed::Waits;
        }
        let plan = self.log.start().plan;
        let lag = (CONFIRM.as_millis() / plan.turn().as_millis()) as u32;
        let lag = match self.log.is_reset() {
            true => lag.max(unexecuted_turns),
            false => lag,
        };
        let turns = self.log.ahead().turns();
        let most = self.log.confirmed().turns() + lag + 2 * u32::from(plan.delay_turns) + 8;
        let has_all = self.reported.is_some_and(|(has, _)| turns >= has);
        if has_all && turns > most {
            return Confirmed::Unattested;
        }
        self.confirmed_at = now;
        Confirmed::Stuck
    }

    /// The source's log did not follow, or no quorum attests it. `has_world`: a world has executed the log so far;
    /// `was_lost`: the match was seen without a quorum.
    pub(crate) fn mistrust(&mut self, has_world: bool, was_lost: bool) -> Mistrust {
        if self.log.lacks_a_change() {
            // A source may keep a change back; where another one tells the same, it is the turns before.
            return match (std::mem::replace(&mut self.doubts, true), has_world) {
                (false, _) => Mistrust::Source,
                (true, false) => Mistrust::Log,
                (true, true) => Mistrust::World,
            };
        }
        match has_world {
            false if self.log.began_with_own() => Mistrust::Log,
            // The match may have been reopened behind turns before those that it has followed to.
            true if was_lost => Mistrust::World,
            _ => Mistrust::Liar,
        }
    }

    /// Another source is asked: what no quorum attests is forgotten.
    pub(crate) fn reset(&mut self) {
        self.log.forget_unconfirmed();
    }

    pub(crate) fn me(&self) -> u8 {
        self.me
    }

    /// As the match began.
    pub(crate) fn start(&self) -> &Arc<Start> {
        self.log.start()
    }

    /// What all comes to that sources gave.
    pub(crate) fn ahead(&self) -> &Head {
        self.log.ahead()
    }

    pub(crate) fn log(&self) -> &JoinerLog {
        &self.log
    }

    pub(crate) fn log_mut(&mut self) -> &mut JoinerLog {
        &mut self.log
    }

    pub(crate) fn verified(&self) -> &VerifiedLog {
        self.log.verified()
    }

    pub(crate) fn into_log(self) -> JoinerLog {
        self.log
    }

    /// Whether the whole log before this change is here, and confirmed.
    pub(crate) fn is_at_cut(&self, change: &RosterChange) -> bool {
        self.is_next(change) && !self.log.has_unconfirmed()
    }

    /// Whether a world that has executed so many turns is as far as a peer of the roster must be.
    pub(crate) fn is_near(&self, executed: u32) -> bool {
        let delay = u32::from(self.start().plan.delay_turns);
        self.reported
            .is_some_and(|(turns, _)| executed + delay >= turns)
    }

    /// How many turns such a world is behind, where that is known.
    pub(crate) fn behind(&self, executed: u32) -> Option<u32> {
        self.reported
            .map(|(turns, _)| turns.saturating_sub(executed))
    }

    /// When the turn behind so many turns is due, if the source told so.
    pub(crate) fn due(&self, turns: u32, turn: Duration) -> Option<Duration> {
        let (has, due) = self.reported?;
        Some(match turns.checked_sub(has) {
            Some(later) => due + turn * later,
            None => due.saturating_sub(turn * (has - turns)),
        })
    }

    /// The newest turn of the others' that is here, where a source has told of turns.
    pub(crate) fn last_known_turn(&self) -> Option<TurnNumber> {
        self.reported?;
        self.ahead().turns().checked_sub(1).map(TurnNumber)
    }

    /// When a log that is not attested is to be looked at again.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        let waits = self.log.has_unconfirmed();
        waits.then_some(self.confirmed_at + CONFIRM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::fixture::{decided, report, signer, start, turn, turns};
    use crate::log::{Peers, Value};
    use crate::session::roster::Joins;

    const ME: u8 = 2;
    const RUN: Incarnation = Incarnation([99; 16]);

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn follow(own: &[Record]) -> Follow {
        Follow::new(at(0), ME, start(3), own, &signer(ME))
    }

    /// The page of a source that has these records.
    fn page(
        follow: &mut Follow,
        ms: u64,
        records: &[Record],
    ) -> Result<Option<RosterChange>, DoesNotFollow> {
        let whole = VerifiedLog::of(start(3), records, &signer(ME));
        let bytes = whole
            .encoded()
            .records_from(follow.ahead().turns(), 1 << 20);
        follow.page(&Page {
            now: at(ms),
            bytes,
            run: Some(RUN),
            decided: None,
            over_at: None,
            limits: &Limits::default(),
            signer: &signer(ME),
        })
    }

    fn attest(follow: &mut Follow, peers: &[u8], turns: u32) {
        let hash = follow
            .verified()
            .hash_after(turns)
            .expect("turns that are here");
        let reports: Vec<SignedBatch> = peers
            .iter()
            .map(|peer| report(*peer, 0, (turns, hash), None))
            .collect();
        follow.attest(&reports, &signer(ME));
    }

    fn confirm(follow: &mut Follow, ms: u64) -> (Confirmed, u32) {
        let confirmed = follow.confirm(at(ms), None, 600, &signer(ME));
        (confirmed, follow.log().confirmed().turns())
    }

    fn let_in(cut: u32, records: &[Record]) -> RosterChange {
        let log = VerifiedLog::of(start(3), records, &signer(ME));
        let gone = Value::of(Peers(0b011), 5).with_log(log.hash_after(5).expect("turns"));
        let mut value = Value::of(Peers::first(3), cut);
        value.log_hash = log.hash_after(cut);
        value.joins = Some(Joins {
            peer: ME,
            incarnation: RUN,
        });
        assert!(gone.can_follow(Peers::first(3)) && value.can_follow(Peers(0b011)));
        decided(&start(3), 1, value)
    }

    /// Five turns, the removal of the third peer, and five turns more.
    fn without_me() -> Vec<Record> {
        let mut records = turns(5);
        let log = VerifiedLog::of(start(3), &records, &signer(ME));
        let value = Value::of(Peers(0b011), 5).with_log(log.head().hash());
        records.push(Record::Roster(decided(&start(3), 0, value)));
        let idle = crate::log::What::Seat(sim::SeatState::Idle);
        let mut goes = turn(5, false, vec![idle]);
        if let Record::Bundle(bundle) = &mut goes {
            bundle.entries[0].seat = sim::Seat(ME);
        }
        records.push(goes);
        records.extend((6..10).map(|at| turn(at, false, Vec::new())));
        records
    }

    #[test]
    fn the_world_is_given_what_a_quorum_attests_and_no_more() {
        let mut follow = follow(&[]);
        page(&mut follow, 0, &turns(20)).expect("it follows");
        assert_eq!(confirm(&mut follow, 0), (Confirmed::Waits, 0));
        attest(&mut follow, &[1], 12);
        assert_eq!(confirm(&mut follow, 0), (Confirmed::Waits, 0));
        attest(&mut follow, &[0], 10);
        assert_eq!(confirm(&mut follow, 0), (Confirmed::More, 10));
        assert_eq!(follow.log().confirmed_records().count(), 10);
        follow.reset();
        assert_eq!(follow.ahead().turns(), 10);
    }

    #[test]
    fn own_turns_count_without_any_source() {
        let follow = follow(&turns(7));
        assert_eq!(follow.log().confirmed().turns(), 7);
        assert_eq!(follow.deadline(), None);
    }

    #[test]
    fn a_log_that_no_quorum_attests_is_found_out() {
        let mut short = follow(&[]);
        page(&mut short, 1_000, &turns(20)).expect("it follows");
        short.source_reports(at(1_000), 20, 100, at(0));
        assert_eq!(short.deadline(), Some(at(6_000)));
        assert_eq!(confirm(&mut short, 5_999).0, Confirmed::Waits);
        assert_eq!(confirm(&mut short, 6_000).0, Confirmed::Stuck);
        let mut long = follow(&[]);
        page(&mut long, 1_000, &turns(60)).expect("it follows");
        long.source_reports(at(1_000), 60, 100, at(0));
        assert_eq!(confirm(&mut long, 5_999).0, Confirmed::Waits);
        assert_eq!(confirm(&mut long, 6_000).0, Confirmed::Unattested);
    }

    #[test]
    fn a_page_ends_at_the_decision_that_lets_the_joiner_in() {
        let mut records = without_me();
        let change = let_in(9, &records);
        records.truncate(10);
        records.push(Record::Roster(change.clone()));
        records.extend((9..12).map(|at| turn(at, false, Vec::new())));
        let mut follow = follow(&[]);
        // Of the turns behind its cut none are taken.
        assert_eq!(page(&mut follow, 0, &records), Ok(Some(change.clone())));
        assert_eq!(follow.ahead().turns(), 9);
        assert!(!follow.is_at_cut(&change), "no quorum attests it");
        let confirmed = follow.confirm(at(0), Some(&change), 600, &signer(ME));
        assert_eq!(confirmed, Confirmed::More, "its accepts do");
        assert!(follow.is_at_cut(&change));
        assert!(follow.takes_decision(&change, RUN, &signer(ME)));
        assert!(!follow.takes_decision(&change, Incarnation([98; 16]), &signer(ME)));
    }

    #[test]
    fn the_due_time_of_a_source_is_bounded_by_the_plan() {
        let mut follow = follow(&turns(10));
        let turn = follow.start().plan.turn();
        follow.source_reports(at(1_000), 20, 150, at(50));
        assert_eq!(follow.due(20, turn), Some(at(1_100)));
        assert_eq!(follow.due(22, turn), Some(at(1_500)));
        assert_eq!(follow.due(19, turn), Some(at(900)));
        follow.source_reports(at(1_000), 20, 600_000, at(50));
        assert_eq!(follow.due(20, turn), Some(at(1_600)));
        assert!(!follow.is_near(17) && follow.is_near(18));
        assert_eq!(follow.behind(17), Some(3));
    }

    #[test]
    fn what_is_mistrusted_depends_on_what_is_known() {
        let mistrust =
            |own: &[Record], has_world, was_lost| follow(own).mistrust(has_world, was_lost);
        assert_eq!(mistrust(&[], false, false), Mistrust::Liar);
        assert_eq!(mistrust(&turns(3), false, false), Mistrust::Log);
        assert_eq!(mistrust(&turns(3), true, false), Mistrust::Liar);
        assert_eq!(mistrust(&[], true, true), Mistrust::World);
        // A quorum tells of a later epoch than the log does.
        for (has_world, then) in [(false, Mistrust::Log), (true, Mistrust::World)] {
            let mut follow = follow(&turns(3));
            let hash = follow.ahead().hash();
            let later = [0, 1].map(|peer| report(peer, 1, (3, hash), None));
            follow.attest(&later, &signer(ME));
            assert_eq!(follow.mistrust(has_world, false), Mistrust::Source);
            assert_eq!(follow.mistrust(has_world, false), then);
        }
    }
}
