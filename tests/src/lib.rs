//! The proofs: simulator and judge, the model, and targets that fuzzing and property tests share.

#[cfg(feature = "demo")]
pub mod chaos;
#[cfg(feature = "demo")]
pub mod golden;
pub mod judge;
pub mod model;
#[cfg(feature = "demo")]
pub mod numbers;
#[cfg(feature = "demo")]
pub mod peers;
#[cfg(feature = "demo")]
pub mod processes;
pub mod random;
#[cfg(feature = "demo")]
pub mod recorded;
pub mod simulator;
pub mod targets;
#[cfg(feature = "demo")]
pub mod window;
