//! Where to go on, and that all sign it.

use super::{BEGIN_AFTER, Host, Stage};
use crate::log::{NewRun, RosterChange, encode_change};
use crate::session::core::Core;
use crate::session::lobby::Step;
use crate::session::rejoin::{Ask, encode};
use crate::session::reopen::message::{Claim, Proposal, Said};
use crate::session::roster::{Ballot, Peers, Value, Voters};
use crate::session::wire::Control;
use crate::{Contact, EndReason, Event, Fault, JoinRefused, PeerId};
use std::collections::BTreeMap;

/// Who has recorded more gives it within so many times the time for one answer.
const ANSWERS: u32 = 3;

impl Host {
    /// Settles where to go on: by the log of who has what a quorum says to have.
    pub(super) fn settle(&mut self, core: &mut Core) -> Step {
        self.refuse_old_runs(core);
        let guests = self.counting();
        let epoch = guests.map(|(_, guest)| guest.claim.epoch).max();
        let epoch = epoch.filter(|epoch| *epoch > self.book.epoch());
        // Of a newer epoch the roster is not known here, so nor is how much of it counts.
        let wanted = match epoch {
            Some(_) => 0,
            None => newest_common(&self.held(), Voters::new(self.book.roster())),
        };
        if epoch.is_none() && wanted <= self.book.turns() {
            return self.propose(core);
        }
        let newest = epoch.unwrap_or(self.book.epoch());
        let gives = self
            .counting()
            .filter(|(_, guest)| guest.claim.epoch == newest && guest.claim.turns >= wanted);
        let Some((peer, _)) = gives.min_by_key(|(_, guest)| guest.claim.turns) else {
            return self.propose(core);
        };
        self.altered = true;
        if epoch.is_some() {
            self.book.cut_back_provisional(core);
        }
        self.stage = Stage::Fetching {
            from: peer,
            answer: core.now,
            until: core.now + core.limits.handshake * ANSWERS,
        };
        self.fetch(core);
        Step::Stay
    }

    /// By their own word: the turns of the book's epoch that each voter here holds, which may be more than the book's.
    fn held(&self) -> BTreeMap<u8, u32> {
        let own = self.book.shared_with(&self.own).unwrap_or(0);
        let mut held = BTreeMap::from([(self.book.me as u8, own)]);
        let voters = self.book.roster();
        for (peer, guest) in self.counting() {
            let turns = match guest.claim.epoch == self.book.epoch() {
                true => Some(guest.claim.turns),
                false => self.book.shared_with(&guest.claim),
            };
            if let Some(turns) = turns.filter(|_| voters.contains(peer)) {
                held.insert(peer, turns);
            }
        }
        held
    }

    fn fetch(&mut self, core: &mut Core) {
        if let Stage::Fetching { from, answer, .. } = &mut self.stage
            && let Some(guest) = self.guests.get(from)
        {
            *answer = core.now + core.limits.handshake;
            let ask = Ask::Log {
                from: self.book.turns(),
                attested: 0,
            };
            core.send_bulk(guest.link, encode(&ask));
        }
    }

    pub(super) fn fetched(&mut self, core: &mut Core, from: u32, records: &[u8]) -> Step {
        let Stage::Fetching { from: peer, .. } = self.stage else {
            return Step::Stay;
        };
        let Some(claim) = self.guests.get(&peer).map(|guest| guest.claim) else {
            return Step::Stay;
        };
        let taken = self.book.take(core, from, records).is_some();
        let here = (self.book.epoch(), self.book.turns());
        if taken && here < (claim.epoch, claim.turns) {
            self.fetch(core);
            return Step::Stay;
        }
        let of_one_history =
            self.book.claim() == claim && self.book.shared_with(&self.own).is_some();
        if !taken || !of_one_history {
            self.refuse(core, peer, JoinRefused::OtherHistory);
            self.gather(core);
            return Step::Stay;
        }
        self.stage = Stage::Gathering;
        self.settle(core)
    }

    /// Proposes to go on with those who are here, if that can be.
    fn propose(&mut self, core: &mut Core) -> Step {
        let (voters, epoch) = (Voters::new(self.book.roster()), self.book.epoch());
        if !voters.members().contains(self.book.me as u8) {
            let why = JoinRefused::NotOfRoster;
            self.broadcast(core, &Control::Bye);
            return Step::End(EndReason::Refused(why));
        }
        let own = self.book.shared_with(&self.own).unwrap_or(0);
        let mut held = BTreeMap::from([(self.book.me as u8, own)]);
        let guests = self.counting();
        let guests: Vec<(u8, Claim)> = guests.map(|(peer, guest)| (peer, guest.claim)).collect();
        for (peer, claim) in guests {
            match self.book.shared_with(&claim) {
                // The match had gone on without it: it comes back once it goes on again.
                _ if !voters.members().contains(peer) => {}
                None => self.refuse(core, peer, JoinRefused::OtherHistory),
                Some(turns) => {
                    held.insert(peer, turns);
                }
            }
        }
        let here: Peers = held.keys().copied().collect();
        if core.now < self.wait_until && !voters.members().is_within(here) {
            self.gather(core);
            self.news = false;
            return Step::Stay;
        }
        if !voters.is_quorum(here) {
            let missing = self.infos(voters.members().without(here));
            self.broadcast(core, &Control::Bye);
            return Step::End(EndReason::NoQuorum { missing });
        }
        let cut = newest_common(&held, voters).max(self.book.began());
        self.altered |= cut < self.book.turns();
        self.book.cut_back(core, epoch, cut);
        let own = core.incarnation;
        let run_of = |peer: u8| {
            self.guests
                .get(&peer)
                .map_or(own, |guest| guest.incarnation)
        };
        let runs = held.iter().map(|(peer, turns)| NewRun {
            peer: *peer,
            incarnation: run_of(*peer),
            held: *turns >= cut,
        });
        let proposal = Proposal {
            attempt: self.attempt,
            epoch,
            cut,
            log_hash: self.book.tip(),
            runs: runs.collect(),
        };
        let bytes = proposal
            .reopening()
            .signed_bytes(&self.book.start, epoch, cut);
        let signature = core.signer.sign(&bytes);
        // Who is of no roster any more has no part in it, and waits until the match goes on.
        let propose = Control::Reopen(Said::Propose(proposal.clone()));
        let asked = proposal
            .runs
            .iter()
            .filter_map(|run| self.guests.get(&run.peer));
        for guest in asked {
            core.send(guest.link, &propose);
        }
        self.stage = Stage::Proposed {
            proposal,
            signatures: BTreeMap::new(),
            until: core.now + core.limits.handshake * 3,
        };
        self.signed(core, self.book.me as u8, self.attempt, signature)
    }

