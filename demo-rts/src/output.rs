//! What a match writes for scripts: JSON objects, one a line. Fields may be added, never renamed or dropped.

mod end;

pub use end::{EndLine, LatencyLine, LeadLine, StepLine};

use lockstep::{Event, Gone, Seat};
use serde::Serialize;
use std::io::Write;

/// The way of batches from one seat's peer to another's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanWay {
    pub from: u8,
    pub to: u8,
    /// Milliseconds.
    pub ms: u16,
}

/// Seats that a roster change left without a player, for one cause.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GoneLine {
    /// A `cause` of [`Line::Roster`].
    pub cause: &'static str,
    pub seats: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Line {
    /// The ticket of the match that this peer hosts.
    Ticket {
        ticket: String,
        /// The match is reopened: a joiner needs a recording of it.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        reopens: bool,
    },
    /// The lobby changed.
    Lobby { peers: Vec<LobbyLine> },
    /// Turn 0 begins.
    Start {
        /// This peer's first seat.
        seat: u8,
        /// Seats of the match.
        seats: usize,
        match_id: String,
        /// All of this peer's seats.
        own: Vec<u8>,
        /// Names of players, by seat.
        names: Vec<String>,
        /// Turn milliseconds x command delay.
        plan: String,
    },
    /// A turn was executed.
    Turn {
        turn: u32,
        /// Ticks stepped so far.
        tick: u64,
        /// Checksum of the world after the turn: 8 hex digits.
        checksum: String,
    },
    /// Turns that were executed do not count. Other turns follow from this one on.
    Retracted { turn: u32 },
    /// A turn is due and cannot be executed yet.
    Stall {
        turn: u32,
        /// Seats of the missing batches.
        waiting_on: Vec<u8>,
        /// Milliseconds of waiting so far.
        ms: u64,
    },
    /// Commands of an own seat wait for more than the next batch; none any more.
    Backlog {
        seat: u8,
        /// Commands that the last batch had no room for.
        commands: u32,
    },
    /// A plan is in force.
    Plan {
        /// The first turn under the plan.
        turn: u32,
        /// Ticks in a turn.
        ticks: u8,
        /// Command delay in turns.
        delay: u8,
        /// Milliseconds in a tick.
        tick_ms: u16,
        /// Seats of the peer whose slow machine makes ticks longer; empty for none.
        slow: Vec<u8>,
        /// The way of batches that turns are as long, and as many, for; `null` where the fastest plan fits all.
        way: Option<PlanWay>,
    },
    /// The roster changed.
    Roster {
        /// The first turn of the new roster.
        turn: u32,
        /// Roster changes so far, this one included.
        epoch: u32,
        /// Seats that peers still play.
        seats: Vec<u8>,
        /// Seats that lost their player by this change.
        left: Vec<u8>,
        /// The same seats, by cause.
        gone: Vec<GoneLine>,
        /// Seats that got their player back by this change.
        back: Vec<u8>,
        /// The cause of the first of `gone`: `left`, `lost`, `cheated` or `desync`. Otherwise `rejoined`,
        /// `false-alarm`, or, after a reopening, `reopened`.
        cause: &'static str,
    },
    /// A peer that turns wait for became a suspect: silent, or blocking turns for too long.
    Suspected {
        /// Its seats.
        seats: Vec<u8>,
        /// Milliseconds since its last packet.
        ms: u64,
    },
    /// This process was stopped, or its machine slept.
    Slept {
        /// Milliseconds.
        ms: u64,
    },
    /// Players vote for an extension.
    Patience {
        /// The turn that waits.
        turn: u32,
        /// Seats of the voters.
        seats: Vec<u8>,
        /// Milliseconds that the vote adds to the suspicion time; 0 until the voters are a quorum.
        longer_ms: u64,
    },
    /// Quorum loss: too few peers are left to change the roster.
    NoQuorum {
        /// The turn that waits.
        turn: u32,
        /// Seats of the lost peers.
        missing: Vec<u8>,
        /// What this peer may do: `wait`, `reopen`, `branch`.
        choices: &'static [&'static str],
        /// The command that reopens the match from this peer's recording; empty without a recording.
        reopen: String,
    },
    /// A lost player has come back, and only a reopening can admit it.
    JoinerWaits {
        /// Its seats.
        seats: Vec<u8>,
    },
    /// After quorum loss this peer hosts a reopening.
    Reopen { ticket: String },
    /// A peer that waits found players that went on without a quorum, in a branch.
    BranchFound {
        /// The first turn of the branch.
        turn: u32,
        /// The branch.
        match_id: String,
        /// The seats of the players that began the branch.
        seats: Vec<u8>,
        /// Whether it may be entered: it holds all turns that are final here.
        may_enter: bool,
    },
    /// This peer plays a branch, and other players of the match that it left play another one.
    BranchMet {
        /// The first turn of the other branch.
        turn: u32,
        /// The other branch.
        match_id: String,
        /// The seats of the players that began the branch.
        seats: Vec<u8>,
    },
    /// This peer plays a branch.
    Branch {
        /// Its first turn.
        turn: u32,
        /// The branch.
        match_id: String,
        /// The match that it has left.
        of: String,
    },
    /// The match pauses or resumes.
    Pause {
        turn: u32,
        paused: bool,
        /// The seat that asked for it; `null` where a pause's budget was spent.
        seat: Option<u8>,
    },
    /// A chat message to all.
    Chat {
        /// The sender's name in the lobby.
        from: String,
        /// The sender's seat, once the match has begun.
        seat: Option<u8>,
        text: String,
    },
    /// A seat was resigned: its batch held bytes that are no command.
    Resigned { seat: u8, turn: u32 },
    /// A peer broke the protocol.
    Fault {
        /// The beginning of its key.
        peer: String,
        what: String,
    },
    /// A link was lost. Batches may still travel by others.
    Link {
        /// The beginning of the key at its other end.
        peer: String,
        why: String,
    },
    /// The recording stopped early; the match goes on.
    Recording { why: String },
    /// Two worlds differ.
    Desync {
        /// The turn after which they differ.
        turn: u32,
        /// The seat whose world differs from this peer's.
        seat: u8,
        /// This peer's checksum, or its log hash where logs differ.
        ours: String,
        /// The other peer's.
        theirs: String,
        /// Lowest seats of the minority's peers; empty without a majority.
        odd: Vec<u8>,
        /// Whether the match goes on without the minority, with this peer in it.
        goes_on: bool,
        /// The folder of the desync report; empty without one.
        report: String,
    },
    /// The match is over for this peer: its last line. In `local` a `verify` follows the last peer's.
    End(Box<EndLine>),
    /// `local`: whether all peers computed the same.
    Verify {
        /// Turns with equal checksums on all peers.
        agreed: u32,
        /// Turns with differing checksums.
        differed: u32,
        /// The recordings.
        replays: Vec<String>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LobbyLine {
    pub name: String,
    pub seats: Vec<u8>,
    pub ready: bool,
}

/// A line of one of several peers.
#[derive(Serialize)]
pub struct OfPeer<'a> {
    #[serde(flatten)]
    pub line: &'a Line,
    /// The peer's number, from 0.
    pub peer: usize,
}

