//! One peer of a match: its game, the bots on its seats, and what it all took.

mod network;

use crate::bot::Level;
use crate::cli::Common;
use crate::exit::Problem;
use crate::log::{LogLevel, say};
use crate::pacing::{BotHands, any_seed};
use crate::plain;
use crate::recording::{RecordedTo, recorder};
use crate::tally::{Summary, Tally};
use crate::world::{Command, Setup, World};
use lockstep::log::{LogStore, Record, Terms};
use lockstep::{Config, Live};
use lockstep::{
    Contact, EndReason, Event, JoinRefused, Match, MatchId, Moment, PeerId, Plan, Rejoin,
    RosterCause, Seat, Ticket,
};
use network::{network, network_of_player};
use replay::WayBack;
use sim::Simulation as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// A peer that plays.
pub struct Peer {
    game: Match<World>,
    /// Whose seats bots play, once seats are given.
    bots: Bots,
    hands: Vec<BotHands>,
    seed: u64,
    plan: Plan,
    tally: Tally,
    replay: Option<PathBuf>,
    /// Where a recording is that is named once the match begins.
    recorded_to: Option<RecordedTo>,
    identity: Option<PathBuf>,
    /// Leaves after that many turns.
    leave_after: Option<u32>,
    leaving: bool,
    /// It votes to wait longer, and has done so that often in this stall.
    patient: Option<u32>,
    /// Turn 0 is executed: before, nobody plays.
    playing: bool,
    /// It comes back and has not been let in: commands would be refused.
    returns: bool,
    /// It hosts a match that is reopened.
    reopens: bool,
    /// Turns that an earlier run has recorded, and where.
    recorded: u32,
    came_from: Option<PathBuf>,
    /// Turns that this one has executed.
    executed: u32,
    match_id: Option<MatchId>,
    /// Too few are left to go on.
    stands: bool,
    id: Option<PeerId>,
    /// What the host of a lobby has set, once it has let this peer in.
    setup: Arc<OnceLock<Setup>>,
    /// Events that were taken and are to be told once more.
    untold: Vec<Event>,
    clock: Instant,
}

/// How a peer begins, beside its options.
pub struct Beginning {
    /// Whether it is ready from the beginning, or says so later.
    pub ready: bool,
    /// A recording other than to the file that the options name, and where it is once it is begun.
    pub recording: Option<(Box<dyn LogStore>, RecordedTo)>,
}

impl Default for Beginning {
    fn default() -> Self {
        Beginning {
            ready: true,
            recording: None,
        }
    }
}

/// Which of a peer's seats bots play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bots {
    /// None.
    Nobody,
    /// Every seat.
    All(Level),
    /// Every seat: the first and the others by different levels.
    FirstAndOthers(Level, Level),
    /// Every seat but the first, which a person plays.
    AllButFirst(Level),
}

impl Bots {
    /// How well one plays the first seat, unless a person does.
    pub fn first(self) -> Option<Level> {
        match self {
            Bots::All(level) | Bots::FirstAndOthers(level, _) => Some(level),
            Bots::Nobody | Bots::AllButFirst(_) => None,
        }
    }

    /// How well they play the other seats.
    pub fn others(self) -> Option<Level> {
        match self {
            Bots::All(level) | Bots::FirstAndOthers(_, level) | Bots::AllButFirst(level) => {
                Some(level)
            }
            Bots::Nobody => None,
        }
    }
}

/// How a peer takes part.
pub enum Part<'a> {
    /// It opens a match.
    Host {
        /// What holds for all; the common options tell plan and turn limit.
        terms: Terms,
        /// How many of the seats are the host's bots'.
        bots: u8,
        /// Where to listen.
        listen: SocketAddr,
    },
    /// It joins.
    Join {
        /// Whose match.
        ticket: &'a Ticket,
        /// Where to listen for the other peers.
        listen: SocketAddr,
    },
    /// It comes back.
    Rejoin {
        /// What it knows of the match.
        from: &'a Rejoin,
        /// Where it knows that from, where it does from a replay.
        replay: Option<&'a Path>,
        /// Where to listen for the other peers.
        listen: SocketAddr,
    },
    /// It waits for the others of a match whose processes have all died, and goes on with them.
    Reopen {
        /// What it has recorded of the match.
        from: &'a Rejoin,
        /// Where.
        replay: &'a Path,
        /// For so long it waits for all.
        wait: Duration,
        /// Where to listen.
        listen: SocketAddr,
    },
    /// It plays alone, on that many seats.
    Alone {
        /// Seats.
        seats: u8,
    },
    /// It goes on alone from a moment of a recorded match, on all seats.
    PlayOn {
        /// The moment.
        from: &'a Moment,
    },
}

