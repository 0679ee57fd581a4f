//! What every seed draws: peers, plan, weather, and faults that end at healing.

use super::{Fault, Hostile, Over, PeerPlan, Scenario, Ways, Weather, Workload};
use crate::random::Stream;
use lockstep::Plan;
use lockstep::log::{Absent, OnDesync, OnSlow, PauseBudget};
use std::time::Duration;

/// Scenarios of 1,000 in which batches are signed with Ed25519, which takes three times as long,
const ED25519: u32 = 21;
/// and those in which players issue garbage.
const CLUMSY: u32 = 250;
/// Scenarios of 1,000 in which plans follow the links.
const ADAPTIVE: u32 = 600;
/// Of 1,000 of these in which all peers are calm, those in which one lies of its links.
const LIES_OF_LINKS: u32 = 150;
/// Time for a slow machine to catch up afterwards.
const WORKS_OFF: Duration = Duration::from_secs(12);

impl Scenario {
    /// The scenario of a seed.
    pub fn draw(seed: u64) -> Scenario {
        let mut scenario = Scenario::draw_fixed(seed);
        if Stream::new(seed, "adaptive", 0).chance(ADAPTIVE) {
            scenario.adapts(&mut Stream::new(seed, "swings", 0));
        }
        scenario
    }

    /// The same with a plan that stays as it is.
    pub fn draw_fixed(seed: u64) -> Scenario {
        let mut scenario = Scenario::draw_frame(seed);
        let enough = scenario.peers.len() > 2;
        match seed % 20 {
            8 if enough => scenario.draw_too_few_left(&mut Stream::new(seed, "too few left", 0)),
            9 if seed % 40 == 29 && scenario.peers.len() > 3 => {
                scenario.draw_outlived(&mut Stream::new(seed, "outlived", 0));
            }
            9 => scenario.draw_all_die(&mut Stream::new(seed, "all die", 0)),
            10 if enough => {
                scenario.draw_return_and_aftermath(&mut Stream::new(seed, "aftermath", 0))
            }
            4 if seed % 80 == 24 => {
                scenario.draw_evictor(&mut Stream::new(seed, "evictor", 0));
            }
            16 if seed % 80 == 56 => {
                scenario.draw_long_lie(&mut Stream::new(seed, "long lie", 0));
            }
            17 if seed % 80 == 37 => {
                scenario.draw_parted(&mut Stream::new(seed, "parted", 0));
            }
            _ => {
                scenario.draw_slow_machines(&mut Stream::new(seed, "slow machines", 0));
                scenario.draw_freezes(&mut Stream::new(seed, "freezes", 0));
                scenario.draw_cuts(&mut Stream::new(seed, "cuts", 0));
                scenario.draw_mishaps(&mut Stream::new(seed, "mishaps", 0));
                scenario.draw_outsiders(&mut Stream::new(seed, "outsiders", 0));
            }
        }
        for peer in &mut scenario.peers {
            peer.faults.sort_by_key(|(at, _)| *at);
        }
        scenario
    }

    /// The same with signers and garbage by the number of the seed.
    pub fn by_number(self) -> Scenario {
        Scenario {
            ed25519: self.seed % 48 == 15,
            clumsy: self.seed % 4 == 1,
            ..self
        }
    }

    /// All but the faults.
    fn draw_frame(seed: u64) -> Scenario {
        let random = &mut Stream::new(seed, "scenario", 0);
        let count = random.between(2, 8) as usize;
        let heal_at = random.millis(4_000, 16_000);
        let mut scenario = Scenario {
            seed,
            ed25519: Stream::new(seed, "signer", 0).chance(ED25519),
            clumsy: Stream::new(seed, "clumsy", 0).chance(CLUMSY),
            over: Over::default(),
            peers: (0..count).map(|at| draw_peer(random, at, count)).collect(),
            plan: draw_plan(random),
            turn_limit: 20,
            weather: draw_weather(random),
            heal_at,
            unreachable: Vec::new(),
            transport_knows: random.chance(700),
            stranger: random.chance(40),
            on_slow: OnSlow::Meter,
            on_desync: random.pick(&[
                OnDesync::RemoveMinority,
                OnDesync::RemoveMinority,
                OnDesync::Pause,
            ]),
            absent: random.pick(&[Absent::Idle, Absent::Ai]),
            adaptive: false,
            pauses: draw_pauses(&mut Stream::new(seed, "pauses", 0)),
            extends: random.chance(120),
            reopening: None,
            aftermath: None,
        };
        // Where a plan does not fit the links, all peers are charged for late turns.
        let jitter = &mut scenario.weather.jitter;
        *jitter = (*jitter).min(scenario.plan.turn() * u32::from(scenario.plan.delay_turns));
        scenario.lasts_beyond_healing(random.millis(10_000, 22_000));
        scenario
    }

