//! This build computes the committed trace, with any number of threads.

use everywhere::{How, compare, everything};
use std::num::NonZeroUsize;

const GOLDEN: &str = include_str!("../../golden/trace.txt");

fn is_golden(threads: usize) {
    let how = How {
        threads: NonZeroUsize::new(threads),
        ..How::default()
    };
    let equal = compare(GOLDEN, everything(how).text()).unwrap_or_else(|difference| {
        panic!("{difference}; if the rules changed on purpose: cargo run --release -p everywhere -- write")
    });
    assert!(equal > 100, "{equal} lines");
}

#[test]
fn one_thread_computes_the_golden_trace() {
    is_golden(1);
}

#[test]
fn three_threads_compute_the_golden_trace() {
    is_golden(3);
}
