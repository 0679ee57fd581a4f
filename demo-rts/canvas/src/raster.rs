//! Draws a frame without a graphics card, with four samples per pixel.

use crate::canvas::{Batch, Canvas, Colour, Drawn, Mesh, Picture, Rect, Vertex};
use std::collections::BTreeMap;

/// All that a frame is drawn from, apart from its canvas.
pub struct Still {
    size: (usize, usize),
    ground: Colour,
    vertices: Vec<Vertex>,
    indices: Vec<u32>,
    batches: Vec<Batch>,
    letters: Texture,
    pictures: BTreeMap<usize, Texture>,
    meshes: BTreeMap<usize, Mesh>,
}

/// The pixels of a fill.
struct Texture {
    wide: usize,
    high: usize,
    pixels: Pixels,
    smooth: bool,
}

enum Pixels {
    Alpha(Vec<u8>),
    Rgba(Vec<u8>),
}

impl Still {
    /// Copies the canvas's current frame. `ground` is the background.
    pub fn of(canvas: &mut Canvas, ground: Colour) -> Still {
        let (wide, high) = canvas.size();
        let batches = canvas.batches().to_vec();
        let (vertices, indices) = canvas.triangles();
        let (vertices, indices) = (vertices.to_vec(), indices.to_vec());
        let (letters, kept_pictures, kept_meshes) = canvas.kept();
        let edge = usize::from(letters.edge());
        let letters = Texture {
            wide: edge,
            high: edge,
            pixels: Pixels::Alpha(letters.alpha().to_vec()),
            smooth: false,
        };
        let (mut pictures, mut meshes) = (BTreeMap::new(), BTreeMap::new());
        for batch in &batches {
            match batch.drawn {
                Drawn::Shapes { .. } => {}
                Drawn::Picture { picture, .. } => {
                    let place = picture.place();
                    pictures
                        .entry(place)
                        .or_insert_with(|| texture(&kept_pictures[place]));
                }
                Drawn::Kept { mesh, .. } => {
                    let place = mesh.place();
                    meshes
                        .entry(place)
                        .or_insert_with(|| kept_meshes[place].clone());
                }
            }
        }
        Still {
            size: (wide.max(1.0) as usize, high.max(1.0) as usize),
            ground,
            vertices,
            indices,
            batches,
            letters,
            pictures,
            meshes,
        }
    }

    /// Width and height in pixels.
    pub fn size(&self) -> (usize, usize) {
        self.size
    }

    /// Draws the frame. Returns red, green and blue of each pixel, row by row.
    pub fn draw(&self) -> Vec<u8> {
        let (wide, high) = self.size;
        let mut rgb = Vec::with_capacity(wide * high * 3);
        for top in (0..high).step_by(BAND) {
            let lines = BAND.min(high - top);
            let mut band = Band {
                wide: wide * FINER,
                top: top * FINER,
                lines: lines * FINER,
                pixels: vec![
                    [self.ground[0], self.ground[1], self.ground[2]];
                    wide * lines * FINER * FINER
                ],
            };
            for batch in &self.batches {
                self.draw_batch(batch, &mut band);
            }
            band.shrink(&mut rgb);
        }
        rgb
    }

