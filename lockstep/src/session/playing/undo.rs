//! Going back: what the last turns changed, and how they are taken back where a roster change says so.
//!
//! Everybody who has turns beyond the cut goes back to it, not only those whose logs differ: beyond it, who happens to
//! hold the turns that will count cannot tell, as it does not know which of the cheat's batches the others hold.

use super::Playing;
use super::own::Sealed;
use crate::LogHash;
use crate::log::{Bundle, RosterChange, TurnFold, What, seats_with_commands};
use crate::session::Output;
use crate::session::core::Core;
use crate::session::roster::RECENT;
use std::collections::VecDeque;
use std::sync::Arc;

/// A snapshot of the world is kept every so many turns.
const WORLD_EVERY: u32 = 16;
/// Snapshots kept: so far apart, one of them lies before any turn that is gone back to.
const WORLDS: usize = 3;

/// What is needed to go back.
pub(super) struct Past {
    /// Nobody ever goes back where there are not three to compare.
    is_kept: bool,
    points: VecDeque<Point>,
    worlds: VecDeque<World>,
    /// The turns after the oldest of these worlds.
    bundles: VecDeque<Bundle>,
    /// Snapshots asked for: turns and ticks.
    asked: VecDeque<(u32, u64)>,
    /// A world is to be replaced and is not yet: what is told of it means turns that are taken back.
    loading: bool,
    /// What was taken back, oldest first.
    undone: Vec<Undone>,
}

/// What stood before a turn.
struct Point {
    turns: u32,
    course: TurnFold,
    chained: Option<LogHash>,
}

#[derive(Clone)]
struct World {
    turns: u32,
    ticks: u64,
    snapshot: Arc<[u8]>,
}

pub(super) struct Undone {
    /// The first epoch of the turns that took their place.
    epoch: u32,
    cut: u32,
}

impl Undone {
    /// What a change has taken back, if anything.
    pub(super) fn by(change: &RosterChange) -> Option<Undone> {
        let (epoch, cut) = (change.epoch + 1, change.value.cut);
        (!change.value.cheats.is_empty()).then_some(Undone { epoch, cut })
    }
}

impl Past {
    pub(super) fn new(peers: usize) -> Self {
        Past {
            is_kept: peers > 2,
            points: VecDeque::new(),
            worlds: VecDeque::new(),
            bundles: VecDeque::new(),
            asked: VecDeque::new(),
            loading: false,
            undone: Vec::new(),
        }
    }

