//! Following: the log of a joiner as it grows, how far its world is behind the others', and whether what a source gives
//! is believed.

use crate::log::{AttestedLog, DoesNotFollow, Readmission, Record, RosterChange};
use crate::sign::Signer;
use crate::{Limits, Plan};
use std::time::Duration;

/// A log that goes on for so long and that no quorum attests is not the match's.
const CONFIRM: Duration = Duration::from_secs(5);
/// A source that tells of a later epoch than its log does has its change so soon, or its log differs from before the change.
const CHANGES: Duration = Duration::from_secs(1);
/// So long after a source has left what a quorum attests a quorum tells of a later epoch, where it began.
const EPOCH_IS_TOLD: Duration = Duration::from_secs(5);

/// What a joiner makes of its log, once a source has told how the match began.
pub(crate) struct Follow {
    /// Turns that the source has, as it reported last, and when the next one is due here.
    reported: Option<(u32, Duration)>,
    /// When a quorum last attested more, or there was no more to attest.
    confirmed_at: Duration,
    /// What was tried since a source gave what does not follow on the log, or what a quorum tells is otherwise.
    doubts: Doubts,
    /// When a source first contradicted what a quorum attests, since more was attested.
    contradicted_at: Option<Duration>,
}

/// Turns may have been taken back, a source may lack a change, or keep it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doubts {
    None,
    /// The same source was asked again for what no quorum attests.
    AskedAgain,
    /// Another source was asked.
    AskedAnother,
}

/// What came of confirming.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Confirmed {
    /// A quorum attests more.
    More,
    Waits,
    /// It does not, for so long that the source may have less than others.
    Stuck,
    /// The source's log goes on for long, or a quorum is in a later epoch, and no quorum attests it.
    Unattested,
}

/// What is to be mistrusted where a log does not follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistrust {
    /// The source holds a change back, or another one has it first.
    Source,
    /// What was given behind the attested turns: the source may have taken turns back since.
    Unconfirmed,
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
    /// The joiner, where it may have been admitted.
    pub joins: Option<Readmission>,
    /// The decision that admits it, where it is known.
    pub decided: Option<&'a RosterChange>,
    /// The log may go on in a branch: the joiner's player has said so.
    pub branches: bool,
    /// Turns after which the match is over, where that is known.
    pub over_at: Option<u32>,
    pub limits: &'a Limits,
    pub signer: &'a dyn Signer,
}

impl Follow {
    pub(crate) fn new(now: Duration) -> Self {
        Follow {
            reported: None,
            confirmed_at: now,
            doubts: Doubts::None,
            contradicted_at: None,
        }
    }

    /// While its machine slept this peer has waited for nothing.
    pub(crate) fn skip(&mut self, away: Duration) {
        self.confirmed_at += away;
    }

    /// Takes what the source says of itself: its turns, and when the next one is due there. Whatever it says, by this plan
    /// that is soon where a match goes on.
    pub(crate) fn source_reports(
        &mut self,
        now: Duration,
        turns: u32,
        due_in_ms: i32,
        one_way: Duration,
        plan: Plan,
    ) {
        let due = now.as_millis() as i64 + i64::from(due_in_ms);
        let due = Duration::from_millis(due.max(0) as u64).saturating_sub(one_way);
        let soon = plan.turn() * (u32::from(plan.delay_turns) + 1);
        self.set_reported(turns, due.min(now + soon));
    }

    /// The others have so many turns, and the next one is due then.
    pub(crate) fn set_reported(&mut self, turns: u32, due: Duration) {
        self.reported = Some((turns, due));
    }

    /// Takes a page of the log, up to the decision that lets the joiner in: of turns behind it, it has a part. The decision,
    /// where the page holds it.
    ///
    /// # Errors
    /// A record does not follow, or it is too much.
    pub(crate) fn page(
        &mut self,
        log: &mut AttestedLog,
        page: &Page<'_>,
    ) -> Result<Option<RosterChange>, DoesNotFollow> {
        let records = log.decode(page.bytes, page.limits);
        let records = records.ok_or(DoesNotFollow)?;
        if !log.has_unconfirmed() {
            self.confirmed_at = page.now;
        }
        for record in records {
            // A page begins with the changes before its first turn: those that are known come again.
            if log.ahead().is_past(&record) {
                continue;
            }
            if page.decided.is_some_and(|change| log.ends_with(change)) {
                break;
            }
            if let Record::Roster(change) = &record
                && page.over_at.is_none_or(|turns| turns <= change.value.cut)
                && page
                    .joins
                    .is_some_and(|joins| change.value.joins == Some(joins))
            {
                return match log.ahead().is_next(change, page.signer) {
                    true => Ok(Some(change.clone())),
                    false => Err(DoesNotFollow),
                };
            }
            let branches = matches!(&record, Record::Roster(change) if change.branch().is_some());
            if branches && !page.branches {
                return Err(DoesNotFollow);
            }
            log.take(&record, page.signer)?;
        }
        Ok(None)
    }

