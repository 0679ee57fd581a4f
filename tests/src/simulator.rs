//! The simulator: sessions and worlds on one virtual clock over a fake network, all from one seed.
//!
//! The transport is either a model of links that moves whole messages, or real QUIC and TLS over UDP packets.
//!
//! A run has two phases. In the first, all drawn faults may happen. Then calm peers heal, and so do the links
//! between them; the other peers' faults go on. From then on the judge demands progress of the core.

mod bounds;
mod disk;
mod event;
mod faults;
mod held_up;
mod hostility;
mod links;
mod network;
mod notes;
mod playable;
mod players;
mod quic;
mod runs;
mod scenario;
mod standstill;
mod sweep;
mod toy;
mod trace;
mod worker;

pub use bounds::{Asked, Bounds};
pub use notes::Notes;
pub use playable::{Playable, build, execute, to_bytes};
pub use scenario::{
    Aftermath, Fate, Fault, Hostile, KINDS, Kind, Over, Parted, PeerPlan, REFILL, Reopening,
    STALL_BUDGET, SUSPICION, Scenario, Victim, Ways, Weather, Withholder, Workload, shrink,
};
pub use sweep::{Outcome, Sweep, WITHOUT_CORE};
pub use toy::{Order, Toy, Want};

use crate::judge::{Invariant, Judge, RECOVERY, RUN, Violation};
use crate::random::Stream;
use disk::Disk;
use event::Event;
use held_up::HeldUp;
use hostility::{Hostility, Signed};
use lockstep::harness::{Clock, Driver, Due};
use lockstep::log::{Gone, Record, Terms};
use lockstep::session::{HostConfig, Input, Output, Role, RulesOf, Session, SessionConfig};
use lockstep::sign::{Ed25519, KeyedHash, Signer};
use lockstep::{Channel, Limits, MatchId, PeerId};
use network::Network;
use quic::Quic;
use sim::Seat;
use standstill::Standstill;
use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::time::Duration;
use trace::Trace;
use worker::{Job, WorldWorker};

/// The result of a run.
#[derive(Debug)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// The first violation of an invariant, if any.
    pub violation: Option<Violation>,
    /// Time on the simulated clock.
    pub simulated: Duration,
    /// Turns agreed.
    pub turns: u32,
    /// Commands issued.
    pub commands: u64,
    /// Hash over all inputs and outputs of every session.
    pub trace: u64,
    /// Number of peers.
    pub peers: usize,
    /// Peers of the core; 0 if no core existed at healing.
    pub core: usize,
    /// Whether it came to healing.
    pub healed: bool,
    /// UDP packets sent, in a run over QUIC.
    pub packets: u64,
    /// The most turns that one peer retracted at once.
    pub most_retracted: u32,
    /// Whether a proof of two signed histories was found.
    pub proved: bool,
    /// At healing, at each running honest peer: the peer itself, another one, how long before their deadline its batches
    /// leave, and whether that stands out.
    pub leads: Vec<(usize, usize, i16, bool)>,
    /// For how long each honest peer had waited for each peer that withheld, when that was out.
    pub removals: Vec<Duration>,
}

/// Plays a scenario of the toy world to its end or to the first violation. A panic is a violation too.
pub fn run(scenario: &Scenario, trace: Option<Box<dyn Write>>) -> Report {
    run_world::<Toy>(scenario, trace)
}

/// Like [`run`], with another world.
pub fn run_world<W: Playable>(scenario: &Scenario, trace: Option<Box<dyn Write>>) -> Report {
    let mut simulator = Simulator::<W>::new(scenario, trace);
    let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| simulator.play()));
    if let Err(panic) = played {
        let text = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        // A hostile peer's session must not panic, either.
        let of = (simulator.running, text.unwrap_or_default());
        simulator.judge.must(RUN, Invariant::Bounded, of)(false, "a panic");
    }
    simulator.report()
}

