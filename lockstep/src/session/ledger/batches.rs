//! The batches around the next turn, and the turns for which each peer owes any.

use super::by_turn::ByTurn;
use crate::log::{Batch, Peers, SignedBatch};
use std::collections::BTreeMap;
use std::time::Duration;

/// Turns before the next one whose batches are kept, for peers that lag: none can lag by more than the delay.
const KEPT: u32 = 24;

pub(crate) struct Batches {
    of: Vec<Tenure>,
    /// By holder, sealer and turn: what another peer holds instead of what this one does, of turns that were not complete
    /// when it came. Only while the roster changes.
    alternates: BTreeMap<(u8, u8, u32), Held>,
}

/// A batch that is held.
pub(crate) struct Held {
    pub signed: SignedBatch,
    pub batch: Batch,
    pub arrived: Duration,
}

/// One peer's batches.
pub(crate) struct Tenure {
    batches: ByTurn<Held>,
    /// The first turn whose batch is not held.
    held: u32,
    /// The turn of the batch by which the peer leaves, once all batches up to it are held.
    leaves: Option<u32>,
    /// Before this turn the batches of a peer that came back are empty by rule.
    from: u32,
    /// From this turn on the batches of a peer that left, or was removed, are empty by rule.
    left_from: Option<u32>,
    /// From this turn on nothing counts of a peer that a decision removes whose turns are not all complete.
    void_from: Option<u32>,
}

impl Tenure {
    /// The tenure of a peer with empty batches, by rule, before turn `from`; batches before `held` are not missing.
    pub(crate) fn new(from: u32, held: u32, left_from: Option<u32>) -> Self {
        Tenure {
            batches: ByTurn::new(),
            held,
            leaves: None,
            from,
            left_from,
            void_from: None,
        }
    }

    fn required(&self, turn: u32) -> bool {
        let ends = [self.left_from, self.void_from];
        turn >= self.from && ends.iter().flatten().all(|from| turn < *from)
    }
}

impl Batches {
    pub(crate) fn new(of: Vec<Tenure>) -> Self {
        Batches {
            of,
            alternates: BTreeMap::new(),
        }
    }

    pub(crate) fn get(&self, at: usize, turn: u32) -> Option<&Held> {
        self.of[at].batches.get(turn)
    }

    /// The batch of a turn that a holder holds: its own alternate, or what this peer holds.
    pub(crate) fn get_by(&self, holder: Option<u8>, at: usize, turn: u32) -> Option<&Held> {
        let other = holder.and_then(|by| self.alternates.get(&(by, at as u8, turn)));
        other.or(self.get(at, turn))
    }

    /// Whether a peer's batch of a turn is needed.
    pub(crate) fn required(&self, at: usize, turn: u32) -> bool {
        self.of[at].required(turn)
    }

    /// Whether a peer's batch of a turn is held, or not needed.
    pub(crate) fn has(&self, at: usize, turn: u32) -> bool {
        !self.required(at, turn) || turn < self.of[at].held
    }

    /// Whether a peer will owe batches, the first of them after this turn.
    pub(crate) fn begins_after(&self, at: usize, turn: u32) -> bool {
        let tenure = &self.of[at];
        tenure.from > turn && tenure.required(tenure.from)
    }

    /// The first turn whose batch is not held.
    pub(crate) fn held(&self, at: usize) -> u32 {
        self.of[at].held
    }

    /// The same of all peers.
    pub(crate) fn all_until(&self) -> impl Iterator<Item = u32> {
        self.of.iter().map(|tenure| tenure.held)
    }

    /// The turn of the batch by which a peer leaves.
    pub(crate) fn leaves(&self, at: usize) -> Option<u32> {
        self.of[at].leaves
    }

    /// The peers whose leaving batch is held.
    pub(crate) fn leaving(&self) -> Peers {
        self.places(|tenure| tenure.leaves.is_some())
    }

    /// The peers that left, or were removed.
    pub(crate) fn gone(&self) -> Peers {
        self.places(|tenure| tenure.left_from.is_some())
    }

    pub(crate) fn is_gone(&self, at: usize) -> bool {
        self.of[at].left_from.is_some()
    }

    /// Whether a peer is gone, or is removed by a decision whose turns are not all complete.
    pub(crate) fn is_going(&self, at: usize) -> bool {
        let tenure = &self.of[at];
        tenure.left_from.is_some() || tenure.void_from.is_some()
    }

    fn places(&self, of: impl Fn(&Tenure) -> bool) -> Peers {
        let tenures = self.of.iter().enumerate();
        let found = tenures.filter(|(_, tenure)| of(tenure));
        found.map(|(at, _)| at as u8).collect()
    }

    pub(crate) fn store(&mut self, at: usize, turn: u32, held: Held) {
        self.of[at].batches.insert(turn, held);
    }

    /// Keeps this peer's own batch of a turn, which follows on those before.
    pub(crate) fn seal(&mut self, me: usize, turn: u32, held: Held) {
        let tenure = &mut self.of[me];
        if held.batch.leaving {
            tenure.leaves = Some(turn);
        }
        tenure.batches.insert(turn, held);
        tenure.held = turn + 1;
    }

