//! S1 and S2 of roster changes: one decision for each epoch, by a quorum, and who is out is not far ahead.

use super::{Invariant, Judge, Notes, Turn};
use crate::simulator::Playable;
use lockstep::log::{Bundle, RosterChange};
use std::time::Duration;

/// For so long a peer may block turns although it is heard.
pub(super) const STALL_BUDGET: Duration = Duration::from_secs(10);

impl<W: Playable> Judge<W> {
    /// A peer's log says that an epoch ended.
    pub(super) fn check_change(&mut self, peer: usize, change: &RosterChange) {
        if self.forged {
            return;
        }
        let seen = if change.value.cut != self.peers[peer].appended {
            Some(format!("logged after {} turns", self.peers[peer].appended))
        } else if !self.has_quorum(change) {
            Some("decided by no quorum of the roster before".to_owned())
        } else if change.reopening.is_some() {
            match self.is_known_reopening(change) {
                true => None,
                false => self.check_reopening(change),
            }
        } else if (change.epoch as usize) < self.changes.len() {
            let differs = !self.is_same_change(change);
            differs.then(|| "decided otherwise elsewhere".to_owned())
        } else {
            let seen = self.unfounded(change);
            self.changes.push(change.clone());
            self.forget_from(change.value.cut as usize);
            seen
        };
        if let Some(seen) = seen {
            let seen = format!("{change:?}: {seen}");
            self.fail(Some(peer), Invariant::Agreement, seen);
        }
    }

    /// The peers of the newest roster that is agreed, in the order of their seats.
    pub(super) fn newest_roster(&self) -> Vec<usize> {
        let roster = self.roster_of(self.changes.len() as u32);
        let peers = roster.into_iter().filter_map(|place| self.peer_at(place));
        peers.collect()
    }

    /// More than half of the roster before accepted, or half of it with its first peer.
    fn has_quorum(&self, change: &RosterChange) -> bool {
        let before = self.roster_of(change.epoch);
        let accepts: Vec<u8> = change.accepts.iter().map(|(peer, _)| *peer).collect();
        let votes = before.iter().filter(|peer| accepts.contains(peer)).count();
        let first = before.first().is_some_and(|first| accepts.contains(first));
        2 * votes > before.len() || 2 * votes == before.len() && first
    }

    /// The places of the roster of an epoch.
    pub(super) fn roster_of(&self, epoch: u32) -> Vec<u8> {
        match epoch.checked_sub(1) {
            None => (0..self.peers.len() as u8).collect(),
            Some(before) => {
                let change = self.changes.get(before as usize);
                change.map_or(Vec::new(), |change| change.value.roster.iter().collect())
            }
        }
    }

    /// Who goes for no reason, or too far ahead; who stays although its turns reach beyond the cut.
    fn unfounded(&self, change: &RosterChange) -> Option<String> {
        let before = self.roster_of(change.epoch);
        for place in change
            .value
            .roster
            .iter()
            .filter(|place| !before.contains(place))
        {
            let peer = self.peer_at(place)?;
            let named = change.value.joins.is_some_and(|joins| joins.peer == place);
            if !named || self.peers[peer].returned.is_none() {
                return Some(format!("peer {peer} comes back for no reason"));
            }
        }
        for place in self.roster_of(change.epoch) {
            let peer = self.peer_at(place)?;
            let file = &self.peers[peer];
            let stays = change.value.roster.contains(place);
            if stays && file.appended > change.value.cut {
                return Some(format!("peer {peer} stays and has {} turns", file.appended));
            }
            // Where the host stands still, some may have no way to others.
            let parted = !self.unreachable.is_empty() && self.peers[0].froze;
            // Of two, each is lost to the other where one has another address.
            let moved = |at: &usize| self.peers[*at].moved_at.is_some();
            let parted = parted || before.len() == 2 && self.newest_roster().iter().any(moved);
            let lost = file.crashed.is_some()
                || file.froze
                || file.moved_at.is_some()
                || !self.cuts.is_empty()
                || parted;
            let founded = file.left || lost || file.ended.is_some();
            // Whether its world is sound is looked at on its own.
            let founded = founded || change.value.odd.contains(place);
            // Whoever coordinates may have seen that one strays before a quorum has: it goes, and is not called odd. It
            // may not have heard of that itself.
            let is_told = self.peers.iter().any(|file| file.desync.is_some());
            let strays = self.goes_on
                && self.flaw.is_some_and(|(flawed, turn)| {
                    flawed == peer && is_told && change.value.cut > turn
                });
            let founded = founded || strays;
            // Who is heard goes only for blocking turns, and turns were late for as long as that takes.
            let blocked = self.is_late_by(STALL_BUDGET, change.value.cut);
            let founded = founded || self.has_cost_too_much(peer, change.value.cut);
            if !stays && !founded && !blocked && self.hostile.is_none() {
                return Some(format!("peer {peer} is removed for no reason"));
            }
            let most = change.value.cut + self.command_delay;
            if !stays && file.appended > most && self.hostile != Some(peer) {
                return Some(format!("peer {peer} goes and has {} turns", file.appended));
            }
        }
        None
    }

    /// Whether the match, for whoever was told first that it began, is so far behind its plan before a turn.
    fn is_late_by(&self, budget: Duration, turn: u32) -> bool {
        let began = self.peers.iter().filter_map(|file| file.started_at).min();
        began.is_some_and(|began| self.now >= began + self.time_before(turn) + budget)
    }

