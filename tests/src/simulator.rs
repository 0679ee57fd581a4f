//! The simulator: sessions and worlds on one virtual clock over a fake network, all of it from one seed.
//!
//! What carries is either a model of links that moves whole messages, or the real QUIC and TLS over UDP packets.
//!
//! A run has two phases. First everything may go wrong that the scenario has drawn; then all links heal, and the
//! judge demands progress.

mod freeze;
mod hand;
mod hostility;
mod links;
mod mishaps;
mod network;
mod playable;
mod players;
mod quic;
mod reopening;
mod scenario;
mod schedule;
mod sequel;
mod shrink;
mod toy;
mod trace;

pub use playable::{Playable, build, execute, to_bytes};
pub use reopening::{Fate, Reopens};
pub use scenario::{
    Cut, Flaw, Hostile, Lie, Over, PeerPlan, RECOVERS_WITHIN, Scenario, Slow, Weather, Workload,
};
pub use sequel::{Sequel, Whom};
pub use shrink::shrink;
pub use toy::{Order, Toy, Want};

use crate::judge::{Bounds, Judge, Violation};
use crate::random::Stream;
use hand::{Hand, Piece};
use hostility::{Mischief, Signed};
use lockstep::session::{HostConfig, Input, Output, Role, RulesOf, Session, SessionConfig};
use lockstep::sign::{Ed25519, KeyedHash, Signer};
use lockstep::{Event, Limits, MatchId, PeerId, TurnNumber};
use network::{End, Network};
use quic::Quic;
use schedule::{Happening, Schedule};
use sim::Seat;
use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::time::Duration;
use trace::Trace;

/// What a run came to.
#[derive(Debug)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// What must not have been, if anything was.
    pub violation: Option<Violation>,
    /// Time on the simulated clock.
    pub simulated: Duration,
    /// Turns agreed.
    pub turns: u32,
    /// Commands issued.
    pub commands: u64,
    /// Hash over everything that went in and out of every session.
    pub trace: u64,
    /// Peers.
    pub peers: usize,
    /// The most datagram bytes of one link in one second.
    pub busiest_second: usize,
    /// The most outputs of one call of a session.
    pub most_outputs: usize,
    /// UDP packets sent, where the run was over QUIC.
    pub packets: u64,
    /// The most turns that one peer took back at once.
    pub most_undone: u32,
    /// Whether somebody was proved to have signed two histories.
    pub proved: bool,
}

/// Plays the scenario to its end, or to the first violation. A panic is a violation too.
pub fn run<W: Playable>(scenario: &Scenario, trace: Option<Box<dyn Write>>) -> Report {
    let mut simulator = Simulator::<W>::new(scenario, trace);
    let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| simulator.play()));
    if let Err(panic) = played {
        let text = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let seen = format!("a panic: {}", text.unwrap_or_default());
        simulator.judge.unbounded(simulator.running, seen);
    }
    simulator.report()
}

/// One run in progress.
struct Simulator<W> {
    scenario: Scenario,
    now: Duration,
    schedule: Schedule,
    network: Network,
    /// What carries, where the run is over QUIC.
    quic: Option<Quic>,
    peers: Vec<Peer<W>>,
    ids: Vec<PeerId>,
    judge: Judge<W>,
    trace: Trace,
    mischief: Mischief,
    match_id: MatchId,
    begun_at: Option<Duration>,
    commands: u64,
    /// New runs that have not begun, after all had died.
    begin_again: usize,
    /// The peer whose session was called last.
    running: usize,
}

/// One simulated process.
struct Peer<W> {
    session: Option<Session>,
    begins_at: Duration,
    drift_ppm: i32,
    /// How far its clock has jumped ahead, all told.
    jumped: Duration,
    /// How often its address has changed.
    moves: u32,
    /// The turn in whose stall its players have voted to wait longer.
    voted_in: Option<TurnNumber>,
    hand: Hand<W>,
    bounds: Bounds,
    /// The earliest wake-up in the schedule.
    wakes_at: Option<Duration>,
    own: Vec<Seat>,
    random: Stream,
    /// When each seat issued of late: the limit that the edge of a real peer keeps.
    issued: BTreeMap<Seat, VecDeque<Duration>>,
    issued_total: BTreeMap<Seat, u32>,
    executed_total: BTreeMap<Seat, u32>,
    left: bool,
    /// Since when it stands still, and what waits for it.
    frozen: Option<(Duration, Vec<Happening>)>,
    /// It begins anew and is not back in the match.
    is_out: bool,
    /// Which run of its process it is.
    run: u64,
}