/// Which key a peer is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyChoice {
    /// That of the identity file.
    Kept,
    /// One that is forgotten at the end.
    Ephemeral,
}

impl Part<'_> {
    /// The replay of an earlier run.
    fn replay(&self) -> Option<&Path> {
        match self {
            Part::Rejoin { replay, .. } => *replay,
            Part::Reopen { replay, .. } => Some(replay),
            Part::Host { .. } | Part::Join { .. } | Part::Alone { .. } | Part::PlayOn { .. } => {
                None
            }
        }
    }

    /// Turns that an earlier run has recorded.
    fn recorded(&self) -> u32 {
        let (Part::Rejoin { from, .. } | Part::Reopen { from, .. }) = self else {
            return 0;
        };
        let turns = from.log.iter();
        turns
            .filter(|record| matches!(record, Record::Bundle(_)))
            .count() as u32
    }
}

impl Peer {
    /// Opens or joins a match. Files are made before anything starts.
    ///
    /// # Errors
    /// [`Problem`].
    pub fn start(
        part: &Part<'_>,
        bots: Bots,
        common: &Common,
        key: KeyChoice,
    ) -> Result<Peer, Problem> {
        Peer::begin(part, bots, common, key, Beginning::default())
    }

    /// The same, beginning otherwise.
    ///
    /// # Errors
    /// [`Problem`].
    pub fn begin(
        part: &Part<'_>,
        bots: Bots,
        common: &Common,
        key: KeyChoice,
        beginning: Beginning,
    ) -> Result<Peer, Problem> {
        let mut config = Config {
            ready: beginning.ready,
            name: common.name.clone().unwrap_or_else(user_name),
            seed: common.seed,
            build: BUILD.to_owned(),
            ..Config::default()
        };
        if let Some(plan) = common.plan {
            config.terms.plan = plan;
        }
        if let Some(path) = &common.record {
            config.log = Some(Box::new(recorder(path)?));
        }
        let mut recorded_to = None;
        if let Some((store, path)) = beginning.recording {
            config.log = Some(store);
            recorded_to = Some(path);
        }
        let told_setup = Arc::new(OnceLock::new());
        let mut id = None;
        let mut leave_after = None;
        let game = match part {
            Part::Host {
                terms,
                bots,
                listen,
            } => {
                config.terms = Terms {
                    plan: config.terms.plan,
                    turn_limit: common.turns,
                    ..*terms
                };
                config.own_seats = bots.saturating_add(1);
                let network = network(*listen, common, key)?;
                id = Some(network.signer.id());
                config.network = Some(network);
                Match::host(setup(common), config)?
            }
            Part::Join { ticket, listen } => {
                leave_after = common.turns;
                let network = network(*listen, common, key)?;
                id = Some(network.signer.id());
                config.network = Some(network);
                join(ticket, config, told_setup.clone())?
            }
            Part::Rejoin { from, listen, .. } => {
                leave_after = common.turns;
                let network = network_of_player(*listen, common, key, from)?;
                id = Some(network.signer.id());
                config.network = Some(network);
                Match::rejoin((*from).clone(), config)?
            }
            Part::Reopen {
                from, wait, listen, ..
            } => {
                leave_after = common.turns;
                let network = network_of_player(*listen, common, key, from)?;
                id = Some(network.signer.id());
                config.network = Some(network);
                Match::reopen((*from).clone(), *wait, config)?
            }
            Part::Alone { seats } => {
                config.own_seats = *seats;
                config.terms.turn_limit = common.turns;
                if common.plan.is_none() {
                    config.terms.plan = ALONE;
                }
                Match::single_player(setup(common), config)?
            }
            Part::PlayOn { from } => {
                config.terms.turn_limit = common.turns;
                if common.plan.is_none() {
                    config.terms.plan = ALONE;
                }
                Match::play_on((*from).clone(), config)?
            }
        };
        Ok(Peer {
            game,
            bots,
            hands: Vec::new(),
            seed: common.seed.unwrap_or_else(any_seed),
            plan: Plan::default(),
            tally: Tally::new(),
            replay: common.record.clone(),
            recorded_to,
            identity: common.identity.clone(),
            leave_after,
            leaving: false,
            patient: common.patient.then_some(0),
            playing: false,
            returns: matches!(part, Part::Rejoin { .. } | Part::Reopen { .. }),
            reopens: matches!(part, Part::Reopen { .. }),
            recorded: part.recorded(),
            came_from: part.replay().map(Path::to_owned),
            executed: 0,
            match_id: None,
            stands: false,
            id,
            setup: told_setup,
            untold: Vec::new(),
            clock: now(),
        })
    }

