//! Binary angles, with sine, cosine and arc tangent from integer tables.

use crate::{Num, Vec2};
use serde::{Deserialize, Serialize};
use std::ops::{Add, Neg, Sub};

/// A direction or a rotation: 65,536 units are a full turn, so arithmetic wraps as directions do.
///
/// Zero looks along +x, a quarter turn along +y.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Angle(pub u16);

impl Angle {
    /// Along +x.
    pub const ZERO: Self = Self(0);
    /// A quarter of a turn: from +x to +y.
    pub const QUARTER: Self = Self(0x4000);
    /// Half a turn.
    pub const HALF: Self = Self(0x8000);

    /// The angle of this many degrees.
    ///
    /// ```
    /// use sim::Angle;
    /// assert_eq!(Angle::degrees(90), Angle::QUARTER);
    /// assert_eq!(Angle::degrees(-90), -Angle::QUARTER);
    /// ```
    #[must_use]
    pub const fn degrees(degrees: i32) -> Self {
        let within = degrees.rem_euclid(360) as u32;
        Self(((within * 65_536 + 180) / 360) as u16)
    }

    /// The sine, off by at most 0.53 of a [`Num`]'s last bit (8.1e-6).
    #[must_use]
    pub fn sin(self) -> Num {
        let within = self.0 & 0x3fff;
        let bits = match self.0 >> 14 {
            0 => quarter_sine(within),
            1 => quarter_sine(0x4000 - within),
            2 => -quarter_sine(within),
            _ => -quarter_sine(0x4000 - within),
        };
        Num::from_bits(bits)
    }

    /// The cosine, off by at most 0.53 of a [`Num`]'s last bit (8.1e-6).
    #[must_use]
    pub fn cos(self) -> Num {
        (self + Self::QUARTER).sin()
    }

    /// The direction of (`x`, `y`), off by at most 0.51 of an angle unit (0.0028 degrees). Zero for (0, 0).
    #[must_use]
    pub fn atan2(y: Num, x: Num) -> Self {
        let (x, y) = (x.to_bits(), y.to_bits());
        let (across, up) = (x.unsigned_abs(), y.unsigned_abs());
        let octant = eighth_arc(across.min(up), across.max(up));
        let quadrant = if up > across { 0x4000 - octant } else { octant };
        let upper = if x < 0 { 0x8000 - quadrant } else { quadrant };
        Self(if y < 0 { upper.wrapping_neg() } else { upper })
    }

    /// The unit vector that looks this way.
    #[must_use]
    pub fn direction(self) -> Vec2 {
        Vec2::new(self.cos(), self.sin())
    }

    /// The shortest rotation from here to `target`, in units: −32,768 to 32,767, positive towards +y.
    #[must_use]
    pub const fn units_to(self, target: Self) -> i16 {
        target.0.wrapping_sub(self.0) as i16
    }

    /// This angle, rotated the shortest way towards `target` by at most `most`; `target` once it is in reach.
    ///
    /// Exactly opposite, it turns the negative way.
    #[must_use]
    pub fn turn_towards(self, target: Self, most: Self) -> Self {
        let units = self.units_to(target);
        if units.unsigned_abs() <= most.0 {
            target
        } else if units < 0 {
            self - most
        } else {
            self + most
        }
    }
}

impl Add for Angle {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }
}

impl Sub for Angle {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.wrapping_sub(other.0))
    }
}

impl Neg for Angle {
    type Output = Self;

    fn neg(self) -> Self {
        Self(self.0.wrapping_neg())
    }
}

/// The sine of 0 to 16,384 units, as 16 fraction bits, interpolated and rounded.
fn quarter_sine(units: u16) -> i32 {
    let index = usize::from(units >> 4);
    let part = i32::from(units & 15);
    let low = SINES[index];
    // The last entry is met exactly, so its successor is never needed.
    let high = SINES[(index + 1).min(STEPS)];
    let fine = low + ((high - low) * part + 8) / 16;
    (fine + (1 << 13)) >> 14
}

/// The arc tangent of `part / whole`, which is at most 1: 0 to 8,192 units, rounded. Zero for 0 / 0.
fn eighth_arc(part: u32, whole: u32) -> u16 {
    let Some(ratio) = (u64::from(part) << 30).checked_div(u64::from(whole)) else {
        return 0;
    };
    let index = (ratio >> 20) as usize;
    let part = ratio & 0xf_ffff;
    let low = u64::from(ARCS[index]);
    let high = u64::from(ARCS[(index + 1).min(STEPS)]);
    let fine = low + (((high - low) * part + (1 << 19)) >> 20);
    ((fine + (1 << 15)) >> 16) as u16
}

const STEPS: usize = 1024;

/// Sines of a quarter turn in 1,024 steps, as 30 fraction bits.
static SINES: [i32; STEPS + 1] = sines();

/// Arc tangents of 0 to 1 in 1,024 steps, in angle units with 16 fraction bits.
static ARCS: [u32; STEPS + 1] = arcs();

/// One, in the tables' working precision.
const ONE: i128 = 1 << 60;

