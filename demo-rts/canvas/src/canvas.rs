//! A drawing surface: shapes, text and pictures as triangles in memory.
//!
//! Nothing here knows a graphics card, so tests see what a player sees: [`Canvas::texts`] is all readable text.

mod kept;

pub use kept::{Kept, Mesh, MeshId, Picture, PictureId};

use super::letters::{LINE, Letters, Weight};
use kept::Shelf;

/// Red, green, blue and alpha, each 0 to 255.
pub type Colour = [u8; 4];

/// A rectangle in pixels; `y` grows downward.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rect {
    /// Left edge.
    pub x: f32,
    /// Upper edge.
    pub y: f32,
    /// Width.
    pub w: f32,
    /// Height.
    pub h: f32,
}

impl Rect {
    /// From its upper left corner and size.
    pub const fn new(x: f32, y: f32, w: f32, h: f32) -> Rect {
        Rect { x, y, w, h }
    }

    /// The right edge.
    pub fn right(self) -> f32 {
        self.x + self.w
    }

    /// The lower edge.
    pub fn bottom(self) -> f32 {
        self.y + self.h
    }

    /// The middle.
    pub fn centre(self) -> (f32, f32) {
        (self.x + self.w / 2.0, self.y + self.h / 2.0)
    }

    /// Whether it contains a point.
    pub fn contains(self, (x, y): (f32, f32)) -> bool {
        x >= self.x && x < self.right() && y >= self.y && y < self.bottom()
    }

    /// Shrunk by this much on every side.
    #[must_use]
    pub fn inset(self, by: f32) -> Rect {
        let w = (self.w - 2.0 * by).max(0.0);
        let h = (self.h - 2.0 * by).max(0.0);
        Rect::new(self.x + by, self.y + by, w, h)
    }

    /// The intersection; empty if there is none.
    #[must_use]
    pub fn common(self, other: Rect) -> Rect {
        let (x, y) = (self.x.max(other.x), self.y.max(other.y));
        let w = (self.right().min(other.right()) - x).max(0.0);
        let h = (self.bottom().min(other.bottom()) - y).max(0.0);
        Rect::new(x, y, w, h)
    }

    /// Whether the two overlap.
    pub fn meets(self, other: Rect) -> bool {
        let common = self.common(other);
        common.w > 0.0 && common.h > 0.0
    }
}

/// A corner of a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Vertex {
    /// Position: in pixels, or in units of a kept mesh.
    pub at: [f32; 2],
    /// Position in the texture; 65,535 is its far edge.
    pub texel: [u16; 2],
    /// Colour.
    pub colour: Colour,
}

/// The content of a draw call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drawn {
    /// A half-open range of this frame's indices, with the picture of letters.
    Shapes {
        /// The start of the range.
        first: usize,
        /// The end of the range.
        end: usize,
    },
    /// A half-open range of this frame's indices, with a kept picture.
    Picture {
        /// The picture.
        picture: PictureId,
        /// The start of the range.
        first: usize,
        /// The end of the range.
        end: usize,
    },
    /// A kept mesh, scaled and then moved.
    Kept {
        /// The mesh.
        mesh: MeshId,
        /// Pixels per unit of the mesh.
        scale: f32,
        /// The pixel of its origin.
        origin: (f32, f32),
    },
}

/// A draw call, with its clip rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Batch {
    /// The content.
    pub drawn: Drawn,
    /// The clip rectangle.
    pub clip: Rect,
}

/// A line of text as drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The text.
    pub text: String,
    /// The area that it covers.
    pub area: Rect,
    /// The clip rectangle.
    pub clip: Rect,
    /// Whether it is above other things, as a tooltip is.
    pub above: bool,
}

/// The current frame, and what is kept between frames.
pub struct Canvas {
    size: (f32, f32),
    scale: f32,
    letters: Letters,
    vertices: Vec<Vertex>,
    indices: Vec<u32>,
    batches: Vec<Batch>,
    clips: Vec<Rect>,
    written: Vec<Written>,
    pictures: Shelf<Picture>,
    meshes: Shelf<Mesh>,
    above: bool,
    takes_text: bool,
}

