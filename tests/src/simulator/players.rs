//! Players of a run: they issue commands and chat.

use super::event::Event;
use super::{Playable, Simulator, Workload, to_bytes};
use lockstep::Limits;
use lockstep::log::{LogEntry, What};
use lockstep::session::Input;
use std::time::Duration;

/// Share of garbage among the commands of a player that sends any, in a thousand.
const GARBAGE: u32 = 20;

/// A player writes nothing after this much of a stall: a session drops a text while sixteen others wait.
const TALKS_IN_A_STALL: Duration = Duration::from_secs(12);

impl<W: Playable> Simulator<W> {
    /// Plans the actions of this peer's players. The match has begun for it.
    pub(super) fn plan_actions(&mut self, peer: usize) {
        let plan = self.scenario.peers[peer].clone();
        let now = self.now();
        let first = self.peers[peer].random.millis(0, 400);
        if !matches!(plan.workload, Workload::Idle) {
            self.driver.schedule(now + first, Event::Play(peer));
        }
        if let Some(every) = plan.chats_every {
            self.driver.schedule(now + every, Event::Chat(peer));
        }
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
        self.driver.schedule(self.now() + again, Event::Play(peer));
    }

    fn issue(&mut self, peer: usize, bytes: usize) {
        let limits = Limits::default();
        let now = self.now();
        let state = &mut self.peers[peer];
        let seat = state.own[state.random.below(state.own.len() as u64) as usize];
        let recent = state.issued.entry(seat).or_default();
        while recent
            .front()
            .is_some_and(|at| *at + Duration::from_secs(2) < now)
        {
            recent.pop_front();
        }
        let total = state.issued_total.entry(seat).or_default();
        let executed = state.executed_total.get(&seat).copied().unwrap_or(0);
        let waiting = total.saturating_sub(executed);
        if recent.len() as u32 >= limits.commands_per_s * 2 || waiting >= limits.waiting_commands {
            return;
        }
        recent.push_back(now);
        let mark = u32::from(seat.0) << 24 | state.marks;
        state.marks += 1;
        *total += 1;
        let command = match self.scenario.clumsy && state.random.chance(GARBAGE) {
            true => [&[0xff; 6][..], &mark.to_le_bytes()].concat(),
            false => to_bytes(&W::command(&mut state.random, mark, bytes)),
        };
        self.commands += 1;
        let what = What::Command(command.clone().into());
        self.judge.says(peer, LogEntry { seat, what });
        self.feed(peer, Input::Issue { seat, command });
    }

    pub(super) fn chat(&mut self, peer: usize) {
        let Some(every) = self.scenario.peers[peer].chats_every else {
            return;
        };
        if !self.is_playing(peer) {
            return;
        }
        let last = self.judge.peers[peer].handed.last();
        let stands = last.is_some_and(|(_, at, _)| *at + TALKS_IN_A_STALL < self.now());
        if !stands {
            let text = format!("at {:?} from {peer}", self.now());
            self.say(peer, What::Chat(text.clone()), Input::Chat(text));
        }
        self.driver.schedule(self.now() + every, Event::Chat(peer));
    }

    /// A player of the peer's first seat says something beside commands.
    pub(super) fn say(&mut self, peer: usize, what: What, input: Input<'static>) {
        if let Some(seat) = self.peers[peer].own.first().copied() {
            self.judge.says(peer, LogEntry { seat, what });
        }
        self.feed(peer, input);
    }

    /// Whether its players can act.
    pub(super) fn is_playing(&self, peer: usize) -> bool {
        let notes = &self.judge.peers[peer].notes;
        self.driver.session(peer).is_some() && !notes.leaves && !notes.is_out
    }
}
