//! What arrives from other peers of turns, and of the end.

use super::Player;
use super::apply::BATCHES;
use crate::log::{Document, Equivocation, NO_WAY, SignedBatch};
use crate::session::core::Core;
use crate::session::rejoin::GIVE_UP;
use crate::session::turns::{Arrival, Collected};
use crate::session::wire::{Control, Datagram, TurnPacket, WireBatch};
use crate::{Event, Fault, LinkError, LinkId, PeerId};

impl Player {
    pub(crate) fn datagram(&mut self, core: &mut Core, link: LinkId, datagram: Datagram) {
        let Datagram::Turns(packet) = datagram else {
            return;
        };
        let member = self.member_of(core, link);
        if self.past_member(core, link).is_some() {
            self.receive_past(core, link, &packet);
        } else if member.is_none() && self.may_come_back(core, link) {
            // It has been admitted, which this peer has not heard.
        } else if member.is_none() || packet.held.len() != self.ledger.places.len() {
            core.fault(link, Fault::OutOfPlace);
        } else {
            self.receive_packet(core, link, packet);
        }
    }

    /// An earlier run still sends turns: it has not heard that it is out. From what it sends, what it lacks is known.
    fn receive_past(&self, core: &mut Core, link: LinkId, packet: &TurnPacket) {
        if let Some(link) = core.links.get_mut(&link) {
            link.heard_at = core.now;
            link.epoch = link.epoch.max(Some(packet.epoch));
        }
    }

    /// Takes a batch that came by a link, whichever peer signed it, and whether it `is_copy` of what has left there before.
    pub(super) fn receive_batch(
        &mut self,
        core: &mut Core,
        link: LinkId,
        signed: SignedBatch,
        is_copy: bool,
    ) {
        let signer = usize::from(signed.peer);
        let from_signer = self.member_of(core, link) == Some(signer);
        let quality = core.links.get(&link).map(|link| &link.quality);
        let arrival = Arrival {
            now: core.now,
            epoch: self.membership.epoch(),
            is_direct: from_signer && !is_copy,
            round_trip: quality
                .filter(|_| from_signer)
                .and_then(|of| of.fresh_rtt(core.now)),
            cheats: self.verify.cheats(),
            signer: core.signer.as_ref(),
        };
        match self
            .turns
            .collect(signed.clone(), &mut self.ledger, &arrival)
        {
            Collected::Nothing => {}
            Collected::Fault(fault) => core.fault(link, fault),
            Collected::OutOfReach => {
                // A forwarding peer may be further than this one; the signer itself may not, unless this one stands still.
                if from_signer && !self.ending.is_leaving() {
                    core.fault(link, Fault::WrongTurn);
                }
            }
            Collected::Differs(proof) => {
                self.weigh(core, link, proof);
                self.keep_alternate(core, link, signed);
            }
            Collected::Held {
                at,
                turn,
                wrong_seat,
            } => {
                if wrong_seat {
                    core.blame(self.ledger.places.key(at), Fault::WrongSeat);
                }
                self.membership.note_batch(at, turn, core.now);
                while let Some(turn) = self.ledger.batches.advance(at) {
                    self.take_reports(core, at, turn);
                }
            }
        }
    }

    /// Takes the reports of a batch up to which all of its peer are held.
    fn take_reports(&mut self, core: &mut Core, at: usize, turn: u32) {
        let held = self.ledger.batches.get(at, turn);
        let batch = &held.expect("it was just found to be held").batch;
        let report = match self.verify.take_reports(at, batch, &self.ledger) {
            Ok(report) => report,
            Err(named) => return self.act_on(core, named),
        };
        let way = batch.way_ms.get(self.ledger.places.me()).copied();
        if let Some(way) = way.filter(|way| *way != NO_WAY) {
            self.turns.note_way(at, way, core.now);
        }
        let voters = self.membership.voters();
        self.turns.note_snapshot(at, turn, &self.ledger, voters);
        self.check_hashes(core);
        for (turns, checksum) in (report.from..).zip(report.checksums) {
            self.report(core, at, turns, checksum);
        }
    }

    pub(super) fn receive_evidence(
        &mut self,
        core: &mut Core,
        link: LinkId,
        shown: Vec<WireBatch>,
    ) {
        if shown.len() > BATCHES {
            return core.fault(link, Fault::Oversize);
        }
        let shown: Vec<SignedBatch> = shown.into_iter().map(SignedBatch::from).collect();
        let places = self.ledger.places.len();
        if shown.iter().any(|batch| usize::from(batch.peer) >= places) {
            return core.fault(link, Fault::OutOfPlace);
        }
        if let [one, other] = shown.as_slice() {
            let proof = Equivocation(one.clone(), other.clone());
            let differ = one.peer == other.peer && one.content != other.content;
            if differ && proof.turn().is_some() {
                self.weigh(core, link, proof);
                return self.keep_alternate(core, link, one.clone());
            }
        }
        for batch in &shown {
            self.receive_batch(core, link, batch.clone(), true);
        }
        if self.voter_of(core, link).is_some() {
            let signer = core.signer.as_ref();
            for both in self.verify.answers(&shown, &self.ledger, signer) {
                core.send(link, &Control::Evidence(both));
            }
        }
    }

