//! Proofs that need neither clock nor network. They keep every processor busy, and so run apart from those that wait.

#[cfg(feature = "demo")]
mod decoders;
#[cfg(feature = "demo")]
mod golden;
mod model;
mod tidy;
