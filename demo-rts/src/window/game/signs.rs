//! Signs on buildings and buttons.

use super::pen::Pen;
use crate::window::canvas::{Canvas, Colour};
use crate::world::{Kind, Upgrade};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    Kind(Kind),
    Upgrade(Upgrade),
    Move,
    Attack,
    Stop,
    Hold,
    Patrol,
    Gather,
    Build,
    /// Build, repair, farm.
    Work,
    /// Attack ground.
    Shell,
    /// Enter a building.
    Enter,
    /// Unload a building.
    Leave,
    /// Set the rally point.
    Rally,
    /// Demolish.
    TearDown,
    /// Return to the previous page.
    Back,
}

/// Draws a sign with an outline, about `size` wide.
pub fn sign(canvas: &mut Canvas, sign: Sign, at: (f32, f32), size: f32, ink: Colour, edge: Colour) {
    for (grow, colour) in [(0.12, edge), (0.0, ink)] {
        let mut pen = Pen {
            canvas,
            at,
            size: size / 2.0,
            cos: 1.0,
            sin: 0.0,
        };
        draw(&mut pen, sign, grow, colour);
    }
}

fn draw_kind(pen: &mut Pen<'_>, kind: Kind, grow: f32, ink: Colour) {
    let wide = 0.2 + 2.0 * grow;
    match kind {
        Kind::TownHall => {
            let crown = grow;
            pen.shape(
                [
                    (-0.8 - crown, 0.7 + crown),
                    (-0.8 - crown, 0.1),
                    (0.8 + crown, 0.1),
                    (0.8 + crown, 0.7 + crown),
                ],
                ink,
            );
            for x in [-0.62, 0.0, 0.62] {
                pen.shape(
                    [
                        (x - 0.3 - crown, 0.2),
                        (x, -0.75 - crown * 1.5),
                        (x + 0.3 + crown, 0.2),
                    ],
                    ink,
                );
            }
        }
        Kind::House => {
            pen.shape(
                [
                    (-0.9 - grow, 0.05 + grow),
                    (0.0, -0.8 - grow * 1.5),
                    (0.9 + grow, 0.05 + grow),
                ],
                ink,
            );
            pen.shape(
                [
                    (-0.6 - grow, 0.75 + grow),
                    (-0.6 - grow, 0.0),
                    (0.6 + grow, 0.0),
                    (0.6 + grow, 0.75 + grow),
                ],
                ink,
            );
        }
        Kind::Barracks | Kind::Swordsman => {
            pen.line(
                (-0.75 - grow, 0.75 + grow),
                (0.75 + grow, -0.75 - grow),
                wide,
                ink,
            );
            pen.line(
                (0.75 + grow, 0.75 + grow),
                (-0.75 - grow, -0.75 - grow),
                wide,
                ink,
            );
            pen.line((-0.8 - grow, 0.25), (-0.25, 0.8 + grow), wide * 0.8, ink);
            pen.line((0.8 + grow, 0.25), (0.25, 0.8 + grow), wide * 0.8, ink);
        }
        Kind::Range | Kind::Archer => {
            let bow = [
                (-0.3, -0.9),
                (0.25, -0.6),
                (0.45, 0.0),
                (0.25, 0.6),
                (-0.3, 0.9),
            ];
            for ends in bow.windows(2) {
                pen.line(ends[0], ends[1], wide, ink);
            }
            pen.line((-0.9 - grow, 0.0), (0.9 + grow, 0.0), wide * 0.7, ink);
            pen.shape(
                [(1.0 + grow, 0.0), (0.55, 0.3 + grow), (0.55, -0.3 - grow)],
                ink,
            );
        }
        Kind::Stable | Kind::Knight => {
            let shoe = [
                (-0.55, 0.8),
                (-0.75, 0.1),
                (-0.5, -0.55),
                (0.0, -0.8),
                (0.5, -0.55),
                (0.75, 0.1),
                (0.55, 0.8),
            ];
            for ends in shoe.windows(2) {
                pen.line(ends[0], ends[1], wide * 1.3, ink);
            }
        }
        Kind::Tower => {
            pen.shape(
                [
                    (-0.5 - grow, 0.85 + grow),
                    (-0.5 - grow, -0.3),
                    (0.5 + grow, -0.3),
                    (0.5 + grow, 0.85 + grow),
                ],
                ink,
            );
            for x in [-0.55, 0.0, 0.55] {
                pen.shape(
                    [
                        (x - 0.2 - grow, -0.2),
                        (x - 0.2 - grow, -0.8 - grow),
                        (x + 0.2 + grow, -0.8 - grow),
                        (x + 0.2 + grow, -0.2),
                    ],
                    ink,
                );
            }
        }
        Kind::Farm => {
            pen.line((0.0, 0.9 + grow), (0.0, -0.6), wide * 0.8, ink);
            for y in [-0.5, -0.05, 0.4] {
                pen.line((0.0, y + 0.2), (-0.5 - grow, y - 0.25), wide * 0.8, ink);
                pen.line((0.0, y + 0.2), (0.5 + grow, y - 0.25), wide * 0.8, ink);
            }
        }
        Kind::Wall => {
            for (x, y) in [
                (-0.48, 0.5),
                (0.48, 0.5),
                (0.0, 0.0),
                (-0.48, -0.5),
                (0.48, -0.5),
            ] {
                let (w, h) = (0.4 + grow, 0.2 + grow);
                pen.shape(
                    [
                        (x - w, y - h),
                        (x + w, y - h),
                        (x + w, y + h),
                        (x - w, y + h),
                    ],
                    ink,
                );
            }
        }
        Kind::Catapult | Kind::Workshop => {
            pen.line((-0.8 - grow, 0.5), (0.8 + grow, 0.5), wide, ink);
            pen.line((-0.6, 0.5), (0.5, -0.6), wide, ink);
            let (at, size) = (pen.point((0.55, -0.65)), pen.size);
            pen.canvas.circle(at, size * (0.26 + grow), ink);
            for x in [-0.5, 0.5] {
                let at = pen.point((x, 0.6));
                pen.canvas.circle(at, size * (0.24 + grow), ink);
            }
        }
        Kind::Worker => {
            pen.line((-0.65 - grow, 0.8 + grow), (0.4, -0.5), wide, ink);
            let pick = [(-0.25, -0.8), (0.3, -0.75), (0.7, -0.4), (0.8, 0.25)];
            for ends in pick.windows(2) {
                pen.line(ends[0], ends[1], wide * 1.1, ink);
            }
        }
    }
}

