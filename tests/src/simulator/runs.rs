//! Runs of processes after the first: they return to the match, or reopen it.

use super::event::Event;
use super::scenario::SUSPICION;
use super::worker::WorldWorker;
use super::{Playable, Simulator};
use lockstep::log::{Keyframe, Record, What};
use lockstep::session::{Input, Role};
use lockstep::{Contact, EndReason, Rejoin};
use std::time::Duration;

/// A player that is told that the match goes on without it begins another run so much later.
const COMES_BACK: Duration = Duration::from_secs(1);
/// A process that leaves a match that stands still may take so long to end.
const LEAVES_WITHIN: Duration = Duration::from_secs(6);

impl<W: Playable> Simulator<W> {
    /// Another run of a process that died, or was removed, begins and wants to rejoin.
    pub(super) fn return_to_match(&mut self, peer: usize, with_log: bool) {
        let over = self.driver.session(peer).is_none();
        let file = &self.judge.peers[peer];
        let removed = matches!(&file.ended, Some(ended) if ended.reason == EndReason::Removed);
        if self.begun_at.is_none() || !over || !(file.notes.crashed || removed) {
            return;
        }
        let (log, keyframe) = match with_log {
            true => self.kept(peer, u32::MAX),
            false => (Vec::new(), None),
        };
        // It knows how to reach all others, or the one that is most likely to stay.
        let others: Vec<usize> = (0..self.peers.len()).filter(|at| *at != peer).collect();
        let calm = others.iter().copied().find(|other| {
            let is_awake = self.driver.is_awake(*other) && !self.judge.peers[*other].notes.is_out;
            is_awake && self.scenario.is_calm(*other) && !self.scenario.are_apart(peer, *other)
        });
        let known = match calm.filter(|_| self.peers[peer].random.chance(300)) {
            Some(one) => vec![one],
            None => others,
        };
        let from = self.rejoin(known, log, keyframe);
        let rules = super::rules::<W>();
        self.judge.returned(peer, &from.log);
        self.begin_run(peer, Role::Rejoin { from, rules });
    }

    fn rejoin(&self, known: Vec<usize>, log: Vec<Record>, keyframe: Option<Keyframe>) -> Rejoin {
        let contact = |other: usize| Contact {
            peer: self.ids[other],
            addresses: vec![self.address(other)],
        };
        Rejoin {
            match_id: self.match_id,
            contacts: known.into_iter().map(contact).collect(),
            log,
            keyframe,
        }
    }

    /// Another run of a process takes the place of the one before.
    fn begin_run(&mut self, peer: usize, role: Role) {
        let plan = &self.scenario.peers[peer];
        self.peers[peer].worker = WorldWorker::new(plan.load, plan.step, None);
        let run = self.judge.peers[peer].notes.run.into();
        let hostile = self.scenario.is_hostile(peer);
        let signed = hostile.then(|| self.mischief.listen(peer));
        let session = super::session(&self.scenario, peer, run, role, signed);
        let clock = super::clock(plan, self.now());
        self.driver.restart(peer, session, clock);
        self.open_port(peer);
        self.feed(peer, Input::Timeout);
    }

    /// A joiner is in the match again: its players go on.
    pub(super) fn admitted(&mut self, peer: usize) {
        if !std::mem::take(&mut self.notes(peer).is_out) {
            return;
        }
        for seat in self.peers[peer].own.clone() {
            let turns = self.judge.peers[peer].log.turns.iter();
            let entries = turns.flat_map(|bundle| &bundle.entries);
            let commands = entries.filter(|entry| matches!(entry.what, What::Command(_)));
            let agreed = commands.filter(|entry| entry.seat == seat).count() as u32;
            self.peers[peer].issued_total.insert(seat, agreed);
            self.peers[peer].executed_total.insert(seat, agreed);
        }
        self.driver.schedule(self.now(), Event::Play(peer));
    }

