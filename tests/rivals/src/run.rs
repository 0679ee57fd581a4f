//! One match: starts its peers as processes, drives them, and makes a result of their notes.

use crate::account::stalls;
use crate::contestant::{Contestant, Kind};
use crate::link::Cell;
use crate::peer::{Done, Order, Told};
use crate::processors::Processors;
use crate::proxy::{Count, Proxy};
use serde::{Deserialize, Serialize};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// A match to play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Players and network.
    pub cell: Cell,
    /// The library and its settings.
    pub contestant: Contestant,
    /// Seed of losses, delays and commands.
    pub seed: u64,
    /// Seconds that count.
    pub seconds: u64,
    /// Seconds before those.
    pub warm_up: u64,
    /// Whether a bit is flipped at the end.
    pub flips: bool,
}

/// What a match came to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Measured {
    /// Why the match failed; nothing else counts then.
    pub failed: Option<String>,
    /// From issue to confirmed execution, at the issuing player. A command that was never executed has its age at the
    /// end.
    pub latencies_ms: Vec<f64>,
    /// Commands of which none was executed although a later one of the same player was.
    pub lost: u64,
    /// Commands that were not executed by the end, 3 s behind the measurement.
    pub unexecuted: u64,
    /// Commands that were executed twice or out of order.
    pub disordered: u64,
    /// Peers with other commands than the first peer.
    pub disagreeing: u64,
    /// The share of time in stalls, in percent: the mean of all peers.
    pub stalled_percent: f64,
    /// The longest stall of any peer.
    pub longest_stall_ms: f64,
    /// Processor time of all threads for each turn: the mean of all peers.
    pub cpu_us_per_turn: f64,
    /// Bytes a second that a player sends: the mean of all players.
    pub up_bytes_per_s: f64,
    /// The same of the player that sends most.
    pub most_up_bytes_per_s: f64,
    /// Packets a second that a player sends: the mean of all players.
    pub up_packets_per_s: f64,
    /// Turns from the flip of a bit to the first report; `None` where there was no report in time, or no flip.
    pub desync_turns: Option<u64>,
    /// The share of time in which the machine's processors were busy, in percent; `None` where no system tells.
    pub busy_percent: Option<f64>,
}

/// Plays a match. A match that fails is a result, too.
pub fn run(job: &Job, folder: &Path) -> Measured {
    let outcome = Peers::start(job, folder).and_then(|mut peers| {
        let played = peers.play(job);
        let counts = peers.end();
        let (notes, desync_turns, busy_percent) = played?;
        Ok(Measured {
            busy_percent,
            ..measured(job, &notes, &counts, desync_turns)
        })
    });
    outcome.unwrap_or_else(|why| Measured {
        failed: Some(why),
        ..Measured::default()
    })
}

/// The notes by player, turns until the flipped bit was reported, and how busy the processors were.
type Played = (Vec<Done>, Option<u64>, Option<f64>);

struct Peers {
    children: Vec<Child>,
    inputs: Vec<Option<ChildStdin>>,
    told: Receiver<(usize, Told)>,
    proxy: Option<Proxy>,
}

impl Peers {
    fn start(job: &Job, folder: &Path) -> Result<Peers, String> {
        let proxy = Proxy::start(job.cell, job.seed).map_err(|error| error.to_string())?;
        let (sender, told) = channel();
        let mut peers = Peers {
            children: Vec::new(),
            inputs: Vec::new(),
            told,
            proxy: Some(proxy),
        };
        for me in 0..job.cell.players {
            let (child, input) = start_peer(job, me, folder, &sender)?;
            peers.children.push(child);
            peers.inputs.push(Some(input));
        }
        Ok(peers)
    }

    fn proxy(&self) -> &Proxy {
        self.proxy.as_ref().expect("it runs until the end")
    }

    fn order(&mut self, player: usize, order: &Order) -> Result<(), String> {
        let line = serde_json::to_string(order).expect("it is plain data");
        let input = self.inputs[player].as_mut().expect("it is open");
        writeln!(input, "{line}").map_err(|error| error.to_string())
    }

    /// What a peer tells next, until a moment.
    fn next(&self, until: Instant) -> Result<(usize, Told), String> {
        let left = until.saturating_duration_since(Instant::now());
        match self.told.recv_timeout(left) {
            Ok((player, Told::Failed(why))) => Err(format!("player {player}: {why}")),
            Ok(told) => Ok(told),
            Err(_) => Err("a peer did not answer in time".to_owned()),
        }
    }

