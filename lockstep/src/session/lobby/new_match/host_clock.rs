//! The clock of a lobby's host, as a guest measures it.

use std::time::Duration;

/// Time between two probes.
const PROBE_EVERY: Duration = Duration::from_millis(100);
/// The round trip that is supposed as long as none is known.
const UNKNOWN: Duration = Duration::from_millis(500);

/// How far the host's clock is ahead, by the probe with the shortest round trip.
#[derive(Default)]
pub(super) struct HostClock {
    next: Duration,
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
            self.next = now + PROBE_EVERY;
        }
        due
    }

    /// A probe that left at `sent` came back with the host's clock.
    pub(super) fn answered(&mut self, now: Duration, sent: Duration, clock_us: u64) {
        let Some(rtt) = now.checked_sub(sent) else {
            return;
        };
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
    fn a_probe_leaves_ten_times_a_second() {
        let mut clock = HostClock::default();
        let left = (0..1_000).filter(|ms| clock.probes(Duration::from_millis(*ms)));
        assert_eq!(left.count(), 10);
    }
}
