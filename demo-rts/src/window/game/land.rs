//! The ground: a picture with one pixel per tile corner, meshes of grass and trees kept on the graphics card, fog,
//! and small map.

use super::camera::Camera;
use super::fog::{Fog, Known};
use crate::window::canvas::{Canvas, Colour, Kept, MeshId, PictureId, Rect};
use crate::window::theme;
use crate::world::{Map, Terrain, Tile, World};
use lockstep::Seat;

/// What part of the world is visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eye {
    All,
    /// What this seat may see.
    Seat(Seat),
}

impl Eye {
    pub fn sees(self, world: &World, tile: Tile) -> bool {
        match self {
            Eye::All => true,
            Eye::Seat(seat) => world.sees(seat, tile),
        }
    }

    pub fn explored(self, world: &World, tile: Tile) -> bool {
        match self {
            Eye::All => true,
            Eye::Seat(seat) => world.explored(seat, tile),
        }
    }

    fn knows(self, world: &World, tile: Tile) -> Known {
        match self {
            _ if self.sees(world, tile) => Known::Seen,
            _ if self.explored(world, tile) => Known::Explored,
            _ => Known::Dark,
        }
    }
}

/// A square of the map, as meshes.
struct Chunk {
    grass: Kept<MeshId>,
    /// Trees and the like, which overlap the ground of neighbouring chunks.
    cover: Kept<MeshId>,
}

/// The cached pictures and meshes of the ground.
pub struct Land {
    size: u16,
    /// One pixel per tile corner.
    ground: Kept<PictureId>,
    /// Made when first seen.
    chunks: Vec<Option<Chunk>>,
    fog: Fog,
    small: Kept<PictureId>,
    /// The tick and the eye of fog and small map.
    shown: Option<(u32, Eye)>,
    /// The terrain of every tile as drawn.
    drawn: Vec<Terrain>,
    /// What fog and small map show; empty forces an update.
    known: Vec<Known>,
}

impl Land {
    pub fn new(world: &World, canvas: &mut Canvas) -> Land {
        let map = world.map();
        let across = map.size().div_ceil(CHUNK);
        let ground = canvas.keep_picture();
        let picture = canvas.picture_mut(ground.id());
        let wide = map.size() + 1;
        (picture.width, picture.height) = (wide, wide);
        picture.smooth = true;
        let corners = (0..wide).flat_map(|y| (0..wide).map(move |x| (x, y)));
        picture.rgba = corners.flat_map(|(x, y)| blended(x, y, map)).collect();
        Land {
            size: map.size(),
            ground,
            chunks: (0..across * across).map(|_| None).collect(),
            fog: Fog::new(map.size(), canvas),
            small: canvas.keep_picture(),
            shown: None,
            drawn: terrain(map).collect(),
            known: Vec::new(),
        }
    }

    /// The map as a picture with one pixel per tile, darkened by the fog.
    pub fn small(&self) -> PictureId {
        self.small.id()
    }

    /// Redraws a changed tile.
    pub fn changed(&mut self, tile: Tile, world: &World, canvas: &mut Canvas) {
        let at = usize::from(tile.y) * usize::from(self.size) + usize::from(tile.x);
        if let Some(drawn) = self.drawn.get_mut(at) {
            *drawn = world.map().terrain(tile);
        }
        self.known.clear();
        self.paint(tile, world.map(), canvas);
        self.draw_again(self.chunk_of(tile), world.map(), canvas);
    }

    /// Redraws all changed tiles: the world has jumped to another time of the same match.
    pub fn leap(&mut self, world: &World, canvas: &mut Canvas) {
        self.shown = None;
        self.known.clear();
        let map = world.map();
        let size = usize::from(self.size.max(1));
        let mut stale: Vec<usize> = Vec::new();
        for (at, now) in terrain(map).enumerate().take(self.drawn.len()) {
            if std::mem::replace(&mut self.drawn[at], now) != now {
                let tile = Tile::new((at % size) as u16, (at / size) as u16);
                stale.push(self.chunk_of(tile));
                self.paint(tile, map, canvas);
            }
        }
        stale.sort_unstable();
        stale.dedup();
        for chunk in stale {
            self.draw_again(chunk, map, canvas);
        }
    }