fn draw(pen: &mut Pen<'_>, sign: Sign, grow: f32, ink: Colour) {
    let wide = 0.22 + 2.0 * grow;
    match sign {
        Sign::Kind(kind) => draw_kind(pen, kind, grow, ink),
        Sign::Upgrade(upgrade) => draw_upgrade(pen, upgrade, grow, ink),
        Sign::Move => arrow(pen, (-0.8, 0.0), 0.85, grow, ink),
        Sign::Attack => draw_kind(pen, Kind::Swordsman, grow, ink),
        Sign::Stop => square(pen, (0.0, 0.0), 0.6 + grow, ink),
        Sign::Hold => shield(pen, grow, ink),
        Sign::Patrol => {
            arrow(pen, (-0.8, -0.4), 0.85, grow, ink);
            pen.line((0.8 + grow, 0.4), (-0.5, 0.4), wide, ink);
            let tip = [
                (-0.95 - grow, 0.4),
                (-0.4, 0.05 - grow),
                (-0.4, 0.75 + grow),
            ];
            pen.shape(tip, ink);
        }
        Sign::Gather => draw_kind(pen, Kind::Worker, grow, ink),
        Sign::Build => draw_kind(pen, Kind::House, grow, ink),
        Sign::Work => {
            pen.line((-0.7 - grow, 0.8 + grow), (0.25, -0.3), wide, ink);
            let (g, head) = (grow, 0.32 + grow);
            pen.shape(
                [
                    (-0.25 - g, -0.6),
                    (0.2, -0.95 - g),
                    (0.9 + g, -0.1),
                    (0.9 - head, 0.3 + g),
                ],
                ink,
            );
        }
        Sign::Shell => draw_kind(pen, Kind::Catapult, grow, ink),
        Sign::Enter | Sign::Leave => {
            pen.line((0.75, -0.85 - grow), (0.75, 0.85 + grow), wide, ink);
            pen.line((0.2, -0.8), (0.8, -0.8), wide, ink);
            pen.line((0.2, 0.8), (0.8, 0.8), wide, ink);
            if sign == Sign::Enter {
                arrow(pen, (-0.9, 0.0), 0.4, grow, ink);
            } else {
                pen.line((0.4, 0.0), (-0.4, 0.0), wide, ink);
                let tip = [
                    (-0.9 - grow, 0.0),
                    (-0.35, -0.4 - grow),
                    (-0.35, 0.4 + grow),
                ];
                pen.shape(tip, ink);
            }
        }
        Sign::Rally => {
            pen.line((-0.5, -0.9 - grow), (-0.5, 0.9 + grow), wide, ink);
            pen.shape(
                [
                    (-0.5, -0.85 - grow),
                    (0.8 + grow * 1.5, -0.45),
                    (-0.5, -0.05 + grow),
                ],
                ink,
            );
        }
        Sign::TearDown => {
            let far = 0.65 + grow;
            pen.line((-far, -far), (far, far), wide * 1.3, ink);
            pen.line((far, -far), (-far, far), wide * 1.3, ink);
        }
        Sign::Back => {
            pen.line((0.8 + grow, 0.0), (-0.4, 0.0), wide, ink);
            let tip = [
                (-0.95 - grow, 0.0),
                (-0.25, -0.5 - grow),
                (-0.25, 0.5 + grow),
            ];
            pen.shape(tip, ink);
        }
    }
}

