//! What bundles hold is what somebody said.

use super::{Invariant, Judge};
use crate::simulator::Playable;
use lockstep::log::{Bundle, LogEntry, What};
use sim::{Seat, SeatState};
use std::collections::BTreeMap;

impl<W: Playable> Judge<W> {
    /// A turn that is new to the history holds exactly what players issued, in their order.
    pub(super) fn check_against_notes(&mut self, peer: usize, bundle: &Bundle) {
        if bundle.paused != self.paused {
            let seen = format!("turn {}: paused is {}", bundle.turn, bundle.paused);
            self.fail(Some(peer), Invariant::Agreement, seen);
        }
        let said = |entry: &LogEntry| !matches!(entry.what, What::Seat(_));
        if bundle.turn.0 < self.command_delay && bundle.entries.iter().any(said) {
            let seen = format!("turn {} is not empty", bundle.turn);
            self.fail(Some(peer), Invariant::Agreement, seen);
        }
        if !bundle.entries.is_sorted_by_key(|entry| entry.seat) {
            let seen = format!("turn {} out of seat order", bundle.turn);
            self.fail(Some(peer), Invariant::Agreement, seen);
        }
        let mut room = BTreeMap::new();
        for entry in &bundle.entries {
            let owner = self.owner(entry.seat);
            match &entry.what {
                What::Command(bytes) => {
                    *room.entry(owner).or_insert(0) += bytes.len() + 3;
                    self.check_command(peer, bundle, entry.seat, bytes);
                }
                What::Seat(state) => {
                    let turn = bundle.turn.0;
                    let gone = |owner: usize| self.peers[owner].left || self.was_out(owner, turn);
                    let back = |owner: usize| {
                        self.peers[owner].returned.is_some() && !self.is_out(owner, turn)
                    };
                    let founded = match state {
                        SeatState::Played => owner.is_some_and(back),
                        SeatState::Idle | SeatState::Ai => {
                            let told = self.start.as_ref().map(|start| start.absent.state());
                            told == Some(*state) && owner.is_some_and(gone)
                        }
                        SeatState::Resigned => false,
                    };
                    if !founded {
                        let seen = format!("turn {}: {state:?} for {:?}", bundle.turn, entry.seat);
                        self.fail(Some(peer), Invariant::NoLoss, seen);
                    }
                }
                What::Pause | What::Resume => {
                    self.paused = entry.what == What::Pause;
                    let asked = owner.is_some_and(|owner| self.peers[owner].takes_pause_ask());
                    if !asked && self.hostile.is_none() {
                        let seen = format!("turn {}: nobody asked to pause", bundle.turn);
                        self.fail(Some(peer), Invariant::NoLoss, seen);
                    }
                }
                What::Load(load) => self.check_load(peer, bundle, entry.seat, *load),
                What::Chat(text) => {
                    let written = owner.is_some_and(|owner| self.peers[owner].takes_chat(text));
                    if !written && self.hostile.is_none() {
                        let seen = format!("turn {}: nobody wrote {text:?} now", bundle.turn);
                        self.fail(Some(peer), Invariant::NoLoss, seen);
                    }
                }
            }
        }
        self.check_promptness(peer, bundle, &room);
    }

    fn check_command(&mut self, peer: usize, bundle: &Bundle, seat: Seat, bytes: &[u8]) {
        let next = self.agreed.entry(seat).or_default();
        let issued = self.issued.get(&seat).and_then(|issued| issued.get(*next));
        let number = *next;
        *next += 1;
        let of_hostile = self.hostile.is_some() && self.owner(seat) == self.hostile;
        let seen = match issued {
            _ if of_hostile => return,
            None => format!(
                "turn {}: {seat:?} never issued its command {number}",
                bundle.turn
            ),
            Some(issued) if issued.bytes != bytes => {
                format!(
                    "turn {}: command {number} of {seat:?} is not the one issued",
                    bundle.turn
                )
            }
            Some(_) if bundle.paused => format!("turn {} is paused and has commands", bundle.turn),
            Some(_) => return,
        };
        self.fail(Some(peer), Invariant::NoLoss, seen);
    }
}
