//! A match of real processes that are killed, stopped, cut off from each other and brought back at random; then
//! everything that they printed and recorded is compared.
//!
//! Fewer than half are ever away at once, so the others can always agree to go on. Whatever happened, at the end all
//! are brought back, and the match must go on with all of them.

mod player;

use crate::processes::free_ports;
use crate::random::Stream;
use player::Player;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What is to be done.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Processes, each with a seat.
    pub peers: usize,
    /// For how long they are troubled.
    pub lasts: Duration,
    /// Draws all of it. Two runs differ all the same: processes take their own time.
    pub seed: u64,
}

/// What was seen.
#[derive(Debug, Default)]
pub struct Seen {
    /// Turns that somebody executed.
    pub turns: usize,
    /// What was done to the processes.
    pub troubles: BTreeMap<&'static str, u32>,
    /// Recordings that were verified and compared.
    pub replays: usize,
    /// What must not be, in words.
    pub violations: Vec<String>,
}

/// Runs a match in `folder`, telling each trouble to `tell`. `program` with the arguments `first` is the demo.
///
/// # Panics
/// When the program cannot be started or the folder not be written to: a broken build, not a result.
pub fn run(
    wanted: Wanted,
    program: &Path,
    first: &[&str],
    folder: &Path,
    tell: &mut dyn FnMut(&str),
) -> Seen {
    let mut chaos = Chaos::start(wanted, program, first, folder, tell);
    let until = Instant::now() + wanted.lasts;
    while Instant::now() < until {
        let next = Instant::now() + chaos.random.millis(200, 4_000);
        // What is stopped or cut lasts as long as was told, however long nothing else happens.
        while Instant::now() < next {
            let due = chaos.due.iter().map(|(at, _)| *at).min();
            let wake = due.map_or(next, |due| due.min(next));
            std::thread::sleep(wake.saturating_duration_since(Instant::now()));
            chaos.mend_what_is_due(Instant::now());
        }
        chaos.notice_ends();
        chaos.trouble();
    }
    chaos.bring_all_back();
    chaos.judge()
}

struct Chaos<'a> {
    random: Stream,
    folder: PathBuf,
    players: Vec<Player>,
    ports: Vec<u16>,
    cuts: BTreeSet<(usize, usize)>,
    due: Vec<(Instant, Mending)>,
    began: Instant,
    tell: &'a mut dyn FnMut(&str),
    seen: Seen,
}

/// What undoes a trouble.
#[derive(Clone, Copy, Debug)]
enum Mending {
    GoOn(usize),
    Heal((usize, usize)),
}

impl<'a> Chaos<'a> {
    fn start(
        wanted: Wanted,
        program: &Path,
        first: &[&str],
        folder: &Path,
        tell: &'a mut dyn FnMut(&str),
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
            tell,
            seen: Seen::default(),
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

    fn trouble(&mut self) {
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
                self.due.push((Instant::now() + lasts, Mending::GoOn(at)));
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
                self.due.push((Instant::now() + lasts, Mending::Heal(cut)));
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
                    self.bring_back(at);
                }
            }
            _ => {}
        }
    }

    fn bring_back(&mut self, at: usize) {
        let told = match self.players[at].rejoin() {
            Some(replay) => format!("peer {at} with {replay}"),
            None => format!("peer {at} has nothing to come back with"),
        };
        self.say("rejoin", &told);
    }

    fn mend_what_is_due(&mut self, now: Instant) {
        let (due, later): (Vec<_>, Vec<_>) = self.due.iter().partition(|(at, _)| *at <= now);
        self.due = later;
        for (_, mending) in due {
            match mending {
                Mending::GoOn(at) => self.players[at].go_on(),
                Mending::Heal(cut) => {
                    self.cuts.remove(&cut);
                    self.write_ways();
                }
            }
        }
    }

    /// Who was removed while it stood still or was cut off ends by itself, and says how to come back.
    fn notice_ends(&mut self) {
        for at in 0..self.players.len() {
            if let Some(how) = self.players[at].has_ended() {
                self.say("ended", &format!("peer {at}: {how}"));
            }
        }
    }

    fn bring_all_back(&mut self) {
        while let Some(last) = self.due.iter().map(|(at, _)| *at).max() {
            self.mend_what_is_due(last);
        }
        // Whoever was away for too long learns it now: it goes on with the others, or hears that it is out.
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
                self.bring_back(at);
            }
        }
        let newest = self.players.iter_mut().map(Player::newest_turn).max();
        let goal = newest.unwrap_or(0) + GO_ON;
        for at in 0..self.players.len() {
            if !self.players[at].reaches(goal, LAST) {
                let newest = self.players[at].newest_turn();
                let told = format!("peer {at} stands at turn {newest}, not at turn {goal}");
                self.seen.violations.push(told);
            }
        }
    }

    fn judge(mut self) -> Seen {
        let mut sums: BTreeMap<u64, BTreeMap<String, String>> = BTreeMap::new();
        self.players.iter_mut().for_each(Player::leave);
        for player in &mut self.players {
            for run in player.finish() {
                for (turn, sum) in run.finished.checksums() {
                    sums.entry(turn)
                        .or_default()
                        .insert(sum, run.replay.clone());
                }
                if let Some(told) = run.complaint() {
                    self.seen.violations.push(told);
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
                let told = self.players[0].replay(&asked);
                // The recording of a process that was killed may end in the middle of a record.
                if !(told.status.success() || *killed && told.status.code() == Some(CUT_SHORT)) {
                    let lines = [
                        told.events.iter().map(ToString::to_string).collect(),
                        told.errors,
                    ];
                    let told = format!("replay {}: {}", asked.join(" "), lines.join(" "));
                    self.seen.violations.push(told);
                }
            }
        }
    }

    /// What each process' ways out are like: read again by it whenever it changes.
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

    fn say(&mut self, what: &'static str, whom: &str) {
        *self.seen.troubles.entry(what).or_default() += 1;
        let seconds = self.began.elapsed().as_secs_f32();
        (self.tell)(&format!("{seconds:6.1} s  {what:8} {whom}"));
    }
}

/// Turn that all reach before the trouble begins.
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
/// How long the removed have to learn it.
const LEARN: Duration = Duration::from_secs(8);
/// Turns that all play on once everybody is back, and how long they have for that.
const GO_ON: u64 = 25;
const LAST: Duration = Duration::from_secs(45);
/// Exit code for a file that is damaged or cut short.
const CUT_SHORT: i32 = 5;
