//! The proofs: simulator and judge, the model, and targets that fuzzing and property tests share.

#[cfg(feature = "demo")]
pub mod chaos;
mod formats;
#[cfg(feature = "demo")]
pub mod golden;
pub mod judge;
pub mod model;
#[cfg(feature = "demo")]
pub mod numbers;
#[cfg(feature = "demo")]
pub mod peers;
mod plans;
#[cfg(feature = "demo")]
pub mod processes;
pub mod random;
#[cfg(feature = "demo")]
pub mod recorded;
pub mod simulator;
pub mod targets;
#[cfg(feature = "demo")]
pub mod window;

/// Code in the pages of `docs/` compiles and runs.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../docs/architecture.md")]
    struct Architecture;
    #[doc = include_str!("../../docs/operations.md")]
    struct Operations;
    #[doc = include_str!("../../docs/porting.md")]
    struct Porting;
}
