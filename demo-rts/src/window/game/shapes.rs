//! The look of units and buildings: an outline for every kind, colour and mark for every seat.

use super::pen::Pen;
use super::signs::{Sign, sign};
use crate::window::canvas::{Canvas, Colour, Rect};
use crate::window::theme;
use crate::world::{Kind, Resource};
use sim::Angle;

#[derive(Clone, Copy, Debug)]
pub struct UnitLook {
    pub kind: Kind,
    /// The number of its seat's colour.
    pub seat: u8,
    /// Its middle, in pixels.
    pub at: (f32, f32),
    /// Half its width, in pixels.
    pub size: f32,
    pub heading: Angle,
    pub carries: Option<Resource>,
    /// How recent its last hit is: 1 is now.
    pub struck: f32,
}

pub fn unit(canvas: &mut Canvas, look: &UnitLook) {
    let own = theme::seat(look.seat);
    let body = theme::mix(own, [255; 4], look.struck * 0.8);
    let (sin, cos) = (look.heading.sin().to_num(), look.heading.cos().to_num());
    let (at, size) = (look.at, look.size);
    let mut pen = Pen {
        canvas,
        at,
        size,
        cos,
        sin,
    };
    if size < SMALL {
        far_unit(&mut pen, look.kind, body);
        return;
    }
    let edge = (size * 0.16).clamp(1.0, 3.0);
    let shadow = Rect::new(at.0 - size, at.1 - size * 0.5, size * 2.0, size * 1.7);
    let (sx, sy) = shadow.centre();
    pen.canvas.oval((sx, sy), (size, size * 0.8), [0, 0, 0, 60]);
    match look.kind {
        Kind::Swordsman => {
            let shield = [
                (0.95, 0.0),
                (0.5, 0.85),
                (-0.8, 0.75),
                (-0.8, -0.75),
                (0.5, -0.85),
            ];
            pen.edged(shield, edge, body);
            pen.line((-0.1, 0.85), (1.65, 0.85), 0.34, theme::OUTLINE);
            pen.line((0.0, 0.85), (1.55, 0.85), 0.18, STEEL);
        }
        Kind::Archer => {
            pen.edged([(1.05, 0.0), (-0.75, 0.9), (-0.75, -0.9)], edge * 1.3, body);
            let bow = [
                (0.35, -1.1),
                (1.05, -0.7),
                (1.3, 0.0),
                (1.05, 0.7),
                (0.35, 1.1),
            ];
            for ends in bow.windows(2) {
                pen.line(ends[0], ends[1], 0.26, BOW);
            }
            pen.line((0.35, -1.1), (0.35, 1.1), 0.08, STEEL);
        }
        Kind::Knight => {
            let horse = [
                (1.55, 0.0),
                (1.15, 0.42),
                (-0.9, 0.62),
                (-1.3, 0.25),
                (-1.3, -0.25),
                (-0.9, -0.62),
                (1.15, -0.42),
            ];
            pen.edged(horse, edge, HORSE);
            let rider = [
                (0.7, 0.0),
                (0.2, 0.62),
                (-0.75, 0.5),
                (-0.75, -0.5),
                (0.2, -0.62),
            ];
            pen.edged(rider, edge * 0.6, body);
            pen.line((-0.6, 0.78), (2.0, 0.62), 0.22, theme::OUTLINE);
            pen.line((-0.6, 0.78), (1.95, 0.62), 0.12, STEEL);
        }
        Kind::Catapult => {
            for (x, y) in [(0.7, 0.85), (0.7, -0.85), (-0.7, 0.85), (-0.7, -0.85)] {
                let wheel = [
                    (x - 0.35, y - 0.2),
                    (x + 0.35, y - 0.2),
                    (x + 0.35, y + 0.2),
                    (x - 0.35, y + 0.2),
                ];
                pen.shape(wheel, theme::OUTLINE);
            }
            let frame = [(1.15, 0.68), (-1.15, 0.68), (-1.15, -0.68), (1.15, -0.68)];
            pen.edged(frame, edge, TIMBER);
            let cloth = [(0.2, 0.5), (-0.95, 0.5), (-0.95, -0.5), (0.2, -0.5)];
            pen.shape(cloth, body);
            pen.line((-1.0, 0.0), (1.35, 0.0), 0.3, theme::OUTLINE);
            pen.line((-1.0, 0.0), (1.3, 0.0), 0.18, BOW);
            let cup = pen.point((1.3, 0.0));
            pen.canvas.circle(cup, size * 0.28, STONE);
        }
        _ => {
            let round = [
                (0.9, 0.0),
                (0.64, 0.64),
                (0.0, 0.9),
                (-0.64, 0.64),
                (-0.9, 0.0),
                (-0.64, -0.64),
                (0.0, -0.9),
                (0.64, -0.64),
            ];
            pen.edged(round, edge, body);
            pen.line((0.1, 0.75), (1.15, 0.75), 0.2, BOW);
            pen.line((1.0, 0.45), (1.15, 1.05), 0.26, STEEL);
        }
    }
    if let Some(resource) = look.carries {
        let colour = match resource {
            Resource::Gold => theme::GOLD,
            Resource::Wood => theme::WOOD,
        };
        let sack = pen.point((-0.95, 0.0));
        pen.canvas.circle(sack, size * 0.48, theme::OUTLINE);
        pen.canvas.circle(sack, size * 0.36, colour);
    }
    if size >= MARKED {
        let ahead = match look.kind {
            Kind::Archer => -0.25,
            Kind::Knight => -0.15,
            Kind::Catapult => -0.45,
            _ => 0.0,
        };
        let middle = pen.point((ahead, 0.0));
        let colour = theme::contrast(own);
        theme::mark(pen.canvas, look.seat, middle, size * 0.62, colour);
    }
}

