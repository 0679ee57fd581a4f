//! The committed trace is what this build computes.

use everywhere::{compare, toolkit};

const GOLDEN: &str = include_str!("../../golden/trace.txt");

#[test]
fn the_toolkit_computes_the_golden_trace() {
    let golden: String = GOLDEN
        .lines()
        .filter(|line| line.starts_with("sim/"))
        .map(|line| format!("{line}\n"))
        .collect();
    let equal = compare(&golden, toolkit().text()).unwrap_or_else(|found| panic!("{found}"));
    assert!(equal > 30, "{equal} lines");
}
