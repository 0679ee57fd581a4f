//! Later runs of processes: they return to the match, or reopen it.

use super::disk::Bound;
use super::event::Event;
use super::scenario::SUSPICION;
use super::{Playable, Simulator};
use lockstep::log::{EncodedLog, Keyframe, Record, SignedBatch, What};
use lockstep::session::{Input, Role};
use lockstep::{Contact, EndReason, Rejoin};
use std::collections::BTreeMap;
use std::time::Duration;

/// The delay before a player of a removed peer begins another run.
const RESTART_DELAY: Duration = Duration::from_secs(1);
/// The longest time that a process takes to leave a stalled match.
const LEAVES_WITHIN: Duration = Duration::from_secs(6);

/// What is left of the recording of a run that is over.
#[derive(Default)]
struct Kept {
    log: Vec<Record>,
    keyframe: Option<Keyframe>,
    bound: Bound,
    /// The newest signed batch of each peer.
    attests: Vec<SignedBatch>,
}

impl<W: Playable> Simulator<W> {
    /// Begins another run of a process that died or was removed, to rejoin.
    pub(super) fn return_to_match(&mut self, peer: usize, with_log: bool) {
        let over = self.driver.session(peer).is_none();
        let file = &self.judge.peers[peer];
        let removed = file
            .ended
            .as_ref()
            .is_some_and(|ended| goes_on_without(&ended.reason));
        if self.begun_at.is_none() || !over || !(file.notes.crashed || removed) {
            return;
        }
        let on_disk = self.peers[peer].disk.after_death(false);
        let kept = match with_log {
            true => self.kept(peer, u32::MAX, on_disk.bound),
            false => Kept::default(),
        };
        // It knows the addresses of all other peers, or of the peer most likely to stay.
        let others: Vec<usize> = (0..self.peers.len()).filter(|at| *at != peer).collect();
        let calm = others.iter().copied().find(|other| {
            let is_awake = self.driver.is_awake(*other) && !self.judge.peers[*other].notes.is_out;
            is_awake && self.scenario.is_calm(*other) && !self.scenario.are_apart(peer, *other)
        });
        let known = match calm.filter(|_| self.peers[peer].random.chance(300)) {
            Some(one) => vec![one],
            None => others,
        };
        let from = self.rejoin(peer, known, kept);
        let rules = super::rules::<W>();
        self.judge.returned(peer, &from);
        self.begin_run(peer, Role::Rejoin { from, rules });
    }

    fn rejoin(&self, peer: usize, known: Vec<usize>, kept: Kept) -> Rejoin {
        let ended = self.judge.peers[peer].ended.as_ref();
        let contact = |other: usize| Contact {
            peer: self.ids[other],
            addresses: vec![self.address(other)],
        };
        Rejoin {
            match_id: self.match_id,
            contacts: known.into_iter().map(contact).collect(),
            player: None,
            log: EncodedLog::of(&kept.log),
            keyframe: kept.keyframe,
            accepted: kept.bound.accepted,
            signed: kept.bound.signed,
            attests: kept.attests,
            // Its player is told, and gives its word.
            accepts_other_history: ended.is_some_and(|ended| is_contradicted(&ended.reason)),
        }
    }

    /// Replaces the run of a process by another one.
    fn begin_run(&mut self, peer: usize, role: Role) {
        let plan = &self.scenario.peers[peer];
        self.peers[peer].worker = super::worker(plan, None);
        let run = self.judge.peers[peer].notes.run.into();
        let hostile = self.scenario.is_hostile(peer);
        let signed = hostile.then(|| self.hostility.listen(peer));
        let session = super::session(&self.scenario, peer, run, role, signed);
        let clock = super::clock(plan, self.now());
        self.driver.restart(peer, session, clock);
        self.open_port(peer);
        self.feed(peer, Input::Timeout);
    }

