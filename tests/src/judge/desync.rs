//! Worlds and logs that differ: every core peer finds out, the right peers are named, and a proof is in the log of all.

use super::*;
use lockstep::DesyncSide;

/// A match that goes on has removed a peer that differs after this time.
const SETTLED: Duration = Duration::from_secs(25);

impl Judge {
    /// A session has found that worlds or logs differ.
    pub(super) fn check_desync(&mut self, peer: usize, desync: &lockstep::Desync) {
        self.peers[peer].told_of_desync = true;
        let must = self.must(peer, Desync, desync);
        must(self.scenario.differs(), "finds that the same differs");
        let may_err = self.scenario.peers[peer].flaw.is_some();
        let voters = self.peers[peer].log.roster(u32::MAX);
        let proves = |other: usize| self.scenario.may_prove(peer, other, voters);
        let is_named = |other: &usize| desync.minority.contains(&self.ids[*other]);
        let mut minority = (0..self.peers.len()).filter(is_named);
        let just = minority.all(|other| !self.scenario.is_sound(other) || !proves(other));
        must(just || may_err, "names a peer whose world is sound");
        let stops = self.scenario.on_desync == OnDesync::Pause;
        must(!stops || !desync.goes_on, "goes on where it must stop");
        // The report names all peers that differ from more than half of the roster.
        let told = |side: &DesyncSide| (side.checksum, side.log_hash);
        for most in &desync.reports {
            let sides = desync.reports.iter();
            let (alike, minority): (Vec<_>, Vec<_>) =
                sides.partition(|side| told(side) == told(most));
            let named = minority
                .iter()
                .all(|side| desync.minority.contains(&side.peer));
            must(named || 2 * alike.len() <= voters.len(), "names too few");
        }
    }

    /// Every core peer has found a peer that differs in the roster, and stopped or went on without it. The log has
    /// every proof that a core peer was told of.
    pub(super) fn check_mismatches(&self, canonical: &Log) {
        let delay = self.scenario.delay();
        let due = self.core.due.unwrap_or_default();
        for (peer, plan) in self.scenario.peers.iter().enumerate() {
            let from = match (plan.flaw, plan.hostile) {
                (Some(turn), _) if self.peers[peer].executed.0 > turn => turn + 1,
                (_, Some(Hostile::LiesOfWorld(turns) | Hostile::LiesOfLog(turns))) => turns,
                _ => continue,
            };
            // A batch that is sealed after execution reports a turn. A world that catches up has sealed more turns.
            let told_by = from + 2 * delay + 1;
            let mut epochs = canonical.epochs.iter();
            let gone = epochs.find(|(_, roster)| !roster.contains(&peer));
            let stayed = gone.is_none_or(|(begins, _)| *begins > told_by);
            let changes = canonical.changes.iter();
            let mut minority = changes.flat_map(|change| change.value.minority.iter());
            let named = minority.any(|place| self.at(place) == peer);
            let due_to = stayed && canonical.len() > told_by + 2 * delay;
            for member in self.core.members.iter().filter(|_| due_to) {
                let file = &self.peers[*member];
                let stopped = matches!(&file.ended, Some(of) if of.reason == EndReason::Desync);
                // A match that goes on does so without that peer.
                let told = file.handed.iter().find(|(turn, _)| *turn >= told_by);
                let settled = told.map(|(_, at)| *at.max(&due) + SETTLED);
                let lasts = file.handed.last().map(|(_, at)| *at) > settled;
                let found = match self.scenario.on_desync {
                    OnDesync::Pause => file.told_of_desync && stopped,
                    _ => named || gone.is_some() || file.told_of_desync && !lasts,
                };
                self.must(*member, Desync, (peer, from))(found, "never found that a peer differs");
            }
        }
        let mut changes = canonical.changes.iter();
        let in_log = changes.any(|change| !change.value.cheats.is_empty());
        let over = canonical.len() >= self.scenario.turn_limit;
        for member in &self.core.members {
            let is_kept = !self.peers[*member].told_of_proof || in_log || over;
            self.must(*member, Blame, "a proof")(is_kept, "was told what is in no log");
        }
    }
}
