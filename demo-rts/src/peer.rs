//! One peer of a match: its game, the bots on its seats, and its totals.

mod contacts;
mod guests;
mod network;
mod part;
mod quorum_loss;

pub use part::{Bots, KeyChoice, Launch, Part};
#[cfg(feature = "window")]
pub use quorum_loss::REOPENS_FOR;
pub use quorum_loss::{NewRun, Way};

use crate::cli::Common;
use crate::exit::Problem;
use crate::log::{LogLevel, say};
use crate::options;
use crate::output::LeadLine;
use crate::pacing::{BotHands, any_seed};
use crate::recording::{RecordedTo, recorder};
use crate::tally::{Summary, Tally};
use crate::world::{Setup, World};
use lockstep::log::Terms;
use lockstep::{Config, Live};
use lockstep::{
    Contact, EndReason, Event, LobbyPeer, Match, MatchId, PeerId, Plan, RosterCause, Seat,
    SeatInfo, Ticket, Traffic, TurnNumber,
};
use network::{network, network_of_player};
use quorum_loss::Again;
use replay::WayBack;
use sim::Simulation as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

pub struct Peer {
    game: Match<World>,
    /// Which of its seats bots play, once seats are given.
    bots: Bots,
    hands: Vec<BotHands>,
    seed: u64,
    plan: Plan,
    tally: Tally,
    traffic_before: Traffic,
    replay: Option<PathBuf>,
    /// The path of a recording that is named once the match begins, until it is known.
    recorded_to: Option<RecordedTo>,
    /// Where the players are found, until the recording's path is known.
    unsaved_contacts: Vec<Contact>,
    identity: Option<PathBuf>,
    /// The number of turns after which it leaves.
    leave_after: Option<u32>,
    leaving: bool,
    /// With `--patient`, the votes for an extension cast in this stall.
    extension_votes: Option<u32>,
    /// Turn 0 is executed; commands count from then on.
    playing: bool,
    /// A joiner that is not yet admitted: its commands would be refused.
    rejoining: bool,
    /// It looks for the peers of its match.
    seeks: bool,
    /// It hosts a reopening.
    reopening: bool,
    /// Turns that an earlier run has recorded.
    recorded: u32,
    came_from: Option<PathBuf>,
    /// The ticket by which it joined.
    invitation: Option<Ticket>,
    comes_to: Option<MatchId>,
    /// Its recording holds all of the one that it came from: it was begun before the match was.
    records_anew: bool,
    /// Turns that this run has executed.
    executed: u32,
    match_id: Option<MatchId>,
    /// Quorum loss: too few peers are left to change the roster. The seats of the missing peers.
    quorum_lost: Option<Vec<Seat>>,
    /// The seats of the match.
    seats: Vec<Seat>,
    /// The peers in the lobby.
    here: Vec<LobbyPeer>,
    /// The peers of the match's seats.
    owners: Vec<SeatInfo>,
    /// `None` without a network.
    again: Option<Again>,
    /// A reopening after quorum loss, which is begun again until its player leaves.
    reopens_again: bool,
    /// As the host of a reopening it goes on as soon as the players that came are a quorum.
    first_comers: bool,
    /// Where other players of its match were found on the local network.
    contacts_found: Vec<Contact>,
    /// The branch that it plays, and its first turn.
    branch: Option<(TurnNumber, MatchId)>,
    /// A branch that its player may enter.
    found_branch: Option<MatchId>,
    into_branch: bool,
    id: Option<PeerId>,
    /// The host's setup, once the lobby has accepted this peer.
    setup: Arc<OnceLock<Setup>>,
    /// Events that `poll` returns once more.
    redelivered: Vec<Event>,
    /// What the last `poll` has warned of.
    warnings: Vec<String>,
    clock: Instant,
}

impl Peer {
    /// Opens or joins a match. Creates its files first.
    ///
    /// # Errors
    /// [`Problem`].
    pub fn start(
        part: &Part<'_>,
        bots: Bots,
        common: &Common,
        key: KeyChoice,
    ) -> Result<Peer, Problem> {
        Peer::begin(part, bots, common, key, Launch::default())
    }

