//! The proofs: simulator and judge, and the pure targets that fuzzing and property tests share.

pub mod judge;
#[cfg(feature = "demo")]
pub mod numbers;
#[cfg(feature = "demo")]
pub mod peers;
pub mod processes;
pub mod random;
pub mod simulator;
pub mod targets;
