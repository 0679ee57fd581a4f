//! Explores the model of roster changes within larger bounds, each for five minutes at most, and prints which
//! bounds it completed. Then it walks at random beyond them.
//!
//! `cargo run -p tests --no-default-features --release --bin model`

use clap::Parser;
use std::process::ExitCode;
use std::time::Duration;
use tests::model::{Checked, RosterModel, bounds, far};

/// Explore every state of the model of roster changes, and print the number of states.
#[derive(Parser)]
struct Options {
    /// Random walks beyond the bounds.
    #[arg(long, default_value_t = 200_000)]
    walks: u32,
    /// Seed of the walks.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Seconds for each bound.
    #[arg(long, default_value_t = 300)]
    seconds: u64,
    /// Use the small bounds, which every test run explores.
    #[arg(long)]
    small: bool,
    /// Extend each bound by a turn at a time while its exploration completes within the time.
    #[arg(long)]
    climb: bool,
    /// Only bounds whose description contains this.
    #[arg(long, default_value = "")]
    about: String,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let mut broken = false;
    let wanted = |about: &str| about.contains(&options.about);
    for bound in bounds().iter().filter(|bound| wanted(bound.about)) {
        let mut model = match options.small {
            true => bound.small.clone(),
            false => bound.large.clone(),
        };
        loop {
            let checked = model.check(Duration::from_secs(options.seconds));
            let higher = options.climb && checked.complete && checked.violation.is_none();
            broken |= checked.violation.is_some();
            tell(bound.about, &model, checked);
            if !higher {
                break;
            }
            model.turns += 1;
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

fn tell(about: &str, model: &RosterModel, checked: Checked) {
    let seen = if checked.complete { "all" } else { "not all" };
    println!(
        "{about}: {} states, {seen} within the bound, in {:.1?}\n  {model:?}",
        checked.states, checked.took
    );
    if !checked.unreached.is_empty() {
        println!("  not reached: {:?}", checked.unreached);
    }
    if let Some((name, steps)) = checked.violation {
        println!("  BROKEN: {name}\n    {}", steps.join("\n    "));
    }
}