/// Silence after which a peer that turns wait for is suspected.
pub const SUSPICION: Duration = Duration::from_secs(3);

/// How long after the last planned moment a run may go on before it counts as never ending.
const PATIENCE: Duration = Duration::from_secs(60);

impl<W: Playable> Simulator<W> {
    fn new(scenario: &Scenario, out: Option<Box<dyn Write>>) -> Self {
        let count = scenario.peers.len();
        let mut random = Stream::new(scenario.seed, "identity", 0);
        let secrets: Vec<[u8; 32]> = (0..count).map(|_| random.array()).collect();
        let ids: Vec<PeerId> = secrets.iter().map(|secret| id(scenario, secret)).collect();
        let signed = Signed::default();
        let invitation = (MatchId(random.array()), random.array());
        let setup = to_bytes(&W::setup(&mut random));
        let mut schedule = Schedule::default();
        let mut peers = Vec::new();
        for (at, plan) in scenario.peers.iter().enumerate() {
            let role = match at {
                0 => host::<W>(scenario, invitation, &setup),
                _ => join::<W>(invitation, ids[0]),
            };
            let config = config(scenario, at, role);
            let mut signer = signer(scenario, &secrets[at]);
            let signs = matches!(
                scenario.hostile,
                Some(Hostile::Forger | Hostile::Equivocator(_) | Hostile::Liar(_))
            );
            if signs && scenario.is_hostile(at) {
                signer = signed.listen_to(signer);
            }
            let flaw = scenario.flaw.filter(|flaw| flaw.peer == at);
            peers.push(Peer {
                session: Some(Session::new(config, signer).expect("a scenario is a valid setting")),
                begins_at: plan.begins_at,
                drift_ppm: plan.drift_ppm,
                jumped: Duration::ZERO,
                moves: 0,
                voted_in: None,
                hand: Hand::new(plan.load, plan.step, flaw.map(|flaw| flaw.turn)),
                bounds: Bounds::default(),
                wakes_at: None,
                own: Vec::new(),
                random: Stream::new(scenario.seed, "player", at as u64),
                issued: BTreeMap::new(),
                issued_total: BTreeMap::new(),
                executed_total: BTreeMap::new(),
                left: false,
                frozen: None,
                is_out: false,
                run: 0,
            });
            schedule.add(plan.begins_at, Happening::Begin(at));
        }
        let quic = (scenario.over == Over::Quic).then(|| {
            let stranger = random.array();
            let nodes = secrets.iter().copied().chain([stranger]);
            Quic::new(scenario.seed, nodes.collect())
        });
        let secret = scenario.is_hostile(count - 1).then(|| secrets[count - 1]);
        Simulator {
            scenario: scenario.clone(),
            now: Duration::ZERO,
            schedule,
            network: Network::new(scenario, count + 1),
            quic,
            judge: Judge::new(scenario, &ids),
            mischief: Mischief::new(scenario, signed, secret),
            match_id: invitation.0,
            peers,
            ids,
            trace: Trace::new(out),
            begun_at: None,
            commands: 0,
            begin_again: 0,
            running: 0,
        }
    }

    fn play(&mut self) {
        self.plan_mischief();
        // The stranger is there from the beginning.
        self.open_port(self.peers.len());
        let turns = self.scenario.plan.turn() * self.scenario.turn_limit;
        let latest = turns * 2 + self.scenario.heal_at * 2 + PATIENCE;
        while let Some((at, happening)) = self.schedule.next() {
            self.now = at;
            self.judge.at(at);
            if at > latest || self.judge.violation().is_some() {
                break;
            }
            self.happen(happening);
            self.drive_ports();
            let over = self.peers.iter().all(|peer| peer.session.is_none());
            if over && self.begin_again == 0 {
                break;
            }
        }
        if self.judge.violation().is_none() {
            self.judge.finish();
        }
    }

