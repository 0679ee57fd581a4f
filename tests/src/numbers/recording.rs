//! A recorded match of an hour: how large it is, and how fast it is verified and shown.
//!
//! The match is played headless at full speed: one session for each seat on links without loss in virtual time, every
//! batch signed with Ed25519, one world. Bots build up without attacking, so that the match lasts, and each seat moves
//! a group about once a second, so that its rate of commands is that of a busy player. Seven of ten such moves are of
//! the group before; the others are of up to 24 units in a box.

use super::{median_and, now};
use crate::simulator::{execute, to_bytes};
use demo_rts::bot::{Bot, Level};
use demo_rts::world::{Command, Id, Setup, Tile, UnitView, World};
use lockstep::log::{LogStore, Record};
use lockstep::session::{HostConfig, Input, Output, Role, Session, SessionConfig};
use lockstep::sign::{Ed25519, Signer};
use lockstep::source::TurnSource;
use lockstep::{Channel, Limits, LinkId, MatchId, PeerId, Plan, TurnNumber};
use replay::{Player, Reader, Recorder};
use sim::{Checksum, Seat, Seed, Simulation, State, Stream};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// One way of a link.
const DELAY: Duration = Duration::from_millis(20);

/// Plays, records, and prints one block.
pub fn print(minutes: u32, seats: u8) {
    let folder = tempfile::tempdir().expect("a folder for the replay");
    let path = folder.path().join("hour.replay");
    let begun = now();
    let played = play(minutes, seats, &path);
    let bytes = std::fs::metadata(&path).map_or(0, |file| file.len());
    let hours = f64::from(minutes) / 60.0;
    let per = |bytes: u64| bytes as f64 / 1_000.0 / hours / f64::from(seats);
    println!(
        "replay: {seats} seats, {minutes} min at 200x2, {} commands ({:.0} a minute and seat), {} units at the end; played in {:.1} s",
        played.commands,
        played.commands as f64 / f64::from(minutes) / f64::from(seats),
        played.units,
        begun.elapsed().as_secs_f64(),
    );
    let plain = bytes_of(&path, |_| true);
    let unsigned = bytes_of(&path, |record| !matches!(record, Record::Attest(_)));
    let turns = bytes_of(&path, |record| {
        !matches!(record, Record::Attest(_) | Record::Checksum { .. })
    });
    println!("  bytes per hour and player: {:.1} kB", per(bytes));
    println!(
        "    {:.1} keyframes ({:.0} unpacked), {:.1} signatures (newest of each peer once a minute), {:.1} all the rest",
        per(bytes - plain),
        per(played.snapshot_bytes),
        per(plain - unsigned),
        per(unsigned),
    );
    println!(
        "    of the rest: {:.1} commands ({:.1} bytes each, {:.0} % of the groups are references), {:.1} checksums, {:.1} turns and framing",
        per(played.command_bytes),
        played.command_bytes as f64 / played.commands as f64,
        100.0 * played.references as f64 / played.moves.max(1) as f64,
        per(unsigned - turns),
        per(turns - played.command_bytes),
    );
    verify(&path, minutes);
    show(&path);
}

struct Played {
    commands: u64,
    command_bytes: u64,
    /// Moves of groups, and how many of them name the group by a reference.
    moves: u64,
    references: u64,
    snapshot_bytes: u64,
    units: usize,
}

fn verify(path: &Path, minutes: u32) {
    let mut reader = Reader::open(path).expect("the replay was just written");
    let bundles: Vec<_> = reader
        .records()
        .filter_map(|record| match record {
            Ok(Record::Bundle(bundle)) => Some(bundle),
            _ => None,
        })
        .collect();
    let setup = reader.setup::<World>().expect("the rules are our own");
    let start = sim::Start {
        setup,
        seed: reader.start().seed,
        seats: reader.start().seats(),
    };
    let mut bare = Vec::new();
    let mut verified = Vec::new();
    let mut unsigned = Vec::new();
    for _ in 0..3 {
        let begun = now();
        let mut world = World::new(&start);
        bundles
            .iter()
            .for_each(|bundle| execute(&mut world, bundle));
        std::hint::black_box(world.checksum());
        bare.push(begun.elapsed().as_secs_f64());
        let options = replay::verify::Options::default();
        verified.push(verify_once(path, &options));
        let options = replay::verify::Options {
            signature: |_, _, _| true,
            ..options
        };
        unsigned.push(verify_once(path, &options));
    }
    let median =
        |samples: &mut Vec<f64>| median_and(samples, 0.5).map_or(0.0, |(median, _)| median);
    let (bare, verified, unsigned) = (
        median(&mut bare),
        median(&mut verified),
        median(&mut unsigned),
    );
    println!(
        "  verify (median of 3): {verified:.2} s, {:.0} x real time; {:.2} x the bare step loop, {:.2} x without signatures",
        f64::from(minutes) * 60.0 / verified,
        verified / bare,
        unsigned / bare,
    );
}