impl Default for Canvas {
    fn default() -> Canvas {
        Canvas::new()
    }
}

impl Canvas {
    /// A canvas without a size, until the first [`begin`](Self::begin).
    pub fn new() -> Canvas {
        Canvas {
            size: (0.0, 0.0),
            scale: 1.0,
            letters: Letters::new(),
            vertices: Vec::new(),
            indices: Vec::new(),
            batches: Vec::new(),
            clips: Vec::new(),
            written: Vec::new(),
            pictures: Shelf::default(),
            meshes: Shelf::default(),
            above: false,
            takes_text: false,
        }
    }

    /// Begins a frame of this size in pixels. `zoom` is the user's scale of the interface.
    pub fn begin(&mut self, size: (f32, f32), zoom: f32) {
        self.size = size;
        let fits = (size.1 / FULL_SIZE.1).min(size.0 / FULL_SIZE.0);
        self.scale = (fits * zoom).clamp(SMALLEST_SCALE, LARGEST_SCALE);
        self.letters.begin();
        self.pictures.free_unused();
        self.meshes.free_unused();
        self.vertices.clear();
        self.indices.clear();
        self.batches.clear();
        self.written.clear();
        self.clips = vec![Rect::new(0.0, 0.0, size.0, size.1)];
        self.above = false;
        self.takes_text = false;
    }

    /// Marks that a text field of this frame has the focus.
    pub fn take_text(&mut self) {
        self.takes_text = true;
    }

    /// Whether a text field of this frame has the focus.
    pub fn takes_text(&self) -> bool {
        self.takes_text
    }

    /// Width and height of the window in pixels.
    pub fn size(&self) -> (f32, f32) {
        self.size
    }

    /// The whole window.
    pub fn whole(&self) -> Rect {
        Rect::new(0.0, 0.0, self.size.0, self.size.1)
    }

    /// Pixels in a unit of the interface: 1 in a window of 1280×720.
    pub fn scale(&self) -> f32 {
        self.scale
    }

    /// Units of the interface, in whole pixels.
    pub fn units(&self, units: f32) -> f32 {
        (units * self.scale).round()
    }

    /// Puts everything that follows above what is below: tests do not report it as an overlap.
    pub fn begin_above(&mut self) {
        self.above = true;
    }

    /// Clips to `area` until the matching [`Canvas::unclip`].
    pub fn clip(&mut self, area: Rect) {
        let clip = self.current_clip().common(area);
        self.clips.push(clip);
    }

    /// Ends the newest [`Canvas::clip`].
    pub fn unclip(&mut self) {
        if self.clips.len() > 1 {
            self.clips.pop();
        }
    }

    /// A filled rectangle.
    pub fn rect(&mut self, area: Rect, colour: Colour) {
        let (x, y, r, b) = (area.x, area.y, area.right(), area.bottom());
        self.convex(&[(x, y), (r, y), (r, b), (x, b)], colour);
    }

    /// A rectangle with a vertical gradient.
    pub fn shade(&mut self, area: Rect, above: Colour, below: Colour) {
        self.quad_of(area, [above, above, below, below]);
    }

    /// A rectangle with a gradient between its corners, clockwise from the upper left.
    pub fn quad_of(&mut self, area: Rect, colours: [Colour; 4]) {
        let (x, y, r, b) = (area.x, area.y, area.right(), area.bottom());
        let corners = [(x, y), (r, y), (r, b), (x, b)];
        let texel = WHITE_SPOT;
        let vertices = corners.iter().zip(colours).map(|(at, colour)| Vertex {
            at: [at.0, at.1],
            texel,
            colour,
        });
        let first = self.vertices.len() as u32;
        self.vertices.extend(vertices);
        self.fan(first, 4);
    }

    /// The outline of a rectangle, of this width, inside it.
    pub fn frame(&mut self, area: Rect, wide: f32, colour: Colour) {
        let inner = area.inset(wide);
        let bars = [
            Rect::new(area.x, area.y, area.w, wide),
            Rect::new(area.x, inner.bottom(), area.w, wide),
            Rect::new(area.x, inner.y, wide, inner.h),
            Rect::new(inner.right(), inner.y, wide, inner.h),
        ];
        for bar in bars {
            self.rect(bar, colour);
        }
    }

