//! Figures out of times: percentiles, and what counts as a stall.

/// The value that a share of the samples does not exceed: the nearest rank.
pub fn percentile(samples: &mut [f64], share: f64) -> Option<f64> {
    samples.sort_by(f64::total_cmp);
    let rank = (share * samples.len() as f64).ceil() as usize;
    samples.get(rank.saturating_sub(1)).copied()
}

/// The range in which the percentile lies with 95 % of certainty, as far as samples are drawn on their own: by the ranks of
/// the binomial distribution.
pub fn range_of_percentile(samples: &mut [f64], share: f64) -> Option<(f64, f64)> {
    samples.sort_by(f64::total_cmp);
    let count = samples.len() as f64;
    let spread = 1.96 * (count * share * (1.0 - share)).sqrt();
    let last = samples.len().checked_sub(1)?;
    let at = |rank: f64| samples[(rank.max(1.0) as usize - 1).min(last)];
    Some((
        at((count * share - spread).floor()),
        at((count * share + spread).ceil() + 1.0),
    ))
}

/// The time in which no step was executed although one was due.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stalls {
    /// Milliseconds of all stalls.
    pub total_ms: f64,
    /// Milliseconds of the longest one.
    pub longest_ms: f64,
}

/// Stalls between `from` and `to`, in microseconds, of a peer that executed steps at these times. A step may be late by
/// a tenth of the cadence and 5 ms: the loop of ggrs slows down by so much on purpose, and a machine has other work.
/// A later one stalls for all the time beyond the cadence.
pub fn stalls(steps_us: &[u64], from_us: u64, to_us: u64, cadence_us: u64) -> Stalls {
    let mut stalls = Stalls::default();
    let within = steps_us.iter().copied().filter(|at| *at < to_us);
    let before = within.clone().take_while(|at| *at < from_us).last();
    let mut last = before.unwrap_or(from_us);
    for at in within.filter(|at| *at >= from_us).chain([to_us]) {
        // Of a gap that reaches into the time of the measurement, only that part counts.
        let gap = at.saturating_sub(last);
        if gap > cadence_us + cadence_us / 10 + 5_000 {
            let due = (last + cadence_us).max(from_us);
            let late_ms = at.saturating_sub(due) as f64 / 1_000.0;
            stalls.total_ms += late_ms;
            stalls.longest_ms = stalls.longest_ms.max(late_ms);
        }
        last = at;
    }
    stalls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        let mut samples: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(percentile(&mut samples, 0.5), Some(50.0));
        assert_eq!(percentile(&mut samples, 0.95), Some(95.0));
        assert_eq!(percentile(&mut samples, 1.0), Some(100.0));
        assert_eq!(percentile(&mut [7.0], 0.01), Some(7.0));
        assert_eq!(percentile(&mut [], 0.5), None);
    }

    #[test]
    fn ranges_of_percentiles_narrow_with_samples() {
        let range = |count: u32| {
            let mut samples: Vec<f64> = (1..=count)
                .map(|at| f64::from(at) / f64::from(count))
                .collect();
            range_of_percentile(&mut samples, 0.95).expect("samples")
        };
        let (low, high) = range(100);
        assert!((0.89..=0.92).contains(&low) && high == 1.0, "{low} {high}");
        let (low, high) = range(10_000);
        assert!(
            (0.945..0.947).contains(&low) && (0.953..0.956).contains(&high),
            "{low} {high}"
        );
        assert_eq!(range_of_percentile(&mut [], 0.95), None);
    }

    fn of(steps_ms: &[u64]) -> Stalls {
        let steps: Vec<u64> = steps_ms.iter().map(|ms| ms * 1_000).collect();
        stalls(&steps, 1_000_000, 2_000_000, 200_000)
    }

    #[test]
    fn steps_in_time_stall_nothing() {
        assert_eq!(
            of(&[800, 1_000, 1_200, 1_425, 1_640, 1_850]),
            Stalls::default()
        );
    }

    #[test]
    fn a_late_step_stalls_for_the_time_beyond_the_cadence() {
        let stalled = of(&[800, 1_000, 1_300, 1_310, 1_500, 1_700, 1_900]);
        assert_eq!(
            stalled,
            Stalls {
                total_ms: 100.0,
                longest_ms: 100.0
            }
        );
        let twice = of(&[1_000, 1_300, 1_700, 1_900]);
        assert_eq!(
            twice,
            Stalls {
                total_ms: 300.0,
                longest_ms: 200.0
            }
        );
    }

    #[test]
    fn stalls_count_within_the_measurement_alone() {
        // Late since 700: the time from 1,000 on counts.
        assert_eq!(
            of(&[500, 1_150, 1_350, 1_550, 1_750, 1_950]).total_ms,
            150.0
        );
        // No step after 1,400, and one behind the end.
        assert_eq!(of(&[1_000, 1_200, 1_400, 2_500]).total_ms, 400.0);
        assert_eq!(of(&[]).longest_ms, 800.0);
    }
}
