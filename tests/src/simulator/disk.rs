//! The disk of a peer: what it holds that binds its peer, and when that is durable.

use super::event::Event;
use super::{Playable, Simulator};
use crate::random::Stream;
use lockstep::log::{Accepted, Record, SignedReopening};
use lockstep::session::Input;
use std::time::Duration;

/// A sync takes this long at most,
const SYNCS_WITHIN_MS: u64 = 20;
/// or this long where the disk is busy, which is a fault: none is from the healing time on.
const BUSY_WITHIN_MS: u64 = 400;

/// The disk under the newest recording of a peer.
pub struct Disk {
    random: Stream,
    written: Bound,
    /// What is durable once the sync of this number is done.
    syncing: Option<(u64, Durable)>,
    durable: Durable,
}

/// What binds a peer: the newest accept, and the newest reopening that it has signed.
#[derive(Clone, Default)]
pub struct Bound {
    pub accepted: Option<Accepted>,
    pub signed: Option<SignedReopening>,
}

/// What no loss of power takes.
#[derive(Clone, Default)]
pub struct Durable {
    pub bound: Bound,
    /// Turns of the log.
    pub turns: u32,
}

impl Disk {
    pub fn new(seed: u64, peer: usize) -> Self {
        Disk {
            random: Stream::new(seed, "disk", peer as u64),
            written: Bound::default(),
            syncing: None,
            durable: Durable::default(),
        }
    }

    /// A record is written.
    pub fn write(&mut self, record: &Record) {
        match record {
            Record::Accept(accepted) => self.written.accepted = Some(accepted.clone()),
            Record::Signed(signed) => self.written.signed = Some(*signed),
            _ => {}
        }
    }

    /// The newest accept that was written.
    pub fn accepted(&self) -> Option<Accepted> {
        self.written.accepted.clone()
    }

    /// What is written is to be durable, with so many turns. How long that takes.
    fn sync(&mut self, id: u64, turns: u32, is_healed: bool) -> Duration {
        let bound = self.written.clone();
        self.syncing = Some((id, Durable { bound, turns }));
        let most = match self.random.chance(100) && !is_healed {
            true => BUSY_WITHIN_MS,
            false => SYNCS_WITHIN_MS,
        };
        self.random.millis(0, most)
    }

    fn done(&mut self, id: u64) {
        if let Some((_, durable)) = self.syncing.take_if(|(newest, _)| *newest == id) {
            self.durable = durable;
        }
    }

    /// What is left of it after the process has died, and the machine with it where the disk `lost` turns. A new recording
    /// begins with that.
    pub fn after_death(&mut self, lost: bool) -> Durable {
        if !lost {
            self.durable.bound = std::mem::take(&mut self.written);
        }
        (self.written, self.syncing) = (self.durable.bound.clone(), None);
        let left = self.durable.clone();
        self.durable.turns = 0;
        left
    }
}

impl<W: Playable> Simulator<W> {
    pub(super) fn sync(&mut self, peer: usize, id: u64) {
        let turns = self.judge.peers[peer].log.len();
        let is_healed = self.judge.core.due.is_some();
        let takes = self.peers[peer].disk.sync(id, turns, is_healed);
        let run = self.judge.peers[peer].notes.run;
        let at = self.now() + takes;
        self.driver.schedule(at, Event::Synced(peer, run, id));
    }

    /// A sync of this run is done. Nothing of a process that has died since becomes durable.
    pub(super) fn synced(&mut self, peer: usize, run: u32, id: u64) {
        let runs = self.driver.session(peer).is_some();
        if runs && self.judge.peers[peer].notes.run == run {
            self.peers[peer].disk.done(id);
            let Bound { accepted, signed } = self.peers[peer].disk.durable.bound.clone();
            let notes = self.notes(peer);
            notes
                .accepts
                .extend(accepted.map(|of| (of.epoch, of.ballot)));
            notes
                .reopenings
                .extend(signed.map(|of| (of.epoch, of.roster)));
            self.deafen(peer);
            self.feed(peer, Input::Synced(id));
        }
    }
}