    /// A line between two points.
    pub fn line(&mut self, from: (f32, f32), to: (f32, f32), wide: f32, colour: Colour) {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let long = dx.hypot(dy).max(0.001);
        let (nx, ny) = (-dy / long * wide / 2.0, dx / long * wide / 2.0);
        let corners = [
            (from.0 + nx, from.1 + ny),
            (to.0 + nx, to.1 + ny),
            (to.0 - nx, to.1 - ny),
            (from.0 - nx, from.1 - ny),
        ];
        self.convex(&corners, colour);
    }

    /// A filled circle.
    pub fn circle(&mut self, centre: (f32, f32), radius: f32, colour: Colour) {
        self.oval(centre, (radius, radius), colour);
    }

    /// A filled ellipse with these half axes.
    pub fn oval(&mut self, centre: (f32, f32), half: (f32, f32), colour: Colour) {
        let texel = WHITE_SPOT;
        let first = self.vertices.len() as u32;
        let corners = corners_of(half.0.max(half.1));
        let vertices = turns(corners).map(|(cos, sin)| Vertex {
            at: [centre.0 + half.0 * cos, centre.1 + half.1 * sin],
            texel,
            colour,
        });
        self.vertices.extend(vertices);
        self.fan(first, corners as u32);
    }

    /// The outline of a circle, of this width, inside it.
    pub fn ring(&mut self, centre: (f32, f32), radius: f32, wide: f32, colour: Colour) {
        self.oval_ring(centre, (radius, radius), wide, colour);
    }

    /// The outline of an ellipse, of this width, inside it.
    pub fn oval_ring(&mut self, centre: (f32, f32), half: (f32, f32), wide: f32, colour: Colour) {
        let texel = WHITE_SPOT;
        let first = self.vertices.len() as u32;
        let corners = corners_of(half.0.max(half.1));
        for (cos, sin) in turns(corners) {
            for less in [0.0, wide] {
                let at = [
                    centre.0 + (half.0 - less).max(0.0) * cos,
                    centre.1 + (half.1 - less).max(0.0) * sin,
                ];
                self.vertices.push(Vertex { at, texel, colour });
            }
        }
        let all = 2 * corners as u32;
        self.begin_shapes();
        for corner in (0..all).step_by(2) {
            let [a, b] = [corner, corner + 1].map(|place| first + place);
            let [c, d] = [corner + 2, corner + 3].map(|place| first + place % all);
            self.indices.extend([a, b, c, b, d, c]);
        }
        self.end_shapes();
    }

    /// A filled convex polygon.
    pub fn convex(&mut self, corners: &[(f32, f32)], colour: Colour) {
        let texel = WHITE_SPOT;
        let first = self.vertices.len() as u32;
        let vertices = corners.iter().map(|at| Vertex {
            at: [at.0, at.1],
            texel,
            colour,
        });
        self.vertices.extend(vertices);
        self.fan(first, corners.len() as u32);
    }

    /// A line of text; `at` is its upper left corner, `size` is in pixels. Returns the area that it covers.
    pub fn text(
        &mut self,
        at: (f32, f32),
        text: &str,
        size: f32,
        weight: Weight,
        colour: Colour,
    ) -> Rect {
        let pixels = whole(size);
        let (x, top) = (at.0.round(), at.1.round());
        let base = top + self.letters.ascent(pixels);
        let first = self.indices.len();
        let mut pen = x;
        for letter in text.chars() {
            let glyph = self.letters.glyph(letter, pixels, weight);
            if glyph.size.0 > 0 {
                let (w, h) = (f32::from(glyph.size.0), f32::from(glyph.size.1));
                let left = (pen + glyph.left).round();
                let area = Rect::new(left, base - glyph.below - h, w, h);
                self.textured(area, glyph.at, glyph.size, self.letters.edge(), colour);
            }
            pen += glyph.advance;
        }
        self.add_shapes(first);
        let area = Rect::new(x, top, pen - x, (f32::from(pixels) * LINE).round());
        self.written.push(Written {
            text: text.to_owned(),
            area,
            clip: self.current_clip(),
            above: self.above,
        });
        area
    }

