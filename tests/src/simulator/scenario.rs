//! What one seed plays: everything that differs from run to run is drawn here.

use super::{Reopens, SUSPICION, Sequel};
use crate::random::Stream;
use lockstep::Plan;
use lockstep::log::{Absent, OnDesync, OnSlow};
use std::time::Duration;

/// One run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The seed that all of it comes from.
    pub seed: u64,
    /// Whether batches are signed with Ed25519 rather than the keyed hash.
    pub ed25519: bool,
    /// The peers; the first is the host.
    pub peers: Vec<PeerPlan>,
    /// The turn plan.
    pub plan: Plan,
    /// Turns of the match.
    pub turn_limit: u32,
    /// What the links do until [`heal_at`](Self::heal_at).
    pub weather: Weather,
    /// What carries the messages.
    pub over: Over,
    /// Faults end so long after the match began.
    pub heal_at: Duration,
    /// Links that go dark for a while.
    pub cuts: Vec<Cut>,
    /// Pairs of joiners that can never dial each other.
    pub unreachable: Vec<(usize, usize)>,
    /// Whether the transport tells whom a link leads to.
    pub transport_knows: bool,
    /// One world that goes wrong.
    pub flaw: Option<Flaw>,
    /// Somebody who wants to disturb.
    pub hostile: Option<Hostile>,
    /// What becomes of who is too slow.
    pub on_slow: OnSlow,
    /// What becomes of the match when worlds differ.
    pub on_desync: OnDesync,
    /// Who plays the seats of peers that are gone.
    pub absent: Absent,
    /// All players vote once in every stall to wait longer.
    pub patient: bool,
    /// The processes of all peers die, or of too many, and the match is reopened.
    pub reopens: Option<Reopens>,
    /// Somebody goes just after the roster has changed.
    pub sequel: Option<Sequel>,
}

/// One peer.
#[derive(Clone, Debug)]
pub struct PeerPlan {
    /// Its seats.
    pub seats: u8,
    /// When its process begins.
    pub begins_at: Duration,
    /// How fast its clock runs, in millionths too fast.
    pub drift_ppm: i32,
    /// Time to build the world.
    pub load: Duration,
    /// Time to step a tick.
    pub step: Duration,
    /// What its players do.
    pub workload: Workload,
    /// When it leaves, after the match began.
    pub leaves_at: Option<Duration>,
    /// When its machine is slow, after the match began.
    pub slow: Option<Slow>,
    /// When its process dies, after the match began.
    pub crashes_at: Option<Duration>,
    /// When its process stops, after the match began, and for how long.
    pub freeze: Option<(Duration, Duration)>,
    /// When its address changes, after the match began: what is under way to the old one is lost.
    pub moves_at: Option<Duration>,
    /// When its clock jumps ahead, after the match began, and how far.
    pub jump: Option<(Duration, Duration)>,
    /// Records that its log takes before the disk is full.
    pub log_takes: Option<u32>,
    /// When another run of that process begins and wants to come back, after the match began, and whether it has the
    /// log of the one that died.
    pub returns: Option<(Duration, bool)>,
    /// When it pauses the match, after the match began, and for how long.
    pub pause: Option<(Duration, Duration)>,
    /// Time between two chat texts, if it chats.
    pub chats_every: Option<Duration>,
    /// Time between keyframes of its log, if it wants any.
    pub keyframe_every: Option<Duration>,
}

/// A machine that is slow for a while.
#[derive(Clone, Copy, Debug)]
pub struct Slow {
    /// From when on.
    pub at: Duration,
    /// For how long.
    pub lasts: Duration,
    /// Time to step a tick meanwhile.
    pub step: Duration,
}

/// What the players of a peer do.
#[derive(Clone, Copy, Debug)]
pub enum Workload {
    /// Nothing.
    Idle,
    /// A command every so often.
    Steady(Duration),
    /// Many commands at one instant, every so often.
    Bursts(u64, Duration),
    /// Commands of about the largest allowed size.
    Large(Duration),
}

