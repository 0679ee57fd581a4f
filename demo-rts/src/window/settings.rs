//! What the user wants of the window.

use std::cell::RefCell;
use std::rc::Rc;

/// Settings that all screens share.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How much larger than usual everything is: 0.75 to 2.
    pub zoom: f32,
    /// Whether the map scrolls where the mouse touches the window's edge.
    pub edge_scroll: bool,
    /// Frames a second at most; the display may ask for fewer.
    pub most_frames: u32,
    /// Tiles a second that keys and edges scroll at the usual zoom.
    pub scroll_speed: f32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            zoom: 1.0,
            edge_scroll: true,
            most_frames: 144,
            scroll_speed: 26.0,
        }
    }
}

/// Settings in the hands of several screens.
pub type Shared = Rc<RefCell<Settings>>;
