//! The one place that runs code compiled for wider vectors than every machine has.

use super::scan::{self, Sensed};
use crate::world::World;

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
