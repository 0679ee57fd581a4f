//! The last line of a match: how it ended, and what it took.

use super::millis;
use crate::exit;
use crate::tally::Summary;
use lockstep::Ended;
use serde::Serialize;

/// How a match ended, and what it took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EndLine {
    /// Why, as one word.
    pub reason: &'static str,
    /// Turns executed.
    pub turns: u32,
    /// Checksum of the world after them; empty where no world was built.
    pub checksum: String,
    /// Who won; `null`: nobody, or undecided.
    pub winner: Option<u8>,
    /// Commands issued here.
    pub issued: u64,
    /// Of them, executed.
    pub executed: u64,
    /// Of them, refused.
    pub refused: u64,
    /// From issue to execution; `null`s where none was executed.
    pub latency_ms: LatencyLine,
    /// Time spent waiting for late turns.
    pub stalled_ms: u64,
    /// Turns whose bundle was incomplete when they were due.
    pub late_turns: u64,
    /// From turn 0 to the end.
    pub wall_ms: u64,
    /// UDP payload plus 28 bytes a packet.
    pub bytes_sent: u64,
    /// The same, received.
    pub bytes_received: u64,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets received.
    pub packets_received: u64,
    /// Time to step a turn.
    pub step_us: StepLine,
    /// The recorded file; empty where none is.
    pub replay: String,
    /// Why, as a sentence.
    pub detail: String,
    /// Peers that signed the same end.
    pub agreed: u8,
    /// Peers that were asked to.
    pub of: u8,
}

impl EndLine {
    /// The last line.
    pub fn new(ended: &Ended, summary: &Summary) -> EndLine {
        EndLine {
            reason: exit::word(&ended.reason),
            turns: ended.turns,
            checksum: ended
                .checksum
                .map_or_else(String::new, |sum| sum.to_string()),
            winner: ended
                .outcome
                .and_then(|outcome| outcome.winner)
                .map(|seat| seat.0),
            issued: summary.counts.issued,
            executed: summary.counts.executed,
            refused: summary.counts.refused,
            latency_ms: summary.latency,
            stalled_ms: millis(summary.stalled),
            late_turns: summary.late_turns,
            wall_ms: millis(summary.wall),
            bytes_sent: summary.traffic.bytes_sent,
            bytes_received: summary.traffic.bytes_received,
            packets_sent: summary.traffic.packets_sent,
            packets_received: summary.traffic.packets_received,
            step_us: summary.step,
            replay: summary
                .replay
                .as_ref()
                .map_or_else(String::new, |path| path.display().to_string()),
            detail: ended.reason.to_string(),
            agreed: ended.agreed,
            of: ended.of,
        }
    }
}

/// Percentiles in milliseconds, with one decimal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LatencyLine {
    /// Half lie below.
    pub p50: Option<f64>,
    /// 95 % lie below.
    pub p95: Option<f64>,
    /// 99 % lie below.
    pub p99: Option<f64>,
    /// The highest.
    pub max: Option<f64>,
}

/// Percentiles in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StepLine {
    /// Half lie below.
    pub p50: u64,
    /// The highest.
    pub max: u64,
}