    /// Colours the corners of a tile.
    fn paint(&self, tile: Tile, map: &Map, canvas: &mut Canvas) {
        let wide = usize::from(self.size) + 1;
        let rgba = &mut canvas.picture_mut(self.ground.id()).rgba;
        for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let (x, y) = (tile.x + dx, tile.y + dy);
            let first = (usize::from(y) * wide + usize::from(x)) * 4;
            if let Some(pixel) = rgba.get_mut(first..first + 4) {
                pixel.copy_from_slice(&blended(x, y, map));
            }
        }
    }

    fn chunk_of(&self, tile: Tile) -> usize {
        let across = self.size.div_ceil(CHUNK);
        usize::from(tile.y / CHUNK * across + tile.x / CHUNK)
    }

    /// Updates fog and small map, if they are out of date.
    pub fn look(&mut self, world: &World, eye: Eye, canvas: &mut Canvas) {
        let tick = world.tick();
        let fresh = self.shown.is_some_and(|(shown, shown_eye)| {
            shown_eye == eye && tick >= shown && tick - shown < self.fog_ticks()
        });
        if fresh {
            return;
        }
        self.shown = Some((tick, eye));
        let size = self.size;
        let tiles = (0..size).flat_map(|y| (0..size).map(move |x| Tile::new(x, y)));
        let known: Vec<Known> = tiles.map(|tile| eye.knows(world, tile)).collect();
        // The card already has these pictures.
        if known == self.known {
            return;
        }
        self.known = known;
        self.fog.look(&self.known, canvas);
        self.draw_small(world.map(), canvas);
    }

    /// A large map is updated less often: each update visits every tile.
    fn fog_ticks(&self) -> u32 {
        let tiles = u32::from(self.size) * u32::from(self.size);
        FOG_TICKS * (tiles / TILES_IN_TIME).max(1)
    }

    pub fn draw(&mut self, map: &Map, camera: &Camera, canvas: &mut Canvas) {
        let origin = camera.to_window((0.0, 0.0));
        let across = self.size.div_ceil(CHUNK);
        let shown = camera.shown();
        let wide = f32::from(CHUNK) + 2.0 * OVERHANG;
        let area = |place: usize| {
            let (x, y) = (place as u16 % across * CHUNK, place as u16 / across * CHUNK);
            Rect::new(f32::from(x) - OVERHANG, f32::from(y) - OVERHANG, wide, wide)
        };
        let is_seen = |place: usize| {
            let area = area(place);
            area.meets(shown) && !self.fog.hides(area)
        };
        let places = 0..self.chunks.len();
        let seen: Vec<usize> = places.filter(|place| is_seen(*place)).collect();
        for place in &seen {
            if self.chunks[*place].is_none() {
                self.chunks[*place] = Some(Chunk {
                    grass: canvas.keep_mesh(),
                    cover: canvas.keep_mesh(),
                });
                self.draw_again(*place, map, canvas);
            }
        }
        self.fog.draw_below(self.ground.id(), camera, canvas);
        // All grass before all trees: a neighbour's grass must not cut off a tree.
        let layers = [
            |chunk: &Chunk| chunk.grass.id(),
            |chunk: &Chunk| chunk.cover.id(),
        ];
        // From a distance, grass is thinner than a pixel.
        let first = usize::from(camera.zoom < LEAST_FOR_GRASS);
        for layer in &layers[first..] {
            for chunk in seen.iter().filter_map(|place| self.chunks[*place].as_ref()) {
                canvas.mesh(layer(chunk), camera.zoom, origin);
            }
        }
        if self.chunks.iter().flatten().count() > MOST_CHUNKS {
            for (place, chunk) in self.chunks.iter_mut().enumerate() {
                chunk.take_if(|_| !area(place).meets(shown));
            }
        }
    }

    /// Draws the fog over everything below.
    pub fn draw_fog_over(&self, camera: &Camera, canvas: &mut Canvas) {
        self.fog.draw_over(camera, canvas);
        let (x, y) = camera.to_window((0.0, 0.0));
        let wide = f32::from(self.size) * camera.zoom;
        // The area beyond the map's edge, which trees overlap.
        let view = camera.view;
        let edges = [
            Rect::new(view.x, view.y, view.w, (y - view.y).max(0.0)),
            Rect::new(
                view.x,
                y + wide,
                view.w,
                (view.bottom() - y - wide).max(0.0),
            ),
            Rect::new(view.x, y, (x - view.x).max(0.0), wide),
            Rect::new(x + wide, y, (view.right() - x - wide).max(0.0), wide),
        ];
        for edge in edges {
            canvas.rect(edge.common(view), theme::GROUND);
        }
    }

    fn draw_small(&self, map: &Map, canvas: &mut Canvas) {
        let size = self.size;
        let picture = canvas.picture_mut(self.small.id());
        picture.width = size;
        picture.height = size;
        picture.smooth = true;
        picture.rgba.clear();
        for y in 0..size {
            for x in 0..size {
                let at = usize::from(y) * usize::from(size) + usize::from(x);
                let tile = Tile::new(x, y);
                let colour = match map.terrain(tile) {
                    Terrain::Forest => [34, 78, 40, 255],
                    Terrain::Gold => theme::GOLD,
                    other => ground(other),
                };
                let colour = match self.known[at] {
                    Known::Seen => colour,
                    Known::Explored => theme::mix(colour, theme::GROUND, 0.5),
                    Known::Dark => [10, 12, 15, 255],
                };
                picture.rgba.extend(colour);
            }
        }
    }

    /// Redraws a chunk, if it is cached.
    fn draw_again(&self, chunk: usize, map: &Map, canvas: &mut Canvas) {
        let Some(Some(kept)) = self.chunks.get(chunk) else {
            return;
        };
        let across = usize::from(self.size.div_ceil(CHUNK));
        let corner = (chunk % across, chunk / across);
        let from = |at: usize| at as u16 * CHUNK;
        let (left, top) = (from(corner.0), from(corner.1));
        let (right, bottom) = ((left + CHUNK).min(self.size), (top + CHUNK).min(self.size));
        let tiles = || (top..bottom).flat_map(move |y| (left..right).map(move |x| Tile::new(x, y)));
        canvas.into_mesh(kept.grass.id(), |canvas| {
            for tile in tiles() {
                draw_grass(tile, map, canvas);
            }
        });
        canvas.into_mesh(kept.cover.id(), |canvas| {
            for tile in tiles() {
                draw_cover(tile, map, canvas);
            }
        });
    }
}

