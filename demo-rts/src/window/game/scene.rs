//! The match as an eye sees it: ground, buildings, units, arrows, fog and effects.

use super::camera::{Camera, Place, place_of};
use super::effects::{Effects, radius};
use super::land::{Eye, Land};
use super::motion::{Motion, between};
use super::shapes::{self, BuildingLook, UnitLook};
use crate::window::canvas::{Canvas, Rect};
use crate::window::theme;
use crate::world::{BuildingView, Effect, Id, Kind, Tile, UnitView, World};
use lockstep::Seat;

/// What is cached of a match to draw it.
pub struct Scene {
    eye: Eye,
    pub motion: Motion,
    pub effects: Effects,
    land: Option<Land>,
    /// Tiles that changed since the ground was drawn.
    changed: Vec<Tile>,
    /// The world has jumped since the ground was drawn.
    leapt: bool,
}

/// What to draw beside the world itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overlay<'a> {
    /// The selection, ascending.
    pub selected: &'a [Id],
    /// The unit or building under the mouse.
    pub under: Option<Id>,
    /// The fraction of a tick since the last one.
    pub alpha: f32,
    /// Whether to show every health bar.
    pub all_bars: bool,
}

impl Scene {
    pub fn new(eye: Eye) -> Scene {
        Scene {
            eye,
            motion: Motion::default(),
            effects: Effects::default(),
            land: None,
            changed: Vec::new(),
            leapt: false,
        }
    }

    pub fn eye(&self) -> Eye {
        self.eye
    }

    pub fn look_with(&mut self, eye: Eye, world: &World) {
        if eye != self.eye {
            self.eye = eye;
            self.motion = Motion::default();
            self.motion.step(world, eye);
        }
    }

    /// Advances by a tick.
    pub fn step(&mut self, world: &World, effects: &[Effect]) {
        self.motion.step(world, self.eye);
        self.effects.take(world, effects, self.eye);
        for effect in effects {
            if let Effect::Exhausted { at } = effect {
                self.changed.push(*at);
            }
        }
    }

    /// Starts over at an unrelated world.
    pub fn restart(&mut self, world: &World) {
        self.motion = Motion::default();
        self.motion.step(world, self.eye);
        self.effects = Effects::default();
        self.land = None;
        self.changed.clear();
    }

    /// Continues at another time of the same match, as after a seek; the ground stays cached.
    pub fn leap(&mut self, world: &World) {
        self.motion = Motion::default();
        self.motion.step(world, self.eye);
        self.effects = Effects::default();
        self.changed.clear();
        self.leapt = true;
    }

    /// The map as a picture with one pixel per tile, once it was drawn.
    pub fn small_map(&self) -> Option<crate::window::canvas::PictureId> {
        self.land.as_ref().map(Land::small)
    }

    /// Advances what moves between ticks.
    pub fn pass(&mut self, seconds: f32) {
        self.motion.turn(seconds);
        self.effects.pass(seconds);
    }

    pub fn draw(
        &mut self,
        world: &World,
        camera: &Camera,
        overlay: &Overlay<'_>,
        canvas: &mut Canvas,
    ) {
        let land = self.land.get_or_insert_with(|| Land::new(world, canvas));
        if std::mem::take(&mut self.leapt) {
            land.leap(world, canvas);
        }
        self.changed.sort_unstable();
        self.changed.dedup();
        for tile in self.changed.drain(..) {
            land.changed(tile, world, canvas);
        }
        land.look(world, self.eye, canvas);
        canvas.clip(camera.view);
        land.draw(world.map(), camera, canvas);
        self.effects.draw_below(world, camera, canvas);
        let scale = canvas.scale();
        for building in &self.motion.buildings {
            self.draw_building(world, building, camera, overlay, canvas);
        }
        if let Some(land) = &self.land {
            land.draw_fog_over(camera, canvas);
        }
        self.draw_rings(camera, overlay, canvas);
        self.draw_units(world, camera, overlay, canvas);
        self.draw_arrows(camera, overlay.alpha, canvas);
        self.draw_bars(world, camera, overlay, canvas);
        self.effects.draw_above(camera, scale, canvas);
        canvas.unclip();
    }

