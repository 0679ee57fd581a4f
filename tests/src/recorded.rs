//! Matches played headless at full speed and recorded: one session for each seat on links without loss in virtual time,
//! every batch signed with Ed25519, one world.
//!
//! Players are bots. Peaceful ones build up without attacking, so that the match lasts, and each moves a group about once
//! a second, so that its rate of commands is that of a busy player. Seven of ten such moves are of the group before; the
//! others are of up to 24 units in a box.

use crate::simulator::{execute, to_bytes};
use demo_rts::bot::{Bot, Level};
use demo_rts::world::{Command, Id, Setup, Tile, UnitView, World};
use lockstep::log::{LogStore, Record};
use lockstep::session::{HostConfig, Input, Output, Role, Session, SessionConfig};
use lockstep::sign::{Ed25519, Signer};
use lockstep::{Channel, Limits, LinkId, MatchId, PeerId, Plan};
use replay::Recorder;
use sim::{Checksum, Outcome, Seat, Seed, Simulation, State, Stream};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// One way of a link.
const DELAY: Duration = Duration::from_millis(20);

/// A match to be played.
pub struct Wanted<'a> {
    /// The new file.
    pub path: &'a Path,
    /// The world's settings.
    pub setup: Setup,
    /// How each seat's bot plays.
    pub levels: Vec<Level>,
    /// Turns of 200 ms after which it ends, if nobody has won.
    pub turn_limit: u32,
    /// Match time between two keyframes.
    pub keyframes_every: Duration,
    /// Nobody attacks.
    pub peaceful: bool,
}

/// What was played.
#[derive(Default)]
pub struct Played {
    /// Commands in the log.
    pub commands: u64,
    /// Their bytes.
    pub command_bytes: u64,
    /// Moves of groups.
    pub moves: u64,
    /// Moves that name the group by a reference.
    pub references: u64,
    /// Bytes of all snapshots, unpacked.
    pub snapshot_bytes: u64,
    /// Units at the end.
    pub units: usize,
}

/// To whom, on which link, what (a message, or the link itself), and whether the receiver dialled it.
type Arrival = (usize, LinkId, Option<(Channel, Arc<[u8]>)>, bool);

struct Peers {
    now: Duration,
    sessions: Vec<Session>,
    links: Vec<(usize, usize)>,
    queue: BTreeMap<(Duration, u64), Arrival>,
    count: u64,
    world: Option<World>,
    turns: Vec<(Checksum, Option<Outcome>)>,
    executed: Vec<usize>,
    recorder: Recorder,
    played: Played,
    ended: usize,
}

/// Plays and records a match.
///
/// # Panics
/// When the file exists or cannot be written.
pub fn play(wanted: &Wanted<'_>) -> Played {
    let seats = wanted.levels.len() as u8;
    let mut peers = Peers {
        now: Duration::ZERO,
        sessions: (0..seats).map(|seat| session(seat, wanted)).collect(),
        links: Vec::new(),
        queue: BTreeMap::new(),
        count: 0,
        world: None,
        turns: Vec::new(),
        executed: vec![0; usize::from(seats)],
        recorder: Recorder::create(wanted.path).expect("a new file in a folder that is there"),
        played: Played::default(),
        ended: 0,
    };
    let mut hands: Vec<Hand> = (0..seats)
        .zip(&wanted.levels)
        .map(|(seat, level)| Hand {
            bot: Bot::new(Seat(seat), *level),
            group: Vec::new(),
            peaceful: wanted.peaceful,
        })
        .collect();
    let mut random = Stream::named(&Seed([4; 32]), "moves");
    let mut thought = 0;
    while peers.ended < usize::from(seats) {
        peers.advance();
        if peers.turns.len() > thought {
            thought = peers.turns.len();
            peers.think(&mut hands, &mut random);
        }
    }
    peers.recorder.close().expect("the disk takes it");
    peers.played.units = peers
        .world
        .as_ref()
        .map_or(0, |world| world.units().count());
    peers.played
}

fn key(seat: u8) -> [u8; 32] {
    [seat + 1; 32]
}

fn peer(seat: u8) -> PeerId {
    Ed25519::new(&key(seat)).id()
}

