//! The core: calm peers that must make progress after healing, whatever peers outside do.

use super::*;

/// The longest time that a reopening takes after its host has waited.
const REOPENS: Duration = Duration::from_secs(15);

/// The time for which a peer may have held another one up before healing. Peers outside cost it the rest of its stall
/// budget.
const HELD_UP: Duration = Duration::from_millis(7_500);

/// The peers of which progress is demanded, and what may hold them up.
#[derive(Default)]
pub struct Core {
    /// Empty before healing, and where no core exists.
    pub members: Vec<usize>,
    /// The time from which turns must advance. `None` before healing.
    pub due: Option<Duration>,
    /// The stays of outside peers in rosters of core peers: peer, begin, end, and until when its process was alive.
    pub(super) tenures: Vec<(usize, Duration, Duration, Duration)>,
    /// The time at which the first core peer logged each roster change.
    pub(super) changes: BTreeMap<usize, Duration>,
}

impl Judge {
    /// Picks the core of the running peers, which have accepted these changes last. The faults of calm peers ended before,
    /// and changes begun in them are over.
    pub fn pick_core(&mut self, running: &[usize], accepted: &[Accepted]) {
        let log = self.canonical().cloned().unwrap_or_default();
        // A change that only the dead know of is not over.
        let files = running.iter().map(|peer| &self.peers[*peer]);
        let known = files.map(|file| file.log.epochs.len().max(file.given.epochs.len()));
        let (known, reopening) = (known.max().unwrap_or(0), &self.scenario.reopening);
        let newest = log.epochs.iter().take(known).next_back();
        let roster = newest.map_or(&[][..], |(_, roster)| roster);
        let notes = |peer: &usize| &self.peers[*peer].notes;
        let mut members = roster.to_vec();
        members.retain(|peer| {
            let reopens = reopening.is_some() && notes(peer).run > 0;
            // The others may remove a peer that has used up its stall budget.
            let calm = running.contains(peer)
                && notes(peer).silent_until <= self.now
                && !is_quorum(roster, |by| {
                    let is_hostile = self.scenario.is_hostile(*by) && !notes(by).crashed;
                    is_hostile || running.contains(by) && self.was_held_up(*by, *peer)
                });
            calm && (reopens || !notes(peer).is_out && self.peers[*peer].log.start.is_some())
        });
        // The others may still remove a peer that was silent until healing, if they can decide that with peers outside.
        let heard = |peer: &usize| notes(peer).silent_until + SUSPICION + RECOVERY <= self.now;
        let votes = |peer: &usize| heard(peer) || !running.contains(peer);
        let all = !is_quorum(roster, |peer| votes(peer) && !notes(peer).crashed);
        members.retain(|peer| all || heard(peer));
        let mut members = self.scenario.in_reach(members, roster.len());
        // Peers that are gone may have decided a change of this epoch, which the others must end it with.
        let open = accepted.iter().filter(|of| of.epoch as usize + 1 == known);
        let stay = open.map(|of| of.value.stay().iter().map(|place| self.at(place)));
        let stay: Vec<Vec<usize>> = stay.map(Iterator::collect).collect();
        // A peer that was silent may be gone by what the others have accepted.
        members.retain(|peer| stay.iter().all(|stay| stay.contains(peer)));
        let can_end = stay
            .iter()
            .all(|stay| is_quorum(stay, |peer| members.contains(peer)));
        let is_core = 2 * members.len() > roster.len() && can_end;
        let reopens = reopening.iter().map(|plan| plan.wait + REOPENS);
        self.core.due = Some(self.now + reopens.sum::<Duration>());
        self.core.members = if is_core { members } else { Vec::new() };
        self.note_tenures();
    }

    /// Whether another peer has held up a peer for so long that the latter may want to go on without it.
    fn was_held_up(&self, peer: usize, by: usize) -> bool {
        let file = &self.peers[peer];
        let place = self.places.iter().position(|of| *of == by);
        let roster = file.log.start.as_ref().map(|start| &start.roster);
        let seats = roster.zip(place).map(|(roster, at)| &roster[at].seats);
        let seat = seats.and_then(|seats| seats.first().copied());
        seat.is_some_and(|seat| file.stalled_on(seat) > HELD_UP)
    }

    /// Notes which peers outside are in rosters of core peers now.
    pub(super) fn note_tenures(&mut self) {
        for peer in 0..self.peers.len() {
            let votes = |core: &usize| self.peers[*core].log.roster(u32::MAX).contains(&peer);
            let stays = !self.is_core(peer) && self.core.members.iter().any(votes);
            let lives = match self.peers[peer].notes.crashed {
                true => self.now,
                false => Duration::MAX,
            };
            let mut open = self.core.tenures.iter_mut();
            match open.find(|(of, _, to, _)| *of == peer && *to == Duration::MAX) {
                Some((_, _, to, _)) if !stays => *to = self.now,
                Some((_, _, _, until)) => *until = lives.min(*until),
                None if stays => {
                    let tenure = (peer, self.now, Duration::MAX, lives);
                    self.core.tenures.push(tenure);
                }
                None => {}
            }
        }
    }

    /// A peer's process has died.
    pub fn crashed(&mut self, peer: usize) {
        self.peers[peer].notes.crashed = true;
        self.note_tenures();
    }
}

/// Whether these of all voters can decide. The first voter has the tie-break.
pub(super) fn is_quorum(voters: &[usize], votes: impl Fn(&usize) -> bool) -> bool {
    let first = voters.first().is_some_and(&votes);
    2 * voters.iter().filter(|voter| votes(voter)).count() + usize::from(first) > voters.len()
}
