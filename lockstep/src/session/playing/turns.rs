//! What turns are told, and what is done about what follows from them.

use super::Playing;
use crate::log::{NO_SLACK, Record, RosterChange, SignedBatch};
use crate::session::Output;
use crate::session::core::Core;
use crate::session::turns::{Arrival, Collected, Gate, Seal, Sealed, Step};
use crate::{EndReason, Event, Fault, LinkId};
use sim::{Checksum, Outcome};
use std::sync::Arc;
use std::time::Duration;

impl Playing {
    pub(super) fn gate(&self, now: Duration) -> Gate {
        let decided = self.epochs.pending().map(|change| change.value);
        let said_leaving = self.leaving.as_ref().is_some_and(|leaving| leaving.said());
        // A peer that has said that it leaves completes turns only where it must, to vote in the next epoch.
        let plays = !said_leaving || self.epochs.stays_for_next();
        Gate {
            now,
            voters: self.epochs.voters(),
            epoch: self.epochs.epoch(),
            is_closed: self.epochs.is_out() || !plays,
            has_ended: self.ending.holds_turns(),
            is_frozen: self.epochs.is_frozen(),
            is_fenced: self.presence.is_unsure(),
            is_disputed: self.verify.is_disputed(),
            cut: decided.map(|value| (value.cut, value.log_hash)),
            // Not between a decision and the epoch that it begins: a peer removed by that decision that has not heard of it
            // would take the word as given in the old epoch, and go on alone.
            says_leaving: self.leaving.is_some() && decided.is_none(),
            said_leaving,
        }
    }

    pub(super) fn advance_turns(&mut self, core: &mut Core) {
        while !self.over {
            let gate = self.gate(core.now);
            if !self.turns.is_due(&gate, &self.ledger) {
                return;
            }
            self.seal_due(core);
            match self.turns.advance(&gate, &mut self.ledger, &core.limits) {
                Step::Idle => return,
                Step::Stalled(since) => {
                    // A peer that is waited for since a change is not the one that was waited for before it.
                    let since = since.max(self.epochs.began_at);
                    if self.turns.exceeds_limit(since, self.longer(), core.now) {
                        let on = self.waited_for();
                        self.finish(core, EndReason::StallLimit { on });
                    }
                    return;
                }
                Step::Complete(events) => {
                    core.out.extend(events.into_iter().map(Output::Event));
                    self.agree(core);
                    self.hand_out(core);
                    self.check_hashes(core);
                    self.forget_old(core);
                    self.begin_epoch(core);
                }
            }
        }
    }

    /// A turn is complete: earlier ones matter less.
    fn forget_old(&mut self, core: &mut Core) {
        let complete = self.ledger.window.complete();
        self.ledger.batches.forget_before(complete);
        let delay = u32::from(self.turns.plan().delay_turns);
        let lag = core.limits.unexecuted_turns + 2 * delay + 8;
        let late = self.verify.end_late_reports(lag, &self.ledger);
        self.act_on(core, late);
    }

    pub(super) fn seal_due(&mut self, core: &Core) {
        let gate = self.gate(core.now);
        let sealed = self.turns.seal_due(&gate, &mut self.ledger, seal(core));
        self.note_sealed(sealed);
    }

    pub(super) fn seal_leaving(&mut self, core: &Core) {
        let gate = self.gate(core.now);
        let ledger = &mut self.ledger;
        let sealed = self.turns.seal_leaving(&gate, ledger, seal(core));
        self.note_sealed(sealed);
    }

    pub(super) fn seal_last_reports(&mut self, core: &Core) {
        let gate = self.gate(core.now);
        let ledger = &mut self.ledger;
        let sealed = self.turns.seal_last_reports(&gate, ledger, seal(core));
        self.note_sealed(sealed);
    }

    fn note_sealed(&mut self, sealed: Sealed) {
        self.fresh_batch |= sealed.batches > 0;
        if let Some(leaving) = self.leaving.as_mut() {
            leaving.sealed_for = leaving.sealed_for.or(sealed.leaving);
        }
    }

    pub(super) fn hand_out(&mut self, core: &mut Core) {
        let gate = self.gate(core.now);
        core.out
            .extend(self.turns.hand_out(&gate, &self.ledger.window));
    }