fn session(seat: u8, wanted: &Wanted<'_>) -> Session {
    let match_id = MatchId([7; 16]);
    let setup = wanted.setup.clone();
    let role = if seat == 0 {
        Role::Host(HostConfig {
            match_id,
            secret: [1; 16],
            expires: None,
            rules: World::rules(&setup),
            setup: to_bytes(&setup),
            seats: wanted.levels.len() as u8,
            plan: Plan::default(),
            turn_limit: Some(wanted.turn_limit),
            pauses: lockstep::log::PauseBudget::default(),
            on_slow: lockstep::log::OnSlow::default(),
            on_desync: lockstep::log::OnDesync::default(),
            absent: lockstep::log::Absent::default(),
        })
    } else {
        Role::Join {
            match_id,
            secret: [1; 16],
            host: peer(0),
            addresses: vec!["0".to_owned()],
            rules: Box::new(move |_| Some(World::rules(&setup))),
        }
    };
    let config = SessionConfig {
        name: format!("player {seat}"),
        own_seats: 1,
        ready: true,
        addresses: vec![seat.to_string()],
        entropy: key(seat),
        share: Some(key(seat)),
        keyframe_every: (seat == 0).then_some(wanted.keyframes_every),
        limits: Limits::default(),
        stall_limit: None,
        suspicion: Duration::from_secs(3),
        build: "tests".to_owned(),
        role,
    };
    Session::new(config, Box::new(Ed25519::new(&key(seat)))).expect("the config is in range")
}

/// What a player does who wants to be left alone.
fn is_peaceful(command: &Command) -> bool {
    matches!(
        command,
        Command::Gather { .. }
            | Command::Build { .. }
            | Command::Train { .. }
            | Command::Assist { .. }
            | Command::Rally { .. }
            | Command::Research { .. }
    )
}

/// One who plays: a bot, and a hand that moves groups.
struct Hand {
    bot: Bot,
    group: Vec<Id>,
    peaceful: bool,
}

impl Hand {
    /// Orders the group of the last order again, or in three of ten cases draws a box around another.
    fn move_a_group(&mut self, world: &World, random: &mut Stream) -> Option<Command> {
        let seat = self.bot.seat();
        let own: Vec<UnitView> = world
            .units()
            .filter(|unit| unit.seat == seat && unit.carries.is_none())
            .collect();
        self.group.retain(|id| world.unit(*id).is_some());
        if self.group.is_empty() || random.chance(3, 10) {
            let middle = own
                .get(random.below(own.len().max(1) as u32) as usize)?
                .tile;
            let boxed = own.iter().filter(|unit| unit.tile.king_steps(middle) <= 5);
            self.group = boxed.map(|unit| unit.id).take(24).collect();
        }
        // At home, so that nobody meets an enemy and the match lasts.
        let near = world.seat(seat)?.home;
        let last = i32::from(world.map().size()) - 1;
        let mut shift = |from: u16| (i32::from(from) + random.range(-9..10)).clamp(0, last) as u16;
        let to = Tile {
            x: shift(near.x),
            y: shift(near.y),
        };
        let units = world.select(seat, self.group.iter().copied());
        Some(Command::Move { units, to })
    }
}

impl Peers {
    /// Handles the next arrival or timer.
    fn advance(&mut self) {
        let timer = self
            .sessions
            .iter()
            .enumerate()
            .filter_map(|(at, session)| Some((session.deadline()?, at)))
            .min();
        let arrival = self.queue.first_key_value().map(|((at, _), _)| *at);
        match (arrival, timer) {
            (Some(at), timer) if timer.is_none_or(|(due, _)| at <= due) => {
                self.now = self.now.max(at);
                let (_, (to, link, what, dialled)) = self.queue.pop_first().expect("just seen");
                let (one, other) = self.links[link.0 as usize];
                let address = if dialled { other } else { one }.to_string();
                let input = match &what {
                    None => Input::LinkUp {
                        link,
                        peer: None,
                        dialled,
                        address,
                        binding: [3; 32],
                    },
                    Some((channel, bytes)) => Input::Received {
                        link,
                        channel: *channel,
                        bytes,
                    },
                };
                self.input(to, input);
            }
            (_, Some((due, at))) => {
                self.now = self.now.max(due);
                self.input(at, Input::Timeout);
            }
            _ => panic!("nothing left to do before the match has ended"),
        }
    }

