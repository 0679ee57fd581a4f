//! The processes of all peers die, or of so many that the others stand still, and new runs of them go on with the match.

use super::schedule::Happening;
use super::{Playable, SUSPICION, Scenario, Simulator};
use crate::random::Stream;
use lockstep::log::{Keyframe, Record};
use lockstep::session::{Input, Role};
use lockstep::{Contact, EndReason, Rejoin};
use std::time::Duration;

/// The processes of so many peers die that nobody can go on, and how the match is reopened.
#[derive(Clone, Debug)]
pub struct Reopens {
    /// When the first dies, after the match began.
    pub at: Duration,
    /// Who hosts the match then.
    pub host: usize,
    /// How long it waits for all.
    pub wait: Duration,
    /// By peer.
    pub fates: Vec<Fate>,
}

/// What becomes of one process.
#[derive(Clone, Copy, Debug)]
pub struct Fate {
    /// It dies so much later than the first. `None` where it stands still with those who are left.
    pub dies: Option<Duration>,
    /// Turns at the end of its log that the disk has not taken.
    pub lost: u32,
    /// When another run of it begins, after all have died who do; who stands still leaves then, to begin anew. `None`
    /// where nobody begins one, unless it is told that it is removed.
    pub begins: Option<Duration>,
    /// That one knows where all were, not only where the host is.
    pub knows_all: bool,
}

/// Between the first death and the last nobody is suspected, unless the first is meant to be.
const ALL_WITHIN_MS: u64 = 300;
/// Whoever is told that the match goes on without it comes back so much later.
const COMES_BACK: Duration = Duration::from_secs(1);
/// A match goes on for so long after it.
const GOES_ON: Duration = Duration::from_secs(15);

impl Scenario {
    /// All die, and nothing else goes wrong than the weather. More than half come back to it.
    pub(super) fn draw_all_die(&mut self, random: &mut Stream) {
        self.nothing_goes_wrong();
        let count = self.peers.len();
        let host = random.below(count as u64) as usize;
        let at = random.millis(4_000, 12_000);
        let mut may_stay_away = (count - 1) / 2;
        let fate = |peer: usize| {
            let away = peer != host && may_stay_away > 0 && random.chance(300);
            may_stay_away -= usize::from(away);
            let lost = match random.chance(400) {
                true => random.between(1, 4) as u32,
                false => 0,
            };
            Fate {
                dies: Some(random.millis(0, ALL_WITHIN_MS)),
                lost,
                begins: (!away).then(|| random.millis(0, 6_000)),
                knows_all: random.chance(500),
            }
        };
        let fates = (0..count).map(fate).collect();
        let healed = random.millis(1_000, 15_000);
        self.heal_at = at + healed;
        self.lasts(at + GOES_ON);
        self.reopens = Some(Reopens {
            at,
            host,
            // However bad the weather is, all who come have time to.
            wait: healed + random.millis(10_000, 15_000),
            fates,
        });
    }

    /// So many die that those who are left stand still, and whoever comes back to them follows. One of those who died, or
    /// who stand still, hosts the match again. More than half come to it, without those who died before the others.
    pub(super) fn draw_too_few_left(&mut self, random: &mut Stream) {
        let count = self.peers.len();
        if count < 3 {
            return;
        }
        self.nothing_goes_wrong();
        let early = usize::from(count > 4 && random.chance(300));
        let mut may_miss_it = (count - 1) / 2 - early;
        let mut may_live = (count - 1 - early) / 2;
        let host = random.below(count as u64) as usize;
        let mut fates = Vec::new();
        for peer in 0..count {
            // At least one lives. Where the first dies early, it is the one behind the host, who lives: those who die when
            // the others go on without that one may not have recorded it, and would not reopen a match that went on.
            let is_early = early > 0 && peer == (host + 1) % count;
            let nobody = fates.iter().all(|fate: &Fate| fate.dies.is_some());
            let must = match early {
                0 => nobody && peer + 1 == count,
                _ => peer == host,
            };
            let left = may_live - usize::from(early > 0 && peer < host);
            let lives = must || !is_early && left > 0 && random.chance(400);
            may_live -= usize::from(lives);
            let misses = peer != host
                && !is_early
                && may_miss_it > 0
                && random.chance(if lives { 700 } else { 200 });
            may_miss_it -= usize::from(misses);
            let dies = match is_early {
                true => Duration::ZERO,
                false => random.millis(0, ALL_WITHIN_MS) + SUSPICION * early as u32,
            };
            let lost = if random.chance(300) {
                random.between(1, 4) as u32
            } else {
                0
            };
            let comes_within = random.pick(&[2_000, 15_000]);
            fates.push(Fate {
                dies: (!lives).then_some(dies),
                lost: if lives { 0 } else { lost },
                begins: (!misses).then(|| random.millis(0, comes_within)),
                knows_all: lives || random.chance(500),
            });
        }
        let at = random.millis(4_000, 12_000);
        let healed = random.millis(1_000, 15_000);
        self.heal_at = at + healed;
        self.lasts(at + GOES_ON * 2);
        let begins = fates.iter().filter_map(|fate| fate.begins);
        let latest = begins.max().unwrap_or_default();
        self.reopens = Some(Reopens {
            at,
            host,
            // Who stands still leaves later, and may take a while to.
            wait: latest + healed + SUSPICION * 5 + random.millis(10_000, 15_000),
            fates,
        });
        if random.chance(400) {
            self.draw_sequel(random);
            // Before that others die by plan.
            self.sequel.iter_mut().for_each(|sequel| sequel.back = true);
        }
    }
}

