//! S1 and S2 of roster changes: one decision for each epoch, by a quorum, and who is out is not far ahead.

use super::{Invariant, Judge, Notes};
use crate::simulator::Playable;
use lockstep::log::{Bundle, RosterChange};
use std::time::Duration;

/// For so long a peer may block turns although it is heard.
const STALL_BUDGET: Duration = Duration::from_secs(10);

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

    /// More than half of the roster before accepted, or half of it with its first peer.
    fn has_quorum(&self, change: &RosterChange) -> bool {
        let before = self.roster_of(change.epoch);
        let accepts: Vec<u8> = change.accepts.iter().map(|(peer, _)| *peer).collect();
        let votes = before.iter().filter(|peer| accepts.contains(peer)).count();
        let first = before.first().is_some_and(|first| accepts.contains(first));
        2 * votes > before.len() || 2 * votes == before.len() && first
    }

    /// The places of the roster of an epoch.
    fn roster_of(&self, epoch: u32) -> Vec<u8> {
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
        for place in self.roster_of(change.epoch) {
            let peer = self.peer_at(place)?;
            let file = &self.peers[peer];
            let stays = change.value.roster.contains(place);
            if stays && file.appended > change.value.cut {
                return Some(format!("peer {peer} stays and has {} turns", file.appended));
            }
            let founded = file.left || file.crashed.is_some() || self.cut || file.ended.is_some();
            // Who is heard goes only for blocking turns, and turns were late for as long as that takes.
            let blocked = self.is_late_by(STALL_BUDGET, change.value.cut);
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

    /// Turns after the cut that only those had who are out are none of the history.
    fn forget_from(&mut self, cut: usize) {
        if cut >= self.history.len() {
            return;
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
        for turn in gone {
            let mut by = turn.by.iter();
            if let Some(peer) = by.find(|peer| !self.is_out(**peer, cut as u32)) {
                let seen = format!("turn {} is beyond the cut", turn.bundle.turn);
                return self.fail(Some(*peer), Invariant::Agreement, seen);
            }
        }
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
        let start = self.start.as_ref()?;
        let id = self.peers[peer].id;
        let place = start.roster.iter().position(|place| place.peer == id)? as u8;
        let mut changes = self.changes.iter();
        let change = changes.find(|change| !change.value.roster.contains(place))?;
        Some(change.value.cut)
    }

    /// Whether a peer has no part in a turn.
    pub(super) fn is_out(&self, peer: usize, turn: u32) -> bool {
        self.cut_of(peer).is_some_and(|cut| turn >= cut)
    }

    /// Whether a peer is out.
    pub(super) fn is_gone(&self, peer: usize) -> bool {
        self.cut_of(peer).is_some()
    }

    fn peer_at(&self, place: u8) -> Option<usize> {
        let id = self.start.as_ref()?.roster.get(usize::from(place))?.peer;
        self.peers.iter().position(|file| file.id == id)
    }
}
