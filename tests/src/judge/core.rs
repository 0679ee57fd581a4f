//! The core: calm peers that must go on from healing on, whatever those outside do.

use super::*;

/// Time from healing until turns must advance.
pub const RECOVERY: Duration = Duration::from_secs(2);
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

impl Core {
    pub(super) fn has(&self, peer: usize) -> bool {
        self.members.contains(&peer)
    }
}

impl Judge {
    /// The faults of calm peers have ended for as long as changes take that were begun before: picks the core of the peers
    /// that run.
    pub fn pick_core(&mut self, running: &[usize]) {
        let scenario = &self.scenario;
        let honest = scenario.honest().map(|peer| &self.peers[peer]);
        let logs = honest.filter_map(|file| file.logs().next());
        let newest = logs.max_by_key(|log| (log.epochs.len(), log.len()));
        let roster = newest.map_or(&[][..], |log| log.roster(u32::MAX));
        let mut members = roster.to_vec();
        members.retain(|peer| {
            let (notes, log) = (&self.peers[*peer].notes, &self.peers[*peer].log);
            let reopens = scenario.reopening.is_some() && notes.run > 0;
            running.contains(peer) && (reopens || !notes.is_out && log.start.is_some())
        });
        // Two without a link hear of each other by way of a third one, but late of a peer outside.
        let linked = |one: &usize, other: &usize| !scenario.are_apart(*one, *other);
        loop {
            let is_whole = members.len() == roster.len();
            let apart = |one: &usize| {
                let by_way =
                    |to: &usize| members.iter().any(|by| linked(one, by) && linked(by, to));
                let late = |to: &&usize| !(linked(one, to) || is_whole && by_way(to));
                members.iter().filter(late).count()
            };
            match members.iter().copied().max_by_key(apart) {
                Some(most) if apart(&most) > 0 => members.retain(|one| *one != most),
                _ => break,
            }
        }
        let reopening = scenario.reopening.as_ref();
        let reopens = reopening.map_or(Duration::ZERO, |plan| plan.wait + REOPENS);
        self.core.due = Some(self.now + reopens);
        if 2 * members.len() > roster.len() {
            self.core.members = members;
        }
        self.note_tenures();
    }

    /// The newest rosters of core peers may be others than before.
    pub(super) fn note_tenures(&mut self) {
        for peer in 0..self.peers.len() {
            let votes = |core: &usize| self.peers[*core].log.roster(u32::MAX).contains(&peer);
            let stays = !self.core.has(peer) && self.core.members.iter().any(votes);
            let is_alive = !self.peers[peer].notes.crashed;
            let mut open = self.core.tenures.iter_mut();
            match open.find(|(of, _, to, _)| *of == peer && *to == Duration::MAX) {
                Some((_, _, to, _)) if !stays => *to = self.now,
                None if stays => {
                    let tenure = (peer, self.now, Duration::MAX, is_alive);
                    self.core.tenures.push(tenure);
                }
                _ => {}
            }
        }
    }
}