    /// The invitation, where this peer is the host.
    pub fn ticket(&mut self) -> Option<Ticket> {
        self.game.source().ticket().cloned()
    }

    /// Whether it hosts a match that is reopened: who joins needs a recording of it.
    pub fn reopens(&self) -> bool {
        self.reopens
    }

    /// Whether it looks for others who play the match that it comes back to.
    pub fn looks_for_others(&self) -> bool {
        self.returns && !self.reopens
    }

    /// Steps what is due, lets bots act, and returns what has happened. Never waits.
    pub fn poll(&mut self, seen: impl FnMut(&World, &[crate::world::Effect])) -> Vec<Event> {
        self.let_bots_act();
        let new = self.game.poll_each_tick(seen);
        let at = now();
        for event in &new {
            self.tally.take(event, at);
            self.take(event);
        }
        let mut events = std::mem::take(&mut self.untold);
        events.extend(new);
        events
    }

    /// Tells these events once more at the next [`poll`](Self::poll): for who follows the match from here on.
    pub fn tell_again(&mut self, events: Vec<Event>) {
        self.untold.extend(events);
    }

    /// The key that it is known by, where there is a network.
    pub fn id(&self) -> Option<PeerId> {
        self.id
    }

    /// Whether its commands count: who comes back must be let in first.
    pub fn is_in(&self) -> bool {
        self.playing && !self.returns
    }

    /// What the host of a lobby has set, once it has let this peer in.
    pub fn told_setup(&self) -> Option<&Setup> {
        self.setup.get()
    }

    /// The recording, once it is begun.
    pub fn replay(&self) -> Option<&Path> {
        self.replay.as_deref()
    }

    /// Waits until there may be something to do, at most `most`.
    pub fn wait(&mut self, most: Duration) {
        let elapsed = self.clock.elapsed();
        let hands = self.hands.iter().filter(|_| self.playing);
        let bots = hands.map(BotHands::next_at).min();
        let until_bots = bots.map_or(most, |at| at.saturating_sub(elapsed));
        self.game.wait(most.min(until_bots.max(SHORTEST_WAIT)));
    }

    /// Issues a command of the person who plays the first seat.
    pub fn issue(&mut self, command: Command) -> Result<(), lockstep::Refused> {
        self.game.issue(command).map(drop)
    }

    /// Leaves gracefully. The match ends for this peer soon after.
    pub fn leave(&mut self) {
        if !self.leaving {
            self.leaving = true;
            self.game.source().leave();
        }
    }

    /// Whether it is on its way out.
    pub fn is_leaving(&self) -> bool {
        self.leaving
    }

    /// The world, once it is built.
    pub fn world(&self) -> Option<&World> {
        self.game.world()
    }

    /// Whether a person plays here, or will once seats are given.
    pub fn plays_a_person(&self) -> bool {
        self.bots.first().is_none()
    }

    /// Which of its seats bots play.
    pub fn bots(&self) -> Bots {
        self.bots
    }

    /// The seat that a person plays here, if one does.
    pub fn person(&self) -> Option<Seat> {
        let own = self.game.own_seats().first().copied();
        own.filter(|_| self.plays_a_person())
    }

    /// Commands of a seat, anybody's, that the world was given here.
    pub fn given(&self, seat: Seat) -> u32 {
        self.game.given(seat)
    }

