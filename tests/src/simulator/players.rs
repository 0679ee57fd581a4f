//! What players do in a run: issue, chat, pause, leave.

use super::schedule::Happening;
use super::{Playable, Simulator, Workload, to_bytes};
use lockstep::Limits;
use lockstep::session::Input;
use std::time::Duration;

/// Commands in a thousand that are bytes no build of these rules writes, where a player sends any.
const GARBAGE: u32 = 20;

impl<W: Playable> Simulator<W> {
    /// Plans what this peer's players do. The match has begun for it.
    pub(super) fn plan_doings(&mut self, peer: usize) {
        let plan = self.scenario.peers[peer].clone();
        let first = self.peers[peer].random.millis(0, 400);
        if !matches!(plan.workload, Workload::Idle) {
            self.schedule.add(self.now + first, Happening::Play(peer));
        }
        if let Some(every) = plan.chats_every {
            self.schedule.add(self.now + every, Happening::Chat(peer));
        }
        if let Some((at, lasts)) = plan.pause {
            self.schedule.add(self.now + at, Happening::Pause(peer));
            self.schedule
                .add(self.now + at + lasts, Happening::Resume(peer));
        }
        if let Some(at) = plan.leaves_at {
            self.schedule.add(self.now + at, Happening::Leave(peer));
        }
        if let Some(slow) = plan.slow {
            self.schedule.add(self.now + slow.at, Happening::Slow(peer));
            self.schedule
                .add(self.now + slow.at + slow.lasts, Happening::Fast(peer));
        }
        if let Some(at) = plan.crashes_at {
            self.schedule.add(self.now + at, Happening::Crash(peer));
        }
    }

    pub(super) fn slow_down(&mut self, peer: usize) {
        if let Some(slow) = self.scenario.peers[peer].slow {
            self.peers[peer].hand.set_step(slow.step);
        }
    }

    pub(super) fn speed_up(&mut self, peer: usize) {
        let step = self.scenario.peers[peer].step;
        self.peers[peer].hand.set_step(step);
        self.judge.fast_again();
    }

    pub(super) fn issue_some(&mut self, peer: usize) {
        if !self.is_playing(peer) {
            return;
        }
        let random = &mut self.peers[peer].random;
        let (count, bytes, again) = match self.scenario.peers[peer].workload {
            Workload::Idle => return,
            Workload::Steady(every) => (random.between(1, 2), 12, every),
            Workload::Bursts(size, every) => (size, 40, every),
            Workload::Large(every) => (1, 396, every),
        };
        for _ in 0..count {
            self.issue(peer, bytes);
        }
        self.schedule.add(self.now + again, Happening::Play(peer));
    }

    fn issue(&mut self, peer: usize, bytes: usize) {
        let limits = Limits::default();
        let clumsy = self.scenario.seed % 4 == 1;
        let state = &mut self.peers[peer];
        let seat = state.own[state.random.below(state.own.len() as u64) as usize];
        let recent = state.issued.entry(seat).or_default();
        while recent
            .front()
            .is_some_and(|at| *at + Duration::from_secs(2) < self.now)
        {
            recent.pop_front();
        }
        let total = state.issued_total.entry(seat).or_default();
        let executed = state.executed_total.get(&seat).copied().unwrap_or(0);
        let waiting = total.saturating_sub(executed);
        if recent.len() as u32 >= limits.commands_per_s * 2 || waiting >= limits.waiting_commands {
            return;
        }
        recent.push_back(self.now);
        let mark = u32::from(seat.0) << 24 | *total;
        *total += 1;
        let command = match clumsy && state.random.chance(GARBAGE) {
            true => [&[0xff; 6][..], &mark.to_le_bytes()].concat(),
            false => to_bytes(&W::command(&mut state.random, mark, bytes)),
        };
        self.commands += 1;
        self.judge.issued(peer, seat, command.clone());
        self.feed(peer, Input::Issue { seat, command });
    }

    pub(super) fn chat(&mut self, peer: usize) {
        let Some(every) = self.scenario.peers[peer].chats_every else {
            return;
        };
        if !self.is_playing(peer) {
            return;
        }
        let text = format!("at {:?} from {peer}", self.now);
        self.judge.chatted(peer, text.clone());
        self.feed(peer, Input::Chat(text));
        self.schedule.add(self.now + every, Happening::Chat(peer));
    }

    pub(super) fn ask_pause(&mut self, peer: usize) {
        if self.is_playing(peer) {
            self.judge.asked_pause(peer);
            self.feed(peer, Input::Pause);
        }
    }

    pub(super) fn ask_resume(&mut self, peer: usize) {
        if self.is_playing(peer) {
            self.judge.asked_pause(peer);
            self.feed(peer, Input::Resume);
        }
    }

    pub(super) fn leave(&mut self, peer: usize) {
        if self.is_playing(peer) {
            self.peers[peer].left = true;
            self.judge.left(peer);
            self.feed(peer, Input::Leave);
        }
    }

    /// From one moment to the next the peer does nothing more. Nobody is told.
    pub(super) fn crash(&mut self, peer: usize) {
        if self.peers[peer].session.take().is_some() {
            self.judge.crashed(peer);
            self.fall_dead(peer);
        }
    }

    fn is_playing(&self, peer: usize) -> bool {
        self.peers[peer].session.is_some() && !self.peers[peer].left
    }
}
