//! One peer of a match: its game, the bots on its seats, and what it all took.

use crate::bot::Level;
use crate::cli::Common;
use crate::exit::Problem;
use crate::log::{LogLevel, say};
use crate::options::{Impair, ways_in};
use crate::pacing::{BotHands, any_seed};
use crate::tally::{Summary, Tally};
use crate::world::{Command, Setup, World};
use lockstep::log::{Absent, OnSlow, Record};
use lockstep::quic::{Identity, Impairments, QuicConfig};
use lockstep::{Config, Network};
use lockstep::{
    Contact, EndReason, Event, Match, MatchId, Plan, Rejoin, RosterCause, Seat, Ticket,
};
use replay::WayBack;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
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
    match_id: Option<MatchId>,
    clock: Instant,
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

/// How a peer takes part.
pub enum Part<'a> {
    /// It opens a match of so many seats, listening there.
    Host {
        /// Seats of the match.
        seats: u8,
        /// Where to listen.
        listen: SocketAddr,
        /// What becomes of a peer whose machine is too slow.
        on_slow: OnSlow,
        /// Who plays the seats of players that are gone.
        absent: Absent,
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
            Part::Host { .. } | Part::Join { .. } | Part::Alone { .. } => None,
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
        let mut config = Config {
            name: common.name.clone().unwrap_or_else(user_name),
            seed: common.seed,
            build: format!("demo-rts {}", env!("CARGO_PKG_VERSION")),
            ..Config::default()
        };
        if let Some(plan) = common.plan {
            config.plan = plan;
        }
        if let Some(path) = &common.record {
            config.log = Some(Box::new(recorder(path)?));
        }
        let mut leave_after = None;
        let game = match part {
            Part::Host {
                seats,
                listen,
                on_slow,
                absent,
            } => {
                config.seats = *seats;
                config.on_slow = *on_slow;
                config.absent = *absent;
                config.turn_limit = common.turns;
                config.network = Some(network(*listen, common, key)?);
                Match::host(setup(common), config)?
            }
            Part::Join { ticket, listen } => {
                leave_after = common.turns;
                config.network = Some(network(*listen, common, key)?);
                Match::join(ticket, config)?
            }
            Part::Rejoin { from, listen, .. } => {
                leave_after = common.turns;
                config.network = Some(network_of_player(*listen, common, key, from)?);
                Match::rejoin((*from).clone(), config)?
            }
            Part::Reopen {
                from, wait, listen, ..
            } => {
                leave_after = common.turns;
                config.network = Some(network_of_player(*listen, common, key, from)?);
                Match::reopen((*from).clone(), *wait, config)?
            }
            Part::Alone { seats } => {
                config.seats = *seats;
                config.own_seats = *seats;
                config.turn_limit = common.turns;
                if common.plan.is_none() {
                    config.plan = ALONE;
                }
                Match::single_player(setup(common), config)?
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
            identity: common.identity.clone(),
            leave_after,
            leaving: false,
            patient: common.patient.then_some(0),
            playing: false,
            returns: matches!(part, Part::Rejoin { .. } | Part::Reopen { .. }),
            reopens: matches!(part, Part::Reopen { .. }),
            recorded: part.recorded(),
            came_from: part.replay().map(Path::to_owned),
            match_id: None,
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

    /// Steps what is due, lets bots act, and returns what has happened. Never waits.
    pub fn poll(&mut self, seen: impl FnMut(&World, &[crate::world::Effect])) -> Vec<Event> {
        self.let_bots_act();
        let events = self.game.poll_each_tick(seen);
        let at = now();
        for event in &events {
            self.tally.take(event, at);
            self.take(event);
        }
        events
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
        matches!(self.bots, Bots::Nobody | Bots::AllButFirst(_))
    }

    /// The seat that a person plays here, if one does.
    pub fn person(&self) -> Option<Seat> {
        let own = self.game.own_seats().first().copied();
        own.filter(|_| self.plays_a_person())
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
                self.plan = *plan;
                self.hands = bot_hands(self.bots, own, self.seed);
            }
            Event::Contacts(contacts) => self.keep_way_back(contacts),
            Event::RosterChanged { turn, cause, .. } => {
                self.returns = false;
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
                let over = matches!(ended.reason, EndReason::Decided | EndReason::TurnLimit);
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
            Event::StallEnded { .. } => self.patient = self.patient.map(|_| 0),
            Event::Turn { turn, .. } => {
                self.playing = true;
                if self.leave_after.is_some_and(|turns| turn.0 + 1 >= turns) {
                    self.leave();
                }
            }
            _ => {}
        }
    }

    /// How to come back, where the match goes on without this peer.
    pub fn way_back(&self, reason: &EndReason) -> Option<String> {
        let goes_on = matches!(reason, EndReason::Removed | EndReason::StallLimit { .. });
        let replay = self.replay.as_ref().filter(|_| goes_on)?;
        let way_back = WayBack::beside(replay);
        way_back.path().exists().then(|| {
            let replay = replay.display();
            match &self.identity {
                Some(key) => format!("demo-rts rejoin {replay} --identity {}", key.display()),
                None => format!("demo-rts rejoin {replay}"),
            }
        })
    }

    fn keep_way_back(&self, contacts: &[Contact]) {
        let (Some(path), Some(match_id)) = (&self.replay, self.match_id) else {
            return;
        };
        if contacts.len() < 2 {
            return;
        }
        let kept = WayBack::beside(path).keep(match_id, contacts);
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

/// A recording in a new file.
///
/// # Errors
/// [`Problem::Record`].
pub fn recorder(path: &Path) -> Result<replay::Recorder, Problem> {
    replay::Recorder::create(path).map_err(|source| Problem::Record {
        path: path.to_owned(),
        source,
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "the edge of the program: people and bots act in real time"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

fn network(listen: SocketAddr, common: &Common, key: KeyChoice) -> Result<Network, Problem> {
    let mut config = match (key, &common.identity) {
        (KeyChoice::Ephemeral, _) => QuicConfig::new(fresh_key()?),
        (KeyChoice::Kept, Some(path)) => QuicConfig::new(Identity::at(path)?),
        (KeyChoice::Kept, None) => QuicConfig::new(Identity::default_for_user()?),
    };
    config.listen = listen;
    config.impairments = common.impair.as_ref().map(impairments);
    Ok(Network::quic(config)?)
}

/// The network of a peer that was in a match before: its key has a place there.
fn network_of_player(
    listen: SocketAddr,
    common: &Common,
    key: KeyChoice,
    from: &Rejoin,
) -> Result<Network, Problem> {
    let network = network(listen, common, key)?;
    let own = network.signer.id();
    let starts = from.log.iter().filter_map(|record| match record {
        Record::Start(start) => Some(start),
        _ => None,
    });
    // A ticket says nothing of who plays; there the others find out.
    for start in starts {
        if start.roster.iter().all(|peer| peer.peer != own) {
            return Err(Problem::Stranger);
        }
    }
    Ok(network)
}

fn impairments(impair: &Impair) -> Impairments {
    let impairments = Impairments::new(impair.ways.clone());
    if let Some(path) = impair.file.clone() {
        let followed = impairments.clone();
        std::thread::spawn(move || follow(&followed, &path));
    }
    impairments
}

/// Reads the file again and again, for as long as there is a socket. What cannot be read changes nothing.
fn follow(impairments: &Impairments, path: &Path) {
    let mut told = None;
    while impairments.is_shared() {
        match ways_in(path) {
            Ok(ways) => {
                told = None;
                if ways != impairments.get() {
                    impairments.set(ways);
                }
            }
            Err(why) => {
                let why = why.to_string();
                if told.as_ref() != Some(&why) {
                    say(LogLevel::Warn, format_args!("--impair: {why}"));
                }
                told = Some(why);
            }
        }
        std::thread::sleep(FOLLOW_EVERY);
    }
}

fn fresh_key() -> Result<[u8; 32], Problem> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|_| lockstep::live::Error::Randomness)?;
    Ok(key)
}

fn setup(common: &Common) -> Setup {
    let usual = Setup::default();
    Setup {
        map_seed: common.map_seed,
        map: common.map,
        scenario: common.scenario.unwrap_or(usual.scenario),
        ..usual
    }
}

fn bot_hands(bots: Bots, own: &[Seat], seed: u64) -> Vec<BotHands> {
    let (first, others) = match bots {
        Bots::Nobody => return Vec::new(),
        Bots::All(level) => (Some(level), level),
        Bots::FirstAndOthers(first, others) => (Some(first), others),
        Bots::AllButFirst(others) => (None, others),
    };
    let levels = std::iter::once(first).chain(std::iter::repeat(Some(others)));
    own.iter()
        .zip(levels)
        .filter_map(|(seat, level)| Some(BotHands::new(*seat, level?, seed)))
        .collect()
}

fn user_name() -> String {
    let names = ["USER", "LOGNAME", "USERNAME"];
    let named = names.iter().find_map(|name| std::env::var(name).ok());
    named
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "player".to_owned())
}

/// The plan of a match without a network, unless another is asked for: there is nobody to wait for.
pub const ALONE: Plan = Plan {
    ticks: 2,
    delay_turns: 1,
    tick_ms: 50,
};
/// Who waits for as long as it may votes after the first second, and then as often.
const VOTE_EVERY_S: u32 = 25;
/// How often the file of an impairment is looked at.
const FOLLOW_EVERY: Duration = Duration::from_millis(50);
const SHORTEST_WAIT: Duration = Duration::from_millis(1);
