//! Worlds and logs that differ: every core peer finds out, and the right ones are named.

use super::{Invariant, Judge, Log};
use crate::simulator::{Hostile, Playable};
use lockstep::log::{OnDesync, Record};
use lockstep::{Desync, EndReason};
use std::time::Duration;

/// A peer that differs is out of the roster after so long, where the match goes on.
const SETTLED: Duration = Duration::from_secs(25);

impl<W: Playable> Judge<W> {
    /// A session has found that worlds or logs differ.
    pub(super) fn check_desync(&mut self, peer: usize, desync: &Desync) {
        let is_sound = |id: &lockstep::PeerId| {
            let at = self.peers.iter().position(|file| file.id == *id);
            at.is_some_and(|at| !self.is_hostile(at) && self.scenario.peers[at].flaw.is_none())
        };
        let own_flaw = self.scenario.peers[peer].flaw;
        let seen = if !self.differs() {
            "all worlds and logs are the same"
        } else if desync.odd.iter().any(is_sound) && own_flaw.is_none() {
            "names a peer whose world is sound"
        } else if desync.goes_on && self.scenario.on_desync == OnDesync::Pause {
            "goes on where it must stop"
        } else if !self.names_the_odd(peer, desync) {
            "does not name those that differ from more than half"
        } else {
            return;
        };
        self.fail(peer, Invariant::Desync, format!("{seen}: {desync:?}"));
    }

    /// Whether all are named that tell of another world or log than more than half of the roster.
    fn names_the_odd(&self, peer: usize, desync: &Desync) -> bool {
        let voters = self.peers[peer].log.roster().len();
        let reports = desync.reports.iter();
        let told = reports.map(|side| (side.peer, (side.checksum, side.log_hash)));
        let most = told.clone().find(|(_, one)| {
            let alike = told.clone().filter(|(_, other)| other == one);
            2 * alike.count() > voters
        });
        most.is_none_or(|(_, most)| {
            let mut odd = told.filter(|(_, other)| *other != most);
            odd.all(|(id, _)| desync.odd.contains(&id))
        })
    }

    /// Every core peer has found what differs while the peer at fault stayed in the roster, and each stopped or went on
    /// without it.
    pub(super) fn check_mismatches_found(&mut self, canonical: &Log) {
        let delay = u32::from(self.scenario.plan.delay_turns);
        let stops = self.scenario.on_desync == OnDesync::Pause;
        let due = self.core.as_ref().map_or(Duration::MAX, |core| core.due);
        for peer in 0..self.peers.len() {
            let plan = &self.scenario.peers[peer];
            let from = match (plan.flaw, plan.hostile) {
                (Some(turn), _) => turn + 1,
                (_, Some(Hostile::LiesOfWorld(turns) | Hostile::LiesOfLog(turns))) => turns,
                _ => continue,
            };
            // A report comes in a batch that is sealed once the world has executed the turn; a world that catches up has
            // sealed those of so many turns more.
            let told_by = from + 2 * delay + 1;
            let Some(place) = self.index_of(peer) else {
                return;
            };
            let gone = canonical
                .epochs
                .iter()
                .find(|epoch| !epoch.roster.contains(&place));
            let stayed = gone.is_none_or(|epoch| epoch.begins > told_by);
            let executed = self.peers[peer].executed >= from || plan.hostile.is_some();
            let came = canonical.turns() > told_by + 2 * delay;
            if !stayed || !came || !executed || self.core().is_empty() {
                continue;
            }
            let named = canonical.records.iter().any(|record| {
                matches!(record, Record::Roster(change) if change.value.odd.contains(place))
            });
            for member in self.core().to_vec() {
                let file = &self.peers[member];
                let stopped = file
                    .ended
                    .as_ref()
                    .is_some_and(|ended| ended.reason == EndReason::Desync);
                // Where a match goes on, it does so without that peer.
                let settled = file.handed.iter().find(|(turn, _)| *turn >= told_by);
                let settled = settled.map(|(_, at)| (*at).max(due) + SETTLED);
                let lasts = file.handed.last().map(|(_, at)| *at) > settled;
                let knows = match stops {
                    true => file.desync,
                    false => named || gone.is_some() || file.desync && !lasts,
                };
                if !knows || stops && !stopped {
                    let seen = format!(
                        "never found that the world of peer {peer} differs from turn {from} on"
                    );
                    return self.fail(member, Invariant::Desync, seen);
                }
            }
        }
        self.check_proofs(canonical);
    }

    /// A proof that one core peer was told is in the log of all.
    fn check_proofs(&mut self, canonical: &Log) {
        let told = self
            .told_of_proof
            .iter()
            .copied()
            .find(|peer| self.is_core(*peer));
        let in_log = canonical.records.iter().any(
            |record| matches!(record, Record::Roster(change) if !change.value.cheats.is_empty()),
        );
        let ended = canonical.turns() >= self.scenario.turn_limit;
        if let Some(peer) = told.filter(|_| !in_log && !ended) {
            self.fail(
                peer,
                Invariant::Blame,
                "knows of a proof that is in no log".to_owned(),
            );
        }
    }
}
