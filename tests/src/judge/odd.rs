//! Worlds that differ: who is named for it, who goes, and that the others go on.

use super::{Invariant, Judge};
use crate::simulator::{Lie, Playable};
use lockstep::log::RosterChange;
use lockstep::{Desync, DesyncSide, EndReason};
use std::time::Duration;

/// Who lies is gone so long after: by then logs have been shown in vain, a change has been lost to the weather and begun
/// again, and the report has come through that.
const REMOVED_WITHIN: Duration = Duration::from_secs(12);

impl<W: Playable> Judge<W> {
    /// A session has found that worlds differ.
    pub(super) fn check_desync(&mut self, peer: usize, desync: &Desync) {
        if let Some(lie) = self.lied_of.filter(|_| self.hostile != Some(peer)) {
            let liar = self.hostile.map(|hostile| self.peers[hostile].id);
            let of = desync.turn.next().0;
            let founded = match lie {
                Lie::World(turns) => of == turns,
                // It says something about its log only in some turns: with a roster change several end at once.
                Lie::Log(turns) => {
                    let after = |change: &&RosterChange| change.value.cut > turns;
                    let batches = 1 + self.changes.iter().filter(after).count() as u32;
                    (turns..=turns + 2 * self.command_delay * batches).contains(&of)
                }
            };
            let named = desync.odd == liar.into_iter().collect::<Vec<_>>();
            // Where the match ends by it, it may do so before more than half have told what they have.
            let told = desync.reports.iter();
            let sound = told.filter(|side| Some(side.peer) != liar).count();
            let few = 2 * sound <= self.newest_roster().len();
            let unnamed = few && desync.odd.is_empty() && !self.goes_on;
            if !founded || !(named || unnamed) || desync.goes_on != self.goes_on {
                let seen = format!("somebody lied, {lie:?}: {desync:?}");
                self.fail(Some(peer), Invariant::Desync, seen);
            }
        }
        if self.hostile != Some(peer) && self.peers[peer].desync.is_some() {
            let seen = format!("told of a desync again: {desync:?}");
            self.fail(Some(peer), Invariant::Desync, seen);
        }
        if self.hostile.is_some() {
            return;
        }
        let (flawed, turn) = self.flaw.unzip();
        // Who is told by the others that it has another world may not know from when on.
        let told = flawed == Some(peer) && turn < Some(desync.turn.0);
        if turn != Some(desync.turn.0) && !told {
            let seen = format!("desync of turn {}, planted: {turn:?}", desync.turn);
            self.fail(Some(peer), Invariant::Desync, seen);
        }
        // Of two nobody knows who is right.
        let may_go_on = self.goes_on && flawed != Some(peer);
        let goes_on = may_go_on && self.newest_roster().len() > 2;
        if desync.goes_on && !may_go_on || goes_on && !desync.goes_on {
            let seen = format!("goes on: {}, in {:?}", desync.goes_on, self.newest_roster());
            self.fail(Some(peer), Invariant::Desync, seen);
        }
        self.check_named(peer, desync);
    }

    /// Of the reports alone: who has strayed is named where more than half of all report another world, and nobody else
    /// is; and no peers go on that are not more than those who differ.
    fn check_named(&mut self, peer: usize, desync: &Desync) {
        let flawed = self.flaw.map(|(flawed, _)| self.peers[flawed].id);
        let of_flawed = |told: &&DesyncSide| Some(told.peer) == flawed;
        let strayed = desync.reports.iter().filter(of_flawed).count();
        let sound = desync.reports.len() - strayed;
        let known = strayed > 0 && 2 * sound > self.peers.len();
        let wrong = desync.odd.iter().any(|odd| Some(*odd) != flawed);
        if wrong || known && desync.odd.is_empty() || desync.goes_on && sound <= strayed {
            let seen = format!("peer {flawed:?} has strayed: {desync:?}");
            self.fail(Some(peer), Invariant::Desync, seen);
        }
    }

    /// Nobody goes for its world whose world is sound, and who says so.
    pub(super) fn check_odd(&mut self, peer: usize, change: &RosterChange) {
        for place in change.value.odd.iter() {
            let odd = self.peer_at(place);
            let flawed = self.flaw.map(|(flawed, _)| flawed);
            if odd.is_none() || odd != self.hostile && odd != flawed || !self.goes_on {
                let seen = format!("peer {odd:?} goes for its world, which is sound: {change:?}");
                self.fail(Some(peer), Invariant::Desync, seen);
            }
        }
    }

    /// Whether a peer has heard that worlds differ.
    pub(super) fn knows_of_desync(&self, peer: usize) -> bool {
        let file = &self.peers[peer];
        file.desync.is_some() || file.went_on
    }

    /// Every honest peer has found that one tells of another world, and they have played on without it.
    pub(super) fn check_liar(&mut self) {
        let (Some(lie), Some(liar)) = (self.lied_of, self.hostile) else {
            return;
        };
        let (Lie::World(turns) | Lie::Log(turns)) = lie;
        // Who went for another reason before it could tell.
        let removed_for_it = self.changes.iter().any(|change| {
            let mut odd = change.value.odd.iter();
            odd.any(|place| self.peer_at(place) == Some(liar))
        });
        let went = !removed_for_it && self.is_out(liar, turns + 2 * self.command_delay + 1);
        // Or the match ended before.
        let came = self.history.len() as u32 > turns;
        if self.start.is_none() || went || !came {
            return;
        }
        // All who begin an epoch have one log: who had not judged it by then does so no more, and only finds it gone.
        let kept = self.changes.iter().any(|change| {
            let mut stay = change.value.roster.iter();
            change.value.cut > turns && stay.any(|place| self.peer_at(place) == Some(liar))
        });
        let by_log = matches!(lie, Lie::Log(_));
        let goes_unnamed = by_log && kept && !removed_for_it && self.is_gone(liar);
        let honest = (0..self.peers.len()).filter(|peer| *peer != liar);
        let is_out = |peer: &usize| self.is_gone(*peer) || self.was_removed_unlogged(*peer);
        for peer in honest.filter(|peer| !is_out(peer)) {
            let file = &self.peers[peer];
            let seen = match &file.ended {
                _ if file.is_dead() => continue,
                // Whom no link leads to the liar waits longer than the others to judge it, and may find it gone.
                _ if self.is_gone(liar) && self.are_unlinked(peer, liar) => continue,
                _ if goes_unnamed => continue,
                // Who comes back finds it in the log.
                _ if !self.knows_of_desync(peer) && file.returned.is_none() => {
                    "never heard of the other world".to_owned()
                }
                Some((_, ended)) if self.goes_on && ended.reason != EndReason::TurnLimit => {
                    format!("ended as {:?}, for a lie of another", ended.reason)
                }
                _ => continue,
            };
            self.fail(Some(peer), Invariant::Desync, seen);
            return;
        }
        let told = self.time_before(turns + 1);
        let due = told + REMOVED_WITHIN < self.time_before(self.turn_limit);
        if self.goes_on && due && !self.is_gone(liar) {
            let seen = "the others never went on without who lied".to_owned();
            self.fail(None, Invariant::Desync, seen);
        }
    }
}
