//! Proofs without clock and network. They use all processors, so they run apart from tests that wait.

#[cfg(feature = "demo")]
mod decoders;
mod dependencies;
#[cfg(feature = "demo")]
mod golden;
mod model;
mod ownership;
mod tidy;
