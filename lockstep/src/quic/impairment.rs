//! Links made worse on purpose, repeatably.
//!
//! What becomes of a packet is drawn from a seed and depends only on when and how long packets are, so a run can be
//! repeated as far as its traffic can.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How bad the way out is. As text: `delay=50ms,jitter=10ms,loss=5%,dup=1%,reorder=1%,burst=100ms,rate=100kB,seed=7`,
/// any of them, in any order.
///
/// ```
/// let bad: lockstep::quic::Impairment = "delay=50ms,loss=5%".parse()?;
/// assert_eq!(bad.loss_ppm, 50_000);
/// assert_eq!(bad.to_string(), "delay=50ms,loss=5%");
/// # Ok::<(), lockstep::quic::ImpairmentError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Impairment {
    /// How long every packet takes; at most 10 s.
    pub delay: Duration,
    /// How much longer or shorter it may take, evenly spread; at most 10 s. Packets may overtake each other by it.
    pub jitter: Duration,
    /// Packets lost, in millionths; at most 1,000,000.
    pub loss_ppm: u32,
    /// Mean length of an outage in whole milliseconds, rounded up; at most 10 s. Zero: each packet is lost or not on its
    /// own. Otherwise outages come and go so that `loss_ppm` of the time falls into one, and are longer than asked for
    /// where that share needs it.
    pub burst: Duration,
    /// Packets doubled, in millionths; at most 1,000,000.
    pub duplicate_ppm: u32,
    /// Packets held back by another 1–30 ms, in millionths; at most 1,000,000.
    pub reorder_ppm: u32,
    /// Bytes per second, headers counted; 1,000 to 1,000,000,000, or `None` for no bound. What would wait for longer
    /// than half a second is lost.
    pub rate_bytes_per_s: Option<u64>,
    /// What everything is drawn from.
    pub seed: u64,
}

/// A text that describes no impairment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImpairmentError {
    /// A part that is no `name=value`.
    #[error("`{part}` is no name=value: write for instance delay=50ms,loss=5%")]
    NotAPair {
        /// The part.
        part: String,
    },
    /// A name that means nothing.
    #[error("`{name}` is unknown: use delay, jitter, loss, burst, dup, reorder, rate or seed")]
    UnknownName {
        /// The name.
        name: String,
    },
    /// A name given twice.
    #[error("`{name}` is given twice")]
    Twice {
        /// The name.
        name: &'static str,
    },
    /// A value that cannot be read or is out of range.
    #[error("`{name}={value}` is not allowed: {allowed}")]
    Value {
        /// The name.
        name: &'static str,
        /// Its value.
        value: String,
        /// What it may be.
        allowed: &'static str,
    },
    /// More than one line without an address.
    #[error("two lines are for all ways out: begin one with `to ADDRESS`")]
    TwoForAll,
    /// No address of a way out.
    #[error("`{address}` is no address: write a line such as `to 127.0.0.1:4001 loss=5%`")]
    Address {
        /// What stands in its place.
        address: String,
    },
    /// An address given twice, or too many of them.
    #[error("{address} is one too many: give each address once, and at most {most}")]
    Addresses {
        /// The address.
        address: std::net::SocketAddr,
        /// Addresses that may be given.
        most: usize,
    },
}

impl FromStr for Impairment {
    type Err = ImpairmentError;

    /// An empty text is no impairment at all.
    fn from_str(text: &str) -> Result<Impairment, ImpairmentError> {
        let mut impairment = Impairment::default();
        let mut given = Vec::new();
        for part in text.split(',').map(str::trim) {
            if text.trim().is_empty() {
                break;
            }
            let (name, value) = part.split_once('=').ok_or(ImpairmentError::NotAPair {
                part: part.to_owned(),
            })?;
            let name = *NAMES.iter().find(|known| **known == name).ok_or_else(|| {
                ImpairmentError::UnknownName {
                    name: name.to_owned(),
                }
            })?;
            if given.contains(&name) {
                return Err(ImpairmentError::Twice { name });
            }
            given.push(name);
            impairment
                .set(name, value)
                .map_err(|allowed| ImpairmentError::Value {
                    name,
                    value: value.to_owned(),
                    allowed,
                })?;
        }
        Ok(impairment)
    }
}

