//! Whole matches in `tests/golden/` re-run to their recorded checksums.

use std::fs;
use tests::golden;

/// After a change of the rules: `cargo run --release -p tests --bin golden`.
#[test]
fn every_golden_replay_is_valid() {
    assert_eq!(golden::check(&golden::folder()), Ok(golden::all().len()));
}

#[test]
fn a_replay_that_differs_from_its_pin_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    golden::make(&[golden::short()], folder.path()).expect("it is played");
    assert_eq!(golden::check(folder.path()), Ok(1));

    let pins = folder.path().join("checksums.txt");
    let good = fs::read_to_string(&pins).expect("it was written");
    let last = good.trim_end().chars().last().expect("a digit");
    let other =
        good.trim_end().trim_end_matches(last).to_owned() + if last == '0' { "1" } else { "0" };
    fs::write(&pins, other).expect("it is ours");
    assert!(golden::check(folder.path()).is_err(), "another checksum");
    fs::write(&pins, "").expect("it is ours");
    assert!(golden::check(folder.path()).is_err(), "no pin");
    fs::write(&pins, good).expect("it is ours");

    let replay = folder.path().join("short.replay");
    let mut bytes = fs::read(&replay).expect("it was written");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&replay, bytes).expect("it is ours");
    assert!(golden::check(folder.path()).is_err(), "a flipped bit");
}
