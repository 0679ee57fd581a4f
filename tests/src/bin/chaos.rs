//! Kills, stops, cuts off and brings back the processes of a match at random, then compares what they saw.
//!
//! `cargo run --release -p tests --bin chaos -- --peers 8 --seconds 120`

use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tests::chaos::{Seen, Wanted, run};

#[derive(Parser)]
#[command(
    about = "Troubles a match of real processes at random, and compares what they saw",
    args_conflicts_with_subcommands = true
)]
struct Arguments {
    /// Processes, each with a seat and a bot that plays it
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(2..=8))]
    peers: u8,
    /// For how long they are troubled; then all are brought back
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// Draws the troubles. Without it one is made up
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Keeps recordings and keys in this new folder
    #[arg(long, value_name = "F")]
    folder: Option<PathBuf>,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Subcommand)]
enum What {
    /// The demo itself, as the processes of the match run it
    #[command(hide = true)]
    Demo {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(What::Demo { arguments }) = arguments.what {
        let program = std::iter::once("demo-rts".into());
        return demo_rts::run(program.chain(arguments));
    }
    match &arguments.folder {
        Some(folder) => match std::fs::create_dir(folder) {
            Ok(()) => trouble(&arguments, folder),
            Err(error) => {
                eprintln!(
                    "{}: {error}; name a folder that is not there yet",
                    folder.display()
                );
                ExitCode::from(2)
            }
        },
        None => {
            let folder = tempfile::tempdir().expect("a folder for the match");
            trouble(&arguments, folder.path())
        }
    }
}

fn trouble(arguments: &Arguments, folder: &Path) -> ExitCode {
    let seed = arguments
        .seed
        .unwrap_or_else(|| RandomState::new().hash_one(0));
    let (peers, seconds) = (arguments.peers, arguments.seconds);
    println!("again: chaos --peers {peers} --seconds {seconds} --seed {seed}");
    let wanted = Wanted {
        peers: usize::from(peers),
        lasts: Duration::from_secs(seconds),
        seed,
    };
    let program = std::env::current_exe().expect("a running program has a path");
    let began = Instant::now();
    let seen = run(wanted, &program, &["demo"], folder, &mut |line| {
        println!("{line}")
    });
    let Seen {
        turns,
        troubles,
        replays,
        violations,
    } = seen;
    let troubles: Vec<String> = troubles
        .iter()
        .map(|(what, times)| format!("{what} {times}"))
        .collect();
    println!("troubles: {}", troubles.join(", "));
    let wall = began.elapsed().as_secs_f32();
    println!(
        "{peers} processes, {turns} turns in {wall:.0} s, {replays} recordings verified and compared"
    );
    for violation in &violations {
        println!("VIOLATION {violation}");
    }
    println!("{} violations", violations.len());
    ExitCode::from(u8::from(!violations.is_empty()))
}