    fn happen(&mut self, happening: Happening) {
        let Some(happening) = self.unless_frozen(happening) else {
            return;
        };
        match happening {
            Happening::Begin(peer) => {
                self.open_port(peer);
                self.feed(peer, Input::Timeout);
            }
            Happening::Wake(peer) => self.wake(peer),
            Happening::World(peer) => self.finish_piece(peer),
            Happening::Arrive(to, channel, bytes) => self.arrive(to, channel, &bytes),
            Happening::Packet(packet) => self.take_packet(&packet),
            Happening::Timer(node) => self.wake_port(node),
            Happening::Dial(dial) => self.try_dial(dial),
            Happening::DialFailed(dial, why) => self.fail_dial(dial, why),
            Happening::Up(end) => self.come_up(end),
            Happening::Down(end, why) => self.go_down(end, why),
            Happening::Silent(from, to) => self.fall_silent(from, to),
            Happening::Cut(cut) => self.begin_cut(cut),
            Happening::Mend(cut) => self.mend_cut(cut),
            Happening::Heal => self.heal(),
            Happening::Play(peer) => self.issue_some(peer),
            Happening::Chat(peer) => self.chat(peer),
            Happening::Pause(peer) => self.ask_pause(peer),
            Happening::Resume(peer) => self.ask_resume(peer),
            Happening::Leave(peer) => self.leave(peer),
            Happening::Crash(peer) => self.crash(peer),
            Happening::Slow(peer) => self.slow_down(peer),
            Happening::Fast(peer) => self.speed_up(peer),
            Happening::Freeze(peer) => self.freeze(peer),
            Happening::Thaw(peer) => self.thaw(peer),
            Happening::Forgotten(peer, since) => self.forget_frozen(peer, since),
            Happening::Move(peer) => self.move_away(peer),
            Happening::Jump(peer, by) => self.jump(peer, by),
            Happening::Return(peer) => self.begin_anew(peer),
            Happening::Sequel(goes) => self.follow_up(&goes),
            Happening::ManyDie => self.many_die(),
            Happening::BeginAgain(peer) => self.begin_again(peer),
            Happening::Disturb => self.disturb(),
        }
    }

    /// Calls a peer's session and does what it wants done.
    fn feed(&mut self, peer: usize, input: Input<'_>) {
        let now = self.peers[peer].clock(self.now);
        let Some(session) = &mut self.peers[peer].session else {
            return;
        };
        self.running = peer;
        self.trace.input(self.now, peer, &input);
        let timeout = matches!(input, Input::Timeout);
        let outputs = session.handle(now, input);
        let bounds = &mut self.peers[peer].bounds;
        let crossed = bounds
            .outputs(self.now, &outputs)
            .or_else(|| match timeout {
                true => bounds.timeout(self.now),
                false => None,
            });
        if let Some(seen) = crossed
            && !self.scenario.is_hostile(peer)
        {
            self.judge.unbounded(peer, seen);
        }
        for output in outputs {
            self.trace.output(peer, &output);
            self.perform(peer, output);
        }
        self.schedule_wake(peer);
    }

    fn perform(&mut self, peer: usize, output: Output) {
        match output {
            Output::Dial { address, key } => self.dial(peer, address, key),
            Output::Close { link } => self.close(peer, link),
            Output::Send {
                link,
                channel,
                bytes,
            } => self.send(peer, link, channel, &bytes),
            Output::Append(record) => self.judge.appended(peer, &record),
            Output::New(start) => {
                self.judge.restored(peer, 0);
                self.take_piece(peer, Piece::New(start));
            }
            Output::Execute(bundle) => {
                self.judge.handed(peer, &bundle);
                for entry in &bundle.entries {
                    if matches!(entry.what, lockstep::log::What::Command(_)) {
                        *self.peers[peer]
                            .executed_total
                            .entry(entry.seat)
                            .or_default() += 1;
                    }
                }
                self.take_piece(peer, Piece::Execute(bundle));
                let limit = Limits::default().unexecuted_turns as usize;
                if self.peers[peer].hand.behind() > limit * 2 + 10 {
                    let seen = format!("more than {limit} turns wait for the world");
                    self.judge.unbounded(peer, seen);
                }
            }
            Output::Undo { turns } => self.judge.undone(peer, turns),
            Output::Load {
                turns, snapshot, ..
            } => {
                self.judge.restored(peer, turns);
                self.take_piece(peer, Piece::Load(snapshot));
            }
            Output::Save { turns } => self.take_piece(peer, Piece::Save(turns)),
            Output::Event(event) => self.hear(peer, event),
        }
    }

