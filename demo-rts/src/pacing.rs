//! When a bot thinks and acts: at a person's pace, independent of turns and frames.

use crate::bot::{self, Level};
use crate::world::{Command, World};
use lockstep::{Plan, Seat};
use std::collections::VecDeque;
use std::time::Duration;

/// A bot's control of one seat.
pub struct BotHands {
    seat: Seat,
    level: Level,
    draws: Draws,
    next_thought: Duration,
    /// Commands of the last thought, with their times of issue.
    intended: VecDeque<(Duration, Command)>,
}

impl BotHands {
    pub fn new(seat: Seat, level: Level, seed: u64) -> BotHands {
        BotHands {
            seat,
            level,
            draws: Draws::new(seed ^ u64::from(seat.0).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            next_thought: Duration::ZERO,
            intended: VecDeque::new(),
        }
    }

    pub fn seat(&self) -> Seat {
        self.seat
    }

    /// The commands to issue at `now`, which never goes backward.
    pub fn act(&mut self, now: Duration, world: &World, plan: &Plan) -> Vec<Command> {
        if now >= self.next_thought {
            self.think(now, world, plan);
        }
        let mut due = Vec::new();
        while self.intended.front().is_some_and(|(at, _)| *at <= now) {
            due.extend(self.intended.pop_front().map(|(_, command)| command));
        }
        due
    }

    /// When `act` has work again.
    pub fn next_at(&self) -> Duration {
        let intended = self.intended.front().map(|(at, _)| *at);
        intended.map_or(self.next_thought, |at| at.min(self.next_thought))
    }

    /// Thinks again once a healthy network has executed this thought's commands: an earlier world would make the
    /// bot issue them twice.
    fn think(&mut self, now: Duration, world: &World, plan: &Plan) {
        self.intended.clear();
        let span = self.draws.between(self.span());
        let seen = plan.turn() * (u32::from(plan.delay_turns) + 1);
        self.next_thought = now + span + seen;
        let commands = bot::think(world, self.seat, self.level);
        let mut times: Vec<Duration> = commands
            .iter()
            .map(|_| now + self.draws.between((Duration::ZERO, span)))
            .collect();
        times.sort_unstable();
        self.intended = times.into_iter().zip(commands).collect();
    }

    fn span(&self) -> (Duration, Duration) {
        let (least, most) = match self.level {
            Level::Easy => (1_500, 4_000),
            Level::Normal => (400, 1_600),
            Level::Hard => (200, 800),
        };
        (Duration::from_millis(least), Duration::from_millis(most))
    }
}

/// A small random generator.
pub struct Draws(u64);

impl Draws {
    pub fn new(seed: u64) -> Draws {
        Draws(seed)
    }

    /// Uniform between the two.
    fn between(&mut self, (least, most): (Duration, Duration)) -> Duration {
        let span = u64::try_from(most.saturating_sub(least).as_micros()).unwrap_or(u64::MAX);
        least + Duration::from_micros(self.next() % span.saturating_add(1).max(1))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }
}

/// A seed that differs from run to run.
pub fn any_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(seed: u64) -> Vec<Duration> {
        let world = World::of_two();
        let mut hands = BotHands::new(Seat(1), Level::Hard, seed);
        let mut times = Vec::new();
        for ms in 0..20_000 {
            let now = Duration::from_millis(ms);
            times.extend(hands.act(now, &world, &Plan::default()).iter().map(|_| now));
        }
        times
    }

    #[test]
    fn times_repeat_with_the_seed_and_cover_a_turn() {
        let first = times(3);
        assert_eq!(first, times(3));
        assert_ne!(first, times(4));
        let mut quarters = [0; 4];
        for seed in 0..40 {
            for time in times(seed) {
                quarters[(time.as_millis() % 200 / 50) as usize] += 1;
            }
        }
        let all: i32 = quarters.iter().sum();
        assert!(all > 400, "{all}");
        assert!(
            quarters.iter().all(|n| n * 4 > all / 2 && n * 4 < all * 2),
            "{quarters:?}"
        );
    }
}
