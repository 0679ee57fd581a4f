//! The core: calm peers that must go on from healing on, whatever those outside do.

use super::Judge;
use crate::simulator::{Fault, Playable, SUSPICION};
use std::time::Duration;

/// The peers of which progress is demanded, and when it was.
pub(super) struct Core {
    pub members: Vec<usize>,
    /// Calm peers that were on their way back into the match.
    pub joiners: Vec<usize>,
    /// When turns must advance.
    pub due: Duration,
    /// Each stay of a peer outside in the roster.
    pub tenures: Vec<Tenure>,
    /// When a core peer logged a roster change.
    pub changes: Vec<Duration>,
}

/// A stay of a peer outside in the roster, as core peers know of it.
pub(super) struct Tenure {
    pub peer: usize,
    pub from: Duration,
    /// When the last core peer began an epoch without it.
    pub to: Option<Duration>,
    /// Whether a run of its process was heard in that time.
    pub was_alive: bool,
}

impl<W: Playable> Judge<W> {
    /// The faults of calm peers have ended for as long as changes take that were begun before: picks the core.
    pub fn healed(&mut self) {
        let newest = (0..self.peers.len()).filter(|peer| !self.is_hostile(*peer));
        let newest = newest.max_by_key(|peer| {
            let mut logs = self.logs_of(*peer);
            logs.next().map(|log| (log.epochs.len(), log.turns()))
        });
        let Some(log) = newest.and_then(|peer| self.logs_of(peer).next()) else {
            return;
        };
        let roster: Vec<usize> = log
            .roster()
            .iter()
            .filter_map(|place| self.peer_at(*place))
            .collect();
        let reopens = self.scenario.reopening.is_some();
        let is_calm = |peer: &usize| self.scenario.is_calm(*peer) && self.peers[*peer].runs();
        let plays = |peer: &usize| {
            let file = &self.peers[*peer];
            let in_time = file.is_in && file.started && file.run == 0 || file.is_in && file.run > 0;
            roster.contains(peer) && is_calm(peer) && (in_time || reopens && file.run > 0)
        };
        let mut candidates: Vec<usize> = (0..self.peers.len()).filter(plays).collect();
        // Of an even number the half with the first of them can decide.
        let heard = roster.iter().filter(|peer| !self.was_silent(**peer));
        let votes = 2 * heard.clone().count() + usize::from(heard.min() == roster.iter().min());
        if votes > roster.len() {
            candidates.retain(|peer| !self.was_silent(*peer));
        }
        let (mut members, links) = self.connected(&candidates);
        // A peer outside may be late with all, and the later with a peer that hears of it by way of another.
        while roster.iter().any(|peer| !members.contains(peer)) {
            let apart = |one: &usize| {
                let others = members.iter();
                others
                    .filter(|other| self.scenario.are_apart(*one, **other))
                    .count()
            };
            let Some(most) = members.iter().copied().max_by_key(apart) else {
                break;
            };
            if apart(&most) == 0 {
                break;
            }
            members.retain(|member| *member != most);
        }
        let is_quorum = 2 * members.len() > roster.len();
        let outside = roster.iter().filter(|peer| !members.contains(peer));
        let tenures = outside.map(|peer| Tenure {
            peer: *peer,
            from: self.now,
            to: None,
            was_alive: self.peers[*peer].crashed.is_none(),
        });
        let joins = |peer: &usize| {
            let file = &self.peers[*peer];
            let linked = members
                .iter()
                .all(|member| !self.scenario.are_apart(*peer, *member));
            is_calm(peer) && file.run == 1 && !file.is_in && linked && !members.contains(peer)
        };
        let wait = self
            .scenario
            .reopening
            .as_ref()
            .map_or(Duration::ZERO, |reopening| reopening.wait + REOPENS);
        let core = Core {
            joiners: (0..self.peers.len()).filter(joins).collect(),
            due: self.now + RECOVERY * links.saturating_sub(2) + wait,
            tenures: tenures.collect(),
            changes: Vec::new(),
            members: if is_quorum { members } else { Vec::new() },
        };
        self.core = Some(core);
    }

