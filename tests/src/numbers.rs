//! Programs that print figures. None of them passes or fails.

pub mod click;
pub mod lost;
pub mod network;
pub mod orders;
pub mod recording;
pub mod rejoin;
pub mod stopped;
pub mod world;

/// The median and the quantile `share` (0–1) of some samples; `None` without samples.
pub fn median_and(samples: &mut [f64], share: f64) -> Option<(f64, f64)> {
    samples.sort_by(f64::total_cmp);
    let last = samples.len().checked_sub(1)?;
    Some((samples[last / 2], samples[(last as f64 * share) as usize]))
}

fn now() -> std::time::Instant {
    std::time::Instant::now()
}