fn terrain(map: &Map) -> impl Iterator<Item = Terrain> + '_ {
    let size = map.size();
    let tiles = (0..size).flat_map(move |y| (0..size).map(move |x| Tile::new(x, y)));
    tiles.map(|tile| map.terrain(tile))
}

/// Some blades of grass, so that motion is visible against the ground.
fn draw_grass(tile: Tile, map: &Map, canvas: &mut Canvas) {
    let (x, y) = (f32::from(tile.x), f32::from(tile.y));
    let dice = dice(tile);
    if map.terrain(tile) == Terrain::Ground && dice.is_multiple_of(3) {
        let (gx, gy) = (x + part(dice, 3), y + part(dice, 9));
        let light = theme::mix(ground(Terrain::Ground), [190, 200, 110, 255], 0.28);
        for (dx, high) in [(-0.05, 0.10), (0.0, 0.15), (0.06, 0.09)] {
            let root = (gx + dx, gy);
            let tip = (gx + dx * 1.8, gy - high);
            canvas.convex(
                &[(root.0 - 0.015, root.1), tip, (root.0 + 0.015, root.1)],
                light,
            );
        }
    }
}

/// The colour of a corner: a blend of the tiles around it.
fn blended(x: u16, y: u16, map: &Map) -> Colour {
    let mut sum = [0_u32; 3];
    for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
        let last = map.size() - 1;
        let tile = Tile::new(
            (x + dx).saturating_sub(1).min(last),
            (y + dy).saturating_sub(1).min(last),
        );
        let colour = match map.terrain(tile) {
            Terrain::Water => SAND,
            other => ground(other),
        };
        for (sum, part) in sum.iter_mut().zip(colour) {
            *sum += u32::from(part);
        }
    }
    let shade = 0.88 + 0.2 * rolling(x, y) + 0.04 * part(dice(Tile::new(x, y)), 5);
    let [red, green, blue] = sum.map(|sum| (sum as f32 / 4.0 * shade).min(255.0) as u8);
    [red, green, blue, 255]
}

/// Light and shadow of gentle hills, from 0 to 1.
fn rolling(x: u16, y: u16) -> f32 {
    let (across, down) = (x / HILL, y / HILL);
    let height = |dx: u16, dy: u16| part(dice(Tile::new(across + dx, down + dy)), 11);
    let smooth = |at: u16| {
        let part = f32::from(at % HILL) / f32::from(HILL);
        part * part * (3.0 - 2.0 * part)
    };
    let (u, v) = (smooth(x), smooth(y));
    let above = height(0, 0) * (1.0 - u) + height(1, 0) * u;
    let below = height(0, 1) * (1.0 - u) + height(1, 1) * u;
    above * (1.0 - v) + below * v
}

