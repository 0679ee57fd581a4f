//! Epochs: which roster is in force, what is decided, and what ended the epochs before.

use super::Membership;
use super::paxos::{OnlyEnd, Peers, Roster, Voters};
use crate::PeerId;
use crate::log::{RosterChange, Value};
use std::collections::BTreeMap;
use std::time::Duration;

/// Decisions of so many epochs to come are kept, of each peer of the match, until they can be proved: no fewer than are
/// sent at once, for they are not sent again.
const LATER: u32 = 64;

pub(super) struct Epochs {
    me: u8,
    epoch: u32,
    pub began_at: Duration,
    /// Turns before this epoch.
    pub began_with: u32,
    pub paxos: Roster,
    /// What ends this epoch, while turns up to its cut are not all complete.
    pending: Option<RosterChange>,
    /// Decisions of later epochs, as each peer told them: they are proved when their epoch has begun.
    later: BTreeMap<(u32, PeerId), RosterChange>,
    /// The epoch that ended with the decision that admitted this peer. A peer that has not heard of that sends it no turns,
    /// by which it would show what it lacks; and those that decided it may be gone.
    admitted_after: Option<u32>,
}

/// What becomes of a decision that a peer tells.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// It ended an epoch that is over, or waits for its epoch.
    Nothing,
    /// It ends this epoch, if it holds.
    Now(RosterChange),
}

impl Epochs {
    /// With all peers in the first epoch.
    pub(super) fn new(me: u8, peers: usize, now: Duration) -> Self {
        Epochs {
            me,
            epoch: 0,
            began_at: now,
            began_with: 0,
            paxos: Roster::new(me, Voters::new(Peers::first(peers))),
            pending: None,
            later: BTreeMap::new(),
            admitted_after: None,
        }
    }

    /// The epochs of a peer that comes back by the change that ended this epoch.
    pub(super) fn resumed(me: u8, ended: u32, value: Value, now: Duration) -> Self {
        Epochs {
            epoch: ended + 1,
            began_with: value.cut,
            paxos: Roster::new(me, Voters::new(value.roster)),
            admitted_after: Some(ended),
            ..Epochs::new(me, 0, now)
        }
    }

    /// The epochs of a player that goes on alone in this epoch.
    pub(super) fn continued(epoch: u32, now: Duration) -> Self {
        Epochs {
            epoch,
            ..Epochs::new(0, 1, now)
        }
    }

    pub(super) fn epoch(&self) -> u32 {
        self.epoch
    }

    pub(super) fn voters(&self) -> Voters {
        self.paxos.voters()
    }

    /// Whether the peer at this place is in the roster.
    pub(super) fn has(&self, at: usize) -> bool {
        self.voters().members().contains(at as u8)
    }

    /// The voters once what is decided is done.
    pub(super) fn next_members(&self) -> Peers {
        match &self.pending {
            Some(change) => change.value.roster,
            None => self.voters().members(),
        }
    }

    /// Whether nothing may be completed or sealed.
    pub(super) fn is_frozen(&self) -> bool {
        self.pending.is_none() && self.paxos.is_frozen()
    }

    /// Whether a change is under way and not decided.
    pub(super) fn is_changing(&self) -> bool {
        self.pending.is_none() && (self.paxos.is_frozen() || self.paxos.coordinates().is_some())
    }

    /// The peer that coordinates the change that is open, by what this peer has promised.
    pub(super) fn coordinator(&self) -> Option<u8> {
        let promised = self.paxos.promised().filter(|_| self.is_changing());
        promised.map(|ballot| ballot.peer)
    }

    /// What this epoch can end with alone, as far as that is known.
    pub(super) fn only_end(&self) -> Option<OnlyEnd> {
        let decided = self.pending.as_ref();
        let decided = decided.map(|change| OnlyEnd::Decided(change.value));
        decided.or_else(|| self.paxos.bound().map(OnlyEnd::Bound))
    }

    pub(super) fn pending(&self) -> Option<&RosterChange> {
        self.pending.as_ref()
    }

    /// Whether a decision says that this peer is out.
    pub(super) fn is_out(&self) -> bool {
        let pending = self.pending.as_ref();
        pending.is_some_and(|change| !change.value.roster.contains(self.me))
    }

    /// Whether a decision says that this peer is in the next epoch's roster.
    pub(super) fn stays_for_next(&self) -> bool {
        self.pending.is_some() && !self.is_out()
    }

    /// Whether a turn belongs to this epoch, as far as that is decided, and is not held up.
    pub(super) fn allows(&self, turn: u32) -> bool {
        let pending = self.pending.as_ref();
        !self.is_frozen() && pending.is_none_or(|change| turn < change.value.cut)
    }

