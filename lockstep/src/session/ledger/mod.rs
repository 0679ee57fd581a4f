//! What a running match is known by: its places, the batches around the next turn, and the end of the log.
//!
//! The assembly owns this data and lends it to its components.

mod batches;
mod by_turn;
#[cfg(test)]
pub(crate) mod fixture;
mod log_tail;
mod log_window;
mod places;

pub(crate) use batches::{Batches, Held, Tenure};
pub(crate) use log_tail::LogTail;
pub(crate) use log_window::LogWindow;
pub use log_window::RECENT;
pub(crate) use places::Places;

use crate::log::{Bundle, TurnFold, turn_hash};
use crate::{LogHash, TurnNumber};

pub(crate) struct Ledger {
    pub places: Places,
    pub batches: Batches,
    pub window: LogWindow,
}

impl Ledger {
    /// The log's hash after one turn more than are complete, after two, and so on, as far as this peer's batches go, or
    /// those of another holder where they differ.
    pub(crate) fn hashes_ahead(&self, course: &TurnFold, holder: Option<u8>) -> Vec<LogHash> {
        let ahead = self.turns_ahead(course, holder).into_iter();
        ahead.map(|(_, hash)| hash).collect()
    }

    /// The turns that these hashes come after.
    pub(crate) fn turns_ahead(
        &self,
        course: &TurnFold,
        holder: Option<u8>,
    ) -> Vec<(Bundle, LogHash)> {
        let Ledger {
            places,
            batches,
            window,
        } = self;
        let mut course = course.clone();
        let mut before = window.tip();
        let mut ahead = Vec::new();
        let mut left_from: Vec<Option<u32>> = vec![None; places.len()];
        let first = u32::from(places.start().terms.plan.delay_turns);
        for turn in window.complete().. {
            let required = |at: &usize| {
                let left = left_from[*at].is_some_and(|from| turn >= from);
                batches.required(*at, turn) && !left
            };
            let required: Vec<usize> = places.all().filter(required).collect();
            let of_turn = |at: usize| batches.get_by(holder, at, turn);
            let held = |at: &usize| turn < batches.held(*at) && of_turn(*at).is_some();
            // The first turns of an epoch may need no batch; turns after all peers have left are none.
            let mut later = places.all().filter(|at| batches.begins_after(*at, turn));
            let is_last = required.is_empty() && later.next().is_none();
            if is_last || turn >= first && !required.iter().all(held) {
                return ahead;
            }
            let sealed = required.iter().filter_map(|at| {
                let seats = places.peer(*at).seats.as_slice();
                Some((seats, &of_turn(*at)?.batch))
            });
            let formed = course.form(TurnNumber(turn), sealed);
            before = turn_hash(before, &formed.bundle);
            ahead.push((formed.bundle, before));
            for at in required {
                if of_turn(at).is_some_and(|held| held.batch.leaving) {
                    left_from[at] = Some(turn + 1);
                }
            }
        }
        ahead
    }

    /// The log's hash at a cut, as the hashes ahead lead to it.
    pub(crate) fn hash_at(&self, cut: u32, ahead: &[LogHash]) -> Option<LogHash> {
        let more = cut.checked_sub(self.window.complete() + 1)?;
        ahead.get(more as usize).copied()
    }
}
