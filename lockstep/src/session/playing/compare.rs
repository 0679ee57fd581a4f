//! Comparing: do all peers have the same world and the same log? If not, stop.

use super::Playing;
use super::agreement::Compared;
use super::odd::Verdict;
use crate::log::Record;
use crate::session::core::Core;
use crate::session::membership::paxos::Peers;
use crate::session::wire::WireBatch;
use crate::session::{Batch, Output};
use crate::{Desync, DesyncSide, EndReason, Event, LogHash, PeerId, TurnNumber};
use sim::{Checksum, Outcome};
use std::time::Duration;

/// Batches that report the last checksums once turns have stopped: as far as the others take batches in advance.
const LAST_BATCHES: u32 = 8;
/// Whoever has another world and tells of a later log than ours may have another log: soon it can be compared.
const EXPLAINED_WITHIN: Duration = Duration::from_secs(2);

/// Worlds differ, and perhaps only because logs do.
pub(super) struct Mismatch {
    pub turns: u32,
    pub since: Duration,
}

impl Playing {
    pub(crate) fn world_executed(
        &mut self,
        core: &mut Core,
        checksum: Checksum,
        outcome: Option<Outcome>,
        step: Duration,
    ) {
        if self.past.is_loading() {
            return;
        }
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
        // Worlds that are reported already are not again: those before a peer came back, or went back.
        if self.executed == self.reported + self.unreported.len() as u32 {
            self.unreported.push_back(checksum);
            self.report(core, self.ledger.places.me(), self.executed, checksum);
        }
        let limit = self.ledger.places.start().turn_limit == Some(self.executed);
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
        if self.odd.peers().contains(peer as u8) {
            return;
        }
        match self.checksums.report(peer, turns, checksum) {
            Compared::Waiting => self.agree(core),
            Compared::Differs => {
                let since = core.now;
                let first = self.mismatch.as_ref().map(|mismatch| mismatch.turns);
                if first.is_none_or(|first| turns < first) {
                    self.show_reports(core, turns);
                }
                let mismatch = self.mismatch.get_or_insert(Mismatch { turns, since });
                mismatch.turns = mismatch.turns.min(turns);
                self.check_mismatch(core);
            }
        }
    }

    /// Shows everybody the batches that report the world after so many turns: whoever was told otherwise has the proof
    /// that two were signed, and whoever was told nothing knows as much as this peer.
    fn show_reports(&self, core: &mut Core, turns: u32) {
        let reports = |batch: &Batch| {
            let told = turns.checked_sub(batch.executed);
            told.is_some_and(|at| (at as usize) < batch.checksums.len())
        };
        let held = self.ledger.batches.all_from(0);
        let held = held.filter(|held| reports(&held.batch));
        self.show_batches(core, held.map(|held| WireBatch::of(&held.signed)).collect());
    }

    /// Worlds differ. Where the logs do not, it is a desync; that they do not is known a little later at times.
    pub(super) fn check_mismatch(&mut self, core: &mut Core) {
        let Some(Mismatch { turns, since }) = self.mismatch else {
            return;
        };
        if self.mismatch_deadline().is_none() {
            return;
        }
        let checksums = self.checksums.row(turns);
        let alike = self.are_alike(&checksums, turns);
        // Who is the odd one out is known once everybody has reported.
        let reports = |at: u8| {
            let member = &self.members[usize::from(at)];
            turns >= member.reports_from
                && !member.misreports
                && !self.ledger.batches.is_gone(usize::from(at))
        };
        let told: Peers = checksums.iter().map(|(peer, _)| *peer).collect();
        let silent = self.epochs.voters().members().without(told);
        let silent: Peers = silent.iter().filter(|at| reports(*at)).collect();
        if !(alike && silent.is_empty()) && core.now < since + EXPLAINED_WITHIN {
            return;
        }
        let verdict = match self.removes_odd_ones() {
            true => self.verdict(&checksums, silent),
            false => Verdict::Nobody,
        };
        let waits = match &verdict {
            Verdict::Minority(_) => !alike,
            Verdict::Open => true,
            Verdict::Nobody => false,
        };
        if waits {
            // Whoever is silent is heard of or goes, and turns go on until then.
            self.mismatch = Some(Mismatch {
                turns,
                since: core.now,
            });
            return;
        }
        self.mismatch = None;
        self.log_mismatch(core, turns, &checksums);
        let sides = self.sides_of_worlds(checksums);
        let turn = turns.saturating_sub(1);
        match verdict {
            Verdict::Minority(odd) if !odd.contains(self.ledger.places.me() as u8) => {
                self.go_without(core, odd, turn, sides);
            }
            _ => self.desync(core, turn, sides),
        }
    }

    pub(super) fn log_mismatch(&self, core: &mut Core, turns: u32, checksums: &[(u8, Checksum)]) {
        let checksums = checksums.to_vec();
        let record = Record::Mismatch { turns, checksums };
        core.out.push(Output::Append(record));
    }