    /// A peer tells of a decision: one of a peer takes the place of another of it, and there are few.
    pub(super) fn note_told(&mut self, change: RosterChange, from: Option<PeerId>) -> Told {
        if change.epoch == self.epoch && self.pending.is_none() {
            return Told::Now(change);
        }
        let kept = (self.epoch..=self.epoch + LATER).contains(&change.epoch);
        if let Some(from) = from.filter(|_| kept) {
            self.later.insert((change.epoch, from), change);
        }
        Told::Nothing
    }

    /// The decisions on this epoch that others told before it began.
    pub(super) fn take_told(&mut self) -> Vec<RosterChange> {
        if self.pending.is_some() {
            return Vec::new();
        }
        let epoch = self.epoch;
        let of_epoch = self.later.extract_if(.., |(of, _), _| *of == epoch);
        of_epoch.map(|(_, change)| change).collect()
    }

    fn decide(&mut self, change: RosterChange) {
        self.pending = Some(change);
    }

    /// Begins the next epoch. What ended this one.
    fn begin_next(&mut self, now: Duration) -> RosterChange {
        let change = self.pending.take().expect("a decision ends an epoch");
        self.epoch += 1;
        self.paxos = Roster::new(self.me, Voters::new(change.value.roster));
        let epoch = self.epoch;
        self.later.retain(|(of, _), _| *of >= epoch);
        self.began_at = now;
        self.began_with = change.value.cut;
        change
    }

    /// The epoch that ended with a decision which other peers may lack. A peer that has decided anything since then knows of
    /// that decision.
    pub(super) fn admitted_after(&self) -> Option<u32> {
        self.admitted_after.filter(|epoch| epoch + 1 == self.epoch)
    }
}

impl Membership {
    pub(crate) fn epoch(&self) -> u32 {
        self.epochs.epoch()
    }

    pub(crate) fn epoch_began_at(&self) -> Duration {
        self.epochs.began_at
    }

    /// Turns before this epoch.
    pub(crate) fn epoch_began_with(&self) -> u32 {
        self.epochs.began_with
    }

    pub(crate) fn voters(&self) -> Voters {
        self.epochs.voters()
    }

    /// Whether the peer at this place is in the roster.
    pub(crate) fn has(&self, at: usize) -> bool {
        self.epochs.has(at)
    }

    /// What ends this epoch, while turns up to its cut are not all complete.
    pub(crate) fn pending(&self) -> Option<&RosterChange> {
        self.epochs.pending()
    }

    /// Whether nothing may be completed or sealed.
    pub(crate) fn is_frozen(&self) -> bool {
        self.epochs.is_frozen()
    }

    /// Whether a change is under way and not decided.
    pub(crate) fn is_changing(&self) -> bool {
        self.epochs.is_changing()
    }

    /// Whether a decision says that this peer is out.
    pub(crate) fn is_out(&self) -> bool {
        self.epochs.is_out()
    }

    /// Whether a decision says that this peer is in the next epoch's roster.
    pub(crate) fn stays_for_next(&self) -> bool {
        self.epochs.stays_for_next()
    }

    /// Whether a turn belongs to this epoch, as far as that is decided, and is not held up.
    pub(crate) fn allows(&self, turn: u32) -> bool {
        self.epochs.allows(turn)
    }

    /// The epoch that ended with a decision which other peers may lack: those that have not told of a later epoch.
    pub(crate) fn admitted_after(&self) -> Option<u32> {
        self.epochs.admitted_after()
    }

    pub(crate) fn decide(&mut self, change: RosterChange) {
        self.epochs.decide(change);
    }

    /// Begins the next epoch; the caller has completed all turns of this one, and stays in the roster. What ended it.
    ///
    /// # Panics
    /// Where nothing is decided.
    pub(crate) fn begin_next_epoch(&mut self, now: Duration) -> RosterChange {
        let change = self.epochs.begin_next(now);
        self.votes.begin_epoch(self.epochs.epoch(), now);
        change
    }

    /// An epoch has begun; its change has `removed` these peers. `coordinator` is `None` where the change keeps all peers.
    pub(crate) fn settle_epoch(&mut self, removed: Peers, coordinator: Option<u8>, now: Duration) {
        let held_up = removed.iter();
        let held_up = held_up.filter(|at| self.suspicion.has_held_up(usize::from(*at)));
        self.readmission
            .begin_epoch(removed, held_up.collect(), now);
        self.suspicion.carry_stall_budget(removed, coordinator, now);
        self.readmission.forget_requests();
    }
}