/// What links do, in parts per thousand where no unit is named.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weather {
    /// Shortest one-way delay.
    pub delay: Duration,
    /// Random delay on top, at most.
    pub jitter: Duration,
    /// Datagrams lost on average.
    pub loss: u32,
    /// How many in a row are lost, on average.
    pub burst: u32,
    /// Datagrams that arrive twice.
    pub duplicate: u32,
    /// Datagrams that are held back behind later ones.
    pub reorder: u32,
    /// Packets of which some bits arrive inverted; over messages there are none.
    pub corrupt: u32,
}

/// What carries the messages of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Over {
    /// A model of links, which moves whole messages.
    #[default]
    Messages,
    /// The real QUIC and TLS, whose packets the network carries.
    Quic,
}

/// A link direction or more that goes dark for a while.
#[derive(Clone, Debug)]
pub struct Cut {
    /// When it begins, after the match began.
    pub at: Duration,
    /// How long it lasts.
    pub lasts: Duration,
    /// Directed pairs of peers that are cut.
    pub lanes: Vec<(usize, usize)>,
}

/// A world that goes wrong.
#[derive(Clone, Copy, Debug)]
pub struct Flaw {
    /// Whose.
    pub peer: usize,
    /// After which turn.
    pub turn: u32,
}

/// Somebody who wants to disturb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hostile {
    /// A stranger without a ticket dials everybody and sends garbage.
    Stranger,
    /// The last peer of the match adds garbage to what it sends.
    Garbage,
    /// The last peer signs batches that it must not sign.
    Forger,
    /// The last peer signs two different batches for some turns, and shows one half of the others the one, the other
    /// half the other.
    Equivocator(Equivocator),
    /// The last peer tells everybody the same that is not so, and signs no second batch.
    Liar(Lie),
}

/// What somebody says that is not so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// A checksum of its world after so many turns.
    World(u32),
    /// A hash of its log after so many turns, and after all that follow.
    Log(u32),
}

/// When somebody signs two batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Equivocator {
    /// The first turn.
    pub from: u32,
    /// How many turns.
    pub turns: u32,
}

/// After the last machine has become fast, ticks are as short as at the start within this time: what lay behind is
/// worked off, measured twice, and ten seconds must have passed since.
pub const RECOVERS_WITHIN: Duration = Duration::from_secs(40);

