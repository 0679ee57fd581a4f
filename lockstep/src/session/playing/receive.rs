//! What arrives from other peers: their batches and reports, and the little that is said on streams during a match.

use super::Playing;
use crate::log::{Equivocation, SignedBatch};
use crate::session::core::Core;
use crate::session::ledger::Held;
use crate::session::wire::{Control, Datagram};
use crate::session::{Batch, NO_SLACK};
use crate::{Event, Fault, JoinRefused, LinkId};
use std::time::Duration;

impl Playing {
    pub(crate) fn received(&mut self, core: &mut Core, link: LinkId, message: Control) {
        match (message, self.member_of(core, link)) {
            (Control::Join { .. }, None) => core.refuse(link, JoinRefused::Started),
            (end @ Control::End { .. }, Some(_)) => self.receive_end(core, link, end),
            (Control::Bye, at) if at.is_some() || self.may_come_back(core, link) => {
                core.close(link);
            }
            // What was on its way when it was let in, or had ended for it.
            (Control::Rejoin { .. }, Some(_)) => {}
            (Control::Reopen(_), at) if at.is_some() || self.may_come_back(core, link) => {}
            (Control::End { .. }, None) if self.may_come_back(core, link) => {}
            // Who comes back may be further than this peer; what it passes on is signed by others, or proves itself.
            (Control::Evidence(shown), at) if at.is_some() || self.may_come_back(core, link) => {
                self.receive_evidence(core, link, shown);
            }
            (Control::Roster(notes), at) if at.is_some() || self.may_come_back(core, link) => {
                self.receive_notes(core, link, notes);
            }
            (Control::Decided(change), at) if at.is_some() || self.may_come_back(core, link) => {
                self.receive_decision(core, link, &change);
            }
            (Control::Words(notes), at) if at.is_some() || self.may_come_back(core, link) => {
                self.receive_words(core, link, notes);
            }
            (Control::Rejoin { request, addresses }, None) => {
                self.receive_request(core, link, request, addresses);
            }
            // What was on its way when the match began.
            (
                Control::Lobby(_)
                | Control::Pings(_)
                | Control::Ready { .. }
                | Control::Chat { .. },
                Some(_),
            ) => {}
            // What others pass on who had not heard this peer yet: also an earlier run that stood still since.
            (Control::Go { .. }, at) if at.is_some() || self.may_come_back(core, link) => {}
            _ => core.fault(link, Fault::OutOfPlace),
        }
    }

    pub(crate) fn datagram(&mut self, core: &mut Core, link: LinkId, datagram: Datagram) {
        let Datagram::Turns(packet) = datagram else {
            return;
        };
        if self.is_past(core, link) {
            return self.note_past(core, link, &packet);
        }
        if self.member_of(core, link).is_none() && self.may_come_back(core, link) {
            // It has been let in, which this peer has not heard.
            return;
        }
        if self.member_of(core, link).is_none() || packet.held.len() != self.ledger.places.len() {
            return core.fault(link, Fault::OutOfPlace);
        }
        self.receive_packet(core, link, packet);
    }

    /// Takes a batch that came by `link`, whoever signed it.
    pub(super) fn receive_batch(&mut self, core: &mut Core, link: LinkId, signed: SignedBatch) {
        let at = usize::from(signed.peer);
        let Some(peer) = self.ledger.places.get(at) else {
            return core.fault(link, Fault::OutOfPlace);
        };
        let batches = &self.ledger.batches;
        if at == self.ledger.places.me() {
            return;
        }
        let Ok(batch) = Batch::decode(&signed.content) else {
            return core.fault(link, Fault::Garbage);
        };
        let turn = batch.turn.0;
        // Who has not heard that an epoch ended must not go on with what was sealed after it.
        if batch.epoch > self.epochs.epoch() {
            return;
        }
        if let Some(held) = batches.get(at, turn) {
            if held.signed.content != signed.content {
                let proof = Equivocation(held.signed.clone(), signed.clone());
                self.weigh(core, link, proof);
                self.keep_alternate(core, link, signed);
            }
            return;
        }
        let reach = self.ledger.window.complete() + 2 * u32::from(self.course.plan.delay_turns) + 8;
        if turn < u32::from(self.ledger.places.start().plan.delay_turns) || turn >= reach {
            // Who forwards may be further than we are; who signs may not, unless we stand still.
            let own = self.member_of(core, link) == Some(usize::from(signed.peer));
            if own && self.leaving.is_none() {
                core.fault(link, Fault::WrongTurn);
            }
            return;
        }
        // A cheat may leave in one history and not in the other.
        let last = batches.leaves(at);
        let after_last = last.is_some_and(|last| turn > last) && !self.verify.convicts(at);
        if turn < batches.held(at) || after_last || !batches.required(at, turn) {
            return;
        }
        if !signed.is_signed(self.ledger.places.start(), core.signer.as_ref()) {
            return core.fault(link, Fault::Signature);
        }
        if batch
            .entries
            .iter()
            .any(|entry| !peer.seats.contains(&entry.seat))
        {
            core.event(Event::PeerFault {
                peer: peer.peer,
                fault: Fault::WrongSeat,
            });
        }
        let due =
            self.due + self.course.plan.turn() * turn.saturating_sub(self.ledger.window.complete());
        let slack_ms = due.as_millis() as i64 - core.now.as_millis() as i64;
        let member = &mut self.members[at];
        member.note_slack(slack_ms);
        if turn >= member.lives_from {
            member.heard_at = core.now;
        }
        let arrived = core.now;
        let held = Held {
            signed,
            batch,
            arrived,
        };
        self.ledger.batches.store(at, turn, held);
        while let Some(turn) = self.ledger.batches.advance(at) {
            self.take_reports(core, at, turn);
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
            self.members[at].slack_there_ms = Some(slack);
            self.update_slew();
        }
        self.note_snapshot(at, turn);
        self.check_hashes(core);
        for (turns, checksum) in (report.from..).zip(report.checksums) {
            self.report(core, at, turns, checksum);
        }
    }

    /// Pairwise offset is half the difference of mutual slack. Only a peer that is ahead of the median slows down.
    fn update_slew(&mut self) {
        let mut ahead: Vec<i64> = self
            .members
            .iter()
            .enumerate()
            .filter(|(at, _)| !self.ledger.batches.is_gone(*at))
            .filter_map(|(_, member)| {
                Some(i64::from(member.slack_there_ms?) - i64::from(member.slack_here_ms?))
            })
            .map(|difference| difference / 2)
            .collect();
        ahead.sort_unstable();
        let lower = ahead.len().saturating_sub(1) / 2;
        let median = ahead.get(lower).copied().unwrap_or(0);
        let correction = if median > 4 { median / 3 } else { 0 };
        self.slew = Duration::from_millis(correction as u64);
    }

    pub(super) fn slew_step(&mut self) -> Duration {
        let step = self.slew.min(self.course.plan.turn() / 20);
        self.slew -= step;
        step
    }
}