    fn think(&mut self, hands: &mut [Hand], random: &mut Stream) {
        let mut orders: Vec<(Seat, Command)> = Vec::new();
        let Some(world) = &self.world else {
            return;
        };
        for hand in hands {
            let seat = hand.bot.seat();
            let mut commands = hand.bot.think(world);
            commands.retain(|command| !hand.peaceful || is_peaceful(command));
            orders.extend(commands.into_iter().map(|command| (seat, command)));
            if hand.peaceful
                && random.chance(1, 6)
                && let Some(command) = hand.move_a_group(world, random)
            {
                if let Command::Move { units, .. } = &command {
                    self.played.moves += 1;
                    self.played.references += u64::from(units.numbers().is_err());
                }
                orders.push((seat, command));
            }
        }
        for (seat, command) in orders {
            self.input(
                usize::from(seat.0),
                Input::Issue {
                    seat,
                    command: to_bytes(&command),
                },
            );
        }
    }

    fn input(&mut self, at: usize, input: Input<'_>) {
        for output in self.sessions[at].handle(self.now, input) {
            self.output(at, output);
        }
    }

    fn output(&mut self, at: usize, output: Output) {
        match output {
            Output::Dial { address, .. } => {
                let to: usize = address.parse().expect("addresses are indices here");
                self.links.push((at, to));
                let link = LinkId(self.links.len() as u32 - 1);
                self.post(at, link, None, true);
                self.post(to, link, None, false);
            }
            Output::Send {
                link,
                channel,
                bytes,
            } => {
                let (one, other) = self.links[link.0 as usize];
                self.post(
                    if one == at { other } else { one },
                    link,
                    Some((channel, bytes)),
                    false,
                );
            }
            Output::New(start) => {
                let world = self.world.get_or_insert_with(|| {
                    crate::simulator::build(&start).expect("the setup is our own")
                });
                let checksum = world.checksum();
                self.input(at, Input::Loaded { checksum });
            }
            Output::Execute(bundle) => {
                let turn = bundle.turn.0 as usize;
                if turn == self.turns.len() {
                    let world = self.world.as_mut().expect("the world is built first");
                    execute(world, &bundle);
                    self.turns.push((world.checksum(), world.outcome()));
                }
                self.executed[at] += 1;
                let (checksum, outcome) = self.turns[turn];
                self.input(
                    at,
                    Input::Executed {
                        checksum,
                        outcome,
                        step: Duration::ZERO,
                    },
                );
            }
            Output::Save { turns } => {
                assert_eq!(
                    turns as usize,
                    self.turns.len(),
                    "the world is where the session believes it to be"
                );
                let mut bytes = Vec::new();
                self.world
                    .as_ref()
                    .expect("the world is built first")
                    .save(&mut bytes);
                self.played.snapshot_bytes += bytes.len() as u64;
                self.input(
                    at,
                    Input::Snapshot {
                        turns,
                        bytes: bytes.into(),
                    },
                );
            }
            Output::Append(record) if at == 0 => self.record(&record),
            Output::Event(lockstep::Event::Ended(_)) => self.ended += 1,
            Output::Append(_)
            | Output::Event(_)
            | Output::Close { .. }
            | Output::Undo { .. }
            | Output::Load { .. } => {}
        }
    }

    fn record(&mut self, record: &Record) {
        if let Record::Bundle(bundle) = record {
            for entry in &bundle.entries {
                if let lockstep::log::What::Command(bytes) = &entry.what {
                    self.played.commands += 1;
                    self.played.command_bytes += bytes.len() as u64;
                }
            }
        }
        // The queue of the recorder is sized for matches in real time.
        self.recorder.append(record).expect("the disk keeps up");
    }

    fn post(&mut self, to: usize, link: LinkId, what: Option<(Channel, Arc<[u8]>)>, dialled: bool) {
        self.count += 1;
        self.queue
            .insert((self.now + DELAY, self.count), (to, link, what, dialled));
    }
}
