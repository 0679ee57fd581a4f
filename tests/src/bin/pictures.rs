//! Regenerates the pictures of `docs/pictures/`: `cargo run --release -p tests --bin pictures`.

use clap::{Parser, Subcommand};
use std::process::ExitCode;
use tests::window::{display, gallery};

#[derive(Parser)]
#[command(
    name = "pictures",
    about = "Regenerates the pictures of the README, which tests compare with the window"
)]
struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Subcommand)]
enum What {
    /// Compare the pictures with the window, and write nothing
    Check,
    /// The game itself, in whose window the pictures are taken
    #[command(hide = true)]
    Demo {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<std::ffi::OsString>,
    },
}

fn main() -> ExitCode {
    let what = Arguments::parse().what;
    if let Some(What::Demo { arguments }) = what {
        let program = std::iter::once("demo-rts".into());
        return demo_rts::run(program.chain(arguments));
    }
    if let Some(lacks) = display::missing() {
        eprintln!("{lacks}");
        return ExitCode::FAILURE;
    }
    let program = std::env::current_exe().expect("a running program has a path");
    let done = match what {
        None => gallery::make(&program),
        Some(_) => gallery::check(&program),
    };
    match done {
        Ok(lines) => {
            lines.iter().for_each(|line| println!("{line}"));
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
