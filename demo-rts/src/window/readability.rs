//! What tests check in every frame: that all text is readable.

use super::canvas::{Canvas, Written};
use super::clock::{now, since};
use std::time::Duration;

/// Waits for another thread's work until `there` returns a value.
///
/// # Panics
/// After three minutes: test machines are slow at times.
pub fn until<T>(what: &str, mut there: impl FnMut() -> Option<T>) -> T {
    let began = now();
    loop {
        if let Some(found) = there() {
            return found;
        }
        assert!(since(began) < Duration::from_secs(180), "{what}");
        std::thread::park_timeout(Duration::from_millis(16));
    }
}

/// The window sizes that every screen is checked at.
pub const SIZES: [(f32, f32); 3] = [(1_280.0, 720.0), (1_920.0, 1_080.0), (3_840.0, 2_160.0)];

/// Panics if text of this frame is cut off, too small, or on top of other text of its layer.
pub fn check_texts(canvas: &Canvas) {
    let texts: Vec<&Written> = canvas
        .texts()
        .iter()
        .filter(|written| !written.text.trim().is_empty())
        .collect();
    for (place, written) in texts.iter().enumerate() {
        let (area, clip) = (written.area, written.clip);
        let inside = area.x >= clip.x - 0.5
            && area.y >= clip.y - 0.5
            && area.right() <= clip.right() + 0.5
            && area.bottom() <= clip.bottom() + 0.5;
        assert!(
            inside,
            "{:?} is cut off: {area:?} in {clip:?}",
            written.text
        );
        assert!(area.h >= 12.0, "{:?} is too small: {area:?}", written.text);
        for other in &texts[..place] {
            if other.above == written.above {
                // Adjacent lines may touch: letters do not fill their lines.
                let apart = !area.inset(2.0).meets(other.area.inset(2.0));
                assert!(apart, "{:?} lies on {:?}", written.text, other.text);
            }
        }
    }
}
