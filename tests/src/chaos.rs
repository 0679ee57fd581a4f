//! A match of real processes that are killed, stopped, cut off and restarted at random. Afterwards all their output
//! and recordings are compared.
//!
//! Fewer than half are away at any time, so the others always have a quorum. At the end all processes are
//! restarted, and the match must go on with all of them.

mod player;

use crate::processes::free_ports;
use crate::random::Stream;
use player::Player;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Processes, each with a seat.
    pub peers: usize,
    /// Duration of the faults.
    pub lasts: Duration,
    /// Seed of the faults. Processes have their own timing, so two runs differ all the same.
    pub seed: u64,
}

/// The result of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Turns that any process executed.
    pub turns: usize,
    /// Number of faults, by kind.
    pub faults: BTreeMap<&'static str, u32>,
    /// Recordings that were verified and compared.
    pub replays: usize,
    /// Violations, as text.
    pub violations: Vec<String>,
}

/// Runs a match in `folder`, and reports each fault to `tell`. `program` with the arguments `first` is the demo.
///
/// # Panics
/// If the program cannot be started or the folder is not writable: a broken build, not a result.
pub fn run(
    wanted: Wanted,
    program: &Path,
    first: &[&str],
    folder: &Path,
    log: &mut dyn FnMut(&str),
) -> Outcome {
    let mut chaos = Chaos::start(wanted, program, first, folder, log);
    let until = Instant::now() + wanted.lasts;
    while Instant::now() < until {
        let next = Instant::now() + chaos.random.millis(200, 4_000);
        // Faults end on time, however long no other one begins.
        while Instant::now() < next {
            let due = chaos.due.iter().map(|(at, _)| *at).min();
            let wake = due.map_or(next, |due| due.min(next));
            std::thread::sleep(wake.saturating_duration_since(Instant::now()));
            chaos.end_due_faults(Instant::now());
        }
        chaos.notice_ends();
        chaos.inject_fault();
    }
    chaos.rejoin_all();
    chaos.judge()
}

struct Chaos<'a> {
    random: Stream,
    folder: PathBuf,
    players: Vec<Player>,
    ports: Vec<u16>,
    cuts: BTreeSet<(usize, usize)>,
    due: Vec<(Instant, Recovery)>,
    began: Instant,
    log: &'a mut dyn FnMut(&str),
    seen: Outcome,
}

/// How a fault ends.
#[derive(Clone, Copy, Debug)]
enum Recovery {
    GoOn(usize),
    Heal((usize, usize)),
}

