//! Runs through the model of roster changes to larger bounds, each for five minutes at most, and prints of which it has
//! seen all states; then walks through it at random beyond them.
//!
//! `cargo run -p tests --no-default-features --release --bin model`

use clap::Parser;
use std::process::ExitCode;
use std::time::Duration;
use tests::model::{Checked, RosterModel, bounds, far};

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
    #[arg(long, default_value_t = 300)]
    seconds: u64,
    /// The small bounds, which every test run goes through.
    #[arg(long)]
    small: bool,
    /// Goes on from each bound with a turn more at a time, as long as all states are seen in that time.
    #[arg(long)]
    climb: bool,
    /// Only what is about this.
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
