//! One log at the cut: a roster change names the log's hash there, and who holds batches that lead to another one goes
//! over to those that the others hold.
//!
//! Of two batches that a cheat has signed for one turn each peer holds the one that came first. Where that turn is not
//! complete when the others decide, nothing has to be taken back: this peer shows what it holds, each of the others
//! answers with what *it* holds where that is different, and what one of them holds leads to the hash.

use super::Playing;
use crate::log::{Equivocation, SignedBatch};
use crate::session::Batch;
use crate::session::core::Core;
use crate::session::ledger::Held;
use crate::session::membership::paxos::Value;
use crate::session::wire::{Control, WireBatch};
use crate::{LinkId, LogHash};
use std::time::Duration;

/// What is held is shown so often, while it leads to another hash.
const SHOWN_EVERY: Duration = Duration::from_secs(1);
/// Who has found no batches that lead to the log of a decision for so long cannot follow it.
const FOUND_WITHIN: Duration = Duration::from_secs(5);

/// The search for batches that lead to the log of a roster change.
#[derive(Default)]
pub(super) struct Others {
    /// Since when this peer's batches lead to another log than is wanted, and when they were last shown.
    astray: Option<(Duration, Duration)>,
}

impl Others {
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
    fn hashes_ahead_by(&self, by: Option<u8>) -> Vec<LogHash> {
        self.ledger.hashes_ahead(&self.course, by)
    }

    pub(super) fn hashes_ahead(&self) -> Vec<LogHash> {
        self.hashes_ahead_by(None)
    }

    /// Whether the turns up to the cut of what is decided may be completed: what is held leads to its log. Of what
    /// reopens the match no turns are missing.
    pub(super) fn is_aligned(&self) -> bool {
        let pending = self.epochs.pending().map(|change| change.value);
        let open = pending.filter(|value| value.cut > self.ledger.window.complete());
        open.is_none_or(|value| {
            let ahead = self.hashes_ahead();
            value.log_hash.is_none() || self.ledger.hash_at(value.cut, &ahead) == value.log_hash
        })
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
        let stays = |value: &Value| {
            value.roster.contains(self.ledger.places.me() as u8) && value.log_hash.is_some()
        };
        let wanted =
            wanted.filter(|value| stays(value) && value.cut > self.ledger.window.complete());
        let own = wanted.map(|value| self.ledger.hash_at(value.cut, &self.hashes_ahead()));
        // What is lacking comes by itself, unless it is of one who left in another history.
        let differs = wanted.zip(own).is_some_and(|(value, own)| {
            own != value.log_hash && (own.is_some() || pending.is_some())
        });
        if !differs && !another {
            self.others.astray = None;
            return;
        }
        let mut holders = self.ledger.batches.alternate_holders().iter();
        let found = wanted.filter(|_| differs).and_then(|value| {
            let leads = |by: &u8| {
                self.ledger
                    .hash_at(value.cut, &self.hashes_ahead_by(Some(*by)))
                    == value.log_hash
            };
            Some((holders.find(leads)?, value.cut))
        });
        if let Some((by, cut)) = found {
            let complete = self.ledger.window.complete();
            self.ledger.batches.take_alternates(by, complete, cut);
            self.others.astray = None;
            return;
        }
        let lacks = own == Some(None);
        let first = if lacks { core.now } else { Duration::ZERO };
        let (since, shown_at) = self.others.astray.unwrap_or((core.now, first));
        let due = core.now >= shown_at + SHOWN_EVERY || shown_at == Duration::ZERO;
        self.others.astray = Some((since, if due { core.now } else { shown_at }));
        if due {
            let back = u32::from(self.ledger.places.start().plan.delay_turns) + 2;
            self.show(core, self.ledger.window.complete().saturating_sub(back));
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

    /// Keeps what the peer at the other end of a link holds for a turn for which this one holds something else, both
    /// signed by whom they are of.
    pub(super) fn keep_other(&mut self, core: &mut Core, link: LinkId, signed: SignedBatch) {
        let changes = self.epochs.is_frozen() || self.epochs.pending().is_some();
        let by = self.member_of(core, link).filter(|by| self.epochs.has(*by));
        let (Some(by), Ok(batch)) = (by, Batch::decode(&signed.content)) else {
            return;
        };
        let (of, turn) = (usize::from(signed.peer), batch.turn.0);
        let batches = &self.ledger.batches;
        let held = batches.get(of, turn);
        let differs = held.is_some_and(|held| held.signed.content != signed.content);
        let open = turn >= self.ledger.window.complete()
            && batches.required(of, turn)
            && batch.epoch <= self.epochs.epoch();
        let honest = !self.cheats().contains(by as u8);
        if !changes || !differs || !open || !honest {
            return;
        }
        if !signed.is_signed(self.ledger.places.start(), core.signer.as_ref()) {
            return core.strange(link);
        }
        let arrived = core.now;
        let other = Held {
            signed,
            batch,
            arrived,
        };
        let batches = &mut self.ledger.batches;
        batches.keep_alternate(by as u8, of as u8, turn, other);
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
            let at = usize::from(signed.peer);
            let member = &self.members[at];
            let turn = Batch::decode(&signed.content).map(|batch| batch.turn.0);
            let held = turn.ok();
            let held = held.and_then(|turn| self.ledger.batches.get(at, turn));
            let differs = |held: &&Held| held.signed.content != signed.content;
            let held = held.filter(differs).filter(|_| member.proof.is_some());
            let is_signed = || signed.is_signed(self.ledger.places.start(), core.signer.as_ref());
            if let Some(held) = held.filter(|_| is_signed()) {
                let both = vec![WireBatch::of(&held.signed), WireBatch::of(signed)];
                core.send(link, &Control::Evidence(both));
            }
        }
    }

    /// The two batches of a proof, first the one that this peer holds, if it does.
    pub(super) fn held_first(&self, Equivocation(one, other): &Equivocation) -> Vec<WireBatch> {
        let turn = Batch::decode(&one.content).map(|batch| batch.turn.0);
        let at = usize::from(one.peer);
        let held = turn.ok();
        let held = held.and_then(|turn| self.ledger.batches.get(at, turn));
        let swapped = held.is_some_and(|held| held.signed.content == other.content);
        let both = if swapped { [other, one] } else { [one, other] };
        both.map(WireBatch::of).to_vec()
    }
}
