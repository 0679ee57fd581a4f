//! What all peers do alike: issue the commands of the trace, step a trivial world, and note when.

use super::Done;
use crate::trace::{Command, Trace, command, origin};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::iter::Peekable;
use std::time::{Duration, Instant};

/// The world: a hash of all commands.
#[derive(Clone, Serialize, Deserialize)]
pub struct World {
    hash: u64,
    steps: u64,
    /// By player: the number of its next command.
    next: Vec<u32>,
}

impl World {
    fn new(players: usize, seed: u64) -> World {
        World {
            hash: seed,
            steps: 0,
            next: vec![0; players],
        }
    }

    /// What the libraries compare.
    pub fn checksum(&self) -> u32 {
        (self.hash ^ (self.hash >> 32)) as u32
    }

    /// Steps since the beginning.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// One bit becomes another one.
    pub fn flip(&mut self) {
        self.hash ^= 1;
    }

    /// Executes a step. Returns how many commands came twice, or not in their order. A gap is found by its player, which
    /// misses the execution.
    pub fn step(&mut self, commands: &[Command]) -> u32 {
        self.steps += 1;
        self.hash = mix(self.hash, self.steps);
        let mut disordered = 0;
        for command in commands {
            let (player, number) = origin(command);
            let halves = command.split_at(8);
            for half in [halves.0, halves.1] {
                let bytes = half.try_into().expect("half a command");
                self.hash = mix(self.hash, u64::from_le_bytes(bytes));
            }
            match self.next.get_mut(player) {
                Some(next) => {
                    disordered += u32::from(number < *next);
                    *next = number + 1;
                }
                None => disordered += 1,
            }
        }
        disordered
    }
}

/// A player, its world, and its notes.
pub struct Player {
    /// Which player this is.
    pub me: usize,
    /// Players of the match.
    pub players: usize,
    /// The world after the last step.
    pub world: World,
    /// A bit of the world flips behind the next step.
    pub flips: bool,
    /// The step behind which it has flipped, until the parent is told.
    pub flipped: Option<u64>,
    seed: u64,
    trace: Peekable<Trace>,
    /// Commands that the library has not taken yet.
    waiting: VecDeque<Command>,
    measured: Option<Measured>,
    done: Done,
    cpu_from_us: Option<u64>,
    cpu_to_us: Option<u64>,
}

struct Measured {
    begun: Instant,
    from: Duration,
    to: Duration,
}

impl Player {
    /// A player of a match that has not begun.
    pub fn new(players: usize, me: usize, seed: u64) -> Player {
        Player {
            me,
            players,
            world: World::new(players, seed),
            flips: false,
            flipped: None,
            seed,
            trace: Trace::new(seed, me).peekable(),
            waiting: VecDeque::new(),
            measured: None,
            done: Done::default(),
            cpu_from_us: None,
            cpu_to_us: None,
        }
    }

    /// The trace begins.
    pub fn go(&mut self, now: Instant, from_us: u64, to_us: u64) {
        self.measured = Some(Measured {
            begun: now,
            from: Duration::from_micros(from_us),
            to: Duration::from_micros(to_us),
        });
    }

    /// Steps executed since the beginning.
    pub fn steps(&self) -> u64 {
        self.world.steps
    }

    /// Commands that are due, at most so many. The library has taken them: they are not given again.
    pub fn take_commands(&mut self, most: usize) -> Vec<Command> {
        self.issue();
        let taken = self.waiting.len().min(most);
        self.waiting.drain(..taken).collect()
    }

    /// The time until the next command of the trace.
    pub fn next_command_in(&mut self) -> Option<Duration> {
        let measured = self.measured.as_ref()?;
        let next = self.trace.peek().filter(|at| **at < measured.to)?;
        Some(next.saturating_sub(measured.begun.elapsed()))
    }

    fn issue(&mut self) {
        if let Some(measured) = &self.measured {
            let since = measured.begun.elapsed().min(measured.to);
            while let Some(at) = self.trace.next_if(|at| *at < since) {
                let number = self.done.commands.len() as u32;
                self.waiting.push_back(command(self.seed, self.me, number));
                self.done.commands.push((at.as_micros() as u64, None));
            }
        }
    }

    /// Takes a command back that the library refused for now.
    pub fn take_back(&mut self, command: Command) {
        self.waiting.push_front(command);
    }

