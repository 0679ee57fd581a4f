//! Processes that stop for a while, and machines that sleep: what comes for them waits, and then comes at once.

use super::links::IDLE;
use super::quic::SOCKET_PACKETS;
use super::schedule::Happening;
use super::{Playable, Simulator};
use lockstep::LinkError;
use std::time::Duration;

impl<W: Playable> Simulator<W> {
    pub(super) fn freeze(&mut self, peer: usize) {
        if self.peers[peer].session.is_none() {
            return;
        }
        self.peers[peer].frozen = Some((self.now, Vec::new()));
        self.judge.froze(peer);
        let forgotten = Happening::Forgotten(peer, self.now);
        self.schedule.add(self.now + IDLE, forgotten);
    }

    pub(super) fn thaw(&mut self, peer: usize) {
        let Some((since, waiting)) = self.peers[peer].frozen.take() else {
            return;
        };
        let answered = self.now + self.least_answer();
        self.judge.thawed(peer, self.now - since, answered);
        for happening in waiting {
            self.schedule.add(self.now, happening);
        }
        self.peers[peer].wakes_at = None;
        self.schedule_wake(peer);
    }

    /// Nobody can have answered before a question and its answer were under way.
    pub(super) fn least_answer(&self) -> Duration {
        let healed = self.budget() / 4;
        self.network.least_delay().min(healed) * 2
    }

    /// Gives back what happens now; what would happen at a peer that stands still waits.
    pub(super) fn unless_frozen(&mut self, happening: Happening) -> Option<Happening> {
        let peer = match &happening {
            Happening::Begin(peer)
            | Happening::Wake(peer)
            | Happening::World(peer)
            | Happening::Play(peer)
            | Happening::Chat(peer)
            | Happening::Pause(peer)
            | Happening::Move(peer)
            | Happening::Jump(peer, _)
            | Happening::Resume(peer)
            | Happening::Leave(peer) => *peer,
            Happening::Arrive(end, ..) | Happening::Down(end, _) => self.network.at(*end).0,
            Happening::Packet(packet) => packet.to.0,
            Happening::Timer(node) => *node,
            Happening::Dial(dial) | Happening::DialFailed(dial, _) => dial.from,
            _ => return Some(happening),
        };
        let frozen = self
            .peers
            .get_mut(peer)
            .and_then(|peer| peer.frozen.as_mut());
        match frozen {
            Some((_, waiting)) => {
                let is_packet = |happening: &Happening| matches!(happening, Happening::Packet(..));
                let packets = waiting.iter().filter(|waiting| is_packet(waiting)).count();
                if !is_packet(&happening) || packets < SOCKET_PACKETS {
                    waiting.push(happening);
                }
                None
            }
            None => Some(happening),
        }
    }

    /// Whoever has heard nothing for so long gives its links up; who stands still will find the same.
    pub(super) fn forget_frozen(&mut self, peer: usize, since: Duration) {
        let frozen = self.peers[peer].frozen.as_ref();
        if frozen.is_none_or(|(from, _)| *from != since) {
            return;
        }
        for end in self.network.ends_of(peer) {
            for end in [end.other(), end] {
                let down = Happening::Down(end, LinkError::TimedOut);
                self.schedule.add(self.now, down);
            }
        }
    }
}
