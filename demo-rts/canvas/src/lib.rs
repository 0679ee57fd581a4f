//! The drawing surface of the demo's screens: shapes and letters in memory, and a software rasteriser. A package of
//! its own, because it is optimised where the screens are not.

pub mod canvas;
pub mod letters;
pub mod raster;
