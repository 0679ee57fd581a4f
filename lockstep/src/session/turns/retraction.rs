//! Going back: what the last turns changed, and how they are taken back where a roster change says so.
//!
//! Each peer that has turns beyond the cut goes back to it, not only those whose logs differ. A peer that happens to hold
//! the turns that will count cannot tell: it does not know which of the cheat's batches the others hold.

use crate::LogHash;
use crate::log::{Bundle, TurnFold};
use crate::session::ledger::RECENT;
use std::collections::VecDeque;
use std::sync::Arc;

/// A snapshot of the world is kept every so many turns.
const WORLD_EVERY: u32 = 16;
/// Snapshots kept: so far apart, one of them lies before any turn that is gone back to.
const WORLDS: usize = 3;

/// What is needed to go back.
pub(super) struct RetractionBuffer {
    /// No peer ever goes back where there are not three to compare.
    is_kept: bool,
    points: VecDeque<Point>,
    worlds: VecDeque<World>,
    /// The turns after the oldest of these worlds.
    bundles: VecDeque<Bundle>,
    /// Snapshots asked for: turns and ticks.
    asked: VecDeque<(u32, u64)>,
    /// A world is to be replaced and is not yet: what is told of it means turns that are taken back.
    loading: bool,
}

/// What stood before a turn.
pub(super) struct Point {
    turns: u32,
    pub fold: TurnFold,
    pub chained: Option<LogHash>,
}

#[derive(Clone)]
pub(super) struct World {
    pub turns: u32,
    pub ticks: u64,
    pub snapshot: Arc<[u8]>,
}

impl RetractionBuffer {
    pub(super) fn new(peers: usize) -> Self {
        RetractionBuffer {
            is_kept: peers > 2,
            points: VecDeque::new(),
            worlds: VecDeque::new(),
            bundles: VecDeque::new(),
            asked: VecDeque::new(),
            loading: false,
        }
    }

    /// Turn `turns` is about to be complete.
    pub(super) fn note(&mut self, turns: u32, fold: &TurnFold, chained: Option<LogHash>) {
        if self.is_kept {
            let fold = fold.clone();
            self.points.push_back(Point {
                turns,
                fold,
                chained,
            });
            if self.points.len() > RECENT {
                self.points.pop_front();
            }
        }
    }

    pub(super) fn handed_out(&mut self, bundle: &Bundle) {
        if self.is_kept {
            self.bundles.push_back(bundle.clone());
        }
    }

    /// Whether a snapshot after so many turns is wanted.
    pub(super) fn wants_world(&mut self, turns: u32, ticks: u64) -> bool {
        turns.is_multiple_of(WORLD_EVERY) && self.begins_with(turns, ticks)
    }

    /// As [`wants_world`](Self::wants_world), of the first turns that this peer has.
    pub(super) fn begins_with(&mut self, turns: u32, ticks: u64) -> bool {
        if self.is_kept {
            self.asked.push_back((turns, ticks));
        }
        self.is_kept
    }

    pub(super) fn keep_world(&mut self, turns: u32, snapshot: &Arc<[u8]>) {
        let Some((turns, ticks)) = self.asked.pop_front_if(|asked| asked.0 == turns) else {
            return;
        };
        self.worlds.push_back(World {
            turns,
            ticks,
            snapshot: snapshot.clone(),
        });
        if self.worlds.len() > WORLDS {
            self.worlds.pop_front();
        }
        let oldest = self.worlds.front().map_or(0, |world| world.turns);
        while self
            .bundles
            .pop_front_if(|bundle| bundle.turn.0 < oldest)
            .is_some()
        {}
    }

    /// Whether the first snapshot is still to come: of turns after it that were executed, none could be taken back.
    pub(super) fn lacks_first(&self) -> bool {
        self.worlds.is_empty() && !self.asked.is_empty()
    }

    /// Whether what the world tells is about turns that are taken back.
    pub(super) fn is_loading(&self) -> bool {
        self.loading
    }

    pub(super) fn loaded(&mut self) {
        self.loading = false;
    }

    /// Whether turns from `cut` on can be taken back: of a world that has `executed` some of them there is a snapshot.
    pub(super) fn reaches(&self, cut: u32, executed: bool) -> bool {
        let point = self.points.iter().any(|point| point.turns == cut);
        point && (!executed || self.world_at(cut).is_some())
    }

    /// The newest world of no more than so many turns.
    pub(super) fn world_at(&self, cut: u32) -> Option<&World> {
        let mut worlds = self.worlds.iter().rev();
        worlds.find(|world| world.turns <= cut)
    }

    /// Takes back turns from `cut` on, before which this stood.
    pub(super) fn take_point(&mut self, cut: u32) -> Option<Point> {
        let at = self.points.iter().position(|point| point.turns == cut)?;
        self.points.drain(at..).next()
    }

    /// The world begins again with a snapshot. The turns up to `cut` behind it.
    pub(super) fn restore(&mut self, world: &World, cut: u32) -> impl Iterator<Item = &Bundle> {
        self.loading = true;
        self.asked.clear();
        self.worlds.retain(|world| world.turns <= cut);
        self.bundles.retain(|bundle| bundle.turn.0 < cut);
        let first = world.turns;
        let bundles = self.bundles.iter();
        bundles.filter(move |bundle| bundle.turn.0 >= first)
    }
}
