//! Bots against each other, headless: the winners, how long matches take, and stuck units.
//!
//! `cargo run --release -p demo-world --example matches -- --help`
//!
//! A match is a function of seed, seats and levels. So a line of the stuck table, or a match of `--each`, can
//! be played again.

#![allow(clippy::disallowed_methods, reason = "the report includes wall time")]

mod options;
mod play;
mod stuck;

use demo_world::bot::Level;
use options::Options;
use play::{Played, play};
use std::io::Write;
use std::process::ExitCode;
use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};
use std::time::Instant;

fn main() -> ExitCode {
    let options = match options::read(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            println!("{}", options::HELP);
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("matches: {error}\n\n{}", options::HELP);
            return ExitCode::from(2);
        }
    };
    let began = Instant::now();
    let played = play_all(&options);
    print_bots(&options, &played);
    print_stuck(&played);
    println!(
        "wall time {:.1} s on {} threads",
        began.elapsed().as_secs_f64(),
        options.threads
    );
    ExitCode::SUCCESS
}

/// Plays every seed of every pairing, in the order of pairings and seeds.
fn play_all(options: &Options) -> Vec<Played> {
    let jobs: Vec<(usize, u64)> = (0..options.pairs.len())
        .flat_map(|pair| options.seeds().map(move |seed| (pair, seed)))
        .collect();
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Played)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..options.threads {
            scope.spawn(|| {
                while let Some((job, (pair, seed))) = {
                    let job = next.fetch_add(1, Ordering::Relaxed);
                    jobs.get(job).map(|what| (job, *what))
                } {
                    let played = play(options, pair, seed);
                    if options.each {
                        let mut out = std::io::stdout().lock();
                        // A closed pipe ends the lines, not the matches.
                        let _ = writeln!(out, "{}", played.line(options));
                    }
                    let mut done = done.lock().expect("no thread panicked");
                    done.push((job, played));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no thread panicked");
    done.sort_by_key(|(job, _)| *job);
    done.into_iter().map(|(_, played)| played).collect()
}

fn print_bots(options: &Options, all: &[Played]) {
    println!(
        "{:<16} {:>9} {:>5} {:>6} {:>6} {:>6}  {:>17}  {:>19}  {:>16}",
        "pairing",
        "seeds",
        "seats",
        "wins",
        "draws",
        "share",
        "minutes p10 50 90",
        "commands per minute",
        "us a thought/max"
    );
    for (number, pair) in options.pairs.iter().enumerate() {
        let played: Vec<&Played> = all.iter().filter(|played| played.pair == number).collect();
        let wins = played.iter().filter(|p| p.winner == Some(0)).count();
        let draws = played.iter().filter(|p| p.winner.is_none()).count();
        let mut ticks: Vec<u32> = played.iter().map(|p| p.ticks).collect();
        ticks.sort_unstable();
        let minutes = |percent: usize| {
            let at = (ticks.len() * percent / 100).min(ticks.len().saturating_sub(1));
            ticks
                .get(at)
                .map_or(0.0, |ticks| f64::from(*ticks) / 1_200.0)
        };
        let seats = options.seats as f64 / 2.0;
        let total: f64 = ticks.iter().map(|ticks| f64::from(*ticks) / 1_200.0).sum();
        let rate = |side: usize| {
            let commands: u64 = played.iter().map(|p| p.commands[side]).sum();
            commands as f64 / (total * seats).max(1.0)
        };
        let thoughts: u64 = played.iter().map(|p| p.thoughts).sum();
        let thinking: u64 = played.iter().map(|p| p.thinking_ns).sum();
        let longest = played.iter().map(|p| p.longest_ns).max().unwrap_or(0);
        println!(
            "{:<16} {:>9} {:>5} {:>6} {:>6} {:>5.0}%  {:>5.1} {:>5.1} {:>5.1}  {:>9.0} {:>9.0}  {:>7.0} {:>8.0}",
            format!("{} > {}", pair[0], pair[1]),
            format!("{}..{}", options.first, options.last()),
            options.seats,
            wins,
            draws,
            wins as f64 * 100.0 / played.len().max(1) as f64,
            minutes(10),
            minutes(50),
            minutes(90),
            rate(0),
            rate(1),
            thinking as f64 / 1e3 / thoughts.max(1) as f64,
            longest as f64 / 1e3,
        );
    }
}

fn print_stuck(all: &[Played]) {
    let stuck: usize = all.iter().map(|played| played.stuck.len()).sum();
    let ticks: u64 = all.iter().map(|played| u64::from(played.ticks)).sum();
    println!(
        "stuck: {stuck} units stood under orders for {} s with a reachable goal, in {} matches of {ticks} ticks",
        stuck::TICKS / 20,
        all.len()
    );
    for played in all {
        for unit in &played.stuck {
            println!("  seed {} {}  {unit}", played.seed, played.names());
        }
    }
}

impl Played {
    fn names(&self) -> String {
        let names: Vec<String> = self.levels.iter().map(Level::to_string).collect();
        names.join(",")
    }

    fn line(&self, options: &Options) -> String {
        let winner = match self.winner {
            Some(side) => options.pairs[self.pair][side].to_string(),
            None => "no level".to_owned(),
        };
        let seconds = self.ticks / 20;
        format!(
            "seed {} {}: {winner} won after {}:{:02} ({} ticks), {} stuck, checksum {}, {:.0} us a tick",
            self.seed,
            self.names(),
            seconds / 60,
            seconds % 60,
            self.ticks,
            self.stuck.len(),
            self.checksum,
            self.wall.as_micros() as f64 / f64::from(self.ticks.max(1)),
        )
    }
}