/// What stands on a tile: trees, stones, gold, waves.
fn draw_cover(tile: Tile, map: &Map, canvas: &mut Canvas) {
    let (x, y) = (f32::from(tile.x), f32::from(tile.y));
    let dice = dice(tile);
    let near = |shift: u32, wide: f32| (part(dice, shift) - 0.5) * wide;
    match map.terrain(tile) {
        Terrain::Ground => {}
        Terrain::Forest => {
            let place = (x + 0.5 + near(2, 0.3), y + 0.52 + near(7, 0.3));
            draw_tree(place, 0.46 + 0.12 * part(dice, 12), dice, canvas);
            if dice.is_multiple_of(2) {
                let place = (x + 0.5 + near(15, 0.8), y + 0.75 + near(18, 0.3));
                draw_tree(place, 0.3, dice >> 3, canvas);
            }
        }
        Terrain::Gold => {
            draw_stone((x + 0.5, y + 0.5), 0.5, [116, 104, 84, 255], dice, canvas);
            for (shift, size) in [(4, 0.13), (10, 0.10), (16, 0.12), (22, 0.08)] {
                let place = (x + 0.5 + near(shift, 0.6), y + 0.45 + near(shift + 3, 0.5));
                draw_nugget(place, size, canvas);
            }
        }
        Terrain::Rock => draw_stone(
            (x + 0.5 + near(4, 0.1), y + 0.5 + near(8, 0.1)),
            0.52 + 0.1 * part(dice, 14),
            [122, 124, 128, 255],
            dice,
            canvas,
        ),
        Terrain::Water => draw_water(tile, map, dice, canvas),
    }
}

/// A tile of water, with a margin at its shores and rounded corners.
fn draw_water(tile: Tile, map: &Map, dice: u32, canvas: &mut Canvas) {
    let (x, y) = (f32::from(tile.x), f32::from(tile.y));
    let is_land = |dx: i32, dy: i32| {
        let along = |at: u16, step: i32| u16::try_from(i32::from(at) + step).ok();
        let beside = along(tile.x, dx).zip(along(tile.y, dy));
        let beside = beside
            .map(|(x, y)| Tile::new(x, y))
            .filter(|beside| map.contains(*beside));
        beside.is_some_and(|beside| map.terrain(beside) != Terrain::Water)
    };
    let shore = |land: bool, wide: f32| if land { wide } else { 0.0 };
    let [left, right] = [is_land(-1, 0), is_land(1, 0)];
    let [above, below] = [is_land(0, -1), is_land(0, 1)];
    let mut layer = |edge: f32, colour: Colour| {
        let (l, r) = (x + shore(left, edge), x + 1.0 - shore(right, edge));
        let (t, b) = (y + shore(above, edge), y + 1.0 - shore(below, edge));
        let cut = |one: bool, other: bool| shore(one && other, CORNER);
        let (lt, rt) = (cut(left, above), cut(right, above));
        let (rb, lb) = (cut(right, below), cut(left, below));
        let corners = [
            (l, t + lt),
            (l + lt, t),
            (r - rt, t),
            (r, t + rt),
            (r, b - rb),
            (r - rb, b),
            (l + lb, b),
            (l, b - lb),
        ];
        canvas.convex(&corners, colour);
    };
    if left || right || above || below {
        layer(0.04, [124, 170, 186, 255]);
    }
    layer(0.13, WATER);
    if dice.is_multiple_of(3) && !(left || right || above || below) {
        let (wx, wy) = (x + 0.1 + 0.4 * part(dice, 3), y + 0.2 + 0.5 * part(dice, 8));
        let light = [118, 172, 206, 110];
        canvas.rect(Rect::new(wx, wy, 0.34, 0.035), light);
        canvas.rect(Rect::new(wx + 0.12, wy + 0.09, 0.26, 0.03), light);
    }
}