    fn hear(&mut self, peer: usize, event: Event) {
        self.judge.told(peer, &event);
        self.plan_sequel(peer, &event);
        match event {
            Event::Started { .. } if self.peers[peer].is_out => {}
            Event::RosterChanged { .. } => self.be_back(peer),
            Event::Stalled { turn, since, .. } => self.stalled(peer, turn, since),
            Event::Started { own, .. } => {
                self.peers[peer].own = own;
                if self.begun_at.is_none() {
                    self.begun_at = Some(self.now);
                    self.plan_faults();
                    self.plan_mischief();
                }
                self.plan_doings(peer);
            }
            Event::Ended(ended) => {
                self.peers[peer].session = None;
                self.close_all(peer);
                self.comes_back_to_reopened(peer, &ended.reason);
            }
            _ => {}
        }
    }

    /// Faults count from the beginning of the match.
    fn plan_faults(&mut self) {
        for (at, cut) in self.scenario.cuts.iter().enumerate() {
            self.schedule.add(self.now + cut.at, Happening::Cut(at));
            self.schedule
                .add(self.now + cut.at + cut.lasts, Happening::Mend(at));
        }
        self.schedule
            .add(self.now + self.scenario.heal_at, Happening::Heal);
        if let Some(reopens) = &self.scenario.reopens {
            self.schedule.add(self.now + reopens.at, Happening::ManyDie);
        }
    }

    fn heal(&mut self) {
        self.network.heal(self.budget());
        self.hasten_messages();
        self.judge.healed();
    }

    /// Time for a batch to arrive without a stall.
    fn budget(&self) -> Duration {
        let plan = self.scenario.plan;
        plan.turn() * u32::from(plan.delay_turns - 1)
    }

    fn take_piece(&mut self, peer: usize, piece: Piece) {
        if let Some(takes) = self.peers[peer].hand.take(piece) {
            self.schedule.add(self.now + takes, Happening::World(peer));
        }
    }

    fn finish_piece(&mut self, peer: usize) {
        // What the run before this one had begun is nobody's any more.
        if self.peers[peer].session.is_none() || !self.peers[peer].hand.is_running() {
            return;
        }
        let (input, executed) = self.peers[peer].hand.finish();
        if let Some((turn, checksum)) = executed {
            self.judge.executed(peer, turn, checksum);
        }
        if let Some(takes) = self.peers[peer].hand.begin() {
            self.schedule.add(self.now + takes, Happening::World(peer));
        }
        self.feed(peer, input);
    }

    fn wake(&mut self, peer: usize) {
        if self.peers[peer].wakes_at.is_some_and(|at| at <= self.now) {
            self.peers[peer].wakes_at = None;
        }
        let clock = self.peers[peer].clock(self.now);
        let session = self.peers[peer].session.as_ref();
        match session.and_then(Session::deadline) {
            Some(deadline) if deadline <= clock => self.feed(peer, Input::Timeout),
            _ => self.schedule_wake(peer),
        }
    }

    fn schedule_wake(&mut self, peer: usize) {
        let Some(session) = &self.peers[peer].session else {
            return;
        };
        let Some(deadline) = session.deadline() else {
            return;
        };
        let at = self.peers[peer].global(deadline).max(self.now);
        if self.peers[peer]
            .wakes_at
            .is_none_or(|wakes_at| at < wakes_at)
        {
            self.peers[peer].wakes_at = Some(at);
            self.schedule.add(at, Happening::Wake(peer));
        }
    }

    fn report(&self) -> Report {
        let bounds = self.peers.iter().map(|peer| &peer.bounds);
        Report {
            seed: self.scenario.seed,
            violation: self.judge.violation().cloned(),
            simulated: self.now,
            turns: self.judge.turns(),
            commands: self.commands,
            trace: self.trace.hash(),
            peers: self.peers.len(),
            packets: self.quic.as_ref().map_or(0, Quic::packets),
            busiest_second: bounds
                .clone()
                .map(|bounds| bounds.busiest_second)
                .max()
                .unwrap_or(0),
            proved: self.judge.proved_any(),
            most_undone: self.judge.most_undone(),
            most_outputs: bounds.map(|bounds| bounds.most_outputs).max().unwrap_or(0),
        }
    }
}

impl<W> Peer<W> {
    /// This peer's clock, which began with its process and runs too fast or too slow.
    fn clock(&self, now: Duration) -> Duration {
        let passed = now.saturating_sub(self.begins_at).as_nanos() as i128;
        let clock = passed + passed * i128::from(self.drift_ppm) / 1_000_000;
        Duration::from_nanos(clock as u64) + self.jumped
    }