    /// Takes a batch that came by `link`, whoever signed it.
    pub(super) fn receive_batch(&mut self, core: &mut Core, link: LinkId, signed: SignedBatch) {
        let arrival = Arrival {
            now: core.now,
            epoch: self.epochs.epoch(),
            cheats: self.verify.cheats(),
            signer: core.signer.as_ref(),
        };
        let signer = usize::from(signed.peer);
        match self
            .turns
            .collect(signed.clone(), &mut self.ledger, &arrival)
        {
            Collected::Nothing => {}
            Collected::Fault(fault) => core.fault(link, fault),
            Collected::OutOfReach => {
                // A forwarding peer may be further than this one; the signer itself may not, unless this one stands still.
                let own = self.member_of(core, link) == Some(signer);
                if own && self.leaving.is_none() {
                    core.fault(link, Fault::WrongTurn);
                }
            }
            Collected::Differs(proof) => {
                self.weigh(core, link, proof);
                self.keep_alternate(core, link, signed);
            }
            Collected::Held {
                at,
                turn,
                wrong_seat,
            } => {
                if wrong_seat {
                    let (peer, fault) = (self.ledger.places.key(at), Fault::WrongSeat);
                    core.event(Event::PeerFault { peer, fault });
                }
                let member = &mut self.members[at];
                if turn >= member.lives_from {
                    member.heard_at = core.now;
                }
                while let Some(turn) = self.ledger.batches.advance(at) {
                    self.take_reports(core, at, turn);
                }
            }
        }
    }

    /// Takes the reports of a batch up to which all of its peer are held.
    fn take_reports(&mut self, core: &mut Core, at: usize, turn: u32) {
        let held = self.ledger.batches.get(at, turn);
        let batch = &held.expect("it was just found to be held").batch;
        let report = match self.verify.take_reports(at, batch, &self.ledger) {
            Ok(report) => report,
            Err(named) => return self.act_on(core, named),
        };
        let slack = batch.slack_ms.get(self.ledger.places.me()).copied();
        if let Some(slack) = slack.filter(|slack| *slack != NO_SLACK) {
            self.turns.note_slack(at, slack, &self.ledger);
        }
        let voters = self.epochs.voters();
        self.turns.note_snapshot(at, turn, &self.ledger, voters);
        self.check_hashes(core);
        for (turns, checksum) in (report.from..).zip(report.checksums) {
            self.report(core, at, turns, checksum);
        }
    }

    pub(crate) fn world_executed(
        &mut self,
        core: &mut Core,
        checksum: Checksum,
        outcome: Option<Outcome>,
        step: Duration,
    ) {
        if self.turns.is_loading() {
            return;
        }
        let has_ended = self.ending.holds_turns();
        let told = (checksum, step);
        let ledger = &self.ledger;
        let executed = self.turns.world_executed(told, has_ended, ledger, core.now);
        let Some(executed) = executed else {
            return;
        };
        if executed.is_new {
            self.report(core, self.ledger.places.me(), executed.turns, checksum);
        }
        let reason = match outcome {
            Some(_) => EndReason::Decided,
            None if executed.is_last => EndReason::TurnLimit,
            None => return,
        };
        self.begin_ending(core, reason, outcome);
    }

    /// The world that was to take the place of another has.
    pub(crate) fn world_loaded(&mut self) {
        self.turns.world_loaded();
    }

    pub(crate) fn snapshot(&mut self, core: &mut Core, turns: u32, bytes: Arc<[u8]>) {
        if self.turns.is_loading() {
            return;
        }
        let end = self.ending.turns();
        let keyframe = self.turns.saved(turns, bytes, end, &core.limits);
        if let Some(keyframe) = keyframe {
            core.out.push(Output::Append(Record::Keyframe(keyframe)));
            self.append_attests(core);
        }
        if end.is_none_or(|end| turns <= end) && !self.ending.holds_turns() {
            self.hand_out(core);
        }
    }

    /// Each peer's newest signed batch: it attests the log up to what was complete when it was sealed.
    pub(super) fn append_attests(&mut self, core: &mut Core) {
        let attests = self.verify.attests(&self.ledger);
        self.act_on(core, attests);
    }

    /// Logs the decided changes that come next behind so many turns.
    pub(super) fn log_changes(&mut self, core: &mut Core, turns: u32) {
        core.out.extend(self.turns.log_changes(turns));
    }

    /// Takes back the turns from the cut on. False where that is too far back.
    pub(super) fn retract(&mut self, core: &mut Core, change: &RosterChange) -> bool {
        let cut = change.value.cut;
        let began = self.epochs.began_with();
        let Some(out) = self.turns.retract(cut, began, &mut self.ledger) else {
            return false;
        };
        core.out.extend(out);
        self.ledger.window.note_retraction(change);
        self.ending.reopen(cut);
        self.verify.retract(cut);
        true
    }

    pub(super) fn tell_stall(&mut self, core: &mut Core) {
        if let Some(since) = self.turns.tell_stall(core.now) {
            let turn = crate::TurnNumber(self.ledger.window.complete());
            let on = self.waited_for();
            core.event(Event::Stalled { turn, on, since });
        }
    }
}

fn seal(core: &Core) -> Seal<'_> {
    Seal {
        signer: core.signer.as_ref(),
        run: core.incarnation,
        limits: &core.limits,
    }
}