    /// The game itself.
    pub fn game(&mut self) -> &mut Match<World> {
        &mut self.game
    }

    /// What it took so far.
    pub fn summary(&mut self) -> Summary {
        let stats = self.game.source().stats();
        Summary {
            counts: self.game.counts(),
            latency: self.tally.latency(),
            step: self.tally.step(),
            stalled: stats.stalled,
            late_turns: stats.late_turns,
            wall: self.tally.wall(now()),
            traffic: self.game.source().traffic(),
            replay: self.replay.clone(),
        }
    }

    fn take(&mut self, event: &Event) {
        match event {
            Event::Started {
                own,
                plan,
                match_id,
                ..
            } => {
                self.match_id = Some(*match_id);
                if let Some(path) = self.recorded_to.as_ref().and_then(|path| path.get()) {
                    self.replay = Some(path.clone());
                }
                self.plan = *plan;
                self.hands = bot_hands(self.bots, own, self.seed);
            }
            Event::Contacts(contacts) => self.keep_way_back(contacts),
            Event::NoQuorum { .. } => self.stands = true,
            Event::RosterChanged { turn, cause, .. } => {
                (self.returns, self.stands) = (false, false);
                let lost = self.recorded.saturating_sub(turn.0);
                if *cause == RosterCause::Reopened && lost > 0 {
                    say(
                        LogLevel::Warn,
                        format_args!(
                            "the last {lost} recorded turns do not count: too few players have them"
                        ),
                    );
                }
            }
            Event::Ended(ended) => {
                let over = match ended.reason {
                    EndReason::Decided | EndReason::TurnLimit => true,
                    // Where too few are left, whoever leaves may host the match again; who never got in may try later.
                    EndReason::Left => !self.stands && !self.returns,
                    _ => false,
                };
                let recordings = [&self.replay, &self.came_from];
                for path in recordings.into_iter().flatten().filter(|_| over) {
                    WayBack::beside(path).forget();
                }
            }
            Event::PlanChanged { plan, .. } => self.plan = *plan,
            Event::Stalled { since, .. } => {
                let wanted = since.as_secs() as u32 / VOTE_EVERY_S + u32::from(since.as_secs() > 0);
                if let Some(voted) = self.patient.as_mut().filter(|voted| **voted < wanted) {
                    *voted += 1;
                    self.game.source().wait_longer();
                }
            }
            Event::StallEnded { .. } => {
                self.stands = false;
                self.patient = self.patient.map(|_| 0);
            }
            Event::Turn { turn, .. } => {
                (self.playing, self.executed) = (true, turn.0 + 1);
                if self.leave_after.is_some_and(|turns| turn.0 + 1 >= turns) {
                    self.leave();
                }
            }
            _ => {}
        }
    }

    /// How to come back, where the match goes on without this peer, or may go on.
    pub fn way_back(&self, reason: &EndReason) -> Option<String> {
        let stands = match reason {
            EndReason::NobodyPlays => true,
            // Another run of this program has no vote in what the others wait for: nobody could let it in.
            EndReason::StallLimit { .. } | EndReason::Left => self.stands && self.replay.is_some(),
            EndReason::NoQuorum { .. } => self.looks_for_others(),
            _ => false,
        };
        let by = || plain::host_again(self.newest_recording(), self.identity.as_deref());
        if stands {
            return Some(by());
        }
        if let EndReason::NobodyThere | EndReason::OthersWent { .. } = reason {
            return Some(format!("if nobody plays it any more, {}", by()));
        }
        if *reason == EndReason::Refused(JoinRefused::Started) {
            return Some(plain::BACK_IN.to_owned());
        }
        let goes_on = matches!(reason, EndReason::Removed | EndReason::StallLimit { .. });
        let replay = self.replay.as_ref().filter(|_| goes_on)?;
        let way_back = WayBack::beside(replay);
        way_back.path().exists().then(|| {
            let replay = plain::word(replay);
            match &self.identity {
                Some(key) => {
                    let key = plain::word(key);
                    format!("come back with: demo-rts rejoin {replay} --identity {key}")
                }
                None => format!("come back with: demo-rts rejoin {replay}"),
            }
        })
    }