    /// A joiner is in the match again: its players continue.
    pub(super) fn admitted(&mut self, peer: usize) {
        let (now, notes) = (self.now(), self.notes(peer));
        if !std::mem::take(&mut notes.is_out) {
            return;
        }
        notes.admitted_at = Some(now);
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

    /// The recording of the previous run: what the disk took of it, up to this many turns, with what binds it.
    fn kept(&self, peer: usize, turns: u32, bound: Bound) -> Kept {
        let (mut log, mut keyframe) = (Vec::new(), None);
        let mut attests = BTreeMap::new();
        let newest = self.judge.peers[peer].logs().next();
        for record in newest.iter().flat_map(|log| &log.records) {
            match record {
                Record::Start(_) | Record::Bundle(_) | Record::Roster(_) => {
                    log.push(record.clone())
                }
                Record::Keyframe(newer) => keyframe = Some(newer.clone()),
                Record::Attest(signed) => {
                    attests.insert(signed.peer, signed.clone());
                }
                _ => {}
            }
        }
        let most = self.scenario.peers[peer].log_takes;
        let is_whole = most.is_none_or(|most| log.len() <= most as usize);
        log.truncate(most.map_or(usize::MAX, |most| most as usize));
        let beyond =
            |record: &Record| matches!(record, Record::Bundle(bundle) if bundle.turn.0 >= turns);
        log.truncate(log.iter().position(beyond).unwrap_or(log.len()));
        let held = log
            .iter()
            .filter(|record| matches!(record, Record::Bundle(_)));
        let held = held.count() as u32;
        Kept {
            log,
            keyframe: keyframe.filter(|keyframe| keyframe.turns <= held),
            attests: attests.into_values().collect(),
            bound: match is_whole {
                true => bound,
                false => Bound::default(),
            },
        }
    }

    /// Turns in a peer's log.
    fn turns_of(&self, peer: usize) -> u32 {
        self.judge.peers[peer].log.len()
    }

    /// Kills the processes of all chosen peers, once all have begun to play.
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
                Some(_) => self.schedule_restart(dead + begins, peer),
                // Time to notice the quorum loss.
                None => {
                    let at = dead + SUSPICION * 2 + begins;
                    self.driver.schedule(at, Event::GiveUp(peer));
                }
            }
        }
    }

    /// The running peers that are to die with a change that they have accepted or signed, and those that they shall not reach
    /// any more.
    fn outlived(&self) -> (Vec<usize>, Vec<usize>) {
        let reopening = self.scenario.reopening.iter();
        let signers = reopening.clone().filter_map(|of| Some(of.parted?.signer));
        let accept = reopening.flat_map(|of| of.outlived.clone());
        let of_run = |run: u32| move |peer: usize| (peer, run);
        let dying = accept.map(of_run(0)).chain(signers.map(of_run(1)));
        let runs = |(peer, run): &(usize, u32)| {
            self.judge.peers[*peer].notes.run == *run && self.driver.session(*peer).is_some()
        };
        let dying: Vec<usize> = dying.filter(runs).map(|(peer, _)| peer).collect();
        let peers = 0..self.peers.len();
        let others = peers.filter(|peer| !self.scenario.peers[*peer].troubled);
        match dying.is_empty() {
            true => (dying, Vec::new()),
            false => (dying, others.collect()),
        }
    }

    /// A peer that is to die with its accept or signature hears of no decision.
    pub(super) fn deafen(&mut self, peer: usize) {
        let (dying, others) = self.outlived();
        for other in others.into_iter().filter(|_| dying.contains(&peer)) {
            self.begin_cut(other, peer);
        }
    }

    /// A peer of the majority has logged a change: the peers that accepted or signed it die. The peers that a reopening is
    /// without begin another one.
    pub(super) fn outlive(&mut self, peer: usize) {
        let (dying, others) = self.outlived();
        if dying.is_empty() || !others.contains(&peer) {
            return;
        }
        let gone: Vec<usize> = (0..self.peers.len())
            .filter(|peer| !others.contains(peer))
            .collect();
        for (one, other) in gone
            .iter()
            .flat_map(|one| others.iter().map(move |of| (*one, *of)))
        {
            self.begin_cut(one, other);
            self.begin_cut(other, one);
        }
        for peer in &dying {
            self.driver.schedule(self.now(), Event::Die(*peer));
        }
        let parted = self.scenario.reopening.as_ref().and_then(|of| of.parted);
        let back = if parted.is_some() { gone } else { dying };
        for peer in back {
            self.schedule_restart(self.now() + RESTART_DELAY * 2, peer);
        }
    }

    fn schedule_restart(&mut self, at: Duration, peer: usize) {
        self.runs_to_begin += 1;
        self.driver.schedule(at, Event::Restart(peer));
    }

    /// A stalled peer leaves, to take part in the reopening.
    pub(super) fn give_up(&mut self, peer: usize) {
        self.peers[peer].gives_up_until = Some(self.now() + LEAVES_WITHIN);
        self.leave(peer);
    }

    /// Begins another run of a peer that gave up, or that was told of its removal.
    pub(super) fn restart_if_reopened(&mut self, peer: usize, reason: &EndReason) {
        if self.scenario.reopening.is_none() {
            return;
        }
        let gave_up = self.peers[peer].gives_up_until.take().is_some();
        if goes_on_without(reason) || *reason == EndReason::Left && gave_up {
            self.schedule_restart(self.now() + RESTART_DELAY, peer);
        }
    }

    /// Begins another run of a process with its disk's log, to reopen the match or to find it.
    pub(super) fn restart(&mut self, peer: usize) {
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
        let on_disk = self.peers[peer].disk.after_death(lost > 0);
        let turns = self.turns_of(peer).saturating_sub(lost).max(on_disk.turns);
        let kept = self.kept(peer, turns, on_disk.bound);
        // The signer of the first reopening is a guest of that.
        let is_second = self.judge.peers[peer].notes.run > 0 || fate.begins.is_none();
        let second = reopening.parted.filter(|_| is_second);
        let hosts = peer == reopening.host || second.is_some_and(|of| of.host == peer);
        let knows =
            |other: &usize| *other != peer && (hosts || fate.knows_all || *other == reopening.host);
        let known = (0..self.peers.len()).filter(knows).collect();
        let from = self.rejoin(peer, known, kept);
        let rules = super::rules::<W>();
        self.judge.returned(peer, &from);
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

/// Whether the others go on without this peer, which may come back.
fn goes_on_without(reason: &EndReason) -> bool {
    *reason == EndReason::Removed || is_contradicted(reason)
}

fn is_contradicted(reason: &EndReason) -> bool {
    matches!(reason, EndReason::Contradicted { .. })
}
