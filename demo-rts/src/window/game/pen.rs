//! Drawing around a point, with rotation and scale.

use crate::window::canvas::{Canvas, Colour};
use crate::window::theme;

/// A pen around a point, with rotation and scale.
pub struct Pen<'a> {
    pub canvas: &'a mut Canvas,
    /// The point, in pixels.
    pub at: (f32, f32),
    /// Pixels per unit of the pen.
    pub size: f32,
    /// Cosine of the rotation.
    pub cos: f32,
    /// Sine of the rotation.
    pub sin: f32,
}

impl Pen<'_> {
    /// The pixel of a point.
    pub fn point(&self, (x, y): (f32, f32)) -> (f32, f32) {
        let (x, y) = (x * self.size, y * self.size);
        (
            self.at.0 + x * self.cos - y * self.sin,
            self.at.1 + x * self.sin + y * self.cos,
        )
    }

    /// A convex polygon.
    pub fn shape<const N: usize>(&mut self, corners: [(f32, f32); N], colour: Colour) {
        let corners = corners.map(|corner| self.point(corner));
        self.canvas.convex(&corners, colour);
    }

    /// A convex polygon with a dark outline.
    pub fn edged<const N: usize>(&mut self, corners: [(f32, f32); N], wide: f32, colour: Colour) {
        let grown = 1.0 + wide / self.size.max(1.0);
        self.shape(corners.map(|(x, y)| (x * grown, y * grown)), theme::OUTLINE);
        self.shape(corners, colour);
    }

    /// A line; its width is in the pen's units.
    pub fn line(&mut self, from: (f32, f32), to: (f32, f32), wide: f32, colour: Colour) {
        let (from, to) = (self.point(from), self.point(to));
        self.canvas
            .line(from, to, (wide * self.size).max(1.0), colour);
    }
}