    /// Executes a step.
    pub fn step(&mut self, commands: impl IntoIterator<Item = Command>) {
        let now_us = self.measured.as_ref().map(|measured| {
            let since = measured.begun.elapsed();
            since.as_micros() as u64
        });
        let commands: Vec<Command> = commands.into_iter().collect();
        self.done.disordered += self.world.step(&commands);
        for (player, number) in commands.iter().map(origin) {
            if player == self.me {
                // Once the notes are handed over there are none to write in.
                let own = self.done.commands.get_mut(number as usize);
                own.into_iter().for_each(|own| own.1 = now_us);
            }
        }
        let hash = self.world.checksum();
        self.done.hashes.push(hash);
        self.done.steps_us.extend(now_us);
        if std::mem::take(&mut self.flips) {
            self.world.flip();
            self.flipped = Some(self.world.steps);
        }
    }

    /// The world of an earlier step takes the place of this one.
    pub fn load(&mut self, world: World) {
        self.done.hashes.truncate(world.steps as usize);
        self.world = world;
    }

    /// The notes, once all own commands are executed or some time has passed behind the end of the measurement.
    pub fn done(&mut self, now: Instant) -> Option<Done> {
        let measured = self.measured.as_ref()?;
        let since = now.saturating_duration_since(measured.begun);
        if since >= measured.from {
            self.cpu_from_us.get_or_insert_with(cpu_us);
        }
        let to = measured.to;
        if since < to {
            return None;
        }
        self.issue();
        let until = *self.cpu_to_us.get_or_insert_with(cpu_us);
        let waits = self
            .done
            .commands
            .iter()
            .any(|(_, executed)| executed.is_none());
        if waits && since < to + LAST_COMMANDS {
            return None;
        }
        self.done.cpu_us = until - self.cpu_from_us.unwrap_or(until);
        self.done.ended_us = since.as_micros() as u64;
        Some(std::mem::take(&mut self.done))
    }
}

fn mix(hash: u64, word: u64) -> u64 {
    (hash ^ word)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(29)
}

/// Processor time of all threads of this process.
fn cpu_us() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1_000
}

/// Commands that are executed later than this behind the measurement count as not executed.
const LAST_COMMANDS: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use super::*;

    fn player() -> Player {
        Player::new(2, 0, 5)
    }

    #[test]
    fn one_order_of_commands_gives_one_hash() {
        let commands = [command(5, 0, 0), command(5, 1, 0)];
        let of = |commands: &[Command]| {
            let mut other = Player::new(2, 1, 5);
            other.done.commands.push((0, None));
            other.step(commands.iter().copied());
            other.world.checksum()
        };
        assert_eq!(of(&commands), of(&commands));
        assert_ne!(of(&commands), of(&[commands[1], commands[0]]));
        assert_ne!(of(&commands), of(&commands[..1]));
    }

    #[test]
    fn a_flipped_bit_changes_the_checksum_and_no_earlier_hash() {
        let (mut one, mut other) = (player(), player());
        other.flips = true;
        one.step([]);
        other.step([]);
        assert_eq!(one.done.hashes, other.done.hashes);
        assert_ne!(one.world.checksum(), other.world.checksum());
        assert_eq!(other.flipped, Some(1));
    }

    #[test]
    fn commands_that_come_twice_are_counted() {
        let mut one = player();
        one.step([command(5, 1, 0), command(5, 1, 1)]);
        assert_eq!(one.done.disordered, 0);
        one.step([command(5, 1, 1)]);
        assert_eq!(one.done.disordered, 1);
    }

    #[test]
    fn commands_are_issued_when_they_are_due() {
        let mut one = player();
        assert_eq!(one.take_commands(9).len(), 0);
        let due = Trace::new(5, 0).take_while(|at| *at < Duration::from_secs(10));
        let due = due.count();
        let begun = Instant::now() - Duration::from_secs(20);
        one.go(begun, 0, 10_000_000);
        assert_eq!(one.take_commands(4).len(), 4);
        let rest = one.take_commands(usize::MAX);
        assert_eq!(rest.len(), due - 4);
        assert_eq!(origin(&rest[0]), (0, 4));
        one.step((0..due as u32).map(|number| command(5, 0, number)));
        let done = one.done(Instant::now()).expect("the time is over");
        assert!(done.commands.iter().all(|(_, executed)| executed.is_some()));
    }
}
