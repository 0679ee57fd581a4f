//! Times and counts of a match, in bounded memory however long it runs.

use crate::output::{LatencyLine, LeadLine, StepLine};
use hdrhistogram::Histogram;
use lockstep::{Event, MatchId, Traffic};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Counts the events of one match.
pub struct Tally {
    latency_us: Histogram<u32>,
    step_us: Histogram<u32>,
    began: Option<Instant>,
    ended: Option<Instant>,
}

/// Totals of a match.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The branch that was played: its result counts as unagreed with the match it left.
    pub branch: Option<MatchId>,
    pub counts: lockstep::Counts,
    /// From issue to execution.
    pub latency: LatencyLine,
    /// Time to step a turn.
    pub step: StepLine,
    /// Time spent waiting for late turns.
    pub stalled: Duration,
    pub late_turns: u64,
    /// How long before their deadline the batches of the other peers leave.
    pub leads: Vec<LeadLine>,
    /// From turn 0 to the end, or to now.
    pub wall: Duration,
    pub traffic: Traffic,
    /// The part of it from before turn 0: a lobby, or a match that a peer fetches to come back.
    pub traffic_before: Traffic,
    /// The recording.
    pub replay: Option<PathBuf>,
}

impl Summary {
    /// Bytes a second from turn 0 on, sent and received.
    pub fn rates(&self) -> [f64; 2] {
        let (all, before) = (&self.traffic, &self.traffic_before);
        let sent = all.bytes_sent.saturating_sub(before.bytes_sent);
        let received = all.bytes_received.saturating_sub(before.bytes_received);
        let seconds = self.wall.as_secs_f64().max(1.0);
        [sent, received].map(|bytes| bytes as f64 / seconds)
    }
}

impl Tally {
    pub fn new() -> Tally {
        let histogram = || {
            Histogram::new_with_bounds(1, HIGHEST_US, 3).expect("the bounds are in order, 3 digits")
        };
        Tally {
            latency_us: histogram(),
            step_us: histogram(),
            began: None,
            ended: None,
        }
    }

    /// Counts an event that happened `now`.
    pub fn take(&mut self, event: &Event, now: Instant) {
        match event {
            Event::Started { .. } => self.began = Some(now),
            Event::Ended(_) => self.ended = Some(now),
            Event::Executed { latency, .. } => self.latency_us.saturating_record(micros(*latency)),
            Event::Turn { step, .. } => self.step_us.saturating_record(micros(*step)),
            _ => {}
        }
    }

    /// From issue to execution so far.
    pub fn latency(&self) -> LatencyLine {
        let at = |quantile| {
            let any = !self.latency_us.is_empty();
            any.then(|| tenths_of_ms(self.latency_us.value_at_quantile(quantile)))
        };
        LatencyLine {
            p50: at(0.50),
            p95: at(0.95),
            p99: at(0.99),
            max: (!self.latency_us.is_empty()).then(|| tenths_of_ms(self.latency_us.max())),
        }
    }

    /// Time to step a turn so far.
    pub fn step(&self) -> StepLine {
        StepLine {
            p50: self.step_us.value_at_quantile(0.50),
            max: self.step_us.max(),
        }
    }

    /// From turn 0 until the end, or until `now`.
    pub fn wall(&self, now: Instant) -> Duration {
        let until = self.ended.unwrap_or(now);
        self.began.map_or(Duration::ZERO, |began| until - began)
    }
}

impl Default for Tally {
    fn default() -> Self {
        Self::new()
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn tenths_of_ms(us: u64) -> f64 {
    (us as f64 / 100.0).round() / 10.0
}

/// An hour: longer than any wait of a match.
const HIGHEST_US: u64 = 3_600_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep::{CommandId, Seat, TurnNumber};

    #[test]
    fn percentiles_are_in_milliseconds_with_one_decimal() {
        let mut tally = Tally::new();
        assert_eq!(tally.latency(), LatencyLine::default());
        #[expect(clippy::disallowed_methods, reason = "any moment will do")]
        let now = Instant::now();
        for ms in 1..=100_u64 {
            let event = Event::Executed {
                id: CommandId {
                    seat: Seat(0),
                    number: 0,
                },
                turn: TurnNumber(0),
                latency: Duration::from_micros(ms * 1_000 + 40),
            };
            tally.take(&event, now);
        }
        let latency = tally.latency();
        assert_eq!(latency.p50, Some(50.0));
        assert!(latency.p95.unwrap() >= 95.0 && latency.p95.unwrap() < 95.5);
        assert!(latency.max.unwrap() >= 100.0 && latency.max.unwrap() < 100.2);
    }

    #[test]
    fn traffic_before_turn_0_makes_no_rate_higher() {
        let summary = Summary {
            wall: Duration::from_secs(10),
            traffic: Traffic {
                bytes_sent: 50_000,
                bytes_received: 5_020_000,
                ..Traffic::default()
            },
            traffic_before: Traffic {
                bytes_sent: 40_000,
                bytes_received: 5_000_000,
                ..Traffic::default()
            },
            ..Summary::default()
        };
        assert_eq!(summary.rates(), [1_000.0, 2_000.0]);
    }

    #[test]
    fn the_clock_stops_at_the_end() {
        let mut tally = Tally::new();
        #[expect(clippy::disallowed_methods, reason = "any moment will do")]
        let began = Instant::now();
        let after = |seconds| began + Duration::from_secs(seconds);
        assert_eq!(tally.wall(after(3)), Duration::ZERO);
        let started = Event::Started {
            match_id: MatchId([0; 16]),
            own: Vec::new(),
            seats: Vec::new(),
            plan: lockstep::Plan::default(),
        };
        tally.take(&started, began);
        assert_eq!(tally.wall(after(3)), Duration::from_secs(3));
        let ended = Event::Ended(lockstep::Ended {
            reason: lockstep::EndReason::Decided,
            turns: 9,
            checksum: None,
            outcome: None,
            agreed: 1,
            of: 1,
            is_final: true,
            branch_of: None,
        });
        tally.take(&ended, after(5));
        assert_eq!(tally.wall(after(60)), Duration::from_secs(5));
    }
}