    pub(super) fn signed(
        &mut self,
        core: &mut Core,
        peer: u8,
        attempt: u32,
        signature: [u8; 64],
    ) -> Step {
        let Stage::Proposed {
            proposal,
            signatures,
            ..
        } = &mut self.stage
        else {
            return Step::Stay;
        };
        let takes_part = proposal.runs.iter().any(|run| run.peer == peer);
        if attempt != proposal.attempt || !takes_part {
            return Step::Stay;
        }
        let reopening = proposal.reopening();
        let start = &self.book.start;
        let bytes = reopening.signed_bytes(start, proposal.epoch, proposal.cut);
        let id = start.roster[usize::from(peer)].peer;
        if !core.signer.verify(id, &bytes, &signature) {
            core.event(Event::PeerFault {
                peer: id,
                fault: Fault::Signature,
            });
            self.refuse(core, peer, JoinRefused::Fault(Fault::Signature));
            self.gather(core);
            return Step::Stay;
        }
        signatures.insert(peer, signature);
        if signatures.len() < proposal.runs.len() {
            return Step::Stay;
        }
        let change = RosterChange {
            epoch: proposal.epoch,
            ballot: Ballot {
                round: 0,
                peer: self.book.me as u8,
            },
            value: Value::of(reopening.roster(), proposal.cut),
            accepts: std::mem::take(signatures).into_iter().collect(),
            proofs: Vec::new(),
            reopening: Some(reopening),
        };
        if !self.book.is_reopened_by(core, &change) {
            let why = JoinRefused::OtherHistory;
            self.broadcast(core, &Control::Bye);
            return Step::End(EndReason::Refused(why));
        }
        self.go_on(core, change)
    }

    fn go_on(&mut self, core: &mut Core, change: RosterChange) -> Step {
        // Who came late comes back into the match that goes on.
        let late = self.guests.keys().copied();
        let late = late.filter(|peer| !change.value.roster.contains(*peer));
        for peer in late.collect::<Vec<_>>() {
            if let Some(guest) = self.guests.remove(&peer) {
                core.refuse(guest.link, JoinRefused::GoesOn);
            }
        }
        for again in std::mem::take(&mut self.again).into_values() {
            again.refuse(core, JoinRefused::GoesOn);
        }
        let roster = &self.book.start.roster;
        let of = |peer: u8| roster[usize::from(peer)].peer;
        let guests = self.guests.iter();
        let contacts: Vec<(PeerId, Vec<String>)> = guests
            .map(|(peer, guest)| (of(*peer), guest.addresses.clone()))
            .collect();
        // Who does not go on may come back later, from where it was.
        let known = self.known.contacts.iter();
        let away = known.filter(|known| contacts.iter().all(|(peer, _)| *peer != known.peer));
        let away: Vec<Contact> = away.cloned().collect();
        let begin = Said::Begin {
            change: encode_change(&change),
            contacts: contacts.clone(),
            in_ms: BEGIN_AFTER.as_millis() as u32,
        };
        self.broadcast(core, &Control::Reopen(begin));
        let here = contacts.into_iter();
        let here = here.map(|(peer, addresses)| Contact { peer, addresses });
        self.known.contacts = here.chain(away).collect();
        Step::Reopened(Box::new(change), core.now + BEGIN_AFTER)
    }
}

/// The most turns that a quorum holds, given how many each of those who are here does.
fn newest_common(held: &BTreeMap<u8, u32>, voters: Voters) -> u32 {
    let holders = |turns: u32| -> Peers {
        let hold = held.iter().filter(|(_, held)| **held >= turns);
        hold.map(|(peer, _)| *peer).collect()
    };
    let candidates = held.values().copied();
    let common = candidates.filter(|turns| voters.is_quorum(holders(*turns)));
    common.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_common_turn_is_the_last_that_a_quorum_holds() {
        let newest = |voters: usize, held: &[(u8, u32)]| {
            let held = held.iter().copied().collect();
            newest_common(&held, Voters::new(Peers::first(voters)))
        };
        assert_eq!(newest(3, &[(0, 10), (1, 12), (2, 12)]), 12);
        assert_eq!(newest(3, &[(0, 10), (1, 12), (2, 11)]), 11);
        assert_eq!(newest(3, &[(1, 12), (2, 10)]), 10, "both are needed");
        assert_eq!(newest(2, &[(0, 9), (1, 12)]), 9);
        // The tie-break of two: whoever has the lowest seat is a quorum alone.
        assert_eq!(newest(2, &[(0, 12), (1, 9)]), 12);
        assert_eq!(newest(4, &[(0, 5), (1, 7), (2, 7), (3, 3)]), 5);
        assert_eq!(newest(4, &[(2, 7), (3, 7)]), 0, "no quorum");
    }
}
