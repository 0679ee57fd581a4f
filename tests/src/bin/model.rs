//! Explores the model of roster changes within larger bounds, each for five minutes at most. Then it walks at
//! random beyond them. It fails where it did not complete a bound, or did not reach what the bound is about.
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
    let mut bounds = bounds();
    bounds.retain(|bound| bound.about.contains(&options.about));
    if bounds.is_empty() {
        eprintln!("no bound is about {:?}", options.about);
        return ExitCode::FAILURE;
    }
    let (mut complete, mut broken) = (0, false);
    for bound in &bounds {
        let mut model = match options.small {
            true => bound.small.clone(),
            false => bound.large.clone(),
        };
        let mut explore = |model: &RosterModel| {
            let checked = model.check(Duration::from_secs(options.seconds));
            let sound = checked.violation.is_none();
            let completes = sound && checked.complete && checked.unreached.is_empty();
            broken |= !sound;
            tell(bound.about, model, checked);
            completes
        };
        let mut completes = explore(&model);
        complete += usize::from(completes);
        while completes && options.climb {
            model.turns += 1;
            completes = explore(&model);
        }
    }
    let model = far();
    println!("{} random walks\n  {model:?}", options.walks);
    if let Some((name, steps)) = model.walk(options.seed, options.walks) {
        println!("  BROKEN: {name}\n    {}", steps.join("\n    "));
        broken = true;
    }
    println!("{complete} of {} bounds complete", bounds.len());
    ExitCode::from(u8::from(broken || complete < bounds.len()))
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
