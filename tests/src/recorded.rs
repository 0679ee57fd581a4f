//! Matches played headless at full speed and recorded. Each seat has a session on lossless links in virtual time,
//! every batch is signed with Ed25519, and all share one world.
//!
//! Players are bots. Peaceful bots build without attacking, so that the match lasts. About once a second each moves
//! a group, at the command rate of a busy player. Seven of ten moves repeat the previous group; the others take up
//! to 24 units in a box.

use crate::simulator::{execute, to_bytes};
use demo_rts::bot::{Bot, Level};
use demo_rts::world::{Command, Id, Setup, Tile, UnitView, World};
use lockstep::harness::{Clock, Mesh, Surroundings, hosted, settings};
use lockstep::log::{LogStore, Record, Terms};
use lockstep::session::{HostConfig, Input, Output, Role, Session, SessionConfig};
use lockstep::sign::{Ed25519, Signer};
use replay::Recorder;
use sim::{Checksum, Outcome, Seat, Seed, Simulation, State, Stream};
use std::path::Path;
use std::time::Duration;

/// One-way delay of a link.
const DELAY: Duration = Duration::from_millis(20);

/// The parameters of a match.
pub struct Wanted<'a> {
    /// The new file.
    pub path: &'a Path,
    /// The world's setup.
    pub setup: Setup,
    /// Levels of the bots, by seat.
    pub levels: Vec<Level>,
    /// Turns of 200 ms after which it ends, if no player has won.
    pub turn_limit: u32,
    /// Match time between two keyframes.
    pub keyframes_every: Duration,
    /// Whether no bot attacks.
    pub peaceful: bool,
}

/// The totals of a match.
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

/// The one world of all peers, and the totals so far.
struct Peers {
    world: Option<World>,
    turns: Vec<(Checksum, Option<Outcome>)>,
    recorder: Recorder,
    played: Played,
    ended: usize,
}

/// Plays and records a match.
///
/// # Panics
/// If the file exists or is not writable.
pub fn play(wanted: &Wanted<'_>) -> Played {
    let seats = wanted.levels.len() as u8;
    let mut mesh = Mesh::new(DELAY);
    for seat in 0..seats {
        mesh.driver.add(session(seat, wanted), Clock::default());
    }
    let mut peers = Peers {
        world: None,
        turns: Vec::new(),
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
        let goes_on = mesh.step(&mut peers, Duration::MAX);
        assert!(goes_on, "nothing is due before the match has ended");
        if peers.turns.len() > thought {
            thought = peers.turns.len();
            for (seat, command) in think(&mut peers, &mut hands, &mut random) {
                let command = to_bytes(&command);
                let issue = Input::Issue { seat, command };
                mesh.input(&mut peers, usize::from(seat.0), issue);
            }
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

fn session(seat: u8, wanted: &Wanted<'_>) -> Session {
    let setup = wanted.setup.clone();
    let hosted = hosted(wanted.levels.len() as u8);
    let role = if seat == 0 {
        Role::Host(HostConfig {
            rules: World::rules(&setup),
            setup: to_bytes(&setup),
            terms: Terms {
                turn_limit: Some(wanted.turn_limit),
                ..hosted.terms
            },
            ..hosted
        })
    } else {
        Role::Join {
            match_id: hosted.match_id,
            secret: hosted.secret,
            host: Ed25519::new(&key(0)).id(),
            addresses: vec!["0".to_owned()],
            rules: Box::new(move |_| Some(World::rules(&setup))),
        }
    };
    let config = SessionConfig {
        name: format!("player {seat}"),
        entropy: key(seat),
        share: Some(key(seat)),
        keyframe_every: (seat == 0).then_some(wanted.keyframes_every),
        build: "tests".to_owned(),
        ..settings(usize::from(seat), role)
    };
    Session::new(config, Box::new(Ed25519::new(&key(seat)))).expect("the config is in range")
}

/// Whether a peaceful player issues this command.
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

/// A bot, and its moves of groups.
struct Hand {
    bot: Bot,
    group: Vec<Id>,
    peaceful: bool,
}

impl Hand {
    /// Orders the last group again, or, in three of ten cases, the units in a new box.
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
        // Near home, so that no group meets an enemy and the match lasts.
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

/// Commands of the players after another executed turn.
fn think(peers: &mut Peers, hands: &mut [Hand], random: &mut Stream) -> Vec<(Seat, Command)> {
    let mut orders: Vec<(Seat, Command)> = Vec::new();
    let Some(world) = &peers.world else {
        return orders;
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
                peers.played.moves += 1;
                peers.played.references += u64::from(units.numbers().is_err());
            }
            orders.push((seat, command));
        }
    }
    orders
}

impl Surroundings for Peers {
    fn perform(&mut self, at: usize, output: Output) -> Option<Input<'static>> {
        match output {
            Output::New { start, .. } => {
                let world = self.world.get_or_insert_with(|| {
                    crate::simulator::build(&start).expect("the setup is our own")
                });
                let checksum = world.checksum();
                return Some(Input::Loaded { checksum });
            }
            Output::Execute(bundle) => {
                let turn = bundle.turn.0 as usize;
                if turn == self.turns.len() {
                    let world = self.world.as_mut().expect("the world is built first");
                    execute(world, &bundle);
                    self.turns.push((world.checksum(), world.outcome()));
                }
                let (checksum, outcome) = self.turns[turn];
                return Some(Input::Executed {
                    checksum,
                    outcome,
                    step: Duration::ZERO,
                });
            }
            Output::Save { turns } => {
                assert_eq!(
                    turns as usize,
                    self.turns.len(),
                    "the world is where the session believes it to be"
                );
                let mut bytes = Vec::new();
                let world = self.world.as_ref();
                world.expect("the world is built first").save(&mut bytes);
                self.played.snapshot_bytes += bytes.len() as u64;
                let bytes = bytes.into();
                return Some(Input::Snapshot { turns, bytes });
            }
            Output::Append(record) if at == 0 => self.record(&record),
            Output::AppendAll(part) if at == 0 => {
                part.records().for_each(|record| self.record(&record));
            }
            Output::Tail(turns) if at == 0 => {
                self.recorder.tail(&turns).expect("the disk has room");
            }
            Output::Event(lockstep::Event::Ended(_)) => self.ended += 1,
            _ => {}
        }
        None
    }
}

impl Peers {
    fn record(&mut self, record: &Record) {
        if let Record::Bundle(bundle) = record {
            for entry in &bundle.entries {
                if let lockstep::log::What::Command(bytes) = &entry.what {
                    self.played.commands += 1;
                    self.played.command_bytes += bytes.len() as u64;
                }
            }
        }
        self.recorder.append(record).expect("the disk has room");
    }
}
