//! Effects that fade: hits, deaths, order markers, pings.

use super::camera::{Camera, Place, place_of};
use super::land::Eye;
use super::shapes::{self, BuildingLook};
use crate::window::canvas::{Canvas, Colour, Rect};
use crate::window::theme;
use crate::world::{Effect, Id, Kind, Tile, World};
use lockstep::Seat;
use std::collections::BTreeMap;

/// What an order's marker shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    Go,
    Fight,
    Work,
}

#[derive(Clone, Copy, Debug)]
struct FadingEffect {
    what: What,
    at: Place,
    /// Seconds since it began.
    age: f32,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Spark,
    Corpse { kind: Kind, seat: Seat },
    Ruin { kind: Kind, seat: Seat },
    Marker(Sign),
    Done { kind: Kind },
}

impl What {
    /// Seconds that it lasts.
    fn lasts(self) -> f32 {
        match self {
            What::Spark => 0.25,
            What::Corpse { .. } => 1.6,
            What::Ruin { .. } => 2.2,
            What::Marker(_) => 0.7,
            What::Done { .. } => 0.8,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Effects {
    passing: Vec<FadingEffect>,
    /// Seconds since each unit or building was hit.
    struck: BTreeMap<Id, f32>,
    /// Pings, with their age in seconds.
    pub pings: Vec<(Place, f32)>,
}

impl Effects {
    /// Adds the effects of a tick that the eye sees.
    pub fn take(&mut self, world: &World, effects: &[Effect], eye: Eye) {
        for effect in effects {
            match *effect {
                Effect::Hit { target, at, .. } if eye.sees(world, Tile::of(at)) => {
                    self.struck.insert(target, 0.0);
                    if self.passing.len() < MOST {
                        self.add(What::Spark, place_of(at));
                    }
                }
                Effect::Died { kind, seat, at, .. } if eye.sees(world, Tile::of(at)) => {
                    let what = match kind.is_building() {
                        true => What::Ruin { kind, seat },
                        false => What::Corpse { kind, seat },
                    };
                    self.add(what, place_of(at));
                }
                Effect::Built { id, kind, seat } if eye == Eye::Seat(seat) || eye == Eye::All => {
                    if let Some(building) = world.building(id) {
                        self.add(What::Done { kind }, place_of(building.centre));
                    }
                }
                _ => {}
            }
        }
    }

    /// Marks the target of an order at once.
    pub fn mark(&mut self, sign: Sign, at: Place) {
        self.add(What::Marker(sign), at);
    }

    pub fn ping(&mut self, at: Place) {
        self.pings.push((at, 0.0));
    }

    pub fn pass(&mut self, seconds: f32) {
        for passing in &mut self.passing {
            passing.age += seconds;
        }
        self.passing
            .retain(|passing| passing.age < passing.what.lasts());
        self.struck.values_mut().for_each(|age| *age += seconds);
        self.struck.retain(|_, age| *age < FLASH);
        self.pings.iter_mut().for_each(|(_, age)| *age += seconds);
        self.pings.retain(|(_, age)| *age < PING);
    }

    /// How recent the last hit is: 1 is now, 0 is none.
    pub fn struck(&self, id: Id) -> f32 {
        self.struck.get(&id).map_or(0.0, |age| 1.0 - age / FLASH)
    }

    /// Draws effects on the ground, below all units.
    pub fn draw_below(&self, world: &World, camera: &Camera, canvas: &mut Canvas) {
        for passing in self.on_screen(camera) {
            let at = camera.to_window(passing.at);
            let left = 1.0 - passing.age / passing.what.lasts();
            let colour = |seat: Seat| world.seat(seat).map_or(0, |seat| seat.colour);
            match passing.what {
                What::Corpse { kind, seat } => {
                    let size = radius(kind) * camera.zoom;
                    let own = theme::mix(theme::seat(colour(seat)), theme::OUTLINE, 0.55);
                    let flat = (size * (1.3 - 0.3 * left), size * 0.75);
                    canvas.oval(at, flat, theme::alpha([90, 20, 20, 255], left * 0.5));
                    canvas.oval(at, (size * 0.9, size * 0.6), theme::alpha(own, left));
                    let arm = size * 0.6;
                    let pale = theme::alpha([230, 230, 230, 255], left * 0.8);
                    let wide = (size * 0.2).max(1.0);
                    canvas.line(
                        (at.0 - arm, at.1 - arm),
                        (at.0 + arm, at.1 + arm),
                        wide,
                        pale,
                    );
                    canvas.line(
                        (at.0 + arm, at.1 - arm),
                        (at.0 - arm, at.1 + arm),
                        wide,
                        pale,
                    );
                }
                What::Ruin { kind, seat } => {
                    let size = f32::from(kind.stats().size) * camera.zoom;
                    let area = Rect::new(at.0 - size / 2.0, at.1 - size / 2.0, size, size);
                    let look = BuildingLook {
                        kind,
                        seat: colour(seat),
                        area,
                        built: (left * 0.9).min(0.99),
                        struck: 0.0,
                        alpha: left,
                    };
                    shapes::building(canvas, &look);
                    let smoke = size * (0.35 + 0.5 * (1.0 - left));
                    canvas.circle(at, smoke, theme::alpha([70, 66, 62, 255], left * 0.45));
                }
                _ => {}
            }
        }
    }

    /// Draws effects above all units.
    pub fn draw_above(&self, camera: &Camera, scale: f32, canvas: &mut Canvas) {
        for passing in self.on_screen(camera) {
            let at = camera.to_window(passing.at);
            let part = passing.age / passing.what.lasts();
            match passing.what {
                What::Spark => {
                    let size = camera.zoom * (0.1 + 0.3 * part);
                    let colour = theme::alpha([255, 232, 150, 255], 1.0 - part);
                    let wide = (camera.zoom * 0.05).max(1.0);
                    for (dx, dy) in [(1.0, 0.3), (-0.4, 1.0), (-0.8, -0.6), (0.5, -0.9)] {
                        let from = (at.0 + dx * size * 0.4, at.1 + dy * size * 0.4);
                        let to = (at.0 + dx * size, at.1 + dy * size);
                        canvas.line(from, to, wide, colour);
                    }
                }
                What::Marker(sign) => draw_marker(sign, at, part, scale, canvas),
                What::Done { kind } => {
                    let size = f32::from(kind.stats().size) * camera.zoom;
                    let size = size * (0.5 + 0.25 * part);
                    let colour = theme::alpha(theme::GOOD, 1.0 - part);
                    let area = Rect::new(at.0 - size, at.1 - size, 2.0 * size, 2.0 * size);
                    canvas.frame(area, 3.0 * scale, colour);
                }
                What::Corpse { .. } | What::Ruin { .. } => {}
            }
        }
        for (place, age) in &self.pings {
            let at = camera.to_window(*place);
            let part = (age * 1.2).fract();
            let colour = theme::alpha(theme::ACCENT, 1.0 - part);
            canvas.ring(at, (6.0 + 40.0 * part) * scale, 3.0 * scale, colour);
        }
    }

    fn on_screen<'a>(&'a self, camera: &'a Camera) -> impl Iterator<Item = &'a FadingEffect> {
        self.passing
            .iter()
            .filter(|passing| camera.sees(passing.at, 3.0))
    }

    fn add(&mut self, what: What, at: Place) {
        let age = 0.0;
        self.passing.push(FadingEffect { what, at, age });
    }
}

fn draw_marker(sign: Sign, at: (f32, f32), part: f32, scale: f32, canvas: &mut Canvas) {
    let colour = theme::alpha(colour_of(sign), 1.0 - part);
    let size = (16.0 - 8.0 * part) * scale;
    let wide = 2.5 * scale;
    canvas.ring(at, size, wide, colour);
    for (dx, dy) in [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)] {
        let tip = (at.0 + dx * size * 0.45, at.1 + dy * size * 0.45);
        let (px, py) = (-dy * size * 0.35, dx * size * 0.35);
        let (bx, by) = (at.0 + dx * size * 1.35, at.1 + dy * size * 1.35);
        canvas.convex(&[tip, (bx + px, by + py), (bx - px, by - py)], colour);
    }
}

pub fn colour_of(sign: Sign) -> Colour {
    match sign {
        Sign::Go => theme::GOOD,
        Sign::Fight => theme::BAD,
        Sign::Work => theme::GOLD,
    }
}

/// Half the width of a unit as drawn, in tiles.
pub fn radius(kind: Kind) -> f32 {
    kind.stats().radius.to_num::<f32>() * LARGER
}

/// Units are drawn a little larger than they are.
const LARGER: f32 = 1.18;
/// Seconds of the flash after a hit.
const FLASH: f32 = 0.18;
const PING: f32 = 4.0;
/// More hits at a time add nothing that a player could see.
const MOST: usize = 1_500;
