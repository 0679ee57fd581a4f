//! The processes of all peers die, and new runs of them go on with the match.

use super::schedule::Happening;
use super::{Playable, Scenario, Simulator};
use crate::random::Stream;
use lockstep::log::{Keyframe, Record};
use lockstep::session::{Input, Role};
use lockstep::{Contact, Rejoin};
use std::time::Duration;

/// The processes of all peers die, and how the match goes on.
#[derive(Clone, Debug)]
pub struct AllDie {
    /// When the first dies, after the match began.
    pub at: Duration,
    /// Who hosts the match then.
    pub host: usize,
    /// How long it waits for all.
    pub wait: Duration,
    /// By peer.
    pub deaths: Vec<Death>,
}

/// The death of one process.
#[derive(Clone, Copy, Debug)]
pub struct Death {
    /// So much later than the first.
    pub later: Duration,
    /// Turns at the end of its log that the disk has not taken.
    pub lost: u32,
    /// When another run of it begins, after all have died; `None` where none does.
    pub begins: Option<Duration>,
    /// That one knows where all were, not only where the host is.
    pub knows_all: bool,
}

/// Between the first death and the last nobody is suspected.
const ALL_WITHIN_MS: u64 = 300;
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
        let death = |peer: usize| {
            let away = peer != host && may_stay_away > 0 && random.chance(300);
            may_stay_away -= usize::from(away);
            let lost = match random.chance(400) {
                true => random.between(1, 4) as u32,
                false => 0,
            };
            Death {
                later: random.millis(0, ALL_WITHIN_MS),
                lost,
                begins: (!away).then(|| random.millis(0, 6_000)),
                knows_all: random.chance(500),
            }
        };
        let deaths = (0..count).map(death).collect();
        let healed = random.millis(1_000, 15_000);
        self.heal_at = at + healed;
        let turns = (at + GOES_ON).as_millis() / self.plan.turn().as_millis();
        self.turn_limit = self.turn_limit.max(turns as u32);
        self.all_die = Some(AllDie {
            at,
            host,
            // However bad the weather is, all who come have time to.
            wait: healed + random.millis(10_000, 15_000),
            deaths,
        });
    }
}

impl<W: Playable> Simulator<W> {
    /// All die, once all of them play.
    pub(super) fn all_die(&mut self) {
        let Some(all) = self.scenario.all_die.clone() else {
            return;
        };
        let files = (0..self.peers.len()).map(|peer| self.judge.peer(peer));
        let mut plays = files.map(|file| file.appended > 0);
        if !plays.all(|plays| plays) {
            let soon = self.now + Duration::from_secs(1);
            return self.schedule.add(soon, Happening::AllDie);
        }
        let dead = self.now + Duration::from_millis(ALL_WITHIN_MS);
        for (peer, death) in all.deaths.iter().enumerate() {
            let dies = self.now + death.later;
            self.schedule.add(dies, Happening::Crash(peer));
            if let Some(begins) = death.begins {
                self.begin_again += 1;
                self.schedule
                    .add(dead + begins, Happening::BeginAgain(peer));
            }
        }
    }

    /// Another run of a process begins, with what the disk has, to reopen the match or to come to where it is.
    pub(super) fn begin_again(&mut self, peer: usize) {
        self.begin_again -= 1;
        let Some(all) = self.scenario.all_die.clone() else {
            return;
        };
        let (log, keyframe) = self.on_disk(peer, all.deaths[peer].lost);
        self.judge.begins_again(peer, &log);
        let contact = |other: usize| Contact {
            peer: self.ids[other],
            addresses: vec![self.address(other)],
        };
        let hosts = peer == all.host;
        let knows = |other: &usize| {
            let all_of_them = hosts || all.deaths[peer].knows_all;
            *other != peer && (all_of_them || *other == all.host)
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
                wait: all.wait,
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