impl Line {
    /// The lines for an event. An end has none: it needs a [`Summary`](crate::tally::Summary).
    pub fn of(event: &Event) -> Vec<Line> {
        let line = match event {
            Event::Lobby { peers, .. } => Line::Lobby {
                peers: peers
                    .iter()
                    .map(|peer| LobbyLine {
                        name: peer.name.clone(),
                        seats: numbers(&peer.seats),
                        ready: peer.ready,
                    })
                    .collect(),
            },
            Event::Started {
                match_id,
                own,
                seats,
                plan,
            } => {
                let start = Line::Start {
                    seat: own.first().map_or(0, |seat| seat.0),
                    seats: seats.len(),
                    match_id: match_id.to_string(),
                    own: numbers(own),
                    names: seats.iter().map(|info| info.name.clone()).collect(),
                    plan: plan.to_string(),
                };
                return vec![start];
            }
            Event::Turn {
                turn,
                tick,
                checksum,
                ..
            } => Line::Turn {
                turn: turn.0,
                tick: *tick,
                checksum: checksum.to_string(),
            },
            Event::Retracted { from } => Line::Retracted { turn: from.0 },
            Event::Stalled { turn, on, since } => Line::Stall {
                turn: turn.0,
                waiting_on: numbers(on),
                ms: millis(*since),
            },
            Event::Backlog { seat, commands } => Line::Backlog {
                seat: seat.0,
                commands: *commands,
            },
            Event::BacklogEnded { seat } => Line::Backlog {
                seat: seat.0,
                commands: 0,
            },
            Event::PlanChanged {
                turn,
                plan,
                slow,
                way,
            } => Line::Plan {
                turn: turn.0,
                ticks: plan.ticks,
                delay: plan.delay_turns,
                tick_ms: plan.tick_ms,
                slow: numbers(slow),
                way: way.map(|way| PlanWay {
                    from: way.from.0,
                    to: way.to.0,
                    ms: way.ms,
                }),
            },
            Event::Suspected { seats, unheard, .. } => Line::Suspected {
                seats: numbers(seats),
                ms: millis(*unheard),
            },
            Event::Slept { away } => Line::Slept { ms: millis(*away) },
            Event::Extension {
                turn,
                seats,
                extension,
            } => Line::Patience {
                turn: turn.0,
                seats: numbers(seats),
                longer_ms: millis(*extension),
            },
            Event::NoQuorum { turn, missing } => Line::NoQuorum {
                turn: turn.0,
                missing: numbers(missing),
                choices: &[],
                reopen: String::new(),
            },
            Event::JoinerWaits { seats, .. } => Line::JoinerWaits {
                seats: numbers(seats),
            },
            Event::BranchFound {
                match_id,
                turn,
                seats,
                may_enter,
            } => Line::BranchFound {
                turn: turn.0,
                match_id: match_id.to_string(),
                seats: numbers(seats),
                may_enter: *may_enter,
            },
            Event::BranchMet {
                match_id,
                turn,
                seats,
            } => Line::BranchMet {
                turn: turn.0,
                match_id: match_id.to_string(),
                seats: numbers(seats),
            },
            Event::Branched { turn, match_id, of } => Line::Branch {
                turn: turn.0,
                match_id: match_id.to_string(),
                of: of.to_string(),
            },
            Event::RosterChanged {
                turn,
                epoch,
                seats,
                gone,
                back,
                cause,
            } => Line::Roster {
                turn: turn.0,
                epoch: *epoch,
                seats: numbers(seats),
                left: numbers(&Gone::seats(gone)),
                gone: gone
                    .iter()
                    .map(|gone| GoneLine {
                        cause: gone.cause.name(),
                        seats: numbers(&gone.seats),
                    })
                    .collect(),
                back: numbers(back),
                cause: cause.name(),
            },
            Event::Paused { seat, turn } => Line::Pause {
                turn: turn.0,
                paused: true,
                seat: Some(seat.0),
            },
            Event::Resumed { seat, turn } => Line::Pause {
                turn: turn.0,
                paused: false,
                seat: seat.map(|seat| seat.0),
            },
            Event::Chat { from, seat, text } => Line::Chat {
                from: from.clone(),
                seat: seat.map(|seat| seat.0),
                text: text.clone(),
            },
            Event::SeatResigned { seat, turn } => Line::Resigned {
                seat: seat.0,
                turn: turn.0,
            },
            Event::PeerFault { peer, fault } => Line::Fault {
                peer: peer.to_string(),
                what: fault.to_string(),
            },
            Event::LinkLost { peer, why } => Line::Link {
                peer: peer.to_string(),
                why: why.to_string(),
            },
            Event::RecordingStopped { why } => Line::Recording {
                why: why.to_string(),
            },
            Event::Desync(desync) => return desync_lines(desync),
            // The roster change that follows tells of a leaver.
            _ => return Vec::new(),
        };
        vec![line]
    }
}