    /// Like [`start`](Self::start), with a choice of key and beginning.
    ///
    /// # Errors
    /// [`Problem`].
    pub fn begin(
        part: &Part<'_>,
        bots: Bots,
        common: &Common,
        key: KeyChoice,
        beginning: Launch,
    ) -> Result<Peer, Problem> {
        let mut config = Config {
            ready: beginning.ready,
            name: common.name.clone().unwrap_or_else(user_name),
            seed: common.seed,
            build: BUILD.to_owned(),
            ..Config::default()
        };
        if let Some(path) = &common.record {
            config.log = Some(Box::new(recorder(path)?));
        }
        let mut recorded_to = None;
        if let Some((store, path)) = beginning.recording {
            config.log = Some(store);
            recorded_to = Some(path);
        }
        let host_setup = Arc::new(OnceLock::new());
        let mut id = None;
        let mut leave_after = None;
        let mut again = None;
        let mut first_comers = false;
        let game = match part {
            Part::Host {
                terms,
                bots,
                listen,
            } => {
                config.host.terms = Terms {
                    turn_limit: common.turns,
                    ..*terms
                };
                let choice = common.plan.unwrap_or_default();
                choice.put(&mut config.host.terms);
                config.host.takes_askers = beginning.takes_askers;
                config.own_seats = bots.saturating_add(1);
                let network = network(*listen, common, key)?;
                id = Some(network.signer.id());
                again = Again::new(common, key, *listen, &network);
                config.network = Some(network);
                Match::host(setup(common), config)?
            }
            Part::Join { ticket, listen } => {
                leave_after = common.turns;
                let network = network(*listen, common, key)?;
                id = Some(network.signer.id());
                again = Again::new(common, key, *listen, &network);
                config.network = Some(network);
                join(ticket, config, host_setup.clone())?
            }
            Part::Rejoin { from, listen, .. } => {
                leave_after = common.turns;
                let network = network_of_player(*listen, common, key, from)?;
                id = Some(network.signer.id());
                again = Again::new(common, key, *listen, &network);
                config.network = Some(network);
                Match::rejoin((*from).clone(), config)?
            }
            Part::Reopen {
                from,
                wait,
                listen,
                first_comers: at_once,
                ..
            } => {
                leave_after = common.turns;
                let network = network_of_player(*listen, common, key, from)?;
                id = Some(network.signer.id());
                again = Again::new(common, key, *listen, &network);
                config.network = Some(network);
                first_comers = *at_once;
                let mut game = Match::reopen((*from).clone(), *wait, config)?;
                if first_comers {
                    game.source().begin_now();
                }
                game
            }
            Part::Branch { from, listen, .. } => {
                leave_after = common.turns;
                let network = network_of_player(*listen, common, key, from)?;
                id = Some(network.signer.id());
                again = Again::new(common, key, *listen, &network);
                config.network = Some(network);
                Match::branch((*from).clone(), config)?
            }
            Part::Alone { seats } => {
                config.own_seats = *seats;
                config.host.terms.turn_limit = common.turns;
                config.host.terms.plan = options::plan_alone(common.plan)?;
                Match::single_player(setup(common), config)?
            }
            Part::PlayOn { from } => {
                config.host.terms.turn_limit = common.turns;
                config.host.terms.plan = options::plan_alone(common.plan)?;
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
            traffic_before: Traffic::default(),
            replay: common.record.clone(),
            recorded_to,
            unsaved_contacts: Vec::new(),
            identity: common.identity.clone(),
            leave_after,
            leaving: false,
            extension_votes: common.patient.then_some(0),
            playing: false,
            rejoining: part.from().is_some(),
            seeks: matches!(part, Part::Rejoin { .. }),
            reopening: matches!(part, Part::Reopen { .. }),
            recorded: part.recorded(),
            came_from: part.replay().map(Path::to_owned),
            invitation: part.ticket().cloned(),
            comes_to: part.from().map(|from| from.match_id),
            records_anew: false,
            executed: 0,
            match_id: None,
            quorum_lost: None,
            seats: Vec::new(),
            here: Vec::new(),
            owners: Vec::new(),
            again,
            reopens_again: false,
            first_comers,
            contacts_found: Vec::new(),
            branch: None,
            found_branch: None,
            into_branch: common.into_branch,
            id,
            setup: host_setup,
            redelivered: Vec::new(),
            warnings: Vec::new(),
            clock: now(),
        })
    }