    /// The width of a line of text, in pixels.
    pub fn measure(&self, text: &str, size: f32, weight: Weight) -> f32 {
        self.letters.width(text, whole(size), weight)
    }

    /// The height of a line of text, in pixels.
    pub fn line_height(&self, size: f32) -> f32 {
        (f32::from(whole(size)) * LINE).round()
    }

    /// Keeps a picture until the result is dropped. [`Canvas::picture_mut`] sets its content.
    pub fn keep_picture(&mut self) -> Kept<PictureId> {
        self.pictures.keep(PictureId)
    }

    /// A kept picture, for changes.
    pub fn picture_mut(&mut self, picture: PictureId) -> &mut Picture {
        let picture = self.pictures.at(picture.place());
        picture.changed = true;
        picture
    }

    /// Draws a part of a kept picture; `part` is in the picture's pixels.
    pub fn picture(&mut self, picture: PictureId, part: Rect, onto: Rect, colour: Colour) {
        let kept = self.pictures.at(picture.place());
        if kept.width == 0 || kept.height == 0 {
            return;
        }
        let texel = |at: f32, all: u16| (at / f32::from(all) * FAR).clamp(0.0, FAR) as u16;
        let (u, v) = (texel(part.x, kept.width), texel(part.y, kept.height));
        let far = (
            texel(part.right(), kept.width),
            texel(part.bottom(), kept.height),
        );
        let first = self.indices.len();
        self.quad(onto, (u, v), far, colour);
        let (now, clip) = (self.indices.len(), self.current_clip());
        match self.batches.last_mut() {
            Some(Batch {
                drawn: Drawn::Picture {
                    picture: of, end, ..
                },
                clip: last,
            }) if *of == picture && *last == clip && *end == first => *end = now,
            _ => self.push(Drawn::Picture {
                picture,
                first,
                end: now,
            }),
        }
    }

    /// Keeps a mesh until the result is dropped. [`Canvas::into_mesh`] sets its content.
    pub fn keep_mesh(&mut self) -> Kept<MeshId> {
        self.meshes.keep(MeshId)
    }

    /// Draws a kept mesh at this scale, in pixels per unit.
    pub fn mesh(&mut self, mesh: MeshId, scale: f32, origin: (f32, f32)) {
        let drawn = Drawn::Kept {
            mesh,
            scale,
            origin,
        };
        self.push(drawn);
    }

    /// Draws shapes into a kept mesh instead of the window, in the mesh's unit.
    pub fn into_mesh(&mut self, mesh: MeshId, draw: impl FnOnce(&mut Canvas)) {
        let vertices = std::mem::take(&mut self.vertices);
        let indices = std::mem::take(&mut self.indices);
        let batches = std::mem::take(&mut self.batches);
        draw(self);
        let kept = self.meshes.at(mesh.place());
        kept.vertices = std::mem::replace(&mut self.vertices, vertices);
        kept.indices = std::mem::replace(&mut self.indices, indices);
        kept.changed = true;
        self.batches = batches;
    }

    /// All text of this frame, in drawing order.
    pub fn texts(&self) -> &[Written] {
        &self.written
    }

    /// The draw calls of this frame, in order.
    pub fn batches(&self) -> &[Batch] {
        &self.batches
    }

    /// Vertices and indices of this frame.
    pub fn triangles(&self) -> (&[Vertex], &[u32]) {
        (&self.vertices, &self.indices)
    }

    /// Everything kept, for upload to the graphics card.
    pub fn kept(&mut self) -> (&mut Letters, &mut [Picture], &mut [Mesh]) {
        (&mut self.letters, self.pictures.all(), self.meshes.all())
    }

    fn current_clip(&self) -> Rect {
        self.clips.last().copied().unwrap_or_default()
    }