struct Simulator<W> {
    scenario: Scenario,
    driver: Driver<Event>,
    network: Network,
    /// The transport of a run over QUIC.
    quic: Option<Quic>,
    peers: Vec<Peer<W>>,
    ids: Vec<PeerId>,
    judge: Judge,
    trace: Trace,
    hostility: Hostility,
    match_id: MatchId,
    begun_at: Option<Duration>,
    commands: u64,
    /// New runs of processes that have not begun yet, after too many processes died.
    runs_to_begin: usize,
    /// The peer whose session was called last.
    running: usize,
    standstill: Standstill,
    /// The most turns that one peer retracted at once.
    most_retracted: u32,
    leads: Vec<(usize, usize, i16, bool)>,
    removals: Vec<Duration>,
}

/// A simulated session and its surroundings.
struct Peer<W> {
    /// Number of address changes.
    moves: u32,
    worker: WorldWorker<W>,
    disk: Disk,
    bounds: Bounds,
    own: Vec<Seat>,
    random: Stream,
    /// Recent commands of each seat, for the rate limit at the edge of a real peer.
    issued: BTreeMap<Seat, VecDeque<Duration>>,
    issued_total: BTreeMap<Seat, u32>,
    /// Commands issued by all runs of its process; each has its own mark.
    marks: u32,
    executed_total: BTreeMap<Seat, u32>,
    /// Whether it leaves a stalled match, to begin another run.
    gives_up_until: Option<Duration>,
    /// Since when it is frozen, and the events that wait for it.
    frozen: Option<(Duration, Vec<Event>)>,
    held_up: HeldUp,
}

/// A run that goes on for this long beside the match's own time counts as endless.
const PATIENCE: Duration = Duration::from_secs(600);

impl<W: Playable> Simulator<W> {
    fn new(scenario: &Scenario, out: Option<Box<dyn Write>>) -> Self {
        let count = scenario.peers.len();
        let mut random = Stream::new(scenario.seed, "match", 0);
        let secrets = secrets(scenario);
        let ids: Vec<PeerId> = secrets
            .iter()
            .map(|secret| signer(scenario, secret).id())
            .collect();
        let invitation = (MatchId(random.array()), random.array());
        let setup = to_bytes(&W::setup(&mut random));
        let mut driver = Driver::default();
        let mut peers = Vec::new();
        let hostility = Hostility::new(scenario, &secrets);
        for (at, plan) in scenario.peers.iter().enumerate() {
            let role = match at {
                0 => host::<W>(scenario, invitation, &setup),
                _ => join::<W>(invitation, ids[0]),
            };
            let signed = plan.hostile.map(|_| hostility.listen(at));
            let session = session(scenario, at, 0, role, signed);
            driver.add(session, clock(plan, plan.begins_at));
            peers.push(Peer {
                moves: 0,
                held_up: HeldUp::default(),
                worker: worker(plan, plan.flaw),
                disk: Disk::new(scenario.seed, at),
                bounds: Bounds::default(),
                own: Vec::new(),
                random: Stream::new(scenario.seed, "player", at as u64),
                issued: BTreeMap::new(),
                issued_total: BTreeMap::new(),
                marks: 0,
                executed_total: BTreeMap::new(),
                gives_up_until: None,
                frozen: None,
            });
            driver.schedule(plan.begins_at, Event::Begin(at));
        }
        let quic = (scenario.over == Over::Quic).then(|| {
            let stranger = random.array();
            let nodes = secrets.iter().copied().chain([stranger]);
            Quic::new(scenario.seed, nodes.collect())
        });
        let network = Network::new(scenario, count + 1);
        let mut judge = Judge::new(scenario, &ids);
        judge.passages = network.passages(count);
        Simulator {
            scenario: scenario.clone(),
            driver,
            network,
            quic,
            judge,
            hostility,
            match_id: invitation.0,
            peers,
            ids,
            trace: Trace::new(out),
            begun_at: None,
            commands: 0,
            runs_to_begin: 0,
            running: 0,
            standstill: Standstill::default(),
            most_retracted: 0,
            leads: Vec::new(),
            removals: Vec::new(),
        }
    }

