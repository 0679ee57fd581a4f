//! The last line of a match: how it ended, with its totals.

use super::millis;
use crate::exit;
use crate::tally::Summary;
use lockstep::session::Stats;
use lockstep::{Ended, SeatInfo};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EndLine {
    /// The reason as one word.
    pub reason: &'static str,
    /// Turns executed.
    pub turns: u32,
    /// Checksum of the world after the last turn; empty where no world was built.
    pub checksum: String,
    /// The winning seat; `null` for a draw or an undecided match.
    pub winner: Option<u8>,
    /// Commands issued by this peer.
    pub issued: u64,
    pub executed: u64,
    pub refused: u64,
    /// From issue to execution; `null`s where no command was executed.
    pub latency_ms: LatencyLine,
    /// Time spent waiting for late turns.
    pub stalled_ms: u64,
    /// Turns whose bundle was incomplete when they were due.
    pub late_turns: u64,
    /// How long before their deadline the batches of the other peers left, as far as that is known.
    pub leads: Vec<LeadLine>,
    /// From turn 0 to the end.
    pub wall_ms: u64,
    /// UDP payload plus 28 bytes a packet.
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub packets_sent: u64,
    pub packets_received: u64,
    /// Time to step a turn.
    pub step_us: StepLine,
    /// The recording; empty without one.
    pub replay: String,
    /// The reason as a sentence.
    pub detail: String,
    /// Peers that signed the same end.
    pub agreed: u8,
    /// Peers that were asked to sign it.
    pub of: u8,
    /// The branch that was played; `null` for a match.
    pub branch: Option<String>,
    /// The match that it left; `null` for a match.
    pub branch_of: Option<String>,
    /// Whether the result counts as unagreed: that of a branch, and an end that too few peers have signed.
    pub unagreed: bool,
}

impl EndLine {
    pub fn new(ended: &Ended, summary: &Summary) -> EndLine {
        EndLine {
            reason: exit::reason_name(&ended.reason),
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
            leads: summary.leads.clone(),
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
            branch: summary.branch.map(|branch| branch.to_string()),
            branch_of: ended.branch_of.map(|left| left.to_string()),
            unagreed: ended.is_unagreed(),
        }
    }
}

/// How long before their deadline a peer's batches leave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeadLine {
    /// Its seats.
    pub seats: Vec<u8>,
    /// Median of the last minute, in milliseconds.
    pub ms: i16,
    /// That of a peer that seals in time.
    pub usual_ms: i16,
    /// It is so much less than that of most that the peer can have seen their commands first.
    pub stands_out: bool,
}

impl LeadLine {
    /// Those of all peers of which it is known; `seats` tells which peer has which.
    pub fn of(stats: &Stats, seats: &[SeatInfo]) -> Vec<LeadLine> {
        let leads = stats.peers.iter().filter_map(|of| {
            let own = seats.iter().filter(|info| info.peer == of.peer);
            let lead = of.lead?;
            Some(LeadLine {
                seats: own.map(|info| info.seat.0).collect(),
                ms: lead.ms,
                usual_ms: lead.usual_ms,
                stands_out: lead.stands_out,
            })
        });
        leads.collect()
    }
}

/// Percentiles in milliseconds, with one decimal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LatencyLine {
    pub p50: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub max: Option<f64>,
}

/// Median and maximum in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StepLine {
    pub p50: u64,
    pub max: u64,
}