    /// Turn `turns` is about to be complete.
    pub(super) fn note(&mut self, turns: u32, course: &TurnFold, chained: Option<LogHash>) {
        if self.is_kept {
            let course = course.clone();
            self.points.push_back(Point {
                turns,
                course,
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

    /// Turns up to which what a batch of this epoch says of its sender's world and log is about the log that counts.
    pub(super) fn counts_up_to(&self, epoch: u32) -> u32 {
        let later = self.undone.iter().filter(|undone| undone.epoch > epoch);
        later.map(|undone| undone.cut).min().unwrap_or(u32::MAX)
    }

    /// Whether somebody may have had so many turns of which the last were taken back.
    pub(super) fn took_back_before(&self, turns: u32) -> bool {
        let since = |undone: &Undone| turns.checked_sub(undone.cut);
        let mut since = self.undone.iter().filter_map(since);
        since.any(|turns| (1..=RECENT as u32).contains(&turns))
    }

    /// Who comes back was not there when these were taken back.
    pub(super) fn knows_of(&mut self, undone: Vec<Undone>) {
        self.undone = undone;
    }

    /// Turns that whoever begins to report in this epoch, and reported in one before, begins with at most.
    pub(super) fn reported_up_to(&self, before: u32, epoch: u32) -> u32 {
        let between = self.undone.iter();
        let between = between.filter(|undone| (before + 1..=epoch).contains(&undone.epoch));
        between
            .map(|undone| undone.cut + 1)
            .min()
            .unwrap_or(u32::MAX)
    }
}

impl Playing {
    /// Of up to `turns` turns, those that a batch of each epoch can say something about: later ones are taken back.
    pub(super) fn at_most(&self, turns: u32) -> impl Fn(u32) -> u32 {
        move |epoch| turns.min(self.past.counts_up_to(epoch))
    }

    /// Goes back to the turns before the cut. False where that is too far back.
    pub(super) fn undo(&mut self, core: &mut Core, change: &RosterChange) -> bool {
        let cut = change.value.cut;
        if self.complete > cut && !self.take_back(core, cut) {
            return false;
        }
        self.past.undone.extend(Undone::by(change));
        self.reported = self.reported.min(cut + 1);
        self.unreported.truncate((cut + 1 - self.reported) as usize);
        self.checksums.forget_all_after(cut);
        self.snapshots.undo(cut);
        self.mismatch.take_if(|mismatch| mismatch.turns > cut);
        for member in &mut self.members {
            member.pending_hashes.clear();
            member.alike = member.alike.min(cut);
        }
        self.forget_disputes();
        true
    }

    fn take_back(&mut self, core: &mut Core, cut: u32) -> bool {
        let Some(at) = self.past.points.iter().position(|point| point.turns == cut) else {
            return false;
        };
        let is_out = self.handed_out > cut;
        let mut worlds = self.past.worlds.iter().rev();
        let world = worlds
            .find(|world| world.turns <= cut)
            .filter(|_| is_out)
            .cloned();
        if is_out && world.is_none() || self.epochs.began_with() > cut {
            return false;
        }
        let point = self
            .past
            .points
            .drain(at..)
            .next()
            .expect("a place that was just found");
        self.course = point.course;
        self.epochs.chained = point.chained;
        self.complete = cut;
        self.hashes.truncate(cut);
        self.due_bundles.retain(|bundle| bundle.turn.0 < cut);
        self.snapshot_due.take_if(|keyframe| keyframe.turns > cut);
        for member in &mut self.members {
            member.left_from = member.left_from.filter(|from| *from <= cut);
        }
        self.take_back_own(cut);
        self.ending.reopen(cut);
        if let Some(world) = world {
            self.restore(core, world, cut);
        }
        true
    }

    /// What was executed of this peer's commands since, waits again; the batches that are sealed stand.
    fn take_back_own(&mut self, cut: u32) {
        let batches = self.members[self.me].batches.range(cut, u32::MAX);
        let batches: Vec<_> = batches.map(|(turn, held)| (turn, &held.batch)).collect();
        let paused = self.course.paused_by.is_some();
        for own in &mut self.own {
            let sealed = batches.iter().filter_map(|(turn, batch)| {
                let place =
                    seats_with_commands(&batch.entries).position(|seat| seat == own.seat)?;
                let commands = batch.entries.iter().filter(|entry| entry.seat == own.seat);
                let commands = commands.filter_map(|entry| match &entry.what {
                    What::Command(bytes) => Some(bytes.clone()),
                    _ => None,
                });
                Some(Sealed {
                    turn: *turn,
                    first: *batch.first_numbers.get(place)?,
                    commands: commands.collect(),
                })
            });
            let sealed: Vec<_> = sealed.collect();
            own.undo(self.course.next_number(own.seat), sealed, paused);
        }
    }

    /// Lets the world begin again at a snapshot, and execute what stands after it.
    fn restore(&mut self, core: &mut Core, world: World, cut: u32) {
        self.past.loading = true;
        self.past.asked.clear();
        self.load.take_back();
        self.past.worlds.retain(|world| world.turns <= cut);
        self.past.bundles.retain(|bundle| bundle.turn.0 < cut);
        self.executed = world.turns;
        self.handed_out = cut;
        self.ticks_handed_out = world.ticks;
        core.out.push(Output::Undo { turns: cut });
        core.out.push(Output::Load {
            turns: world.turns,
            ticks: world.ticks,
            snapshot: world.snapshot,
        });
        for bundle in self
            .past
            .bundles
            .iter()
            .filter(|bundle| bundle.turn.0 >= world.turns)
        {
            self.ticks_handed_out += u64::from(bundle.ticks());
            self.load.handed_out(bundle.ticks());
            core.out.push(Output::Execute(bundle.clone()));
        }
    }

    /// The world that was to take the place of another has.
    pub(crate) fn world_loaded(&mut self) {
        self.past.loaded();
    }
}
