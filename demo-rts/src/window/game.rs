//! A match in the window: how it looks, and how a person plays it or watches bots play.

pub mod camera;
#[cfg(feature = "window")]
pub mod card;
pub mod effects;
#[cfg(feature = "window")]
pub mod hand;
#[cfg(feature = "window")]
pub mod hud;
pub mod land;
pub mod motion;
#[cfg(feature = "window")]
pub mod network;
#[cfg(feature = "window")]
mod over;
mod pen;
#[cfg(feature = "window")]
mod playing;
pub mod scene;
pub mod shapes;
pub mod signs;
#[cfg(feature = "window")]
pub mod table;
#[cfg(feature = "window")]
mod talk;

#[cfg(feature = "window")]
pub use playing::{Farewell, Game};
