//! Faults of peers: they crash, return, freeze, slow down, move and are cut off. Clocks jump; players pause and
//! leave.

use super::event::Event;
use super::links::IDLE;
use super::quic::SOCKET_PACKETS;
use super::scenario::{Aftermath, Fault, REFILL, STALL_BUDGET, SUSPICION, Victim, Ways};
use super::{Playable, Simulator};
use crate::judge::RECOVERY;
use lockstep::log::What;
use lockstep::session::Input;
use lockstep::{LinkError, RosterCause};
use sim::Seat;
use std::time::Duration;

/// A peer with such a gap in its time may have been removed. A clock's drift makes it a little longer.
const GAP: Duration = Duration::from_millis(1_010);

/// The peer that leaves or crashes after a roster change, and the peers that are in the match then.
pub struct Leaver {
    victim: usize,
    members: Vec<usize>,
    aftermath: Aftermath,
}

impl<W: Playable> Simulator<W> {
    /// Plans the faults, relative to the beginning of the match.
    pub(super) fn plan_faults(&mut self) {
        let now = self.now();
        for (peer, plan) in self.scenario.peers.iter().enumerate() {
            for (number, (at, _)) in plan.faults.iter().enumerate() {
                self.driver.schedule(now + *at, Event::Fault(peer, number));
            }
        }
        self.driver
            .schedule(now + self.scenario.heal_at, Event::Heal);
        if let Some(reopening) = &self.scenario.reopening {
            self.driver.schedule(now + reopening.at, Event::ManyDie);
        }
    }

    pub(super) fn begin_fault(&mut self, peer: usize, number: usize) {
        let (_, fault) = self.scenario.peers[peer].faults[number].clone();
        let lasts = match fault.clone() {
            Fault::Crash => return self.crash(peer),
            Fault::Return { with_log } => return self.return_to_match(peer, with_log),
            Fault::Move => return self.move_away(peer),
            Fault::Jump(by) => return self.jump(peer, by),
            Fault::Leave => return self.leave(peer),
            Fault::Freeze(lasts) => {
                self.freeze(peer);
                lasts
            }
            Fault::Slow { lasts, step } => {
                self.peers[peer].worker.set_step(step);
                let now = self.now();
                self.notes(peer).slow_since = Some(now);
                self.notes(peer).slow_until = Some(now + lasts);
                lasts
            }
            Fault::Cut {
                lasts,
                others,
                ways,
            } => {
                for (from, to) in lanes(peer, &others, ways) {
                    self.begin_cut(from, to);
                }
                lasts
            }
            Fault::Swing { lasts, more } => {
                self.network.swing(peer, more);
                lasts
            }
            Fault::Pause(lasts) => {
                self.ask_pause(peer, What::Pause);
                lasts
            }
        };
        let (over, until) = (Event::FaultOver(peer, number), self.now() + lasts);
        if matches!(fault, Fault::Freeze(_) | Fault::Cut { .. }) && lasts >= SUSPICION {
            // A deaf peer is heard, and blocks the others until it has used up its stall budget, of which the time until
            // it takes part again is a part, too.
            let is_deaf =
                matches!(fault, Fault::Cut { ways: Ways::In, others, .. } if others.len() > 1);
            let spent = (lasts + RECOVERY).saturating_sub(STALL_BUDGET) * u32::from(is_deaf);
            let silent_until = &mut self.notes(peer).silent_until;
            *silent_until = (*silent_until).max(until + spent * REFILL);
        }
        self.driver.schedule(until, over);
    }

    pub(super) fn end_fault(&mut self, peer: usize, number: usize) {
        let (_, fault) = self.scenario.peers[peer].faults[number].clone();
        match fault {
            Fault::Freeze(_) => self.thaw(peer),
            Fault::Slow { .. } => {
                let step = self.scenario.peers[peer].step;
                self.peers[peer].worker.set_step(step);
            }
            Fault::Cut { others, ways, .. } => {
                for (from, to) in lanes(peer, &others, ways) {
                    self.mend_cut(from, to);
                }
            }
            Fault::Swing { .. } => self.network.swing(peer, Duration::ZERO),
            Fault::Pause(_) => self.ask_pause(peer, What::Resume),
            _ => {}
        }
    }