    /// Plans follow the links, and the match is as long.
    fn adapts(&mut self, random: &mut Stream) {
        let lasts = self.plan.turn() * self.turn_limit;
        self.adaptive = true;
        self.turn_limit = (lasts.as_millis() / self.shortest_turn().as_millis()) as u32;
        let heal_at = self.heal_at.as_millis() as u64;
        for peer in 0..self.peers.len() {
            // A step, a spike, or a drift.
            let (parts, longest, most) = match random.below(10) {
                0..2 => (1, heal_at, 200),
                2..4 => (1, 400, 300),
                4 => (8, 1_500, 25),
                _ => continue,
            };
            let (lasts, more) = (random.between(100, longest), random.between(10, most));
            let from = random.between(0, heal_at);
            for part in 0..parts {
                let at = from + lasts * part;
                let lasts = lasts.min(heal_at.saturating_sub(at));
                let more = Duration::from_millis(more * (part + 1));
                let swing = Fault::Swing {
                    lasts: Duration::from_millis(lasts),
                    more,
                };
                self.add_fault(peer, Duration::from_millis(at), swing);
            }
        }
        for peer in &mut self.peers {
            peer.faults.sort_by_key(|(at, _)| *at);
        }
        let all_calm = (0..self.peers.len()).all(|peer| self.is_calm(peer));
        let others = self.reopening.is_none() && self.aftermath.is_none() && !self.stranger;
        if all_calm && others && self.peers.len() > 2 && random.chance(LIES_OF_LINKS) {
            let liar = random.below(self.peers.len() as u64) as usize;
            let acknowledges = random.chance(300);
            self.peers[liar].hostile = Some(Hostile::LiesOfLinks { acknowledges });
        }
    }

    /// Makes the match last at least this long after healing.
    pub(super) fn lasts_beyond_healing(&mut self, beyond: Duration) {
        let turns = (self.heal_at + beyond).as_millis() / self.plan.turn().as_millis();
        self.turn_limit = self.turn_limit.max(turns as u32);
    }

    /// Postpones healing to this time, at least.
    pub(super) fn heals_after(&mut self, at: Duration) {
        let beyond = self.plan.turn() * self.turn_limit;
        let beyond = beyond.saturating_sub(self.heal_at);
        self.heal_at = self.heal_at.max(at);
        self.lasts_beyond_healing(beyond);
    }

    pub(super) fn add_fault(&mut self, peer: usize, at: Duration, fault: Fault) {
        self.peers[peer].faults.push((at, fault));
    }

    /// Machines that take longer for a tick than the match allows.
    fn draw_slow_machines(&mut self, random: &mut Stream) {
        if !random.chance(130) {
            return;
        }
        for _ in 0..random.between(1, 2) {
            let peer = random.below(self.peers.len() as u64) as usize;
            let longest = random.pick(&[25_000, 40_000]);
            let (at, lasts) = (random.millis(0, 8_000), random.millis(500, longest));
            let step = self.slow_step(random);
            self.add_fault(peer, at, Fault::Slow { lasts, step });
            self.heals_after(at + lasts + WORKS_OFF);
        }
    }

    /// The time that a slow machine takes for a tick.
    pub(super) fn slow_step(&self, random: &mut Stream) -> Duration {
        self.plan.tick() * random.between(11, 38) as u32 / 10
    }

    /// Processes that stop for a while, or machines that sleep.
    fn draw_freezes(&mut self, random: &mut Stream) {
        if !random.chance(250) {
            return;
        }
        let count = self.peers.len();
        let longest = random.pick(&[2_500, 2_500, 12_000, 60_000]);
        let lasts = random.millis(200, longest);
        let at = random.millis(0, self.heal_at.as_millis() as u64);
        let one = random.below(count as u64) as usize;
        let victims = match random.below(4) {
            // All peers on one machine.
            0 => 0..count,
            1 => 0..count.div_ceil(2),
            _ => one..one + 1,
        };
        for victim in victims {
            let at = at + random.millis(0, 300);
            self.add_fault(victim, at, Fault::Freeze(lasts));
            self.heals_after(at + lasts);
        }
    }

