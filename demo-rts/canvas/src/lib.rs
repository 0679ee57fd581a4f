//! What the demo's screens draw upon, without a window: shapes and letters in memory, and the picture that they give.
//! It is optimised where the screens around it are not.

pub mod canvas;
pub mod letters;
pub mod raster;
