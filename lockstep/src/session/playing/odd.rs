//! The odd ones: who has another world, or another log, than a quorum of the others, and what becomes of the match.
//!
//! A checksum says that worlds differ, and never whose is right. So nobody goes for one unless a quorum of the roster
//! reported the same and is more than half of all who reported: a single liar, or several that are fewer than the
//! others, remove nobody but themselves. The tie-break is no help to a half: it settles who goes on where both halves
//! are right.

use super::Playing;
use super::proof::Dispute;
use crate::log::{EXCLUSIONS, OnDesync};
use crate::session::Output;
use crate::session::core::Core;
use crate::session::roster::{Peers, Value};
use crate::{Desync, DesyncSide, Event, LogHash, TurnNumber};
use sim::Checksum;
use std::time::Duration;

/// After a change that has kept one of them, as not all knew of it, the next one begins so much later, and so on.
const AGAIN: Duration = Duration::from_secs(1);
/// After so many of these changes the match ends.
const KEPT: u32 = 8;

/// Those who are to go for that.
#[derive(Default)]
pub(super) struct Odd {
    peers: Peers,
    /// Changes that have kept one of them.
    kept: u32,
}

/// What reports that differ say.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A quorum reported the same, these something else.
    Minority(Peers),
    /// None has, and one may yet.
    Open,
    /// None can.
    Nobody,
}

impl Odd {
    pub(super) fn peers(&self) -> Peers {
        self.peers
    }
}

impl Playing {
    /// Whether the others go on without those who differ from a quorum.
    pub(super) fn removes_odd_ones(&self) -> bool {
        self.start.on_desync == OnDesync::RemoveMinority
    }

    /// What the voters among those who reported have to say, where those in `open` may still report.
    pub(super) fn verdict<T: PartialEq>(&self, told: &[(u8, T)], open: Peers) -> Verdict {
        let voters = self.epochs.voters();
        let told = || {
            let told = told.iter();
            told.filter(|(peer, _)| voters.members().contains(*peer))
        };
        let all: Peers = told().map(|(peer, _)| *peer).collect();
        let side = |of: &T| -> Peers {
            let alike = told().filter(|(_, other)| other == of);
            alike.map(|(peer, _)| *peer).collect()
        };
        let wins = |side: Peers, of: Peers| voters.is_quorum(side) && 2 * side.len() > of.len();
        let mut sides = told().map(|(_, of)| side(of));
        if let Some(side) = sides.clone().find(|side| wins(*side, all)) {
            return Verdict::Minority(all.without(side));
        }
        let open = open.and(voters.members());
        match sides.any(|side| wins(side.or(open), all.or(open))) {
            true => Verdict::Open,
            false => Verdict::Nobody,
        }
    }

    /// The voters who are to go for what they reported.
    pub(super) fn odd_voters(&self) -> Peers {
        self.odd.peers.and(self.epochs.voters().members())
    }

    /// Those of them to remove whom a change may begin now.
    pub(super) fn odd_and_due(&self, now: Duration) -> Peers {
        let waits = self.odd.kept > 0 && now < self.epochs.began_at + AGAIN * self.odd.kept;
        match waits {
            true => Peers::default(),
            false => self.odd_voters(),
        }
    }

    /// All of whom the reports at hand say that they are odd: the others may have come to that already.
    pub(super) fn evidently_odd(&self) -> Peers {
        let known = self.odd_voters();
        let pending = self.mismatch.as_ref().filter(|_| self.removes_odd_ones());
        let Some(turns) = pending.map(|mismatch| mismatch.turns) else {
            return known;
        };
        let told = self.checksums.row(turns);
        match self.verdict(&told, Peers::default()) {
            Verdict::Minority(odd) if self.are_alike(&told, turns) => {
                let me: Peers = std::iter::once(self.me as u8).collect();
                known.or(odd).without(me)
            }
            _ => known,
        }
    }

    /// Whether all who reported are known to have this log up to then.
    pub(super) fn are_alike(&self, told: &[(u8, Checksum)], turns: u32) -> bool {
        told.iter().all(|(peer, _)| match usize::from(*peer) {
            at if at == self.me => self.complete >= turns,
            at => self.members[at].alike >= turns,
        })
    }

    /// Names those who differ from a quorum that this peer belongs to: the others go on without them.
    pub(super) fn go_without(
        &mut self,
        core: &mut Core,
        odd: Peers,
        turn: u32,
        reports: Vec<DesyncSide>,
    ) {
        self.odd.peers = self.odd.peers.or(odd);
        let ids = odd.iter().map(|at| self.members[usize::from(at)].peer.peer);
        let odd_ids = ids.collect();
        // What they report from here on is known to be theirs alone.
        for at in odd.iter() {
            self.checksums.forget_from(usize::from(at), turn + 1);
            self.members[usize::from(at)].pending_hashes.clear();
        }
        self.mismatch = None;
        self.look_for_mismatch(core.now);
        core.out.push(Output::Save {
            turns: self.handed_out,
        });
        core.event(Event::Desync(Desync {
            turn: TurnNumber(turn),
            reports,
            odd: odd_ids,
            goes_on: true,
            report: None,
        }));
        self.agree(core);
    }