    fn draw_batch(&self, batch: &Batch, band: &mut Band) {
        let clip = Rect::new(
            batch.clip.x.floor(),
            batch.clip.y.floor(),
            batch.clip.right().ceil() - batch.clip.x.floor(),
            batch.clip.bottom().ceil() - batch.clip.y.floor(),
        );
        let plain = (1.0, (0.0, 0.0));
        let (vertices, indices, texture, (scale, origin)) = match batch.drawn {
            Drawn::Shapes { first, end } => (
                &self.vertices,
                &self.indices[first..end],
                &self.letters,
                plain,
            ),
            Drawn::Picture {
                picture,
                first,
                end,
            } => match self.pictures.get(&picture.place()) {
                Some(texture) => (&self.vertices, &self.indices[first..end], texture, plain),
                None => return,
            },
            Drawn::Kept {
                mesh,
                scale,
                origin,
            } => match self.meshes.get(&mesh.place()) {
                Some(mesh) => (
                    &mesh.vertices,
                    &mesh.indices[..],
                    &self.letters,
                    (scale, origin),
                ),
                None => return,
            },
        };
        for corners in indices.as_chunks::<3>().0 {
            let corners = corners
                .map(|at| vertices[at as usize])
                .map(|vertex| Vertex {
                    at: [
                        (vertex.at[0] * scale + origin.0) * FINER as f32,
                        (vertex.at[1] * scale + origin.1) * FINER as f32,
                    ],
                    ..vertex
                });
            band.triangle(corners, texture, clip);
        }
    }
}

fn texture(picture: &Picture) -> Texture {
    Texture {
        wide: usize::from(picture.width),
        high: usize::from(picture.height),
        pixels: Pixels::Rgba(picture.rgba.clone()),
        smooth: picture.smooth,
    }
}

impl Texture {
    /// The colour at a position; both coordinates run from 0 to 1.
    fn at(&self, u: f32, v: f32) -> [f32; 4] {
        let (x, y) = (u * self.wide as f32, v * self.high as f32);
        if !self.smooth {
            return self.pixel(x as isize, y as isize);
        }
        let (x, y) = (x - 0.5, y - 0.5);
        let (left, top) = (x.floor(), y.floor());
        let (right_part, low_part) = (x - left, y - top);
        let (left, top) = (left as isize, top as isize);
        let corner = |dx, dy| self.pixel(left + dx, top + dy);
        let (a, b, c, d) = (corner(0, 0), corner(1, 0), corner(0, 1), corner(1, 1));
        std::array::from_fn(|part| {
            let above = a[part] + (b[part] - a[part]) * right_part;
            let below = c[part] + (d[part] - c[part]) * right_part;
            above + (below - above) * low_part
        })
    }

    fn pixel(&self, x: isize, y: isize) -> [f32; 4] {
        let within = |at: isize, all: usize| at.clamp(0, all as isize - 1) as usize;
        let at = within(y, self.high) * self.wide + within(x, self.wide);
        match &self.pixels {
            Pixels::Alpha(alpha) => {
                let alpha = alpha.get(at).copied().unwrap_or(0);
                [255.0, 255.0, 255.0, f32::from(alpha)]
            }
            Pixels::Rgba(rgba) => match rgba.get(at * 4..at * 4 + 4) {
                Some(pixel) => std::array::from_fn(|part| f32::from(pixel[part])),
                None => [0.0; 4],
            },
        }
    }
}

/// Some rows of the picture, in samples.
struct Band {
    wide: usize,
    top: usize,
    lines: usize,
    pixels: Vec<[u8; 3]>,
}

impl Band {
    fn triangle(&mut self, mut corners: [Vertex; 3], texture: &Texture, clip: Rect) {
        let double = cross(corners[0].at, corners[1].at, corners[2].at);
        if double == 0.0 || !double.is_finite() {
            return;
        }
        if double < 0.0 {
            corners.swap(1, 2);
        }
        let double = double.abs();
        let [a, b, c] = corners;
        let least = |axis: usize| a.at[axis].min(b.at[axis]).min(c.at[axis]);
        let most = |axis: usize| a.at[axis].max(b.at[axis]).max(c.at[axis]);
        let fine = FINER as f32;
        let left = least(0).max(clip.x * fine).max(0.0) as usize;
        let right = (most(0).min(clip.right() * fine).max(0.0).ceil() as usize).min(self.wide);
        let top = (least(1).max(clip.y * fine).max(0.0) as usize).max(self.top);
        let bottom = most(1).min(clip.bottom() * fine).max(0.0).ceil() as usize;
        let bottom = bottom.min(self.top + self.lines);
        let owns = [(b, c), (c, a), (a, b)].map(|(from, to)| is_upper_left(from.at, to.at));
        let fill = Fill::of(&corners, texture);
        for y in top..bottom {
            for x in left..right {
                let at = [x as f32 + 0.5, y as f32 + 0.5];
                let parts = [
                    cross(b.at, c.at, at),
                    cross(c.at, a.at, at),
                    cross(a.at, b.at, at),
                ];
                let inside = parts
                    .iter()
                    .zip(owns)
                    .all(|(part, owns)| *part > 0.0 || *part == 0.0 && owns);
                if inside {
                    let pixel = &mut self.pixels[(y - self.top) * self.wide + x];
                    lay(pixel, fill.at(parts.map(|part| part / double)));
                }
            }
        }
    }

