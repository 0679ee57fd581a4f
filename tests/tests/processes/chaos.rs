//! Processes of the demo that are killed, stopped, cut off and restarted at random.

use std::path::Path;
use std::time::Duration;
use tests::chaos::{Wanted, run};

const PROGRAM: &str = env!("CARGO_BIN_EXE_chaos");
/// Kills two, stops one, and restarts them in time.
const SEED: u64 = 7;

#[test]
fn processes_agree_and_go_on_after_random_faults() {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let wanted = Wanted {
        peers: 5,
        lasts: Duration::from_secs(20),
        seed: SEED,
    };
    println!(
        "again: cargo run --release -p tests --bin chaos -- --peers 5 --seconds 20 --seed {SEED}"
    );
    let mut tell = |line: &str| println!("{line}");
    let seen = run(
        wanted,
        Path::new(PROGRAM),
        &["demo"],
        folder.path(),
        &mut tell,
    );
    assert_eq!(seen.violations, Vec::<String>::new());
    assert!(seen.faults.contains_key("kill -9") && seen.faults.contains_key("rejoin"));
    assert!(seen.turns > 60 && seen.replays >= 6, "{seen:?}");
}
