//! How the components see each other: the facts that each is told.

use super::Player;
use crate::log::Peers;
use crate::session::core::Core;
use crate::session::links::link::Link;
use crate::session::membership::FRESH;
use crate::session::{ending, turns, verify};
use std::time::Duration;

impl Player {
    pub(super) fn gate(&self, now: Duration) -> turns::Gate {
        let membership = &self.membership;
        let decided = membership.pending().map(|change| change.value);
        let said_leaving = self.ending.sealed_for().is_some();
        // A peer that has said that it leaves completes turns only where it must, to vote in the next epoch.
        let plays = !said_leaving || membership.stays_for_next();
        turns::Gate {
            now,
            voters: membership.voters(),
            epoch: membership.epoch(),
            is_closed: membership.is_out() || !plays,
            has_ended: self.ending.holds_turns(),
            is_frozen: membership.is_frozen(),
            is_fenced: membership.is_fenced(),
            is_disputed: self.verify.is_disputed(),
            cut: decided.map(|value| (value.cut, value.log_hash)),
            // Not between a decision and the epoch that it begins: a peer removed by that decision that has not heard of it
            // would take the word as given in the old epoch, and go on alone.
            says_leaving: self.ending.is_leaving() && decided.is_none(),
            said_leaving,
        }
    }

    pub(super) fn around_verify(&self, now: Duration) -> verify::Surroundings {
        verify::Surroundings {
            now,
            voters: self.membership.voters(),
            epoch_began: self.membership.epoch_began_at(),
            desynced: self.ending.is_desynced(),
            executed: self.turns.executed(),
            checksum: self.turns.checksum(),
            extension: self.membership.extension(),
        }
    }

    pub(super) fn around_ending(&self, core: &Core) -> ending::Surroundings {
        let turns = self.ending.turns();
        let pending = self.membership.pending();
        let knows = |at: u8| self.is_in_next_epoch(core, usize::from(at));
        let stay = pending.map_or(Peers::default(), |change| change.value.roster);
        let follows = |link: &Link| {
            let is_follower = self.is_follower(core, link.id);
            is_follower && link.heard_at + FRESH > core.now
        };
        ending::Surroundings {
            now: core.now,
            plan: self.turns.plan(),
            is_disputed: self.verify.is_disputed(),
            took_back: turns.is_some_and(|turns| self.ledger.window.took_back_before(turns)),
            asked: self.asked_to_sign(),
            is_followed: turns.is_some() && core.links.values().any(follows),
            is_decided: pending.is_some(),
            is_known: stay.iter().any(knows),
            is_released: self.ending.is_leaving() && self.is_released(core),
        }
    }

    /// Peers that have not left, and do not go for cheating or for their world: they sign the end.
    pub(super) fn asked_to_sign(&self) -> Peers {
        let turns = self.ending.turns().unwrap_or(self.turns.executed());
        let places = self.ledger.places.all();
        let asked = places.filter(|at| self.ledger.batches.required(*at, turns));
        let asked: Peers = asked.map(|at| at as u8).collect();
        asked.without(self.verify.cheats().or(self.verify.minority()))
    }

    /// Whether a link to a peer tells that it has heard of the decision that ends this epoch.
    fn is_in_next_epoch(&self, core: &Core, at: usize) -> bool {
        let mut links = core.links_to(self.ledger.places.key(at));
        links.any(|link| link.epoch > Some(self.membership.epoch()))
    }

    /// Whether the others need this peer no more, which leaves: they have decided on a roster without it, or none could, or
    /// all leave as well and know of it. Survivors need its vote until they know what is decided.
    fn is_released(&self, core: &Core) -> bool {
        let (places, batches) = (&self.ledger.places, &self.ledger.batches);
        // A peer that leaves, too, and has no link any more, has gone.
        let gone = |at: usize| {
            let linked = core.links_to(places.key(at)).next().is_some();
            batches.is_gone(at) || batches.leaves(at).is_some() && !linked
        };
        let holds = |at: usize, turn: u32| {
            let mut links = core.links_to(places.key(at));
            links.any(|link| {
                let held = link.quality.held.get(places.me());
                held.is_some_and(|held| held.0 > turn)
            })
        };
        let others = || places.all().filter(|at| *at != places.me());
        let mut voters = others().filter(|at| self.membership.has(*at));
        let released = match self.membership.pending() {
            Some(change) if self.membership.is_out() => voters.all(|at| {
                let stays = change.value.roster.contains(at as u8);
                !stays || self.is_in_next_epoch(core, at)
            }),
            _ => {
                let sealed = self.ending.sealed_for();
                let known =
                    sealed.is_some_and(|turn| others().all(|at| gone(at) || holds(at, turn)));
                known && voters.all(|at| batches.leaves(at).is_some())
            }
        };
        released || self.membership.has_lost_quorum()
    }
}
