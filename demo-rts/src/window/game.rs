//! A match in the window: its picture, and how a person plays or watches it.

pub(crate) mod camera;
#[cfg(feature = "window")]
pub(crate) mod card;
pub(crate) mod effects;
#[cfg(feature = "window")]
mod exit_report;
mod fog;
#[cfg(feature = "window")]
pub(crate) mod hand;
#[cfg(feature = "window")]
pub(crate) mod hud;
pub(crate) mod land;
#[cfg(feature = "window")]
mod leave;
pub(crate) mod motion;
#[cfg(feature = "window")]
pub(crate) mod network;
#[cfg(feature = "window")]
mod over;
mod pen;
#[cfg(feature = "window")]
mod playing;
pub(crate) mod scene;
pub(crate) mod shapes;
pub(crate) mod signs;
#[cfg(feature = "window")]
pub mod table;
#[cfg(feature = "window")]
mod talk;
#[cfg(feature = "window")]
mod ways;

#[cfg(feature = "window")]
pub use exit_report::ExitReport;
#[cfg(feature = "window")]
pub use playing::Game;
