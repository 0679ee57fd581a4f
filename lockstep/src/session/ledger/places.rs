//! Places: the start's roster, with the runs of processes in force and earlier runs.

use crate::log::{Peers, Readmission, RosterChange, RosterPeer, Start};
use crate::{Incarnation, PeerId};
use sim::Seat;
use std::sync::Arc;

/// Earlier runs of a peer's process that are remembered: no peer comes back so often while its earlier runs still speak.
const PAST_KEPT: usize = 64;

pub(crate) struct Places {
    start: Arc<Start>,
    me: usize,
    /// By place, the runs of the peer's process that are over.
    past: Vec<Vec<Incarnation>>,
}

impl Places {
    /// The places of a start that names the runs in force. `past` may be shorter than the roster.
    pub(crate) fn new(start: Arc<Start>, me: usize, mut past: Vec<Vec<Incarnation>>) -> Self {
        past.resize(start.roster.len(), Vec::new());
        Places { start, me, past }
    }

    pub(crate) fn start(&self) -> &Arc<Start> {
        &self.start
    }

    /// This peer's place.
    pub(crate) fn me(&self) -> usize {
        self.me
    }

    /// The set of this peer alone.
    pub(crate) fn own(&self) -> Peers {
        std::iter::once(self.me as u8).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.start.roster.len()
    }

    pub(crate) fn all(&self) -> std::ops::Range<usize> {
        0..self.len()
    }

    pub(crate) fn get(&self, at: usize) -> Option<&RosterPeer> {
        self.start.roster.get(at)
    }

    /// # Panics
    /// Where there is no such place.
    pub(crate) fn peer(&self, at: usize) -> &RosterPeer {
        &self.start.roster[at]
    }

    pub(crate) fn key(&self, at: usize) -> PeerId {
        self.peer(at).peer
    }

    pub(crate) fn keys(&self) -> Vec<PeerId> {
        let roster = self.start.roster.iter();
        roster.map(|peer| peer.peer).collect()
    }

    /// The place of a key.
    pub(crate) fn of(&self, key: PeerId) -> Option<usize> {
        let mut roster = self.start.roster.iter();
        roster.position(|peer| peer.peer == key)
    }

    /// Whether this is the run in force of the peer at a place.
    pub(crate) fn is_current(&self, at: usize, run: Incarnation) -> bool {
        self.get(at).is_some_and(|peer| peer.incarnation == run)
    }

    /// Whether this run of the peer's process is over.
    pub(crate) fn is_past(&self, at: usize, run: Incarnation) -> bool {
        self.past.get(at).is_some_and(|past| past.contains(&run))
    }

    /// Whether this is a run of the peer's process that has had no part yet.
    pub(crate) fn is_new(&self, at: usize, run: Incarnation) -> bool {
        !self.is_current(at, run) && !self.is_past(at, run)
    }

    /// The seats of these peers, ascending.
    pub(crate) fn seats_of(&self, peers: Peers) -> Vec<Seat> {
        let peers = peers.iter().filter_map(|at| self.get(usize::from(at)));
        let mut seats: Vec<Seat> = peers.flat_map(|peer| peer.seats.iter().copied()).collect();
        seats.sort_unstable();
        seats
    }

    /// The change puts another run of a peer's process in the place of the one before.
    pub(crate) fn readmit(&mut self, joins: Readmission, change: &RosterChange) {
        let at = usize::from(joins.peer);
        let past = &mut self.past[at];
        if past.len() == PAST_KEPT {
            past.remove(0);
        }
        past.push(self.start.roster[at].incarnation);
        change.apply(Arc::make_mut(&mut self.start));
    }
}
