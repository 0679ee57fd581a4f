//! The network thread owns session and transport, the log thread the log store. The game thread holds two bounded
//! queues: the messages it sends, and the work and events it takes.

mod alone;
mod asked;
mod clock;
mod doors;
mod lobby;
mod log_thread;
mod network;
mod report;

use crate::log::{LogStore, Terms};
use crate::session::{
    ConfigError, HostConfig, Input, Role, RulesOf, Session, SessionConfig, Stats,
};
use crate::sign::Signer;
use crate::source::{Answer, TurnSource, Work, WrongAnswer};
use crate::{
    Contact, Event, Issued, Limits, MatchId, Moment, Plan, Refused, Rejoin, Status, Ticket,
    Traffic, Transport, TurnNumber,
};
use alone::Alone;
use asked::Asked;
use doors::Doors;
use log_thread::LogThread;
use network::{Network as NetworkThread, Shared, ToNetwork};
use report::Reporter;
use sim::{RulesId, Seat};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How a live match is set up: what each peer decides for itself, and in [`host`](Self::host) the host's part.
pub struct Config {
    /// What this peer calls itself; at most 32 bytes are kept.
    pub name: String,
    /// Seats that this peer takes. Default 1.
    pub own_seats: u8,
    /// What only the host of a match decides. A peer that joins one leaves it as it is.
    pub host: Hosting,
    /// Whether this peer is ready from the beginning. Default true.
    pub ready: bool,
    /// Bounds on what others can make us hold or do.
    pub limits: Limits,
    /// Where the log is kept. Default: in memory, up to 64 MiB.
    pub log: Option<Box<dyn LogStore>>,
    /// The network. Default: QUIC on any free port, with the key of this user's identity file.
    pub network: Option<Network>,
    /// Fixes this peer's share of the match seed.
    pub seed: Option<u64>,
    /// How long one `poll` may step. Default 8 ms; 1 ms at least.
    pub budget: Duration,
    /// A turn waited for longer than this ends the match for this peer. Default 60 s; `None` waits for ever. More than a
    /// year counts as a year.
    pub stall_limit: Option<Duration>,
    /// A peer that turns wait for and that is unheard for so long is suspected: the others go on without it if they are
    /// a quorum. Default 3 s. More than a year counts as a year.
    pub suspicion: Duration,
    /// Where to write the folder about a desync. Default: the current folder.
    pub reports: PathBuf,
    /// Names the build in the log; at most 64 bytes are kept.
    pub build: String,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            name: "player".to_owned(),
            own_seats: 1,
            host: Hosting::default(),
            ready: true,
            limits: Limits::default(),
            log: None,
            network: None,
            seed: None,
            budget: Duration::from_millis(8),
            stall_limit: Some(Duration::from_secs(60)),
            suspicion: Duration::from_secs(3),
            reports: PathBuf::from("."),
            build: concat!("lockstep ", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

/// What the host of a match decides for all its peers. The game's own setup comes beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hosting {
    /// The options of the match, such as seats, plan and turn limit.
    pub terms: Terms,
    /// How long the ticket invites. Default one day.
    pub invite_for: Duration,
    /// Whether players without the ticket's secret may ask this player to let them in, as [`Event::Askers`] tells. Default
    /// false: they are refused.
    pub takes_askers: bool,
}

impl Default for Hosting {
    fn default() -> Self {
        Hosting {
            terms: Terms::default(),
            invite_for: Duration::from_secs(24 * 3_600),
            takes_askers: false,
        }
    }
}

/// A transport, and the key that this peer is known by on it.
pub struct Network {
    /// Carries the bytes.
    pub transport: Box<dyn Transport>,
    /// Signs what this peer says.
    pub signer: Box<dyn Signer>,
}

#[cfg(feature = "quic")]
impl Network {
    /// QUIC, and the signer of the same key.
    ///
    /// # Errors
    /// [`quic::Error`](crate::quic::Error): no socket.
    pub fn quic(config: crate::quic::QuicConfig) -> Result<Network, crate::quic::Error> {
        let signer = config.key.signer();
        let transport = crate::quic::Quic::bind(config)?;
        Ok(Network {
            transport: Box::new(transport),
            signer: Box::new(signer),
        })
    }
}

/// Why a live match could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting out of range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A setup that does not encode.
    #[error("the setup cannot be encoded")]
    Setup,
    /// No transport was given, and this build has none.
    #[error("this build has no network of its own: set `Config::network`")]
    NoNetwork,
    /// The default network could not be opened.
    #[cfg(feature = "quic")]
    #[error(transparent)]
    Quic(#[from] crate::quic::Error),
    /// The user's identity file could not be had.
    #[cfg(feature = "quic")]
    #[error(transparent)]
    Identity(#[from] crate::quic::IdentityError),
    /// The operating system gave no randomness.
    #[error("the operating system gave no randomness")]
    Randomness,
    /// The network thread or the log thread could not be started.
    #[error("a thread of the match could not be started: {0}")]
    Thread(std::io::Error),
}

/// A match as it is played: the source of its turns.
///
/// Dropping it does not [leave](Self::leave). Its links close, and the other players go on without this peer within a
/// second, if they are a quorum; this player may [rejoin](Self::rejoin). The log is closed before the drop returns,
/// which takes up to 10 s where the disk hangs.
pub struct Live {
    shared: Arc<Shared>,
    to_network: SyncSender<ToNetwork>,
    waker: Arc<dyn Fn() + Send + Sync>,
    thread: Option<std::thread::JoinHandle<()>>,
    ticket: Option<Ticket>,
    limits: Limits,
    budget: Duration,
    own_seats: Vec<Seat>,
    doors: Doors,
    /// What the work that was handed out last asks for, until it is answered.
    asked: Option<Asked>,
    decided: bool,
    /// The world has panicked: nothing more is asked of it.
    faulted: bool,
    next_turn: TurnNumber,
    /// Commands of turns before this one do not wait any more.
    counted: TurnNumber,
    plan: Plan,
}

/// Bytes of a log that is kept in memory.
const LOG_BYTES: u64 = 64 << 20;
/// Messages that may wait for the network thread.
const TO_NETWORK: usize = 4_096;

impl Live {
    /// Opens a match under the given rules; `setup` is the game's own, encoded.
    ///
    /// # Errors
    /// [`Error`]: a setting out of range, or no socket, identity or thread.
    pub fn host(setup: Vec<u8>, rules: RulesId, mut config: Config) -> Result<Self, Error> {
        let network = network_of(&mut config, None)?;
        let match_id = MatchId(random()?);
        let secret = random()?;
        let ticket = Ticket {
            secret,
            ..way_to(&network, match_id, config.host.invite_for)
        };
        let host = HostConfig {
            match_id,
            secret,
            expires: Some(config.host.invite_for),
            takes_askers: config.host.takes_askers,
            setup,
            rules,
            terms: config.host.terms,
        };
        Live::open(Role::Host(host), Some(ticket), network, config)
    }

    /// Joins the match that the ticket names; `rules` tells the rules that this build plays a setup by.
    ///
    /// # Errors
    /// As [`host`](Self::host).
    pub fn join(ticket: &Ticket, rules: RulesOf, mut config: Config) -> Result<Self, Error> {
        let network = network_of(&mut config, None)?;
        let role = Role::Join {
            match_id: ticket.match_id,
            secret: ticket.secret,
            host: ticket.host,
            addresses: ticket.addresses.clone(),
            rules,
        };
        Live::open(role, None, network, config)
    }

    /// Rejoins a match that an earlier run of this process played in, with the same key. `rules` tells the rules that
    /// this build plays a setup by. Where the match stands still, the joiner finds the peer that
    /// [reopens](Self::reopen) it by itself: a lobby follows then, also behind [`Event::Started`]. Where no peer plays, and
    /// joiners that have met are a quorum, the first of them hosts that lobby by itself. So others find it, it should
    /// listen where its earlier run did.
    ///
    /// # Errors
    /// As [`host`](Self::host).
    pub fn rejoin(from: Rejoin, rules: RulesOf, mut config: Config) -> Result<Self, Error> {
        let network = network_of(&mut config, Some(&from))?;
        Live::open(Role::Rejoin { from, rules }, None, network, config)
    }

    /// Reopens a match that lost all its processes, or its quorum, from an earlier run's log. The other players come by
    /// [`rejoin`](Self::rejoin), each with its own log, and the match goes on from the newest turn that a quorum of the
    /// last roster has. For `wait` all wait for all players. Then a quorum goes on; fewer players end with
    /// [`EndReason::NoQuorum`](crate::EndReason::NoQuorum). The ticket leads to this peer and admits no new player.
    ///
    /// # Errors
    /// As [`host`](Self::host).
    pub fn reopen(
        from: Rejoin,
        wait: Duration,
        rules: RulesOf,
        mut config: Config,
    ) -> Result<Self, Error> {
        let network = network_of(&mut config, Some(&from))?;
        let ticket = way_to(&network, from.match_id, config.host.invite_for);
        Live::open(
            Role::Reopen { from, rules, wait },
            Some(ticket),
            network,
            config,
        )
    }

    /// Goes on alone where an earlier run's log ends, without a quorum: in a branch, a match with an id of its own that
    /// decides nothing in the match it leaves. Seats of missing players are empty, as the terms say. Another player
    /// enters by [`rejoin`](Self::rejoin) and [`enter_branch`](Self::enter_branch), at this peer's address. The ticket leads
    /// there, names the match that was left, and admits no new player.
    ///
    /// # Errors
    /// As [`host`](Self::host).
    pub fn branch(from: Rejoin, rules: RulesOf, mut config: Config) -> Result<Self, Error> {
        let network = network_of(&mut config, Some(&from))?;
        let ticket = way_to(&network, from.match_id, config.host.invite_for);
        Live::open(Role::Branch { from, rules }, Some(ticket), network, config)
    }

    /// Plays alone, in all of `config.own_seats`, at a delay of one turn.
    ///
    /// # Errors
    /// As [`host`](Self::host).
    pub fn single_player(setup: Vec<u8>, rules: RulesId, config: Config) -> Result<Self, Error> {
        let network = alone()?;
        let host = HostConfig {
            match_id: MatchId(random()?),
            secret: random()?,
            expires: None,
            takes_askers: false,
            setup,
            rules,
            terms: Terms {
                seats: config.own_seats,
                plan: Plan {
                    delay_turns: 1,
                    ..config.host.terms.plan
                },
                ..config.host.terms
            },
        };
        Live::open(Role::Host(host), None, network, config)
    }

    /// Goes on alone from a moment of a recorded match, in all its seats, with the rules that it was played by.
    /// Of `config.host.terms`, the plan is that of the turns behind it, and the turn limit counts those. `config.log`,
    /// where there is one, holds the log up to the moment already.
    ///
    /// # Errors
    /// As [`host`](Self::host); a moment whose log does not hold is a [`ConfigError`].
    pub fn play_on(from: Moment, mut config: Config) -> Result<Self, Error> {
        if config.log.is_none() {
            let mut log = crate::log::Memory::new(LOG_BYTES);
            let start = crate::log::Record::Start(from.log.start().clone());
            let mut records = std::iter::once(start).chain(from.log.records());
            // A log that has no room any more says so again when the next turn comes.
            let _ = records.try_for_each(|record| log.append(&record));
            config.log = Some(Box::new(log));
        }
        let role = Role::PlayOn {
            from,
            plan: config.host.terms.plan,
            turn_limit: config.host.terms.turn_limit,
        };
        Live::open(role, None, alone()?, config)
    }

    /// What leads others into this match. Only the host of a match or of a reopening has it, and a player that began a
    /// branch.
    pub fn ticket(&self) -> Option<&Ticket> {
        self.ticket.as_ref()
    }

    /// Says that this peer is ready to start, or is not.
    pub fn set_ready(&mut self, ready: bool) {
        self.tell(Input::Ready(ready));
    }

    /// Writes to all. What exceeds the limits on chat is cut or dropped.
    pub fn chat(&mut self, text: &str) {
        self.tell(Input::Chat(text.to_owned()));
    }

    /// Pauses the match, within this seat's budget of pauses.
    pub fn pause(&mut self) {
        self.tell(Input::Pause);
    }

    /// Lets a paused match go on.
    pub fn resume(&mut self) {
        self.tell(Input::Resume);
    }

    /// Votes to extend the wait for the peers that turns wait for. Once a quorum of the roster has voted, no peer is
    /// suspected in this stall for another 30 s; each further vote adds as much, up to ten minutes. Without effect while
    /// no turn waits. [`Event::Extension`] tells of votes.
    pub fn wait_longer(&mut self) {
        self.tell(Input::WaitLonger);
    }

    /// Enters a branch, by the word of a joiner's player: one that [`Event::BranchFound`] has told of, to this incarnation or
    /// to the one before. A match that a quorum carries on, and a reopening, still come first.
    pub fn enter_branch(&mut self, branch: MatchId) {
        self.tell(Input::EnterBranch(branch));
    }

    /// Tells a joiner where a peer of its match may be found, as by an announcement on the local network. Without effect
    /// for a peer that it does not know to be of the match.
    pub fn add_contact(&mut self, contact: Contact) {
        self.tell(Input::Contact(contact));
    }

    /// Leaves the match. [`Event::Ended`] follows within five seconds and the command delay; until then keep polling.
    pub fn leave(&mut self) {
        self.tell(Input::Leave);
    }

    /// What the session has measured; renewed ten times a second.
    pub fn stats(&self) -> Stats {
        self.shared.lock().stats.clone()
    }

    /// What the transport has carried; renewed ten times a second.
    pub fn traffic(&self) -> Traffic {
        self.shared.lock().traffic
    }

    pub(crate) fn budget(&self) -> Duration {
        self.budget
    }

    fn open(
        role: Role,
        ticket: Option<Ticket>,
        network: Network,
        config: Config,
    ) -> Result<Self, Error> {
        let log = config
            .log
            .unwrap_or_else(|| Box::new(crate::log::Memory::new(LOG_BYTES)));
        let session = SessionConfig {
            name: config.name,
            own_seats: config.own_seats,
            ready: config.ready,
            addresses: network.transport.addresses(),
            entropy: random()?,
            share: config.seed.map(share_of_seed),
            keyframe_every: log.keyframe_every(),
            limits: config.limits.clone(),
            stall_limit: config.stall_limit,
            suspicion: config.suspicion,
            build: config.build,
            role,
        };
        let session = Session::new(session, network.signer)?;
        let waker = network.transport.waker();
        let reporter = Reporter::new(config.reports, config.limits.clone());
        let log = LogThread::start(log, reporter, waker.clone()).map_err(Error::Thread)?;
        let shared = Arc::new(Shared::default());
        let (to_network, from_game) = std::sync::mpsc::sync_channel(TO_NETWORK);
        let thread = NetworkThread::new(session, network.transport, log, from_game, shared.clone());
        let thread = std::thread::Builder::new()
            .name("lockstep".to_owned())
            .spawn(move || thread.run_to_the_end())
            .map_err(Error::Thread)?;
        Ok(Live {
            shared,
            to_network,
            waker,
            thread: Some(thread),
            ticket,
            limits: config.limits,
            budget: config.budget,
            own_seats: Vec::new(),
            doors: Doors::default(),
            asked: None,
            decided: false,
            faulted: false,
            next_turn: TurnNumber(0),
            counted: TurnNumber(0),
            plan: config.host.terms.plan,
        })
    }

    /// A full queue means that the network thread hangs; what is dropped then is refused or repeated by the caller.
    fn tell(&self, input: Input<'static>) -> bool {
        let sent = self.to_network.try_send(ToNetwork::Input(input)).is_ok();
        (self.waker)();
        sent
    }

    fn note_executed(&mut self, work: &Work) {
        let begins_at = match work {
            Work::New { .. } => Some(TurnNumber(0)),
            Work::Load { turns, .. } => Some(TurnNumber(*turns)),
            _ => None,
        };
        if let Some(turn) = begins_at {
            // Turns may have been taken back, perhaps the one that decided the match.
            (self.decided, self.next_turn) = (false, turn);
        }
        let Work::Execute(bundle) = work else {
            return;
        };
        self.next_turn = bundle.turn;
        self.plan = bundle.plan;
        if bundle.turn < self.counted {
            return;
        }
        self.counted = bundle.turn.next();
        for entry in &bundle.entries {
            if matches!(entry.what, crate::log::What::Command(_)) {
                self.doors.executed(entry.seat);
            }
        }
    }

    /// Takes over what the start of the match says.
    fn note_events(&mut self, events: &[Event]) {
        for event in events {
            if let Event::Started { own, plan, .. } = event {
                self.own_seats = own.clone();
                self.plan = *plan;
                self.doors.open(own);
            }
        }
    }

    fn take_started(&mut self) {
        let started = self.shared.lock().started.take();
        if let Some(started) = started {
            self.note_events(&[started]);
        }
    }
}

impl TurnSource for Live {
    fn next(&mut self, _: Duration) -> Option<Work> {
        assert!(
            self.asked.is_none(),
            "the last piece of work was not answered"
        );
        self.take_started();
        if self.faulted {
            // Nothing takes it any more, and a game that waits for work would find it each time.
            self.shared.lock().work.clear();
            return None;
        }
        let work = loop {
            let work = self.shared.lock().work.pop_front()?;
            // Turns after the one that decided the match do not count on any peer.
            if !(self.decided && matches!(work, Work::Execute(_))) {
                break work;
            }
        };
        self.note_executed(&work);
        self.asked = Some(Asked::by(&work));
        Some(work)
    }

    fn answer(&mut self, answer: Answer) -> Result<(), WrongAnswer> {
        let asked = self.asked.ok_or(WrongAnswer::NotAsked)?;
        if !asked.takes(&answer) {
            return Err(WrongAnswer::OtherKind);
        }
        self.asked = None;
        self.faulted |= matches!(answer, Answer::Faulted { .. });
        if let Answer::Executed { outcome, .. } = &answer {
            self.decided |= outcome.is_some();
            self.next_turn = self.next_turn.next();
        }
        // Must arrive. The network thread never waits for this one, so a full queue empties; it is gone only once
        // the match is over.
        let _ = self.to_network.send(ToNetwork::Answer(answer));
        (self.waker)();
        Ok(())
    }

    fn events(&mut self) -> Vec<Event> {
        self.take_started();
        let mut shared = self.shared.lock();
        shared.take_end();
        std::mem::take(&mut shared.events).into()
    }

    fn issue(&mut self, seat: Seat, command: Vec<u8>) -> Result<Issued, Refused> {
        self.take_started();
        let (now, queue) = (self.shared.now(), self.shared.lock().queue());
        let queue = queue.filter(|_| !self.own_seats.is_empty());
        let queue = queue.ok_or(Refused::NotLive)?;
        let of = (seat, command.len());
        let issued = self.doors.admit(of, now, queue, &self.limits)?;
        if !self.tell(Input::Issue { seat, command }) {
            return Err(Refused::RateLimited);
        }
        self.doors.pass(of);
        Ok(issued)
    }

    fn own_seats(&self) -> &[Seat] {
        &self.own_seats
    }

    fn status(&self) -> Status {
        let shared = self.shared.lock();
        let behind = shared.turns_waiting();
        match &shared.status {
            Status::Running if behind > 2 => Status::CatchingUp { behind },
            status => status.clone(),
        }
    }

    fn pace(&self) -> Option<Duration> {
        let shared = self.shared.lock();
        // A joiner is admitted once its world is close behind the others': it steps each turn as it comes.
        let follows = matches!(shared.status, Status::CatchingUp { .. });
        (shared.turns_waiting() < 2 && !follows).then(|| self.plan.tick())
    }

    fn wait(&mut self, timeout: Duration) {
        self.shared.wait(timeout);
    }

    fn next_turn(&self) -> TurnNumber {
        self.next_turn
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // Must arrive, as an answer: else the thread of a match without end never ends.
        let _ = self.to_network.send(ToNetwork::Stop);
        (self.waker)();
        if let Some(thread) = self.thread.take() {
            // The thread ends within the transport's bound on closing. A panic in it was already printed.
            let _ = thread.join();
        }
    }
}

/// The network of the configuration, or the default one: QUIC. A peer that was in the match before has the key of that run,
/// and its port where that is free.
fn network_of(config: &mut Config, earlier: Option<&Rejoin>) -> Result<Network, Error> {
    if let Some(network) = config.network.take() {
        return Ok(network);
    }
    #[cfg(feature = "quic")]
    {
        let identity = match earlier {
            Some(from) => crate::quic::Identity::of_earlier_run(from)?,
            None => crate::quic::Identity::default_for_user()?,
        };
        let limits = config.limits.clone();
        Ok(Network::quic(crate::quic::QuicConfig {
            preferred_port: earlier.and_then(|from| from.port_of(identity.peer())),
            limits,
            ..crate::quic::QuicConfig::new(identity)
        })?)
    }
    #[cfg(not(feature = "quic"))]
    {
        let _ = earlier;
        Err(Error::NoNetwork)
    }
}

/// The ticket of a peer of this match, which admits no new player.
fn way_to(network: &Network, match_id: MatchId, lasts: Duration) -> Ticket {
    Ticket {
        match_id,
        secret: [0; 16],
        host: network.signer.id(),
        addresses: network.transport.addresses().into_iter().take(8).collect(),
        expires_unix_s: unix_time().saturating_add(lasts).as_secs(),
    }
}

/// The network of a match without other peers, with a key that lasts as long as the match.
fn alone() -> Result<Network, Error> {
    Ok(Network {
        transport: Box::new(Alone::default()),
        signer: Box::new(crate::sign::Ed25519::new(&random()?)),
    })
}

fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| Error::Randomness)?;
    Ok(bytes)
}

fn share_of_seed(seed: u64) -> [u8; 32] {
    let mut share = [0; 32];
    share[..8].copy_from_slice(&seed.to_le_bytes());
    share
}

#[expect(
    clippy::disallowed_methods,
    reason = "a ticket's expiry is a date on the issuer's clock"
)]
fn unix_time() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
