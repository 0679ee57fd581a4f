//! Who comes to the host, and who goes.

use super::again::Again;
use super::{Host, Stage};
use crate::log::start_hash;
use crate::session::core::Core;
use crate::session::reopen::book::RECORD;
use crate::session::reopen::message::Claim;
use crate::session::roster::Peers;
use crate::{Incarnation, JoinRefused, LinkId};
use std::time::Duration;

/// Addresses of one peer, and the bytes of each.
const ADDRESSES: usize = 8;
const ADDRESS_BYTES: usize = 64;
/// Who has held up the others once counts so much later when it comes again, twice as much after another time,
const COUNTS_AFTER: Duration = Duration::from_secs(2);
/// and so on, up to this many doublings.
const DOUBLINGS: u32 = 5;

pub(super) struct Guest {
    pub link: LinkId,
    pub incarnation: Incarnation,
    pub claim: Claim,
    pub addresses: Vec<String>,
    /// Bytes of the log that it may still be given.
    pub allowance: u64,
    /// Until then the others do not wait for it, nor go on with it.
    pub counts_from: Duration,
    pub counts: bool,
}

/// Who left, or had to, when the others were about to go on with it.
#[derive(Default)]
pub(super) struct Absent {
    times: u32,
    until: Duration,
}

impl Host {
    pub(super) fn come(&mut self, core: &mut Core, link: LinkId, claim: Claim, told: Vec<String>) {
        let proved = core.links.get(&link).and_then(|link| link.proved);
        let Some((id, incarnation)) = proved else {
            return;
        };
        let mut places = self.book.start.roster.iter();
        let place = places.position(|place| place.peer == id);
        let Some(peer) = place.map(|place| place as u8) else {
            return core.refuse(link, JoinRefused::NoSeat);
        };
        if claim.start != start_hash(&self.book.start) {
            return core.refuse(link, JoinRefused::OtherMatch);
        }
        if id == core.id() {
            return core.refuse(link, JoinRefused::AlreadyIn);
        }
        if self.guests.contains_key(&peer) {
            return self.comes_again(core, peer, Again::new(core, link, claim, told));
        }
        if self.book.names_run(peer, incarnation) {
            return refuse_old_run(core, link);
        }
        // Nobody could be given so much.
        let lacks = u64::from(claim.turns.saturating_sub(self.own.turns));
        if lacks * RECORD as u64 > core.limits.catch_up_bytes {
            return core.refuse(link, JoinRefused::OtherHistory);
        }
        let mut addresses = vec![core.links[&link].address.clone()];
        let fits = |address: &String| address.len() <= ADDRESS_BYTES && !address.is_empty();
        addresses.extend(told.into_iter().filter(fits).take(ADDRESSES - 1));
        let absent = self.absent.get(&peer);
        let guest = Guest {
            link,
            incarnation,
            claim,
            addresses,
            allowance: core.limits.catch_up_bytes,
            counts_from: absent.map_or(core.now, |absent| absent.until.max(core.now)),
            counts: false,
        };
        self.guests.insert(peer, guest);
        // Others may be about to go on, and do not wait for whoever comes late: it can come back into the match.
        self.untold = true;
    }

    /// Counts those of whom it is time to.
    pub(super) fn count(&mut self, core: &Core) {
        for guest in self.guests.values_mut() {
            if !guest.counts && guest.counts_from <= core.now {
                (guest.counts, self.news) = (true, true);
            }
        }
    }

    /// When the next one counts.
    pub(super) fn next_counts(&self) -> Option<Duration> {
        let waiting = self.guests.values().filter(|guest| !guest.counts);
        waiting.map(|guest| guest.counts_from).min()
    }

    /// Its link is gone, or it takes its leave.
    pub(super) fn lost(&mut self, core: &mut Core, peer: u8) {
        self.guests.remove(&peer);
        (self.news, self.untold) = (true, true);
        let takes_part = match &self.stage {
            Stage::Gathering => false,
            Stage::Fetching { from, .. } => *from == peer,
            Stage::Proposed { proposal, .. } => proposal.runs.iter().any(|run| run.peer == peer),
        };
        if takes_part {
            self.went(core, peer);
            self.gather(core);
        }
    }

    pub(super) fn refuse(&mut self, core: &mut Core, peer: u8, why: JoinRefused) {
        if let Some(guest) = self.guests.remove(&peer) {
            core.refuse(guest.link, why);
            self.untold = true;
            self.went(core, peer);
        }
    }

    /// Refuses who proved itself by a run that is in the log of the match.
    pub(super) fn refuse_old_runs(&mut self, core: &mut Core) {
        let guests = self.guests.iter();
        let old = guests.filter(|(peer, guest)| self.book.names_run(**peer, guest.incarnation));
        for peer in old.map(|(peer, _)| *peer).collect::<Vec<_>>() {
            if let Some(guest) = self.guests.remove(&peer) {
                refuse_old_run(core, guest.link);
            }
            self.went(core, peer);
        }
    }

    fn went(&mut self, core: &Core, peer: u8) {
        let absent = self.absent.entry(peer).or_default();
        absent.until = core.now + COUNTS_AFTER * (1 << absent.times.min(DOUBLINGS));
        absent.times += 1;
    }

    pub(super) fn guest_of(&self, link: LinkId) -> Option<u8> {
        let mut guests = self.guests.iter();
        guests.find_map(|(peer, guest)| (guest.link == link).then_some(*peer))
    }

    /// This peer, and who counts of those who have come.
    pub(super) fn here(&self) -> Peers {
        let guests = self.counting().map(|(peer, _)| peer);
        guests.chain([self.book.me as u8]).collect()
    }

    pub(super) fn counting(&self) -> impl Iterator<Item = (u8, &Guest)> {
        let counting = self.guests.iter().filter(|(_, guest)| guest.counts);
        counting.map(|(peer, guest)| (*peer, guest))
    }
}

/// It may have been let in just before the others died, and comes again by another run.
fn refuse_old_run(core: &mut Core, link: LinkId) {
    core.refuse(link, JoinRefused::GoesOn);
}