    pub(super) fn sides_of_worlds(&self, checksums: Vec<(u8, Checksum)>) -> Vec<DesyncSide> {
        let sides = checksums.into_iter();
        sides
            .map(|(peer, checksum)| self.side(peer, checksum, None))
            .collect()
    }

    /// Reports were forgotten: others may still differ.
    pub(super) fn look_for_mismatch(&mut self, now: Duration) {
        let difference = self.checksums.first_difference();
        self.mismatch = difference.map(|turns| Mismatch { turns, since: now });
    }

    pub(super) fn mismatch_deadline(&self) -> Option<Duration> {
        // What logs that differ come to says what becomes of it.
        let waits =
            self.dispute.is_some() || self.ending.desynced() || !self.cheating_voters().is_empty();
        let mismatch = self.mismatch.as_ref().filter(|_| !waits);
        mismatch.map(|mismatch| mismatch.since + EXPLAINED_WITHIN)
    }

    pub(super) fn agree(&mut self, core: &mut Core) {
        let (members, batches) = (&self.members, &self.ledger.batches);
        let odd = self.odd.peers();
        while let Some((turns, checksum)) = self.checksums.next_agreed(core.now, |peer, turns| {
            if odd.contains(peer as u8) {
                return false;
            }
            let member = &members[peer];
            let reports = turns >= member.reports_from && !member.misreports;
            !batches.is_gone(peer) && reports
        }) {
            core.out
                .push(Output::Append(Record::Checksum { turns, checksum }));
        }
    }

    pub(super) fn side(
        &self,
        peer: u8,
        checksum: Checksum,
        log_hash: Option<LogHash>,
    ) -> DesyncSide {
        let member = self.ledger.places.peer(usize::from(peer));
        DesyncSide {
            seat: member.seats.first().copied().unwrap_or_default(),
            peer: member.peer,
            own: usize::from(peer) == self.ledger.places.me(),
            checksum,
            log_hash,
        }
    }

    pub(super) fn desync(&mut self, core: &mut Core, turn: u32, reports: Vec<DesyncSide>) {
        if !self.ending.begin_desync(core.now) {
            return;
        }
        self.give_up_stall(core.now);
        // The others must see the mismatch too, and turns, with what they report, go no further.
        for batch in 0..LAST_BATCHES {
            let goes = self.leaving.is_some() || self.epochs.is_out();
            if self.unreported.is_empty() && batch > 0 || goes {
                break;
            }
            self.seal(core);
        }
        core.out.push(Output::Save {
            turns: self.handed_out,
        });
        let odd = self.odd_ones(&reports);
        core.event(Event::Desync(Desync {
            turn: TurnNumber(turn),
            reports,
            odd,
            goes_on: false,
            report: None,
        }));
    }

    /// Those who reported something else than more than half of the roster.
    fn odd_ones(&self, reports: &[DesyncSide]) -> Vec<PeerId> {
        let told = |side: &DesyncSide| (side.checksum, side.log_hash);
        let alike = |one: &&DesyncSide| {
            let same = reports.iter().filter(|other| told(other) == told(one));
            2 * same.count() as u32 > self.epochs.voters().members().len()
        };
        let Some(one) = reports.iter().find(alike) else {
            return Vec::new();
        };
        let odd = reports.iter().filter(|other| told(other) != told(one));
        odd.map(|other| other.peer).collect()
    }

    /// What the peers say of the log after so many turns, as far as it is known.
    pub(super) fn sides_of_log(&self, turns: u32, other: usize, hash: LogHash) -> Vec<DesyncSide> {
        let own = self.ledger.window.after(turns);
        let members = self.ledger.places.all();
        let sides = members.filter_map(|at| {
            let told = match at {
                _ if at == other => Some(hash),
                _ if at == self.ledger.places.me() || self.members[at].alike >= turns => own,
                _ => None,
            };
            Some(self.side(at as u8, self.last_checksum, Some(told?)))
        });
        sides.collect()
    }

    pub(super) fn check_pending_hashes(&mut self, core: &mut Core) {
        for at in 0..self.ledger.places.len() {
            while let Some((turns, hash)) = self.members[at].pending_hashes.front().copied() {
                if turns > self.ledger.window.complete() {
                    break;
                }
                self.members[at].pending_hashes.pop_front();
                if self.members[at].proof.is_some() || self.odd.peers().contains(at as u8) {
                    continue;
                }
                let own = self.ledger.window.after(turns);
                if own == Some(hash) {
                    let member = &mut self.members[at];
                    member.alike = member.alike.max(turns);
                }
                if own.is_some_and(|own| own != hash) {
                    // Two signed batches of one peer may be behind it: whoever holds the other one can prove that.
                    self.dispute(core, turns, at, hash);
                }
            }
        }
        self.check_mismatch(core);
    }
}