    /// Meets, runs and measures.
    fn play(&mut self, job: &Job) -> Result<Played, String> {
        let players = job.cell.players;
        let until = Instant::now() + START;
        let mut listening: Vec<Option<SocketAddr>> = vec![None; players];
        for _ in 0..players {
            let (player, Told::Listening(address)) = self.next(until)? else {
                return Err("a peer told no address".to_owned());
            };
            listening[player] = address;
            if let Some(address) = address {
                self.proxy().set_address(player, address);
            }
        }
        let mut ticket = None;
        for player in 0..players {
            let through = self.proxy().addresses[player].clone();
            let start = Order::Start {
                through,
                listening: listening.clone(),
                ticket: ticket.clone(),
            };
            self.order(player, &start)?;
            if player == 0 && job.contestant.kind == Kind::Ours {
                let (0, Told::Ticket(text)) = self.next(until)? else {
                    return Err("the host told no ticket".to_owned());
                };
                ticket = Some(text);
            }
        }
        for _ in 0..players {
            let (_, Told::Running) = self.next(until)? else {
                return Err("a peer did not run".to_owned());
            };
        }
        let from = Duration::from_secs(job.warm_up);
        let to = from + Duration::from_secs(job.seconds);
        let go = Order::Go {
            from_us: from.as_micros() as u64,
            to_us: to.as_micros() as u64,
        };
        let before = Processors::now();
        self.proxy().measure(from, to);
        for player in 0..players {
            self.order(player, &go)?;
        }
        let until = Instant::now() + to + END;
        let mut notes: Vec<Option<Done>> = (0..players).map(|_| None).collect();
        while notes.iter().any(Option::is_none) {
            match self.next(until)? {
                (player, Told::Done(done)) => notes[player] = Some(done),
                (player, Told::Desync(_)) => {
                    return Err(format!("player {player} reports a desync that is none"));
                }
                _ => return Err("a peer told something out of turn".to_owned()),
            }
        }
        let processors = Processors::now().zip(before);
        let busy_percent = processors.map(|(now, before)| now.busy_percent(before));
        let desync_turns = if job.flips {
            self.flip(players - 1)?
        } else {
            None
        };
        let notes = notes.into_iter().flatten().collect();
        Ok((notes, desync_turns, busy_percent))
    }

    /// Flips a bit of a player's state. Returns turns until the first report.
    fn flip(&mut self, player: usize) -> Result<Option<u64>, String> {
        self.order(player, &Order::Flip)?;
        let until = Instant::now() + REPORT;
        let mut flipped = None;
        let mut reported = None;
        while flipped.is_none() || reported.is_none() {
            let left = until.saturating_duration_since(Instant::now());
            match self.told.recv_timeout(left) {
                Ok((_, Told::Flipped(step))) => flipped = Some(step),
                Ok((_, Told::Desync(steps))) => reported = reported.or(Some(steps)),
                // Peers of a library that ends at a report fail, which follows from it.
                Ok(_) => {}
                Err(_) => break,
            }
        }
        let turns = flipped.zip(reported);
        Ok(turns.map(|(flipped, reported)| reported.saturating_sub(flipped)))
    }

    /// Ends all processes. Returns what they sent.
    fn end(mut self) -> Vec<Count> {
        self.proxy.take().map(Proxy::stop).unwrap_or_default()
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        self.inputs.clear();
        for child in &mut self.children {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn start_peer(
    job: &Job,
    me: usize,
    folder: &Path,
    sender: &Sender<(usize, Told)>,
) -> Result<(Child, ChildStdin), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut child = Command::new(program)
        .arg("peer")
        .args(["--contestant", &job.contestant.to_string()])
        .args(["--players", &job.cell.players.to_string()])
        .args(["--me", &me.to_string()])
        .args(["--seed", &job.seed.to_string()])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let input = child.stdin.take().expect("it is piped");
    let output = child.stdout.take().expect("it is piped");
    let sender = sender.clone();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let told = serde_json::from_str(&line);
            let told = told.unwrap_or_else(|_| Told::Failed(format!("it said {line:?}")));
            if sender.send((me, told)).is_err() {
                return;
            }
        }
        // Of no meaning once the match is over.
        let _ = sender.send((me, Told::Failed("its process ended".to_owned())));
    });
    Ok((child, input))
}

