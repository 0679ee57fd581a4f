//! Negative controls: two mistakes that the proof must detect. Their features switch them on.

#[cfg(not(feature = "control-libm"))]
use sim::{Angle, Num};

/// The bytes of a number in a column.
pub(crate) fn column_bytes(value: u32) -> [u8; 4] {
    if cfg!(feature = "control-native-endian") {
        value.to_ne_bytes()
    } else {
        value.to_le_bytes()
    }
}

/// A damped oscillation: a fading sine.
#[cfg(not(feature = "control-libm"))]
pub(crate) fn swing(step: u16) -> u64 {
    let fading = Num::from_bits(i32::from(u16::MAX - step));
    u64::from((Angle(step.wrapping_mul(769)).sin() * fading).to_bits() as u32)
}

/// The same with the machine's own functions, compared to the last bit.
#[cfg(feature = "control-libm")]
pub(crate) fn swing(step: u16) -> u64 {
    let at = f64::from(step);
    ((at * 0.7).sin() * (-at / 9_000.0).exp()).to_bits()
}