impl Scenario {
    /// The scenario of a seed.
    pub fn draw(seed: u64) -> Scenario {
        let random = &mut Stream::new(seed, "scenario", 0);
        let count = match (random.between(2, 8) as usize, seed % 60) {
            // Two, of whom one will stray: nobody knows which.
            (_, 53) => 2,
            (count, _) => count,
        };
        let plan = draw_plan(random);
        let seconds = random.between(8, 40);
        let turn_limit = (seconds * 1_000 / plan.turn().as_millis() as u64).max(20) as u32;
        let mut scenario = Scenario {
            seed,
            ed25519: seed % 16 == 15,
            peers: (0..count).map(|at| draw_peer(random, at, count)).collect(),
            plan,
            turn_limit,
            weather: draw_weather(random),
            over: Over::default(),
            heal_at: Duration::from_secs(seconds / 2),
            cuts: Vec::new(),
            unreachable: Vec::new(),
            transport_knows: random.chance(700),
            flaw: None,
            hostile: None,
            on_slow: OnSlow::Meter,
            on_desync: Stream::new(seed, "on desync", 0).pick(&[
                OnDesync::RemoveMinority,
                OnDesync::RemoveMinority,
                OnDesync::Pause,
            ]),
            absent: Stream::new(seed, "absent", 0).pick(&[Absent::Idle, Absent::Ai]),
            patient: false,
            reopens: None,
            sequel: None,
        };
        if random.chance(400) {
            scenario.draw_cuts(random);
        }
        // A peer that leaves must not take the only way between two others with it.
        match random.below(10) {
            0..3 => scenario.draw_unreachable(random),
            3..6 => scenario.draw_players_doings(random),
            _ => {}
        }
        if seed % 12 == 5 {
            let turn = random.between(1, u64::from(turn_limit) * 2 / 3) as u32;
            let peer = random.below(count as u64) as usize;
            scenario.flaw = Some(Flaw { peer, turn });
            // The host goes with it, and would take the only way between two others along.
            if peer == 0 {
                scenario.unreachable.clear();
            }
            scenario
                .peers
                .iter_mut()
                .for_each(|peer| peer.leaves_at = None);
        }
        if seed % 10 == 7 {
            scenario.hostile =
                Some(random.pick(&[Hostile::Stranger, Hostile::Garbage, Hostile::Forger]));
            scenario.flaw = None;
        }
        let corruption = &mut Stream::new(seed, "corruption", 0);
        if corruption.chance(500) {
            scenario.weather.corrupt = corruption.below(100) as u32;
        }
        if seed % 10 == 3 && count > 2 {
            scenario.draw_equivocator(&mut Stream::new(seed, "equivocator", 0));
        }
        if seed % 20 == 14 && count > 2 {
            scenario.draw_liar(&mut Stream::new(seed, "liar", 0));
        }
        scenario.draw_slow_machines(&mut Stream::new(seed, "slow machines", 0));
        scenario.draw_crashes(&mut Stream::new(seed, "crashes", 0));
        scenario.draw_freezes(&mut Stream::new(seed, "freezes", 0));
        scenario.draw_returns(&mut Stream::new(seed, "returns", 0));
        scenario.draw_mishaps(&mut Stream::new(seed, "mishaps", 0));
        scenario.draw_loss_beside_hostile(&mut Stream::new(seed, "beside the hostile", 0));
        if seed % 20 == 9 {
            scenario.draw_all_die(&mut Stream::new(seed, "all die", 0));
        }
        if seed % 20 == 8 {
            scenario.draw_too_few_left(&mut Stream::new(seed, "too few left", 0));
        }
        if seed % 20 == 10 {
            scenario.draw_sequel_to_return(&mut Stream::new(seed, "sequel", 0));
        }
        scenario
    }

    /// Processes that die. But for cuts, who is left is always a quorum, and can always reach each other: the others
    /// must go on.
    fn draw_crashes(&mut self, random: &mut Stream) {
        let strangers = self.on_slow == OnSlow::Remove;
        let calm = self.is_hostile(self.peers.len() - 1) || strangers || self.flaw.is_some();
        if calm || !random.chance(600) {
            return;
        }
        let count = self.peers.len();
        // Between two that cannot dial each other the host must stay.
        let first = usize::from(!self.unreachable.is_empty());
        let whole_match = self.plan.turn() * self.turn_limit;
        let mode = random.below(4);
        let mut at = random.millis(0, self.heal_at.as_millis() as u64);
        let mut roster: Vec<usize> = (0..count).collect();
        for _ in 0..random.between(1, 3) {
            let victim = random.between(first as u64, count as u64 - 1) as usize;
            let goes = |peer: &&usize| {
                let plan = &self.peers[**peer];
                **peer == victim || plan.leaves_at.is_some() || plan.crashes_at.is_some()
            };
            let survivors = roster.iter().filter(|peer| !goes(peer)).count();
            // Of the others nobody knows here who has the lowest seat.
            let tie_break = roster[0] == 0 && !goes(&&0);
            let dead = self.peers[victim].crashes_at.is_some();
            if dead || 2 * survivors + usize::from(tie_break) <= roster.len() {
                continue;
            }
            self.peers[victim].crashes_at = Some(at);
            at = match mode {
                // All at one moment.
                0 => at,
                // While the others agree to go on without the one before.
                1 => at + SUSPICION + random.millis(0, 1_500),
                // One after another: each time a quorum of those who are left is enough.
                2 => {
                    roster.retain(|peer| *peer != victim);
                    at + 3 * SUSPICION
                }
                // At any time, right before the end too.
                _ => random.millis(0, whole_match.as_millis() as u64),
            };
        }
    }

