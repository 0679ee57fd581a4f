//! Straight lines.

use super::*;

#[test]
fn a_line_is_clear_only_if_every_tile_it_touches_is_open() {
    for seed in 0..60 {
        let mut dice = Dice(mix(seed));
        let drawing = Drawing::random(seed, 48, 2 + dice.below(8));
        let nav = drawing.nav();
        let mut point = || Point {
            x: dice.below(48 << 16) as i32,
            y: dice.below(48 << 16) as i32,
        };
        for _ in 0..40 {
            let (from, to) = (point(), point());
            let wide = nav.is_clear(from, to, ONE * 2 / 5);
            assert!(!wide || nav.is_clear(from, to, 0), "wider lines touch more");
            let touched = touched(&drawing, from, to, 0);
            if nav.is_clear(from, to, 0) {
                assert!(!touched, "{from:?} {to:?}");
            }
            if wide {
                assert!(!self::touched(&drawing, from, to, ONE * 2 / 5));
            } else {
                // A hair wider, because the samples lie apart.
                assert!(
                    self::touched(&drawing, from, to, ONE * 2 / 5 + ONE / 8),
                    "{from:?} {to:?}"
                );
            }
        }
    }
}

/// Whether samples along the line, and beside it, lie on a blocked tile.
fn touched(drawing: &Drawing, from: Point, to: Point, half_width: i32) -> bool {
    let (dx, dy) = (i64::from(to.x - from.x), i64::from(to.y - from.y));
    let length = i64::from(from.distance(to)).max(1);
    (0..=length / 4096 + 1).any(|step| {
        let along = (step * 4096).min(length);
        (-8..=8).any(|part| {
            let aside = i64::from(half_width) * part / 8;
            let x = i64::from(from.x) + dx * along / length - dy * aside / length;
            let y = i64::from(from.y) + dy * along / length + dx * aside / length;
            drawing.is_blocked((x >> 16) as i32, (y >> 16) as i32)
        })
    })
}

#[test]
fn lines_of_any_length_and_width_end() {
    let nav = Drawing::open(100).nav();
    let at = |x, y| Tile::new(x, y).centre();
    assert!(nav.is_clear(at(2, 2), at(66, 66), ONE / 3));
    assert!(!nav.is_clear(at(2, 2), at(67, 2), 0), "too long");
    assert!(
        nav.is_clear(at(5, 5), at(5, 5), i32::MAX) && nav.is_clear(at(5, 5), at(9, 5), i32::MIN)
    );
    assert!(!nav.is_clear(
        at(0, 0),
        Point {
            x: i32::MIN,
            y: i32::MAX
        },
        0
    ));
    assert!(!nav.is_clear(Point { x: i32::MIN, y: -1 }, Point { x: i32::MAX, y: 4 }, 0));
    assert!(!nav.is_clear(at(99, 99), at(100, 99), 0));
}

#[test]
fn no_line_squeezes_between_two_corners() {
    let mut drawing = Drawing::open(48);
    drawing.set(Tile::new(10, 10), true);
    drawing.set(Tile::new(11, 11), true);
    let nav = drawing.nav();
    let at = |x, y| Tile::new(x, y).centre();
    assert!(!nav.is_clear(at(11, 10), at(10, 11), 0));
    assert!(!nav.is_clear(at(8, 13), at(13, 8), 0));
}
