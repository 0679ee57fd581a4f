//! Collecting: batches arrive by any link, of any signer.

use super::Turns;
use crate::Fault;
use crate::log::{Batch, Equivocation, Peers, SignedBatch};
use crate::session::ledger::{Held, Ledger, Places};
use crate::sign::Signer;
use std::time::Duration;

/// What a batch that arrives is held against.
#[derive(Clone, Copy)]
pub(crate) struct Arrival<'a> {
    pub now: Duration,
    pub epoch: u32,
    /// It comes from its signer, and for the first time.
    pub is_direct: bool,
    /// The round trip of its link, where that leads to its signer.
    pub round_trip: Option<Duration>,
    /// Peers that have signed two batches for one turn: a cheat may leave in one history and not in the other.
    pub cheats: Peers,
    pub signer: &'a dyn Signer,
}

/// What became of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Collected {
    Nothing,
    /// Its link brings what no correct peer forwards.
    Fault(Fault),
    /// The turn is none that its signer may have come to.
    OutOfReach,
    /// Another batch is held for the turn.
    Differs(Equivocation),
    Held {
        at: usize,
        turn: u32,
        /// It has entries for a seat that is none of its peer's.
        wrong_seat: bool,
    },
}

impl Turns {
    pub(crate) fn collect(
        &mut self,
        signed: SignedBatch,
        ledger: &mut Ledger,
        arrival: &Arrival<'_>,
    ) -> Collected {
        let Ledger {
            places,
            batches,
            window,
        } = ledger;
        let at = usize::from(signed.peer);
        let Some(peer) = places.get(at) else {
            return Collected::Fault(Fault::OutOfPlace);
        };
        if at == places.me() {
            return Collected::Nothing;
        }
        let Ok(batch) = Batch::decode(&signed.content) else {
            return Collected::Fault(Fault::Garbage);
        };
        let turn = batch.turn.0;
        // A peer that has not heard that an epoch ended must not go on with what was sealed after it.
        if batch.epoch > arrival.epoch {
            return Collected::Nothing;
        }
        if let Some(held) = batches.get(at, turn) {
            return match held.signed.content == signed.content {
                true => Collected::Nothing,
                false => Collected::Differs(Equivocation(held.signed.clone(), signed)),
            };
        }
        let first = u32::from(places.start().terms.plan.delay_turns);
        if turn < first || turn >= self.reach(places, window.complete()) {
            return Collected::OutOfReach;
        }
        let last = batches.leaves(at);
        let after_last = last.is_some_and(|last| turn > last) && !arrival.cheats.contains(at as u8);
        if turn < batches.held(at) || after_last || !batches.required(at, turn) {
            return Collected::Nothing;
        }
        if !signed.is_signed(places.start(), arrival.signer) {
            return Collected::Fault(Fault::Signature);
        }
        let mut seats = batch.entries.iter().map(|entry| entry.seat);
        let wrong_seat = seats.any(|seat| !peer.seats.contains(&seat));
        let ahead = turn.saturating_sub(window.complete());
        let own = batches.get(places.me(), turn).map(|own| own.arrived);
        self.note_arrival(at, (turn, ahead), own, arrival);
        let held = Held {
            signed,
            batch,
            arrived: arrival.now,
        };
        batches.store(at, turn, held);
        Collected::Held {
            at,
            turn,
            wrong_seat,
        }
    }

    /// Takes note of the way of a batch for a turn, `ahead` of the next one, for which this peer has sealed its own then,
    /// if it has. How long a copy takes tells of losses: it counts where it came too late.
    fn note_arrival(
        &mut self,
        at: usize,
        (turn, ahead): (u32, u32),
        own: Option<Duration>,
        of: &Arrival<'_>,
    ) {
        let plan = self.fold.plan;
        let millis = |time: Duration| time.as_millis() as i64;
        let due = self.clock.due() + plan.turn() * ahead;
        let sealed = own.map_or(millis(due) - millis(plan.network_budget()), millis);
        let way_ms = millis(of.now) - sealed;
        if of.is_direct || of.now > due {
            self.clock.arrived(at, way_ms);
        }
        if of.is_direct {
            self.arrivals.note(at, turn, of.now, way_ms);
        }
        if let Some(round_trip) = of.round_trip {
            self.leads.note(at, (way_ms, of.is_direct), round_trip);
        }
    }

    /// The first turn that no correct peer can have come to, where so many are complete.
    pub(crate) fn reach(&self, places: &Places, complete: u32) -> u32 {
        complete + 2 * places.start().terms.longest_delay() + 8
    }
}