    /// Turns after the cut that only those had who are out are none of the history; nor are those that only an earlier
    /// run of a process had.
    fn forget_from(&mut self, cut: usize) {
        for turn in self.forget(cut) {
            let mut by = turn.by.iter();
            let of_another_run = |peer: usize| {
                let file = &self.peers[peer];
                let before = !file.was_in() && file.appended <= turn.bundle.turn.0;
                self.is_out(peer, cut as u32) && before
            };
            let stays = |peer: usize| !self.is_outside(peer, cut as u32) && !of_another_run(peer);
            if let Some(peer) = by.find(|peer| stays(**peer)) {
                let seen = format!("turn {} is beyond the cut", turn.bundle.turn);
                return self.fail(Some(*peer), Invariant::Agreement, seen);
            }
        }
    }

    /// Takes the turns from `cut` on out of the history.
    pub(super) fn forget(&mut self, cut: usize) -> Vec<Turn> {
        if cut >= self.history.len() {
            return Vec::new();
        }
        let gone = self.history.split_off(cut);
        let Notes {
            agreed,
            paused,
            said,
        } = gone[0].before.clone();
        (self.agreed, self.paused) = (agreed, paused);
        for (file, said) in self.peers.iter_mut().zip(said) {
            file.agreed = said;
        }
        gone
    }

    /// A turn of a peer that is out and has not heard of it yet.
    pub(super) fn check_tail(&mut self, peer: usize, bundle: &Bundle) {
        let cut = self.cut_of(peer).unwrap_or(0);
        if bundle.turn.0 >= cut + self.command_delay {
            let seen = format!("turn {} though it is out from turn {cut} on", bundle.turn);
            self.fail(Some(peer), Invariant::Agreement, seen);
        }
    }

    /// What the history holds so far.
    pub(super) fn notes(&self) -> Notes {
        Notes {
            agreed: self.agreed.clone(),
            paused: self.paused,
            said: self.peers.iter().map(|file| file.agreed).collect(),
        }
    }

    /// Whether the history holds this decision; others' accepts may have decided it.
    pub(super) fn is_same_change(&self, change: &RosterChange) -> bool {
        let known = self.changes.get(change.epoch as usize);
        known.is_some_and(|known| known.value == change.value)
    }

    /// The first turn that a peer has no part in, if there is one.
    pub(super) fn cut_of(&self, peer: usize) -> Option<u32> {
        let place = self.place_of(peer)?;
        // The last time that it went, unless it came back.
        let stays = |change: &&RosterChange| !change.value.roster.contains(place);
        let change = self.changes.iter().rev().take_while(stays).last()?;
        Some(change.value.cut)
    }

    /// Whether a peer has no part in a turn.
    pub(super) fn is_out(&self, peer: usize, turn: u32) -> bool {
        let Some(place) = self.place_of(peer) else {
            return false;
        };
        let before = self.changes.iter().rev();
        let mut in_force = before.skip_while(|change| change.value.cut > turn);
        in_force
            .next()
            .is_some_and(|change| !change.value.roster.contains(place))
    }

    /// Whether a peer has no part in a turn, or had none in an earlier one: the world is told when it next steps.
    pub(super) fn was_out(&self, peer: usize, turn: u32) -> bool {
        let Some(place) = self.place_of(peer) else {
            return false;
        };
        let mut until = self
            .changes
            .iter()
            .filter(|change| change.value.cut <= turn);
        until.any(|change| !change.value.roster.contains(place))
    }

    /// Whether what a peer has of a turn is its own affair: it is out, and has not begun anew since.
    pub(super) fn is_outside(&self, peer: usize, turn: u32) -> bool {
        self.peers[peer].was_in() && self.is_out(peer, turn)
    }

    fn place_of(&self, peer: usize) -> Option<u8> {
        let start = self.start.as_ref()?;
        let id = self.peers[peer].id;
        let place = start.roster.iter().position(|place| place.peer == id)?;
        Some(place as u8)
    }

    /// Whether a peer is out.
    pub fn is_gone(&self, peer: usize) -> bool {
        self.cut_of(peer).is_some()
    }

    /// Whether a peer is all that is left of the roster.
    pub(super) fn is_alone(&self, peer: usize) -> bool {
        if self.forged {
            // Changes are not looked at: what it was told must do.
            let mut others = (0..self.peers.len()).filter(|other| *other != peer);
            return others.all(|other| self.told_gone(other).contains(&peer));
        }
        let roster = self.roster_of(self.changes.len() as u32);
        roster.len() == 1 && self.peer_at(roster[0]) == Some(peer)
    }

    /// Whether a peer is the first of two, and the other one died: it is a quorum by itself, and may have decided so. Or
    /// it is one of two, and the other one has left: what they have decided says that it is alone.
    pub(super) fn outlived_the_other(&self, peer: usize) -> bool {
        match self.newest_roster()[..] {
            [first, other] if first == peer && self.peers[other].crashed.is_some() => true,
            [one, other] if one == peer => self.peers[other].left,
            [other, one] if one == peer => self.peers[other].left,
            _ => false,
        }
    }

    pub(super) fn peer_at(&self, place: u8) -> Option<usize> {
        let id = self.start.as_ref()?.roster.get(usize::from(place))?.peer;
        self.peers.iter().position(|file| file.id == id)
    }
}
