//! What a match tells scripts: JSON objects, one a line. Fields may be added, never renamed or dropped.

mod end;

pub use end::{EndLine, LatencyLine, StepLine};

use lockstep::{Event, Gone, Seat};
use serde::Serialize;
use std::io::Write;

/// Seats that nobody plays any more by a change of the roster.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GoneLine {
    /// Why, in the words of the change's `cause`.
    pub cause: &'static str,
    /// Which.
    pub seats: Vec<u8>,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Line {
    /// The invitation of the host.
    Ticket {
        /// Its text.
        ticket: String,
        /// Where it is true the match is reopened: who joins needs a recording of it.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        reopens: bool,
    },
    /// The lobby changed.
    Lobby {
        /// Who is in it.
        peers: Vec<LobbyLine>,
    },
    /// Turn 0 begins.
    Start {
        /// This peer's first seat.
        seat: u8,
        /// Seats of the match.
        seats: usize,
        /// The match.
        match_id: String,
        /// All of this peer's seats.
        own: Vec<u8>,
        /// Who plays, by seat.
        names: Vec<String>,
        /// Turn milliseconds x command delay.
        plan: String,
    },
    /// A turn was executed.
    Turn {
        /// Which.
        turn: u32,
        /// Ticks stepped so far.
        tick: u64,
        /// Checksum of the world after it: 8 hex digits.
        checksum: String,
    },
    /// A turn is due and cannot be executed yet.
    Stall {
        /// Which.
        turn: u32,
        /// Whose batches are missing.
        waiting_on: Vec<u8>,
        /// For how long already.
        ms: u64,
    },
    /// A plan is in force.
    Plan {
        /// From which turn on.
        turn: u32,
        /// Ticks in a turn.
        ticks: u8,
        /// Command delay in turns.
        delay: u8,
        /// Milliseconds in a tick.
        tick_ms: u16,
        /// Seats of the peer whose machine is so slow that ticks are longer for it; empty where they are not.
        slow: Vec<u8>,
    },
    /// The roster changed.
    Roster {
        /// Its first turn.
        turn: u32,
        /// Changes of the roster so far, this one included.
        epoch: u32,
        /// Seats that peers still play.
        seats: Vec<u8>,
        /// Seats that nobody plays any more by this change.
        left: Vec<u8>,
        /// The same, by why.
        gone: Vec<GoneLine>,
        /// Seats of whoever came back by this change.
        back: Vec<u8>,
        /// Why: `left`, `lost`, `cheated`, `desync`, of the first of those who are gone; where nobody is, `rejoined`
        /// where a peer came back, or `false-alarm`; `reopened` where all had died.
        cause: &'static str,
    },
    /// A peer that turns wait for is not heard, or blocks them for too long.
    Suspected {
        /// Its seats.
        seats: Vec<u8>,
        /// For how long it has not been heard.
        ms: u64,
    },
    /// This process stood still, or its machine slept.
    Slept {
        /// For how long, in milliseconds.
        ms: u64,
    },
    /// Players vote to wait longer for whom turns wait for.
    Patience {
        /// The turn that waits.
        turn: u32,
        /// Seats of those who want to.
        seats: Vec<u8>,
        /// Milliseconds for which nobody is suspected beyond the usual time; 0 until they are a quorum.
        longer_ms: u64,
    },
    /// Too many peers are lost for the others to go on without them.
    NoQuorum {
        /// The turn that waits.
        turn: u32,
        /// Seats of those who are lost.
        missing: Vec<u8>,
        /// The command that hosts the match again from what is recorded here; empty where nothing is.
        reopen: String,
    },
    /// The match pauses or goes on.
    Pause {
        /// In which turn.
        turn: u32,
        /// Whether it is paused from then on.
        paused: bool,
        /// Who called it; `null` when a pause's budget was spent.
        seat: Option<u8>,
    },
    /// Somebody wrote to all.
    Chat {
        /// As the lobby names them.
        from: String,
        /// Their seat, once given.
        seat: Option<u8>,
        /// What.
        text: String,
    },
    /// A seat was closed for commands that no build of these rules writes.
    Resigned {
        /// Which.
        seat: u8,
        /// In which turn.
        turn: u32,
    },
    /// A peer did what no correct peer does.
    Fault {
        /// Who: the beginning of its key.
        peer: String,
        /// What.
        what: String,
    },
    /// A link went down. Batches may still travel by others.
    Link {
        /// Who was at its other end.
        peer: String,
        /// Why.
        why: String,
    },
    /// The recording ended early; the match goes on.
    Recording {
        /// Why.
        why: String,
    },
    /// Two worlds differ.
    Desync {
        /// After which turn.
        turn: u32,
        /// Whose world differs from ours.
        seat: u8,
        /// Our checksum, or our log's hash where logs differ.
        ours: String,
        /// Theirs.
        theirs: String,
        /// Lowest seats of the peers whose world differs from that of more than half of all; empty where nobody can
        /// tell.
        odd: Vec<u8>,
        /// The match goes on without those, and we play on.
        goes_on: bool,
        /// The folder with what was written about it; empty where there is none.
        report: String,
    },
    /// The match is over for this peer. Its last line.
    End(EndLine),
    /// `local`: whether all peers computed the same.
    Verify {
        /// Turns that all peers executed to equal checksums.
        agreed: u32,
        /// Turns after which checksums differed.
        differed: u32,
        /// The recorded files.
        replays: Vec<String>,
    },
}

/// One peer of the lobby.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LobbyLine {
    /// What it calls itself.
    pub name: String,
    /// Its seats.
    pub seats: Vec<u8>,
    /// Whether it is ready.
    pub ready: bool,
}

/// A line of one of several peers.
#[derive(Serialize)]
pub struct OfPeer<'a> {
    /// The line.
    #[serde(flatten)]
    pub line: &'a Line,
    /// Which peer's, from 0.
    pub peer: usize,
}

impl Line {
    /// The lines of an event. An end has none: it needs a [`Summary`](crate::tally::Summary).
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
            Event::Stalled { turn, on, since } => Line::Stall {
                turn: turn.0,
                waiting_on: numbers(on),
                ms: millis(*since),
            },
            Event::PlanChanged { turn, plan, slow } => Line::Plan {
                turn: turn.0,
                ticks: plan.ticks,
                delay: plan.delay_turns,
                tick_ms: plan.tick_ms,
                slow: numbers(slow),
            },
            // What all agree on follows.
            Event::Left { .. } => return Vec::new(),
            Event::Suspected { seats, unheard, .. } => Line::Suspected {
                seats: numbers(seats),
                ms: millis(*unheard),
            },
            Event::Slept { away } => Line::Slept { ms: millis(*away) },
            Event::Patience {
                turn,
                seats,
                longer,
            } => Line::Patience {
                turn: turn.0,
                seats: numbers(seats),
                longer_ms: millis(*longer),
            },
            Event::NoQuorum { turn, missing } => Line::NoQuorum {
                turn: turn.0,
                missing: numbers(missing),
                reopen: String::new(),
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
            Event::Contacts(_)
            | Event::Executed { .. }
            | Event::CommandRefused { .. }
            | Event::StallEnded { .. }
            | Event::Ended(_) => return Vec::new(),
        };
        vec![line]
    }
}

/// Writes one object and a line's end at once, so that a reader never sees half of it.
///
/// # Errors
/// What the output says.
pub fn write_json(to: &mut impl Write, line: &impl Serialize) -> std::io::Result<()> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    to.write_all(&bytes)?;
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
    let odd = odd.filter(|side| desync.odd.contains(&side.peer));
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