    /// The unit, or else the building, at a pixel.
    pub fn at(&self, pixel: (f32, f32), camera: &Camera, alpha: f32) -> Option<Id> {
        let place = camera.to_map(pixel);
        let near = self.motion.walkers.iter().filter_map(|walker| {
            let (x, y) = walker.at(alpha);
            let far = (x - place.0).hypot(y - place.1);
            let reach = radius(walker.unit.kind) * 1.15 + 2.0 / camera.zoom;
            (far <= reach).then_some((far, walker.unit.id))
        });
        let nearest = near.min_by(|a, b| a.0.total_cmp(&b.0));
        nearest.map(|(_, id)| id).or_else(|| {
            let building = self
                .motion
                .buildings
                .iter()
                .find(|building| footprint(building).contains(place));
            building.map(|building| building.id)
        })
    }

    fn draw_building(
        &self,
        world: &World,
        building: &BuildingView,
        camera: &Camera,
        overlay: &Overlay<'_>,
        canvas: &mut Canvas,
    ) {
        let on_map = footprint(building);
        if !on_map.meets(camera.shown()) {
            return;
        }
        let area = in_window(on_map, camera);
        if overlay.selected.contains(&building.id) {
            let wide = 2.0 * canvas.scale();
            let ring = Rect::new(
                area.x - wide,
                area.y - wide,
                area.w + 2.0 * wide,
                area.h + 2.0 * wide,
            );
            canvas.frame(ring, wide * 1.5, SELECTED);
        }
        let whole = building.kind.stats().build_ticks.max(1);
        let built = match building.complete {
            true => 1.0,
            false => f32::from(building.progress) / f32::from(whole) * 0.99,
        };
        let look = BuildingLook {
            kind: building.kind,
            seat: colour(world, building.seat),
            area,
            built,
            struck: self.effects.struck(building.id),
            alpha: 1.0,
        };
        shapes::building(canvas, &look);
    }

    fn draw_rings(&self, camera: &Camera, overlay: &Overlay<'_>, canvas: &mut Canvas) {
        let scale = canvas.scale();
        let chosen = overlay.selected.iter().map(|id| (*id, SELECTED));
        let under = overlay.under.map(|id| (id, theme::alpha(SELECTED, 0.5)));
        for (id, colour) in chosen.chain(under) {
            let Some(walker) = self.motion.walker(id) else {
                continue;
            };
            let at = camera.to_window(walker.at(overlay.alpha));
            let size = radius(walker.unit.kind) * camera.zoom * 1.3 + scale;
            canvas.oval_ring(at, (size, size), (1.6 * scale).max(1.0), colour);
        }
    }

    fn draw_units(
        &self,
        world: &World,
        camera: &Camera,
        overlay: &Overlay<'_>,
        canvas: &mut Canvas,
    ) {
        let colours: Vec<(Seat, u8)> = world.seats().map(|seat| (seat.seat, seat.colour)).collect();
        for walker in &self.motion.walkers {
            let place = walker.at(overlay.alpha);
            if !camera.sees(place, 1.0) {
                continue;
            }
            let unit = &walker.unit;
            let seat = colours.iter().find(|(seat, _)| *seat == unit.seat);
            let look = UnitLook {
                kind: unit.kind,
                seat: seat.map_or(0, |(_, colour)| *colour),
                at: camera.to_window(place),
                size: radius(unit.kind) * camera.zoom,
                heading: walker.heading,
                carries: unit.carries.map(|(resource, _)| resource),
                struck: self.effects.struck(unit.id),
            };
            shapes::unit(canvas, &look);
        }
    }

    fn draw_arrows(&self, camera: &Camera, alpha: f32, canvas: &mut Canvas) {
        let wide = (camera.zoom * 0.06).max(1.2);
        for arrow in &self.motion.arrows {
            let at = between(arrow.from, arrow.to, alpha);
            if !camera.sees(at, 1.0) {
                continue;
            }
            let (dx, dy) = (arrow.goal.0 - at.0, arrow.goal.1 - at.1);
            let far = dx.hypot(dy).max(0.01);
            let tail = (at.0 - dx / far * 0.45, at.1 - dy / far * 0.45);
            let (from, to) = (camera.to_window(tail), camera.to_window(at));
            canvas.line(from, to, wide + 1.5, theme::alpha(theme::OUTLINE, 0.6));
            canvas.line(from, to, wide, [250, 244, 214, 255]);
        }
    }

