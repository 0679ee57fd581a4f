//! Delivery: complete turns go to the log and then to the world. They wait for the first snapshot only: a world that is
//! behind must see all that it is to catch up with.

use super::load::Load;
use super::retraction::RetractionBuffer;
use super::snapshots::Snapshots;
use crate::log::{Bundle, Keyframe, Record, RosterChange, TurnFold};
use crate::session::Output;
use crate::session::ledger::{LogTail, LogWindow};
use crate::{Limits, LogHash, TurnNumber};
use sim::Checksum;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

pub(super) struct Delivery {
    /// Complete turns that wait for the first snapshot.
    waiting: VecDeque<Bundle>,
    handed_out: u32,
    tail: LogTail,
    ticks: u64,
    /// Turns that the world has executed, and its checksum.
    executed: u32,
    checksum: Checksum,
    /// Keyframes whose snapshots are still to come, by turns.
    keyframes: VecDeque<Keyframe>,
    /// Turns between two keyframes of the log.
    keyframe_every: Option<u32>,
    /// Roster changes that wait for their place in the log.
    changes: VecDeque<RosterChange>,
    pub load: Load,
    pub snapshots: Snapshots,
    pub retraction: RetractionBuffer,
}

/// Where the world stands when this peer's part begins: turns handed out and their ticks, turns executed, its checksum.
pub(crate) struct World {
    pub turns: u32,
    pub ticks: u64,
    pub executed: u32,
    pub checksum: Checksum,
}

impl Delivery {
    pub(super) fn new(
        world: World,
        keyframe_every: Option<u32>,
        load: Load,
        (snapshots, retraction): (Snapshots, RetractionBuffer),
    ) -> Self {
        Delivery {
            waiting: VecDeque::new(),
            handed_out: world.turns,
            tail: LogTail::behind(world.turns),
            ticks: world.ticks,
            executed: world.executed,
            checksum: world.checksum,
            keyframes: VecDeque::new(),
            keyframe_every,
            changes: VecDeque::new(),
            load,
            snapshots,
            retraction,
        }
    }

    pub(super) fn handed_out(&self) -> u32 {
        self.handed_out
    }

    pub(super) fn executed(&self) -> u32 {
        self.executed
    }

    pub(super) fn checksum(&self) -> Checksum {
        self.checksum
    }

    /// A snapshot of the first world is wanted, if turns are ever taken back.
    pub(super) fn first_world(&mut self) -> Option<Output> {
        let turns = self.handed_out;
        let wanted = self.retraction.begins_with(turns, self.ticks);
        wanted.then_some(Output::Save { turns })
    }

    /// A turn is complete.
    pub(super) fn push(&mut self, bundle: Bundle) {
        self.waiting.push_back(bundle);
    }

    /// The match ends before the turns that wait.
    pub(super) fn drop_waiting(&mut self) {
        self.waiting.clear();
    }

    /// A change waits for its place in the log.
    pub(super) fn push_change(&mut self, change: RosterChange) {
        self.changes.push_back(change);
    }

    /// Logs the changes that come next behind so many turns.
    pub(super) fn log_changes(&mut self, turns: u32) -> Vec<Output> {
        let mut logged = Vec::new();
        while let Some(change) = self.changes.pop_front_if(|next| next.value.cut == turns) {
            // The decision covers the turns before it.
            logged.extend(self.tail.settle(turns));
            logged.push(Output::Append(Record::Roster(change)));
        }
        logged
    }

    /// Logs all that is complete, of which the world may be handed out the last turns later, and what ended the epoch
    /// before.
    pub(super) fn log_complete(&mut self) -> Vec<Output> {
        let mut out = Vec::new();
        for bundle in self.waiting.clone() {
            out.extend(self.log(bundle));
        }
        out.extend(self.log_changes(self.tail.next()));
        out
    }

    /// Logs a turn, and the changes before it, where that was not done before the world was due to get it.
    fn log(&mut self, bundle: Bundle) -> Vec<Output> {
        if bundle.turn.0 < self.tail.next() {
            return Vec::new();
        }
        let mut out = self.log_changes(bundle.turn.0);
        out.extend(self.tail.push(bundle));
        out.extend(self.tail.provisional().map(Output::Tail));
        out
    }

    /// Turns before this one are final.
    pub(super) fn settle(&mut self, turns: u32) -> Vec<Output> {
        self.tail.settle(turns)
    }

    /// Turns of the log.
    pub(super) fn logged(&self) -> u32 {
        self.tail.logged()
    }

    /// Takes a record about so many turns for the log.
    pub(super) fn record(&mut self, about: u32, record: Record) -> Option<Output> {
        self.tail.record(about, record)
    }

    /// The match is over for this peer, with what is final.
    pub(super) fn close_log(&mut self) -> Vec<Output> {
        self.tail.close()
    }

