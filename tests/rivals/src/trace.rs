//! The commands of the players: one seeded schedule, the same for all contestants.

use crate::link::seed_of;
use sim::Stream;
use std::time::Duration;

/// Bytes of a command.
pub const BYTES: usize = 16;

/// A command as it travels: its player, its number, and bytes that do not compress.
pub type Command = [u8; BYTES];

/// The command of a player with a number, as the trace of the seed has it.
pub fn command(seed: u64, player: usize, number: u32) -> Command {
    let mut command = [0; BYTES];
    command[0] = player as u8;
    command[1..5].copy_from_slice(&number.to_le_bytes());
    let which = ((player as u64) << 32) | u64::from(number);
    let mut stream = Stream::numbered(&seed_of(seed), "command", which);
    command[5..].fill_with(|| stream.below(256) as u8);
    command
}

/// The player and the number of a command.
pub fn origin(command: &Command) -> (usize, u32) {
    let number = [command[1], command[2], command[3], command[4]];
    (usize::from(command[0]), u32::from_le_bytes(number))
}

/// When a player issues its commands. A player is busy for 2 to 6 s, at 2 to 5 commands a second, and idle for 1 to 4 s.
pub struct Trace {
    stream: Stream,
    next: Duration,
    busy_until: Duration,
    /// Mean time between commands while the player is busy.
    every_ms: u32,
}

impl Trace {
    /// The trace of a player.
    pub fn new(seed: u64, player: usize) -> Trace {
        let mut trace = Trace {
            stream: Stream::numbered(&seed_of(seed), "trace", player as u64),
            next: Duration::ZERO,
            busy_until: Duration::ZERO,
            every_ms: 0,
        };
        trace.next = trace.drawn(0, 1_000);
        trace.begin();
        trace
    }

    fn drawn(&mut self, least_ms: u32, most_ms: u32) -> Duration {
        let ms = least_ms + self.stream.below(most_ms - least_ms + 1);
        Duration::from_millis(ms.into())
    }

    fn begin(&mut self) {
        self.busy_until = self.next + self.drawn(2_000, 6_000);
        self.every_ms = 1_000 / (2 + self.stream.below(4));
    }
}

impl Iterator for Trace {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let now = self.next;
        // Up to half as much time more or less. Commands at the same phase of every turn would measure one phase alone.
        let us = self.every_ms * 500 + self.stream.below(self.every_ms * 1_000);
        self.next += Duration::from_micros(us.into());
        if self.next >= self.busy_until {
            let idle = self.drawn(1_000, 4_000);
            self.next += idle;
            self.begin();
        }
        Some(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(seed: u64, player: usize) -> Vec<Duration> {
        Trace::new(seed, player).take(1_000).collect()
    }

    #[test]
    fn a_seed_and_a_player_give_one_trace() {
        assert_eq!(first(1, 0), first(1, 0));
        assert_ne!(first(1, 0), first(2, 0));
        assert_ne!(first(1, 0), first(1, 1));
    }

    #[test]
    fn commands_come_in_order_with_idle_gaps() {
        let times = first(3, 1);
        assert!(times.is_sorted());
        let gaps: Vec<u128> = times
            .windows(2)
            .map(|pair| (pair[1] - pair[0]).as_millis())
            .collect();
        assert!(gaps.iter().all(|gap| (100..5_000).contains(gap)));
        let idle = gaps.iter().filter(|gap| **gap >= 1_000).count();
        assert!((40..200).contains(&idle), "{idle}");
        let per_second = times.len() as f64 / times.last().unwrap().as_secs_f64();
        assert!((1.5..3.5).contains(&per_second), "{per_second}");
    }

    #[test]
    fn a_command_tells_its_origin() {
        assert_eq!(origin(&command(9, 7, 70_000)), (7, 70_000));
        assert_eq!(command(9, 7, 1), command(9, 7, 1));
        assert_ne!(command(9, 7, 1)[5..], command(9, 7, 2)[5..]);
    }
}
