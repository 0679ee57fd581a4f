//! The clock of a lobby's host, as a guest measures it.

use std::time::Duration;

/// Time between two probes at first, until so many are answered.
const PROBE_FIRST: Duration = Duration::from_millis(100);
const FIRST: u32 = 10;
/// Time between two probes behind those: the host takes a guest for dead that is silent.
const PROBE_EVERY: Duration = Duration::from_millis(300);
/// The round trip that is supposed as long as none is known.
const UNKNOWN: Duration = Duration::from_millis(500);

/// How far the host's clock is ahead, by the probe with the shortest round trip.
#[derive(Default)]
pub(super) struct HostClock {
    next: Duration,
    /// Answers since the clock was last to be known better.
    answers: u32,
    best: Option<(Duration, i64)>,
}

impl HostClock {
    /// When the next probe is to leave.
    pub(super) fn deadline(&self) -> Duration {
        self.next
    }

    /// Whether a probe leaves now.
    pub(super) fn probes(&mut self, now: Duration) -> bool {
        let due = now >= self.next;
        if due {
            let first = self.answers < FIRST;
            self.next = now + if first { PROBE_FIRST } else { PROBE_EVERY };
        }
        due
    }

    /// The match begins soon, by this clock.
    pub(super) fn improve(&mut self) {
        (self.answers, self.next) = (0, Duration::ZERO);
    }

    /// A probe that left at `sent` came back with the host's clock.
    pub(super) fn answered(&mut self, now: Duration, sent: Duration, clock_us: u64) {
        let Some(rtt) = now.checked_sub(sent) else {
            return;
        };
        self.answers += 1;
        let middle_us = (sent + rtt / 2).as_micros() as i64;
        let ahead_us = (clock_us as i64).saturating_sub(middle_us);
        if self.best.is_none_or(|(best, _)| rtt < best) {
            self.best = Some((rtt, ahead_us));
        }
    }

    pub(super) fn rtt(&self) -> Duration {
        self.best.map_or(UNKNOWN, |(rtt, _)| rtt)
    }

    /// A time on the host's clock, on this peer's.
    pub(super) fn here(&self, host_ms: u64) -> Duration {
        let ahead_us = self.best.map_or(0, |(_, ahead)| ahead);
        let here_us = (host_ms.saturating_mul(1_000) as i64).saturating_sub(ahead_us);
        Duration::from_micros(u64::try_from(here_us).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probe_with_the_shortest_round_trip_tells_the_clock() {
        let ms = Duration::from_millis;
        let mut clock = HostClock::default();
        assert_eq!((clock.rtt(), clock.here(70)), (UNKNOWN, ms(70)));
        clock.answered(ms(110), ms(10), 5_000_000);
        clock.answered(ms(220), ms(200), 1_210_000);
        clock.answered(ms(400), ms(300), 7_000_000);
        assert_eq!(clock.rtt(), ms(20));
        assert_eq!(clock.here(1_500), ms(500), "a second ahead");
        assert_eq!(
            clock.here(900),
            Duration::ZERO,
            "before this peer's clock began"
        );
        clock.answered(ms(1), ms(2), 0);
        assert_eq!(
            clock.rtt(),
            ms(20),
            "an answer to a probe that has not left"
        );
    }

    #[test]
    fn probes_leave_ten_times_a_second_until_the_clock_is_known_and_then_a_third_as_often() {
        let mut clock = HostClock::default();
        let mut left = |second: u64, answered: bool| {
            let times = (second * 1_000..second * 1_000 + 1_000).map(Duration::from_millis);
            let count = times.filter(|now| {
                let leaves = clock.probes(*now);
                if leaves && answered {
                    clock.answered(*now, *now, 0);
                }
                leaves
            });
            count.count()
        };
        assert_eq!(left(0, false), 10);
        assert_eq!(left(1, true), 10);
        assert_eq!(left(2, true), 4);
        clock.improve();
        assert!(clock.probes(Duration::from_secs(3)));
        assert!(clock.probes(Duration::from_millis(3_100)));
    }
}