    /// Logs and hands out what is complete.
    pub(super) fn hand_out(&mut self, fold: &TurnFold, window: &LogWindow) -> Vec<Output> {
        let mut out = Vec::new();
        while !self.retraction.lacks_first() {
            let Some(bundle) = self.waiting.pop_front() else {
                break;
            };
            self.load.handed_out(bundle.ticks());
            out.extend(self.log(bundle.clone()));
            self.ticks += u64::from(bundle.ticks());
            self.retraction.handed_out(&bundle);
            out.push(Output::Execute(bundle));
            self.handed_out += 1;
            let turns = self.handed_out;
            let to_go_back = self.retraction.wants_world(turns, self.ticks);
            let wanted = self.logs_keyframe(turns) || self.snapshots.are_due(turns);
            let log_hash = window.after(turns).filter(|_| wanted);
            let keyframe = log_hash.map(|log_hash| self.keyframe(fold, log_hash));
            let wanted = keyframe.is_some();
            self.keyframes.extend(keyframe);
            if to_go_back || wanted {
                out.push(Output::Save { turns });
            }
        }
        out
    }

    /// The world has been saved after so many turns; the match ends at `end`, where that is known. What goes to the log.
    pub(super) fn saved(
        &mut self,
        turns: u32,
        bytes: Arc<[u8]>,
        end: Option<u32>,
        limits: &Limits,
    ) -> Option<Keyframe> {
        self.retraction.keep_world(turns, &bytes);
        // What was asked of turns that were taken back may never come.
        while (self
            .keyframes
            .pop_front_if(|keyframe| keyframe.turns < turns))
        .is_some()
        {}
        let due = self
            .keyframes
            .pop_front_if(|keyframe| keyframe.turns == turns);
        // The world stopped at the end, which lies before such a keyframe.
        if end.is_some_and(|end| turns > end) {
            return None;
        }
        let keyframe = Keyframe {
            snapshot: bytes,
            ..due?
        };
        if self.snapshots.are_due(turns) {
            self.snapshots.keep(&keyframe, limits);
        }
        self.logs_keyframe(turns).then_some(keyframe)
    }

    /// Whether the log wants a snapshot of the world after so many turns.
    fn logs_keyframe(&self, turns: u32) -> bool {
        self.keyframe_every
            .is_some_and(|every| turns.is_multiple_of(every))
    }

    /// What a keyframe says beside the world, after the turns that are handed out.
    pub(super) fn keyframe(&self, fold: &TurnFold, log_hash: LogHash) -> Keyframe {
        let of_fold = fold.keyframe(self.handed_out, self.ticks, log_hash);
        match self.waiting.front() {
            Some(next) => Keyframe {
                plan: next.plan,
                paused: next.paused,
                ..of_fold
            },
            None => of_fold,
        }
    }

    /// The world has executed the next turn.
    ///
    /// # Panics
    /// Where none was handed out.
    pub(super) fn note_executed(&mut self, checksum: Checksum, step: Duration, now: Duration) {
        assert!(
            self.executed < self.handed_out,
            "a turn was handed out before it was executed"
        );
        self.executed += 1;
        self.load.executed(now, step);
        self.checksum = checksum;
    }

    /// The world that was to take the place of another has.
    pub(super) fn note_loaded(&mut self, checksum: Checksum) {
        self.retraction.loaded();
        self.checksum = checksum;
    }

    /// Whether turns from `cut` on can be taken back: none of them is final.
    pub(super) fn reaches(&self, cut: u32) -> bool {
        cut >= self.tail.logged() && self.retraction.reaches(cut, self.handed_out > cut)
    }