    /// Machines that take longer for a tick than the match has for it. The match is long enough to see it recover.
    fn draw_slow_machines(&mut self, random: &mut Stream) {
        if self.hostile.is_some() || self.flaw.is_some() || !random.chance(200) {
            return;
        }
        let tick = self.plan.tick();
        for _ in 0..random.between(1, 2) {
            let peer = random.below(self.peers.len() as u64) as usize;
            let slow = Slow {
                at: random.millis(0, 10_000),
                lasts: random.millis(500, 25_000),
                step: tick * random.between(11, 38) as u32 / 10,
            };
            self.heal_at = self.heal_at.max(slow.at + slow.lasts);
            self.peers[peer].slow = Some(slow);
        }
        self.draw_strangers(random);
        let length = self.heal_at + RECOVERS_WITHIN + Duration::from_secs(5);
        let turns = length.as_millis() / self.plan.turn().as_millis();
        self.turn_limit = self.turn_limit.max(turns as u32);
    }

    /// Strangers, who remove who is slow for long. Were others lost as well, the rest might be no quorum.
    fn draw_strangers(&mut self, random: &mut Stream) {
        if !random.chance(350) {
            return;
        }
        self.on_slow = OnSlow::Remove;
        self.cuts.clear();
        self.unreachable.clear();
        for peer in &mut self.peers {
            peer.leaves_at = None;
            if let Some(slow) = &mut peer.slow {
                slow.lasts = slow.lasts.max(random.millis(5_000, 40_000));
                self.heal_at = self.heal_at.max(slow.at + slow.lasts);
            }
        }
    }

    /// Processes that stop for a while, or machines that sleep. All go on before it heals.
    fn draw_freezes(&mut self, random: &mut Stream) {
        let count = self.peers.len();
        let strangers = self.on_slow == OnSlow::Remove;
        let calm = self.is_hostile(count - 1) || strangers || self.flaw.is_some();
        if calm || !random.chance(350) {
            return;
        }
        let longest = random.pick(&[2_500, 2_500, 12_000, 60_000]);
        let lasts = random.millis(200, longest);
        let half = self.heal_at.as_millis() as u64;
        let at = random.millis(0, half);
        let victims = match random.below(4) {
            // A machine with all of them on it.
            0 => 0..count,
            1 => 0..count.div_ceil(2),
            _ => {
                let one = random.below(count as u64) as usize;
                one..one + 1
            }
        };
        for victim in victims {
            let peer = &mut self.peers[victim];
            let differs = random.millis(0, 300);
            if peer.crashes_at.is_none() && peer.leaves_at.is_none() {
                peer.freeze = Some((at + differs, lasts));
                self.heal_at = self.heal_at.max(at + differs + lasts);
            }
        }
    }

    /// Processes that die and begin anew, some faster than the others suspect that they are gone.
    fn draw_returns(&mut self, random: &mut Stream) {
        if !self.cuts.is_empty() {
            return;
        }
        for peer in &mut self.peers {
            let Some(at) = peer.crashes_at.filter(|_| random.chance(700)) else {
                continue;
            };
            let longest = random.pick(&[1_000, 5_000, 15_000]);
            peer.returns = Some((at + random.millis(50, longest), random.chance(500)));
        }
    }

    /// Whether all who die or leave may be missed at once.
    fn survivors_are_quorum(&self) -> bool {
        let goes = |plan: &&PeerPlan| plan.leaves_at.is_some() || plan.crashes_at.is_some();
        let survivors = self.peers.iter().filter(|plan| !goes(plan)).count();
        2 * survivors > self.peers.len()
    }

