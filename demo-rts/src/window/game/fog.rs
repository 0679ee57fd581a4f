//! The fog over the map: a picture with one pixel per tile corner, drawn only where there is fog.
//!
//! Unexplored ground is covered completely: a corner is as dark as the darkest tile around it, so the soft edge
//! lies on explored tiles.

use super::camera::Camera;
use crate::window::canvas::{Canvas, Kept, PictureId, Rect};
use crate::window::theme;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Known {
    Seen,
    Explored,
    Dark,
}

/// The darkness of the fog over a square of tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shade {
    Clear,
    /// Mixed, or partly transparent.
    Thin,
    /// Opaque.
    Dark,
}

pub(super) struct Fog {
    size: u16,
    picture: Kept<PictureId>,
    /// Of the squares, row by row.
    shades: Vec<Shade>,
}

/// Squares that are drawn together: half-open ranges of columns and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Area {
    columns: (u16, u16),
    lines: (u16, u16),
}

impl Fog {
    /// Without fog, over a map with edges of `size` tiles.
    pub(super) fn new(size: u16, canvas: &mut Canvas) -> Fog {
        let across = usize::from(size.div_ceil(SQUARE));
        Fog {
            size,
            picture: canvas.keep_picture(),
            shades: vec![Shade::Thin; across * across],
        }
    }

    /// Updates the fog to what is known of every tile.
    pub(super) fn look(&mut self, known: &[Known], canvas: &mut Canvas) {
        let size = usize::from(self.size);
        let wide = size + 1;
        let darkness = |x: usize, y: usize| {
            let columns = x.saturating_sub(1)..=x.min(size - 1);
            let lines = y.saturating_sub(1)..=y.min(size - 1);
            let around = lines.flat_map(|y| columns.clone().map(move |x| y * size + x));
            around.map(|at| known[at]).max().unwrap_or(Known::Dark)
        };
        let places = (0..wide).flat_map(|y| (0..wide).map(move |x| (x, y)));
        let alphas = places.map(|(x, y)| match darkness(x, y) {
            Known::Seen => 0,
            Known::Explored => EXPLORED,
            Known::Dark => 255,
        });
        let alphas = softened(&alphas.collect::<Vec<u8>>(), wide);
        self.shades = shades(&alphas, wide);
        let picture = canvas.picture_mut(self.picture.id());
        picture.width = wide as u16;
        picture.height = wide as u16;
        picture.smooth = true;
        picture.rgba.clear();
        let [red, green, blue, _] = theme::GROUND;
        let pixels = alphas.iter().flat_map(|alpha| [red, green, blue, *alpha]);
        picture.rgba.extend(pixels);
    }

    /// Whether an area of the map and its surroundings are hidden completely.
    pub(super) fn hides(&self, on_map: Rect) -> bool {
        let seen = self.areas(on_map, |shade| shade != Shade::Dark);
        seen.is_empty()
    }

    /// Draws a picture with one pixel per corner, wherever part of it is visible.
    pub(super) fn draw_below(&self, picture: PictureId, camera: &Camera, canvas: &mut Canvas) {
        for area in self.areas(camera.shown(), |shade| shade != Shade::Dark) {
            self.draw_picture(picture, area, camera, canvas);
        }
    }

    /// Draws the fog over the ground.
    pub(super) fn draw_over(&self, camera: &Camera, canvas: &mut Canvas) {
        let shown = camera.shown();
        for area in self.areas(shown, |shade| shade == Shade::Thin) {
            self.draw_picture(self.picture.id(), area, camera, canvas);
        }
        for area in self.areas(shown, |shade| shade == Shade::Dark) {
            canvas.rect(self.in_window(area, camera), theme::GROUND);
        }
    }

    #[cfg(test)]
    pub(super) fn picture(&self) -> PictureId {
        self.picture.id()
    }

    fn draw_picture(&self, picture: PictureId, area: Area, camera: &Camera, canvas: &mut Canvas) {
        let onto = self.in_window(area, camera);
        let (left, top) = camera.to_map((onto.x, onto.y));
        let (wide, high) = (onto.w / camera.zoom, onto.h / camera.zoom);
        // A corner lies in the middle of its pixel.
        let part = Rect::new(left + 0.5, top + 0.5, wide, high);
        canvas.picture(picture, part, onto, [255; 4]);
    }