fn draw_tree(at: (f32, f32), size: f32, dice: u32, canvas: &mut Canvas) {
    let green: Colour = match dice >> 5 & 3 {
        0 => [40, 92, 46, 255],
        1 => [48, 102, 48, 255],
        2 => [36, 84, 50, 255],
        _ => [58, 104, 44, 255],
    };
    let turn = part(dice, 6) * 0.8;
    blob(
        (at.0 + 0.1, at.1 + 0.12),
        size,
        7,
        turn,
        [10, 20, 10, 90],
        canvas,
    );
    blob(
        at,
        size,
        8,
        turn,
        theme::mix(green, theme::OUTLINE, 0.35),
        canvas,
    );
    let light = (at.0 - size * 0.10, at.1 - size * 0.14);
    blob(light, size * 0.78, 7, turn + 0.3, green, canvas);
    let lighter = (at.0 - size * 0.24, at.1 - size * 0.30);
    let colour = theme::mix(green, [170, 200, 90, 255], 0.28);
    blob(lighter, size * 0.38, 6, turn, colour, canvas);
}

fn draw_stone(at: (f32, f32), size: f32, colour: Colour, dice: u32, canvas: &mut Canvas) {
    let turn = part(dice, 9) * 2.0;
    blob(
        (at.0 + 0.06, at.1 + 0.09),
        size,
        6,
        turn,
        [0, 0, 0, 80],
        canvas,
    );
    blob(
        at,
        size,
        6,
        turn,
        theme::mix(colour, theme::OUTLINE, 0.35),
        canvas,
    );
    let light = (at.0 - size * 0.10, at.1 - size * 0.14);
    blob(light, size * 0.74, 6, turn, colour, canvas);
    let top = (at.0 - size * 0.2, at.1 - size * 0.28);
    let colour = theme::mix(colour, [255; 4], 0.22);
    blob(top, size * 0.36, 5, turn, colour, canvas);
}

fn draw_nugget((x, y): (f32, f32), size: f32, canvas: &mut Canvas) {
    let diamond = |size: f32| [(x, y - size), (x + size, y), (x, y + size), (x - size, y)];
    canvas.convex(&diamond(size * 1.25), [110, 80, 20, 255]);
    canvas.convex(&diamond(size), theme::GOLD);
    let (sx, sy) = (x - size * 0.25, y - size * 0.25);
    let spark = size * 0.4;
    let corners = [
        (sx, sy - spark),
        (sx + spark, sy),
        (sx, sy + spark),
        (sx - spark, sy),
    ];
    canvas.convex(&corners, [255, 240, 170, 255]);
}

fn blob(
    (x, y): (f32, f32),
    size: f32,
    corners: u32,
    turn: f32,
    colour: Colour,
    canvas: &mut Canvas,
) {
    let corner = |n: u32| {
        let angle = turn + std::f32::consts::TAU * n as f32 / corners as f32;
        (x + size * angle.cos(), y + size * angle.sin())
    };
    let corners: Vec<(f32, f32)> = (0..corners).map(corner).collect();
    canvas.convex(&corners, colour);
}

fn ground(terrain: Terrain) -> Colour {
    match terrain {
        Terrain::Ground => [104, 126, 70, 255],
        Terrain::Forest => [66, 92, 50, 255],
        Terrain::Gold => [120, 112, 78, 255],
        Terrain::Rock => [104, 104, 96, 255],
        Terrain::Water => WATER,
    }
}

/// A number that is fixed for a tile and independent of its neighbours'.
fn dice(tile: Tile) -> u32 {
    let mut word = u32::from(tile.x) << 16 | u32::from(tile.y);
    for factor in [0x7feb_352d_u32, 0x846c_a68b] {
        word = (word ^ word >> 16).wrapping_mul(factor);
    }
    word ^ word >> 16
}

/// A part of `dice` as a number from 0 to 1.
fn part(dice: u32, shift: u32) -> f32 {
    f32::from((dice >> shift & 0xff) as u8) / 255.0
}

const WATER: Colour = [46, 102, 150, 255];
const SAND: Colour = [150, 142, 96, 255];
/// How much of a corner between two shores is land.
const CORNER: f32 = 0.38;
/// Tiles between hills.
const HILL: u16 = 7;
/// Tiles along an edge of a chunk.
const CHUNK: u16 = 32;
/// Tiles by which trees extend beyond their chunk.
const OVERHANG: f32 = 1.5;
/// Ticks between updates of the fog: half of those of the world's own.
const FOG_TICKS: u32 = 4;
/// Tiles that are visited within those ticks without delaying a frame.
const TILES_IN_TIME: u32 = 1 << 18;
/// Grass is drawn where a tile has at least this many pixels.
const LEAST_FOR_GRASS: f32 = 9.0;
/// Chunks in the cache before those out of sight are dropped: the ground of 1,024 × 1,024 tiles.
const MOST_CHUNKS: usize = 1024;

#[cfg(test)]
mod tests;