impl<W: Playable> Simulator<W> {
    /// All die that do, once all of them play.
    pub(super) fn many_die(&mut self) {
        let Some(reopens) = self.scenario.reopens.clone() else {
            return;
        };
        let files = (0..self.peers.len()).map(|peer| self.judge.peer(peer));
        let mut plays = files.map(|file| file.appended > 0);
        if !plays.all(|plays| plays) {
            let soon = self.now + Duration::from_secs(1);
            return self.schedule.add(soon, Happening::ManyDie);
        }
        let deaths = reopens.fates.iter().filter_map(|fate| fate.dies);
        let last = deaths.max().unwrap_or_default();
        let dead = self.now + last.max(Duration::from_millis(ALL_WITHIN_MS));
        for (peer, fate) in reopens.fates.iter().enumerate() {
            if let Some(later) = fate.dies {
                self.schedule.add(self.now + later, Happening::Crash(peer));
            }
            let Some(begins) = fate.begins else {
                continue;
            };
            match fate.dies {
                Some(_) => self.begins_again_at(dead + begins, peer),
                // Time to see that nobody else is left.
                None => self
                    .schedule
                    .add(dead + SUSPICION * 2 + begins, Happening::Leave(peer)),
            }
        }
    }

    fn begins_again_at(&mut self, at: Duration, peer: usize) {
        self.begin_again += 1;
        self.schedule.add(at, Happening::BeginAgain(peer));
    }

    /// Whoever stood still and has left comes back, to the others who do; and whoever is told that the match goes on without
    /// it, to where they play.
    pub(super) fn comes_back_to_reopened(&mut self, peer: usize, reason: &EndReason) {
        let Some(reopens) = &self.scenario.reopens else {
            return;
        };
        let stood = reopens.fates[peer].dies.is_none() && self.peers[peer].run == 0;
        if *reason == EndReason::Removed || *reason == EndReason::Left && stood {
            self.begins_again_at(self.now + COMES_BACK, peer);
        }
    }

    /// Another run of a process begins, with what the disk has, to reopen the match or to come to where it is.
    pub(super) fn begin_again(&mut self, peer: usize) {
        self.begin_again -= 1;
        let Some(reopens) = self.scenario.reopens.clone() else {
            return;
        };
        let fate = reopens.fates[peer];
        let (log, keyframe) = self.on_disk(peer, fate.lost);
        self.judge.begins_again(peer, &log);
        let contact = |other: usize| Contact {
            peer: self.ids[other],
            addresses: vec![self.address(other)],
        };
        let hosts = peer == reopens.host;
        let knows = |other: &usize| {
            let all_of_them = hosts || fate.knows_all;
            *other != peer && (all_of_them || *other == reopens.host)
        };
        let from = Rejoin {
            match_id: self.match_id,
            contacts: (0..self.peers.len()).filter(knows).map(contact).collect(),
            log,
            keyframe,
        };
        let rules = super::rules::<W>();
        let role = match hosts {
            true => Role::Reopen {
                from,
                rules,
                wait: reopens.wait,
            },
            false => Role::Rejoin { from, rules },
        };
        self.begin_run(peer, role);
        self.feed(peer, Input::Timeout);
    }

    /// What a process that died has on disk, where the last turns were not written.
    fn on_disk(&self, peer: usize, lost: u32) -> (Vec<Record>, Option<Keyframe>) {
        let (mut log, keyframe) = self.judge.peer(peer).kept();
        let is_turn = |record: &Record| matches!(record, Record::Bundle(_));
        let turns = log.iter().filter(|record| is_turn(record)).count() as u32;
        let left = turns.saturating_sub(lost);
        let beyond =
            |record: &Record| matches!(record, Record::Bundle(bundle) if bundle.turn.0 >= left);
        let end = log.iter().position(beyond).unwrap_or(log.len());
        log.truncate(end);
        (log, keyframe.filter(|keyframe| keyframe.turns <= left))
    }
}