    /// In pixels. Edges inside the map are whole pixels, so that areas join without a seam.
    fn in_window(&self, area: Area, camera: &Camera) -> Rect {
        let tile = |square: u16| (square * SQUARE).min(self.size);
        let place = |column: u16, line: u16| {
            let (column, line) = (tile(column), tile(line));
            let (x, y) = camera.to_window((f32::from(column), f32::from(line)));
            let is_inner = |tile: u16| tile > 0 && tile < self.size;
            (
                if is_inner(column) { x.round() } else { x },
                if is_inner(line) { y.round() } else { y },
            )
        };
        let (x, y) = place(area.columns.0, area.lines.0);
        let (right, bottom) = place(area.columns.1, area.lines.1);
        Rect::new(x, y, right - x, bottom - y)
    }

    /// Squares in a part of the map with a matching shade.
    fn areas(&self, on_map: Rect, is_so: impl Fn(Shade) -> bool) -> Vec<Area> {
        let across = self.size.div_ceil(SQUARE);
        let square = |at: f32| (at.max(0.0) as u16 / SQUARE).min(across);
        let (left, right) = (square(on_map.x), square(on_map.right()));
        let (top, bottom) = (square(on_map.y), square(on_map.bottom()));
        let is_so = |x: u16, y: u16| {
            let at = usize::from(y) * usize::from(across) + usize::from(x);
            is_so(self.shades[at])
        };
        let mut areas: Vec<Area> = Vec::new();
        // Areas of the row above.
        let mut above = 0;
        for line in top..(bottom + 1).min(across) {
            let mut runs: Vec<(u16, u16)> = Vec::new();
            for column in (left..(right + 1).min(across)).filter(|column| is_so(*column, line)) {
                match runs.last_mut() {
                    Some((_, end)) if *end == column => *end += 1,
                    _ => runs.push((column, column + 1)),
                }
            }
            let alike = areas[above..].iter().map(|area| area.columns);
            if alike.eq(runs.iter().copied()) {
                areas[above..].iter_mut().for_each(|area| area.lines.1 += 1);
                continue;
            }
            above = areas.len();
            let lines = (line, line + 1);
            areas.extend(runs.into_iter().map(|columns| Area { columns, lines }));
        }
        areas
    }
}

/// The shade of each square, which covers all corners of its tiles.
fn shades(alphas: &[u8], wide: usize) -> Vec<Shade> {
    let (size, square) = (wide - 1, usize::from(SQUARE));
    let firsts = || (0..size).step_by(square);
    let squares = firsts().flat_map(|y| firsts().map(move |x| (x, y)));
    let shade = |(x, y): (usize, usize)| {
        let columns = x..=(x + square).min(size);
        let mut lines = (y..=(y + square).min(size)).map(|y| &alphas[y * wide..][columns.clone()]);
        let first = alphas[y * wide + x];
        match first {
            0 | 255 if lines.all(|line| line.iter().all(|alpha| *alpha == first)) => match first {
                0 => Shade::Clear,
                _ => Shade::Dark,
            },
            _ => Shade::Thin,
        }
    };
    squares.map(shade).collect()
}

/// The fog with its inner corners filled, so that its edge runs diagonally. No corner gets lighter.
fn softened(alphas: &[u8], wide: usize) -> Vec<u8> {
    let line = |values: &[u16], at: usize, step: usize, first: bool, last: bool| {
        let before = if first { at } else { at - step };
        let after = if last { at } else { at + step };
        values[before] + 2 * values[at] + values[after]
    };
    let plain: Vec<u16> = alphas.iter().map(|alpha| u16::from(*alpha)).collect();
    let across = (0..plain.len()).map(|at| {
        let x = at % wide;
        line(&plain, at, 1, x == 0, x + 1 == wide)
    });
    let across: Vec<u16> = across.collect();
    let both = (0..plain.len()).map(|at| {
        let last = at + wide >= plain.len();
        let mean = line(&across, at, wide, at < wide, last) / 16;
        alphas[at].max(mean as u8)
    });
    both.collect()
}