    /// Takes over what a quorum attests. `unexecuted_turns`: how many turns members may be ahead of their worlds.
    pub(crate) fn confirm(
        &mut self,
        now: Duration,
        log: &mut AttestedLog,
        decided: Option<&RosterChange>,
        unexecuted_turns: u32,
        signer: &dyn Signer,
    ) -> Confirmed {
        if log.confirm(signer, decided) {
            self.confirmed_at = now;
            self.doubts = Doubts::None;
            self.contradicted_at = None;
            return Confirmed::More;
        }
        // While members settle which of two histories counts, their newest batches attest neither.
        if self.deadline(log).is_none_or(|at| now < at) {
            return Confirmed::Waits;
        }
        if log.runs_past_a_change() {
            self.confirmed_at = now;
            return Confirmed::Unattested;
        }
        let terms = &log.start().terms;
        let lag = (CONFIRM.as_millis() / terms.shortest_turn().as_millis()) as u32;
        let lag = match log.is_reset() {
            true => lag.max(unexecuted_turns),
            false => lag,
        };
        let turns = log.ahead().turns();
        let most = log.confirmed().turns() + lag + 2 * terms.longest_delay() + 8;
        let has_all = self.reported.is_some_and(|(has, _)| turns >= has);
        if has_all && (turns > most || log.lacks_a_change()) {
            return Confirmed::Unattested;
        }
        self.confirmed_at = now;
        Confirmed::Stuck
    }

    /// The source's log did not follow, or no quorum attests it. `has_world`: a world has executed the log so far;
    /// `was_lost`: the match was seen without a quorum; `on_unconfirmed`: the log did not follow on turns that no quorum
    /// attests, which members take back where a peer has cheated.
    pub(crate) fn mistrust(
        &mut self,
        log: &AttestedLog,
        (has_world, was_lost, on_unconfirmed): (bool, bool, bool),
        now: Duration,
    ) -> Mistrust {
        let lacks = log.lacks_a_change();
        let asks_again = on_unconfirmed || log.runs_past_a_change();
        let (doubts, mistrust) = match self.doubts {
            Doubts::None if asks_again => (Doubts::AskedAgain, Some(Mistrust::Unconfirmed)),
            Doubts::None if !lacks => (Doubts::None, None),
            Doubts::None | Doubts::AskedAgain => (Doubts::AskedAnother, Some(Mistrust::Source)),
            Doubts::AskedAnother => (Doubts::AskedAnother, None),
        };
        self.doubts = doubts;
        if let Some(mistrust) = mistrust {
            return mistrust;
        }
        // A source may keep a change back; where another one tells the same, it is the turns before.
        if lacks {
            return match has_world {
                false => Mistrust::Log,
                true => Mistrust::World,
            };
        }
        // The match may have been reopened behind turns before those of the own replay, or those that were followed to.
        match has_world {
            false if log.rests_on_own() => Mistrust::Log,
            true if log.rests_on_own() || was_lost => Mistrust::World,
            // Cheats may have attested what a change takes back, and its epoch begins: a quorum tells of that soon.
            true if now < *self.contradicted_at.get_or_insert(now) + EPOCH_IS_TOLD => {
                Mistrust::Source
            }
            _ => Mistrust::Liar,
        }
    }