    fn play(&mut self) {
        self.plan_garbage();
        // The stranger is there from the beginning.
        self.open_port(self.peers.len());
        let turns = self.scenario.plan.turn() * self.scenario.turn_limit;
        // Ticks may be four times as long, and peers outside may cost much.
        let latest = PATIENCE + turns * 5 + self.scenario.heal_at;
        while let Some(due) = self.driver.next(latest) {
            self.judge.now = self.now();
            match due {
                Due::Timeout(peer) => self.feed(peer, Input::Timeout),
                Due::Event(event) => self.happen(event),
            }
            self.drive_ports();
            let mut peers = 0..self.peers.len();
            let over = peers.all(|peer| self.driver.session(peer).is_none());
            let is_over = over && self.runs_to_begin == 0 || self.core_has_ended();
            if is_over || self.judge.violation.get().is_some() {
                break;
            }
        }
        self.judge.finish::<W>();
    }

    /// Whether all of the core have ended: nothing more is demanded of the run.
    fn core_has_ended(&self) -> bool {
        let mut core = self.judge.core.members.iter();
        core.len() > 0 && core.all(|peer| self.judge.peers[*peer].ended.is_some())
    }

    fn happen(&mut self, event: Event) {
        let Some(event) = self.unless_frozen(event) else {
            return;
        };
        match event {
            Event::Begin(peer) => self.open_port(peer),
            Event::World(peer) => self.finish_job(peer),
            Event::Synced(peer, run, id) => self.synced(peer, run, id),
            Event::Arrive(to, channel, bytes) => self.arrive(to, channel, &bytes),
            Event::Packet(packet) => self.take_packet(&packet),
            Event::Timer(node) => self.wake_port(node),
            Event::Dial(dial) => self.try_dial(dial),
            Event::DialFailed(dial, why) => self.fail_dial(dial, why),
            Event::Up(end) => self.come_up(end),
            Event::Down(end, why) => self.go_down(end, why),
            Event::Silent(from, to) => self.time_out_links(from, to),
            Event::Fault(peer, number) => self.begin_fault(peer, number),
            Event::FaultOver(peer, number) => self.end_fault(peer, number),
            Event::Heal => self.heal(),
            Event::Recovered => self.pick_core(),
            Event::Play(peer) => self.issue_some(peer),
            Event::Chat(peer) => self.chat(peer),
            Event::Late(peer, link, bytes) => self.carry(peer, link, Channel::Turns, &bytes),
            Event::Forgotten(peer, since) => self.forget_frozen(peer, since),
            Event::Aftermath(leaver) => self.follow_up(&leaver),
            Event::ManyDie => self.many_die(),
            Event::Die(peer) => self.crash(peer),
            Event::GiveUp(peer) => self.give_up(peer),
            Event::Restart(peer) => self.restart(peer),
            Event::Return(peer) => self.return_to_match(peer, true),
            Event::Disturb(node) => self.disturb(node),
        }
    }

    fn now(&self) -> Duration {
        self.driver.now()
    }

    fn notes(&mut self, peer: usize) -> &mut Notes {
        &mut self.judge.peers[peer].notes
    }

    /// Calls a peer's session and carries out its outputs.
    fn feed(&mut self, peer: usize, input: Input<'_>) {
        if self.driver.session(peer).is_none() {
            return;
        }
        let now = self.now();
        self.running = peer;
        self.trace.input(now, peer, &input);
        if let Input::Received { link, .. } = &input
            && let Some(other) = self.other_end(peer, *link)
        {
            let notes = &mut self.judge.peers[peer].notes;
            notes.heard_at.insert(other, now);
        }
        let timeout = matches!(input, Input::Timeout);
        let outputs = self.driver.handle(peer, input);
        if self.standstill.has_come(now) {
            let of = (peer, standstill::names(&outputs));
            let must = self.judge.must(RUN, Invariant::Bounded, of);
            must(false, "a session asks for this without time passing");
        }
        if timeout {
            self.bound(peer, Asked::Timeout, 1);
        }
        // A log that begins is as long as what its peer has been given before, by its game or by others.
        let is_record = |of: &&Output| matches!(of, Output::Append(_));
        let starts = |of: &Output| matches!(of, Output::Append(Record::Start(_)));
        let given =
            outputs.iter().filter(is_record).count() * usize::from(outputs.iter().any(starts));
        self.bound(peer, Asked::Outputs, outputs.len() - given);
        for output in outputs {
            self.trace.output(peer, &output);
            self.perform(peer, output);
        }
    }