/// Tiles along an edge of a square.
const SQUARE: u16 = 8;
/// Darkness of explored tiles out of sight.
const EXPLORED: u8 = 120;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::canvas::Drawn;
    use crate::window::viewer::raster::Still;

    const SIZE: u16 = 44;

    fn camera(zoom: f32, centre: (f32, f32)) -> Camera {
        let mut camera = Camera::new(centre, SIZE);
        camera.view = Rect::new(0.0, 0.0, 300.0, 200.0);
        camera.zoom = zoom;
        camera
    }

    /// Dark, except near two places, as units see them.
    fn known() -> Vec<Known> {
        let near = |x: i32, y: i32, (cx, cy): (i32, i32)| (x - cx).pow(2) + (y - cy).pow(2);
        let tiles = (0..i32::from(SIZE)).flat_map(|y| (0..i32::from(SIZE)).map(move |x| (x, y)));
        let known = tiles.map(
            |(x, y)| match near(x, y, (12, 11)).min(near(x, y, (30, 27))) {
                ..=90 => Known::Seen,
                91..=130 => Known::Explored,
                _ => Known::Dark,
            },
        );
        known.collect()
    }

    #[test]
    fn fog_in_areas_equals_fog_in_one_piece() {
        let mut canvas = Canvas::new();
        canvas.begin((300.0, 200.0), 1.0);
        let mut fog = Fog::new(SIZE, &mut canvas);
        fog.look(&known(), &mut canvas);
        let all = Rect::new(0.5, 0.5, f32::from(SIZE), f32::from(SIZE));
        for (zoom, centre) in [
            (3.3, (22.0, 22.0)),
            (7.7, (15.1, 12.3)),
            (31.0, (24.6, 20.2)),
        ] {
            let camera = camera(zoom, centre);
            let mut drawn = |in_parts: bool| {
                canvas.begin((300.0, 200.0), 1.0);
                canvas.rect(canvas.whole(), [200, 180, 160, 255]);
                let (x, y) = camera.to_window((0.0, 0.0));
                let wide = f32::from(SIZE) * zoom;
                match in_parts {
                    true => fog.draw_over(&camera, &mut canvas),
                    false => {
                        canvas.picture(fog.picture(), all, Rect::new(x, y, wide, wide), [255; 4]);
                    }
                }
                Still::of(&mut canvas, theme::GROUND).draw()
            };
            let (parts, whole) = (drawn(true), drawn(false));
            let apart = |(one, other): (&u8, &u8)| one.abs_diff(*other);
            let worst = parts.iter().zip(&whole).map(apart).max();
            assert!(worst <= Some(6), "{worst:?} at {zoom}");
        }
    }

    #[test]
    fn only_visible_ground_and_fog_are_drawn() {
        let mut canvas = Canvas::new();
        let tiles = usize::from(SIZE) * usize::from(SIZE);
        let camera = camera(3.3, (22.0, 22.0));
        canvas.begin((300.0, 200.0), 1.0);
        let mut fog = Fog::new(SIZE, &mut canvas);
        let picture = canvas.keep_picture();
        let mut batches = |known: &[Known]| {
            fog.look(known, &mut canvas);
            canvas.begin((300.0, 200.0), 1.0);
            canvas.picture_mut(picture.id()).width = SIZE + 1;
            canvas.picture_mut(picture.id()).height = SIZE + 1;
            fog.draw_below(picture.id(), &camera, &mut canvas);
            let below = canvas.batches().len();
            fog.draw_over(&camera, &mut canvas);
            let mut over = canvas.batches()[below..].iter();
            let plain = over.all(|batch| matches!(batch.drawn, Drawn::Shapes { .. }));
            (below, canvas.batches().len() - below, plain)
        };
        assert_eq!(batches(&vec![Known::Seen; tiles]), (1, 0, true));
        assert_eq!(batches(&vec![Known::Dark; tiles]), (0, 1, true));
        assert_eq!(batches(&vec![Known::Explored; tiles]), (1, 1, false));
        // One call for the ground, one for the thin fog and one for the dark, however ragged the fog is.
        assert_eq!(batches(&known()), (1, 2, false));
        fog.look(&known(), &mut canvas);
        assert!(fog.hides(Rect::new(33.0, 1.0, 9.0, 9.0)));
        assert!(!fog.hides(Rect::new(20.0, 1.0, 9.0, 9.0)));
    }
}