    /// Averages the samples into pixels.
    fn shrink(&self, rgb: &mut Vec<u8>) {
        for y in (0..self.lines).step_by(FINER) {
            for x in (0..self.wide).step_by(FINER) {
                let mut sum = [0_u32; 3];
                for (dx, dy) in (0..FINER).flat_map(|dy| (0..FINER).map(move |dx| (dx, dy))) {
                    let pixel = self.pixels[(y + dy) * self.wide + x + dx];
                    sum.iter_mut()
                        .zip(pixel)
                        .for_each(|(sum, part)| *sum += u32::from(part));
                }
                rgb.extend(sum.map(|sum| (sum / (FINER * FINER) as u32) as u8));
            }
        }
    }
}

/// The fill of a triangle. Most have one colour, which is computed once.
enum Fill<'a> {
    Plain([f32; 4]),
    Mixed(&'a [Vertex; 3], &'a Texture),
}

impl<'a> Fill<'a> {
    fn of(corners: &'a [Vertex; 3], texture: &'a Texture) -> Fill<'a> {
        let [a, b, c] = corners;
        let mixed = Fill::Mixed(corners, texture);
        let alike =
            |one: &Vertex, other: &Vertex| one.colour == other.colour && one.texel == other.texel;
        match alike(a, b) && alike(b, c) {
            true => Fill::Plain(mixed.at([1.0, 0.0, 0.0])),
            false => mixed,
        }
    }

    /// The colour of a sample; alpha runs from 0 to 1. The arguments are its barycentric coordinates.
    fn at(&self, [p, q, r]: [f32; 3]) -> [f32; 4] {
        let ([a, b, c], texture) = match self {
            Fill::Plain(colour) => return *colour,
            Fill::Mixed(corners, texture) => (corners, texture),
        };
        let mixed = |a: f32, b: f32, c: f32| a * p + b * q + c * r;
        let texel = |axis: usize| {
            let [a, b, c] = [a, b, c].map(|corner| f32::from(corner.texel[axis]));
            mixed(a, b, c) / FAR
        };
        let texel = texture.at(texel(0), texel(1));
        let mut colour: [f32; 4] = std::array::from_fn(|part| {
            let [a, b, c] = [a, b, c].map(|corner| f32::from(corner.colour[part]));
            mixed(a, b, c) * texel[part] / 255.0
        });
        colour[3] = (colour[3] / 255.0).min(1.0);
        colour
    }
}

/// Blends a colour over a sample.
fn lay(pixel: &mut [u8; 3], [red, green, blue, alpha]: [f32; 4]) {
    for (below, own) in pixel.iter_mut().zip([red, green, blue]) {
        let was = f32::from(*below);
        *below = (was + (own - was) * alpha + 0.5) as u8;
    }
}

/// Twice the signed area of a triangle; positive for clockwise corners, with `y` downward.
fn cross(a: [f32; 2], b: [f32; 2], c: [f32; 2]) -> f32 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

/// Whether samples on this edge belong to the triangle. No sample on a shared edge is drawn twice.
fn is_upper_left(from: [f32; 2], to: [f32; 2]) -> bool {
    let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
    dy < 0.0 || dy == 0.0 && dx > 0.0
}