    /// A quorum says that these have another world, or log, and this peer may not have come to that yet.
    pub(super) fn others_go_without(&mut self, core: &mut Core, value: Value) {
        let news = value.odd.without(self.odd.peers);
        let disputed = self
            .dispute
            .take_if(|dispute| value.odd.contains(dispute.other()));
        let me = self.me as u8;
        let pending = self.mismatch.as_ref().map(|mismatch| mismatch.turns);
        let row = pending.map_or(Vec::new(), |turns| self.checksums.row(turns));
        let named = row.iter().any(|(peer, _)| news.contains(*peer));
        if value.odd.contains(me) {
            let own = (me, self.last_checksum);
            let told = if row.is_empty() { vec![own] } else { row };
            let turn = pending.unwrap_or(self.executed).saturating_sub(1);
            let sides = self.sides_of_worlds(told);
            self.desync(core, turn, sides);
        } else if let Some(turns) = pending.filter(|_| named) {
            self.log_mismatch(core, turns, &row);
            let sides = self.sides_of_worlds(row);
            self.go_without(core, news, turns.saturating_sub(1), sides);
        } else if let Some(dispute) = disputed.filter(|_| !news.is_empty()) {
            let (turns, sides) = self.sides_of_dispute(&dispute);
            self.go_without(core, news, turns.saturating_sub(1), sides);
        }
    }

    /// An epoch has begun, of which those who went for it, and those who did not, are known.
    pub(super) fn note_odd(&mut self, core: &mut Core, value: Value, goes: Peers) {
        for at in value.odd.iter() {
            let member = &mut self.members[usize::from(at)];
            member.desyncs = member.desyncs.saturating_add(1);
            member.disputed_since = None;
        }
        // What those reported who are gone is compared with nothing any more.
        if let Some(turns) = self.mismatch.take().map(|mismatch| mismatch.turns) {
            for at in goes.iter() {
                self.checksums.forget_from(usize::from(at), turns);
            }
            self.look_for_mismatch(core.now);
        }
        self.odd.peers = self.odd.peers.without(goes);
        match self.odd_voters().is_empty() {
            true => self.odd.kept = 0,
            false => self.odd.kept += 1,
        }
        if self.odd.kept > KEPT {
            // Nobody goes on beside somebody whose world is another.
            let told = self.odd_voters().iter();
            let told = told.map(|at| (at, self.last_checksum)).collect();
            let sides = self.sides_of_worlds(told);
            self.desync(core, value.cut.saturating_sub(1), sides);
        }
    }

    /// Whether a peer has strayed too often to come back.
    pub(super) fn is_barred(&self, at: usize) -> bool {
        let member = self.members.get(at);
        member.is_some_and(|member| member.desyncs >= EXCLUSIONS)
    }

    /// What peers attest of the log after so many turns is different, and nobody is proved to have cheated: whether the
    /// others can go on without those who attest another one than this peer and a quorum; `None` where it is not known
    /// yet.
    pub(super) fn settles_by_logs(
        &mut self,
        core: &mut Core,
        turns: u32,
        sides: Vec<DesyncSide>,
    ) -> Option<bool> {
        let voters = self.epochs.voters().members();
        let own = self.hashes.after(turns);
        let differs = |dispute: &Dispute| {
            voters.contains(dispute.other()) && own.is_some_and(|own| dispute.differs_from(own))
        };
        if !self.dispute.as_ref().is_some_and(differs) {
            self.dispute = None;
            return Some(true);
        }
        let dispute = self.dispute.as_ref();
        if dispute.is_some_and(|dispute| !self.was_in_reach(dispute, core.now)) {
            return None;
        }
        if !self.removes_odd_ones() {
            return Some(false);
        }
        let place = |side: &DesyncSide| self.place_of(side.peer).map(|at| at as u8);
        let told = sides.iter();
        let told: Vec<(u8, Option<LogHash>)> = told
            .filter_map(|side| Some((place(side)?, side.log_hash)))
            .collect();
        let known: Peers = told.iter().map(|(peer, _)| *peer).collect();
        match self.verdict(&told, voters.without(known)) {
            Verdict::Minority(odd) if !odd.contains(self.me as u8) => {
                // Nothing is left to find out, and turns must go on: a change that is decided may need some of them.
                self.dispute = None;
                self.go_without(core, odd, turns.saturating_sub(1), sides);
                Some(true)
            }
            Verdict::Open => None,
            Verdict::Minority(_) | Verdict::Nobody => Some(false),
        }
    }
}
