//! The look of the window: colours, marks of seats, text sizes.

use super::canvas::{Canvas, Colour};
use super::settings::Colours;
use lockstep::Seat;
use std::sync::atomic::{AtomicBool, Ordering};

/// The background.
pub const GROUND: Colour = [18, 22, 28, 255];
/// A panel.
pub const PANEL: Colour = [27, 33, 41, 242];
/// A panel's upper edge, a little lighter.
pub const PANEL_TOP: Colour = [38, 46, 57, 242];
/// A panel's edge.
pub const EDGE: Colour = [74, 88, 104, 255];
/// A button.
pub const BUTTON: Colour = [48, 58, 71, 255];
/// A button under the mouse.
pub const BUTTON_HOT: Colour = [66, 82, 101, 255];
/// A pressed button.
pub const BUTTON_DOWN: Colour = [36, 44, 54, 255];
/// A text field.
pub const FIELD: Colour = [14, 18, 23, 255];
/// Important text.
pub const TEXT: Colour = [232, 236, 240, 255];
/// Less important text.
pub const FAINT: Colour = [160, 172, 184, 255];
/// A disabled widget.
pub const OFF: Colour = [108, 118, 129, 255];
/// The focus, and what matters.
pub const ACCENT: Colour = [240, 190, 70, 255];
/// Success.
pub const GOOD: Colour = [96, 205, 120, 255];
/// Trouble.
pub const BAD: Colour = [240, 98, 84, 255];
/// Gold.
pub const GOLD: Colour = [245, 200, 75, 255];
/// Wood.
pub const WOOD: Colour = [178, 128, 80, 255];
/// Outlines of things on the map.
pub const OUTLINE: Colour = [16, 18, 20, 255];

/// Body text.
pub const BODY: f32 = 14.0;
/// Marginal text.
pub const SMALL: f32 = 12.0;
/// Headings.
pub const HEADING: f32 = 18.0;
/// Titles of screens.
pub const TITLE: f32 = 34.0;

/// A seat's colour. Players with reduced colour vision also have the seat's mark.
pub fn seat(colour: u8) -> Colour {
    palette()[usize::from(colour) % SEATS.len()].0
}

/// A seat's colour, as text.
pub fn seat_name(colour: u8) -> &'static str {
    palette()[usize::from(colour) % SEATS.len()].1
}

/// Selects the palette of seats for the whole window.
pub fn set_colours(colours: Colours) {
    IS_VIVID.store(colours == Colours::Vivid, Ordering::Relaxed);
}

fn palette() -> &'static [(Colour, &'static str); 8] {
    match IS_VIVID.load(Ordering::Relaxed) {
        true => &VIVID,
        false => &SEATS,
    }
}

/// The number of a seat's colour: seats are numbered from 0 without gaps.
pub fn of(seat: Seat) -> u8 {
    seat.0
}

/// Whether a colour needs a dark mark.
fn is_light(colour: Colour) -> bool {
    let [red, green, blue, _] = colour.map(u32::from);
    red * 3 + green * 6 + blue > 1_500
}

/// A colour that is visible on a seat's colour.
pub fn contrast(colour: Colour) -> Colour {
    if is_light(colour) {
        [18, 18, 20, 255]
    } else {
        [255, 255, 255, 255]
    }
}

/// A colour with another alpha.
pub fn alpha(colour: Colour, alpha: f32) -> Colour {
    let [red, green, blue, own] = colour;
    let alpha = (f32::from(own) * alpha.clamp(0.0, 1.0)) as u8;
    [red, green, blue, alpha]
}

/// Mixes two colours; 0 is the first.
pub fn mix(from: Colour, to: Colour, part: f32) -> Colour {
    let part = part.clamp(0.0, 1.0);
    std::array::from_fn(|place| {
        let (a, b) = (f32::from(from[place]), f32::from(to[place]));
        (a + (b - a) * part) as u8
    })
}