    fn textured(
        &mut self,
        onto: Rect,
        at: (u16, u16),
        size: (u16, u16),
        edge: u16,
        colour: Colour,
    ) {
        let texel = |at: u16| (f32::from(at) / f32::from(edge) * FAR).round() as u16;
        let from = (texel(at.0), texel(at.1));
        let far = (texel(at.0 + size.0), texel(at.1 + size.1));
        self.quad(onto, from, far, colour);
    }

    fn quad(&mut self, onto: Rect, (u, v): (u16, u16), (far_u, far_v): (u16, u16), colour: Colour) {
        let first = self.vertices.len() as u32;
        let (x, y, r, b) = (onto.x, onto.y, onto.right(), onto.bottom());
        let corners = [
            (x, y, u, v),
            (r, y, far_u, v),
            (r, b, far_u, far_v),
            (x, b, u, far_v),
        ];
        self.vertices.extend(corners.map(|(x, y, u, v)| Vertex {
            at: [x, y],
            texel: [u, v],
            colour,
        }));
        let corners = [0, 1, 2, 0, 2, 3].map(|place| first + place);
        self.indices.extend(corners);
    }

    /// Triangles of a convex polygon whose corners begin at `first`.
    fn fan(&mut self, first: u32, corners: u32) {
        self.begin_shapes();
        for corner in 2..corners {
            self.indices
                .extend([first, first + corner - 1, first + corner]);
        }
        self.end_shapes();
    }

    fn begin_shapes(&mut self) {
        let clip = self.current_clip();
        let first = self.indices.len();
        let goes_on = self
            .batches
            .last()
            .is_some_and(|last| matches!(last.drawn, Drawn::Shapes { .. }) && last.clip == clip);
        if !goes_on {
            let end = first;
            let drawn = Drawn::Shapes { first, end };
            self.batches.push(Batch { drawn, clip });
        }
    }

    fn end_shapes(&mut self) {
        let now = self.indices.len();
        if let Some(Batch {
            drawn: Drawn::Shapes { end, .. },
            ..
        }) = self.batches.last_mut()
        {
            *end = now;
        }
    }

    /// Adds the indices from `first` on to the current batch of shapes.
    fn add_shapes(&mut self, first: usize) {
        let clip = self.current_clip();
        let now = self.indices.len();
        if now == first {
            return;
        }
        match self.batches.last_mut() {
            Some(Batch {
                drawn: Drawn::Shapes { end, .. },
                clip: last,
            }) if *last == clip => *end = now,
            _ => self.push(Drawn::Shapes { first, end: now }),
        }
    }

    fn push(&mut self, drawn: Drawn) {
        let clip = self.current_clip();
        self.batches.push(Batch { drawn, clip });
    }
}

/// Letters have whole pixel sizes, or they would blur.
fn whole(size: f32) -> u16 {
    size.round().clamp(6.0, 200.0) as u16
}

/// Corners of a circle that looks round.
fn corners_of(radius: f32) -> usize {
    ((radius.max(0.0).sqrt() * 5.0) as usize).clamp(8, 64)
}

/// Cosine and sine of evenly spaced directions.
fn turns(corners: usize) -> impl Iterator<Item = (f32, f32)> {
    let (step_sin, step_cos) = (std::f32::consts::TAU / corners as f32).sin_cos();
    let mut at = (1.0_f32, 0.0_f32);
    (0..corners).map(move |_| {
        let now = at;
        at = (
            now.0 * step_cos - now.1 * step_sin,
            now.0 * step_sin + now.1 * step_cos,
        );
        now
    })
}

/// The window size at which a unit is a pixel.
const FULL_SIZE: (f32, f32) = (1_280.0, 720.0);
const SMALLEST_SCALE: f32 = 0.75;
const LARGEST_SCALE: f32 = 6.0;
/// The far edge of a texture.
const FAR: f32 = 65_535.0;
/// A white spot of the picture of letters. It does not move when that grows, because kept meshes refer to it.
const WHITE_SPOT: [u16; 2] = [16, 16];

#[cfg(test)]
mod tests;
