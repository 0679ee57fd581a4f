//! What this peer's machine needs for a tick, measured: what its batches report for metering.

use crate::session::MAX_LOAD;
use std::collections::VecDeque;
use std::time::Duration;

/// A measurement covers at least so long.
const PERIOD: Duration = Duration::from_secs(1);
/// With so many turns handed out and not executed the world runs as fast as it can.
const FLAT_OUT: usize = 3;

/// The load of this peer's machine. What lasts for one period only is a hiccup, which the turns that wait take in: the
/// lesser of the last two periods counts.
pub(super) struct Load {
    /// Turns that were handed out before this peer's part began: how fast they are executed says nothing.
    backlog: u32,
    /// Ticks of the turns that were handed out since and are not executed.
    handed_out: VecDeque<u8>,
    since: Duration,
    executed_at: Duration,
    busy: Duration,
    ticks: u32,
    /// Whether the turn that is executed now follows the last one at once.
    flat_out: bool,
    last: [u16; 2],
}

impl Load {
    pub(super) fn new(now: Duration, backlog: u32) -> Self {
        Load {
            backlog,
            handed_out: VecDeque::new(),
            since: now,
            executed_at: now,
            busy: Duration::ZERO,
            ticks: 0,
            flat_out: false,
            last: [0; 2],
        }
    }

    pub(super) fn handed_out(&mut self, ticks: u8) {
        self.handed_out.push_back(ticks);
    }

    /// Turns that are handed out and not executed are taken back.
    pub(super) fn take_back(&mut self) {
        self.handed_out.clear();
    }

    /// The world executed the next turn and stepped for this long. While it lies behind, all its time counts: what the
    /// game does between two steps is part of what it needs.
    pub(super) fn executed(&mut self, now: Duration, step: Duration) {
        if self.backlog > 0 {
            self.backlog -= 1;
            (self.since, self.executed_at) = (now, now);
            return;
        }
        let between = now.saturating_sub(self.executed_at).min(PERIOD);
        self.busy += if self.flat_out {
            step.max(between)
        } else {
            step
        };
        self.ticks += u32::from(self.handed_out.pop_front().unwrap_or(0));
        self.executed_at = now;
        self.flat_out = self.handed_out.len() >= FLAT_OUT;
        if self.ticks > 0 && now >= self.since + PERIOD {
            let load = self.busy.as_micros() * 16 / 1_000 / u128::from(self.ticks);
            self.last = [self.last[1], load.min(MAX_LOAD.into()) as u16];
            self.since = now;
            self.busy = Duration::ZERO;
            self.ticks = 0;
        }
    }

    /// Sixteenths of a millisecond per tick; 0 before anything was measured.
    pub(super) fn report(&self) -> u16 {
        self.last[0].min(self.last[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: Duration = Duration::from_millis(200);

    /// Executes turns of four ticks, one every `every`, with so many waiting behind each.
    fn run(load: &mut Load, from: u32, turns: u32, every: Duration, step_ms: u64, behind: usize) {
        for turn in from..from + turns {
            while load.handed_out.len() <= behind {
                load.handed_out(4);
            }
            load.executed(every * (turn + 1), Duration::from_millis(4 * step_ms));
        }
    }

    #[test]
    fn lasting_load_is_reported_and_a_hiccup_is_not() {
        let mut load = Load::new(Duration::ZERO, 0);
        run(&mut load, 0, 4, TURN, 70, 0);
        assert_eq!(load.report(), 0, "nothing is known before two periods");
        run(&mut load, 4, 6, TURN, 70, 0);
        assert_eq!(load.report(), 70 * 16);
        run(&mut load, 10, 10, TURN, 3, 0);
        assert_eq!(load.report(), 3 * 16);
        run(&mut load, 20, 1, TURN, 3_000, 0);
        run(&mut load, 21, 20, TURN, 3, 0);
        assert_eq!(load.report(), 3 * 16);
    }

    #[test]
    fn world_that_lags_counts_all_its_time() {
        let mut load = Load::new(Duration::ZERO, 0);
        run(&mut load, 0, 20, TURN, 10, 4);
        assert_eq!(load.report(), 50 * 16, "a turn of four ticks in 200 ms");
        let mut load = Load::new(Duration::ZERO, 0);
        run(&mut load, 0, 20, TURN, 10, 2);
        assert_eq!(load.report(), 10 * 16);
    }

    #[test]
    fn a_window_that_is_dragged_is_no_slow_machine() {
        let mut load = Load::new(Duration::ZERO, 0);
        run(&mut load, 0, 20, TURN, 5, 0);
        load.executed(
            TURN * 20 + Duration::from_secs(6),
            Duration::from_millis(20),
        );
        for turn in 0..30 {
            load.handed_out(4);
            load.executed(
                TURN * 20 + Duration::from_secs(6) + Duration::from_millis(20 * turn),
                Duration::from_millis(20),
            );
        }
        assert_eq!(load.report(), 5 * 16);
    }

    #[test]
    fn turns_before_its_part_are_not_measured() {
        let mut load = Load::new(Duration::ZERO, 2_000);
        for turn in 0..2_000 {
            if turn % 1_000 == 0 {
                load.handed_out(4);
            }
            load.executed(TURN / 40 * turn, TURN / 40);
        }
        assert_eq!(load.report(), 0);
        run(&mut load, 50, 20, TURN, 3, 0);
        assert_eq!(load.report(), 3 * 16);
    }

    #[test]
    fn paused_turns_measure_nothing() {
        let mut load = Load::new(Duration::ZERO, 0);
        run(&mut load, 0, 20, TURN, 10, 0);
        for turn in 20..60 {
            load.handed_out(0);
            load.executed(TURN * turn, Duration::ZERO);
        }
        assert_eq!(load.report(), 10 * 16);
    }
}