    /// Whether a peer was cut off or frozen for so long, until just before healing, that a quorum may remove it yet.
    fn was_silent(&self, peer: usize) -> bool {
        let plan = &self.scenario.peers[peer];
        plan.faults.iter().any(|(at, fault)| match fault {
            Fault::Freeze(lasts) | Fault::Cut { lasts, .. } => {
                *lasts >= SUSPICION && *at + *lasts + SUSPICION > self.scenario.heal_at
            }
            _ => false,
        })
    }

    /// Whether faults of calm peers have ended.
    pub fn is_healed(&self) -> bool {
        self.core.is_some()
    }

    /// The peers of the core; none before healing, or where there is none.
    pub fn core(&self) -> &[usize] {
        self.core.as_ref().map_or(&[], |core| &core.members)
    }

    pub(super) fn is_core(&self, peer: usize) -> bool {
        self.core().contains(&peer)
    }

    /// Whether all of the core have ended: nothing more is demanded of the run.
    pub fn core_has_ended(&self) -> bool {
        let core = self.core();
        !core.is_empty() && core.iter().all(|peer| self.peers[*peer].ended.is_some())
    }

    /// The logs of a peer that have a start, the newest first.
    fn logs_of(&self, peer: usize) -> impl Iterator<Item = &super::Log> {
        let file = &self.peers[peer];
        let logs = std::iter::once(&file.log).chain(file.past.iter().rev());
        logs.filter(|log| log.start.is_some())
    }

    /// The most of these peers that can reach each other by way of each other, and the links that takes at most.
    fn connected(&self, peers: &[usize]) -> (Vec<usize>, u32) {
        let reached_from = |first: &usize| {
            let (mut reached, mut links) = (vec![*first], 0);
            loop {
                let linked = |peer: &&usize| {
                    let mut pairs = reached.iter().map(|one| (one, *peer));
                    pairs.any(|(one, other)| one != other && !self.scenario.are_apart(*one, *other))
                };
                let new = peers.iter().filter(|peer| !reached.contains(peer));
                let new: Vec<usize> = new.filter(linked).copied().collect();
                if new.is_empty() {
                    return (reached, links);
                }
                reached.extend(new);
                links += 1;
            }
        };
        let parts = peers.iter().map(reached_from);
        parts
            .max_by_key(|(part, links)| (part.len(), *links))
            .unwrap_or_default()
    }

    /// A peer has logged a roster change: whether a core peer has come to another epoch.
    pub(super) fn note_epoch(&mut self, peer: usize) {
        let places = self.peers[peer].log.roster().to_vec();
        let roster: Vec<usize> = places
            .iter()
            .filter_map(|place| self.peer_at(*place))
            .collect();
        let (now, peers) = (self.now, &self.peers);
        let Some(core) = self
            .core
            .as_mut()
            .filter(|core| core.members.contains(&peer))
        else {
            return;
        };
        core.changes.push(now);
        let members = core.members.iter();
        let logs = members.map(|member| &peers[*member].log);
        let last = logs.map(|log| log.epochs.len()).min() == Some(peers[peer].log.epochs.len());
        for tenure in core
            .tenures
            .iter_mut()
            .filter(|tenure| last && tenure.to.is_none())
        {
            tenure.to = (!roster.contains(&tenure.peer)).then_some(now);
        }
        for outsider in roster.iter().filter(|peer| !core.members.contains(peer)) {
            let mut open = core.tenures.iter().filter(|tenure| tenure.to.is_none());
            if !open.any(|tenure| tenure.peer == *outsider) {
                core.tenures.push(Tenure {
                    peer: *outsider,
                    from: now,
                    to: None,
                    was_alive: true,
                });
            }
        }
    }
}

/// Time from healing until turns must advance.
pub const RECOVERY: Duration = Duration::from_secs(2);
/// A reopening takes so long after its host has waited for all.
const REOPENS: Duration = Duration::from_secs(15);
