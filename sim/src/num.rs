//! The world's numbers: 16.16 fixed point, and exact integer roots.

use fixed::types::extra::{U16, U32};

/// A position, a velocity, a ratio: 16.16 fixed point, −32,768 to just under 32,768 in steps of 1/65,536.
///
/// Its operators panic on overflow, like every integer of the world, in a release build by two settings of the game's
/// profile: see [`determinism`](crate::determinism). Where an input can reach the limits, say what happens there:
/// `saturating_add`, `wrapping_mul`, `checked_div`.
pub type Num = fixed::FixedI32<U16>;

/// An exact product of two [`Num`]s, from `wide_mul`. Cheap to make; do not multiply two of these.
pub type Wide = fixed::FixedI64<U32>;

/// An exact square of a length: what [`Num`] squared and doubled needs, without a sign.
pub type Square = fixed::FixedU64<U32>;

/// The largest integer whose square is at most `value`. Exact for every input.
#[inline]
#[must_use]
pub const fn isqrt(value: u64) -> u32 {
    value.isqrt() as u32
}

/// The square root, rounded down. Exact to 1/65,536; zero below zero; [`Num::MAX`] where it would not fit.
///
/// ```
/// use sim::{Num, sqrt};
/// let nine = Num::from_num(3).wide_mul(Num::from_num(3));
/// assert_eq!(sqrt(nine), 3);
/// ```
#[inline]
#[must_use]
pub fn sqrt(value: Wide) -> Num {
    let bits = u64::try_from(value.to_bits()).unwrap_or(0);
    saturated(u64::from(isqrt(bits)))
}

/// The length that has this square, rounded down; [`Num::MAX`] where it would not fit.
#[inline]
#[must_use]
pub fn length_of(square: Square) -> Num {
    saturated(u64::from(isqrt(square.to_bits())))
}

#[inline]
fn saturated(bits: u64) -> Num {
    Num::from_bits(i32::try_from(bits).unwrap_or(i32::MAX))
}

/// Brings 64 bits back into a [`Num`] by saturating.
#[inline]
pub(crate) fn narrowed(bits: i64) -> Num {
    Num::from_bits(bits.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// In a release build that holds by the profile of the crate `fixed` alone.
    #[test]
    fn operators_panic_on_overflow_in_every_build() {
        type Operator = fn(Num) -> Num;
        let operators: [(&str, Operator); 7] = [
            ("+", |most| most + Num::ONE),
            ("-", |most| -most - Num::ONE),
            ("*", |most| most * Num::lit("1.5")),
            ("/", |most| most / Num::lit("0.5")),
            ("*=", |mut most| {
                most *= Num::lit("1.5");
                most
            }),
            ("* 2", |most| most * 2),
            ("from_num", |most| Num::from_num(most.to_num::<i32>() * 2)),
        ];
        for (name, operator) in operators {
            let most = std::hint::black_box(Num::MAX);
            let panics = std::panic::catch_unwind(|| operator(most)).is_err();
            assert!(panics, "{name} wraps");
        }
    }

    #[test]
    fn roots_at_the_edges() {
        assert_eq!(isqrt(0), 0);
        assert_eq!(isqrt(u64::MAX), u32::MAX);
        assert_eq!(sqrt(Wide::MIN), 0);
        assert_eq!(sqrt(Wide::MAX), Num::MAX);
        assert_eq!(length_of(Square::MAX), Num::MAX);
        assert_eq!(sqrt(Num::MAX.wide_mul(Num::MAX)), Num::MAX);
    }

    #[test]
    fn roots_around_every_power_of_two_square() {
        for shift in 0..32 {
            let root = 1_u64 << shift;
            assert_eq!(u64::from(isqrt(root * root)), root);
            assert_eq!(u64::from(isqrt(root * root - 1)), root - 1);
        }
    }

    proptest! {
        #[test]
        fn isqrt_is_exact(value: u64) {
            let root = u128::from(isqrt(value));
            prop_assert!(root * root <= u128::from(value));
            prop_assert!((root + 1) * (root + 1) > u128::from(value));
        }

        #[test]
        fn sqrt_undoes_a_square(bits in 0..=i32::MAX) {
            let length = Num::from_bits(bits);
            prop_assert_eq!(sqrt(length.wide_mul(length)), length);
        }

        #[test]
        fn narrowing_saturates(bits: i64) {
            let expected = i128::from(bits).clamp(i128::from(i32::MIN), i128::from(i32::MAX));
            prop_assert_eq!(i128::from(narrowed(bits).to_bits()), expected);
        }
    }
}