/// π in 60 fraction bits.
const PI: i128 = 3_622_009_729_038_561_421;

const fn sines() -> [i32; STEPS + 1] {
    let mut table = [0; STEPS + 1];
    let mut step = 0;
    while step <= STEPS {
        let x = PI * step as i128 / (2 * STEPS as i128);
        let square = (x * x) >> 60;
        let mut term = x;
        let mut sum = x;
        let mut n = 1;
        while n < 12 {
            term = -((term * square) >> 60) / (2 * n * (2 * n + 1));
            sum += term;
            n += 1;
        }
        table[step] = ((sum + (1 << 29)) >> 30) as i32;
        step += 1;
    }
    table
}

/// By Euler's series, whose terms at least halve over 0 to 1:
/// `atan x = x / (1 + x²) · (1 + 2/3 y + 2·4/(3·5) y² + …)` with `y = x² / (1 + x²)`.
const fn arcs() -> [u32; STEPS + 1] {
    let mut table = [0; STEPS + 1];
    let mut step = 0;
    while step <= STEPS {
        let x = ONE * step as i128 / STEPS as i128;
        let square = (x * x) >> 60;
        let y = (square << 60) / (ONE + square);
        let mut term = (x << 60) / (ONE + square);
        let mut sum = term;
        let mut n = 1;
        while n < 60 {
            term = ((term * y) >> 60) * (2 * n) / (2 * n + 1);
            sum += term;
            n += 1;
        }
        let units = (sum << 31) / PI;
        table[step] = units as u32;
        step += 1;
    }
    table
}

#[cfg(test)]
#[allow(clippy::float_arithmetic)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::f64::consts::TAU;

    #[test]
    fn sine_and_cosine_keep_their_bound_at_every_angle() {
        let mut worst = 0.0_f64;
        for units in 0..=u16::MAX {
            let turn = f64::from(units) / 65_536.0 * TAU;
            let sine = f64::from(Angle(units).sin().to_bits());
            let cosine = f64::from(Angle(units).cos().to_bits());
            worst = worst.max((sine - turn.sin() * 65_536.0).abs());
            worst = worst.max((cosine - turn.cos() * 65_536.0).abs());
        }
        assert!(worst <= 0.53, "{worst}");
    }

    fn arc_error(x: i32, y: i32) -> f64 {
        let found = Angle::atan2(Num::from_bits(y), Num::from_bits(x));
        let exact = f64::from(y).atan2(f64::from(x)) / TAU * 65_536.0;
        let off = (f64::from(found.0) - exact).rem_euclid(65_536.0);
        off.min(65_536.0 - off)
    }

    #[test]
    fn arc_tangent_keeps_its_bound_near_the_axes_and_diagonals() {
        for x in [
            i32::MIN,
            -70_000,
            -3,
            -1,
            0,
            1,
            2,
            5,
            65_536,
            99_999,
            i32::MAX,
        ] {
            for y in [
                i32::MIN,
                -70_001,
                -2,
                -1,
                0,
                1,
                3,
                7,
                65_535,
                100_000,
                i32::MAX,
            ] {
                if (x, y) != (0, 0) {
                    assert!(arc_error(x, y) <= 0.51, "{x} {y}");
                }
            }
        }
        assert_eq!(Angle::atan2(Num::ZERO, Num::ZERO), Angle::ZERO);
    }

    #[test]
    fn the_axes_are_exact() {
        assert_eq!(Angle::ZERO.direction(), Vec2::from_ints(1, 0));
        assert_eq!(Angle::QUARTER.direction(), Vec2::from_ints(0, 1));
        assert_eq!(Angle::HALF.direction(), Vec2::from_ints(-1, 0));
        assert_eq!((-Angle::QUARTER).direction(), Vec2::from_ints(0, -1));
        for units in (0..4).map(|quarter| Angle(quarter * 0x4000)) {
            assert_eq!(units.direction().angle(), units);
        }
    }

    #[test]
    fn turning_takes_the_short_way() {
        let step = Angle(10);
        assert_eq!(Angle(5).turn_towards(Angle(65_530), step), Angle(65_531));
        assert_eq!(Angle(5).turn_towards(Angle(65_531), step), Angle(65_531));
        assert_eq!(Angle(0).turn_towards(Angle::HALF, step), Angle(65_526));
        assert_eq!(Angle(0).turn_towards(Angle::HALF, Angle::HALF), Angle::HALF);
        assert_eq!(Angle(100).turn_towards(Angle(300), step), Angle(110));
    }

    proptest! {
        #[test]
        fn arc_tangent_keeps_its_bound(x: i32, y: i32, shift in 0..31) {
            let (x, y) = (x >> shift, y >> shift);
            prop_assume!((x, y) != (0, 0));
            prop_assert!(arc_error(x, y) <= 0.51);
        }

        #[test]
        fn turning_arrives(from: u16, to: u16, most in 1_u16..) {
            let mut at = Angle(from);
            let turns = 32_768 / u32::from(most) + 1;
            for _ in 0..turns {
                at = at.turn_towards(Angle(to), Angle(most));
            }
            prop_assert_eq!(at, Angle(to));
        }
    }
}
