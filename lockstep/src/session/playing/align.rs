//! One log at the cut: a roster change names the log's hash there, and who holds batches that lead to another one goes
//! over to those that the others hold.
//!
//! Of two batches that a cheat has signed for one turn each peer holds the one that came first. Where that turn is not
//! complete when the others decide, nothing has to be taken back: this peer shows what it holds, each of the others
//! answers with what *it* holds where that is different, and what one of them holds leads to the hash.

use super::Playing;
use super::member::Held;
use crate::log::{Equivocation, SignedBatch, turn_hash};
use crate::session::Batch;
use crate::session::core::Core;
use crate::session::roster::Value;
use crate::session::wire::{Control, WireBatch};
use crate::{LinkId, LogHash, TurnNumber};
use std::collections::BTreeMap;
use std::time::Duration;

/// What is held is shown so often, while it leads to another hash.
const SHOWN_EVERY: Duration = Duration::from_secs(1);
/// Who has found no batches that lead to the log of a decision for so long cannot follow it.
const FOUND_WITHIN: Duration = Duration::from_secs(5);

/// What others hold instead of what this peer does.
#[derive(Default)]
pub(super) struct Others {
    /// By who holds it, whose it is, and its turn, which was not complete when it came. Only while the roster changes.
    held: BTreeMap<(u8, u8, u32), Held>,
    /// Since when this peer's batches lead to another log than is wanted, and when they were last shown.
    astray: Option<(Duration, Duration)>,
}

impl Others {
    fn of(&self, by: Option<u8>, of: usize, turn: u32) -> Option<&Held> {
        self.held.get(&(by?, of as u8, turn))
    }

    /// What was slept through was not waited for.
    pub(super) fn skip(&mut self, away: Duration) {
        if let Some((since, shown_at)) = &mut self.astray {
            *since += away;
            *shown_at += away;
        }
    }

    /// It is decided which log counts: from now on there is no other.
    pub(super) fn look_anew(&mut self) {
        self.astray = None;
    }

    pub(super) fn begin_epoch(&mut self) {
        *self = Others::default();
    }
}

impl Playing {
    /// The log's hash after one turn more than are complete, after two, and so on, as far as this peer's batches go, or
    /// those that another one holds where they differ.
    pub(super) fn hashes_ahead(&self, by: Option<u8>) -> Vec<LogHash> {
        let mut course = self.course.clone();
        let mut before = self.epochs.chained.unwrap_or(self.hashes.newest());
        let mut ahead = Vec::new();
        let mut left_from: Vec<Option<u32>> = vec![None; self.members.len()];
        let first = u32::from(self.start.terms.plan.delay_turns);
        for turn in self.complete.. {
            let of_turn = |at: usize| {
                let own = self.members[at].batches.get(turn);
                self.others.of(by, at, turn).or(own)
            };
            let required = |at: &usize| {
                let left = left_from[*at].is_some_and(|from| turn >= from);
                self.members[*at].required(turn) && !left
            };
            let required: Vec<usize> = (0..self.members.len()).filter(required).collect();
            let held = |at: &usize| turn < self.members[*at].held && of_turn(*at).is_some();
            // The first turns of an epoch may need nobody's batches; those after everybody has left are none.
            let begins =
                |member: &super::Member| member.from > turn && member.required(member.from);
            let is_last = required.is_empty() && !self.members.iter().any(begins);
            if is_last || turn >= first && !required.iter().all(held) {
                return ahead;
            }
            let batches = required.iter().filter_map(|at| {
                let seats = self.members[*at].peer.seats.as_slice();
                Some((seats, &of_turn(*at)?.batch))
            });
            let formed = course.form(TurnNumber(turn), batches);
            before = turn_hash(before, &formed.bundle);
            ahead.push(before);
            for at in required {
                if of_turn(at).is_some_and(|held| held.batch.leaving) {
                    left_from[at] = Some(turn + 1);
                }
            }
        }
        ahead
    }

    /// Whether the turns up to the cut of what is decided may be completed: what is held leads to its log. Of what
    /// reopens the match no turns are missing.
    pub(super) fn is_aligned(&self) -> bool {
        let pending = self.epochs.pending().map(|change| change.value);
        let open = pending.filter(|value| value.cut > self.complete);
        open.is_none_or(|value| {
            let ahead = self.hashes_ahead(None);
            value.log_hash.is_none() || self.at_cut(&value, &ahead) == value.log_hash
        })
    }

    fn at_cut(&self, value: &Value, ahead: &[LogHash]) -> Option<LogHash> {
        let more = value.cut.checked_sub(self.complete + 1)?;
        ahead.get(more as usize).copied()
    }

