//! `Num`, its exact products, and roots.

use super::{nums, stream};
use crate::lines::{Lines, put_text};
use sim::{Num, Sink, Square, Sum, Wide, isqrt, length_of, sqrt};

pub(super) fn trace(lines: &mut Lines) {
    let pairs = || {
        let nums = nums();
        let others = nums.clone();
        nums.into_iter()
            .flat_map(move |a| others.clone().into_iter().map(move |b| (a, b)))
    };
    lines.sum("sim/num/order", |sum| {
        for (a, b) in pairs() {
            sum.value(a.cmp(&b) as i8);
            sum.column(&[a.min(b), a.max(b)]);
        }
    });
    lines.sum("sim/num/sums", |sum| {
        for (a, b) in pairs() {
            sum.column(&[a.saturating_add(b), a.saturating_sub(b)]);
            sum.column(&[a.wrapping_add(b), a.wrapping_sub(b)]);
            put_option(sum, a.checked_add(b));
            put_option(sum, a.checked_sub(b));
        }
    });
    lines.sum("sim/num/products", |sum| {
        for (a, b) in pairs() {
            sum.column(&[a.saturating_mul(b), a.wrapping_mul(b)]);
            put_option(sum, a.checked_mul(b));
            sum.value(a.wide_mul(b).to_bits());
        }
    });
    lines.sum("sim/num/quotients", |sum| {
        for (a, b) in pairs() {
            put_option(sum, a.checked_div(b));
            put_option(sum, a.checked_rem(b));
            put_option(sum, a.checked_rem_euclid(b));
            if b != 0 {
                sum.column(&[a.saturating_div(b), a.wrapping_div(b)]);
            }
        }
    });
    lines.sum("sim/num/shapes", |sum| {
        for a in nums() {
            put_option(sum, a.checked_floor());
            put_option(sum, a.checked_ceil());
            put_option(sum, a.checked_round());
            sum.column(&[a.wrapping_abs(), a.saturating_neg(), a.signum(), a.frac()]);
            sum.value(a.saturating_to_num::<i32>());
            sum.value(a.saturating_to_num::<u8>());
            for shift in 0..32 {
                sum.column(&[a.wrapping_shl(shift), a.wrapping_shr(shift)]);
            }
        }
        for whole in [i32::MIN, -32_769, -32_768, -1, 0, 1, 32_767, 32_768] {
            sum.value(Num::saturating_from_num(whole));
            put_option(sum, Num::checked_from_num(whole));
        }
    });
    lines.sum("sim/num/text", |sum| {
        for a in nums() {
            let text = a.to_string();
            put_text(sum, &text);
            put_text(sum, &format!("{a:?} {a:.3} {a:x}"));
            sum.value(text.parse().unwrap_or(Num::MIN));
        }
        for text in [
            "0.1",
            "-0.00001",
            "32767.99999",
            "32768",
            "-32768",
            "1e3",
            "",
            "x",
        ] {
            put_option(sum, text.parse().ok());
        }
    });
    lines.sum("sim/wide", |sum| {
        let mut before = Wide::MIN;
        for (a, b) in pairs() {
            let product = a.wide_mul(b);
            sum.value(product.cmp(&before) as i8);
            sum.value(product.saturating_add(before).to_bits());
            sum.value(product.saturating_sub(before).to_bits());
            sum.value(product.wrapping_add(before).to_bits());
            sum.value(product.saturating_to_num::<Num>());
            before = product;
        }
    });
    lines.sum("sim/isqrt", |sum| {
        for value in squares() {
            sum.value(isqrt(value));
        }
    });
    lines.sum("sim/sqrt", |sum| {
        for value in squares() {
            sum.value(sqrt(Wide::from_bits(value as i64)));
            sum.value(length_of(Square::from_bits(value)));
        }
        for (a, b) in pairs() {
            sum.value(sqrt(a.wide_mul(b)));
        }
    });
}

/// Numbers around every power of two and its square, the ends, and random ones of every size.
fn squares() -> Vec<u64> {
    let mut values = vec![0, u64::MAX, u64::MAX - 1, i64::MAX as u64];
    for shift in 0..32 {
        for root in [1_u64 << shift, (1 << shift) - 1, (1 << shift) + 1] {
            let square = root * root;
            values.extend([square.wrapping_sub(1), square, square + 1]);
        }
    }
    let mut random = stream("squares");
    for shift in 0..64 {
        values.extend((0..200).map(|_| random.next_u64() >> shift));
    }
    values
}

fn put_option(sum: &mut Sum, value: Option<Num>) {
    sum.value(u8::from(value.is_some()));
    sum.value(value.unwrap_or_default());
}
