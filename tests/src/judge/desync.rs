//! Worlds and logs that differ: every core peer finds out, the right peers are named, and a proof is in the log of all.

use super::*;
use lockstep::DesyncSide;

/// The longest time between two messages of a link that carries them.
const LATELY: Duration = Duration::from_millis(500);

impl Judge {
    /// A session has found that worlds or logs differ. Returns the peers of sound worlds that it names with reason.
    pub(super) fn check_desync(&self, peer: usize, desync: &lockstep::Desync) -> Vec<usize> {
        let must = self.must(peer, Desync, desync);
        must(self.scenario.differs(), "finds that the same differs");
        let voters = self.peers[peer].log.roster(u32::MAX);
        let is_named = |other: &usize| desync.minority.contains(&self.ids[*other]);
        let named = (0..self.peers.len()).filter(is_named);
        let sound = named.filter(|other| self.scenario.is_sound(*other));
        let sound = Vec::from_iter(sound);
        // A peer that has ended may have had no time to prove anything.
        let may_prove = |other| self.may_prove(peer, other, voters);
        // Nor does a peer know better that others have named, itself or another one.
        let has_no_say =
            |other: usize| self.peers[other].ended.is_some() || self.named.contains(&other);
        let just = |other: &usize| has_no_say(*other) || !may_prove(*other);
        let just = sound.iter().all(just);
        // Hostile peers that are a quorum decide which worlds are right.
        let by_hostile = core::is_quorum(voters, |voter| self.scenario.is_hostile(*voter));
        must(just || by_hostile, "names a peer whose world is sound");
        let stops = self.scenario.on_desync == OnDesync::Pause;
        must(!stops || !desync.goes_on, "goes on where it must stop");
        // The report names all peers that differ from more than half of the roster, which its log may not have yet.
        let of = self.peers[peer].told_roster.max(voters.len());
        let told = |side: &DesyncSide| (side.checksum, side.log_hash);
        for most in &desync.reports {
            let alike = |side: &&DesyncSide| told(side) == told(most);
            let (alike, others): (Vec<_>, Vec<_>) = desync.reports.iter().partition(alike);
            let mut others = others.iter();
            let named = others.all(|side| desync.minority.contains(&side.peer));
            must(named || 2 * alike.len() <= of, "names too few");
        }
        sound
    }

    /// Whether a proof against a two-faced peer comes from one of two honest peers to the other. Where only such a peer
    /// links them, or cuts do not let them hear each other, it keeps that back.
    fn may_prove(&self, one: usize, other: usize, roster: &[usize]) -> bool {
        let heard_at = |by: usize, of| self.peers[by].notes.heard_at.get(&of);
        let lately = |at: &Duration| self.now <= *at + LATELY;
        let hears = |by, of| by == of || heard_at(by, of).is_some_and(lately);
        let links = |by| hears(one, by) && hears(by, other);
        let honest = |by: &&usize| !self.scenario.is_hostile(**by);
        let mut honest = roster.iter().filter(honest);
        !self.scenario.has_two_faced() || honest.any(|by| links(*by))
    }

    /// Every core peer has found a peer that differs in the roster, and stopped or went on without it. The log has
    /// every proof that a core peer was told of, unless a mismatch stopped the match.
    pub(super) fn check_mismatches(&self, canonical: &Log) {
        let delay = self.scenario.delay();
        for (peer, plan) in self.scenario.peers.iter().enumerate() {
            // A batch tells of each world, and of the newest log alone.
            let (from, to) = match (plan.flaw, plan.hostile) {
                (Some(turn), _) if self.peers[peer].executed.0 > turn => (turn + 1, turn + 1),
                (_, Some(Hostile::LiesOfWorld(turns))) => (turns, turns),
                (_, Some(Hostile::LiesOfLog(turns))) => (turns, turns + 2 * delay),
                _ => continue,
            };
            // What differs with two such peers may be later.
            let is_only =
                (0..self.peers.len()).all(|of| of == peer || !self.scenario.may_differ(of));
            // A batch that is sealed after execution reports a turn. A world that catches up has sealed more turns.
            let told_by = from + 2 * delay + 1;
            let gone = canonical.epochs.iter().find(|(_, of)| !of.contains(&peer));
            let stayed = gone.is_none_or(|(begins, _)| *begins > told_by);
            let may_go_on = self.scenario.on_desync != OnDesync::Pause && gone.is_some();
            let due_to = stayed && canonical.len() > told_by + 2 * delay;
            for member in &self.core.members {
                let file = &self.peers[*member];
                // A match that goes on does so without that peer.
                let found = may_go_on || file.told_of_desync.is_some() && file.stopped();
                let must = self.must(*member, Desync, (peer, from, file.told_of_desync));
                must(found || !due_to, "never found that a peer differs");
                // A run that began later knows of later turns only.
                let named = file.told_of_desync.map(|turn| turn + 1);
                let right = named.is_none_or(|turns| (from..=to).contains(&turns));
                let is_whole = is_only && file.notes.run == 0;
                must(right || !is_whole, "names another turn");
            }
        }
        let has_proof = |of: &RosterChange| !of.value.cheats.is_empty();
        let in_log = canonical.changes.iter().any(has_proof);
        let over = canonical.len() >= self.scenario.turn_limit;
        for member in &self.core.members {
            let file = &self.peers[*member];
            let is_kept = !file.told_of_proof || in_log || over || file.stopped();
            self.must(*member, Blame, "a proof")(is_kept, "was told what is in no log");
        }
    }
}