    fn append(&mut self, peer: usize, record: &Record) {
        self.peers[peer].disk.write(record);
        self.judge.appended(peer, record);
        if matches!(record, Record::Roster(_)) {
            self.outlive(peer);
        }
    }

    fn perform(&mut self, peer: usize, output: Output) {
        match output {
            Output::Dial { address, key } => self.dial(peer, address, key),
            Output::Close { link } => self.close(peer, link),
            Output::Send {
                link,
                channel,
                bytes,
            } => {
                let asked = match channel {
                    Channel::Turns => Asked::Datagram(link),
                    _ => Asked::Message(link),
                };
                self.bound(peer, asked, bytes.len());
                self.send(peer, link, channel, &bytes);
            }
            Output::Append(record) => self.append(peer, &record),
            Output::AppendAll(part) => part.records().for_each(|record| self.append(peer, &record)),
            Output::Sync(id) => self.sync(peer, id),
            Output::Tail(turns) => {
                let retracted = self.judge.tail(peer, &turns);
                self.most_retracted = self.most_retracted.max(retracted);
            }
            Output::New { start, .. } => {
                self.judge.restored(peer, 0);
                self.take_job(peer, Job::New(start));
            }
            Output::Execute(bundle) => {
                self.judge.handed_out(peer, &bundle);
                for entry in &bundle.entries {
                    if matches!(entry.what, lockstep::log::What::Command(_)) {
                        let executed = &mut self.peers[peer].executed_total;
                        *executed.entry(entry.seat).or_default() += 1;
                    }
                }
                self.take_job(peer, Job::Execute(bundle));
                let limit = Limits::default().unexecuted_turns as usize;
                if self.peers[peer].worker.behind() > limit * 2 + 10 {
                    let must = self.judge.must(peer, Invariant::Bounded, limit);
                    must(false, "more turns wait for the world");
                }
            }
            Output::Load {
                turns, snapshot, ..
            } => {
                self.judge.restored(peer, turns);
                self.take_job(peer, Job::Load(snapshot));
            }
            Output::Save { turns } => self.take_job(peer, Job::Save(turns)),
            Output::Event(event) => self.take_event(peer, event),
        }
    }

    /// What a session asks for, or is asked, is within its bounds.
    fn bound(&mut self, peer: usize, asked: Asked, size: usize) {
        let (now, bounds) = (self.now(), &mut self.peers[peer].bounds);
        let crossed = bounds.are_crossed(now, asked, size);
        let must = self.judge.must(peer, Invariant::Bounded, (asked, size));
        must(!crossed, "crosses its bound");
    }

    fn take_event(&mut self, peer: usize, event: lockstep::Event) {
        self.judge.told(peer, &event);
        self.plan_aftermath(peer, &event);
        match event {
            lockstep::Event::Started { own, .. } if self.notes(peer).is_out => {
                self.peers[peer].own = own;
            }
            lockstep::Event::RosterChanged { gone, .. } => {
                self.measure_removals(peer, &Gone::seats(&gone));
                self.admitted(peer);
            }
            lockstep::Event::Stalled { since, on, .. } => {
                let (on, now) = (self.peers_with(peer, &on), self.now());
                let begun = now.saturating_sub(since);
                self.peers[peer].held_up.stalled(on, begun, now);
                self.stalled(peer, since);
            }
            lockstep::Event::StallEnded { .. } => {
                let now = self.now();
                self.peers[peer].held_up.goes_on(now);
            }
            lockstep::Event::Started { own, .. } => {
                self.peers[peer].own = own;
                if self.begun_at.is_none() {
                    self.begun_at = Some(self.now());
                    self.plan_faults();
                    self.plan_garbage();
                }
                self.plan_actions(peer);
            }
            lockstep::Event::Ended(ended) => {
                self.driver.remove(peer);
                self.close_all(peer);
                self.restart_if_reopened(peer, &ended.reason);
            }
            _ => {}
        }
    }