/// Draws a seat's mark around a point, about `size` wide. Each number has its own shape.
pub fn mark(canvas: &mut Canvas, number: u8, (x, y): (f32, f32), size: f32, colour: Colour) {
    let r = size / 2.0;
    let polygon = |canvas: &mut Canvas, corners: &[(f32, f32)]| {
        let corners: Vec<(f32, f32)> = corners
            .iter()
            .map(|(dx, dy)| (x + dx * r, y + dy * r))
            .collect();
        canvas.convex(&corners, colour);
    };
    match number % 8 {
        0 => canvas.circle((x, y), r * 0.9, colour),
        1 => polygon(
            canvas,
            &[(-0.8, -0.8), (0.8, -0.8), (0.8, 0.8), (-0.8, 0.8)],
        ),
        2 => polygon(canvas, &[(0.0, -1.0), (1.0, 0.8), (-1.0, 0.8)]),
        3 => polygon(canvas, &[(0.0, -1.1), (1.1, 0.0), (0.0, 1.1), (-1.1, 0.0)]),
        4 => {
            polygon(
                canvas,
                &[(-0.35, -1.0), (0.35, -1.0), (0.35, 1.0), (-0.35, 1.0)],
            );
            polygon(
                canvas,
                &[(-1.0, -0.35), (1.0, -0.35), (1.0, 0.35), (-1.0, 0.35)],
            );
        }
        5 => canvas.ring((x, y), r, r * 0.5, colour),
        6 => polygon(canvas, &[(0.0, 1.0), (1.0, -0.8), (-1.0, -0.8)]),
        _ => {
            polygon(
                canvas,
                &[(-1.0, -0.85), (1.0, -0.85), (1.0, -0.25), (-1.0, -0.25)],
            );
            polygon(
                canvas,
                &[(-1.0, 0.25), (1.0, 0.25), (1.0, 0.85), (-1.0, 0.85)],
            );
        }
    }
}

/// After Okabe and Ito: distinct under every kind of colour vision, and bright enough on dark ground.
const SEATS: [(Colour, &str); 8] = [
    ([40, 140, 224, 255], "blue"),
    ([230, 100, 28, 255], "vermilion"),
    ([28, 178, 132, 255], "green"),
    ([240, 228, 66, 255], "yellow"),
    ([214, 124, 178, 255], "pink"),
    ([128, 208, 245, 255], "sky"),
    ([242, 170, 24, 255], "orange"),
    ([236, 236, 236, 255], "white"),
];

/// Stronger colours in roughly the same order of brightness, for full colour vision.
const VIVID: [(Colour, &str); 8] = [
    ([38, 96, 255, 255], "blue"),
    ([232, 44, 44, 255], "red"),
    ([24, 176, 64, 255], "green"),
    ([255, 226, 40, 255], "yellow"),
    ([184, 72, 226, 255], "purple"),
    ([44, 214, 232, 255], "cyan"),
    ([255, 140, 20, 255], "orange"),
    ([240, 240, 240, 255], "white"),
];

static IS_VIVID: AtomicBool = AtomicBool::new(false);

#[cfg(test)]
mod tests {
    use super::*;

    /// A colour as seen without one kind of cone (Viénot, Brettel and Mollon 1999).
    fn seen_without(colour: Colour, red_cones: bool) -> [f32; 3] {
        let [r, g, b] = [colour[0], colour[1], colour[2]].map(|c| (f32::from(c) / 255.0).powf(2.2));
        match red_cones {
            true => {
                let y = 0.112 * r + 0.888 * g;
                [y, y, 0.004 * r - 0.004 * g + b]
            }
            false => {
                let y = 0.292 * r + 0.708 * g;
                [y, y, -0.022 * r + 0.022 * g + b]
            }
        }
    }

    #[test]
    fn seats_are_distinct_by_colour_or_mark_for_all_eyes() {
        for red_cones in [true, false] {
            for a in 0..8_u8 {
                for b in 0..a {
                    let (one, other) = (
                        seen_without(SEATS[usize::from(a)].0, red_cones),
                        seen_without(SEATS[usize::from(b)].0, red_cones),
                    );
                    let far: f32 = one.iter().zip(other).map(|(x, y)| (x - y).powi(2)).sum();
                    assert!(
                        far.sqrt() > 0.07,
                        "{} {} {}",
                        seat_name(a),
                        seat_name(b),
                        far.sqrt()
                    );
                }
            }
        }
    }

    #[test]
    fn marks_are_distinct() {
        let drawn = |number: u8| {
            let mut canvas = Canvas::new();
            canvas.begin((100.0, 100.0), 1.0);
            mark(&mut canvas, number, (50.0, 50.0), 20.0, TEXT);
            canvas.triangles().0.to_vec()
        };
        for a in 0..8 {
            for b in 0..a {
                assert_ne!(drawn(a), drawn(b), "{a} {b}");
            }
        }
    }
}
