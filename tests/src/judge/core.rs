//! The core: calm peers that must go on from healing on, whatever those outside do.

use super::*;

/// A reopening takes so long after its host has waited for all.
const REOPENS: Duration = Duration::from_secs(15);

/// The peers of which progress is demanded, and what may hold them up.
#[derive(Default)]
pub struct Core {
    /// None before healing, or where there is none.
    pub members: Vec<usize>,
    /// When turns must advance, once it is picked.
    pub due: Option<Duration>,
    /// Each stay of a peer outside in the roster: from when the first core peer knows of it until none does, and whether a
    /// run of its process was heard then.
    pub(super) tenures: Vec<(usize, Duration, Duration, bool)>,
    /// When the first core peer logged each roster change.
    pub(super) changes: BTreeMap<usize, Duration>,
}

impl Judge {
    /// The faults of calm peers have ended for as long as changes take that were begun before: picks the core of the peers
    /// that run.
    pub fn pick_core(&mut self, running: &[usize]) {
        let scenario = &self.scenario;
        let roster = self.canonical().map_or(&[][..], |log| log.roster(u32::MAX));
        let mut members = roster.to_vec();
        members.retain(|peer| {
            let (notes, log) = (&self.peers[*peer].notes, &self.peers[*peer].log);
            let reopens = scenario.reopening.is_some() && notes.run > 0;
            running.contains(peer) && (reopens || !notes.is_out && log.start.is_some())
        });
        // A peer that was not heard until healing may be removed yet, where the others can decide that.
        let heard = |peer: &usize| {
            let notes = &self.peers[*peer].notes;
            !notes.crashed && notes.silent_until + SUSPICION + RECOVERY <= self.now
        };
        if is_quorum(roster, heard) {
            members.retain(heard);
        }
        let members = scenario.in_reach(members, roster.len());
        let is_core = 2 * members.len() > roster.len();
        let reopens = scenario.reopening.iter().map(|plan| plan.wait + REOPENS);
        self.core.due = Some(self.now + reopens.sum::<Duration>());
        self.core.members = if is_core { members } else { Vec::new() };
        self.note_tenures();
    }

    /// The newest rosters of core peers may be others than before.
    pub(super) fn note_tenures(&mut self) {
        for peer in 0..self.peers.len() {
            let votes = |core: &usize| self.peers[*core].log.roster(u32::MAX).contains(&peer);
            let stays = !self.is_core(peer) && self.core.members.iter().any(votes);
            let is_alive = !self.peers[peer].notes.crashed;
            let tenure = (peer, self.now, Duration::MAX, is_alive);
            let mut open = self.core.tenures.iter_mut();
            match open.find(|(of, _, to, _)| *of == peer && *to == Duration::MAX) {
                Some((_, _, to, _)) if !stays => *to = self.now,
                None if stays => self.core.tenures.push(tenure),
                _ => {}
            }
        }
    }
}

/// Whether these of all voters can decide: the first of them has the tie-break.
pub(super) fn is_quorum(voters: &[usize], votes: impl Fn(&usize) -> bool) -> bool {
    let first = voters.first().is_some_and(&votes);
    let votes = voters.iter().filter(|voter| votes(voter)).count();
    2 * votes + usize::from(first) > voters.len()
}
