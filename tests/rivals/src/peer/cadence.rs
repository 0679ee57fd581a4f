//! The loop that ggrs and its fork recommend, and the input that this measurement gives them.

use super::{Shared, lock};
use crate::trace::{BYTES, Command};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// The input of a frame: a fixed number of commands, as these libraries take inputs of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slots {
    filled: u8,
    commands: [[u8; BYTES]; SLOTS],
}

/// How often a frame that is due looks for what it waits for.
const LOOKS_EVERY: Duration = Duration::from_millis(1);

/// Commands of one frame. Further commands wait for the next frame.
const SLOTS: usize = 4;

impl Slots {
    /// The commands within.
    pub fn commands(&self) -> impl Iterator<Item = Command> + '_ {
        let filled = usize::from(self.filled).min(SLOTS);
        self.commands[..filled].iter().copied()
    }
}

/// When frames are due, and what the next one holds.
pub struct Cadence {
    cadence: Duration,
    accumulated: Duration,
    last: Option<Instant>,
    latched: Option<Slots>,
}

impl Cadence {
    /// Frames of this length.
    pub fn new(cadence_ms: u64) -> Cadence {
        Cadence {
            cadence: Duration::from_millis(cadence_ms),
            accumulated: Duration::ZERO,
            last: None,
            latched: None,
        }
    }

    /// Lets time pass. A peer that is ahead of the others runs its frames a tenth slower. Returns the length of a frame.
    pub fn frame(&mut self, is_ahead: bool) -> Duration {
        let now = Instant::now();
        self.accumulated += now - *self.last.get_or_insert(now);
        self.last = Some(now);
        self.cadence * if is_ahead { 11 } else { 10 } / 10
    }

    /// Sleeps until the next frame is due, at most so long. A frame that is due waits for inputs, which are looked for each
    /// millisecond.
    pub fn wait(&self, most: Duration) {
        let due = self.cadence.saturating_sub(self.accumulated);
        std::thread::sleep(due.max(LOOKS_EVERY).min(most));
    }

    /// Whether a frame of this length is due.
    pub fn is_due(&self, frame: Duration) -> bool {
        self.accumulated > frame
    }

    /// The input of the frame that is due. It stays the same until the frame is [advanced](Self::advanced): these
    /// libraries drop an input that changes while they stall.
    pub fn input(&mut self, player: &Shared) -> Slots {
        *self.latched.get_or_insert_with(|| {
            let mut slots = Slots::default();
            for command in lock(player).take_commands(SLOTS) {
                slots.commands[usize::from(slots.filled)] = command;
                slots.filled += 1;
            }
            slots
        })
    }

    /// The frame of this length was advanced, with its input.
    pub fn advanced(&mut self, frame: Duration) {
        self.accumulated -= frame;
        self.latched = None;
    }
}

#[cfg(test)]
mod tests {
    use super::super::player::Player;
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn input_stays_until_its_frame_is_advanced() {
        let mut player = Player::new(2, 0, 5);
        player.go(Instant::now() - Duration::from_secs(60), 0, 60_000_000);
        let player = Arc::new(Mutex::new(player));
        let mut cadence = Cadence::new(200);
        let first = cadence.input(&player);
        assert_eq!(first.commands().count(), SLOTS);
        assert_eq!(cadence.input(&player), first);
        cadence.accumulated = Duration::from_millis(450);
        let frame = cadence.frame(false);
        assert!(cadence.is_due(frame));
        cadence.advanced(frame);
        assert_ne!(cadence.input(&player), first);
        let slower = cadence.frame(true);
        assert_eq!(slower.as_millis(), 220);
        cadence.advanced(slower);
        assert!(!cadence.is_due(frame));
    }
}
