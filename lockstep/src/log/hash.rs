//! The log hash: a chain over what was agreed, so that one signature attests everything before it.

use super::bundle::{Bundle, What};
use super::chain::Chain;
use super::roster_change::RosterChange;
use crate::LogHash;

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
            What::Way { from, ms } => {
                hash.number(6);
                hash.number(u32::from(from.0));
                hash.number(u32::from(*ms));
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
    hash.number(u32::from(change.value.minority.0));
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