impl<'a> Chaos<'a> {
    fn start(
        wanted: Wanted,
        program: &Path,
        first: &[&str],
        folder: &Path,
        log: &'a mut dyn FnMut(&str),
    ) -> Chaos<'a> {
        let ports = free_ports(wanted.peers);
        let players = (0..wanted.peers)
            .map(|at| Player::new(at, ports[at], program, first, folder))
            .collect();
        let mut chaos = Chaos {
            random: Stream::new(wanted.seed, "chaos", 0),
            folder: folder.to_owned(),
            players,
            ports,
            cuts: BTreeSet::new(),
            due: Vec::new(),
            began: Instant::now(),
            log,
            seen: Outcome::default(),
        };
        chaos.write_ways();
        let seats = wanted.peers.to_string();
        let ticket = chaos.players[0].host(&seats);
        for player in &mut chaos.players[1..] {
            player.join(&ticket);
        }
        for player in &mut chaos.players {
            assert!(player.reaches(BEGINNING, START), "the match begins");
        }
        chaos
    }

    fn inject_fault(&mut self) {
        let up: Vec<usize> = (0..self.players.len())
            .filter(|at| self.players[*at].is_up())
            .collect();
        let away = self.players.len() - up.len();
        let may_lose = away < (self.players.len() - 1) / 2;
        match self.random.below(7) {
            0 | 1 if may_lose => {
                let at = self.random.pick(&up);
                self.players[at].kill();
                self.say("kill -9", &format!("peer {at}"));
            }
            2 if may_lose => {
                let at = self.random.pick(&up);
                let lasts = self.random.pick(&STOPS);
                self.players[at].stop();
                self.due.push((Instant::now() + lasts, Recovery::GoOn(at)));
                self.say("stop", &format!("peer {at} for {} ms", lasts.as_millis()));
            }
            3 if self.cuts.len() < MOST_CUTS && self.players.len() > 2 => {
                let all = self.players.len() as u64;
                let one = self.random.below(all - 1);
                let other = self.random.between(one + 1, all - 1);
                let cut = (one as usize, other as usize);
                let lasts = self.random.pick(&CUTS);
                self.cuts.insert(cut);
                self.write_ways();
                self.due.push((Instant::now() + lasts, Recovery::Heal(cut)));
                let (one, other) = cut;
                let long = lasts.as_millis();
                self.say("cut", &format!("peers {one} and {other} for {long} ms"));
            }
            4 | 5 => {
                let down: Vec<usize> = (0..self.players.len())
                    .filter(|at| self.players[*at].is_down())
                    .collect();
                if !down.is_empty() {
                    let at = self.random.pick(&down);
                    self.rejoin(at);
                }
            }
            _ => {}
        }
    }

    fn rejoin(&mut self, at: usize) {
        let message = match self.players[at].rejoin() {
            Some(replay) => format!("peer {at} with {replay}"),
            None => format!("peer {at} has no recording to rejoin with"),
        };
        self.say("rejoin", &message);
    }

    fn end_due_faults(&mut self, now: Instant) {
        let (due, later): (Vec<_>, Vec<_>) = self.due.iter().partition(|(at, _)| *at <= now);
        self.due = later;
        for (_, mending) in due {
            match mending {
                Recovery::GoOn(at) => self.players[at].go_on(),
                Recovery::Heal(cut) => {
                    self.cuts.remove(&cut);
                    self.write_ways();
                }
            }
        }
    }

    /// A peer that was removed while it was stopped or cut off ends by itself, and prints how to rejoin.
    fn notice_ends(&mut self) {
        for at in 0..self.players.len() {
            if let Some(how) = self.players[at].has_ended() {
                self.say("ended", &format!("peer {at}: {how}"));
            }
        }
    }

    fn rejoin_all(&mut self) {
        while let Some(last) = self.due.iter().map(|(at, _)| *at).max() {
            self.end_due_faults(last);
        }
        // A peer that was away for too long learns it now: it goes on with the others, or learns that it was
        // removed.
        let newest = self.players.iter_mut().map(Player::newest_turn).max();
        let until = Instant::now() + LEARN;
        while Instant::now() < until {
            self.notice_ends();
            let knows =
                |player: &mut Player| player.is_down() || Some(player.newest_turn()) > newest;
            if self.players.iter_mut().all(knows) {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        for at in 0..self.players.len() {
            if self.players[at].is_down() {
                self.rejoin(at);
            }
        }
        let newest = self.players.iter_mut().map(Player::newest_turn).max();
        let goal = newest.unwrap_or(0) + GO_ON;
        for at in 0..self.players.len() {
            if !self.players[at].reaches(goal, LAST) {
                let newest = self.players[at].newest_turn();
                let message = format!("peer {at} is at turn {newest}, not at turn {goal}");
                self.seen.violations.push(message);
            }
        }
    }

    fn judge(mut self) -> Outcome {
        let mut sums: BTreeMap<u64, BTreeMap<String, String>> = BTreeMap::new();
        self.players.iter_mut().for_each(Player::leave);
        for player in &mut self.players {
            for run in player.finish() {
                for (turn, sum) in run.finished.checksums() {
                    sums.entry(turn)
                        .or_default()
                        .insert(sum, run.replay.clone());
                }
                if let Some(message) = run.complaint() {
                    self.seen.violations.push(message);
                }
            }
        }
        self.seen.turns = sums.len();
        let differ = sums.iter().filter(|(_, sums)| sums.len() > 1);
        let differ = differ.map(|(turn, sums)| format!("turn {turn} has checksums {sums:?}"));
        self.seen.violations.extend(differ);
        self.compare_replays();
        self.seen
    }

    fn compare_replays(&mut self) {
        let runs: Vec<(String, bool)> = self.players.iter().flat_map(Player::recorded).collect();
        let bytes = |name: &String| {
            let file = std::fs::metadata(self.folder.join(name));
            file.map_or(0, |file| file.len())
        };
        let Some((longest, _)) = runs.iter().max_by_key(|(name, _)| bytes(name)) else {
            return;
        };
        self.seen.replays = runs.len();
        for (replay, killed) in &runs {
            for asked in [vec!["verify", replay], vec!["diff", longest, replay]] {
                let message = self.players[0].replay(&asked);
                // The recording of a killed process may end within a record.
                if !(message.status.success()
                    || *killed && message.status.code() == Some(CUT_SHORT))
                {
                    let lines = [
                        message.events.iter().map(ToString::to_string).collect(),
                        message.errors,
                    ];
                    let message = format!("replay {}: {}", asked.join(" "), lines.join(" "));
                    self.seen.violations.push(message);
                }
            }
        }
    }

    /// Writes each process's impairment file, which the process reads again at every change.
    fn write_ways(&self) {
        for player in &self.players {
            let to = self
                .cuts
                .iter()
                .filter_map(|(one, other)| match player.at() {
                    at if at == *one => Some(*other),
                    at if at == *other => Some(*one),
                    _ => None,
                });
            let lines = to.map(|to| format!("to 127.0.0.1:{} loss=100%\n", self.ports[to]));
            player.write_ways(&format!(
                "delay=5ms,jitter=5ms\n{}",
                lines.collect::<String>()
            ));
        }
    }

    fn say(&mut self, what: &'static str, object: &str) {
        *self.seen.faults.entry(what).or_default() += 1;
        let seconds = self.began.elapsed().as_secs_f32();
        (self.log)(&format!("{seconds:6.1} s  {what:8} {object}"));
    }
}

/// All peers reach this turn before the first fault.
const BEGINNING: u64 = 5;
const START: Duration = Duration::from_secs(40);
const STOPS: [Duration; 4] = [
    Duration::from_millis(500),
    Duration::from_millis(1_500),
    Duration::from_secs(5),
    Duration::from_secs(12),
];
const CUTS: [Duration; 3] = [
    Duration::from_secs(1),
    Duration::from_secs(3),
    Duration::from_secs(8),
];
/// Pairs that are cut at once.
const MOST_CUTS: usize = 3;
/// How long removed peers have to learn it.
const LEARN: Duration = Duration::from_secs(8);
/// Turns that all peers play after the last restart, and the time they have for them.
const GO_ON: u64 = 25;
const LAST: Duration = Duration::from_secs(45);
/// Exit code for a file that is damaged or cut.
const CUT_SHORT: i32 = 5;
