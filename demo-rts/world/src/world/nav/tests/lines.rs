//! Straight lines.

use super::*;

#[test]
fn a_line_is_clear_only_if_every_tile_it_touches_is_open() {
    for seed in 0..60 {
        let mut dice = Dice(mix(seed));
        let drawing = Drawing::random(seed, 48, 2 + dice.below(8));
        let nav = drawing.nav();
        let mut part = || Num::from_bits(dice.below(48 << 16) as i32);
        for _ in 0..40 {
            let (from, to) = (Vec2::new(part(), part()), Vec2::new(part(), part()));
            let clear = nav.is_clear(from, to);
            assert_eq!(clear, nav.is_clear(to, from), "{from:?} {to:?}");
            if clear {
                assert!(!touched(&drawing, from, to, 0), "{from:?} {to:?}");
            } else {
                // A hair wider, because the samples lie apart.
                let hair = Num::lit("0.125").to_bits();
                assert!(touched(&drawing, from, to, hair), "{from:?} {to:?}");
            }
        }
    }
}

/// Whether samples along the line, and beside it, lie on a blocked tile.
fn touched(drawing: &Drawing, from: Vec2, to: Vec2, half_width: i32) -> bool {
    let way = to - from;
    let length = i64::from(way.length().to_bits()).max(1);
    (0..=length / 4096 + 1).any(|step| {
        let along = (step * 4096).min(length);
        (-8..=8).any(|part| {
            let aside = i64::from(half_width) * part / 8;
            let (dx, dy) = (i64::from(way.x.to_bits()), i64::from(way.y.to_bits()));
            let x = i64::from(from.x.to_bits()) + dx * along / length - dy * aside / length;
            let y = i64::from(from.y.to_bits()) + dy * along / length + dx * aside / length;
            drawing.is_blocked((x >> 16) as i32, (y >> 16) as i32)
        })
    })
}

#[test]
fn lines_of_any_length_end() {
    let nav = Drawing::open(100).nav();
    let at = |x, y| Tile::new(x, y).centre();
    let low = Vec2::new(Num::MIN, -Num::DELTA);
    assert!(nav.is_clear(at(2, 2), at(66, 66)) && nav.is_clear(at(5, 5), at(5, 5)));
    assert!(!nav.is_clear(at(2, 2), at(67, 2)), "too long");
    assert!(!nav.is_clear(at(0, 0), Vec2::new(Num::MIN, Num::MAX)));
    assert!(!nav.is_clear(low, Vec2::new(Num::MAX, Num::ONE)));
    assert!(!nav.is_clear(at(0, 0), at(0, 0) - Vec2::from_ints(1, 0)));
    assert!(!nav.is_clear(at(99, 99), at(100, 99)));
}

#[test]
fn no_line_squeezes_between_two_corners() {
    let mut drawing = Drawing::open(48);
    drawing.set(Tile::new(10, 10), true);
    drawing.set(Tile::new(11, 11), true);
    let nav = drawing.nav();
    let at = |x, y| Tile::new(x, y).centre();
    assert!(!nav.is_clear(at(11, 10), at(10, 11)));
    assert!(!nav.is_clear(at(8, 13), at(13, 8)));
}
