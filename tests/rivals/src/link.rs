//! What happens to packets on one directed link, drawn from a seed.

use sim::{Seed, Stream};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Packets that a link loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loss {
    /// Each packet on its own, in percent.
    Percent(u8),
    /// Outages of 100 to 300 ms, a twentieth of the time in all.
    Bursts,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Loss::Percent(percent) => write!(f, "{percent} %"),
            Loss::Bursts => f.write_str("bursts"),
        }
    }
}

/// One cell of the measurement: players, and the network between each two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// Players, each in a process of its own.
    pub players: usize,
    /// Milliseconds from a player to another one and back.
    pub rtt_ms: u64,
    /// Packets that are lost.
    pub loss: Loss,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cell {
            players, rtt_ms, ..
        } = self;
        match self.loss {
            Loss::Percent(percent) => write!(f, "{players}p-{rtt_ms}ms-{percent}"),
            Loss::Bursts => write!(f, "{players}p-{rtt_ms}ms-bursts"),
        }
    }
}

impl FromStr for Cell {
    type Err = String;

    fn from_str(text: &str) -> Result<Cell, String> {
        let parts: Vec<&str> = text.split('-').collect();
        let read = || {
            let [players, rtt, loss] = parts[..] else {
                return None;
            };
            let loss = match loss {
                "bursts" => Loss::Bursts,
                percent => Loss::Percent(percent.parse().ok().filter(|percent| *percent <= 100)?),
            };
            let players = players.strip_suffix('p')?.parse().ok()?;
            let rtt_ms = rtt.strip_suffix("ms")?.parse().ok()?;
            (2..=8).contains(&players).then_some(Cell {
                players,
                rtt_ms,
                loss,
            })
        };
        read().ok_or_else(|| format!("{text:?} is no cell, such as 4p-100ms-1 or 8p-300ms-bursts"))
    }
}

/// One directed link. Its draws depend on the seed, on its two ends and on the number of the packet alone, or on the time
/// for outages, so all contestants meet the same losses.
pub struct Link {
    cell: Cell,
    packets: Stream,
    outages: Stream,
    /// The outage that is not over yet: when it begins and ends.
    outage: (Duration, Duration),
}

impl Link {
    /// The link between two players of a cell.
    pub fn new(cell: Cell, seed: u64, from: usize, to: usize) -> Link {
        let seed = seed_of(seed);
        let number = (from * 256 + to) as u64;
        Link {
            cell,
            packets: Stream::numbered(&seed, "packets", number),
            outages: Stream::numbered(&seed, "outages", number),
            outage: (Duration::ZERO, Duration::ZERO),
        }
    }

    /// How long the next packet takes: half of the round trip, and up to a tenth of that more or less.
    pub fn delay(&mut self) -> Duration {
        let half_us = self.cell.rtt_ms * 500;
        let spread_us = half_us / 5;
        let drawn_us = u64::from(self.packets.below(spread_us as u32 + 1));
        Duration::from_micros(half_us - spread_us / 2 + drawn_us)
    }

    /// Whether the next packet, which is sent at `now`, is lost. `now` counts from the beginning of the measurement and
    /// never goes back.
    pub fn is_lost(&mut self, now: Duration) -> bool {
        // One draw for each packet, whatever the loss: delays do not depend on it.
        let drawn = self.packets.below(100);
        match self.cell.loss {
            Loss::Percent(percent) => drawn < u32::from(percent),
            Loss::Bursts => {
                while self.outage.1 <= now {
                    // 200 ms in the mean, behind 3.8 s in the mean: a twentieth of the time.
                    let pause = Duration::from_millis(u64::from(1_900 + self.outages.below(3_801)));
                    let lasts = Duration::from_millis(u64::from(100 + self.outages.below(201)));
                    let begins = self.outage.1 + pause;
                    self.outage = (begins, begins + lasts);
                }
                self.outage.0 <= now
            }
        }
    }
}

/// The seed of streams.
pub fn seed_of(number: u64) -> Seed {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    Seed(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(text: &str) -> Cell {
        text.parse().expect("a cell")
    }

    fn losses(cell: Cell, seed: u64, to: usize) -> Vec<bool> {
        let mut link = Link::new(cell, seed, 0, to);
        let lost = |ms| {
            let lost = link.is_lost(Duration::from_millis(ms));
            link.delay();
            lost
        };
        (0..20_000).map(lost).collect()
    }

    #[test]
    fn cells_are_read_as_they_are_written() {
        for text in ["2p-0ms-0", "4p-100ms-5", "8p-300ms-bursts"] {
            assert_eq!(cell(text).to_string(), text);
        }
        for wrong in ["", "2p-0ms", "9p-0ms-0", "2p-0-0", "2p-0ms-101", "p-0ms-1"] {
            assert!(wrong.parse::<Cell>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn one_seed_loses_the_same_packets() {
        for text in ["2p-100ms-5", "2p-100ms-bursts"] {
            assert_eq!(losses(cell(text), 7, 1), losses(cell(text), 7, 1));
            assert_ne!(losses(cell(text), 7, 1), losses(cell(text), 8, 1));
            assert_ne!(losses(cell(text), 7, 1), losses(cell(text), 7, 2));
        }
    }

    #[test]
    fn losses_come_as_often_as_asked() {
        let share = |text: &str| {
            let of_seed = |seed| {
                let lost = losses(cell(text), seed, 1);
                lost.into_iter().filter(|lost| *lost).count()
            };
            (0..20).map(of_seed).sum::<usize>() as f64 / 4_000.0
        };
        assert_eq!(share("2p-0ms-0"), 0.0);
        assert!((0.9..1.1).contains(&share("2p-0ms-1")));
        assert!((4.8..5.2).contains(&share("2p-0ms-5")));
        assert!((4.0..6.0).contains(&share("2p-0ms-bursts")));
    }

    #[test]
    fn bursts_lose_packets_in_a_row() {
        let lost = losses(cell("2p-0ms-bursts"), 3, 1);
        let ends = lost.windows(2).filter(|pair| pair[0] && !pair[1]).count();
        let mean_ms = lost.iter().filter(|lost| **lost).count() / ends;
        assert!((100..=300).contains(&mean_ms), "{mean_ms}");
    }

    #[test]
    fn delay_is_half_the_round_trip_and_a_tenth_around() {
        let mut link = Link::new(cell("2p-200ms-0"), 1, 0, 1);
        let delays: Vec<Duration> = (0..10_000).map(|_| link.delay()).collect();
        let (least, most) = (delays.iter().min().unwrap(), delays.iter().max().unwrap());
        assert!((90_000..90_100).contains(&least.as_micros()), "{least:?}");
        assert!((109_900..=110_000).contains(&most.as_micros()), "{most:?}");
        let mut link = Link::new(cell("2p-0ms-0"), 1, 0, 1);
        assert_eq!(link.delay(), Duration::ZERO);
    }
}