    /// Cuts, and pairs of guests without a link.
    fn draw_cuts(&mut self, random: &mut Stream) {
        let count = self.peers.len() as u64;
        if random.chance(400) {
            for _ in 0..random.between(1, 3) {
                let at = random.millis(0, self.heal_at.as_millis() as u64);
                let longest = random.pick(&[800, 4_000, 15_000]);
                let lasts = random.millis(100, longest);
                let peer = random.below(count) as usize;
                let cut = self.draw_cut(random, peer, lasts);
                self.add_fault(peer, at, cut);
                self.heals_after(at + lasts);
            }
        }
        if random.chance(200) {
            let share = random.pick(&[120, 400]);
            for one in 1..self.peers.len() {
                for other in one + 1..self.peers.len() {
                    if random.chance(share) {
                        self.unreachable.push((one, other));
                    }
                }
            }
        }
    }

    /// A cut between a peer and one or all others, in one or both directions.
    pub(super) fn draw_cut(&self, random: &mut Stream, peer: usize, lasts: Duration) -> Fault {
        let mut others: Vec<usize> = (0..self.peers.len()).filter(|at| *at != peer).collect();
        if random.chance(500) {
            others = vec![random.pick(&others)];
        }
        let ways = random.pick(&[Ways::Both, Ways::Both, Ways::In, Ways::Out]);
        Fault::Cut {
            lasts,
            others,
            ways,
        }
    }

    /// Full disks, clock jumps, address changes, pauses.
    fn draw_mishaps(&mut self, random: &mut Stream) {
        let healed = self.heal_at.as_millis() as u64;
        let count = self.peers.len() as u64;
        for peer in 0..self.peers.len() {
            if random.chance(150) {
                self.peers[peer].log_takes = Some(random.between(1, 400) as u32);
            }
            if random.chance(60) {
                let longest = random.pick(&[300, 900, 5_000, 100_000]);
                let by = random.millis(20, longest);
                self.add_fault(peer, random.millis(0, healed), Fault::Jump(by));
            }
        }
        // A peer that others cannot dial must keep its address.
        if self.unreachable.is_empty() && random.chance(120) {
            let at = random.millis(0, healed);
            self.add_fault(random.below(count) as usize, at, Fault::Move);
            self.heals_after(at + super::SUSPICION);
        }
        if random.chance(250) {
            let (at, lasts) = (random.millis(0, healed), random.millis(200, 6_000));
            self.add_fault(random.below(count) as usize, at, Fault::Pause(lasts));
        }
    }
}

fn draw_plan(random: &mut Stream) -> Plan {
    if random.chance(500) {
        return Plan::default();
    }
    Plan {
        ticks: random.pick(&[1, 2, 4]),
        delay_turns: random.between(2, 6) as u8,
        tick_ms: random.pick(&[33, 50, 50, 100]),
    }
}

/// The default terms allow longer pauses than any that is drawn.
fn draw_pauses(random: &mut Stream) -> PauseBudget {
    match random.chance(500) {
        true => PauseBudget::default(),
        false => PauseBudget {
            pauses: random.between(1, 3) as u8,
            seconds: random.between(1, 4) as u16,
        },
    }
}

pub(super) fn draw_peer(random: &mut Stream, at: usize, count: usize) -> PeerPlan {
    let most_seats = (16 / count as u64).min(3);
    PeerPlan {
        seats: random.between(1, most_seats) as u8,
        begins_at: match at {
            0 => Duration::ZERO,
            _ => random.millis(10, 3_000),
        },
        drift_ppm: random.between(0, 1_000) as i32 - 500,
        load: random.pick(&[0, 50, 2_500]) * Duration::from_millis(1),
        step: random.pick(&[0, 100, 4_000]) * Duration::from_micros(1),
        workload: match random.below(8) {
            0..2 => Workload::Idle,
            2..6 => Workload::Steady(random.millis(60, 1_500)),
            6 => Workload::Bursts(random.between(2, 30), random.millis(1_000, 4_000)),
            _ => Workload::Large(random.millis(150, 1_500)),
        },
        chats_every: random.chance(150).then(|| random.millis(1_200, 5_000)),
        keyframe_every: random.chance(400).then(|| random.millis(500, 9_000)),
        ..PeerPlan::default()
    }
}

fn draw_weather(random: &mut Stream) -> Weather {
    let mut weather = Weather {
        delay: random.millis(1, 90),
        burst: random.between(1, 6) as u32,
        ..Weather::default()
    };
    if random.chance(600) {
        weather.jitter = random.millis(0, 200);
    }
    if random.chance(600) {
        weather.loss = random.below(300) as u32;
    }
    if random.chance(400) {
        weather.duplicate = random.below(500) as u32;
    }
    if random.chance(400) {
        weather.reorder = random.below(300) as u32;
    }
    if random.chance(500) {
        weather.corrupt = random.below(100) as u32;
    }
    weather
}