    /// Counts the next batch of a peer as held where it is there. Its turn.
    pub(crate) fn advance(&mut self, at: usize) -> Option<u32> {
        let tenure = &mut self.of[at];
        let turn = tenure.held;
        let held = tenure.batches.get(turn)?;
        if held.batch.leaving && tenure.leaves.is_none() {
            tenure.leaves = Some(turn);
        }
        tenure.held += 1;
        Some(turn)
    }

    /// A peer leaves: batches from a turn on are empty by rule, unless earlier ones are already.
    pub(crate) fn leave(&mut self, at: usize, from: u32) {
        let tenure = &mut self.of[at];
        tenure.left_from = tenure.left_from.or(Some(from));
    }

    /// Drops what a peer sent for turns that the decision to remove it cuts off.
    pub(crate) fn cut_off(&mut self, at: usize, from: u32) {
        let tenure = &mut self.of[at];
        tenure.void_from = Some(from);
        tenure.batches.forget_from(from);
        tenure.held = tenure.held.min(from);
    }

    /// A peer comes back: batches before turn `from` are empty by rule.
    pub(crate) fn readmit(&mut self, at: usize, from: u32) {
        self.of[at] = Tenure::new(from, from, None);
    }

    /// Turns from `cut` on are taken back.
    pub(crate) fn retract(&mut self, cut: u32) {
        for tenure in &mut self.of {
            tenure.left_from = tenure.left_from.filter(|from| *from <= cut);
        }
    }

    /// Forgets batches that no peer can need any more.
    pub(crate) fn forget_before(&mut self, complete: u32) {
        let first = complete.saturating_sub(KEPT);
        for tenure in &mut self.of {
            tenure.batches.forget_before(first);
        }
    }

    /// Puts another batch of a turn in the place of the one that is held, which it returns.
    pub(crate) fn exchange(&mut self, at: usize, turn: u32, other: Held) -> Option<Held> {
        let tenure = &mut self.of[at];
        let before = tenure.batches.remove(turn)?;
        tenure.batches.insert(turn, other);
        let mut held = tenure.batches.range(0, tenure.held);
        let leaving = held.find(|(_, held)| held.batch.leaving);
        tenure.leaves = leaving.map(|(turn, _)| turn);
        Some(before)
    }

    /// All that is held of a peer from a turn on, oldest first.
    pub(crate) fn range(&self, at: usize, from: u32) -> impl Iterator<Item = (u32, &Held)> {
        self.of[at].batches.range(from, u32::MAX)
    }

    /// The batches of a peer from a turn on, up to which all are held, oldest first.
    pub(crate) fn held_from(&self, at: usize, from: u32) -> impl Iterator<Item = &Held> {
        let tenure = &self.of[at];
        let range = tenure.batches.range(from, tenure.held);
        range.map(|(_, held)| held)
    }

    /// All that is held from a turn on, by peer and oldest first.
    pub(crate) fn all_from(&self, from: u32) -> impl Iterator<Item = &Held> {
        let tenures = self.of.iter();
        let ranges = tenures.map(move |tenure| tenure.batches.range(from, u32::MAX));
        ranges.flatten().map(|(_, held)| held)
    }

    /// The newest batch of a peer up to which all are held.
    pub(crate) fn newest(&self, at: usize) -> Option<&Held> {
        let tenure = &self.of[at];
        tenure.batches.get(tenure.held.checked_sub(1)?)
    }

    /// The newest batch that attests no more turns than `most` says for their epochs.
    pub(crate) fn newest_within(&self, at: usize, most: impl Fn(u32) -> u32) -> Option<&Held> {
        let tenure = &self.of[at];
        let mut held = tenure.batches.range(0, tenure.held).rev();
        let within = held.find(|(_, held)| held.batch.complete <= most(held.batch.epoch));
        within.map(|(_, held)| held)
    }

    /// Keeps what another peer holds of a turn.
    pub(crate) fn keep_alternate(&mut self, holder: u8, of: u8, turn: u32, held: Held) {
        self.alternates.insert((holder, of, turn), held);
    }

    /// The peers of which alternates are known.
    pub(crate) fn alternate_holders(&self) -> Peers {
        self.alternates.keys().map(|(holder, ..)| *holder).collect()
    }

    /// Goes over to what another peer holds of turns from `complete` on and before the cut.
    pub(crate) fn take_alternates(&mut self, holder: u8, complete: u32, cut: u32) {
        let alternates = self.alternates.extract_if(.., |(by, ..), _| *by == holder);
        let alternates: Vec<_> = alternates.collect();
        for ((_, of, turn), held) in alternates {
            let at = usize::from(of);
            let counts = (complete..cut).contains(&turn) && turn < self.of[at].held;
            if counts && let Some(before) = self.exchange(at, turn, held) {
                self.alternates.insert((holder, of, turn), before);
            }
        }
    }

    pub(crate) fn forget_alternates(&mut self) {
        self.alternates.clear();
    }
}
