//! How much a peer's way out carries.
//!
//! All links of a peer share one way out. Where it is narrow, a packet waits there for the bytes that left just before it. Its
//! round trip is longer by that, on whichever link. How much longer round trips are for each byte, by least squares, tells
//! how many bytes a second the way out carries. Only differences between successive round trips count: they may rise and fall
//! for other reasons as well. More than half of the links must say so, for the other end of one may lie. Copies leave at once
//! only where half of what the way out carries is enough for all turn packets.

use std::time::Duration;

/// The round trips of a link.
#[derive(Default)]
pub(crate) struct Trips {
    /// The shortest one since a while, and of the while before.
    least: [Option<Duration>; 2],
    since: Duration,
    /// The bytes that the last packet waited for, and its round trip in microseconds.
    last: Option<(i64, i64)>,
    samples: i64,
    /// Means over differences between successive packets. They are of squared bytes, of squared microseconds, and of products.
    bytes_squared: i64,
    trip_squared: i64,
    product: i64,
}

/// The way out of a peer.
#[derive(Default)]
pub(crate) struct Uplink {
    /// Bytes a second that it carries, where it is narrow.
    carries: Option<u64>,
    looked_at: Duration,
    /// What waits in it, in millionths of a byte.
    waiting: u64,
    /// Bytes that may leave.
    credit: u64,
    /// When that was so.
    at: Duration,
    is_short: bool,
}

/// The shortest round trip is that of one or two such times.
const LATELY: Duration = Duration::from_secs(30);
/// Bytes of IP, UDP and QUIC around a turn packet.
const AROUND: u64 = 67;
/// Means are of about so many samples, and tell nothing before half as many.
const MOST_SAMPLES: i64 = 128;
/// Bytes must explain one part in so many of how much round trips vary.
const EXPLAINED: i128 = 12;
/// A round trip differs by no more from the one before.
const MOST_US: i64 = 1_000_000;
/// A way out that carries more bytes a second is not narrow.
const WIDE: u64 = 100_000;
/// A way out of which nothing is known is taken to carry so many bytes a second, to see whether packets wait.
const UNKNOWN: u64 = 10_000;
/// No more bytes wait in a way out: it loses more.
const MOST_WAITING: u64 = 4_000;
/// One part in so many of what the way out carries is for turn packets.
const PART: u64 = 2;
/// Fewer bytes than any copy and its answer have.
const OF_A_COPY: u64 = 300;
/// Time between two looks at all links.
const EVERY: Duration = Duration::from_millis(500);

impl Trips {
    /// A packet that waited for so many bytes had a round trip of this length.
    pub(crate) fn note(&mut self, now: Duration, ahead: u32, trip: Duration) {
        if now >= self.since + LATELY {
            self.least = [None, self.least[0]];
            self.since = now;
        }
        let before = self.least[0].unwrap_or(trip);
        self.least[0] = Some(before.min(trip));
        let sample = (i64::from(ahead), trip.as_micros() as i64);
        let Some(last) = self.last.replace(sample) else {
            return;
        };
        let more_bytes = sample.0 - last.0;
        let longer = (sample.1 - last.1).clamp(-MOST_US, MOST_US);
        self.samples = (self.samples + 1).min(MOST_SAMPLES);
        let of = self.samples;
        let mean = |mean: &mut i64, sample: i64| *mean += (sample - *mean) / of;
        mean(&mut self.bytes_squared, more_bytes * more_bytes);
        mean(&mut self.trip_squared, longer * longer);
        mean(&mut self.product, more_bytes * longer);
    }

    /// The shortest one of late.
    pub(crate) fn least(&self) -> Option<Duration> {
        self.least.iter().flatten().min().copied()
    }

    /// How many bytes a second the way out carries, up to those of a wide one: by the slope of the line of least squares.
    /// `None`: too few packets tell.
    pub(crate) fn carried(&self) -> Option<u64> {
        if self.samples * 2 < MOST_SAMPLES {
            return None;
        }
        let squared = |of: i64| i128::from(of) * i128::from(of);
        let varies = i128::from(self.bytes_squared) * i128::from(self.trip_squared);
        let is_explained = self.product > 0 && squared(self.product) * EXPLAINED > varies;
        let rate = || 1_000_000 * self.bytes_squared as u64 / self.product as u64;
        Some(if is_explained { rate().min(WIDE) } else { WIDE })
    }
}

impl Uplink {
    /// A packet of so many bytes leaves. Returns the bytes that it waits for, its own among them.
    pub(crate) fn sent(&mut self, now: Duration, bytes: usize) -> u32 {
        let bytes = bytes as u64 + AROUND;
        let passed_us = now.saturating_sub(self.at).as_micros() as u64;
        let gone = passed_us.saturating_mul(self.carries.unwrap_or(UNKNOWN));
        let waiting = self.waiting.saturating_sub(gone);
        self.waiting = waiting.min(MOST_WAITING * 1_000_000) + bytes * 1_000_000;
        self.credit = self.credit_now(now).saturating_sub(bytes);
        self.at = now;
        (self.waiting / 1_000_000) as u32
    }

    pub(crate) fn is_due(&self, now: Duration) -> bool {
        now >= self.looked_at + EVERY
    }