    /// What befalls machines: other addresses, clocks that jump, full disks; and players who wait.
    fn draw_mishaps(&mut self, random: &mut Stream) {
        if matches!(
            self.hostile,
            Some(Hostile::Equivocator(_) | Hostile::Liar(_))
        ) {
            return;
        }
        let half = self.heal_at.as_millis() as u64;
        let count = self.peers.len() as u64;
        self.patient = random.chance(150) && self.survivors_are_quorum();
        for peer in &mut self.peers {
            if random.chance(150) {
                peer.log_takes = Some(random.between(1, 400) as u32);
            }
            if random.chance(60) {
                let longest = random.pick(&[300, 900, 5_000, 100_000]);
                peer.jump = Some((random.millis(0, half), random.millis(20, longest)));
            }
        }
        // Who cannot be dialled by all must stay where it is.
        let quiet = self.unreachable.is_empty() && self.hostile.is_none();
        if quiet && random.chance(120) {
            let peer = &mut self.peers[random.below(count) as usize];
            if peer.crashes_at.is_none() && peer.freeze.is_none() {
                let at = random.millis(0, half);
                peer.moves_at = Some(at);
                self.heal_at = self.heal_at.max(at + SUSPICION);
            }
        }
    }

    /// Whether so many may be lost that nobody can decide to go on: who is cut off or stands still, and who dies.
    pub fn may_lose_quorum(&self) -> bool {
        let peers = || self.peers.iter();
        let freezes = peers().any(|peer| peer.freeze.is_some());
        (freezes || !self.cuts.is_empty()) && peers().any(|peer| peer.crashes_at.is_some())
    }

    /// Whether this peer is the hostile one.
    pub fn is_hostile(&self, peer: usize) -> bool {
        !matches!(self.hostile, None | Some(Hostile::Stranger)) && peer + 1 == self.peers.len()
    }

    /// Two histories, some of them at the very end of the match.
    fn draw_equivocator(&mut self, random: &mut Stream) {
        let limit = u64::from(self.turn_limit);
        let delay = u64::from(self.plan.delay_turns);
        let from = match random.chance(250) {
            true => random.between(limit - delay - 4, limit - 1),
            false => random.between(2, limit / 3),
        };
        let (from, turns) = (from as u32, random.pick(&[1, 2, 3, 8]));
        self.is_disturbed_by(Hostile::Equivocator(Equivocator { from, turns }));
    }

    /// A hostile member dies, or besides it one of the others dies or stands still. Whoever is left without these two is
    /// a quorum, and all of them can reach each other.
    fn draw_loss_beside_hostile(&mut self, random: &mut Stream) {
        let count = self.peers.len();
        let others = count - 1;
        if !self.is_hostile(others) || 2 * others <= count || !random.chance(500) {
            return;
        }
        self.cuts.clear();
        self.unreachable.clear();
        for peer in &mut self.peers {
            (peer.leaves_at, peer.moves_at) = (None, None);
        }
        let at = random.millis(0, self.heal_at.as_millis() as u64);
        if 2 * (others - 1) <= count || random.chance(200) {
            // Soon after it has signed two batches, of which some know one, and some the other.
            let at = match self.hostile {
                Some(Hostile::Equivocator(when)) => {
                    self.plan.turn() * when.from.saturating_sub(4) + random.millis(0, 2_000)
                }
                _ => at,
            };
            self.peers[others].crashes_at = Some(at);
            return;
        }
        let two_from = match self.hostile {
            Some(Hostile::Equivocator(when)) => Some(self.plan.turn() * when.from),
            _ => None,
        };
        let two_from = two_from.filter(|at| *at < self.heal_at);
        let victim = &mut self.peers[random.below(others as u64) as usize];
        if random.chance(300) {
            let longest = random.pick(&[2_500, 12_000]);
            let lasts = random.millis(200, longest);
            victim.freeze = Some((at, lasts));
            self.heal_at = self.heal_at.max(at + lasts);
            return;
        }
        victim.crashes_at = Some(at);
        if random.chance(600) {
            let longest = random.pick(&[1_000, 5_000, 15_000]);
            victim.returns = Some((at + random.millis(50, longest), random.chance(500)));
        }
        if let (Some(turn_at), true) = (two_from, random.chance(500)) {
            // It is let in again about when there are two histories; for three seconds everybody waited for it.
            let at = turn_at.saturating_sub(random.millis(500, 8_000));
            let back_at = turn_at + Duration::from_secs(3) - random.millis(0, 3_000);
            victim.crashes_at = Some(at);
            victim.returns = Some((back_at.max(at + Duration::from_millis(50)), false));
        }
    }

