//! What befalls machines: another address, a clock that jumps, a full disk; and what players do about a stall.

use super::links::IDLE;
use super::schedule::Happening;
use super::{Playable, Simulator};
use lockstep::log::{Keyframe, Record};
use lockstep::session::Input;
use lockstep::{LinkError, TurnNumber};
use std::time::Duration;

impl<W: Playable> Simulator<W> {
    pub(super) fn plan_mishaps(&mut self, peer: usize) {
        let plan = &self.scenario.peers[peer];
        if let Some(at) = plan.moves_at {
            self.schedule.add(self.now + at, Happening::Move(peer));
        }
        if let Some((at, by)) = plan.jump {
            self.schedule.add(self.now + at, Happening::Jump(peer, by));
        }
    }

    /// From now on the peer has another address. Its links carry nothing more, and both their ends find out by silence.
    pub(super) fn move_away(&mut self, peer: usize) {
        if self.peers[peer].session.is_none() {
            return;
        }
        self.peers[peer].moves += 1;
        self.judge.moved(peer);
        for end in self.network.sever(peer) {
            let silent = Happening::Down(end, LinkError::TimedOut);
            self.schedule.add(self.now + IDLE, silent);
        }
    }

    pub(super) fn jump(&mut self, peer: usize, by: Duration) {
        if self.peers[peer].session.is_none() {
            return;
        }
        self.peers[peer].jumped += by;
        let answered = self.now + self.least_answer();
        self.judge.jumped(peer, by, answered);
        self.peers[peer].wakes_at = None;
        self.schedule_wake(peer);
    }

    /// What the log of a run that died holds: what the disk took of it.
    pub(super) fn kept(&self, peer: usize) -> (Vec<Record>, Option<Keyframe>) {
        let (mut log, keyframe) = self.judge.peer(peer).kept();
        let Some(most) = self.scenario.peers[peer].log_takes else {
            return (log, keyframe);
        };
        log.truncate(most as usize);
        let turns = log
            .iter()
            .filter(|record| matches!(record, Record::Bundle(_)));
        let turns = turns.count() as u32;
        (log, keyframe.filter(|keyframe| keyframe.turns <= turns))
    }

    pub(super) fn stalled(&mut self, peer: usize, turn: TurnNumber, since: Duration) {
        let patient = self.scenario.patient && since >= Duration::from_secs(1);
        if patient && self.peers[peer].voted_in != Some(turn) {
            self.peers[peer].voted_in = Some(turn);
            self.feed(peer, Input::WaitLonger);
        }
    }
}
