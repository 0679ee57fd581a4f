//! What players do in a run: issue, chat, pause, leave.

use super::hand::Hand;
use super::schedule::Happening;
use super::{Playable, Simulator, Workload, to_bytes};
use lockstep::session::{Input, Role};
use lockstep::{Contact, Limits, Rejoin};
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
        if let Some((at, lasts)) = plan.freeze {
            let thaw = self.now + at + lasts;
            self.schedule.add(self.now + at, Happening::Freeze(peer));
            self.schedule.add(thaw, Happening::Thaw(peer));
        }
        if let Some(at) = plan.crashes_at {
            self.schedule.add(self.now + at, Happening::Crash(peer));
        }
        self.plan_mishaps(peer);
        if let Some((at, _)) = plan.returns {
            self.schedule.add(self.now + at, Happening::Return(peer));
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
        let saves = self.peers[peer].hand.saves();
        self.judge.issued(peer, seat, command.clone(), saves);
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
        self.peers[peer].frozen = None;
        if self.peers[peer].session.take().is_some() {
            self.judge.crashed(peer);
            self.fall_dead(peer);
        }
    }

    /// Another run of the process that died begins, and knows how to reach some of the others.
    pub(super) fn begin_anew(&mut self, peer: usize) {
        let (Some(begun_at), None) = (self.begun_at, &self.peers[peer].session) else {
            return;
        };
        if self.judge.peer(peer).crashed.is_none() {
            // Its match was over before it could die.
            return;
        }
        let Some((_, keeps_log)) = self.scenario.peers[peer].returns else {
            return;
        };
        let contact = |other: usize| Contact {
            peer: self.ids[other],
            addresses: vec![self.address(other)],
        };
        let others: Vec<usize> = (0..self.peers.len())
            .filter(|other| *other != peer)
            .collect();
        let stands = self.scenario.peers[0].freeze.is_some() || self.judge.is_gone(0);
        let host_plays = self.peers[0].session.is_some() && !stands;
        let host_alone = peer != 0 && host_plays;
        let known = match host_alone && self.now > begun_at + Duration::from_secs(8) {
            true => vec![contact(0)],
            false => others.into_iter().map(contact).collect(),
        };
        let (log, keyframe) = match keeps_log {
            true => self.kept(peer),
            false => (Vec::new(), None),
        };
        let from = Rejoin {
            match_id: self.match_id,
            contacts: known,
            log,
            keyframe,
        };
        let rules = super::rules::<W>();
        let role = Role::Rejoin { from, rules };
        self.begin_run(peer, role);
        self.judge.returned(peer);
        self.feed(peer, Input::Timeout);
    }

    /// Another run of a process takes the place of the one before.
    pub(super) fn begin_run(&mut self, peer: usize, role: Role) {
        let plan = &self.scenario.peers[peer];
        let state = &mut self.peers[peer];
        state.run += 1;
        let session = super::another_run(&self.scenario, peer, state.run, role);
        state.session = Some(session);
        state.begins_at = self.now;
        state.jumped = Duration::ZERO;
        state.wakes_at = None;
        state.hand = Hand::new(plan.load, plan.step, None);
        state.is_out = true;
        state.left = false;
        self.open_port(peer);
    }

    /// A peer that came back is in the match again: its players go on.
    pub(super) fn be_back(&mut self, peer: usize) {
        if !std::mem::take(&mut self.peers[peer].is_out) {
            return;
        }
        for (seat, agreed) in self.judge.back(peer) {
            self.peers[peer].issued_total.insert(seat, agreed);
            self.peers[peer].executed_total.insert(seat, agreed);
        }
        if !matches!(self.scenario.peers[peer].workload, Workload::Idle) {
            self.schedule.add(self.now, Happening::Play(peer));
        }
    }

    fn is_playing(&self, peer: usize) -> bool {
        let state = &self.peers[peer];
        state.session.is_some() && !state.left && !state.is_out
    }
}
