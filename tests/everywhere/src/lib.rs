//! The golden trace: named checksums of what the toolkit `sim` computes and of matches of the demo. They must be
//! equal on every machine.
//!
//! `tests/golden/trace.txt` is the committed trace; `tests/everywhere/run` computes it on every target.

mod compare;
mod controls;
mod lines;
mod toolkit;
#[cfg(target_family = "wasm")]
mod wasm;
mod worlds;

pub use compare::{Difference, compare};
pub use lines::Lines;
pub use worlds::How;

/// The trace of the toolkit alone, which takes a second even under emulation.
#[must_use]
pub fn toolkit() -> Lines {
    let mut lines = Lines::default();
    toolkit::trace(&mut lines);
    lines
}

/// The whole trace.
#[must_use]
pub fn everything(how: How) -> Lines {
    let mut lines = toolkit();
    worlds::trace(how, &mut lines);
    lines
}