/// A unit from far away: only its outline.
fn far_unit(pen: &mut Pen<'_>, kind: Kind, body: Colour) {
    match kind {
        Kind::Archer => {
            pen.edged([(1.2, 0.0), (-0.9, 0.95), (-0.9, -0.95)], 1.0, body);
        }
        Kind::Swordsman => {
            let square = [(0.85, 0.85), (-0.85, 0.85), (-0.85, -0.85), (0.85, -0.85)];
            pen.edged(square, 1.0, body);
        }
        Kind::Knight => {
            pen.edged(
                [(1.6, 0.0), (0.0, 0.8), (-1.4, 0.0), (0.0, -0.8)],
                1.0,
                body,
            );
        }
        Kind::Catapult => {
            let long = [(1.3, 0.8), (-1.3, 0.8), (-1.3, -0.8), (1.3, -0.8)];
            pen.edged(long, 1.0, body);
        }
        _ => {
            let round = [
                (0.85, 0.35),
                (0.35, 0.85),
                (-0.35, 0.85),
                (-0.85, 0.35),
                (-0.85, -0.35),
                (-0.35, -0.85),
                (0.35, -0.85),
                (0.85, -0.35),
            ];
            pen.shape(round, body);
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct BuildingLook {
    pub kind: Kind,
    /// The number of its seat's colour.
    pub seat: u8,
    /// Its area in pixels.
    pub area: Rect,
    /// How much of it is built: 1 is all.
    pub built: f32,
    /// How recent its last hit is: 1 is now.
    pub struck: f32,
    /// 1 is opaque.
    pub alpha: f32,
}

/// Draws a building or a foundation.
pub fn building(canvas: &mut Canvas, look: &BuildingLook) {
    let area = look.area;
    let u = area.w / f32::from(look.kind.stats().size.max(1));
    let fade = |colour: Colour| theme::alpha(colour, look.alpha);
    let lit = |colour: Colour| fade(theme::mix(colour, [255; 4], look.struck * 0.6));
    let own = theme::seat(look.seat);
    let roof = lit(own);
    let dark = lit(theme::mix(own, theme::OUTLINE, 0.4));
    let edge = (u * 0.07).clamp(1.0, 4.0);
    let body = area.inset(u * 0.08);
    let mut shadow = body;
    shadow.x += u * 0.1;
    shadow.y += u * 0.14;
    canvas.rect(shadow, fade([0, 0, 0, 80]));
    if look.built < 1.0 {
        foundation(canvas, look, body, edge);
        return;
    }
    canvas.rect(grown(body, edge), fade(theme::OUTLINE));
    match look.kind {
        Kind::Wall => {
            canvas.rect(body, lit(STONE));
            let low = Rect::new(body.x, body.y + body.h * 0.5, body.w, edge * 0.7);
            canvas.rect(low, fade([90, 92, 96, 255]));
            let (x, y) = body.centre();
            canvas.rect(
                Rect::new(x - edge / 2.0, body.y, edge * 0.7, body.h / 2.0),
                fade([90, 92, 96, 255]),
            );
            canvas.rect(
                Rect::new(x - u * 0.12, y - u * 0.12, u * 0.24, u * 0.24),
                roof,
            );
        }
        Kind::Farm => {
            canvas.rect(body, lit([122, 96, 56, 255]));
            for row in 0..5 {
                let y = body.y + body.h * (0.1 + 0.19 * row as f32);
                let line = Rect::new(body.x + u * 0.1, y, body.w - u * 0.2, body.h * 0.09);
                canvas.rect(line, lit([214, 186, 84, 255]));
            }
            canvas.frame(body, edge, roof);
        }
        Kind::Tower => {
            let (x, y) = body.centre();
            canvas.rect(body, lit([96, 98, 102, 255]));
            let side = body.w * 0.22;
            for (dx, dy) in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)] {
                let at = (body.x + dx * (body.w - side), body.y + dy * (body.h - side));
                canvas.rect(Rect::new(at.0, at.1, side, side), lit(STONE));
            }
            canvas.circle((x, y), body.w * 0.36, fade(theme::OUTLINE));
            canvas.circle((x, y), body.w * 0.36 - edge, roof);
            canvas.circle((x, y), body.w * 0.2, dark);
        }
        _ => gabled(canvas, body, (roof, dark), &lit),
    }
    emblem(canvas, look, u);
}

/// A house with a roof of the seat's colour and a horizontal ridge.
fn gabled(
    canvas: &mut Canvas,
    body: Rect,
    (roof, dark): (Colour, Colour),
    lit: &dyn Fn(Colour) -> Colour,
) {
    let walls = body.h * 0.24;
    canvas.rect(body, lit([196, 178, 146, 255]));
    let upper = Rect::new(body.x, body.y, body.w, (body.h - walls) / 2.0);
    let lower = Rect::new(body.x, upper.bottom(), body.w, upper.h);
    canvas.rect(upper, roof);
    canvas.rect(lower, dark);
    let beam = (body.h * 0.025).max(1.0);
    canvas.rect(
        Rect::new(body.x, lower.bottom() - beam, body.w, beam * 1.5),
        theme::alpha(theme::OUTLINE, 0.6),
    );
    let door = Rect::new(
        body.x + body.w * 0.44,
        body.bottom() - walls * 0.86,
        body.w * 0.13,
        walls * 0.86,
    );
    canvas.rect(door, lit([74, 54, 36, 255]));
    for side in [0.14, 0.74] {
        let window = Rect::new(
            body.x + body.w * side,
            body.bottom() - walls * 0.72,
            body.w * 0.1,
            walls * 0.4,
        );
        canvas.rect(window, lit([60, 66, 74, 255]));
    }
}

/// A building under construction: a frame that fills from below.
fn foundation(canvas: &mut Canvas, look: &BuildingLook, body: Rect, edge: f32) {
    let fade = |colour: Colour| theme::alpha(colour, look.alpha);
    let own = theme::seat(look.seat);
    canvas.rect(body, fade([92, 80, 60, 200]));
    let high = body.h * look.built.clamp(0.0, 1.0);
    let filled = Rect::new(body.x, body.bottom() - high, body.w, high);
    canvas.rect(filled, fade(theme::alpha(own, 0.55)));
    canvas.frame(body, edge, fade(own));
    let beams = [
        ((body.x, body.y), (body.right(), body.bottom())),
        ((body.right(), body.y), (body.x, body.bottom())),
    ];
    for (from, to) in beams {
        canvas.line(from, to, edge, fade(theme::alpha(theme::WOOD, 0.9)));
    }
    emblem(
        canvas,
        look,
        body.w / f32::from(look.kind.stats().size.max(1)),
    );
}

/// The emblem of a building's kind, and its seat's mark.
fn emblem(canvas: &mut Canvas, look: &BuildingLook, u: f32) {
    let area = look.area;
    let (x, y) = area.centre();
    let ink = theme::alpha([250, 246, 236, 255], look.alpha);
    if !matches!(look.kind, Kind::Wall | Kind::Farm) {
        let size = u * match look.kind {
            Kind::TownHall => 1.3,
            _ if area.w > 2.5 * u => 1.0,
            _ => 0.65,
        };
        let y = match look.kind {
            Kind::Tower | Kind::House => y - u * 0.1,
            _ => y - u * 0.3,
        };
        sign(
            canvas,
            Sign::Kind(look.kind),
            (x, y),
            size,
            ink,
            theme::alpha(theme::OUTLINE, look.alpha),
        );
    }
    if look.kind == Kind::Wall {
        return;
    }
    let own = theme::seat(look.seat);
    let side = u * 0.46;
    let flag = Rect::new(area.right() - side * 1.35, area.y + side * 0.35, side, side);
    canvas.rect(
        grown(flag, (side * 0.14).max(1.0)),
        theme::alpha(theme::OUTLINE, look.alpha),
    );
    canvas.rect(flag, theme::alpha(own, look.alpha));
    let colour = theme::alpha(theme::contrast(own), look.alpha);
    theme::mark(canvas, look.seat, flag.centre(), side * 0.7, colour);
}

fn grown(area: Rect, by: f32) -> Rect {
    Rect::new(
        area.x - by,
        area.y - by,
        area.w + 2.0 * by,
        area.h + 2.0 * by,
    )
}

/// Smaller units are drawn as outlines.
const SMALL: f32 = 5.0;
/// Units of this size show their seat's mark.
const MARKED: f32 = 7.0;
const STEEL: Colour = [214, 220, 226, 255];
const BOW: Colour = [140, 96, 52, 255];
const HORSE: Colour = [120, 84, 56, 255];
const TIMBER: Colour = [132, 96, 60, 255];
const STONE: Colour = [164, 166, 170, 255];

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(draw: impl FnOnce(&mut Canvas)) -> Vec<[i32; 2]> {
        let mut canvas = Canvas::new();
        canvas.begin((200.0, 200.0), 1.0);
        draw(&mut canvas);
        let (vertices, _) = canvas.triangles();
        let place = |at: f32| (at * 100.0) as i32;
        vertices.iter().map(|v| v.at.map(place)).collect()
    }

    fn kinds(units: bool) -> Vec<Kind> {
        let wanted = |kind: &Kind| kind.is_building() != units;
        Kind::ALL.into_iter().filter(wanted).collect()
    }

    #[test]
    fn units_have_distinct_outlines_near_and_far() {
        for size in [3.0, 8.0, 30.0] {
            let shapes: Vec<_> = kinds(true)
                .into_iter()
                .map(|kind| {
                    drawn(|canvas| {
                        let look = UnitLook {
                            kind,
                            seat: 0,
                            at: (100.0, 100.0),
                            size,
                            heading: Angle::degrees(17),
                            carries: None,
                            struck: 0.0,
                        };
                        unit(canvas, &look);
                    })
                })
                .collect();
            for (place, shape) in shapes.iter().enumerate() {
                assert!(!shape.is_empty());
                assert!(shapes[..place].iter().all(|other| other != shape));
            }
        }
    }

    #[test]
    fn buildings_look_distinct_during_and_after_construction() {
        for built in [0.4, 1.0] {
            let shapes: Vec<_> = kinds(false)
                .into_iter()
                .map(|kind| {
                    drawn(|canvas| {
                        let look = BuildingLook {
                            kind,
                            seat: 0,
                            area: Rect::new(50.0, 50.0, 90.0, 90.0),
                            built,
                            struck: 0.0,
                            alpha: 1.0,
                        };
                        building(canvas, &look);
                    })
                })
                .collect();
            for (place, shape) in shapes.iter().enumerate() {
                assert!(
                    shapes[..place].iter().all(|other| other != shape),
                    "{place}"
                );
            }
        }
    }
}