    /// The first moment, in whole microseconds, at which this peer's clock has reached `clock`.
    fn global(&self, clock: Duration) -> Duration {
        let clock = clock.saturating_sub(self.jumped).as_nanos() as i128;
        let passed = clock * 1_000_000 / (1_000_000 + i128::from(self.drift_ppm));
        let micros = (passed / 1_000) as u64 + 1;
        self.begins_at + Duration::from_micros(micros)
    }
}

fn id(scenario: &Scenario, secret: &[u8; 32]) -> PeerId {
    signer(scenario, secret).id()
}

fn signer(scenario: &Scenario, secret: &[u8; 32]) -> Box<dyn Signer> {
    let key = Ed25519::new(secret);
    match (scenario.ed25519, scenario.over) {
        (true, _) => Box::new(key),
        (false, Over::Messages) => Box::new(KeyedHash::new(PeerId(*secret))),
        // The name that TLS proves.
        (false, Over::Quic) => Box::new(KeyedHash::new(key.id())),
    }
}

fn host<W: Playable>(
    scenario: &Scenario,
    (match_id, secret): (MatchId, [u8; 16]),
    setup: &[u8],
) -> Role {
    let decoded = postcard::from_bytes(setup).expect("the setup was just encoded");
    Role::Host(HostConfig {
        match_id,
        secret,
        expires: None,
        setup: setup.to_vec(),
        rules: W::rules(&decoded),
        seats: scenario.peers.iter().map(|peer| peer.seats).sum(),
        plan: scenario.plan,
        turn_limit: Some(scenario.turn_limit),
        pauses: lockstep::log::PauseBudget::default(),
        on_slow: scenario.on_slow,
        on_desync: scenario.on_desync,
        absent: scenario.absent,
    })
}

fn join<W: Playable>((match_id, secret): (MatchId, [u8; 16]), host: PeerId) -> Role {
    Role::Join {
        match_id,
        secret,
        host,
        addresses: vec![links::address(0, 0)],
        rules: rules::<W>(),
    }
}

fn config(scenario: &Scenario, peer: usize, role: Role) -> SessionConfig {
    let plan = &scenario.peers[peer];
    SessionConfig {
        name: format!("peer {peer}"),
        own_seats: plan.seats,
        ready: true,
        addresses: vec![links::address(peer, 0)],
        entropy: Stream::new(scenario.seed, "entropy", peer as u64).array(),
        share: None,
        keyframe_every: plan.keyframe_every,
        limits: Limits::default(),
        stall_limit: stall_limit(scenario),
        suspicion: SUSPICION,
        build: format!("simulated {peer}"),
        role,
    }
}

/// A session of a process that died and begins anew.
fn another_run(scenario: &Scenario, peer: usize, run: u64, role: Role) -> Session {
    let mut config = config(scenario, peer, role);
    let index = peer as u64 + (run - 1) * scenario.peers.len() as u64;
    config.entropy = Stream::new(scenario.seed, "entropy anew", index).array();
    let mut random = Stream::new(scenario.seed, "identity", 0);
    let secrets: Vec<[u8; 32]> = scenario.peers.iter().map(|_| random.array()).collect();
    Session::new(config, signer(scenario, &secrets[peer])).expect("a scenario is a valid setting")
}

fn rules<W: Playable>() -> RulesOf {
    Box::new(|setup| {
        let setup = postcard::from_bytes(setup).ok()?;
        Some(W::rules(&setup))
    })
}

/// A member that disturbs may hold up the match; who is cut off or stands still until it is over waits in vain.
fn stall_limit(scenario: &Scenario) -> Option<Duration> {
    let freezes = scenario.peers.iter().any(|peer| peer.freeze.is_some());
    let held_up = freezes || !scenario.cuts.is_empty();
    match scenario.hostile {
        // The others go on without it, and nobody waits in vain.
        Some(Hostile::Equivocator(_) | Hostile::Liar(_)) => Some(Duration::from_secs(40)),
        Some(_) => Some(Duration::from_secs(15)),
        None => held_up.then_some(Duration::from_secs(40)),
    }
}

/// The end of a link that a peer calls by this number, if it is still up there.
fn live_end(network: &Network, peer: usize, link: lockstep::LinkId) -> Option<End> {
    network.find(peer, link).filter(|end| network.is_up(*end))
}