/// Writes an object and its newline in one call, so that a reader never sees half a line.
///
/// # Errors
/// The error of `to`.
pub fn write_json(to: &mut impl Write, line: &impl Serialize) -> std::io::Result<()> {
    let mut json = lockstep::escape_hidden(&serde_json::to_string(line)?);
    json.push('\n');
    to.write_all(json.as_bytes())?;
    to.flush()
}

fn desync_lines(desync: &lockstep::Desync) -> Vec<Line> {
    let own = desync.reports.iter().find(|side| side.own);
    let text = |side: &lockstep::DesyncSide, by_log: bool| match side.log_hash {
        Some(hash) if by_log => hash.to_string(),
        _ => side.checksum.to_string(),
    };
    let report = desync
        .report
        .as_ref()
        .map_or_else(String::new, |path| path.display().to_string());
    let odd = desync.reports.iter();
    let odd = odd.filter(|side| desync.minority.contains(&side.peer));
    let odd: Vec<u8> = odd.map(|side| side.seat.0).collect();
    let others = desync.reports.iter().filter(|side| !side.own);
    others
        .filter(|side| {
            own.is_none_or(|own| own.checksum != side.checksum || own.log_hash != side.log_hash)
        })
        .map(|side| {
            let by_log = own.is_some_and(|own| own.checksum == side.checksum);
            Line::Desync {
                turn: desync.turn.0,
                seat: side.seat.0,
                ours: own.map_or_else(String::new, |own| text(own, by_log)),
                theirs: text(side, by_log),
                odd: odd.clone(),
                goes_on: desync.goes_on,
                report: report.clone(),
            }
        })
        .collect()
}

fn numbers(seats: &[Seat]) -> Vec<u8> {
    seats.iter().map(|seat| seat.0).collect()
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