impl Impairment {
    /// Sets one value, or says what is allowed.
    fn set(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        match name {
            "delay" => self.delay = parse_span(value).ok_or(SPAN)?,
            "jitter" => self.jitter = parse_span(value).ok_or(SPAN)?,
            "burst" => self.burst = parse_span(value).ok_or(SPAN)?,
            "loss" => self.loss_ppm = parse_percent(value).ok_or(PERCENT)?,
            "dup" => self.duplicate_ppm = parse_percent(value).ok_or(PERCENT)?,
            "reorder" => self.reorder_ppm = parse_percent(value).ok_or(PERCENT)?,
            "rate" => self.rate_bytes_per_s = Some(parse_rate(value).ok_or(RATE)?),
            _ => self.seed = value.parse().map_err(|_| SEED)?,
        }
        Ok(())
    }
}

impl fmt::Display for Impairment {
    /// What differs from no impairment, in the form that can be parsed again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        for (name, span) in [("delay", self.delay), ("jitter", self.jitter)] {
            if !span.is_zero() {
                parts.push(format!("{name}={}", span_text(span)));
            }
        }
        for (name, ppm) in [
            ("loss", self.loss_ppm),
            ("dup", self.duplicate_ppm),
            ("reorder", self.reorder_ppm),
        ] {
            if ppm != 0 {
                parts.push(format!("{name}={}", percent_text(ppm)));
            }
        }
        if !self.burst.is_zero() {
            parts.push(format!("burst={}", span_text(self.burst)));
        }
        if let Some(rate) = self.rate_bytes_per_s {
            parts.push(format!("rate={}", rate_text(rate)));
        }
        if self.seed != 0 {
            parts.push(format!("seed={}", self.seed));
        }
        f.write_str(&parts.join(","))
    }
}

/// The impaired way out of one socket. Time counts from its beginning and never goes back.
#[derive(Debug)]
pub(super) struct Path {
    impairment: Impairment,
    draws: Draws,
    outage: bool,
    /// Whole milliseconds up to which outages have been drawn.
    drawn_ms: u64,
    /// When the rate lets the next packet out.
    free: Duration,
}

/// When the copies of a packet arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Lost,
    Once(Duration),
    Twice(Duration, Duration),
}

impl Verdict {
    pub(super) fn copies(self) -> impl Iterator<Item = Duration> {
        let (first, second) = match self {
            Verdict::Lost => (None, None),
            Verdict::Once(due) => (Some(due), None),
            Verdict::Twice(first, second) => (Some(first), Some(second)),
        };
        first.into_iter().chain(second)
    }
}

impl Path {
    pub(super) fn new(impairment: Impairment) -> Path {
        let mut path = Path {
            draws: Draws::new(impairment.seed),
            impairment,
            outage: false,
            drawn_ms: 0,
            free: Duration::ZERO,
        };
        path.outage = path.draws.happens(impairment.loss_ppm);
        path
    }

    /// What becomes of a packet of `len` bytes that is sent at `now`.
    pub(super) fn verdict(&mut self, now: Duration, len: usize) -> Verdict {
        let Some(out) = self.leave(now, len) else {
            return Verdict::Lost;
        };
        if self.is_lost(now) {
            return Verdict::Lost;
        }
        let first = self.arrival(out);
        if self.draws.happens(self.impairment.duplicate_ppm) {
            Verdict::Twice(first, self.arrival(out))
        } else {
            Verdict::Once(first)
        }
    }

    /// When the packet has left at the given rate; `None` if the queue is full.
    fn leave(&mut self, now: Duration, len: usize) -> Option<Duration> {
        let Some(rate) = self.impairment.rate_bytes_per_s else {
            return Some(now);
        };
        let begins = self.free.max(now);
        if begins.saturating_sub(now) > LONGEST_QUEUE {
            return None;
        }
        let bytes = len as u64 + HEADERS;
        let takes = Duration::from_nanos(bytes.saturating_mul(NANOS_PER_S) / rate.max(1));
        self.free = begins.saturating_add(takes);
        Some(self.free)
    }

    fn is_lost(&mut self, now: Duration) -> bool {
        let Impairment {
            loss_ppm, burst, ..
        } = self.impairment;
        let loss = u64::from(loss_ppm);
        if burst.is_zero() || loss >= MILLION {
            return self.draws.happens(loss_ppm);
        }
        // A pause between two outages lasts a millisecond or more: that bounds outages from below.
        let burst_ms = as_us(burst)
            .div_ceil(1_000)
            .max(loss.div_ceil(MILLION - loss));
        let now_ms = as_ms(now);
        if now_ms.saturating_sub(self.drawn_ms) > LONGEST_WALK_MS {
            // After so long the earlier state says nothing about this one.
            self.outage = self.draws.happens(loss_ppm);
            self.drawn_ms = now_ms;
        }
        // An outage ends in each millisecond with 1 / burst. Beginning with loss / (1 - loss) / burst makes `loss` the
        // share of time within outages. In millionths, an outage that is rare and long would never begin.
        const ONE: u64 = MILLION * MILLION;
        let ends = ONE / burst_ms;
        let begins = ONE / (MILLION - loss) * loss / burst_ms;
        while self.drawn_ms < now_ms {
            self.drawn_ms += 1;
            let turns = if self.outage { ends } else { begins };
            if self.draws.below(ONE) < turns {
                self.outage = !self.outage;
            }
        }
        self.outage
    }