    fn draw_bars(
        &self,
        world: &World,
        camera: &Camera,
        overlay: &Overlay<'_>,
        canvas: &mut Canvas,
    ) {
        let few = overlay.selected.len() <= FEW;
        let shows = |id: Id, hurt: bool| {
            hurt || overlay.all_bars
                || overlay.under == Some(id)
                || few && overlay.selected.binary_search(&id).is_ok()
        };
        for building in &self.motion.buildings {
            let on_map = footprint(building);
            let most = max_hit_points(
                world,
                self.eye,
                building.seat,
                building.kind,
                building.hit_points,
            );
            let part = f32::from(building.hit_points) / f32::from(most);
            let hurt = building.complete && part < 0.999;
            let shown = shows(building.id, hurt) && !building.remembered;
            if !shown || !on_map.meets(camera.shown()) {
                continue;
            }
            let area = in_window(on_map, camera);
            bar(canvas, (area.x + area.w / 2.0, area.y), area.w * 0.8, part);
        }
        if camera.zoom * 0.35 < LEAST_FOR_BARS {
            return;
        }
        for walker in &self.motion.walkers {
            let unit: &UnitView = &walker.unit;
            let most = max_hit_points(world, self.eye, unit.seat, unit.kind, unit.hit_points);
            let part = f32::from(unit.hit_points) / f32::from(most);
            let place = walker.at(overlay.alpha);
            if !shows(unit.id, part < 0.999) || !camera.sees(place, 1.0) {
                continue;
            }
            let size = radius(unit.kind) * camera.zoom;
            let (x, y) = camera.to_window(place);
            bar(canvas, (x, y - size * 1.35), size * 2.2, part);
        }
    }
}

/// The tiles under a building.
pub fn footprint(building: &BuildingView) -> Rect {
    let size = f32::from(building.kind.stats().size);
    Rect::new(
        f32::from(building.tile.x),
        f32::from(building.tile.y),
        size,
        size,
    )
}

/// A part of the map in pixels.
pub fn in_window(on_map: Rect, camera: &Camera) -> Rect {
    let (x, y) = camera.to_window((on_map.x, on_map.y));
    Rect::new(x, y, on_map.w * camera.zoom, on_map.h * camera.zoom)
}

/// The number of a seat's colour.
pub fn colour(world: &World, seat: Seat) -> u8 {
    world.seat(seat).map_or(0, |seat| seat.colour)
}

/// The place of a unit or building in the world.
pub fn place(world: &World, id: Id) -> Option<Place> {
    let unit = world.unit(id).map(|unit| place_of(unit.at));
    unit.or_else(|| world.building(id).map(|building| place_of(building.centre)))
}

/// The maximum of a unit's or building's hit points. Another seat's upgrades are unknown: its maximum is the table's, or the
/// visible number if higher.
pub fn max_hit_points(world: &World, eye: Eye, seat: Seat, kind: Kind, left: u16) -> u16 {
    let known = match eye {
        Eye::All => world.stats(seat, kind),
        Eye::Seat(own) if own == seat => world.stats(seat, kind),
        Eye::Seat(_) => None,
    };
    known
        .map_or(kind.stats().hit_points.max(left), |line| line.hit_points)
        .max(1)
}

fn bar(canvas: &mut Canvas, (x, y): (f32, f32), wide: f32, part: f32) {
    let scale = canvas.scale();
    let high = (3.0 * scale).round().max(2.0);
    let wide = wide.max(10.0 * scale).round();
    let area = Rect::new((x - wide / 2.0).round(), (y - high).round(), wide, high);
    let edge = scale.round().max(1.0);
    let around = Rect::new(
        area.x - edge,
        area.y - edge,
        area.w + 2.0 * edge,
        area.h + 2.0 * edge,
    );
    canvas.rect(around, theme::alpha(theme::OUTLINE, 0.85));
    let colour = match part {
        part if part > 0.6 => theme::GOOD,
        part if part > 0.3 => theme::ACCENT,
        _ => theme::BAD,
    };
    let filled = Rect::new(
        area.x,
        area.y,
        (area.w * part.clamp(0.0, 1.0)).max(1.0),
        area.h,
    );
    canvas.rect(filled, colour);
}

const SELECTED: crate::window::canvas::Colour = [240, 255, 240, 230];
/// With at most this many selected, full health bars are shown too.
const FEW: usize = 12;
/// Units with a smaller radius in pixels have no bars.
const LEAST_FOR_BARS: f32 = 3.5;