    /// The command that hosts the match again, where something is recorded to do it from.
    pub fn reopen_command(&self) -> Option<String> {
        let recording = self.newest_recording()?;
        let identity = self.identity.as_deref();
        Some(plain::host_command(Some(recording), identity))
    }

    /// What holds the match as far as this peer had it: at first, while it comes back, what it came with.
    fn newest_recording(&self) -> Option<&Path> {
        let replay = self.replay.as_deref().filter(|_| self.match_id.is_some());
        let came_from = self.came_from.as_deref();
        match self.returns && self.executed < self.recorded {
            true => came_from.or(replay),
            false => replay.or(came_from),
        }
    }

    fn keep_way_back(&self, contacts: &[Contact]) {
        let (Some(path), Some(match_id)) = (&self.replay, self.match_id) else {
            return;
        };
        if contacts.len() < 2 {
            return;
        }
        // Nobody comes back by its own address.
        let others = contacts
            .iter()
            .filter(|contact| Some(contact.peer) != self.id);
        let others: Vec<Contact> = others.cloned().collect();
        let kept = WayBack::beside(path).keep(match_id, &others);
        if let Err(why) = kept {
            say(
                LogLevel::Warn,
                format_args!("cannot keep where the others are: {why}"),
            );
        }
    }

    fn let_bots_act(&mut self) {
        if !self.playing || self.returns {
            return;
        }
        let elapsed = self.clock.elapsed();
        for hands in &mut self.hands {
            let Some(world) = self.game.world() else {
                return;
            };
            for command in hands.act(elapsed, world, &self.plan) {
                // A refusal is counted by the match, and a bot thinks anew anyway.
                let _ = self.game.issue_for(hands.seat(), command);
            }
        }
    }
}

/// Whether a match that ended so was played as intended.
pub fn went_well(reason: &EndReason) -> bool {
    crate::exit::of_end(reason) == crate::exit::GOOD
}

/// Joins, and keeps what the host has set.
fn join(
    ticket: &Ticket,
    config: Config,
    told: Arc<OnceLock<Setup>>,
) -> Result<Match<World>, lockstep::live::Error> {
    let budget = config.budget;
    let rules = move |bytes: &[u8]| {
        let setup = match postcard::take_from_bytes::<Setup>(bytes) {
            Ok((setup, [])) => setup,
            _ => return None,
        };
        let rules = World::rules(&setup);
        // A host has one setup.
        let _ = told.set(setup);
        Some(rules)
    };
    Ok(Match::over(Live::join(ticket, Box::new(rules), config)?).with_budget(budget))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the edge of the program: people and bots act in real time"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// What is played, as the options say.
pub(crate) fn setup(common: &Common) -> Setup {
    let usual = Setup::default();
    Setup {
        map_seed: common.map_seed,
        map: common.map,
        scenario: common.scenario.unwrap_or(usual.scenario),
        minutes: common.minutes.unwrap_or(usual.minutes),
        ..usual
    }
}

fn bot_hands(bots: Bots, own: &[Seat], seed: u64) -> Vec<BotHands> {
    let levels = std::iter::once(bots.first()).chain(std::iter::repeat(bots.others()));
    own.iter()
        .zip(levels)
        .filter_map(|(seat, level)| Some(BotHands::new(*seat, level?, seed)))
        .collect()
}

/// What the system calls the user.
pub(crate) fn user_name() -> String {
    let names = ["USER", "LOGNAME", "USERNAME"];
    let named = names.iter().find_map(|name| std::env::var(name).ok());
    let mut name = named.unwrap_or_default();
    name.retain(lockstep::is_shown);
    name.truncate(name.floor_char_boundary(NAME_BYTES));
    match name.trim().is_empty() {
        true => "player".to_owned(),
        false => name,
    }
}

/// The plan of a match without a network, unless another is asked for: there is nobody to wait for.
pub const ALONE: Plan = Plan {
    ticks: 2,
    delay_turns: 1,
    tick_ms: 50,
};
/// Bytes of a player's name.
const NAME_BYTES: usize = 32;
/// This build, as others are told.
pub const BUILD: &str = concat!("demo-rts ", env!("CARGO_PKG_VERSION"));
/// Who waits for as long as it may votes after the first second, and then as often.
const VOTE_EVERY_S: u32 = 25;
const SHORTEST_WAIT: Duration = Duration::from_millis(1);