    /// Keeps what the voter at the other end of a link holds in the place of what this peer does, while the roster
    /// changes.
    fn keep_alternate(&mut self, core: &mut Core, link: LinkId, signed: SignedBatch) {
        let changes = self.membership.is_frozen() || self.membership.pending().is_some();
        let Some(holder) = self.voter_of(core, link).filter(|_| changes) else {
            return;
        };
        let (epoch, ledger) = (self.membership.epoch(), &mut self.ledger);
        let with = (core.signer.as_ref(), core.now);
        if !self
            .verify
            .keep_alternate(holder, signed, epoch, ledger, with)
        {
            core.strange(link);
        }
    }

    pub(super) fn receive_end(&mut self, core: &mut Core, link: LinkId, told: Control) {
        let Some((peer, end, signature)) = told.signed_end() else {
            return;
        };
        let at = usize::from(peer);
        let signer = self.ledger.places.get(at).map(|peer| peer.peer);
        let signed = (&end).with(signature);
        if !signer.is_some_and(|signer| signed.is_by(signer, core.signer.verifier())) {
            return core.fault(link, Fault::Signature);
        }
        // A peer that is out is not asked to agree: its last turns may be none of the others'.
        if !self.membership.has(at) || self.membership.is_out() {
            return;
        }
        if end.turns
            > self
                .turns
                .reach(&self.ledger.places, self.ledger.window.complete())
        {
            // The others went on while this peer leaves, or without it, and it has not heard of that yet.
            return;
        }
        // Word of an end that is taken back may still be on its way, or may have come before the one that counts.
        let took_back = self.ledger.window.took_back_before(end.turns);
        if !self.ending.take(at, &end, signature, took_back) {
            return;
        }
        self.forward_end(core, &told, Some(link));
        // What a peer signs at its end it reports: no batch of it follows.
        if at != self.ledger.places.me() && !took_back {
            self.verify.expect_hash(at, end.turns, end.log_hash);
            self.check_hashes(core);
            self.report(core, at, end.turns, end.checksum);
        }
    }

    /// Sends what is signed of the end to every peer of the match but the one that it came from, and to those that follow
    /// it.
    pub(super) fn forward_end(&self, core: &mut Core, told: &Control, from: Option<LinkId>) {
        for link in core.links.keys().copied().collect::<Vec<_>>() {
            let listens = self.member_of(core, link).is_some() || self.is_follower(core, link);
            if listens && Some(link) != from {
                core.send(link, told);
            }
        }
    }

    /// Tells on a link what is signed of the end: the links on which it was told may be gone, and a follower knows whose
    /// signatures these are only once it has the log.
    pub(crate) fn tell_ends(&self, core: &mut Core, link: LinkId) {
        if self.member_of(core, link).is_some() || self.is_follower(core, link) {
            self.ending.told().for_each(|told| core.send(link, &told));
        }
    }

    /// The other end of a link has proved its key.
    pub(crate) fn proved(&mut self, core: &mut Core, link: LinkId) {
        self.note_return(core, link, false);
        self.note_address(core, link);
        self.close_unknown_links(core);
        self.close_older_links(core, link);
        self.tell_ends(core, link);
        self.tell_of_branch(core, link);
    }

    pub(crate) fn link_down(&mut self, core: &mut Core, peer: PeerId, why: LinkError) {
        let at = self.ledger.places.of(peer);
        let plays = at.is_some_and(|at| !self.ledger.batches.is_gone(at));
        if !self.over && plays && core.links_to(peer).next().is_none() {
            core.event(Event::LinkLost { peer, why });
        }
    }

    /// Tells the others that this process ends, and closes their links.
    pub(crate) fn say_goodbye(&self, core: &mut Core) {
        for link in core.links.keys().copied().collect::<Vec<_>>() {
            if self.member_of(core, link).is_some() {
                core.send(link, &Control::Bye);
            }
            core.close_for(link, LinkError::Closed);
        }
    }

    /// A peer of the match that is out of its roster is at the other end of this link, or `asks` on it for what it lacks.
    pub(crate) fn note_return(&mut self, core: &Core, link: LinkId, asks: bool) {
        let Some(link) = core.links.get(&link) else {
            return;
        };
        if let Some(at) = self.leads_to(link).filter(|at| !self.membership.has(*at)) {
            let until = core.now + GIVE_UP;
            self.dialling.note_return(at, &link.address, until, asks);
        }
    }

    /// Where a peer of the match is found by now is kept, for later joiners.
    fn note_address(&mut self, core: &mut Core, link: LinkId) {
        let Some(link) = core.links.get(&link) else {
            return;
        };
        let at = self.leads_to(link);
        let at = at.filter(|at| *at != self.ledger.places.me());
        if at.is_some_and(|at| self.dialling.note_address(at, &link.address)) {
            core.tell_contacts(self.contacts());
        }
    }
}
