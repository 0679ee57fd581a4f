//! The one place that runs code compiled for wider vectors than every machine has.

use super::scan::{self, Sensed};
use crate::world::{
    World,
    movement::{self, Known, Moving},
};

/// What the scan of bodies from `from` on finds out, with the widest vectors that this machine has.
pub fn scan(w: &World, from: usize, out: &mut [Sensed]) {
    #[cfg(target_arch = "x86_64")]
    if !w.plain && is_x86_feature_detected!("avx2") {
        #[allow(unsafe_code, reason = "the compiler cannot see the check above")]
        // SAFETY: the only requirement of the function is AVX2, which was just found.
        unsafe {
            scan_avx2(w, from, out);
        }
        return;
    }
    scan::scan_part(w, from, out);
}

/// The same code, compiled with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn scan_avx2(w: &World, from: usize, out: &mut [Sensed]) {
    scan::scan_part(w, from, out);
}

/// Moves some units, with the widest vectors that this machine has.
pub fn move_part(w: &World, known: &Known, from: usize, part: Moving<'_>) {
    #[cfg(target_arch = "x86_64")]
    if !w.plain && is_x86_feature_detected!("avx2") {
        #[allow(unsafe_code, reason = "the compiler cannot see the check above")]
        // SAFETY: the only requirement of the function is AVX2, which was just found.
        unsafe {
            move_part_avx2(w, known, from, part);
        }
        return;
    }
    movement::move_part(w, known, from, part);
}

/// The same code, compiled with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn move_part_avx2(w: &World, known: &Known, from: usize, part: Moving<'_>) {
    movement::move_part(w, known, from, part);
}