    /// Turns from `cut` on are taken back: the world begins again at a snapshot and executes what stands after it.
    pub(super) fn retract(&mut self, cut: u32) -> Vec<Output> {
        self.waiting.retain(|bundle| bundle.turn.0 < cut);
        self.keyframes.retain(|keyframe| keyframe.turns <= cut);
        let world = self.retraction.world_at(cut).cloned();
        let Some(world) = world.filter(|_| self.handed_out > cut) else {
            let logged = self.tail.next() > cut;
            return logged.then(|| self.tail.retract(cut)).into_iter().collect();
        };
        self.load.take_back();
        self.executed = world.turns;
        self.handed_out = cut;
        self.ticks = world.ticks;
        let mut out = vec![
            self.tail.retract(cut),
            Output::Load {
                turns: world.turns,
                ticks: world.ticks,
                snapshot: world.snapshot.clone(),
                retracted: Some(TurnNumber(cut)),
            },
        ];
        for bundle in self.retraction.restore(&world, cut) {
            self.ticks += u64::from(bundle.ticks());
            self.load.handed_out(bundle.ticks());
            out.push(Output::Execute(bundle.clone()));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;
    use crate::log::Terms;
    use crate::session::ledger::fixture::{ledger, start};

    /// The delivery of one of so many peers, before any turn.
    fn delivery(peers: u8) -> (Delivery, TurnFold) {
        let world = World {
            turns: 0,
            ticks: 0,
            executed: 0,
            checksum: Checksum(0),
        };
        let peers_in_all = usize::from(peers);
        let kept = (
            Snapshots::new(&Terms::default(), peers_in_all),
            RetractionBuffer::new(peers_in_all),
        );
        let load = Load::new(Duration::ZERO, 0);
        let fold = TurnFold::new(&start(peers));
        (Delivery::new(world, Some(20), load, kept), fold)
    }

    fn bundle(turn: u32) -> Bundle {
        Bundle {
            turn: TurnNumber(turn),
            plan: Plan::default(),
            paused: false,
            entries: Vec::new(),
        }
    }

    /// Turns that are executed, and snapshots asked for, in this order.
    fn told(out: &[Output]) -> (Vec<u32>, Vec<u32>) {
        let (mut executed, mut saved) = (Vec::new(), Vec::new());
        for output in out {
            match output {
                Output::Execute(bundle) => executed.push(bundle.turn.0),
                Output::Save { turns } => saved.push(*turns),
                _ => {}
            }
        }
        (executed, saved)
    }

    #[test]
    fn turns_wait_for_the_snapshot_by_which_they_could_be_taken_back() {
        let (mut delivery, fold) = delivery(3);
        let ledger = ledger(3);
        assert_eq!(delivery.first_world(), Some(Output::Save { turns: 0 }));
        delivery.push(bundle(0));
        assert!(delivery.hand_out(&fold, &ledger.window).is_empty());
        let limits = Limits::default();
        delivery.saved(0, Arc::from([7; 4]), None, &limits);
        let out = delivery.hand_out(&fold, &ledger.window);
        assert_eq!(told(&out), (vec![0], vec![]));
        assert_eq!(out[0], Output::Tail(vec![bundle(0)]));
    }

    #[test]
    fn two_peers_take_nothing_back() {
        let (mut delivery, fold) = delivery(2);
        assert_eq!(delivery.first_world(), None);
        delivery.push(bundle(0));
        let out = delivery.hand_out(&fold, &ledger(2).window);
        assert_eq!(told(&out), (vec![0], vec![]));
    }

    #[test]
    fn turns_do_not_wait_for_the_snapshot_of_a_keyframe() {
        let (mut delivery, fold) = delivery(2);
        let mut ledger = ledger(2);
        for turn in 0..30 {
            ledger.window.push(&bundle(turn));
            delivery.push(bundle(turn));
        }
        let out = delivery.hand_out(&fold, &ledger.window);
        assert_eq!(told(&out), ((0..30).collect(), vec![20]));
        let world: Arc<[u8]> = Arc::from([1; 4]);
        let limits = Limits::default();
        let keyframe = delivery.saved(20, world.clone(), None, &limits);
        let keyframe = keyframe.expect("the log wants it");
        assert_eq!((keyframe.turns, keyframe.snapshot), (20, world));
        assert_eq!(Some(keyframe.log_hash), ledger.window.after(20));
        assert_eq!(delivery.saved(20, Arc::from([1; 4]), None, &limits), None);
    }

    #[test]
    fn a_retraction_runs_the_turns_behind_the_snapshot_again() {
        let (mut delivery, fold) = delivery(3);
        let mut ledger = ledger(3);
        let limits = Limits::default();
        delivery.first_world();
        delivery.saved(0, Arc::from([7; 4]), None, &limits);
        for turn in 0..6 {
            delivery.retraction.note(turn, &fold, None);
            ledger.window.push(&bundle(turn));
            delivery.push(bundle(turn));
        }
        delivery.hand_out(&fold, &ledger.window);
        for turn in 0..6 {
            delivery.note_executed(Checksum(turn), Duration::ZERO, Duration::ZERO);
        }
        assert!(delivery.reaches(4) && !delivery.reaches(6));
        assert!(delivery.retraction.take_point(4).is_some());
        let out = delivery.retract(4);
        assert_eq!(out[0], Output::Tail((0..4).map(bundle).collect()));
        let cut = Some(TurnNumber(4));
        assert!(matches!(out[1], Output::Load { turns: 0, retracted, .. } if retracted == cut));
        assert_eq!(told(&out).0, [0, 1, 2, 3]);
        assert_eq!((delivery.executed(), delivery.handed_out()), (0, 4));
        assert!(delivery.retraction.is_loading());
        delivery.note_loaded(Checksum(7));
        assert_eq!(delivery.checksum(), Checksum(7));
    }
}