    /// Ends the faults of calm peers, and those of the links between them.
    fn heal(&mut self) {
        let peers = 0..self.peers.len();
        let calm: Vec<usize> = peers.filter(|peer| self.scenario.is_calm(*peer)).collect();
        self.network.heal(&calm, self.budget());
        self.expedite_messages(&calm);
        self.driver
            .schedule(self.now() + RECOVERY, Event::Recovered);
    }

    /// Turns must advance again, of calm peers that run.
    fn pick_core(&mut self) {
        for peer in 0..self.peers.len() {
            // A joiner that reached no peer has given up.
            let is_over = self.driver.session(peer).is_none();
            self.notes(peer).crashed |= is_over;
        }
        let mut running: Vec<usize> = (0..self.peers.len()).collect();
        running.retain(|peer| {
            let stands = self.peers[*peer].frozen.is_some() || self.judge.peers[*peer].notes.leaves;
            self.scenario.is_calm(*peer) && self.driver.session(*peer).is_some() && !stands
        });
        let accepted = running.iter().map(|peer| self.peers[*peer].disk.accepted());
        let accepted: Vec<_> = accepted.flatten().collect();
        self.judge.pick_core(&running, &accepted);
        self.measure_leads();
    }

    /// Notes how long before their deadline the batches of peers leave, and whether that accuses a calm one.
    fn measure_leads(&mut self) {
        for peer in self.scenario.honest() {
            let stats = self.driver.session(peer).map(Session::stats);
            for of in stats.iter().flat_map(|stats| &stats.peers) {
                let named = self.ids.iter().position(|id| *id == of.peer);
                let (Some(named), Some(lead)) = (named, of.lead) else {
                    continue;
                };
                self.leads.push((peer, named, lead.ms, lead.stands_out));
                let accused = self.scenario.is_calm(named) && lead.stands_out;
                let must = self.judge.must(peer, Invariant::Blame, (named, lead));
                must(!accused, "says that an honest peer looks ahead");
            }
        }
    }

    /// Notes for how long an honest peer has waited for peers that withhold, which are out now.
    fn measure_removals(&mut self, peer: usize, gone: &[Seat]) {
        let now = self.now();
        for out in self.peers_with(peer, gone) {
            let waited = self.peers[peer].held_up.removed(out, now);
            let withholds = held_up::withholds(&self.scenario, out);
            if withholds && !self.scenario.is_hostile(peer) {
                self.removals.push(waited);
            }
        }
    }

    /// The peers with these seats, by the log of one of them.
    fn peers_with(&self, peer: usize, seats: &[Seat]) -> Vec<usize> {
        let start = self.judge.peers[peer].log.start.iter();
        let places = start.flat_map(|start| start.roster.iter().zip(&self.judge.places));
        let with = places.filter(|(of, _)| seats.iter().any(|seat| of.seats.contains(seat)));
        with.map(|(_, peer)| *peer).collect()
    }

    /// Time for a batch to arrive without a stall.
    fn budget(&self) -> Duration {
        let plan = self.scenario.plan;
        plan.turn() * u32::from(plan.delay_turns - 1)
    }

    fn take_job(&mut self, peer: usize, job: Job) {
        if let Some(takes) = self.peers[peer].worker.take(job) {
            self.driver.schedule(self.now() + takes, Event::World(peer));
        }
    }

    fn finish_job(&mut self, peer: usize) {
        // A job of an earlier run does not concern this one.
        if self.driver.session(peer).is_none() || !self.peers[peer].worker.is_running() {
            return;
        }
        let (input, executed) = self.peers[peer].worker.finish();
        if let Some((turn, checksum)) = executed {
            self.judge.executed(peer, turn, checksum);
        }
        if let Some(takes) = self.peers[peer].worker.begin() {
            self.driver.schedule(self.now() + takes, Event::World(peer));
        }
        self.feed(peer, input);
    }

