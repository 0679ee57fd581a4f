//! Samples of all seats over time, for graphs of a replay or of the match just played.

use crate::world::{TICKS_PER_SECOND, World};
use lockstep::Seat;
use std::collections::BTreeMap;

/// All seats at one tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    pub tick: u64,
    /// In the order of the world.
    pub seats: Vec<SeatSample>,
}

/// One seat at one tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeatSample {
    /// Cost of its soldiers, gold and wood.
    pub army: u32,
    /// Gold and wood gathered since the start.
    pub gathered: u32,
    /// Commands issued since counting began.
    pub actions: u32,
}

impl Sample {
    /// Samples all seats. `issued` counts the commands of a seat so far.
    pub fn of(tick: u64, world: &World, issued: impl Fn(Seat) -> u32) -> Sample {
        let mut army: BTreeMap<Seat, u32> = BTreeMap::new();
        for unit in world.units().filter(|unit| unit.kind.is_soldier()) {
            let stats = unit.kind.stats();
            *army.entry(unit.seat).or_default() += stats.gold + stats.wood;
        }
        let seats = world.seats().map(|seat| SeatSample {
            army: army.get(&seat.seat).copied().unwrap_or(0),
            gathered: seat.gathered,
            actions: issued(seat.seat),
        });
        let seats = seats.collect();
        Sample { tick, seats }
    }
}

/// Commands of a seat, by its index, in the minute before a tick.
pub fn actions_a_minute(samples: &[Sample], place: usize, tick: u64) -> u32 {
    let minute = u64::from(60 * TICKS_PER_SECOND);
    let at = |tick: u64| {
        let after = samples.partition_point(|sample| sample.tick <= tick);
        let sample = after.checked_sub(1).map(|at| &samples[at]);
        let stand = sample.and_then(|sample| sample.seats.get(place));
        stand.map_or(0, |stand| stand.actions)
    };
    at(tick).saturating_sub(at(tick.saturating_sub(minute)))
}

/// Samples of a running match in bounded memory: above a limit, every second sample is dropped and the interval
/// doubles.
#[derive(Clone, Debug)]
pub struct Samples {
    /// Ascending.
    taken: Vec<Sample>,
    /// Least number of ticks between samples.
    every: u64,
}

impl Default for Samples {
    fn default() -> Samples {
        Samples {
            taken: Vec::new(),
            every: u64::from(TICKS_PER_SECOND),
        }
    }
}

impl Samples {
    /// Takes a sample if one is due; call it often. `issued` as for [`Sample::of`].
    pub fn follow(&mut self, tick: u64, world: &World, issued: impl Fn(Seat) -> u32) {
        // A retraction took these turns back.
        self.taken.truncate(self.before(tick + 1));
        let last = self.taken.last();
        if last.is_none_or(|last| tick >= last.tick + self.every) {
            self.push(Sample::of(tick, world, issued));
        }
    }

    /// Takes the last sample, regardless of the interval.
    pub fn end(&mut self, tick: u64, world: &World, issued: impl Fn(Seat) -> u32) {
        self.taken.truncate(self.before(tick));
        self.push(Sample::of(tick, world, issued));
    }

    /// Ascending.
    pub fn all(&self) -> &[Sample] {
        &self.taken
    }

    fn before(&self, tick: u64) -> usize {
        self.taken.partition_point(|sample| sample.tick < tick)
    }

    fn push(&mut self, sample: Sample) {
        if self.taken.len() >= MOST_SAMPLES {
            let mut place = 0;
            self.taken.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.every *= 2;
        }
        self.taken.push(sample);
    }
}

/// About the largest number of samples of a match.
pub const MOST_SAMPLES: usize = 1_500;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::graphs::Graph;

    const SECOND: u64 = TICKS_PER_SECOND as u64;

    fn ticks(samples: &Samples) -> Vec<u64> {
        samples.all().iter().map(|sample| sample.tick).collect()
    }

    #[test]
    fn samples_of_a_long_match_are_bounded_and_span_it() {
        let world = World::of_two();
        let mut samples = Samples::default();
        let end = 40_000 * SECOND;
        for tick in (0..end).step_by(7) {
            samples.follow(tick, &world, |seat| u32::from(seat.0) + tick as u32);
            assert!(samples.all().len() <= MOST_SAMPLES);
        }
        samples.end(end, &world, |_| 9);
        let taken = ticks(&samples);
        assert!(taken.len() > MOST_SAMPLES / 2 && taken.len() <= MOST_SAMPLES);
        assert_eq!((taken[0], taken[taken.len() - 1]), (0, end));
        let apart = taken.array_windows().map(|[one, next]| next - one);
        let (mut least, mut most) = (u64::MAX, 0);
        for ticks in apart.take(taken.len() - 2) {
            (least, most) = (least.min(ticks), most.max(ticks));
        }
        assert!(most < least * 2, "{least} to {most} ticks apart");
        let second = &samples.all()[1];
        assert_eq!(u64::from(second.seats[1].actions), second.tick + 1);
    }

    #[test]
    fn a_retraction_removes_samples() {
        let world = World::of_two();
        let mut samples = Samples::default();
        for tick in 0..=10 * SECOND {
            samples.follow(tick, &world, |_| 1);
        }
        samples.follow(7 * SECOND + 3, &world, |_| 2);
        let until_seven: Vec<u64> = (0..=7).map(|second| second * SECOND).collect();
        assert_eq!(ticks(&samples), until_seven);
        samples.follow(8 * SECOND, &world, |_| 2);
        assert_eq!(samples.all().last().unwrap().seats[0].actions, 2);
        // The last tick is sampled once, in its final state.
        samples.end(8 * SECOND, &world, |_| 3);
        assert_eq!(samples.all().len(), 9);
        assert_eq!(samples.all().last().unwrap().seats[0].actions, 3);
    }

    #[test]
    fn a_late_start_shows_no_peak() {
        let world = World::of_two();
        let mut samples = Samples::default();
        let came = 600 * SECOND;
        // Commands and resources from before the first sample do not count.
        let issued = |tick: u64| move |_| 5_000 + (tick / SECOND) as u32;
        for tick in came..came + 120 * SECOND {
            samples.follow(tick, &world, issued(tick));
        }
        let values = Graph::Actions.values(samples.all(), 0);
        assert_eq!(values[0], (came, 0.0));
        let most = values.iter().map(|(_, value)| *value).fold(0.0, f32::max);
        assert!((59.0..=61.0).contains(&most), "{most} a minute");
        let last = came + 119 * SECOND;
        assert_eq!(actions_a_minute(samples.all(), 0, last), 60);
    }
}