    /// Stops the peer at once. It tells no other peer.
    pub(super) fn crash(&mut self, peer: usize) {
        self.peers[peer].frozen = None;
        if self.driver.remove(peer).is_some() {
            self.judge.crashed(peer);
            self.drop_dead_links(peer);
        }
    }

    pub(super) fn leave(&mut self, peer: usize) {
        if self.is_playing(peer) {
            self.notes(peer).leaves = true;
            self.feed(peer, Input::Leave);
        }
    }

    fn ask_pause(&mut self, peer: usize, what: What) {
        let input = match what {
            What::Pause => Input::Pause,
            _ => Input::Resume,
        };
        if self.is_playing(peer) {
            self.say(peer, what, input);
        }
    }

    /// Gives the peer another address. Its links carry nothing more, and both ends find out by silence.
    fn move_away(&mut self, peer: usize) {
        if self.driver.session(peer).is_none() {
            return;
        }
        self.peers[peer].moves += 1;
        for end in self.network.sever(peer) {
            let silent = Event::Down(end, LinkError::TimedOut);
            self.driver.schedule(self.now() + IDLE, silent);
        }
    }

    fn jump(&mut self, peer: usize, by: Duration) {
        if self.driver.session(peer).is_some() {
            self.driver.jump(peer, by);
            self.lose_time(peer, by);
        }
    }

    fn freeze(&mut self, peer: usize) {
        if self.driver.session(peer).is_none() || self.peers[peer].frozen.is_some() {
            return;
        }
        self.driver.suspend(peer);
        let now = self.now();
        self.peers[peer].frozen = Some((now, Vec::new()));
        self.driver
            .schedule(now + IDLE, Event::Forgotten(peer, now));
    }

    fn thaw(&mut self, peer: usize) {
        let Some((since, waiting)) = self.peers[peer].frozen.take() else {
            return;
        };
        let now = self.now();
        self.lose_time(peer, now - since);
        for event in waiting {
            self.driver.schedule(now, event);
        }
        self.driver.resume(peer);
    }

    /// So much of a peer's time passes unseen. A joiner has no place to lose by that, and a lobby has none.
    fn lose_time(&mut self, peer: usize, lost: Duration) {
        let answered = self.now() + self.least_answer();
        let file = &mut self.judge.peers[peer];
        if lost > GAP && file.log.start.is_some() && !file.notes.is_out {
            file.notes.unsure_until = answered;
        }
    }

    /// The shortest round trip of a question and its answer.
    fn least_answer(&self) -> Duration {
        self.network.least_delay().min(self.budget() / 4) * 2
    }

    /// Returns an event that happens now; an event of a frozen peer is postponed.
    pub(super) fn unless_frozen(&mut self, event: Event) -> Option<Event> {
        let node = event.node(|end| self.network.at(end).0);
        let node = node.or_else(|| self.player_of(&event));
        let peer = node.and_then(|node| self.peers.get_mut(node));
        let Some((_, waiting)) = peer.and_then(|peer| peer.frozen.as_mut()) else {
            return Some(event);
        };
        let is_packet = |event: &Event| matches!(event, Event::Packet(_));
        let packets = waiting.iter().filter(|waiting| is_packet(waiting)).count();
        if !is_packet(&event) || packets < SOCKET_PACKETS {
            waiting.push(event);
        }
        None
    }

    /// The peer whose player does this.
    fn player_of(&self, event: &Event) -> Option<usize> {
        let (Event::Fault(peer, number) | Event::FaultOver(peer, number)) = event else {
            return None;
        };
        let (_, fault) = &self.scenario.peers[*peer].faults[*number];
        matches!(fault, Fault::Pause(_) | Fault::Leave).then_some(*peer)
    }