    fn arrival(&mut self, out: Duration) -> Duration {
        let jitter_us = as_us(self.impairment.jitter);
        let spread = self.draws.below(jitter_us * 2 + 1);
        let held_us = if self.draws.happens(self.impairment.reorder_ppm) {
            SHORTEST_HOLD_US + self.draws.below(HOLD_SPREAD_US)
        } else {
            0
        };
        let takes_us = (as_us(self.impairment.delay) + spread).saturating_sub(jitter_us) + held_us;
        out.saturating_add(Duration::from_micros(takes_us))
    }
}

/// Random numbers from a seed: the output stream of BLAKE3, which is the same on every machine.
struct Draws(blake3::OutputReader);

impl Draws {
    fn new(seed: u64) -> Draws {
        let mut hasher = blake3::Hasher::new_derive_key("lockstep impairment 1");
        hasher.update(&seed.to_le_bytes());
        Draws(hasher.finalize_xof())
    }

    /// A number below `bound`, which is far enough below 2^64 for the remainder to favour none; 0 for a bound of 0.
    fn below(&mut self, bound: u64) -> u64 {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        u64::from_le_bytes(bytes).checked_rem(bound).unwrap_or(0)
    }

    fn happens(&mut self, ppm: u32) -> bool {
        self.below(MILLION) < u64::from(ppm)
    }
}

impl fmt::Debug for Draws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Draws").field(&self.0.position()).finish()
    }
}

fn parse_span(text: &str) -> Option<Duration> {
    let us = if let Some(number) = text.strip_suffix("us") {
        number.parse::<u64>().ok()?
    } else if let Some(number) = text.strip_suffix("ms") {
        parse_decimal(number, 3)?
    } else {
        parse_decimal(text.strip_suffix('s')?, 6)?
    };
    Some(Duration::from_micros(us)).filter(|span| *span <= LONGEST_SPAN)
}

fn parse_percent(text: &str) -> Option<u32> {
    let ppm = parse_decimal(text.strip_suffix('%')?, 4)?;
    u32::try_from(ppm)
        .ok()
        .filter(|ppm| u64::from(*ppm) <= MILLION)
}

fn parse_rate(text: &str) -> Option<u64> {
    let (number, decimals) = if let Some(number) = text.strip_suffix("MB") {
        (number, 6)
    } else if let Some(number) = text.strip_suffix("kB") {
        (number, 3)
    } else {
        (text.strip_suffix('B')?, 0)
    };
    parse_decimal(number, decimals).filter(|rate| RATES.contains(rate))
}

/// Reads `12.34` as a whole number of its last decimal: 12,340 for three decimals.
fn parse_decimal(text: &str, decimals: u32) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let places = u32::try_from(fraction.len()).ok()?;
    if whole.is_empty() || !digits(whole) || !digits(fraction) || places > decimals {
        return None;
    }
    if text.ends_with('.') {
        return None;
    }
    let fraction: u64 = if fraction.is_empty() {
        0
    } else {
        fraction.parse().ok()?
    };
    let scaled = whole
        .parse::<u64>()
        .ok()?
        .checked_mul(10u64.pow(decimals))?;
    scaled.checked_add(fraction.checked_mul(10u64.pow(decimals - places))?)
}

fn span_text(span: Duration) -> String {
    let us = as_us(span);
    if us.is_multiple_of(1_000_000) {
        format!("{}s", us / 1_000_000)
    } else if us.is_multiple_of(1_000) {
        format!("{}ms", us / 1_000)
    } else {
        format!("{us}us")
    }
}

fn percent_text(ppm: u32) -> String {
    let text = format!("{}.{:04}", ppm / 10_000, ppm % 10_000);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}%")
}

