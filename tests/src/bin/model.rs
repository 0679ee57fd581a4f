//! Checks the model of roster changes to the largest bounds that fit into about five minutes of two cores together,
//! and walks through it at random beyond them.
//!
//! `cargo run -p tests --no-default-features --release --bin model`

use clap::Parser;
use std::process::ExitCode;
use std::time::Duration;
use tests::model::{far, large_bounds};

/// Runs through every state of the model of roster changes, and prints how many there are.
#[derive(Parser)]
struct Options {
    /// Random walks beyond the bounds.
    #[arg(long, default_value_t = 200_000)]
    walks: u32,
    /// The seed of the walks.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Seconds that one bound may take.
    #[arg(long, default_value_t = 150)]
    seconds: u64,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let mut broken = false;
    for bound in large_bounds() {
        let checked = bound.model.check(Duration::from_secs(options.seconds));
        let seen = if checked.complete { "all" } else { "not all" };
        println!(
            "{}: {} states, {seen} within the bound, in {:.1?}\n  {:?}",
            bound.about, checked.states, checked.took, bound.model
        );
        if !checked.unreached.is_empty() {
            println!("  not reached: {:?}", checked.unreached);
        }
        if let Some((name, steps)) = checked.violation {
            println!("  BROKEN: {name}\n    {}", steps.join("\n    "));
            broken = true;
        }
    }
    let model = far();
    println!("{} random walks\n  {model:?}", options.walks);
    if let Some((name, steps)) = model.walk(options.seed, options.walks) {
        println!("  BROKEN: {name}\n    {}", steps.join("\n    "));
        broken = true;
    }
    ExitCode::from(u8::from(broken))
}