    /// After this much silence the other transports give their links up; the frozen peer will find the same.
    pub(super) fn forget_frozen(&mut self, peer: usize, since: Duration) {
        let frozen = self.peers[peer].frozen.as_ref();
        if frozen.is_none_or(|(from, _)| *from != since) {
            return;
        }
        for end in self.network.ends_of(peer) {
            for end in [end.other(), end] {
                let down = Event::Down(end, LinkError::TimedOut);
                self.driver.schedule(self.now(), down);
            }
        }
    }

    /// Has a peer's players vote once to extend the suspicion time.
    pub(super) fn stalled(&mut self, peer: usize, since: Duration) {
        let votes = self.scenario.extends && since >= Duration::from_secs(1);
        if votes && self.notes(peer).voted_at.is_none() {
            self.notes(peer).voted_at = Some(self.now());
            self.feed(peer, Input::WaitLonger);
        }
    }

    /// Plans the aftermath, if this event is the one that it waits for.
    pub(super) fn plan_aftermath(&mut self, informed: usize, event: &lockstep::Event) {
        let lockstep::Event::RosterChanged {
            seats, back, cause, ..
        } = event
        else {
            return;
        };
        let reopened = *cause == RosterCause::Reopened;
        let is_due =
            |aftermath: &mut Aftermath| !aftermath.admission || reopened || !back.is_empty();
        let Some(aftermath) = self.scenario.aftermath.take_if(is_due) else {
            return;
        };
        let peers = 0..self.peers.len();
        let has_one = |peer: &usize, of: &[Seat]| {
            let own = &self.peers[*peer].own;
            own.iter().any(|seat| of.contains(seat))
        };
        let is_here =
            |peer: &usize| reopened || !self.judge.peers[*peer].notes.is_out || has_one(peer, back);
        let members = peers
            .clone()
            .filter(|peer| has_one(peer, seats) && is_here(peer));
        let victim = match aftermath.victim {
            Victim::Told => informed,
            Victim::Joiner => peers
                .clone()
                .find(|peer| has_one(peer, back))
                .unwrap_or(informed),
            Victim::Peer(peer) => peer % self.peers.len(),
        };
        let leaver = Leaver {
            victim,
            members: members.collect(),
            aftermath,
        };
        let at = self.now() + aftermath.later;
        self.driver.schedule(at, Event::Aftermath(leaver));
    }

    /// Has a peer leave or crash, if the remaining peers are a quorum and no core needs it yet.
    pub(super) fn follow_up(&mut self, leaver: &Leaver) {
        let victim = leaver.victim;
        let stays = |peer: &&usize| {
            let awake = self.driver.session(**peer).is_some();
            **peer != victim && awake && !self.judge.peers[**peer].notes.leaves
        };
        let stay = leaver.members.iter().filter(stays).count();
        // The host of a reopening may be the only peer that knows of it.
        let reopening = self.scenario.reopening.as_ref();
        let hosts = reopening.is_some_and(|reopening| reopening.host == victim);
        if 2 * stay <= leaver.members.len() || hosts || self.judge.core.due.is_some() {
            return;
        }
        if leaver.aftermath.leaves {
            return self.leave(victim);
        }
        self.crash(victim);
        if let Some(after) = leaver.aftermath.returns {
            self.driver
                .schedule(self.now() + after, Event::Return(victim));
        }
    }
}

/// The directed pairs of a cut.
fn lanes(peer: usize, others: &[usize], ways: Ways) -> Vec<(usize, usize)> {
    let mut lanes = Vec::new();
    for other in others {
        if ways != Ways::In {
            lanes.push((peer, *other));
        }
        if ways != Ways::Out {
            lanes.push((*other, peer));
        }
    }
    lanes
}