    /// The ticket, where this peer is the host.
    pub fn ticket(&mut self) -> Option<Ticket> {
        self.game.source().ticket().cloned()
    }

    /// Whether it hosts a reopening: a joiner needs a recording of the match.
    pub fn reopens(&self) -> bool {
        self.reopening
    }

    /// Whether it comes back to a match, and has no part in it yet.
    pub fn is_back(&self) -> bool {
        self.rejoining
    }

    /// Whether it is looking for the peers of a match to rejoin.
    pub fn seeks_match(&self) -> bool {
        self.rejoining && self.seeks
    }

    /// Steps due ticks, lets bots act, and returns new events. Never blocks.
    pub fn poll(&mut self, seen: impl FnMut(&World, &[crate::world::Effect])) -> Vec<Event> {
        self.warnings.clear();
        self.let_bots_act();
        let new = self.game.poll_each_tick(seen);
        self.note_recording();
        let at = now();
        for event in &new {
            self.tally.take(event, at);
            self.take(event);
        }
        let mut events = std::mem::take(&mut self.redelivered);
        events.extend(new);
        events
    }

    /// Warnings of the last [`poll`](Self::poll), for a screen that covers stderr.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn warn(&mut self, text: String) {
        say(LogLevel::Warn, format_args!("{text}"));
        self.warnings.push(text);
    }

    /// Has the next [`poll`](Self::poll) return these events once more, for a new screen.
    pub fn redeliver(&mut self, events: Vec<Event>) {
        self.redelivered.extend(events);
    }

    /// This peer's key, where there is a network.
    pub fn id(&self) -> Option<PeerId> {
        self.id
    }

    /// Whether its commands count.
    pub fn is_admitted(&self) -> bool {
        self.playing && !self.rejoining
    }

    /// The host's setup, once the lobby has accepted this peer.
    pub fn host_setup(&self) -> Option<&Setup> {
        self.setup.get()
    }

    /// The recording, once it is begun.
    pub fn replay(&self) -> Option<&Path> {
        self.replay.as_deref()
    }

    /// Waits until there may be work, for at most `most`.
    pub fn wait(&mut self, most: Duration) {
        let elapsed = self.clock.elapsed();
        let hands = self.hands.iter().filter(|_| self.playing);
        let bots = hands.map(BotHands::next_at).min();
        let until_bots = bots.map_or(most, |at| at.saturating_sub(elapsed));
        self.game.wait(most.min(until_bots.max(SHORTEST_WAIT)));
    }

    /// Leaves gracefully. The match ends for this peer soon after.
    pub fn leave(&mut self) {
        if !self.leaving {
            self.leaving = true;
            self.game.source().leave();
        }
    }

    pub fn is_leaving(&self) -> bool {
        self.leaving
    }

    /// The world, once it is built.
    pub fn world(&self) -> Option<&World> {
        self.game.world()
    }

    /// Whether a person plays here, now or once seats are given.
    pub fn has_person(&self) -> bool {
        self.bots.first().is_none()
    }

    pub fn bots(&self) -> Bots {
        self.bots
    }

    /// The seat that a person plays here, if any.
    pub fn person(&self) -> Option<Seat> {
        let own = self.game.own_seats().first().copied();
        own.filter(|_| self.has_person())
    }

    /// How many commands of any peer's seat the world has received.
    pub fn given(&self, seat: Seat) -> u32 {
        self.game.given(seat)
    }

    pub fn game(&mut self) -> &mut Match<World> {
        &mut self.game
    }

    /// Totals so far.
    pub fn summary(&mut self) -> Summary {
        let stats = self.game.source().stats();
        Summary {
            counts: self.game.counts(),
            latency: self.tally.latency(),
            step: self.tally.step(),
            stalled: stats.stalled,
            late_turns: stats.late_turns,
            leads: LeadLine::of(&stats, &self.owners),
            wall: self.tally.wall(now()),
            traffic: self.game.source().traffic(),
            traffic_before: self.traffic_before,
            replay: self.replay.clone(),
            branch: self.branch.map(|(_, match_id)| match_id),
        }
    }

    fn take(&mut self, event: &Event) {
        match event {
            Event::Started {
                own,
                seats,
                plan,
                match_id,
            } => {
                self.seats = seats.iter().map(|info| info.seat).collect();
                self.owners = seats.clone();
                self.match_id = Some(*match_id);
                self.plan = *plan;
                self.traffic_before = self.game.source().traffic();
                self.hands = bot_hands(self.bots, own, self.seed);
            }
            Event::BranchFound {
                match_id,
                may_enter: true,
                ..
            } => {
                self.found_branch = Some(*match_id);
                if self.into_branch && self.seeks_match() {
                    self.enter_branch();
                }
            }
            Event::Branched { turn, match_id, .. } => {
                self.match_id = Some(*match_id);
                self.branch = Some((*turn, *match_id));
                self.found_branch = None;
            }
            Event::Lobby { peers, .. } => self.here.clone_from(peers),
            Event::Contacts(contacts) => {
                self.records_anew |= self.match_id.is_none();
                self.save_contacts(contacts);
            }
            Event::NoQuorum { missing, .. } => self.quorum_lost = Some(missing.clone()),
            Event::RosterChanged { turn, cause, .. } => {
                (self.rejoining, self.quorum_lost) = (false, None);
                let lost = self.recorded.saturating_sub(turn.0);
                if *cause == RosterCause::Reopened && lost > 0 {
                    self.warn(crate::words::lost_turns(lost));
                }
            }
            Event::Ended(ended) => {
                let over = match ended.reason {
                    EndReason::Decided | EndReason::TurnLimit => ended.is_final,
                    // After quorum loss a leaver may reopen the match; a joiner may try again later. Both need
                    // their addresses.
                    EndReason::Left => !self.has_lost_quorum() && !self.rejoining,
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
                if let Some(voted) = self
                    .extension_votes
                    .as_mut()
                    .filter(|voted| **voted < wanted)
                {
                    *voted += 1;
                    self.game.source().wait_longer();
                }
            }
            Event::StallEnded { .. } => {
                self.quorum_lost = None;
                self.extension_votes = self.extension_votes.map(|_| 0);
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

    fn let_bots_act(&mut self) {
        if !self.playing || self.rejoining {
            return;
        }
        let elapsed = self.clock.elapsed();
        for hands in &mut self.hands {
            let Some(world) = self.game.world() else {
                return;
            };
            for command in hands.act(elapsed, world, &self.plan) {
                // The match counts refusals, and the bot's next thought replaces the command.
                let _ = self.game.issue_for(hands.seat(), command);
            }
        }
    }
}

/// Whether a match that ended this way was played as intended.
pub fn ended_as_planned(reason: &EndReason) -> bool {
    crate::exit::of_end(reason) == crate::exit::GOOD
}

/// Joins, and keeps the host's setup.
fn join(
    ticket: &Ticket,
    config: Config,
    setup_cell: Arc<OnceLock<Setup>>,
) -> Result<Match<World>, lockstep::live::Error> {
    let budget = config.budget;
    let rules = move |bytes: &[u8]| {
        let setup = match postcard::take_from_bytes::<Setup>(bytes) {
            Ok((setup, [])) => setup,
            _ => return None,
        };
        let rules = World::rules(&setup);
        // Set once: a host has one setup.
        let _ = setup_cell.set(setup);
        Some(rules)
    };
    Ok(Match::over(Live::join(ticket, Box::new(rules), config)?).with_budget(budget))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the edge of the program: persons and bots act in real time"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The setup of the match, as the options give it.
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

/// The user's name in the operating system.
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

const NAME_BYTES: usize = 32;
/// This build, as other peers are told.
pub const BUILD: &str = concat!("demo-rts ", env!("CARGO_PKG_VERSION"));
/// A vote adds 30 seconds. A patient peer votes after the first second of a stall, and then every 25.
const VOTE_EVERY_S: u32 = 25;
const SHORTEST_WAIT: Duration = Duration::from_millis(1);
