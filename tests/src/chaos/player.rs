//! One player of the match: the current run of its process, and earlier ones.

use crate::processes::{Finished, Process};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) struct Player {
    at: usize,
    port: u16,
    program: PathBuf,
    first: Vec<String>,
    folder: PathBuf,
    state: State,
    process: Option<Process>,
    /// One recording for each run of the process.
    replays: Vec<String>,
    runs: Vec<Run>,
}

/// A run of a process that has ended.
pub(super) struct Run {
    pub replay: String,
    pub killed: bool,
    pub finished: Finished,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Up,
    Stopped,
    Down,
}

impl Player {
    pub fn new(at: usize, port: u16, program: &Path, first: &[&str], folder: &Path) -> Player {
        Player {
            at,
            port,
            program: program.to_owned(),
            first: first.iter().map(|word| (*word).to_owned()).collect(),
            folder: folder.to_owned(),
            state: State::Down,
            process: None,
            replays: Vec::new(),
            runs: Vec::new(),
        }
    }

    pub fn at(&self) -> usize {
        self.at
    }

    pub fn is_up(&self) -> bool {
        self.state == State::Up
    }

    pub fn is_down(&self) -> bool {
        self.state == State::Down
    }

    /// Hosts the match and returns its ticket.
    pub fn host(&mut self, seats: &str) -> String {
        let map_seed = self.port.to_string();
        self.start(&["host", "--seats", seats, "--map-seed", &map_seed]);
        let process = self.process.as_mut().expect("just started");
        let event = process.wait_for("ticket", Duration::from_secs(20));
        let event = event.expect("a host prints a ticket");
        event["ticket"].as_str().expect("a text").to_owned()
    }

    pub fn join(&mut self, ticket: &str) {
        self.start(&["join", ticket]);
    }

    /// Rejoins with the newest recording that holds a match. `None`: there is none.
    pub fn rejoin(&mut self) -> Option<String> {
        let holds = |replay: &&String| {
            let file = std::fs::metadata(self.folder.join(replay));
            file.is_ok_and(|file| file.len() > 0)
        };
        let replay = self.replays.iter().rev().find(holds)?.clone();
        self.start(&["rejoin", &replay]);
        Some(replay)
    }

    fn start(&mut self, command: &[&str]) {
        let at = self.at;
        let replay = format!("peer{at}-run{}.replay", self.replays.len());
        let listen = format!("127.0.0.1:{}", self.port);
        let files = [format!("peer{at}.key"), format!("@{}", self.ways())];
        let mut arguments: Vec<&str> = self.first.iter().map(String::as_str).collect();
        arguments.extend(command);
        arguments.extend(["--headless", "--json", "--bot", "normal"]);
        arguments.extend(["--listen", &listen, "--record", &replay]);
        arguments.extend(["--identity", &files[0], "--impair", &files[1]]);
        self.process = Some(Process::start(&self.program, &arguments, &self.folder));
        self.replays.push(replay);
        self.state = State::Up;
    }

    pub fn kill(&mut self) {
        let mut process = self.process.take().expect("it is up");
        process.kill();
        self.keep(process, true);
    }

    pub fn stop(&mut self) {
        self.process.as_ref().expect("it is up").stop();
        self.state = State::Stopped;
    }

    pub fn go_on(&mut self) {
        self.process.as_ref().expect("it is stopped").go_on();
        self.state = State::Up;
    }

    /// How the process ended, if it just did.
    pub fn has_ended(&mut self) -> Option<String> {
        let ended = self.process.as_mut().is_some_and(Process::has_ended);
        if self.state != State::Up || !ended {
            return None;
        }
        let process = self.process.take().expect("it has ended");
        self.keep(process, false);
        let finished = &self.runs.last().expect("just kept").finished;
        let reason = finished.last("end").map(|end| end["reason"].to_string());
        Some(reason.unwrap_or_else(|| finished.status.to_string()))
    }

    fn keep(&mut self, process: Process, killed: bool) {
        self.state = State::Down;
        self.runs.push(Run {
            replay: self.replays.last().expect("each run has one").clone(),
            killed,
            finished: process.finish(Duration::from_secs(20)),
        });
    }

    /// The last turn that the process printed.
    pub fn newest_turn(&mut self) -> u64 {
        let Some(process) = &mut self.process else {
            return 0;
        };
        process.wait_until(Duration::ZERO, |_| false);
        let event = process.events.iter().rev();
        let turns = event.filter(|event| event["event"] == "turn");
        turns
            .filter_map(|event| event["turn"].as_u64())
            .next()
            .unwrap_or(0)
    }

    /// Waits for a turn.
    pub fn reaches(&mut self, turn: u64, timeout: Duration) -> bool {
        if self.newest_turn() >= turn {
            return true;
        }
        let reached = |event: &serde_json::Value| {
            event["event"] == "turn" && event["turn"].as_u64() >= Some(turn)
        };
        let process = self.process.as_mut();
        process.is_some_and(|process| process.wait_until(timeout, reached).is_some())
    }

    pub fn leave(&mut self) {
        if let Some(process) = &mut self.process
            && !process.has_ended()
        {
            process.leave();
        }
    }

    /// All its runs; ends the last one.
    pub fn finish(&mut self) -> &[Run] {
        if let Some(process) = self.process.take() {
            self.keep(process, false);
        }
        &self.runs
    }

    /// The recordings of runs that began to record, and whether their processes were killed.
    pub fn recorded(&self) -> Vec<(String, bool)> {
        let there = |run: &&Run| self.folder.join(&run.replay).exists();
        let runs = self.runs.iter().filter(there);
        runs.map(|run| (run.replay.clone(), run.killed)).collect()
    }

    /// Runs a `replay` command.
    pub fn replay(&self, asked: &[&str]) -> Finished {
        let mut arguments: Vec<&str> = self.first.iter().map(String::as_str).collect();
        arguments.push("replay");
        arguments.extend(asked);
        let process = Process::start(&self.program, &arguments, &self.folder);
        process.finish(Duration::from_secs(60))
    }

    /// Changes the impairment of the process.
    pub fn write_ways(&self, text: &str) {
        let (ways, new) = (self.ways(), format!("peer{}.new", self.at));
        // In one step: the process must not read half of it.
        std::fs::write(self.folder.join(&new), text).expect("the folder is there");
        std::fs::rename(self.folder.join(new), self.folder.join(ways))
            .expect("it was just written");
    }

    fn ways(&self) -> String {
        format!("peer{}.ways", self.at)
    }
}

impl Run {
    /// What is wrong with the end of a process, if anything.
    pub fn complaint(&self) -> Option<String> {
        let Run {
            replay, finished, ..
        } = self;
        if let Some(desync) = finished.last("desync") {
            return Some(format!("{replay}: {desync}"));
        }
        let panicked = finished
            .errors
            .lines()
            .find(|line| line.contains("panicked"));
        if let Some(line) = panicked {
            return Some(format!("{replay}: {line}"));
        }
        let expected = self.killed || matches!(finished.status.code(), Some(0 | NETWORK));
        (!expected).then(|| format!("{replay}: {} {}", finished.status, finished.errors))
    }
}

/// Exit code of a process that was removed, or that found no peer.
const NETWORK: i32 = 4;
