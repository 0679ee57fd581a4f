//! The log hash: a chain over what was agreed, so that one signature attests everything before it.

use super::bundle::{Bundle, What};
use super::chain::Chain;
use super::record::End;
use super::roster_change::RosterChange;
use super::start::Start;
use crate::LogHash;
use sim::Outcome;

/// `h(−1)`: everything about the start that its peers sign. The build that wrote it is left out.
pub fn start_hash(start: &Start) -> LogHash {
    let mut hash = Chain::new("lockstep start 1");
    hash.number(u32::from(start.protocol));
    hash.bytes(&start.match_id.0);
    hash.bytes(&start.rules.0);
    hash.bytes(&start.setup);
    hash.bytes(&start.seed.0);
    hash.plan(&start.plan);
    hash.number(start.turn_limit.map_or(0, |turns| turns.saturating_add(1)));
    hash.number(u32::from(start.pauses.pauses));
    hash.number(u32::from(start.pauses.seconds));
    hash.number(start.on_slow as u32);
    hash.number(start.on_desync as u32);
    hash.number(start.absent as u32);
    hash.number(start.roster.len() as u32);
    for peer in &start.roster {
        hash.bytes(&peer.peer.0);
        hash.bytes(&peer.incarnation.0);
        hash.bytes(peer.name.as_bytes());
        let seats: Vec<u8> = peer.seats.iter().map(|seat| seat.0).collect();
        hash.bytes(&seats);
        hash.bytes(&peer.share);
    }
    hash.end()
}

/// `h(n)` from `h(n − 1)` and the bundle of turn `n`.
pub fn turn_hash(before: LogHash, bundle: &Bundle) -> LogHash {
    let mut hash = Chain::new("lockstep turn 1");
    hash.bytes(&before.0);
    hash.number(bundle.turn.0);
    hash.plan(&bundle.plan);
    hash.number(u32::from(bundle.paused));
    hash.number(bundle.entries.len() as u32);
    for entry in &bundle.entries {
        hash.number(u32::from(entry.seat.0));
        match &entry.what {
            What::Command(bytes) => {
                hash.number(0);
                hash.bytes(bytes);
            }
            What::Seat(state) => {
                hash.number(1);
                hash.number(*state as u32);
            }
            What::Pause => hash.number(2),
            What::Resume => hash.number(3),
            What::Chat(text) => {
                hash.number(4);
                hash.bytes(text.as_bytes());
            }
            What::Load(load) => {
                hash.number(5);
                hash.number(u32::from(*load));
            }
        }
    }
    hash.end()
}

/// What takes the place of `h(n − 1)` for the first turn `n` of a new epoch: the decision is chained in. By whose
/// accepts it was decided is not: peers may know of different ones.
pub fn roster_hash(before: LogHash, change: &RosterChange) -> LogHash {
    let mut hash = Chain::new("lockstep roster 1");
    hash.bytes(&before.0);
    hash.number(change.epoch);
    hash.number(u32::from(change.value.roster.0));
    hash.number(change.value.cut);
    hash.number(u32::from(change.value.odd.0));
    hash.number(u32::from(change.value.left.0));
    if let Some(joins) = change.value.joins {
        hash.number(u32::from(joins.peer));
        hash.bytes(&joins.incarnation.0);
    }
    if let Some(at_cut) = &change.value.log_hash {
        hash.number(u32::from(change.value.cheats.0));
        hash.bytes(&at_cut.0);
    }
    if let Some(reopening) = &change.reopening {
        reopening.chain(&mut hash);
    }
    hash.end()
}

/// What a roster peer signs once its world is built: the start that all agreed on.
pub fn start_signed_bytes(start: LogHash) -> Vec<u8> {
    let mut bytes = b"lockstep start".to_vec();
    bytes.extend_from_slice(&crate::PROTOCOL.to_le_bytes());
    bytes.extend_from_slice(&start.0);
    bytes
}

/// What a roster peer signs at the end of the match.
pub fn end_signed_bytes(end: &End) -> Vec<u8> {
    let mut bytes = b"lockstep end".to_vec();
    bytes.extend_from_slice(&crate::PROTOCOL.to_le_bytes());
    bytes.extend_from_slice(&end.turns.to_le_bytes());
    bytes.extend_from_slice(&end.log_hash.0);
    bytes.extend_from_slice(&end.checksum.0.to_le_bytes());
    bytes.extend_from_slice(&match end.outcome {
        None => [0, 0],
        Some(Outcome { winner: None }) => [1, 0],
        Some(Outcome { winner: Some(seat) }) => [2, seat.0],
    });
    bytes
}
