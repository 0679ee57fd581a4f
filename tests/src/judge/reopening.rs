//! S1 to S3 and L1 of a match whose processes have all died: it goes on where a quorum's disks say, and soon.

use super::{Invariant, Judge};
use crate::simulator::Playable;
use lockstep::log::{Record, RosterChange};
use std::time::Duration;

/// What a process that died has left to the one that comes in its place.
pub(super) struct Disk {
    turns: u32,
    /// Where each epoch that has ended did.
    cuts: Vec<u32>,
}

impl Disk {
    fn of(log: &[Record]) -> Self {
        let mut disk = Disk {
            turns: 0,
            cuts: Vec::new(),
        };
        for record in log {
            match record {
                Record::Bundle(_) => disk.turns += 1,
                Record::Roster(change) => disk.cuts.push(change.value.cut),
                _ => {}
            }
        }
        disk
    }

    fn epoch(&self) -> u32 {
        self.cuts.len() as u32
    }
}

/// Once faults have ended and all who come have begun, they go on within this time after the host has waited: the
/// slowest dials a second time, asks the others first, fetches what it lacks, and signs.
const REOPENS: Duration = Duration::from_secs(15);

impl<W: Playable> Judge<W> {
    /// Another run of a process that had died begins, with this on its disk.
    pub fn begins_again(&mut self, peer: usize, log: &[Record]) {
        self.disks.insert(peer, Disk::of(log));
        self.begun_again_at = self.now;
        let file = &mut self.peers[peer];
        // Who stood still with too few others has left that run of its process.
        (file.left, file.left_at, file.ended) = (false, None, None);
        file.begin_anew(self.now);
    }

    /// Another run of a process says that those who play stand still: what it has followed counts as recorded.
    pub(super) fn has_followed(&mut self, peer: usize) {
        let followed = Disk::of(&self.peers[peer].kept().0);
        let far = |disk: &Disk| (disk.epoch(), disk.turns);
        if let Some(disk) = self
            .disks
            .get_mut(&peer)
            .filter(|disk| far(disk) < far(&followed))
        {
            *disk = followed;
        }
    }

    /// Whether a peer follows those who stand still, and perhaps turns that the others do not go on from. Should it be let
    /// in, its log is held against the others'.
    pub(super) fn may_stray(&self, peer: usize) -> bool {
        self.some_stand && self.peers[peer].follows()
    }

    /// A session goes on behind so many turns: players issue commands for turns after those, which it will log soon.
    pub(super) fn told_of_reopening(&mut self, turns: u32) {
        if self.reopened_after.is_none() {
            self.reopened_after = Some(turns);
            self.forget(turns as usize);
        }
    }

    /// A decision that reopens the match, of which nobody has told before. What is wrong with it, if anything.
    pub(super) fn check_reopening(&mut self, change: &RosterChange) -> Option<String> {
        let reopening = change.reopening.as_ref()?;
        let mut held = Vec::new();
        for run in &reopening.runs {
            let peer = self.peer_at(run.peer)?;
            let Some(disk) = self.disks.get(&peer) else {
                return Some(format!("peer {peer} goes on and has not come"));
            };
            held.push((run, disk));
        }
        let (_, newest) = held.iter().max_by_key(|(_, disk)| disk.epoch())?;
        if change.epoch != newest.epoch() {
            return Some(format!("the last epoch was {}", newest.epoch()));
        }
        let turns_of = |disk: &Disk| match newest.cuts.get(disk.epoch() as usize) {
            Some(cut) => disk.turns.min(*cut),
            None => disk.turns,
        };
        let before = self.roster_of(change.epoch);
        let is_quorum = |turns: u32| {
            let hold = held.iter().filter(|(_, disk)| turns_of(disk) >= turns);
            let hold: Vec<u8> = hold.map(|(run, _)| run.peer).collect();
            let votes = before.iter().filter(|place| hold.contains(place)).count();
            let first = before.first().is_some_and(|first| hold.contains(first));
            2 * votes > before.len() || 2 * votes == before.len() && first
        };
        let most = held.iter().map(|(_, disk)| turns_of(disk));
        let common = most.filter(|turns| is_quorum(*turns)).max().unwrap_or(0);
        let wanted = common.max(newest.cuts.last().copied().unwrap_or(0));
        let cut = change.value.cut;
        // Who follows may have more than its world has been handed.
        let known = self.peers.iter().map(|file| file.longest).max();
        let possible = match self.some_stand {
            true => wanted..=known.unwrap_or(wanted),
            false => wanted..=wanted,
        };
        if !possible.contains(&cut) || self.reopened_after != Some(cut) {
            return Some(format!("a quorum's disks hold {wanted} turns"));
        }
        let told_wrong = held.iter().find(|(run, disk)| {
            let has = turns_of(disk) >= cut;
            run.held != has && !(run.held && self.some_stand)
        });
        if let Some((run, disk)) = told_wrong {
            return Some(format!("{run:?} has {} turns on disk", disk.turns));
        }
        // Decisions that too few have kept are none of the history any more, nor are turns.
        self.changes.truncate(change.epoch as usize);
        self.changes.push(change.clone());
        self.reopened_at = Some(self.now);
        None
    }

    /// Whether the history holds this reopening.
    pub(super) fn is_known_reopening(&self, change: &RosterChange) -> bool {
        let known = self.changes.get(change.epoch as usize);
        known.is_some_and(|known| known == change)
    }

    /// All who came are in the match again, and it went on in time.
    pub(super) fn check_reopened(&mut self) {
        if self.disks.is_empty() {
            return;
        }
        let healed_at = self.healed_at.unwrap_or(self.now);
        let due = healed_at.max(self.begun_again_at) + self.waits_for_all + REOPENS;
        let Some(at) = self.reopened_at else {
            if self.now > due {
                let seen = "all died, and the match was not reopened".to_owned();
                self.fail(None, Invariant::Progress, seen);
            }
            return;
        };
        if at > due {
            let seen = format!("all died, and the match was reopened as late as {at:.1?}");
            self.fail(None, Invariant::Progress, seen);
        }
        let out = |peer: &&usize| {
            let file = &self.peers[**peer];
            file.back.is_none() && !file.died_again() && !file.left
        };
        if let Some(peer) = self.disks.keys().find(out).copied() {
            let seen = "came to where the match was reopened and is not in it".to_owned();
            self.fail(Some(peer), Invariant::Progress, seen);
        }
    }
}
