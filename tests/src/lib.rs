//! The proofs: simulator and judge, and the pure targets that fuzzing and property tests share.

pub mod judge;
pub mod random;
pub mod simulator;
pub mod targets;