    fn report(&self) -> Report {
        let turns = self.judge.peers.iter().map(|file| file.log.len());
        let mut files = self.judge.peers.iter();
        Report {
            seed: self.scenario.seed,
            violation: self.judge.violation.get().cloned(),
            simulated: self.now(),
            turns: turns.max().unwrap_or(0),
            commands: self.commands,
            trace: self.trace.hash(),
            peers: self.peers.len(),
            core: self.judge.core.members.len(),
            healed: self.judge.core.due.is_some(),
            packets: self.quic.as_ref().map_or(0, Quic::packets),
            most_retracted: self.most_retracted,
            proved: files.any(|file| file.told_of_proof),
            leads: self.leads.clone(),
            removals: self.removals.clone(),
        }
    }
}

/// The secret keys of the peers.
fn secrets(scenario: &Scenario) -> Vec<[u8; 32]> {
    let mut random = Stream::new(scenario.seed, "identity", 0);
    scenario.peers.iter().map(|_| random.array()).collect()
}

fn signer(scenario: &Scenario, secret: &[u8; 32]) -> Box<dyn Signer> {
    let key = Ed25519::new(secret);
    match (scenario.ed25519, scenario.over) {
        (true, _) => Box::new(key),
        (false, Over::Messages) => Box::new(KeyedHash::new(PeerId(*secret))),
        // The key that TLS proves.
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
        expires: Some(Duration::from_secs(86_400)),
        takes_askers: false,
        setup: setup.to_vec(),
        rules: W::rules(&decoded),
        terms: Terms {
            plan: scenario.plan,
            adaptive: scenario.adaptive,
            seats: scenario.peers.iter().map(|peer| peer.seats).sum(),
            turn_limit: Some(scenario.turn_limit),
            on_slow: scenario.on_slow,
            on_desync: scenario.on_desync,
            absent: scenario.absent,
            pauses: scenario.pauses,
        },
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

/// The session of a run of a peer's process. `signed` records what it signs.
fn session(
    scenario: &Scenario,
    peer: usize,
    run: u64,
    role: Role,
    signed: Option<Signed>,
) -> Session {
    let plan = &scenario.peers[peer];
    let index = peer as u64 + run * scenario.peers.len() as u64;
    let config = SessionConfig {
        name: format!("peer {peer}"),
        own_seats: plan.seats,
        ready: true,
        addresses: vec![links::address(peer, 0)],
        entropy: Stream::new(scenario.seed, "entropy", index).array(),
        share: None,
        keyframe_every: plan.keyframe_every,
        limits: Limits::default(),
        stall_limit: Some(STALL_LIMIT),
        suspicion: SUSPICION,
        build: format!("simulated {peer}"),
        role,
    };
    let own = signer(scenario, &secrets(scenario)[peer]);
    let signer = match signed {
        Some(signed) => signed.record(own),
        None => own,
    };
    Session::new(config, signer).expect("a scenario is a valid setting")
}

/// The world of a process, with such a flaw.
fn worker<W: Playable>(plan: &PeerPlan, flaw: Option<u32>) -> WorldWorker<W> {
    let mut worker = WorldWorker::new(plan.load, plan.step, flaw);
    if let Some(Hostile::LiesOfLoad(step)) = plan.hostile {
        worker.claim(step);
    }
    worker
}

/// The clock of a process that begins at this time.
fn clock(plan: &PeerPlan, begins_at: Duration) -> Clock {
    Clock {
        begins_at,
        drift_ppm: plan.drift_ppm,
        jumped: Duration::ZERO,
    }
}

fn rules<W: Playable>() -> RulesOf {
    Box::new(|setup| {
        let setup = postcard::from_bytes(setup).ok()?;
        Some(W::rules(&setup))
    })
}

/// A stalled match ends after this time: longer than outsiders may stall a core.
const STALL_LIMIT: Duration = Duration::from_secs(150);