fn measured(job: &Job, notes: &[Done], counts: &[Count], desync_turns: Option<u64>) -> Measured {
    let from_us = job.warm_up * 1_000_000;
    let to_us = from_us + job.seconds * 1_000_000;
    let peers = notes.len() as f64;
    let mut result = Measured {
        desync_turns,
        ..Measured::default()
    };
    for done in notes {
        let last_executed = done.commands.iter().rposition(|(_, at)| at.is_some());
        for (number, (issued, executed)) in done.commands.iter().enumerate() {
            match executed {
                None if Some(number) < last_executed => result.lost += 1,
                None => result.unexecuted += 1,
                Some(_) => {}
            }
            if (from_us..to_us).contains(issued) {
                let latency_us = executed.unwrap_or(done.ended_us).saturating_sub(*issued);
                // To a tenth of a millisecond.
                let tenths = (latency_us as f64 / 100.0).round();
                result.latencies_ms.push(tenths / 10.0);
            }
        }
        result.disordered += u64::from(done.disordered);
        let same = done.hashes.iter().zip(&notes[0].hashes);
        result.disagreeing += u64::from(!same.into_iter().all(|(one, other)| one == other));
        let cadence_us = job.contestant.cadence_ms * 1_000;
        let stalled = stalls(&done.steps_us, from_us, to_us, cadence_us);
        result.stalled_percent += stalled.total_ms / 10.0 / job.seconds as f64 / peers;
        result.longest_stall_ms = result.longest_stall_ms.max(stalled.longest_ms);
        let within = |at: &&u64| (from_us..to_us).contains(*at);
        let turns = done.steps_us.iter().filter(within).count().max(1);
        result.cpu_us_per_turn += done.cpu_us as f64 / turns as f64 / peers;
    }
    for count in counts {
        let per_second = count.bytes as f64 / job.seconds as f64;
        result.up_bytes_per_s += per_second / peers;
        result.up_packets_per_s += count.packets as f64 / job.seconds as f64 / peers;
        result.most_up_bytes_per_s = result.most_up_bytes_per_s.max(per_second);
    }
    result
}

/// Peers meet and begin within this time.
const START: Duration = Duration::from_secs(40);
/// Notes come within this time behind the measurement.
const END: Duration = Duration::from_secs(20);
/// A report of differing states comes within this time, or counts as none.
pub const REPORT: Duration = Duration::from_secs(4);

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        Job {
            cell: "2p-0ms-0".parse().expect("a cell"),
            contestant: "ours-200x2".parse().expect("a contestant"),
            seed: 1,
            seconds: 1,
            warm_up: 1,
            flips: false,
        }
    }

    fn done(commands: &[(u64, Option<u64>)], hashes: &[u32]) -> Done {
        Done {
            commands: commands.to_vec(),
            steps_us: (0..15).map(|step| step * 200_000).collect(),
            hashes: hashes.to_vec(),
            disordered: 0,
            cpu_us: 500,
            ended_us: 5_000_000,
        }
    }

    #[test]
    fn latencies_are_of_commands_within_the_measurement() {
        let commands = [
            (500_000, Some(900_000)),
            (1_000_000, Some(1_300_040)),
            (1_900_000, Some(2_400_000)),
            (2_000_000, Some(2_300_000)),
        ];
        let result = measured(&job(), &[done(&commands, &[])], &[], None);
        assert_eq!(result.latencies_ms, [300.0, 500.0]);
        assert_eq!((result.lost, result.unexecuted), (0, 0));
        assert_eq!(result.stalled_percent, 0.0);
        assert_eq!(result.cpu_us_per_turn, 100.0);
    }

    #[test]
    fn a_lost_command_is_none_that_only_waits() {
        let commands = [
            (1_000_000, None),
            (1_100_000, Some(1_300_000)),
            (1_200_000, None),
        ];
        let result = measured(&job(), &[done(&commands, &[])], &[], None);
        assert_eq!((result.lost, result.unexecuted), (1, 1));
        assert_eq!(result.latencies_ms, [4_000.0, 200.0, 3_800.0]);
    }

    #[test]
    fn peers_that_executed_other_commands_disagree() {
        let of = |hashes: &[u32]| done(&[], hashes);
        let same = [of(&[1, 2, 3]), of(&[1, 2])];
        assert_eq!(measured(&job(), &same, &[], None).disagreeing, 0);
        let other = [of(&[1, 2, 3]), of(&[1, 4])];
        assert_eq!(measured(&job(), &other, &[], None).disagreeing, 1);
    }

    #[test]
    fn traffic_is_counted_for_each_player() {
        let counts = [1_000, 3_000].map(|bytes| Count { bytes, packets: 10 });
        let notes = [done(&[], &[]), done(&[], &[])];
        let result = measured(&job(), &notes, &counts, Some(3));
        assert_eq!(result.up_bytes_per_s, 2_000.0);
        assert_eq!(result.most_up_bytes_per_s, 3_000.0);
        assert_eq!(result.up_packets_per_s, 10.0);
        assert_eq!(result.desync_turns, Some(3));
    }
}