    fn draw_liar(&mut self, random: &mut Stream) {
        let turns = random.between(1, u64::from(self.turn_limit) * 2 / 3) as u32;
        let lie = random.pick(&[Lie::World(turns), Lie::Log(turns)]);
        self.is_disturbed_by(Hostile::Liar(lie));
    }

    /// Nothing else goes wrong than the weather.
    fn is_disturbed_by(&mut self, hostile: Hostile) {
        self.hostile = Some(hostile);
        self.flaw = None;
        self.cuts.clear();
        for peer in &mut self.peers {
            peer.leaves_at = None;
        }
    }

    /// But for the weather nothing goes wrong of what was drawn before.
    pub(super) fn nothing_goes_wrong(&mut self) {
        self.flaw = None;
        self.cuts.clear();
        self.unreachable.clear();
        self.patient = false;
        self.on_slow = OnSlow::Meter;
        for peer in &mut self.peers {
            peer.leaves_at = None;
            peer.slow = None;
            peer.crashes_at = None;
            peer.freeze = None;
            peer.moves_at = None;
            peer.jump = None;
            peer.log_takes = None;
            peer.returns = None;
            peer.pause = None;
        }
    }

    /// Cuts with a beginning in the first half of the match; all are over when it heals.
    fn draw_cuts(&mut self, random: &mut Stream) {
        let count = self.peers.len();
        for _ in 0..random.between(1, 3) {
            let at = random.millis(0, self.heal_at.as_millis() as u64);
            let longest = random.pick(&[800, 4_000, 15_000]);
            let lasts = random.millis(100, longest);
            let one = random.below(count as u64) as usize;
            let other = (one + random.between(1, count as u64 - 1) as usize) % count;
            let lanes = match random.below(4) {
                0 => vec![(one, other)],
                1 => vec![(one, other), (other, one)],
                2 => lanes_of(one, count).collect(),
                _ => lanes_of(one, count).filter(|lane| lane.0 == one).collect(),
            };
            self.heal_at = self.heal_at.max(at + lasts);
            self.cuts.push(Cut { at, lasts, lanes });
        }
    }

    /// Pairs without a link; everybody keeps a link to the host.
    fn draw_unreachable(&mut self, random: &mut Stream) {
        for one in 1..self.peers.len() {
            for other in one + 1..self.peers.len() {
                if random.chance(500) {
                    self.unreachable.push((one, other));
                }
            }
        }
    }

    fn draw_players_doings(&mut self, random: &mut Stream) {
        let half = self.heal_at.as_millis() as u64;
        let count = self.peers.len();
        if random.chance(500) {
            let peer = random.below(count as u64) as usize;
            self.peers[peer].pause = Some((random.millis(0, half), random.millis(200, 6_000)));
        }
        if random.chance(700) {
            for peer in 0..count {
                if random.chance(300) {
                    // Who is cut off can tell nobody that it leaves.
                    let least = if self.cuts.is_empty() { 0 } else { half };
                    self.peers[peer].leaves_at = Some(random.millis(least, half * 2));
                }
            }
            if self.peers.iter().all(|peer| peer.leaves_at.is_some()) {
                self.peers[count - 1].leaves_at = None;
            }
        }
    }
}

fn lanes_of(one: usize, count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count)
        .filter(move |other| *other != one)
        .flat_map(move |other| [(one, other), (other, one)])
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

fn draw_peer(random: &mut Stream, at: usize, count: usize) -> PeerPlan {
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
        leaves_at: None,
        slow: None,
        moves_at: None,
        jump: None,
        log_takes: None,
        crashes_at: None,
        freeze: None,
        returns: None,
        pause: None,
        chats_every: random.chance(150).then(|| random.millis(1_200, 5_000)),
        keyframe_every: random.chance(400).then(|| random.millis(500, 9_000)),
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
    weather
}