    /// Looks at what each link says that the way out carries. More than half of them must say that it is narrow.
    pub(crate) fn look(&mut self, now: Duration, links: &[Option<u64>]) {
        self.looked_at = now;
        let mut carry: Vec<u64> = links.iter().map(|rate| rate.unwrap_or(WIDE)).collect();
        carry.sort_unstable();
        let carries = carry.get(carry.len() / 2).copied();
        self.carries = carries.filter(|rate| *rate < WIDE);
    }

    fn credit_now(&self, now: Duration) -> u64 {
        let Some(rate) = self.carries else {
            return WIDE;
        };
        let passed_us = now.saturating_sub(self.at).as_micros() as u64;
        let earned = passed_us.saturating_mul(rate / PART) / 1_000_000;
        self.credit.saturating_add(earned).min(rate / PART)
    }

    /// Looks whether copies may leave now. That holds for all links, until the next look.
    pub(crate) fn settle(&mut self, now: Duration) {
        self.is_short = self.credit_now(now) < OF_A_COPY;
    }

    /// Whether a copy may leave only where none was acknowledged in time.
    pub(crate) fn is_short(&self) -> bool {
        self.is_short
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// What makes round trips longer, beside the way out.
    #[derive(Clone, Copy, Default)]
    struct Other {
        /// By chance, at most.
        jitter_ms: u32,
        /// For ten of forty seconds. Twice as many packets leave then, as none comes back in time.
        wave_ms: u32,
        /// By the other end of the first link, for each packet that waits.
        lie_ms: u32,
    }

    /// What is measured in 400 turns of 200 ms. In each of them three packets of 120 bytes leave at once, and one later. The way
    /// out carries so many bytes a second.
    fn carries(bytes_per_s: u32, other: Other) -> Option<u64> {
        let (mut uplink, mut links) = (Uplink::default(), [(); 3].map(|()| Trips::default()));
        let (mut free_at, mut number) = (Duration::ZERO, 0u32);
        for turn in 0..400 {
            let is_wave = turn % 200 < 50;
            let at_once = if is_wave && other.wave_ms > 0 { 6 } else { 3 };
            let later = 130 + turn % 60;
            for (at, after) in (0..=at_once).map(|at| (at, if at == at_once { later } else { 0 })) {
                let now = MS * (turn * 200 + after);
                let ahead = uplink.sent(now, 120);
                free_at = free_at.max(now) + Duration::from_secs(187) / bytes_per_s;
                number = number.wrapping_mul(1_103_515_245).wrapping_add(12_345);
                let mut trip = free_at - now + MS * (number >> 16) * other.jitter_ms / 65_536;
                let link = (at + turn) as usize % 3;
                trip += MS * u32::from(is_wave) * other.wave_ms;
                trip += MS * u32::from(link == 0) * other.lie_ms * ahead / 187;
                links[link].note(now, ahead, trip);
                if uplink.is_due(now) {
                    uplink.look(now, &links.each_ref().map(Trips::carried));
                }
            }
        }
        uplink.carries
    }

    #[test]
    fn what_a_narrow_way_out_carries_is_measured() {
        for (rate, jitter_ms) in [(5_000, 0), (8_000, 40), (20_000, 20), (50_000, 5)] {
            let other = Other {
                jitter_ms,
                ..Other::default()
            };
            let measured = carries(rate, other).expect("a narrow way out");
            let part = measured * 100 / u64::from(rate);
            assert!((80..=125).contains(&part), "{measured} of {rate}");
        }
    }

    #[test]
    fn round_trips_that_vary_for_other_reasons_tell_of_no_narrow_way_out() {
        for (jitter_ms, wave_ms, lie_ms) in [
            (0, 0, 0),
            (5, 0, 0),
            (40, 0, 0),
            (200, 0, 0),
            (5, 300, 0),
            (40, 300, 0),
            (5, 0, 30),
        ] {
            let other = Other {
                jitter_ms,
                wave_ms,
                lie_ms,
            };
            let case = format!("{jitter_ms}, {wave_ms} and {lie_ms} ms");
            assert_eq!(carries(10_000_000, other), None, "{case}");
        }
    }

    #[test]
    fn half_of_a_narrow_way_out_is_for_turn_packets() {
        let mut uplink = Uplink::default();
        let is_short = |uplink: &mut Uplink, now| {
            uplink.settle(now);
            uplink.is_short()
        };
        assert!(!is_short(&mut uplink, MS), "nothing is known of it");
        uplink.look(Duration::ZERO, &[Some(8_000), None, Some(8_000)]);
        let (mut now, mut left) = (Duration::from_secs(10), 0);
        while now < Duration::from_secs(20) {
            if !is_short(&mut uplink, now) {
                uplink.sent(now, 120);
                left += 187;
            }
            now += MS;
        }
        assert!((38_000..=44_000).contains(&left), "{left} bytes in 10 s");
        for others in [
            &[Some(8_000), Some(WIDE)][..],
            &[Some(8_000), None],
            &[Some(8_000), None, None],
            &[],
        ] {
            uplink.look(now, others);
            assert!(!is_short(&mut uplink, now), "{others:?} is no majority");
        }
    }
}