    /// What the log of the run before holds: what the disk took of it, and no more than so many turns.
    fn kept(&self, peer: usize, turns: u32) -> (Vec<Record>, Option<Keyframe>) {
        let (mut log, mut keyframe) = (Vec::new(), None);
        let newest = self.judge.peers[peer].logs().next();
        for record in newest.iter().flat_map(|log| &log.records) {
            match record {
                Record::Start(_) | Record::Bundle(_) | Record::Roster(_) => {
                    log.push(record.clone())
                }
                Record::Keyframe(newer) => keyframe = Some(newer.clone()),
                _ => {}
            }
        }
        let most = self.scenario.peers[peer].log_takes;
        log.truncate(most.map_or(usize::MAX, |most| most as usize));
        let beyond =
            |record: &Record| matches!(record, Record::Bundle(bundle) if bundle.turn.0 >= turns);
        log.truncate(log.iter().position(beyond).unwrap_or(log.len()));
        let held = log
            .iter()
            .filter(|record| matches!(record, Record::Bundle(_)));
        let held = held.count() as u32;
        (log, keyframe.filter(|keyframe| keyframe.turns <= held))
    }

    /// Turns in a peer's log.
    fn turns_of(&self, peer: usize) -> u32 {
        self.judge.peers[peer].log.len()
    }

    /// The processes die of all peers that are to, once all have begun to play.
    pub(super) fn many_die(&mut self) {
        let Some(reopening) = self.scenario.reopening.clone() else {
            return;
        };
        if !(0..self.peers.len()).all(|peer| self.turns_of(peer) > 0) {
            let soon = self.now() + Duration::from_secs(1);
            return self.driver.schedule(soon, Event::ManyDie);
        }
        let dead = self.now() + reopening.last_death() - reopening.at;
        for (peer, fate) in reopening.fates.iter().enumerate() {
            if let Some(later) = fate.dies {
                self.driver.schedule(self.now() + later, Event::Die(peer));
            }
            let Some(begins) = fate.begins else {
                continue;
            };
            match fate.dies {
                Some(_) => self.begins_again_at(dead + begins, peer),
                // Time to see that too few are left.
                None => {
                    let at = dead + SUSPICION * 2 + begins;
                    self.driver.schedule(at, Event::GiveUp(peer));
                }
            }
        }
    }

    fn begins_again_at(&mut self, at: Duration, peer: usize) {
        self.runs_to_begin += 1;
        self.driver.schedule(at, Event::BeginAgain(peer));
    }

    /// A peer that stands still leaves, to take part in the reopening.
    pub(super) fn give_up(&mut self, peer: usize) {
        self.peers[peer].gives_up_until = Some(self.now() + LEAVES_WITHIN);
        self.leave(peer);
    }

    /// A peer that gave up begins another run, as does one that is told that the match goes on without it.
    pub(super) fn comes_back_to_reopened(&mut self, peer: usize, reason: &EndReason) {
        if self.scenario.reopening.is_none() {
            return;
        }
        let gave_up = self.peers[peer].gives_up_until.take().is_some();
        if *reason == EndReason::Removed || *reason == EndReason::Left && gave_up {
            self.begins_again_at(self.now() + COMES_BACK, peer);
        }
    }

    /// Another run of a process begins, with what the disk has, to reopen the match or to come to where it is.
    pub(super) fn begin_again(&mut self, peer: usize) {
        self.runs_to_begin -= 1;
        let Some(reopening) = self.scenario.reopening.clone() else {
            return;
        };
        if self.driver.session(peer).is_some() {
            return;
        }
        let fate = reopening.fates[peer];
        let lost = if self.judge.peers[peer].notes.crashed {
            fate.lost
        } else {
            0
        };
        let turns = self.turns_of(peer).saturating_sub(lost);
        let (log, keyframe) = self.kept(peer, turns);
        let hosts = peer == reopening.host;
        let knows =
            |other: &usize| *other != peer && (hosts || fate.knows_all || *other == reopening.host);
        let known = (0..self.peers.len()).filter(knows).collect();
        let from = self.rejoin(known, log, keyframe);
        let rules = super::rules::<W>();
        self.judge.returned(peer, &from.log);
        let role = match hosts {
            true => Role::Reopen {
                from,
                rules,
                wait: reopening.wait,
            },
            false => Role::Rejoin { from, rules },
        };
        self.begin_run(peer, role);
    }
}