    /// Whether a world that has executed so many turns is as far as a peer of the roster must be, by the plan's delay.
    pub(crate) fn is_near(&self, executed: u32, delay: u8) -> bool {
        self.reported
            .is_some_and(|(turns, _)| executed + u32::from(delay) >= turns)
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

    /// When a log that is not attested is to be looked at again.
    pub(crate) fn deadline(&self, log: &AttestedLog) -> Option<Duration> {
        match (log.runs_past_a_change(), self.doubts) {
            (true, Doubts::None) => Some(Duration::ZERO),
            (true, _) => Some(self.confirmed_at + CHANGES),
            (false, _) => log.has_unconfirmed().then_some(self.confirmed_at + CONFIRM),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Incarnation;
    use crate::log::fixture::{decided, report, signer, start, turn, turns};
    use crate::log::{Peers, Value, VerifiedLog};

    const ME: u8 = 2;
    const JOINS: Readmission = Readmission {
        peer: ME,
        incarnation: Incarnation([99; 16]),
    };

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn log_of(own: &[Record]) -> AttestedLog {
        AttestedLog::new(start(3), own, &signer(ME))
    }

    fn follow() -> Follow {
        Follow::new(at(0))
    }

    /// The page of a source that has these records.
    fn page(
        follow: &mut Follow,
        log: &mut AttestedLog,
        ms: u64,
        records: &[Record],
    ) -> Result<Option<RosterChange>, DoesNotFollow> {
        let whole = VerifiedLog::of(start(3), records, &signer(ME));
        let page = Page {
            now: at(ms),
            bytes: &whole.encoded().records_from(log.ahead().turns(), 1 << 20),
            joins: Some(JOINS),
            decided: None,
            branches: false,
            over_at: None,
            limits: &Limits::default(),
            signer: &signer(ME),
        };
        follow.page(log, &page)
    }

    fn attest(log: &mut AttestedLog, peers: &[u8], turns: u32) {
        let hash = log
            .verified()
            .hash_after(turns)
            .expect("turns that are here");
        for peer in peers {
            log.attest(&report(*peer, 0, (turns, hash), None), &signer(ME));
        }
    }

    fn confirm(follow: &mut Follow, log: &mut AttestedLog, ms: u64) -> (Confirmed, u32) {
        let confirmed = follow.confirm(at(ms), log, None, 600, &signer(ME));
        (confirmed, log.confirmed().turns())
    }

    fn admission(cut: u32, records: &[Record]) -> RosterChange {
        let log = VerifiedLog::of(start(3), records, &signer(ME));
        let gone = Value::of(Peers(0b011), 5).with_log(log.hash_after(5).expect("turns"));
        let mut value = Value::of(Peers::first(3), cut);
        value.log_hash = log.hash_after(cut);
        value.joins = Some(JOINS);
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
        let (mut follow, mut log) = (follow(), log_of(&[]));
        page(&mut follow, &mut log, 0, &turns(20)).expect("it follows");
        assert_eq!(confirm(&mut follow, &mut log, 0), (Confirmed::Waits, 0));
        attest(&mut log, &[1], 12);
        assert_eq!(confirm(&mut follow, &mut log, 0), (Confirmed::Waits, 0));
        attest(&mut log, &[0], 10);
        assert_eq!(confirm(&mut follow, &mut log, 0), (Confirmed::More, 10));
        assert_eq!(log.confirmed_log().records().count(), 10);
        log.forget_unconfirmed();
        assert_eq!(log.ahead().turns(), 10);
    }

    #[test]
    fn own_turns_count_without_any_source() {
        let log = log_of(&turns(7));
        assert_eq!(log.confirmed().turns(), 7);
        assert_eq!(follow().deadline(&log), None);
    }

    #[test]
    fn a_log_that_no_quorum_attests_is_found_out() {
        for (count, then) in [(20, Confirmed::Stuck), (60, Confirmed::Unattested)] {
            let (mut follow, mut log) = (follow(), log_of(&[]));
            page(&mut follow, &mut log, 1_000, &turns(count)).expect("it follows");
            follow.source_reports(at(1_000), count, 100, at(0), Plan::default());
            assert_eq!(follow.deadline(&log), Some(at(6_000)));
            assert_eq!(confirm(&mut follow, &mut log, 5_999).0, Confirmed::Waits);
            assert_eq!(confirm(&mut follow, &mut log, 6_000).0, then);
        }
    }

    #[test]
    fn a_page_ends_at_the_decision_that_lets_the_joiner_in() {
        let mut records = without_me();
        let change = admission(9, &records);
        records.truncate(10);
        records.push(Record::Roster(change.clone()));
        records.extend((9..12).map(|at| turn(at, false, Vec::new())));
        let (mut follow, mut log) = (follow(), log_of(&[]));
        let found = page(&mut follow, &mut log, 0, &records);
        assert_eq!(found, Ok(Some(change.clone())));
        assert_eq!(log.ahead().turns(), 9, "of the turns behind its cut none");
        assert!(log.ends_with(&change) && log.has_unconfirmed());
        let confirmed = follow.confirm(at(0), &mut log, Some(&change), 600, &signer(ME));
        assert_eq!(confirmed, Confirmed::More, "its accepts attest the log");
        assert!(!log.has_unconfirmed());
        // Known before, it ends a page as well.
        let (decided, mut log) = (Some(&change), log_of(&records[..10]));
        let whole = VerifiedLog::of(start(3), &records, &signer(ME));
        let page = Page {
            now: at(0),
            bytes: &whole.encoded().records_from(9, 1 << 20),
            joins: None,
            decided,
            branches: false,
            over_at: None,
            limits: &Limits::default(),
            signer: &signer(ME),
        };
        assert_eq!(follow.page(&mut log, &page), Ok(None));
        assert_eq!(log.ahead().turns(), 9);
    }

    #[test]
    fn the_due_time_of_a_source_is_bounded_by_the_plan() {
        let (mut follow, plan) = (follow(), Plan::default());
        let turn = plan.turn();
        follow.source_reports(at(1_000), 20, 150, at(50), plan);
        assert_eq!(follow.due(20, turn), Some(at(1_100)));
        assert_eq!(follow.due(22, turn), Some(at(1_500)));
        assert_eq!(follow.due(19, turn), Some(at(900)));
        follow.source_reports(at(1_000), 20, 600_000, at(50), plan);
        assert_eq!(follow.due(20, turn), Some(at(1_600)));
        assert!(!follow.is_near(17, 2) && follow.is_near(18, 2));
        assert_eq!(follow.behind(17), Some(3));
    }

    #[test]
    fn mistrust_depends_on_known_facts() {
        let mistrust = |own: &[Record], has_world, was_lost| {
            let (mut follow, log) = (follow(), log_of(own));
            let mut at = |now| follow.mistrust(&log, (has_world, was_lost, false), now);
            let first = at(Duration::ZERO);
            (first, at(EPOCH_IS_TOLD))
        };
        let always = |mistrust: Mistrust| (mistrust, mistrust);
        assert_eq!(mistrust(&[], false, false), always(Mistrust::Liar));
        assert_eq!(mistrust(&turns(3), false, false), always(Mistrust::Log));
        assert_eq!(mistrust(&turns(3), true, false), always(Mistrust::World));
        let later = (Mistrust::Source, Mistrust::Liar);
        assert_eq!(mistrust(&[], true, false), later, "a change may begin");
        assert_eq!(mistrust(&[], true, true), always(Mistrust::World));
        // A quorum has attested more than the own replay.
        let mut log = log_of(&turns(3));
        page(&mut follow(), &mut log, 0, &turns(5)).expect("it follows");
        attest(&mut log, &[0, 1], 5);
        assert!(log.confirm(&signer(ME), None));
        let mut follow_it = follow();
        let mistrusted =
            [0, 5_000].map(|ms| follow_it.mistrust(&log, (true, false, false), at(ms)));
        assert_eq!(mistrusted, [Mistrust::Source, Mistrust::Liar]);
        // It may have taken back turns that no quorum has attested, but not again and again.
        let (mut doubting, log) = (follow(), log_of(&[]));
        for (on_unconfirmed, ms, then) in [
            (true, 0, Mistrust::Unconfirmed),
            (false, 0, Mistrust::Source),
            (true, 0, Mistrust::Source),
            (true, 5_000, Mistrust::Liar),
        ] {
            let facts = (true, false, on_unconfirmed);
            assert_eq!(doubting.mistrust(&log, facts, at(ms)), then);
        }
        // A quorum tells of a later epoch than the log does.
        for (has_world, then) in [(false, Mistrust::Log), (true, Mistrust::World)] {
            let (mut follow, log) = (follow(), told_of_a_change(3, 3));
            let facts = (has_world, false, false);
            assert_eq!(follow.mistrust(&log, facts, at(0)), Mistrust::Source);
            assert_eq!(follow.mistrust(&log, facts, at(0)), then);
        }
    }

    /// So many turns, and a quorum in a later epoch that began before `complete` were complete.
    fn told_of_a_change(count: u32, complete: u32) -> AttestedLog {
        let mut log = log_of(&turns(count));
        let hash = log.ahead().hash();
        for peer in [0, 1] {
            log.attest(&report(peer, 1, (complete, hash), None), &signer(ME));
        }
        log
    }

    #[test]
    fn a_log_that_runs_past_a_change_is_found_out_at_once() {
        assert_eq!(follow().deadline(&told_of_a_change(5, 5)), None);
        let (mut follow, mut log) = (follow(), told_of_a_change(5, 4));
        assert_eq!(
            confirm(&mut follow, &mut log, 1_000).0,
            Confirmed::Unattested
        );
        let facts = (true, false, false);
        assert_eq!(follow.mistrust(&log, facts, at(0)), Mistrust::Unconfirmed);
        // The source may have the change a moment later, or keep it back; another one that tells the same does not.
        for (ms, then) in [(2_000, Mistrust::Source), (3_000, Mistrust::World)] {
            assert_eq!(confirm(&mut follow, &mut log, ms - 1).0, Confirmed::Waits);
            assert_eq!(follow.deadline(&log), Some(at(ms)));
            let found = confirm(&mut follow, &mut log, ms).0;
            assert_eq!(found, Confirmed::Unattested);
            assert_eq!(follow.mistrust(&log, facts, at(0)), then);
        }
    }
}
