//! Comparing: do all peers have the same world and the same log? If not, stop.

use super::Playing;
use super::agreement::Compared;
use crate::log::Record;
use crate::session::Output;
use crate::session::core::Core;
use crate::{Desync, DesyncSide, EndReason, Event, TurnNumber};
use sim::{Checksum, Outcome};
use std::time::Duration;

/// Batches that report the last checksums once turns have stopped: as far as the others take batches in advance.
const LAST_BATCHES: u32 = 8;

impl Playing {
    pub(crate) fn world_executed(
        &mut self,
        core: &mut Core,
        checksum: Checksum,
        outcome: Option<Outcome>,
        step: Duration,
    ) {
        assert!(
            self.executed < self.handed_out,
            "a turn was handed out before it was executed"
        );
        self.executed += 1;
        self.load.executed(core.now, step);
        self.last_checksum = checksum;
        if self.ending.holds_turns() {
            return;
        }
        if self.executed >= self.members[self.me].reports_from {
            self.unreported.push_back(checksum);
        }
        self.report(core, self.me, self.executed, checksum);
        let limit = self.start.turn_limit == Some(self.executed);
        if outcome.is_some() || limit {
            let reason = if outcome.is_some() {
                EndReason::Decided
            } else {
                EndReason::TurnLimit
            };
            self.begin_ending(core, reason, outcome);
        }
    }

    pub(super) fn report(&mut self, core: &mut Core, peer: usize, turns: u32, checksum: Checksum) {
        match self.checksums.report(peer, turns, checksum) {
            Compared::Waiting => self.agree(core),
            Compared::Differs => {
                let checksums = self.checksums.row(turns);
                core.out.push(Output::Append(Record::Mismatch {
                    turns,
                    checksums: checksums.clone(),
                }));
                let sides = checksums
                    .into_iter()
                    .map(|(peer, checksum)| self.side(peer, checksum, None))
                    .collect();
                self.desync(core, turns.saturating_sub(1), sides);
            }
        }
    }

    pub(super) fn agree(&mut self, core: &mut Core) {
        let members = &self.members;
        while let Some((turns, checksum)) = self.checksums.next_agreed(|peer, turns| {
            let member = &members[peer];
            let reports = turns >= member.reports_from && !member.misreports;
            member.left_from.is_none() && reports
        }) {
            core.out
                .push(Output::Append(Record::Checksum { turns, checksum }));
        }
    }

    pub(super) fn side(
        &self,
        peer: u8,
        checksum: Checksum,
        log_hash: Option<crate::LogHash>,
    ) -> DesyncSide {
        let member = &self.members[usize::from(peer)];
        DesyncSide {
            seat: member.peer.seats.first().copied().unwrap_or_default(),
            peer: member.peer.peer,
            own: usize::from(peer) == self.me,
            checksum,
            log_hash,
        }
    }

    pub(super) fn desync(&mut self, core: &mut Core, turn: u32, reports: Vec<DesyncSide>) {
        if !self.ending.begin_desync(core.now) {
            return;
        }
        self.stall = None;
        // The others must see the mismatch too, and turns, with what they report, go no further.
        for batch in 0..LAST_BATCHES {
            if self.unreported.is_empty() && batch > 0 || self.leaving.is_some() {
                break;
            }
            self.seal(core);
        }
        core.out.push(Output::Save {
            turns: self.handed_out,
        });
        core.event(Event::Desync(Desync {
            turn: TurnNumber(turn),
            reports,
            report: None,
        }));
    }

    pub(super) fn check_pending_hashes(&mut self, core: &mut Core) {
        for at in 0..self.members.len() {
            while let Some((turns, hash)) = self.members[at].pending_hashes.front().copied() {
                if turns > self.complete {
                    break;
                }
                self.members[at].pending_hashes.pop_front();
                if let Some(own) = self.hashes.after(turns).filter(|own| *own != hash) {
                    let sides = vec![
                        self.side(self.me as u8, self.last_checksum, Some(own)),
                        self.side(at as u8, self.last_checksum, Some(hash)),
                    ];
                    // Two signed batches of one peer may be behind it: whoever holds the other one can prove that.
                    self.evidence_from = self.evidence_from.or(Some(turns.saturating_sub(2)));
                    self.desync(core, turns.saturating_sub(1), sides);
                }
            }
        }
    }
}