    /// Goes over to what others hold where that leads to the log of the roster change, and this peer's batches do not.
    pub(super) fn align(&mut self, core: &mut Core) {
        let pending = self.epochs.pending().map(|change| change.value);
        let told = || {
            let sight = self.sight(None);
            let roster = &self.epochs.roster;
            let another = roster.is_told_another_log(&sight.view());
            (roster.wanted(&sight.view()), another)
        };
        let (wanted, another) = match pending {
            Some(value) => (Some(value), false),
            None if self.epochs.is_changing() => told(),
            None => (None, false),
        };
        let stays =
            |value: &Value| value.roster.contains(self.me as u8) && value.log_hash.is_some();
        let wanted = wanted.filter(|value| stays(value) && value.cut > self.complete);
        let own = wanted.map(|value| self.at_cut(&value, &self.hashes_ahead(None)));
        // What is lacking comes by itself, unless it is of one who left in another history.
        let differs = wanted.zip(own).is_some_and(|(value, own)| {
            own != value.log_hash && (own.is_some() || pending.is_some())
        });
        if !differs && !another {
            self.others.astray = None;
            return;
        }
        let mut holders: Vec<u8> = self.others.held.keys().map(|(by, ..)| *by).collect();
        holders.dedup();
        let found = wanted.filter(|_| differs).and_then(|value| {
            let leads =
                |by: &u8| self.at_cut(&value, &self.hashes_ahead(Some(*by))) == value.log_hash;
            Some((holders.into_iter().find(leads)?, value.cut))
        });
        if let Some((by, cut)) = found {
            self.take_over(by, cut);
            self.others.astray = None;
            return;
        }
        let lacks = own == Some(None);
        let first = if lacks { core.now } else { Duration::ZERO };
        let (since, shown_at) = self.others.astray.unwrap_or((core.now, first));
        let due = core.now >= shown_at + SHOWN_EVERY || shown_at == Duration::ZERO;
        self.others.astray = Some((since, if due { core.now } else { shown_at }));
        if due {
            let back = u32::from(self.start.terms.plan.delay_turns) + 2;
            self.show(core, self.complete.saturating_sub(back));
        }
        if pending.is_some() && !lacks && core.now >= since + FOUND_WITHIN {
            self.give_up_stall(core.now);
            self.ending.be_removed(core.now);
        }
    }

    /// When that is looked at again.
    pub(super) fn align_deadline(&self) -> Option<Duration> {
        let (_, shown_at) = self.others.astray?;
        (!self.ending.desynced()).then_some(shown_at + SHOWN_EVERY)
    }

    fn take_over(&mut self, by: u8, cut: u32) {
        let of_it = self
            .others
            .held
            .extract_if(.., |(holder, ..), _| *holder == by);
        let of_it: Vec<_> = of_it.collect();
        for ((_, of, turn), held) in of_it {
            let member = &mut self.members[usize::from(of)];
            let counts = (self.complete..cut).contains(&turn) && turn < member.held;
            if counts && let Some(before) = member.exchange(turn, held) {
                self.others.held.insert((by, of, turn), before);
            }
        }
    }

    /// Keeps what the peer at the other end of a link holds for a turn for which this one holds something else, both
    /// signed by whom they are of.
    pub(super) fn keep_other(&mut self, core: &mut Core, link: LinkId, signed: SignedBatch) {
        let changes = self.epochs.is_frozen() || self.epochs.pending().is_some();
        let by = self.member_of(core, link).filter(|by| self.epochs.has(*by));
        let (Some(by), Ok(batch)) = (by, Batch::decode(&signed.content)) else {
            return;
        };
        let (of, turn) = (usize::from(signed.peer), batch.turn.0);
        let member = &self.members[of];
        let held = member.batches.get(turn);
        let differs = held.is_some_and(|held| held.signed.content != signed.content);
        let open =
            turn >= self.complete && member.required(turn) && batch.epoch <= self.epochs.epoch();
        let honest = !self.cheats().contains(by as u8);
        if !changes || !differs || !open || !honest {
            return;
        }
        if !signed.is_signed(&self.start, core.signer.as_ref()) {
            return core.strange(link);
        }
        let arrived = core.now;
        let other = Held {
            signed,
            batch,
            arrived,
        };
        self.others.held.insert((by as u8, of as u8, turn), other);
    }

    /// Answers whoever has shown what differs from what this peer holds of a proved cheat: first of each pair is what
    /// this peer holds.
    pub(super) fn answer_shown(&self, core: &mut Core, link: LinkId, shown: &[SignedBatch]) {
        if self
            .member_of(core, link)
            .is_none_or(|at| !self.epochs.has(at))
        {
            return;
        }
        for signed in shown {
            let member = &self.members[usize::from(signed.peer)];
            let turn = Batch::decode(&signed.content).map(|batch| batch.turn.0);
            let held = turn.ok().and_then(|turn| member.batches.get(turn));
            let differs = |held: &&Held| held.signed.content != signed.content;
            let held = held.filter(differs).filter(|_| member.proof.is_some());
            let is_signed = || signed.is_signed(&self.start, core.signer.as_ref());
            if let Some(held) = held.filter(|_| is_signed()) {
                let both = vec![WireBatch::of(&held.signed), WireBatch::of(signed)];
                core.send(link, &Control::Evidence(both));
            }
        }
    }

    /// The two batches of a proof, first the one that this peer holds, if it does.
    pub(super) fn held_first(&self, Equivocation(one, other): &Equivocation) -> Vec<WireBatch> {
        let turn = Batch::decode(&one.content).map(|batch| batch.turn.0);
        let member = &self.members[usize::from(one.peer)];
        let held = turn.ok().and_then(|turn| member.batches.get(turn));
        let swapped = held.is_some_and(|held| held.signed.content == other.content);
        let both = if swapped { [other, one] } else { [one, other] };
        both.map(WireBatch::of).to_vec()
    }
}
