//! The game as a person meets it: a real window on a display of its own, real keys and clicks, and the picture that
//! comes of them.

pub mod display;
pub mod gallery;
pub mod ink;
pub mod picture;