fn verify_once(path: &Path, options: &replay::verify::Options) -> f64 {
    let begun = now();
    let mut reader = Reader::open(path).expect("the replay was just written");
    let found = replay::verify::verify::<World>(&mut reader, options, |_| ())
        .expect("the rules are our own");
    assert!(found.holds(), "{:?}", found.wrong);
    begun.elapsed().as_secs_f64()
}

/// What `show --turn` does, from opening the file to the world at the turn.
fn show(path: &Path) {
    let turns = Reader::open(path)
        .expect("the replay was just written")
        .turns();
    let mut random = Stream::named(&Seed([3; 32]), "turns shown");
    let mut samples: Vec<f64> = (0..200)
        .map(|_| {
            let begun = now();
            let reader = Reader::open(path).expect("the replay was just written");
            let mut player = Player::new(reader);
            let turn = TurnNumber(random.below(turns));
            player.seek(turn);
            let mut game =
                lockstep::Match::<World, Player>::over(player).with_budget(Duration::from_secs(60));
            while game.source().next_turn() < turn || game.world().is_none() {
                game.poll();
            }
            begun.elapsed().as_secs_f64() * 1_000.0
        })
        .collect();
    let (p50, p95) = median_and(&mut samples, 0.95).unwrap_or_default();
    let max = samples.last().copied().unwrap_or_default();
    println!(
        "  show --turn, 200 random turns of {turns}: p50 {p50:.1} ms, p95 {p95:.1} ms, max {max:.1} ms"
    );
}

/// Bytes of a file without keyframes that has only these records of another.
fn bytes_of(path: &Path, keep: impl Fn(&Record) -> bool) -> u64 {
    let plain = path.with_extension("plain");
    let mut recorder = Recorder::create(&plain)
        .expect("the folder is ours")
        .with_keyframes_every(None);
    let mut reader = Reader::open(path).expect("the replay was just written");
    for record in reader.records() {
        let record = record.expect("the replay is whole");
        if keep(&record) {
            recorder.append(&record).expect("the disk takes it");
        }
    }
    recorder.close().expect("the disk takes it");
    let bytes = std::fs::metadata(&plain).map_or(0, |file| file.len());
    std::fs::remove_file(&plain).ok();
    bytes
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
    turns: Vec<Checksum>,
    executed: Vec<usize>,
    recorder: Recorder,
    played: Played,
    ended: usize,
}

fn play(minutes: u32, seats: u8, path: &Path) -> Played {
    let turn_limit = minutes * 60 * 5;
    let mut peers = Peers {
        now: Duration::ZERO,
        sessions: (0..seats)
            .map(|seat| session(seat, seats, turn_limit))
            .collect(),
        links: Vec::new(),
        queue: BTreeMap::new(),
        count: 0,
        world: None,
        turns: Vec::new(),
        executed: vec![0; usize::from(seats)],
        recorder: Recorder::create(path).expect("the folder is ours"),
        played: Played {
            commands: 0,
            command_bytes: 0,
            moves: 0,
            references: 0,
            snapshot_bytes: 0,
            units: 0,
        },
        ended: 0,
    };
    let mut hands: Vec<Hand> = (0..seats)
        .map(|seat| Hand {
            bot: Bot::new(Seat(seat), Level::Normal),
            group: Vec::new(),
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

fn session(seat: u8, seats: u8, turn_limit: u32) -> Session {
    let match_id = MatchId([7; 16]);
    let setup = Setup {
        map_seed: Some(1),
        minutes: 600,
        ..Setup::default()
    };
    let role = if seat == 0 {
        Role::Host(HostConfig {
            match_id,
            secret: [1; 16],
            expires: None,
            rules: World::rules(&setup),
            setup: to_bytes(&setup),
            seats,
            plan: Plan::default(),
            turn_limit: Some(turn_limit),
            pauses: lockstep::log::PauseBudget::default(),
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
        keyframe_every: (seat == 0).then_some(Duration::from_secs(30)),
        limits: Limits::default(),
        stall_limit: None,
        build: "numbers".to_owned(),
        role,
    };
    Session::new(config, Box::new(Ed25519::new(&key(seat)))).expect("the config is in range")
}

/// One who plays: a bot, and a hand that moves groups.
struct Hand {
    bot: Bot,
    group: Vec<Id>,
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
            let peaceful = |command: &Command| {
                matches!(
                    command,
                    Command::Gather { .. }
                        | Command::Build { .. }
                        | Command::Train { .. }
                        | Command::Assist { .. }
                        | Command::Rally { .. }
                        | Command::Research { .. }
                )
            };
            orders.extend(
                hand.bot
                    .think(world)
                    .into_iter()
                    .filter(peaceful)
                    .map(|command| (seat, command)),
            );
            if random.chance(1, 5)
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
                    self.turns.push(world.checksum());
                }
                self.executed[at] += 1;
                let checksum = self.turns[turn];
                self.input(
                    at,
                    Input::Executed {
                        checksum,
                        outcome: None,
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
            Output::Append(_) | Output::Event(_) | Output::Close { .. } => {}
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