fn draw_upgrade(pen: &mut Pen<'_>, upgrade: Upgrade, grow: f32, ink: Colour) {
    let wide = 0.22 + 2.0 * grow;
    match upgrade {
        Upgrade::Blades => {
            pen.line((0.0, 0.35), (0.0, -0.9 - grow), wide * 1.2, ink);
            pen.line((-0.5 - grow, 0.35), (0.5 + grow, 0.35), wide, ink);
            pen.line((0.0, 0.3), (0.0, 0.9 + grow), wide, ink);
        }
        Upgrade::Armour => shield(pen, grow, ink),
        Upgrade::Fletching => {
            pen.line((-0.8 - grow, 0.8 + grow), (0.6, -0.6), wide * 0.8, ink);
            let tip = [
                (0.95 + grow, -0.95 - grow),
                (0.25 - grow, -0.7),
                (0.7, -0.2 + grow),
            ];
            pen.shape(tip, ink);
            pen.line((-0.9 - grow, 0.45), (-0.5, 0.5), wide * 0.8, ink);
            pen.line((-0.45, 0.9 + grow), (-0.5, 0.5), wide * 0.8, ink);
        }
        Upgrade::Tools => draw(pen, Sign::Work, grow, ink),
        Upgrade::Masonry => draw_kind(pen, Kind::Wall, grow, ink),
    }
}

fn arrow(pen: &mut Pen<'_>, (x, y): (f32, f32), to: f32, grow: f32, ink: Colour) {
    pen.line((x - grow, y), (to - 0.4, y), 0.22 + 2.0 * grow, ink);
    let tip = [
        (to + 0.1 + grow, y),
        (to - 0.45, y - 0.42 - grow),
        (to - 0.45, y + 0.42 + grow),
    ];
    pen.shape(tip, ink);
}

fn square(pen: &mut Pen<'_>, (x, y): (f32, f32), half: f32, ink: Colour) {
    let corners = [
        (x - half, y - half),
        (x + half, y - half),
        (x + half, y + half),
        (x - half, y + half),
    ];
    pen.shape(corners, ink);
}

fn shield(pen: &mut Pen<'_>, grow: f32, ink: Colour) {
    let g = grow;
    let corners = [
        (-0.7 - g, -0.75 - g),
        (0.7 + g, -0.75 - g),
        (0.7 + g, 0.1),
        (0.0, 0.95 + g),
        (-0.7 - g, 0.1),
    ];
    pen.shape(corners, ink);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_share_a_sign_only_with_their_trainer() {
        let drawn = |kind: Kind| {
            let mut canvas = Canvas::new();
            canvas.begin((100.0, 100.0), 1.0);
            sign(
                &mut canvas,
                Sign::Kind(kind),
                (50.0, 50.0),
                40.0,
                [255; 4],
                [0; 4],
            );
            canvas.triangles().0.to_vec()
        };
        let signs = Kind::ALL.map(|kind| (kind, drawn(kind)));
        for (a, one) in &signs {
            for (b, other) in signs.iter().filter(|(b, _)| b != a) {
                let related = a.trains().contains(b) || b.trains().contains(a);
                assert!(one != other || related, "{a:?} {b:?}");
            }
        }
    }
}