/// Samples along an edge of a pixel.
const FINER: usize = 2;
/// Rows of pixels drawn at a time.
const BAND: usize = 64;
/// The far edge of a texture.
const FAR: f32 = 65_535.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::letters::Weight;

    fn drawn(draw: impl FnOnce(&mut Canvas)) -> impl Fn(usize, usize) -> [u8; 3] {
        let mut canvas = Canvas::new();
        canvas.begin((100.0, 80.0), 1.0);
        draw(&mut canvas);
        let rgb = Still::of(&mut canvas, [10, 20, 30, 255]).draw();
        assert_eq!(rgb.len(), 100 * 80 * 3);
        move |x, y| std::array::from_fn(|part| rgb[(y * 100 + x) * 3 + part])
    }

    #[test]
    fn shapes_cover_exactly_their_area() {
        let at = drawn(|canvas| canvas.rect(Rect::new(10.0, 70.0, 5.0, 5.0), [200, 0, 0, 255]));
        assert_eq!(at(10, 70), [200, 0, 0]);
        assert_eq!(at(14, 74), [200, 0, 0]);
        for (x, y) in [(9, 70), (10, 69), (15, 74), (14, 75)] {
            assert_eq!(at(x, y), [10, 20, 30], "{x} {y}");
        }
    }

    #[test]
    fn transparent_shapes_blend_once_on_shared_edges() {
        let at = drawn(|canvas| canvas.circle((50.0, 40.0), 20.0, [210, 220, 230, 128]));
        for x in 40..60 {
            for y in 30..50 {
                let [red, green, blue] = at(x, y);
                let near = |is: u8, wanted: u8| is.abs_diff(wanted) <= 2;
                assert!(
                    near(red, 110) && near(green, 120) && near(blue, 130),
                    "{x} {y}"
                );
            }
        }
    }

    #[test]
    fn clips_letters_and_pictures_are_drawn() {
        let at = drawn(|canvas| {
            canvas.clip(Rect::new(0.0, 0.0, 50.0, 80.0));
            canvas.rect(Rect::new(40.0, 0.0, 20.0, 5.0), [0, 200, 0, 255]);
            canvas.unclip();
            canvas.text((2.0, 20.0), "HHH", 30.0, Weight::Bold, [255; 4]);
            let picture = canvas.keep_picture();
            let kept = canvas.picture_mut(picture.id());
            (kept.width, kept.height) = (2, 1);
            kept.rgba = vec![255, 0, 0, 255, 0, 0, 255, 255];
            let part = Rect::new(0.0, 0.0, 2.0, 1.0);
            canvas.picture(
                picture.id(),
                part,
                Rect::new(80.0, 60.0, 10.0, 10.0),
                [255; 4],
            );
        });
        assert_eq!((at(49, 2), at(50, 2)), ([0, 200, 0], [10, 20, 30]));
        assert_eq!((at(81, 65), at(88, 65)), ([255, 0, 0], [0, 0, 255]));
        let white = (0..100).flat_map(|x| (20..60).map(move |y| (x, y)));
        let white = white.filter(|(x, y)| at(*x, *y) == [255; 3]).count();
        assert!((100..2_000).contains(&white), "{white}");
    }

    #[test]
    fn a_kept_mesh_is_drawn_at_its_place() {
        let at = drawn(|canvas| {
            let mesh = canvas.keep_mesh();
            canvas.into_mesh(mesh.id(), |canvas| {
                canvas.rect(Rect::new(1.0, 1.0, 1.0, 1.0), [9, 8, 7, 255]);
            });
            canvas.mesh(mesh.id(), 10.0, (20.0, 5.0));
        });
        assert_eq!(at(30, 15), [9, 8, 7]);
        assert_eq!(at(39, 24), [9, 8, 7]);
        assert_eq!(at(29, 15), [10, 20, 30]);
    }
}