fn rate_text(rate: u64) -> String {
    if rate.is_multiple_of(1_000_000) {
        format!("{}MB", rate / 1_000_000)
    } else if rate.is_multiple_of(1_000) {
        format!("{}kB", rate / 1_000)
    } else {
        format!("{rate}B")
    }
}

/// Capped where values may come from code and not from text.
fn as_us(span: Duration) -> u64 {
    u64::try_from(span.min(LONGEST_SPAN).as_micros()).expect("the longest span fits 64 bits")
}

fn as_ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

const NAMES: [&str; 8] = [
    "delay", "jitter", "loss", "burst", "dup", "reorder", "rate", "seed",
];
const SPAN: &str = "give 0 to 10 s, as 50ms, 0.5s or 200us";
const PERCENT: &str = "give 0 to 100 %, as 5% or 0.25%";
const RATE: &str = "give 1kB to 1000MB per second, as 100kB";
const SEED: &str = "give a whole number from 0 to 2^64 - 1";

const LONGEST_SPAN: Duration = Duration::from_secs(10);
const RATES: std::ops::RangeInclusive<u64> = 1_000..=1_000_000_000;
/// What a rate lets wait.
const LONGEST_QUEUE: Duration = Duration::from_millis(500);
const LONGEST_WALK_MS: u64 = 60_000;
const SHORTEST_HOLD_US: u64 = 1_000;
const HOLD_SPREAD_US: u64 = 29_001;
const MILLION: u64 = 1_000_000;
const NANOS_PER_S: u64 = 1_000_000_000;
/// Bytes of an IPv4 and a UDP header.
const HEADERS: u64 = 28;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn verdicts(text: &str, count: u64, every: Duration) -> Vec<(Duration, Verdict)> {
        let mut path = Path::new(text.parse().unwrap());
        (0..count)
            .map(|n| every * u32::try_from(n).unwrap())
            .map(|now| (now, path.verdict(now, 100)))
            .collect()
    }

    fn lost(verdicts: &[(Duration, Verdict)]) -> usize {
        verdicts
            .iter()
            .filter(|(_, verdict)| *verdict == Verdict::Lost)
            .count()
    }

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn no_impairment_changes_nothing() {
        for (now, verdict) in verdicts("", 1_000, MS) {
            assert_eq!(verdict, Verdict::Once(now));
        }
    }

    #[test]
    fn one_seed_gives_one_run() {
        let text = "delay=50ms,jitter=10ms,loss=5%,dup=1%,reorder=1%,burst=100ms,rate=100kB,seed=";
        let run = |seed: u32| verdicts(&format!("{text}{seed}"), 2_000, MS);
        assert_eq!(run(7), run(7));
        assert_ne!(run(7), run(8));
    }

    #[test]
    fn loss_and_duplicates_come_as_often_as_asked() {
        let seen = verdicts("loss=5%,dup=10%,seed=3", 100_000, MS);
        let twice = seen
            .iter()
            .filter(|(_, verdict)| matches!(verdict, Verdict::Twice(..)))
            .count();
        assert!((4_700..=5_300).contains(&lost(&seen)), "{}", lost(&seen));
        assert!((9_000..=10_000).contains(&twice), "{twice}");
        assert_eq!(lost(&verdicts("loss=100%", 1_000, MS)), 1_000);
        assert_eq!(lost(&verdicts("loss=100%,burst=5ms", 1_000, MS)), 1_000);
    }

    #[test]
    fn bursts_keep_the_share_and_have_the_length() {
        let seen = verdicts("loss=5%,burst=100ms,seed=11", 2_000_000, MS);
        let outages = seen
            .windows(2)
            .filter(|pair| pair[0].1 != Verdict::Lost && pair[1].1 == Verdict::Lost)
            .count();
        let share_ppm = lost(&seen) / 2;
        let mean_ms = lost(&seen) / outages;
        assert!((40_000..=60_000).contains(&share_ppm), "{share_ppm}");
        assert!((85..=115).contains(&mean_ms), "{mean_ms}");
    }

    #[test]
    fn rare_bursts_keep_their_share() {
        let seen = verdicts("loss=0.5%,burst=10s,seed=12", 400_000, MS * 100);
        let share_ppm = lost(&seen) * 5 / 2;
        assert!((3_000..=7_000).contains(&share_ppm), "{share_ppm}");
    }

    #[test]
    fn delay_and_jitter_stay_in_their_range() {
        let mut least = Duration::MAX;
        let mut most = Duration::ZERO;
        for (now, verdict) in verdicts("delay=50ms,jitter=10ms", 10_000, MS) {
            let takes = verdict.copies().next().unwrap() - now;
            least = least.min(takes);
            most = most.max(takes);
        }
        assert!(least >= MS * 40 && least < MS * 41, "{least:?}");
        assert!(most <= MS * 60 && most > MS * 59, "{most:?}");
    }

    #[test]
    fn a_packet_held_back_is_overtaken() {
        let seen = verdicts("reorder=10%,seed=5", 10_000, MS);
        let held = seen
            .iter()
            .filter(|(now, verdict)| *verdict != Verdict::Once(*now))
            .count();
        assert!((850..=1_150).contains(&held), "{held}");
    }

    #[test]
    fn a_rate_delays_and_then_loses() {
        let mut path = Path::new("rate=100kB".parse().unwrap());
        let first = path.verdict(Duration::ZERO, 972);
        assert_eq!(first, Verdict::Once(MS * 10));
        let passed = (1..1_000)
            .filter(|_| path.verdict(Duration::ZERO, 972) != Verdict::Lost)
            .count();
        assert_eq!(passed, 50, "half a second's worth waits");
        assert!(path.verdict(Duration::from_secs(1), 972) != Verdict::Lost);
    }

    #[test]
    fn bad_text_is_named() {
        for (text, message) in [
            ("delay", "`delay` is no name=value"),
            ("delay=1ms,", "`` is no name=value"),
            ("speed=3", "`speed` is unknown"),
            ("loss=1%,loss=2%", "`loss` is given twice"),
            ("loss=5", "`loss=5` is not allowed: give 0 to 100 %"),
            ("loss=101%", "`loss=101%`"),
            ("loss=-1%", "`loss=-1%`"),
            ("loss=0.00001%", "`loss=0.00001%`"),
            ("delay=11s", "`delay=11s`"),
            ("delay=50", "`delay=50`"),
            ("delay=99999999999999999999s", "`delay=9"),
            ("jitter=.5s", "`jitter=.5s`"),
            ("jitter=5.s", "`jitter=5.s`"),
            ("rate=1B", "`rate=1B` is not allowed: give 1kB"),
            ("seed=-1", "`seed=-1`"),
        ] {
            let error = text.parse::<Impairment>().unwrap_err().to_string();
            assert!(error.starts_with(message), "{text}: {error}");
        }
    }

    #[test]
    fn decimals_are_read_exactly() {
        let read: Impairment = " delay=0.5s, jitter=1.25ms,loss=0.0001%,rate=1.5MB "
            .parse()
            .unwrap();
        assert_eq!(read.delay, Duration::from_millis(500));
        assert_eq!(read.jitter, Duration::from_micros(1_250));
        assert_eq!(read.loss_ppm, 1);
        assert_eq!(read.rate_bytes_per_s, Some(1_500_000));
    }

    proptest! {
        #[test]
        fn text_round_trips(
            delay in 0u64..=10_000_000, jitter in 0u64..=10_000_000, burst in 0u64..=10_000_000,
            loss_ppm in 0u32..=1_000_000, duplicate_ppm in 0u32..=1_000_000, reorder_ppm in 0u32..=1_000_000,
            rate_bytes_per_s in prop::option::of(1_000u64..=1_000_000_000), seed: u64,
        ) {
            let impairment = Impairment {
                delay: Duration::from_micros(delay),
                jitter: Duration::from_micros(jitter),
                burst: Duration::from_micros(burst),
                loss_ppm, duplicate_ppm, reorder_ppm, rate_bytes_per_s, seed,
            };
            prop_assert_eq!(impairment.to_string().parse(), Ok(impairment));
        }

        #[test]
        fn any_text_gets_an_answer(text in "[a-z=,.%0-9 kMB]{0,40}|.{0,20}") {
            let _ = text.parse::<Impairment>();
        }

        #[test]
        fn any_value_gets_a_verdict(
            delay: Duration, jitter: Duration, burst: Duration, loss_ppm: u32, rate: Option<u64>, seed: u64,
            packets in prop::collection::vec((any::<u32>(), 0usize..70_000), 0..20),
        ) {
            let mut path = Path::new(Impairment {
                delay, jitter, burst, loss_ppm, duplicate_ppm: loss_ppm, reorder_ppm: loss_ppm, rate_bytes_per_s: rate, seed,
            });
            let mut now = Duration::ZERO;
            for (step_us, len) in packets {
                now += Duration::from_micros(step_us.into());
                for due in path.verdict(now, len).copies() {
                    prop_assert!(due >= now);
                }
            }
        }
    }
}
