//! One peer of a match, in a process of its own. Its parent drives it by lines of JSON.

mod cadence;
mod fortress;
mod ggrs;
mod ours;
mod player;
mod synctick;

use crate::contestant::{Contestant, Kind};
use player::Player;
use serde::{Deserialize, Serialize};
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// What a parent tells a peer.
#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// Where the others are.
    Start {
        /// By player: the proxy's address for it.
        through: Vec<SocketAddr>,
        /// By player: the address that it listens at, where it is known.
        listening: Vec<Option<SocketAddr>>,
        /// The ticket of the host, in a match of ours.
        ticket: Option<String>,
    },
    /// The trace begins now. Commands and steps between these two times count.
    Go {
        /// In microseconds from now on.
        from_us: u64,
        /// In microseconds from now on.
        to_us: u64,
    },
    /// A bit of the state flips behind the next step.
    Flip,
}

/// What a peer tells its parent.
#[derive(Debug, Serialize, Deserialize)]
pub enum Told {
    /// The address that it listens at, where it knows it.
    Listening(Option<SocketAddr>),
    /// The ticket of a host of ours.
    Ticket(String),
    /// The match runs.
    Running,
    /// The end of the measurement.
    Done(Done),
    /// A bit of the state has flipped behind the step of this number.
    Flipped(u64),
    /// The library has reported that states differ; so many steps were executed by then.
    Desync(u64),
    /// The library gave up.
    Failed(String),
}

/// A peer's measurement. Times are microseconds since [`Order::Go`], on the peer's own clock.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Done {
    /// When each own command was issued, and executed.
    pub commands: Vec<(u64, Option<u64>)>,
    /// Of each step.
    pub steps_us: Vec<u64>,
    /// After each step since the beginning: the hash of all commands up to it.
    pub hashes: Vec<u32>,
    /// Commands of any player that came twice, or not in their order.
    pub disordered: u32,
    /// Processor time of all threads between the two times.
    pub cpu_us: u64,
    /// When this was written.
    pub ended_us: u64,
}

/// A match of one library, as one peer sees it.
trait Session {
    /// Gives it time. Returns whether it has reported that states differ.
    ///
    /// # Errors
    /// The library gave up.
    fn poll(&mut self, player: &Shared) -> Result<bool, String>;

    /// Whether the match runs.
    fn is_running(&self) -> bool;

    /// Waits until it may have work, at most so long.
    fn wait(&mut self, most: Duration) {
        std::thread::sleep(most);
    }
}

/// The player. Another thread may execute its steps.
type Shared = Arc<Mutex<Player>>;

fn lock(player: &Shared) -> MutexGuard<'_, Player> {
    player.lock().expect("no thread panics with the player")
}

/// Plays as the parent orders.
pub fn run(contestant: Contestant, players: usize, me: usize, seed: u64) {
    if let Err(why) = play(contestant, players, me, seed) {
        tell(&Told::Failed(why));
    }
}

fn play(contestant: Contestant, players: usize, me: usize, seed: u64) -> Result<(), String> {
    let player = Arc::new(Mutex::new(Player::new(players, me, seed)));
    let orders = orders();
    let mut session: Box<dyn Session> = match contestant.kind {
        Kind::Ours => ours::open(contestant, &player, &orders)?,
        Kind::GgrsStock | Kind::GgrsGated => ggrs::open(contestant, &player, &orders)?,
        Kind::Fortress => fortress::open(contestant, &player, &orders)?,
        Kind::Synctick => synctick::open(contestant, &player, &orders)?,
    };
    let (mut told_running, mut told_done, mut told_desync) = (false, false, false);
    loop {
        let differs = session.poll(&player)?;
        let mut now = lock(&player);
        if session.is_running() && !told_running {
            told_running = true;
            tell(&Told::Running);
        }
        if let Some(done) = now.done(Instant::now()).filter(|_| !told_done) {
            told_done = true;
            tell(&Told::Done(done));
        }
        if let Some(step) = now.flipped.take() {
            tell(&Told::Flipped(step));
        }
        if differs && !told_desync {
            told_desync = true;
            tell(&Told::Desync(now.steps()));
        }
        match orders.try_recv() {
            Ok(Order::Go { from_us, to_us }) => now.go(Instant::now(), from_us, to_us),
            Ok(Order::Flip) => now.flips = true,
            Ok(Order::Start { .. }) => return Err("started twice".to_owned()),
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return Ok(()),
        }
        // A game hands a command over when its player issues it.
        let wait = now
            .next_command_in()
            .map_or(POLLED_EVERY, |due| due.min(POLLED_EVERY));
        drop(now);
        session.wait(wait);
    }
}

/// Where the others are: the proxy's addresses, the addresses that they listen at, and a ticket.
type Start = (Vec<SocketAddr>, Vec<Option<SocketAddr>>, Option<String>);

/// Tells the parent an address, and waits for those of the others.
fn meet(listening: Option<SocketAddr>, orders: &Receiver<Order>) -> Result<Start, String> {
    tell(&Told::Listening(listening));
    match orders.recv() {
        Ok(Order::Start {
            through,
            listening,
            ticket,
        }) => Ok((through, listening, ticket)),
        _ => Err("no start".to_owned()),
    }
}

/// A port that was free a moment ago.
fn free_port() -> Result<u16, String> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0));
    let address = socket.and_then(|socket| socket.local_addr());
    Ok(address.map_err(|error| error.to_string())?.port())
}

/// What a library that takes a port makes of a free one. Another process may be faster: then of another one.
fn on_free_port<T, E: std::fmt::Display>(
    bind: impl Fn(u16) -> Result<T, E>,
) -> Result<(T, SocketAddr), String> {
    let mut last = String::new();
    for _ in 0..10 {
        let port = free_port()?;
        match bind(port) {
            Ok(bound) => return Ok((bound, (Ipv4Addr::LOCALHOST, port).into())),
            Err(error) => last = error.to_string(),
        }
    }
    Err(last)
}

fn tell(told: &Told) {
    let line = serde_json::to_string(told).expect("it is plain data");
    let mut out = std::io::stdout().lock();
    // A parent that is gone closes the input too, which ends this process.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn orders() -> Receiver<Order> {
    let (sender, orders) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            let Ok(order) = serde_json::from_str(&line) else {
                return;
            };
            if sender.send(order).is_err() {
                return;
            }
        }
    });
    orders
}

/// Several times in a frame of any game, and seldom enough that the peers of a whole table leave processors free.
const POLLED_EVERY: Duration = Duration::from_millis(4);
/// The window of predictions of ggrs and its fork, in frames, as it is by default.
const WINDOW: usize = 8;
/// A peer that is silent for so long is gone, for ggrs and its fork. Their default is too short for a machine that is
/// shared.
const SILENCE: Duration = Duration::from_secs(10);
