//! Kills, stops, cuts off and restarts the processes of a match at random, then compares their output and
//! recordings.
//!
//! `cargo run --release -p tests --bin chaos -- --peers 8 --seconds 120`

use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tests::chaos::{Outcome, Wanted, run};

#[derive(Parser)]
#[command(
    about = "Injects random faults into a match of real processes, and compares their output",
    args_conflicts_with_subcommands = true
)]
struct Arguments {
    /// Processes, each with a seat that a bot plays
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(2..=8))]
    peers: u8,
    /// Seconds of faults; then all processes are restarted
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// Seed of the faults. Default: random
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Keep recordings and keys in this new folder
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
            Ok(()) => run_match(&arguments, folder),
            Err(error) => {
                eprintln!("{}: {error}; name a new folder", folder.display());
                ExitCode::from(2)
            }
        },
        None => {
            let folder = tempfile::tempdir().expect("a folder for the match");
            run_match(&arguments, folder.path())
        }
    }
}

fn run_match(arguments: &Arguments, folder: &Path) -> ExitCode {
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
    let Outcome {
        turns,
        faults,
        replays,
        violations,
    } = seen;
    let faults: Vec<String> = faults
        .iter()
        .map(|(what, times)| format!("{what} {times}"))
        .collect();
    println!("faults: {}", faults.join(", "));
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
