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
pub(in crate::session) struct Follow {
    /// This peer's place in the roster.
    me: u8,
    log: JoinerLog,
    /// Turns that the source has, as it told last, and when the next one is due here.
    told: Option<(u32, Duration)>,
    /// When a quorum last attested more, or there was no more to attest.
    confirmed_at: Duration,
    /// What a source gave last did not follow on the log, and a quorum tells of changes that are not in it.
    doubts: bool,
}

/// What came of confirming.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) enum Confirmed {
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
pub(in crate::session) enum Mistrust {
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
pub(in crate::session) struct Page<'a> {
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
    pub(in crate::session) fn new(
        now: Duration,
        me: u8,
        start: Arc<Start>,
        own: &[Record],
        signer: &dyn Signer,
    ) -> Self {
        Follow::of(now, me, JoinerLog::new(start, own, signer))
    }

    /// Goes on with a log.
    pub(in crate::session) fn of(now: Duration, me: u8, log: JoinerLog) -> Self {
        Follow {
            me,
            log,
            told: None,
            confirmed_at: now,
            doubts: false,
        }
    }

    /// While its machine slept this peer has waited for nothing.
    pub(in crate::session) fn skip(&mut self, away: Duration) {
        self.confirmed_at += away;
    }

    /// Takes what the source says of itself: its turns, and when the next one is due there. Whatever it says, that is soon
    /// where a match goes on.
    pub(in crate::session) fn tell(
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
        self.set_told(turns, due.min(now + soon));
    }

    /// The others have so many turns, and the next one is due then.
    pub(in crate::session) fn set_told(&mut self, turns: u32, due: Duration) {
        self.told = Some((turns, due));
    }

    /// Takes a page of the log, up to the decision that lets this peer in: turns behind it are turns that it has a part
    /// in. The decision, where the page holds it.
    ///
    /// # Errors
    /// A record does not follow, or it is too much.
    pub(in crate::session) fn page(
        &mut self,
        page: &Page<'_>,
    ) -> Result<Option<RosterChange>, DoesNotFollow> {
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
    pub(in crate::session) fn takes_decision(
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
    pub(in crate::session) fn attest(&mut self, batches: &[SignedBatch], signer: &dyn Signer) {
        for signed in batches.iter().take(2 * MAX_PEERS) {
            self.log.attest(signed, signer);
        }
    }

    /// Takes over what a quorum attests. `unexecuted_turns`: how many turns members may be ahead of their worlds.
    pub(in crate::session) fn confirm(
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
        let plan = self.log.start().terms.plan;
        let lag = (CONFIRM.as_millis() / plan.turn().as_millis()) as u32;
        let lag = match self.log.is_reset() {
            true => lag.max(unexecuted_turns),
            false => lag,
        };
        let turns = self.log.ahead().turns();
        let most = self.log.confirmed().turns() + lag + 2 * u32::from(plan.delay_turns) + 8;
        let has_all = self.told.is_some_and(|(told, _)| turns >= told);
        if has_all && turns > most {
            return Confirmed::Unattested;
        }
        self.confirmed_at = now;
        Confirmed::Stuck
    }

    /// The source's log did not follow, or no quorum attests it. `has_world`: a world has executed the log so far;
    /// `was_lost`: the match was seen without a quorum.
    pub(in crate::session) fn mistrust(&mut self, has_world: bool, was_lost: bool) -> Mistrust {
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
    pub(in crate::session) fn reset(&mut self) {
        self.log.forget_unconfirmed();
    }

    pub(in crate::session) fn me(&self) -> u8 {
        self.me
    }

    /// As the match began.
    pub(in crate::session) fn start(&self) -> &Arc<Start> {
        self.log.start()
    }

    /// What all comes to that sources gave.
    pub(in crate::session) fn ahead(&self) -> &Head {
        self.log.ahead()
    }

    pub(in crate::session) fn log(&self) -> &JoinerLog {
        &self.log
    }

    pub(in crate::session) fn log_mut(&mut self) -> &mut JoinerLog {
        &mut self.log
    }

    pub(in crate::session) fn verified(&self) -> &VerifiedLog {
        self.log.verified()
    }

    pub(in crate::session) fn into_log(self) -> JoinerLog {
        self.log
    }

    /// Whether the whole log before this change is here, and confirmed.
    pub(in crate::session) fn is_at_cut(&self, change: &RosterChange) -> bool {
        self.is_next(change) && !self.log.has_unconfirmed()
    }

    /// Whether a world that has executed so many turns is as far as a peer of the roster must be.
    pub(in crate::session) fn is_near(&self, executed: u32) -> bool {
        let delay = u32::from(self.start().terms.plan.delay_turns);
        self.told
            .is_some_and(|(turns, _)| executed + delay >= turns)
    }

    /// How many turns such a world is behind, where that is known.
    pub(in crate::session) fn behind(&self, executed: u32) -> Option<u32> {
        self.told.map(|(turns, _)| turns.saturating_sub(executed))
    }

    /// When the turn behind so many turns is due, if the source told so.
    pub(in crate::session) fn due(&self, turns: u32, turn: Duration) -> Option<Duration> {
        let (told, due) = self.told?;
        Some(match turns.checked_sub(told) {
            Some(later) => due + turn * later,
            None => due.saturating_sub(turn * (told - turns)),
        })
    }

    /// The newest turn of the others' that is here, where a source has told of turns.
    pub(in crate::session) fn last_known_turn(&self) -> Option<TurnNumber> {
        self.told?;
        self.ahead().turns().checked_sub(1).map(TurnNumber)
    }

    /// When a log that is not attested is to be looked at again.
    pub(in crate::session) fn deadline(&self) -> Option<Duration> {
        let waits = self.log.has_unconfirmed();
        waits.then_some(self.confirmed_at + CONFIRM)
    }
}
