//! The game in a real window on a display of its own, used with real keys and clicks, and checked by its picture.

pub mod display;
pub mod gallery;
pub mod ink;
pub mod picture;
