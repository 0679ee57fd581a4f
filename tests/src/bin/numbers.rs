//! Prints the figures that `docs/figures.md` quotes. Every row says what was measured, and for how long.
//!
//! `cargo run --release -p tests --bin numbers -- world`

use clap::{Parser, Subcommand};
use std::process::ExitCode;
use tests::numbers::{click, lost, network, orders, recording, rejoin, stopped, world};

#[derive(Parser)]
#[command(name = "numbers", about = "Prints figures, with their sample sizes")]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Step, checksum, save and load at several sizes of the world
    World {
        /// Units in the world
        #[arg(long, value_delimiter = ',', default_values_t = [200, 2000])]
        units: Vec<u16>,
        /// Ticks to step at each size
        #[arg(long, default_value_t = 2_000)]
        ticks: u32,
    },
    /// A match of real processes over loopback
    Match {
        /// Peers
        #[arg(long, default_value_t = 4)]
        peers: usize,
        /// Milliseconds of a turn; the command delay is two turns
        #[arg(long, default_value_t = 200)]
        turn_ms: u64,
        /// The plan follows the links; match time is counted in turns of 50 ms
        #[arg(long, conflicts_with = "turn_ms")]
        adaptive: bool,
        /// Match time to play
        #[arg(long, default_value_t = 600)]
        seconds: u64,
        /// Impairment of each peer's outgoing packets
        #[arg(long)]
        impair: Option<String>,
    },
    /// Latency of commands that peers over loopback issue at given rates, 200 ms × 2
    Orders {
        /// Peers
        #[arg(long, default_value_t = 8)]
        peers: u8,
        /// Match time to play
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        /// Commands a second of each seat, and their bytes: a match for each
        #[arg(long, value_delimiter = ',', default_value = "50x10,5x380")]
        rates: Vec<orders::Rate>,
        /// Impairment of each peer's outgoing packets
        #[arg(long)]
        impair: Option<String>,
    },
    /// Stall of a match of real processes over loopback when one of them is killed
    Lost {
        /// Peers
        #[arg(long, value_delimiter = ',', default_values_t = [2, 4, 8])]
        peers: Vec<usize>,
        /// Matches of each size
        #[arg(long, default_value_t = 3)]
        rounds: u64,
        /// Impairment of each peer's outgoing packets
        #[arg(long)]
        impair: Option<String>,
    },
    /// What two players in windows see after a click, and when
    Click {
        /// Impairment of the second player's outgoing packets
        #[arg(long, default_value = "delay=150ms,jitter=5ms")]
        impair: String,
        /// Clicks of each player
        #[arg(long, default_value_t = 10)]
        clicks: usize,
    },
    /// Rejoining a long match of real processes over loopback
    Rejoin {
        /// Ages of the match
        #[arg(long, value_delimiter = ',', default_values_t = [10, 60])]
        minutes: Vec<u64>,
        /// Marching units
        #[arg(long, default_value_t = 2_000)]
        units: u32,
    },
    /// A process of a match over loopback that is stopped for a while and continued
    Stop {
        /// Seconds that the process is stopped
        #[arg(long, value_delimiter = ',', default_values_t = [1, 10, 600])]
        seconds: Vec<u64>,
    },
    /// A recorded match of an hour: its size, and the speed of verifying and showing it
    Replay {
        /// Match minutes
        #[arg(long, default_value_t = 60)]
        minutes: u32,
        /// Seats
        #[arg(long, default_value_t = 4)]
        seats: u8,
    },
    /// The demo itself, as the processes of a match run it
    #[command(hide = true)]
    Demo {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<std::ffi::OsString>,
    },
}

fn main() -> ExitCode {
    match Arguments::parse().what {
        What::World { units, ticks } => world::print(&units, ticks),
        What::Match {
            peers,
            turn_ms,
            adaptive,
            seconds,
            impair,
        } => {
            let (plan, turn_ms) = match adaptive {
                true => ("adaptive".to_owned(), 50),
                false => (format!("{turn_ms}x2"), turn_ms),
            };
            let program = std::env::current_exe().expect("a running program has a path");
            network::print(&network::Wanted {
                program: &program,
                first: &["demo"],
                peers,
                plan: &plan,
                turn_ms,
                seconds,
                impair: impair.as_deref(),
            });
        }
        What::Orders {
            peers,
            seconds,
            rates,
            impair,
        } => {
            for rate in rates {
                orders::print(&orders::Wanted {
                    peers,
                    seconds,
                    rate,
                    impair: impair.as_deref(),
                });
            }
        }
        What::Lost {
            peers,
            rounds,
            impair,
        } => {
            let program = std::env::current_exe().expect("a running program has a path");
            for peers in peers {
                lost::print(&program, &["demo"], peers, rounds, impair.as_deref());
            }
        }
        What::Click { impair, clicks } => {
            let program = std::env::current_exe().expect("a running program has a path");
            click::print(&program, &impair, clicks);
        }
        What::Rejoin { minutes, units } => {
            let program = std::env::current_exe().expect("a running program has a path");
            rejoin::print(&program, &["demo"], &minutes, units);
        }
        What::Stop { seconds } => {
            let program = std::env::current_exe().expect("a running program has a path");
            for seconds in seconds {
                stopped::print(&program, &["demo"], seconds);
            }
        }
        What::Replay { minutes, seats } => recording::print(minutes, seats),
        What::Demo { arguments } => {
            let program = std::iter::once("demo-rts".into());
            return demo_rts::run(program.chain(arguments));
        }
    }
    ExitCode::SUCCESS
}
